//! The typed outcome of every event, from the output of a real hook.

use std::borrow::Cow;

use hookwright_hooks::{
    AdvisoryVerdict, AfterAgent, AfterAgentVerdict, AfterModel, AfterModelVerdict, AfterTool, AfterToolVerdict,
    BeforeAgent, BeforeAgentVerdict, BeforeModel, BeforeModelVerdict, BeforeToolSelection, BeforeToolVerdict, Event,
    LlmRequest, LlmResponse, Notification, Outcome, PreCompress, Purpose, RequestedBy, SessionEnd, SessionStart,
    SessionStartVerdict, SharedJson, TailCall, ToolConfig, ToolMode,
};
use serde_json::{Value, json};

use super::fixture::{EngineFixture, command_hook, into_object, print_command, tool_call, with_hang_timeout};

/// Fires an event with one hook that runs this command.
async fn fire_with_command<E: Event>(event: &E, text: &str) -> Outcome<E::Verdict> {
    let world = EngineFixture::new();
    with_hang_timeout(world.engine_with_hooks(E::KIND, json!([command_hook("h", text)])).build().fire(event)).await
}

async fn verdict_for<E: Event>(event: &E, answer: Value) -> E::Verdict {
    fire_with_command(event, &print_command(answer)).await.verdict
}

fn context_answer(text: &str) -> Value {
    json!({"hookSpecificOutput": {"additionalContext": text}})
}

fn model_request() -> SharedJson {
    SharedJson::from_request(&LlmRequest { model: "m".into(), ..LlmRequest::default() })
}

fn deny_answer() -> Value {
    json!({"decision": "deny", "reason": "no"})
}

fn stop_answer() -> Value {
    json!({"continue": false, "stopReason": "over"})
}

#[tokio::test]
async fn session_start_takes_context_and_never_blocks() {
    let event = SessionStart { source: "startup".into() };
    assert_eq!(verdict_for(&event, context_answer("c")).await, SessionStartVerdict { context: Some("c".into()) });
    for text in [print_command(deny_answer()), print_command(stop_answer()), "exit 2".to_owned()] {
        let outcome = fire_with_command(&event, &text).await;
        assert_eq!(outcome.verdict, SessionStartVerdict { context: None });
        assert_eq!(outcome.warnings.len(), 1, "{:?}", outcome.warnings);
    }
    assert_eq!(fire_with_command(&event, "echo welcome").await.messages[0].text, "welcome");
}

#[tokio::test]
async fn advice_only_events_take_messages() {
    let notification = Notification {
        notification_type: "ToolPermission".into(),
        message: "m".into(),
        details: Cow::default(),
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    };
    let say = print_command(json!({"systemMessage": "hello"}));
    let end = fire_with_command(&SessionEnd { reason: "exit".into() }, &say).await;
    let compress = fire_with_command(&PreCompress { trigger: "auto".into() }, &say).await;
    let notified = fire_with_command(&notification, &say).await;
    for outcome in [&end, &compress, &notified] {
        assert_eq!((outcome.verdict, outcome.messages[0].text.as_str()), (AdvisoryVerdict, "hello"));
    }
    assert_eq!(fire_with_command(&notification, "exit 2").await.merged.answer.decision, None);
}

#[tokio::test]
async fn before_agent_proceeds_denies_or_stops() {
    let event = BeforeAgent { prompt: "p".into(), attachments: Vec::new() };
    assert_eq!(verdict_for(&event, json!({})).await, BeforeAgentVerdict::Proceed { context: None });
    assert_eq!(
        verdict_for(&event, context_answer("c")).await,
        BeforeAgentVerdict::Proceed { context: Some("c".into()) }
    );
    assert_eq!(verdict_for(&event, deny_answer()).await, BeforeAgentVerdict::Deny { reason: "no".into() });
    assert_eq!(verdict_for(&event, stop_answer()).await, BeforeAgentVerdict::Stop { reason: "over".into() });
    let blocked = fire_with_command(&event, "echo why >&2; exit 2").await.verdict;
    assert_eq!(blocked, BeforeAgentVerdict::Deny { reason: "why".into() });
}

