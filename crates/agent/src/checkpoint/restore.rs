//! Restores files and a conversation.
//!
//! The present state first becomes a checkpoint of its own, so that a restore can be undone; files that cannot be
//! kept are left alone. Files are changed through a held directory handle without following symbolic links: a
//! link that appears on the path is refused.

use std::io;
use std::path::Path;

use hookwright_disk::{FilePrivacy, SymlinkPolicy};
use jiff::Timestamp;
use serde::Serialize;

use super::RestoreScope;
use super::path_state::{PathState, read_state, read_state_and_content};
use super::restore_plan::{FileRestoreAction, PlannedChange, RestorePlan, RestoreRoots};
use super::store::{Checkpoint, CheckpointError, CheckpointKind, CheckpointStore, ConversationMark, RecordedFile};
use crate::transcript::{self, Transcript, TranscriptEntry};

/// How a restore treats files that were changed after the agent's last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictPolicy {
    /// Such files stay as they are.
    Keep,
    /// Such files are overwritten.
    Overwrite,
}

/// Why a file was not restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum RestoreSkip {
    /// The file was changed after the agent's last change.
    #[error("it was changed since")]
    ChangedSince,
    /// The file was changed during the restore.
    #[error("it has just changed")]
    JustChanged,
    /// The file can't be restored, for this reason.
    #[error("{0}")]
    Refused(String),
}

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RestoreReport {
    /// The number of the checkpoint that undoes the restore.
    pub undo_checkpoint: u64,
    /// The files that were restored.
    pub files: Vec<String>,
    /// The files that were not restored, each with the reason.
    pub skipped: Vec<(String, RestoreSkip)>,
    /// Whether the conversation was restored.
    pub conversation_restored: bool,
}

impl RestoreSkip {
    fn refused(error: impl std::fmt::Display) -> Self {
        RestoreSkip::Refused(error.to_string())
    }
}

impl CheckpointStore {
    /// Restores a checkpoint according to its plan. `here` is the present position of the conversation.
    ///
    /// # Errors
    /// If there is no such checkpoint, it has no conversation to restore, or the undo checkpoint cannot be written.
    /// Unless the last of its writes fails, which follows the restored files, nothing has changed then.
    pub fn restore(
        &self,
        number: u64,
        what: RestoreScope,
        since: ConflictPolicy,
        roots: &RestoreRoots<'_>,
        here: Option<ConversationMark>,
    ) -> Result<RestoreReport, CheckpointError> {
        let plan = self.plan(number, roots)?;
        if what.includes_conversation() && plan.checkpoint.conversation.is_none() {
            return Err(CheckpointError::NoConversation(number));
        }
        let mut undo = self.create(Checkpoint {
            number: 0,
            kind: CheckpointKind::Restore,
            session: plan.checkpoint.session.clone(),
            prompt: format!("restored {number}: {}", first_line(&plan.checkpoint.prompt)),
            time: Timestamp::now(),
            conversation: here,
            files: Vec::new(),
            notes: Vec::new(),
        })?;
        let mut restored = RestoreReport {
            undo_checkpoint: undo.number,
            files: Vec::new(),
            skipped: Vec::new(),
            conversation_restored: what.includes_conversation(),
        };
        if what.includes_files() {
            self.record_current_state(&plan, &mut undo)?;
            let done = self.apply_changes(&plan.changes, since);
            for (change, done) in plan.changes.iter().zip(done) {
                match done {
                    Ok(()) => restored.files.push(change.display_path.clone()),
                    Err(why) => {
                        undo.files.retain(|file| file.path != change.path);
                        restored.skipped.push((change.display_path.clone(), why));
                    }
                }
            }
            self.write(&undo)?;
        }
        Ok(restored)
    }

    /// Records the present state of the files before any of them is changed.
    fn record_current_state(&self, plan: &RestorePlan, undo: &mut Checkpoint) -> Result<(), CheckpointError> {
        for change in plan.changes.iter().filter(|change| change.action.has_effect()) {
            let (state, bytes) = read_state_and_content(&change.path);
            if let (PathState::File { sha256, .. }, Some(bytes)) = (&state, bytes) {
                self.store_content(sha256, &bytes)?;
            }
            undo.files.push(RecordedFile { path: change.path.clone(), before: state, after: change.target.clone() });
        }
        self.write(undo)
    }

