//! Translates a hook's input to Claude Code's dialect: its names of events, tools and fields. `claude_answer.rs` reads
//! the answers.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::tool_arguments::{self, DialectCall, UntranslatableChange};
use crate::event::EventKind;
use crate::event::input::HookInput;

/// The agent within a session in which an event happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentScope {
    /// The main agent, to which the user talks.
    Session,
    /// A sub-agent, to which the main agent has delegated an objective.
    SubAgent,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// The tool succeeded.
    Succeeded,
    /// The tool reported an error.
    Failed,
}

/// The event here that corresponds to a Claude Code event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaudeEventMapping {
    /// The corresponding event.
    pub kind: EventKind,
    /// The agent to which the event is limited, if it is.
    pub agent_scope: Option<AgentScope>,
    /// The call status to which the event is limited, if it is.
    pub after_call: Option<CallStatus>,
}

/// The name of Claude Code's event for failed calls.
const FAILURE_EVENT_NAME: &str = "PostToolUseFailure";

/// The name of an event in Claude Code, if it has the event: the foreign name in [`EVENTS`](crate::EVENTS), or else the
/// same name.
pub fn event_name(kind: EventKind, scope: AgentScope) -> Option<&'static str> {
    if matches!(kind, EventKind::BeforeModel | EventKind::AfterModel | EventKind::BeforeToolSelection) {
        return None;
    }
    let names = kind.info().foreign_names;
    // AfterAgent has two names: the second is for sub-agents.
    let own = if scope == AgentScope::SubAgent { names.last() } else { names.first() };
    Some(own.copied().unwrap_or(kind.name()))
}

/// The event that a Claude Code event name stands for, if there is one.
pub fn event_by_name(name: &str) -> Option<ClaudeEventMapping> {
    if name == FAILURE_EVENT_NAME {
        return Some(ClaudeEventMapping {
            kind: EventKind::AfterTool,
            agent_scope: None,
            after_call: Some(CallStatus::Failed),
        });
    }
    let kind = EventKind::all().find(|kind| {
        [AgentScope::Session, AgentScope::SubAgent].into_iter().any(|scope| event_name(*kind, scope) == Some(name))
    })?;
    let scope = match name {
        "Stop" => Some(AgentScope::Session),
        "SubagentStop" => Some(AgentScope::SubAgent),
        _ => None,
    };
    let after = (kind == EventKind::AfterTool).then_some(CallStatus::Succeeded);
    Some(ClaudeEventMapping { kind, agent_scope: scope, after_call: after })
}

/// The default timeout of hooks in Claude Code's dialect.
pub fn default_timeout(kind: EventKind) -> Duration {
    match kind {
        EventKind::BeforeAgent => Duration::from_secs(30),
        _ => Duration::from_secs(600),
    }
}

/// Whether a timeout in seconds was probably meant in milliseconds, because it would be very long.
pub fn looks_like_milliseconds(seconds: f64) -> bool {
    seconds >= 3600.0 || (seconds >= 1000.0 && seconds % 500.0 == 0.0)
}

/// The values of an event's field that a word in a Claude Code matcher stands for.
pub fn matcher_values(kind: EventKind, word: &str) -> Vec<&str> {
    match (kind, word) {
        (EventKind::Notification, "permission_prompt") => vec!["ToolPermission"],
        // Claude Code has no reason `exit`; it is one of the cases of `other`.
        (EventKind::SessionEnd, "other") => vec!["other", "exit"],
        _ => vec![word],
    }
}

/// The input of one event in Claude Code's dialect.
pub(crate) struct ClaudeInput {
    /// The input, once for each view of a call; a deny of one view is a deny of the call. Never empty.
    pub(crate) views: Vec<HookInput>,
    /// The call in the Gemini dialect, and its working directory.
    call: Option<(DialectCall, PathBuf)>,
}

