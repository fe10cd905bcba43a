//! `hooksConfig`: a layer's settings for hooks as a whole, and its switches put together. What they come to over all layers is
//! `registry.rs`.

use std::num::NonZeroU32;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

use super::{Declarer, failures};
use crate::guard::Required;
use crate::hook::Source;
use crate::jsonc::last;
use crate::on_error::OnError;

/// A layer's settings for hooks as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HooksConfig {
    /// Whether hooks run at all, if this layer says.
    pub enabled: Option<bool>,
    /// Hooks that do not run.
    pub disabled: Vec<String>,
    /// What counts when a hook fails.
    pub on_error: OnError,
    /// Hooks that must be there, and awake.
    pub required: Vec<Required>,
    /// How often in a row AfterAgent may demand a retry.
    pub max_agent_retries: Option<u32>,
    /// Whether Claude Code's own files are read, too. Whoever reads files heeds it.
    pub read_claude: Option<bool>,
    /// The most commands that run at once.
    pub max_parallel: Option<NonZeroU32>,
    /// Whether what BeforeAgent hooks tell the model stays beyond its turn.
    pub keep_context: Option<bool>,
    /// Whether running hooks are shown.
    pub notifications: Option<bool>,
    /// How long SessionEnd hooks are waited for, in milliseconds.
    pub session_end_grace: Option<u32>,
    /// What counts for guards where another agent has a tool or an event that nobody here knows.
    pub on_unknown: Option<OnUnknown>,
}

/// What counts for guards where another agent has a tool or an event that nobody here knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename_all = "lowercase"))]
pub enum OnUnknown {
    /// It passes.
    Allow,
    /// It is a no: a guard may be blind to it.
    #[default]
    Deny,
}

/// The keys of `hooksConfig`.
pub const CONFIG_KEYS: [&str; 11] = [
    "enabled",
    "disabled",
    "notifications",
    "onError",
    "required",
    "maxAgentRetries",
    "maxParallel",
    "keepContext",
    "onUnknown",
    "readClaude",
    "sessionEndGrace",
];

impl Declarer<'_, '_> {
    pub(super) fn config(&mut self, object: &Object<'_>) -> HooksConfig {
        HooksConfig {
            enabled: self.read.boolean(object, "enabled"),
            disabled: self.read.strings(object, "disabled"),
            on_error: last(object, "onError")
                .map(|property| failures::on_error(&mut self.read, property))
                .unwrap_or_default(),
            required: self.required(object),
            max_agent_retries: self.read.count(object, "maxAgentRetries"),
            read_claude: self.read.boolean(object, "readClaude"),
            max_parallel: self.read.positive(object, "maxParallel"),
            keep_context: self.read.boolean(object, "keepContext"),
            notifications: self.notifications(object),
            session_end_grace: self.read.count(object, "sessionEndGrace"),
            on_unknown: self.on_unknown(object),
        }
    }

    /// `required`: names, each with its place.
    fn required(&mut self, object: &Object<'_>) -> Vec<Required> {
        let Some(property) = last(object, "required") else { return Vec::new() };
        let what = "`required` should be an array of names";
        let Some(array) = self.read.array(&property.value, what, "[\"…\"]") else { return Vec::new() };
        let mut required = Vec::new();
        for element in &array.elements {
            match element {
                Value::StringLit(text) if !text.value.trim().is_empty() => required.push(Required {
                    name: text.value.clone().into_owned(),
                    by: self.layer.source.clone(),
                    place: self.read.source.place(element.range().start),
                }),
                other => self.read.wrong_type("required", other, "a list of hooks' names"),
            }
        }
        required
    }

    /// What counts for unknown tools; a project does not loosen it.
    fn on_unknown(&mut self, object: &Object<'_>) -> Option<OnUnknown> {
        let word = self.read.string(object, "onUnknown")?;
        let value = &last(object, "onUnknown")?.value;
        let (wrong, help) = match word.as_str() {
            "deny" => return Some(OnUnknown::Deny),
            "allow" if self.layer.source != Source::Project => return Some(OnUnknown::Allow),
            "allow" => {
                let wrong = self.read.warning(value, "a project can't let unknown tools pass; it is ignored");
                (wrong, "set it in your own settings, ~/.gemini/settings.json")
            }
            _ => (self.read.error(value, format!("`onUnknown` can't be `{word}`")), "one of allow, deny"),
        };
        self.read.report(wrong.help(help));
        None
    }

    /// Whether running hooks are shown; a project does not hide what runs.
    fn notifications(&mut self, object: &Object<'_>) -> Option<bool> {
        let shown = self.read.boolean(object, "notifications")?;
        let hidden = last(object, "notifications").filter(|_| !shown && self.layer.source == Source::Project);
        let Some(property) = hidden else { return Some(shown) };
        let wrong = self.read.warning(&property.value, "a project can't hide which hooks run; it is ignored");
        self.read.report(wrong.help("set it in your own settings, ~/.gemini/settings.json"));
        None
    }
}

/// One layer says `false` as soon as any of its switches does.
pub(super) fn combine(switches: Vec<HooksConfig>) -> HooksConfig {
    switches.into_iter().fold(HooksConfig::default(), |mut sum, next| {
        sum.enabled = match (sum.enabled, next.enabled) {
            (Some(one), Some(other)) => Some(one && other),
            (one, other) => one.or(other),
        };
        sum.disabled.extend(next.disabled);
        sum.on_error = sum.on_error.or(next.on_error);
        sum.required.extend(next.required);
        sum.max_agent_retries = sum.max_agent_retries.or(next.max_agent_retries);
        sum.read_claude = sum.read_claude.or(next.read_claude);
        sum.max_parallel = sum.max_parallel.into_iter().chain(next.max_parallel).min();
        sum.keep_context = sum.keep_context.or(next.keep_context);
        sum.notifications = sum.notifications.or(next.notifications);
        sum.session_end_grace = sum.session_end_grace.or(next.session_end_grace);
        sum.on_unknown = sum.on_unknown.max(next.on_unknown);
        sum
    })
}
