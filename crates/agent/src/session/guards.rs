//! Whether every guard of a session would do its work, asked before it starts and after every change. Where one would
//! not, nobody's absence must be taken for a yes.

use std::path::PathBuf;

use hookwright_hooks::{HookEngine, Unarmed};
use hookwright_settings::{ApprovalMode, Gone, Loaded, remember_guards};
use serde_json::{Value, json};

use super::open;
use super::options::SessionOptions;
use crate::protect::{CHANGES_WAIT, Guards};

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

/// Whether calls run unasked because of this mode.
pub(crate) fn is_lax(mode: ApprovalMode) -> bool {
    matches!(mode, ApprovalMode::Yolo | ApprovalMode::AutoEdit)
}

/// Why this approval mode can't be had now: no call runs unasked because of a mode while guards may be missing.
///
/// The one rule for the start, for the user's choice, and for every change of trust, guards and settings.
pub(super) fn mode_obstacle(
    mode: ApprovalMode,
    loaded: &Loaded,
    unarmed: &[Unarmed],
    guards: &Guards,
) -> Option<String> {
    match super::broken_settings(loaded) {
        _ if !is_lax(mode) => None,
        _ if mode == ApprovalMode::Yolo && loaded.settings.security.disable_yolo_mode => {
            Some("the settings forbid running every tool unasked (security.disableYoloMode)".to_owned())
        }
        _ if !loaded.project.trust.is_trusted() => Some("this folder is not trusted".to_owned()),
        Some(file) => Some(format!("{} can't be read", file.display())),
        None if guards.is_waiting() => Some(CHANGES_WAIT.to_owned()),
        None => unarmed.first().map(|guard| format!("guard {} is not armed", guard.name)),
    }
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
