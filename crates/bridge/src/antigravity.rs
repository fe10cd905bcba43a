//! The dialect of Antigravity: payloads in camel case without an event name, and for each event an answer that holds
//! only the fields which that event has.

use hookwright_hooks::{EventKind, HookCapability};
use serde_json::{Map, Value, json};

use crate::dialect::{HostDialect, HostEvent, HostResponse, HostVerdict, PayloadError, Ruling, VerdictDowngrade};
use crate::event_builder::{self, resolve_event_name};
use crate::host::{Host, HostEventInfo};
use crate::payload::{first_text, required_text, tool_arguments};

/// Reads Antigravity's payloads and writes its answers.
pub(crate) struct AntigravityDialect;

impl HostDialect for AntigravityDialect {
    fn parse_event(
        &self,
        host: Host,
        payload: Map<String, Value>,
        expected_event: Option<&str>,
    ) -> Result<HostEvent, PayloadError> {
        let payload_event = first_text(&payload, &["hookEventName", "hook_event_name", "event"]);
        let event = resolve_event_name(
            payload_event.or_else(|| expected_event.is_none().then(|| detect_event_name(&payload)).flatten()),
            expected_event,
        )?;
        let row = host.event(&event);
        let mut host_event = event_builder::new_event(host, &event, row, &payload);
        match row.and_then(|row| row.kind) {
            Some(kind @ (EventKind::BeforeTool | EventKind::AfterTool)) => {
                let call = match payload.get("toolCall") {
                    Some(Value::Object(call)) => call,
                    _ => return Err(PayloadError::Missing("toolCall")),
                };
                let result = (kind == EventKind::AfterTool).then(|| {
                    let native = ["result", "output", "toolResult"].iter().find_map(|name| payload.get(*name));
                    event_builder::tool_response(native, first_text(&payload, &["error"]))
                });
                event_builder::add_call_views(
                    &mut host_event,
                    kind,
                    required_text(call, &["name"])?,
                    tool_arguments(call, &["args"])?,
                    result,
                )?;
            }
            // Every model request of a conversation sends this event; only the first one is the session's start.
            Some(EventKind::SessionStart) if payload.get("invocationNum").and_then(Value::as_u64).unwrap_or(0) == 0 => {
                host_event
                    .views
                    .push(event_builder::event_view(EventKind::SessionStart, json!({"source": "startup"}))?);
            }
            Some(EventKind::AfterAgent) => {
                let fields = json!({"prompt": "", "prompt_response": "", "stop_hook_active": false});
                host_event.views.push(event_builder::event_view(EventKind::AfterAgent, fields)?);
            }
            None if row.is_none() => event_builder::record_unknown_tool(&mut host_event, &payload),
            _ => {}
        }
        Ok(host_event)
    }

    fn write_response(&self, host_event: &HostEvent, verdict: &HostVerdict) -> HostResponse {
        match host_event.info {
            Some(row) => write_answer(row, verdict),
            None => HostResponse {
                stdout: "{}".to_owned(),
                downgrades: verdict.downgrades.clone(),
                ..HostResponse::default()
            },
        }
    }

    fn write_refusal(&self, _: Host, event: Option<&HostEventInfo>, reason: &str) -> HostResponse {
        match event {
            Some(row) if !row.is_gate() => {
                HostResponse { stdout: "{}".to_owned(), stderr: reason.to_owned(), ..HostResponse::default() }
            }
            _ => HostResponse {
                stdout: json!({"decision": "deny", "reason": reason}).to_string(),
                ..HostResponse::default()
            },
        }
    }
}

/// Returns the event's name, inferred from the fields that the payload holds.
fn detect_event_name(payload: &Map<String, Value>) -> Option<&'static str> {
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

fn write_answer(row: &HostEventInfo, verdict: &HostVerdict) -> HostResponse {
    let mut downgrades = verdict.downgrades.clone();
    let mut downgrade = |requested, applied| downgrades.push(VerdictDowngrade { requested, applied });
    let decide = |decision: &str, reason: &str| json!({"decision": decision, "reason": reason});
    let answer = match (row.kind, verdict.ruling) {
        (Some(EventKind::BeforeTool), Ruling::Pass | Ruling::Ask) if verdict.input.is_some() => {
            downgrade("rewrite", "deny");
            decide("deny", "a hook changes this call's arguments, which Antigravity does not support")
        }
        (Some(EventKind::BeforeTool), Ruling::Pass) => json!({"decision": "allow"}),
        (Some(EventKind::BeforeTool), Ruling::Ask) => decide("force_ask", verdict.reason_or_default()),
        (Some(EventKind::BeforeTool), Ruling::Deny) => decide("deny", verdict.reason_or_default()),
        (Some(EventKind::BeforeTool), Ruling::Stop) => {
            downgrade("stop", "deny");
            decide("deny", verdict.reason_or_default())
        }
        (Some(EventKind::AfterAgent), Ruling::Deny) => decide("continue", verdict.reason_or_default()),
        (Some(EventKind::AfterTool), Ruling::Deny | Ruling::Stop) => {
            downgrade("hide the result", "nothing");
            json!({})
        }
        _ => match (&verdict.context, row.can(HookCapability::Context)) {
            (Some(context), true) => json!({"injectSteps": [{"userMessage": context}]}),
            _ => json!({}),
        },
    };
    if verdict.context.is_some() && !row.can(HookCapability::Context) {
        downgrade("context", "nothing");
    }
    if verdict.message.is_some() {
        downgrade("message", "a line in the trace");
    }
    HostResponse { stdout: answer.to_string(), downgrades, ..HostResponse::default() }
}
