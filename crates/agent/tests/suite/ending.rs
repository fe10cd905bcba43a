//! How a session ends: when all is done or at once, whatever hangs, whoever panics, and whether or not anybody reads.

use hookwright_agent::session::{Order, SessionOptions, When};
use hookwright_agent::{AgentEvent, ApprovalMode, EndReason, TurnEnd};
use hookwright_hooks::{EventKind, Hook};
use hookwright_model::{Chunk, Part};
use hookwright_tools::ToolKind;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::support::{Project, Script, Stage, TestTool, call, call_as, is_text, within};

fn ends(events: &[AgentEvent]) -> Vec<&TurnEnd> {
    let mut ends = Vec::new();
    for event in events {
        if let AgentEvent::TurnFinished(end) = event {
            ends.push(end);
        }
    }
    ends
}

fn is_hook_start(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::HookStarted { .. })
}

#[tokio::test]
async fn done_means_that_everything_ordered_is_done() {
    let project = Project::new().pipe("gate").hook("BeforeAgent", "hold", "case $input in *hold*) read _ <gate;; esac");
    let mut session = project.session().await;
    session.prompt("say hold");
    session.prompt("say two");
    session.handle.end(When::Done, EndReason::Exit);
    session.prompt("say too late");
    session.until(is_hook_start).await;
    project.let_go("gate").await;
    let rest = session.rest().await;
    assert_eq!(ends(&rest), [&TurnEnd::Answered, &TurnEnd::Answered]);
    assert_eq!(project.inputs_of("hold", "prompt"), ["say hold", "say two"]);
}

#[tokio::test]
async fn now_means_now_whatever_hangs() {
    let project = Project::new().hook("BeforeAgent", "hangs", "sleep 1000").hook("SessionEnd", "end", "");
    let mut session = project.session().await;
    session.prompt("say one");
    session.prompt("say two");
    session.until(is_hook_start).await;
    session.handle.end(When::Now, EndReason::Exit);
    let rest = session.rest().await;
    assert_eq!(ends(&rest), [&TurnEnd::Cancelled]);
    assert!(!rest.iter().any(is_text));
    assert_eq!(project.inputs_of("end", "reason"), ["exit"]);
}

#[tokio::test]
async fn now_goes_over_done() {
    let project = Project::new().hook("BeforeAgent", "hangs", "sleep 1000");
    let mut session = project.session().await;
    session.prompt("say one");
    session.until(is_hook_start).await;
    session.handle.end(When::Done, EndReason::Exit);
    session.handle.end(When::Now, EndReason::Exit);
    assert_eq!(ends(&session.rest().await), [&TurnEnd::Cancelled]);
}

#[tokio::test]
async fn a_session_that_has_not_started_yet_ends_too() {
    let project = Project::new().hook("SessionStart", "hangs", "sleep 1000");
    let mut session = project.session_with(SessionOptions::default());
    session.until(is_hook_start).await;
    session.handle.end(When::Now, EndReason::Exit);
    session.rest().await;
}

#[tokio::test]
async fn a_last_hook_that_hangs_does_not_keep_the_session() {
    let project = Project::new().hook("SessionEnd", "hangs", "sleep 1000");
    let session = project.session().await;
    let rest = session.leave().await;
    assert!(rest.iter().any(is_hook_start));
}

#[tokio::test]
async fn a_session_whose_front_end_is_gone_ends() {
    let project = Project::new().hook("BeforeAgent", "hangs", "sleep 1000");
    let mut session = project.session().await;
    session.prompt("say one");
    session.until(is_hook_start).await;
    let task = session.abandon();
    within("the session's end", task).await.unwrap();
}

