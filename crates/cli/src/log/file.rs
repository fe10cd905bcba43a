//! The log files: readable by their owner only, rotated by size, and shared by all running sessions.
//!
//! A line is appended with one write, so that lines of several processes do not mix.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hookwright_disk::{ExistingFileMode, append_all, create_private_directory, open_append};

/// The size at which a log file is rotated.
const MAX_LOG_FILE_BYTES: u64 = 5 << 20;
/// The number of log files, the current one included.
const MAX_LOG_FILES: usize = 3;

/// A log file that is open for appending.
pub(crate) struct LogFile {
    path: PathBuf,
    max_bytes: u64,
    file: Mutex<File>,
}

impl LogFile {
    /// Opens the log file, or creates it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::open_bounded(path, MAX_LOG_FILE_BYTES)
    }

    fn open_bounded(path: &Path, full: u64) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            create_private_directory(folder)?;
        }
        Ok(LogFile { path: path.to_owned(), max_bytes: full, file: Mutex::new(open_for_append(path)?) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a line.
    ///
    /// A line that cannot be written is lost: logging never fails the program.
    pub(crate) fn write(&self, line: &str) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.metadata().is_ok_and(|meta| meta.len() >= self.max_bytes)
            && let Ok(next) = self.rotate()
        {
            *file = next;
        }
        let _ = append_all(&file, line.as_bytes());
    }

    /// Returns the new log file after rotating the full one.
    ///
    /// The process that gets the lock rotates; the others go on writing to the full file until then.
    fn rotate(&self) -> io::Result<File> {
        let lock = open_for_append(&self.numbered_path("lock"))?;
        lock.try_lock()?;
        // Another process may have rotated it already.
        if fs::metadata(&self.path).is_ok_and(|meta| meta.len() >= self.max_bytes) {
            for number in (1..MAX_LOG_FILES).rev() {
                let from = if number == 1 { self.path.clone() } else { self.numbered_path(number - 1) };
                // The older files may not exist yet.
                let _ = fs::rename(from, self.numbered_path(number));
            }
        }
        open_for_append(&self.path)
    }

    fn numbered_path(&self, number: impl std::fmt::Display) -> PathBuf {
        numbered_path(&self.path, number)
    }
}

fn numbered_path(path: &Path, number: impl std::fmt::Display) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(format!(".{number}"));
    name.into()
}

fn open_for_append(path: &Path) -> io::Result<File> {
    open_append(path, ExistingFileMode::MakePrivate)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path) -> String {
        hookwright_testkit::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_full_file_is_rotated_and_the_oldest_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/x.log");
        let log = LogFile::open_bounded(&path, 20).unwrap();
        for number in 0..10 {
            log.write(&format!("line {number} ....\n"));
        }
        // Two lines fill a file.
        assert_eq!(text(&path), "line 8 ....\nline 9 ....\n");
        assert_eq!(text(&log.numbered_path(1)), "line 6 ....\nline 7 ....\n");
        assert_eq!(text(&log.numbered_path(2)), "line 4 ....\nline 5 ....\n");
        assert!(!log.numbered_path(3).exists());
    }

    #[test]
    fn a_writer_that_finds_the_file_moved_continues_in_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let (one, other) = (LogFile::open_bounded(&path, 10).unwrap(), LogFile::open_bounded(&path, 10).unwrap());
        one.write("long enough\n");
        one.write("a\n");
        other.write("b\n");
        assert_eq!(text(&path), "a\nb\n");
        assert_eq!(text(&one.numbered_path(1)), "long enough\n");
    }

    #[test]
    fn a_writer_does_not_wait_for_the_rotation_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let log = LogFile::open_bounded(&path, 5).unwrap();
        log.write("full now\n");
        let lock = open_for_append(&log.numbered_path("lock")).unwrap();
        lock.lock().unwrap();
        log.write("a\n");
        assert_eq!(text(&path), "full now\na\n");
        drop(lock);
        log.write("b\n");
        assert_eq!(text(&path), "b\n");
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/x.log");
        LogFile::open(&path).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }
}
