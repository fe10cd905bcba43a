//! A whole session in the box: orders in, events out.

use std::fmt::Write as _;

use hookwright_agent::session::{PreparedSession, Reply, SessionCommand, SessionHandle, SessionOptions, Shutdown};
use hookwright_agent::{AgentEvent, EndReason, EventStream, Interaction, TurnEnd};
use hookwright_settings::ProcessEnv;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{TestProject, within_hang_timeout};

/// A session at work.
pub(crate) struct RunningSession {
    pub(crate) handle: SessionHandle,
    pub(crate) events: EventStream,
    task: JoinHandle<()>,
    /// Everything told so far, for whoever waits in vain.
    event_log: String,
}

impl TestProject {
    /// Writes the project's settings: the hooks, and more.
    pub(crate) fn write_settings(&self, more: &Value) {
        let mut settings = self.settings();
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.write(".gemini/settings.json", format!("{settings:#}\n"));
    }

    /// Writes the user's settings.
    pub(crate) fn write_user_settings(&self, settings: &Value) {
        let folder = self.home_dir().join(".gemini");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("settings.json"), format!("{settings:#}\n")).unwrap();
    }

    /// An interactive session with the offline model, at rest.
    pub(crate) async fn start_idle_session(&self) -> RunningSession {
        let mut running = self.start_session(SessionOptions::default());
        running.wait_until_idle().await;
        running
    }

    /// An interactive session that has just begun.
    pub(crate) fn start_session(&self, options: SessionOptions) -> RunningSession {
        self.launch_session(options, &[])
    }

    /// An interactive session that has just begun, with more in its environment.
    pub(crate) fn start_session_with_env(&self, more: &[(&str, &str)]) -> RunningSession {
        self.launch_session(SessionOptions::default(), more)
    }

    fn launch_session(&self, options: SessionOptions, more: &[(&str, &str)]) -> RunningSession {
        if !self.exists(".gemini/settings.json") {
            self.write_settings(&serde_json::json!({}));
        }
        let options = SessionOptions { interaction: Interaction::Interactive, ..options };
        let mut environment = self.environment();
        environment.extend(more.iter().map(|(name, value)| (name.into(), value.into())));
        let world = ProcessEnv::new(environment, self.project_dir());
        let loaded = options.load(&world).unwrap();
        let (handle, events, task) = PreparedSession::new(options, world, loaded).unwrap().start();
        RunningSession { handle, events, task, event_log: String::new() }
    }
}

impl RunningSession {
    pub(crate) fn send(&self, order: SessionCommand) {
        self.handle.send(order);
    }

    pub(crate) fn prompt(&self, prompt: &str) {
        self.send(SessionCommand::Prompt(prompt.to_owned()));
    }

    /// The next event; none at the end.
    pub(crate) async fn next_event(&mut self) -> Option<AgentEvent> {
        let event = within_hang_timeout("an event", self.events.recv()).await;
        if let Some(event) = &event {
            let _ = writeln!(self.event_log, "{event:?}");
        }
        event
    }

    /// Reads until there is what is looked for, and gives it back.
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

    /// Reads until something is told.
    pub(crate) async fn wait_for(&mut self, is_it: impl Fn(&AgentEvent) -> bool) {
        self.find_event(|event| is_it(&event).then_some(())).await;
    }

    /// Reads until nothing is under way.
    pub(crate) async fn wait_until_idle(&mut self) {
        self.wait_for(is_idle).await;
    }

    /// Answers a prompt: its text and its end.
    pub(crate) async fn run_prompt(&mut self, prompt: &str) -> (String, TurnEnd) {
        self.prompt(prompt);
        let mut text = String::new();
        let end = self
            .find_event(|event| match event {
                AgentEvent::Text(more) => {
                    text.push_str(&more);
                    None
                }
                AgentEvent::TurnFinished(end) => Some(end),
                _ => None,
            })
            .await;
        self.wait_until_idle().await;
        (text, end)
    }

    /// The words of the next reply that has any.
    pub(crate) async fn next_reply_text(&mut self) -> String {
        self.find_event(|event| reply_text(&event)).await
    }

    /// Ends the session when all is done; everything that was still told.
    pub(crate) async fn finish(self) -> Vec<AgentEvent> {
        self.handle.end(Shutdown::Done, EndReason::Exit);
        self.drain_events().await
    }

    /// Lets go of the session, as a front end that has died does.
    pub(crate) fn abandon(self) -> JoinHandle<()> {
        self.task
    }

    /// Everything that is still told, to the end.
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
    matches!(event, AgentEvent::Idle { .. })
}

pub(crate) fn is_text(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Text(_))
}

/// How a turn ended, if the event says so.
pub(crate) fn turn_end(event: AgentEvent) -> Option<TurnEnd> {
    match event {
        AgentEvent::TurnFinished(end) => Some(end),
        _ => None,
    }
}

/// The words of a reply, if the event is one that has any.
pub(crate) fn reply_text(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::Reply(Reply::Text(_, text)) => Some(text.clone()),
        _ => None,
    }
}
