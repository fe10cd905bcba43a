//! Reading and writing single files safely: never hangs on a pipe or device, never reads past a bound, never leaves
//! half a file. Paths are real ones that the workspace has already judged.

use crate::encoding::{self, Decoded};
use crate::failure::{ToolErrorKind, ToolFailure};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// The largest file that is read.
pub(crate) const MAX_FILE_BYTES: u64 = 20 * 1024 * 1024;

/// Opens a regular file. Anything else is refused before it can block: a pipe with no writer, a terminal, a device.
pub(crate) fn open_regular(path: &Path) -> Result<(File, Metadata), ToolFailure> {
    let found = fs::metadata(path).map_err(|error| ToolFailure::reading(path, &error))?;
    must_be_file(path, &found)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // If something else has taken the file's place since, opening it must not block either.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    let file = options.open(path).map_err(|error| ToolFailure::reading(path, &error))?;
    let found = file.metadata().map_err(|error| ToolFailure::reading(path, &error))?;
    must_be_file(path, &found)?;
    Ok((file, found))
}

fn must_be_file(path: &Path, found: &Metadata) -> Result<(), ToolFailure> {
    if found.is_dir() {
        return Err(ToolFailure::new(
            ToolErrorKind::TargetIsDirectory,
            format!("Path is a directory, not a file: {}", path.display()),
        )
        .hint("Use list_directory to see what is in it."));
    }
    if !found.is_file() {
        return Err(ToolFailure::new(
            ToolErrorKind::ReadContentFailure,
            format!("Not a regular file (a pipe, a socket or a device): {}", path.display()),
        ));
    }
    Ok(())
}

/// All bytes of a regular file of at most [`MAX_FILE_BYTES`].
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, ToolFailure> {
    let (file, found) = open_regular(path)?;
    let too_large = |size: u64| {
        ToolFailure::new(
            ToolErrorKind::FileTooLarge,
            format!(
                "File size exceeds the {}MB limit: {} ({:.2}MB)",
                MAX_FILE_BYTES >> 20,
                path.display(),
                size as f64 / 1_048_576.0
            ),
        )
        .hint("Search it with search_file_content, or cut a piece out with a shell command such as sed -n or tail.")
    };
    if found.len() > MAX_FILE_BYTES {
        return Err(too_large(found.len()));
    }
    let mut bytes = Vec::with_capacity(found.len() as usize);
    // The size may have grown, or be a lie (/proc), so the reader is bounded too.
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| ToolFailure::reading(path, &error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// What is at `path` now, or `None` if nothing is.
pub(crate) fn read_text_if_any(path: &Path) -> Result<Option<Decoded>, ToolFailure> {
    match read(path) {
        Ok(bytes) => Ok(Some(encoding::decode(&bytes))),
        Err(failure) if failure.kind == ToolErrorKind::FileNotFound => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Writes all of `bytes` or nothing: a temporary file in the same directory takes the place of the old one, with the
/// old one's mode and owner. Missing directories are made.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), ToolFailure> {
    replace_file(path, bytes).map_err(|error| ToolFailure::writing(path, &error))
}

fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
    fs::create_dir_all(directory)?;
    let existing = match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(found) if !found.is_file() => {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(found) => {
            // Renaming over a file asks nobody whether it may be written; opening it does.
            OpenOptions::new().write(true).open(path)?;
            Some(found)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };

    let mut builder = tempfile::Builder::new();
    builder.prefix(".hookwright-").suffix(".tmp");
    #[cfg(unix)]
    let new_mode = {
        use std::os::unix::fs::PermissionsExt;
        fs::Permissions::from_mode(0o666)
    };
    #[cfg(unix)]
    builder.permissions(new_mode);
    let mut temporary = builder.tempfile_in(directory)?;
    temporary.write_all(bytes)?;
    if let Some(existing) = existing {
        keep_owner(temporary.as_file(), &existing);
        temporary.as_file().set_permissions(existing.permissions())?;
    }
    temporary.as_file().sync_data()?;
    temporary.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Only the superuser can give files away; for others this changes nothing and its failure means nothing.
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

    #[test]
    fn new_files_get_their_directories() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/c.txt");
        write_atomically(&path, b"x").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"x");
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
    fn a_file_in_the_place_of_a_directory_is_said() {
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
