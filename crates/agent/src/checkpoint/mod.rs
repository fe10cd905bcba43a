//! Checkpoints: what files were before a turn of the agent changed them, and where the conversation stood, so that both can be
//! brought back. The user's own git is never touched.
//!
//! `path_state.rs` says what stands at a path, `store.rs` keeps that outside of the project (`retention.rs` within bounds), `recorder.rs` does so around every call of a
//! turn (`project_scan.rs` where nobody can tell what a call changes), `restore_plan.rs` says what a restore would do and `restore.rs` does it; `session_changes.rs` says what a session has changed.

mod path_state;
mod project_scan;
mod recorder;
mod restore;
mod restore_plan;
mod retention;
mod session_changes;
mod store;

pub use path_state::PathState;
pub use recorder::CheckpointRecorder;
pub(crate) use recorder::{CallTargets, MutatingCall, TurnStart};
pub use restore::{ConflictPolicy, RestoreReport};
pub use restore_plan::{FileRestoreAction, PlannedChange, RestorePlan, RestoreRoots};
pub use session_changes::{SessionChanges, SessionFileChange};
pub use store::{Checkpoint, CheckpointError, CheckpointKind, CheckpointStore, ConversationMark, RecordedFile};

/// What is brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreScope {
    /// The files.
    Files,
    /// The conversation.
    Conversation,
    /// Both.
    Both,
}

impl RestoreScope {
    /// Whether files are among it.
    pub fn includes_files(self) -> bool {
        self != RestoreScope::Conversation
    }

    /// Whether the conversation is.
    pub fn includes_conversation(self) -> bool {
        self != RestoreScope::Files
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
