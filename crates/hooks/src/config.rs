//! Parses the text of a settings file into declared hooks with their locations, and reports everything that is wrong
//! with them as diagnostics.
//!
//! Only the `hooks`, `hooksConfig` and `tools.enableHooks` sections of a file are read. A mistake affects the hook in
//! which it stands and not the other hooks. The caller reads the file itself.

mod chunks;
mod hook;
mod hooks_config;
mod http;
mod layer;
mod matcher;
mod node_reader;
mod on_error;
mod plugin;
mod when;
mod worker;

use std::collections::HashMap;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;

use crate::bridge_call::BridgeCall;
use crate::diagnostic::SourceText;
use crate::dialect::claude::{self, AgentScope, CallStatus};
use crate::event::{EVENTS, EventKind};
use crate::guards;
use crate::hook::{Hook, Source};
use crate::jsonc::{Document, last_property};
use crate::matching::Matcher;
use crate::matching::effect_filter::EffectFilter;
use hooks_config::combine_configs;
pub use hooks_config::{CONFIG_KEYS, HooksConfig, OnUnknown};
pub use layer::{DeclaredLayer, FileKind, Layer};
use node_reader::NodeReader;

/// The keys of `hooks` that are not events.
const HOOKS_SWITCH_KEYS: [&str; 3] = ["enabled", "disabled", "notifications"];
/// The keys that may stand next to events in a file without an enclosing `hooks` object.
const NON_EVENT_KEYS: [&str; 2] = ["hooksConfig", "$schema"];

/// Parses a layer from its text.
///
/// ```
/// use hookwright_hooks::{Layer, Source, parse_layer};
///
/// let text = r#"{ "hooks": { "BeforTool": [ { "hooks": [ { "type": "command", "command": "true" } ] } ] } }"#;
/// let declared = parse_layer(&Layer::new(Source::User, "settings.json".as_ref(), text));
/// assert!(declared.hooks.is_empty());
/// assert!(!declared.diagnostics.is_empty());
/// ```
pub fn parse_layer(layer: &Layer<'_>) -> DeclaredLayer {
    parse_layer_document(layer, &Document::parse(layer.file, layer.text))
}

/// Parses a layer whose text has already been parsed as JSON.
pub fn parse_layer_document(layer: &Layer<'_>, document: &Document<'_>) -> DeclaredLayer {
    let mut declared = DeclaredLayer::empty(layer.source.clone(), Vec::new());
    match &document.root {
        Ok(Some(root)) => LayerParser::new(layer, &document.source, &mut declared).parse_root(root),
        Ok(None) => {}
        Err(diagnostic) => declared.diagnostics.push((**diagnostic).clone()),
    }
    declared
}

fn is_bridge_call(hook: &Object<'_>) -> bool {
    let command = last_property(hook, "command").and_then(|command| command.value.as_string_lit());
    command.is_some_and(|command| BridgeCall::parse(&command.value).is_some())
}

struct LayerParser<'a, 'l> {
    layer: &'a Layer<'l>,
    reader: NodeReader<'a>,
    declared: &'a mut DeclaredLayer,
    /// The matchers compiled so far: many hooks share few of them.
    matchers: HashMap<(EventKind, String), Matcher>,
    /// The hook names seen so far, with the command and location of their first hook.
    seen_names: HashMap<String, (String, usize)>,
    /// The part of the event that the definitions at hand are about, where they use a Claude Code event.
    event_scope: EventScope,
}

impl<'a, 'l> LayerParser<'a, 'l> {
    fn new(layer: &'a Layer<'l>, source: &'a SourceText<'a>, declared: &'a mut DeclaredLayer) -> Self {
        let read = NodeReader { source, diagnostics: Vec::new(), unlisted_count: 0 };
        LayerParser {
            layer,
            reader: read,
            declared,
            matchers: HashMap::new(),
            seen_names: HashMap::new(),
            event_scope: EventScope::default(),
        }
    }

