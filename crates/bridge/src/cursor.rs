//! The dialect of Cursor: flat answers in snake case, and generic and granular events for one call.
//!
//! Where no hook objects, the answer is an explicit allow, because an entry with `failClosed` treats an empty answer as
//! a failure.

use hookwright_hooks::{EventKind, HookCapability};
use serde_json::{Map, Value, json};

use crate::dialect::{HostDialect, HostEvent, HostResponse, HostVerdict, PayloadError, Ruling, VerdictDowngrade};
use crate::event_builder::{self, resolve_event_name};
use crate::host::{Host, HostEventInfo};
use crate::payload::{first_text, required_text, tool_arguments};

/// Reads Cursor's payloads and writes its answers.
pub(crate) struct CursorDialect;

impl HostDialect for CursorDialect {
    fn parse_event(
        &self,
        host: Host,
        payload: Map<String, Value>,
        expected_event: Option<&str>,
    ) -> Result<HostEvent, PayloadError> {
        let event = resolve_event_name(first_text(&payload, &["hook_event_name"]), expected_event)?;
        let row = host.event(&event);
        let mut host_event = event_builder::new_event(host, &event, row, &payload);
        match row.and_then(|row| row.kind) {
            Some(kind @ (EventKind::BeforeTool | EventKind::AfterTool)) => {
                let (name, input) = native_call(&event, &payload)?;
                let result = (kind == EventKind::AfterTool).then(|| tool_result(&payload));
                event_builder::add_call_views(&mut host_event, kind, name, input, result)?;
            }
            Some(kind) => {
                let fields = event_fields(kind, &payload)?;
                host_event.views.push(event_builder::event_view(kind, fields)?);
            }
            None if row.is_none() => event_builder::record_unknown_tool(&mut host_event, &payload),
            None => {}
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
            Some(row) if row.is_gate() => write_answer(row, &HostVerdict::deny(reason)),
            Some(_) => HostResponse { stdout: "{}".to_owned(), stderr: reason.to_owned(), ..HostResponse::default() },
            None => HostResponse { stderr: reason.to_owned(), exit_code: 2, ..HostResponse::default() },
        }
    }
}

/// Returns the tool call of an event, with the tool and argument names of the generic event.
fn native_call(event: &str, payload: &Map<String, Value>) -> Result<(String, Map<String, Value>), PayloadError> {
    let take = |keys: &[&str]| -> Map<String, Value> {
        keys.iter().filter_map(|key| Some(((*key).to_owned(), payload.get(*key)?.clone()))).collect()
    };
    Ok(match event {
        "beforeShellExecution" | "afterShellExecution" => {
            required_text(payload, &["command"])?;
            let mut input = take(&["command", "cwd"]);
            input.retain(|key, value| key != "cwd" || value.as_str().is_some_and(|cwd| !cwd.is_empty()));
            ("Shell".to_owned(), input)
        }
        "beforeReadFile" | "beforeTabFileRead" => {
            required_text(payload, &["file_path"])?;
            ("Read".to_owned(), take(&["file_path"]))
        }
        "afterFileEdit" | "afterTabFileEdit" => {
            required_text(payload, &["file_path"])?;
            ("MultiEdit".to_owned(), take(&["file_path", "edits"]))
        }
        "subagentStart" => ("Task".to_owned(), take(&["prompt", "task", "subagent_type"])),
        "beforeMCPExecution" | "afterMCPExecution" => {
            let name = required_text(payload, &["tool_name"])?;
            let name = if name.starts_with("MCP:") || name.starts_with("mcp__") { name } else { format!("MCP:{name}") };
            (name, tool_arguments(payload, &["tool_input"])?)
        }
        _ => (required_text(payload, &["tool_name"])?, tool_arguments(payload, &["tool_input"])?),
    })
}

