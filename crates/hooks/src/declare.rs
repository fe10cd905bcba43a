//! Settings text → declared hooks with their places, and a diagnostic for everything that is wrong with them.
//!
//! Reads the `hooks`, `hooksConfig` and `tools.enableHooks` parts of a file and nothing else of it. A mistake costs the
//! hook it stands in, never its neighbours. Reading the file itself is the caller's work.

mod chunks;
mod config;
mod failures;
mod hook;
mod http;
mod layer;
mod matching;
mod node;
mod plugin;
mod when;
mod worker;

use std::collections::HashMap;

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;

use crate::bridge_call::BridgeCall;
use crate::diagnostic::SourceText;
use crate::dialect::claude::{self, CallEnd, Whose};
use crate::event::{EVENTS, EventKind};
use crate::guard;
use crate::hook::{Hook, Source};
use crate::jsonc::{Document, last};
use crate::matcher::Matcher;
use crate::when::When;
use config::combine;
pub use config::{CONFIG_KEYS, HooksConfig, OnUnknown};
pub use layer::{Declared, FileKind, Layer};
use node::NodeReader;

/// The keys of `hooks` that are no events.
const HOOKS_SWITCHES: [&str; 3] = ["enabled", "disabled", "notifications"];
/// What may stand beside events that have no `hooks` around them.
const BESIDE_EVENTS: [&str; 2] = ["hooksConfig", "$schema"];

/// Reads a layer out of its text.
pub fn declare(layer: &Layer<'_>) -> Declared {
    declare_document(layer, &Document::parse(layer.file, layer.text))
}

/// Reads a layer whose text is parsed already.
pub fn declare_document(layer: &Layer<'_>, document: &Document<'_>) -> Declared {
    let mut declared = Declared::empty(layer.source.clone(), Vec::new());
    match &document.root {
        Ok(Some(root)) => Declarer::new(layer, &document.source, &mut declared).root(root),
        Ok(None) => {}
        Err(diagnostic) => declared.diagnostics.push((**diagnostic).clone()),
    }
    declared
}

fn calls_the_bridge(hook: &Object<'_>) -> bool {
    let command = last(hook, "command").and_then(|command| command.value.as_string_lit());
    command.is_some_and(|command| BridgeCall::read(&command.value).is_some())
}

struct Declarer<'a, 'l> {
    layer: &'a Layer<'l>,
    read: NodeReader<'a>,
    declared: &'a mut Declared,
    /// Matchers already compiled: many hooks share few of them.
    matchers: HashMap<(EventKind, String), Matcher>,
    /// Named hooks already seen, with their command and place.
    named: HashMap<String, (String, usize)>,
    /// When the event at hand fires, of the times that ours does.
    part: Part,
}

impl<'a, 'l> Declarer<'a, 'l> {
    fn new(layer: &'a Layer<'l>, source: &'a SourceText<'a>, declared: &'a mut Declared) -> Self {
        let read = NodeReader { source, diagnostics: Vec::new(), unlisted: 0 };
        Declarer { layer, read, declared, matchers: HashMap::new(), named: HashMap::new(), part: Part::default() }
    }

    fn root(mut self, root: &Object<'_>) {
        let mut switches = Vec::new();
        self.read.duplicate_keys(root, "the settings");
        if self.layer.kind == FileKind::Claude {
            return self.claude(root);
        }
        if let Some(hooks) = self.read.section(root, "hooks") {
            self.events(hooks);
            switches.push(self.config(hooks));
        } else if self.is_bare(root) {
            self.bare_events(root);
        }
        if let Some(config) = self.read.section(root, "hooksConfig") {
            self.read.unknown_keys(config, &CONFIG_KEYS, "hooksConfig");
            switches.push(self.config(config));
        }
        if let Some(tools) = last(root, "tools").and_then(|tools| tools.value.as_object()) {
            switches.push(HooksConfig { enabled: self.read.boolean(tools, "enableHooks"), ..HooksConfig::default() });
        }
        self.declared.config = combine(switches);
        self.finish(root);
    }

    fn finish(mut self, root: &Object<'_>) {
        self.declared.lost = guard::lost(root, &self.declared.hooks, self.read.source, &self.read.diagnostics);
        self.declared.lost.extend(guard::lost_required(root, self.read.source));
        self.read.diagnostics.sort_by_key(|diagnostic| diagnostic.span.as_ref().map(|span| (span.line, span.column)));
        self.read.report_unlisted();
        self.declared.diagnostics.append(&mut self.read.diagnostics);
    }

