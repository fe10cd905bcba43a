//! The log's file: private, bounded, and shared by every session that runs. A line is one write at the file's end, so
//! lines of several processes never mix; a file that is full makes room for a new one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hookwright_disk::{Found, add, open_own, own_directory};

/// How large a file grows.
const FULL: u64 = 5 << 20;
/// How many files there are, the current one included.
const FILES: usize = 3;

/// A log that can be written to.
pub(crate) struct LogFile {
    path: PathBuf,
    full: u64,
    file: Mutex<File>,
}

impl LogFile {
    /// Opens the log, or makes it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::open_bounded(path, FULL)
    }

    fn open_bounded(path: &Path, full: u64) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            own_directory(folder)?;
        }
        Ok(LogFile { path: path.to_owned(), full, file: Mutex::new(open(path)?) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line. One that cannot be written is lost: a log ends nothing.
    pub(crate) fn write(&self, line: &str) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.metadata().is_ok_and(|meta| meta.len() >= self.full)
            && let Ok(next) = self.next()
        {
            *file = next;
        }
        let _ = add(&file, line.as_bytes());
    }

    /// A file with room. Whoever holds the lock moves the full one away; the others go on with it until then.
    fn next(&self) -> io::Result<File> {
        let lock = open(&self.numbered("lock"))?;
        lock.try_lock()?;
        // Another process may have done it already.
        if fs::metadata(&self.path).is_ok_and(|meta| meta.len() >= self.full) {
            for number in (1..FILES).rev() {
                let from = if number == 1 { self.path.clone() } else { self.numbered(number - 1) };
                // The first ones may not be there yet.
                let _ = fs::rename(from, self.numbered(number));
            }
        }
        open(&self.path)
    }

    fn numbered(&self, number: impl std::fmt::Display) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }
}

fn open(path: &Path) -> io::Result<File> {
    open_own(path, Found::Tightened)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_full_file_makes_room_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/x.log");
        let log = LogFile::open_bounded(&path, 20).unwrap();
        for number in 0..10 {
            log.write(&format!("line {number} ....\n"));
        }
        // Two lines fill a file.
        assert_eq!(text(&path), "line 8 ....\nline 9 ....\n");
        assert_eq!(text(&log.numbered(1)), "line 6 ....\nline 7 ....\n");
        assert_eq!(text(&log.numbered(2)), "line 4 ....\nline 5 ....\n");
        assert!(!log.numbered(3).exists());
    }

    #[test]
    fn who_finds_the_file_moved_goes_on_in_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let (one, other) = (LogFile::open_bounded(&path, 10).unwrap(), LogFile::open_bounded(&path, 10).unwrap());
        one.write("long enough\n");
        one.write("a\n");
        other.write("b\n");
        assert_eq!(text(&path), "a\nb\n");
        assert_eq!(text(&one.numbered(1)), "long enough\n");
    }

    #[test]
    fn nobody_waits_for_whoever_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let log = LogFile::open_bounded(&path, 5).unwrap();
        log.write("full now\n");
        let lock = open(&log.numbered("lock")).unwrap();
        lock.lock().unwrap();
        log.write("a\n");
        assert_eq!(text(&path), "full now\na\n");
        drop(lock);
        log.write("b\n");
        assert_eq!(text(&path), "b\n");
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/x.log");
        LogFile::open(&path).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }
}