    fn parse_root(mut self, root: &Object<'_>) {
        let mut switches = Vec::new();
        self.reader.report_duplicate_keys(root, "the settings");
        if self.layer.kind == FileKind::Claude {
            return self.parse_claude_settings(root);
        }
        if let Some(hooks) = self.reader.read_section(root, "hooks") {
            self.parse_events(hooks);
            switches.push(self.parse_hooks_config(hooks));
        } else if self.has_bare_events(root) {
            self.parse_bare_events(root);
        }
        if let Some(config) = self.reader.read_section(root, "hooksConfig") {
            self.reader.report_unknown_keys(config, &CONFIG_KEYS, "hooksConfig");
            switches.push(self.parse_hooks_config(config));
        }
        if let Some(tools) = last_property(root, "tools").and_then(|tools| tools.value.as_object()) {
            switches.push(HooksConfig {
                enabled: self.reader.read_boolean(tools, "enableHooks"),
                ..HooksConfig::default()
            });
        }
        self.declared.config = combine_configs(switches);
        self.finish(root);
    }

    fn finish(mut self, root: &Object<'_>) {
        self.declared.lost_guards =
            guards::find_lost_guards(root, &self.declared.hooks, self.reader.source, &self.reader.diagnostics);
        self.declared.lost_guards.extend(guards::find_lost_requirements(root, self.reader.source));
        self.reader.diagnostics.sort_by_key(|diagnostic| diagnostic.span.as_ref().map(|span| (span.line, span.column)));
        self.reader.report_unlisted();
        self.declared.diagnostics.append(&mut self.reader.diagnostics);
    }

    /// Parses Claude Code's settings: the hooks, and other keys that a user could take for a guard.
    fn parse_claude_settings(mut self, root: &Object<'_>) {
        if let Some(hooks) = self.reader.read_section(root, "hooks") {
            self.parse_claude_events(hooks);
        }
        if let Some(property) =
            last_property(root, "permissions").filter(|property| has_deny_or_ask_rules(&property.value))
        {
            let wrong = self.reader.warning_at(property.name.range(), "Claude Code's `permissions` are not read here");
            self.reader.report(wrong.help("write what they deny as policies or hooks: see docs/claude-hooks.md"));
        }
        if let Some(property) = last_property(root, "disableAllHooks")
            && self.reader.read_boolean(root, "disableAllHooks") == Some(true)
        {
            for hook in &mut self.declared.hooks {
                hook.enabled = false;
            }
            let wrong =
                self.reader.warning_at(property.name.range(), "`disableAllHooks` switches off the hooks of this file");
            self.reader
                .report(wrong.help("hooks of other files still run; `hooksConfig.enabled` switches off all hooks"));
        }
        self.finish(root);
    }

    /// Parses Claude Code's events; those without a counterpart are reported together in one warning.
    fn parse_claude_events(&mut self, hooks: &Object<'_>) {
        self.reader.report_duplicate_keys(hooks, "hooks");
        let mut without: Vec<&ObjectProp<'_>> = Vec::new();
        for property in &hooks.properties {
            match claude::event_by_name(property.name.as_str()) {
                Some(moment) if self.reader.is_last_of_key(hooks, property) => {
                    self.event_scope = EventScope { agent_scope: moment.agent_scope, after_call: moment.after_call };
                    self.parse_definitions(moment.kind, property);
                }
                Some(_) => {}
                None => without.push(property),
            }
        }
        self.event_scope = EventScope::default();
        let Some(first) = without.first() else { return };
        let names: Vec<&str> = without.iter().map(|property| property.name.as_str()).collect();
        let text = format!("events without a counterpart here, whose hooks never run: {}", names.join(", "));
        let wrong = self.reader.warning_at(first.name.range(), text);
        self.reader.report(wrong);
    }

    /// Parses the definitions of every event, in the order of the file.
    fn parse_events(&mut self, hooks: &Object<'_>) {
        self.reader.report_duplicate_keys(hooks, "hooks");
        for property in &hooks.properties {
            let name = property.name.as_str();
            match EventKind::from_name(name) {
                Some(kind) if self.reader.is_last_of_key(hooks, property) => self.parse_definitions(kind, property),
                Some(_) => {}
                None if HOOKS_SWITCH_KEYS.contains(&name) || NON_EVENT_KEYS.contains(&name) => {}
                None => self.report_unknown_event(property),
            }
        }
    }

