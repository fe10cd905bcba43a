//! The end of a session, graceful or immediate: with hanging hooks, panics, and events that the front end does not
//! read.

use hookwright_agent::session::{SessionCommand, SessionOptions, Shutdown};
use hookwright_agent::{AgentEvent, ApprovalMode, EndReason, HookEvent, ModelEvent, ToolEvent, TurnEnd, TurnEvent};
use hookwright_hooks::{EventKind, Hook};
use hookwright_model::{Chunk, Part};
use hookwright_tools::ToolKind;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::support::{
    ScriptedModel, TestAgent, TestProject, TestTool, is_text, tool_call, tool_call_with_id, within_hang_timeout,
};

fn turn_ends(events: &[AgentEvent]) -> Vec<&TurnEnd> {
    let mut ends = Vec::new();
    for event in events {
        if let AgentEvent::Turn(TurnEvent::Finished(end)) = event {
            ends.push(end);
        }
    }
    ends
}

fn is_hook_start(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Hook(HookEvent::Started { .. }))
}

#[tokio::test]
async fn a_graceful_shutdown_finishes_every_command() {
    let project =
        TestProject::new().gate("gate").hook("BeforeAgent", "hold", "case $input in *hold*) read _ <gate;; esac");
    let mut session = project.start_idle_session().await;
    session.prompt("say hold");
    session.prompt("say two");
    session.handle.end(Shutdown::Done, EndReason::Exit);
    session.prompt("say too late");
    session.wait_for(is_hook_start).await;
    project.open_gate("gate").await;
    let rest = session.drain_events().await;
    assert_eq!(turn_ends(&rest), [&TurnEnd::Answered, &TurnEnd::Answered]);
    assert_eq!(project.input_fields("hold", "prompt"), ["say hold", "say two"]);
}

#[tokio::test]
async fn an_immediate_shutdown_ends_hanging_work() {
    let project = TestProject::new().hook("BeforeAgent", "hangs", "sleep 1000").hook("SessionEnd", "end", "");
    let mut session = project.start_idle_session().await;
    session.prompt("say one");
    session.prompt("say two");
    session.wait_for(is_hook_start).await;
    session.handle.end(Shutdown::Now, EndReason::Exit);
    let rest = session.drain_events().await;
    assert_eq!(turn_ends(&rest), [&TurnEnd::Cancelled]);
    assert!(!rest.iter().any(is_text));
    assert_eq!(project.input_fields("end", "reason"), ["exit"]);
}

#[tokio::test]
async fn an_immediate_shutdown_overrides_a_graceful_one() {
    let project = TestProject::new().hook("BeforeAgent", "hangs", "sleep 1000");
    let mut session = project.start_idle_session().await;
    session.prompt("say one");
    session.wait_for(is_hook_start).await;
    session.handle.end(Shutdown::Done, EndReason::Exit);
    session.handle.end(Shutdown::Now, EndReason::Exit);
    assert_eq!(turn_ends(&session.drain_events().await), [&TurnEnd::Cancelled]);
}

#[tokio::test]
async fn a_session_that_has_not_started_yet_ends_too() {
    let project = TestProject::new().hook("SessionStart", "hangs", "sleep 1000");
    let mut session = project.start_session(SessionOptions::default());
    session.wait_for(is_hook_start).await;
    session.handle.end(Shutdown::Now, EndReason::Exit);
    session.drain_events().await;
}

#[tokio::test]
async fn a_last_hook_that_hangs_does_not_keep_the_session() {
    let project = TestProject::new().hook("SessionEnd", "hangs", "sleep 1000");
    let session = project.start_idle_session().await;
    let rest = session.finish().await;
    assert!(rest.iter().any(is_hook_start));
}

#[tokio::test]
async fn a_session_whose_front_end_is_gone_ends() {
    let project = TestProject::new().hook("BeforeAgent", "hangs", "sleep 1000");
    let mut session = project.start_idle_session().await;
    session.prompt("say one");
    session.wait_for(is_hook_start).await;
    let task = session.abandon();
    within_hang_timeout("the session's end", task).await.unwrap();
}

