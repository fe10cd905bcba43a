//! Safe reading and replacing of single files: reads refuse pipes and devices and are limited in size, and a replaced
//! file has its old content or its new one, never half of it.
//!
//! It depends on no other crate of the workspace and does not interpret the files' content.

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

/// A directory that exists for as long as it is held; a temporary one is removed with its last holder.
pub type HeldDirectory = Arc<dyn AsRef<Path> + Send + Sync>;

/// Creates an empty directory that its owner cannot write to by accident and other users cannot write to at all.
///
/// It is the one at `path`, or a new temporary one if something else is at that path.
///
/// # Errors
/// Returns an error if neither can be made.
pub fn create_empty_directory(path: &Path) -> io::Result<HeldDirectory> {
    match ensure_empty(path) {
        Ok(path) => Ok(Arc::new(path)),
        Err(_) => Ok(Arc::new(tempfile::Builder::new().prefix("hookwright").tempdir()?)),
    }
}

fn ensure_empty(path: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(path)?;
    // A symbolic link there may be an attack.
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

/// The reason why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The path is a directory.
    #[error("this is a directory, not a file")]
    Directory,
    /// The path is a pipe, a socket or a device.
    #[error("this is not a regular file")]
    Special,
    /// The path has a symbolic link in it, and links are refused.
    #[error("a symbolic link is in the way")]
    Link,
    /// The file is larger than the limit; this is its size.
    #[error("this file is too large: {0} bytes")]
    TooLarge(u64),
    /// The file is not valid UTF-8.
    #[error("this file is not valid UTF-8")]
    NotText,
    /// The system returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Opens a regular file. Anything else is refused before it can block: a pipe without a writer, a terminal, a device.
///
/// # Errors
/// Returns an error if the file is missing, is not a regular file, or may not be read.
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

/// Returns whether something exists at a path without symbolic links. A link among its directories counts as absence.
pub fn exists_nofollow(path: &Path) -> bool {
    system::exists_nofollow(path)
}

/// Reads all bytes of a regular file of at most `largest` bytes.
///
/// # Errors
/// Returns an error if the file cannot be opened or read, or is larger.
pub fn read(path: &Path, largest: u64, links: SymlinkPolicy) -> Result<Vec<u8>, ReadError> {
    let (file, found) = open_regular(path, links)?;
    if found.len() > largest {
        return Err(ReadError::TooLarge(found.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0) + 1);
    // The size may have grown, or be wrong (/proc), so the reader is limited too.
    file.take(largest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest { Err(ReadError::TooLarge(bytes.len() as u64)) } else { Ok(bytes) }
}

/// Reads all text of a regular file of at most `largest` bytes, following symbolic links.
///
/// # Errors
/// Returns the errors of [`read`], and [`ReadError::NotText`] if the file is not UTF-8.
pub fn read_text(path: &Path, largest: u64) -> Result<String, ReadError> {
    String::from_utf8(read(path, largest, SymlinkPolicy::Follow)?).map_err(|_| ReadError::NotText)
}

/// The permissions of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePrivacy {
    /// The umask decides for a new file; an existing one keeps its mode.
    Shared,
    /// The file is private to its owner, whatever the umask and its old mode. So are directories that are created for
    /// it.
    Private,
    /// A new file is private to its owner; an existing one keeps its mode, which the user may have chosen.
    PrivateIfNew,
    /// The file gets exactly these permission bits, whatever the umask and its old mode.
    ///
    /// Until then it is private to its owner. Directories that are created for it are shared.
    Mode(u32),
}

/// The mode of a file that exists already. A new one is private to its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingFileMode {
    /// The file keeps its mode: it is the user's, who may have let others read it.
    Keep,
    /// The file becomes private to its owner, because it is this program's own.
    MakePrivate,
}

/// Whether written content has to be on the disk before the call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The content survives a crash of the machine.
    Synced,
    /// The content survives only a crash of the program.
    Unsynced,
}

/// The treatment of symbolic links in the path of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymlinkPolicy {
    /// Links among the directories are followed.
    Follow,
    /// Links are refused: the path had none, so that a link in it was put there since.
    ///
    /// On Windows they are followed, because the path cannot be opened without following them.
    Refuse,
}

/// Replaces a file by one with this content, atomically.
///
/// A temporary file in the same directory gets the old one's mode and owner and takes its place. Readers see the old
/// content or the new one. Temporary files of a killed program are removed later, by [`sweep_temp_files`]. Missing
/// directories are created. A symbolic link in the place of the file itself is replaced, not followed.
///
/// # Errors
/// Returns an error if the old file is not regular or may not be written, or the new one cannot be stored. The old file
/// is unchanged then.
pub fn write_atomic(path: &Path, bytes: &[u8], privacy: FilePrivacy, links: SymlinkPolicy) -> io::Result<()> {
    system::write_atomic(path, bytes, privacy, links)
}