    /// Whether a hooks file has events at the top level, without an enclosing `hooks` object.
    fn has_bare_events(&self, root: &Object<'_>) -> bool {
        let is_event = |property: &ObjectProp<'_>| EventKind::from_name(property.name.as_str()).is_some();
        let is_foreign = |property: &ObjectProp<'_>| EventKind::from_foreign_name(property.name.as_str()).is_some();
        (matches!(self.layer.source, Source::Extension(_)) || self.layer.kind == FileKind::Hooks)
            && last_property(root, "hooks").is_none()
            && root.properties.iter().any(|property| is_event(property) || is_foreign(property))
    }

    /// Parses events without an enclosing `hooks` object. Gemini CLI drops them, but there may be guards among them.
    fn parse_bare_events(&mut self, root: &Object<'_>) {
        if self.layer.kind != FileKind::Hooks {
            let text = "these hooks have no `\"hooks\"` around them; Hookwright reads them, Gemini CLI ignores them";
            let first = root.properties.first().map_or(root.range, |property| property.name.range());
            let wrong = self.reader.warning_at(first, text);
            self.reader.report(wrong.help("wrap them: { \"hooks\": { … } }"));
        }
        self.parse_events(root);
    }

    fn report_unknown_event(&mut self, property: &ObjectProp<'_>) {
        let name = property.name.as_str();
        let wrong =
            self.reader.error_at(property.name.range(), format!("unknown hook event `{name}`; its hooks never run"));
        let help = match EventKind::suggest(name) {
            Some(kind) if EventKind::from_foreign_name(name).is_some() => {
                format!(
                    "this event is called `{kind}` here; `hookwright hooks migrate --from-claude` converts whole files, \
                     and `hooksConfig.readClaude` reads them as they are"
                )
            }
            Some(kind) => format!("did you mean `{kind}`?"),
            None => {
                let names: Vec<_> = EVENTS.iter().map(|row| row.name).collect();
                format!("the events are {}", names.join(", "))
            }
        };
        self.reader.report(wrong.help(help));
    }

