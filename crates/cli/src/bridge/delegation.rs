//! Delegation to another entry: an agent that reads another agent's settings fires that agent's entries too, and only
//! its own entry evaluates the event.
//!
//! Delegation must not be a way to switch a guard off. It takes a payload that only the other agent sends, no sign of
//! the agent that the entry is for, and an entry of the other agent for this event and every tool. That entry must be
//! in the user's settings or a trusted project's, exactly as `agents install` writes it, and must call this program.

use std::path::{Path, PathBuf};

use hookwright_bridge::install::{BridgeEntry, InstallScope, InstallTarget, read_target, read_wiring};
use hookwright_bridge::{Host, HostEventInfo, HostSession};
use hookwright_hooks::EventKind;
use hookwright_settings::{LoadOptions, LoadPurpose, ProcessEnv, load};
use serde_json::{Map, Value};

use super::{BridgeRequest, project_root};
use crate::commands::agents::is_this_program;

/// Returns the agent whose own entry evaluates this event instead, if there is one.
pub(super) fn delegate_host(call: &BridgeRequest<'_>, payload: &Map<String, Value>) -> Option<Host> {
    let world = call.world;
    let other = borrowing_host(call.host, payload, world)?;
    let name = payload.get("hook_event_name").or_else(|| payload.get("hookEventName"))?.as_str()?;
    let kind = call.host.event(name).or_else(|| other.event(name))?.kind?;
    let cwd = payload.get("cwd").and_then(Value::as_str).map(PathBuf::from);
    let session = HostSession { cwd, ..HostSession::default() };
    let project = project_root::find_project_root(call.host, &session, world);
    has_entry(other, kind, &project, world).then_some(other)
}

/// Returns the agent that really sent the payload, if it is one that reads `host`'s settings.
fn borrowing_host(host: Host, payload: &Map<String, Value>, world: &ProcessEnv) -> Option<Host> {
    let has = |key: &str| payload.contains_key(key);
    // Claude Code gives its session id to its hooks; another agent that runs them does not know that id.
    let session = payload.get("session_id").and_then(Value::as_str);
    let genuine = host == Host::ClaudeCode
        && (session.is_some() && world.var("CLAUDE_CODE_SESSION_ID") == session || has("prompt_id"));
    if genuine {
        return None;
    }
    let other = Host::detect(payload, |name| world.var_os(name).is_some())?;
    let by_payload = match other {
        Host::Cursor => has("cursor_version") || has("generation_id") && has("workspace_roots"),
        Host::Grok => has("workspaceRoot"),
        Host::Copilot => has("timestamp") && !has("permission_mode") && !has("transcript_path"),
        _ => false,
    };
    (by_payload && other.info().reads_settings_of.contains(&host)).then_some(other)
}

/// Whether the agent's own settings have an entry for that event and every subject, as `agents install` writes it.
pub(super) fn has_entry(host: Host, kind: EventKind, project: &Path, world: &ProcessEnv) -> bool {
    let scopes = [InstallScope::User, InstallScope::Project, InstallScope::Machine];
    let targets = scopes.map(|scope| InstallTarget::candidates(host, scope, world, project));
    targets.into_iter().flatten().any(|target| has_current_entry(&target, kind, world) && is_effective(&target, world))
}

/// Whether a file's entries take effect: the user's always do, a project's only where the user trusts it.
fn is_effective(target: &InstallTarget, world: &ProcessEnv) -> bool {
    let is_home = world.home.as_deref() == Some(&*target.project);
    let of_project = target.scope == InstallScope::Project || target.file.starts_with(&target.project) && !is_home;
    let options =
        || LoadOptions { project: target.project.clone(), purpose: LoadPurpose::Event, ..LoadOptions::default() };
    !of_project || load(world, &options()).project.trust.is_trusted()
}

/// Whether an entry of the file calls this program at that event, exactly as `agents install` would write it now.
fn has_current_entry(target: &InstallTarget, kind: EventKind, world: &ProcessEnv) -> bool {
    let Ok(Some(text)) = read_target(target) else { return false };
    // A switch of any kind in that file may disable the entry.
    if ["disable", "enabled"].iter().any(|word| text.contains(word)) {
        return false;
    }
    let Ok(wiring) = read_wiring(target, &text) else { return false };
    let is_for = |row: &HostEventInfo, found: &BridgeEntry| {
        found.event == row.name
            && found.call.installed
            && !wiring.outdated.contains(&found.event)
            && is_this_program(&found.call.program, world, &target.project)
    };
    let mut gates = target.host.events_for(kind).filter(|row| row.wired).take(1);
    gates.any(|row| wiring.entries.iter().any(|found| is_for(row, found)))
}
