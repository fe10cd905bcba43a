//! Qwen Code: `projects/PROJECT/chats/SESSION.jsonl`, and `projects/PROJECT/subagents/SESSION/agent-ID.jsonl` with the
//! calls of sub-agents.
//!
//! Seen in 0.24.4. A line of type `assistant` has the model's parts, a line of type `tool_result` the result of a call.
//! Hooks are told the call's id as `tool_call_id`; their `tool_use_id` is another one, which no transcript has. Results in
//! a sub-agent's transcript do not say whether a call with an error ran.

use serde_json::Value;

use super::call::{TranscriptResult, parse_time};
use super::call_tracker::{CallTracker, RecordedCall};
use super::json_lines::{LineFormat, LineKind};

pub(super) struct QwenFormat;

impl LineFormat for QwenFormat {
    fn markers(&self) -> &'static [&'static str] {
        &["\"assistant\"", "\"tool_result\""]
    }

    fn read_line(&mut self, line: &Value, number: u64, calls: &mut CallTracker) -> LineKind {
        let (Some(kind), Some(session)) = (line["type"].as_str(), line["sessionId"].as_str()) else {
            return LineKind::Unrecognized;
        };
        let time = parse_time(&line["timestamp"]);
        match kind {
            "assistant" => {
                calls.session.id = session.to_owned();
                calls.session.version = line["version"].as_str().map(str::to_owned);
                let Some(parts) = line["message"]["parts"].as_array() else {
                    calls.report(Some(number), "has an answer of the model in a form that is not known");
                    return LineKind::Recognized;
                };
                for call in parts.iter().filter_map(|part| part.get("functionCall")) {
                    let tool = call["name"].as_str().unwrap_or_default();
                    let (id, arguments) = (call["id"].as_str(), &call["args"]);
                    calls.begin(&RecordedCall { id, tool, arguments, time, line: number });
                }
            }
            "tool_result" => {
                let response = &line["message"]["parts"][0]["functionResponse"];
                let result = &line["toolCallResult"];
                if let Some(id) = result["callId"].as_str().or_else(|| response["id"].as_str()) {
                    calls.finish(id, read_result(result, &response["response"]), time);
                }
            }
            _ => {}
        }
        LineKind::Recognized
    }
}

fn read_result(result: &Value, response: &Value) -> TranscriptResult {
    match (result["executionStatus"].as_str(), result["status"].as_str()) {
        (Some("not_started"), _) => TranscriptResult::Refused,
        (Some(_), _) | (None, Some("success")) => TranscriptResult::Ran,
        (None, _) if result["errorType"] == "execution_denied" => TranscriptResult::Refused,
        (None, Some("cancelled")) => TranscriptResult::Unknown,
        (None, _) if response.get("error").is_some() => TranscriptResult::Unknown,
        (None, _) => TranscriptResult::Ran,
    }
}
