//! How a conversation starts and ends, and why: SessionStart, SessionEnd, and the end of all that was left running. What is
//! around each turn is `agent.rs`.

use std::borrow::Cow;
use std::time::Duration;

use hookwright_hooks::{EventKind, SessionEnd, SessionStart};
use hookwright_model::Content;
use tokio_util::sync::CancellationToken;

use super::Agent;
use crate::event::AgentEvent;
use crate::scope::Scope;
use crate::services::Interaction;
use crate::session::tell_what_stays;
use crate::translate::hook_context;

/// Why a session starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartSource {
    /// The program starts.
    Startup,
    /// An earlier session goes on.
    Resume,
    /// The conversation was cleared.
    Clear,
}

impl StartSource {
    fn as_str(self) -> &'static str {
        match self {
            StartSource::Startup => "startup",
            StartSource::Resume => "resume",
            StartSource::Clear => "clear",
        }
    }
}

/// Why a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The program ends.
    Exit,
    /// The user ended the input at the prompt (Ctrl-D).
    PromptInputExit,
    /// The conversation was cleared.
    Clear,
    /// The user forgot what was connected.
    Logout,
}

impl EndReason {
    fn as_str(self) -> &'static str {
        match self {
            EndReason::Exit => "exit",
            EndReason::PromptInputExit => "prompt_input_exit",
            EndReason::Clear => "clear",
            EndReason::Logout => "logout",
        }
    }
}

impl Agent {
    /// Fires SessionStart.
    pub async fn start(&mut self, source: StartSource, cancel: &CancellationToken) {
        self.services.hooks.start_workers();
        let event = SessionStart { source: Cow::Borrowed(source.as_str()) };
        let context = self.services.fire(&event, &Scope::outside(cancel)).await.verdict.context;
        match (context, self.services.interaction) {
            (Some(context), Interaction::Interactive) => self.remember(Content::user_text(hook_context(&context))),
            (context, _) => self.start_context = context,
        }
    }

    /// Fires SessionEnd and waits for its hooks only a short while.
    pub async fn end(&mut self, reason: EndReason) {
        /// Who is quicker than that is not waited for in anybody's eyes.
        const UNNOTICED: Duration = Duration::from_millis(300);
        let event = SessionEnd { reason: Cow::Borrowed(reason.as_str()) };
        let Some(mut done) = self.services.fire_aside(event, &Scope::default()) else { return };
        let grace = self.services.hooks.session_end_grace();
        if tokio::time::timeout(grace.min(UNNOTICED), &mut done).await.is_err() && grace > UNNOTICED {
            self.services.events.send(AgentEvent::Note(self.waits_for(reason, grace)));
            let _ = tokio::time::timeout(grace - UNNOTICED, done).await;
        }
    }

    /// What a session that ends waits for, in words.
    fn waits_for(&self, reason: EndReason, grace: Duration) -> String {
        let plan = self.services.hooks.plan(EventKind::SessionEnd, Some(reason.as_str()));
        let names: Vec<&str> = plan.iter().flat_map(|plan| &plan.hooks).map(|hook| hook.id()).collect();
        let seconds = grace.as_secs_f64();
        format!("waiting for SessionEnd hooks ({}), {seconds:.1} s at most", names.join(", "))
    }

    /// Ends what tools and hooks left running. The last thing a session does.
    pub async fn shutdown(&self) {
        const GRACE: Duration = Duration::from_millis(500);
        // Those that have run since before the end have had their time.
        self.services.aside.end(GRACE).await;
        self.services.tool_context.background.end_all(GRACE).await;
        self.end_servers().await;
        self.services.hooks.shutdown().await;
        tell_what_stays(&self.services);
    }

    /// Ends the MCP servers; what they change of the guards with their last breath is theirs.
    async fn end_servers(&self) {
        let any = !self.services.servers.view().is_empty();
        let window = if any { self.services.guards.hooks().await } else { None };
        self.services.servers.end().await;
        if let Some(window) = window {
            window.close().await;
        }
    }
}
