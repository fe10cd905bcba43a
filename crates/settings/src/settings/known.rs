//! THE table of settings that the program reads: what each may hold, how layers combine, and what a project may say.
//!
//! A value of the wrong kind is reported with its place and left out; everything else passes, known or not, because the
//! same files are read by other programs that know more keys.

use std::borrow::Cow;
use std::collections::HashMap;

use hookwright_hooks::{Diagnostic, Severity, Source, SourceText};
use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::{Range, Ranged};
use serde_json::{Map, Value};

use super::MAX_PROMPT_TURNS;
use super::by_project::{ByProject, Outer, Than};
use crate::json::{fill_variables, kind_of, plain};
use crate::mcp;
use crate::world::World;

/// What a setting holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Section,
    Flag,
    Text,
    /// A whole number; below zero where that means something.
    Whole,
    /// A number from 0 to 1.
    Share,
    Texts,
    TextOrTexts,
    /// A list of globs of paths, each perhaps behind a `!`.
    Globs,
    OneOf(&'static [&'static str]),
}

/// How the values of several layers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combine {
    /// The highest layer's counts.
    Highest,
    /// Lists are joined.
    Union,
    /// Of lists of names, those that stand in each: nobody adds to what another allows.
    Shared,
    /// Entries are replaced whole.
    Entries,
    /// One `true` is enough: nobody takes back another's guard.
    AnyTrue,
    /// One `false` is enough: nobody switches on what another has switched off.
    AllTrue,
    /// The later word of the list of choices wins: nobody takes back another's guard.
    Strictest,
}

/// Whether a setting does anything here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    Honoured,
    /// It is understood and changes nothing, because of this.
    None(&'static str),
}

struct Known {
    key: &'static str,
    kind: Kind,
    combine: Combine,
    by_project: ByProject,
    effect: Effect,
}

const fn setting(key: &'static str, kind: Kind, by_project: ByProject) -> Known {
    combined(key, kind, Combine::Highest, by_project)
}

const fn combined(key: &'static str, kind: Kind, combine: Combine, by_project: ByProject) -> Known {
    Known { key, kind, combine, by_project, effect: Effect::Honoured }
}

/// A group of settings; what a project may do with those in it that this table does not know.
const fn section(key: &'static str, others: ByProject) -> Known {
    setting(key, Kind::Section, others)
}

/// A setting of Gemini CLI's that is read and changes nothing here.
const fn without_effect(key: &'static str, kind: Kind, by_project: ByProject, because: &'static str) -> Known {
    Known { key, kind, combine: Combine::Highest, by_project, effect: Effect::None(because) }
}

pub(super) const REVIEW_WORDS: &[&str] = &["announce", "ask", "block"];
const APPROVAL_WORDS: &[&str] = &["default", "auto_edit", "plan"];

const ONLY_TRUE: ByProject = ByProject::Stricter(Than::True);
const ONLY_FALSE: ByProject = ByProject::Stricter(Than::False);
const STRICTER_MODE: ByProject =
    ByProject::Stricter(Than::Words { words: &["auto_edit", "default", "plan"], default: "default" });
const STRICTER_REVIEW: ByProject = ByProject::Stricter(Than::Words { words: REVIEW_WORDS, default: "announce" });

