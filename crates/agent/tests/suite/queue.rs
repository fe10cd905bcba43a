//! A busy session: prompts are queued, recalled and returned, and other commands act at once.

use hookwright_agent::session::{ChatAction, SessionCommand};
use hookwright_agent::{AgentEvent, SessionActivity, SessionEvent, ToolEvent, TurnEnd, TurnEvent};
use serde_json::json;

use super::support::{RunningSession, TestProject, is_idle, reply_text, turn_end};

/// A project whose hook holds prompts with the word `hold` at a named pipe.
fn project_with_gate() -> TestProject {
    TestProject::new().gate("gate").hook("BeforeAgent", "hold", "case $input in *hold*) read _ <gate;; esac")
}

/// Starts a prompt that is held, and queues others behind it.
async fn session_with_held_prompt(project: &TestProject, waiting: &[&str]) -> RunningSession {
    let mut session = project.start_idle_session().await;
    session.prompt("say hold");
    session.wait_for(|event| matches!(event, AgentEvent::Turn(TurnEvent::Received { .. }))).await;
    for prompt in waiting {
        session.prompt(prompt);
    }
    if !waiting.is_empty() {
        session
            .wait_for(|event| matches!(event, AgentEvent::Session(SessionEvent::PromptsQueued(all)) if all == waiting))
            .await;
    }
    session
}

