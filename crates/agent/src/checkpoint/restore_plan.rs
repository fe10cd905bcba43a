//! What a restore would do: each file that was changed since a checkpoint, what stood there, what stands there now, and who
//! changed it last. Looks only; doing it is `restore.rs`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::path_state::{PathState, read_state_and_content};
use super::recorder::has_no_symlink_parents;
use super::store::{Checkpoint, CheckpointError, CheckpointStore, RecordedFile};
use crate::protect::ProtectedPaths;

/// Longer texts are not compared line by line.
const MAX_DIFF_BYTES: usize = 1 << 20;

/// Where files may be brought back to.
#[derive(Clone, Copy, Debug)]
pub struct RestoreRoots<'a> {
    /// The project's folder and those beside it that tools may work in.
    pub folders: &'a [PathBuf],
    /// What guards are made of, which is never brought back.
    pub protected: &'a ProtectedPaths,
}

/// What a restore would do.
#[derive(Clone, Debug)]
pub struct RestorePlan {
    /// What is brought back.
    pub checkpoint: Checkpoint,
    /// Every file that is not as it was, in the order of their names.
    pub changes: Vec<PlannedChange>,
    /// What was not kept, or could not be told, since then.
    pub notes: Vec<String>,
}

/// What a session has changed.
pub(super) struct RecordedChanges {
    /// What was there first and what the session left there last, in the order of their names.
    pub(super) files: Vec<RecordedFile>,
    /// What was not kept, or could not be told.
    pub(super) notes: Vec<String>,
}

/// A file that is not as it was.
#[derive(Clone, Debug)]
pub struct PlannedChange {
    /// The whole path.
    pub path: PathBuf,
    /// How it is told: from the project on.
    pub display_path: String,
    /// What would be done.
    pub action: FileRestoreAction,
    /// Whether somebody has changed it since the agent did.
    pub changed_since: bool,
    /// How many lines would be added, and how many removed.
    pub line_counts: (usize, usize),
    /// The difference in lines, where it is text.
    pub diff: Option<String>,
    pub(super) target: PathState,
    pub(super) current: PathState,
}

/// What is done with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileRestoreAction {
    /// It gets its former content.
    Rewrite,
    /// It was deleted, and is made again.
    Create,
    /// It is new, and is deleted.
    Delete,
    /// It is a link again.
    Link,
    /// It gets its former mode.
    Mode,
    /// Nothing, because of this.
    Refused(String),
}

impl FileRestoreAction {
    /// The word for it.
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

    /// Whether anything is done.
    pub fn has_effect(&self) -> bool {
        !matches!(self, FileRestoreAction::Refused(_))
    }
}

impl CheckpointStore {
    /// What it would take to have the files as they were at a checkpoint: whatever its session has changed since goes back.
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

    /// What a session has changed from a checkpoint on.
    pub(super) fn recorded_changes(&self, from: u64, session: &str) -> RecordedChanges {
        let later = self.list().into_iter().filter(|one| one.number >= from && one.session == session);
        let mut files: BTreeMap<PathBuf, RecordedFile> = BTreeMap::new();
        let mut notes: Vec<String> = Vec::new();
        for one in later {
            for file in one.files {
                match files.get_mut(&file.path) {
                    // The first says what was there, the last who was there.
                    Some(known) => known.after = file.after,
                    None => drop(files.insert(file.path.clone(), file)),
                }
            }
            notes.extend(one.notes.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
        }
        RecordedChanges { files: files.into_values().collect(), notes }
    }

    /// What would be done at a path, if it is not as it was.
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
        let deed = file_restore_action(&path, &target, &now, roots);
        let changed_since = now != *after;
        let mut change = PlannedChange {
            path,
            display_path: shown,
            action: deed,
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

    /// What stood at a path and what stands there, if both are text; links are told by what they say.
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

/// What has to be done at a path, and whether it may be.
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
        return refused("it is git's own");
    }
    if roots.protected.covers(path) {
        return refused("it is protected: guards are made of it");
    }
    if !has_no_symlink_parents(path) {
        return refused("a link leads elsewhere on the way to it");
    }
    match (target, now) {
        (PathState::Unkept { why }, _) => FileRestoreAction::Refused(format!("it was not kept: {why}")),
        (_, PathState::Unkept { why }) => {
            FileRestoreAction::Refused(format!("what is there now could not be brought back: {why}"))
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

/// How many lines are added and removed between two texts, and the difference, if there is one.
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

/// A path from the first of the folders that it is in.
pub(super) fn display_path(path: &Path, folders: &[PathBuf]) -> String {
    match folders.first().and_then(|root| path.strip_prefix(root).ok()) {
        Some(rest) => rest.display().to_string(),
        None => path.display().to_string(),
    }
}
