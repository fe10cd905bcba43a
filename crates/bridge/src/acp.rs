//! The dialect of the Agent Client Protocol: messages between an editor and an agent, which `hookwright acp guard`
//! judges.
//!
//! An event is `{hook_event_name, session_id, cwd, …}` with the message's method as its name, and for a call
//! `tool_name` and `tool_input`; `vocabulary` is the agent whose names those are, if they are an agent's own. The answer is
//! `{ruling, reason?, input?, context?, message?, is_approved?, is_harmless?}`.

use hookwright_hooks::{EventKind, HookCapability};
use serde_json::{Map, Value, json};

use crate::dialect::{
    ArgumentWriteBack, HostDialect, HostEvent, HostResponse, HostVerdict, PayloadError, Ruling, ToolRecognition,
    VerdictDowngrade,
};
use crate::event_builder::{self, NativeCall, resolve_event_name};
use crate::host::{Host, HostEventInfo};
use crate::payload::{first_text, required_text, tool_arguments};

/// Reads the events that the guard makes of messages, and writes its verdicts.
pub(crate) struct AcpDialect;

impl HostDialect for AcpDialect {
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
            Some(EventKind::BeforeAgent) => {
                let prompt = json!({"prompt": required_text(&payload, &["prompt"])?});
                host_event.views.push(event_builder::event_view(EventKind::BeforeAgent, prompt)?);
            }
            Some(kind) => {
                let vocabulary = first_text(&payload, &["vocabulary"]).and_then(Host::from_name);
                add_calls(&mut host_event, kind, vocabulary, &payload)?;
            }
            None => {}
        }
        Ok(host_event)
    }

    fn write_response(&self, host_event: &HostEvent, verdict: &HostVerdict) -> HostResponse {
        let can = |power| host_event.info.is_some_and(|row| row.can(power));
        let mut downgrades = verdict.downgrades.clone();
        let ruling = match verdict.ruling {
            Ruling::Ask if !can(HookCapability::Ask) => Ruling::Deny,
            Ruling::Stop if !can(HookCapability::Stop) => Ruling::Deny,
            ruling => ruling,
        };
        let applied = if ruling >= Ruling::Deny && !can(HookCapability::Deny) { "nothing" } else { ruling.as_str() };
        if verdict.ruling != Ruling::Pass && applied != verdict.ruling.as_str() {
            downgrades.push(VerdictDowngrade { requested: verdict.ruling.as_str(), applied });
        }
        let mut answer = Map::new();
        answer.insert("ruling".to_owned(), ruling.as_str().into());
        if ruling != Ruling::Pass {
            answer.insert("reason".to_owned(), verdict.reason_or_default().into());
        }
        if ruling < Ruling::Deny {
            answer.extend(verdict.input.clone().map(|input| ("input".to_owned(), input.into())));
        }
        let texts = [("context", &verdict.context), ("message", &verdict.message)];
        answer.extend(texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text.clone()?.into()))));
        if verdict.context.is_some() && !can(HookCapability::Context) {
            answer.shift_remove("context");
            downgrades.push(VerdictDowngrade { requested: "context", applied: "nothing" });
        }
        let is_harmless = host_event.tool.as_ref().is_some_and(|tool| tool.recognition == ToolRecognition::Harmless);
        answer.extend(
            [("is_approved", !verdict.approved_by.is_empty()), ("is_harmless", is_harmless)]
                .map(|(name, is_so)| (name.to_owned(), is_so.into())),
        );
        HostResponse { stdout: Value::Object(answer).to_string(), downgrades, ..HostResponse::default() }
    }

    fn write_refusal(&self, _: Host, _: Option<&HostEventInfo>, reason: &str) -> HostResponse {
        HostResponse { stdout: json!({"ruling": "deny", "reason": reason}).to_string(), ..HostResponse::default() }
    }
}