/// The last column but one is the project's: a setting that opens, hides, sends or runs something is not its own to say.
const KNOWN: &[Known] = {
    use ByProject::{Anything, Inside, Listed, ListedStricter, Nothing, Stricter};
    use Kind::{Flag, OneOf, Share, Text, TextOrTexts, Texts, Whole};
    &[
        combined(SERVERS, Kind::Section, Combine::Entries, ListedStricter(Than::Entries)),
        section("mcp", Nothing),
        combined("mcp.allowed", Texts, Combine::Shared, Listed),
        combined("mcp.excluded", Texts, Combine::Union, Listed),
        without_effect("mcp.serverCommand", Text, Nothing, "servers are named in `mcpServers`"),
        section("general", Anything),
        setting("general.defaultApprovalMode", OneOf(APPROVAL_WORDS), STRICTER_MODE),
        without_effect("general.preferredEditor", Text, Nothing, "$VISUAL and $EDITOR name the editor"),
        without_effect("general.vimMode", Flag, Anything, "the composer has one set of keys"),
        section("general.checkpointing", Anything),
        without_effect(
            "general.checkpointing.enabled",
            Flag,
            ONLY_TRUE,
            "files are not saved before tools change them",
        ),
        section("general.plan", Anything),
        setting("general.plan.directory", Text, Inside),
        setting("general.maxAttempts", Whole, Anything),
        section("ui", Anything),
        without_effect("ui.theme", Text, Anything, "the terminal's own colours are used"),
        setting("ui.hideBanner", Flag, Anything),
        setting("ui.hideTips", Flag, Anything),
        // The footer says whether guards are awake.
        setting("ui.hideFooter", Flag, ONLY_FALSE),
        section("ui.accessibility", Anything),
        setting("ui.accessibility.screenReader", Flag, Anything),
        section("model", Anything),
        setting("model.name", Text, Anything),
        setting("model.maxSessionTurns", Whole, Stricter(Than::Number { default: None })),
        setting("model.maxPromptTurns", Whole, Stricter(Than::Number { default: Some(MAX_PROMPT_TURNS) })),
        setting("model.compressionThreshold", Share, Anything),
        setting("model.disableLoopDetection", Flag, ONLY_FALSE),
        section("context", Anything),
        setting("context.fileName", TextOrTexts, Inside),
        combined("context.includeDirectories", Texts, Combine::Union, Inside),
        section("context.fileFiltering", Anything),
        setting("context.fileFiltering.respectGitIgnore", Flag, ONLY_TRUE),
        setting("context.fileFiltering.respectGeminiIgnore", Flag, ONLY_TRUE),
        section("tools", Anything),
        setting("tools.core", Texts, ListedStricter(Than::Tools)),
        setting("tools.allowed", Texts, Listed),
        combined("tools.exclude", Texts, Combine::Union, Listed),
        // An older name of `general.defaultApprovalMode`.
        setting("tools.approvalMode", OneOf(APPROVAL_WORDS), STRICTER_MODE),
        without_effect("tools.discoveryCommand", Text, Nothing, "tools are built in, not discovered by a command"),
        without_effect("tools.callCommand", Text, Nothing, "tools are built in, not called by a command"),
        section("telemetry", Nothing),
        setting("telemetry.enabled", Flag, Nothing),
        setting("telemetry.target", OneOf(&["local", "gcp"]), Nothing),
        setting("telemetry.otlpEndpoint", Text, Nothing),
        setting("telemetry.otlpProtocol", OneOf(&["grpc", "http"]), Nothing),
        setting("telemetry.outfile", Text, Nothing),
        setting("telemetry.logPrompts", Flag, Nothing),
        without_effect("telemetry.traces", Flag, Nothing, "traces go to a collector whenever there is one"),
        section("security", Nothing),
        section("security.folderTrust", Nothing),
        combined("security.folderTrust.enabled", Flag, Combine::AnyTrue, ONLY_TRUE),
        section("security.hooks", Nothing),
        combined("security.hooks.review", OneOf(REVIEW_WORDS), Combine::Strictest, STRICTER_REVIEW),
        combined("security.disableYoloMode", Flag, Combine::AnyTrue, ONLY_TRUE),
        combined("security.protectedPaths", Kind::Globs, Combine::Union, Nothing),
        section("security.environmentVariableRedaction", Nothing),
        combined("security.environmentVariableRedaction.enabled", Flag, Combine::AnyTrue, ONLY_TRUE),
        combined("security.environmentVariableRedaction.allowed", Texts, Combine::Union, Nothing),
        combined("security.environmentVariableRedaction.blocked", Texts, Combine::Union, Anything),
        section("advanced", Nothing),
        // What a project's `.env` may not set is the user's to say.
        combined("advanced.excludedEnvVars", Texts, Combine::Union, Nothing),
        section("agents", Anything),
        combined("agents.overrides", Kind::Section, Combine::Entries, Stricter(Than::Entries)),
        section("experimental", Anything),
        setting("experimental.enableAgents", Flag, Stricter(Than::Off)),
        section("extensions", Nothing),
        // An extension may bring guards.
        combined("extensions.disabled", Texts, Combine::Union, Nothing),
        section("skills", Anything),
        combined("skills.enabled", Flag, Combine::AllTrue, Stricter(Than::Off)),
        combined("skills.disabled", Texts, Combine::Union, Anything),
        section("admin", Nothing),
        section("admin.skills", Nothing),
        combined("admin.skills.enabled", Flag, Combine::AllTrue, Nothing),
    ]
};

const SERVERS: &str = "mcpServers";

