//! The scope in which something runs: its turn, its sub-agent, and what cancels it.

use std::sync::Arc;

use hookwright_hooks::{RunContext, SubAgent};
use tokio_util::sync::CancellationToken;

use crate::subagent::deadline::{Deadline, DeadlinePause};

/// The scope of a turn, or of work outside of turns. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnScope {
    /// The turn's identifier in hook inputs, logs and telemetry.
    pub(crate) turn_id: Option<Arc<str>>,
    /// The sub-agent at work; `None` for the main agent.
    pub(crate) agent: Option<Arc<SubAgent>>,
    /// The deadline of the sub-agent.
    pub(crate) deadline: Option<Arc<Deadline>>,
    /// Cancels everything that runs in the scope.
    pub(crate) cancel: CancellationToken,
}

impl TurnScope {
    /// Creates a scope for work that belongs to no turn.
    pub(crate) fn outside_turn(cancel: &CancellationToken) -> Self {
        TurnScope { cancel: cancel.clone(), ..TurnScope::default() }
    }

    /// Creates a child scope that can be cancelled by itself.
    pub(crate) fn child(&self) -> Self {
        TurnScope { cancel: self.cancel.child_token(), ..self.clone() }
    }

    /// Returns the turn's identifier, empty outside of turns.
    pub(crate) fn prompt_id(&self) -> String {
        self.turn_id.as_deref().unwrap_or_default().to_owned()
    }

    /// Returns the context that hooks get.
    pub(crate) fn run_context(&self) -> RunContext {
        RunContext { turn_id: self.turn_id.clone(), agent: self.agent.clone(), ..RunContext::default() }
    }

    /// Pauses the sub-agent's deadline until the value is dropped, while the user is asked.
    pub(crate) fn pause_deadline(&self) -> Option<DeadlinePause<'_>> {
        self.deadline.as_deref().map(Deadline::pause)
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}
