//! Checks whether every guard of a session would work, before it starts and after every change.
//!
//! Where a guard would not work, the missing denial must not count as approval.

use std::path::PathBuf;

use hookwright_hooks::{HookEngine, SleepingGuard, UnarmedGuard};
use hookwright_settings::{ApprovalMode, LoadedConfig, RemovedGuardPolicy, record_guards};
use serde_json::{Value, json};

use super::options::SessionOptions;
use super::setup;
use crate::protect::{TamperWatch, UNTRUSTED_CHANGES_MESSAGE};

/// Returns the guards that would not work in a session with this configuration.
pub fn unarmed_guards(options: &SessionOptions, loaded: &LoadedConfig) -> Vec<UnarmedGuard> {
    if !loaded.registry.has_guards() {
        return loaded.unarmed_guards.clone();
    }
    let session = setup::engine_session(loaded, "guards", &PathBuf::new());
    let engine = setup::engine_builder(options, loaded, session).build();
    unarmed_in_engine(&engine, loaded)
}

/// Returns the guards that would not work in this engine.
pub fn unarmed_in_engine(engine: &HookEngine, loaded: &LoadedConfig) -> Vec<UnarmedGuard> {
    let mut unarmed = engine.unarmed_guards();
    // A guard of a broken file may also be declared in another file.
    let known = |asleep: &&UnarmedGuard| !unarmed.contains(asleep);
    let asleep: Vec<UnarmedGuard> = loaded.unarmed_guards.iter().filter(known).cloned().collect();
    unarmed.extend(asleep);
    unarmed
}

/// Returns the unarmed guards with their declarations, for the record of events at which they should have been asked.
pub(super) fn sleeping_guards(
    unarmed: &[UnarmedGuard],
    engine: &HookEngine,
    loaded: &LoadedConfig,
) -> Vec<SleepingGuard> {
    if unarmed.is_empty() {
        return Vec::new();
    }
    let mut declared = engine.registry().hooks().to_vec();
    declared.extend(loaded.untrusted_project_guards());
    let of_guard = |guard: &UnarmedGuard| {
        let declarations: Vec<_> = declared.iter().filter(|hook| hook.id() == guard.name).cloned().map(Some).collect();
        if declarations.is_empty() { vec![None] } else { declarations }
    };
    let with_declaration = |guard: &UnarmedGuard| {
        let guard = guard.clone();
        of_guard(&guard).into_iter().map(move |declaration| SleepingGuard { guard: guard.clone(), declaration })
    };
    unarmed.iter().flat_map(with_declaration).collect()
}

/// Returns whether tool calls skip approval because of this mode.
pub(crate) fn skips_approval(mode: ApprovalMode) -> bool {
    matches!(mode, ApprovalMode::Yolo | ApprovalMode::AutoEdit)
}

/// Returns the reason why this approval mode cannot be used now: no call skips approval because of a mode while guards
/// may be missing.
///
/// It is checked at the start, when the user selects a mode, and after every change of trust, guards and settings.
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
pub(super) fn remember_refused_guards(loaded: &LoadedConfig) {
    if let Err(error) = record_guards(loaded, RemovedGuardPolicy::Keep) {
        tracing::warn!(%error, "can't remember which guards there are");
    }
}

/// Returns an unarmed guard as JSON.
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

/// Describes several unarmed guards.
pub(super) fn unarmed_text(unarmed: &[UnarmedGuard]) -> String {
    unarmed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Returns the advice for several unarmed guards.
pub(super) fn unarmed_advice(unarmed: &[UnarmedGuard]) -> String {
    let mut advice: Vec<String> = unarmed.iter().map(UnarmedGuard::advice).collect();
    advice.dedup();
    advice.join("; ")
}
