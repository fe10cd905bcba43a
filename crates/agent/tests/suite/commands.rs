//! Commands that the session itself answers: memory, approval mode, tools, about.

use hookwright_agent::session::{Detail, MemoryAction, Reply, SessionCommand, SessionOptions};
use hookwright_agent::{AgentEvent, ApprovalMode, HookEvent, ModelEvent, SessionEvent};
use hookwright_testkit::fs;
use serde_json::json;

use super::support::{RunningSession, TestProject};

/// Sends a prompt and returns the system prompt of its request.
async fn system_prompt_of_request(session: &mut RunningSession) -> String {
    session.prompt("say hello");
    let system = session
        .find_event(|event| match event {
            AgentEvent::Model(ModelEvent::Requested { request, .. }) => request.system,
            _ => None,
        })
        .await;
    session.wait_until_idle().await;
    system
}

async fn reply_rows(session: &mut RunningSession, order: SessionCommand) -> Vec<(String, String)> {
    session.send(order);
    session
        .find_event(|event| match event {
            AgentEvent::Session(SessionEvent::Reply(Reply::Rows(rows))) => Some(rows),
            _ => None,
        })
        .await
}

#[tokio::test]
async fn text_added_to_memory_is_in_later_system_prompts() {
    let project = TestProject::new();
    let mut session = project.start_idle_session().await;
    session.send(SessionCommand::Memory(MemoryAction::Show));
    assert!(session.next_reply_text().await.starts_with("there is no memory"));
    assert!(!system_prompt_of_request(&mut session).await.contains("the user likes tea"));
    session.send(SessionCommand::Memory(MemoryAction::Add("the user likes tea".to_owned())));
    assert!(session.next_reply_text().await.starts_with("added to "));
    assert!(system_prompt_of_request(&mut session).await.contains("- the user likes tea"));
    let file = fs::read_to_string(project.home_dir().join(".gemini/GEMINI.md")).unwrap();
    assert_eq!(file, "- the user likes tea\n");
}

#[tokio::test]
async fn memory_reloaded_during_a_turn_applies_to_the_next_turn() {
    let project =
        TestProject::new().gate("gate").hook("BeforeAgent", "hold", "case $input in *hold*) read _ <gate;; esac");
    let mut session = project.start_idle_session().await;
    session.prompt("say hold");
    session.wait_for(|event| matches!(event, AgentEvent::Hook(HookEvent::Started { .. }))).await;
    project.write("GEMINI.md", "Always answer in verse.");
    session.send(SessionCommand::Memory(MemoryAction::Reload));
    session.next_reply_text().await;
    project.open_gate("gate").await;
    session.wait_until_idle().await;
    assert!(system_prompt_of_request(&mut session).await.contains("Always answer in verse."));
}

#[tokio::test]
async fn the_mode_changes_at_once_and_yolo_needs_a_yolo_start() {
    async fn assert_mode_becomes(session: &mut RunningSession, wanted: ApprovalMode) -> ApprovalMode {
        session.send(SessionCommand::SetApprovalMode(wanted));
        session.wait_for(|event| matches!(event, AgentEvent::Session(SessionEvent::ModeChanged(_)))).await;
        session.handle.view().services.approvals.mode()
    }
    let project = TestProject::new();
    let mut session = project.start_idle_session().await;
    assert_eq!(assert_mode_becomes(&mut session, ApprovalMode::AutoEdit).await, ApprovalMode::AutoEdit);
    assert_eq!(assert_mode_becomes(&mut session, ApprovalMode::Yolo).await, ApprovalMode::Default);
    assert_eq!(assert_mode_becomes(&mut session, ApprovalMode::Plan).await, ApprovalMode::Plan);

    let project = TestProject::new();
    let options = SessionOptions { approval_mode: Some(ApprovalMode::Yolo), ..SessionOptions::default() };
    let mut session = project.start_session(options);
    assert_eq!(assert_mode_becomes(&mut session, ApprovalMode::Default).await, ApprovalMode::Default);
    assert_eq!(assert_mode_becomes(&mut session, ApprovalMode::Yolo).await, ApprovalMode::Yolo);
}

#[tokio::test]
async fn tools_and_session_are_described() {
    let project = TestProject::new();
    project.write_settings(&json!({"tools": {"exclude": ["web_fetch"]}}));
    let mut session = project.start_idle_session().await;
    let tools = reply_rows(&mut session, SessionCommand::Tools(Detail::Short)).await;
    let has = |name: &str| tools.iter().any(|(tool, _)| tool == name);
    assert!(has("read_file") && !has("web_fetch"), "{tools:?}");
    assert!(tools.iter().all(|(_, about)| !about.contains('\n')));
    let about = reply_rows(&mut session, SessionCommand::About).await;
    let (id, root) = (session.handle.view().session_id(), project.project_dir().display().to_string());
    for row in [("session", id.as_str()), ("folder", root.as_str()), ("model", "offline")] {
        assert!(about.contains(&(row.0.to_owned(), row.1.to_owned())), "{row:?}: {about:?}");
    }
}
