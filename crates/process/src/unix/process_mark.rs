//! Marks: what a process that we started carries, and every process that it starts in turn, wherever it goes.
//!
//! A mark is a value of the limit on file locks. Linux has the limit and has not looked at it since 2.4, so that any
//! value is as good as none; it is inherited by every child and survives new programs, sessions, parents and an emptied
//! environment. A process can take its mark off, but nobody does so by accident. Who descends from us by parentage is
//! known all the same (`descendants.rs`). Where the limit can't be set there are no marks.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::sys;

/// How many bits tell the runs of one house apart, and how many the houses of one program.
const RUN_BITS: u32 = 20;
const ALLOCATOR_BITS: u32 = 20;

/// The first mark of this program. The highest bit but one keeps it from every limit that somebody might mean.
static PROGRAM_MARK: LazyLock<u64> = LazyLock::new(|| {
    let random = RandomState::new().hash_one(std::process::id());
    (1 << 62) | (random >> 2 & !((1 << (RUN_BITS + ALLOCATOR_BITS)) - 1))
});

/// The mark of those that may stay when the program goes: nothing that a process could work out from its own.
static DETACHED_MARK: LazyLock<u64> = LazyLock::new(|| (1 << 62) | RandomState::new().hash_one(*PROGRAM_MARK) >> 2);

/// Whether the system has refused to mark a process.
static MARKING_FAILED: AtomicBool = AtomicBool::new(false);

/// Whether processes have their mark from birth.
static MARKED_AT_SPAWN: AtomicBool = AtomicBool::new(false);

/// From now on processes are born with their marks.
pub(super) fn set_marked_at_spawn() {
    MARKED_AT_SPAWN.store(true, Ordering::Relaxed);
}

/// Whether whoever was started carries a mark for sure, unless it took it off.
pub(super) fn are_marks_reliable() -> bool {
    MARKED_AT_SPAWN.load(Ordering::Relaxed) && !MARKING_FAILED.load(Ordering::Relaxed)
}

/// Marks next to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessMarkRange {
    first: u64,
    last: u64,
    /// Not one of them: that of those that may stay.
    detached_mark: u64,
}

impl ProcessMarkRange {
    /// All that this program starts.
    pub(super) fn of_program() -> Self {
        Self::from_program_mark(*PROGRAM_MARK).with_detached_mark(*DETACHED_MARK)
    }

    fn from_program_mark(first: u64) -> Self {
        ProcessMarkRange { first, last: first + (1 << (RUN_BITS + ALLOCATOR_BITS)) - 1, detached_mark: 0 }
    }

    /// The same, with the mark of those that may stay.
    pub(super) fn with_detached_mark(self, staying: u64) -> Self {
        ProcessMarkRange { detached_mark: staying, ..self }
    }

    /// As words for another program; [`parse`](Self::parse) reads them.
    pub(super) fn to_hex(self) -> String {
        format!("{:x}", self.first)
    }

    /// A whole program's family.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let first = u64::from_str_radix(name, 16).ok()?;
        let plausible = first >> 62 == 1 && first.trailing_zeros() >= RUN_BITS + ALLOCATOR_BITS;
        plausible.then(|| Self::from_program_mark(first))
    }

    pub(super) fn contains(self, mark: u64) -> bool {
        (self.first..=self.last).contains(&mark)
    }

    /// Whether the mark says that the process may stay, in the program that this family is of.
    pub(super) fn is_detached_mark(self, mark: u64) -> bool {
        mark == self.detached_mark
    }
}

/// What tells a watchdog whom to leave alone; a secret.
pub(super) fn detached_mark() -> u64 {
    *DETACHED_MARK
}

/// Runs that end together.
#[derive(Debug)]
pub(super) struct ProcessMarkAllocator {
    first: u64,
    run_count: AtomicU64,
}

impl Default for ProcessMarkAllocator {
    fn default() -> Self {
        static ALLOCATOR_COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = ALLOCATOR_COUNTER.fetch_add(1, Ordering::Relaxed) % (1 << ALLOCATOR_BITS);
        ProcessMarkAllocator { first: *PROGRAM_MARK | number << RUN_BITS, run_count: AtomicU64::new(0) }
    }
}

