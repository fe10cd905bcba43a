//! Orders that the session itself answers: memory, approval mode, tools, what this is.

use hookwright_agent::session::{Detail, MemoryOrder, Order, Reply, SessionOptions};
use hookwright_agent::{AgentEvent, ApprovalMode};
use hookwright_testkit::fs;
use serde_json::json;

use super::support::{Project, Running};

/// Sends a prompt; what the model is told beside the conversation.
async fn system(session: &mut Running) -> String {
    session.prompt("say hello");
    let system = session
        .find(|event| match event {
            AgentEvent::ModelRequest { request, .. } => request.system,
            _ => None,
        })
        .await;
    session.idle().await;
    system
}

async fn rows(session: &mut Running, order: Order) -> Vec<(String, String)> {
    session.order(order);
    session
        .find(|event| match event {
            AgentEvent::Reply(Reply::Rows(rows)) => Some(rows),
            _ => None,
        })
        .await
}

#[tokio::test]
async fn what_is_added_to_memory_is_told_to_the_model_from_then_on() {
    let project = Project::new();
    let mut session = project.session().await;
    session.order(Order::Memory(MemoryOrder::Show));
    assert!(session.reply().await.starts_with("there is no memory"));
    assert!(!system(&mut session).await.contains("the user likes tea"));
    session.order(Order::Memory(MemoryOrder::Add("the user likes tea".to_owned())));
    assert!(session.reply().await.starts_with("added to "));
    assert!(system(&mut session).await.contains("- the user likes tea"));
    let file = fs::read_to_string(project.home().join(".gemini/GEMINI.md")).unwrap();
    assert_eq!(file, "- the user likes tea\n");
}

#[tokio::test]
async fn memory_that_is_read_again_in_the_middle_of_a_turn_counts_from_the_next_on() {
    let project = Project::new().pipe("gate").hook("BeforeAgent", "hold", "case $input in *hold*) read _ <gate;; esac");
    let mut session = project.session().await;
    session.prompt("say hold");
    session.until(|event| matches!(event, AgentEvent::HookStarted { .. })).await;
    project.write("GEMINI.md", "Always answer in verse.");
    session.order(Order::Memory(MemoryOrder::Reload));
    session.reply().await;
    project.let_go("gate").await;
    session.idle().await;
    assert!(system(&mut session).await.contains("Always answer in verse."));
}

#[tokio::test]
async fn the_mode_changes_at_once_and_yolo_is_only_for_who_started_with_it() {
    async fn becomes(session: &mut Running, wanted: ApprovalMode) -> ApprovalMode {
        session.order(Order::Mode(wanted));
        session.until(|event| matches!(event, AgentEvent::ModeChanged(_))).await;
        session.handle.view().services.approvals.mode()
    }
    let project = Project::new();
    let mut session = project.session().await;
    assert_eq!(becomes(&mut session, ApprovalMode::AutoEdit).await, ApprovalMode::AutoEdit);
    assert_eq!(becomes(&mut session, ApprovalMode::Yolo).await, ApprovalMode::Default);
    assert_eq!(becomes(&mut session, ApprovalMode::Plan).await, ApprovalMode::Plan);

    let project = Project::new();
    let options = SessionOptions { approval_mode: Some(ApprovalMode::Yolo), ..SessionOptions::default() };
    let mut session = project.session_with(options);
    assert_eq!(becomes(&mut session, ApprovalMode::Default).await, ApprovalMode::Default);
    assert_eq!(becomes(&mut session, ApprovalMode::Yolo).await, ApprovalMode::Yolo);
}

#[tokio::test]
async fn tools_and_session_are_described() {
    let project = Project::new();
    project.write_settings(&json!({"tools": {"exclude": ["web_fetch"]}}));
    let mut session = project.session().await;
    let tools = rows(&mut session, Order::Tools(Detail::Short)).await;
    let has = |name: &str| tools.iter().any(|(tool, _)| tool == name);
    assert!(has("read_file") && !has("web_fetch"), "{tools:?}");
    assert!(tools.iter().all(|(_, about)| !about.contains('\n')));
    let about = rows(&mut session, Order::About).await;
    let (id, root) = (session.handle.view().session_id(), project.dir().display().to_string());
    for row in [("session", id.as_str()), ("folder", root.as_str()), ("model", "offline")] {
        assert!(about.contains(&(row.0.to_owned(), row.1.to_owned())), "{row:?}: {about:?}");
    }
}
