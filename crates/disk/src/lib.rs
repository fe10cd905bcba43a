//! Reading and replacing single files safely: never hangs on a pipe or a device, never reads past a bound, never leaves
//! half a file.
//!
//! It knows nothing of what the files mean, nor who may touch them, and stands below everybody who writes files.

#![warn(missing_docs)]

#[cfg(not(unix))]
#[path = "portable.rs"]
mod system;
#[cfg(unix)]
#[path = "unix/mod.rs"]
mod system;

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory that is held on to; one made for the moment goes with its last holder.
pub type HeldDirectory = Arc<dyn AsRef<Path> + Send + Sync>;

/// An empty directory that nobody can write into by accident, and nobody else at all: this one, made if need be, or
/// where something stands in its way a new one for the moment.
///
/// # Errors
/// If neither can be made.
pub fn create_empty_directory(path: &Path) -> io::Result<HeldDirectory> {
    match ensure_empty(path) {
        Ok(path) => Ok(Arc::new(path)),
        Err(_) => Ok(Arc::new(tempfile::Builder::new().prefix("hookwright").tempdir()?)),
    }
}

fn ensure_empty(path: &Path) -> io::Result<PathBuf> {
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

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is a directory.
    #[error("this is a directory, not a file")]
    Directory,
    /// It is a pipe, a socket or a device.
    #[error("this is not a regular file")]
    Special,
    /// There is a link on the way, and none was expected.
    #[error("a symbolic link is in the way")]
    Link,
    /// It is beyond the bound.
    #[error("this file is too large: {0} bytes")]
    TooLarge(u64),
    /// It is no text.
    #[error("this file is not valid UTF-8")]
    NotText,
    /// The system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Opens a regular file. Anything else is refused before it can block: a pipe with no writer, a terminal, a device.
///
/// # Errors
/// If it is not there, is no regular file, or may not be read.
pub fn open_regular(path: &Path, links: SymlinkPolicy) -> Result<(File, Metadata), ReadError> {
    #[cfg(unix)]
    if links == SymlinkPolicy::Refuse {
        return system::open_nofollow(path);
    }
    #[cfg(not(unix))]
    let _ = links;
    check_regular_file(&fs::metadata(path)?)?;
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
    check_regular_file(&found)?;
    Ok((file, found))
}

fn check_regular_file(found: &Metadata) -> Result<(), ReadError> {
    match found {
        found if found.is_dir() => Err(ReadError::Directory),
        found if !found.is_file() => Err(ReadError::Special),
        _ => Ok(()),
    }
}

/// Whether something stands at a real path. Where a link has taken a place among its directories since, nothing does.
pub fn exists_nofollow(path: &Path) -> bool {
    system::exists_nofollow(path)
}

/// All bytes of a regular file, if there are not more than that.
///
/// # Errors
/// If it cannot be opened or read, or is larger.
pub fn read(path: &Path, largest: u64, links: SymlinkPolicy) -> Result<Vec<u8>, ReadError> {
    let (file, found) = open_regular(path, links)?;
    if found.len() > largest {
        return Err(ReadError::TooLarge(found.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0) + 1);
    // The size may have grown, or be a lie (/proc), so the reader is bounded too.
    file.take(largest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest { Err(ReadError::TooLarge(bytes.len() as u64)) } else { Ok(bytes) }
}

/// All text of a regular file, links followed, if there is not more than that.
///
/// # Errors
/// As for [`read`], and if it is not UTF-8.
pub fn read_text(path: &Path, largest: u64) -> Result<String, ReadError> {
    String::from_utf8(read(path, largest, SymlinkPolicy::Follow)?).map_err(|_| ReadError::NotText)
}

/// Who may read a file that is written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePrivacy {
    /// Whoever the process's mask lets; one that is there keeps its mode.
    Shared,
    /// Its owner alone, whatever the mask says, and whatever mode it had. So it is for directories that are made for it.
    Private,
    /// The same if it is new; one that is there keeps its mode, which the user may have chosen.
    PrivateIfNew,
    /// Exactly these permission bits, whatever the mask says and whatever was there; its directories are shared. Before it
    /// has them it is its owner's alone.
    Mode(u32),
}

/// What becomes of the mode of a file that is there already. A new one is its owner's alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingFileMode {
    /// It is the user's, who may have let others in.
    Keep,
    /// The file is this program's, and so is its owner's alone from now on.
    MakePrivate,
}

/// Whether what is written must be on the disk before anything goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Also if the machine stops.
    Synced,
    /// Only if the program does.
    Unsynced,
}

/// What becomes of symbolic links on the way to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymlinkPolicy {
    /// Links among the directories are followed.
    Follow,
    /// The path is a real one, and a link in it was put there since: it is refused. Where the system cannot tell (Windows),
    /// it is followed.
    Refuse,
}

/// Writes all of `bytes` or nothing: a draft in the same directory takes the place of the old file, with the old one's mode
/// and owner, so that readers see the old content or the new, whatever happens, and nothing is left of a draft whose
/// writer was killed. Missing directories are made. A link in the file's own place is replaced, not followed.
///
/// # Errors
/// If the old file is no regular one or may not be written, or the new one cannot be stored; the old one is as it was.
pub fn write_atomic(path: &Path, bytes: &[u8], privacy: FilePrivacy, links: SymlinkPolicy) -> io::Result<()> {
    system::write_atomic(path, bytes, privacy, links)
}

