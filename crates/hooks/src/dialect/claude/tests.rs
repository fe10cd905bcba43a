use super::*;
use crate::input::{
    AfterAgent, AfterTool, BeforeAgent, BeforeTool, Event, Notification, RequestedBy, Session, SessionEnd,
};
use crate::observe::{Belongs, SubAgent};
use std::borrow::Cow;

fn session() -> Session {
    Session { id: "s1".into(), cwd: "/p".into(), transcript_path: "/t".into(), ..Session::default() }
}

fn told<E: Event>(event: &E, belongs: &Belongs) -> Vec<Value> {
    let input = HookInput::encode(event, None, &session(), belongs).unwrap();
    let shown = Shown::of(E::KIND, None, &input).unwrap();
    shown.views.iter().map(|view| without_time(serde_json::from_str(&view.to_json()).unwrap())).collect()
}

fn without_time(mut value: Value) -> Value {
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

/// Beside the recorded payloads of the real program: the same keys, the same values.
#[test]
fn a_call_is_told_as_claude_code_tells_it() {
    let input = object(json!({"command": "rm -rf /", "dir_path": "sub"}));
    let belongs = Belongs { turn_id: Some("t1".into()), ..Belongs::default() };
    assert_eq!(
        told(&call("run_shell_command", &input), &belongs),
        [json!({
            "session_id": "s1", "transcript_path": "/t", "cwd": "/p/sub", "hook_event_name": "PreToolUse",
            "prompt_id": "t1", "tool_name": "Bash", "tool_input": {"command": "rm -rf /"}, "tool_use_id": "c1",
            "requested_by": "model",
        })]
    );
}

#[test]
fn one_call_may_be_several() {
    let input = object(json!({"include": ["a", ".env"]}));
    let told = told(&call("read_many_files", &input), &Belongs::default());
    let paths: Vec<_> = told.iter().map(|one| one["tool_input"]["file_path"].clone()).collect();
    assert_eq!(paths, ["/p/a", "/p/.env"]);
}

#[test]
fn results_have_the_fields_that_scripts_look_for() {
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
    let told = told(&event, &Belongs::default()).remove(0);
    assert_eq!(told["hook_event_name"], "PostToolUse");
    assert_eq!(
        (&told["tool_response"]["stdout"], &told["tool_response"]["interrupted"]),
        (&json!("out"), &json!(false))
    );
}

#[test]
fn the_end_of_a_turn_is_a_stop_here_and_another_there() {
    let event = AfterAgent { prompt: "p".into(), prompt_response: "done".into(), stop_hook_active: true };
    let own = told(&event, &Belongs::default()).remove(0);
    assert_eq!(
        (&own["hook_event_name"], &own["stop_hook_active"], &own["last_assistant_message"]),
        (&json!("Stop"), &json!(true), &json!("done"))
    );
    let agent = SubAgent { name: "scout".into(), id: "scout-1".into(), transcript_path: "/t/scout".into() };
    let inside = told(&event, &Belongs { agent: Some(agent.into()), ..Belongs::default() }).remove(0);
    assert_eq!((&inside["hook_event_name"], &inside["agent_type"]), (&json!("SubagentStop"), &json!("scout")));
}

#[test]
fn other_events_in_their_words() {
    let prompt = told(&BeforeAgent { prompt: "hi".into(), attachments: Vec::new() }, &Belongs::default()).remove(0);
    assert_eq!((&prompt["hook_event_name"], &prompt["prompt"]), (&json!("UserPromptSubmit"), &json!("hi")));
    let end = told(&SessionEnd { reason: "exit".into() }, &Belongs::default()).remove(0);
    assert_eq!((&end["hook_event_name"], &end["reason"]), (&json!("SessionEnd"), &json!("other")));
    let asked = Notification {
        notification_type: "ToolPermission".into(),
        message: "m".into(),
        details: Cow::Owned(Value::Null),
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    };
    assert_eq!(told(&asked, &Belongs::default())[0]["notification_type"], "permission_prompt");
}

#[test]
fn what_may_be_done_unasked_is_told_in_its_words() {
    let event = BeforeAgent { prompt: "hi".into(), attachments: Vec::new() };
    for (ours, theirs) in
        [("default", "default"), ("auto_edit", "acceptEdits"), ("yolo", "bypassPermissions"), ("plan", "plan")]
    {
        let belongs = Belongs { approval_mode: Some(ours.into()), ..Belongs::default() };
        let told = told(&event, &belongs).remove(0);
        assert_eq!((&told["permission_mode"], told.get("approval_mode")), (&json!(theirs), None));
        assert_eq!((permission_mode(ours), approval_mode(theirs)), (theirs, ours));
    }
    assert_eq!(told(&event, &Belongs::default())[0].get("permission_mode"), None, "nobody knows");
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
    assert_eq!(event.end(), Some(CallEnd::Failed));
    let told = |after| {
        let input = HookInput::encode(&event, None, &session(), &Belongs::default()).unwrap();
        let shown = Shown::of(EventKind::AfterTool, after, &input).unwrap();
        serde_json::from_str::<Value>(&shown.views[0].to_json()).unwrap()
    };
    let failed = told(Some(CallEnd::Failed));
    assert_eq!(
        (&failed["hook_event_name"], &failed["error"], &failed["tool_name"]),
        (&json!("PostToolUseFailure"), &json!("exit 1"), &json!("Bash"))
    );
    let any = told(None);
    assert_eq!((&any["hook_event_name"], any.get("error")), (&json!("PostToolUse"), None));
}

#[test]
fn names_of_events_lead_there_and_back() {
    for kind in EventKind::all() {
        for whose in [Whose::Session, Whose::SubAgent] {
            let Some(name) = event_name(kind, whose) else { continue };
            assert_eq!(event_of(name).map(|moment| moment.kind), Some(kind));
            assert!(
                EventKind::from_name(name) == Some(kind) || EventKind::from_foreign_name(name) == Some(kind),
                "{name}"
            );
        }
    }
    let stop = Moment { kind: EventKind::AfterAgent, whose: Some(Whose::Session), after: None };
    assert_eq!(event_of("Stop"), Some(stop));
    let failed = Moment { kind: EventKind::AfterTool, whose: None, after: Some(CallEnd::Failed) };
    assert_eq!(event_of("PostToolUseFailure"), Some(failed));
    assert_eq!(event_of("PostCompact"), None);
}
