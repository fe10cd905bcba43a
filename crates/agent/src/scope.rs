//! Where something happens: the turn it belongs to, the sub-agent that is at work in it, and what ends it.

use std::sync::Arc;

use hookwright_hooks::{RunContext, SubAgent};
use tokio_util::sync::CancellationToken;

use crate::subagent::deadline::{Deadline, DeadlinePause};

/// A turn, or what happens outside of turns. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnScope {
    /// The turn's name in hooks' input, logs and telemetry.
    pub(crate) turn_id: Option<Arc<str>>,
    /// The sub-agent at work; nothing for the agent that the user talks to.
    pub(crate) agent: Option<Arc<SubAgent>>,
    /// The time that it has.
    pub(crate) deadline: Option<Arc<Deadline>>,
    /// Ends everything that runs in it.
    pub(crate) cancel: CancellationToken,
}

impl TurnScope {
    /// Something that belongs to no turn.
    pub(crate) fn outside_turn(cancel: &CancellationToken) -> Self {
        TurnScope { cancel: cancel.clone(), ..TurnScope::default() }
    }

    /// A part of it, which can be ended by itself.
    pub(crate) fn child(&self) -> Self {
        TurnScope { cancel: self.cancel.child_token(), ..self.clone() }
    }

    /// The turn's name; empty outside of turns.
    pub(crate) fn prompt_id(&self) -> String {
        self.turn_id.as_deref().unwrap_or_default().to_owned()
    }

    /// What hooks are told of it.
    pub(crate) fn run_context(&self) -> RunContext {
        RunContext { turn_id: self.turn_id.clone(), agent: self.agent.clone(), ..RunContext::default() }
    }

    /// Nobody's time runs out while this is there: somebody is asked.
    pub(crate) fn pause_deadline(&self) -> Option<DeadlinePause<'_>> {
        self.deadline.as_deref().map(Deadline::pause)
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}