#[tokio::test]
async fn a_tool_that_floods_an_unread_session_takes_no_memory_and_can_be_cancelled() {
    let project = TestProject::new().gate("gate");
    let options = SessionOptions { approval_mode: Some(ApprovalMode::Yolo), ..SessionOptions::default() };
    let mut session = project.start_session(options);
    session.wait_until_idle().await;
    let command = "head -c 20000000 /dev/zero | tr '\\\\0' x; read _ <gate; exec sleep 1000";
    session.prompt(&format!(r#"call run_shell_command {{"command": "{command}"}}"#));
    // The command has written all of its output when it reaches the gate.
    project.open_gate("gate").await;
    session.send(SessionCommand::Cancel);
    session.handle.end(Shutdown::Done, EndReason::Exit);
    let rest = session.drain_events().await;
    assert_eq!(turn_ends(&rest), [&TurnEnd::Cancelled]);
    let output = |event: &AgentEvent| match event {
        AgentEvent::Tool(ToolEvent::Output { text, .. }) => Some(text.len()),
        _ => None,
    };
    let kept: Vec<usize> = rest.iter().filter_map(output).collect();
    assert!(kept.iter().sum::<usize>() <= 64 << 10, "{kept:?}");
    assert!(kept.iter().sum::<usize>() > 0);
}

#[tokio::test]
async fn a_model_that_floods_an_unread_session_is_held_up_and_can_be_cancelled() {
    const CHUNK_COUNT: usize = 1000;
    let project = TestProject::new();
    let (script, sender) = ScriptedModel::new().answer_from_channel();
    // Thoughts, since loop detection stops a model that repeats its text.
    let thought = Part::thought("x".repeat(64 << 10));
    let piece = || Chunk { parts: vec![thought.clone()], ..Chunk::default() };
    (0..CHUNK_COUNT).for_each(|_| sender.try_send(Ok(piece())).unwrap());
    let full = sender.capacity();
    let TestAgent { mut agent, mut events, .. } = project.start_agent(script);
    let cancel = CancellationToken::new();
    let turn = tokio::spawn({
        let cancel = cancel.clone();
        async move { agent.prompt("tell", &cancel).await }
    });
    // Everything runs on one thread, so every task that can make progress has done so by then.
    for _ in 0..10 * CHUNK_COUNT {
        tokio::task::yield_now().await;
    }
    let taken = sender.capacity() - full;
    assert!(taken > 0 && taken < CHUNK_COUNT / 4, "{taken} pieces wait in memory");
    cancel.cancel();
    assert_eq!(within_hang_timeout("the turn's end", turn).await.unwrap(), TurnEnd::Cancelled);
    let mut shown = 0;
    while let Some(event) = events.try_recv() {
        shown += usize::from(matches!(event, AgentEvent::Model(ModelEvent::Thought(_))));
    }
    assert!(shown > 0);
}

#[tokio::test]
async fn a_hook_function_that_panics_is_a_hook_that_failed() {
    let project = TestProject::new();
    let mut session = project.start_idle_session().await;
    let hooks = session.handle.view().services.clone();
    hooks.hooks.update(|registry| {
        registry.add(Hook::from_function(EventKind::BeforeAgent, "wild", |_| async { panic!("a hook panics") }));
    });
    session.prompt("say hello");
    session
        .wait_for(|event| matches!(event, AgentEvent::Hook(HookEvent::Warning { hook, .. }) if hook == "wild"))
        .await;
    session.wait_for(is_text).await;
    session.wait_until_idle().await;
    assert_eq!(session.run_prompt("say again").await, ("again".to_owned(), TurnEnd::Answered));
}

#[tokio::test]
async fn a_tool_that_panics_is_a_call_that_failed() {
    let project = TestProject::new().hook("AfterTool", "after", "");
    let wild = |name, kind| TestTool::new_tool(name, kind, |_, _| async { panic!("a tool panics") });
    // A panic in a single call, and in one of two concurrent calls.
    let script = ScriptedModel::new()
        .answer_with_parts(vec![tool_call_with_id("1", "acts", json!({}))])
        .answer_with_parts(vec![tool_call("looks", json!({})), tool_call("echo", json!({"text": "x"}))])
        .answer("never mind");
    let mut stage = project
        .agent_setup(script)
        .with_tool(wild("acts", ToolKind::Execute))
        .with_tool(wild("looks", ToolKind::Read))
        .with_tool(TestTool::echo("echo", ToolKind::Read))
        .start();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    let results = stage.call_results();
    for failed in &results[..2] {
        assert!(failed.0 == "error" && failed.1.contains("a tool panics"), "{results:?}");
    }
    assert_eq!(results[2], ("output".into(), "heard x".into()));
    assert_eq!(stage.finished_calls().len(), 3);
    assert_eq!(project.inputs("after").len(), 3, "hooks judge what is left of it");
}