impl ClaudeInput {
    /// Translates an event's input to Claude Code's dialect; `after` is the call status to which the hook is limited.
    ///
    /// # Errors
    /// If the input is not a JSON object, or Claude Code has no such event.
    pub(crate) fn translate(
        kind: EventKind,
        after: Option<CallStatus>,
        input: &HookInput,
    ) -> Result<ClaudeInput, String> {
        let ours: Map<String, Value> = serde_json::from_str(&input.to_json())
            .map_err(|error| format!("its input could not be converted to Claude Code's format: {error}"))?;
        let scope = if ours.contains_key("agent_id") { AgentScope::SubAgent } else { AgentScope::Session };
        let Some(name) = event_name(kind, scope) else {
            return Err(format!("Claude Code has no event like {kind}, so there is no input in its format"));
        };
        let name = if after == Some(CallStatus::Failed) { FAILURE_EVENT_NAME } else { name };
        let cwd = PathBuf::from(text_field(&ours, "cwd"));
        let common = common_fields(name, &ours);
        let call = ours.get("tool_name").and_then(Value::as_str).map(|tool| {
            let input = ours.get("tool_input").and_then(Value::as_object).cloned().unwrap_or_default();
            DialectCall::new(tool, input)
        });
        let own = event_fields(kind, &ours);
        let Some(call) = call else {
            return Ok(ClaudeInput { views: vec![encode_fields(&[&common, &own])?], call: None });
        };
        let theirs = tool_arguments::to_claude(&call, &cwd);
        let views = theirs.views.iter().map(|view| {
            let mut fields = common.clone();
            if let Some(directory) = &theirs.cwd {
                fields.insert("cwd".to_owned(), directory.to_string_lossy().into());
            }
            fields.insert("tool_name".to_owned(), view.tool.as_str().into());
            fields.insert("tool_input".to_owned(), Value::Object(view.input.clone()));
            if let (true, Some(error)) =
                (name == FAILURE_EVENT_NAME, ours.get("tool_response").and_then(|end| end.get("error")))
            {
                fields.insert("error".to_owned(), error_message(error).into());
                fields.insert("is_interrupt".to_owned(), json!(false));
            }
            if kind == EventKind::AfterTool {
                fields.insert("tool_response".to_owned(), tool_response(view, ours.get("tool_response")));
            }
            encode_fields(&[&fields, &own])
        });
        Ok(ClaudeInput { views: views.collect::<Result<_, _>>()?, call: Some((call, cwd)) })
    }

    /// Translates the changed arguments of one view to changes of the call itself.
    pub(super) fn changes_from_claude(
        &self,
        view: usize,
        input: &Map<String, Value>,
    ) -> Result<Map<String, Value>, UntranslatableChange> {
        match &self.call {
            Some((call, cwd)) => tool_arguments::changes_from_claude(call, cwd, view, input),
            None => Ok(Map::new()),
        }
    }
}

fn text_field<'a>(fields: &'a Map<String, Value>, key: &str) -> &'a str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The fields that every event has in Claude Code.
fn common_fields(name: &str, ours: &Map<String, Value>) -> Map<String, Value> {
    let mut fields = Map::new();
    for key in ["session_id", "transcript_path", "cwd"] {
        fields.insert(key.to_owned(), text_field(ours, key).into());
    }
    fields.insert("hook_event_name".to_owned(), name.into());
    for (theirs, key) in [
        ("prompt_id", "turn_id"),
        ("agent_id", "agent_id"),
        ("agent_type", "agent_name"),
        ("agent_transcript_path", "agent_transcript_path"),
    ] {
        fields.extend(ours.get(key).map(|value| (theirs.to_owned(), value.clone())));
    }
    let mode = ours.get("approval_mode").and_then(Value::as_str).map(permission_mode);
    fields.extend(mode.map(|mode| ("permission_mode".to_owned(), mode.into())));
    fields
}

/// Claude Code's permission mode for an approval mode.
pub fn permission_mode(ours: &str) -> &str {
    APPROVAL_MODE_NAMES.iter().find(|(mode, _)| *mode == ours).map_or(ours, |(_, theirs)| theirs)
}

