//! The whole project at a look, for calls of which nobody can tell what they change: every file that no ignore file of git's
//! hides, as far as there are not too many. A second look costs a `stat` for each file that is as it was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hookwright_tools::{FileFilter, Workspace};

use super::path_state::{PathState, read_state_and_content};
use super::store::{CheckpointError, CheckpointStore};

/// More files are not looked at.
const MAX_SCANNED_FILES: usize = 2_000;
/// More bytes are not kept.
const MAX_SCANNED_BYTES: u64 = 32 << 20;
/// Folders below folders, so many times.
const MAX_SCAN_DEPTH: usize = 64;
/// A file that was changed so short a time ago may change again without showing it.
const MTIME_SETTLE_PERIOD: Duration = Duration::from_secs(2);

/// What a file's content can hardly change without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScanStamp {
    size: u64,
    modified: Option<SystemTime>,
    device_inode: (u64, u64),
    ctime: (i64, i64),
    mode: u32,
}

/// A project as it was.
pub(super) type ProjectSnapshot = BTreeMap<PathBuf, PathState>;

/// What is known of files from earlier looks.
#[derive(Debug, Default)]
pub(super) struct ScanCache(BTreeMap<PathBuf, (ScanStamp, PathState)>);

/// Why a project is not looked at as a whole.
#[derive(Debug)]
pub(super) enum ScanError {
    TooLarge(String),
    Failed(CheckpointError),
}

impl ScanCache {
    /// The project as it is now, with contents kept.
    pub(super) fn snapshot(
        &mut self,
        workspace: &Workspace,
        store: &CheckpointStore,
    ) -> Result<ProjectSnapshot, ScanError> {
        let files = list_files(workspace)?;
        let sizes = files.iter().filter_map(|path| path.symlink_metadata().ok()).map(|found| found.len());
        let total: u64 = sizes.filter(|size| *size <= super::path_state::MAX_FILE_BYTES).sum();
        if total > MAX_SCANNED_BYTES {
            return Err(ScanError::TooLarge(format!(
                "the project holds {}",
                super::path_state::format_megabytes(total)
            )));
        }
        let mut swept = ProjectSnapshot::new();
        for path in files {
            let state = match self.cached_state(&path) {
                Some(state) if is_stored(&state, store) => state,
                _ => {
                    let (state, bytes) = self.read_state(&path);
                    if let (PathState::File { sha256, .. }, Some(bytes)) = (&state, bytes) {
                        store.store_content(sha256, &bytes).map_err(ScanError::Failed)?;
                    }
                    state
                }
            };
            swept.insert(path, state);
        }
        Ok(swept)
    }

    /// What is different from how the project was: each path with what stands there now.
    pub(super) fn changes_since(
        &mut self,
        workspace: &Workspace,
        before: &ProjectSnapshot,
    ) -> Result<Vec<(PathBuf, PathState)>, ScanError> {
        let mut changed = Vec::new();
        let now = list_files(workspace)?;
        for path in now {
            let state = self.cached_state(&path).unwrap_or_else(|| self.read_state(&path).0);
            if before.get(&path) != Some(&state) {
                changed.push((path, state));
            }
        }
        let gone = before.iter().filter(|(path, _)| path.symlink_metadata().is_err());
        changed.extend(gone.map(|(path, _)| (path.clone(), super::path_state::read_state(path))));
        Ok(changed)
    }

    fn cached_state(&self, path: &Path) -> Option<PathState> {
        let (stamp, state) = self.0.get(path)?;
        (ScanStamp::read(path)? == *stamp).then(|| state.clone())
    }

    fn read_state(&mut self, path: &Path) -> (PathState, Option<Vec<u8>>) {
        let stamp = ScanStamp::read(path);
        let (state, bytes) = read_state_and_content(path);
        match stamp.filter(ScanStamp::is_settled) {
            Some(stamp) => drop(self.0.insert(path.to_owned(), (stamp, state.clone()))),
            None => drop(self.0.remove(path)),
        }
        (state, bytes)
    }
}

/// Whether what a state needs is still in the store.
fn is_stored(state: &PathState, store: &CheckpointStore) -> bool {
    match state {
        PathState::File { sha256, .. } => store.has_content(sha256),
        _ => true,
    }
}

fn list_files(workspace: &Workspace) -> Result<Vec<PathBuf>, ScanError> {
    let filter = FileFilter { git_ignore: true, gemini_ignore: false };
    let names = filter.list_names(workspace, MAX_SCAN_DEPTH, MAX_SCANNED_FILES + 1);
    if names.len() > MAX_SCANNED_FILES {
        return Err(ScanError::TooLarge(format!("the project holds more than {MAX_SCANNED_FILES} files")));
    }
    let root = workspace.directory();
    Ok(names.into_iter().filter(|name| !name.ends_with('/')).map(|name| root.join(name)).collect())
}

impl ScanStamp {
    fn read(path: &Path) -> Option<ScanStamp> {
        let found = path.symlink_metadata().ok()?;
        #[cfg(unix)]
        let (place, changed) = {
            use std::os::unix::fs::MetadataExt;
            ((found.dev(), found.ino()), (found.ctime(), found.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let (place, changed) = ((0, 0), (0, 0));
        let mode = super::path_state::mode_of(&found);
        Some(ScanStamp {
            size: found.len(),
            modified: found.modified().ok(),
            device_inode: place,
            ctime: changed,
            mode,
        })
    }

    /// Whether a later change must show in the times.
    fn is_settled(&self) -> bool {
        let age = self.modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
        age.is_some_and(|age| age > MTIME_SETTLE_PERIOD)
    }
}