#[tokio::test]
async fn a_tool_that_floods_an_unread_session_takes_no_memory_and_can_be_cancelled() {
    let project = Project::new().pipe("gate");
    let options = SessionOptions { approval_mode: Some(ApprovalMode::Yolo), ..SessionOptions::default() };
    let mut session = project.session_with(options);
    session.idle().await;
    let command = "head -c 20000000 /dev/zero | tr '\\\\0' x; read _ <gate; exec sleep 1000";
    session.prompt(&format!(r#"call run_shell_command {{"command": "{command}"}}"#));
    // All of it is written when the command gets there.
    project.let_go("gate").await;
    session.order(Order::Cancel);
    session.handle.end(When::Done, EndReason::Exit);
    let rest = session.rest().await;
    assert_eq!(ends(&rest), [&TurnEnd::Cancelled]);
    let output = |event: &AgentEvent| match event {
        AgentEvent::ToolOutput { text, .. } => Some(text.len()),
        _ => None,
    };
    let kept: Vec<usize> = rest.iter().filter_map(output).collect();
    assert!(kept.iter().sum::<usize>() <= 64 << 10, "{kept:?}");
    assert!(kept.iter().sum::<usize>() > 0);
}

#[tokio::test]
async fn a_model_that_floods_an_unread_session_is_held_up_and_can_be_cancelled() {
    const PIECES: usize = 1000;
    let project = Project::new();
    let (script, sender) = Script::new().live();
    // Thoughts: a model that repeats its words would be stopped for that.
    let thought = Part::thought("x".repeat(64 << 10));
    let piece = || Chunk { parts: vec![thought.clone()], ..Chunk::default() };
    (0..PIECES).for_each(|_| sender.try_send(Ok(piece())).unwrap());
    let full = sender.capacity();
    let Stage { mut agent, mut events, .. } = project.stage(script);
    let cancel = CancellationToken::new();
    let turn = tokio::spawn({
        let cancel = cancel.clone();
        async move { agent.prompt("tell", &cancel).await }
    });
    // Everything here runs on one thread: whoever can go on has done so by then.
    for _ in 0..10 * PIECES {
        tokio::task::yield_now().await;
    }
    let taken = sender.capacity() - full;
    assert!(taken > 0 && taken < PIECES / 4, "{taken} pieces wait in memory");
    cancel.cancel();
    assert_eq!(within("the turn's end", turn).await.unwrap(), TurnEnd::Cancelled);
    let mut shown = 0;
    while let Some(event) = events.try_recv() {
        shown += usize::from(matches!(event, AgentEvent::Thought(_)));
    }
    assert!(shown > 0);
}

#[tokio::test]
async fn a_hook_function_that_panics_is_a_hook_that_failed() {
    let project = Project::new();
    let mut session = project.session().await;
    let hooks = session.handle.view().services.clone();
    hooks.hooks.update(|registry| {
        registry.add(Hook::in_code(EventKind::BeforeAgent, "wild", |_| async { panic!("a hook panics") }));
    });
    session.prompt("say hello");
    session.until(|event| matches!(event, AgentEvent::HookWarning { hook, .. } if hook == "wild")).await;
    session.until(is_text).await;
    session.idle().await;
    assert_eq!(session.answer("say again").await, ("again".to_owned(), TurnEnd::Answered));
}

#[tokio::test]
async fn a_tool_that_panics_is_a_call_that_failed() {
    let project = Project::new().hook("AfterTool", "after", "");
    let wild = |name, kind| TestTool::make(name, kind, |_, _| async { panic!("a tool panics") });
    // Alone, and beside another.
    let script = Script::new()
        .parts(vec![call_as("1", "acts", json!({}))])
        .parts(vec![call("looks", json!({})), call("echo", json!({"text": "x"}))])
        .says("never mind");
    let mut stage = project
        .setup(script)
        .tool(wild("acts", ToolKind::Execute))
        .tool(wild("looks", ToolKind::Read))
        .tool(TestTool::echo("echo", ToolKind::Read))
        .open();
    assert_eq!(stage.prompt("go").await, TurnEnd::Answered);
    let results = stage.results();
    for failed in &results[..2] {
        assert!(failed.0 == "error" && failed.1.contains("a tool panics"), "{results:?}");
    }
    assert_eq!(results[2], ("output".into(), "heard x".into()));
    assert_eq!(stage.finished().len(), 3);
    assert_eq!(project.inputs("after").len(), 3, "hooks judge what is left of it");
}