/// Like [`replace`] for a file that was there a moment ago: a directory that is missing by now was taken away, and is not
/// made anew.
///
/// # Errors
/// As [`replace`], and if the directory is not there.
pub fn rewrite_atomic(path: &Path, bytes: &[u8], privacy: FilePrivacy, links: SymlinkPolicy) -> io::Result<()> {
    system::rewrite_atomic(path, bytes, privacy, links)
}

/// Removes a file or a link by a path without links: one that has taken a place among its directories is refused.
///
/// # Errors
/// If there is nothing, or a directory, or the system refuses.
pub fn remove_file(path: &Path) -> io::Result<()> {
    system::remove_file(path)
}

/// Removes an empty directory, likewise.
///
/// # Errors
/// If there is none, or something is in it, or the system refuses.
pub fn remove_directory(path: &Path) -> io::Result<()> {
    system::remove_directory(path)
}

/// Makes a symbolic link in the place of a file, a link or nothing, likewise. Missing directories are made.
///
/// # Errors
/// If a directory stands there, or it cannot be made.
pub fn replace_with_symlink(path: &Path, target: &str) -> io::Result<()> {
    system::replace_with_symlink(path, target)
}

/// Like [`replace`] for a private file of this program's own: asks nobody whether the old one may be written, and takes the
/// place of whatever is there but a directory.
///
/// # Errors
/// If it cannot be stored; what was there is as it was.
pub fn write_atomic_private(path: &Path, bytes: &[u8], lasting: Durability) -> io::Result<()> {
    system::write_atomic_private(path, bytes, lasting)
}

/// Makes a private file that appears with these bytes in it, open to be read and added to, and locked against other
/// programs where the disk knows locks. Missing directories are made.
///
/// # Errors
/// If there is one by that name, or it cannot be made.
pub fn create_locked(path: &Path, bytes: &[u8]) -> io::Result<File> {
    system::create_locked(path, bytes)
}

/// Opens a regular file to add to it, made if need be. A pipe would wait for its reader for ever, and is refused like
/// everything else that is no file.
///
/// # Errors
/// If it is no regular file, or cannot be opened or made.
pub fn open_append(path: &Path, found: ExistingFileMode) -> io::Result<File> {
    let refused = |error: ReadError| io::Error::new(ErrorKind::InvalidInput, error.to_string());
    if let Ok(there) = fs::metadata(path) {
        check_regular_file(&there).map_err(refused)?;
    }
    let file = system::open_append(path, found)?;
    check_regular_file(&file.metadata()?).map_err(refused)?;
    Ok(file)
}

