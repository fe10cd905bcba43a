//! The limits that the system sets this program: read, raised where that is free, and handed on as they were.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::room::Use;

/// The limit on descriptors that was there before it was raised.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Some systems accept no more than this, whatever they say is the most.
#[cfg(target_vendor = "apple")]
const MOST_DESCRIPTORS: u64 = 10_240;
/// More are of no use to anybody.
#[cfg(not(target_vendor = "apple"))]
const MOST_DESCRIPTORS: u64 = 1 << 20;

/// Lets this program have as many descriptors as it may. The programs that it starts have the limit that it had, where the
/// system allows to say so (Linux): some of them try every number up to the limit.
pub fn raise_descriptor_limit() {
    let before = *BEFORE.get_or_init(|| getrlimit(Resource::Nofile));
    let Some(soft) = before.current else { return };
    let most = before.maximum.unwrap_or(u64::MAX).min(MOST_DESCRIPTORS);
    if most > soft
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..before })
    {
        tracing::debug!(%error, "the limit on descriptors could not be raised");
    }
}

/// Makes the best of a limit on memory (`ulimit -v`). To be called before there is a second thread.
#[cfg(target_env = "gnu")]
pub fn heed_memory_limit() {
    /// Where there is more, nobody notices.
    const PLENTY: u64 = 4 << 30;
    if getrlimit(Resource::As).current.is_some_and(|limit| limit < PLENTY) {
        super::sys::share_memory();
    }
}

/// All threads share their memory here as it is.
#[cfg(not(target_env = "gnu"))]
pub fn heed_memory_limit() {}

/// Gives a process that was just started the limit on descriptors that this one was started with.
#[cfg(target_os = "linux")]
pub(super) fn hand_on(to: rustix::process::Pid) {
    if let Some(before) = BEFORE.get()
        && before.current != getrlimit(Resource::Nofile).current
    {
        // A program with another's rights keeps what it has.
        let _ = rustix::process::prlimit(Some(to), Resource::Nofile, *before);
    }
}

/// Nobody can set another process's limits here.
#[cfg(not(target_os = "linux"))]
pub(super) fn hand_on(_: rustix::process::Pid) {}

/// How many processes the system has killed for want of memory since it was started; 0 where it does not tell.
pub(crate) fn killed_for_memory() -> u64 {
    if cfg!(target_os = "linux") { oom_kills(&std::fs::read_to_string("/proc/vmstat").unwrap_or_default()) } else { 0 }
}

fn oom_kills(vmstat: &str) -> u64 {
    let count = vmstat.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// This program's descriptors.
pub(crate) fn descriptors() -> Use {
    /// What is open where nobody can count it.
    const USUAL: usize = 32;
    let limit = as_count(getrlimit(Resource::Nofile).current);
    let open = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    Use { limit, taken: std::fs::read_dir(open).map_or(USUAL, Iterator::count) }
}

/// This user's processes. Threads count as such where the system counts them.
pub(crate) fn processes() -> Use {
    /// Counting costs a look at every process; where there are so many, the number of places does not depend on it.
    const PLENTY: usize = 16_384;
    let limit = as_count(getrlimit(Resource::Nproc).current);
    let exempt = rustix::process::getuid().is_root();
    if exempt || limit >= PLENTY {
        return Use { limit: usize::MAX, taken: 0 };
    }
    Use { limit, taken: count_processes() }
}

fn as_count(limit: Option<u64>) -> usize {
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

#[cfg(target_os = "linux")]
fn count_processes() -> usize {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::getuid().as_raw();
    let own = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter(|entry| {
        let number = entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
        number && entry.metadata().is_ok_and(|of| of.uid() == user)
    });
    own.map(|entry| std::fs::read_dir(entry.path().join("task")).map_or(1, Iterator::count)).sum()
}

#[cfg(not(target_os = "linux"))]
fn count_processes() -> usize {
    /// Somebody who works at this machine has about so many.
    const USUAL: usize = 256;
    USUAL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_counted() {
        assert_eq!(oom_kills("oom_kill_disable 7\nx 1\noom_kill 12\n"), 12);
        assert_eq!(oom_kills("") + oom_kills("oom_kill x"), 0);
    }
}
