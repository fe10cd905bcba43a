//! The time that records carry: the wall clock's when the turn began, and how long it has gone on since. A wall clock that
//! is set meanwhile makes nothing take minus an hour; time that the machine slept through is nobody's.

use std::time::{Instant, SystemTime};

/// What the wall clock said, and when that was.
#[derive(Clone, Copy, Debug)]
pub(super) struct TelemetryClock {
    wall: SystemTime,
    read_at: Instant,
}

impl TelemetryClock {
    /// Looks at the wall clock.
    pub(super) fn read() -> TelemetryClock {
        TelemetryClock { wall: SystemTime::now(), read_at: Instant::now() }
    }

    /// The time now.
    pub(super) fn now(&self) -> SystemTime {
        self.wall_time_at(Instant::now())
    }

    fn wall_time_at(&self, now: Instant) -> SystemTime {
        let since = now.saturating_duration_since(self.read_at);
        self.wall.checked_add(since).unwrap_or(self.wall)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_wall_clock_is_looked_at_once() {
        let (hour, minute) = (Duration::from_secs(3600), Duration::from_secs(60));
        let read = Instant::now() + hour;
        // As if somebody had set the wall clock an hour back right after it was read.
        let clock = TelemetryClock { wall: SystemTime::now() + hour, read_at: read };
        assert_eq!(clock.wall_time_at(read + minute), clock.wall_time_at(read) + minute);
        assert_eq!(clock.wall_time_at(read - minute), clock.wall_time_at(read), "it never goes back");
    }
}
