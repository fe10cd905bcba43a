//! Reads and writes single files for tools: adds the size limit, and converts errors to messages for the model.
//! `hookwright-disk` does the safe I/O. Paths are real ones that the workspace has already checked.

use crate::encoding::{self, DecodedText, Fidelity, LineEnding};
use crate::failure::{ToolErrorKind, ToolFailure};
use crate::open_files::OpenFiles;
use crate::workspace::Workspace;
use hookwright_disk::{FilePrivacy, ReadError, SymlinkPolicy};
use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

/// The size limit of files that are read.
pub(crate) const MAX_FILE_BYTES: u64 = 20 * 1024 * 1024;

/// Opens a regular file; see [`hookwright_disk::open_regular`].
pub(crate) fn open_regular(path: &Path) -> Result<(File, Metadata), ToolFailure> {
    hookwright_disk::open_regular(path, SymlinkPolicy::Refuse).map_err(|error| read_failure(path, &error))
}

/// Reads a regular file of at most [`MAX_FILE_BYTES`].
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, ToolFailure> {
    hookwright_disk::read(path, MAX_FILE_BYTES, SymlinkPolicy::Refuse).map_err(|error| read_failure(path, &error))
}

/// Returns the real path of a file that was found below one of the checked directories.
///
/// A symbolic link may only lead to another file below them, because no other path was checked.
pub(crate) fn resolve_found<'p>(
    path: &'p Path,
    judged: &[PathBuf],
    workspace: &Workspace,
) -> Result<Cow<'p, Path>, ToolFailure> {
    if !path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        return Ok(Cow::Borrowed(path));
    }
    let real = workspace.resolve_os_path(path)?;
    if judged.iter().any(|directory| real.starts_with(directory)) {
        return Ok(Cow::Owned(real));
    }
    Err(ToolFailure::new(
        ToolErrorKind::ReadContentFailure,
        format!("{} is a link to {}, which is outside of what was asked for", path.display(), real.display()),
    )
    .hint("Read it by that path."))
}

/// Returns the failure for a file that could not be read.
fn read_failure(path: &Path, error: &ReadError) -> ToolFailure {
    let shown = path.display();
    match error {
        ReadError::Io(error) => ToolFailure::from_read_error(path, error),
        ReadError::Directory => {
            ToolFailure::new(ToolErrorKind::TargetIsDirectory, format!("Path is a directory, not a file: {shown}"))
                .hint("Use list_directory to see what is in it.")
        }
        ReadError::NotText => {
            ToolFailure::new(ToolErrorKind::ReadContentFailure, format!("This file is not valid UTF-8: {shown}"))
        }
        ReadError::Link => ToolFailure::new(
            ToolErrorKind::ReadContentFailure,
            format!("A symbolic link has taken a place on the way to this file while it was opened: {shown}"),
        ),
        ReadError::Special => ToolFailure::new(
            ToolErrorKind::ReadContentFailure,
            format!("Not a regular file (a pipe, a socket or a device): {shown}"),
        ),
        ReadError::TooLarge(size) => ToolFailure::new(
            ToolErrorKind::FileTooLarge,
            format!(
                "File size exceeds the {}MB limit: {shown} ({:.2}MB)",
                MAX_FILE_BYTES >> 20,
                *size as f64 / 1_048_576.0
            ),
        )
        .hint("Search it with search_file_content, or cut a piece out with a shell command such as sed -n or tail."),
    }
}

/// Reads and decodes the file at `path`, with the text that the user's editor has of it; `None` if there is none.
pub(crate) fn read_text_if_exists(
    path: &Path,
    editor: Option<&dyn OpenFiles>,
) -> Result<Option<DecodedText>, ToolFailure> {
    match read(path) {
        Ok(bytes) => Ok(Some(with_open_text(encoding::decode(&bytes), path, editor))),
        Err(failure) if failure.kind == ToolErrorKind::FileNotFound => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Replaces a file's text by the one that the user's editor has of it, with the file's line endings.
pub(crate) fn with_open_text(on_disk: DecodedText, path: &Path, editor: Option<&dyn OpenFiles>) -> DecodedText {
    let open = editor.filter(|_| on_disk.fidelity == Fidelity::Exact).and_then(|editor| editor.read(path));
    match open {
        Some(text) => DecodedText { text: LineEnding::detect(&on_disk.text).apply(&text), ..on_disk },
        None => on_disk,
    }
}

/// Writes all of `bytes` or nothing; see [`hookwright_disk::write_atomic`].
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), ToolFailure> {
    hookwright_disk::write_atomic(path, bytes, FilePrivacy::Shared, SymlinkPolicy::Refuse)
        .map_err(|error| ToolFailure::from_write_error(path, &error))
}

/// Writes a file that existed when the change was planned; see [`hookwright_disk::rewrite_atomic`].
pub(crate) fn rewrite(path: &Path, bytes: &[u8]) -> Result<(), ToolFailure> {
    hookwright_disk::rewrite_atomic(path, bytes, FilePrivacy::Shared, SymlinkPolicy::Refuse)
        .map_err(|error| ToolFailure::from_write_error(path, &error))
}

/// Writes a file atomically; a new one is readable only by its owner.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), ToolFailure> {
    hookwright_disk::write_atomic(path, bytes, FilePrivacy::PrivateIfNew, SymlinkPolicy::Refuse)
        .map_err(|error| ToolFailure::from_write_error(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn rewriting_a_removed_file_does_not_create_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("project/a.txt");
        write_atomically(&path, b"old").unwrap();
        rewrite(&path, b"new").unwrap();
        std::fs::rename(dir.path().join("project"), dir.path().join("moved")).unwrap();
        assert!(rewrite(&path, b"newer").is_err());
        assert!(!dir.path().join("project").exists());
        assert_eq!(hookwright_testkit::fs::read(dir.path().join("moved/a.txt")).unwrap(), b"new");
    }

    #[test]
    fn new_files_get_their_directories() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/c.txt");
        write_atomically(&path, b"x").unwrap();
        assert_eq!(hookwright_testkit::fs::read(&path).unwrap(), b"x");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_directory_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let failure = write_atomically(dir.path(), b"x").unwrap_err();
        assert_eq!(failure.kind, ToolErrorKind::TargetIsDirectory);
        assert_eq!(read(dir.path()).unwrap_err().kind, ToolErrorKind::TargetIsDirectory);
    }

    #[test]
    fn a_file_in_the_place_of_a_directory_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), "").unwrap();
        assert!(write_atomically(&dir.path().join("f/x"), b"x").is_err());
        assert!(read(&dir.path().join("f/x")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn mode_is_kept_and_new_files_follow_the_umask() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.sh");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        write_atomically(&path, b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);

        let (plain, ours) = (dir.path().join("plain"), dir.path().join("ours"));
        fs::write(&plain, "").unwrap();
        write_atomically(&ours, b"").unwrap();
        assert_eq!(
            fs::metadata(&plain).unwrap().permissions().mode(),
            fs::metadata(&ours).unwrap().permissions().mode()
        );
    }

    #[test]
    fn a_sparse_giant_is_refused_without_reading_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("giant");
        File::create(&path).unwrap().set_len(MAX_FILE_BYTES * 1000).unwrap();
        assert_eq!(read(&path).unwrap_err().kind, ToolErrorKind::FileTooLarge);
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_do_not_hang() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert_eq!(read(&fifo).unwrap_err().kind, ToolErrorKind::ReadContentFailure);
        assert!(write_atomically(&fifo, b"x").is_err());
        assert_eq!(read(Path::new("/dev/zero")).unwrap_err().kind, ToolErrorKind::ReadContentFailure);
    }
}
