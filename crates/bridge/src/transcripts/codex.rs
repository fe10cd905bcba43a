//! Codex CLI: `sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`, and the same names under `archived_sessions`.
//!
//! Seen in 0.169.0. A `response_item` is what the model said or was told; an `event_msg` of type `item_completed` (in
//! older versions `exec_command_end`, `patch_apply_end`, `mcp_tool_call_end`) says that a command ran. Such an item whose
//! id no call has was started by another tool, such as code that the model wrote, and is a call of its own.

use serde_json::Value;

use super::call::{TranscriptResult, parse_millis, parse_time};
use super::call_tracker::{CallTracker, RecordedCall};
use super::json_lines::{LineFormat, LineKind};

pub(super) struct CodexFormat;

/// Items of the conversation that call nothing.
const SILENT_ITEMS: [&str; 9] = [
    "message",
    "reasoning",
    "compaction",
    "compaction_summary",
    "context_compaction",
    "ghost_snapshot",
    "tool_search_call",
    "tool_search_output",
    "agent_message",
];

impl LineFormat for CodexFormat {
    fn markers(&self) -> &'static [&'static str] {
        &[
            "\"session_meta\"",
            "\"response_item\"",
            "\"item_completed\"",
            "\"exec_command_end\"",
            "\"patch_apply_end\"",
            "\"mcp_tool_call_end\"",
        ]
    }

    fn read_line(&mut self, line: &Value, number: u64, calls: &mut CallTracker) -> LineKind {
        let payload = &line["payload"];
        match line["type"].as_str() {
            Some("session_meta") => read_header(payload, calls),
            Some("response_item") => read_item(line, number, calls),
            Some("event_msg") => read_event(payload, number, calls),
            Some(_) if payload.is_object() => {}
            _ => return LineKind::Unrecognized,
        }
        LineKind::Recognized
    }
}

fn read_header(payload: &Value, calls: &mut CallTracker) {
    // A fork has the headers of the sessions that it was forked from below its own.
    if !calls.session.id.is_empty() {
        return;
    }
    let text = |key: &str| payload[key].as_str().map(str::to_owned);
    calls.session.id = text("id").unwrap_or_default();
    calls.session.other_id = text("session_id").filter(|id| *id != calls.session.id).or_else(|| text("forked_from_id"));
    calls.session.version = text("cli_version");
}

fn read_item(line: &Value, number: u64, calls: &mut CallTracker) {
    let payload = &line["payload"];
    let time = parse_time(&line["timestamp"]);
    let id = payload["call_id"].as_str();
    let begin = |calls: &mut CallTracker, tool: &str, arguments: &Value| {
        calls.begin(&RecordedCall { id, tool, arguments, time, line: number });
    };
    match payload["type"].as_str().unwrap_or_default() {
        "function_call" => {
            let arguments = payload["arguments"].as_str().and_then(|text| serde_json::from_str(text).ok());
            begin(calls, &tool_name(payload), arguments.as_ref().unwrap_or(&payload["arguments"]));
        }
        "custom_tool_call" => begin(calls, &tool_name(payload), &payload["input"]),
        "local_shell_call" => begin(calls, "local_shell", &payload["action"]),
        "function_call_output" | "custom_tool_call_output" | "mcp_tool_call_output" => {
            if let Some(id) = id {
                calls.finish(id, read_output(&payload["output"]), time);
            }
        }
        "web_search_call" | "image_generation_call" => {
            let tool = if payload["type"] == "web_search_call" { "web_search" } else { "image_generation" };
            let recorded =
                RecordedCall { id: payload["id"].as_str(), tool, arguments: &payload["action"], time, line: number };
            calls.add(&recorded, TranscriptResult::Ran, time);
        }
        silent if SILENT_ITEMS.contains(&silent) => {}
        other => calls.report(Some(number), format!("has an item that is not known: `{other}`")),
    }
}

/// Returns a tool's name as hooks are told it: tools of servers have the server before it.
fn tool_name(payload: &Value) -> String {
    let name = payload["name"].as_str().unwrap_or_default();
    match payload["namespace"].as_str() {
        Some(namespace) if namespace.starts_with("mcp__") && !name.starts_with("mcp__") => {
            format!("{}__{name}", namespace.trim_end_matches('_'))
        }
        _ => name.to_owned(),
    }
}

/// Returns what an output says of a call that no event says to have run.
fn read_output(output: &Value) -> TranscriptResult {
    /// How outputs of calls begin that never ran.
    const REFUSALS: [&str; 8] = [
        "Command blocked by PreToolUse hook",
        "Tool call blocked by PreToolUse hook",
        "failed to parse function arguments",
        "unsupported call:",
        "unsupported custom tool call:",
        "exec command rejected by user",
        "patch rejected by user",
        "aborted by user before",
    ];
    let text = output.as_str().or_else(|| output["content"].as_str()).or_else(|| output[0]["text"].as_str());
    let text = text.unwrap_or_default();
    if REFUSALS.iter().any(|refusal| text.starts_with(refusal)) {
        TranscriptResult::Refused
    } else {
        TranscriptResult::Ran
    }
}

fn read_event(payload: &Value, number: u64, calls: &mut CallTracker) {
    let (item, id) = match payload["type"].as_str() {
        Some("item_completed") => (&payload["item"], payload["item"]["id"].as_str()),
        Some("exec_command_end" | "patch_apply_end" | "mcp_tool_call_end") => (payload, payload["call_id"].as_str()),
        _ => return,
    };
    let (tool, arguments) = match item["type"].as_str().unwrap_or_default() {
        "CommandExecution" | "exec_command_end" => ("exec_command", &item["command"]),
        "FileChange" | "patch_apply_end" => ("apply_patch", &item["changes"]),
        "McpToolCall" | "mcp_tool_call_end" => ("mcp_tool_call", item),
        _ => return,
    };
    let Some(id) = id else { return };
    if item["status"] == "declined" {
        return;
    }
    if calls.is_known(id) {
        return calls.mark_ran(id);
    }
    // The user's own commands are no calls of the model.
    if item["source"] == "user_shell" {
        return;
    }
    let time = parse_millis(&payload["started_at_ms"]);
    let recorded = RecordedCall { id: Some(id), tool, arguments, time, line: number };
    calls.add(&recorded, TranscriptResult::Ran, parse_millis(&payload["completed_at_ms"]));
}
