use super::*;
use crate::event::input::{
    AfterAgent, AfterTool, BeforeAgent, BeforeTool, Event, Notification, RequestedBy, Session, SessionEnd,
};
use crate::running::observer::{RunContext, SubAgent};
use std::borrow::Cow;

fn session() -> Session {
    Session { id: "s1".into(), cwd: "/p".into(), transcript_path: "/t".into(), ..Session::default() }
}

fn claude_views<E: Event>(event: &E, context: &RunContext) -> Vec<Value> {
    let input = HookInput::encode(event, None, &session(), context).unwrap();
    let shown = ClaudeInput::translate(E::KIND, None, &input).unwrap();
    shown.views.iter().map(|view| without_timestamp(serde_json::from_str(&view.to_json()).unwrap())).collect()
}

fn without_timestamp(mut value: Value) -> Value {
    value.as_object_mut().unwrap().remove("timestamp");
    value
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn call<'a>(tool: &'a str, input: &'a Map<String, Value>) -> BeforeTool<'a> {
    BeforeTool {
        tool_name: tool.into(),
        tool_input: Cow::Borrowed(input),
        mcp_context: None,
        original_request_name: None,
        tool_use_id: Some("c1".into()),
        requested_by: RequestedBy::Model,
    }
}

/// The expected payload has the keys and values of a payload recorded from Claude Code.
#[test]
fn a_tool_call_has_the_fields_of_claude_code() {
    let input = object(json!({"command": "rm -rf /", "dir_path": "sub"}));
    let context = RunContext { turn_id: Some("t1".into()), ..RunContext::default() };
    assert_eq!(
        claude_views(&call("run_shell_command", &input), &context),
        [json!({
            "session_id": "s1", "transcript_path": "/t", "cwd": "/p/sub", "hook_event_name": "PreToolUse",
            "prompt_id": "t1", "tool_name": "Bash", "tool_input": {"command": "rm -rf /"}, "tool_use_id": "c1",
            "requested_by": "model",
        })]
    );
}

#[test]
fn one_call_may_have_several_views() {
    let input = object(json!({"include": ["a", ".env"]}));
    let views = claude_views(&call("read_many_files", &input), &RunContext::default());
    let paths: Vec<_> = views.iter().map(|one| one["tool_input"]["file_path"].clone()).collect();
    assert_eq!(paths, ["/p/a", "/p/.env"]);
}

#[test]
fn results_have_the_fields_of_claude_code() {
    let input = object(json!({"command": "ls"}));
    let event = AfterTool {
        tool_name: "run_shell_command".into(),
        tool_input: Cow::Borrowed(&input),
        tool_response: Cow::Owned(json!({"llmContent": [{"text": "out"}], "returnDisplay": "out"})),
        mcp_context: None,
        original_request_name: None,
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    };
    let view = claude_views(&event, &RunContext::default()).remove(0);
    assert_eq!(view["hook_event_name"], "PostToolUse");
    assert_eq!(
        (&view["tool_response"]["stdout"], &view["tool_response"]["interrupted"]),
        (&json!("out"), &json!(false))
    );
}

#[test]
fn the_end_of_a_turn_is_stop_or_subagent_stop() {
    let event = AfterAgent { prompt: "p".into(), prompt_response: "done".into(), stop_hook_active: true };
    let own = claude_views(&event, &RunContext::default()).remove(0);
    assert_eq!(
        (&own["hook_event_name"], &own["stop_hook_active"], &own["last_assistant_message"]),
        (&json!("Stop"), &json!(true), &json!("done"))
    );
    let agent = SubAgent { name: "scout".into(), id: "scout-1".into(), transcript_path: "/t/scout".into() };
    let inside = claude_views(&event, &RunContext { agent: Some(agent.into()), ..RunContext::default() }).remove(0);
    assert_eq!((&inside["hook_event_name"], &inside["agent_type"]), (&json!("SubagentStop"), &json!("scout")));
}

#[test]
fn other_events_are_translated() {
    let prompt =
        claude_views(&BeforeAgent { prompt: "hi".into(), attachments: Vec::new() }, &RunContext::default()).remove(0);
    assert_eq!((&prompt["hook_event_name"], &prompt["prompt"]), (&json!("UserPromptSubmit"), &json!("hi")));
    let end = claude_views(&SessionEnd { reason: "exit".into() }, &RunContext::default()).remove(0);
    assert_eq!((&end["hook_event_name"], &end["reason"]), (&json!("SessionEnd"), &json!("other")));
    let notification = Notification {
        notification_type: "ToolPermission".into(),
        message: "m".into(),
        details: Cow::Owned(Value::Null),
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    };
    assert_eq!(claude_views(&notification, &RunContext::default())[0]["notification_type"], "permission_prompt");
}

#[test]
fn approval_modes_are_translated() {
    let event = BeforeAgent { prompt: "hi".into(), attachments: Vec::new() };
    for (ours, theirs) in
        [("default", "default"), ("auto_edit", "acceptEdits"), ("yolo", "bypassPermissions"), ("plan", "plan")]
    {
        let context = RunContext { approval_mode: Some(ours.into()), ..RunContext::default() };
        let view = claude_views(&event, &context).remove(0);
        assert_eq!((&view["permission_mode"], view.get("approval_mode")), (&json!(theirs), None));
        assert_eq!((permission_mode(ours), approval_mode(theirs)), (theirs, ours));
    }
    assert_eq!(claude_views(&event, &RunContext::default())[0].get("permission_mode"), None, "nobody knows");
    assert_eq!((permission_mode("dontAsk"), approval_mode("dontAsk")), ("dontAsk", "dontAsk"));
}

#[test]
fn a_failed_call_has_an_event_of_its_own() {
    let input = object(json!({"command": "false"}));
    let response = json!({"llmContent": "no", "error": {"message": "exit 1", "type": "execution_failed"}});
    let event = AfterTool {
        tool_name: "run_shell_command".into(),
        tool_input: Cow::Borrowed(&input),
        tool_response: Cow::Owned(response),
        mcp_context: None,
        original_request_name: None,
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    };
    assert_eq!(event.call_status(), Some(CallStatus::Failed));
    let view = |after| {
        let input = HookInput::encode(&event, None, &session(), &RunContext::default()).unwrap();
        let shown = ClaudeInput::translate(EventKind::AfterTool, after, &input).unwrap();
        serde_json::from_str::<Value>(&shown.views[0].to_json()).unwrap()
    };
    let failed = view(Some(CallStatus::Failed));
    assert_eq!(
        (&failed["hook_event_name"], &failed["error"], &failed["tool_name"]),
        (&json!("PostToolUseFailure"), &json!("exit 1"), &json!("Bash"))
    );
    let any = view(None);
    assert_eq!((&any["hook_event_name"], any.get("error")), (&json!("PostToolUse"), None));
}

#[test]
fn event_names_round_trip() {
    for kind in EventKind::all() {
        for scope in [AgentScope::Session, AgentScope::SubAgent] {
            let Some(name) = event_name(kind, scope) else { continue };
            assert_eq!(event_by_name(name).map(|moment| moment.kind), Some(kind));
            assert!(
                EventKind::from_name(name) == Some(kind) || EventKind::from_foreign_name(name) == Some(kind),
                "{name}"
            );
        }
    }
    let stop =
        ClaudeEventMapping { kind: EventKind::AfterAgent, agent_scope: Some(AgentScope::Session), after_call: None };
    assert_eq!(event_by_name("Stop"), Some(stop));
    let failed =
        ClaudeEventMapping { kind: EventKind::AfterTool, agent_scope: None, after_call: Some(CallStatus::Failed) };
    assert_eq!(event_by_name("PostToolUseFailure"), Some(failed));
    assert_eq!(event_by_name("PostCompact"), None);
}
