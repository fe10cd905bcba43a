//! A whole session in the box: orders in, events out.

use std::fmt::Write as _;

use hookwright_agent::session::{Opened, Order, Reply, SessionHandle, SessionOptions, When};
use hookwright_agent::{AgentEvent, EndReason, EventStream, Interaction, TurnEnd};
use hookwright_settings::World;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{Project, within};

/// A session at work.
pub(crate) struct Running {
    pub(crate) handle: SessionHandle,
    pub(crate) events: EventStream,
    task: JoinHandle<()>,
    /// Everything told so far, for whoever waits in vain.
    told: String,
}

impl Project {
    /// Writes the project's settings: the hooks, and more.
    pub(crate) fn write_settings(&self, more: &Value) {
        let mut settings = self.settings();
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.write(".gemini/settings.json", format!("{settings:#}\n"));
    }

    /// Writes the user's settings.
    pub(crate) fn write_user_settings(&self, settings: &Value) {
        let folder = self.home().join(".gemini");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("settings.json"), format!("{settings:#}\n")).unwrap();
    }

    /// An interactive session with the offline model, at rest.
    pub(crate) async fn session(&self) -> Running {
        let mut running = self.session_with(SessionOptions::default());
        running.idle().await;
        running
    }

    /// An interactive session that has just begun.
    pub(crate) fn session_with(&self, options: SessionOptions) -> Running {
        self.begin(options, &[])
    }

    /// An interactive session that has just begun, with more in its environment.
    pub(crate) fn session_in(&self, more: &[(&str, &str)]) -> Running {
        self.begin(SessionOptions::default(), more)
    }

    fn begin(&self, options: SessionOptions, more: &[(&str, &str)]) -> Running {
        if !self.has(".gemini/settings.json") {
            self.write_settings(&serde_json::json!({}));
        }
        let options = SessionOptions { interaction: Interaction::Interactive, ..options };
        let mut environment = self.environment();
        environment.extend(more.iter().map(|(name, value)| (name.into(), value.into())));
        let world = World::new(environment, self.dir());
        let loaded = options.load(&world).unwrap();
        let (handle, events, task) = Opened::new(options, world, loaded).unwrap().start();
        Running { handle, events, task, told: String::new() }
    }
}

impl Running {
    pub(crate) fn order(&self, order: Order) {
        self.handle.order(order);
    }

    pub(crate) fn prompt(&self, prompt: &str) {
        self.order(Order::Prompt(prompt.to_owned()));
    }

    /// The next event; none at the end.
    pub(crate) async fn next(&mut self) -> Option<AgentEvent> {
        let event = within("an event", self.events.recv()).await;
        if let Some(event) = &event {
            let _ = writeln!(self.told, "{event:?}");
        }
        event
    }

    /// Reads until there is what is looked for, and gives it back.
    pub(crate) async fn find<T>(&mut self, mut look: impl FnMut(AgentEvent) -> Option<T>) -> T {
        loop {
            match self.next().await {
                Some(event) => {
                    if let Some(found) = look(event) {
                        return found;
                    }
                }
                None => panic!("it was never told:\n{}", self.told),
            }
        }
    }

    /// Reads until something is told.
    pub(crate) async fn until(&mut self, is_it: impl Fn(&AgentEvent) -> bool) {
        self.find(|event| is_it(&event).then_some(())).await;
    }

    /// Reads until nothing is under way.
    pub(crate) async fn idle(&mut self) {
        self.until(is_idle).await;
    }

    /// Answers a prompt: its text and its end.
    pub(crate) async fn answer(&mut self, prompt: &str) -> (String, TurnEnd) {
        self.prompt(prompt);
        let mut text = String::new();
        let end = self
            .find(|event| match event {
                AgentEvent::Text(more) => {
                    text.push_str(&more);
                    None
                }
                AgentEvent::TurnFinished(end) => Some(end),
                _ => None,
            })
            .await;
        self.idle().await;
        (text, end)
    }

    /// The words of the next reply that has any.
    pub(crate) async fn reply(&mut self) -> String {
        self.find(|event| reply_text(&event)).await
    }

    /// Ends the session when all is done; everything that was still told.
    pub(crate) async fn leave(self) -> Vec<AgentEvent> {
        self.handle.end(When::Done, EndReason::Exit);
        self.rest().await
    }

    /// Lets go of the session, as a front end that has died does.
    pub(crate) fn abandon(self) -> JoinHandle<()> {
        self.task
    }

    /// Everything that is still told, to the end.
    pub(crate) async fn rest(mut self) -> Vec<AgentEvent> {
        let mut rest = Vec::new();
        while let Some(event) = self.next().await {
            rest.push(event);
        }
        within("the session's end", self.task).await.unwrap();
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
