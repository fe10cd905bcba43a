//! What a session has changed of the files, as far as its checkpoints go back: what stood there before it and what stands there
//! now. Looks only, and knows nothing of git.

use std::path::PathBuf;

use super::look::{State, look};
use super::plan::{Touched, compare, shorten};
use super::store::{KeptFile, Store};

/// What a session has changed.
#[derive(Clone, Debug, Default)]
pub struct Changed {
    /// Every file that is not as it was, in the order of their names.
    pub files: Vec<Difference>,
    /// What was not kept, or could not be told.
    pub notes: Vec<String>,
}

/// A file that a session has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// How it is told: from the project on.
    pub shown: String,
    /// What became of it, in a few words.
    pub what: String,
    /// Whether somebody else has changed it since.
    pub changed_since: bool,
    /// The difference in lines, where both are text.
    pub diff: Option<String>,
}

impl Store {
    /// What a session has changed; paths are told from the first of the folders on.
    pub fn changed_by(&self, session: &str, folders: &[PathBuf]) -> Changed {
        let Touched { files, notes } = self.touched(0, session);
        Changed { files: files.into_iter().filter_map(|file| self.difference(file, folders)).collect(), notes }
    }

    fn difference(&self, KeptFile { path, before, after }: KeptFile, folders: &[PathBuf]) -> Option<Difference> {
        let (now, bytes) = look(&path);
        if now == before && before.is_kept() {
            return None;
        }
        let shown = shorten(&path, folders);
        // While a call runs, nobody has looked at what it leaves.
        let changed_since = after.is_kept() && now != after;
        let told = |what: String, diff| Some(Difference { shown: shown.clone(), what, changed_since, diff });
        if let State::Unkept { why } = &before {
            return told(format!("changed; what it was is not kept: {why}"), None);
        }
        let names = (format!("a/{shown}"), format!("b/{shown}"));
        let header = match (&before, &now) {
            (State::Missing { .. }, _) => ("/dev/null", names.1.as_str()),
            (_, State::Missing { .. }) => (names.0.as_str(), "/dev/null"),
            _ => (names.0.as_str(), names.1.as_str()),
        };
        match self.texts(&path, &before, (&now, bytes)) {
            Ok(Some((then, text))) => {
                let ((added, removed), diff) = compare(&then, &text, header);
                told(format!("{}+{added} -{removed}", kind(&before, &now)), diff)
            }
            Ok(None) => told(format!("{}no text", kind(&before, &now)), None),
            Err(error) => told(format!("changed; {error}"), None),
        }
    }
}

/// What became of a file besides its lines.
fn kind(before: &State, now: &State) -> String {
    match (before, now) {
        (State::Missing { .. }, _) => "new, ".to_owned(),
        (_, State::Missing { .. }) => "deleted, ".to_owned(),
        (State::File { mode: was, .. }, State::File { mode: is, .. }) if was != is => {
            format!("mode {:o} → {:o}, ", was & 0o7777, is & 0o7777)
        }
        _ => String::new(),
    }
}
