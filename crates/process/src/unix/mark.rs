//! Marks: what a process that we started carries, and every process that it starts in turn, wherever it goes.
//!
//! A mark is a value of the limit on file locks. Linux has the limit and has not looked at it since 2.4, so that any
//! value is as good as none; it is inherited by every child and survives new programs, sessions, parents and an emptied
//! environment. A process can take its mark off, but nobody does so by accident. Who descends from us by parentage is
//! known all the same (`kin.rs`). Where the limit can't be set there are no marks.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::sys;

/// How many bits tell the runs of one house apart, and how many the houses of one program.
const RUN: u32 = 20;
const HOUSE: u32 = 20;

/// The first mark of this program. The highest bit but one keeps it from every limit that somebody might mean.
static PROGRAM: LazyLock<u64> = LazyLock::new(|| {
    let random = RandomState::new().hash_one(std::process::id());
    (1 << 62) | (random >> 2 & !((1 << (RUN + HOUSE)) - 1))
});

/// The mark of those that may stay when the program goes: nothing that a process could work out from its own.
static STAYING: LazyLock<u64> = LazyLock::new(|| (1 << 62) | RandomState::new().hash_one(*PROGRAM) >> 2);

/// Whether the system has refused to mark a process.
static MISSING: AtomicBool = AtomicBool::new(false);

/// Whether processes have their mark from birth.
static FROM_BIRTH: AtomicBool = AtomicBool::new(false);

/// From now on processes are born with their marks.
pub(super) fn are_from_birth() {
    FROM_BIRTH.store(true, Ordering::Relaxed);
}

/// Whether whoever was started carries a mark for sure, unless it took it off.
pub(super) fn are_carried() -> bool {
    FROM_BIRTH.load(Ordering::Relaxed) && !MISSING.load(Ordering::Relaxed)
}

/// Marks next to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Family {
    first: u64,
    last: u64,
    /// Not one of them: that of those that may stay.
    staying: u64,
}

impl Family {
    /// All that this program starts.
    pub(super) fn of_program() -> Self {
        Self::of_program_with(*PROGRAM).staying(*STAYING)
    }

    fn of_program_with(first: u64) -> Self {
        Family { first, last: first + (1 << (RUN + HOUSE)) - 1, staying: 0 }
    }

    /// The same, with the mark of those that may stay.
    pub(super) fn staying(self, staying: u64) -> Self {
        Family { staying, ..self }
    }

    /// As words for another program; [`parse`](Self::parse) reads them.
    pub(super) fn name(self) -> String {
        format!("{:x}", self.first)
    }

    /// A whole program's family.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let first = u64::from_str_radix(name, 16).ok()?;
        let plausible = first >> 62 == 1 && first.trailing_zeros() >= RUN + HOUSE;
        plausible.then(|| Self::of_program_with(first))
    }

    pub(super) fn contains(self, mark: u64) -> bool {
        (self.first..=self.last).contains(&mark)
    }

    /// Whether the mark says that the process may stay, in the program that this family is of.
    pub(super) fn lets_stay(self, mark: u64) -> bool {
        mark == self.staying
    }
}

/// What tells a watchdog whom to leave alone; a secret.
pub(super) fn secret() -> u64 {
    *STAYING
}

/// Runs that end together.
#[derive(Debug)]
pub(super) struct House {
    first: u64,
    runs: AtomicU64,
}

impl Default for House {
    fn default() -> Self {
        static HOUSES: AtomicU64 = AtomicU64::new(0);
        let number = HOUSES.fetch_add(1, Ordering::Relaxed) % (1 << HOUSE);
        House { first: *PROGRAM | number << RUN, runs: AtomicU64::new(0) }
    }
}

impl House {
    /// The mark of one more run, alone in its family.
    pub(super) fn next(&self) -> Family {
        let mark = self.first | self.runs.fetch_add(1, Ordering::Relaxed) & ((1 << RUN) - 1);
        Family { first: mark, last: mark, staying: *STAYING }
    }

    pub(super) fn family(&self) -> Family {
        Family { first: self.first, last: self.first | ((1 << RUN) - 1), staying: *STAYING }
    }

    /// How many runs there have been.
    pub(super) fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }
}

/// What a process is started with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// The mark of one run.
    Run(Family),
    /// The mark of those that may stay when this program goes.
    Kept,
    /// No mark, not even one that this program carries itself.
    Bare,
}

/// Starts a process. Our own limit is what it begins with, so there is no moment without the mark; the caller sees to it
/// that one process is started at a time.
pub(super) fn with<T>(how: Start, start: impl FnOnce() -> T) -> T {
    let current = match how {
        Start::Run(family) => Some(family.first),
        Start::Kept => Some(*STAYING),
        Start::Bare => None,
    };
    let before = getrlimit(Resource::Locks);
    if let Err(error) = setrlimit(Resource::Locks, Rlimit { current, ..before }) {
        if !MISSING.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "processes can't be marked: only their groups, sessions and parents are known");
        }
        return start();
    }
    let started = start();
    let _ = setrlimit(Resource::Locks, before);
    started
}

/// Marks a process that was just started. What it has started itself before this is known by its session and its parents.
pub(super) fn put_on(pid: u32, run: Family) {
    // One that has ended already needs no mark.
    let _ = sys::set_lock_limit(pid, run.first);
}

/// From now on this process, and whatever it starts, may stay when this program goes.
pub(super) fn let_stay(pid: u32) -> io::Result<()> {
    match sys::set_lock_limit(pid, *STAYING) {
        // Whoever has gone meanwhile needs no leave to stay.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => Ok(()),
        set => set,
    }
}

/// The mark of a process, if it has one and may be asked.
pub(super) fn of(pid: u32) -> Option<u64> {
    sys::lock_limit(pid).filter(|mark| mark >> 62 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_testkit::deadline::*;

    #[test]
    fn families_lie_in_one_another() {
        let (program, house, other) = (Family::of_program(), House::default(), House::default());
        let (run, next) = (house.next(), house.next());
        assert_ne!(run, next);
        assert!(house.family().contains(run.first) && house.family().contains(next.first));
        assert!(!other.family().contains(run.first) && !run.contains(next.first));
        assert!(program.contains(run.first) && !program.lets_stay(run.first));
        assert!(program.lets_stay(*STAYING) && !program.contains(*STAYING));
        assert_eq!(Family::parse(&program.name()).map(|read| read.staying(secret())), Some(program));
        for wrong in ["", "x", "0", "7fffffffffffffff", "4000000000000001"] {
            assert_eq!(Family::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_child_has_its_mark_from_the_beginning() {
        let run = House::default().next();
        let sleep = || std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut child = with(Start::Run(run), sleep);
        assert_eq!(of(child.id()), Some(run.first));
        let_stay(child.id()).unwrap();
        assert!(Family::of_program().lets_stay(of(child.id()).unwrap()));
        child.kill().unwrap();
        child.wait_in_time().unwrap();
        let_stay(child.id()).expect("whoever is gone is in nobody's way");
    }
}
