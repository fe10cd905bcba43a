//! Marks: a value that every process started here carries, and that all its descendants inherit.
//!
//! A mark is a value of the limit on file locks (`RLIMIT_LOCKS`). Linux has not enforced that limit since 2.4, so that
//! any value does no harm. It is inherited by every child and survives `exec`, new sessions, new parents and a cleared
//! environment. A process can remove its mark, but none does so by accident; descendants by parentage are found all the
//! same (`descendants.rs`). Where the limit cannot be set there are no marks.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::sys;

/// The bits of a mark that number the runs of one allocator; below, those that number the allocators of one program.
const RUN_BITS: u32 = 20;
const ALLOCATOR_BITS: u32 = 20;

/// The first mark of this program. Bit 62 keeps marks apart from limits that a user might set.
static PROGRAM_MARK: LazyLock<u64> = LazyLock::new(|| {
    let random = RandomState::new().hash_one(std::process::id());
    (1 << 62) | (random >> 2 & !((1 << (RUN_BITS + ALLOCATOR_BITS)) - 1))
});

/// The mark of processes that may outlive the program. A process cannot derive it from its own mark.
static DETACHED_MARK: LazyLock<u64> = LazyLock::new(|| (1 << 62) | RandomState::new().hash_one(*PROGRAM_MARK) >> 2);

/// Whether the system has refused to mark a process.
static MARKING_FAILED: AtomicBool = AtomicBool::new(false);

/// Whether processes get their mark before their first instruction.
static MARKED_AT_SPAWN: AtomicBool = AtomicBool::new(false);

/// Makes processes start with their mark from now on.
pub(super) fn set_marked_at_spawn() {
    MARKED_AT_SPAWN.store(true, Ordering::Relaxed);
}

/// Returns whether every process that was started carries a mark, unless it removed it.
pub(super) fn are_marks_reliable() -> bool {
    MARKED_AT_SPAWN.load(Ordering::Relaxed) && !MARKING_FAILED.load(Ordering::Relaxed)
}

/// A range of consecutive marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessMarkRange {
    first: u64,
    last: u64,
    /// The mark of detached processes, which is not in the range.
    detached_mark: u64,
}

impl ProcessMarkRange {
    /// Returns the range of all marks of this program.
    pub(super) fn of_program() -> Self {
        Self::from_program_mark(*PROGRAM_MARK).with_detached_mark(*DETACHED_MARK)
    }

    fn from_program_mark(first: u64) -> Self {
        ProcessMarkRange { first, last: first + (1 << (RUN_BITS + ALLOCATOR_BITS)) - 1, detached_mark: 0 }
    }

    /// Returns the range with this mark for detached processes.
    pub(super) fn with_detached_mark(self, staying: u64) -> Self {
        ProcessMarkRange { detached_mark: staying, ..self }
    }

    /// Formats the range for another process; [`parse`](Self::parse) reads it.
    pub(super) fn to_hex(self) -> String {
        format!("{:x}", self.first)
    }

    /// Parses the range of a whole program.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let first = u64::from_str_radix(name, 16).ok()?;
        let plausible = first >> 62 == 1 && first.trailing_zeros() >= RUN_BITS + ALLOCATOR_BITS;
        plausible.then(|| Self::from_program_mark(first))
    }

    pub(super) fn contains(self, mark: u64) -> bool {
        (self.first..=self.last).contains(&mark)
    }

    /// Returns whether the mark is that of detached processes in the program of this range.
    pub(super) fn is_detached_mark(self, mark: u64) -> bool {
        mark == self.detached_mark
    }
}

/// Returns the mark of detached processes for the watchdog. It is a secret.
pub(super) fn detached_mark() -> u64 {
    *DETACHED_MARK
}

/// The marks of runs that end together.
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
    /// Returns a range that holds only the mark of a new run.
    pub(super) fn next_run(&self) -> ProcessMarkRange {
        let mark = self.first | self.run_count.fetch_add(1, Ordering::Relaxed) & ((1 << RUN_BITS) - 1);
        ProcessMarkRange { first: mark, last: mark, detached_mark: *DETACHED_MARK }
    }

    pub(super) fn range(&self) -> ProcessMarkRange {
        ProcessMarkRange { first: self.first, last: self.first | ((1 << RUN_BITS) - 1), detached_mark: *DETACHED_MARK }
    }

    /// Returns how many runs there have been.
    pub(super) fn run_count(&self) -> u64 {
        self.run_count.load(Ordering::Relaxed)
    }
}

/// The mark with which a process is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessMark {
    /// The mark of one run.
    Run(ProcessMarkRange),
    /// The mark of processes that may outlive this program.
    Detached,
    /// No mark, not even one that this program carries itself.
    Unmarked,
}

/// Starts a process with a mark, which it inherits from this program's own limit for the time of the start.
///
/// The process therefore has the mark from its first moment. The caller makes sure that one process starts at a time.
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

/// Marks a process that was just started. What it has started before is found by its session and parents.
pub(super) fn set_run_mark(pid: u32, run: ProcessMarkRange) {
    // A process that has ended already needs no mark.
    let _ = sys::set_lock_limit(pid, run.first);
}

/// Lets a process, and whatever it starts from now on, outlive this program.
pub(super) fn set_detached_mark(pid: u32) -> io::Result<()> {
    match sys::set_lock_limit(pid, *DETACHED_MARK) {
        // A process that has ended meanwhile needs no mark.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => Ok(()),
        set => set,
    }
}

/// Returns the mark of a process, if it has one and its limits can be read.
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
