//! Reads one layer's settings by the table in `setting_table.rs`. Wrong values are left out and reported with their
//! positions.

use std::borrow::Cow;
use std::collections::HashMap;

use hookwright_hooks::{Diagnostic, Severity, Source, SourceText, is_within_typos};
use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::{Range, Ranged};
use serde_json::{Map, Value};

use super::misplaced_names::{canonical_name, is_comment_key, suggests_restriction};
use super::overlay;
use super::project_rule::{OuterSettings, ProjectRule};
use super::setting_table::{
    MergeRule, SERVERS_KEY, SETTING_TABLE, SettingEffect, SettingKind, SettingSpec, find_setting,
};
use crate::json::{fill_variables, to_value, value_kind};
use crate::mcp;
use crate::process_env::ProcessEnv;

/// Sections that the hook engine reads.
const ENGINE_SECTIONS: [&str; 2] = ["hooks", "hooksConfig"];

/// Returns one layer's settings as plain values, without hooks and wrong values.
pub(crate) fn read_layer(
    root: &Object<'_>,
    layer: &Source,
    source: &SourceText<'_>,
    world: &ProcessEnv,
    outer: &OuterSettings<'_>,
    found: &mut LayerFindings,
) -> Map<String, Value> {
    let mut reader = LayerReader { layer, source, process_env: world, outer, found, misplaced: Map::new() };
    let mut values = reader.read_section(root, "");
    rename_older_keys(&mut values);
    let mut all = reader.misplaced;
    overlay(&mut all, values);
    all
}

/// Moves the older `tools.approvalMode` to its newer name, so that layers merge correctly.
fn rename_older_keys(values: &mut Map<String, Value>) {
    let older = values.get_mut("tools").and_then(Value::as_object_mut).and_then(|tools| tools.remove("approvalMode"));
    let Some(mode) = older else { return };
    let general = values.entry("general").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(general) = general {
        general.entry("defaultApprovalMode").or_insert(mode);
    }
}

/// What is found while settings are read.
#[derive(Debug, Default)]
pub(crate) struct LayerFindings {
    /// Problems with positions.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Valid settings that have no effect.
    pub(crate) ineffective_settings: Vec<IneffectiveSetting>,
    /// The layer of each MCP server, and its entry as written.
    pub(crate) server_origins: HashMap<String, (Source, Value)>,
}

/// A known setting that has no effect here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IneffectiveSetting {
    /// Its dotted name.
    pub key: String,
    /// Why it has no effect.
    pub reason: &'static str,
    /// The warning about it, with its position.
    pub diagnostic: Diagnostic,
}

struct LayerReader<'a> {
    layer: &'a Source,
    source: &'a SourceText<'a>,
    process_env: &'a ProcessEnv,
    outer: &'a OuterSettings<'a>,
    found: &'a mut LayerFindings,
    /// Values of misplaced settings, under their right keys.
    misplaced: Map<String, Value>,
}