    /// Claude Code's settings: its hooks, and what of the rest could be taken for a guard.
    fn claude(mut self, root: &Object<'_>) {
        if let Some(hooks) = self.read.section(root, "hooks") {
            self.claudes_events(hooks);
        }
        if let Some(property) = last(root, "permissions").filter(|property| holds_rules(&property.value)) {
            let wrong = self.read.warning_at(property.name.range(), "Claude Code's `permissions` are not read here");
            self.read.report(wrong.help("write what they refuse as policies, or as hooks: docs/claude-hooks.md"));
        }
        if let Some(property) = last(root, "disableAllHooks")
            && self.read.boolean(root, "disableAllHooks") == Some(true)
        {
            for hook in &mut self.declared.hooks {
                hook.enabled = false;
            }
            let wrong =
                self.read.warning_at(property.name.range(), "`disableAllHooks` switches off the hooks of this file");
            self.read.report(wrong.help("others' hooks run; `hooksConfig.enabled` is for all"));
        }
        self.finish(root);
    }

    /// The same for Claude Code's names; those without a counterpart are said once.
    fn claudes_events(&mut self, hooks: &Object<'_>) {
        self.read.duplicate_keys(hooks, "hooks");
        let mut without: Vec<&ObjectProp<'_>> = Vec::new();
        for property in &hooks.properties {
            match claude::event_of(property.name.as_str()) {
                Some(moment) if self.read.is_last(hooks, property) => {
                    self.part = Part { whose: moment.whose, after: moment.after };
                    self.definitions(moment.kind, property);
                }
                Some(_) => {}
                None => without.push(property),
            }
        }
        self.part = Part::default();
        let Some(first) = without.first() else { return };
        let names: Vec<&str> = without.iter().map(|property| property.name.as_str()).collect();
        let text = format!("no such event here, and its hooks never run: {}", names.join(", "));
        let wrong = self.read.warning_at(first.name.range(), text);
        self.read.report(wrong);
    }

    /// Every event's definitions, in the order of the file.
    fn events(&mut self, hooks: &Object<'_>) {
        self.read.duplicate_keys(hooks, "hooks");
        for property in &hooks.properties {
            let name = property.name.as_str();
            match EventKind::from_name(name) {
                Some(kind) if self.read.is_last(hooks, property) => self.definitions(kind, property),
                Some(_) => {}
                None if HOOKS_SWITCHES.contains(&name) || BESIDE_EVENTS.contains(&name) => {}
                None => self.unknown_event(property),
            }
        }
    }

    /// Whether a hooks file has its events where `hooks` should be.
    fn is_bare(&self, root: &Object<'_>) -> bool {
        let is_event = |property: &ObjectProp<'_>| EventKind::from_name(property.name.as_str()).is_some();
        let is_foreign = |property: &ObjectProp<'_>| EventKind::from_foreign_name(property.name.as_str()).is_some();
        (matches!(self.layer.source, Source::Extension(_)) || self.layer.kind == FileKind::Hooks)
            && last(root, "hooks").is_none()
            && root.properties.iter().any(|property| is_event(property) || is_foreign(property))
    }

    /// Events without `hooks` around them, which Gemini CLI drops: somebody's guard may be among them.
    fn bare_events(&mut self, root: &Object<'_>) {
        if self.layer.kind != FileKind::Hooks {
            let text =
                "these hooks stand without `\"hooks\"` around them; they are read here, and ignored by Gemini CLI";
            let first = root.properties.first().map_or(root.range, |property| property.name.range());
            let wrong = self.read.warning_at(first, text);
            self.read.report(wrong.help("wrap them: { \"hooks\": { … } }"));
        }
        self.events(root);
    }

    fn unknown_event(&mut self, property: &ObjectProp<'_>) {
        let name = property.name.as_str();
        let wrong =
            self.read.error_at(property.name.range(), format!("unknown hook event `{name}`; its hooks never run"));
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
        self.read.report(wrong.help(help));
    }

