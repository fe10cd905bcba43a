//! Verdicts of the journal as OpenTelemetry log records: the same names as those of a running session.

use std::time::SystemTime;

use hookwright_journal::JournalLine;

use super::wire::{OtlpSignal, log_json, resource_json};
use crate::telemetry::names;
use crate::telemetry::record::{FieldValue, TelemetryFields, TelemetryRecord};

/// Returns the log record of an event on record, as JSON; `None` for other lines.
pub(crate) fn verdict_log(line: &JournalLine) -> Option<String> {
    let event = line.event()?;
    let time: jiff::Timestamp = line.time.parse().ok()?;
    let name = if event.event.is_empty() { event.host_event.as_deref().unwrap_or_default() } else { &event.event };
    let tool = event.tool.as_ref().or(event.host_tool.as_ref());
    let guards = event.hooks.iter().filter(|hook| hook.guard);
    let by_guard = guards.clone().any(|hook| event.decided_by.contains(&hook.hook));
    let reason = line.content.as_ref().and_then(|content| content["reason"].as_str());
    let mut fields: TelemetryFields<'_> = vec![
        (names::VERDICT_DECISION, event.verdict.as_str().into()),
        (names::VERDICT_HOOKS, FieldValue::Texts(event.decided_by.iter().map(|hook| hook.as_str().into()).collect())),
        (names::VERDICT_BY_GUARD, FieldValue::Flag(by_guard)),
        (names::VERDICT_GUARDS, FieldValue::from(guards.count() as u64)),
        (names::EVENT_ID, line.seq.to_string().into()),
        (names::EVENT_NAME, name.into()),
        (names::CONVERSATION_ID, event.session.as_str().into()),
        (names::AGENT_NAME, event.agent.as_str().into()),
    ];
    let optional = [
        (names::TURN_ID, event.turn.as_deref()),
        (names::AGENT_ID, event.subagent.as_deref()),
        (names::TOOL_NAME, tool.map(String::as_str)),
        (names::TOOL_CALL_ID, event.call.as_deref()),
        (names::VERDICT_REASON, reason),
    ];
    fields.extend(optional.into_iter().filter_map(|(name, text)| Some((name, text?.into()))));
    let about = tool.map(|tool| format!(" of {tool}")).unwrap_or_default();
    let body = format!("Verdict {} on {name}{about}", event.verdict.as_str());
    let record = TelemetryRecord { name: names::VERDICT, body, fields };
    Some(log_json(&Vec::new(), &record, None, SystemTime::from(time)))
}

/// Returns the body of a request with these log records.
pub(crate) fn logs_body(resource: &[(String, String)], items: &[String]) -> String {
    OtlpSignal::Logs.body(&resource_json(resource, ""), items)
}