impl LayerReader<'_> {
    fn read_section(&mut self, object: &Object<'_>, prefix: &str) -> Map<String, Value> {
        let mut values = Map::new();
        let last: HashMap<&str, usize> =
            object.properties.iter().map(|one| (one.name.as_str(), one.range.start)).collect();
        for property in &object.properties {
            let name = property.name.as_str();
            if prefix.is_empty() && ENGINE_SECTIONS.contains(&name) {
                continue;
            }
            if last.get(name) != Some(&property.range.start) {
                self.report_duplicate(property, prefix);
                continue;
            }
            let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            if let Some(right) = misplaced_setting(&key, prefix, property) {
                self.read_misplaced(right, property);
                continue;
            }
            let Some(known) = find_setting(&key).filter(|_| !name.contains('.')) else {
                self.check_spelling(&key, property, prefix);
                if let Some(value) = self.read_unknown(&key, prefix, &property.value) {
                    values.insert(name.to_owned(), value);
                }
                continue;
            };
            if let Some(value) = self.read_value(known, &property.value) {
                values.insert(name.to_owned(), value);
            }
        }
        values
    }

    /// Reads a setting that stands under another name, with a warning.
    fn read_misplaced(&mut self, known: &SettingSpec, property: &ObjectProp<'_>) {
        let text = format!("`{}` is read as `{}`, the correct name", property.name.as_str(), known.key);
        self.report(Severity::Warning, property.name.range(), text, None);
        if let Some(wrong) = self.found.diagnostics.last_mut() {
            wrong.help = Some(format!("write it as {}", nested_example(known.key)));
        }
        let Some(value) = self.read_value(known, &property.value) else { return };
        let value = known
            .key
            .rsplit('.')
            .fold(value, |value, name| Value::Object([(name.to_owned(), value)].into_iter().collect()));
        if let Value::Object(value) = value {
            overlay(&mut self.misplaced, value);
        }
    }

    fn read_value(&mut self, known: &SettingSpec, node: &Node<'_>) -> Option<Value> {
        if matches!(node, Node::NullKeyword(_)) {
            return None;
        }
        if let (SettingKind::Section, Node::Object(object)) = (known.kind, node)
            && known.merge_rule != MergeRule::Entries
        {
            return Some(Value::Object(self.read_section(object, known.key)));
        }
        let value = self.filled_value(node);
        if known.key == SERVERS_KEY {
            return self.read_servers(known, node, value);
        }
        if !matches_kind(known.kind, &value) {
            let expected = describe_kind(known.kind);
            // If the type is right and the value is not, the message shows the value.
            let found = match (known.kind, node) {
                (SettingKind::OneOf(_), Node::StringLit(text)) => format!("\"{}\"", text.value),
                (SettingKind::Integer | SettingKind::Fraction, Node::NumberLit(number)) => number.value.to_owned(),
                _ => value_kind(node).to_owned(),
            };
            let text = format!("`{}` should be {expected}, not {found}; it is ignored", known.key);
            self.report(Severity::Error, node.range(), text, Some(format!("expected {expected}")));
            return None;
        }
        let value = if known.kind == SettingKind::Globs { self.keep_valid_globs(known, node, value) } else { value };
        self.report_if_ineffective(known, &value, node);
        self.apply_project_rule(known.key, known.project_rule, value, node)
    }

    /// Reads MCP servers; a problem of one of them affects only that one.
    fn read_servers(&mut self, known: &SettingSpec, node: &Node<'_>, value: Value) -> Option<Value> {
        self.found.diagnostics.extend(mcp::diagnose_entries(node, &value, self.layer, self.source));
        let value =
            self.apply_project_rule(known.key, known.project_rule, value.is_object().then_some(value)?, node)?;
        let written = to_value(node, &|text| Cow::Borrowed(text));
        for name in value.as_object().into_iter().flat_map(Map::keys) {
            let entry = written.get(name).cloned().unwrap_or_default();
            self.found.server_origins.insert(name.clone(), (self.layer.clone(), entry));
        }
        Some(value)
    }

    /// Reads a setting that the table does not know; the project rule of its section applies.
    fn read_unknown(&mut self, key: &str, prefix: &str, node: &Node<'_>) -> Option<Value> {
        let by_project = find_setting(prefix).map_or(ProjectRule::Anything, |group| group.project_rule);
        self.apply_project_rule(key, by_project, self.filled_value(node), node)
    }

    /// Keeps the entries that are valid globs, and reports the others with their positions.
    fn keep_valid_globs(&mut self, known: &SettingSpec, node: &Node<'_>, value: Value) -> Value {
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
            let text = format!("\"{text}\" in `{}` is not a valid glob: {problem}; it is ignored", known.key);
            self.report(
                Severity::Error,
                node.range(),
                text,
                Some("expected a path such as \".gemini/hooks/**\"".into()),
            );
        }
        Value::Array(globs)
    }

    fn report_if_ineffective(&mut self, known: &SettingSpec, value: &Value, node: &Node<'_>) {
        // `false` enables nothing, so it needs no report.
        let (SettingEffect::None(because), false) = (known.effect, *value == Value::Bool(false)) else { return };
        self.report_ineffective(known.key, because, node.range());
    }

    fn report_ineffective(&mut self, key: &str, because: &'static str, range: Range) {
        let text = format!("`{key}` has no effect here: {because}");
        let diagnostic = self.source.diagnose(Severity::Warning, range.start, range.end, text);
        self.found.ineffective_settings.push(IneffectiveSetting { key: key.to_owned(), reason: because, diagnostic });
    }

    /// Returns the part of a value that is accepted. For a project's layer the setting's rule decides, so that a
    /// project cannot loosen its own restrictions.
    fn apply_project_rule(
        &mut self,
        key: &str,
        by_project: ProjectRule,
        value: Value,
        node: &Node<'_>,
    ) -> Option<Value> {
        if *self.layer != Source::Project {
            return Some(value);
        }
        let judged = by_project.evaluate(key, value, self.outer);
        if let Some(text) = judged.refused {
            self.report(Severity::Warning, node.range(), text, None);
            if let Some(wrong) = self.found.diagnostics.last_mut() {
                wrong.help = Some("set it in your own settings, ~/.gemini/settings.json".to_owned());
            }
        }
        judged.value
    }

    fn filled_value(&self, node: &Node<'_>) -> Value {
        to_value(node, &|text| match fill_variables(text, self.process_env) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(filled) => Cow::Owned(filled),
        })
    }

    /// Reports an unknown key that is close to a known one as a typing mistake; any other may belong to another
    /// program.
    fn check_spelling(&mut self, key: &str, property: &ObjectProp<'_>, prefix: &str) {
        let name = property.name.as_str();
        let siblings = SETTING_TABLE.iter().map(|known| known.key.rsplit_once('.').unwrap_or(("", known.key)));
        let names = siblings.filter(|(parent, _)| *parent == prefix).map(|(_, name)| name);
        let top = if prefix.is_empty() { &ENGINE_SECTIONS[..] } else { &[] };
        let near = names
            .chain(top.iter().copied())
            .find(|known| name.eq_ignore_ascii_case(known) || (known.len() >= 5 && is_within_typos(name, known, 1)));
        if let Some(near) = near {
            let text = format!("`{name}` is not a known setting; it is ignored");
            self.report(Severity::Warning, property.name.range(), text, None);
            if let Some(wrong) = self.found.diagnostics.last_mut() {
                wrong.help = Some(format!("did you mean `{near}`?"));
            }
        } else if suggests_restriction(name, &property.value) {
            let text = format!("`{key}` is not a known setting, so it protects nothing");
            self.report(Severity::Warning, property.name.range(), text, None);
            if let Some(wrong) = self.found.diagnostics.last_mut() {
                wrong.help = Some("use a hook, a policy or `tools.exclude` instead".to_owned());
            }
        } else if !is_comment_key(name) {
            let because = "this is not a known setting";
            self.report_ineffective(key, because, property.name.range());
        }
    }

    /// Reports a duplicate key in a section; the hook engine reports those at the top level.
    fn report_duplicate(&mut self, property: &ObjectProp<'_>, group: &str) {
        if group.is_empty() {
            return;
        }
        let text = format!("`{}` appears twice in {group}; only the last one counts", property.name.as_str());
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

/// Finds the setting that a misplaced key means: an older name, or a dotted name as one key.
fn misplaced_setting(key: &str, prefix: &str, property: &ObjectProp<'_>) -> Option<&'static SettingSpec> {
    let name = property.name.as_str();
    let dotted = || find_setting(name).filter(|_| prefix.is_empty() && name.contains('.'));
    canonical_name(key, &property.value).and_then(find_setting).or_else(dotted)
}

/// Shows how a dotted name is written in a file.
fn nested_example(key: &str) -> String {
    key.rsplit('.').fold("…".to_owned(), |inner, name| format!("{{ \"{name}\": {inner} }}"))
}

fn matches_kind(kind: SettingKind, value: &Value) -> bool {
    let texts = |value: &Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
    match kind {
        SettingKind::Section => value.is_object(),
        SettingKind::Flag => value.is_boolean(),
        SettingKind::Text => value.is_string(),
        SettingKind::Integer => value.as_i64().is_some(),
        SettingKind::Fraction => value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)),
        SettingKind::Texts | SettingKind::Globs => texts(value),
        SettingKind::TextOrTexts => value.is_string() || texts(value),
        SettingKind::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
    }
}

fn describe_kind(kind: SettingKind) -> String {
    match kind {
        SettingKind::Section => "an object".to_owned(),
        SettingKind::Flag => "true or false".to_owned(),
        SettingKind::Text => "a string".to_owned(),
        SettingKind::Integer => "a whole number".to_owned(),
        SettingKind::Fraction => "a number from 0 to 1".to_owned(),
        SettingKind::Texts | SettingKind::Globs => "a list of strings".to_owned(),
        SettingKind::TextOrTexts => "a string or a list of strings".to_owned(),
        SettingKind::OneOf(words) => {
            let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
            quoted.join(" or ")
        }
    }
}

#[cfg(test)]
mod tests;
