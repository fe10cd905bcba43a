//! Whether every guard of a session would do its work, asked before it starts and after every change. Where one would
//! not, nobody's absence must be taken for a yes.

use std::path::PathBuf;

use hookwright_hooks::{HookEngine, UnarmedGuard};
use hookwright_settings::{ApprovalMode, LoadedConfig, RemovedGuardPolicy, record_guards};
use serde_json::{Value, json};

use super::options::SessionOptions;
use super::setup;
use crate::protect::{TamperWatch, UNTRUSTED_CHANGES_MESSAGE};

/// The guards that would not do their work in a session with this configuration.
pub fn unarmed_guards(options: &SessionOptions, loaded: &LoadedConfig) -> Vec<UnarmedGuard> {
    if !loaded.registry.has_guards() {
        return loaded.unarmed_guards.clone();
    }
    let session = setup::engine_session(loaded, "guards", &PathBuf::new());
    let engine = setup::engine_builder(options, loaded, session).build();
    unarmed_in_engine(&engine, loaded)
}

/// The guards that would not do their work, as an engine has them.
pub fn unarmed_in_engine(engine: &HookEngine, loaded: &LoadedConfig) -> Vec<UnarmedGuard> {
    let mut unarmed = engine.unarmed_guards();
    // One that a broken file held may stand in another, too.
    let known = |asleep: &&UnarmedGuard| !unarmed.contains(asleep);
    let asleep: Vec<UnarmedGuard> = loaded.unarmed_guards.iter().filter(known).cloned().collect();
    unarmed.extend(asleep);
    unarmed
}

/// Whether calls run unasked because of this mode.
pub(crate) fn skips_approval(mode: ApprovalMode) -> bool {
    matches!(mode, ApprovalMode::Yolo | ApprovalMode::AutoEdit)
}

/// Why this approval mode can't be had now: no call runs unasked because of a mode while guards may be missing.
///
/// The one rule for the start, for the user's choice, and for every change of trust, guards and settings.
pub(super) fn mode_obstacle(
    mode: ApprovalMode,
    loaded: &LoadedConfig,
    unarmed: &[UnarmedGuard],
    guards: &TamperWatch,
) -> Option<String> {
    match super::broken_settings_file(loaded) {
        _ if !skips_approval(mode) => None,
        _ if mode == ApprovalMode::Yolo && loaded.settings.security.disable_yolo_mode => {
            Some("the settings forbid running every tool unasked (security.disableYoloMode)".to_owned())
        }
        _ if !loaded.project.trust.is_trusted() => Some("this folder is not trusted".to_owned()),
        Some(file) => Some(format!("{} can't be read", file.display())),
        None if guards.has_untrusted_changes() => Some(UNTRUSTED_CHANGES_MESSAGE.to_owned()),
        None => unarmed.first().map(|guard| format!("guard {} is not armed", guard.name)),
    }
}

/// Remembers the guards of a configuration that no session starts with: the file may not be readable the next time.
pub fn remember_refused_guards(loaded: &LoadedConfig) {
    if let Err(error) = record_guards(loaded, RemovedGuardPolicy::Keep) {
        tracing::warn!(%error, "can't remember which guards there are");
    }
}

/// An unarmed guard, for machines.
pub fn unarmed_json(unarmed: &UnarmedGuard) -> Value {
    json!({
        "name": unarmed.name,
        "file": unarmed.file.as_ref().map(|file| file.display().to_string()),
        "line": unarmed.line,
        "why": unarmed.reason.as_str(),
        "reason": unarmed.reason.to_string(),
        "advice": unarmed.advice(),
    })
}

/// Several of them in words.
pub(super) fn unarmed_text(unarmed: &[UnarmedGuard]) -> String {
    unarmed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What to do about several of them.
pub(super) fn unarmed_advice(unarmed: &[UnarmedGuard]) -> String {
    let mut advice: Vec<String> = unarmed.iter().map(UnarmedGuard::advice).collect();
    advice.dedup();
    advice.join("; ")
}
