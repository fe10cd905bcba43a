//! Files relative to their directory, which is held open: a directory or link that is swapped meanwhile has no effect.
//!
//! A resolved path has no symbolic links left. A link that appears in it later was put there, and is refused.

mod journal;
mod private;
mod temp_file;

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, chmodat, mkdirat, openat, statat, symlinkat, unlinkat};
use rustix::io::Errno;

use crate::{Durability, FilePrivacy, ReadError, SymlinkPolicy, check_regular_file};
pub(crate) use journal::{enable_journal, sweep_journals};
pub(crate) use private::{create_private_directory, make_private, open_append};
use temp_file::TempFile;

const DIRECTORY_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A name in a directory that is held open.
struct DirectoryEntry<'p> {
    directory: OwnedFd,
    name: &'p OsStr,
}

impl<'p> DirectoryEntry<'p> {
    /// Opens the directory of a file that exists or will exist; missing directories are created.
    fn create_parents(path: &'p Path, links: SymlinkPolicy, privacy: FilePrivacy) -> io::Result<Self> {
        let (parent, name) = split_parent(path)?;
        let directory = match open_directory(parent, links) {
            Err(Errno::NOENT) => make_directories(parent, links, privacy)?,
            opened => opened?,
        };
        Ok(DirectoryEntry { directory, name })
    }

    /// Opens the file without following a symbolic link.
    fn open(&self, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        Ok(openat(&self.directory, self.name, flags, Mode::empty())?.into())
    }

    /// Returns the file's type, without following a symbolic link. A device is not opened, since that can have effects.
    fn file_type(&self) -> io::Result<FileType> {
        let found = statat(&self.directory, self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(found.st_mode))
    }

    /// Replaces the content, if there is a file that may be written, a symbolic link, or nothing.
    fn replace_writable(&self, bytes: &[u8], privacy: FilePrivacy) -> io::Result<()> {
        let existing = match self.file_type() {
            Ok(FileType::Directory) => return Err(ErrorKind::IsADirectory.into()),
            // A rename over a file does not check whether it may be written; opening it does.
            Ok(FileType::RegularFile) => Some(self.open(OFlags::WRONLY)?.metadata()?),
            Ok(FileType::Symlink) => None,
            Ok(_) => return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        self.persist_bytes(bytes, privacy, existing.as_ref(), Durability::Synced)
    }

    /// Replaces what is there by a file with this content.
    fn persist_bytes(
        &self,
        bytes: &[u8],
        privacy: FilePrivacy,
        like: Option<&Metadata>,
        lasting: Durability,
    ) -> io::Result<()> {
        let draft = self.create_temp_file(bytes, privacy, like)?;
        if lasting == Durability::Synced {
            draft.file().sync_all()?;
        }
        draft.persist(self.name)?;
        if lasting == Durability::Synced {
            // The rename itself must reach the disk too; where directories cannot be synced, it does so later.
            let _ = rustix::fs::fsync(&self.directory);
        }
        Ok(())
    }

    fn create_temp_file(
        &self,
        bytes: &[u8],
        privacy: FilePrivacy,
        like: Option<&Metadata>,
    ) -> io::Result<TempFile<'_>> {
        let draft = TempFile::new(self.directory.as_fd(), creation_mode(privacy))?;
        draft.file().write_all(bytes)?;
        if let Some(like) = like {
            preserve_owner(draft.file(), like);
        }
        match (privacy, like) {
            // The umask may have removed the owner's bits, and the old file may have let others read it.
            (FilePrivacy::Private, _) | (FilePrivacy::PrivateIfNew, None) => {
                draft.file().set_permissions(Permissions::from_mode(0o600))?;
            }
            (FilePrivacy::Mode(mode), _) => draft.file().set_permissions(Permissions::from_mode(mode))?,
            (_, Some(like)) => draft.file().set_permissions(like.permissions())?,
            (FilePrivacy::Shared, None) => {}
        }
        Ok(draft)
    }
}

fn creation_mode(privacy: FilePrivacy) -> Mode {
    Mode::from_raw_mode(if privacy == FilePrivacy::Shared { 0o666 } else { 0o600 })
}

