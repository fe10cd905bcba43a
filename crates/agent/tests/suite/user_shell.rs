//! The user's own `!command`: hooks and rules judge it and can deny it.

use hookwright_agent::session::SessionCommand;
use hookwright_agent::{AgentEvent, ModelEvent, QuestionEvent, SessionEvent, ToolEvent, TurnEnd};

use super::support::{RunningSession, TestProject, specific_output_script};
use serde_json::json;

/// Runs a command of the user and returns its events.
async fn run_user_command(session: &mut RunningSession, command: &str) -> Vec<AgentEvent> {
    session.send(SessionCommand::UserShell(command.to_owned()));
    let mut told = Vec::new();
    loop {
        match session.next_event().await.unwrap() {
            AgentEvent::Session(SessionEvent::Idle { .. }) => return told,
            event => told.push(event),
        }
    }
}

fn first_tool_error(told: &[AgentEvent]) -> Option<String> {
    told.iter().find_map(|event| match event {
        AgentEvent::Tool(ToolEvent::Finished(end)) => end.error.as_ref().map(|error| error.message.clone()),
        _ => None,
    })
}

#[tokio::test]
async fn the_users_own_command_passes_hooks_and_is_not_asked_about() {
    let project = TestProject::new().hook("BeforeTool", "before", "").hook("AfterTool", "after", "");
    let mut session = project.start_idle_session().await;
    let told = run_user_command(&mut session, "touch ran").await;
    assert!(project.exists("ran") && first_tool_error(&told).is_none());
    assert!(
        !told.iter().any(|event| matches!(event, AgentEvent::Question(QuestionEvent::Asked(_)))),
        "the user wrote it"
    );
    for hook in ["before", "after"] {
        assert_eq!(project.input_fields(hook, "requested_by"), ["user"]);
        assert_eq!(project.input_fields(hook, "tool_name"), ["run_shell_command"]);
    }
}

#[tokio::test]
async fn a_deny_of_a_hook_or_a_policy_holds_for_the_user_too() {
    let project = TestProject::new().hook("BeforeTool", "guard", "echo 'not here' >&2; exit 2");
    let mut session = project.start_idle_session().await;
    let told = run_user_command(&mut session, "touch ran").await;
    assert_eq!(first_tool_error(&told).unwrap(), "Tool execution blocked: not here");
    assert!(!project.exists("ran"));
    let (_, end) = session.run_prompt("say hello").await;
    assert_eq!(end, TurnEnd::Answered);

    let project = TestProject::new();
    let rule =
        "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"touch\"\ndecision = \"deny\"\npriority = 10\n";
    project.write(".gemini/policies/no.toml", rule);
    let mut session = project.start_idle_session().await;
    let told = run_user_command(&mut session, "true && touch ran").await;
    assert!(first_tool_error(&told).unwrap().starts_with("Tool execution denied by policy"), "{told:?}");
    assert!(!project.exists("ran"));
}

#[tokio::test]
async fn output_that_hooks_hide_does_not_reach_the_model() {
    let project = TestProject::new().hook("AfterTool", "hide", "echo 'a secret' >&2; exit 2");
    let mut session = project.start_idle_session().await;
    run_user_command(&mut session, "echo hunter2").await;
    session.prompt("say hello");
    let sent = session
        .find_event(|event| match event {
            AgentEvent::Model(ModelEvent::Requested { request, .. }) => Some(request.contents_json()),
            _ => None,
        })
        .await;
    assert!(sent.contains("a secret") && sent.matches("hunter2").count() == 1, "only the command itself: {sent}");
    session.wait_until_idle().await;
}

#[tokio::test]
async fn a_hook_may_have_the_user_asked_and_may_rewrite() {
    let ask = specific_output_script(json!({"tool_input": {"command": "touch other"}}));
    let project = TestProject::new().hook("BeforeTool", "rewrite", &ask);
    let mut session = project.start_idle_session().await;
    run_user_command(&mut session, "touch ran").await;
    assert!(project.exists("other") && !project.exists("ran"));
}
