//! Whether every guard of a session would do its work, asked before it starts and after every change. Where one would
//! not, nobody's absence must be taken for a yes.

use std::path::PathBuf;

use hookwright_hooks::{HookEngine, Unarmed};
use hookwright_settings::{Gone, Loaded, remember_guards};
use serde_json::{Value, json};

use super::open;
use super::options::SessionOptions;

/// The guards that would not do their work in a session with this configuration.
pub fn unarmed_guards(options: &SessionOptions, loaded: &Loaded) -> Vec<Unarmed> {
    if !loaded.registry.has_guards() {
        return loaded.asleep.clone();
    }
    let session = open::engine_session(loaded, "guards", &PathBuf::new());
    let engine = open::builder(options, loaded, session).build();
    of_engine(&engine, loaded)
}

/// The guards that would not do their work, as an engine has them.
pub fn of_engine(engine: &HookEngine, loaded: &Loaded) -> Vec<Unarmed> {
    let mut unarmed = engine.unarmed();
    // One that a broken file held may stand in another, too.
    let known = |asleep: &&Unarmed| !unarmed.contains(asleep);
    let asleep: Vec<Unarmed> = loaded.asleep.iter().filter(known).cloned().collect();
    unarmed.extend(asleep);
    unarmed
}

/// Remembers the guards of a configuration that no session starts with: the file may not be readable the next time.
pub fn remember_refused(loaded: &Loaded) {
    if let Err(error) = remember_guards(loaded, Gone::Kept) {
        tracing::warn!(%error, "can't remember which guards there are");
    }
}

/// An unarmed guard, for machines.
pub fn json(unarmed: &Unarmed) -> Value {
    json!({
        "name": unarmed.name,
        "file": unarmed.file.as_ref().map(|file| file.display().to_string()),
        "line": unarmed.line,
        "why": unarmed.why.as_str(),
        "reason": unarmed.why.to_string(),
        "advice": unarmed.advice(),
    })
}

/// Several of them in words.
pub(super) fn words(unarmed: &[Unarmed]) -> String {
    unarmed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What to do about several of them.
pub(super) fn advice(unarmed: &[Unarmed]) -> String {
    let mut advice: Vec<String> = unarmed.iter().map(Unarmed::advice).collect();
    advice.dedup();
    advice.join("; ")
}
