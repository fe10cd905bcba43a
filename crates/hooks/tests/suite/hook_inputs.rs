//! The inputs of hooks: the JSON on their stdin, event by event.

use std::borrow::Cow;

use hookwright_hooks::{
    AfterAgent, AfterModel, AfterTool, AnyEvent, BeforeAgent, BeforeModel, BeforeToolSelection, Event, EventKind,
    LlmMessage, LlmRequest, LlmResponse, Notification, PreCompress, Purpose, RequestedBy, RunContext, SessionEnd,
    SessionStart, SharedJson,
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::fixture::{EngineFixture, command_hook, into_object, tool_call, with_hang_timeout};

/// Returns what a hook on this event reads from its stdin.
async fn hook_input_of<E: Event>(event: &E) -> Map<String, Value> {
    let world = EngineFixture::new();
    let engine = world.engine_with_hooks(E::KIND, json!([command_hook("h", "cat >told")])).build();
    let outcome = with_hang_timeout(engine.fire(event)).await;
    let text = world.read("told");
    assert_eq!(outcome.runs[0].input_bytes, text.len());
    let mut told = into_object(serde_json::from_str(&text).unwrap());
    let base: Vec<_> = told.keys().take(5).cloned().collect();
    assert_eq!(base, ["session_id", "transcript_path", "cwd", "hook_event_name", "timestamp"]);
    assert_eq!(told["session_id"], "session-1");
    assert_eq!(told["transcript_path"], world.path("transcript.json").to_str().unwrap());
    assert_eq!(told["cwd"], world.dir().to_str().unwrap());
    assert_eq!(told["hook_event_name"], E::KIND.name());
    let stamp = told["timestamp"].as_str().unwrap();
    assert!(stamp.len() == 24 && stamp.ends_with('Z') && stamp.as_bytes()[19] == b'.', "{stamp}");
    base.iter().for_each(|field| drop(told.shift_remove(field)));
    told
}

fn model_request() -> SharedJson {
    SharedJson::from_request(&LlmRequest {
        model: "m".into(),
        messages: vec![LlmMessage { role: "user".into(), content: "hi \"you\" é\n".into() }],
        ..LlmRequest::default()
    })
}

#[tokio::test]
async fn session_events_carry_their_reason() {
    assert_eq!(
        hook_input_of(&SessionStart { source: "resume".into() }).await,
        into_object(json!({"source": "resume"}))
    );
    assert_eq!(hook_input_of(&SessionEnd { reason: "logout".into() }).await, into_object(json!({"reason": "logout"})));
    assert_eq!(hook_input_of(&PreCompress { trigger: "auto".into() }).await, into_object(json!({"trigger": "auto"})));
}

#[tokio::test]
async fn agent_events_carry_prompt_and_answer() {
    let prompt = "multi\nline \u{1F600} \"quoted\"";
    assert_eq!(
        hook_input_of(&BeforeAgent { prompt: prompt.into(), attachments: Vec::new() }).await,
        into_object(json!({"prompt": prompt}))
    );
    let after = AfterAgent { prompt: prompt.into(), prompt_response: "done".into(), stop_hook_active: true };
    let expected = json!({"prompt": prompt, "prompt_response": "done", "stop_hook_active": true});
    assert_eq!(hook_input_of(&after).await, into_object(expected));
}

#[tokio::test]
async fn model_events_carry_request_and_response() {
    let shown = json!({"model": "m", "messages": [{"role": "user", "content": "hi \"you\" é\n"}], "config": {}});
    assert_eq!(
        hook_input_of(&BeforeModel { llm_request: model_request(), purpose: Purpose::Answer }).await,
        into_object(json!({"llm_request": shown, "purpose": "answer"}))
    );
    assert_eq!(
        hook_input_of(&BeforeToolSelection {
            llm_request: model_request(),
            purpose: Purpose::Answer,
            offered_tools: Vec::new()
        })
        .await,
        into_object(json!({"llm_request": shown, "purpose": "answer"}))
    );
    let after = AfterModel {
        llm_request: model_request(),
        llm_response: Cow::Owned(LlmResponse::from_text("piece")),
        content: "piece".into(),
        thoughts: "hm".into(),
        code: "".into(),
        citations: "".into(),
        purpose: Purpose::Search,
        full_content: "whole piece".into(),
    };
    let response = json!({"text": "piece", "candidates": [{"content": {"role": "model", "parts": ["piece"]}}]});
    let expected = json!({"llm_request": shown, "llm_response": response, "thoughts": "hm", "purpose": "search", "content": "piece",
        "full_content": "whole piece"});
    assert_eq!(hook_input_of(&after).await, into_object(expected));
}

#[tokio::test]
async fn tool_events_carry_name_arguments_and_result() {
    let effects = json!({"commands": [["ls"]], "reads": ["."], "writes": [], "deletes": [], "network": [],
            "repository": [], "services": [], "processes": [], "privileged": [], "flows": [], "certain": true});
    let expected = json!({"tool_name": "run_shell_command", "tool_input": {"command": "ls"}, "requested_by": "model",
        "effects": effects});
    assert_eq!(hook_input_of(&tool_call()).await, into_object(expected));
    let after = AfterTool {
        tool_name: "mcp__git__log".into(),
        tool_input: Cow::Owned(into_object(json!({"n": 1}))),
        tool_response: Cow::Owned(json!({"llmContent": "ok", "returnDisplay": "ok"})),
        mcp_context: Some(Cow::Owned(json!({"server_name": "git"}))),
        original_request_name: Some("first".into()),
        tool_use_id: Some("call-1".into()),
        requested_by: RequestedBy::Hook,
    };
    let expected = json!({"tool_name": "mcp__git__log", "tool_input": {"n": 1},
        "tool_response": {"llmContent": "ok", "returnDisplay": "ok"}, "mcp_context": {"server_name": "git"},
        "original_request_name": "first", "tool_use_id": "call-1", "requested_by": "hook",
        "effects": {"commands": [], "reads": [], "writes": [], "deletes": [], "network": [],
            "repository": [], "services": [], "processes": [], "privileged": [], "flows": [], "certain": false,
            "unsure": ["commands", "reads", "writes", "deletes", "network", "repository", "services", "processes",
                "privileged", "flows"]}});
    assert_eq!(hook_input_of(&after).await, into_object(expected));
}

#[tokio::test]
async fn notifications_carry_the_question() {
    let event = Notification {
        notification_type: "ToolPermission".into(),
        message: "run ls?".into(),
        details: Cow::Owned(json!({"type": "exec"})),
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    };
    let expected = json!({"notification_type": "ToolPermission", "message": "run ls?", "details": {"type": "exec"},
        "requested_by": "model"});
    assert_eq!(hook_input_of(&event).await, into_object(expected));
}

#[tokio::test]
async fn input_is_one_object_and_then_the_end() {
    let world = EngineFixture::new();
    let engine =
        world.engine_with_hooks(EventKind::BeforeAgent, json!([command_hook("h", "cat >told; echo end")])).build();
    let outcome = with_hang_timeout(engine.fire(&BeforeAgent { prompt: "x".into(), attachments: Vec::new() })).await;
    assert_eq!(outcome.messages[0].text, "end");
    assert_eq!(serde_json::Deserializer::from_str(&world.read("told")).into_iter::<Value>().count(), 1);
}

#[tokio::test]
async fn an_event_named_at_run_time_fires_like_any_other() {
    let world = EngineFixture::new();
    for kind in EventKind::all() {
        let fields = json!({"source": "startup", "reason": "exit", "prompt": "p", "prompt_response": "r",
            "llm_request": {"model": "m"}, "llm_response": {"text": "t"}, "tool_name": "glob", "tool_input": {},
            "trigger": "auto", "notification_type": "ToolPermission"});
        let event = AnyEvent::from_fields(kind, into_object(fields)).unwrap();
        assert_eq!(event.kind(), kind);
        let engine = world.engine_with_hooks(kind, json!([command_hook("h", "cat >told; echo heard")])).build();
        let outcome = with_hang_timeout(engine.fire_any(&event, &CancellationToken::new())).await;
        let told: Value = serde_json::from_str(&world.read("told")).unwrap();
        assert_eq!(told["hook_event_name"], kind.name());
        assert_eq!(outcome.messages.len(), 1, "{kind}");
    }
}

#[tokio::test]
async fn runs_carry_event_turn_and_call_ids() {
    let world = EngineFixture::new();
    let engine = world
        .engine_with_hooks(EventKind::BeforeTool, json!([command_hook("a", "cat >told"), command_hook("b", "true")]))
        .build();
    let belongs = RunContext { turn_id: Some("turn-7".into()), ..RunContext::default() };
    let mut call = tool_call();
    call.tool_use_id = Some("call-1".into());
    let cancel = CancellationToken::new();
    let first = with_hang_timeout(engine.fire_in_context(&call, &belongs, &cancel)).await.runs;
    let second = with_hang_timeout(engine.fire(&tool_call())).await.runs;
    let told: Value = serde_json::from_str(&world.read("told")).unwrap();
    assert!(told.get("turn_id").is_none() && told.get("tool_use_id").is_none());
    let ids: Vec<String> = first.iter().chain(&second).map(|run| run.id.to_string()).collect();
    assert_eq!(ids, ["1.1", "1.2", "2.1", "2.2"]);
    for run in &first {
        assert_eq!(
            (run.context.turn_id.as_deref(), run.context.tool_use_id.as_deref()),
            (Some("turn-7"), Some("call-1"))
        );
    }
    assert_eq!((&second[0].context.turn_id, &second[0].context.tool_use_id), (&None, &None));
    with_hang_timeout(engine.fire_in_context(&call, &belongs, &cancel)).await;
    let told: Value = serde_json::from_str(&world.read("told")).unwrap();
    assert_eq!((&told["turn_id"], &told["tool_use_id"]), (&json!("turn-7"), &json!("call-1")));
}
