//! Antigravity: payloads in camel case without the event's name, and a strict answer for each event, with nothing in it that
//! the event does not have.

use hookwright_hooks::{EventKind, Power};
use serde_json::{Map, Value, json};

use crate::dialect::{Dialect, Heard, Loss, Misheard, Ruling, Verdict, Written};
use crate::hearing::{self, event_name};
use crate::host::{Host, HostEvent};
use crate::payload::{arguments, needed, text};

/// Antigravity.
pub(crate) struct Antigravity;

impl Dialect for Antigravity {
    fn hear(&self, host: Host, payload: Map<String, Value>, told: Option<&str>) -> Result<Heard, Misheard> {
        let said = text(&payload, &["hookEventName", "hook_event_name", "event"]);
        let event = event_name(said.or_else(|| told.is_none().then(|| shape(&payload)).flatten()), told)?;
        let row = host.event(&event);
        let mut heard = hearing::frame(host, &event, row, &payload);
        match row.and_then(|row| row.ours) {
            Some(kind @ (EventKind::BeforeTool | EventKind::AfterTool)) => {
                let call = match payload.get("toolCall") {
                    Some(Value::Object(call)) => call,
                    _ => return Err(Misheard::Missing("toolCall")),
                };
                let result = (kind == EventKind::AfterTool).then(|| {
                    let native = ["result", "output", "toolResult"].iter().find_map(|name| payload.get(*name));
                    hearing::response(native, text(&payload, &["error"]))
                });
                hearing::call(&mut heard, kind, needed(call, &["name"])?, arguments(call, &["args"])?, result)?;
            }
            // Only the first request of a conversation is its start.
            Some(EventKind::SessionStart) if payload.get("invocationNum").and_then(Value::as_u64).unwrap_or(0) == 0 => {
                heard.views.push(hearing::view(EventKind::SessionStart, json!({"source": "startup"}))?);
            }
            Some(EventKind::AfterAgent) => {
                let fields = json!({"prompt": "", "prompt_response": "", "stop_hook_active": false});
                heard.views.push(hearing::view(EventKind::AfterAgent, fields)?);
            }
            None if row.is_none() => hearing::unknown(&mut heard, &payload),
            _ => {}
        }
        Ok(heard)
    }

    fn write(&self, heard: &Heard, verdict: &Verdict) -> Written {
        match heard.row {
            Some(row) => answer(row, verdict),
            None => Written { stdout: "{}".to_owned(), lost: verdict.lost.clone(), ..Written::default() },
        }
    }

    fn refuse(&self, _: Host, event: Option<&HostEvent>, words: &str) -> Written {
        match event {
            Some(row) if !row.is_gate() => {
                Written { stdout: "{}".to_owned(), stderr: words.to_owned(), ..Written::default() }
            }
            _ => Written { stdout: json!({"decision": "deny", "reason": words}).to_string(), ..Written::default() },
        }
    }
}

/// Which event a payload is, by what it holds.
fn shape(payload: &Map<String, Value>) -> Option<&'static str> {
    let has = |key: &str| payload.contains_key(key);
    if has("toolCall") {
        let ran = has("result") || has("error") || has("output") || has("toolResult");
        return Some(if ran { "PostToolUse" } else { "PreToolUse" });
    }
    if has("terminationReason") || has("fullyIdle") {
        return Some("Stop");
    }
    has("invocationNum").then_some("PreInvocation")
}

fn answer(row: &HostEvent, verdict: &Verdict) -> Written {
    let mut lost = verdict.lost.clone();
    let mut lose = |wanted, became| lost.push(Loss { wanted, became });
    let said = |decision: &str, reason: &str| json!({"decision": decision, "reason": reason});
    let answer = match (row.ours, verdict.ruling) {
        (Some(EventKind::BeforeTool), Ruling::Pass | Ruling::Ask) if verdict.input.is_some() => {
            lose("rewrite", "deny");
            said("deny", "a hook changes this call's arguments, which Antigravity does not take")
        }
        (Some(EventKind::BeforeTool), Ruling::Pass) => json!({"decision": "allow"}),
        (Some(EventKind::BeforeTool), Ruling::Ask) => said("force_ask", verdict.why()),
        (Some(EventKind::BeforeTool), Ruling::Deny) => said("deny", verdict.why()),
        (Some(EventKind::BeforeTool), Ruling::Stop) => {
            lose("stop", "deny");
            said("deny", verdict.why())
        }
        (Some(EventKind::AfterAgent), Ruling::Deny) => said("continue", verdict.why()),
        (Some(EventKind::AfterTool), Ruling::Deny | Ruling::Stop) => {
            lose("hide the result", "nothing");
            json!({})
        }
        _ => match (&verdict.context, row.can(Power::Context)) {
            (Some(context), true) => json!({"injectSteps": [{"userMessage": context}]}),
            _ => json!({}),
        },
    };
    if verdict.context.is_some() && !row.can(Power::Context) {
        lose("context", "nothing");
    }
    if verdict.message.is_some() {
        lose("message", "a line in the trace");
    }
    Written { stdout: answer.to_string(), lost, ..Written::default() }
}
