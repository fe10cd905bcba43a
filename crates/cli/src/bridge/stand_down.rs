//! Agents that read another's settings fire its entries too: the bridge judges once, and that is in the agent's own entry.
//!
//! Standing down must not be a way to switch a guard off. It takes a payload that can only be the other agent's, nothing that
//! speaks for the one whose entry this is, and an entry of the other's that is really there, for this event and every tool.

use std::path::{Path, PathBuf};

use hookwright_bridge::{Host, SessionFacts};
use hookwright_hooks::{BridgeCall, EventKind};
use hookwright_settings::World;
use serde_json::{Map, Value};

use super::{Call, place};

/// The largest settings file of another agent that is looked at.
const LARGEST: u64 = 4 << 20;

/// The agent that judges in our place.
pub(super) fn for_whom(call: &Call<'_>, payload: &Map<String, Value>) -> Option<Host> {
    let world = call.world;
    let other = borrower(call.host, payload, world)?;
    let name = payload.get("hook_event_name").or_else(|| payload.get("hookEventName"))?.as_str()?;
    let kind = call.host.event(name).or_else(|| other.event(name))?.ours?;
    let cwd = payload.get("cwd").and_then(Value::as_str).map(PathBuf::from);
    let session = SessionFacts { cwd, ..SessionFacts::default() };
    let project = place::project(call.host, &session, world);
    has_entry(other, kind, &project, world.home.as_deref()).then_some(other)
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

/// Whether the agent's own settings have an entry of the bridge for that event, without conditions.
fn has_entry(host: Host, kind: EventKind, project: &Path, home: Option<&Path>) -> bool {
    let (own, folders): (&[&str], &[&str]) = match host {
        Host::Cursor => (&[".cursor/hooks.json"], &[]),
        Host::Copilot => (&[], &[".github/hooks", ".copilot/hooks"]),
        Host::Grok => (&[], &[".grok/hooks"]),
        _ => return false,
    };
    let bases = [Some(project), home];
    let bases = bases.into_iter().flatten();
    let files = bases.clone().flat_map(|base| own.iter().map(move |file| base.join(file)));
    let within = bases.flat_map(|base| folders.iter().map(move |folder| base.join(folder))).flat_map(|folder| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "json"))
    });
    files.chain(within).any(|file| entry_in(&file, host, kind))
}

fn entry_in(file: &Path, host: Host, kind: EventKind) -> bool {
    let Ok(text) = hookwright_disk::read_text(file, LARGEST) else { return false };
    let Ok(Value::Object(settings)) = serde_json::from_str::<Value>(&text) else { return false };
    if settings.get("disableAllHooks").is_some_and(|off| *off != Value::Bool(false)) {
        return false;
    }
    let Some(hooks) = settings.get("hooks").and_then(Value::as_object) else { return false };
    let rows = host.events_for(kind).filter_map(|row| hooks.get(row.name)?.as_array());
    rows.flatten().any(|entry| is_ours(entry, host))
}

/// Whether an entry, or one of its group, calls this bridge for every subject.
fn is_ours(entry: &Value, host: Host) -> bool {
    let Some(entry) = entry.as_object() else { return false };
    let is_for_all = match entry.get("matcher") {
        None => true,
        Some(matcher) => matches!(matcher.as_str(), Some("" | "*" | ".*")),
    };
    let conditions = ["if", "commandRegex", "enabled", "disabled", "cwd"];
    if !is_for_all || conditions.iter().any(|key| entry.contains_key(*key)) {
        return false;
    }
    if let Some(group) = entry.get("hooks").and_then(Value::as_array) {
        return group.iter().any(|hook| is_ours(hook, host));
    }
    let commands = ["command", "bash"].iter().filter_map(|key| entry.get(*key)?.as_str());
    commands.into_iter().any(|command| calls_bridge(command, host))
}

/// `…hookwright bridge NAME …` and nothing else.
fn calls_bridge(command: &str, host: Host) -> bool {
    BridgeCall::read(command).is_some_and(|call| Host::from_name(&call.host) == Some(host))
}
