//! Reads small text files, and changes files under a lock so that no concurrent change is lost. `hookwright-disk`
//! does the atomic writes.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) use hookwright_disk::FilePrivacy;
use hookwright_disk::{ReadError, SymlinkPolicy};
use hookwright_hooks::{Diagnostic, Severity};

/// Largest settings file that is read.
const MAX_SETTINGS_FILE_BYTES: u64 = 16 << 20;

/// Longest wait for another writer's lock; a change takes only a moment.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether a path that starts in a directory also ends in it, with all links followed. The path need not exist.
pub fn resolves_inside(directory: &Path, path: &Path) -> bool {
    let Ok(root) = directory.canonicalize() else { return false };
    let asked = root.join(path);
    let missing = |path: &&Path| path.symlink_metadata().is_err();
    // A missing component cannot lead out of the directory, but a dangling link can.
    let Some(there) = asked.ancestors().find(|path| !missing(path)) else { return false };
    let inside = there.canonicalize().is_ok_and(|real| real.starts_with(&root));
    let rest = asked.strip_prefix(there).unwrap_or(&asked);
    inside && rest.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The path is a directory.
    #[error("{0} is a directory, not a file")]
    Directory(PathBuf),
    /// The path is a pipe, a socket or a device.
    #[error("{0} is not a regular file")]
    Special(PathBuf),
    /// The file is larger than allowed.
    #[error("{path} is too large: {size} bytes, at most {largest}")]
    TooLarge {
        path: PathBuf,
        /// Size of the file in bytes.
        size: u64,
        /// Most bytes that are read.
        largest: u64,
    },
    /// The file is not valid UTF-8.
    #[error("{path} is not valid UTF-8, from byte {at} on")]
    NotUtf8 {
        path: PathBuf,
        /// Offset of the first invalid byte.
        at: usize,
    },
    /// The system refuses to read the file.
    #[error("cannot read {path}: {cause}")]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl FileError {
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        match self {
            FileError::Directory(path) | FileError::Special(path) => path,
            FileError::TooLarge { path, .. } | FileError::NotUtf8 { path, .. } | FileError::Unreadable { path, .. } => {
                path
            }
        }
    }

    /// Converts the error to a diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        let (message, help) = match self {
            FileError::Directory(_) => {
                ("this is a directory, not a file".to_owned(), "remove it, or move it out of the way")
            }
            FileError::Special(_) => {
                ("this is not a regular file".to_owned(), "pipes, sockets and devices are not read")
            }
            FileError::TooLarge { size, largest, .. } => {
                (format!("this file is too large: {size} bytes, where {largest} are read"), "shorten it")
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

/// Reads a file's text, or returns `None` if there is no such file.
///
/// # Errors
/// If it exists and cannot be read as text.
pub fn read_text(path: &Path) -> Result<Option<String>, FileError> {
    read_text_up_to(path, MAX_SETTINGS_FILE_BYTES)
}

/// Like [`read_text`], with another size limit.
pub(crate) fn read_text_up_to(path: &Path, largest: u64) -> Result<Option<String>, FileError> {
    let bytes = read_bytes(path, largest)?;
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|error| FileError::NotUtf8 { path: path.to_owned(), at: error.utf8_error().valid_up_to() })
}

/// Reads a file's bytes, or returns `None` if there is no such file.
pub(crate) fn read_bytes(path: &Path, largest: u64) -> Result<Option<Vec<u8>>, FileError> {
    let path_buf = || path.to_owned();
    match hookwright_disk::read(path, largest, SymlinkPolicy::Follow) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadError::Directory) => Err(FileError::Directory(path_buf())),
        Err(ReadError::Special) => Err(FileError::Special(path_buf())),
        Err(ReadError::TooLarge(size)) => Err(FileError::TooLarge { path: path_buf(), size, largest }),
        Err(ReadError::Io(error)) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(ReadError::Io(cause)) => Err(FileError::Unreadable { path: path_buf(), cause }),
        Err(error @ (ReadError::Link | ReadError::NotText)) => {
            Err(FileError::Unreadable { path: path_buf(), cause: io::Error::other(error.to_string()) })
        }
    }
}