fn tool_result(payload: &Map<String, Value>) -> Value {
    // Cursor sends the result as JSON inside a string.
    let output = ["tool_output", "result_json", "output"].iter().find_map(|name| payload.get(*name)).cloned();
    let output = output.map(|output| match output.as_str().map(serde_json::from_str::<Value>) {
        Some(Ok(inner)) => inner,
        _ => output,
    });
    event_builder::tool_response(output.as_ref(), first_text(payload, &["error_message", "error"]))
}

fn event_fields(kind: EventKind, payload: &Map<String, Value>) -> Result<Value, PayloadError> {
    let text_or = |names: &[&str], other: &str| first_text(payload, names).unwrap_or(other).to_owned();
    Ok(match kind {
        EventKind::BeforeAgent => json!({"prompt": required_text(payload, &["prompt"])?}),
        EventKind::AfterAgent => json!({
            "prompt": "",
            "prompt_response": text_or(&["text", "summary"], ""),
            "stop_hook_active": payload.get("loop_count").and_then(Value::as_u64).unwrap_or(0) > 0,
        }),
        EventKind::SessionStart => json!({"source": text_or(&["source"], "startup")}),
        EventKind::SessionEnd => json!({"reason": text_or(&["reason"], "other")}),
        _ => json!({"trigger": text_or(&["trigger"], "auto")}),
    })
}

fn write_answer(row: &HostEventInfo, verdict: &HostVerdict) -> HostResponse {
    let mut downgrades = verdict.downgrades.clone();
    let mut downgrade = |requested, applied| downgrades.push(VerdictDowngrade { requested, applied });
    let mut answer = match row.kind {
        Some(EventKind::BeforeTool) => write_permission(row, verdict, &mut downgrade),
        Some(EventKind::BeforeAgent) if verdict.ruling >= Ruling::Deny => {
            json!({"continue": false, "user_message": verdict.reason_or_default()})
        }
        Some(EventKind::BeforeAgent) => json!({"continue": true}),
        Some(EventKind::AfterAgent) if verdict.ruling == Ruling::Deny => {
            json!({"followup_message": verdict.reason_or_default()})
        }
        Some(EventKind::AfterTool) if verdict.ruling >= Ruling::Deny => {
            downgrade("hide the result", "context");
            match row.can(HookCapability::Context) {
                true => json!({"additional_context": verdict.reason_or_default()}),
                false => json!({}),
            }
        }
        _ => json!({}),
    };
    if let (Some(context), Some(answer)) = (&verdict.context, answer.as_object_mut()) {
        match row.can(HookCapability::Context) && !answer.contains_key("additional_context") {
            true => drop(answer.insert("additional_context".to_owned(), context.as_str().into())),
            false => downgrade("context", "nothing"),
        }
    }
    if verdict.message.is_some() {
        downgrade("message", "a line in the trace");
    }
    HostResponse { stdout: answer.to_string(), downgrades, ..HostResponse::default() }
}

fn write_permission(
    row: &HostEventInfo,
    verdict: &HostVerdict,
    downgrade: &mut impl FnMut(&'static str, &'static str),
) -> Value {
    let deny = |reason: &str| json!({"permission": "deny", "user_message": reason, "agent_message": reason});
    match (verdict.ruling, &verdict.input) {
        (Ruling::Pass, None) => json!({"permission": "allow"}),
        (Ruling::Pass, Some(input)) if row.can(HookCapability::RewriteInput) => {
            json!({"permission": "allow", "updated_input": input})
        }
        (Ruling::Pass, Some(_)) => {
            downgrade("rewrite", "deny");
            deny("a hook changes this call's arguments, which Cursor does not support here")
        }
        (Ruling::Ask, _) => {
            downgrade("ask", "deny");
            deny(&format!(
                "{} (the hook wants to ask you, which Cursor does not support here)",
                verdict.reason_or_default()
            ))
        }
        (Ruling::Deny, _) => deny(verdict.reason_or_default()),
        (Ruling::Stop, _) => {
            downgrade("stop", "deny");
            deny(verdict.reason_or_default())
        }
    }
}
