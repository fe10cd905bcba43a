//! Reads one layer's settings by the table in `known.rs`: what is wrong is left out and said with its place.

use std::borrow::Cow;
use std::collections::HashMap;

use hookwright_hooks::{Diagnostic, Severity, Source, SourceText, is_near};
use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::{Range, Ranged};
use serde_json::{Map, Value};

use super::by_project::{ByProject, Outer};
use super::known::{Combine, Effect, KNOWN, Kind, Known, SERVERS, known};
use super::lay_over;
use super::misplaced::{is_remark, promises_a_guard, right_name};
use crate::json::{fill_variables, kind_of, plain};
use crate::mcp;
use crate::world::World;

/// Sections that the hook engine reads itself.
const ENGINE_SECTIONS: [&str; 2] = ["hooks", "hooksConfig"];

/// One layer's settings as plain values, without the hooks and without what is wrong.
pub(crate) fn read_layer(
    root: &Object<'_>,
    layer: &Source,
    source: &SourceText<'_>,
    world: &World,
    outer: &Outer<'_>,
    found: &mut Findings,
) -> Map<String, Value> {
    let mut reader = LayerReader { layer, source, world, outer, found, misplaced: Map::new() };
    let mut values = reader.section(root, "");
    rename_older(&mut values);
    let mut all = reader.misplaced;
    lay_over(&mut all, values);
    all
}

/// `tools.approvalMode` is an older name; under its newer one, layers combine as they should.
fn rename_older(values: &mut Map<String, Value>) {
    let older = values.get_mut("tools").and_then(Value::as_object_mut).and_then(|tools| tools.remove("approvalMode"));
    let Some(mode) = older else { return };
    let general = values.entry("general").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(general) = general {
        general.entry("defaultApprovalMode").or_insert(mode);
    }
}

/// What reading settings brings to light.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// What is wrong.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// What is right, and changes nothing.
    pub(crate) without_effect: Vec<WithoutEffect>,
    /// Which layer each MCP server is from, and its entry as it is written there.
    pub(crate) servers: HashMap<String, (Source, Value)>,
}

/// A setting that is understood and changes nothing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithoutEffect {
    /// Its name, with dots.
    pub key: String,
    /// Why it changes nothing.
    pub because: &'static str,
    /// The same as a warning, with its place.
    pub diagnostic: Diagnostic,
}

struct LayerReader<'a> {
    layer: &'a Source,
    source: &'a SourceText<'a>,
    world: &'a World,
    outer: &'a Outer<'a>,
    found: &'a mut Findings,
    /// What stands in the wrong place, put into the right one.
    misplaced: Map<String, Value>,
}

