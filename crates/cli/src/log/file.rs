//! The log's file: private, bounded, and shared by every session that runs. A line is one write at the file's end, so
//! lines of several processes never mix; a file that is full makes room for a new one.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
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
        numbered(&self.path, number)
    }
}

/// The files that a log has been written to, oldest first, whether they are there or not.
pub(crate) fn files(path: &Path) -> Vec<PathBuf> {
    (1..FILES).rev().map(|number| numbered(path, number)).chain([path.to_owned()]).collect()
}

fn numbered(path: &Path, number: impl std::fmt::Display) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(format!(".{number}"));
    name.into()
}

/// Reads what others add to a log, also when it makes room.
pub(crate) struct Follower {
    path: PathBuf,
    file: Option<File>,
    /// The beginning of a line whose end is not written yet.
    rest: Vec<u8>,
}

impl Follower {
    /// From what is there now on. A log that is not there is waited for.
    pub(crate) fn at_the_end(path: &Path) -> Follower {
        let file = File::open(path).ok().and_then(|mut file| file.seek(io::SeekFrom::End(0)).ok().map(|_| file));
        Follower { path: path.to_owned(), file, rest: Vec::new() }
    }

    /// The lines that have come since.
    pub(crate) fn lines(&mut self) -> io::Result<Vec<String>> {
        // Looked for first: what is written into the old one until then is read from it.
        let current = File::open(&self.path).ok();
        if let Some(file) = &mut self.file {
            file.read_to_end(&mut self.rest)?;
        }
        if let Some(mut current) = current
            && !self.file.as_ref().is_some_and(|file| is_same(file, &current))
        {
            current.read_to_end(&mut self.rest)?;
            self.file = Some(current);
        }
        let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let whole: Vec<u8> = self.rest.drain(..end).collect();
        Ok(String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect())
    }
}

#[cfg(unix)]
fn is_same(one: &File, other: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |file: &File| file.metadata().map(|meta| (meta.dev(), meta.ino())).ok();
    id(one).is_some() && id(one) == id(other)
}

#[cfg(not(unix))]
fn is_same(one: &File, other: &File) -> bool {
    // A log that is full moves away, and a new one is shorter.
    let length = |file: &File| file.metadata().map(|meta| meta.len()).unwrap_or_default();
    length(other) >= length(one)
}

fn open(path: &Path) -> io::Result<File> {
    open_own(path, Found::Tightened)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path) -> String {
        hookwright_testkit::fs::read_to_string(path).unwrap()
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
    fn who_follows_misses_nothing_when_a_file_makes_room() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let mut follower = Follower::at_the_end(&path);
        assert!(follower.lines().unwrap().is_empty(), "it is not there yet");
        let log = LogFile::open_bounded(&path, 10).unwrap();
        log.write("first\n");
        assert_eq!(follower.lines().unwrap(), ["first"]);
        log.write("half a ");
        assert!(follower.lines().unwrap().is_empty());
        log.write("line\n");
        log.write("next\n");
        assert_eq!(follower.lines().unwrap().concat(), "half a linenext");
        let mut late = Follower::at_the_end(&path);
        log.write("last\n");
        assert_eq!(late.lines().unwrap(), ["last"]);
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
