//! Hook commands of a session: list, switch, trust and fire hooks, with effect at once and in the next session.

use hookwright_agent::session::{ArmedState, HookListEntry, HooksAction, Reply, SessionCommand};
use hookwright_agent::{AgentEvent, HookEvent, SessionEvent};
use serde_json::{Value, json};

use super::support::{RunningSession, TestProject};

fn project_with_two_hooks() -> TestProject {
    TestProject::new().hook("BeforeAgent", "one", "").hook("AfterAgent", "two", "")
}

fn run_counts(project: &TestProject) -> (usize, usize) {
    (project.inputs("one").len(), project.inputs("two").len())
}

async fn switch_hooks(session: &mut RunningSession, order: HooksAction) -> String {
    session.send(SessionCommand::Hooks(order));
    session.next_reply_text().await
}

async fn list_hooks(session: &mut RunningSession) -> Vec<HookListEntry> {
    session.send(SessionCommand::Hooks(HooksAction::List));
    session
        .find_event(|event| match event {
            AgentEvent::Session(SessionEvent::Reply(Reply::Hooks(hooks))) => Some(hooks),
            _ => None,
        })
        .await
}

fn hook_states(hooks: &[HookListEntry]) -> Vec<(&str, &str)> {
    let mut words: Vec<_> = hooks.iter().map(|entry| (entry.hook.id(), entry.state.as_str())).collect();
    words.sort_unstable();
    words
}

#[tokio::test]
async fn a_hook_is_switched_at_once_and_for_the_next_session() {
    let project = project_with_two_hooks();
    let mut session = project.start_idle_session().await;
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (1, 1));
    assert!(switch_hooks(&mut session, HooksAction::Disable("one".to_owned())).await.starts_with("disabled one in "));
    assert_eq!(hook_states(&list_hooks(&mut session).await), [("one", "disabled"), ("two", "armed")]);
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (1, 2));
    session.finish().await;

    let settings: Value = serde_json::from_str(&project.read(".gemini/settings.json")).unwrap();
    assert_eq!(settings["hooksConfig"]["disabled"], json!(["one"]));
    let mut session = project.start_idle_session().await;
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (1, 3));
    assert!(switch_hooks(&mut session, HooksAction::Enable("one".to_owned())).await.starts_with("enabled one in "));
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (2, 4));
}

#[tokio::test]
async fn all_hooks_are_switched_together() {
    let project = project_with_two_hooks();
    let mut session = project.start_idle_session().await;
    assert!(switch_hooks(&mut session, HooksAction::DisableAll).await.starts_with("disabled one, two in "));
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (0, 0));
    assert!(switch_hooks(&mut session, HooksAction::EnableAll).await.starts_with("enabled one, two in "));
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (1, 1));
}

#[tokio::test]
async fn an_unknown_hook_is_reported_and_nothing_is_written() {
    let project = project_with_two_hooks();
    let mut session = project.start_idle_session().await;
    let before = project.read(".gemini/settings.json");
    assert!(switch_hooks(&mut session, HooksAction::Disable("three".to_owned())).await.contains("three"));
    assert_eq!(project.read(".gemini/settings.json"), before);
}

#[tokio::test]
async fn a_hook_is_switched_off_in_the_middle_of_a_turn() {
    let project =
        TestProject::new().gate("gate").hook("BeforeAgent", "hold", "read _ <gate").hook("AfterAgent", "two", "");
    let mut session = project.start_idle_session().await;
    session.prompt("say hello");
    session.wait_for(|event| matches!(event, AgentEvent::Hook(HookEvent::Started { .. }))).await;
    switch_hooks(&mut session, HooksAction::Disable("two".to_owned())).await;
    project.open_gate("gate").await;
    session.wait_until_idle().await;
    assert!(project.inputs("two").is_empty());
}

#[tokio::test]
async fn a_hook_that_waits_for_trust_runs_once_it_has_it() {
    let project = project_with_two_hooks();
    std::fs::create_dir_all(project.home_dir().join(".gemini")).unwrap();
    let review = json!({"security": {"hooks": {"review": "block"}}}).to_string();
    std::fs::write(project.home_dir().join(".gemini/settings.json"), review).unwrap();
    let mut session = project.start_idle_session().await;
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (0, 0));
    assert!(list_hooks(&mut session).await.iter().all(|entry| matches!(entry.state, ArmedState::Untrusted(_))));
    assert!(switch_hooks(&mut session, HooksAction::Trust("one".to_owned())).await.starts_with("trusted one"));
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (1, 0));
    session.finish().await;

    let mut session = project.start_idle_session().await;
    assert_eq!(hook_states(&list_hooks(&mut session).await), [("one", "armed"), ("two", "untrusted")]);
    // The session itself reports what waits for trust; the command's reply comes after that.
    session.send(SessionCommand::Hooks(HooksAction::ShowUntrusted));
    while !session.next_reply_text().await.starts_with("two on ") {}
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (2, 0), "what was only shown runs");
    session.send(SessionCommand::Hooks(HooksAction::TrustAll));
    while !session.next_reply_text().await.starts_with("trusted two") {}
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (3, 1));
    assert!(
        switch_hooks(&mut session, HooksAction::Trust("nobody".to_owned()))
            .await
            .contains("no hook is called `nobody`")
    );
    assert!(switch_hooks(&mut session, HooksAction::TrustAll).await.starts_with("there is nothing to trust"));
}

#[tokio::test]
async fn one_hook_is_fired_alone() {
    let project = project_with_two_hooks();
    let mut session = project.start_idle_session().await;
    let hook = list_hooks(&mut session).await.into_iter().find(|entry| entry.hook.id() == "two").unwrap().hook;
    session.handle.fire_canary(hook);
    let report = session
        .find_event(|event| match event {
            AgentEvent::Hook(HookEvent::Finished { report, .. }) => Some(report),
            _ => None,
        })
        .await;
    assert_eq!(report.hook, "two");
    assert_eq!(run_counts(&project), (0, 1));
}
