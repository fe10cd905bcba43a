//! The dialect of opencode, which has no command hooks: a generated plugin calls the bridge and applies its answer.
//!
//! The answer is `{decision: "allow" | "deny", reason?, args?, context?, message?, stop?}`, always with a decision; the
//! plugin treats anything else as a denial.

use hookwright_hooks::{EventKind, HookCapability};
use serde_json::{Map, Value, json};

use crate::dialect::{HostDialect, HostEvent, HostResponse, HostVerdict, PayloadError, Ruling, VerdictDowngrade};
use crate::event_builder::{self, resolve_event_name};
use crate::host::{Host, HostEventInfo};
use crate::payload::{first_text, required_text, tool_arguments};

/// Reads the payloads of the generated plugin and writes its answers.
pub(crate) struct OpencodeDialect;

impl HostDialect for OpencodeDialect {
    fn parse_event(
        &self,
        host: Host,
        payload: Map<String, Value>,
        expected_event: Option<&str>,
    ) -> Result<HostEvent, PayloadError> {
        let event = resolve_event_name(first_text(&payload, &["hook_event_name"]), expected_event)?;
        let row = host.event(&event);
        let mut host_event = event_builder::new_event(host, &event, row, &payload);
        let fields = match row.and_then(|row| row.kind) {
            Some(kind @ (EventKind::BeforeTool | EventKind::AfterTool)) => {
                let (name, input) =
                    (required_text(&payload, &["tool_name"])?, tool_arguments(&payload, &["tool_input"])?);
                let result = (kind == EventKind::AfterTool).then(|| {
                    event_builder::tool_response(payload.get("tool_response"), first_text(&payload, &["error"]))
                });
                event_builder::add_call_views(&mut host_event, kind, name, input, result)?;
                return Ok(host_event);
            }
            Some(EventKind::BeforeAgent) => json!({"prompt": required_text(&payload, &["prompt"])?}),
            Some(EventKind::AfterAgent) => json!({
                "prompt": "",
                "prompt_response": first_text(&payload, &["prompt_response"]).unwrap_or_default(),
            }),
            Some(EventKind::SessionStart) => json!({"source": "startup"}),
            Some(EventKind::PreCompress) => json!({"trigger": "auto"}),
            _ => {
                if row.is_none() {
                    event_builder::record_unknown_tool(&mut host_event, &payload);
                }
                return Ok(host_event);
            }
        };
        if let Some(kind) = row.and_then(|row| row.kind) {
            host_event.views.push(event_builder::event_view(kind, fields)?);
        }
        Ok(host_event)
    }

    fn write_response(&self, host_event: &HostEvent, verdict: &HostVerdict) -> HostResponse {
        let mut downgrades = verdict.downgrades.clone();
        let mut downgrade = |requested, applied| downgrades.push(VerdictDowngrade { requested, applied });
        let can = |power| host_event.info.is_some_and(|row| row.can(power));
        let mut answer = Map::new();
        let is_no = match verdict.ruling {
            Ruling::Pass => false,
            Ruling::Ask => {
                downgrade("ask", "deny");
                true
            }
            Ruling::Deny | Ruling::Stop => true,
        };
        if verdict.ruling == Ruling::Stop && !can(HookCapability::Stop) {
            downgrade("stop", "deny");
        }
        if is_no && !can(HookCapability::Deny) {
            downgrade(verdict.ruling.as_str(), "nothing");
        }
        answer.insert("decision".to_owned(), if is_no { "deny" } else { "allow" }.into());
        if is_no {
            answer.insert("reason".to_owned(), verdict.reason_or_default().into());
            if verdict.ruling == Ruling::Stop && can(HookCapability::Stop) {
                answer.insert("stop".to_owned(), true.into());
            }
        } else if let Some(input) = &verdict.input {
            answer.insert("args".to_owned(), input.clone().into());
        }
        if let Some(context) = &verdict.context {
            match can(HookCapability::Context) {
                true => drop(answer.insert("context".to_owned(), context.clone().into())),
                false => downgrade("context", "nothing"),
            }
        }
        answer.extend(verdict.message.clone().map(|message| ("message".to_owned(), message.into())));
        HostResponse { stdout: Value::Object(answer).to_string(), downgrades, ..HostResponse::default() }
    }

    fn write_refusal(&self, _: Host, _: Option<&HostEventInfo>, reason: &str) -> HostResponse {
        HostResponse { stdout: json!({"decision": "deny", "reason": reason}).to_string(), ..HostResponse::default() }
    }
}