pub(crate) fn write_atomic(path: &Path, bytes: &[u8], privacy: FilePrivacy, links: SymlinkPolicy) -> io::Result<()> {
    DirectoryEntry::create_parents(path, links, privacy)?.replace_writable(bytes, privacy)
}

pub(crate) fn rewrite_atomic(path: &Path, bytes: &[u8], privacy: FilePrivacy, links: SymlinkPolicy) -> io::Result<()> {
    let (parent, name) = split_parent(path)?;
    DirectoryEntry { directory: open_directory(parent, links)?, name }.replace_writable(bytes, privacy)
}

pub(crate) fn write_atomic_private(path: &Path, bytes: &[u8], lasting: Durability) -> io::Result<()> {
    DirectoryEntry::create_parents(path, SymlinkPolicy::Follow, FilePrivacy::Private)?.persist_bytes(
        bytes,
        FilePrivacy::Private,
        None,
        lasting,
    )
}

pub(crate) fn create_locked(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let place = DirectoryEntry::create_parents(path, SymlinkPolicy::Follow, FilePrivacy::Private)?;
    let draft = place.create_temp_file(bytes, FilePrivacy::Private, None)?;
    // No other program can hold a file that has no name yet, and some network disks have no locks.
    let _ = draft.file().try_lock();
    let file = draft.persist_noclobber(place.name)?;
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
    let (parent, name) = split_parent(path)?;
    Ok(unlinkat(open_directory(parent, SymlinkPolicy::Refuse)?, name, flags)?)
}

