//! Files by the directory that they are in, held open: whoever swaps a directory or a link meanwhile moves nothing of ours.
//!
//! A path whose links have been followed already has none left; one that turns up later was put there, and is refused.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, linkat, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use crate::{Links, Privacy, ReadError, must_be_file};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A name in a directory that is held open.
struct Place<'p> {
    directory: OwnedFd,
    name: &'p OsStr,
}

impl<'p> Place<'p> {
    /// Where a file is or will be; missing directories are made.
    fn make(path: &'p Path, links: Links) -> io::Result<Self> {
        let (parent, name) = split(path)?;
        let directory = match open_directory(parent, links) {
            Err(Errno::NOENT) => make_directories(parent, links)?,
            opened => opened?,
        };
        Ok(Place { directory, name })
    }

    /// What is there, links not followed.
    fn open(&self, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        Ok(openat(&self.directory, self.name, flags, Mode::empty())?.into())
    }

    /// What kind of thing is there; a link is looked at as such. Opening a device would be an act in itself.
    fn look(&self) -> io::Result<FileType> {
        let found = statat(&self.directory, self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(found.st_mode))
    }

    /// Puts new content there, in place of what there is.
    fn put(&self, bytes: &[u8], privacy: Privacy, like: Option<&Metadata>) -> io::Result<()> {
        let mode = Mode::from_raw_mode(if privacy == Privacy::Private { 0o600 } else { 0o666 });
        let draft = Draft::new(self.directory.as_fd(), mode)?;
        (&draft.file).write_all(bytes)?;
        if let Some(like) = like {
            keep_owner(&draft.file, like);
            draft.file.set_permissions(like.permissions())?;
        }
        draft.file.sync_all()?;
        draft.put(self.name)?;
        // The rename itself must reach the disk too; where directories cannot be synced, it will in time.
        let _ = rustix::fs::fsync(&self.directory);
        Ok(())
    }
}

pub(crate) fn replace(path: &Path, bytes: &[u8], privacy: Privacy, links: Links) -> io::Result<()> {
    let place = Place::make(path, links)?;
    let existing = match place.look() {
        Ok(FileType::Directory) => return Err(ErrorKind::IsADirectory.into()),
        // Renaming over a file asks nobody whether it may be written; opening it does.
        Ok(FileType::RegularFile) => Some(place.open(OFlags::WRONLY)?.metadata()?),
        Ok(FileType::Symlink) => None,
        Ok(_) => return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file")),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    place.put(bytes, privacy, existing.as_ref())
}

/// Opens a regular file whose path has no links.
pub(crate) fn open_real(path: &Path) -> Result<(File, Metadata), ReadError> {
    let Ok((parent, name)) = split(path) else { return Err(ReadError::Directory) };
    let directory = open_directory(parent, Links::Refuse).map_err(refusal)?;
    let place = Place { directory, name };
    match place.look()? {
        FileType::RegularFile => {}
        FileType::Directory => return Err(ReadError::Directory),
        FileType::Symlink => return Err(ReadError::Link),
        _ => return Err(ReadError::Special),
    }
    let file = place.open(OFlags::RDONLY)?;
    let found = file.metadata()?;
    must_be_file(&found)?;
    Ok((file, found))
}

fn refusal(error: Errno) -> ReadError {
    match error {
        Errno::LOOP => ReadError::Link,
        error => io::Error::from(error).into(),
    }
}

fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((parent, name))
}

