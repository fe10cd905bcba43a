//! GitHub Copilot CLI: `session-state/SESSION/events.jsonl`.
//!
//! Seen in 1.0.102. `tool.execution_start` and `tool.execution_complete` enclose a call; the calls of sub-agents are in
//! the same file, with an `agentId`, which hooks are told as their session. Hooks are told no id of the call.

use serde_json::Value;

use super::call::{TranscriptResult, parse_time};
use super::call_tracker::{CallTracker, RecordedCall};
use super::json_lines::{LineFormat, LineKind};

#[derive(Default)]
pub(super) struct CopilotFormat {
    session: String,
    version: Option<String>,
}

impl LineFormat for CopilotFormat {
    fn markers(&self) -> &'static [&'static str] {
        &["\"session.start\"", "\"session.resume\"", "\"tool."]
    }

    fn read_line(&mut self, line: &Value, number: u64, calls: &mut CallTracker) -> LineKind {
        let (Some(kind), data) = (line["type"].as_str(), &line["data"]) else { return LineKind::Unrecognized };
        if !data.is_object() {
            return LineKind::Unrecognized;
        }
        let time = parse_time(&line["timestamp"]);
        let id = data["toolCallId"].as_str();
        match kind {
            "session.start" | "session.resume" => {
                let text = |key: &str| data[key].as_str().map(str::to_owned);
                self.session = text("sessionId").unwrap_or_else(|| std::mem::take(&mut self.session));
                self.version = text("copilotVersion").or(self.version.take());
            }
            "tool.execution_start" => {
                self.select_session(line, calls);
                let tool = data["toolName"].as_str().unwrap_or_default();
                calls.begin(&RecordedCall { id, tool, arguments: &data["arguments"], time, line: number });
            }
            "tool.execution_complete" => {
                if let Some(id) = id {
                    calls.finish(id, read_result(data), time);
                }
            }
            "tool.execution_progress" | "tool.execution_partial_result" | "tool.user_requested" => {}
            other if other.starts_with("tool.") => {
                calls.report(Some(number), format!("has an event that is not known: `{other}`"));
            }
            _ => {}
        }
        LineKind::Recognized
    }
}

impl CopilotFormat {
    fn select_session(&self, line: &Value, calls: &mut CallTracker) {
        calls.session.version.clone_from(&self.version);
        (calls.session.id, calls.session.other_id) = match line["agentId"].as_str() {
            Some(agent) => (agent.to_owned(), Some(self.session.clone())),
            None => (self.session.clone(), None),
        };
    }
}

/// Returns what the end of a call says. A refusal has a code of its own.
fn read_result(data: &Value) -> TranscriptResult {
    let is_refusal = matches!(data["error"]["code"].as_str(), Some("denied" | "rejected"));
    if data["success"] == false && is_refusal { TranscriptResult::Refused } else { TranscriptResult::Ran }
}