/// Why a file was not written; the old one is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file is write-protected.
    #[error("{0} is read-only; nothing was changed")]
    ReadOnly(PathBuf),
    /// The lock against other writers could not be acquired.
    #[error("cannot lock {path} against other writers: {cause}; nothing was changed")]
    Lock {
        /// The directory or file that could not be locked.
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The new text could not be stored, for example on a full disk or in a read-only directory.
    #[error("cannot write {path}: {cause}; the old file is intact")]
    Write {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

impl WriteError {
    /// Returns advice on how to resolve the error.
    pub fn hint(&self) -> String {
        match self {
            WriteError::ReadOnly(path) => format!("make it writable first: chmod u+w {}", path.display()),
            WriteError::Lock { path, cause } if cause.kind() == ErrorKind::TimedOut => {
                format!("end the program that holds it (`fuser {}` names it), and try again", path.display())
            }
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

/// Reads a file, computes its new text with `change` and replaces the file, all under one lock. Returns whether the
/// file changed.
///
/// A link stays a link: its target is replaced.
pub(crate) fn update_locked<E>(
    path: &Path,
    privacy: FilePrivacy,
    change: impl FnOnce(Option<&str>) -> Result<Option<String>, E>,
) -> Result<bool, E>
where
    E: From<FileError> + From<WriteError>,
{
    let target = follow_links(path);
    let parent = target.parent().unwrap_or(Path::new("/"));
    let write_error = |cause| WriteError::Write { path: target.clone(), cause };
    match privacy {
        FilePrivacy::Shared | FilePrivacy::Mode(_) => fs::create_dir_all(parent),
        FilePrivacy::Private | FilePrivacy::PrivateIfNew => hookwright_disk::create_private_directory(parent),
    }
    .map_err(write_error)?;
    let _lock = lock_for_writing(parent, &target)?;
    let old = read_text(&target)?;
    let Some(new) = change(old.as_deref())? else { return Ok(false) };
    if old.as_deref() == Some(new.as_str()) {
        return Ok(false);
    }
    if old.is_some() && fs::metadata(&target).map_err(write_error)?.permissions().readonly() {
        return Err(WriteError::ReadOnly(target).into());
    }
    hookwright_disk::write_atomic(&target, new.as_bytes(), privacy, SymlinkPolicy::Follow).map_err(write_error)?;
    Ok(true)
}

/// Follows a link to its target, so that the target and not the link is replaced.
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

/// Locks out other writers until the returned file is dropped.
///
/// On Unix the directory itself is locked if possible, so that no lock file is left behind in a project.
fn lock_for_writing(parent: &Path, target: &Path) -> Result<File, WriteError> {
    if cfg!(unix)
        && let Ok(directory) = File::open(parent)
    {
        match acquire_lock(&directory) {
            Ok(()) => return Ok(directory),
            Err(cause) if cause.kind() == ErrorKind::TimedOut => {
                return Err(WriteError::Lock { path: parent.to_owned(), cause });
            }
            // This file system can't lock directories.
            Err(_) => {}
        }
    }
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let path = parent.join(name);
    let locked = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .and_then(|file| acquire_lock(&file).map(|()| file));
    locked.map_err(|cause| WriteError::Lock { path, cause })
}

/// Acquires a lock, and waits up to `LOCK_TIMEOUT` for it.
fn acquire_lock(file: &File) -> io::Result<()> {
    let until = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(fs::TryLockError::Error(error)) => return Err(error),
            Err(fs::TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(fs::TryLockError::WouldBlock) => {
                let text = format!("another program has held the lock for {} seconds", LOCK_TIMEOUT.as_secs());
                return Err(io::Error::new(ErrorKind::TimedOut, text));
            }
        }
    }
}
