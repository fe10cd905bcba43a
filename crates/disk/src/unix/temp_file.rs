//! Temporary files: without a name where the system supports that (Linux), so that a killed program leaves nothing
//! behind, else under a temporary name, which is in the journal for as long as it exists.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::journal::{self, JournalEntry};

pub(super) struct TempFile<'d> {
    directory: BorrowedFd<'d>,
    file: File,
    name: Option<TempName<'d>>,
}

/// A temporary name and its journal entry, which is dropped after the file was removed.
struct TempName<'d> {
    directory: BorrowedFd<'d>,
    text: String,
    _journal_entry: Option<JournalEntry>,
}

impl Drop for TempName<'_> {
    fn drop(&mut self) {
        // After a rename there is no file of that name.
        let _ = unlinkat(self.directory, self.text.as_str(), AtFlags::empty());
    }
}

impl<'d> TempFile<'d> {
    pub(super) fn new(directory: BorrowedFd<'d>, mode: Mode) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Ok(file) = openat(directory, ".", OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode) {
            let file = File::from(file);
            // A name is given to it through /proc, which does not exist everywhere.
            if rustix::fs::access(proc_fd_path(&file).as_str(), rustix::fs::Access::EXISTS).is_ok() {
                return Ok(TempFile { directory, file, name: None });
            }
        }
        Self::with_temp_name(directory, mode)
    }

    /// Creates a file with a temporary name, where the system has no files without names.
    fn with_temp_name(directory: BorrowedFd<'d>, mode: Mode) -> io::Result<Self> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let (file, name) = with_unique_name(directory, |name| openat(directory, name, flags, mode))?;
        Ok(TempFile { directory, file: file.into(), name: Some(name) })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Renames the file to `place`, and replaces what has that name.
    pub(super) fn persist(self, place: &OsStr) -> io::Result<File> {
        let name = match self.name {
            Some(name) => name,
            None => match link_by_descriptor(&self.file, self.directory, place) {
                // `linkat` does not replace a file; a rename does, but needs a temporary name.
                Err(Errno::EXIST) => {
                    let link = |name: &str| link_by_descriptor(&self.file, self.directory, OsStr::new(name));
                    with_unique_name(self.directory, link)?.1
                }
                linked => return Ok(linked.map(|()| self.file)?),
            },
        };
        renameat(self.directory, name.text.as_str(), self.directory, place)?;
        Ok(self.file)
    }

    /// Gives the file the name `place` if no file has it.
    pub(super) fn persist_noclobber(self, place: &OsStr) -> io::Result<File> {
        let Some(name) = &self.name else {
            link_by_descriptor(&self.file, self.directory, place)?;
            return Ok(self.file);
        };
        match linkat(self.directory, name.text.as_str(), self.directory, place, AtFlags::empty()) {
            Ok(()) => Ok(self.file),
            Err(Errno::EXIST) => Err(ErrorKind::AlreadyExists.into()),
            // Some disks have no hard links; there the name is checked just before the rename.
            Err(_) if statat(self.directory, place, AtFlags::SYMLINK_NOFOLLOW).is_err() => self.persist(place),
            Err(_) => Err(ErrorKind::AlreadyExists.into()),
        }
    }
}

/// Gives a name to a file without one; fails if the name is in use.
fn link_by_descriptor(file: &File, directory: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    linkat(CWD, proc_fd_path(file).as_str(), directory, name, AtFlags::SYMLINK_FOLLOW)
}

fn proc_fd_path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Tries names until one is not in use.
fn with_unique_name<'d, T>(
    directory: BorrowedFd<'d>,
    try_name: impl Fn(&str) -> Result<T, Errno>,
) -> io::Result<(T, TempName<'d>)> {
    static NAME_COUNTER: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.subsec_nanos());
    loop {
        let count = NAME_COUNTER.fetch_add(1, Ordering::Relaxed);
        let text = format!(".hookwright-{}-{now:x}-{count}.tmp", std::process::id());
        let note = journal::record_temp_file(directory, &text);
        match try_name(&text) {
            Ok(made) => return Ok((made, TempName { directory, text, _journal_entry: note })),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns whether a name is one that the program with this process id gives to temporary files.
pub(super) fn is_temp_name_of(pid: u32, name: &OsStr) -> bool {
    let parts = || {
        let rest = name.to_str()?.strip_prefix(&format!(".hookwright-{pid}-"))?.strip_suffix(".tmp")?;
        let (now, count) = rest.split_once('-')?;
        Some((u32::from_str_radix(now, 16).ok()?, count.parse::<u64>().ok()?))
    };
    // Only the exact spelling counts: others were not made by this program.
    parts().is_some_and(|(now, count)| *name == *format!(".hookwright-{pid}-{now:x}-{count}.tmp"))
}

#[cfg(test)]
mod tests {
    use super::super::open_directory;
    use super::*;
    use crate::SymlinkPolicy;
    use std::io::Write;
    use std::os::fd::AsFd;

    /// A temporary file that was not finished leaves nothing in the user's project.
    #[test]
    fn temp_file_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let count = || std::fs::read_dir(folder.path()).unwrap().count();
        let directory = open_directory(folder.path(), SymlinkPolicy::Refuse).unwrap();
        let mode = Mode::from_raw_mode(0o600);
        let draft = TempFile::new(directory.as_fd(), mode).unwrap();
        assert_eq!(count(), usize::from(draft.name.is_some()));
        drop(draft);
        assert_eq!(count(), 0);
        std::fs::write(folder.path().join("f"), "old").unwrap();
        let read = |name: &str| crate::read(&folder.path().join(name), 9, crate::SymlinkPolicy::Refuse).unwrap();
        for name in ["f", "new"] {
            let draft = TempFile::new(directory.as_fd(), mode).unwrap();
            draft.file().write_all(b"x").unwrap();
            draft.persist(OsStr::new(name)).unwrap();
            assert_eq!(read(name), b"x");
        }
        assert_eq!(count(), 2);
        let named = || TempFile::with_temp_name(directory.as_fd(), mode).unwrap();
        named().persist(OsStr::new("new")).unwrap();
        assert_eq!((count(), read("new").len()), (2, 0));
        for draft in [named(), TempFile::new(directory.as_fd(), mode).unwrap()] {
            let error = draft.persist_noclobber(OsStr::new("new")).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        }
        named().persist_noclobber(OsStr::new("third")).unwrap();
        TempFile::new(directory.as_fd(), mode).unwrap().persist_noclobber(OsStr::new("fourth")).unwrap();
        assert_eq!(count(), 4);
    }

    #[test]
    fn temp_names_are_told_from_lookalikes() {
        assert!(is_temp_name_of(12, OsStr::new(".hookwright-12-a0-3.tmp")));
        for other in [
            ".hookwright-12-a0-3.tmp.swp",
            ".hookwright-13-a0-3.tmp",
            ".hookwright-12-A0-3.tmp",
            ".hookwright-12-a0-03.tmp",
            ".hookwright-12-+a0-3.tmp",
            ".hookwright-12-a0.tmp",
            ".hookwright-12-notes-3.tmp",
            "hookwright-12-a0-3.tmp",
        ] {
            assert!(!is_temp_name_of(12, OsStr::new(other)), "{other}");
        }
    }
}
