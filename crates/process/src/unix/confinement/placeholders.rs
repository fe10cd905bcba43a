//! Stand-ins for protected paths that do not exist: only what exists can be covered by a mount.
//!
//! A placeholder is an empty file or folder that exists while a confined command runs. Concurrent runs share it; the
//! last one removes it, and only if it is still empty.

use std::fs::{self, File, Metadata, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The permissions of a placeholder, by which other runs recognise it: no other program sets the sticky bit on these.
const PLACEHOLDER_FILE_MODE: u32 = 0o1400;
const PLACEHOLDER_DIRECTORY_MODE: u32 = 0o1500;
/// A file of git that can't be empty, and what says the same as its absence: the repository's directory is this one.
const GIT_COMMON_DIR_FILE: &str = "commondir";
const GIT_COMMON_DIR_TEXT: &[u8] = b".\n";
/// How often a run tries to join a placeholder that another run removes at the same time.
const MAX_JOIN_ATTEMPTS: usize = 50;

/// The kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A file.
    File,
    /// A folder.
    Directory,
}

impl PathKind {
    fn placeholder_mode(self) -> u32 {
        match self {
            PathKind::File => PLACEHOLDER_FILE_MODE,
            PathKind::Directory => PLACEHOLDER_DIRECTORY_MODE,
        }
    }
}

/// Returns the kind of a placeholder, if this describes one.
pub(super) fn is_placeholder(metadata: &Metadata) -> Option<PathKind> {
    let mode = metadata.mode() & 0o7777;
    match () {
        () if metadata.is_file() && mode == PLACEHOLDER_FILE_MODE && is_placeholder_size(metadata.len()) => {
            Some(PathKind::File)
        }
        () if metadata.is_dir() && mode == PLACEHOLDER_DIRECTORY_MODE => Some(PathKind::Directory),
        () => None,
    }
}

fn is_placeholder_size(bytes: u64) -> bool {
    bytes == 0 || bytes == GIT_COMMON_DIR_TEXT.len() as u64
}

/// Creates the file of a placeholder, which has its content from the first moment on.
fn create_file(path: &Path) -> io::Result<()> {
    let is_common_dir = path.file_name().is_some_and(|name| name == GIT_COMMON_DIR_FILE);
    if !is_common_dir {
        return File::create_new(path).map(drop);
    }
    // Git would fail if it read the file before the text is in it.
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let unnamed = PathBuf::from(name);
    let mut file = File::create_new(&unnamed)?;
    let linked = file
        .write_all(GIT_COMMON_DIR_TEXT)
        .and_then(|()| file.set_permissions(Permissions::from_mode(PLACEHOLDER_FILE_MODE)))
        .and_then(|()| fs::hard_link(&unnamed, path));
    fs::remove_file(&unnamed)?;
    linked
}

/// Whether a path that could not be created for this reason can't be created by the command either.
///
/// A folder that refuses its own owner does not count: the owner can change its permissions.
pub(super) fn is_never_creatable(path: &Path, error: &io::Error) -> bool {
    let is_of_other_user = || {
        let folder = path.parent().and_then(|folder| fs::metadata(folder).ok());
        folder.is_some_and(|folder| folder.uid() != rustix::process::geteuid().as_raw())
    };
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => true,
        io::ErrorKind::PermissionDenied => is_of_other_user(),
        _ => false,
    }
}

/// A path that exists for as long as this value does.
#[derive(Debug)]
pub(super) struct Placeholder {
    path: PathBuf,
    kind: PathKind,
    /// Locked by every run that uses the placeholder.
    file: File,
}

impl Placeholder {
    /// Creates the path, or joins the runs that have created it.
    ///
    /// Returns `None` if something else exists there by now.
    pub(super) fn create(path: &Path, kind: PathKind) -> io::Result<Option<Placeholder>> {
        for _ in 0..MAX_JOIN_ATTEMPTS {
            let created = match kind {
                PathKind::File => create_file(path),
                PathKind::Directory => fs::create_dir(path),
            };
            match created {
                Ok(()) => fs::set_permissions(path, Permissions::from_mode(kind.placeholder_mode()))?,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            let file = match File::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened?,
            };
            file.lock_shared()?;
            let placeholder = Placeholder { path: path.to_owned(), kind, file };
            // Another run may have removed it between the two calls.
            match placeholder.is_untouched() {
                Ok(true) => return Ok(Some(placeholder)),
                Ok(false) if is_placeholder(&placeholder.file.metadata()?).is_none() => return Ok(None),
                Ok(false) | Err(_) => {}
            }
        }
        Err(io::Error::other(format!("{} is created and removed by other programs", path.display())))
    }

    /// Whether the path still is this file, and empty.
    fn is_untouched(&self) -> io::Result<bool> {
        let (ours, there) = (self.file.metadata()?, fs::symlink_metadata(&self.path)?);
        let is_same = (ours.dev(), ours.ino()) == (there.dev(), there.ino());
        Ok(is_same && is_placeholder(&there) == Some(self.kind))
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        if let Err(TryLockError::WouldBlock | TryLockError::Error(_)) = self.file.try_lock() {
            return;
        }
        if self.is_untouched().unwrap_or(false) {
            // A folder that holds something is not removed.
            let _ = match self.kind {
                PathKind::File => fs::remove_file(&self.path),
                PathKind::Directory => fs::remove_dir(&self.path),
            };
        }
    }
}
