//! Stand-ins for systems without process marks: only the numbers of groups and their members are known.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal};

/// An empty type in place of a range of marks, which this system cannot set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessMarkRange;

/// A counter of runs that end together.
#[derive(Debug, Default)]
pub(super) struct ProcessMarkAllocator {
    run_count: AtomicU64,
}

impl ProcessMarkAllocator {
    pub(super) fn next_run(&self) -> ProcessMarkRange {
        self.run_count.fetch_add(1, Ordering::Relaxed);
        ProcessMarkRange
    }

    /// Returns how many runs there have been.
    pub(super) fn run_count(&self) -> u64 {
        self.run_count.load(Ordering::Relaxed)
    }

    pub(super) fn range(&self) -> ProcessMarkRange {
        ProcessMarkRange
    }
}

/// The groups whose members are found.
#[derive(Debug)]
pub(super) struct DescendantQuery {
    pub(super) group_ids: Vec<u32>,
}

/// How many empty scans in a row prove that no process is left.
pub(super) enum EmptyScans {
    One,
}

/// A process in one of the groups.
#[derive(Debug)]
pub(super) struct ProcStat {
    pub(super) group: u32,
    pid: u32,
}

impl ProcStat {
    pub(super) fn is_alive(&self) -> bool {
        let pid = rustix::process::Pid::from_raw(self.pid.cast_signed());
        pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    }

    /// Does nothing: the caller has signalled the whole group.
    pub(super) fn signal(&self, _: &[Signal]) -> io::Result<()> {
        Ok(())
    }
}

impl DescendantQuery {
    pub(super) fn new(_: ProcessMarkRange, group_ids: Vec<u32>) -> Self {
        DescendantQuery { group_ids }
    }

    pub(super) fn with_unmarked_children(self) -> Self {
        self
    }

    pub(super) fn find(&self) -> io::Result<Vec<ProcStat>> {
        Ok(self.group_ids.iter().flat_map(|group| members(*group).map(|pid| ProcStat { group: *group, pid })).collect())
    }

    pub(super) fn find_pids(&self) -> io::Result<Vec<u32>> {
        Ok(self.find()?.iter().map(|process| process.pid).collect())
    }

    pub(super) fn kill_all(&self, _: EmptyScans) -> io::Result<()> {
        Ok(())
    }

    /// Returns the members. Once their group is forgotten, this program does not end them.
    pub(super) fn detach_all(&self) -> io::Result<Vec<ProcStat>> {
        self.find()
    }
}

fn members(group: u32) -> impl Iterator<Item = u32> {
    let listed = std::process::Command::new("pgrep").arg("-g").arg(group.to_string()).output();
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let pids: Vec<u32> = listed.lines().filter_map(|line| line.trim().parse().ok()).collect();
    pids.into_iter()
}

/// Returns no process: this system does not make this program adopt orphans that would have to be reaped.
pub(super) fn marked_pids(_: ProcessMarkRange) -> io::Result<impl Iterator<Item = u32>> {
    Ok(std::iter::empty())
}

/// Does nothing: no process reads on, so that a later write to the pipe ends its writer by SIGPIPE.
pub(super) fn drain_after_exit(_: std::os::fd::OwnedFd) -> io::Result<()> {
    Ok(())
}

/// Returns false: there is no watchdog on this system.
pub(super) fn dismiss_idle_watchdog() -> bool {
    false
}

/// Starts a process of this run, without a mark.
pub(super) fn spawn_marked(_: ProcessMarkRange, start: impl FnOnce() -> io::Result<Pid>) -> io::Result<Pid> {
    start()
}
