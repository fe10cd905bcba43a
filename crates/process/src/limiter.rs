//! How much may run at once: places in rooms, first come, first served, as many as this program's limits leave. What is
//! in a room and how long it stays is its owner's business.

use std::sync::{Arc, OnceLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::system::limits;

/// The descriptors that one run holds while it starts: three pipes with two ends each, and a handle on the process.
const DESCRIPTORS_PER_RUN: usize = 7;
/// The processes that one run may well consist of.
const PROCESSES_PER_RUN: usize = 3;
/// Kept back for the program itself: its transcript, its log, telemetry, the network, settings that are read again.
const RESERVED_DESCRIPTORS: usize = 64;
/// More at once only get in one another's way.
const MAX_CONCURRENT_RUNS: usize = 256;

/// A number of places. Cheap to clone; clones are the same room.
#[derive(Clone, Debug)]
pub struct Limiter {
    semaphore: Arc<Semaphore>,
    capacity: usize,
}

/// A place in a room, free again when this is dropped.
#[derive(Debug)]
pub struct Permit {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Limiter {
    /// A room with so many places, at least one.
    pub fn new(size: usize) -> Self {
        let size = size.clamp(1, Semaphore::MAX_PERMITS);
        Limiter { semaphore: Arc::new(Semaphore::new(size)), capacity: size }
    }

    /// How many places there are, free or not.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// A place now, if there is one and nobody waits for it.
    pub fn try_acquire(&self) -> Option<Permit> {
        self.semaphore.clone().try_acquire_owned().ok().map(|held| Permit { _permit: Some(held) })
    }

    /// Waits for a place. Whoever came earlier is served earlier; dropping the future gives up the wait.
    pub async fn acquire(&self) -> Permit {
        // It only fails for a room that was closed, and nobody closes one.
        Permit { _permit: self.semaphore.clone().acquire_owned().await.ok() }
    }
}

/// What of this program's descriptors and processes is whose. Each share is apart from the others, so that one who takes
/// all of its own takes nothing of theirs.
#[derive(Debug)]
pub struct ProcessBudget {
    /// Commands that the program's rules depend on.
    pub guards: Limiter,
    /// Commands that somebody asked for, while they run and for as long as anything they left behind is listened to.
    pub commands: Limiter,
    /// The most processes of this user that may be there when one of those starts another, if there is a limit at all:
    /// the rest is for the others.
    pub max_command_processes: Option<usize>,
    /// Jobs of the program that may open a file or start a thread.
    pub jobs: Limiter,
    /// How many processes the system had killed for want of memory by then.
    initial_oom_kills: u64,
}

impl ProcessBudget {
    /// This program's, by its limits at the first call; [`raise_descriptor_limit`](crate::raise_descriptor_limit) comes
    /// before that.
    pub fn global() -> &'static ProcessBudget {
        static PROCESS_BUDGET: OnceLock<ProcessBudget> = OnceLock::new();
        PROCESS_BUDGET.get_or_init(|| {
            let shares = ProcessBudget::from_usage(limits::descriptor_usage(), limits::process_usage());
            let [guards, commands, jobs] = [&shares.guards, &shares.commands, &shares.jobs].map(Limiter::capacity);
            tracing::debug!(guards, commands, jobs, "what may run at once");
            shares
        })
    }

    /// Whether the system has killed processes for want of memory since the first call.
    pub fn ran_out_of_memory(&self) -> bool {
        limits::oom_kill_count() > self.initial_oom_kills
    }

    fn from_usage(descriptors: ResourceUsage, processes: ResourceUsage) -> ProcessBudget {
        let limited = processes.limit < usize::MAX;
        let command_processes = limited.then(|| processes.limit - RESERVED_DESCRIPTORS.min(processes.limit / 4));
        let descriptors = descriptors.available(RESERVED_DESCRIPTORS);
        let processes = processes.available(RESERVED_DESCRIPTORS / PROCESSES_PER_RUN);
        let room = |parts: usize, of_descriptors: usize, of_processes: usize, most: usize| {
            let by_descriptors = descriptors / 8 * parts / of_descriptors;
            Limiter::new(by_descriptors.min(processes / 8 * parts / of_processes).min(most))
        };
        ProcessBudget {
            guards: room(4, DESCRIPTORS_PER_RUN, PROCESSES_PER_RUN, MAX_CONCURRENT_RUNS),
            commands: room(3, DESCRIPTORS_PER_RUN, PROCESSES_PER_RUN, MAX_CONCURRENT_RUNS / 2),
            max_command_processes: command_processes,
            jobs: room(1, 1, 1, MAX_CONCURRENT_RUNS / 4),
            initial_oom_kills: limits::oom_kill_count(),
        }
    }
}

/// Starts so many threads at once, which end at once: the test of whether this machine has room for them, and for as many
/// processes, which count the same.
///
/// # Errors
/// The system's own, if one of them could not be started.
pub fn probe_threads(count: usize) -> std::io::Result<()> {
    let gate = std::sync::RwLock::new(());
    std::thread::scope(|scope| {
        let start = || std::thread::Builder::new().spawn_scoped(scope, || drop(gate.read())).map(drop);
        // They wait for this, and end with it.
        let _closed = gate.write();
        (0..count).try_for_each(|_| start())
    })
}

/// The same test for a program that is about to start its own, and takes time only where a limit of its own could stand in
/// the way. Where somebody else's does, it finds out when it starts them.
///
/// # Errors
/// As [`start_threads`].
pub fn probe_threads_if_limited(count: usize) -> std::io::Result<()> {
    if limits::are_threads_unlimited() { Ok(()) } else { probe_threads(count) }
}

/// Takes so many bytes at once and gives them back: the test of whether this program may have them.
///
/// # Errors
/// The system's own, if it may not.
pub fn probe_memory(bytes: usize) -> std::io::Result<()> {
    let mut memory = Vec::<u8>::new();
    memory.try_reserve_exact(bytes).map_err(|_| crate::out_of_memory_error())?;
    // Nothing that nobody looks at is ever taken.
    std::hint::black_box(&memory);
    Ok(())
}

/// What there is of something, and how much of it is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceUsage {
    pub(crate) limit: usize,
    pub(crate) used: usize,
}

