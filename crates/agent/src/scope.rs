//! Where something happens: the turn it belongs to, and what ends it.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

/// A turn, or what happens outside of turns. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// The turn's name in hooks' input, logs and telemetry.
    pub(crate) turn_id: Option<Arc<str>>,
    /// Ends everything that runs in it.
    pub(crate) cancel: CancellationToken,
}

impl Scope {
    /// Something that belongs to no turn.
    pub(crate) fn outside(cancel: &CancellationToken) -> Self {
        Scope { turn_id: None, cancel: cancel.clone() }
    }

    /// The turn's name; empty outside of turns.
    pub(crate) fn prompt_id(&self) -> String {
        self.turn_id.as_deref().unwrap_or_default().to_owned()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}
