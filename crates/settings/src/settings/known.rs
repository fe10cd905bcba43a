//! THE table of settings that the program reads: what each may hold, how layers combine, and what a project may say.
//!
//! A value of the wrong kind is reported with its place and left out; everything else passes, known or not, because the
//! same files are read by other programs that know more keys.

use std::borrow::Cow;

use hookwright_hooks::{Diagnostic, Severity, Source, SourceText};
use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::{Range, Ranged};
use serde_json::{Map, Value};

use crate::json::{fill_variables, kind_of, last, plain};
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
    OneOf(&'static [&'static str]),
}

/// How the values of several layers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combine {
    /// The highest layer's counts.
    Highest,
    /// Lists are joined.
    Union,
    /// Entries are replaced whole.
    Entries,
    /// One `true` is enough: nobody takes back another's guard.
    AnyTrue,
    /// The later word of the list of choices wins: nobody takes back another's guard.
    Strictest,
}

/// What a project may say about a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Project {
    Anything,
    /// It may tighten its own gate, not open it.
    OnlyTrue,
    Nothing,
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
    project: Project,
    effect: Effect,
}

const fn setting(key: &'static str, kind: Kind) -> Known {
    guarded(key, kind, Combine::Highest, Project::Anything)
}

const fn combined(key: &'static str, kind: Kind, combine: Combine) -> Known {
    guarded(key, kind, combine, Project::Anything)
}

const fn guarded(key: &'static str, kind: Kind, combine: Combine, project: Project) -> Known {
    Known { key, kind, combine, project, effect: Effect::Honoured }
}

/// A setting of Gemini CLI's that is read and changes nothing here.
const fn without_effect(key: &'static str, kind: Kind, because: &'static str) -> Known {
    Known { key, kind, combine: Combine::Highest, project: Project::Anything, effect: Effect::None(because) }
}

pub(super) const REVIEW_WORDS: &[&str] = &["announce", "ask", "block"];

const KNOWN: &[Known] = &[
    combined("mcpServers", Kind::Section, Combine::Entries),
    setting("general", Kind::Section),
    setting("general.defaultApprovalMode", Kind::OneOf(&["default", "auto_edit", "plan"])),
    without_effect("general.preferredEditor", Kind::Text, "$VISUAL and $EDITOR name the editor"),
    without_effect("general.vimMode", Kind::Flag, "the composer has one set of keys"),
    setting("general.checkpointing", Kind::Section),
    without_effect("general.checkpointing.enabled", Kind::Flag, "files are not saved before tools change them"),
    setting("general.plan", Kind::Section),
    setting("general.plan.directory", Kind::Text),
    setting("general.maxAttempts", Kind::Whole),
    setting("ui", Kind::Section),
    without_effect("ui.theme", Kind::Text, "the terminal's own colours are used"),
    setting("ui.hideBanner", Kind::Flag),
    setting("ui.hideTips", Kind::Flag),
    setting("ui.hideFooter", Kind::Flag),
    setting("ui.accessibility", Kind::Section),
    setting("ui.accessibility.screenReader", Kind::Flag),
    setting("model", Kind::Section),
    setting("model.name", Kind::Text),
    setting("model.maxSessionTurns", Kind::Whole),
    setting("model.compressionThreshold", Kind::Share),
    setting("model.disableLoopDetection", Kind::Flag),
    setting("context", Kind::Section),
    setting("context.fileName", Kind::TextOrTexts),
    combined("context.includeDirectories", Kind::Texts, Combine::Union),
    setting("context.fileFiltering", Kind::Section),
    setting("context.fileFiltering.respectGitIgnore", Kind::Flag),
    setting("context.fileFiltering.respectGeminiIgnore", Kind::Flag),
    setting("tools", Kind::Section),
    setting("tools.core", Kind::Texts),
    setting("tools.allowed", Kind::Texts),
    combined("tools.exclude", Kind::Texts, Combine::Union),
    setting("tools.approvalMode", Kind::OneOf(&["default", "auto_edit", "plan"])),
    without_effect("tools.discoveryCommand", Kind::Text, "tools are built in, not discovered by a command"),
    without_effect("tools.callCommand", Kind::Text, "tools are built in, not called by a command"),
    setting("telemetry", Kind::Section),
    setting("telemetry.enabled", Kind::Flag),
    setting("telemetry.target", Kind::OneOf(&["local", "gcp"])),
    setting("telemetry.otlpEndpoint", Kind::Text),
    setting("telemetry.otlpProtocol", Kind::OneOf(&["grpc", "http"])),
    setting("telemetry.outfile", Kind::Text),
    setting("telemetry.logPrompts", Kind::Flag),
    without_effect("telemetry.traces", Kind::Flag, "traces go to a collector whenever there is one"),
    setting("security", Kind::Section),
    setting("security.folderTrust", Kind::Section),
    guarded("security.folderTrust.enabled", Kind::Flag, Combine::AnyTrue, Project::OnlyTrue),
    setting("security.hooks", Kind::Section),
    combined("security.hooks.review", Kind::OneOf(REVIEW_WORDS), Combine::Strictest),
    combined("security.disableYoloMode", Kind::Flag, Combine::AnyTrue),
    setting("security.environmentVariableRedaction", Kind::Section),
    guarded("security.environmentVariableRedaction.enabled", Kind::Flag, Combine::AnyTrue, Project::OnlyTrue),
    guarded("security.environmentVariableRedaction.allowed", Kind::Texts, Combine::Union, Project::Nothing),
    combined("security.environmentVariableRedaction.blocked", Kind::Texts, Combine::Union),
    setting("advanced", Kind::Section),
    combined("advanced.excludedEnvVars", Kind::Texts, Combine::Union),
    setting("extensions", Kind::Section),
    combined("extensions.disabled", Kind::Texts, Combine::Union),
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
    found: &mut Findings,
) -> Map<String, Value> {
    LayerReader { layer, source, world, found }.section(root, "")
}

