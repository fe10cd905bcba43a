//! One file that guards are made of: what it was when the user last had it, and what the agent has made of it since. A look
//! costs a `stat`; only where that differs, the content is read.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use hookwright_settings::trust::{GuardFile, GuardFileKind, GuardFileSnapshot, LedgerEntry, exact_name, text_diff};

/// Whose changes are those since the last look?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeAuthor {
    User,
    Agent,
}

/// What a look brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RescanResult {
    /// As it was.
    Unchanged,
    /// The user has changed it.
    ChangedByUser,
    /// The agent has.
    ChangedByAgent,
    /// What the agent had changed is again as it was.
    Restored,
}

/// A file under watch.
#[derive(Debug)]
pub(super) struct WatchedFile {
    pub(super) file: GuardFile,
    stat: Option<FileStat>,
    /// Whether a later change must show in the times.
    is_stat_settled: bool,
    /// As the user had it.
    trusted: GuardFileSnapshot,
    /// As the agent left it, while nobody trusts that.
    untrusted: Option<GuardFileSnapshot>,
}

/// Everything about a file that another content can hardly share.
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

    /// Whether it was last changed so long ago that the next change gets another time. Clocks of files are coarse.
    fn is_settled(&self, now: SystemTime) -> bool {
        const CLOCK_GRANULARITY: Duration = Duration::from_millis(100);
        let (seconds, nanos) = (self.times.0, self.times.1).max((self.times.2, self.times.3));
        let nanos = u32::try_from(nanos).unwrap_or_default();
        let changed = u64::try_from(seconds).map(|seconds| SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos));
        changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age > CLOCK_GRANULARITY))
    }
}

impl WatchedFile {
    /// Begins to watch a file as it is.
    pub(super) fn new(file: GuardFile, project: &Path) -> Self {
        // In this order: a change in between is seen at the next look.
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

    /// The same for one that an agent has changed before.
    pub(super) fn new_untrusted(file: GuardFile, project: &Path, before: String) -> Self {
        let mut watched = WatchedFile::new(file, project);
        watched.untrusted =
            Some(std::mem::replace(&mut watched.trusted, GuardFileSnapshot { digest: before, text: None }));
        watched
    }

    /// Whether nobody trusts what it is now.
    pub(super) fn is_untrusted(&self) -> bool {
        self.untrusted.is_some()
    }

    /// Whether it may be another than at the last look.
    pub(super) fn may_have_changed(&mut self, now: SystemTime) -> bool {
        let stat = FileStat::read(&self.file.path).ok();
        if stat == self.stat && self.is_stat_settled {
            return false;
        }
        self.stat = stat;
        self.is_stat_settled = stat.is_none_or(|stat| stat.is_settled(now));
        true
    }

    /// Takes note of what it is now; only asks whose a change is if there is one.
    pub(super) fn rescan(&mut self, project: &Path, whose: impl FnOnce(&GuardFile) -> ChangeAuthor) -> RescanResult {
        let now = self.file.snapshot(project);
        match &self.untrusted {
            None if now.digest == self.trusted.digest => RescanResult::Unchanged,
            None => match whose(&self.file) {
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
            // Whoever went on from what the agent made of it, it still waits.
            Some(_) => {
                self.untrusted = Some(now);
                RescanResult::ChangedByAgent
            }
        }
    }

    /// The user's word that it is fine as it is, or as it was shown.
    pub(super) fn trust(&mut self, shown: Option<&str>) {
        let as_shown = |now: &&mut GuardFileSnapshot| shown.is_none_or(|shown| now.digest == shown);
        if self.untrusted.as_mut().filter(as_shown).is_some()
            && let Some(now) = self.untrusted.take()
        {
            self.trusted = now;
        }
    }

    /// One word for what it is now.
    pub(super) fn current_digest(&self) -> &str {
        &self.untrusted.as_ref().unwrap_or(&self.trusted).digest
    }

    /// What became of it, in a word.
    pub(super) fn change_kind(&self) -> &'static str {
        let now = self.untrusted.as_ref().unwrap_or(&self.trusted);
        match (self.trusted.digest.as_str(), now.digest.as_str()) {
            ("nothing", _) => "made",
            (_, "nothing") => "removed",
            (before, now) if before.trim_end_matches(" x") == now => "made not executable",
            _ => "changed",
        }
    }

    /// What is different, where that can be shown.
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

    /// What the ledger says of it.
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

    /// Somebody set the clock back: the next change might get any time.
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
