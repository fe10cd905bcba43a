//! The honest state of every hook: whether it can really run, and if not, why not.

use std::sync::Arc;

use anstyle::Style;
use hookwright_hooks::{Hook, HookEngine, HookState, Layer, NotReady, Source, declare};
use hookwright_settings::{FileState, Loaded, read_settings_file};
use serde_json::{Value, json};

use crate::out::{BAD, DIM, GOOD, WARN};

/// A hook and whether it can run.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) hook: Arc<Hook>,
    pub(crate) state: State,
}

/// Whether a hook can run.
#[derive(Clone)]
pub(crate) enum State {
    /// It runs when its event fires.
    Armed,
    /// It was switched off; by whom.
    Disabled(String),
    /// It waits for trust; why.
    Untrusted(String),
    /// It is enabled and would fail to start.
    Inert(NotReady),
}

impl State {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            State::Armed => "armed",
            State::Disabled(_) => "disabled",
            State::Untrusted(_) => "untrusted",
            State::Inert(_) => "inert",
        }
    }

    pub(crate) fn reason(&self) -> Option<String> {
        match self {
            State::Armed => None,
            State::Disabled(why) | State::Untrusted(why) => Some(why.clone()),
            State::Inert(problem) => Some(problem.to_string()),
        }
    }

    pub(crate) fn style(&self) -> Style {
        match self {
            State::Armed => GOOD,
            State::Disabled(_) => DIM,
            State::Untrusted(_) => WARN,
            State::Inert(_) => BAD,
        }
    }

    /// `armed`, or the word with its reason.
    pub(crate) fn describe(&self) -> String {
        self.reason().map_or_else(|| self.word().to_owned(), |reason| format!("{}: {reason}", self.word()))
    }
}

/// Every hook that an engine knows, and those that an untrusted folder keeps from it.
pub(crate) fn entries(engine: &HookEngine, loaded: &Loaded) -> Vec<Entry> {
    let registry = engine.registry();
    let known = registry.entries().map(|(hook, state)| {
        let state = match state {
            HookState::Enabled => engine.check(hook).map_or_else(State::Inert, |()| State::Armed),
            HookState::Disabled { by } if by.is_empty() => State::Disabled("in this session".to_owned()),
            HookState::Disabled { by } => State::Disabled(format!("by {} settings", names(by))),
            HookState::SwitchedOff { by } => State::Disabled(format!("{by} settings switch all hooks off")),
            HookState::Held { why } => State::Untrusted(why.clone()),
        };
        Entry { hook: hook.clone(), state }
    });
    untrusted(loaded).into_iter().chain(known).collect()
}

fn names(sources: &[Source]) -> String {
    sources.iter().map(Source::to_string).collect::<Vec<_>>().join(" and ")
}

/// The hooks that would be there if the folder were trusted; leaving them out would be the silence we are against.
fn untrusted(loaded: &Loaded) -> Vec<Entry> {
    let held = loaded.files.iter().filter(|file| file.state == FileState::Untrusted);
    let declared = held.filter_map(|file| {
        let text = read_settings_file(&file.path).ok()??;
        Some(declare(&Layer::new(file.source.clone(), &file.path, &text)).hooks)
    });
    let why = || State::Untrusted("the folder is not trusted".to_owned());
    declared.flatten().map(|hook| Entry { hook: Arc::new(hook), state: why() }).collect()
}

/// Everything about a hook, for machines.
pub(crate) fn json(entry: &Entry) -> Value {
    let Entry { hook, state } = entry;
    json!({
        "name": hook.id(),
        "event": hook.event,
        "matcher": hook.matcher_text,
        "command": hook.command(),
        "description": hook.description,
        "source": hook.source.to_string(),
        "state": state.word(),
        "reason": state.reason(),
        "timeout_ms": u64::try_from(hook.timeout.as_millis()).unwrap_or(u64::MAX),
        "sequential": hook.sequential,
        "locked": hook.locked,
        "file": hook.place.as_ref().map(|place| place.file.display().to_string()),
        "line": hook.place.as_ref().map(|place| place.line),
        "column": hook.place.as_ref().map(|place| place.column),
    })
}
