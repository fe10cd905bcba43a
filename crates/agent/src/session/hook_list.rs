//! The state of every hook: whether it can run, and if not, why not.

use std::sync::Arc;
use std::time::Duration;

use hookwright_hooks::{
    Action, ChunkUnit, EventKind, Hook, HookEngine, HookState, ReadinessError, RuleAction, Source, WorkerHealth,
};
use hookwright_settings::LoadedConfig;
use serde_json::{Map, Value, json};

/// A hook with its state.
#[derive(Clone, Debug)]
pub struct HookListEntry {
    /// The hook as the registry holds it.
    pub hook: Arc<Hook>,
    /// Whether the hook can run.
    pub state: ArmedState,
    /// The health of its worker process, if one was used in this session.
    pub worker: Option<WorkerHealth>,
}

/// Whether a hook can run.
#[derive(Clone, Debug)]
pub enum ArmedState {
    /// The hook runs when its event fires.
    Armed,
    /// The hook runs when its event fires, and decides nothing.
    Shadow,
    /// The hook is switched off, for this reason.
    Disabled(String),
    /// The hook waits for trust, for this reason.
    Untrusted(String),
    /// The hook is enabled and would fail to start.
    Inert(ReadinessError),
    /// The hook's matcher, given here, can match nothing.
    NeverMatches(String),
}

impl serde::Serialize for HookListEntry {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        hook_json(self).serialize(serializer)
    }
}

impl ArmedState {
    /// Returns the state's name in lists and JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            ArmedState::Armed => "armed",
            ArmedState::Shadow => "shadow",
            ArmedState::Disabled(_) => "disabled",
            ArmedState::Untrusted(_) => "untrusted",
            ArmedState::Inert(_) | ArmedState::NeverMatches(_) => "inert",
        }
    }

    /// Returns the reason why the hook is not armed.
    pub fn reason(&self) -> Option<String> {
        match self {
            ArmedState::Armed => None,
            ArmedState::Shadow => Some("it is asked and recorded, and decides nothing".to_owned()),
            ArmedState::Disabled(why) | ArmedState::Untrusted(why) => Some(why.clone()),
            ArmedState::Inert(problem) => Some(problem.to_string()),
            ArmedState::NeverMatches(matcher) => {
                Some(format!("its matcher `{matcher}` matches nothing that is known, so it never runs"))
            }
        }
    }
}

impl HookListEntry {
    /// Describes the state with its reason, and whether the hook is a guard.
    pub fn describe(&self) -> String {
        let guard = if self.hook.is_guard() { ", guard" } else { "" };
        let reason = self.state.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{}{guard}{reason}", self.state.as_str())
    }
}

/// Formats every event that has hooks, and below it each hook with its state, type, source and description.
pub fn panel_text(entries: &[HookListEntry]) -> String {
    let mut lines = Vec::new();
    for (event, hooks) in group_by_event(entries) {
        lines.push(event.to_string());
        for entry in hooks {
            let hook = &entry.hook;
            let matcher = hook.matcher_text.as_deref().filter(|text| !text.is_empty()).unwrap_or("*");
            let origin = format!("{}, {}, matcher {matcher}", hook.source, hook.type_name());
            lines.push(format!("  {}: {} ({origin})", collapse_whitespace(hook.id()), entry.describe()));
            lines.extend(hook.description.as_deref().map(|text| format!("    {}", collapse_whitespace(text))));
        }
    }
    lines.join("\n")
}

pub(super) fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Groups the hooks by event, in the order of the events.
fn group_by_event(entries: &[HookListEntry]) -> impl Iterator<Item = (EventKind, Vec<&HookListEntry>)> {
    let of = |kind| entries.iter().filter(|entry| entry.hook.event == kind).collect::<Vec<_>>();
    EventKind::all().map(move |kind| (kind, of(kind))).filter(|(_, hooks)| !hooks.is_empty())
}

