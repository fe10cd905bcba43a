//! Limits on how much runs at once: semaphores with FIFO permits, sized by the limits that the system sets this
//! program.

use std::sync::{Arc, OnceLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::system::limits;

/// The descriptors that one run holds while it starts: three pipes with two ends each, and a pidfd.
const DESCRIPTORS_PER_RUN: usize = 7;
/// The processes that one run is assumed to consist of.
const PROCESSES_PER_RUN: usize = 3;
/// The descriptors kept back for the program itself: transcript, log, telemetry, network, settings that are read again.
const RESERVED_SLOTS: usize = 64;
/// The most runs at once, whatever the limits allow: more only slow one another down.
const MAX_CONCURRENT_RUNS: usize = 256;

/// A semaphore with a fixed number of permits. Clones are cheap and share the permits.
#[derive(Clone, Debug)]
pub struct Limiter {
    semaphore: Arc<Semaphore>,
    capacity: usize,
}

/// A permit of a [`Limiter`], which is released when this is dropped.
#[derive(Debug)]
pub struct Permit {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Limiter {
    /// Creates a limiter with this number of permits, at least one.
    pub fn new(size: usize) -> Self {
        let size = size.clamp(1, Semaphore::MAX_PERMITS);
        Limiter { semaphore: Arc::new(Semaphore::new(size)), capacity: size }
    }

    /// Returns the number of permits, free or not.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Takes a permit if one is free and no caller waits for it.
    pub fn try_acquire(&self) -> Option<Permit> {
        self.semaphore.clone().try_acquire_owned().ok().map(|held| Permit { _permit: Some(held) })
    }

    /// Waits for a permit, in the order of the calls. Dropping the future gives up the wait.
    pub async fn acquire(&self) -> Permit {
        // Only a closed semaphore fails, and this one is never closed.
        Permit { _permit: self.semaphore.clone().acquire_owned().await.ok() }
    }
}

/// The shares of this program's descriptors and processes for hooks, commands and jobs.
///
/// The shares are separate, so that a share that is used up takes nothing from the others.
#[derive(Debug)]
pub struct ProcessBudget {
    /// Permits for hooks: commands and HTTP requests.
    pub hooks: Limiter,
    /// Permits for commands that the user or the model asked for, held until their output is closed.
    pub commands: Limiter,
    /// The most processes of this user that may exist when a command starts another one, if there is a limit at all.
    ///
    /// The rest is for hooks and jobs.
    pub max_command_processes: Option<usize>,
    /// Permits for jobs of the program that may open a file or start a thread.
    pub jobs: Limiter,
    /// The number of processes that the OOM killer had killed when the budget was made.
    initial_oom_kills: u64,
}

impl ProcessBudget {
    /// Returns the budget of this program, made at the first call from the limits at that time.
    ///
    /// [`raise_descriptor_limit`](crate::raise_descriptor_limit) has to be called before it.
    pub fn global() -> &'static ProcessBudget {
        static PROCESS_BUDGET: OnceLock<ProcessBudget> = OnceLock::new();
        PROCESS_BUDGET.get_or_init(|| {
            let shares = ProcessBudget::from_usage(limits::descriptor_usage(), limits::process_usage());
            let [hooks, commands, jobs] = [&shares.hooks, &shares.commands, &shares.jobs].map(Limiter::capacity);
            tracing::debug!(hooks, commands, jobs, "what may run at once");
            shares
        })
    }

    /// Returns whether the OOM killer has killed a process since the budget was made.
    pub fn ran_out_of_memory(&self) -> bool {
        limits::oom_kill_count() > self.initial_oom_kills
    }

    fn from_usage(descriptors: ResourceUsage, processes: ResourceUsage) -> ProcessBudget {
        let limited = processes.limit < usize::MAX;
        let command_processes = limited.then(|| processes.limit - RESERVED_SLOTS.min(processes.limit / 4));
        let descriptors = descriptors.available(RESERVED_SLOTS);
        let processes = processes.available(RESERVED_SLOTS / PROCESSES_PER_RUN);
        let share_limiter = |parts: usize, of_descriptors: usize, of_processes: usize, most: usize| {
            let by_descriptors = descriptors / 8 * parts / of_descriptors;
            Limiter::new(by_descriptors.min(processes / 8 * parts / of_processes).min(most))
        };
        ProcessBudget {
            hooks: share_limiter(4, DESCRIPTORS_PER_RUN, PROCESSES_PER_RUN, MAX_CONCURRENT_RUNS),
            commands: share_limiter(3, DESCRIPTORS_PER_RUN, PROCESSES_PER_RUN, MAX_CONCURRENT_RUNS / 2),
            max_command_processes: command_processes,
            jobs: share_limiter(1, 1, 1, MAX_CONCURRENT_RUNS / 4),
            initial_oom_kills: limits::oom_kill_count(),
        }
    }
}

/// Starts this number of threads at once, which end at once, to test whether the machine has room for them.
///
/// Processes count against the same limit.
///
/// # Errors
/// Returns the system's error if a thread could not be started.
pub fn probe_threads(count: usize) -> std::io::Result<()> {
    let gate = std::sync::RwLock::new(());
    std::thread::scope(|scope| {
        let start = || std::thread::Builder::new().spawn_scoped(scope, || drop(gate.read())).map(drop);
        // The threads wait for this lock, and end once it is released.
        let _closed = gate.write();
        (0..count).try_for_each(|_| start())
    })
}

/// Does the same test, but only if a limit of this program's own could prevent it from starting threads.
///
/// A limit that is set elsewhere, as by a container, shows itself when the threads are started.
///
/// # Errors
/// Returns the errors of [`probe_threads`].
pub fn probe_threads_if_limited(count: usize) -> std::io::Result<()> {
    if limits::are_threads_unlimited() { Ok(()) } else { probe_threads(count) }
}

/// Allocates this number of bytes and frees them, to test whether this program may have them.
///
/// # Errors
/// Returns the system's error if it may not.
pub fn probe_memory(bytes: usize) -> std::io::Result<()> {
    let mut memory = Vec::<u8>::new();
    memory.try_reserve_exact(bytes).map_err(|_| crate::out_of_memory_error())?;
    // Without a use, the optimiser would remove the allocation.
    std::hint::black_box(&memory);
    Ok(())
}

/// The limit of a resource and how much of it is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceUsage {
    pub(crate) limit: usize,
    pub(crate) used: usize,
}

impl ResourceUsage {
    /// Returns the free amount less a reserve, which is at most a quarter of the limit.
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
        [shares.hooks, shares.commands, shares.jobs].map(|room| room.capacity())
    }

    #[test]
    fn budget_fits_available_resources_and_leaves_a_reserve() {
        for limit in [1, 7, 16, 64, 128, 256, 1024, 20_000, usize::MAX] {
            let [hooks, commands, jobs] = capacities(ResourceUsage { limit, used: 12 }, UNLIMITED);
            assert!(hooks >= 1 && commands >= 1 && jobs >= 1, "{limit}");
            let held = (hooks + commands) * DESCRIPTORS_PER_RUN + jobs;
            assert!(
                limit < 64 || held + 12 <= limit - RESERVED_SLOTS.min(limit / 4),
                "{limit}: {hooks} {commands} {jobs}"
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
        // The permit is granted after all earlier waiters had theirs.
        let last = room.acquire().await;
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
        drop(last);
        for one in waiting {
            one.await.unwrap();
        }
        assert!(room.try_acquire().is_some());
    }
}
