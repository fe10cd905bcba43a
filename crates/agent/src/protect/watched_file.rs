//! A watched file: its state when the user last had it, and its changes by the agent since.
//!
//! A scan costs a `stat`; the content is read only if that differs.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use hookwright_settings::trust::{GuardFile, GuardFileKind, GuardFileSnapshot, LedgerEntry, exact_name, text_diff};

/// The author of the changes since the last scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeAuthor {
    User,
    Agent,
}

/// The result of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RescanResult {
    /// The file is as it was.
    Unchanged,
    /// The user has changed the file.
    ChangedByUser,
    /// The agent has changed the file.
    ChangedByAgent,
    /// A file that the agent had changed is as the user had it again.
    Restored,
}

/// A file under watch.
#[derive(Debug)]
pub(super) struct WatchedFile {
    pub(super) file: GuardFile,
    stat: Option<FileStat>,
    /// Whether a later change must show in the timestamps.
    is_stat_settled: bool,
    /// The snapshot of the file as the user had it.
    trusted: GuardFileSnapshot,
    /// The snapshot of the file as the agent left it, while it is untrusted.
    untrusted: Option<GuardFileSnapshot>,
}

/// The metadata that two different contents hardly share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStat {
    device_inode: (u64, u64),
    size: u64,
    mode: u32,
    times: (i64, i64, i64, i64),
}

impl FileStat {
    #[cfg(unix)]
    fn read(path: &Path) -> io::Result<FileStat> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path)?;
        Ok(FileStat {
            device_inode: (found.dev(), found.ino()),
            size: found.size(),
            mode: found.mode(),
            times: (found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()),
        })
    }

    #[cfg(not(unix))]
    fn read(path: &Path) -> io::Result<FileStat> {
        let found = std::fs::metadata(path)?;
        let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let modified = since(found.modified()?);
        let seconds = i64::try_from(modified.as_secs()).unwrap_or_default();
        let mode = u32::from(found.permissions().readonly());
        let times = (seconds, i64::from(modified.subsec_nanos()), 0, 0);
        Ok(FileStat { device_inode: (0, 0), size: found.len(), mode, times })
    }

    /// Returns whether the last change is old enough that the next one gets another timestamp. File clocks are coarse.
    fn is_settled(&self, now: SystemTime) -> bool {
        const CLOCK_GRANULARITY: Duration = Duration::from_millis(100);
        let (seconds, nanos) = (self.times.0, self.times.1).max((self.times.2, self.times.3));
        let nanos = u32::try_from(nanos).unwrap_or_default();
        let changed = u64::try_from(seconds).map(|seconds| SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos));
        changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age > CLOCK_GRANULARITY))
    }
}

impl WatchedFile {
    /// Starts to watch a file in its present state.
    pub(super) fn new(file: GuardFile, project: &Path) -> Self {
        // The order matters: a change in between is found by the next scan.
        let stat = FileStat::read(&file.path);
        let trusted = match &stat {
            Err(error) if error.kind() == ErrorKind::NotFound && file.kind != GuardFileKind::Names => {
                GuardFileSnapshot::missing()
            }
            _ => file.snapshot(project),
        };
        let stat = stat.ok();
        let settled = stat.is_none_or(|stat| stat.is_settled(SystemTime::now()));
        WatchedFile { file, stat, is_stat_settled: settled, trusted, untrusted: None }
    }

    /// Starts to watch a file that an agent has changed before.
    pub(super) fn new_untrusted(file: GuardFile, project: &Path, before: String) -> Self {
        let mut watched = WatchedFile::new(file, project);
        watched.untrusted =
            Some(std::mem::replace(&mut watched.trusted, GuardFileSnapshot { digest: before, text: None }));
        watched
    }

    /// Returns whether the present state is untrusted.
    pub(super) fn is_untrusted(&self) -> bool {
        self.untrusted.is_some()
    }

    /// Returns whether the file may have changed since the last scan.
    pub(super) fn may_have_changed(&mut self, now: SystemTime) -> bool {
        let stat = FileStat::read(&self.file.path).ok();
        if stat == self.stat && self.is_stat_settled {
            return false;
        }
        self.stat = stat;
        self.is_stat_settled = stat.is_none_or(|stat| stat.is_settled(now));
        true
    }

    /// Records the present state; the author is only asked for if the file has changed.
    pub(super) fn rescan(&mut self, project: &Path, author: impl FnOnce(&GuardFile) -> ChangeAuthor) -> RescanResult {
        let now = self.file.snapshot(project);
        match &self.untrusted {
            None if now.digest == self.trusted.digest => RescanResult::Unchanged,
            None => match author(&self.file) {
                ChangeAuthor::User => {
                    self.trusted = now;
                    RescanResult::ChangedByUser
                }
                ChangeAuthor::Agent => {
                    self.untrusted = Some(now);
                    RescanResult::ChangedByAgent
                }
            },
            Some(_) if now.digest == self.trusted.digest => {
                self.untrusted = None;
                RescanResult::Restored
            }
            Some(before) if before.digest == now.digest => RescanResult::Unchanged,
            // A further change to an untrusted file, by the user or the agent, leaves it untrusted.
            Some(_) => {
                self.untrusted = Some(now);
                RescanResult::ChangedByAgent
            }
        }
    }

    /// Trusts the file as it is, or only if it still has the digest that was shown.
    pub(super) fn trust(&mut self, shown: Option<&str>) {
        let as_shown = |now: &&mut GuardFileSnapshot| shown.is_none_or(|shown| now.digest == shown);
        if self.untrusted.as_mut().filter(as_shown).is_some()
            && let Some(now) = self.untrusted.take()
        {
            self.trusted = now;
        }
    }

    /// Returns the digest of the present content.
    pub(super) fn current_digest(&self) -> &str {
        &self.untrusted.as_ref().unwrap_or(&self.trusted).digest
    }

    /// Returns the kind of the change, in words.
    pub(super) fn change_kind(&self) -> &'static str {
        let now = self.untrusted.as_ref().unwrap_or(&self.trusted);
        match (self.trusted.digest.as_str(), now.digest.as_str()) {
            ("nothing", _) => "made",
            (_, "nothing") => "removed",
            (before, now) if before.trim_end_matches(" x") == now => "made not executable",
            _ => "changed",
        }
    }

    /// Returns the unified diff, where it can be shown.
    pub(super) fn diff(&self) -> Option<String> {
        let now = self.untrusted.as_ref()?;
        if !self.file.kind.may_show_text() {
            return None;
        }
        let text = |look: &GuardFileSnapshot| match look.digest.as_str() {
            "nothing" => Some(String::new()),
            _ => look.text.clone(),
        };
        Some(text_diff(&text(&self.trusted)?, &text(now)?)).filter(|text| !text.is_empty())
    }

    /// Returns the entry of the file for the ledger.
    pub(super) fn ledger_entry(&self) -> LedgerEntry {
        LedgerEntry {
            path: exact_name(self.file.path.as_os_str()).into_owned(),
            before: self.trusted.digest.clone(),
            changed: self.is_untrusted(),
            diff: self.diff(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After the clock was set back, the next change may get any timestamp.
    #[cfg(unix)]
    #[test]
    fn future_mtime_is_never_settled() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let stat = FileStat::read(file.path()).unwrap();
        let (now, hour) = (SystemTime::now(), Duration::from_secs(3600));
        assert!(!stat.is_settled(now - hour));
        assert!(!stat.is_settled(now));
        assert!(stat.is_settled(now + hour));
    }
}