/// Does the same as [`write_atomic`], but does not create missing directories.
///
/// It is for a file that was there a moment ago: a directory that is missing by now was removed on purpose.
///
/// # Errors
/// Returns the errors of [`write_atomic`], and an error if the directory is missing.
pub fn rewrite_atomic(path: &Path, bytes: &[u8], privacy: FilePrivacy, links: SymlinkPolicy) -> io::Result<()> {
    system::rewrite_atomic(path, bytes, privacy, links)
}

/// Removes a file or symbolic link by a path whose directories are not symbolic links.
///
/// # Errors
/// Returns an error if there is nothing or a directory, if a directory on the way is a link, or if the system refuses.
pub fn remove_file(path: &Path) -> io::Result<()> {
    system::remove_file(path)
}

/// Removes an empty directory by a path whose directories are not symbolic links.
///
/// # Errors
/// Returns an error if there is none, if it is not empty, if a directory on the way is a link, or if the system
/// refuses.
pub fn remove_directory(path: &Path) -> io::Result<()> {
    system::remove_directory(path)
}

/// Creates a symbolic link in the place of a file, a link or nothing, by a path whose directories are not symbolic
/// links.
///
/// Missing directories are created.
///
/// # Errors
/// Returns an error if there is a directory, or if the link cannot be made.
pub fn replace_with_symlink(path: &Path, target: &str) -> io::Result<()> {
    system::replace_with_symlink(path, target)
}

/// Does the same as [`write_atomic`] for a private file of this program's own.
///
/// On Unix it replaces whatever is there but a directory, even if it may not be written.
///
/// # Errors
/// Returns an error if the file cannot be stored; what was there is unchanged then.
pub fn write_atomic_private(path: &Path, bytes: &[u8], lasting: Durability) -> io::Result<()> {
    system::write_atomic_private(path, bytes, lasting)
}

/// Creates a private file with this content, opened for reading and appending.
///
/// It is locked against other programs where the file system supports locks. Missing directories are created.
///
/// # Errors
/// Returns an error if there is a file of that name, or if it cannot be made.
pub fn create_locked(path: &Path, bytes: &[u8]) -> io::Result<File> {
    system::create_locked(path, bytes)
}

/// Opens a regular file for appending, and creates it if it is missing.
///
/// Everything else is refused; a pipe, for example, would block until it has a reader.
///
/// # Errors
/// Returns an error if it is not a regular file, or cannot be opened or created.
pub fn open_append(path: &Path, found: ExistingFileMode) -> io::Result<File> {
    let refused = |error: ReadError| io::Error::new(ErrorKind::InvalidInput, error.to_string());
    if let Ok(there) = fs::metadata(path) {
        check_regular_file(&there).map_err(refused)?;
    }
    let file = system::open_append(path, found)?;
    check_regular_file(&file.metadata()?).map_err(refused)?;
    Ok(file)
}

/// Appends all of these bytes to a file, or none of them.
///
/// A part that a full disk took is truncated again, unless another program has appended to the file since.
///
/// # Errors
/// Returns an error if not all of it can be written.
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

/// Truncates what was just written, if it is the end of the file.
fn truncate_partial_append(mut file: &File, written: u64) -> io::Result<()> {
    let end = file.stream_position()?;
    let found = file.metadata()?;
    if written > 0 && found.is_file() && found.len() == end { file.set_len(end - written) } else { Ok(()) }
}

/// Makes an open file private to its owner, if it is a regular file of this user.
///
/// # Errors
/// Returns an error if the system refuses.
pub fn make_private(file: &File) -> io::Result<()> {
    system::make_private(file)
}

/// Creates a directory for private files, with its parents; an existing one is unchanged.
///
/// # Errors
/// Returns an error if it cannot be made.
pub fn create_private_directory(path: &Path) -> io::Result<()> {
    system::create_private_directory(path)
}

/// Removes the temporary files that killed programs noted in this folder, and notes this program's own there from now
/// on.
///
/// If the folder cannot be written to, nothing is noted.
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

    /// An attacker who swaps a directory for a link between a check and a use gains nothing.
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
        // In the file's own place, a link is replaced, not followed.
        let link = real.join("inside/old/link");
        std::os::unix::fs::symlink(real.join("outside/f"), &link).unwrap();
        assert!(read(&link, 10, SymlinkPolicy::Refuse).is_err());
        write_atomic(&link, b"x", FilePrivacy::Shared, SymlinkPolicy::Refuse).unwrap();
        assert_eq!(read(&real.join("outside/f"), 9, SymlinkPolicy::Refuse).unwrap(), b"secret");
        assert_eq!(read(&link, 9, SymlinkPolicy::Refuse).unwrap(), b"x");
    }
}
