//! Advice holds nothing up: compression, an approved call and the end of a session go on beside their hooks.

use hookwright_agent::session::{Order, When};
use hookwright_agent::{AgentEvent, ApprovalReply, EndReason, TurnEnd};
use hookwright_hooks::EventKind;

use super::support::{Project, Running, is_idle};

/// Runs until nothing is under way, and says yes to every question.
async fn allow(session: &mut Running) -> Option<TurnEnd> {
    let mut end = None;
    loop {
        match session.next().await.unwrap() {
            AgentEvent::Approval(_, reply) => drop(reply.send(ApprovalReply::Once)),
            AgentEvent::TurnFinished(how) => end = Some(how),
            event if is_idle(&event) => return end,
            _ => {}
        }
    }
}

fn warnings(told: &[AgentEvent]) -> Vec<String> {
    let warning = |event: &AgentEvent| match event {
        AgentEvent::HookWarning { hook, text, .. } => Some(format!("{hook} {text}")),
        _ => None,
    };
    told.iter().filter_map(warning).collect()
}

const CALL: &str = "call run_shell_command {\"command\": \"touch ran\"}\nsay done";

#[tokio::test]
async fn an_approved_call_does_not_wait_for_the_hook_that_notifies() {
    let project = Project::new().hook("Notification", "slow", "sleep 1000");
    let mut session = project.session().await;
    session.prompt(CALL);
    assert_eq!(allow(&mut session).await, Some(TurnEnd::Answered));
    assert!(project.has("ran"));
    // Leaving at once, as Ctrl+D does: no turn is cancelled, and the hook's end is said.
    session.handle.end(When::Now, EndReason::Exit);
    let told = session.rest().await;
    assert_eq!(warnings(&told), ["slow was still running at the end of the session, and was ended"]);
    assert!(!format!("{told:?}").contains("the turn was cancelled"));
}

#[tokio::test]
async fn what_a_hook_says_later_is_shown_later() {
    let later = "read _ <gate; echo '{\"systemMessage\": \"at last\"}'";
    let project = Project::new().pipe("gate").hook("Notification", "late", later);
    let mut session = project.session().await;
    session.prompt(CALL);
    assert_eq!(allow(&mut session).await, Some(TurnEnd::Answered));
    project.let_go("gate").await;
    session.until(|event| matches!(event, AgentEvent::HookMessage { text, .. } if text == "at last")).await;
}

#[tokio::test]
async fn compression_does_not_wait_for_its_hook() {
    let project = Project::new().hook("PreCompress", "slow", "sleep 1000");
    let mut session = project.session().await;
    for prompt in ["say one", "say two", "say three"] {
        session.answer(prompt).await;
    }
    session.order(Order::Compress);
    session.until(|event| matches!(event, AgentEvent::Compressed { .. } | AgentEvent::Warning(_))).await;
    session.idle().await;
    let told = session.leave().await;
    assert_eq!(warnings(&told), ["slow was still running at the end of the session, and was ended"]);
}

#[tokio::test]
async fn a_session_end_hook_has_its_grace_and_its_end_is_said() {
    let project = Project::new().hook("SessionEnd", "slow", "sleep 1000").hook("SessionEnd", "quick", "echo bye");
    let session = project.session().await;
    let told = session.leave().await;
    assert_eq!(
        warnings(&told),
        [
            "slow was still running at the end of the session when its time was over, and was ended (`hooksConfig.sessionEndGrace` gives it more)"
        ]
    );
    let ended = |event: &&AgentEvent| matches!(event, AgentEvent::HookFinished { report, .. } if report.event == EventKind::SessionEnd);
    assert_eq!(told.iter().filter(ended).count(), 2);
    assert!(told.iter().any(|event| matches!(event, AgentEvent::HookMessage { text, .. } if text == "bye")));
}

#[tokio::test]
async fn a_cancelled_turn_ends_its_hooks() {
    let project = Project::new().hook("Notification", "slow", "sleep 1000");
    let mut session = project.session().await;
    session.prompt(CALL);
    session.until(|event| matches!(event, AgentEvent::HookStarted { .. })).await;
    session.order(Order::Cancel);
    session.until(|event| matches!(event, AgentEvent::HookFinished { .. })).await;
}
