//! What is known of processes where the system has no marks: the numbers of groups, and who is in them.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal};

/// The mark that there is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Family;

/// Runs that end together.
#[derive(Debug, Default)]
pub(super) struct House {
    runs: AtomicU64,
}

impl House {
    pub(super) fn next(&self) -> Family {
        self.runs.fetch_add(1, Ordering::Relaxed);
        Family
    }

    /// How many runs there have been.
    pub(super) fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    pub(super) fn family(&self) -> Family {
        Family
    }
}

/// Whose processes are looked for.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) numbers: Vec<u32>,
}

/// How often nobody is found before that is believed.
pub(super) enum Sure {
    AtOnce,
}

/// A process in one of the groups.
#[derive(Debug)]
pub(super) struct Kin {
    pub(super) group: u32,
    pid: u32,
}

impl Kin {
    pub(super) fn lives(&self) -> bool {
        let pid = rustix::process::Pid::from_raw(self.pid.cast_signed());
        pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    }

    /// Its group was reached as a whole.
    pub(super) fn signal(&self, _: &[Signal]) -> io::Result<()> {
        Ok(())
    }
}

impl Search {
    pub(super) fn of(_: Family, numbers: Vec<u32>) -> Self {
        Search { numbers }
    }

    pub(super) fn and_unmarked(self) -> Self {
        self
    }

    pub(super) fn find(&self) -> io::Result<Vec<Kin>> {
        Ok(self.numbers.iter().flat_map(|group| members(*group).map(|pid| Kin { group: *group, pid })).collect())
    }

    pub(super) fn glance(&self) -> io::Result<Vec<u32>> {
        Ok(self.find()?.iter().map(|kin| kin.pid).collect())
    }

    pub(super) fn kill(&self, _: Sure) -> io::Result<()> {
        Ok(())
    }

    /// Whoever is forgotten stays.
    pub(super) fn let_stay(&self) -> io::Result<Vec<Kin>> {
        self.find()
    }
}

fn members(group: u32) -> impl Iterator<Item = u32> {
    let listed = std::process::Command::new("pgrep").arg("-g").arg(group.to_string()).output();
    let listed = listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let pids: Vec<u32> = listed.lines().filter_map(|line| line.trim().parse().ok()).collect();
    pids.into_iter()
}

/// Nobody is adopted here who could be dead.
pub(super) fn carriers(_: Family) -> io::Result<impl Iterator<Item = u32>> {
    Ok(std::iter::empty())
}

/// Nobody reads on: what is said then ends whoever says it.
pub(super) fn read_on(_: std::os::fd::OwnedFd) -> io::Result<()> {
    Ok(())
}

/// There is no watchdog that could go.
pub(super) fn rest() -> bool {
    false
}

/// Starts a process of this run.
pub(super) fn start(_: Family, start: impl FnOnce() -> io::Result<Pid>) -> io::Result<Pid> {
    start()
}
