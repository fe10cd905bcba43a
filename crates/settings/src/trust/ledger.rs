//! The ledger: the state of the guards' files when the user last had control of them, and what an agent has changed
//! since. It outlives a session that is killed, so that the next session does not silently accept the agent's
//! changes.
//!
//! Every session writes a file of its own: from its start, or, if no hook can deny anything, from the first run of a
//! program. A lock on a second file shows that the session lives and whether its agent is at work. After a regular
//! end only changes that wait for the user remain.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_disk::{Durability, ExistingFileMode, create_private_directory, open_append};
use serde::{Deserialize, Serialize};

use super::fingerprint::{exact_name, exact_path};
use super::guard_files::{GuardFile, GuardFileKind};
use crate::edit::{self, EditError};
use crate::paths::ConfigPaths;

/// A session's lock file may be unlocked for this long after its start.
const STARTUP_GRACE_PERIOD: Duration = Duration::from_secs(60);

/// State of one file in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LedgerEntry {
    pub path: String,
    /// Digest of the file when the user last had control of it.
    pub before: String,
    /// Whether the agent has changed it since.
    #[serde(default)]
    pub changed: bool,
    /// The change, if it can be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// A hook that ran when the user last had control, with enough data to know which calls it would have checked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LedgerHook {
    /// Settings file that declares it.
    pub file: String,
    pub event: String,
    /// Its name, or the id that replaces it.
    pub name: String,
    /// Its matcher as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// Version of the digest; 0 for one that no other version can compute.
    #[serde(default)]
    pub form: u32,
    /// Digest of its whole declaration.
    pub digest: String,
}

#[derive(Debug, Default, Deserialize, Serialize)]
struct LedgerFile {
    project: String,
    files: Vec<LedgerEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hooks: Vec<LedgerHook>,
    /// Whether no program has run in the session yet, so that its agent can't have changed anything.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    fresh: bool,
}

/// How often and how fast a lock is retried that another session may hold briefly for a check.
const MAX_LOCK_ATTEMPTS: u32 = 50;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// The ledger of one session.
#[derive(Debug)]
pub struct Ledger {
    project: String,
    file: PathBuf,
    lock_file: PathBuf,
    hooks: Vec<LedgerHook>,
    /// Whether no program has run in the session yet.
    fresh: bool,
    /// Locked while the session lives.
    session_lock: Option<File>,
    /// The text as last written.
    written_text: String,
    /// Whether it was opened on disk, successfully or not.
    is_opened: bool,
}

impl Ledger {
    /// Creates the ledger of a session, with nothing on disk yet.
    pub fn new(paths: &ConfigPaths, project: &Path, session: &str) -> Ledger {
        let folder = ledger_folder(paths);
        let project = exact_name(project.as_os_str()).into_owned();
        let (ledger_file, lock) = (folder.join(format!("{session}.json")), folder.join(format!("{session}.lock")));
        Ledger {
            project,
            file: ledger_file,
            lock_file: lock,
            hooks: Vec::new(),
            fresh: true,
            session_lock: None,
            written_text: String::new(),
            is_opened: false,
        }
    }

