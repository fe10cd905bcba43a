//! The dialect of Claude Code and of the agents that follow it: Codex, Copilot (under PascalCase event names), Qwen,
//! Droid and Grok.
//!
//! The table in `host.rs` says what a hook can do at each host; this file says how the answer is written.

use std::borrow::Cow;

use hookwright_hooks::{EventKind, HookCapability};
use serde_json::{Map, Value, json};

use crate::dialect::{HostDialect, HostEvent, HostResponse, HostVerdict, PayloadError, Ruling, VerdictDowngrade};
use crate::event_builder::{self, NativeCall, resolve_event_name};
use crate::host::{COPILOT_EVENT_NAMES, Host, HostEventInfo};
use crate::payload::{first_text, required_text, tool_arguments};

/// Reads the payloads and writes the answers of Claude Code and the agents that follow its format.
pub(crate) struct ClaudeFamilyDialect;

impl HostDialect for ClaudeFamilyDialect {
    fn parse_event(
        &self,
        host: Host,
        payload: Map<String, Value>,
        expected_event: Option<&str>,
    ) -> Result<HostEvent, PayloadError> {
        let payload_event = first_text(&payload, &["hook_event_name", "hookEventName", "hookName"]).map(to_pascal_case);
        let expected_event = expected_event.map(to_pascal_case);
        let event = resolve_event_name(payload_event.as_deref(), expected_event.as_deref())?;
        let row = host.event(&event);
        let mut host_event = event_builder::new_event(host, &event, row, &payload);
        let Some(kind) = row.and_then(|row| row.kind) else {
            if row.is_none() {
                event_builder::record_unknown_tool(&mut host_event, &payload);
            }
            return Ok(host_event);
        };
        add_views(&mut host_event, kind, &payload)?;
        Ok(host_event)
    }

    fn write_response(&self, host_event: &HostEvent, verdict: &HostVerdict) -> HostResponse {
        let Some(row) = host_event.info else {
            return HostResponse { downgrades: verdict.downgrades.clone(), ..HostResponse::default() };
        };
        write_answer(host_event.host, row, verdict)
    }

    fn write_refusal(&self, host: Host, event: Option<&HostEventInfo>, reason: &str) -> HostResponse {
        match event {
            Some(row) if row.can(HookCapability::Deny) && row.kind != Some(EventKind::AfterAgent) => {
                write_answer(host, row, &HostVerdict::deny(reason))
            }
            Some(_) => HostResponse { stderr: reason.to_owned(), ..HostResponse::default() },
            None => block_by_exit_code(reason),
        }
    }
}

/// Converts an event's name to Claude Code's spelling: `preToolUse` and `pre_tool_use` become `PreToolUse`.
fn to_pascal_case(name: &str) -> Cow<'_, str> {
    if let Some((_, pascal)) = COPILOT_EVENT_NAMES.iter().find(|(camel, _)| *camel == name) {
        return Cow::Borrowed(pascal);
    }
    if !name.starts_with(|char: char| char.is_ascii_lowercase()) {
        return Cow::Borrowed(name);
    }
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    Cow::Owned(name.split('_').filter(|word| word.is_ascii() && !word.is_empty()).map(capital).collect())
}

const TOOL_NAME_KEYS: &[&str] = &["tool_name", "toolName"];
const TOOL_INPUT_KEYS: &[&str] = &["tool_input", "toolInput", "toolArgs"];
/// The keys under which VS Code sends several calls at once.
const CALL_BATCH_KEYS: [&str; 2] = ["toolCalls", "tool_calls"];
const TRUNCATION_KEYS: [&str; 2] = ["toolInputTruncated", "tool_input_truncated"];
const RESULT_KEYS: [&str; 4] = ["tool_response", "tool_result", "toolResult", "toolResponse"];