/// Names that settings had before, or that people look for in the wrong place: theirs, and the one that counts. A restriction
/// that is lost that way must not be lost unsaid.
const MISPLACED: &[(&str, &str)] = &[
    ("allowMCPServers", "mcp.allowed"),
    ("allowedTools", "tools.allowed"),
    ("approvalMode", "general.defaultApprovalMode"),
    ("checkpointing", "general.checkpointing.enabled"),
    ("contextFileName", "context.fileName"),
    ("coreTools", "tools.core"),
    ("enableAgents", "experimental.enableAgents"),
    ("excludeMCPServers", "mcp.excluded"),
    ("excludeTools", "tools.exclude"),
    ("fileFiltering", "context.fileFiltering"),
    ("folderTrust", "security.folderTrust.enabled"),
    ("general.approvalMode", "general.defaultApprovalMode"),
    ("includeDirectories", "context.includeDirectories"),
    ("maxSessionTurns", "model.maxSessionTurns"),
    ("protectedPaths", "security.protectedPaths"),
    ("toolCallCommand", "tools.callCommand"),
    ("toolDiscoveryCommand", "tools.discoveryCommand"),
];

/// Sections that the hook engine reads itself.
const ENGINE_SECTIONS: [&str; 2] = ["hooks", "hooksConfig"];

fn known(key: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.key == key)
}

/// How a key's values combine.
pub(super) fn combine_of(key: &str) -> Combine {
    known(key).map_or(Combine::Highest, |known| known.combine)
}

/// One layer's settings as plain values, without the hooks and without what is wrong.
pub(crate) fn read_layer(
    root: &Object<'_>,
    layer: &Source,
    source: &SourceText<'_>,
    world: &World,
    outer: &Outer<'_>,
    found: &mut Findings,
) -> Map<String, Value> {
    let mut values = LayerReader { layer, source, world, outer, found }.section(root, "");
    rename_older(&mut values);
    values
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

/// The names of the settings that the question of trust lists.
pub(crate) fn listed_names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().filter(|known| known.by_project.is_listed()).map(|known| known.key)
}

/// Those that a project sets, with their values.
pub(crate) fn listed(values: &Map<String, Value>) -> Vec<(&'static str, &Value)> {
    listed_names().filter_map(|key| Some((key, super::Layered(values).at(key)?))).collect()
}

/// What reading settings brings to light.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// What is wrong.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// What is right, and changes nothing.
    pub(crate) without_effect: Vec<WithoutEffect>,
    /// Which layer each MCP server is from.
    pub(crate) servers: HashMap<String, Source>,
}

/// A setting that is understood and changes nothing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithoutEffect {
    /// Its name, with dots.
    pub key: &'static str,
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
            let Some(known) = known(&key).filter(|_| !name.contains('.')) else {
                self.check_spelling(property, prefix);
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
        let names = value.as_object().into_iter().flat_map(Map::keys);
        self.found.servers.extend(names.map(|name| (name.clone(), self.layer.clone())));
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
        let range = node.range();
        let text = format!("`{}` has no effect here: {because}", known.key);
        let diagnostic = self.source.diagnose(Severity::Warning, range.start, range.end, text);
        self.found.without_effect.push(WithoutEffect { key: known.key, because, diagnostic });
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

    /// An unknown key very near to a known one is a typing mistake; any other may be another program's.
    fn check_spelling(&mut self, property: &ObjectProp<'_>, prefix: &str) {
        let name = property.name.as_str();
        let siblings = KNOWN.iter().map(|known| known.key.rsplit_once('.').unwrap_or(("", known.key)));
        let names = siblings.filter(|(parent, _)| *parent == prefix).map(|(_, name)| name);
        let top = if prefix.is_empty() { &ENGINE_SECTIONS[..] } else { &[] };
        let whole = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        let misplaced = MISPLACED.iter().find(|(theirs, _)| *theirs == whole).map(|(_, ours)| *ours);
        // A dotted name is a path in documents, and a single word in a file.
        let dotted = known(name).filter(|_| name.contains('.')).map(|known| known.key);
        let near = misplaced.or(dotted).or_else(|| {
            names.chain(top.iter().copied()).find(|known| {
                // Names that differ more in length are not compared: there may be thousands.
                let near = known.len() >= 5 && known.len().abs_diff(name.len()) <= 4;
                name.eq_ignore_ascii_case(known) || (near && strsim::damerau_levenshtein(name, known) == 1)
            })
        });
        if let Some(near) = near {
            let text = format!("`{name}` is no setting that is known here; it is ignored");
            self.report(Severity::Warning, property.name.range(), text, None);
            if let Some(wrong) = self.found.diagnostics.last_mut() {
                wrong.help = Some(format!("did you mean `{near}`?"));
            }
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
