//! Plans a restore: each file that was changed since a checkpoint, with its former and present state, and whether it
//! was changed after the agent's last change.
//!
//! It only reads; `restore.rs` runs the plan.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use super::path_state::{PathState, read_state_and_content};
use super::recorder::has_no_symlink_parents;
use super::store::{Checkpoint, CheckpointError, CheckpointStore, RecordedFile};
use crate::protect::ProtectedPaths;

/// The size above which texts are not compared.
const MAX_DIFF_BYTES: usize = 1 << 20;

/// The places where files may be restored.
#[derive(Clone, Copy, Debug)]
pub struct RestoreRoots<'a> {
    /// The project's folder and the other workspace folders.
    pub folders: &'a [PathBuf],
    /// The protected paths, which are never restored.
    pub protected: &'a ProtectedPaths,
}

/// The plan of a restore.
#[derive(Clone, Debug, Serialize)]
pub struct RestorePlan {
    /// The checkpoint to restore.
    pub checkpoint: Checkpoint,
    /// The files that differ from the checkpoint, sorted by path.
    pub changes: Vec<PlannedChange>,
    /// The notes on what was not recorded since then.
    pub notes: Vec<String>,
}

/// The recorded changes of a session.
pub(super) struct RecordedChanges {
    /// The first and the last recorded state of each file, sorted by path.
    pub(super) files: Vec<RecordedFile>,
    /// The notes on what was not recorded.
    pub(super) notes: Vec<String>,
}

/// A file that differs from the checkpoint.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedChange {
    /// The absolute path of the file.
    pub path: PathBuf,
    /// The path for display, relative to the project.
    pub display_path: String,
    /// The action that restores the file.
    pub action: FileRestoreAction,
    /// Whether the file was changed after the agent's last change.
    pub changed_since: bool,
    /// The number of lines that would be added and removed.
    pub line_counts: (usize, usize),
    /// The unified diff, if both states are text.
    pub diff: Option<String>,
    #[serde(skip)]
    pub(super) target: PathState,
    #[serde(skip)]
    pub(super) current: PathState,
}

/// The action that restores a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRestoreAction {
    /// The file gets its former content.
    Rewrite,
    /// The file was deleted, and is created again.
    Create,
    /// The file is new, and is deleted.
    Delete,
    /// The path becomes a symbolic link again.
    Link,
    /// The file gets its former mode.
    Mode,
    /// The file is left alone, for this reason.
    Refused(String),
}

impl FileRestoreAction {
    /// Returns the name of the action.
    pub fn as_str(&self) -> &'static str {
        match self {
            FileRestoreAction::Rewrite => "rewrite",
            FileRestoreAction::Create => "create",
            FileRestoreAction::Delete => "delete",
            FileRestoreAction::Link => "link",
            FileRestoreAction::Mode => "mode",
            FileRestoreAction::Refused(_) => "refused",
        }
    }

    /// Returns whether the action changes anything.
    pub fn has_effect(&self) -> bool {
        !matches!(self, FileRestoreAction::Refused(_))
    }
}

impl CheckpointStore {
    /// Plans how to restore the files of a checkpoint, which undoes all later changes of its session.
    ///
    /// # Errors
    /// If there is no such checkpoint.
    pub fn plan(&self, number: u64, roots: &RestoreRoots<'_>) -> Result<RestorePlan, CheckpointError> {
        let checkpoint = self.read(number)?;
        let RecordedChanges { files, notes } = self.recorded_changes(number, &checkpoint.session);
        let changes =
            files.into_iter().filter_map(|file| self.planned_change(file.path, file.before, &file.after, roots));
        Ok(RestorePlan { changes: changes.collect(), checkpoint, notes })
    }

