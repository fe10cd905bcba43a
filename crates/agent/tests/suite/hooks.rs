//! Hooks as a session's user handles them: listed, switched, trusted, fired alone; at once, and for the next session.

use hookwright_agent::AgentEvent;
use hookwright_agent::session::{Armed, HookEntry, HooksOrder, Order, Reply};
use serde_json::{Value, json};

use super::support::{Project, Running};

fn counting() -> Project {
    Project::new().hook("BeforeAgent", "one", "").hook("AfterAgent", "two", "")
}

fn counts(project: &Project) -> (usize, usize) {
    (project.inputs("one").len(), project.inputs("two").len())
}

async fn switch(session: &mut Running, order: HooksOrder) -> String {
    session.order(Order::Hooks(order));
    session.reply().await
}

async fn list(session: &mut Running) -> Vec<HookEntry> {
    session.order(Order::Hooks(HooksOrder::List));
    session
        .find(|event| match event {
            AgentEvent::Reply(Reply::Hooks(hooks)) => Some(hooks),
            _ => None,
        })
        .await
}

fn words(hooks: &[HookEntry]) -> Vec<(&str, &str)> {
    let mut words: Vec<_> = hooks.iter().map(|entry| (entry.hook.id(), entry.state.word())).collect();
    words.sort_unstable();
    words
}

#[tokio::test]
async fn a_hook_is_switched_at_once_and_for_the_next_session() {
    let project = counting();
    let mut session = project.session().await;
    session.answer("say hello").await;
    assert_eq!(counts(&project), (1, 1));
    assert!(switch(&mut session, HooksOrder::Disable("one".to_owned())).await.starts_with("disabled one in "));
    assert_eq!(words(&list(&mut session).await), [("one", "disabled"), ("two", "armed")]);
    session.answer("say hello").await;
    assert_eq!(counts(&project), (1, 2));
    session.leave().await;

    let settings: Value = serde_json::from_str(&project.read(".gemini/settings.json")).unwrap();
    assert_eq!(settings["hooksConfig"]["disabled"], json!(["one"]));
    let mut session = project.session().await;
    session.answer("say hello").await;
    assert_eq!(counts(&project), (1, 3));
    assert!(switch(&mut session, HooksOrder::Enable("one".to_owned())).await.starts_with("enabled one in "));
    session.answer("say hello").await;
    assert_eq!(counts(&project), (2, 4));
}

#[tokio::test]
async fn all_hooks_are_switched_together() {
    let project = counting();
    let mut session = project.session().await;
    assert!(switch(&mut session, HooksOrder::DisableAll).await.starts_with("disabled one, two in "));
    session.answer("say hello").await;
    assert_eq!(counts(&project), (0, 0));
    assert!(switch(&mut session, HooksOrder::EnableAll).await.starts_with("enabled one, two in "));
    session.answer("say hello").await;
    assert_eq!(counts(&project), (1, 1));
}

#[tokio::test]
async fn a_hook_that_is_not_there_is_said_and_nothing_is_written() {
    let project = counting();
    let mut session = project.session().await;
    let before = project.read(".gemini/settings.json");
    assert!(switch(&mut session, HooksOrder::Disable("three".to_owned())).await.contains("three"));
    assert_eq!(project.read(".gemini/settings.json"), before);
}

#[tokio::test]
async fn a_hook_is_switched_off_in_the_middle_of_a_turn() {
    let project = Project::new().pipe("gate").hook("BeforeAgent", "hold", "read _ <gate").hook("AfterAgent", "two", "");
    let mut session = project.session().await;
    session.prompt("say hello");
    session.until(|event| matches!(event, AgentEvent::HookStarted { .. })).await;
    switch(&mut session, HooksOrder::Disable("two".to_owned())).await;
    project.let_go("gate").await;
    session.idle().await;
    assert!(project.inputs("two").is_empty());
}

#[tokio::test]
async fn a_hook_that_waits_for_trust_runs_once_it_has_it() {
    let project = counting();
    std::fs::create_dir_all(project.home().join(".gemini")).unwrap();
    let review = json!({"security": {"hooks": {"review": "block"}}}).to_string();
    std::fs::write(project.home().join(".gemini/settings.json"), review).unwrap();
    let mut session = project.session().await;
    session.answer("say hello").await;
    assert_eq!(counts(&project), (0, 0));
    assert!(list(&mut session).await.iter().all(|entry| matches!(entry.state, Armed::Untrusted(_))));
    assert!(switch(&mut session, HooksOrder::Trust("one".to_owned())).await.starts_with("trusted one"));
    session.answer("say hello").await;
    assert_eq!(counts(&project), (1, 0));
    session.leave().await;

    let mut session = project.session().await;
    assert_eq!(words(&list(&mut session).await), [("one", "armed"), ("two", "untrusted")]);
    // What waits is spoken of by the session itself; the answer to the order comes after it.
    session.order(Order::Hooks(HooksOrder::ShowUntrusted));
    while !session.reply().await.starts_with("two on ") {}
    session.answer("say hello").await;
    assert_eq!(counts(&project), (2, 0), "what was only shown runs");
    session.order(Order::Hooks(HooksOrder::TrustAll));
    while !session.reply().await.starts_with("trusted two") {}
    session.answer("say hello").await;
    assert_eq!(counts(&project), (3, 1));
    assert!(switch(&mut session, HooksOrder::Trust("nobody".to_owned())).await.contains("no hook is called `nobody`"));
    assert!(switch(&mut session, HooksOrder::TrustAll).await.starts_with("there is nothing to trust"));
}

#[tokio::test]
async fn one_hook_is_fired_alone() {
    let project = counting();
    let mut session = project.session().await;
    let hook = list(&mut session).await.into_iter().find(|entry| entry.hook.id() == "two").unwrap().hook;
    session.handle.canary(hook);
    let report = session
        .find(|event| match event {
            AgentEvent::HookFinished { report, .. } => Some(report),
            _ => None,
        })
        .await;
    assert_eq!(report.hook, "two");
    assert_eq!(counts(&project), (0, 1));
}