pub(crate) fn replace_with_symlink(path: &Path, target: &str) -> io::Result<()> {
    let place = DirectoryEntry::create_parents(path, SymlinkPolicy::Refuse, FilePrivacy::Shared)?;
    match unlinkat(&place.directory, place.name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(symlinkat(target, &place.directory, place.name)?),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn exists_nofollow(path: &Path) -> bool {
    let Ok((parent, name)) = split_parent(path) else { return path.exists() };
    open_directory(parent, SymlinkPolicy::Refuse)
        .is_ok_and(|directory| DirectoryEntry { directory, name }.file_type().is_ok())
}

/// Opens a regular file whose path has no symbolic links.
pub(crate) fn open_nofollow(path: &Path) -> Result<(File, Metadata), ReadError> {
    let Ok((parent, name)) = split_parent(path) else { return Err(ReadError::Directory) };
    let directory = open_directory(parent, SymlinkPolicy::Refuse).map_err(to_read_error)?;
    let place = DirectoryEntry { directory, name };
    match place.file_type()? {
        FileType::RegularFile => {}
        FileType::Directory => return Err(ReadError::Directory),
        FileType::Symlink => return Err(ReadError::Link),
        _ => return Err(ReadError::Special),
    }
    let file = place.open(OFlags::RDONLY)?;
    let found = file.metadata()?;
    check_regular_file(&found)?;
    Ok((file, found))
}

fn to_read_error(error: Errno) -> ReadError {
    match error {
        Errno::LOOP => ReadError::Link,
        error => io::Error::from(error).into(),
    }
}

fn split_parent(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((parent, name))
}

fn open_directory(path: &Path, links: SymlinkPolicy) -> Result<OwnedFd, Errno> {
    if links == SymlinkPolicy::Follow {
        return openat(CWD, path, DIRECTORY_FLAGS, Mode::empty());
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match openat2(CWD, path, DIRECTORY_FLAGS, Mode::empty(), resolve) {
            // Old kernels and some sandboxes do not have this call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened,
        }
    }
    walk_components(path, |directory, name| openat(directory, name, DIRECTORY_FLAGS | OFlags::NOFOLLOW, Mode::empty()))
}

/// Creates the missing directories of a path, each relative to the one before it.
fn make_directories(path: &Path, links: SymlinkPolicy, privacy: FilePrivacy) -> io::Result<OwnedFd> {
    let follow = if links == SymlinkPolicy::Refuse { OFlags::NOFOLLOW } else { OFlags::empty() };
    let is_shared = matches!(privacy, FilePrivacy::Shared | FilePrivacy::Mode(_));
    let mode = Mode::from_raw_mode(if is_shared { 0o777 } else { 0o700 });
    Ok(walk_components(path, |directory, name| {
        match openat(directory, name, DIRECTORY_FLAGS | follow, Mode::empty()) {
            Err(Errno::NOENT) => {
                match mkdirat(directory, name, mode) {
                    // Whatever the umask, the owner needs access.
                    Ok(()) if !is_shared => chmodat(directory, name, mode, AtFlags::empty())?,
                    // Another program may have created it meanwhile.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
                openat(directory, name, DIRECTORY_FLAGS | OFlags::NOFOLLOW, Mode::empty())
            }
            opened => opened,
        }
    })?)
}

/// Descends a path, directory by directory.
fn walk_components(
    path: &Path,
    step: impl Fn(BorrowedFd<'_>, &OsStr) -> Result<OwnedFd, Errno>,
) -> Result<OwnedFd, Errno> {
    let start = if path.is_absolute() { "/" } else { "." };
    let mut directory = openat(CWD, start, DIRECTORY_FLAGS, Mode::empty())?;
    for component in path.components() {
        directory = match component {
            Component::Normal(name) => step(directory.as_fd(), name)?,
            Component::ParentDir => step(directory.as_fd(), OsStr::new(".."))?,
            Component::RootDir | Component::CurDir | Component::Prefix(_) => continue,
        };
    }
    Ok(directory)
}

/// Keeps the owner of a file that root edits for another user. Other users may not change owners, and need not.
fn preserve_owner(file: &File, existing: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    if file.metadata().is_ok_and(|now| (now.uid(), now.gid()) != (existing.uid(), existing.gid())) {
        let _ = fchown(file, Some(existing.uid()), Some(existing.gid()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removal_and_linking_refuse_symlinked_directories() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/empty")).unwrap();
        std::fs::write(root.join("real/f"), "x").unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        assert!(remove_file(&root.join("link/f")).is_err());
        assert!(remove_directory(&root.join("link/empty")).is_err());
        assert!(replace_with_symlink(&root.join("link/new"), "f").is_err());
        assert!(replace_with_symlink(&root.join("real/empty"), "f").is_err(), "a directory stays");
        replace_with_symlink(&root.join("real/f"), "g").unwrap();
        replace_with_symlink(&root.join("new/f"), "g").unwrap();
        assert_eq!(std::fs::read_link(root.join("real/f")).unwrap(), Path::new("g"));
        // A link is removed, not its target.
        remove_file(&root.join("link")).unwrap();
        remove_file(&root.join("real/f")).unwrap();
        remove_directory(&root.join("real/empty")).unwrap();
        assert_eq!(std::fs::read_dir(root.join("real")).unwrap().count(), 0);
    }

    #[test]
    fn file_has_its_mode_from_creation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("d/key");
        for (mode, before) in [(0o600, None), (0o640, Some(0o644)), (0o600, Some(0o666))] {
            if let Some(before) = before {
                std::fs::set_permissions(&path, Permissions::from_mode(before)).unwrap();
            }
            let place = DirectoryEntry::create_parents(&path, SymlinkPolicy::Refuse, FilePrivacy::Mode(mode)).unwrap();
            let draft = place.create_temp_file(b"secret", FilePrivacy::Mode(mode), None).unwrap();
            assert_eq!(draft.file().metadata().unwrap().permissions().mode() & 0o777, mode);
            drop(draft);
            write_atomic(&path, b"secret", FilePrivacy::Mode(mode), SymlinkPolicy::Refuse).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[test]
    fn component_walk_refuses_symlinks_like_openat2() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(real.join("a/b")).unwrap();
        std::os::unix::fs::symlink(real.join("a"), real.join("link")).unwrap();
        let step = |directory: BorrowedFd<'_>, name: &OsStr| {
            openat(directory, name, DIRECTORY_FLAGS | OFlags::NOFOLLOW, Mode::empty())
        };
        assert!(walk_components(&real.join("a/b"), step).is_ok());
        assert!(walk_components(&real.join("link/b"), step).is_err());
        assert!(open_directory(&real.join("link/b"), SymlinkPolicy::Refuse).is_err());
        assert!(open_directory(&real.join("link/b"), SymlinkPolicy::Follow).is_ok());
    }
}
