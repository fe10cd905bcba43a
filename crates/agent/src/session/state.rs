//! The honest state of every hook: whether it can really run, and if not, why not.

use std::sync::Arc;
use std::time::Duration;

use hookwright_hooks::{
    Action, Chunks, EventKind, Hook, HookEngine, HookState, Layer, NotReady, RuleAction, Source, WorkerHealth, declare,
};
use hookwright_settings::{FileState, Loaded, read_settings_file};
use serde_json::{Map, Value, json};

/// A hook and whether it can run.
#[derive(Clone, Debug)]
pub struct HookEntry {
    /// The hook.
    pub hook: Arc<Hook>,
    /// Whether it can run.
    pub state: Armed,
    /// How its process does, for a worker that was asked in this session.
    pub worker: Option<WorkerHealth>,
}

/// Whether a hook can run.
#[derive(Clone, Debug)]
pub enum Armed {
    /// It runs when its event fires.
    Yes,
    /// It was switched off; by whom.
    Disabled(String),
    /// It waits for trust; why.
    Untrusted(String),
    /// It is enabled and would fail to start.
    Inert(NotReady),
    /// It runs for something that there is not.
    Idle(String),
}

impl Armed {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Armed::Yes => "armed",
            Armed::Disabled(_) => "disabled",
            Armed::Untrusted(_) => "untrusted",
            Armed::Inert(_) | Armed::Idle(_) => "inert",
        }
    }

    /// Why it is not armed.
    pub fn reason(&self) -> Option<String> {
        match self {
            Armed::Yes => None,
            Armed::Disabled(why) | Armed::Untrusted(why) => Some(why.clone()),
            Armed::Inert(problem) => Some(problem.to_string()),
            Armed::Idle(matcher) => {
                Some(format!("its matcher `{matcher}` matches nothing that is known, so it never runs"))
            }
        }
    }
}

impl HookEntry {
    /// `armed`, or the word with its reason; and whether it must be awake.
    pub fn describe(&self) -> String {
        let guard = if self.hook.is_guard() { ", guard" } else { "" };
        let reason = self.state.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{}{guard}{reason}", self.state.word())
    }
}

/// The panel as text: every event that has hooks, and below it each hook with its state, type, source and description.
pub fn panel_text(entries: &[HookEntry]) -> String {
    let mut lines = Vec::new();
    for (event, hooks) in by_event(entries) {
        lines.push(event.to_string());
        for entry in hooks {
            let hook = &entry.hook;
            let matcher = hook.matcher_text.as_deref().filter(|text| !text.is_empty()).unwrap_or("*");
            let origin = format!("{}, {}, matcher {matcher}", hook.source, hook.type_name());
            lines.push(format!("  {}: {} ({origin})", on_one_line(hook.id()), entry.describe()));
            lines.extend(hook.description.as_deref().map(|text| format!("    {}", on_one_line(text))));
        }
    }
    lines.join("\n")
}

pub(super) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The hooks of each event that has any, in the order of events.
fn by_event(entries: &[HookEntry]) -> impl Iterator<Item = (EventKind, Vec<&HookEntry>)> {
    let of = |kind| entries.iter().filter(|entry| entry.hook.event == kind).collect::<Vec<_>>();
    EventKind::all().map(move |kind| (kind, of(kind))).filter(|(_, hooks)| !hooks.is_empty())
}

/// Every hook that an engine knows, and those that an untrusted folder keeps from it.
pub fn entries(engine: &HookEngine, loaded: &Loaded) -> Vec<HookEntry> {
    let registry = engine.registry();
    let known = registry.entries().map(|(hook, state)| {
        let state = match state {
            HookState::Enabled if !hook.can_match() => Armed::Idle(hook.matcher_text.clone().unwrap_or_default()),
            HookState::Enabled => match engine.trusts(hook) {
                Err(why) => Armed::Untrusted(why),
                Ok(()) => engine.check(hook).map_or_else(Armed::Inert, |()| Armed::Yes),
            },
            HookState::Disabled { by } if by.is_empty() => Armed::Disabled("in this session".to_owned()),
            HookState::Disabled { by } => Armed::Disabled(format!("by {} settings", names(by))),
            HookState::SwitchedOff { by } => Armed::Disabled(format!("{by} settings switch all hooks off")),
            HookState::Held { why } => Armed::Untrusted(why.clone()),
        };
        HookEntry { hook: hook.clone(), state, worker: engine.worker_health(hook) }
    });
    untrusted(loaded).into_iter().chain(known).collect()
}

