//! Drafts: folders beside the installed extensions in which a new one is prepared, and the rename that puts it in
//! place.
//!
//! A process that is killed leaves the old extension or the new one in place, and a stale draft that the next process
//! removes. The exception are file systems that cannot exchange two folders: `swap` needs two renames there, and a
//! kill between them leaves the old extension in the draft.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hookwright_settings::ConfigPaths;

use crate::error::ExtensionError;

/// Prefix of draft folders: a leading dot, so that they are not loaded as extensions.
const DRAFT_PREFIX: &str = ".draft-";
const LOCK_FILE: &str = ".lock";
/// Longest wait for the install lock; a rename takes only a moment.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// An empty folder to fetch into, inside a temporary folder that is removed on drop.
pub(crate) struct DraftFolder {
    path: PathBuf,
    _folder: tempfile::TempDir,
    /// File lock on the temporary folder; it marks the draft as in use while this process lives.
    _lock: Option<File>,
}

impl DraftFolder {
    /// Creates an empty draft beside the installed extensions and removes stale drafts.
    pub(crate) fn new(paths: &ConfigPaths) -> Result<DraftFolder, ExtensionError> {
        DraftFolder::in_folder(&paths.extensions)
    }

    /// Creates an empty draft in the given folder and removes stale drafts there.
    pub(crate) fn in_folder(extensions: &Path) -> Result<DraftFolder, ExtensionError> {
        fs::create_dir_all(extensions).map_err(ExtensionError::disk_error(extensions))?;
        remove_stale_drafts(extensions);
        let made = tempfile::Builder::new().prefix(DRAFT_PREFIX).tempdir_in(extensions);
        let folder = made.map_err(ExtensionError::disk_error(extensions))?;
        let held = File::open(folder.path()).ok().filter(|file| file.try_lock().is_ok());
        let inside = folder.path().join("new");
        fs::create_dir(&inside).map_err(ExtensionError::disk_error(&inside))?;
        Ok(DraftFolder { path: inside, _folder: folder, _lock: held })
    }

    /// Returns the empty folder to fetch into.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes drafts that no living process holds.
fn remove_stale_drafts(extensions: &Path) {
    let entries = fs::read_dir(extensions).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let is_draft = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(DRAFT_PREFIX));
        let is_free = || File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) && is_stale(&path);
        if is_draft && is_free() {
            let _ = remove_path(&path);
        }
    }
}

/// Whether a draft is older than a minute; a draft that was just created may not be locked yet.
fn is_stale(path: &Path) -> bool {
    let made = path.metadata().and_then(|found| found.modified()).ok();
    made.and_then(|made| made.elapsed().ok()).is_some_and(|age| age > Duration::from_secs(60))
}

/// Lock that keeps other processes from installing extensions for as long as it lives.
pub(crate) struct InstallLock(#[expect(dead_code, reason = "held, never read")] File);

impl InstallLock {
    pub(crate) fn acquire(paths: &ConfigPaths) -> Result<InstallLock, ExtensionError> {
        let path = paths.extensions.join(LOCK_FILE);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(ExtensionError::disk_error(&path))?;
        let until = Instant::now() + LOCK_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(InstallLock(file)),
                Err(fs::TryLockError::Error(cause)) => return Err(ExtensionError::Disk { path, cause }),
                Err(fs::TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(20))
                }
                Err(fs::TryLockError::WouldBlock) => return Err(ExtensionError::Locked),
            }
        }
    }
}

/// Moves a folder to a path where nothing exists yet.
pub(crate) fn move_into_place(from: &Path, target: &Path) -> Result<(), ExtensionError> {
    if target.symlink_metadata().is_ok() {
        return Err(ExtensionError::PathOccupied(target.to_owned()));
    }
    fs::rename(from, target).map_err(ExtensionError::disk_error(target))
}

/// Puts a folder in the place of another, which ends up where the new one was.
pub(crate) fn swap(from: &Path, target: &Path) -> Result<(), ExtensionError> {
    if exchange(from, target) {
        return Ok(());
    }
    // Fallback where the two cannot be exchanged in one step: the old one is put back if the second rename fails.
    let aside = from.with_extension("old");
    fs::rename(target, &aside).map_err(ExtensionError::disk_error(target))?;
    if let Err(cause) = fs::rename(from, target) {
        let _ = fs::rename(&aside, target);
        return Err(ExtensionError::Disk { path: target.to_owned(), cause });
    }
    let _ = fs::rename(&aside, from);
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(one: &Path, other: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_: &Path, _: &Path) -> bool {
    false
}

/// Moves an installed folder into a draft in one step, then removes it; targets of links in it stay.
pub(crate) fn remove_installed(paths: &ConfigPaths, target: &Path) -> Result<(), ExtensionError> {
    let draft = DraftFolder::new(paths)?;
    let aside = draft.path().join("old");
    fs::rename(target, &aside).map_err(ExtensionError::disk_error(target))?;
    // The extension is no longer installed; a leftover is removed with the stale drafts.
    if let Err(error) = remove_path(&aside) {
        tracing::warn!(%error, path = %aside.display(), "an extension was taken away and not removed");
    }
    Ok(())
}

fn remove_path(path: &Path) -> std::io::Result<()> {
    match path.symlink_metadata()?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

/// Returns the path at which an extension of this name is installed.
pub(crate) fn install_dir(paths: &ConfigPaths, name: &str) -> PathBuf {
    paths.extensions.join(name)
}