/// Adds the views of a request, or of the calls that a permission request is about.
fn add_calls(
    host_event: &mut HostEvent,
    kind: EventKind,
    vocabulary: Option<Host>,
    payload: &Map<String, Value>,
) -> Result<(), PayloadError> {
    let name = required_text(payload, &["tool_name"])?;
    if kind == EventKind::AfterTool {
        let response = event_builder::tool_response(payload.get("tool_response"), first_text(payload, &["error"]));
        return event_builder::add_call_views(
            host_event,
            kind,
            name,
            tool_arguments(payload, &["tool_input"])?,
            Some(response),
        );
    }
    let inputs = match payload.get("tool_inputs").and_then(Value::as_array) {
        Some(inputs) => inputs.iter().filter_map(Value::as_object).cloned().collect(),
        None => vec![tool_arguments(payload, &["tool_input"])?],
    };
    let calls: Vec<NativeCall> = inputs.into_iter().map(|input| (name.clone(), input)).collect();
    if calls.is_empty() {
        return Err(PayloadError::Missing("tool_inputs"));
    }
    let host = host_event.host;
    host_event.host = vocabulary.unwrap_or(host);
    let added = event_builder::add_batch_views(host_event, kind, calls);
    host_event.host = host;
    if !host_event.info.is_some_and(|row| row.can(HookCapability::RewriteInput)) {
        for view in &mut host_event.views {
            view.write_back = ArgumentWriteBack::Impossible("an answer to it can't change the call");
        }
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(payload: Value) -> HostEvent {
        let Value::Object(payload) = payload else { panic!("{payload}") };
        AcpDialect.parse_event(Host::Acp, payload, None).unwrap()
    }

    fn view(event: &HostEvent, at: usize) -> Map<String, Value> {
        event.views[at].event.fields()
    }

    #[test]
    fn requests_are_calls_of_hookwrights_tools() {
        let write = parse(json!({"hook_event_name": "fs/write_text_file", "session_id": "s",
            "tool_name": "fs/write_text_file", "tool_input": {"path": "/p/a", "content": "x"}}));
        assert_eq!(view(&write, 0)["tool_name"], "write_file");
        assert_eq!(view(&write, 0)["tool_input"]["file_path"], "/p/a");
        assert_eq!(write.tool.unwrap().recognition, ToolRecognition::Known);
        let more = parse(json!({"hook_event_name": "fs/write_text_file", "session_id": "s",
            "tool_name": "fs/write_text_file", "tool_input": {"path": "/p/a", "content": "x", "target": "/p/b"}}));
        assert_eq!(more.tool.unwrap().recognition, ToolRecognition::UnknownArguments);
        let command = parse(json!({"hook_event_name": "terminal/create", "session_id": "s",
            "tool_name": "terminal/create", "tool_input": {"command": "ls", "cwd": "/p"}}));
        assert_eq!(view(&command, 0)["tool_input"]["dir_path"], "/p");
    }

    #[test]
    fn a_permission_request_is_read_in_the_agents_own_words() {
        let bash = json!({"hook_event_name": "session/request_permission", "session_id": "s", "tool_name": "Bash",
            "tool_input": {"command": "ls", "description": "list"}, "vocabulary": "claude-code"});
        let bash = parse(bash);
        assert_eq!(view(&bash, 0)["tool_name"], "run_shell_command");
        assert!(matches!(bash.views[0].write_back, ArgumentWriteBack::Impossible(_)));
        let edits = json!({"hook_event_name": "session/request_permission", "session_id": "s", "tool_name": "edit",
            "tool_inputs": [{"path": "/p/a", "content": "1"}, {"path": "/p/b", "content": "2"}]});
        let edits = parse(edits);
        assert_eq!((edits.views.len(), &view(&edits, 1)["tool_input"]["file_path"]), (2, &json!("/p/b")));
        let other = json!({"hook_event_name": "session/request_permission", "session_id": "s", "tool_name": "Do it",
            "tool_input": {}});
        assert_eq!(parse(other).tool.unwrap().recognition, ToolRecognition::Unknown);
    }

    #[test]
    fn what_the_message_cannot_express_becomes_a_denial_or_nothing() {
        let prompt = parse(json!({"hook_event_name": "session/prompt", "session_id": "s", "prompt": "go"}));
        let ask = HostVerdict { ruling: Ruling::Ask, ..HostVerdict::default() };
        let written: Value = serde_json::from_str(&AcpDialect.write_response(&prompt, &ask).stdout).unwrap();
        assert_eq!(written["ruling"], "deny");
        let reported = parse(json!({"hook_event_name": "session/update", "session_id": "s", "tool_name": "think",
            "tool_input": {}}));
        let written = AcpDialect.write_response(&reported, &HostVerdict::deny("no"));
        assert_eq!(written.downgrades, [VerdictDowngrade { requested: "deny", applied: "nothing" }]);
        let written: Value = serde_json::from_str(&written.stdout).unwrap();
        assert_eq!((&written["reason"], &written["is_harmless"]), (&json!("no"), &json!(true)));
    }
}
