//! Builds the payload that an agent would send for one of Hookwright's events, for trying a hook without the agent. The
//! dialects read it like a real one.

use std::path::Path;

use hookwright_hooks::EventKind;
use hookwright_hooks::dialect::tool_arguments::{self as claude, DialectCall};
use serde_json::{Map, Value, json};

use crate::host::Host;
use crate::{tools, vocabulary};

/// Why no sample payload can be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SamplePayloadError {
    /// The agent has no event of this kind.
    #[error("{} has no event for {event}", host.title())]
    NoEvent {
        /// The agent without the event.
        host: Host,
        /// The event that was requested.
        event: EventKind,
    },
    /// The agent would make several calls of this one.
    #[error("{} has no single call for this `{tool}`", host.title())]
    SplitCall {
        /// The agent whose payload was requested.
        host: Host,
        /// The tool of the call.
        tool: String,
    },
}

/// Returns the payload that an agent would send for an event with these fields.
///
/// # Errors
/// If the agent has no such event, or no single call for it.
pub fn build_host_payload(
    host: Host,
    kind: EventKind,
    fields: &Map<String, Value>,
    cwd: &Path,
) -> Result<Map<String, Value>, SamplePayloadError> {
    let row = host.events_for(kind).next().ok_or(SamplePayloadError::NoEvent { host, event: kind })?;
    let mut payload = Map::new();
    payload.insert("session_id".to_owned(), fields.get("session_id").cloned().unwrap_or_else(|| "tried".into()));
    payload.insert("cwd".to_owned(), cwd.to_string_lossy().into());
    payload.insert("hook_event_name".to_owned(), row.name.into());
    if host == Host::GeminiCli {
        payload.extend(fields.iter().map(|(key, value)| (key.clone(), value.clone())));
        return Ok(payload);
    }
    let field = |key: &str| fields.get(key).cloned();
    let mut set = |key: &str, value: Option<Value>| payload.extend(value.map(|value| (key.to_owned(), value)));
    match kind {
        EventKind::BeforeTool | EventKind::AfterTool => {
            let (name, input) = native_call(host, fields, cwd)?;
            set("tool_name", Some(name.into()));
            set("tool_input", Some(input.into()));
            set("tool_use_id", field("tool_use_id"));
            set("tool_response", field("tool_response"));
        }
        EventKind::AfterAgent => {
            set("stop_hook_active", field("stop_hook_active"));
            set("last_assistant_message", field("prompt_response"));
            set("prompt_response", field("prompt_response"));
        }
        _ => {
            for key in ["prompt", "source", "reason", "trigger", "notification_type", "message"] {
                set(key, field(key));
            }
        }
    }
    Ok(if host == Host::Antigravity { to_antigravity_payload(payload) } else { payload })
}

/// Returns the call with the agent's tool name and argument keys.
fn native_call(
    host: Host,
    fields: &Map<String, Value>,
    cwd: &Path,
) -> Result<(String, Map<String, Value>), SamplePayloadError> {
    let tool = fields.get("tool_name").and_then(Value::as_str).unwrap_or_default();
    let input = fields.get("tool_input").and_then(Value::as_object).cloned().unwrap_or_default();
    let translated = claude::to_claude(&DialectCall::new(tool, input), cwd);
    let [call] = translated.views.as_slice() else {
        return Err(SamplePayloadError::SplitCall { host, tool: tool.to_owned() });
    };
    if host == Host::Codex
        && let Some(patch) = codex_patch(call)
    {
        return Ok(("apply_patch".to_owned(), Map::from_iter([("command".to_owned(), patch.into())])));
    }
    let Some(row) = vocabulary::row_for_claude_tool(host, &call.tool) else {
        return Ok((call.tool.clone(), call.input.clone()));
    };
    let mut input = tools::to_native_arguments(row, "", call.input.clone(), |_| false);
    // The agent would not send an argument that it does not have.
    input.retain(|key, value| tools::is_understood(host, row, key, value));
    Ok((row.name().to_owned(), input))
}

/// Returns the patch that Codex would send for a write or an edit.
fn codex_patch(call: &DialectCall) -> Option<String> {
    let text = |key: &str| call.input.get(key).and_then(Value::as_str);
    let signed = |sign: char, text: &str| text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
    let path = text("file_path")?;
    let change = match call.tool.as_str() {
        "Write" => format!("*** Add File: {path}\n{}", signed('+', text("content")?)),
        "Edit" => {
            let (before, after) = (signed('-', text("old_string")?), signed('+', text("new_string")?));
            format!("*** Update File: {path}\n@@\n{before}{after}")
        }
        _ => return None,
    };
    Some(format!("*** Begin Patch\n{change}*** End Patch"))
}

/// Renames the fields to Antigravity's.
fn to_antigravity_payload(mut payload: Map<String, Value>) -> Map<String, Value> {
    let mut take = |key: &str| payload.shift_remove(key);
    let mut renamed = Map::new();
    renamed.extend(take("session_id").map(|id| ("conversationId".to_owned(), id)));
    renamed.extend(take("cwd").map(|cwd| ("workspacePaths".to_owned(), json!([cwd]))));
    renamed.extend(take("hook_event_name").map(|name| ("hookEventName".to_owned(), name)));
    if let (Some(name), Some(args)) = (take("tool_name"), take("tool_input")) {
        renamed.insert("toolCall".to_owned(), json!({"name": name, "args": args}));
    }
    renamed.extend(take("tool_response").map(|result| ("result".to_owned(), result)));
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_hooks::AnyEvent;

    /// A sample payload is read back as the call it was built from, for every agent.
    #[test]
    fn sample_payload_is_read_back_as_the_same_call() {
        for (tool, input) in [
            ("run_shell_command", json!({"command": "git push --force"})),
            ("write_file", json!({"file_path": "/p/a", "content": "x\n"})),
            ("replace", json!({"file_path": "/p/a", "old_string": "x\n", "new_string": "y\n"})),
            ("read_file", json!({"file_path": "/p/a"})),
            ("mcp__git__push", json!({"remote": "origin"})),
        ] {
            for host in Host::all() {
                let fields = json!({"tool_name": tool, "tool_input": input});
                let fields = fields.as_object().cloned().unwrap_or_default();
                let payload = build_host_payload(host, EventKind::BeforeTool, &fields, Path::new("/p")).unwrap();
                let host_event = host.dialect().parse_event(host, payload.clone(), None).unwrap();
                let Some(AnyEvent::BeforeTool(event)) = host_event.views.first().map(|view| &view.event) else {
                    panic!("{host} {payload:?}")
                };
                assert_eq!(
                    (&*event.tool_name, Value::Object(event.tool_input.as_ref().clone())),
                    (tool, input.clone()),
                    "{host} {payload:?}"
                );
            }
        }
    }

    #[test]
    fn sample_payloads_exist_for_events_without_a_tool() {
        let fields = json!({"prompt": "hi", "source": "startup", "reason": "other", "trigger": "auto",
            "prompt_response": "done", "notification_type": "ToolPermission"});
        let fields = fields.as_object().cloned().unwrap_or_default();
        for host in Host::all() {
            for kind in [EventKind::BeforeAgent, EventKind::AfterAgent, EventKind::SessionStart, EventKind::SessionEnd]
            {
                match build_host_payload(host, kind, &fields, Path::new("/p")) {
                    Ok(payload) => {
                        let host_event = host.dialect().parse_event(host, payload, None).unwrap();
                        assert_eq!(host_event.kind(), Some(kind), "{host}");
                    }
                    Err(error) => assert_eq!(error, SamplePayloadError::NoEvent { host, event: kind }),
                }
            }
        }
    }
}