    fn definitions(&mut self, kind: EventKind, property: &ObjectProp<'_>) {
        let what = format!("`{kind}` should be an array of definitions");
        let Some(definitions) = self.read.array(&property.value, &what, r#"[{ "matcher": …, "hooks": [ … ] }]"#)
        else {
            return;
        };
        for definition in &definitions.elements {
            match definition {
                Value::Object(object) => self.definition(kind, object),
                other => {
                    let wrong = self.read.error(other, "a hook definition should be an object");
                    self.read.report(wrong.expected(r#"expected { "matcher": …, "hooks": [ … ] }"#));
                }
            }
        }
    }

    fn definition(&mut self, kind: EventKind, object: &Object<'_>) {
        const KEYS: [&str; 4] = ["matcher", "sequential", "when", "hooks"];
        // A hook written straight into the event's array is the commonest mistake of all, and what it means is clear.
        let is_hook = last(object, "command").is_some() || last(object, "decision").is_some();
        let bare = last(object, "hooks").is_none() && is_hook;
        if bare {
            let text = "this hook stands where a definition should; it is read here, and ignored by Gemini CLI";
            let wrong = self.read.warning_at(object.range, text);
            self.read.report(wrong.help(r#"wrap it: { "hooks": [ { "type": "command", … } ] }"#));
        } else {
            self.read.unknown_keys(object, &KEYS, "a hook definition");
        }
        let matcher_text = self.read.string(object, "matcher");
        let sequential = self.read.boolean(object, "sequential").unwrap_or(false);
        let first = self.declared.hooks.len();
        if bare {
            let matcher = self.matcher(kind, object, matcher_text.as_deref());
            let also: &[&str] = &["matcher", "sequential"];
            // Its `when` is its own.
            let part = self.part;
            self.hook(kind, object, &Common { matcher, matcher_text, when: None, sequential, part, also });
        } else {
            self.hooks(kind, object, matcher_text, sequential);
        }
        if let Some(property) = last(object, "matcher") {
            self.check_guards(first, property);
        }
    }

    fn hooks(&mut self, kind: EventKind, object: &Object<'_>, matcher_text: Option<String>, sequential: bool) {
        let Some(property) = last(object, "hooks") else {
            let wrong = self.read.error_at(object.range, "a hook definition needs `hooks`; without it nothing runs");
            self.read.report(wrong.expected("expected \"hooks\": [ … ]"));
            return;
        };
        let matcher = self.matcher(kind, object, matcher_text.as_deref());
        let when = when::read(&mut self.read, kind, object);
        let Some(list) = self.read.array(&property.value, "`hooks` should be an array", "an array of hooks") else {
            return;
        };
        let common = Common { matcher, matcher_text, when, sequential, part: self.part, also: &[] };
        for element in &list.elements {
            match element {
                Value::Object(object) => self.hook(kind, object, &common),
                other => {
                    let wrong = self.read.error(other, "a hook should be an object");
                    self.read.report(wrong.expected(r#"expected { "type": "command", "command": … }"#));
                }
            }
        }
    }

    fn hook(&mut self, kind: EventKind, object: &Object<'_>, common: &Common) {
        // Another agent's way to ask us is none of our own hooks: it would ask itself.
        if calls_the_bridge(object) {
            return;
        }
        if let Some(hook) = hook::read(&mut self.read, self.layer, kind, object, common) {
            self.check_name(&hook, object);
            self.declared.hooks.push(hook);
        }
    }

    /// A guard that can never run is worse than none.
    fn check_guards(&mut self, first: usize, matcher: &ObjectProp<'_>) {
        let asleep = self.declared.hooks[first..].iter().find(|hook| hook.is_guard() && !hook.can_match());
        let Some(name) = asleep.map(|hook| hook.id().to_owned()) else { return };
        let text = format!("guard `{name}` can never run: this matcher matches nothing that is known");
        let wrong = self.read.error(&matcher.value, text);
        self.read.report(wrong);
    }

    /// Two hooks of one name cannot be told apart by `disable`, unless they are the same hook.
    fn check_name(&mut self, hook: &Hook, object: &Object<'_>) {
        let (Some(name), Some(command)) = (&hook.name, hook.command()) else { return };
        match self.named.get(name) {
            Some((other, at)) if other != command => {
                let first = self.read.source.place(*at);
                let text = format!("two hooks called `{name}` run different commands");
                let target = last(object, "name").map_or(object.range, |name| name.value.range());
                let wrong = self.read.warning_at(target, text);
                let help =
                    format!("the other one is on line {}; enabling or disabling `{name}` acts on both", first.line);
                self.read.report(wrong.help(help));
            }
            Some(_) => {}
            None => {
                self.named.insert(name.clone(), (command.to_owned(), object.range.start));
            }
        }
    }
}

/// What all hooks of a definition share.
struct Common {
    matcher: Matcher,
    matcher_text: Option<String>,
    when: Option<When>,
    sequential: bool,
    /// Keys of the definition that stand among the hook's own.
    also: &'static [&'static str],
    part: Part,
}

/// When an event of Claude Code's fires, of the times that ours does.
#[derive(Clone, Copy, Default)]
struct Part {
    whose: Option<Whose>,
    after: Option<CallEnd>,
}

/// Whether Claude Code's `permissions` refuse anything, or want somebody asked.
fn holds_rules(permissions: &Value<'_>) -> bool {
    let Value::Object(permissions) = permissions else { return false };
    let rules = |key: &str| last(permissions, key).and_then(|property| property.value.as_array());
    ["deny", "ask"].iter().filter_map(|key| rules(key)).any(|rules| !rules.elements.is_empty())
}

#[cfg(test)]
mod tests;