#[tokio::test]
async fn after_agent_accepts_retries_or_stops() {
    let event = AfterAgent { prompt: "p".into(), prompt_response: "r".into(), stop_hook_active: false };
    assert_eq!(verdict_for(&event, json!({})).await, AfterAgentVerdict::Accept { clear_context: false });
    let clear = json!({"hookSpecificOutput": {"clearContext": true}});
    assert_eq!(verdict_for(&event, clear.clone()).await, AfterAgentVerdict::Accept { clear_context: true });
    let mut retry = deny_answer();
    retry["hookSpecificOutput"] = clear["hookSpecificOutput"].clone();
    assert_eq!(verdict_for(&event, retry).await, AfterAgentVerdict::Retry { reason: "no".into(), clear_context: true });
    let stopped = AfterAgentVerdict::Stop { reason: "over".into(), clear_context: false };
    assert_eq!(verdict_for(&event, stop_answer()).await, stopped);
}

#[tokio::test]
async fn before_model_proceeds_changes_answers_denies_or_stops() {
    let event = BeforeModel { llm_request: model_request(), purpose: Purpose::Answer };
    assert_eq!(verdict_for(&event, json!({})).await, BeforeModelVerdict::Proceed { changes: None });
    let change = json!({"hookSpecificOutput": {"llm_request": {"model": "other", "config": {"topK": 1}}}});
    let BeforeModelVerdict::Proceed { changes: Some(changes) } = verdict_for(&event, change).await else {
        panic!("expected changes")
    };
    assert_eq!((changes.model.as_deref(), changes.messages), (Some("other"), None));
    assert_eq!(changes.config, Some(into_object(json!({"topK": 1}))));
    // An answer is used whatever the decision.
    for decision in [json!(null), json!("allow"), json!("deny")] {
        let answer = json!({"decision": decision, "hookSpecificOutput": {"llm_response": {"text": "mine"}}});
        let BeforeModelVerdict::Answer { response } = verdict_for(&event, answer).await else {
            panic!("expected an answer")
        };
        assert_eq!(response.text(), "mine");
    }
    assert_eq!(verdict_for(&event, deny_answer()).await, BeforeModelVerdict::Deny { reason: "no".into() });
    assert_eq!(
        verdict_for(&event, stop_answer()).await,
        BeforeModelVerdict::Stop { reason: "over".into(), response: None }
    );
}

#[tokio::test]
async fn before_tool_selection_restricts_or_forces_tools() {
    let event = BeforeToolSelection {
        llm_request: model_request(),
        purpose: Purpose::Answer,
        offered_tools: vec!["a".into(), "b".into(), "c".into()],
    };
    assert_eq!(verdict_for(&event, json!({})).await.config, None);
    let config = json!({"hookSpecificOutput": {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["b", "a"]}}});
    let expected = ToolConfig { mode: Some(ToolMode::Any), allowed: vec!["a".into(), "b".into()] };
    assert_eq!(verdict_for(&event, config).await.config, Some(expected.clone()));
    assert_eq!(fire_with_command(&event, "echo 'b, a'").await.verdict.config, Some(expected));
    let stray = fire_with_command(&event, "echo ok").await;
    assert_eq!((stray.verdict.config, stray.messages[0].text.as_str()), (None, "ok"));
    let none = json!({"hookSpecificOutput": {"toolConfig": {"mode": "NONE", "allowedFunctionNames": ["a"]}}});
    let expected = ToolConfig { mode: Some(ToolMode::None), allowed: vec![] };
    assert_eq!(verdict_for(&event, none).await.config, Some(expected));
    let outcome = fire_with_command(&event, "exit 2").await;
    assert_eq!((outcome.verdict.config, outcome.warnings.len()), (None, 1));
}

