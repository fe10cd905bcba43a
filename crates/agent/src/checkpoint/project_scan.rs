//! Scans the whole project, for calls whose effects are unknown: every file that git does not ignore, up to a limit.
//!
//! A second scan costs one `stat` for each unchanged file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hookwright_tools::{FileFilter, Workspace};

use super::path_state::{PathState, read_state_and_content};
use super::store::{CheckpointError, CheckpointStore};

/// The number of files above which a project is not scanned.
const MAX_SCANNED_FILES: usize = 2_000;
/// The total size above which a project is not scanned.
const MAX_SCANNED_BYTES: u64 = 32 << 20;
/// The maximum depth of folders in a scan.
const MAX_SCAN_DEPTH: usize = 64;
/// The age below which a file's timestamps are not relied on: it may change again within the clock's resolution.
const MTIME_SETTLE_PERIOD: Duration = Duration::from_secs(2);

/// The metadata that shows whether a file's content may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScanStamp {
    size: u64,
    modified: Option<SystemTime>,
    device_inode: (u64, u64),
    ctime: (i64, i64),
    mode: u32,
}

/// The states of all files of a project at one time.
pub(super) type ProjectSnapshot = BTreeMap<PathBuf, PathState>;

/// The states of files from earlier scans.
#[derive(Debug, Default)]
pub(super) struct ScanCache(BTreeMap<PathBuf, (ScanStamp, PathState)>);

/// The reason why a project is not scanned.
#[derive(Debug)]
pub(super) enum ScanError {
    TooLarge(String),
    Failed(CheckpointError),
}

impl ScanCache {
    /// Scans the project and stores the contents of its files.
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

    /// Returns the paths that differ from an earlier snapshot, with their present states.
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

/// Returns whether the content of a state is still in the store.
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

    /// Returns whether a later change must show in the timestamps.
    fn is_settled(&self) -> bool {
        let age = self.modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
        age.is_some_and(|age| age > MTIME_SETTLE_PERIOD)
    }
}
