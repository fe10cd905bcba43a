//! Recorded transcripts of the protocol: commands to a session with the offline model and real hook scripts, and the
//! events that follow, serialised. Ids, times, paths and whole requests are redacted.

use hookwright_agent::session::{OpeningChoice, OpeningStep, SessionCommand, SessionOpening, SessionOptions};
use hookwright_agent::{AgentEvent, ApprovalReply, HookEvent, Interaction};
use hookwright_settings::ProcessEnv;
use serde_json::{Value, json};

use super::support::{RunningSession, TestProject, answer_script, is_idle};

/// Fields whose values differ from run to run.
const REDACTED_FIELDS: &[&str] = &[
    "duration_ms",
    "latency_ms",
    "event_id",
    "run_id",
    "turn_id",
    "prompt_id",
    "request",
    "usage",
    "usageMetadata",
    "tokens",
];

/// The transcript of a session.
struct Transcript {
    lines: Vec<String>,
    replacements: Vec<(String, String)>,
}

impl Transcript {
    fn new(project: &TestProject, session: &RunningSession) -> Self {
        let path = |path: std::path::PathBuf| path.display().to_string();
        let replacements = vec![
            (path(project.project_dir()), "[project]".to_owned()),
            (path(project.home_dir()), "[home]".to_owned()),
            (session.handle.view().session_id(), "[session]".to_owned()),
        ];
        Transcript { lines: Vec::new(), replacements }
    }

    fn command(&mut self, session: &RunningSession, command: SessionCommand) {
        self.lines.push(format!("> {command:?}"));
        session.send(command);
    }

    /// Writes down the events up to one that matches, and returns it.
    async fn events_until(
        &mut self,
        session: &mut RunningSession,
        is_last: impl Fn(&AgentEvent) -> bool,
    ) -> AgentEvent {
        loop {
            let event = session.next_event().await.unwrap();
            self.write(&event);
            if is_last(&event) {
                return event;
            }
        }
    }

    fn write(&mut self, event: &AgentEvent) {
        let mut value = json!(event);
        self.redact(&mut value);
        let mut line = value.to_string();
        for (text, name) in &self.replacements {
            line = line.replace(text, name);
        }
        if let Some((before, after)) = line.split_once("PGID: ") {
            line = format!("{before}PGID: [group]{}", after.trim_start_matches(|digit: char| digit.is_ascii_digit()));
        }
        self.lines.push(line);
    }

    fn redact(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        Value::String(id) if name == "call_id" || name == "tool_use_id" => {
                            let number = self.replacements.len() - 2;
                            if !self.replacements.iter().any(|(text, _)| text == id) {
                                self.replacements.push((id.clone(), format!("[call {number}]")));
                            }
                        }
                        value if REDACTED_FIELDS.contains(&name.as_str()) && !value.is_null() => *value = json!("[…]"),
                        value => self.redact(value),
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.redact(value)),
            _ => {}
        }
    }

    fn text(&self) -> String {
        self.lines.join("\n")
    }
}

fn prompt(text: &str) -> SessionCommand {
    SessionCommand::Prompt(text.to_owned())
}

/// Runs one prompt in a project, and returns the transcript.
async fn prompt_transcript(project: &TestProject, text: &str) -> String {
    let mut session = project.start_idle_session().await;
    let mut transcript = Transcript::new(project, &session);
    transcript.command(&session, prompt(text));
    transcript.events_until(&mut session, is_idle).await;
    session.finish().await;
    transcript.text()
}

#[tokio::test]
async fn a_plain_turn() {
    let project = TestProject::new().hook("BeforeAgent", "greet", &answer_script(&json!({"systemMessage": "hello"})));
    insta::assert_snapshot!(prompt_transcript(&project, "say hello").await);
}

#[tokio::test]
async fn a_denied_call() {
    let project = TestProject::new().hook("BeforeTool", "guard", "echo 'not here' >&2; exit 2");
    insta::assert_snapshot!(prompt_transcript(&project, r#"call run_shell_command {"command": "touch made"}"#).await);
    assert!(!project.exists("made"));
}

#[tokio::test]
async fn an_approval_question_that_is_answered() {
    let project = TestProject::new();
    let mut session = project.start_idle_session().await;
    let mut transcript = Transcript::new(&project, &session);
    transcript.command(&session, prompt(r#"call run_shell_command {"command": "touch made"}"#));
    let is_question = |event: &AgentEvent| matches!(event, AgentEvent::Question(_));
    let AgentEvent::Question(hookwright_agent::QuestionEvent::Asked(question)) =
        transcript.events_until(&mut session, is_question).await
    else {
        panic!("no question was asked: {}", transcript.text())
    };
    let answer = hookwright_agent::Answer::Approval(ApprovalReply::Once);
    transcript.command(&session, SessionCommand::Answer { id: question.id, answer });
    transcript.events_until(&mut session, is_idle).await;
    session.finish().await;
    insta::assert_snapshot!(transcript.text());
}

#[tokio::test]
async fn a_stop_hook() {
    let stop = answer_script(&json!({"continue": false, "stopReason": "enough for today"}));
    let project = TestProject::new().hook("AfterAgent", "stop", &stop);
    insta::assert_snapshot!(prompt_transcript(&project, "say hello").await);
}

#[tokio::test]
async fn a_cancelled_turn() {
    let project = TestProject::new().gate("gate").hook("BeforeAgent", "hold", "read _ <gate");
    let mut session = project.start_idle_session().await;
    let mut transcript = Transcript::new(&project, &session);
    transcript.command(&session, prompt("say hello"));
    let has_begun = |event: &AgentEvent| matches!(event, AgentEvent::Hook(HookEvent::Started { .. }));
    transcript.events_until(&mut session, has_begun).await;
    transcript.command(&session, prompt("say more"));
    transcript.command(&session, SessionCommand::Cancel);
    transcript.events_until(&mut session, is_idle).await;
    session.finish().await;
    insta::assert_snapshot!(transcript.text());
}

#[test]
fn opening_questions() {
    let project = TestProject::new();
    project.write(".gemini/settings.json", "{ \"hooks\": ");
    let environment = project.environment().into_iter().filter(|(name, _)| name != "GEMINI_CLI_TRUST_WORKSPACE");
    let world = ProcessEnv::new(environment.collect::<Vec<_>>(), project.project_dir());
    let options = SessionOptions { interaction: Interaction::Interactive, ..SessionOptions::default() };
    let mut opening = SessionOpening::new(options, world).unwrap();
    let mut lines = Vec::new();
    while let Some(question) = opening.next_question().unwrap() {
        lines.push(json!({"question": question, "choices": question.choices()}).to_string());
        let choice = match question.choices().iter().find(|choice| **choice == OpeningChoice::Continue) {
            Some(choice) => choice.clone(),
            None => question.choices()[0].clone(),
        };
        lines.push(format!("> {choice:?}"));
        assert_eq!(opening.answer(&question, choice).unwrap(), OpeningStep::Continue);
    }
    let text = lines.join("\n").replace(&project.project_dir().display().to_string(), "[project]");
    insta::assert_snapshot!(text);
}
