//! The limits that the system sets this program: read, raised where that is free, and handed on as they were.

use std::io::Read;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limiter::ResourceUsage;

/// The limit on descriptors that was there before it was raised.
static ORIGINAL_DESCRIPTOR_LIMIT: OnceLock<Rlimit> = OnceLock::new();

/// Some systems accept no more than this, whatever they say is the most.
#[cfg(target_vendor = "apple")]
const MAX_DESCRIPTORS: u64 = 10_240;
/// More are of no use to anybody.
#[cfg(not(target_vendor = "apple"))]
const MAX_DESCRIPTORS: u64 = 1 << 20;

/// Lets this program have as many descriptors as it may. The programs that it starts have the limit that it had, where the
/// system allows to say so (Linux): some of them try every number up to the limit.
pub fn raise_descriptor_limit() {
    let before = *ORIGINAL_DESCRIPTOR_LIMIT.get_or_init(|| getrlimit(Resource::Nofile));
    let Some(soft) = before.current else { return };
    let most = before.maximum.unwrap_or(u64::MAX).min(MAX_DESCRIPTORS);
    if most > soft
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..before })
    {
        tracing::debug!(%error, "the limit on descriptors could not be raised");
    }
}

/// Takes so much stack for the thread that the program began with, which has to be the one that calls: whether it has it now.
/// Otherwise that stack grows as it is used, and where a limit on memory comes in between, the system ends the program for it
/// without a word.
pub fn reserve_stack(bytes: usize) -> bool {
    as_count(getrlimit(Resource::Stack).current) >= bytes && grow_stack(bytes)
}

#[cfg(target_os = "linux")]
fn grow_stack(bytes: usize) -> bool {
    super::sys::grow_stack(bytes).is_ok()
}

/// All of it is there from the start.
#[cfg(not(target_os = "linux"))]
fn grow_stack(_: usize) -> bool {
    true
}

/// Has all threads take their memory from one place: the C library would have each of them reserve 64 MB of addresses, which
/// a limit on memory (`ulimit -v`) does not allow, and grow its own page by page, which takes time in every short session. To
/// be called before there is a second thread.
#[cfg(target_env = "gnu")]
pub fn use_single_malloc_arena() {
    super::sys::use_single_malloc_arena();
}

/// All threads share their memory here as it is.
#[cfg(not(target_env = "gnu"))]
pub fn use_single_malloc_arena() {}

/// Gives a process that was just started the limit on descriptors that this one was started with.
#[cfg(target_os = "linux")]
pub(super) fn restore_descriptor_limit(to: rustix::process::Pid) {
    if let Some(before) = ORIGINAL_DESCRIPTOR_LIMIT.get()
        && before.current != getrlimit(Resource::Nofile).current
    {
        // A program with another's rights keeps what it has.
        let _ = rustix::process::prlimit(Some(to), Resource::Nofile, *before);
    }
}

/// Nobody can set another process's limits here.
#[cfg(not(target_os = "linux"))]
pub(super) fn restore_descriptor_limit(_: rustix::process::Pid) {}

/// How many processes the system has killed for want of memory since it was started; 0 where it does not tell.
pub(crate) fn oom_kill_count() -> u64 {
    /// Longer than the file is; its length is not known before it is read.
    const VMSTAT_BUFFER_BYTES: usize = 16 << 10;
    if !cfg!(target_os = "linux") {
        return 0;
    }
    let mut vmstat = String::with_capacity(VMSTAT_BUFFER_BYTES);
    let read = std::fs::File::open("/proc/vmstat").and_then(|mut file| file.read_to_string(&mut vmstat));
    read.map_or(0, |_| parse_oom_kills(&vmstat))
}

fn parse_oom_kills(vmstat: &str) -> u64 {
    let count = vmstat.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// This program's descriptors.
pub(crate) fn descriptor_usage() -> ResourceUsage {
    /// What is open where nobody can count it.
    const TYPICAL_OPEN_DESCRIPTORS: usize = 32;
    let limit = as_count(getrlimit(Resource::Nofile).current);
    let open = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    ResourceUsage { limit, used: std::fs::read_dir(open).map_or(TYPICAL_OPEN_DESCRIPTORS, Iterator::count) }
}

/// This user's processes. Threads count as such where the system counts them.
pub(crate) fn process_usage() -> ResourceUsage {
    match process_limit() {
        None => ResourceUsage { limit: usize::MAX, used: 0 },
        Some(limit) => ResourceUsage { limit, used: count_processes() },
    }
}

/// Whether no limit of this program's own keeps it from starting threads.
pub(crate) fn are_threads_unlimited() -> bool {
    process_limit().is_none() && getrlimit(Resource::As).current.is_none()
}

/// How many processes this user may have, if that is few enough to matter.
fn process_limit() -> Option<usize> {
    /// Counting costs a look at every process; where there are so many, the number of places does not depend on it.
    const MAX_COUNTED_PROCESS_LIMIT: usize = 16_384;
    let exempt = rustix::process::getuid().is_root();
    Some(as_count(getrlimit(Resource::Nproc).current)).filter(|limit| !exempt && *limit < MAX_COUNTED_PROCESS_LIMIT)
}

/// The memory that a process takes by itself, in bytes; nothing where the system does not tell.
#[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
pub(crate) fn resident_bytes(pid: u32) -> Option<u64> {
    let status = lossy_text(&std::fs::read(format!("/proc/{pid}/status")).ok()?);
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = resident.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// What the system tells of a process. Its name is one that it has chosen itself, and hides nothing where it is no text.
fn lossy_text(status: &[u8]) -> String {
    String::from_utf8_lossy(status).into_owned()
}

fn as_count(limit: Option<u64>) -> usize {
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// The owner of `/proc/PID` is no help: it is the administrator where a program keeps others out of its memory, as this one
/// does.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "files of the kernel")]
fn count_processes() -> usize {
    let user = rustix::process::getuid().as_raw();
    let is_number =
        |entry: &std::fs::DirEntry| entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter(is_number);
    let statuses = all.filter_map(|entry| std::fs::read(entry.path().join("status")).ok());
    statuses.map(|status| count_user_threads(&lossy_text(&status), user)).sum()
}

/// How many threads a process has, if it is this user's.
#[cfg(target_os = "linux")]
fn count_user_threads(status: &str, user: u32) -> usize {
    let first_of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse::<u32>().ok())
    };
    if first_of("Uid:") == Some(user) { first_of("Threads:").map_or(1, |threads| threads as usize) } else { 0 }
}

#[cfg(not(target_os = "linux"))]
fn count_processes() -> usize {
    /// Somebody who works at this machine has about so many.
    const TYPICAL_PROCESS_COUNT: usize = 256;
    TYPICAL_PROCESS_COUNT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn threads_are_counted_for_their_real_user() {
        let status = "Name:\tUid: 7\nUid:\t1000\t1001\t0\t0\nThreads:\t12\n";
        assert_eq!(
            (count_user_threads(status, 1000), count_user_threads(status, 1001), count_user_threads("", 0)),
            (12, 0, 0)
        );
        assert!(count_processes() > 0);
    }

    #[test]
    fn oom_kills_are_parsed() {
        assert_eq!(parse_oom_kills("oom_kill_disable 7\nx 1\noom_kill 12\n"), 12);
        assert_eq!(parse_oom_kills("") + parse_oom_kills("oom_kill x"), 0);
    }
}