    /// Opens it on disk.
    ///
    /// # Errors
    /// If it cannot be written, or another session's ledger cannot be read, because then its agent's changes are
    /// unknown.
    pub fn open(&mut self) -> io::Result<()> {
        self.is_opened = true;
        let folder = self.folder();
        create_private_directory(folder)?;
        remove_stale_locks(folder);
        for ledger_file in fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(|path| is_ledger_file(path))
        {
            if read_ledger_file(&ledger_file).is_none() && ledger_file.symlink_metadata().is_ok() {
                let text = format!("{} is not a valid ledger of a session", ledger_file.display());
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
        }
        self.acquire_lock()
    }

    fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("/"))
    }

    fn acquire_lock(&mut self) -> io::Result<()> {
        // A second lock on the same file would wait for the first.
        self.session_lock = None;
        self.session_lock = Some(open_append(&self.lock_file, ExistingFileMode::MakePrivate)?)
            .filter(|file| file.try_lock_shared().is_ok());
        Ok(())
    }

    /// Sets the hooks that later writes record.
    pub fn set_hooks(&mut self, hooks: Vec<LedgerHook>) {
        self.hooks = hooks;
    }

    /// Whether it was never opened on disk.
    pub fn is_unopened(&self) -> bool {
        !self.is_opened
    }

    /// Marks the session as active for later writes, and returns whether it was not active before.
    pub fn mark_active(&mut self) -> bool {
        std::mem::take(&mut self.fresh)
    }

    /// Whether a program has run in the session.
    pub fn is_active(&self) -> bool {
        !self.fresh
    }

    fn to_ledger_file(&self, files: Vec<LedgerEntry>) -> LedgerFile {
        LedgerFile { project: self.project.clone(), files, hooks: self.hooks.clone(), fresh: self.fresh }
    }

    /// Returns the path of its file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Writes the state of the guards' files without syncing: it must survive the end of the process, not of the
    /// machine.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_baseline(&mut self, files: Vec<LedgerEntry>) -> io::Result<()> {
        self.write_entries(files, Durability::Unsynced)
    }

    /// Writes the agent's changes and syncs them to disk.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, files: Vec<LedgerEntry>) -> io::Result<()> {
        self.write_entries(files, Durability::Synced)
    }

    /// Whether the file on disk is as it was last written.
    pub fn is_intact(&self) -> bool {
        crate::file::read_text(&self.file).is_ok_and(|text| text.as_ref() == Some(&self.written_text))
    }

    /// Repairs the ledger's folder and file after another process changed them.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn restore(&mut self, files: Vec<LedgerEntry>) -> io::Result<()> {
        self.repair_folder()?;
        self.write(files)
    }

    fn write_entries(&mut self, files: Vec<LedgerEntry>, lasting: Durability) -> io::Result<()> {
        self.written_text = serde_json::to_string(&self.to_ledger_file(files))?;
        self.write_to_disk(lasting).or_else(|_| self.repair_folder().and_then(|()| self.write_to_disk(lasting)))
    }

    /// Takes no lock, ignores the file's mode and follows no link, because an agent could have left any of these
    /// there.
    fn write_to_disk(&self, lasting: Durability) -> io::Result<()> {
        hookwright_disk::write_atomic_private(&self.file, self.written_text.as_bytes(), lasting)
    }

    /// Recreates the folder if something else stands in its place, and restores its permissions.
    fn repair_folder(&mut self) -> io::Result<()> {
        let folder = self.folder().to_owned();
        let places: Vec<&Path> = folder.ancestors().take(3).collect();
        for (at, place) in places.into_iter().enumerate().rev() {
            match place.symlink_metadata() {
                Ok(_) if place.is_dir() => grant_owner_access(place),
                // The directory with all of the user's files is not removed.
                Ok(_) if at < 2 => fs::remove_file(place)?,
                _ => {}
            }
        }
        create_private_directory(&folder)?;
        for own in [&self.file, &self.lock_file] {
            if own.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                fs::remove_dir_all(own)?;
            }
        }
        self.acquire_lock()
    }

    /// Returns the paths that the file on disk lists as changed by the agent, or `None` if it cannot be read.
    pub fn changed_on_disk(&self) -> Option<Vec<String>> {
        let ledger_file = read_ledger_file(&self.file)?;
        Some(ledger_file.files.into_iter().filter(|entry| entry.changed).map(|entry| entry.path).collect())
    }

    /// Tells other sessions whether the agent is at work.
    ///
    /// A process that holds the lock for longer than a check takes is no session, so the lock file is replaced, and
    /// that process holds nothing.
    pub fn set_busy(&mut self, busy: bool) {
        let take = |file: &File| if busy { file.try_lock().is_ok() } else { file.try_lock_shared().is_ok() };
        let Some(file) = &self.session_lock else { return };
        for _ in 0..MAX_LOCK_ATTEMPTS {
            if take(file) {
                return;
            }
            std::thread::sleep(LOCK_RETRY_INTERVAL);
        }
        let _ = fs::remove_file(&self.lock_file);
        self.session_lock = open_append(&self.lock_file, ExistingFileMode::MakePrivate).ok().filter(take);
    }

    /// Whether another session's agent has changed this file, or may have, because it is at work and records the
    /// file.
    pub fn is_changed_by_other_session(&self, path: &Path) -> bool {
        let path = exact_name(path.as_os_str());
        let Ok(entries) = fs::read_dir(self.file.parent().unwrap_or(Path::new("/"))) else { return false };
        let ledger_files =
            entries.flatten().map(|entry| entry.path()).filter(|other| is_ledger_file(other) && *other != self.file);
        ledger_files.into_iter().any(|other| {
            let Some(ledger_file) = read_ledger_file(&other) else { return false };
            let known = ledger_file.files.iter().find(|entry| entry.path == path);
            known.is_some_and(|entry| entry.changed || session_state(&other) == LedgerSessionState::Busy)
        })
    }

    /// Closes it; only changes that wait for the user stay on disk.
    ///
    /// # Errors
    /// If such changes cannot be written.
    pub fn close(&mut self, files: Vec<LedgerEntry>) -> io::Result<()> {
        let waiting: Vec<_> = files.into_iter().filter(|entry| entry.changed).collect();
        let written = if waiting.is_empty() {
            let _ = fs::remove_file(&self.file);
            Ok(())
        } else {
            self.write(waiting)
        };
        let _ = fs::remove_file(&self.lock_file);
        self.session_lock = None;
        written
    }
}