impl ResourceUsage {
    /// What is free, less a reserve, which is smaller where there is little.
    fn available(self, reserve: usize) -> usize {
        self.limit.saturating_sub(self.used).saturating_sub(reserve.min(self.limit / 4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNLIMITED: ResourceUsage = ResourceUsage { limit: usize::MAX, used: 0 };

    fn capacities(descriptors: ResourceUsage, processes: ResourceUsage) -> [usize; 3] {
        let shares = ProcessBudget::from_usage(descriptors, processes);
        [shares.guards, shares.commands, shares.jobs].map(|room| room.capacity())
    }

    #[test]
    fn budget_fits_available_resources_and_leaves_a_reserve() {
        for limit in [1, 7, 16, 64, 128, 256, 1024, 20_000, usize::MAX] {
            let [guards, commands, jobs] = capacities(ResourceUsage { limit, used: 12 }, UNLIMITED);
            assert!(guards >= 1 && commands >= 1 && jobs >= 1, "{limit}");
            let held = (guards + commands) * DESCRIPTORS_PER_RUN + jobs;
            assert!(
                limit < 64 || held + 12 <= limit - RESERVED_DESCRIPTORS.min(limit / 4),
                "{limit}: {guards} {commands} {jobs}"
            );
        }
        assert_eq!(capacities(UNLIMITED, UNLIMITED), [256, 128, 64]);
        assert_eq!(capacities(ResourceUsage { limit: 100, used: 200 }, UNLIMITED), [1, 1, 1]);
        assert_eq!(capacities(UNLIMITED, ResourceUsage { limit: 30, used: 29 }), [1, 1, 1]);
        assert!(capacities(UNLIMITED, ResourceUsage { limit: 1000, used: 100 })[0] < 256);
        assert_eq!(ProcessBudget::from_usage(UNLIMITED, UNLIMITED).max_command_processes, None);
        assert_eq!(
            ProcessBudget::from_usage(UNLIMITED, ResourceUsage { limit: 1000, used: 100 }).max_command_processes,
            Some(936)
        );
        assert_eq!(
            ProcessBudget::from_usage(UNLIMITED, ResourceUsage { limit: 1, used: 100 }).max_command_processes,
            Some(1)
        );
    }

    #[tokio::test]
    async fn permits_are_granted_in_fifo_order() {
        let room = Limiter::new(1);
        let place = room.acquire().await;
        assert!(room.try_acquire().is_none());
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut waiting = Vec::new();
        for at in 0..20 {
            let (room, order) = (room.clone(), order.clone());
            waiting.push(tokio::spawn(async move {
                let _place = room.acquire().await;
                order.lock().unwrap().push(at);
            }));
            tokio::task::yield_now().await;
        }
        drop(place);
        // Nobody overtakes those who wait.
        let last = room.acquire().await;
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
        drop(last);
        for one in waiting {
            one.await.unwrap();
        }
        assert!(room.try_acquire().is_some());
    }
}
