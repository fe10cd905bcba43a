//! Hooks that only notify run in the background: compression, an approved call and the end of a session do not wait for
//! them.

use hookwright_agent::session::{SessionCommand, Shutdown};
use hookwright_agent::{
    AgentEvent, AgentNotice, ApprovalReply, EndReason, HookEvent, QuestionEvent, SessionEvent, TurnEnd, TurnEvent,
};
use hookwright_hooks::EventKind;

use super::support::{RunningSession, TestProject, is_idle};

/// Runs until the session is idle, and approves every request.
async fn approve_until_idle(session: &mut RunningSession) -> Option<TurnEnd> {
    let mut end = None;
    loop {
        match session.next_event().await.unwrap() {
            AgentEvent::Question(QuestionEvent::Asked(question)) => session.approve(question.id, ApprovalReply::Once),
            AgentEvent::Turn(TurnEvent::Finished(how)) => end = Some(how),
            event if is_idle(&event) => return end,
            _ => {}
        }
    }
}

fn hook_warnings(told: &[AgentEvent]) -> Vec<String> {
    let warning = |event: &AgentEvent| match event {
        AgentEvent::Hook(HookEvent::Warning { hook, text, .. }) => Some(format!("{hook} {text}")),
        _ => None,
    };
    told.iter().filter_map(warning).collect()
}

const SHELL_CALL_PROMPT: &str = "call run_shell_command {\"command\": \"touch ran\"}\nsay done";

#[tokio::test]
async fn an_approved_call_does_not_wait_for_the_hook_that_notifies() {
    let project = TestProject::new().hook("Notification", "slow", "sleep 1000");
    let mut session = project.start_idle_session().await;
    session.prompt(SHELL_CALL_PROMPT);
    assert_eq!(approve_until_idle(&mut session).await, Some(TurnEnd::Answered));
    assert!(project.exists("ran"));
    // An immediate shutdown, as by Ctrl+D, cancels no turn and reports the hook that it ends.
    session.handle.end(Shutdown::Now, EndReason::Exit);
    let told = session.drain_events().await;
    assert_eq!(hook_warnings(&told), ["slow was still running at the end of the session, and was ended"]);
    assert!(!format!("{told:?}").contains("the turn was cancelled"));
}

#[tokio::test]
async fn a_late_hook_message_is_shown_when_it_arrives() {
    let later = "read _ <gate; echo '{\"systemMessage\": \"at last\"}'";
    let project = TestProject::new().gate("gate").hook("Notification", "late", later);
    let mut session = project.start_idle_session().await;
    session.prompt(SHELL_CALL_PROMPT);
    assert_eq!(approve_until_idle(&mut session).await, Some(TurnEnd::Answered));
    project.open_gate("gate").await;
    session
        .wait_for(|event| matches!(event, AgentEvent::Hook(HookEvent::Message { text, .. }) if text == "at last"))
        .await;
}

#[tokio::test]
async fn compression_does_not_wait_for_its_hook() {
    let project = TestProject::new().hook("PreCompress", "slow", "sleep 1000");
    let mut session = project.start_idle_session().await;
    for prompt in ["say one", "say two", "say three"] {
        session.run_prompt(prompt).await;
    }
    session.send(SessionCommand::Compress);
    session
        .wait_for(|event| {
            matches!(
                event,
                AgentEvent::Session(SessionEvent::Compressed { .. }) | AgentEvent::Notice(AgentNotice::Warning(_))
            )
        })
        .await;
    session.wait_until_idle().await;
    let told = session.finish().await;
    assert_eq!(hook_warnings(&told), ["slow was still running at the end of the session, and was ended"]);
}

#[tokio::test]
async fn a_session_end_hook_has_a_grace_period_and_its_kill_is_reported() {
    let project = TestProject::new().hook("SessionEnd", "slow", "sleep 1000").hook("SessionEnd", "quick", "echo bye");
    let session = project.start_idle_session().await;
    let told = session.finish().await;
    assert_eq!(
        hook_warnings(&told),
        [
            "slow was still running at the end of the session when its time was over, and was ended (`hooksConfig.sessionEndGrace` gives it more)"
        ]
    );
    let ended = |event: &&AgentEvent| matches!(event, AgentEvent::Hook(HookEvent::Finished { report, .. }) if report.event == EventKind::SessionEnd);
    assert_eq!(told.iter().filter(ended).count(), 2);
    assert!(
        told.iter().any(|event| matches!(event, AgentEvent::Hook(HookEvent::Message { text, .. }) if text == "bye"))
    );
}

#[tokio::test]
async fn a_cancelled_turn_ends_its_hooks() {
    let project = TestProject::new().hook("Notification", "slow", "sleep 1000");
    let mut session = project.start_idle_session().await;
    session.prompt(SHELL_CALL_PROMPT);
    session.wait_for(|event| matches!(event, AgentEvent::Hook(HookEvent::Started { .. }))).await;
    session.send(SessionCommand::Cancel);
    session.wait_for(|event| matches!(event, AgentEvent::Hook(HookEvent::Finished { .. }))).await;
}
