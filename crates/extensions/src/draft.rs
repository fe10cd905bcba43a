//! Drafts: folders beside the installed extensions in which a new one is made ready, and the one step that puts it in place. A
//! program that is killed at any moment leaves the old extension or the new one, and a draft that the next one clears away.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hookwright_settings::ConfigPaths;

use crate::error::ExtensionError;

/// Drafts begin with a dot, so that nobody loads them.
const DRAFT_PREFIX: &str = ".draft-";
const LOCK_FILE: &str = ".lock";
/// Putting an extension in place takes a moment.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// An empty folder to fetch into, in one of ours that is gone when it is dropped.
pub(crate) struct DraftFolder {
    path: PathBuf,
    _folder: tempfile::TempDir,
    /// Says that its program lives.
    _lock: Option<File>,
}

impl DraftFolder {
    /// An empty draft beside the installed extensions. Drafts of programs that are gone are cleared away.
    pub(crate) fn new(paths: &ConfigPaths) -> Result<DraftFolder, ExtensionError> {
        DraftFolder::in_folder(&paths.extensions)
    }

    /// The same in any folder of installed things.
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

    /// Where to fetch into.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes drafts that nobody holds.
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

/// One that has just been made may not be held yet.
fn is_stale(path: &Path) -> bool {
    let made = path.metadata().and_then(|found| found.modified()).ok();
    made.and_then(|made| made.elapsed().ok()).is_some_and(|age| age > Duration::from_secs(60))
}

/// Holds off everybody else who puts extensions in place, for as long as it lives.
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

/// Puts a folder where nothing is.
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
    // Systems and disks that can't do it in one step: the old one is put back if the second fails.
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

/// Takes an installed folder out of sight in one step, then removes it. What links in it lead to stays.
pub(crate) fn remove_installed(paths: &ConfigPaths, target: &Path) -> Result<(), ExtensionError> {
    let draft = DraftFolder::new(paths)?;
    let aside = draft.path().join("old");
    fs::rename(target, &aside).map_err(ExtensionError::disk_error(target))?;
    // It is out of sight; what can't be removed goes with the next sweep.
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

/// Where an extension of that name is installed.
pub(crate) fn install_dir(paths: &ConfigPaths, name: &str) -> PathBuf {
    paths.extensions.join(name)
}
