//! A journal of the temporary files that have a name at this moment, so that those of a killed program can be removed.
//!
//! Each program has a journal file of its own, which exists only while there are such files, and is locked for as long
//! as the program lives. No directory is searched: only files are removed whose paths a dead program noted.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::{AtFlags, FileType, OFlags, statat, unlinkat};

use super::temp_file::is_temp_name_of;
use super::{open_directory, split_parent};
use crate::SymlinkPolicy;

/// The most that is read of a journal: more temporary files than a program has at once.
const MAX_JOURNAL_BYTES: u64 = 1024 * 1024;

static JOURNAL: OnceLock<Mutex<TempFileJournal>> = OnceLock::new();

/// The journal of this program.
struct TempFileJournal {
    folder: PathBuf,
    /// The journal file, which exists while there are temporary files with names.
    open_file: Option<(PathBuf, File)>,
    entry_count: usize,
}

/// Notes temporary files in this folder from now on.
pub(crate) fn enable_journal(folder: PathBuf) {
    let _ = JOURNAL.set(Mutex::new(TempFileJournal { folder, open_file: None, entry_count: 0 }));
}

/// The entry of a temporary file, which is removed when this is dropped.
pub(super) struct JournalEntry(());

/// Notes a temporary file before it exists. If that fails, the file is made without an entry.
pub(super) fn record_temp_file(directory: BorrowedFd<'_>, name: &str) -> Option<JournalEntry> {
    let mut journal = lock_journal()?;
    let mut line = directory_path(directory)?.join(name).into_os_string().into_encoded_bytes();
    line.push(0);
    journal.open_file = match journal.open_file.take() {
        None => create_journal_file(&journal.folder).ok(),
        open => open,
    };
    let (_, file) = journal.open_file.as_mut()?;
    file.write_all(&line).ok()?;
    journal.entry_count += 1;
    Some(JournalEntry(()))
}

impl Drop for JournalEntry {
    fn drop(&mut self) {
        let Some(mut journal) = lock_journal() else { return };
        journal.entry_count -= 1;
        if journal.entry_count == 0
            && let Some((path, _locked)) = journal.open_file.take()
        {
            let _ = fs::remove_file(path);
        }
    }
}

fn lock_journal() -> Option<MutexGuard<'static, TempFileJournal>> {
    Some(JOURNAL.get()?.lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(target_os = "linux")]
fn directory_path(directory: BorrowedFd<'_>) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd())).ok()
}

#[cfg(target_vendor = "apple")]
fn directory_path(directory: BorrowedFd<'_>) -> Option<PathBuf> {
    Some(PathBuf::from(OsStr::from_bytes(rustix::fs::getpath(directory).ok()?.as_bytes())))
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn directory_path(_: BorrowedFd<'_>) -> Option<PathBuf> {
    None
}

/// Creates a journal file and locks it.
///
/// A sweep of another program may remove it before it is locked; then another one is created.
fn create_journal_file(folder: &Path) -> io::Result<(PathBuf, File)> {
    super::create_private_directory(folder)?;
    for attempt in 0..100 {
        let path = folder.join(format!("{}-{attempt}.drafts", std::process::id()));
        let mut options = OpenOptions::new();
        options.create_new(true).append(true).mode(0o600);
        let Ok(file) = options.open(&path) else { continue };
        if file.try_lock().is_ok() && file.metadata()?.nlink() > 0 {
            return Ok((path, file));
        }
        let _ = fs::remove_file(path);
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Removes the temporary files that killed programs left behind.
pub(crate) fn sweep_journals(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_suffix(".drafts")?.split_once('-')?.0.parse().ok());
        if let Some(pid) = pid {
            // Another program may sweep at the same time, or the disk may have no locks, which would tell whether a
            // program lives.
            let _ = sweep_journal(&entry.path(), pid);
        }
    }
}

fn sweep_journal(path: &Path, pid: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // Some network disks lock only files that are open for writing.
    options.read(true).write(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    let file = options.open(path)?;
    if !file.metadata()?.is_file() || file.try_lock().is_err() {
        return Ok(());
    }
    let mut noted = Vec::new();
    file.take(MAX_JOURNAL_BYTES).read_to_end(&mut noted)?;
    for draft in noted.split(|byte| *byte == 0).filter(|draft| !draft.is_empty()) {
        // The file may be gone already.
        let _ = remove_temp_file(Path::new(OsStr::from_bytes(draft)), pid);
    }
    fs::remove_file(path)
}

/// Removes a temporary file: only a regular file of this user, with a name that its program gives to temporary files.
fn remove_temp_file(draft: &Path, pid: u32) -> io::Result<()> {
    let (parent, name) = split_parent(draft)?;
    if !draft.is_absolute() || !is_temp_name_of(pid, name) {
        return Ok(());
    }
    let directory = open_directory(parent, SymlinkPolicy::Refuse)?;
    let found = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let is_plain = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    if is_plain && found.st_nlink == 1 && found.st_uid == rustix::process::geteuid().as_raw() {
        unlinkat(&directory, name, AtFlags::empty())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_journaled_temp_files_of_dead_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        let (notes, place) = (real.join("notes"), real.join("place"));
        fs::create_dir_all(&place).unwrap();
        fs::create_dir(&notes).unwrap();
        let names =
            [".hookwright-12-a-1.tmp", ".hookwright-12-a-2.tmp", ".hookwright-12-a-x.tmp", ".hookwright-13-a-1.tmp"];
        names.iter().for_each(|name| fs::write(place.join(name), "x").unwrap());
        fs::create_dir(place.join(".hookwright-12-a-3.tmp")).unwrap();
        std::os::unix::fs::symlink(place.join(names[1]), place.join(".hookwright-12-a-4.tmp")).unwrap();
        std::os::unix::fs::symlink(&place, real.join("link")).unwrap();
        fs::write(place.join(".hookwright-12-a-5.tmp"), "x").unwrap();
        let noted = ["place/.hookwright-12-a-1.tmp", "place/.hookwright-12-a-3.tmp", "place/.hookwright-12-a-4.tmp"];
        let noted = noted.iter().chain(&["place/.hookwright-12-a-x.tmp", "link/.hookwright-12-a-5.tmp", "place/gone"]);
        let text: String = noted.map(|path| format!("{}\0", real.join(path).display())).collect();
        fs::write(notes.join("12-0.drafts"), &text).unwrap();
        let alive = File::create(notes.join("13-0.drafts")).unwrap();
        (&alive).write_all(format!("{}\0", place.join(names[3]).display()).as_bytes()).unwrap();
        alive.lock().unwrap();
        fs::write(notes.join("strange"), &text).unwrap();

        sweep_journals(&notes);
        let left = |name: &str| place.join(name).symlink_metadata().is_ok();
        assert_eq!(names.map(left), [false, true, true, true]);
        assert!([3, 4, 5].iter().all(|at| left(&format!(".hookwright-12-a-{at}.tmp"))));
        assert!(!notes.join("12-0.drafts").exists() && notes.join("strange").exists());
        drop(alive);
        sweep_journals(&notes);
        assert!(!left(names[3]) && !notes.join("13-0.drafts").exists());
    }
}