/// Adds all of these bytes to the end of a file that was opened for that, or none of them: what a full disk took of them is
/// taken back, unless somebody else has added more since.
///
/// # Errors
/// If not all of it can be written.
pub fn append_all(file: &File, bytes: &[u8]) -> io::Result<()> {
    let mut file = file;
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(more) => written += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                let _ = truncate_partial_append(file, written as u64);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Cuts off what was just written, if it is the end of the file.
fn truncate_partial_append(mut file: &File, written: u64) -> io::Result<()> {
    let end = file.stream_position()?;
    let found = file.metadata()?;
    if written > 0 && found.is_file() && found.len() == end { file.set_len(end - written) } else { Ok(()) }
}

/// Makes an open file of this user's private.
///
/// # Errors
/// If the system refuses.
pub fn make_private(file: &File) -> io::Result<()> {
    system::make_private(file)
}

/// Makes a directory for private files, with those on the way to it; one that is there stays as it is.
///
/// # Errors
/// If it cannot be made.
pub fn create_private_directory(path: &Path) -> io::Result<()> {
    system::create_private_directory(path)
}

/// Removes what programs that were killed have left of their drafts, as they noted it in this folder, and notes this
/// program's own there from now on. Where that can't be written, nothing is noted.
pub fn sweep_temp_files(folder: &Path) {
    system::sweep_journals(folder);
    system::enable_journal(folder.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMLINK_POLICIES: [SymlinkPolicy; 2] = [SymlinkPolicy::Follow, SymlinkPolicy::Refuse];

    #[test]
    fn new_files_get_parent_directories_and_leave_no_temp_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c.txt");
        write_atomic(&path, b"x", FilePrivacy::Shared, SymlinkPolicy::Refuse).unwrap();
        assert_eq!(read(&path, 9, SymlinkPolicy::Refuse).unwrap(), b"x");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            write_atomic(folder.path(), b"x", FilePrivacy::Shared, SymlinkPolicy::Refuse).unwrap_err().kind(),
            ErrorKind::IsADirectory
        );
        fs::write(folder.path().join("f"), "old").unwrap();
        assert!(write_atomic(&folder.path().join("f/x"), b"x", FilePrivacy::Shared, SymlinkPolicy::Refuse).is_err());
        assert_eq!(read(&folder.path().join("f"), 9, SymlinkPolicy::Refuse).unwrap(), b"old");
    }

    #[cfg(unix)]
    #[test]
    fn existing_modes_are_kept_and_new_files_follow_umask_or_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
        fs::write(folder.path().join("run.sh"), "old").unwrap();
        fs::set_permissions(folder.path().join("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
        write_atomic(&folder.path().join("run.sh"), b"new", FilePrivacy::Shared, SymlinkPolicy::Refuse).unwrap();
        assert_eq!(mode("run.sh"), 0o750);
        write_atomic(&folder.path().join("run.sh"), b"new", FilePrivacy::Private, SymlinkPolicy::Refuse).unwrap();
        assert_eq!(mode("run.sh"), 0o600);
        fs::write(folder.path().join("plain"), "").unwrap();
        write_atomic(&folder.path().join("ours"), b"", FilePrivacy::Shared, SymlinkPolicy::Refuse).unwrap();
        assert_eq!(mode("ours"), mode("plain"));
        write_atomic(&folder.path().join("secret"), b"", FilePrivacy::Private, SymlinkPolicy::Refuse).unwrap();
        assert_eq!(mode("secret"), 0o600);
        for (found, kept) in [(ExistingFileMode::Keep, 0o644), (ExistingFileMode::MakePrivate, 0o600)] {
            fs::set_permissions(folder.path().join("secret"), fs::Permissions::from_mode(0o644)).unwrap();
            open_append(&folder.path().join("secret"), found).unwrap();
            assert_eq!(mode("secret"), kept);
        }
        let held = create_locked(&folder.path().join("deep/er/held"), b"x").unwrap();
        assert_eq!((mode("deep"), mode("deep/er"), mode("deep/er/held")), (0o700, 0o700, 0o600));
        (&held).rewind().unwrap();
        (&held).write_all(b"y").unwrap();
        assert_eq!(read(&folder.path().join("deep/er/held"), 9, SymlinkPolicy::Refuse).unwrap(), b"xy");
        assert!(File::open(folder.path().join("deep/er/held")).unwrap().try_lock().is_err());
        create_private_directory(&folder.path().join("own/er")).unwrap();
        assert_eq!((mode("own"), mode("own/er")), (0o700, 0o700));
    }

    #[cfg(unix)]
    #[test]
    fn pipes_devices_and_oversized_files_are_refused_without_blocking() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(matches!(read(&pipe, 10, SymlinkPolicy::Refuse), Err(ReadError::Special)));
        assert!(write_atomic(&pipe, b"x", FilePrivacy::Shared, SymlinkPolicy::Refuse).is_err());
        assert!(matches!(read(Path::new("/dev/zero"), 10, SymlinkPolicy::Follow), Err(ReadError::Special)));
        for no_file in [&pipe, Path::new("/dev/null"), folder.path()] {
            assert!(open_append(no_file, ExistingFileMode::Keep).is_err(), "{}", no_file.display());
        }
        assert!(matches!(read(folder.path(), 10, SymlinkPolicy::Refuse), Err(ReadError::Directory)));
        let giant = folder.path().join("giant");
        File::create(&giant).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(read(&giant, 10, SymlinkPolicy::Refuse), Err(ReadError::TooLarge(size)) if size == 1 << 40));
    }

    /// Whoever swaps a directory for a link between a look and an act gains nothing.
    #[cfg(unix)]
    #[test]
    fn symlink_in_the_path_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        for name in ["inside/sub", "outside"] {
            fs::create_dir_all(real.join(name)).unwrap();
        }
        fs::write(real.join("outside/f"), "secret").unwrap();
        fs::write(real.join("inside/sub/f"), "own").unwrap();
        let path = real.join("inside/sub/f");
        SYMLINK_POLICIES.iter().for_each(|links| assert_eq!(read(&path, 10, *links).unwrap(), b"own"));
        fs::rename(real.join("inside/sub"), real.join("inside/old")).unwrap();
        std::os::unix::fs::symlink(real.join("outside"), real.join("inside/sub")).unwrap();
        assert!(read(&path, 10, SymlinkPolicy::Refuse).is_err());
        assert!(write_atomic(&path, b"x", FilePrivacy::Shared, SymlinkPolicy::Refuse).is_err());
        assert!(
            write_atomic(&real.join("inside/sub/new/f"), b"x", FilePrivacy::Shared, SymlinkPolicy::Refuse).is_err()
        );
        assert_eq!(read(&path, 10, SymlinkPolicy::Follow).unwrap(), b"secret");
        // In the file's own place, a link is replaced where it stands.
        let link = real.join("inside/old/link");
        std::os::unix::fs::symlink(real.join("outside/f"), &link).unwrap();
        assert!(read(&link, 10, SymlinkPolicy::Refuse).is_err());
        write_atomic(&link, b"x", FilePrivacy::Shared, SymlinkPolicy::Refuse).unwrap();
        assert_eq!(read(&real.join("outside/f"), 9, SymlinkPolicy::Refuse).unwrap(), b"secret");
        assert_eq!(read(&link, 9, SymlinkPolicy::Refuse).unwrap(), b"x");
    }
}
