//! A configuration that changes on disk during a session: a valid one takes effect at once, a broken one changes
//! nothing.

use hookwright_agent::session::{HooksAction, Reply, SessionCommand, SessionOptions};
use hookwright_agent::{
    AgentEvent, Answer, ApprovalReply, GuardTrustReply, Question, QuestionEvent, QuestionSubject, SessionEvent,
    ToolEvent, TurnEvent,
};
use hookwright_settings::ApprovalMode;
use hookwright_settings::administration::{HookSelection, HookSwitchRequest};
use serde_json::{Value, json};

use super::support::{RunningSession, TestProject, reply_text};

/// Reads events until a reply contains these words.
///
/// A child process of another test carries no mark, so it can count as left running by the agent. The session then asks
/// whether to trust the test's own change to the settings, and the test does.
async fn wait_for_reply(session: &mut RunningSession, words: &str) -> String {
    let handle = session.handle.clone();
    session
        .find_event(|event| match event {
            AgentEvent::Question(QuestionEvent::Asked(Question { id, subject: QuestionSubject::GuardTrust(_) })) => {
                handle.send(SessionCommand::Answer { id, answer: Answer::GuardTrust(GuardTrustReply::Trust) });
                None
            }
            event => reply_text(&event).filter(|text| text.contains(words)),
        })
        .await
}