fn add_views(host_event: &mut HostEvent, kind: EventKind, payload: &Map<String, Value>) -> Result<(), PayloadError> {
    let text_or = |names: &[&str], other: &str| first_text(payload, names).unwrap_or(other).to_owned();
    let is_retry =
        ["stop_hook_active", "stopHookActive"].iter().any(|key| payload.get(*key) == Some(&Value::Bool(true)));
    let one = match kind {
        // A guard can't judge arguments that the host has cut off.
        EventKind::BeforeTool if TRUNCATION_KEYS.iter().any(|key| payload.get(*key) == Some(&Value::Bool(true))) => {
            return Err(PayloadError::Truncated);
        }
        EventKind::BeforeTool if CALL_BATCH_KEYS.iter().any(|key| payload.contains_key(*key)) => {
            return event_builder::add_batch_views(host_event, kind, batched_calls(payload)?);
        }
        EventKind::BeforeTool | EventKind::AfterTool => {
            let (name, input) = (required_text(payload, TOOL_NAME_KEYS)?, tool_arguments(payload, TOOL_INPUT_KEYS)?);
            let response = (kind == EventKind::AfterTool).then(|| {
                let error =
                    payload.get("error").map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned));
                event_builder::tool_response(RESULT_KEYS.iter().find_map(|name| payload.get(*name)), error.as_deref())
            });
            return event_builder::add_call_views(host_event, kind, name, input, response);
        }
        EventKind::BeforeAgent => json!({"prompt": required_text(payload, &["prompt"])?}),
        EventKind::AfterAgent => json!({
            "prompt": text_or(&["prompt"], ""),
            "prompt_response": text_or(&["last_assistant_message", "lastAssistantMessage", "response"], ""),
            "stop_hook_active": is_retry,
        }),
        EventKind::SessionStart => json!({"source": match text_or(&["source"], "startup").as_str() {
            "new" => "startup",
            other => other,
        }}),
        EventKind::SessionEnd => json!({"reason": text_or(&["reason"], "other")}),
        EventKind::PreCompress => json!({"trigger": text_or(&["trigger"], "auto")}),
        EventKind::Notification => return add_notification_views(host_event, payload),
        EventKind::BeforeModel | EventKind::BeforeToolSelection | EventKind::AfterModel => return Ok(()),
    };
    host_event.views.push(event_builder::event_view(kind, one)?);
    Ok(())
}

/// Returns every call of a payload with a batch, and the one that it names outside of the batch.
fn batched_calls(payload: &Map<String, Value>) -> Result<Vec<NativeCall>, PayloadError> {
    const NAME_KEYS: &[&str] = &["name", "toolName", "tool_name"];
    const INPUT_KEYS: &[&str] = &["args", "arguments", "input", "toolArgs", "toolInput", "tool_input"];
    let mut calls = Vec::new();
    if TOOL_NAME_KEYS.iter().any(|key| payload.contains_key(*key)) {
        calls.push((required_text(payload, TOOL_NAME_KEYS)?, tool_arguments(payload, TOOL_INPUT_KEYS)?));
    }
    for (field, batch) in CALL_BATCH_KEYS.iter().filter_map(|key| Some((*key, payload.get(*key)?))) {
        let wrong = |found: &Value| PayloadError::WrongType {
            field,
            wanted: "a list of objects",
            found: crate::payload::json_type_name(found),
        };
        for call in batch.as_array().ok_or_else(|| wrong(batch))? {
            let call = call.as_object().ok_or_else(|| wrong(call))?;
            calls.push((required_text(call, NAME_KEYS)?, tool_arguments(call, INPUT_KEYS)?));
        }
    }
    if calls.is_empty() { Err(PayloadError::Missing("tool_name")) } else { Ok(calls) }
}

/// Adds the views of a permission request or of another notification.
fn add_notification_views(host_event: &mut HostEvent, payload: &Map<String, Value>) -> Result<(), PayloadError> {
    let kind = match first_text(payload, &["notification_type", "notificationType"]) {
        Some("permission_prompt") => "ToolPermission",
        Some(other) => other,
        None => "ToolPermission",
    };
    let message = first_text(payload, &["message", "title"]).unwrap_or_default();
    let mut details =
        json!({"type": "info", "title": first_text(payload, &["title"]).unwrap_or(message), "prompt": message});
    if let Some(name) = first_text(payload, TOOL_NAME_KEYS) {
        let input = tool_arguments(payload, TOOL_INPUT_KEYS)?;
        event_builder::add_call_views(host_event, EventKind::BeforeTool, name.to_owned(), input.clone(), None)?;
        match host_event.info.is_some_and(|row| row.can(HookCapability::Deny)) {
            true => host_event.views.iter_mut().for_each(|view| view.is_recheck = true),
            false => host_event.views.clear(),
        }
        details = json!({"type": "info", "title": name, "prompt": message, "tool_name": name, "tool_input": input});
    }
    let fields = json!({"notification_type": kind, "message": message, "details": details});
    host_event.views.push(event_builder::event_view(EventKind::Notification, fields)?);
    Ok(())
}

/// Collects the parts of one answer.
#[derive(Default)]
struct ClaudeAnswerBuilder {
    top_level: Map<String, Value>,
    hook_specific: Map<String, Value>,
    downgrades: Vec<VerdictDowngrade>,
    exit_code: u8,
    stderr: String,
}