    /// Returns what a session has changed from a checkpoint on.
    pub(super) fn recorded_changes(&self, from: u64, session: &str) -> RecordedChanges {
        let later = self.list().into_iter().filter(|one| one.number >= from && one.session == session);
        let mut files: BTreeMap<PathBuf, RecordedFile> = BTreeMap::new();
        let mut notes: Vec<String> = Vec::new();
        for one in later {
            for file in one.files {
                match files.get_mut(&file.path) {
                    // The first record has the original state, the last one the state that the agent left.
                    Some(known) => known.after = file.after,
                    None => drop(files.insert(file.path.clone(), file)),
                }
            }
            notes.extend(one.notes.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
        }
        RecordedChanges { files: files.into_values().collect(), notes }
    }

    /// Returns the change that restores a path, if its state differs.
    fn planned_change(
        &self,
        path: PathBuf,
        target: PathState,
        after: &PathState,
        roots: &RestoreRoots<'_>,
    ) -> Option<PlannedChange> {
        let (now, bytes) = read_state_and_content(&path);
        if now == target && target.is_kept() {
            return None;
        }
        let shown = display_path(&path, roots.folders);
        let action = file_restore_action(&path, &target, &now, roots);
        let changed_since = now != *after;
        let mut change = PlannedChange {
            path,
            display_path: shown,
            action,
            changed_since,
            line_counts: (0, 0),
            diff: None,
            target,
            current: now,
        };
        if change.action.has_effect() {
            match self.text_pair(&change.path, &change.target, (&change.current, bytes)) {
                Ok(Some((then, now))) => (change.line_counts, change.diff) = diff_texts(&now, &then, ("now", "then")),
                Ok(None) => {}
                Err(error) => change.action = FileRestoreAction::Refused(error.to_string()),
            }
        }
        Some(change)
    }

    /// Returns the former and the present text of a path, if both are text; a link counts as a text with its target.
    pub(super) fn text_pair(
        &self,
        path: &Path,
        then: &PathState,
        (now, bytes): (&PathState, Option<Vec<u8>>),
    ) -> Result<Option<(String, String)>, CheckpointError> {
        let kept = match then {
            PathState::File { sha256, .. } => Some(self.read_content(path, sha256)?),
            _ => None,
        };
        let text = |state: &PathState, bytes: Option<Vec<u8>>| match state {
            PathState::Link { to } => Some(format!("link to {to}\n")),
            PathState::Missing { .. } => Some(String::new()),
            _ => String::from_utf8(bytes?).ok().filter(|text| text.len() <= MAX_DIFF_BYTES && !text.contains('\0')),
        };
        Ok(text(then, kept).zip(text(now, bytes)))
    }
}

/// Returns the action that restores a path, or why it is refused.
fn file_restore_action(
    path: &Path,
    target: &PathState,
    now: &PathState,
    roots: &RestoreRoots<'_>,
) -> FileRestoreAction {
    let refused = |why: &str| FileRestoreAction::Refused(why.to_owned());
    let is_inside = roots.folders.iter().any(|root| path.starts_with(root) && path != root);
    let is_plain = !path.components().any(|part| matches!(part, std::path::Component::ParentDir));
    if !is_inside || !is_plain {
        return refused("it is outside of the project");
    }
    if path.components().any(|part| part.as_os_str() == ".git") {
        return refused("it belongs to git");
    }
    if roots.protected.covers(path) {
        return refused("it is protected: guards depend on it");
    }
    if !has_no_symlink_parents(path) {
        return refused("a link leads elsewhere on the way to it");
    }
    match (target, now) {
        (PathState::Unkept { why }, _) => FileRestoreAction::Refused(format!("it was not kept: {why}")),
        (_, PathState::Unkept { why }) => {
            FileRestoreAction::Refused(format!("the present state could not be restored later: {why}"))
        }
        (PathState::Missing { .. }, _) => FileRestoreAction::Delete,
        (PathState::Link { .. }, _) => FileRestoreAction::Link,
        (PathState::File { .. }, PathState::Missing { .. }) => FileRestoreAction::Create,
        (PathState::File { sha256, .. }, PathState::File { sha256: same, .. }) if sha256 == same => {
            FileRestoreAction::Mode
        }
        (PathState::File { .. }, _) => FileRestoreAction::Rewrite,
    }
}

/// Returns the numbers of added and removed lines between two texts, and the unified diff if they differ.
pub(super) fn diff_texts(old: &str, new: &str, (before, after): (&str, &str)) -> ((usize, usize), Option<String>) {
    let diff = TextDiff::configure().timeout(Duration::from_millis(500)).diff_lines(old, new);
    let mut lines = (0, 0);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => lines.0 += 1,
            ChangeTag::Delete => lines.1 += 1,
            ChangeTag::Equal => {}
        }
    }
    let text = diff.unified_diff().context_radius(3).header(before, after).to_string();
    (lines, Some(text).filter(|text| !text.is_empty()))
}

/// Returns a path relative to the first folder, or the whole path if it lies elsewhere.
pub(super) fn display_path(path: &Path, folders: &[PathBuf]) -> String {
    match folders.first().and_then(|root| path.strip_prefix(root).ok()) {
        Some(rest) => rest.display().to_string(),
        None => path.display().to_string(),
    }
}