impl ProcessMarkAllocator {
    /// The mark of one more run, alone in its family.
    pub(super) fn next_run(&self) -> ProcessMarkRange {
        let mark = self.first | self.run_count.fetch_add(1, Ordering::Relaxed) & ((1 << RUN_BITS) - 1);
        ProcessMarkRange { first: mark, last: mark, detached_mark: *DETACHED_MARK }
    }

    pub(super) fn range(&self) -> ProcessMarkRange {
        ProcessMarkRange { first: self.first, last: self.first | ((1 << RUN_BITS) - 1), detached_mark: *DETACHED_MARK }
    }

    /// How many runs there have been.
    pub(super) fn run_count(&self) -> u64 {
        self.run_count.load(Ordering::Relaxed)
    }
}

/// What a process is started with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessMark {
    /// The mark of one run.
    Run(ProcessMarkRange),
    /// The mark of those that may stay when this program goes.
    Detached,
    /// No mark, not even one that this program carries itself.
    Unmarked,
}

/// Starts a process. Our own limit is what it begins with, so there is no moment without the mark; the caller sees to it
/// that one process is started at a time.
pub(super) fn spawn_with_mark<T>(how: ProcessMark, start: impl FnOnce() -> T) -> T {
    let current = match how {
        ProcessMark::Run(family) => Some(family.first),
        ProcessMark::Detached => Some(*DETACHED_MARK),
        ProcessMark::Unmarked => None,
    };
    let before = getrlimit(Resource::Locks);
    if let Err(error) = setrlimit(Resource::Locks, Rlimit { current, ..before }) {
        if !MARKING_FAILED.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "processes can't be marked: only their groups, sessions and parents are known");
        }
        return start();
    }
    let started = start();
    let _ = setrlimit(Resource::Locks, before);
    started
}

/// Marks a process that was just started. What it has started itself before this is known by its session and its parents.
pub(super) fn set_run_mark(pid: u32, run: ProcessMarkRange) {
    // One that has ended already needs no mark.
    let _ = sys::set_lock_limit(pid, run.first);
}

/// From now on this process, and whatever it starts, may stay when this program goes.
pub(super) fn set_detached_mark(pid: u32) -> io::Result<()> {
    match sys::set_lock_limit(pid, *DETACHED_MARK) {
        // Whoever has gone meanwhile needs no leave to stay.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => Ok(()),
        set => set,
    }
}

/// The mark of a process, if it has one and may be asked.
pub(super) fn read_mark(pid: u32) -> Option<u64> {
    sys::lock_limit(pid).filter(|mark| mark >> 62 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_testkit::deadline::*;

    #[test]
    fn mark_ranges_nest() {
        let (program, house, other) =
            (ProcessMarkRange::of_program(), ProcessMarkAllocator::default(), ProcessMarkAllocator::default());
        let (run, next) = (house.next_run(), house.next_run());
        assert_ne!(run, next);
        assert!(house.range().contains(run.first) && house.range().contains(next.first));
        assert!(!other.range().contains(run.first) && !run.contains(next.first));
        assert!(program.contains(run.first) && !program.is_detached_mark(run.first));
        assert!(program.is_detached_mark(*DETACHED_MARK) && !program.contains(*DETACHED_MARK));
        assert_eq!(
            ProcessMarkRange::parse(&program.to_hex()).map(|read| read.with_detached_mark(detached_mark())),
            Some(program)
        );
        for wrong in ["", "x", "0", "7fffffffffffffff", "4000000000000001"] {
            assert_eq!(ProcessMarkRange::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn child_is_marked_from_spawn() {
        let run = ProcessMarkAllocator::default().next_run();
        let sleep = || std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut child = {
            let _one_at_a_time = crate::system::child_registry::lock_registry();
            spawn_with_mark(ProcessMark::Run(run), sleep)
        };
        assert_eq!(read_mark(child.id()), Some(run.first));
        set_detached_mark(child.id()).unwrap();
        assert!(ProcessMarkRange::of_program().is_detached_mark(read_mark(child.id()).unwrap()));
        child.kill().unwrap();
        child.wait_in_time().unwrap();
        set_detached_mark(child.id()).expect("whoever is gone is in nobody's way");
    }
}
