//! Observers of a session: they see what a front end is told, in the same order, and nothing that hooks keep back.

use std::sync::{Arc, Mutex};

use hookwright_agent::session::{SessionCommand, SessionView};
use hookwright_agent::{AgentEvent, ApprovalReply, SessionEvent, SessionObserver, TurnEnd};
use serde_json::json;

use super::support::{TestProject, answer_script, shared_log, specific_output_script, within_hang_timeout};

/// Writes down what it is told.
struct EventRecorder(Box<dyn FnMut(&str) + Send>);

impl std::fmt::Debug for EventRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EventRecorder")
    }
}

impl SessionObserver for EventRecorder {
    fn begin(&mut self, view: &SessionView) -> Vec<String> {
        (self.0)(&format!("begins in {}", view.session_id()));
        vec!["a warning of the observer".to_owned()]
    }

    fn on_event(&mut self, event: &AgentEvent) {
        (self.0)(&json!(event).to_string());
    }

    fn finish(&mut self) -> Vec<String> {
        (self.0)("is over");
        vec!["something was lost".to_owned()]
    }
}

fn event_recorder() -> (Box<dyn SessionObserver>, Arc<Mutex<Vec<String>>>) {
    let (log, note) = shared_log();
    (Box::new(EventRecorder(Box::new(note))), log)
}

#[tokio::test]
async fn observers_see_what_the_front_end_is_told() {
    let project = TestProject::new().hook("BeforeAgent", "look", &answer_script(&json!({"systemMessage": "hello"})));
    let (recorder, log) = event_recorder();
    let session = project.start_observed_session(recorder);
    session.prompt("say hello");
    let told: Vec<String> = session.finish().await.iter().map(|event| json!(event).to_string()).collect();
    let seen = log.lock().unwrap().clone();
    assert!(seen[0].starts_with("begins in "), "{seen:#?}");
    assert_eq!(seen[1..seen.len() - 1], told);
    assert_eq!(seen.last().unwrap(), "is over");
    assert!(told.iter().any(|event| event.contains("a warning of the observer")));
}

#[tokio::test]
async fn observers_go_on_without_a_front_end_and_return_their_last_warnings() {
    let project = TestProject::new();
    let (recorder, log) = event_recorder();
    let session = project.start_observed_session(recorder);
    session.prompt("say hello");
    let warnings = within_hang_timeout("the session's end", session.abandon()).await.unwrap();
    assert_eq!(warnings, ["something was lost"]);
    let seen = log.lock().unwrap();
    assert!(seen.iter().any(|event| event.contains("hello")), "{seen:#?}");
    assert_eq!(seen.iter().filter(|event| *event == "is over").count(), 1);
}

#[tokio::test]
async fn a_denied_prompt_never_starts_and_redacted_arguments_are_seen_by_no_observer() {
    let secret = "hunter2";
    let project = TestProject::new()
        .hook("BeforeAgent", "gatekeeper", "case $input in *forbidden*) echo 'not that' >&2; exit 2;; esac")
        .hook_with_matcher(
            "BeforeTool",
            "run_shell_command",
            "redact",
            &specific_output_script(json!({"tool_input": {"command": "touch made"}, "redact_input": true})),
        );
    let (recorder, log) = event_recorder();
    let mut session = project.start_observed_session(recorder);
    session.wait_until_idle().await;
    assert_eq!(session.run_prompt("say forbidden").await.1, TurnEnd::Blocked("not that".to_owned()));
    let started = |log: &[String]| log.iter().filter(|event| event.contains(r#"{"started":{"prompt""#)).count();
    assert_eq!(started(&log.lock().unwrap()), 0);
    // The prompt itself names the secret, so what is looked at begins with the model's answer to it.
    session.prompt(&format!(r#"call run_shell_command {{"command": "echo {secret}"}}"#));
    let question = session.next_question().await;
    session.approve(question.id, ApprovalReply::Once);
    session.finish().await;
    let log = log.lock().unwrap();
    assert_eq!(started(&log), 1);
    let answered = log.iter().filter(|event| event.contains(r#"{"answered""#)).collect::<Vec<_>>();
    assert!(!answered.is_empty() && answered.iter().all(|event| !event.contains(secret)), "{answered:#?}");
    let finished = log.iter().find(|event| event.contains(r#"{"tool":{"finished""#)).unwrap();
    assert!(!finished.contains(secret), "{finished}");
}

#[tokio::test]
async fn a_client_that_joins_later_gets_a_snapshot() {
    let project =
        TestProject::new().gate("gate").hook("BeforeAgent", "hold", "case $input in *hold*) read _ <gate;; esac");
    let mut session = project.start_idle_session().await;
    session.run_prompt("say something old").await;
    session.prompt("say hold");
    session.prompt("say two");
    session.wait_for(|event| matches!(event, AgentEvent::Session(SessionEvent::PromptsQueued(_)))).await;
    session.send(SessionCommand::Snapshot);
    let snapshot = session
        .find_event(|event| match event {
            AgentEvent::Session(SessionEvent::Snapshot(snapshot)) => Some(json!(snapshot)),
            _ => None,
        })
        .await;
    assert_eq!(
        (&snapshot["version"], &snapshot["model"], &snapshot["mode"]),
        (&json!(1), &json!("offline"), &json!("default"))
    );
    assert_eq!((&snapshot["activity"], &snapshot["queued_prompts"]), (&json!("working"), &json!(["say two"])));
    assert_eq!(snapshot["statistics"]["prompts"], 1);
    assert!(snapshot["history"].to_string().contains("something old"), "{snapshot:#}");
    project.open_gate("gate").await;
    session.wait_until_idle().await;
    session.wait_until_idle().await;
    session.prompt(r#"call run_shell_command {"command": "touch made"}"#);
    let question = session.next_question().await;
    let snapshot = session.handle.view().snapshot();
    assert_eq!(json!(snapshot.open_questions), json!([question]));
    session.approve(question.id, ApprovalReply::Once);
    session.wait_until_idle().await;
    let snapshot = session.handle.view().snapshot();
    assert!(snapshot.open_questions.is_empty() && snapshot.progress.activity.is_none());
    assert_eq!(snapshot.statistics.all_tools().calls, 1);
    session.finish().await;
}
