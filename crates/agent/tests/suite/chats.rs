//! Conversations: new, earlier, and saved under a name.

use hookwright_agent::session::{
    ChatAction, PreparedSession, Reply, SessionCommand, SessionError, SessionOptions, Tone,
};
use hookwright_agent::{AgentEvent, ApprovalMode, SessionEvent, TurnEnd};
use hookwright_settings::ProcessEnv;
use hookwright_testkit::fs;
use serde_json::{Value, json};

use super::support::{RunningSession, TestProject};

/// A project whose hooks log the input of SessionStart, SessionEnd and BeforeModel.
fn project_with_input_hooks() -> TestProject {
    TestProject::new().hook("SessionStart", "start", "").hook("SessionEnd", "end", "").hook("BeforeModel", "model", "")
}

/// Returns the messages of the last request.
fn last_request_messages(project: &TestProject) -> String {
    project.inputs("model").last().unwrap()["llm_request"]["messages"].to_string()
}

/// Runs a session with one prompt and returns its id.
async fn run_earlier_session(project: &TestProject, prompt: &str) -> String {
    let mut session = project.start_idle_session().await;
    assert_eq!(session.run_prompt(prompt).await.1, TurnEnd::Answered);
    let id = session.handle.view().session_id();
    session.finish().await;
    id
}

async fn chat_reply(session: &mut RunningSession, order: ChatAction) -> String {
    session.send(SessionCommand::Chat(order));
    session.next_reply_text().await
}

fn json_strings(values: &[&str]) -> Vec<Value> {
    values.iter().map(|value| json!(value)).collect()
}

#[tokio::test]
async fn a_cleared_conversation_has_another_id_and_knows_nothing() {
    let project = project_with_input_hooks();
    let mut session = project.start_idle_session().await;
    session.run_prompt("say something old").await;
    let old = session.handle.view().session_id();
    session.send(SessionCommand::Clear);
    session.wait_for(|event| matches!(event, AgentEvent::Session(SessionEvent::Cleared))).await;
    session.wait_until_idle().await;
    let new = session.handle.view().session_id();
    assert_ne!(old, new);
    assert_eq!(project.input_fields("end", "reason"), ["clear"]);
    assert_eq!(project.input_fields("end", "session_id"), json_strings(&[&old]));
    assert_eq!(project.input_fields("start", "source"), ["startup", "clear"]);
    assert_eq!(project.input_fields("start", "session_id"), json_strings(&[&old, &new]));
    session.run_prompt("say something new").await;
    assert!(!last_request_messages(&project).contains("something old"));
    let transcripts = project.input_fields("start", "transcript_path");
    let read = |at: usize| fs::read_to_string(transcripts[at].as_str().unwrap()).unwrap();
    assert!(read(0).contains("something old") && !read(0).contains("something new"));
    assert!(read(1).contains("something new") && !read(1).contains("something old"));
}

#[tokio::test]
async fn an_earlier_session_goes_on_under_its_id() {
    let project = project_with_input_hooks();
    let first = run_earlier_session(&project, "say one").await;
    let mut session = project.start_idle_session().await;
    let second = session.handle.view().session_id();
    session.send(SessionCommand::SetApprovalMode(ApprovalMode::AutoEdit));
    session.send(SessionCommand::Resume(None));
    let sessions = session
        .find_event(|event| match event {
            AgentEvent::Session(SessionEvent::Reply(Reply::Sessions(sessions))) => Some(sessions),
            _ => None,
        })
        .await;
    assert_eq!(sessions.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), [&first], "its own is none of them");
    session.send(SessionCommand::Resume(Some(first.clone())));
    let history = session
        .find_event(|event| match event {
            AgentEvent::Session(SessionEvent::History(history)) => Some(history),
            _ => None,
        })
        .await;
    assert_eq!(history.iter().map(|content| content.text()).collect::<Vec<_>>(), ["say one", "one"]);
    session.wait_until_idle().await;
    let view = session.handle.view();
    assert_eq!((view.session_id(), view.services.approvals.mode()), (first.clone(), ApprovalMode::AutoEdit));
    assert_eq!(project.input_fields("end", "session_id"), json_strings(&[&first, &second]));
    assert_eq!(project.input_fields("start", "source"), ["startup", "startup", "resume"]);
    assert_eq!(project.input_fields("start", "session_id"), json_strings(&[&first, &second, &first]));
    assert_eq!(session.run_prompt("say two").await, ("two".to_owned(), TurnEnd::Answered));
    assert!(last_request_messages(&project).contains("say one"));
}

#[tokio::test]
async fn a_session_that_is_not_there_changes_nothing() {
    let project = project_with_input_hooks();
    let mut session = project.start_idle_session().await;
    let id = session.handle.view().session_id();
    session.send(SessionCommand::Resume(None));
    assert_eq!(session.next_reply_text().await, "there are no earlier sessions of this project");
    session.send(SessionCommand::Resume(Some("9".to_owned())));
    session
        .wait_for(|event| matches!(event, AgentEvent::Session(SessionEvent::Reply(Reply::Text(Tone::Error, _)))))
        .await;
    assert_eq!(session.handle.view().session_id(), id);
    assert_eq!(session.run_prompt("say on").await.0, "on");
}