/// The approval mode for a permission mode of Claude Code.
pub fn approval_mode(theirs: &str) -> &str {
    APPROVAL_MODE_NAMES.iter().find(|(_, mode)| *mode == theirs).map_or(theirs, |(mode, _)| mode)
}

const APPROVAL_MODE_NAMES: [(&str, &str); 2] = [("auto_edit", "acceptEdits"), ("yolo", "bypassPermissions")];

/// The message of a tool's error as text.
fn error_message(error: &Value) -> String {
    let message = error.get("message").unwrap_or(error);
    message.as_str().map_or_else(|| message.to_string(), str::to_owned)
}

/// The fields of the event itself, without those of a call; a field that Claude Code does not have keeps its name.
fn event_fields(kind: EventKind, ours: &Map<String, Value>) -> Map<String, Value> {
    const TRANSLATED_FIELDS: [&str; 15] = [
        "session_id",
        "transcript_path",
        "cwd",
        "hook_event_name",
        "turn_id",
        "approval_mode",
        "agent_id",
        "agent_name",
        "agent_transcript_path",
        "tool_name",
        "tool_input",
        "tool_response",
        "notification_type",
        "prompt_response",
        "reason",
    ];
    let rest = ours.iter().filter(|(key, _)| !TRANSLATED_FIELDS.contains(&key.as_str()));
    let mut fields: Map<String, Value> = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
    match kind {
        EventKind::AfterAgent => {
            fields.insert("last_assistant_message".to_owned(), text_field(ours, "prompt_response").into());
        }
        EventKind::PreCompress => {
            fields.insert("custom_instructions".to_owned(), "".into());
        }
        EventKind::Notification => {
            let kind = match text_field(ours, "notification_type") {
                "ToolPermission" => "permission_prompt",
                other => other,
            };
            fields.insert("notification_type".to_owned(), kind.into());
        }
        EventKind::SessionEnd => {
            let reason = match text_field(ours, "reason") {
                "exit" => "other",
                reason => reason,
            };
            fields.insert("reason".to_owned(), reason.into());
        }
        _ => {}
    }
    fields
}

/// A tool's result with the fields that Claude Code hooks expect, next to the fields of the Gemini dialect.
fn tool_response(view: &DialectCall, ours: Option<&Value>) -> Value {
    let mut fields = match ours {
        Some(Value::Object(fields)) => fields.clone(),
        Some(Value::Null) | None => Map::new(),
        Some(other) => [("llmContent".to_owned(), other.clone())].into_iter().collect(),
    };
    let failed = fields.get("error").is_some_and(|error| !error.is_null());
    let said = fields.get("llmContent").map_or_else(String::new, result_text);
    let mut add = |key: &str, value: Value| {
        fields.entry(key).or_insert(value);
    };
    match view.tool.as_str() {
        "Bash" => {
            add("stdout", said.into());
            add("stderr", "".into());
            add("interrupted", json!(false));
            add("isImage", json!(false));
        }
        "Write" | "Edit" | "Read" => {
            add("filePath", view.input.get("file_path").cloned().unwrap_or_default());
            add("success", json!(!failed));
            if view.tool == "Read" {
                add("file", json!({"filePath": view.input.get("file_path"), "content": said}));
            }
        }
        _ => add("success", json!(!failed)),
    }
    Value::Object(fields)
}

/// The text of a result: a string, a part with text, or a list of these.
fn result_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(result_text).collect(),
        Value::Object(part) => part.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

fn encode_fields(parts: &[&Map<String, Value>]) -> Result<HookInput, String> {
    let mut all = Map::new();
    for part in parts {
        for (key, value) in part.iter() {
            all.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    let text = serde_json::to_vec(&all).map_err(|error| format!("its input could not be written as JSON: {error}"))?;
    Ok(HookInput::from(text))
}

#[cfg(test)]
mod tests;
