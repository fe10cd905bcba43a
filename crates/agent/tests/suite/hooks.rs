//! Hook commands of a session: list, switch, trust and fire hooks, with effect at once and in the next session.

use hookwright_agent::session::{ArmedState, HookListEntry, HooksAction, Reply, SessionCommand};
use hookwright_agent::{AgentEvent, HookEvent, SessionEvent};
use hookwright_settings::administration::{
    GuardLossConsent, HookSelection, HookSwitchOutcome, HookSwitchRefusal, HookSwitchRequest, HookTrustRefusal,
    StoredConfig, switch_hooks,
};
use hookwright_settings::{LoadOptions, ProcessEnv};
use serde_json::{Value, json};

use super::support::{RunningSession, TestProject};

fn project_with_two_hooks() -> TestProject {
    TestProject::new().hook("BeforeAgent", "one", "").hook("AfterAgent", "two", "")
}

fn run_counts(project: &TestProject) -> (usize, usize) {
    (project.inputs("one").len(), project.inputs("two").len())
}

/// Trusts hooks, and returns which are trusted, and why not more.
async fn trusted_in_session(
    session: &mut RunningSession,
    order: HooksAction,
) -> (Vec<String>, Option<HookTrustRefusal>) {
    session.send(SessionCommand::Hooks(order));
    let outcome = session
        .find_event(|event| match event {
            AgentEvent::Session(SessionEvent::Reply(Reply::HookTrust(outcome))) => Some(outcome),
            _ => None,
        })
        .await;
    (outcome.hooks.into_iter().map(|one| one.hook).collect(), outcome.refusal)
}

async fn switch_in_session(session: &mut RunningSession, order: HooksAction) -> HookSwitchOutcome {
    session.send(SessionCommand::Hooks(order));
    session
        .find_event(|event| match event {
            AgentEvent::Session(SessionEvent::Reply(Reply::HookSwitch(outcome))) => Some(*outcome),
            _ => None,
        })
        .await
}

fn named(name: &str) -> HookSelection {
    HookSelection::Named(name.to_owned())
}

fn disable(name: &str) -> HooksAction {
    HooksAction::Switch(HookSwitchRequest::disable(named(name), GuardLossConsent::Missing))
}

/// Loads the configuration of a project without a session, as sub-commands do.
fn stored_config(project: &TestProject) -> StoredConfig {
    project.write_settings(&json!({}));
    let world = ProcessEnv::new(project.environment(), project.project_dir());
    StoredConfig::load(&world, LoadOptions { project: project.project_dir(), ..LoadOptions::default() })
}

/// Returns what an outcome says, without the folder of the test's project.
fn outcome_json(outcome: &HookSwitchOutcome, project: &TestProject) -> String {
    let root = project.outside_path("");
    serde_json::to_string_pretty(outcome).unwrap().replace(&*root.to_string_lossy(), "")
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
    let outcome = switch_in_session(&mut session, disable("one")).await;
    assert_eq!((outcome.hooks, outcome.changed_files.len()), (vec!["one".to_owned()], 1));
    assert_eq!(hook_states(&list_hooks(&mut session).await), [("one", "disabled"), ("two", "armed")]);
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (1, 2));
    session.finish().await;

    let settings: Value = serde_json::from_str(&project.read(".gemini/settings.json")).unwrap();
    assert_eq!(settings["hooksConfig"]["disabled"], json!(["one"]));
    let mut session = project.start_idle_session().await;
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (1, 3));
    let enable = HooksAction::Switch(HookSwitchRequest::enable(named("one")));
    assert!(switch_in_session(&mut session, enable).await.is_complete());
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (2, 4));
}

#[tokio::test]
async fn all_hooks_are_switched_together() {
    let project = project_with_two_hooks();
    let mut session = project.start_idle_session().await;
    let all = HookSwitchRequest::disable(HookSelection::All, GuardLossConsent::Missing);
    assert_eq!(switch_in_session(&mut session, HooksAction::Switch(all)).await.hooks, ["one", "two"]);
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (0, 0));
    let all = HookSwitchRequest::enable(HookSelection::All);
    assert_eq!(switch_in_session(&mut session, HooksAction::Switch(all)).await.hooks, ["one", "two"]);
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (1, 1));
}

#[tokio::test]
async fn an_unknown_hook_is_reported_and_nothing_is_written() {
    let project = project_with_two_hooks();
    let mut session = project.start_idle_session().await;
    let before = project.read(".gemini/settings.json");
    let outcome = switch_in_session(&mut session, disable("three")).await;
    assert!(matches!(outcome.refusals.as_slice(), [HookSwitchRefusal::Unknown(_)]), "{outcome:?}");
    assert_eq!(project.read(".gemini/settings.json"), before);
}

