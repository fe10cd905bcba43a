//! The start and end of a conversation: SessionStart, SessionEnd, and the shutdown of everything left running.
//!
//! The hooks around each turn are in `agent.rs`.

use std::borrow::Cow;
use std::time::Duration;

use hookwright_hooks::{EventKind, SessionEnd, SessionStart};
use hookwright_model::Content;
use tokio_util::sync::CancellationToken;

use super::Agent;
use crate::event::AgentNotice;
use crate::scope::TurnScope;
use crate::services::Interaction;
use crate::session::announce_kept_jobs;
use crate::translate::hook_context;

/// Why a session starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartSource {
    /// The program starts.
    Startup,
    /// An earlier session is resumed.
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
    /// The user removed the stored connection.
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
    /// Fires SessionStart and keeps the context that its hooks return.
    pub async fn start(&mut self, source: StartSource, cancel: &CancellationToken) {
        self.services.hooks.start_workers();
        let event = SessionStart { source: Cow::Borrowed(source.as_str()) };
        let context = self.services.fire(&event, &TurnScope::outside_turn(cancel)).await.verdict.context;
        match (context, self.services.interaction) {
            (Some(context), Interaction::Interactive) => self.push_message(Content::user_text(hook_context(&context))),
            (context, _) => self.start_context = context,
        }
    }

    /// Fires SessionEnd and waits for its hooks for a limited time.
    pub async fn end(&mut self, reason: EndReason) {
        /// The wait that passes without a message to the user.
        const SILENT_WAIT_PERIOD: Duration = Duration::from_millis(300);
        let event = SessionEnd { reason: Cow::Borrowed(reason.as_str()) };
        let Some(mut done) = self.services.fire_detached(event, &TurnScope::default()) else { return };
        let grace = self.services.hooks.session_end_grace();
        if tokio::time::timeout(grace.min(SILENT_WAIT_PERIOD), &mut done).await.is_err() && grace > SILENT_WAIT_PERIOD {
            self.services.events.send(AgentNotice::Note(self.session_end_wait_message(reason, grace)));
            let _ = tokio::time::timeout(grace - SILENT_WAIT_PERIOD, done).await;
        }
    }

    /// Returns the message that names the SessionEnd hooks which are waited for.
    fn session_end_wait_message(&self, reason: EndReason, grace: Duration) -> String {
        let plan = self.services.hooks.plan(EventKind::SessionEnd, Some(reason.as_str()));
        let names: Vec<&str> = plan.iter().flat_map(|plan| &plan.hooks).map(|hook| hook.id()).collect();
        let seconds = grace.as_secs_f64();
        format!("waiting for SessionEnd hooks ({}), {seconds:.1} s at most", names.join(", "))
    }

    /// Ends what tools and hooks left running. It is the last step of a session.
    pub async fn shutdown(&self) {
        const SHUTDOWN_GRACE_PERIOD: Duration = Duration::from_millis(500);
        // Background hooks that were started before the end have had time already.
        self.services.background_hooks.shut_down(SHUTDOWN_GRACE_PERIOD).await;
        self.services.tool_context.process_groups.terminate_all(SHUTDOWN_GRACE_PERIOD).await;
        self.end_servers().await;
        self.services.hooks.shutdown().await;
        announce_kept_jobs(&self.services);
    }

    /// Ends the MCP servers. Changes that they make to guard files while they exit are attributed to them.
    async fn end_servers(&self) {
        let any = !self.services.servers.views().is_empty();
        let window = if any { self.services.tamper_watch.open_hook_window().await } else { None };
        self.services.servers.shutdown().await;
        if let Some(window) = window {
            window.close().await;
        }
    }
}