/// A change that waits for the user.
#[derive(Clone, Debug)]
pub struct PendingChange {
    /// The changed file.
    pub file: GuardFile,
    /// Digest of the file before the change.
    pub before: String,
    /// The change, if it can be shown.
    pub diff: Option<String>,
    ledger_files: Vec<PathBuf>,
}

/// Returns the changes to these files that agents made and the user has not trusted. A file that was restored does
/// not count.
///
/// What a killed session did is unknown, so everything that changed since its start counts, unless no program had run
/// in it.
pub fn pending_changes(paths: &ConfigPaths, project: &Path, files: &[GuardFile]) -> Vec<PendingChange> {
    let mut found: Vec<PendingChange> = Vec::new();
    let Ok(entries) = fs::read_dir(ledger_folder(paths)) else { return found };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| is_ledger_file(path)) {
        let Some(ledger_file) = read_ledger_file(&path) else { continue };
        let lives = session_state(&path) != LedgerSessionState::Dead;
        let is_doubtful = !lives && !ledger_file.fresh;
        // Only a session in the same project knows all of its files.
        let mut waiting = usize::from(ledger_file.project != exact_name(project.as_os_str()));
        for entry in ledger_file.files.into_iter().filter(|entry| entry.changed || is_doubtful) {
            let Some(file) = files.iter().find(|file| exact_name(file.path.as_os_str()) == entry.path) else {
                // An entry of a hook that no longer exists, or of policies that are not named now.
                waiting += usize::from(entry.changed);
                continue;
            };
            // The part of a trust record about another project does not matter here.
            let elsewhere = file.kind == GuardFileKind::Trust && ledger_file.project != exact_name(project.as_os_str());
            if elsewhere || file.snapshot(project).digest == entry.before {
                continue;
            }
            waiting += 1;
            match found.iter_mut().find(|known| known.file == *file) {
                Some(known) => known.ledger_files.push(path.clone()),
                None => found.push(PendingChange {
                    file: file.clone(),
                    before: entry.before,
                    diff: entry.diff,
                    ledger_files: vec![path.clone()],
                }),
            }
        }
        if waiting == 0 && !lives {
            let _ = fs::remove_file(&path);
            let _ = fs::remove_file(path.with_extension("lock"));
        }
    }
    found
}

/// Returns the hooks that ran before these changes: all of the same project, and of others those declared in a
/// changed file.
pub fn hooks_before(project: &Path, changes: &[PendingChange]) -> Vec<LedgerHook> {
    let mut ledger_files: Vec<&PathBuf> = changes.iter().flat_map(|change| &change.ledger_files).collect();
    ledger_files.sort();
    ledger_files.dedup();
    let mut found = Vec::new();
    for ledger_file in ledger_files.into_iter().filter_map(|path| read_ledger_file(path)) {
        let own = ledger_file.project == exact_name(project.as_os_str());
        let changed =
            |hook: &LedgerHook| changes.iter().any(|change| exact_name(change.file.path.as_os_str()) == hook.file);
        found.extend(ledger_file.hooks.into_iter().filter(|hook| own || changed(hook)));
    }
    found
}

/// Whether any session has a ledger; without one nothing is pending, and no files need to be compared.
pub fn has_ledger(paths: &ConfigPaths) -> bool {
    fs::read_dir(ledger_folder(paths)).into_iter().flatten().flatten().any(|entry| is_ledger_file(&entry.path()))
}

/// Like [`pending_changes`], also for all files that agents changed in this project, for callers that do not know
/// which policies sessions were started with.
pub fn all_pending_changes(paths: &ConfigPaths, project: &Path, mut files: Vec<GuardFile>) -> Vec<PendingChange> {
    let name = exact_name(project.as_os_str());
    let entries = fs::read_dir(ledger_folder(paths)).into_iter().flatten().flatten().map(|entry| entry.path());
    for ledger_file in entries
        .filter(|path| is_ledger_file(path))
        .filter_map(|path| read_ledger_file(&path))
        .filter(|one| one.project == name)
    {
        for entry in ledger_file.files.into_iter().filter(|entry| entry.changed) {
            let Some(path) = exact_path(&entry.path) else { continue };
            if !files.iter().any(|file| file.path == path) {
                files.push(GuardFile { path, kind: GuardFileKind::Policy });
            }
        }
    }
    pending_changes(paths, project, &files)
}

