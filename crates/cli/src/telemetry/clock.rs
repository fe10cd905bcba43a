//! The clock for telemetry records: the wall clock, read at the start of a turn, plus the monotonic time since then.
//!
//! If the wall clock is set during a turn, durations stay right. Whether time in which the machine slept counts depends
//! on the platform's monotonic clock.

use std::time::{Instant, SystemTime};

/// A reading of the wall clock, and the instant at which it was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct TelemetryClock {
    wall: SystemTime,
    read_at: Instant,
}

impl TelemetryClock {
    /// Reads the wall clock.
    pub(super) fn read() -> TelemetryClock {
        TelemetryClock { wall: SystemTime::now(), read_at: Instant::now() }
    }

    /// Returns the reading plus the time since then.
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
    fn the_wall_clock_is_read_once() {
        let (hour, minute) = (Duration::from_secs(3600), Duration::from_secs(60));
        let read = Instant::now() + hour;
        // This is the state after the wall clock was set back by an hour right after it was read.
        let clock = TelemetryClock { wall: SystemTime::now() + hour, read_at: read };
        assert_eq!(clock.wall_time_at(read + minute), clock.wall_time_at(read) + minute);
        assert_eq!(clock.wall_time_at(read - minute), clock.wall_time_at(read), "it never goes back");
    }
}
