//! Claude Code: `projects/PROJECT/SESSION.jsonl`, and `projects/PROJECT/SESSION/subagents/agent-ID.jsonl` with the
//! calls of sub-agents.
//!
//! Seen in 2.1.327. A line of type `assistant` has one part of the model's answer, a line of type `user` the result of a
//! call. Hooks are told the session of the main conversation, which lines of sub-agents have too. A fork copies lines
//! under its own session; `requestSessionId` is then the session that hooks were told.

use serde_json::Value;

use super::call::{TranscriptResult, parse_time};
use super::call_tracker::{CallTracker, RecordedCall};
use super::json_lines::{LineFormat, LineKind};

pub(super) struct ClaudeCodeFormat;

/// The parts of an answer that call nothing on this machine.
const SILENT_PARTS: [&str; 6] = ["text", "thinking", "redacted_thinking", "fallback", "container_upload", "compaction"];

impl LineFormat for ClaudeCodeFormat {
    fn markers(&self) -> &'static [&'static str] {
        &["\"assistant\"", "\"tool_result\""]
    }

    fn read_line(&mut self, line: &Value, number: u64, calls: &mut CallTracker) -> LineKind {
        let Some(kind) = line["type"].as_str() else { return LineKind::Unrecognized };
        match kind {
            "assistant" => read_answer(line, number, calls),
            "user" => read_results(line, calls),
            _ => {}
        }
        let is_own = line["sessionId"].is_string() || matches!(kind, "summary" | "file-history-snapshot");
        if is_own { LineKind::Recognized } else { LineKind::Unrecognized }
    }
}

fn read_answer(line: &Value, number: u64, calls: &mut CallTracker) {
    let Some(parts) = line["message"]["content"].as_array() else {
        // A text instead of parts has no calls.
        if !line["message"]["content"].is_string() {
            calls.report(Some(number), "has an answer of the model in a form that is not known");
        }
        return;
    };
    calls.session.id = line["sessionId"].as_str().unwrap_or_default().to_owned();
    calls.session.other_id = line["requestSessionId"].as_str().map(str::to_owned);
    calls.session.version = line["version"].as_str().map(str::to_owned);
    for part in parts {
        match part["type"].as_str().unwrap_or_default() {
            // The provider runs `server_tool_use` itself.
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let recorded = RecordedCall {
                    id: part["id"].as_str(),
                    tool: part["name"].as_str().unwrap_or_default(),
                    arguments: &part["input"],
                    time: parse_time(&line["timestamp"]),
                    line: number,
                };
                match part["type"] == "tool_use" {
                    true => calls.begin(&recorded),
                    false => calls.add(&recorded, TranscriptResult::Ran, None),
                }
            }
            silent if SILENT_PARTS.contains(&silent) || silent.ends_with("_tool_result") => {}
            other => calls.report(Some(number), format!("has a part of an answer that is not known: `{other}`")),
        }
    }
}

fn read_results(line: &Value, calls: &mut CallTracker) {
    for part in line["message"]["content"].as_array().into_iter().flatten() {
        if part["type"] == "tool_result"
            && let Some(id) = part["tool_use_id"].as_str()
        {
            calls.finish(id, read_result(line, part), parse_time(&line["timestamp"]));
        }
    }
}

/// Returns what a result says. The agent's own fields count before the text, which the tool may have written.
fn read_result(line: &Value, part: &Value) -> TranscriptResult {
    match line["permissionDecision"]["decision"].as_str() {
        Some("accept") => return TranscriptResult::Ran,
        Some("reject") => return TranscriptResult::Refused,
        _ => {}
    }
    if line["toolDenialKind"].is_string() {
        return TranscriptResult::Refused;
    }
    /// How refusals begin that have no field for it.
    const REFUSALS: [&str; 6] = [
        "<tool_use_error>InputValidationError",
        "<tool_use_error>Error: No such tool available",
        "The user doesn't want to proceed with this tool use",
        "The user doesn't want to take this action right now",
        "Permission to use ",
        "Claude requested permissions to ",
    ];
    let text = part["content"].as_str().or_else(|| part["content"][0]["text"].as_str()).unwrap_or_default();
    let is_refusal = REFUSALS.iter().any(|refusal| text.starts_with(refusal));
    if part["is_error"] == true && is_refusal { TranscriptResult::Refused } else { TranscriptResult::Ran }
}
