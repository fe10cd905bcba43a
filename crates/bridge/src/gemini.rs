//! The dialect of Gemini CLI, as version 0.61 behaves: the same eleven events as Hookwright's and nearly the same
//! format.

use hookwright_hooks::{AnyEvent, EventKind, HookCapability};
use serde_json::{Map, Value};

use crate::dialect::{
    ArgumentWriteBack, EventView, HostDialect, HostEvent, HostResponse, HostVerdict, PayloadError, Ruling,
    VerdictDowngrade,
};
use crate::event_builder::{self, resolve_event_name};
use crate::host::{Host, HostEventInfo};
use crate::payload::{first_text, required_text, tool_arguments};

/// Reads Gemini CLI's payloads and writes its answers.
pub(crate) struct GeminiDialect;

impl HostDialect for GeminiDialect {
    fn parse_event(
        &self,
        host: Host,
        payload: Map<String, Value>,
        expected_event: Option<&str>,
    ) -> Result<HostEvent, PayloadError> {
        let event = resolve_event_name(first_text(&payload, &["hook_event_name"]), expected_event)?;
        let row = host.event(&event);
        let mut host_event = event_builder::new_event(host, &event, row, &payload);
        let Some(kind) = row.and_then(|row| row.kind) else {
            event_builder::record_unknown_tool(&mut host_event, &payload);
            return Ok(host_event);
        };
        if matches!(kind, EventKind::BeforeTool | EventKind::AfterTool) {
            let (name, input) = (required_text(&payload, &["tool_name"])?, tool_arguments(&payload, &["tool_input"])?);
            let result =
                (kind == EventKind::AfterTool).then(|| payload.get("tool_response").cloned().unwrap_or_default());
            event_builder::add_call_views(&mut host_event, kind, name, input, result)?;
            return Ok(host_event);
        }
        let event = AnyEvent::from_fields(kind, payload)
            .map_err(|error| PayloadError::Incomplete { event, problem: error.to_string() })?;
        host_event.views.push(EventView { event, write_back: ArgumentWriteBack::View(0), is_recheck: false });
        Ok(host_event)
    }

    fn write_response(&self, host_event: &HostEvent, verdict: &HostVerdict) -> HostResponse {
        let Some(row) = host_event.info else { return HostResponse::default() };
        let mut downgrades = verdict.downgrades.clone();
        let mut answer = verdict.engine_answer.clone();
        for silent in ["decision", "reason", "continue", "suppressOutput"] {
            answer.shift_remove(silent);
        }
        // A denied event does not happen, so its changes have no effect.
        if verdict.ruling != Ruling::Pass && row.is_gate() {
            answer.shift_remove("hookSpecificOutput");
        }
        match verdict.ruling {
            Ruling::Pass => {}
            // In a session without a user at the terminal, a question would wait for ever.
            Ruling::Ask => {
                downgrades.push(VerdictDowngrade { requested: "ask", applied: "deny" });
                set_deny(
                    &mut answer,
                    &format!(
                        "{} (the hook wants to ask you, but the session may be unattended)",
                        verdict.reason_or_default()
                    ),
                );
            }
            Ruling::Deny => set_deny(&mut answer, verdict.reason_or_default()),
            Ruling::Stop => {
                answer.insert("continue".to_owned(), false.into());
                answer.insert("stopReason".to_owned(), verdict.reason_or_default().into());
                if row.is_gate() {
                    set_deny(&mut answer, verdict.reason_or_default());
                }
            }
        }
        let stdout = if answer.is_empty() { String::new() } else { Value::Object(answer).to_string() };
        HostResponse { stdout, downgrades, ..HostResponse::default() }
    }

    fn write_refusal(&self, _: Host, event: Option<&HostEventInfo>, reason: &str) -> HostResponse {
        match event {
            Some(row) if row.can(HookCapability::Deny) && row.kind != Some(EventKind::AfterAgent) => {
                let mut answer = Map::new();
                set_deny(&mut answer, reason);
                HostResponse { stdout: Value::Object(answer).to_string(), ..HostResponse::default() }
            }
            Some(_) => HostResponse { stderr: reason.to_owned(), ..HostResponse::default() },
            None => HostResponse { stderr: reason.to_owned(), exit_code: 2, ..HostResponse::default() },
        }
    }
}

fn set_deny(answer: &mut Map<String, Value>, reason: &str) {
    answer.insert("decision".to_owned(), "deny".into());
    answer.insert("reason".to_owned(), reason.into());
}