#[tokio::test]
async fn prompts_wait_and_begin_in_order() {
    let project = project_with_gate();
    let mut session = session_with_held_prompt(&project, &["say two", "/not a command, say three"]).await;
    project.open_gate("gate").await;
    let (mut begun, mut waiting, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    while ends.len() < 3 {
        match session.next_event().await.unwrap() {
            AgentEvent::Session(SessionEvent::InputStarted(typed)) => begun.push(typed),
            AgentEvent::Session(SessionEvent::PromptsQueued(all)) => waiting.push(all.len()),
            AgentEvent::Turn(TurnEvent::Finished(end)) => ends.push((begun.len(), end)),
            _ => {}
        }
    }
    assert_eq!(begun, ["say two", "/not a command, say three"]);
    assert_eq!(waiting, [1, 0]);
    assert_eq!(ends, [(0, TurnEnd::Answered), (1, TurnEnd::Answered), (2, TurnEnd::Answered)], "one after the other");
    assert_eq!(project.input_fields("hold", "prompt"), ["say hold", "say two", "/not a command, say three"]);
}

#[tokio::test]
async fn a_cancel_ends_the_turn_and_gives_back_what_waits() {
    let project = project_with_gate();
    let mut session = session_with_held_prompt(&project, &["say two", "say three"]).await;
    session.send(SessionCommand::Cancel);
    assert_eq!(session.find_event(turn_end).await, TurnEnd::Cancelled);
    let back = session
        .find_event(|event| match event {
            AgentEvent::Session(SessionEvent::PromptsReturned(prompts)) => Some(prompts),
            _ => None,
        })
        .await;
    assert_eq!(back, ["say two", "say three"]);
    session
        .wait_for(|event| matches!(event, AgentEvent::Session(SessionEvent::PromptsQueued(all)) if all.is_empty()))
        .await;
    session.wait_until_idle().await;
    assert_eq!(session.run_prompt("say four").await, ("four".to_owned(), TurnEnd::Answered));
    let begun = project.input_fields("hold", "prompt");
    assert!(!begun.contains(&json!("say two")) && !begun.contains(&json!("say three")), "{begun:?}");
}

#[tokio::test]
async fn the_last_prompt_that_waits_can_be_taken_back() {
    let project = project_with_gate();
    let mut session = session_with_held_prompt(&project, &["say two", "say three"]).await;
    session.send(SessionCommand::RecallPrompt);
    session
        .wait_for(
            |event| matches!(event, AgentEvent::Session(SessionEvent::PromptsReturned(all)) if all == &["say three"]),
        )
        .await;
    session
        .wait_for(|event| matches!(event, AgentEvent::Session(SessionEvent::PromptsQueued(all)) if all == &["say two"]))
        .await;
    project.open_gate("gate").await;
    session.wait_until_idle().await;
    session.wait_until_idle().await;
    // The queue is empty, so no prompt is returned.
    session.send(SessionCommand::RecallPrompt);
    let rest = session.finish().await;
    assert!(
        !rest.iter().any(|event| matches!(
            event,
            AgentEvent::Session(SessionEvent::PromptsReturned(_)) | AgentEvent::Session(SessionEvent::InputStarted(_))
        )),
        "{rest:?}"
    );
    assert_eq!(project.input_fields("hold", "prompt"), ["say hold", "say two"]);
}

#[tokio::test]
async fn the_queue_of_prompts_is_bounded() {
    let project = project_with_gate();
    let mut session = session_with_held_prompt(&project, &[]).await;
    (0..101).for_each(|at| session.prompt(&format!("say {at}")));
    let refused = session.next_reply_text().await;
    assert!(refused.contains("100 prompts are queued already"), "{refused}");
    session.send(SessionCommand::Cancel);
    let back = session
        .find_event(|event| match event {
            AgentEvent::Session(SessionEvent::PromptsReturned(prompts)) => Some(prompts.len()),
            _ => None,
        })
        .await;
    assert_eq!(back, 100);
}

#[tokio::test]
async fn commands_for_the_agent_are_queued() {
    let project = project_with_gate();
    let mut session = session_with_held_prompt(&project, &[]).await;
    session.send(SessionCommand::UserShell("echo from the user".to_owned()));
    session.send(SessionCommand::Clear);
    session.prompt("say after");
    session
        .wait_for(|event| matches!(event, AgentEvent::Session(SessionEvent::PromptsQueued(all)) if all.len() == 3))
        .await;
    project.open_gate("gate").await;
    let mut activities = Vec::new();
    let mut typed = Vec::new();
    while typed.len() < 3 {
        match session.next_event().await.unwrap() {
            AgentEvent::Session(SessionEvent::Busy(activity)) => activities.push(activity),
            AgentEvent::Session(SessionEvent::InputStarted(what)) => typed.push(what),
            _ => {}
        }
    }
    session.wait_until_idle().await;
    assert_eq!(typed, ["!echo from the user", "/clear", "say after"]);
    assert_eq!(activities, [SessionActivity::RunningCommand, SessionActivity::Clearing]);
}

#[tokio::test]
async fn other_commands_are_answered_while_the_agent_works() {
    let project = project_with_gate();
    let mut session = session_with_held_prompt(&project, &[]).await;
    session.send(SessionCommand::ListCustomCommands);
    assert!(session.next_reply_text().await.contains("custom commands"));
    session.send(SessionCommand::Resume(Some("1".to_owned())));
    assert!(!session.next_reply_text().await.is_empty());
    project.open_gate("gate").await;
    assert_eq!(session.find_event(turn_end).await, TurnEnd::Answered);
}

#[tokio::test]
async fn another_model_chosen_meanwhile_is_asked_next_and_named_from_then_on() {
    let project = project_with_gate().hook("BeforeModel", "model", "");
    let mut session = session_with_held_prompt(&project, &[]).await;
    session.send(SessionCommand::Model(Some("offline-2".to_owned())));
    session
        .wait_for(|event| matches!(event, AgentEvent::Session(SessionEvent::ModelChanged(name)) if name == "offline-2"))
        .await;
    project.open_gate("gate").await;
    let named = session
        .find_event(|event| match event {
            AgentEvent::Session(SessionEvent::Idle { model, .. }) => Some(model),
            _ => None,
        })
        .await;
    assert_eq!((named.as_str(), session.handle.view().model.as_str()), ("offline-2", "offline-2"));
    session.run_prompt("say hello").await;
    let asked: Vec<_> = project.inputs("model").iter().map(|input| input["llm_request"]["model"].clone()).collect();
    assert_eq!(asked, [json!("offline"), json!("offline-2")]);
}

#[tokio::test]
async fn a_kept_conversation_is_not_gone_on_with_while_the_agent_works() {
    let project = project_with_gate();
    let mut session = project.start_idle_session().await;
    session.run_prompt("say one").await;
    session.send(SessionCommand::Chat(ChatAction::Save("mine".to_owned())));
    session.next_reply_text().await;
    session.prompt("say hold");
    session.wait_for(|event| matches!(event, AgentEvent::Turn(TurnEvent::Received { .. }))).await;
    let id = session.handle.view().session_id();
    session.send(SessionCommand::Chat(ChatAction::Resume("mine".to_owned())));
    session.send(SessionCommand::ListCustomCommands);
    let mut replies = Vec::new();
    while !replies.iter().any(|reply: &String| reply.contains("custom commands")) {
        replies.push(session.next_reply_text().await);
    }
    assert!(replies[0].contains("not while the agent works"), "{replies:?}");
    assert_eq!(replies.len(), 2, "nobody says that it goes on: {replies:?}");
    project.open_gate("gate").await;
    session.wait_until_idle().await;
    assert_eq!(session.handle.view().session_id(), id);
    session.send(SessionCommand::Resume(None));
    // No copy was made either.
    assert_eq!(session.next_reply_text().await, "there are no earlier sessions of this project");
}

#[tokio::test]
async fn output_of_the_users_command_reaches_the_model_with_the_next_prompt() {
    let project = TestProject::new().hook("BeforeModel", "model", "");
    let mut session = project.start_idle_session().await;
    session.send(SessionCommand::UserShell("echo from the user".to_owned()));
    let end = session
        .find_event(|event| match event {
            AgentEvent::Tool(ToolEvent::Finished(end)) => Some(end),
            _ => None,
        })
        .await;
    assert!(end.content.contains("from the user") && end.error.is_none());
    session.wait_until_idle().await;
    session.run_prompt("say hello").await;
    let told = project.inputs("model")[0]["llm_request"]["messages"].to_string();
    assert!(told.contains("I ran this command myself: echo from the user"), "{told}");
    let rest = session.finish().await;
    assert!(rest.iter().all(|event| reply_text(event).is_none() && !is_idle(event)), "{rest:?}");
}
