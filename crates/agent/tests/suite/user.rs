//! The user's own `!command`: hooks and rules hear of it, and a no holds.

use hookwright_agent::session::Order;
use hookwright_agent::{AgentEvent, TurnEnd};

use super::support::{Project, Running, specific};
use serde_json::json;

/// Runs a command of the user's; what was told of it, and of hooks.
async fn run(session: &mut Running, command: &str) -> Vec<AgentEvent> {
    session.order(Order::Shell(command.to_owned()));
    let mut told = Vec::new();
    loop {
        match session.next().await.unwrap() {
            AgentEvent::Idle { .. } => return told,
            event => told.push(event),
        }
    }
}

fn error_of(told: &[AgentEvent]) -> Option<String> {
    told.iter().find_map(|event| match event {
        AgentEvent::ToolFinished(end) => end.error.as_ref().map(|error| error.message.clone()),
        _ => None,
    })
}

#[tokio::test]
async fn the_users_own_command_passes_hooks_and_is_not_asked_about() {
    let project = Project::new().hook("BeforeTool", "before", "").hook("AfterTool", "after", "");
    let mut session = project.session().await;
    let told = run(&mut session, "touch ran").await;
    assert!(project.has("ran") && error_of(&told).is_none());
    assert!(!told.iter().any(|event| matches!(event, AgentEvent::Approval(..))), "the user wrote it");
    for hook in ["before", "after"] {
        assert_eq!(project.inputs_of(hook, "requested_by"), ["user"]);
        assert_eq!(project.inputs_of(hook, "tool_name"), ["run_shell_command"]);
    }
}

#[tokio::test]
async fn a_deny_of_a_hook_or_a_policy_holds_for_the_user_too() {
    let project = Project::new().hook("BeforeTool", "guard", "echo 'not here' >&2; exit 2");
    let mut session = project.session().await;
    let told = run(&mut session, "touch ran").await;
    assert_eq!(error_of(&told).unwrap(), "Tool execution blocked: not here");
    assert!(!project.has("ran"));
    let (_, end) = session.answer("say hello").await;
    assert_eq!(end, TurnEnd::Answered);

    let project = Project::new();
    let rule =
        "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"touch\"\ndecision = \"deny\"\npriority = 10\n";
    project.write(".gemini/policies/no.toml", rule);
    let mut session = project.session().await;
    let told = run(&mut session, "true && touch ran").await;
    assert!(error_of(&told).unwrap().starts_with("Tool execution denied by policy"), "{told:?}");
    assert!(!project.has("ran"));
}

#[tokio::test]
async fn what_hooks_hide_of_the_users_command_the_model_does_not_read() {
    let project = Project::new().hook("AfterTool", "hide", "echo 'a secret' >&2; exit 2");
    let mut session = project.session().await;
    run(&mut session, "echo hunter2").await;
    session.prompt("say hello");
    let sent = session
        .find(|event| match event {
            AgentEvent::ModelRequest { request, .. } => Some(request.contents_json()),
            _ => None,
        })
        .await;
    assert!(sent.contains("a secret") && sent.matches("hunter2").count() == 1, "only the command itself: {sent}");
    session.idle().await;
}

#[tokio::test]
async fn a_hook_may_have_the_user_asked_and_may_rewrite() {
    let ask = specific(json!({"tool_input": {"command": "touch other"}}));
    let project = Project::new().hook("BeforeTool", "rewrite", &ask);
    let mut session = project.session().await;
    run(&mut session, "touch ran").await;
    assert!(project.has("other") && !project.has("ran"));
}
