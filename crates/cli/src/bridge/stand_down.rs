//! Agents that read another's settings fire its entries too: the bridge judges once, and that is in the agent's own entry.
//!
//! Standing down must not be a way to switch a guard off. It takes a payload that can only be the other agent's, nothing that
//! speaks for the one whose entry this is, and an entry of the other's for this event and every tool, in the user's own
//! settings or a trusted project's, that is exactly as `agents install` writes it and calls this very program.

use std::path::{Path, PathBuf};

use hookwright_bridge::install::{Found, Scope, Target, read, survey};
use hookwright_bridge::{Host, HostEvent, SessionFacts};
use hookwright_hooks::EventKind;
use hookwright_settings::{LoadOptions, World, load};
use serde_json::{Map, Value};

use super::{Call, place};
use crate::agents::is_this_program;

/// The agent that judges in our place.
pub(super) fn for_whom(call: &Call<'_>, payload: &Map<String, Value>) -> Option<Host> {
    let world = call.world;
    let other = borrower(call.host, payload, world)?;
    let name = payload.get("hook_event_name").or_else(|| payload.get("hookEventName"))?.as_str()?;
    let kind = call.host.event(name).or_else(|| other.event(name))?.ours?;
    let cwd = payload.get("cwd").and_then(Value::as_str).map(PathBuf::from);
    let session = SessionFacts { cwd, ..SessionFacts::default() };
    let project = place::project(call.host, &session, world);
    has_entry(other, kind, &project, world).then_some(other)
}

/// The agent that this really is, if that is one that reads the other's files.
fn borrower(host: Host, payload: &Map<String, Value>, world: &World) -> Option<Host> {
    let has = |key: &str| payload.contains_key(key);
    // Claude Code tells its hooks which session they belong to; whoever else runs them does not know that number.
    let session = payload.get("session_id").and_then(Value::as_str);
    let genuine = host == Host::ClaudeCode
        && (session.is_some() && world.var("CLAUDE_CODE_SESSION_ID") == session || has("prompt_id"));
    if genuine {
        return None;
    }
    let other = Host::recognise(payload, |name| world.var_os(name).is_some())?;
    let by_payload = match other {
        Host::Cursor => has("cursor_version") || has("generation_id") && has("workspace_roots"),
        Host::Grok => has("workspaceRoot"),
        Host::Copilot => has("timestamp") && !has("permission_mode") && !has("transcript_path"),
        _ => false,
    };
    (by_payload && other.info().reads.contains(&host)).then_some(other)
}

/// Whether the agent's own settings have an entry that `agents install` wrote for that event and every subject.
fn has_entry(host: Host, kind: EventKind, project: &Path, world: &World) -> bool {
    let scopes = [Scope::User, Scope::Project];
    let targets = scopes.map(|scope| Target::candidates(host, scope, world, project));
    targets.into_iter().flatten().any(|target| is_judged_by(&target, kind, world) && counts(&target, world))
}

/// Whether a file's entries count: the user's own do, a project's only where the user trusts it.
fn counts(target: &Target, world: &World) -> bool {
    let is_home = world.home.as_deref() == Some(&*target.project);
    let of_project = target.scope == Scope::Project || target.file.starts_with(&target.project) && !is_home;
    let options = || LoadOptions { project: target.project.clone(), ..LoadOptions::default() };
    !of_project || load(world, &options()).project.trust.is_trusted()
}

/// Whether an entry of the file calls this very program at that event, exactly as it is written now.
fn is_judged_by(target: &Target, kind: EventKind, world: &World) -> bool {
    let Ok(Some(text)) = read(target) else { return false };
    // A switch in that file, of whichever kind, may leave no entry that judges.
    if ["disable", "enabled"].iter().any(|word| text.contains(word)) {
        return false;
    }
    let Ok(wiring) = survey(target, &text) else { return false };
    let is_for = |row: &HostEvent, found: &Found| {
        found.event == row.name
            && found.call.installed
            && !wiring.outdated.contains(&found.event)
            && is_this_program(&found.call.program, world, &target.project)
    };
    let mut gates = target.host.events_for(kind).filter(|row| row.wired).take(1);
    gates.any(|row| wiring.found.iter().any(|found| is_for(row, found)))
}