fn names(sources: &[Source]) -> String {
    sources.iter().map(Source::to_string).collect::<Vec<_>>().join(" and ")
}

/// The hooks that would be there if the folder were trusted; leaving them out would be the silence we are against.
fn untrusted(loaded: &Loaded) -> Vec<HookEntry> {
    let held = loaded.files.iter().filter(|file| file.state == FileState::Untrusted);
    let declared = held.filter_map(|file| {
        let text = read_settings_file(&file.path).ok()??;
        Some(declare(&Layer::new(file.source.clone(), &file.path, &text)).hooks)
    });
    let why = || Armed::Untrusted("the folder is not trusted".to_owned());
    declared.flatten().map(|hook| HookEntry { hook: Arc::new(hook), state: why(), worker: None }).collect()
}

fn rule_of(hook: &Hook) -> Option<&RuleAction> {
    if let Action::Rule(rule) = &hook.action { Some(rule) } else { None }
}

/// As it is written in settings.
fn chunks_of(chunks: Chunks) -> Value {
    match chunks {
        Chunks::Sentence | Chunks::Line => Value::String(chunks.to_string()),
        Chunks::AtLeast(characters) => Value::from(characters.get()),
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// An object of what there is, or nothing.
fn object_of<'a>(fields: impl Iterator<Item = (&'a str, Value)>) -> Option<Value> {
    let fields: Map<String, Value> = fields.map(|(key, value)| (key.to_owned(), value)).collect();
    (!fields.is_empty()).then_some(Value::Object(fields))
}

/// What only some types of hooks have, under the keys of the settings.
fn of_its_type(hook: &Hook) -> Value {
    let worker = if let Action::Worker(worker) = &hook.action { Some(worker) } else { None };
    let http = if let Action::Http(http) = &hook.action { Some(http) } else { None };
    let upkeep = worker.map(|worker| &worker.upkeep);
    let headers = http.and_then(|http| object_of(http.shown_headers().map(|(name, value)| (name, json!(value)))));
    json!({
        "url": http.map(|http| http.url.as_str()),
        "headers": headers,
        "package": worker.and_then(|worker| worker.package.as_deref()),
        "start": upkeep.map(|upkeep| if upkeep.early { "session" } else { "use" }),
        "concurrency": upkeep.map(|upkeep| upkeep.concurrency),
        "idleTimeout": upkeep.and_then(|upkeep| upkeep.idle_timeout).map(milliseconds),
        "maxMemoryMb": upkeep.and_then(|upkeep| upkeep.max_memory).map(|most| most >> 20),
        "decision": rule_of(hook).map(RuleAction::decision_word),
        "rule_reason": rule_of(hook).map(|rule| rule.reason.as_str()),
    })
}

/// Everything about a hook, for machines.
pub fn json(entry: &HookEntry) -> Value {
    let HookEntry { hook, state, .. } = entry;
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
        "state": state.word(),
        "reason": state.reason(),
        "timeout_ms": milliseconds(hook.timeout),
        "onError": object_of(hook.on_error.set().map(|(cause, action)| (cause, json!(action)))),
        // The names alone: values may be secrets, and variables in them are filled in by now.
        "env": hook.env().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        "if": hook.occasion.only_if.as_ref().map(|rule| rule.text()),
        "once": hook.occasion.once,
        "async": hook.runs_beside(),
        "sequential": hook.sequential,
        "chunks": hook.chunks.map(chunks_of),
        "locked": hook.locked,
        "guard": hook.is_guard(),
        "required": hook.required,
        "armed": matches!(state, Armed::Yes),
        "file": hook.place.as_ref().map(|place| place.file.display().to_string()),
        "line": hook.place.as_ref().map(|place| place.line),
        "column": hook.place.as_ref().map(|place| place.column),
    });
    if let (Value::Object(all), Value::Object(own)) = (&mut value, of_its_type(hook)) {
        all.extend(own);
    }
    value
}