impl LayerReader<'_> {
    fn section(&mut self, object: &Object<'_>, prefix: &str) -> Map<String, Value> {
        let mut values = Map::new();
        let last: HashMap<&str, usize> =
            object.properties.iter().map(|one| (one.name.as_str(), one.range.start)).collect();
        for property in &object.properties {
            let name = property.name.as_str();
            if prefix.is_empty() && ENGINE_SECTIONS.contains(&name) {
                continue;
            }
            if last.get(name) != Some(&property.range.start) {
                self.say_twice(property, prefix);
                continue;
            }
            let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            if let Some(right) = right_place(&key, prefix, property) {
                self.misplaced(right, property);
                continue;
            }
            let Some(known) = known(&key).filter(|_| !name.contains('.')) else {
                self.check_spelling(&key, property, prefix);
                if let Some(value) = self.unknown(&key, prefix, &property.value) {
                    values.insert(name.to_owned(), value);
                }
                continue;
            };
            if let Some(value) = self.value(known, &property.value) {
                values.insert(name.to_owned(), value);
            }
        }
        values
    }

    /// A setting under another name than its own.
    fn misplaced(&mut self, known: &Known, property: &ObjectProp<'_>) {
        let text = format!("`{}` is read as `{}`, which is its name", property.name.as_str(), known.key);
        self.report(Severity::Warning, property.name.range(), text, None);
        if let Some(wrong) = self.found.diagnostics.last_mut() {
            wrong.help = Some(format!("write it as {}", nested(known.key)));
        }
        let Some(value) = self.value(known, &property.value) else { return };
        let value = known
            .key
            .rsplit('.')
            .fold(value, |value, name| Value::Object([(name.to_owned(), value)].into_iter().collect()));
        if let Value::Object(value) = value {
            lay_over(&mut self.misplaced, value);
        }
    }

    fn value(&mut self, known: &Known, node: &Node<'_>) -> Option<Value> {
        if matches!(node, Node::NullKeyword(_)) {
            return None;
        }
        if let (Kind::Section, Node::Object(object)) = (known.kind, node)
            && known.combine != Combine::Entries
        {
            return Some(Value::Object(self.section(object, known.key)));
        }
        let value = self.plain(node);
        if known.key == SERVERS {
            return self.servers(known, node, value);
        }
        if !fits(known.kind, &value) {
            let expected = expected(known.kind);
            // Where the kind is right and the value is not, the value says more.
            let found = match (known.kind, node) {
                (Kind::OneOf(_), Node::StringLit(text)) => format!("\"{}\"", text.value),
                (Kind::Whole | Kind::Share, Node::NumberLit(number)) => number.value.to_owned(),
                _ => kind_of(node).to_owned(),
            };
            let text = format!("`{}` should be {expected}, not {found}; it is ignored", known.key);
            self.report(Severity::Error, node.range(), text, Some(format!("expected {expected}")));
            return None;
        }
        let value = if known.kind == Kind::Globs { self.only_globs(known, node, value) } else { value };
        self.say_if_without_effect(known, &value, node);
        self.judged(known.key, known.by_project, value, node)
    }

    /// MCP servers; what is wrong with one of them is said of that alone.
    fn servers(&mut self, known: &Known, node: &Node<'_>, value: Value) -> Option<Value> {
        self.found.diagnostics.extend(mcp::diagnose(node, &value, self.layer, self.source));
        let value = self.judged(known.key, known.by_project, value.is_object().then_some(value)?, node)?;
        let written = plain(node, &|text| Cow::Borrowed(text));
        for name in value.as_object().into_iter().flat_map(Map::keys) {
            let entry = written.get(name).cloned().unwrap_or_default();
            self.found.servers.insert(name.clone(), (self.layer.clone(), entry));
        }
        Some(value)
    }

    /// A setting that the table does not know falls under its group's word.
    fn unknown(&mut self, key: &str, prefix: &str, node: &Node<'_>) -> Option<Value> {
        let by_project = known(prefix).map_or(ByProject::Anything, |group| group.by_project);
        self.judged(key, by_project, self.plain(node), node)
    }

    /// The entries that are globs; each of the others is reported where it stands.
    fn only_globs(&mut self, known: &Known, node: &Node<'_>, value: Value) -> Value {
        let (Node::Array(nodes), Value::Array(values)) = (node, value) else { return Value::Null };
        let mut globs = Vec::new();
        for (node, value) in nodes.elements.iter().zip(values) {
            let text = value.as_str().unwrap_or_default();
            let pattern = text.strip_prefix('!').unwrap_or(text);
            let problem = match globset::Glob::new(pattern) {
                _ if pattern.is_empty() => "it is empty".to_owned(),
                Ok(_) => {
                    globs.push(value);
                    continue;
                }
                Err(error) => error.kind().to_string(),
            };
            let text = format!("\"{text}\" in `{}` is no glob: {problem}; it is ignored", known.key);
            self.report(
                Severity::Error,
                node.range(),
                text,
                Some("expected a path such as \".gemini/hooks/**\"".into()),
            );
        }
        Value::Array(globs)
    }

    fn say_if_without_effect(&mut self, known: &Known, value: &Value, node: &Node<'_>) {
        // What switches nothing on need not say that it does not.
        let (Effect::None(because), false) = (known.effect, *value == Value::Bool(false)) else { return };
        self.say_without_effect(known.key, because, node.range());
    }

    fn say_without_effect(&mut self, key: &str, because: &'static str, range: Range) {
        let text = format!("`{key}` has no effect here: {because}");
        let diagnostic = self.source.diagnose(Severity::Warning, range.start, range.end, text);
        self.found.without_effect.push(WithoutEffect { key: key.to_owned(), because, diagnostic });
    }

    /// What counts of a value. A project does not open its own gates.
    fn judged(&mut self, key: &str, by_project: ByProject, value: Value, node: &Node<'_>) -> Option<Value> {
        if *self.layer != Source::Project {
            return Some(value);
        }
        let judged = by_project.judge(key, value, self.outer);
        if let Some(text) = judged.refused {
            self.report(Severity::Warning, node.range(), text, None);
            if let Some(wrong) = self.found.diagnostics.last_mut() {
                wrong.help = Some("set it in your own settings, ~/.gemini/settings.json".to_owned());
            }
        }
        judged.value
    }

    fn plain(&self, node: &Node<'_>) -> Value {
        plain(node, &|text| match fill_variables(text, self.world) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(filled) => Cow::Owned(filled),
        })
    }

    /// An unknown key very near to a known one is a typing mistake; any other may be another program's, and does nothing here.
    fn check_spelling(&mut self, key: &str, property: &ObjectProp<'_>, prefix: &str) {
        let name = property.name.as_str();
        let siblings = KNOWN.iter().map(|known| known.key.rsplit_once('.').unwrap_or(("", known.key)));
        let names = siblings.filter(|(parent, _)| *parent == prefix).map(|(_, name)| name);
        let top = if prefix.is_empty() { &ENGINE_SECTIONS[..] } else { &[] };
        let near = names
            .chain(top.iter().copied())
            .find(|known| name.eq_ignore_ascii_case(known) || (known.len() >= 5 && is_near(name, known, 1)));
        if let Some(near) = near {
            let text = format!("`{name}` is no setting that is known here; it is ignored");
            self.report(Severity::Warning, property.name.range(), text, None);
            if let Some(wrong) = self.found.diagnostics.last_mut() {
                wrong.help = Some(format!("did you mean `{near}`?"));
            }
        } else if promises_a_guard(name, &property.value) {
            let text = format!("`{key}` is no setting that is known here; it guards nothing");
            self.report(Severity::Warning, property.name.range(), text, None);
            if let Some(wrong) = self.found.diagnostics.last_mut() {
                wrong.help = Some("write a hook, a policy or `tools.exclude` for what it should keep out".to_owned());
            }
        } else if !is_remark(name) {
            let because = "no such setting is known here";
            self.say_without_effect(key, because, property.name.range());
        }
    }

    /// Of a key that stands twice in a group; the reader of hooks says so of the file's own.
    fn say_twice(&mut self, property: &ObjectProp<'_>, group: &str) {
        if group.is_empty() {
            return;
        }
        let text = format!("`{}` stands twice in {group}; only the last one counts", property.name.as_str());
        self.report(Severity::Error, property.name.range(), text, None);
        if let Some(wrong) = self.found.diagnostics.last_mut() {
            wrong.help = Some("merge the two".to_owned());
        }
    }

    fn report(&mut self, severity: Severity, range: Range, text: String, expected: Option<String>) {
        let mut wrong = self.source.diagnose(severity, range.start, range.end, text);
        wrong.expected = expected;
        self.found.diagnostics.push(wrong);
    }
}

