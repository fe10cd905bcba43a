//! What a session has changed of the files, as far as its checkpoints go back: what stood there before it and what stands there
//! now. Looks only, and knows nothing of git.

use std::path::PathBuf;

use super::path_state::{PathState, read_state_and_content};
use super::restore_plan::{RecordedChanges, diff_texts, display_path};
use super::store::{CheckpointStore, RecordedFile};

/// What a session has changed.
#[derive(Clone, Debug, Default)]
pub struct SessionChanges {
    /// Every file that is not as it was, in the order of their names.
    pub files: Vec<SessionFileChange>,
    /// What was not kept, or could not be told.
    pub notes: Vec<String>,
}

/// A file that a session has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFileChange {
    /// How it is told: from the project on.
    pub display_path: String,
    /// What became of it, in a few words.
    pub summary: String,
    /// Whether somebody else has changed it since.
    pub changed_since: bool,
    /// The difference in lines, where both are text.
    pub diff: Option<String>,
}

impl CheckpointStore {
    /// What a session has changed; paths are told from the first of the folders on.
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
        // While a call runs, nobody has looked at what it leaves.
        let changed_since = after.is_kept() && now != after;
        let told = |what: String, diff| {
            Some(SessionFileChange { display_path: shown.clone(), summary: what, changed_since, diff })
        };
        if let PathState::Unkept { why } = &before {
            return told(format!("changed; what it was is not kept: {why}"), None);
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
                told(format!("{}+{added} -{removed}", describe_change(&before, &now)), diff)
            }
            Ok(None) => told(format!("{}no text", describe_change(&before, &now)), None),
            Err(error) => told(format!("changed; {error}"), None),
        }
    }
}

/// What became of a file besides its lines.
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
