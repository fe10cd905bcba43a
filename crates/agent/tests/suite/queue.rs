//! What a session does while it is busy: prompts wait, are taken back and given back, and other orders act at once.

use hookwright_agent::session::{ChatOrder, Order};
use hookwright_agent::{Activity, AgentEvent, TurnEnd};
use serde_json::json;

use super::support::{Project, Running, is_idle, reply_text, turn_end};

/// A session whose prompts with the word `hold` wait at a pipe.
fn holding() -> Project {
    Project::new().pipe("gate").hook("BeforeAgent", "hold", "case $input in *hold*) read _ <gate;; esac")
}

/// Begins a prompt that is held, and lets others wait behind it.
async fn held(project: &Project, waiting: &[&str]) -> Running {
    let mut session = project.session().await;
    session.prompt("say hold");
    session.until(|event| matches!(event, AgentEvent::PromptReceived { .. })).await;
    for prompt in waiting {
        session.prompt(prompt);
    }
    if !waiting.is_empty() {
        session.until(|event| matches!(event, AgentEvent::Waiting(all) if all == waiting)).await;
    }
    session
}

#[tokio::test]
async fn prompts_wait_and_begin_in_order() {
    let project = holding();
    let mut session = held(&project, &["say two", "/not a command, say three"]).await;
    project.let_go("gate").await;
    let (mut begun, mut waiting, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    while ends.len() < 3 {
        match session.next().await.unwrap() {
            AgentEvent::Begun(typed) => begun.push(typed),
            AgentEvent::Waiting(all) => waiting.push(all.len()),
            AgentEvent::TurnFinished(end) => ends.push((begun.len(), end)),
            _ => {}
        }
    }
    assert_eq!(begun, ["say two", "/not a command, say three"]);
    assert_eq!(waiting, [1, 0]);
    assert_eq!(ends, [(0, TurnEnd::Answered), (1, TurnEnd::Answered), (2, TurnEnd::Answered)], "one after the other");
    assert_eq!(project.inputs_of("hold", "prompt"), ["say hold", "say two", "/not a command, say three"]);
}

#[tokio::test]
async fn a_cancel_ends_the_turn_and_gives_back_what_waits() {
    let project = holding();
    let mut session = held(&project, &["say two", "say three"]).await;
    session.order(Order::Cancel);
    assert_eq!(session.find(turn_end).await, TurnEnd::Cancelled);
    let back = session
        .find(|event| match event {
            AgentEvent::GivenBack(prompts) => Some(prompts),
            _ => None,
        })
        .await;
    assert_eq!(back, ["say two", "say three"]);
    session.until(|event| matches!(event, AgentEvent::Waiting(all) if all.is_empty())).await;
    session.idle().await;
    assert_eq!(session.answer("say four").await, ("four".to_owned(), TurnEnd::Answered));
    let begun = project.inputs_of("hold", "prompt");
    assert!(!begun.contains(&json!("say two")) && !begun.contains(&json!("say three")), "{begun:?}");
}

#[tokio::test]
async fn the_last_prompt_that_waits_can_be_taken_back() {
    let project = holding();
    let mut session = held(&project, &["say two", "say three"]).await;
    session.order(Order::TakeBack);
    session.until(|event| matches!(event, AgentEvent::GivenBack(all) if all == &["say three"])).await;
    session.until(|event| matches!(event, AgentEvent::Waiting(all) if all == &["say two"])).await;
    project.let_go("gate").await;
    session.idle().await;
    session.idle().await;
    // Nothing waits: nothing is given back.
    session.order(Order::TakeBack);
    let rest = session.leave().await;
    assert!(!rest.iter().any(|event| matches!(event, AgentEvent::GivenBack(_) | AgentEvent::Begun(_))), "{rest:?}");
    assert_eq!(project.inputs_of("hold", "prompt"), ["say hold", "say two"]);
}

#[tokio::test]
async fn not_more_prompts_wait_than_anybody_types() {
    let project = holding();
    let mut session = held(&project, &[]).await;
    (0..101).for_each(|at| session.prompt(&format!("say {at}")));
    let refused = session.reply().await;
    assert!(refused.contains("100 prompts wait already"), "{refused}");
    session.order(Order::Cancel);
    let back = session
        .find(|event| match event {
            AgentEvent::GivenBack(prompts) => Some(prompts.len()),
            _ => None,
        })
        .await;
    assert_eq!(back, 100);
}

#[tokio::test]
async fn everything_for_the_agent_takes_its_turn() {
    let project = holding();
    let mut session = held(&project, &[]).await;
    session.order(Order::Shell("echo from the user".to_owned()));
    session.order(Order::Clear);
    session.prompt("say after");
    session.until(|event| matches!(event, AgentEvent::Waiting(all) if all.len() == 3)).await;
    project.let_go("gate").await;
    let mut activities = Vec::new();
    let mut typed = Vec::new();
    while typed.len() < 3 {
        match session.next().await.unwrap() {
            AgentEvent::Busy(activity) => activities.push(activity),
            AgentEvent::Begun(what) => typed.push(what),
            _ => {}
        }
    }
    session.idle().await;
    assert_eq!(typed, ["!echo from the user", "/clear", "say after"]);
    assert_eq!(activities, [Activity::RunningCommand, Activity::Clearing]);
}

#[tokio::test]
async fn other_orders_are_answered_at_once_while_the_agent_works() {
    let project = holding();
    let mut session = held(&project, &[]).await;
    session.order(Order::CustomCommands);
    assert!(session.reply().await.contains("custom commands"));
    session.order(Order::Resume(Some("1".to_owned())));
    assert!(!session.reply().await.is_empty());
    project.let_go("gate").await;
    assert_eq!(session.find(turn_end).await, TurnEnd::Answered);
}

#[tokio::test]
async fn another_model_chosen_meanwhile_is_asked_next_and_named_from_then_on() {
    let project = holding().hook("BeforeModel", "model", "");
    let mut session = held(&project, &[]).await;
    session.order(Order::Model(Some("offline-2".to_owned())));
    session.until(|event| matches!(event, AgentEvent::ModelChanged(name) if name == "offline-2")).await;
    project.let_go("gate").await;
    let named = session
        .find(|event| match event {
            AgentEvent::Idle { model, .. } => Some(model),
            _ => None,
        })
        .await;
    assert_eq!((named.as_str(), session.handle.view().model.as_str()), ("offline-2", "offline-2"));
    session.answer("say hello").await;
    let asked: Vec<_> = project.inputs("model").iter().map(|input| input["llm_request"]["model"].clone()).collect();
    assert_eq!(asked, [json!("offline"), json!("offline-2")]);
}

#[tokio::test]
async fn a_kept_conversation_is_not_gone_on_with_while_the_agent_works() {
    let project = holding();
    let mut session = project.session().await;
    session.answer("say one").await;
    session.order(Order::Chat(ChatOrder::Save("mine".to_owned())));
    session.reply().await;
    session.prompt("say hold");
    session.until(|event| matches!(event, AgentEvent::PromptReceived { .. })).await;
    let id = session.handle.view().session_id();
    session.order(Order::Chat(ChatOrder::Resume("mine".to_owned())));
    session.order(Order::CustomCommands);
    let mut replies = Vec::new();
    while !replies.iter().any(|reply: &String| reply.contains("custom commands")) {
        replies.push(session.reply().await);
    }
    assert!(replies[0].contains("not while the agent works"), "{replies:?}");
    assert_eq!(replies.len(), 2, "nobody says that it goes on: {replies:?}");
    project.let_go("gate").await;
    session.idle().await;
    assert_eq!(session.handle.view().session_id(), id);
    session.order(Order::Resume(None));
    // Nor is there a copy that nobody asked for.
    assert_eq!(session.reply().await, "there are no earlier sessions of this project");
}

#[tokio::test]
async fn what_the_user_runs_is_told_to_the_model_with_the_next_prompt() {
    let project = Project::new().hook("BeforeModel", "model", "");
    let mut session = project.session().await;
    session.order(Order::Shell("echo from the user".to_owned()));
    let end = session
        .find(|event| match event {
            AgentEvent::ToolFinished(end) => Some(end),
            _ => None,
        })
        .await;
    assert!(end.content.contains("from the user") && end.error.is_none());
    session.idle().await;
    session.answer("say hello").await;
    let told = project.inputs("model")[0]["llm_request"]["messages"].to_string();
    assert!(told.contains("I ran this command myself: echo from the user"), "{told}");
    let rest = session.leave().await;
    assert!(rest.iter().all(|event| reply_text(event).is_none() && !is_idle(event)), "{rest:?}");
}