/// The sub-command and the command of a session are one action: the same outcome, and the same files after it.
#[tokio::test]
async fn a_switch_is_the_same_in_a_session_and_outside() {
    use GuardLossConsent::{Given, Missing};
    let steps = [
        HookSwitchRequest::disable(named("one"), Missing),
        HookSwitchRequest::disable(named("wall"), Missing),
        HookSwitchRequest::disable(named("wall"), Given),
        HookSwitchRequest::enable(named("one")),
        HookSwitchRequest::enable(named("off")),
        HookSwitchRequest::enable(named("nobody")),
        HookSwitchRequest::enable(HookSelection::All),
        HookSwitchRequest::disable(HookSelection::All, Missing),
        HookSwitchRequest::disable(HookSelection::All, Given),
    ];
    for request in steps {
        let project = || {
            let project = project_with_two_hooks()
                .hook_with("BeforeAgent", "wall", json!({"guard": true}), "")
                .hook_with("AfterAgent", "off", json!({"enabled": false}), "");
            project.write_user_settings(&json!({"hooksConfig": {"disabled": ["one"]}}));
            project
        };
        let (inside, outside) = (project(), project());
        let mut session = inside.start_idle_session().await;
        let from_session = switch_in_session(&mut session, HooksAction::Switch(request.clone())).await;
        let direct = switch_hooks(&stored_config(&outside), &request);
        assert_eq!(outcome_json(&from_session, &inside), outcome_json(&direct, &outside));
        for file in ["project/.gemini/settings.json", "home/.gemini/settings.json"] {
            let text =
                |project: &TestProject| hookwright_testkit::fs::read_to_string(project.outside_path(file)).unwrap();
            assert_eq!(text(&inside), text(&outside), "{request:?}");
        }
    }
}

/// A guard is disabled by its own settings, with the user's consent, and takes no part from then on.
#[tokio::test]
async fn a_guard_is_disabled_with_consent_only() {
    let project = TestProject::new().hook_with("BeforeAgent", "wall", json!({"guard": true}), "echo no >&2; exit 2");
    let mut session = project.start_idle_session().await;
    let before = project.read(".gemini/settings.json");
    let outcome = switch_in_session(&mut session, disable("wall")).await;
    assert_eq!(outcome.guard_without_consent(), Some("wall"));
    assert_eq!(project.read(".gemini/settings.json"), before);
    session.run_prompt("say hello").await;
    let consented = HooksAction::Switch(HookSwitchRequest::disable(named("wall"), GuardLossConsent::Given));
    assert_eq!(switch_in_session(&mut session, consented).await.disabled_guards, ["wall"]);
    session.run_prompt("say hello").await;
    assert_eq!(project.inputs("wall").len(), 1);
}

#[tokio::test]
async fn a_hook_is_switched_off_in_the_middle_of_a_turn() {
    let project =
        TestProject::new().gate("gate").hook("BeforeAgent", "hold", "read _ <gate").hook("AfterAgent", "two", "");
    let mut session = project.start_idle_session().await;
    session.prompt("say hello");
    session.wait_for(|event| matches!(event, AgentEvent::Hook(HookEvent::Started { .. }))).await;
    switch_in_session(&mut session, disable("two")).await;
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
    assert_eq!(
        trusted_in_session(&mut session, HooksAction::Trust(named("one"))).await,
        (vec!["one".to_owned()], None)
    );
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (1, 0));
    session.finish().await;

    let mut session = project.start_idle_session().await;
    assert_eq!(hook_states(&list_hooks(&mut session).await), [("one", "armed"), ("two", "untrusted")]);
    session.send(SessionCommand::Hooks(HooksAction::ShowUntrusted));
    let shows_two = |event: &AgentEvent| match event {
        AgentEvent::Session(SessionEvent::Reply(Reply::PendingTrust(pending))) => {
            pending.hooks.iter().any(|one| one.hook == "two")
        }
        _ => false,
    };
    session.wait_for(shows_two).await;
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (2, 0), "what was only shown runs");
    assert_eq!(
        trusted_in_session(&mut session, HooksAction::Trust(HookSelection::All)).await,
        (vec!["two".to_owned()], None)
    );
    session.run_prompt("say hello").await;
    assert_eq!(run_counts(&project), (3, 1));
    let (_, refusal) = trusted_in_session(&mut session, HooksAction::Trust(named("nobody"))).await;
    assert!(matches!(refusal, Some(HookTrustRefusal::Unknown(_))), "{refusal:?}");
    let (_, refusal) = trusted_in_session(&mut session, HooksAction::Trust(HookSelection::All)).await;
    assert_eq!(refusal, Some(HookTrustRefusal::TrustedAlready(None)));
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
