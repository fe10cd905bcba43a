//! The system's limits on this program: reads them, raises some, and restores them for child processes.

use std::io::Read;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limiter::ResourceUsage;

/// The limit on descriptors before it was raised.
static ORIGINAL_DESCRIPTOR_LIMIT: OnceLock<Rlimit> = OnceLock::new();

/// The most that macOS accepts, whatever the hard limit says.
#[cfg(target_vendor = "apple")]
const MAX_DESCRIPTORS: u64 = 10_240;
/// The most that is asked for: the program never needs more.
#[cfg(not(target_vendor = "apple"))]
const MAX_DESCRIPTORS: u64 = 1 << 20;

/// Raises this program's limit on descriptors to the hard limit, at most `MAX_DESCRIPTORS`.
///
/// On Linux the programs that it starts get the old limit back, because some of them try every number up to the limit.
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

/// Reserves stack for the main thread, which has to be the caller, and returns whether it succeeded.
///
/// Otherwise the stack grows as it is used, and where a limit on memory prevents that, the system kills the program
/// without a message.
pub fn reserve_stack(bytes: usize) -> bool {
    as_count(getrlimit(Resource::Stack).current) >= bytes && grow_stack(bytes)
}

#[cfg(target_os = "linux")]
fn grow_stack(bytes: usize) -> bool {
    super::sys::grow_stack(bytes).is_ok()
}

/// Succeeds: the whole stack is there from the start.
#[cfg(not(target_os = "linux"))]
fn grow_stack(_: usize) -> bool {
    true
}

/// Makes all threads allocate from one malloc arena. Must be called before a second thread starts.
///
/// By default glibc reserves 64 MB of addresses for each thread, which a limit on memory (`ulimit -v`) does not allow,
/// and grows each arena page by page, which takes time in every short session.
#[cfg(target_env = "gnu")]
pub fn use_single_malloc_arena() {
    super::sys::use_single_malloc_arena();
}

/// Does nothing: the allocator of this system has no arenas per thread.
#[cfg(not(target_env = "gnu"))]
pub fn use_single_malloc_arena() {}

/// Gives a process that was just started the limit on descriptors that this one was started with.
#[cfg(target_os = "linux")]
pub(super) fn restore_descriptor_limit(to: rustix::process::Pid) {
    if let Some(before) = ORIGINAL_DESCRIPTOR_LIMIT.get()
        && before.current != getrlimit(Resource::Nofile).current
    {
        // A process with other privileges keeps the limit that it has.
        let _ = rustix::process::prlimit(Some(to), Resource::Nofile, *before);
    }
}

/// Does nothing: this system cannot set the limits of another process.
#[cfg(not(target_os = "linux"))]
pub(super) fn restore_descriptor_limit(_: rustix::process::Pid) {}

/// Returns how many processes the OOM killer has killed since boot; 0 if the system does not tell.
pub(crate) fn oom_kill_count() -> u64 {
    /// More than the file's length, which is not known before it is read.
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

/// Returns the limit and the number of this program's open descriptors.
pub(crate) fn descriptor_usage() -> ResourceUsage {
    /// The assumed number of open descriptors where they cannot be counted.
    const TYPICAL_OPEN_DESCRIPTORS: usize = 32;
    let limit = as_count(getrlimit(Resource::Nofile).current);
    let open = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    ResourceUsage { limit, used: std::fs::read_dir(open).map_or(TYPICAL_OPEN_DESCRIPTORS, Iterator::count) }
}

/// Returns the limit and the number of this user's processes, and of threads where the system counts them as such.
pub(crate) fn process_usage() -> ResourceUsage {
    match process_limit() {
        None => ResourceUsage { limit: usize::MAX, used: 0 },
        Some(limit) => ResourceUsage { limit, used: count_processes() },
    }
}

/// Returns whether no limit of this program's own prevents it from starting threads.
pub(crate) fn are_threads_unlimited() -> bool {
    process_limit().is_none() && getrlimit(Resource::As).current.is_none()
}

/// Returns how many processes this user may have, if that is few enough to matter.
fn process_limit() -> Option<usize> {
    /// The limit from which on processes are not counted: counting reads every process, and the number of permits does
    /// not depend on limits this high.
    const MAX_COUNTED_PROCESS_LIMIT: usize = 16_384;
    let exempt = rustix::process::getuid().is_root();
    Some(as_count(getrlimit(Resource::Nproc).current)).filter(|limit| !exempt && *limit < MAX_COUNTED_PROCESS_LIMIT)
}

/// Returns the resident memory of a process in bytes; `None` if the system does not tell.
#[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
pub(crate) fn resident_bytes(pid: u32) -> Option<u64> {
    let status = lossy_text(&std::fs::read(format!("/proc/{pid}/status")).ok()?);
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = resident.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// Converts a status file to text. A process chooses its own name, which need not be UTF-8.
fn lossy_text(status: &[u8]) -> String {
    String::from_utf8_lossy(status).into_owned()
}

fn as_count(limit: Option<u64>) -> usize {
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// Returns the number of this user's processes and threads.
///
/// The owner of `/proc/PID` is no help: it is root for programs that forbid inspection of their memory, as this one
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

/// Returns how many threads a process has, if it is this user's, else 0.
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
    /// The assumed number of processes of a desktop user.
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
