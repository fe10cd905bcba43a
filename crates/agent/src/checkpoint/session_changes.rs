//! Lists the files that a session has changed, as far as its checkpoints go back, with their former and present states.
//!
//! It only reads.

use std::path::PathBuf;

use super::path_state::{PathState, read_state_and_content};
use super::restore_plan::{RecordedChanges, diff_texts, display_path};
use super::store::{CheckpointStore, RecordedFile};

/// The changes of a session.
#[derive(Clone, Debug, Default)]
pub struct SessionChanges {
    /// The files that differ from their first recorded state, sorted by path.
    pub files: Vec<SessionFileChange>,
    /// The notes on what was not recorded.
    pub notes: Vec<String>,
}

/// A file that a session has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFileChange {
    /// The path for display, relative to the project.
    pub display_path: String,
    /// A short description of the change.
    pub summary: String,
    /// Whether the file was changed after the agent's last change.
    pub changed_since: bool,
    /// The unified diff, if both states are text.
    pub diff: Option<String>,
}

impl CheckpointStore {
    /// Returns the changes of a session; paths are relative to the first folder.
    pub fn session_changes(&self, session: &str, folders: &[PathBuf]) -> SessionChanges {
        let RecordedChanges { files, notes } = self.recorded_changes(0, session);
        SessionChanges { files: files.into_iter().filter_map(|file| self.file_change(file, folders)).collect(), notes }
    }

    fn file_change(
        &self,
        RecordedFile { path, before, after }: RecordedFile,
        folders: &[PathBuf],
    ) -> Option<SessionFileChange> {
        let (now, bytes) = read_state_and_content(&path);
        if now == before && before.is_kept() {
            return None;
        }
        let shown = display_path(&path, folders);
        // While a call runs, the state that it leaves is not recorded yet.
        let changed_since = after.is_kept() && now != after;
        let change = |what: String, diff| {
            Some(SessionFileChange { display_path: shown.clone(), summary: what, changed_since, diff })
        };
        if let PathState::Unkept { why } = &before {
            return change(format!("changed; what it was is not kept: {why}"), None);
        }
        let names = (format!("a/{shown}"), format!("b/{shown}"));
        let header = match (&before, &now) {
            (PathState::Missing { .. }, _) => ("/dev/null", names.1.as_str()),
            (_, PathState::Missing { .. }) => (names.0.as_str(), "/dev/null"),
            _ => (names.0.as_str(), names.1.as_str()),
        };
        match self.text_pair(&path, &before, (&now, bytes)) {
            Ok(Some((then, text))) => {
                let ((added, removed), diff) = diff_texts(&then, &text, header);
                change(format!("{}+{added} -{removed}", describe_change(&before, &now)), diff)
            }
            Ok(None) => change(format!("{}no text", describe_change(&before, &now)), None),
            Err(error) => change(format!("changed; {error}"), None),
        }
    }
}

/// Returns the prefix of the summary: new, deleted, or a changed mode.
fn describe_change(before: &PathState, now: &PathState) -> String {
    match (before, now) {
        (PathState::Missing { .. }, _) => "new, ".to_owned(),
        (_, PathState::Missing { .. }) => "deleted, ".to_owned(),
        (PathState::File { mode: was, .. }, PathState::File { mode: is, .. }) if was != is => {
            format!("mode {:o} → {:o}, ", was & 0o7777, is & 0o7777)
        }
        _ => String::new(),
    }
}
