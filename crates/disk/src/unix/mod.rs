//! Files by the directory that they are in, held open: whoever swaps a directory or a link meanwhile moves nothing of ours.
//!
//! A path whose links have been followed already has none left; one that turns up later was put there, and is refused.

mod draft;
mod journal;
mod own;

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, chmodat, mkdirat, openat, statat, symlinkat, unlinkat};
use rustix::io::Errno;

use crate::{Lasting, Links, Privacy, ReadError, must_be_file};
use draft::Draft;
pub(crate) use journal::{keep_journal, sweep};
pub(crate) use own::{open_own, own_directory, tighten};

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A name in a directory that is held open.
struct Place<'p> {
    directory: OwnedFd,
    name: &'p OsStr,
}

impl<'p> Place<'p> {
    /// Where a file is or will be; missing directories are made.
    fn make(path: &'p Path, links: Links, privacy: Privacy) -> io::Result<Self> {
        let (parent, name) = split(path)?;
        let directory = match open_directory(parent, links) {
            Err(Errno::NOENT) => make_directories(parent, links, privacy)?,
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

    /// Puts new content there if that is a file's place, and the file may be written.
    fn replace(&self, bytes: &[u8], privacy: Privacy) -> io::Result<()> {
        let existing = match self.look() {
            Ok(FileType::Directory) => return Err(ErrorKind::IsADirectory.into()),
            // Renaming over a file asks nobody whether it may be written; opening it does.
            Ok(FileType::RegularFile) => Some(self.open(OFlags::WRONLY)?.metadata()?),
            Ok(FileType::Symlink) => None,
            Ok(_) => return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        self.put(bytes, privacy, existing.as_ref(), Lasting::Yes)
    }

    /// Puts new content there, in place of what there is.
    fn put(&self, bytes: &[u8], privacy: Privacy, like: Option<&Metadata>, lasting: Lasting) -> io::Result<()> {
        let draft = self.draft(bytes, privacy, like)?;
        if lasting == Lasting::Yes {
            draft.file().sync_all()?;
        }
        draft.replace(self.name)?;
        if lasting == Lasting::Yes {
            // The rename itself must reach the disk too; where directories cannot be synced, it will in time.
            let _ = rustix::fs::fsync(&self.directory);
        }
        Ok(())
    }

    fn draft(&self, bytes: &[u8], privacy: Privacy, like: Option<&Metadata>) -> io::Result<Draft<'_>> {
        let draft = Draft::new(self.directory.as_fd(), mode_of(privacy))?;
        draft.file().write_all(bytes)?;
        if let Some(like) = like {
            keep_owner(draft.file(), like);
        }
        match (privacy, like) {
            // The mask may have taken away what the owner needs, and what was there may have let others in.
            (Privacy::Private, _) | (Privacy::PrivateIfNew, None) => {
                draft.file().set_permissions(Permissions::from_mode(0o600))?;
            }
            (Privacy::Mode(mode), _) => draft.file().set_permissions(Permissions::from_mode(mode))?,
            (_, Some(like)) => draft.file().set_permissions(like.permissions())?,
            (Privacy::Shared, None) => {}
        }
        Ok(draft)
    }
}

fn mode_of(privacy: Privacy) -> Mode {
    Mode::from_raw_mode(if privacy == Privacy::Shared { 0o666 } else { 0o600 })
}

pub(crate) fn replace(path: &Path, bytes: &[u8], privacy: Privacy, links: Links) -> io::Result<()> {
    Place::make(path, links, privacy)?.replace(bytes, privacy)
}

pub(crate) fn rewrite(path: &Path, bytes: &[u8], privacy: Privacy, links: Links) -> io::Result<()> {
    let (parent, name) = split(path)?;
    Place { directory: open_directory(parent, links)?, name }.replace(bytes, privacy)
}

pub(crate) fn overwrite(path: &Path, bytes: &[u8], lasting: Lasting) -> io::Result<()> {
    Place::make(path, Links::Follow, Privacy::Private)?.put(bytes, Privacy::Private, None, lasting)
}

pub(crate) fn create_held(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let place = Place::make(path, Links::Follow, Privacy::Private)?;
    let draft = place.draft(bytes, Privacy::Private, None)?;
    // Nobody else can hold a file that is not yet there, and some network disks know no locks.
    let _ = draft.file().try_lock();
    let file = draft.appear(place.name)?;
    rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
    Ok(file)
}

pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    unlink(path, AtFlags::empty())
}

pub(crate) fn remove_directory(path: &Path) -> io::Result<()> {
    unlink(path, AtFlags::REMOVEDIR)
}

fn unlink(path: &Path, flags: AtFlags) -> io::Result<()> {
    let (parent, name) = split(path)?;
    Ok(unlinkat(open_directory(parent, Links::Refuse)?, name, flags)?)
}

pub(crate) fn replace_by_link(path: &Path, target: &str) -> io::Result<()> {
    let place = Place::make(path, Links::Refuse, Privacy::Shared)?;
    match unlinkat(&place.directory, place.name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(symlinkat(target, &place.directory, place.name)?),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn is_in_place(path: &Path) -> bool {
    let Ok((parent, name)) = split(path) else { return path.exists() };
    open_directory(parent, Links::Refuse).is_ok_and(|directory| Place { directory, name }.look().is_ok())
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
fn make_directories(path: &Path, links: Links, privacy: Privacy) -> io::Result<OwnedFd> {
    let follow = if links == Links::Refuse { OFlags::NOFOLLOW } else { OFlags::empty() };
    let is_shared = matches!(privacy, Privacy::Shared | Privacy::Mode(_));
    let mode = Mode::from_raw_mode(if is_shared { 0o777 } else { 0o700 });
    Ok(walk(path, |directory, name| match openat(directory, name, DIRECTORY | follow, Mode::empty()) {
        Err(Errno::NOENT) => {
            match mkdirat(directory, name, mode) {
                // Whatever the mask says, its owner needs it.
                Ok(()) if !is_shared => chmodat(directory, name, mode, AtFlags::empty())?,
                // Somebody else may have been quicker.
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

    #[test]
    fn nothing_is_removed_or_linked_behind_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/empty")).unwrap();
        std::fs::write(root.join("real/f"), "x").unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        assert!(remove_file(&root.join("link/f")).is_err());
        assert!(remove_directory(&root.join("link/empty")).is_err());
        assert!(replace_by_link(&root.join("link/new"), "f").is_err());
        assert!(replace_by_link(&root.join("real/empty"), "f").is_err(), "a directory stays");
        replace_by_link(&root.join("real/f"), "g").unwrap();
        replace_by_link(&root.join("new/f"), "g").unwrap();
        assert_eq!(std::fs::read_link(root.join("real/f")).unwrap(), Path::new("g"));
        // A link is removed, not what it leads to.
        remove_file(&root.join("link")).unwrap();
        remove_file(&root.join("real/f")).unwrap();
        remove_directory(&root.join("real/empty")).unwrap();
        assert_eq!(std::fs::read_dir(root.join("real")).unwrap().count(), 0);
    }

    #[test]
    fn a_file_has_its_mode_from_its_first_moment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("d/key");
        for (mode, before) in [(0o600, None), (0o640, Some(0o644)), (0o600, Some(0o666))] {
            if let Some(before) = before {
                std::fs::set_permissions(&path, Permissions::from_mode(before)).unwrap();
            }
            let place = Place::make(&path, Links::Refuse, Privacy::Mode(mode)).unwrap();
            let draft = place.draft(b"secret", Privacy::Mode(mode), None).unwrap();
            assert_eq!(draft.file().metadata().unwrap().permissions().mode() & 0o777, mode);
            drop(draft);
            replace(&path, b"secret", Privacy::Mode(mode), Links::Refuse).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
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