/// Records that the user trusts these changes.
///
/// # Errors
/// If the ledger cannot be written.
pub fn trust_changes(project: &Path, changes: &[&PendingChange]) -> Result<(), EditError> {
    let mut ledger_files: Vec<&PathBuf> = changes.iter().flat_map(|change| &change.ledger_files).collect();
    ledger_files.sort();
    ledger_files.dedup();
    for path in ledger_files {
        let Some(mut ledger_file) = read_ledger_file(path) else { continue };
        if session_state(path) == LedgerSessionState::Dead {
            // A later change is not that session's.
            ledger_file
                .files
                .retain(|entry| !changes.iter().any(|change| exact_name(change.file.path.as_os_str()) == entry.path));
        }
        for change in changes {
            let name = exact_name(change.file.path.as_os_str());
            for entry in ledger_file.files.iter_mut().filter(|entry| entry.path == name) {
                let before = change.file.snapshot(project).digest;
                *entry = LedgerEntry { path: entry.path.clone(), before, changed: false, diff: None };
            }
        }
        edit::rewrite_private(path, |_| Ok(serde_json::to_string(&ledger_file).unwrap_or_default()))?;
    }
    Ok(())
}

/// Changes a trust record for the user, so that the change is not attributed to a killed session. Running sessions
/// are not updated, because one of their agents may be the caller.
pub(crate) fn change_trust_record<T>(paths: &ConfigPaths, record: &Path, change: impl FnOnce() -> T) -> T {
    let file = GuardFile { path: record.to_owned(), kind: GuardFileKind::Trust };
    let now = |ledger_file: &LedgerFile| file.snapshot(&exact_path(&ledger_file.project).unwrap_or_default()).digest;
    let unchanged = |ledger_file: &LedgerFile| {
        let name = exact_name(record.as_os_str());
        ledger_file
            .files
            .iter()
            .position(|entry| entry.path == name && !entry.changed && entry.before == now(ledger_file))
    };
    let entries = fs::read_dir(ledger_folder(paths)).into_iter().flatten().flatten().map(|entry| entry.path());
    let dead = entries.filter(|path| is_ledger_file(path) && session_state(path) == LedgerSessionState::Dead);
    let ledger_files: Vec<_> =
        dead.filter_map(|path| read_ledger_file(&path).map(|ledger_file| (path, ledger_file))).collect();
    let unchanged_files: Vec<_> = ledger_files
        .into_iter()
        .filter_map(|(path, ledger_file)| Some((path, unchanged(&ledger_file)?, ledger_file)))
        .collect();
    let done = change();
    for (path, at, mut ledger_file) in unchanged_files {
        ledger_file.files[at].before = now(&ledger_file);
        // If it can't be written, the change is attributed to the killed session, which the user can correct.
        let _ = edit::rewrite_private(&path, |_| Ok(serde_json::to_string(&ledger_file).unwrap_or_default()));
    }
    done
}

/// Removes lock files of sessions that were killed before they wrote a ledger. A starting session may not have locked
/// its file yet, so only old ones are removed.
fn remove_stale_locks(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_old = |entry: &fs::DirEntry| {
        let written = entry.metadata().and_then(|found| found.modified());
        written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > STARTUP_GRACE_PERIOD))
    };
    for path in entries.filter(is_old).map(|entry| entry.path()) {
        let is_lock = path.extension().is_some_and(|extension| extension == "lock");
        if is_lock && !path.with_extension("json").exists() && session_state(&path) == LedgerSessionState::Dead {
            let _ = fs::remove_file(&path);
        }
    }
}

fn ledger_folder(paths: &ConfigPaths) -> PathBuf {
    paths.user_dir.join("hookwright").join("guards")
}

fn is_ledger_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

fn read_ledger_file(path: &Path) -> Option<LedgerFile> {
    let text = crate::file::read_text(path).ok()??;
    serde_json::from_str(&text).ok()
}

/// State of a session, as seen by its lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LedgerSessionState {
    Dead,
    Idle,
    Busy,
}

fn session_state(ledger_file: &Path) -> LedgerSessionState {
    let Ok(file) = File::open(ledger_file.with_extension("lock")) else { return LedgerSessionState::Dead };
    if file.try_lock().is_ok() {
        return LedgerSessionState::Dead;
    }
    if file.try_lock_shared().is_ok() { LedgerSessionState::Idle } else { LedgerSessionState::Busy }
}

/// Makes a folder readable and writable for its owner.
fn grant_owner_access(folder: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = folder.metadata().map_or(0, |found| found.permissions().mode());
        if mode & 0o700 != 0o700 {
            let _ = fs::set_permissions(folder, fs::Permissions::from_mode(mode & 0o7777 | 0o700));
        }
    }
    #[cfg(not(unix))]
    let _ = folder;
}

#[cfg(test)]
mod tests;