fn open_directory(path: &Path, links: Links) -> Result<OwnedFd, Errno> {
    if links == Links::Follow {
        return openat(CWD, path, DIRECTORY, Mode::empty());
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(CWD, path, DIRECTORY, Mode::empty(), resolve) {
            // Old kernels, and sandboxes that do not know it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    walk(path, |directory, name| openat(directory, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()))
}

/// Makes what is missing of a path, one directory after another, each in the one before it.
fn make_directories(path: &Path, links: Links) -> io::Result<OwnedFd> {
    let follow = if links == Links::Refuse { OFlags::NOFOLLOW } else { OFlags::empty() };
    Ok(walk(path, |directory, name| match openat(directory, name, DIRECTORY | follow, Mode::empty()) {
        Err(Errno::NOENT) => {
            match mkdirat(directory, name, Mode::from_raw_mode(0o777)) {
                // Somebody else was quicker.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            openat(directory, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
        }
        opened => opened,
    })?)
}

/// Goes down a path, directory by directory.
fn walk(path: &Path, step: impl Fn(BorrowedFd<'_>, &OsStr) -> Result<OwnedFd, Errno>) -> Result<OwnedFd, Errno> {
    let start = if path.is_absolute() { "/" } else { "." };
    let mut directory = openat(CWD, start, DIRECTORY, Mode::empty())?;
    for component in path.components() {
        directory = match component {
            Component::Normal(name) => step(directory.as_fd(), name)?,
            Component::ParentDir => step(directory.as_fd(), OsStr::new(".."))?,
            Component::RootDir | Component::CurDir | Component::Prefix(_) => continue,
        };
    }
    Ok(directory)
}

/// New content that is not in its place yet: without a name where the system can do that (Linux), so that a program that is
/// killed leaves nothing behind, else under a temporary one.
struct Draft<'d> {
    directory: BorrowedFd<'d>,
    file: File,
    name: Option<String>,
}

impl<'d> Draft<'d> {
    fn new(directory: BorrowedFd<'d>, mode: Mode) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Ok(file) = openat(directory, ".", OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode) {
            let file = File::from(file);
            // A name is given to it through /proc, which is not everywhere.
            if rustix::fs::access(by_descriptor(&file).as_str(), rustix::fs::Access::EXISTS).is_ok() {
                return Ok(Draft { directory, file, name: None });
            }
        }
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let (file, name) = under_a_new_name(|name| openat(directory, name, flags, mode))?;
        Ok(Draft { directory, file: file.into(), name: Some(name) })
    }

    fn put(mut self, place: &OsStr) -> io::Result<()> {
        if self.name.is_none() {
            let link = |name: &OsStr| {
                linkat(CWD, by_descriptor(&self.file).as_str(), self.directory, name, AtFlags::SYMLINK_FOLLOW)
            };
            match link(place) {
                // A link takes nobody's place; a rename does, and needs a name for that moment.
                Err(Errno::EXIST) => self.name = Some(under_a_new_name(|name| link(OsStr::new(name)))?.1),
                linked => return Ok(linked?),
            }
        }
        if let Some(name) = &self.name {
            renameat(self.directory, name.as_str(), self.directory, place)?;
        }
        self.name = None;
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = unlinkat(self.directory, name.as_str(), AtFlags::empty());
        }
    }
}

fn by_descriptor(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Tries names until one is nobody's.
fn under_a_new_name<T>(try_name: impl Fn(&str) -> Result<T, Errno>) -> io::Result<(T, String)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.subsec_nanos());
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".hookwright-{}-{now:x}-{count}.tmp", std::process::id());
        match try_name(&name) {
            Ok(made) => return Ok((made, name)),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// An administrator who edits a user's file leaves it the user's. Nobody else may give files away, nor needs to.
fn keep_owner(file: &File, existing: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    if file.metadata().is_ok_and(|now| (now.uid(), now.gid()) != (existing.uid(), existing.gid())) {
        let _ = fchown(file, Some(existing.uid()), Some(existing.gid()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a draft is no file in anybody's project.
    #[test]
    fn a_draft_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let count = || std::fs::read_dir(folder.path()).unwrap().count();
        let directory = open_directory(folder.path(), Links::Refuse).unwrap();
        let mode = Mode::from_raw_mode(0o600);
        let draft = Draft::new(directory.as_fd(), mode).unwrap();
        assert_eq!(count(), usize::from(draft.name.is_some()));
        drop(draft);
        assert_eq!(count(), 0);
        std::fs::write(folder.path().join("f"), "old").unwrap();
        for name in ["f", "new"] {
            let draft = Draft::new(directory.as_fd(), mode).unwrap();
            (&draft.file).write_all(b"x").unwrap();
            draft.put(OsStr::new(name)).unwrap();
            assert_eq!(std::fs::read(folder.path().join(name)).unwrap(), b"x");
        }
        assert_eq!(count(), 2);
        // Where there are no files without names.
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
        let (file, name) = under_a_new_name(|name| openat(&directory, name, flags, mode)).unwrap();
        Draft { directory: directory.as_fd(), file: file.into(), name: Some(name) }.put(OsStr::new("new")).unwrap();
        assert_eq!((count(), std::fs::read(folder.path().join("new")).unwrap().len()), (2, 0));
    }

    #[test]
    fn going_down_step_by_step_refuses_links_like_the_system_does() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("a/b")).unwrap();
        std::os::unix::fs::symlink(real.join("a"), real.join("link")).unwrap();
        let step = |directory: BorrowedFd<'_>, name: &OsStr| {
            openat(directory, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
        };
        assert!(walk(&real.join("a/b"), step).is_ok());
        assert!(walk(&real.join("link/b"), step).is_err());
        assert!(open_directory(&real.join("link/b"), Links::Refuse).is_err());
        assert!(open_directory(&real.join("link/b"), Links::Follow).is_ok());
    }
}