/// What reading settings brings to light.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// What is wrong.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// What is right, and changes nothing.
    pub(crate) without_effect: Vec<WithoutEffect>,
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
    found: &'a mut Findings,
}

impl LayerReader<'_> {
    fn section(&mut self, object: &Object<'_>, prefix: &str) -> Map<String, Value> {
        let mut values = Map::new();
        for property in &object.properties {
            let name = property.name.as_str();
            if (prefix.is_empty() && ENGINE_SECTIONS.contains(&name))
                || last(object, name).is_none_or(|last| last.range != property.range)
            {
                continue;
            }
            let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
            let Some(known) = known(&key) else {
                self.check_spelling(property, prefix);
                values.insert(name.to_owned(), self.plain(&property.value));
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
        if let (Kind::Section, Node::Object(object)) = (known.kind, node) {
            let whole = known.combine == Combine::Entries;
            return Some(if whole { self.plain(node) } else { Value::Object(self.section(object, known.key)) });
        }
        let value = self.plain(node);
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
        self.say_if_without_effect(known, &value, node);
        self.allowed_here(known, &value, node).then_some(value)
    }

    fn say_if_without_effect(&mut self, known: &Known, value: &Value, node: &Node<'_>) {
        // What switches nothing on need not say that it does not.
        let (Effect::None(because), false) = (known.effect, *value == Value::Bool(false)) else { return };
        let range = node.range();
        let text = format!("`{}` has no effect here: {because}", known.key);
        let diagnostic = self.source.diagnose(Severity::Warning, range.start, range.end, text);
        self.found.without_effect.push(WithoutEffect { key: known.key, because, diagnostic });
    }

    /// A project does not open its own gates.
    fn allowed_here(&mut self, known: &Known, value: &Value, node: &Node<'_>) -> bool {
        let refused = *self.layer == Source::Project
            && match known.project {
                Project::Anything => false,
                Project::OnlyTrue => *value != Value::Bool(true),
                Project::Nothing => true,
            };
        if refused {
            let text = format!("a project can't set `{}` for itself; it is ignored", known.key);
            self.report(Severity::Warning, node.range(), text, None);
            if let Some(wrong) = self.found.diagnostics.last_mut() {
                wrong.help = Some("set it in your own settings, ~/.gemini/settings.json".to_owned());
            }
        }
        !refused
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
        let near = names.chain(top.iter().copied()).find(|known| {
            name.eq_ignore_ascii_case(known) || (known.len() >= 5 && strsim::damerau_levenshtein(name, known) == 1)
        });
        if let Some(near) = near {
            let text = format!("`{name}` is no setting that is known here; it is ignored");
            self.report(Severity::Warning, property.name.range(), text, None);
            if let Some(wrong) = self.found.diagnostics.last_mut() {
                wrong.help = Some(format!("did you mean `{near}`?"));
            }
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
        Kind::Texts => texts(value),
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
        Kind::Texts => "a list of strings".to_owned(),
        Kind::TextOrTexts => "a string or a list of strings".to_owned(),
        Kind::OneOf(words) => {
            let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
            quoted.join(" or ")
        }
    }
}
