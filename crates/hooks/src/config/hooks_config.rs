//! `hooksConfig`: the settings of one layer that apply to all hooks. `registry.rs` combines those of all layers.

use std::num::NonZeroU32;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

use super::node_reader::NodeReader;
use super::{LayerParser, on_error};
use crate::doubt::{Enforcement, OnDoubt};
use crate::guards::RequiredHook;
use crate::hook::Source;
use crate::jsonc::last_property;
use crate::on_error::OnError;

/// A layer's settings for hooks as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HooksConfig {
    /// Whether hooks run at all, if this layer sets it.
    pub enabled: Option<bool>,
    /// The names of hooks that are disabled.
    pub disabled: Vec<String>,
    /// The failure policy of hooks that set none.
    pub on_error: OnError,
    /// The hooks that must be declared and armed.
    pub required: Vec<RequiredHook>,
    /// How many times in a row AfterAgent hooks may ask for another attempt.
    pub max_agent_retries: Option<u32>,
    /// Whether Claude Code's own settings files are read too; the caller, which reads the files, applies it.
    pub read_claude: Option<bool>,
    /// The maximum number of commands that run at the same time.
    pub max_parallel: Option<NonZeroU32>,
    /// Whether the context that BeforeAgent hooks add stays in the history after the turn.
    pub keep_context: Option<bool>,
    /// Whether running hooks are shown to the user.
    pub notifications: Option<bool>,
    /// The time in milliseconds to wait for SessionEnd hooks.
    pub session_end_grace: Option<u32>,
    /// The decision of guards on a tool or event of another agent that Hookwright does not know.
    pub on_unknown: Option<OnUnknown>,
    /// What guards of this layer do about calls whose effects are in doubt.
    pub on_doubt: Option<OnDoubt>,
    /// When the kernel enforces what guards forbid.
    pub enforce: Option<Enforcement>,
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

/// The keys that `hooksConfig` may have.
pub const CONFIG_KEYS: [&str; 13] = [
    "enabled",
    "disabled",
    "notifications",
    "onError",
    "required",
    "maxAgentRetries",
    "maxParallel",
    "keepContext",
    "onUnknown",
    "onDoubt",
    "enforce",
    "readClaude",
    "sessionEndGrace",
];

impl LayerParser<'_, '_> {
    pub(super) fn parse_hooks_config(&mut self, object: &Object<'_>) -> HooksConfig {
        HooksConfig {
            enabled: self.reader.read_boolean(object, "enabled"),
            disabled: self.reader.read_strings(object, "disabled"),
            on_error: last_property(object, "onError")
                .map(|property| on_error::read_on_error(&mut self.reader, property))
                .unwrap_or_default(),
            required: self.parse_required(object),
            max_agent_retries: self.reader.read_count(object, "maxAgentRetries"),
            read_claude: self.reader.read_boolean(object, "readClaude"),
            max_parallel: self.reader.read_positive(object, "maxParallel"),
            keep_context: self.reader.read_boolean(object, "keepContext"),
            notifications: self.parse_notifications(object),
            session_end_grace: self.reader.read_count(object, "sessionEndGrace"),
            on_unknown: self.parse_on_unknown(object),
            on_doubt: read_on_doubt(&mut self.reader, object),
            enforce: self.parse_enforce(object),
        }
    }

    /// Reads `required`: the names of hooks, each with its location.
    fn parse_required(&mut self, object: &Object<'_>) -> Vec<RequiredHook> {
        let Some(property) = last_property(object, "required") else { return Vec::new() };
        let what = "`required` should be an array of names";
        let Some(array) = self.reader.read_array(&property.value, what, "[\"…\"]") else { return Vec::new() };
        let mut required = Vec::new();
        for element in &array.elements {
            match element {
                Value::StringLit(text) if !text.value.trim().is_empty() => required.push(RequiredHook {
                    name: text.value.clone().into_owned(),
                    required_by: self.layer.source.clone(),
                    location: self.reader.source.location(element.range().start),
                }),
                other => self.reader.report_wrong_type("required", other, "a list of hooks' names"),
            }
        }
        required
    }

    /// Reads `onUnknown`; a project cannot loosen it.
    fn parse_on_unknown(&mut self, object: &Object<'_>) -> Option<OnUnknown> {
        let word = self.reader.read_string(object, "onUnknown")?;
        let value = &last_property(object, "onUnknown")?.value;
        let (wrong, help) = match word.as_str() {
            "deny" => return Some(OnUnknown::Deny),
            "allow" if self.layer.source != Source::Project => return Some(OnUnknown::Allow),
            "allow" => {
                let wrong = self.reader.warning(value, "a project can't allow unknown tools; this is ignored");
                (wrong, "set it in your own settings, ~/.gemini/settings.json")
            }
            _ => (self.reader.error(value, format!("`onUnknown` can't be `{word}`")), "one of allow, deny"),
        };
        self.reader.report(wrong.help(help));
        None
    }

    /// Reads `enforce`; a project can only ask for more.
    fn parse_enforce(&mut self, object: &Object<'_>) -> Option<Enforcement> {
        let word = self.reader.read_string(object, "enforce")?;
        let value = &last_property(object, "enforce")?.value;
        let Some(enforce) = Enforcement::ALL.into_iter().find(|one| one.as_str() == word) else {
            let wrong = self.reader.error(value, format!("`enforce` can't be `{word}`; it counts as \"always\""));
            self.reader.report(wrong.help("one of always, doubt, off"));
            return Some(Enforcement::Always);
        };
        if self.layer.source == Source::Project && enforce != Enforcement::Always {
            let wrong = self.reader.warning(value, "a project can't enforce less; this is ignored");
            self.reader.report(wrong.help("set it in your own settings, ~/.gemini/settings.json"));
            return None;
        }
        Some(enforce)
    }

    /// Reads `notifications`; a project cannot hide which hooks run.
    fn parse_notifications(&mut self, object: &Object<'_>) -> Option<bool> {
        let shown = self.reader.read_boolean(object, "notifications")?;
        let hidden = last_property(object, "notifications").filter(|_| !shown && self.layer.source == Source::Project);
        let Some(property) = hidden else { return Some(shown) };
        let wrong = self.reader.warning(&property.value, "a project can't hide which hooks run; this is ignored");
        self.reader.report(wrong.help("set it in your own settings, ~/.gemini/settings.json"));
        None
    }
}

/// Reads `onDoubt` of a hook or of a layer. An invalid value counts as a question.
pub(super) fn read_on_doubt(read: &mut NodeReader<'_>, object: &Object<'_>) -> Option<OnDoubt> {
    let property = last_property(object, "onDoubt")?;
    if matches!(property.value, Value::NullKeyword(_)) {
        return None;
    }
    let word = property.value.as_string_lit().map(|text| text.value.as_ref());
    let found = OnDoubt::ALL.into_iter().find(|one| Some(one.as_str()) == word);
    if found.is_none() {
        let text =
            "`onDoubt` should be \"confine\", \"confineOrAllow\", \"ask\", \"deny\" or \"allow\"; it counts as \"ask\"";
        let wrong = read.error(&property.value, text);
        read.report(wrong.expected("expected \"confine\", \"confineOrAllow\", \"ask\", \"deny\" or \"allow\""));
    }
    Some(found.unwrap_or(OnDoubt::Ask))
}

/// Combines the switches of one layer: hooks are disabled if any of the switches disables them.
pub(super) fn combine_configs(switches: Vec<HooksConfig>) -> HooksConfig {
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
        sum.on_doubt = sum.on_doubt.max(next.on_doubt);
        sum.enforce = sum.enforce.max(next.enforce);
        sum
    })
}