impl ClaudeAnswerBuilder {
    fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.top_level.insert(key.to_owned(), value.into());
    }

    fn set_specific(&mut self, key: &str, value: impl Into<Value>) {
        self.hook_specific.insert(key.to_owned(), value.into());
    }

    fn record_downgrade(&mut self, requested: &'static str, applied: &'static str) {
        self.downgrades.push(VerdictDowngrade { requested, applied });
    }

    /// Adds context for the model.
    ///
    /// Copilot reads it at the top level; other agents that load Copilot's settings read it in `hookSpecificOutput`.
    fn add_context(&mut self, host: Host, context: &str) {
        self.set_specific("additionalContext", context);
        if host == Host::Copilot {
            self.set("additionalContext", context);
        }
    }

    fn block(&mut self, reason: &str) {
        self.set("decision", "block");
        self.set("reason", reason);
    }

    fn stop(&mut self, reason: &str) {
        self.set("continue", false);
        self.set("stopReason", reason);
    }

    fn build(self, row: &HostEventInfo) -> HostResponse {
        let ClaudeAnswerBuilder { top_level: mut top, hook_specific: specific, downgrades, exit_code, stderr } = self;
        if !specific.is_empty() {
            let mut whole = Map::from_iter([("hookEventName".to_owned(), Value::from(row.name))]);
            whole.extend(specific);
            top.insert("hookSpecificOutput".to_owned(), whole.into());
        }
        let stdout = if top.is_empty() { String::new() } else { Value::Object(top).to_string() };
        HostResponse { stdout, stderr, exit_code, downgrades }
    }
}

/// Refuses with exit code 2 and the reason on stderr, which every agent of this family treats as a denial of any event.
fn block_by_exit_code(reason: &str) -> HostResponse {
    HostResponse { stderr: reason.to_owned(), exit_code: 2, ..HostResponse::default() }
}

fn write_answer(host: Host, row: &HostEventInfo, verdict: &HostVerdict) -> HostResponse {
    let mut answer = ClaudeAnswerBuilder { downgrades: verdict.downgrades.clone(), ..ClaudeAnswerBuilder::default() };
    match row.kind {
        Some(EventKind::BeforeTool) => write_before_tool(host, row, verdict, &mut answer),
        Some(EventKind::Notification) => write_permission(host, row, verdict, &mut answer),
        Some(EventKind::AfterAgent) => write_after_agent(host, row, verdict, &mut answer),
        Some(EventKind::AfterTool) => write_after_tool(host, row, verdict, &mut answer),
        Some(EventKind::BeforeAgent) => write_before_agent(host, row, verdict, &mut answer),
        _ => {}
    }
    if let Some(context) = &verdict.context {
        match row.can(HookCapability::Context) {
            // Codex accepts no other field in an answer that blocks.
            true if host != Host::Codex || answer.top_level.is_empty() => answer.add_context(host, context),
            _ => answer.record_downgrade("context", "nothing"),
        }
    }
    if let Some(message) = &verdict.message {
        match host {
            Host::ClaudeCode | Host::Qwen | Host::Droid | Host::Copilot => {
                answer.set("systemMessage", message.as_str())
            }
            _ => answer.record_downgrade("message", "a line in the trace"),
        }
    }
    answer.build(row)
}

fn write_before_tool(host: Host, row: &HostEventInfo, verdict: &HostVerdict, answer: &mut ClaudeAnswerBuilder) {
    let ruling = match verdict.ruling {
        Ruling::Pass if verdict.input.is_some() && !row.can(HookCapability::RewriteInput) => {
            answer.record_downgrade("rewrite", "deny");
            let title = host.title();
            let reason = format!("a hook changes this call's arguments, which {title} does not support here");
            return write_deny(host, &reason, answer);
        }
        // The user would have to be asked about the changed call, which the host would not run.
        Ruling::Ask if verdict.input.is_some() && !row.can(HookCapability::RewriteInput) => {
            answer.record_downgrade("rewrite", "deny");
            Ruling::Deny
        }
        ruling => ruling,
    };
    match ruling {
        Ruling::Pass => {
            if let Some(input) = &verdict.input {
                // Codex takes changed arguments only together with an allow; for other hosts an allow would grant more
                // than hooks did.
                if host == Host::Codex {
                    answer.set_specific("permissionDecision", "allow");
                } else if !verdict.approved_by.is_empty() {
                    write_approval(host, &verdict.approved_by, answer);
                }
                answer.set_specific("updatedInput", input.clone());
            } else if !verdict.approved_by.is_empty() && row.can(HookCapability::Approve) {
                write_approval(host, &verdict.approved_by, answer);
            }
        }
        Ruling::Ask if row.can(HookCapability::Ask) => {
            answer.set_specific("permissionDecision", "ask");
            answer.set_specific("permissionDecisionReason", verdict.reason_or_default());
            if let Some(input) = &verdict.input {
                answer.set_specific("updatedInput", input.clone());
            }
        }
        Ruling::Ask => {
            answer.record_downgrade("ask", "deny");
            let reason = format!(
                "{} (the hook wants to ask you, which {} does not support)",
                verdict.reason_or_default(),
                host.title()
            );
            write_deny(host, &reason, answer);
        }
        Ruling::Deny => write_deny(host, verdict.reason_or_default(), answer),
        Ruling::Stop => {
            write_deny(host, verdict.reason_or_default(), answer);
            match row.can(HookCapability::Stop) {
                true => answer.stop(verdict.reason_or_default()),
                false => answer.record_downgrade("stop", "deny"),
            }
        }
    }
}

