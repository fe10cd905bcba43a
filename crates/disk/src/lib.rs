//! Reading and replacing single files safely: never hangs on a pipe or a device, never reads past a bound, never leaves
//! half a file.
//!
//! It knows nothing of what the files mean, nor who may touch them, and stands below everybody who writes files.

#![warn(missing_docs)]

mod draft;

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory that is held on to; one made for the moment goes with its last holder.
pub type HeldDirectory = Arc<dyn AsRef<Path> + Send + Sync>;

/// An empty directory that nobody can write into by accident, and nobody else at all: this one, made if need be, or
/// where something stands in its way a new one for the moment.
///
/// # Errors
/// If neither can be made.
pub fn empty_directory(path: &Path) -> io::Result<HeldDirectory> {
    match made_empty(path) {
        Ok(path) => Ok(Arc::new(path)),
        Err(_) => Ok(Arc::new(tempfile::Builder::new().prefix("hookwright").tempdir()?)),
    }
}

fn made_empty(path: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(path)?;
    // A link there would be somebody's trick.
    let found = path.symlink_metadata()?;
    let is_empty = found.is_dir() && fs::read_dir(path)?.next().is_none();
    #[cfg(unix)]
    let is_empty = {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        fs::set_permissions(path, fs::Permissions::from_mode(0o500))?;
        is_empty && found.uid() == rustix::process::geteuid().as_raw()
    };
    if is_empty { Ok(path.to_owned()) } else { Err(ErrorKind::AlreadyExists.into()) }
}

use draft::Draft;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is a directory.
    #[error("this is a directory, not a file")]
    Directory,
    /// It is a pipe, a socket or a device.
    #[error("this is not a regular file")]
    Special,
    /// It is beyond the bound.
    #[error("this file is too large: {0} bytes")]
    TooLarge(u64),
    /// The system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Opens a regular file. Anything else is refused before it can block: a pipe with no writer, a terminal, a device.
///
/// # Errors
/// If it is not there, is no regular file, or may not be read.
pub fn open_regular(path: &Path) -> Result<(File, Metadata), ReadError> {
    must_be_file(&fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // If something else has taken the file's place since, opening it must not block either.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
    let found = file.metadata()?;
    must_be_file(&found)?;
    Ok((file, found))
}

fn must_be_file(found: &Metadata) -> Result<(), ReadError> {
    match found {
        found if found.is_dir() => Err(ReadError::Directory),
        found if !found.is_file() => Err(ReadError::Special),
        _ => Ok(()),
    }
}

/// All bytes of a regular file, if there are not more than that.
///
/// # Errors
/// If it cannot be opened or read, or is larger.
pub fn read(path: &Path, largest: u64) -> Result<Vec<u8>, ReadError> {
    let (file, found) = open_regular(path)?;
    if found.len() > largest {
        return Err(ReadError::TooLarge(found.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0) + 1);
    // The size may have grown, or be a lie (/proc), so the reader is bounded too.
    file.take(largest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest { Err(ReadError::TooLarge(bytes.len() as u64)) } else { Ok(bytes) }
}

/// Who may read a file that is created here. One that is there keeps its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Whoever the process's mask lets.
    Shared,
    /// Its owner alone.
    Private,
}

/// Writes all of `bytes` or nothing: a draft in the same directory takes the place of the old file, with the old one's mode
/// and owner, so that readers see the old content or the new, whatever happens, and nothing is left of a draft whose
/// writer was killed. Missing directories are made. A link is replaced, not followed.
///
/// # Errors
/// If the old file is no regular one or may not be written, or the new one cannot be stored; the old one is as it was.
pub fn replace(path: &Path, bytes: &[u8], privacy: Privacy) -> io::Result<()> {
    let directory = path.parent().ok_or(ErrorKind::IsADirectory)?;
    fs::create_dir_all(directory)?;
    let existing = match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file")),
        Ok(found) => {
            // Renaming over a file asks nobody whether it may be written; opening it does.
            OpenOptions::new().write(true).open(path)?;
            Some(found)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let draft = Draft::new(directory, privacy)?;
    draft.file().write_all(bytes)?;
    if let Some(existing) = existing {
        keep_owner(draft.file(), &existing);
        draft.file().set_permissions(existing.permissions())?;
    }
    draft.file().sync_all()?;
    draft.put(directory, path)?;
    // The rename itself must reach the disk too; where directories cannot be synced, it will in time.
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
    Ok(())
}

/// An administrator who edits a user's file leaves it the user's. Nobody else may give files away, nor needs to.
#[cfg(unix)]
fn keep_owner(file: &File, existing: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    if file.metadata().is_ok_and(|now| (now.uid(), now.gid()) != (existing.uid(), existing.gid())) {
        let _ = fchown(file, Some(existing.uid()), Some(existing.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_file: &File, _existing: &Metadata) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a draft is no file in anybody's project.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_draft_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let draft = Draft::new(folder.path(), Privacy::Shared).unwrap();
        if matches!(draft, Draft::Named(_)) {
            eprintln!("skipped: this file system knows no files without names");
            return;
        }
        draft.file().write_all(b"x").unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        fs::write(folder.path().join("f"), "old").unwrap();
        draft.put(folder.path(), &folder.path().join("f")).unwrap();
        assert_eq!(fs::read(folder.path().join("f")).unwrap(), b"x");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn new_files_get_their_directories_and_leave_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c.txt");
        replace(&path, b"x", Privacy::Shared).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"x");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_replaced_stays() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(replace(folder.path(), b"x", Privacy::Shared).unwrap_err().kind(), ErrorKind::IsADirectory);
        fs::write(folder.path().join("f"), "old").unwrap();
        assert!(replace(&folder.path().join("f/x"), b"x", Privacy::Shared).is_err());
        assert_eq!(fs::read(folder.path().join("f")).unwrap(), b"old");
    }

    #[cfg(unix)]
    #[test]
    fn modes_are_kept_and_new_files_follow_the_mask_or_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
        fs::write(folder.path().join("run.sh"), "old").unwrap();
        fs::set_permissions(folder.path().join("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
        replace(&folder.path().join("run.sh"), b"new", Privacy::Private).unwrap();
        assert_eq!(mode("run.sh"), 0o750);
        fs::write(folder.path().join("plain"), "").unwrap();
        replace(&folder.path().join("ours"), b"", Privacy::Shared).unwrap();
        assert_eq!(mode("ours"), mode("plain"));
        replace(&folder.path().join("secret"), b"", Privacy::Private).unwrap();
        assert_eq!(mode("secret"), 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn pipes_devices_and_giants_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(matches!(read(&pipe, 10), Err(ReadError::Special)));
        assert!(replace(&pipe, b"x", Privacy::Shared).is_err());
        assert!(matches!(read(Path::new("/dev/zero"), 10), Err(ReadError::Special)));
        assert!(matches!(read(folder.path(), 10), Err(ReadError::Directory)));
        let giant = folder.path().join("giant");
        File::create(&giant).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(read(&giant, 10), Err(ReadError::TooLarge(size)) if size == 1 << 40));
    }
}