/// Which setting a key is that stands where that does not count: under an older name, or as one word with dots in it.
fn right_place(key: &str, prefix: &str, property: &ObjectProp<'_>) -> Option<&'static Known> {
    let name = property.name.as_str();
    let dotted = || known(name).filter(|_| prefix.is_empty() && name.contains('.'));
    right_name(key, &property.value).and_then(known).or_else(dotted)
}

/// How a dotted name is written in a file.
fn nested(key: &str) -> String {
    key.rsplit('.').fold("…".to_owned(), |inner, name| format!("{{ \"{name}\": {inner} }}"))
}

fn fits(kind: Kind, value: &Value) -> bool {
    let texts = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    match kind {
        Kind::Section => value.is_object(),
        Kind::Flag => value.is_boolean(),
        Kind::Text => value.is_string(),
        Kind::Whole => value.as_i64().is_some(),
        Kind::Share => value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)),
        Kind::Texts | Kind::Globs => texts(value),
        Kind::TextOrTexts => value.is_string() || texts(value),
        Kind::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
    }
}

fn expected(kind: Kind) -> String {
    match kind {
        Kind::Section => "an object".to_owned(),
        Kind::Flag => "true or false".to_owned(),
        Kind::Text => "a string".to_owned(),
        Kind::Whole => "a whole number".to_owned(),
        Kind::Share => "a number from 0 to 1".to_owned(),
        Kind::Texts | Kind::Globs => "a list of strings".to_owned(),
        Kind::TextOrTexts => "a string or a list of strings".to_owned(),
        Kind::OneOf(words) => {
            let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
            quoted.join(" or ")
        }
    }
}

#[cfg(test)]
mod tests;