    /// Restores files in an order in which none can redirect another: new files are deleted first, the deepest before
    /// their parents, then files are written, and links come last.
    ///
    /// Returns one result per change, in the order of the changes.
    fn apply_changes(&self, changes: &[PlannedChange], since: ConflictPolicy) -> Vec<Result<(), RestoreSkip>> {
        let rank = |change: &PlannedChange| match change.target {
            PathState::Missing { .. } => 0,
            PathState::File { .. } | PathState::Unkept { .. } => 1,
            PathState::Link { .. } => 2,
        };
        let mut order: Vec<usize> = (0..changes.len()).rev().collect();
        order.sort_by_key(|at| rank(&changes[*at]));
        let mut done: Vec<Result<(), RestoreSkip>> = vec![Ok(()); changes.len()];
        for at in order {
            done[at] = self.apply_change(&changes[at], since);
        }
        done
    }

    pub(super) fn apply_change(&self, change: &PlannedChange, since: ConflictPolicy) -> Result<(), RestoreSkip> {
        if let FileRestoreAction::Refused(why) = &change.action {
            return Err(RestoreSkip::Refused(why.clone()));
        }
        if change.changed_since && since == ConflictPolicy::Keep {
            return Err(RestoreSkip::ChangedSince);
        }
        if read_state(&change.path) != change.current {
            return Err(RestoreSkip::JustChanged);
        }
        let done = match &change.target {
            PathState::Missing { parents } => remove_with_empty_parents(&change.path, *parents),
            PathState::Link { to } => hookwright_disk::replace_with_symlink(&change.path, to),
            PathState::File { sha256, mode, .. } => {
                let content = self.read_content(&change.path, sha256).map_err(RestoreSkip::refused)?;
                write_file(&change.path, &content, *mode, &change.action)
            }
            PathState::Unkept { why } => return Err(RestoreSkip::Refused(why.clone())),
        };
        done.map_err(RestoreSkip::refused)
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}

/// Writes a file's former content and mode; the mode is set before the file appears.
fn write_file(path: &Path, content: &[u8], mode: u32, action: &FileRestoreAction) -> io::Result<()> {
    #[cfg(unix)]
    if *action == FileRestoreAction::Mode {
        use std::os::unix::fs::PermissionsExt;
        let (file, _) = hookwright_disk::open_regular(path, SymlinkPolicy::Refuse).map_err(io::Error::other)?;
        return file.set_permissions(std::fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = action;
    hookwright_disk::write_atomic(path, content, FilePrivacy::Mode(mode), SymlinkPolicy::Refuse)
}

/// Removes a file or link, and up to this number of empty parent folders.
fn remove_with_empty_parents(path: &Path, parents: u32) -> io::Result<()> {
    hookwright_disk::remove_file(path)?;
    for folder in path.ancestors().skip(1).take(parents as usize) {
        if hookwright_disk::remove_directory(folder).is_err() {
            break;
        }
    }
    Ok(())
}

impl Checkpoint {
    /// Restores the conversation of a session that is not running.
    ///
    /// # Errors
    /// If the session is running, or its transcript cannot be used.
    pub fn restore_conversation(&self) -> Result<(), CheckpointError> {
        let mark = self.conversation.as_ref().ok_or(CheckpointError::NoConversation(self.number))?;
        let history = transcript::load_until(&mark.transcript, mark.at)?.history;
        let mut transcript = Transcript::open(&mark.transcript)?;
        Ok(transcript.append(&TranscriptEntry::Rewound { history })?)
    }

    /// Returns the present end of the checkpoint's conversation.
    pub fn current_mark(&self) -> Option<ConversationMark> {
        let transcript = self.conversation.as_ref()?.transcript.clone();
        let at = transcript.metadata().ok()?.len();
        Some(ConversationMark { transcript, at })
    }
}
