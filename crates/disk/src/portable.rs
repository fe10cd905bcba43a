//! Files by their paths, for systems on which directories cannot be held open.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::{Durability, ExistingFileMode, FilePrivacy, SymlinkPolicy};

pub(crate) fn write_atomic(path: &Path, bytes: &[u8], _: FilePrivacy, _: SymlinkPolicy) -> io::Result<()> {
    let directory = path.parent().ok_or(ErrorKind::IsADirectory)?;
    fs::create_dir_all(directory)?;
    let existing = match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file")),
        Ok(found) => {
            // A rename over a file does not check whether it may be written; opening it does.
            OpenOptions::new().write(true).open(path)?;
            Some(found)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut draft = tempfile::Builder::new().prefix(".hookwright-").suffix(".tmp").tempfile_in(directory)?;
    draft.write_all(bytes)?;
    if let Some(existing) = existing {
        draft.as_file().set_permissions(existing.permissions())?;
    }
    draft.as_file().sync_all()?;
    draft.persist(path).map(drop).map_err(|error| error.error)
}

pub(crate) fn exists_nofollow(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

pub(crate) fn remove_directory(path: &Path) -> io::Result<()> {
    fs::remove_dir(path)
}

pub(crate) fn replace_with_symlink(_: &Path, _: &str) -> io::Result<()> {
    Err(io::Error::other("symbolic links can't be created on this system"))
}

pub(crate) fn rewrite_atomic(path: &Path, bytes: &[u8], privacy: FilePrivacy, links: SymlinkPolicy) -> io::Result<()> {
    fs::metadata(path.parent().ok_or(ErrorKind::IsADirectory)?)?;
    write_atomic(path, bytes, privacy, links)
}

pub(crate) fn write_atomic_private(path: &Path, bytes: &[u8], _: Durability) -> io::Result<()> {
    write_atomic(path, bytes, FilePrivacy::Private, SymlinkPolicy::Follow)
}

pub(crate) fn create_locked(path: &Path, bytes: &[u8]) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut file = OpenOptions::new().read(true).append(true).create_new(true).open(path)?;
    let _ = file.try_lock();
    file.write_all(bytes)?;
    Ok(file)
}

pub(crate) fn open_append(path: &Path, _: ExistingFileMode) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

pub(crate) fn make_private(_: &File) -> io::Result<()> {
    Ok(())
}

pub(crate) fn create_private_directory(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Does nothing: the temporary files of a killed program stay.
pub(crate) fn sweep_journals(_: &Path) {}

pub(crate) fn enable_journal(_: PathBuf) {}
