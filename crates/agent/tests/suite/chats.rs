//! Conversations: a new one, an earlier one, and those kept under a name.

use hookwright_agent::session::{ChatOrder, Opened, Order, Reply, SessionError, SessionOptions, Tone};
use hookwright_agent::{AgentEvent, ApprovalMode, TurnEnd};
use hookwright_settings::World;
use hookwright_testkit::fs;
use serde_json::{Value, json};

use super::support::{Project, Running};

/// A project whose sessions say what they begin, end and ask.
fn noting() -> Project {
    Project::new().hook("SessionStart", "start", "").hook("SessionEnd", "end", "").hook("BeforeModel", "model", "")
}

/// What the model was told with its last request.
fn last_told(project: &Project) -> String {
    project.inputs("model").last().unwrap()["llm_request"]["messages"].to_string()
}

/// A session of its own in which something is said; its id.
async fn earlier(project: &Project, prompt: &str) -> String {
    let mut session = project.session().await;
    assert_eq!(session.answer(prompt).await.1, TurnEnd::Answered);
    let id = session.handle.view().session_id();
    session.leave().await;
    id
}

async fn said(session: &mut Running, order: ChatOrder) -> String {
    session.order(Order::Chat(order));
    session.reply().await
}

fn strings(values: &[&str]) -> Vec<Value> {
    values.iter().map(|value| json!(value)).collect()
}

#[tokio::test]
async fn a_cleared_conversation_has_another_id_and_knows_nothing() {
    let project = noting();
    let mut session = project.session().await;
    session.answer("say something old").await;
    let old = session.handle.view().session_id();
    session.order(Order::Clear);
    session.until(|event| matches!(event, AgentEvent::Cleared)).await;
    session.idle().await;
    let new = session.handle.view().session_id();
    assert_ne!(old, new);
    assert_eq!(project.inputs_of("end", "reason"), ["clear"]);
    assert_eq!(project.inputs_of("end", "session_id"), strings(&[&old]));
    assert_eq!(project.inputs_of("start", "source"), ["startup", "clear"]);
    assert_eq!(project.inputs_of("start", "session_id"), strings(&[&old, &new]));
    session.answer("say something new").await;
    assert!(!last_told(&project).contains("something old"));
    let transcripts = project.inputs_of("start", "transcript_path");
    let read = |at: usize| fs::read_to_string(transcripts[at].as_str().unwrap()).unwrap();
    assert!(read(0).contains("something old") && !read(0).contains("something new"));
    assert!(read(1).contains("something new") && !read(1).contains("something old"));
}

#[tokio::test]
async fn an_earlier_session_goes_on_under_its_id() {
    let project = noting();
    let first = earlier(&project, "say one").await;
    let mut session = project.session().await;
    let second = session.handle.view().session_id();
    session.order(Order::Mode(ApprovalMode::AutoEdit));
    session.order(Order::Resume(None));
    let sessions = session
        .find(|event| match event {
            AgentEvent::Reply(Reply::Sessions(sessions)) => Some(sessions),
            _ => None,
        })
        .await;
    assert_eq!(sessions.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), [&first], "its own is none of them");
    session.order(Order::Resume(Some(first.clone())));
    let history = session
        .find(|event| match event {
            AgentEvent::History(history) => Some(history),
            _ => None,
        })
        .await;
    assert_eq!(history.iter().map(|content| content.text()).collect::<Vec<_>>(), ["say one", "one"]);
    session.idle().await;
    let view = session.handle.view();
    assert_eq!((view.session_id(), view.services.approvals.mode()), (first.clone(), ApprovalMode::AutoEdit));
    assert_eq!(project.inputs_of("end", "session_id"), strings(&[&first, &second]));
    assert_eq!(project.inputs_of("start", "source"), ["startup", "startup", "resume"]);
    assert_eq!(project.inputs_of("start", "session_id"), strings(&[&first, &second, &first]));
    assert_eq!(session.answer("say two").await, ("two".to_owned(), TurnEnd::Answered));
    assert!(last_told(&project).contains("say one"));
}

