//! Checkpoints: the state of files before a turn of the agent changed them, and the position in the conversation, so
//! that both can be restored. The user's git repository is never touched.
//!
//! `path_state.rs` reads the state of a path, and `store.rs` keeps it outside of the project, within the limits
//! of `retention.rs`. `recorder.rs` records states around every call of a turn, with `project_scan.rs` for
//! calls whose effects are unknown. `restore_plan.rs` plans a restore and `restore.rs` runs it;
//! `session_changes.rs` lists what a session has changed.

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
pub use restore::{ConflictPolicy, RestoreReport, RestoreSkip};
pub use restore_plan::{FileRestoreAction, PlannedChange, RestorePlan, RestoreRoots};
pub use session_changes::{SessionChanges, SessionFileChange};
pub use store::{Checkpoint, CheckpointError, CheckpointKind, CheckpointStore, ConversationMark, RecordedFile};

/// The part of a checkpoint that is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RestoreScope {
    /// Only the files are restored.
    Files,
    /// Only the conversation is restored.
    Conversation,
    /// Files and conversation are restored.
    Both,
}

impl RestoreScope {
    /// Returns whether files are restored.
    pub fn includes_files(self) -> bool {
        self != RestoreScope::Conversation
    }

    /// Returns whether the conversation is restored.
    pub fn includes_conversation(self) -> bool {
        self != RestoreScope::Files
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