    fn parse_definitions(&mut self, kind: EventKind, property: &ObjectProp<'_>) {
        let what = format!("`{kind}` should be an array of definitions");
        let Some(definitions) = self.reader.read_array(&property.value, &what, r#"[{ "matcher": …, "hooks": [ … ] }]"#)
        else {
            return;
        };
        for definition in &definitions.elements {
            match definition {
                Value::Object(object) => self.parse_definition(kind, object),
                other => {
                    let wrong = self.reader.error(other, "a hook definition should be an object");
                    self.reader.report(wrong.expected(r#"expected { "matcher": …, "hooks": [ … ] }"#));
                }
            }
        }
    }

    fn parse_definition(&mut self, kind: EventKind, object: &Object<'_>) {
        const DEFINITION_KEYS: [&str; 4] = ["matcher", "sequential", "when", "hooks"];
        // A hook written directly into the event's array is a frequent mistake, and its meaning is clear.
        let is_hook = last_property(object, "command").is_some() || last_property(object, "decision").is_some();
        let bare = last_property(object, "hooks").is_none() && is_hook;
        if bare {
            let text = "this is a hook where a definition belongs; Hookwright reads it, Gemini CLI ignores it";
            let wrong = self.reader.warning_at(object.range, text);
            self.reader.report(wrong.help(r#"wrap it: { "hooks": [ { "type": "command", … } ] }"#));
        } else {
            self.reader.report_unknown_keys(object, &DEFINITION_KEYS, "a hook definition");
        }
        let matcher_text = self.reader.read_string(object, "matcher");
        let sequential = self.reader.read_boolean(object, "sequential").unwrap_or(false);
        let first = self.declared.hooks.len();
        if bare {
            let matcher = self.compile_matcher(kind, object, matcher_text.as_deref());
            let also: &[&str] = &["matcher", "sequential"];
            // `when` belongs to the hook here, not to the definition.
            let part = self.event_scope;
            self.parse_hook(
                kind,
                object,
                &DefinitionContext {
                    matcher,
                    matcher_text,
                    when: None,
                    sequential,
                    event_scope: part,
                    extra_keys: also,
                },
            );
        } else {
            self.parse_hooks(kind, object, matcher_text, sequential);
        }
        if let Some(property) = last_property(object, "matcher") {
            self.check_guards(first, property);
        }
    }

    fn parse_hooks(&mut self, kind: EventKind, object: &Object<'_>, matcher_text: Option<String>, sequential: bool) {
        let Some(property) = last_property(object, "hooks") else {
            let wrong = self.reader.error_at(object.range, "a hook definition needs `hooks`; without it nothing runs");
            self.reader.report(wrong.expected("expected \"hooks\": [ … ]"));
            return;
        };
        let matcher = self.compile_matcher(kind, object, matcher_text.as_deref());
        let when = when::read(&mut self.reader, kind, object);
        let Some(list) = self.reader.read_array(&property.value, "`hooks` should be an array", "an array of hooks")
        else {
            return;
        };
        let common = DefinitionContext {
            matcher,
            matcher_text,
            when,
            sequential,
            event_scope: self.event_scope,
            extra_keys: &[],
        };
        for element in &list.elements {
            match element {
                Value::Object(object) => self.parse_hook(kind, object, &common),
                other => {
                    let wrong = self.reader.error(other, "a hook should be an object");
                    self.reader.report(wrong.expected(r#"expected { "type": "command", "command": … }"#));
                }
            }
        }
    }

    fn parse_hook(&mut self, kind: EventKind, object: &Object<'_>, common: &DefinitionContext) {
        // A bridge call that another agent runs is not a hook of the engine: the engine would call itself.
        if is_bridge_call(object) {
            return;
        }
        if let Some(hook) = hook::read(&mut self.reader, self.layer, kind, object, common) {
            self.check_duplicate_name(&hook, object);
            self.declared.hooks.push(hook);
        }
    }

    /// Reports a guard whose matcher can never match, and which protects nothing.
    fn check_guards(&mut self, first: usize, matcher: &ObjectProp<'_>) {
        let asleep = self.declared.hooks[first..].iter().find(|hook| hook.is_guard() && !hook.can_match());
        let Some(name) = asleep.map(|hook| hook.id().to_owned()) else { return };
        let text = format!("guard `{name}` can never run: this matcher matches nothing that is known");
        let wrong = self.reader.error(&matcher.value, text);
        self.reader.report(wrong);
    }

    /// Reports different hooks of one name: `disable` cannot tell them apart.
    fn check_duplicate_name(&mut self, hook: &Hook, object: &Object<'_>) {
        let (Some(name), Some(command)) = (&hook.name, hook.command()) else { return };
        match self.seen_names.get(name) {
            Some((other, at)) if other != command => {
                let first = self.reader.source.location(*at);
                let text = format!("two hooks called `{name}` run different commands");
                let target = last_property(object, "name").map_or(object.range, |name| name.value.range());
                let wrong = self.reader.warning_at(target, text);
                let help =
                    format!("the other one is on line {}; enabling or disabling `{name}` acts on both", first.line);
                self.reader.report(wrong.help(help));
            }
            Some(_) => {}
            None => {
                self.seen_names.insert(name.clone(), (command.to_owned(), object.range.start));
            }
        }
    }
}

/// The parts of a definition that all its hooks share.
struct DefinitionContext {
    matcher: Matcher,
    matcher_text: Option<String>,
    when: Option<EffectFilter>,
    sequential: bool,
    /// The keys of the definition that may stand among the hook's own keys.
    extra_keys: &'static [&'static str],
    event_scope: EventScope,
}

/// Limits an event to the cases in which the corresponding Claude Code event fires.
#[derive(Clone, Copy, Default)]
struct EventScope {
    agent_scope: Option<AgentScope>,
    after_call: Option<CallStatus>,
}

/// Whether Claude Code's `permissions` contain deny or ask rules.
fn has_deny_or_ask_rules(permissions: &Value<'_>) -> bool {
    let Value::Object(permissions) = permissions else { return false };
    let rules = |key: &str| last_property(permissions, key).and_then(|property| property.value.as_array());
    ["deny", "ask"].iter().filter_map(|key| rules(key)).any(|rules| !rules.elements.is_empty())
}

#[cfg(test)]
mod tests;
