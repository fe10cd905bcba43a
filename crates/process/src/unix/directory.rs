//! A directory that is held open, so that it can be found again after it was moved.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, Stat};

use crate::DirectoryLocation;

/// A directory's path and a descriptor of it. Cheap to clone. If it could not be opened, it is only a path.
#[derive(Clone, Debug)]
pub struct DirectoryHandle {
    path: PathBuf,
    open: Option<OpenDirectory>,
}

#[derive(Clone, Debug)]
struct OpenDirectory {
    handle: Arc<OwnedFd>,
    identity: InodeIdentity,
}

/// The device and inode numbers, which identify a directory for as long as it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InodeIdentity(u64, u64);

impl From<Stat> for InodeIdentity {
    #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "the types differ from system to system")]
    fn from(of: Stat) -> Self {
        InodeIdentity(of.st_dev as u64, of.st_ino as u64)
    }
}

#[cfg(target_os = "linux")]
const OPEN_FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const OPEN_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl DirectoryHandle {
    /// Opens a directory, so that it can be found again wherever it is moved.
    pub fn open(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let open = || {
            let handle = rustix::fs::open(&path, OPEN_FLAGS, Mode::empty())?;
            // The three standard descriptors are replaced in a new process before it changes its directory.
            let handle = if handle.as_raw_fd() > 2 { handle } else { rustix::io::fcntl_dupfd_cloexec(&handle, 3)? };
            let identity = InodeIdentity::from(rustix::fs::fstat(&handle)?);
            rustix::io::Result::Ok(OpenDirectory { handle: Arc::new(handle), identity })
        };
        let open = open().ok();
        DirectoryHandle { path, open }
    }

    /// Opens a directory by a path without symbolic links.
    ///
    /// # Errors
    /// Returns an error if there is no such directory, or if the path has a symbolic link in it by now.
    pub fn open_nofollow(path: impl Into<PathBuf>) -> std::io::Result<Self> {
        let directory = Self::open(path);
        let Some(handle) = directory.handle() else { return Err(std::io::ErrorKind::NotADirectory.into()) };
        // If the system cannot give the path of a descriptor, the path itself is resolved once more.
        let real = descriptor_path(handle).or_else(|| directory.path.canonicalize().ok());
        match real {
            Some(real) if real == directory.path => Ok(directory),
            _ => Err(std::io::Error::other("the path to this directory now leads through a symbolic link")),
        }
    }

    /// Returns the path by which the directory was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where the directory is now. As long as it has not been moved, this costs one `stat`.
    pub fn locate(&self) -> DirectoryLocation {
        let Some(open) = &self.open else {
            return if self.path.is_dir() { DirectoryLocation::Unmoved } else { DirectoryLocation::Gone };
        };
        let leads_there = |path: &Path| rustix::fs::stat(path).is_ok_and(|of| InodeIdentity::from(of) == open.identity);
        if leads_there(&self.path) {
            return DirectoryLocation::Unmoved;
        }
        match descriptor_path(open.handle.as_fd()) {
            Some(path) if leads_there(&path) => DirectoryLocation::Moved(path),
            _ => DirectoryLocation::Gone,
        }
    }

    /// Returns whether programs may start in the directory.
    pub fn is_searchable(&self) -> bool {
        rustix::fs::access(&self.path, rustix::fs::Access::EXEC_OK).is_ok()
    }

    pub(super) fn handle(&self) -> Option<BorrowedFd<'_>> {
        self.open.as_ref().map(|open| open.handle.as_fd())
    }
}

#[cfg(target_os = "linux")]
fn descriptor_path(handle: BorrowedFd<'_>) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd())).ok()
}

#[cfg(target_vendor = "apple")]
fn descriptor_path(handle: BorrowedFd<'_>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(handle).ok()?;
    Some(std::ffi::OsString::from_vec(path.into_bytes()).into())
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn descriptor_path(_: BorrowedFd<'_>) -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moved_directory_is_located() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (here, there) = (root.join("here"), root.join("there (deleted)"));
        std::fs::create_dir(&here).unwrap();
        let directory = DirectoryHandle::open(&here);
        assert_eq!(directory.locate(), DirectoryLocation::Unmoved);
        std::fs::rename(&here, &there).unwrap();
        assert_eq!(directory.locate(), DirectoryLocation::Moved(there.clone()));
        // Another directory at the old path is not the same one; a symbolic link to the moved one leads there again.
        std::fs::create_dir(&here).unwrap();
        assert_eq!(directory.locate(), DirectoryLocation::Moved(there.clone()));
        std::fs::remove_dir(&here).unwrap();
        std::os::unix::fs::symlink(&there, &here).unwrap();
        assert_eq!(directory.locate(), DirectoryLocation::Unmoved);
        std::fs::remove_dir(&there).unwrap();
        assert_eq!(directory.locate(), DirectoryLocation::Gone);
        std::fs::create_dir(&there).unwrap();
        assert_eq!(directory.locate(), DirectoryLocation::Gone);
    }

    #[test]
    fn open_nofollow_refuses_symlinks() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/sub")).unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        assert!(DirectoryHandle::open_nofollow(root.join("real/sub")).is_ok());
        for path in ["link", "link/sub", "missing"] {
            assert!(DirectoryHandle::open_nofollow(root.join(path)).is_err(), "{path}");
        }
    }

    #[test]
    fn missing_directory_falls_back_to_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let directory = DirectoryHandle::open(folder.path().join("later"));
        assert_eq!(directory.locate(), DirectoryLocation::Gone);
        std::fs::create_dir(directory.path()).unwrap();
        assert_eq!(directory.locate(), DirectoryLocation::Unmoved);
    }
}
