//! Checkpoints: what files were before a turn of the agent changed them, and where the conversation stood, so that both can be
//! brought back. The user's own git is never touched.
//!
//! `look.rs` says what stands at a path, `store.rs` keeps that outside of the project (`room.rs` within bounds), `keep.rs` does so around every call of a
//! turn (`sweep.rs` where nobody can tell what a call changes), `plan.rs` says what a restore would do and `restore.rs` does it; `since.rs` says what a session has changed.

mod keep;
mod look;
mod plan;
mod restore;
mod room;
mod since;
mod store;
mod sweep;

pub use keep::Checkpoints;
pub(crate) use keep::{Beginning, Pending, Touching};
pub use look::State;
pub use plan::{Change, Deed, Plan, Roots};
pub use restore::{Restored, Since};
pub use since::{Changed, Difference};
pub use store::{Checkpoint, CheckpointError, KeptFile, Kind, Mark, Store};

/// What is brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The files.
    Files,
    /// The conversation.
    Conversation,
    /// Both.
    Both,
}

impl What {
    /// Whether files are among it.
    pub fn files(self) -> bool {
        self != What::Conversation
    }

    /// Whether the conversation is.
    pub fn conversation(self) -> bool {
        self != What::Files
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
