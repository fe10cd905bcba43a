//! The whole project at a look, for calls of which nobody can tell what they change: every file that no ignore file of git's
//! hides, as far as there are not too many. A second look costs a `stat` for each file that is as it was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hookwright_tools::{FileFilter, Workspace};

use super::look::{State, look};
use super::store::{CheckpointError, Store};

/// More files are not looked at.
const MOST_FILES: usize = 2_000;
/// More bytes are not kept.
const MOST_BYTES: u64 = 32 << 20;
/// Folders below folders, so many times.
const DEEPEST: usize = 64;
/// A file that was changed so short a time ago may change again without showing it.
const SETTLED: Duration = Duration::from_secs(2);

/// What a file's content can hardly change without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
    place: (u64, u64),
    changed: (i64, i64),
    mode: u32,
}

/// A project as it was.
pub(super) type Swept = BTreeMap<PathBuf, State>;

/// What is known of files from earlier looks.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeMap<PathBuf, (Stamp, State)>);

/// Why a project is not looked at as a whole.
#[derive(Debug)]
pub(super) enum NotSwept {
    TooMuch(String),
    Failed(CheckpointError),
}

impl Known {
    /// The project as it is now, with contents kept.
    pub(super) fn keep(&mut self, workspace: &Workspace, store: &Store) -> Result<Swept, NotSwept> {
        let files = files(workspace)?;
        let sizes = files.iter().filter_map(|path| path.symlink_metadata().ok()).map(|found| found.len());
        let total: u64 = sizes.filter(|size| *size <= super::look::LARGEST).sum();
        if total > MOST_BYTES {
            return Err(NotSwept::TooMuch(format!("the project holds {}", super::look::megabytes(total))));
        }
        let mut swept = Swept::new();
        for path in files {
            let state = match self.known(&path) {
                Some(state) if is_stored(&state, store) => state,
                _ => {
                    let (state, bytes) = self.look(&path);
                    if let (State::File { sha256, .. }, Some(bytes)) = (&state, bytes) {
                        store.keep(sha256, &bytes).map_err(NotSwept::Failed)?;
                    }
                    state
                }
            };
            swept.insert(path, state);
        }
        Ok(swept)
    }

    /// What is different from how the project was: each path with what stands there now.
    pub(super) fn changes(&mut self, workspace: &Workspace, before: &Swept) -> Result<Vec<(PathBuf, State)>, NotSwept> {
        let mut changed = Vec::new();
        let now = files(workspace)?;
        for path in now {
            let state = self.known(&path).unwrap_or_else(|| self.look(&path).0);
            if before.get(&path) != Some(&state) {
                changed.push((path, state));
            }
        }
        let gone = before.iter().filter(|(path, _)| path.symlink_metadata().is_err());
        changed.extend(gone.map(|(path, _)| (path.clone(), super::look::state(path))));
        Ok(changed)
    }

    fn known(&self, path: &Path) -> Option<State> {
        let (stamp, state) = self.0.get(path)?;
        (Stamp::of(path)? == *stamp).then(|| state.clone())
    }

    fn look(&mut self, path: &Path) -> (State, Option<Vec<u8>>) {
        let stamp = Stamp::of(path);
        let (state, bytes) = look(path);
        match stamp.filter(Stamp::is_settled) {
            Some(stamp) => drop(self.0.insert(path.to_owned(), (stamp, state.clone()))),
            None => drop(self.0.remove(path)),
        }
        (state, bytes)
    }
}

/// Whether what a state needs is still in the store.
fn is_stored(state: &State, store: &Store) -> bool {
    match state {
        State::File { sha256, .. } => store.holds(sha256),
        _ => true,
    }
}

fn files(workspace: &Workspace) -> Result<Vec<PathBuf>, NotSwept> {
    let filter = FileFilter { git_ignore: true, gemini_ignore: false };
    let names = filter.names(workspace, DEEPEST, MOST_FILES + 1);
    if names.len() > MOST_FILES {
        return Err(NotSwept::TooMuch(format!("the project holds more than {MOST_FILES} files")));
    }
    let root = workspace.directory();
    Ok(names.into_iter().filter(|name| !name.ends_with('/')).map(|name| root.join(name)).collect())
}

impl Stamp {
    fn of(path: &Path) -> Option<Stamp> {
        let found = path.symlink_metadata().ok()?;
        #[cfg(unix)]
        let (place, changed) = {
            use std::os::unix::fs::MetadataExt;
            ((found.dev(), found.ino()), (found.ctime(), found.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let (place, changed) = ((0, 0), (0, 0));
        let mode = super::look::mode_of(&found);
        Some(Stamp { size: found.len(), modified: found.modified().ok(), place, changed, mode })
    }

    /// Whether a later change must show in the times.
    fn is_settled(&self) -> bool {
        let age = self.modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
        age.is_some_and(|age| age > SETTLED)
    }
}