#[tokio::test]
async fn a_session_that_is_not_there_changes_nothing() {
    let project = noting();
    let mut session = project.session().await;
    let id = session.handle.view().session_id();
    session.order(Order::Resume(None));
    assert_eq!(session.reply().await, "there are no earlier sessions of this project");
    session.order(Order::Resume(Some("9".to_owned())));
    session.until(|event| matches!(event, AgentEvent::Reply(Reply::Text(Tone::Error, _)))).await;
    assert_eq!(session.handle.view().session_id(), id);
    assert_eq!(session.answer("say on").await.0, "on");
}

#[tokio::test]
async fn a_session_opens_with_an_earlier_one_or_not_at_all() {
    let project = noting();
    let first = earlier(&project, "say one").await;
    let open = |options: SessionOptions| {
        let world = World::new(project.environment(), project.dir());
        let loaded = options.load(&world).unwrap();
        Opened::new(options, world, loaded)
    };
    let resume = |which: &str| SessionOptions { resume: Some(which.to_owned()), ..SessionOptions::default() };
    assert!(matches!(open(resume("nothing-like-it")).err(), Some(SessionError::Find(_))));
    let taken = SessionOptions { session_id: Some(first.clone()), ..SessionOptions::default() };
    assert!(matches!(open(taken).err(), Some(SessionError::Exists(id)) if id == first));
    let mut session = project.session_with(resume("latest"));
    session.idle().await;
    assert_eq!(session.handle.view().session_id(), first);
    assert_eq!(project.inputs_of("start", "source"), ["startup", "resume"]);
}

#[tokio::test]
async fn a_kept_conversation_goes_on_in_a_copy() {
    let project = noting();
    let mut session = project.session().await;
    session.answer("say one").await;
    let first = session.handle.view().session_id();
    assert!(said(&mut session, ChatOrder::Save("mine".to_owned())).await.contains("`mine`"));
    session.answer("say two").await;
    session.order(Order::Clear);
    session.idle().await;
    session.order(Order::Chat(ChatOrder::Resume("mine".to_owned())));
    session.idle().await;
    let id = session.handle.view().session_id();
    assert_ne!(id, first);
    session.answer("say three").await;
    let told = last_told(&project);
    assert!(told.contains("say one") && !told.contains("say two"), "{told}");
    assert_eq!(said(&mut session, ChatOrder::List).await, "mine");
    // The kept one is as it was.
    session.order(Order::Chat(ChatOrder::Resume("mine".to_owned())));
    session.idle().await;
    session.answer("say four").await;
    let told = last_told(&project);
    assert!(told.contains("say one") && !told.contains("say three"), "{told}");
    assert!(said(&mut session, ChatOrder::Delete("mine".to_owned())).await.contains("deleted"));
    assert!(said(&mut session, ChatOrder::List).await.starts_with("no conversation is kept"));
}

#[tokio::test]
async fn names_that_are_none_touch_no_file() {
    let project = noting();
    let mut session = project.session().await;
    session.answer("say one").await;
    let victim = project.write("victim.jsonl", "precious");
    let path = victim.with_extension("").display().to_string();
    for name in ["", ".", "..", ".hidden", "a/b", "../../victim", "a b", path.as_str()] {
        for order in [ChatOrder::Save, ChatOrder::Resume, ChatOrder::Delete] {
            let reply = said(&mut session, order(name.to_owned())).await;
            assert!(reply.starts_with("a name is made of"), "{name:?}: {reply}");
        }
    }
    for order in [ChatOrder::Resume, ChatOrder::Delete] {
        let reply = said(&mut session, order("nobody".to_owned())).await;
        assert_eq!(reply, "there is no conversation `nobody`; /chat list shows them all");
    }
    assert_eq!(project.read("victim.jsonl"), "precious");
    assert!(said(&mut session, ChatOrder::List).await.starts_with("no conversation is kept"));
}

#[tokio::test]
async fn what_was_switched_stays_switched_in_another_conversation() {
    use hookwright_agent::session::HooksOrder;
    let project = noting().hook("BeforeAgent", "counter", "");
    let first = earlier(&project, "say one").await;
    let mut session = project.session().await;
    session.order(Order::Hooks(HooksOrder::Disable("counter".to_owned())));
    session.reply().await;
    session.order(Order::Resume(Some(first)));
    session.idle().await;
    session.answer("say two").await;
    assert_eq!(project.inputs_of("counter", "prompt"), ["say one"]);
}
