//! Reading a small text file without surprises, and replacing one so that no reader sees half of it and no writer's
//! change is lost. What the text means is others' work.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, Severity};

/// No settings file is larger; a larger one is a mistake, and reading it would only cost memory.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is a directory.
    #[error("{0} is a directory, not a file")]
    Directory(PathBuf),
    /// It is a pipe, a socket or a device.
    #[error("{0} is not a regular file")]
    Special(PathBuf),
    /// It is beyond the bound.
    #[error("{path} is too large: {size} bytes, at most {LARGEST}")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: u64,
    },
    /// It is not text.
    #[error("{path} is not valid UTF-8, from byte {at} on")]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Where the text ends.
        at: usize,
    },
    /// The system refuses.
    #[error("cannot read {path}: {cause}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl FileError {
    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            FileError::Directory(path) | FileError::Special(path) => path,
            FileError::TooLarge { path, .. } | FileError::NotUtf8 { path, .. } | FileError::Unreadable { path, .. } => {
                path
            }
        }
    }

    /// The same as a diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        let (message, help) = match self {
            FileError::Directory(_) => {
                ("this is a directory, not a file".to_owned(), "remove it, or move it out of the way")
            }
            FileError::Special(_) => {
                ("this is not a regular file".to_owned(), "pipes, sockets and devices are not read")
            }
            FileError::TooLarge { size, .. } => {
                (format!("this file is too large: {size} bytes"), "at most 64 MiB are read")
            }
            FileError::NotUtf8 { at, .. } => {
                (format!("this file is not valid UTF-8, from byte {at} on"), "save it as UTF-8")
            }
            FileError::Unreadable { cause, .. } => {
                (format!("this file cannot be read: {cause}"), "check its permissions")
            }
        };
        Diagnostic::about_file(Severity::Error, self.path(), message).help(help)
    }
}

/// A file's text, or nothing if there is no such file.
///
/// # Errors
/// If it is there and cannot be read as text.
pub fn read_text(path: &Path) -> Result<Option<String>, FileError> {
    let bytes = read_bytes(path, LARGEST)?;
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|error| FileError::NotUtf8 { path: path.to_owned(), at: error.utf8_error().valid_up_to() })
}

/// A file's bytes, or nothing if there is no such file.
pub(crate) fn read_bytes(path: &Path, largest: u64) -> Result<Option<Vec<u8>>, FileError> {
    let unreadable = |cause| FileError::Unreadable { path: path.to_owned(), cause };
    // Opening a pipe would wait for a writer, so the kind is looked at first.
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if metadata.is_dir() {
        return Err(FileError::Directory(path.to_owned()));
    }
    if !metadata.is_file() {
        return Err(FileError::Special(path.to_owned()));
    }
    let too_large = |size| FileError::TooLarge { path: path.to_owned(), size };
    if metadata.len() > largest {
        return Err(too_large(metadata.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
    let file = File::open(path).map_err(unreadable)?;
    file.take(largest + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > largest { Err(too_large(bytes.len() as u64)) } else { Ok(Some(bytes)) }
}

/// Why a file was not written. The old one is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file is write-protected.
    #[error("{0} is read-only; nothing was changed")]
    ReadOnly(PathBuf),
    /// Nobody may be told apart from another writer.
    #[error("cannot lock {path} against other writers: {cause}; nothing was changed")]
    Lock {
        /// What could not be locked.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The new text could not be stored, such as on a full disk or in a read-only directory.
    #[error("cannot write {path}: {cause}; the old file is intact")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
}

impl WriteError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            WriteError::ReadOnly(path) => format!("make it writable first: chmod u+w {}", path.display()),
            WriteError::Lock { path, .. } => format!("check the permissions of {}", path.display()),
            WriteError::Write { path, cause } => match cause.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                    "free some space and try again".to_owned()
                }
                _ => format!("check the permissions of {}", path.parent().unwrap_or(path).display()),
            },
        }
    }
}

/// Who may read a file that is created here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privacy {
    /// Whoever the process's mask lets.
    Shared,
    /// Its owner alone.
    Private,
}

/// Reads a file, lets `change` turn its text into another, and puts that in its place, all under one lock.
///
/// Gives the path that was really written (a link's target) and whether anything changed.
pub(crate) fn update<E>(
    path: &Path,
    privacy: Privacy,
    change: impl FnOnce(Option<&str>) -> Result<Option<String>, E>,
) -> Result<bool, E>
where
    E: From<FileError> + From<WriteError>,
{
    let target = follow_links(path);
    let parent = target.parent().unwrap_or(Path::new("/"));
    let write_error = |cause| WriteError::Write { path: target.clone(), cause };
    fs::create_dir_all(parent).map_err(write_error)?;
    let _lock = lock(parent, &target)?;
    let old = read_text(&target)?;
    let Some(new) = change(old.as_deref())? else { return Ok(false) };
    if old.as_deref() == Some(new.as_str()) {
        return Ok(false);
    }
    let metadata = old.is_some().then(|| fs::metadata(&target)).transpose().map_err(write_error)?;
    if metadata.as_ref().is_some_and(|metadata| metadata.permissions().readonly()) {
        return Err(WriteError::ReadOnly(target).into());
    }
    replace(&target, parent, &new, metadata.as_ref(), privacy).map_err(write_error)?;
    Ok(true)
}

/// The file that a path leads to; a link stays a link when its target is replaced.
fn follow_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => break,
        }
    }
    std::path::absolute(&path).unwrap_or(path)
}

/// Holds off other writers for as long as the file lives.
///
/// The directory itself is locked where the system allows it, so that no lock file is left behind in a project.
fn lock(parent: &Path, target: &Path) -> Result<File, WriteError> {
    if cfg!(unix)
        && let Ok(directory) = File::open(parent)
        && directory.lock().is_ok()
    {
        return Ok(directory);
    }
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let path = parent.join(name);
    let locked = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .and_then(|file| file.lock().map(|()| file));
    locked.map_err(|cause| WriteError::Lock { path, cause })
}

/// Writes beside the target and renames over it: readers see the old text or the new, whatever happens.
fn replace(target: &Path, parent: &Path, text: &str, old: Option<&Metadata>, privacy: Privacy) -> io::Result<()> {
    let mut file = temporary(parent, privacy)?;
    file.write_all(text.as_bytes())?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
        keep_owner(file.as_file(), old);
    }
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    // The rename itself must reach the disk too; where directories cannot be synced, it will in time.
    let _ = File::open(parent).and_then(|directory| directory.sync_all());
    Ok(())
}

#[cfg(unix)]
fn temporary(parent: &Path, privacy: Privacy) -> io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    let mode = if privacy == Privacy::Private { 0o600 } else { 0o666 };
    tempfile::Builder::new().prefix(".hookwright-").permissions(fs::Permissions::from_mode(mode)).tempfile_in(parent)
}

#[cfg(not(unix))]
fn temporary(parent: &Path, _privacy: Privacy) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(".hookwright-").tempfile_in(parent)
}

/// An administrator who edits a user's file leaves it the user's. Nobody else may give files away, nor needs to.
#[cfg(unix)]
fn keep_owner(file: &File, old: &Metadata) {
    use std::os::unix::fs::MetadataExt;
    let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_file: &File, _old: &Metadata) {}
