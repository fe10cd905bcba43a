//! Drafts: folders beside the installed extensions in which a new one is made ready, and the one step that puts it in place. A
//! program that is killed at any moment leaves the old extension or the new one, and a draft that the next one clears away.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hookwright_settings::Paths;

use crate::error::ExtensionError;

/// Drafts begin with a dot, so that nobody loads them.
const PREFIX: &str = ".draft-";
const LOCK: &str = ".lock";
/// Putting an extension in place takes a moment.
const PATIENCE: Duration = Duration::from_secs(10);

/// An empty folder to fetch into, in one of ours that is gone when it is dropped.
pub(crate) struct Draft {
    inside: PathBuf,
    _folder: tempfile::TempDir,
    /// Says that its program lives.
    _held: Option<File>,
}

impl Draft {
    /// An empty draft beside the installed extensions. Drafts of programs that are gone are cleared away.
    pub(crate) fn new(paths: &Paths) -> Result<Draft, ExtensionError> {
        Draft::beside(&paths.extensions)
    }

    /// The same in any folder of installed things.
    pub(crate) fn beside(extensions: &Path) -> Result<Draft, ExtensionError> {
        fs::create_dir_all(extensions).map_err(ExtensionError::disk(extensions))?;
        sweep(extensions);
        let made = tempfile::Builder::new().prefix(PREFIX).tempdir_in(extensions);
        let folder = made.map_err(ExtensionError::disk(extensions))?;
        let held = File::open(folder.path()).ok().filter(|file| file.try_lock().is_ok());
        let inside = folder.path().join("new");
        fs::create_dir(&inside).map_err(ExtensionError::disk(&inside))?;
        Ok(Draft { inside, _folder: folder, _held: held })
    }

    /// Where to fetch into.
    pub(crate) fn path(&self) -> &Path {
        &self.inside
    }
}

/// Removes drafts that nobody holds.
fn sweep(extensions: &Path) {
    let entries = fs::read_dir(extensions).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let is_draft = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
        let is_free = || File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) && is_old(&path);
        if is_draft && is_free() {
            let _ = remove(&path);
        }
    }
}

/// One that has just been made may not be held yet.
fn is_old(path: &Path) -> bool {
    let made = path.metadata().and_then(|found| found.modified()).ok();
    made.and_then(|made| made.elapsed().ok()).is_some_and(|age| age > Duration::from_secs(60))
}

/// Holds off everybody else who puts extensions in place, for as long as it lives.
pub(crate) struct Turn(#[expect(dead_code, reason = "held, never read")] File);

impl Turn {
    pub(crate) fn wait(paths: &Paths) -> Result<Turn, ExtensionError> {
        let path = paths.extensions.join(LOCK);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(ExtensionError::disk(&path))?;
        let until = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Turn(file)),
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
pub(crate) fn place(from: &Path, target: &Path) -> Result<(), ExtensionError> {
    if target.symlink_metadata().is_ok() {
        return Err(ExtensionError::InTheWay(target.to_owned()));
    }
    fs::rename(from, target).map_err(ExtensionError::disk(target))
}

/// Puts a folder in the place of another, which ends up where the new one was.
pub(crate) fn swap(from: &Path, target: &Path) -> Result<(), ExtensionError> {
    if exchange(from, target) {
        return Ok(());
    }
    // Systems and disks that can't do it in one step: the old one is put back if the second fails.
    let aside = from.with_extension("old");
    fs::rename(target, &aside).map_err(ExtensionError::disk(target))?;
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
pub(crate) fn take_away(paths: &Paths, target: &Path) -> Result<(), ExtensionError> {
    let draft = Draft::new(paths)?;
    let aside = draft.path().join("old");
    fs::rename(target, &aside).map_err(ExtensionError::disk(target))?;
    // It is out of sight; what can't be removed goes with the next sweep.
    if let Err(error) = remove(&aside) {
        tracing::warn!(%error, path = %aside.display(), "an extension was taken away and not removed");
    }
    Ok(())
}

fn remove(path: &Path) -> std::io::Result<()> {
    match path.symlink_metadata()?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

/// Where an extension of that name is installed.
pub(crate) fn home(paths: &Paths, name: &str) -> PathBuf {
    paths.extensions.join(name)
}