#[tokio::test]
async fn a_session_opens_with_an_earlier_one_or_not_at_all() {
    let project = project_with_input_hooks();
    let first = run_earlier_session(&project, "say one").await;
    let open = |options: SessionOptions| {
        let world = ProcessEnv::new(project.environment(), project.project_dir());
        let loaded = options.load(&world).unwrap();
        PreparedSession::new(options, world, loaded)
    };
    let resume = |which: &str| SessionOptions { resume: Some(which.to_owned()), ..SessionOptions::default() };
    assert!(matches!(open(resume("nothing-like-it")).err(), Some(SessionError::Find(_))));
    let taken = SessionOptions { session_id: Some(first.clone()), ..SessionOptions::default() };
    assert!(matches!(open(taken).err(), Some(SessionError::Exists(id)) if id == first));
    let mut session = project.start_session(resume("latest"));
    session.wait_until_idle().await;
    assert_eq!(session.handle.view().session_id(), first);
    assert_eq!(project.input_fields("start", "source"), ["startup", "resume"]);
}

#[tokio::test]
async fn a_kept_conversation_goes_on_in_a_copy() {
    let project = project_with_input_hooks();
    let mut session = project.start_idle_session().await;
    session.run_prompt("say one").await;
    let first = session.handle.view().session_id();
    assert!(chat_reply(&mut session, ChatAction::Save("mine".to_owned())).await.contains("`mine`"));
    session.run_prompt("say two").await;
    session.send(SessionCommand::Clear);
    session.wait_until_idle().await;
    session.send(SessionCommand::Chat(ChatAction::Resume("mine".to_owned())));
    session.wait_until_idle().await;
    let id = session.handle.view().session_id();
    assert_ne!(id, first);
    session.run_prompt("say three").await;
    let told = last_request_messages(&project);
    assert!(told.contains("say one") && !told.contains("say two"), "{told}");
    assert_eq!(chat_reply(&mut session, ChatAction::List).await, "mine");
    // The saved conversation is unchanged.
    session.send(SessionCommand::Chat(ChatAction::Resume("mine".to_owned())));
    session.wait_until_idle().await;
    session.run_prompt("say four").await;
    let told = last_request_messages(&project);
    assert!(told.contains("say one") && !told.contains("say three"), "{told}");
    assert!(chat_reply(&mut session, ChatAction::Delete("mine".to_owned())).await.contains("deleted"));
    assert!(chat_reply(&mut session, ChatAction::List).await.starts_with("no conversation is kept"));
}

#[tokio::test]
async fn invalid_names_touch_no_file() {
    let project = project_with_input_hooks();
    let mut session = project.start_idle_session().await;
    session.run_prompt("say one").await;
    let victim = project.write("victim.jsonl", "precious");
    let path = victim.with_extension("").display().to_string();
    for name in ["", ".", "..", ".hidden", "a/b", "../../victim", "a b", path.as_str()] {
        for order in [ChatAction::Save, ChatAction::Resume, ChatAction::Delete] {
            let reply = chat_reply(&mut session, order(name.to_owned())).await;
            assert!(reply.starts_with("a name is made of"), "{name:?}: {reply}");
        }
    }
    for order in [ChatAction::Resume, ChatAction::Delete] {
        session.send(SessionCommand::Chat(order("nobody".to_owned())));
        session
            .wait_for(|event| matches!(event, AgentEvent::Session(SessionEvent::Reply(Reply::Unknown(name))) if name.name == "nobody"))
            .await;
    }
    assert_eq!(project.read("victim.jsonl"), "precious");
    assert!(chat_reply(&mut session, ChatAction::List).await.starts_with("no conversation is kept"));
}

#[tokio::test]
async fn switched_hooks_stay_switched_in_a_resumed_conversation() {
    use hookwright_agent::session::HooksAction;
    use hookwright_settings::administration::{GuardLossConsent, HookSelection, HookSwitchRequest};
    let project = project_with_input_hooks().hook("BeforeAgent", "counter", "");
    let first = run_earlier_session(&project, "say one").await;
    let mut session = project.start_idle_session().await;
    let counter = HookSelection::Named("counter".to_owned());
    let request = HookSwitchRequest::disable(counter, GuardLossConsent::Missing);
    session.send(SessionCommand::Hooks(HooksAction::Switch(request)));
    session.wait_for(|event| matches!(event, AgentEvent::Session(SessionEvent::Reply(Reply::HookSwitch(_))))).await;
    session.send(SessionCommand::Resume(Some(first)));
    session.wait_until_idle().await;
    session.run_prompt("say two").await;
    assert_eq!(project.input_fields("counter", "prompt"), ["say one"]);
}