fn write_approval(host: Host, rules: &[String], answer: &mut ClaudeAnswerBuilder) {
    let reason = format!("approved by the rule {}", rules.join(", "));
    answer.set_specific("permissionDecision", "allow");
    answer.set_specific("permissionDecisionReason", reason.as_str());
    // Under its camelCase event names Copilot reads these fields.
    if host == Host::Copilot {
        answer.set("permissionDecision", "allow");
        answer.set("permissionDecisionReason", reason.as_str());
    }
}

fn write_deny(host: Host, reason: &str, answer: &mut ClaudeAnswerBuilder) {
    match host {
        Host::Grok => {
            answer.set("decision", "deny");
            answer.set("reason", reason);
            answer.exit_code = 2;
            answer.stderr = reason.to_owned();
        }
        _ => {
            answer.set_specific("permissionDecision", "deny");
            answer.set_specific("permissionDecisionReason", reason);
        }
    }
    // Under its camelCase event names Copilot reads these fields.
    if host == Host::Copilot {
        answer.set("permissionDecision", "deny");
        answer.set("permissionDecisionReason", reason);
    }
}

fn write_permission(host: Host, row: &HostEventInfo, verdict: &HostVerdict, answer: &mut ClaudeAnswerBuilder) {
    if verdict.ruling == Ruling::Pass {
        return;
    }
    if !row.can(HookCapability::Deny) {
        return answer.record_downgrade(verdict.ruling.as_str(), "nothing");
    }
    answer.set_specific("decision", json!({"behavior": "deny", "message": verdict.reason_or_default()}));
    if host == Host::Copilot {
        answer.set("behavior", "deny");
        answer.set("message", verdict.reason_or_default());
    }
}

fn write_after_tool(host: Host, row: &HostEventInfo, verdict: &HostVerdict, answer: &mut ClaudeAnswerBuilder) {
    match verdict.ruling {
        Ruling::Pass | Ruling::Ask => {}
        Ruling::Stop if row.can(HookCapability::Stop) => answer.stop(verdict.reason_or_default()),
        ruling => {
            if ruling == Ruling::Stop {
                answer.record_downgrade("stop", "deny");
            }
            match row.can(HookCapability::Deny) {
                true => {
                    answer.block(verdict.reason_or_default());
                    if host == Host::ClaudeCode {
                        answer.set_specific("updatedToolOutput", verdict.reason_or_default());
                    }
                }
                // The host can't hide the result, so the model at least reads the reason.
                false => {
                    answer.record_downgrade("hide the result", "context");
                    if row.can(HookCapability::Context) && verdict.context.is_none() {
                        answer.add_context(host, verdict.reason_or_default());
                    }
                }
            }
        }
    }
}

fn write_before_agent(host: Host, row: &HostEventInfo, verdict: &HostVerdict, answer: &mut ClaudeAnswerBuilder) {
    if verdict.ruling < Ruling::Deny {
        return;
    }
    if !row.can(HookCapability::Deny) {
        answer.record_downgrade(verdict.ruling.as_str(), "nothing");
    }
    answer.block(verdict.reason_or_default());
    match verdict.ruling {
        Ruling::Stop if row.can(HookCapability::Stop) => answer.stop(verdict.reason_or_default()),
        Ruling::Stop => answer.record_downgrade("stop", "deny"),
        _ => {}
    }
    set_exit_code(host, verdict, answer);
}

fn write_after_agent(host: Host, row: &HostEventInfo, verdict: &HostVerdict, answer: &mut ClaudeAnswerBuilder) {
    match verdict.ruling {
        Ruling::Pass | Ruling::Ask => {}
        Ruling::Deny if row.can(HookCapability::Deny) => {
            answer.block(verdict.reason_or_default());
            set_exit_code(host, verdict, answer);
        }
        Ruling::Deny => answer.record_downgrade("another try", "nothing"),
        // A host that can't be told to stop ends the turn here anyway.
        Ruling::Stop if row.can(HookCapability::Stop) => answer.stop(verdict.reason_or_default()),
        Ruling::Stop => {}
    }
}

/// Sets exit code 2 as well for the hosts that are known to overlook a block in JSON.
fn set_exit_code(host: Host, verdict: &HostVerdict, answer: &mut ClaudeAnswerBuilder) {
    if matches!(host, Host::Droid | Host::Grok) {
        answer.exit_code = 2;
        answer.stderr = verdict.reason_or_default().to_owned();
    }
}
