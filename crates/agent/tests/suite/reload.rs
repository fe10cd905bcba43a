//! A configuration that changes on disk while a session runs: what is good acts at once, what is broken changes nothing.

use hookwright_agent::session::{HooksOrder, Order, Reply, SessionOptions};
use hookwright_agent::{AgentEvent, ApprovalReply, GuardReply};
use hookwright_settings::ApprovalMode;
use serde_json::{Value, json};

use super::support::{Project, Running, reply_text};

/// Reads until a reply has these words.
///
/// A child process of another test carries no mark, so it can count as left running by the agent; then the session asks
/// whether to trust the test's own change to the settings, and the test does.
async fn hears(session: &mut Running, words: &str) -> String {
    session
        .find(|event| match event {
            AgentEvent::GuardsChanged(_, reply) => {
                reply.send(GuardReply::Trust).unwrap();
                None
            }
            event => reply_text(&event).filter(|text| text.contains(words)),
        })
        .await
}

/// Lets the model run a command; whether the user was asked, who says no.
async fn is_asked(session: &mut Running) -> bool {
    session.prompt(r#"call run_shell_command {"command": "echo hi"}"#);
    let asked = session
        .find(|event| match event {
            AgentEvent::Approval(_, reply) => {
                reply.send(ApprovalReply::Deny(None)).unwrap();
                Some(true)
            }
            AgentEvent::ToolStarted(_) => Some(false),
            _ => None,
        })
        .await;
    session.idle().await;
    asked
}

fn with(project: &Project, hooks: &[(&str, &str)]) -> Value {
    let mut settings = project.settings();
    for (event, name) in hooks {
        let hook = json!({"type": "command", "name": name, "command": project.script(name, "")});
        settings["hooks"][event] = json!([{"hooks": [hook]}]);
    }
    settings
}

fn change(project: &Project, settings: &Value) {
    project.write(".gemini/settings.json", format!("{settings:#}"));
}

#[tokio::test]
async fn a_new_hook_is_told_of_and_runs() {
    let project = Project::new().hook("BeforeAgent", "old", "");
    let mut session = project.session().await;
    change(&project, &with(&project, &[("AfterAgent", "new")]));
    let news = hears(&mut session, "settings.json changed").await;
    assert!(news.contains("added new on AfterAgent"), "{news}");
    session.answer("say hello").await;
    assert_eq!((project.inputs("old").len(), project.inputs("new").len()), (1, 1));
    change(&project, &json!({}));
    let news = hears(&mut session, "settings.json changed").await;
    assert!(news.contains("removed old") && news.contains("removed new"), "{news}");
    session.answer("say hello").await;
    assert_eq!((project.inputs("old").len(), project.inputs("new").len()), (1, 1));
}

#[tokio::test]
async fn a_broken_file_keeps_the_old_hooks_until_it_is_mended() {
    let project = Project::new().hook("BeforeAgent", "old", "");
    let mut session = project.session().await;
    project.write(".gemini/settings.json", "{ \"hooks\": ");
    hears(&mut session, "is broken; the hooks stay as they were").await;
    session.answer("say hello").await;
    assert_eq!(project.inputs("old").len(), 1);
    assert_eq!(session.handle.view().hooks().len(), 1);
    change(&project, &with(&project, &[("AfterAgent", "new")]));
    hears(&mut session, "added new").await;
    session.answer("say hello").await;
    assert_eq!((project.inputs("old").len(), project.inputs("new").len()), (2, 1));
}

#[tokio::test]
async fn tools_that_run_unasked_follow() {
    let project = Project::new();
    let mut session = project.session().await;
    assert!(is_asked(&mut session).await);
    change(&project, &json!({"tools": {"allowed": ["run_shell_command(echo)"]}}));
    hears(&mut session, "settings.json changed").await;
    assert!(!is_asked(&mut session).await);
    change(&project, &json!({"tools": {}}));
    hears(&mut session, "settings.json changed").await;
    assert!(is_asked(&mut session).await);
}

#[tokio::test]
async fn what_hooks_may_see_of_the_environment_follows() {
    let project = Project::new().hook("BeforeAgent", "look", "echo \"${HOME:+home} ${GEMINI_API_TOKEN:-none}\" >>seen");
    let mut session = project.session_in(&[("GEMINI_API_TOKEN", "secret")]);
    session.idle().await;
    session.answer("say hello").await;
    let redaction = json!({"security": {"environmentVariableRedaction": {"enabled": true}}});
    project.write_settings(&redaction);
    hears(&mut session, "settings.json changed").await;
    session.answer("say hello").await;
    assert_eq!(project.read("seen"), "home secret\nhome none\n");
}

#[tokio::test]
async fn what_commands_may_see_of_the_environment_follows() {
    let project = Project::new();
    let mut session = project.session_in(&[("GEMINI_API_TOKEN", "secret")]);
    session.idle().await;
    for redacted in [false, true] {
        if redacted {
            project.write_settings(&json!({"security": {"environmentVariableRedaction": {"enabled": true}}}));
            hears(&mut session, "settings.json changed").await;
        }
        session.prompt(r#"call run_shell_command {"command": "echo ${GEMINI_API_TOKEN:-none} >>seen"}"#);
        let asked = |event| if let AgentEvent::Approval(_, reply) = event { Some(reply) } else { None };
        session.find(asked).await.send(ApprovalReply::Once).unwrap();
        session.find(|event| matches!(event, AgentEvent::TurnFinished(_)).then_some(())).await;
    }
    assert_eq!(project.read("seen"), "secret\nnone\n");
}

#[tokio::test]
async fn a_hook_whose_script_changes_is_told_of() {
    let project = Project::new().hook("BeforeAgent", "old", "");
    let mut session = project.session().await;
    project.script("old", "echo 'no more' >&2; exit 2");
    let news = hears(&mut session, "old.sh changed").await;
    assert!(news.contains(".gemini/hooks/old.sh"), "{news}");
    let (text, end) = session.answer("say hello").await;
    assert_eq!((text.as_str(), end.kind()), ("", Some("blocked")));
}

/// While a call or a hook runs, it could be theirs; while the user thinks about a question, it is the user's.
#[tokio::test]
async fn a_change_in_the_middle_of_a_turn_acts_on_what_comes_next() {
    let project = Project::new().hook("BeforeAgent", "old", "");
    let mut session = project.session().await;
    session.prompt(r#"call run_shell_command {"command": "echo hi"}"#);
    let asked = |event| if let AgentEvent::Approval(_, reply) = event { Some(reply) } else { None };
    let reply = session.find(asked).await;
    change(&project, &with(&project, &[("AfterAgent", "new")]));
    hears(&mut session, "added new").await;
    reply.send(ApprovalReply::Deny(None)).unwrap();
    session.idle().await;
    assert_eq!(project.inputs("new").len(), 1);
}

#[tokio::test]
async fn new_custom_commands_are_found_on_demand() {
    let project = Project::new();
    let mut session = project.session().await;
    project.write(".gemini/commands/greet.toml", "description = \"says hello\"\nprompt = \"say hello\"\n");
    session.order(Order::CustomCommands);
    session.until(|event| matches!(event, AgentEvent::Configured)).await;
    let names: Vec<_> = session.handle.view().commands.list.iter().map(|command| command.name.clone()).collect();
    assert_eq!(names, ["greet"]);
}

/// `/hooks enable` takes the name out of every list that may be written, as `hooks enable` does.
#[tokio::test]
async fn enabling_a_hook_clears_it_from_the_users_settings_too() {
    let project = Project::new().hook("BeforeAgent", "h", "");
    let user = project.home().join(".gemini/settings.json");
    std::fs::create_dir_all(user.parent().unwrap()).unwrap();
    std::fs::write(&user, json!({"hooksConfig": {"disabled": ["h"]}}).to_string()).unwrap();
    project.write_settings(&json!({"hooksConfig": {"disabled": ["h"]}}));
    let mut session = project.session().await;
    session.order(Order::Hooks(HooksOrder::Enable("h".to_owned())));
    let reply = hears(&mut session, "enabled h in").await;
    assert!(reply.contains(&*user.to_string_lossy()), "{reply}");
    for file in [project.read(".gemini/settings.json"), hookwright_testkit::fs::read_to_string(&user).unwrap()] {
        assert!(!file.contains("\"disabled\": [\"h\"]") && !file.contains("[\"h\"]"), "{file}");
    }
}

/// Waits for the approval mode that a session says it is in.
async fn mode(session: &mut Running) -> ApprovalMode {
    session.find(|event| if let AgentEvent::ModeChanged(mode) = event { Some(mode) } else { None }).await
}

/// Lets the agent change a hook's script, and leaves that untrusted.
async fn change_a_guard(session: &mut Running) {
    session.prompt(r#"call run_shell_command {"command": "echo exit 0 >.gemini/hooks/guard.sh"}"#);
    session
        .find(|event| match event {
            AgentEvent::Approval(_, reply) => {
                reply.send(ApprovalReply::Once).unwrap();
                None
            }
            AgentEvent::GuardsChanged(_, reply) => {
                reply.send(GuardReply::Leave).unwrap();
                Some(())
            }
            _ => None,
        })
        .await;
}

/// What Shift+Tab orders: the next mode.
#[tokio::test]
async fn no_lax_mode_is_reached_while_a_changed_guard_waits_for_trust() {
    let project = Project::new().hook_with("BeforeTool", "guard", json!({"guard": true}), "");
    let mut session = project.session().await;
    assert!(session.handle.view().modes().contains(&ApprovalMode::AutoEdit));
    change_a_guard(&mut session).await;
    session.idle().await;
    assert_eq!(session.handle.view().modes(), [ApprovalMode::Default, ApprovalMode::Plan]);
    session.order(Order::Mode(ApprovalMode::AutoEdit));
    hears(&mut session, "waits for your trust, so the approval mode is default, not auto_edit").await;
    assert_eq!(mode(&mut session).await, ApprovalMode::Default);
    session.order(Order::Mode(ApprovalMode::Plan));
    assert_eq!(mode(&mut session).await, ApprovalMode::Plan);
    session.order(Order::Hooks(HooksOrder::TrustAll));
    hears(&mut session, "trusted what the agent changed").await;
    session.order(Order::Mode(ApprovalMode::AutoEdit));
    assert_eq!(mode(&mut session).await, ApprovalMode::AutoEdit);
}

#[tokio::test]
async fn a_lax_mode_ends_when_a_changed_guard_is_left_untrusted() {
    let project = Project::new().hook_with("BeforeTool", "guard", json!({"guard": true}), "");
    let options = SessionOptions { approval_mode: Some(ApprovalMode::AutoEdit), ..SessionOptions::default() };
    let mut session = project.session_with(options);
    session.idle().await;
    assert_eq!(session.handle.view().services.approvals.mode(), ApprovalMode::AutoEdit);
    change_a_guard(&mut session).await;
    hears(&mut session, "so the approval mode is default from now on, not auto_edit").await;
    assert_eq!(mode(&mut session).await, ApprovalMode::Default);
}

#[tokio::test]
async fn the_list_of_commands_says_where_arguments_are_read_as_code() {
    let project = Project::new();
    let mut session = project.session().await;
    project.write(".gemini/commands/plain.toml", "prompt = \"\"\"!{ls {{args}}}\"\"\"\n");
    project.write(".gemini/commands/risky.toml", "prompt = \"\"\"!{sh -c {{args}}}\"\"\"\n");
    session.order(Order::CustomCommands);
    let rows = session
        .find(|event| match event {
            AgentEvent::Reply(Reply::Rows(rows)) => Some(rows),
            _ => None,
        })
        .await;
    let warned: Vec<_> = rows.iter().filter(|(_, about)| about.contains("read as code by `sh -c`")).collect();
    assert!(rows.len() == 2 && warned.len() == 1 && warned[0].0 == "/risky", "{rows:?}");
}
