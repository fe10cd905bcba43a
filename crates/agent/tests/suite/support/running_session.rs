//! A whole session in a test project: commands in, events out.

use std::fmt::Write as _;

use hookwright_agent::session::{PreparedSession, Reply, SessionCommand, SessionHandle, SessionOptions, Shutdown};
use hookwright_agent::{
    AgentEvent, Answer, ApprovalReply, EndReason, EventStream, Interaction, ModelEvent, Question, QuestionEvent,
    QuestionId, SessionEvent, SessionObserver, TurnEnd, TurnEvent,
};
use hookwright_settings::ProcessEnv;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{TestProject, within_hang_timeout};

/// A running session.
pub(crate) struct RunningSession {
    pub(crate) handle: SessionHandle,
    pub(crate) events: EventStream,
    task: JoinHandle<Vec<String>>,
    /// Every event so far, for the failure message of a wait that hangs.
    event_log: String,
}

impl TestProject {
    /// Writes the project's settings: the hooks, and more.
    pub(crate) fn write_settings(&self, more: &Value) {
        let mut settings = self.settings();
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.write(".gemini/settings.json", format!("{settings:#}\n"));
    }

    pub(crate) fn write_user_settings(&self, settings: &Value) {
        let folder = self.home_dir().join(".gemini");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("settings.json"), format!("{settings:#}\n")).unwrap();
    }

    /// Starts an interactive session with the offline model, and waits until it is idle.
    pub(crate) async fn start_idle_session(&self) -> RunningSession {
        let mut running = self.start_session(SessionOptions::default());
        running.wait_until_idle().await;
        running
    }

    /// Starts an interactive session.
    pub(crate) fn start_session(&self, options: SessionOptions) -> RunningSession {
        self.launch_session(options, &[], Vec::new())
    }

    /// Starts an interactive session with an observer.
    pub(crate) fn start_observed_session(&self, observer: Box<dyn SessionObserver>) -> RunningSession {
        self.launch_session(SessionOptions::default(), &[], vec![observer])
    }

    /// Starts an interactive session with more environment variables.
    pub(crate) fn start_session_with_env(&self, more: &[(&str, &str)]) -> RunningSession {
        self.launch_session(SessionOptions::default(), more, Vec::new())
    }

    fn launch_session(
        &self,
        options: SessionOptions,
        more: &[(&str, &str)],
        observers: Vec<Box<dyn SessionObserver>>,
    ) -> RunningSession {
        if !self.exists(".gemini/settings.json") {
            self.write_settings(&serde_json::json!({}));
        }
        let options = SessionOptions { interaction: Interaction::Interactive, ..options };
        let mut environment = self.environment();
        environment.extend(more.iter().map(|(name, value)| (name.into(), value.into())));
        let world = ProcessEnv::new(environment, self.project_dir());
        let loaded = options.load(&world).unwrap();
        let (handle, events, task) = PreparedSession::new(options, world, loaded).unwrap().start(observers);
        RunningSession { handle, events, task, event_log: String::new() }
    }
}

impl RunningSession {
    pub(crate) fn send(&self, order: SessionCommand) {
        self.handle.send(order);
    }

    /// Answers an approval question.
    pub(crate) fn approve(&self, id: QuestionId, reply: ApprovalReply) {
        self.send(SessionCommand::Answer { id, answer: Answer::Approval(reply) });
    }

    /// Waits for the next question.
    pub(crate) async fn next_question(&mut self) -> Question {
        self.find_event(|event| {
            if let AgentEvent::Question(QuestionEvent::Asked(question)) = event { Some(question) } else { None }
        })
        .await
    }

    pub(crate) fn prompt(&self, prompt: &str) {
        self.send(SessionCommand::Prompt(prompt.to_owned()));
    }

    /// Returns the next event, or `None` at the end.
    pub(crate) async fn next_event(&mut self) -> Option<AgentEvent> {
        let event = within_hang_timeout("an event", self.events.recv()).await;
        if let Some(event) = &event {
            let _ = writeln!(self.event_log, "{event:?}");
        }
        event
    }

    /// Reads events until the function accepts one, and returns its result.
    pub(crate) async fn find_event<T>(&mut self, mut look: impl FnMut(AgentEvent) -> Option<T>) -> T {
        loop {
            match self.next_event().await {
                Some(event) => {
                    if let Some(found) = look(event) {
                        return found;
                    }
                }
                None => panic!("it was never told:\n{}", self.event_log),
            }
        }
    }

    /// Reads events until one matches.
    pub(crate) async fn wait_for(&mut self, is_it: impl Fn(&AgentEvent) -> bool) {
        self.find_event(|event| is_it(&event).then_some(())).await;
    }

    /// Reads events until the session is idle.
    pub(crate) async fn wait_until_idle(&mut self) {
        self.wait_for(is_idle).await;
    }

    /// Runs a prompt and returns the answer's text and the end of the turn.
    pub(crate) async fn run_prompt(&mut self, prompt: &str) -> (String, TurnEnd) {
        self.prompt(prompt);
        let mut text = String::new();
        let end = self
            .find_event(|event| match event {
                AgentEvent::Model(ModelEvent::Text(more)) => {
                    text.push_str(&more);
                    None
                }
                AgentEvent::Turn(TurnEvent::Finished(end)) => Some(end),
                _ => None,
            })
            .await;
        self.wait_until_idle().await;
        (text, end)
    }

    /// Returns the text of the next reply that has any.
    pub(crate) async fn next_reply_text(&mut self) -> String {
        self.find_event(|event| reply_text(&event)).await
    }

    /// Ends the session when its queue is empty, and returns the remaining events.
    pub(crate) async fn finish(self) -> Vec<AgentEvent> {
        self.handle.end(Shutdown::Done, EndReason::Exit);
        self.drain_events().await
    }

    /// Drops the session's handle and events, as a front end that has died does.
    pub(crate) fn abandon(self) -> JoinHandle<Vec<String>> {
        self.task
    }

    /// Returns the remaining events up to the end.
    pub(crate) async fn drain_events(mut self) -> Vec<AgentEvent> {
        let mut rest = Vec::new();
        while let Some(event) = self.next_event().await {
            rest.push(event);
        }
        within_hang_timeout("the session's end", self.task).await.unwrap();
        rest
    }
}

pub(crate) fn is_idle(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Session(SessionEvent::Idle { .. }))
}

pub(crate) fn is_text(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Model(ModelEvent::Text(_)))
}

/// Returns the end of a turn, if the event is one.
pub(crate) fn turn_end(event: AgentEvent) -> Option<TurnEnd> {
    match event {
        AgentEvent::Turn(TurnEvent::Finished(end)) => Some(end),
        _ => None,
    }
}

/// Returns the text of a reply, if the event is one that has text.
pub(crate) fn reply_text(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::Session(SessionEvent::Reply(Reply::Text(_, text))) => Some(text.clone()),
        _ => None,
    }
}