/// Returns every hook of an engine, and the hooks that an untrusted folder withholds from it.
pub fn hook_entries(engine: &HookEngine, loaded: &LoadedConfig) -> Vec<HookListEntry> {
    let registry = engine.registry();
    let known = registry.entries().map(|(hook, state)| {
        let state = match state {
            HookState::Enabled if !hook.can_match() => {
                ArmedState::NeverMatches(hook.matcher_text.clone().unwrap_or_default())
            }
            HookState::Enabled => match engine.check_trust(hook) {
                Err(why) => ArmedState::Untrusted(why),
                Ok(()) => match engine.check_readiness(hook) {
                    Err(problem) => ArmedState::Inert(problem),
                    Ok(()) if hook.is_shadow() => ArmedState::Shadow,
                    Ok(()) => ArmedState::Armed,
                },
            },
            HookState::Disabled { by } if by.is_empty() => ArmedState::Disabled("in this session".to_owned()),
            HookState::Disabled { by } => ArmedState::Disabled(format!("by {} settings", join_sources(by))),
            HookState::SwitchedOff { by } => ArmedState::Disabled(format!("{by} settings switch all hooks off")),
            HookState::Untrusted { why } => ArmedState::Untrusted(why.clone()),
        };
        HookListEntry { hook: hook.clone(), state, worker: engine.worker_health(hook) }
    });
    let held = loaded.hooks_of_untrusted_folder().into_iter().map(|hook| HookListEntry {
        hook: Arc::new(hook),
        state: ArmedState::Untrusted("the folder is not trusted".to_owned()),
        worker: None,
    });
    held.chain(known).collect()
}

fn join_sources(sources: &[Source]) -> String {
    sources.iter().map(Source::to_string).collect::<Vec<_>>().join(" and ")
}

fn rule_action(hook: &Hook) -> Option<&RuleAction> {
    if let Action::Rule(rule) = &hook.action { Some(rule) } else { None }
}

/// Returns the chunk unit as settings write it.
fn chunks_json(chunks: ChunkUnit) -> Value {
    match chunks {
        ChunkUnit::Sentence | ChunkUnit::Line => Value::String(chunks.to_string()),
        ChunkUnit::MinChars(characters) => Value::from(characters.get()),
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the fields as an object, or `None` if there are none.
fn object_or_none<'a>(fields: impl Iterator<Item = (&'a str, Value)>) -> Option<Value> {
    let fields: Map<String, Value> = fields.map(|(key, value)| (key.to_owned(), value)).collect();
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// Returns the fields that only some types of hooks have, under the keys of the settings.
fn type_specific_json(hook: &Hook) -> Value {
    let worker = if let Action::Worker(worker) = &hook.action { Some(worker) } else { None };
    let http = if let Action::Http(http) = &hook.action { Some(http) } else { None };
    let upkeep = worker.map(|worker| &worker.config);
    let headers =
        http.and_then(|http| object_or_none(http.redacted_headers().map(|(name, value)| (name, json!(value)))));
    json!({
        "url": http.map(|http| http.url.as_str()),
        "headers": headers,
        "package": worker.and_then(|worker| worker.package.as_deref()),
        "start": upkeep.map(|upkeep| if upkeep.start_with_session { "session" } else { "use" }),
        "concurrency": upkeep.map(|upkeep| upkeep.concurrency),
        "idleTimeout": upkeep.and_then(|upkeep| upkeep.idle_timeout).map(milliseconds),
        "maxMemoryMb": upkeep.and_then(|upkeep| upkeep.max_memory_bytes).map(|most| most >> 20),
        "decision": rule_action(hook).map(RuleAction::decision_word),
        "only": hook.approval_bounds().map(|only| serde_json::from_str(only.text()).unwrap_or(Value::from(only.text()))),
        "rule_reason": rule_action(hook).map(|rule| rule.reason.as_str()),
    })
}

/// Returns everything about a hook as JSON.
pub fn hook_json(entry: &HookListEntry) -> Value {
    let HookListEntry { hook, state, .. } = entry;
    let mut value = json!({
        "name": hook.id(),
        "event": hook.event,
        "type": hook.type_name(),
        "matcher": hook.matcher_text,
        "when": hook.when_text().map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text))),
        "command": hook.command(),
        "dialect": hook.dialect().as_str(),
        "description": hook.description,
        "source": hook.source.to_string(),
        "state": state.as_str(),
        "reason": state.reason(),
        "timeout_ms": milliseconds(hook.timeout),
        "onError": object_or_none(hook.on_error.configured().map(|(cause, action)| (cause, json!(action)))),
        // Only the names: values may be secrets, and their variables are already expanded.
        "env": hook.env().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        "if": hook.run_condition.if_rule.as_ref().map(|rule| rule.text()),
        "once": hook.run_condition.once,
        "async": hook.is_background(),
        "sequential": hook.sequential,
        "chunks": hook.chunks.map(chunks_json),
        "locked": hook.locked,
        "guard": hook.is_guard(),
        "required": hook.required,
        "mode": if hook.is_shadow() { "shadow" } else { "active" },
        "armed": matches!(state, ArmedState::Armed),
        "file": hook.location.as_ref().map(|place| place.file.display().to_string()),
        "line": hook.location.as_ref().map(|place| place.line),
        "column": hook.location.as_ref().map(|place| place.column),
    });
    if let (Value::Object(all), Value::Object(own)) = (&mut value, type_specific_json(hook)) {
        all.extend(own);
    }
    value
}