#[tokio::test]
async fn after_model_keeps_replaces_denies_or_stops() {
    let event = AfterModel {
        llm_request: model_request(),
        llm_response: Cow::Owned(LlmResponse::from_text("secret")),
        content: "secret".into(),
        thoughts: "".into(),
        code: "".into(),
        citations: "".into(),
        purpose: Purpose::Answer,
        full_content: "secret".into(),
    };
    assert_eq!(verdict_for(&event, json!({})).await, AfterModelVerdict::Keep);
    let candidates = json!([{"content": {"role": "model", "parts": ["***"]}, "finishReason": "STOP"}]);
    let replacements = [
        json!({"hookSpecificOutput": {"llm_response": {"candidates": candidates}}}),
        json!({"hookSpecificOutput": {"modifiedResponse": {"text": "***"}}}),
        json!({"content": "***"}),
    ];
    for replacement in replacements {
        let AfterModelVerdict::Replace { response } = verdict_for(&event, replacement).await else {
            panic!("expected a replacement")
        };
        assert_eq!(response.text(), "***");
    }
    assert_eq!(verdict_for(&event, deny_answer()).await, AfterModelVerdict::Deny { reason: "no".into() });
    assert_eq!(verdict_for(&event, stop_answer()).await, AfterModelVerdict::Stop { reason: "over".into() });
}

#[tokio::test]
async fn before_tool_proceeds_rewrites_asks_denies_or_stops() {
    let event = tool_call();
    let changes = || Some(into_object(json!({"command": "ls -l"})));
    let rewrite = json!({"hookSpecificOutput": {"tool_input": {"command": "ls -l"}}});
    assert_eq!(verdict_for(&event, rewrite.clone()).await, BeforeToolVerdict::Proceed { changes: changes() });
    let mut ask = json!({"decision": "ask", "reason": "sure?"});
    ask["hookSpecificOutput"] = rewrite["hookSpecificOutput"].clone();
    let asked = BeforeToolVerdict::Ask { reason: "sure?".into(), confinements: Vec::new(), changes: changes() };
    assert_eq!(verdict_for(&event, ask).await, asked);
    assert_eq!(verdict_for(&event, deny_answer()).await, BeforeToolVerdict::Deny { reason: "no".into() });
    assert_eq!(verdict_for(&event, stop_answer()).await, BeforeToolVerdict::Stop { reason: "over".into() });
    let reason_only = json!({"continue": false, "reason": "because"});
    assert_eq!(verdict_for(&event, reason_only).await, BeforeToolVerdict::Stop { reason: "because".into() });
}

#[tokio::test]
async fn after_tool_keeps_hides_calls_on_or_stops() {
    let event = AfterTool {
        tool_name: "glob".into(),
        tool_input: Cow::default(),
        tool_response: Cow::default(),
        mcp_context: None,
        original_request_name: None,
        tool_use_id: None,
        requested_by: RequestedBy::Model,
    };
    let kept = AfterToolVerdict::Keep { context: Some("c".into()), tail_call: None };
    assert_eq!(verdict_for(&event, context_answer("c")).await, kept);
    let tail = json!({"hookSpecificOutput": {"tailToolCallRequest": {"name": "replace", "args": {"a": 1}}}});
    let call = TailCall { name: "replace".into(), args: into_object(json!({"a": 1})) };
    let outcome = fire_with_command(&event, &print_command(tail.clone())).await;
    assert_eq!(outcome.verdict, AfterToolVerdict::Keep { context: None, tail_call: Some(call) });
    assert_eq!(Value::Object(outcome.merged.answer.hook_specific_output), tail["hookSpecificOutput"]);
    let mut hide = deny_answer();
    hide["hookSpecificOutput"] = json!({"additionalContext": "c"});
    let hidden = AfterToolVerdict::Hide { reason: "no".into(), context: Some("c".into()) };
    assert_eq!(verdict_for(&event, hide).await, hidden);
    assert_eq!(verdict_for(&event, stop_answer()).await, AfterToolVerdict::Stop { reason: "over".into() });
}

#[tokio::test]
async fn an_event_without_hooks_has_its_mildest_outcome() {
    let world = EngineFixture::new();
    let engine = world.engine_with_settings(json!({})).build();
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    assert_eq!(outcome.verdict, BeforeToolVerdict::Proceed { changes: None });
    assert!(outcome.runs.is_empty() && outcome.messages.is_empty() && outcome.warnings.is_empty());
}
