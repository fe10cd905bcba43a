//! Gemini CLI: `tmp/PROJECT/chats/session-TIME-ID.jsonl`, `tmp/PROJECT/chats/SESSION/ID.jsonl` with the calls of
//! sub-agents, and `session-TIME-ID.json` of older versions, which is one JSON document.
//!
//! Seen in 0.61.0 (lines) and 0.25.0 (document). A message of type `gemini` has its calls with their results in
//! `toolCalls`; it is written again whenever it grows. Hooks are told the session of the main conversation and no id of
//! the call. Hookwright keeps its own transcripts in the same directories, which are skipped.

use std::collections::HashSet;

use serde_json::Value;

use super::call::{TranscriptResult, parse_time};
use super::call_tracker::{CallTracker, RecordedCall};
use super::json_lines::{LineFormat, LineKind};

pub(super) struct GeminiCliFormat {
    /// The session that a sub-agent works for, by its directory.
    parent: Option<String>,
    /// The calls with a result that were read, by the ids of message and call.
    finished: HashSet<(String, String)>,
}

impl GeminiCliFormat {
    pub(super) fn new(file: &std::path::Path) -> GeminiCliFormat {
        let folder =
            file.parent().and_then(|folder| folder.file_name()).map(|name| name.to_string_lossy().into_owned());
        GeminiCliFormat { parent: folder.filter(|name| name != "chats"), finished: HashSet::new() }
    }

    /// Reads an older transcript, which is one document.
    pub(super) fn read_document(&mut self, document: &Value, calls: &mut CallTracker) {
        if document.get("hookwright").is_some() {
            return;
        }
        self.read_header(document, calls);
        match document["messages"].as_array() {
            Some(messages) => messages.iter().for_each(|message| self.read_message(message, 1, calls)),
            None => calls.report(None, "has a format that is not known"),
        }
        calls.flush();
    }

    fn read_header(&self, line: &Value, calls: &mut CallTracker) {
        let own = line["sessionId"].as_str().unwrap_or_default().to_owned();
        calls.session.other_id = self.parent.is_some().then(|| own.clone());
        calls.session.id = self.parent.clone().unwrap_or(own);
    }

    fn read_message(&mut self, message: &Value, number: u64, calls: &mut CallTracker) {
        let Some(recorded) = message.get("toolCalls") else { return };
        let Some(recorded) = recorded.as_array() else {
            return calls.report(Some(number), "has calls in a form that is not known");
        };
        for call in recorded {
            self.read_call(message, call, number, calls);
        }
    }

    fn read_call(&mut self, message: &Value, call: &Value, number: u64, calls: &mut CallTracker) {
        let finished = parse_time(&call["timestamp"]);
        let recorded = RecordedCall {
            id: call["id"].as_str(),
            tool: call["name"].as_str().unwrap_or_default(),
            arguments: &call["args"],
            time: parse_time(&message["timestamp"]).or(finished),
            line: number,
        };
        let result = match call["status"].as_str().unwrap_or_default() {
            "success" => TranscriptResult::Ran,
            "error" => read_error(call),
            // The user may have refused it, or stopped it while it ran.
            "cancelled" => TranscriptResult::Unknown,
            other => {
                if !["validating", "scheduled", "executing", "awaiting_approval"].contains(&other) {
                    calls.report(Some(number), format!("has a call whose status is not known: `{other}`"));
                }
                if recorded.id.is_none_or(|id| !calls.is_open(id)) {
                    calls.begin(&recorded);
                }
                return;
            }
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if recorded.id.is_none() || self.finished.insert((text(&message["id"]), text(&call["id"]))) {
            calls.add(&recorded, result, finished);
        }
    }
}

impl LineFormat for GeminiCliFormat {
    fn markers(&self) -> &'static [&'static str] {
        &["\"gemini\"", "\"sessionId\"", "\"toolCalls\""]
    }

    fn read_line(&mut self, line: &Value, number: u64, calls: &mut CallTracker) -> LineKind {
        if line.get("hookwright").is_some() {
            return LineKind::OtherProgram;
        }
        if line["sessionId"].is_string() && line["projectHash"].is_string() {
            self.read_header(line, calls);
        } else if let Some(changes) = line.get("$set") {
            let messages = changes["messages"].as_array().into_iter().flatten();
            messages.for_each(|message| self.read_message(message, number, calls));
        } else if line["id"].is_string() && line["type"].is_string() {
            self.read_message(line, number, calls);
        } else {
            return LineKind::Unrecognized;
        }
        LineKind::Recognized
    }
}

/// Returns what an error says: whether the call ran and failed, or never ran.
fn read_error(call: &Value) -> TranscriptResult {
    /// How errors of calls begin that never ran.
    const REFUSALS: [&str; 4] =
        ["Tool execution blocked:", "Tool execution denied by policy", "params must ", "params/"];
    let error = call["result"][0]["functionResponse"]["response"]["error"].as_str().unwrap_or_default();
    let is_unknown_tool = error.starts_with("Tool \"") && error.contains("not found");
    match is_unknown_tool || REFUSALS.iter().any(|refusal| error.starts_with(refusal)) {
        true => TranscriptResult::Refused,
        false => TranscriptResult::Ran,
    }
}
