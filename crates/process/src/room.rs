//! How much may run at once: places in rooms, first come, first served, as many as this program's limits leave. What is
//! in a room and how long it stays is its owner's business.

use std::sync::{Arc, OnceLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::system::limits;

/// The descriptors that one run holds while it starts: three pipes with two ends each, and a handle on the process.
const PER_RUN: usize = 7;
/// The processes that one run may well consist of.
const PROCESSES_PER_RUN: usize = 3;
/// Kept back for the program itself: its transcript, its log, telemetry, the network, settings that are read again.
const RESERVE: usize = 64;
/// More at once only get in one another's way.
const MOST: usize = 256;

/// A number of places. Cheap to clone; clones are the same room.
#[derive(Clone, Debug)]
pub struct Room {
    places: Arc<Semaphore>,
    size: usize,
}

/// A place in a room, free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    _held: Option<OwnedSemaphorePermit>,
}

impl Room {
    /// A room with so many places, at least one.
    pub fn new(size: usize) -> Self {
        let size = size.clamp(1, Semaphore::MAX_PERMITS);
        Room { places: Arc::new(Semaphore::new(size)), size }
    }

    /// How many places there are, free or not.
    pub fn size(&self) -> usize {
        self.size
    }

    /// A place now, if there is one and nobody waits for it.
    pub fn try_enter(&self) -> Option<Place> {
        self.places.clone().try_acquire_owned().ok().map(|held| Place { _held: Some(held) })
    }

    /// Waits for a place. Whoever came earlier is served earlier; dropping the future gives up the wait.
    pub async fn enter(&self) -> Place {
        // It only fails for a room that was closed, and nobody closes one.
        Place { _held: self.places.clone().acquire_owned().await.ok() }
    }
}

/// What of this program's descriptors and processes is whose. Each share is apart from the others, so that one who takes
/// all of its own takes nothing of theirs.
#[derive(Debug)]
pub struct Shares {
    /// Commands that the program's rules depend on.
    pub guards: Room,
    /// Commands that somebody asked for, while they run and for as long as anything they left behind is listened to.
    pub commands: Room,
    /// The most processes of this user that may be there when one of those starts another, if there is a limit at all:
    /// the rest is for the others.
    pub command_processes: Option<usize>,
    /// Jobs of the program that may open a file or start a thread.
    pub jobs: Room,
    /// How many processes the system had killed for want of memory by then.
    killed: u64,
}

impl Shares {
    /// This program's, by its limits at the first call; [`raise_descriptor_limit`](crate::raise_descriptor_limit) comes
    /// before that.
    pub fn of_process() -> &'static Shares {
        static SHARES: OnceLock<Shares> = OnceLock::new();
        SHARES.get_or_init(|| {
            let shares = Shares::out_of(limits::descriptors(), limits::processes());
            let [guards, commands, jobs] = [&shares.guards, &shares.commands, &shares.jobs].map(Room::size);
            tracing::debug!(guards, commands, jobs, "what may run at once");
            shares
        })
    }

    /// Whether the system has killed processes for want of memory since the first call.
    pub fn ran_out_of_memory(&self) -> bool {
        limits::killed_for_memory() > self.killed
    }

    fn out_of(descriptors: Use, processes: Use) -> Shares {
        let limited = processes.limit < usize::MAX;
        let command_processes = limited.then(|| processes.limit - RESERVE.min(processes.limit / 4));
        let descriptors = descriptors.free(RESERVE);
        let processes = processes.free(RESERVE / PROCESSES_PER_RUN);
        let room = |parts: usize, of_descriptors: usize, of_processes: usize, most: usize| {
            let by_descriptors = descriptors / 8 * parts / of_descriptors;
            Room::new(by_descriptors.min(processes / 8 * parts / of_processes).min(most))
        };
        Shares {
            guards: room(4, PER_RUN, PROCESSES_PER_RUN, MOST),
            commands: room(3, PER_RUN, PROCESSES_PER_RUN, MOST / 2),
            command_processes,
            jobs: room(1, 1, 1, MOST / 4),
            killed: limits::killed_for_memory(),
        }
    }
}

/// Starts so many threads at once, which end at once: the test of whether this machine has room for them, and for as many
/// processes, which count the same.
///
/// # Errors
/// The system's own, if one of them could not be started.
pub fn start_threads(count: usize) -> std::io::Result<()> {
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
pub fn expect_threads(count: usize) -> std::io::Result<()> {
    if limits::allow_threads() { Ok(()) } else { start_threads(count) }
}

/// Takes so many bytes at once and gives them back: the test of whether this program may have them.
///
/// # Errors
/// The system's own, if it may not.
pub fn take_memory(bytes: usize) -> std::io::Result<()> {
    let mut memory = Vec::<u8>::new();
    memory.try_reserve_exact(bytes).map_err(|_| crate::no_memory())?;
    // Nothing that nobody looks at is ever taken.
    std::hint::black_box(&memory);
    Ok(())
}

/// What there is of something, and how much of it is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) limit: usize,
    pub(crate) taken: usize,
}

impl Use {
    /// What is free, less a reserve, which is smaller where there is little.
    fn free(self, reserve: usize) -> usize {
        self.limit.saturating_sub(self.taken).saturating_sub(reserve.min(self.limit / 4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Use = Use { limit: usize::MAX, taken: 0 };

    fn sizes(descriptors: Use, processes: Use) -> [usize; 3] {
        let shares = Shares::out_of(descriptors, processes);
        [shares.guards, shares.commands, shares.jobs].map(|room| room.size())
    }

    #[test]
    fn shares_fit_into_what_is_free_and_leave_a_reserve() {
        for limit in [1, 7, 16, 64, 128, 256, 1024, 20_000, usize::MAX] {
            let [guards, commands, jobs] = sizes(Use { limit, taken: 12 }, ANY);
            assert!(guards >= 1 && commands >= 1 && jobs >= 1, "{limit}");
            let held = (guards + commands) * PER_RUN + jobs;
            assert!(limit < 64 || held + 12 <= limit - RESERVE.min(limit / 4), "{limit}: {guards} {commands} {jobs}");
        }
        assert_eq!(sizes(ANY, ANY), [256, 128, 64]);
        assert_eq!(sizes(Use { limit: 100, taken: 200 }, ANY), [1, 1, 1]);
        assert_eq!(sizes(ANY, Use { limit: 30, taken: 29 }), [1, 1, 1]);
        assert!(sizes(ANY, Use { limit: 1000, taken: 100 })[0] < 256);
        assert_eq!(Shares::out_of(ANY, ANY).command_processes, None);
        assert_eq!(Shares::out_of(ANY, Use { limit: 1000, taken: 100 }).command_processes, Some(936));
        assert_eq!(Shares::out_of(ANY, Use { limit: 1, taken: 100 }).command_processes, Some(1));
    }

    #[tokio::test]
    async fn whoever_comes_first_is_served_first() {
        let room = Room::new(1);
        let place = room.enter().await;
        assert!(room.try_enter().is_none());
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut waiting = Vec::new();
        for at in 0..20 {
            let (room, order) = (room.clone(), order.clone());
            waiting.push(tokio::spawn(async move {
                let _place = room.enter().await;
                order.lock().unwrap().push(at);
            }));
            tokio::task::yield_now().await;
        }
        drop(place);
        // Nobody overtakes those who wait.
        let last = room.enter().await;
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
        drop(last);
        for one in waiting {
            one.await.unwrap();
        }
        assert!(room.try_enter().is_some());
    }
}