/// Lets the model run a command, and returns whether the user, who refuses, was asked.
async fn needs_approval(session: &mut RunningSession) -> bool {
    session.prompt(r#"call run_shell_command {"command": "touch made"}"#);
    let question = session
        .find_event(|event| match event {
            AgentEvent::Question(QuestionEvent::Asked(question)) => Some(Some(question.id)),
            AgentEvent::Tool(ToolEvent::Started(_)) => Some(None),
            _ => None,
        })
        .await;
    if let Some(id) = question {
        session.approve(id, ApprovalReply::Deny(None));
    }
    session.wait_until_idle().await;
    question.is_some()
}

fn settings_with_hooks(project: &TestProject, hooks: &[(&str, &str)]) -> Value {
    let mut settings = project.settings();
    for (event, name) in hooks {
        let hook = json!({"type": "command", "name": name, "command": project.write_hook_script(name, "")});
        settings["hooks"][event] = json!([{"hooks": [hook]}]);
    }
    settings
}

fn write_project_settings(project: &TestProject, settings: &Value) {
    project.write(".gemini/settings.json", format!("{settings:#}"));
}

#[tokio::test]
async fn a_new_hook_is_announced_and_runs() {
    let project = TestProject::new().hook("BeforeAgent", "old", "");
    let mut session = project.start_idle_session().await;
    write_project_settings(&project, &settings_with_hooks(&project, &[("AfterAgent", "new")]));
    let news = wait_for_reply(&mut session, "settings.json changed").await;
    assert!(news.contains("added new on AfterAgent"), "{news}");
    session.run_prompt("say hello").await;
    assert_eq!((project.inputs("old").len(), project.inputs("new").len()), (1, 1));
    write_project_settings(&project, &json!({}));
    let news = wait_for_reply(&mut session, "settings.json changed").await;
    assert!(news.contains("removed old") && news.contains("removed new"), "{news}");
    session.run_prompt("say hello").await;
    assert_eq!((project.inputs("old").len(), project.inputs("new").len()), (1, 1));
}

#[tokio::test]
async fn a_broken_file_keeps_the_old_hooks_until_it_is_mended() {
    let project = TestProject::new().hook("BeforeAgent", "old", "");
    let mut session = project.start_idle_session().await;
    project.write(".gemini/settings.json", "{ \"hooks\": ");
    wait_for_reply(&mut session, "is broken; the hooks stay as they were").await;
    session.run_prompt("say hello").await;
    assert_eq!(project.inputs("old").len(), 1);
    assert_eq!(session.handle.view().hooks().len(), 1);
    write_project_settings(&project, &settings_with_hooks(&project, &[("AfterAgent", "new")]));
    wait_for_reply(&mut session, "added new").await;
    session.run_prompt("say hello").await;
    assert_eq!((project.inputs("old").len(), project.inputs("new").len()), (2, 1));
}

#[tokio::test]
async fn allowed_tools_are_reloaded() {
    let project = TestProject::new();
    let mut session = project.start_idle_session().await;
    assert!(needs_approval(&mut session).await);
    write_project_settings(&project, &json!({"tools": {"allowed": ["run_shell_command(touch)"]}}));
    wait_for_reply(&mut session, "settings.json changed").await;
    assert!(!needs_approval(&mut session).await);
    write_project_settings(&project, &json!({"tools": {}}));
    wait_for_reply(&mut session, "settings.json changed").await;
    assert!(needs_approval(&mut session).await);
}

#[tokio::test]
async fn environment_settings_for_hooks_are_reloaded() {
    let project =
        TestProject::new().hook("BeforeAgent", "look", "echo \"${HOME:+home} ${GEMINI_API_TOKEN:-none}\" >>seen");
    let mut session = project.start_session_with_env(&[("GEMINI_API_TOKEN", "secret")]);
    session.wait_until_idle().await;
    session.run_prompt("say hello").await;
    let redaction = json!({"security": {"environmentVariableRedaction": {"enabled": true}}});
    project.write_settings(&redaction);
    wait_for_reply(&mut session, "settings.json changed").await;
    session.run_prompt("say hello").await;
    assert_eq!(project.read("seen"), "home secret\nhome none\n");
}

#[tokio::test]
async fn environment_settings_for_commands_are_reloaded() {
    let project = TestProject::new();
    let mut session = project.start_session_with_env(&[("GEMINI_API_TOKEN", "secret")]);
    session.wait_until_idle().await;
    for redacted in [false, true] {
        if redacted {
            project.write_settings(&json!({"security": {"environmentVariableRedaction": {"enabled": true}}}));
            wait_for_reply(&mut session, "settings.json changed").await;
        }
        session.prompt(r#"call run_shell_command {"command": "echo ${GEMINI_API_TOKEN:-none} >>seen"}"#);
        let question = session.next_question().await;
        session.approve(question.id, ApprovalReply::Once);
        session.find_event(|event| matches!(event, AgentEvent::Turn(TurnEvent::Finished(_))).then_some(())).await;
    }
    assert_eq!(project.read("seen"), "secret\nnone\n");
}

#[tokio::test]
async fn a_changed_hook_script_is_announced() {
    let project = TestProject::new().hook("BeforeAgent", "old", "");
    let mut session = project.start_idle_session().await;
    project.write_hook_script("old", "echo 'no more' >&2; exit 2");
    let news = wait_for_reply(&mut session, "old.sh changed").await;
    assert!(news.contains(".gemini/hooks/old.sh"), "{news}");
    let (text, end) = session.run_prompt("say hello").await;
    assert_eq!((text.as_str(), end.kind()), ("", Some("blocked")));
}

/// A change during a call or a hook could be theirs; a change during an approval request is the user's.
#[tokio::test]
async fn a_change_in_the_middle_of_a_turn_acts_on_what_comes_next() {
    let project = TestProject::new().hook("BeforeAgent", "old", "");
    let mut session = project.start_idle_session().await;
    session.prompt(r#"call run_shell_command {"command": "touch made"}"#);
    let question = session.next_question().await;
    write_project_settings(&project, &settings_with_hooks(&project, &[("AfterAgent", "new")]));
    wait_for_reply(&mut session, "added new").await;
    session.approve(question.id, ApprovalReply::Deny(None));
    session.wait_until_idle().await;
    assert_eq!(project.inputs("new").len(), 1);
}

#[tokio::test]
async fn new_custom_commands_are_found_on_demand() {
    let project = TestProject::new();
    let mut session = project.start_idle_session().await;
    project.write(".gemini/commands/greet.toml", "description = \"says hello\"\nprompt = \"say hello\"\n");
    session.send(SessionCommand::ListCustomCommands);
    session.wait_for(|event| matches!(event, AgentEvent::Session(SessionEvent::ConfigurationChanged))).await;
    let names: Vec<_> = session.handle.view().commands.list.iter().map(|command| command.name.clone()).collect();
    assert_eq!(names, ["greet"]);
}

/// `/hooks enable` removes the name from every list that may be written, as `hooks enable` does.
#[tokio::test]
async fn enabling_a_hook_clears_it_from_the_users_settings_too() {
    let project = TestProject::new().hook("BeforeAgent", "h", "");
    let user = project.home_dir().join(".gemini/settings.json");
    std::fs::create_dir_all(user.parent().unwrap()).unwrap();
    std::fs::write(&user, json!({"hooksConfig": {"disabled": ["h"]}}).to_string()).unwrap();
    project.write_settings(&json!({"hooksConfig": {"disabled": ["h"]}}));
    let mut session = project.start_idle_session().await;
    session.send(SessionCommand::Hooks(HooksAction::Switch(HookSwitchRequest::enable(HookSelection::Named(
        "h".to_owned(),
    )))));
    let changed = session
        .find_event(|event| match event {
            AgentEvent::Session(SessionEvent::Reply(Reply::HookSwitch(outcome))) => Some(outcome.changed_files),
            _ => None,
        })
        .await;
    assert!(changed.contains(&user), "{changed:?}");
    for file in [project.read(".gemini/settings.json"), hookwright_testkit::fs::read_to_string(&user).unwrap()] {
        assert!(!file.contains("\"disabled\": [\"h\"]") && !file.contains("[\"h\"]"), "{file}");
    }
}

/// Waits for the session to change its approval mode.
async fn next_mode(session: &mut RunningSession) -> ApprovalMode {
    session
        .find_event(
            |event| if let AgentEvent::Session(SessionEvent::ModeChanged(mode)) = event { Some(mode) } else { None },
        )
        .await
}

/// Has the agent change a hook's script, and leaves the change untrusted.
async fn change_guard_script(session: &mut RunningSession) {
    session.prompt(r#"call run_shell_command {"command": "echo exit 0 >.gemini/hooks/guard.sh"}"#);
    let approval = session.next_question().await;
    session.approve(approval.id, ApprovalReply::Once);
    let Question { id, subject: QuestionSubject::GuardTrust(_) } = session.next_question().await else { panic!() };
    session.send(SessionCommand::Answer { id, answer: Answer::GuardTrust(GuardTrustReply::KeepUntrusted) });
}

/// Shift+Tab sends the command for the next mode.
#[tokio::test]
async fn no_mode_skips_approval_while_a_changed_guard_awaits_trust() {
    let project = TestProject::new().hook_with("BeforeTool", "guard", json!({"guard": true}), "");
    let mut session = project.start_idle_session().await;
    assert!(session.handle.view().modes().contains(&ApprovalMode::AutoEdit));
    change_guard_script(&mut session).await;
    session.wait_until_idle().await;
    assert_eq!(session.handle.view().modes(), [ApprovalMode::Default, ApprovalMode::Plan]);
    session.send(SessionCommand::SetApprovalMode(ApprovalMode::AutoEdit));
    wait_for_reply(&mut session, "wait for your trust, so the approval mode is default, not auto_edit").await;
    assert_eq!(next_mode(&mut session).await, ApprovalMode::Default);
    session.send(SessionCommand::SetApprovalMode(ApprovalMode::Plan));
    assert_eq!(next_mode(&mut session).await, ApprovalMode::Plan);
    session.send(SessionCommand::Hooks(HooksAction::Trust(HookSelection::All)));
    session.wait_for(|event| matches!(event, AgentEvent::Session(SessionEvent::Reply(Reply::HookTrust(done))) if done.is_changed())).await;
    session.send(SessionCommand::SetApprovalMode(ApprovalMode::AutoEdit));
    assert_eq!(next_mode(&mut session).await, ApprovalMode::AutoEdit);
}

#[tokio::test]
async fn a_mode_that_skips_approval_ends_when_a_changed_guard_stays_untrusted() {
    let project = TestProject::new().hook_with("BeforeTool", "guard", json!({"guard": true}), "");
    let options = SessionOptions { approval_mode: Some(ApprovalMode::AutoEdit), ..SessionOptions::default() };
    let mut session = project.start_session(options);
    session.wait_until_idle().await;
    assert_eq!(session.handle.view().services.approvals.mode(), ApprovalMode::AutoEdit);
    change_guard_script(&mut session).await;
    wait_for_reply(&mut session, "so the approval mode is default from now on, not auto_edit").await;
    assert_eq!(next_mode(&mut session).await, ApprovalMode::Default);
}

#[tokio::test]
async fn the_list_of_commands_says_where_arguments_are_read_as_code() {
    let project = TestProject::new();
    let mut session = project.start_idle_session().await;
    project.write(".gemini/commands/plain.toml", "prompt = \"\"\"!{ls {{args}}}\"\"\"\n");
    project.write(".gemini/commands/risky.toml", "prompt = \"\"\"!{sh -c {{args}}}\"\"\"\n");
    session.send(SessionCommand::ListCustomCommands);
    let rows = session
        .find_event(|event| match event {
            AgentEvent::Session(SessionEvent::Reply(Reply::Rows(rows))) => Some(rows),
            _ => None,
        })
        .await;
    let warned: Vec<_> = rows.iter().filter(|(_, about)| about.contains("`sh -c` runs {{args}} as code")).collect();
    assert!(rows.len() == 2 && warned.len() == 1 && warned[0].0 == "/risky", "{rows:?}");
}
