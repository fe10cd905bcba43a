//! The deadline of a sub-agent, which is paused while the user is asked.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// A limit of working time.
#[derive(Debug)]
pub(crate) struct Deadline {
    limit: Duration,
    state: Mutex<DeadlineState>,
}

#[derive(Debug)]
struct DeadlineState {
    /// When the clock was last started or resumed.
    resumed_at: Instant,
    /// The time that had elapsed before `resumed_at`.
    elapsed_before: Duration,
    /// The number of open pauses.
    open_pauses: usize,
}

/// Pauses the deadline until it is dropped.
pub(crate) struct DeadlinePause<'d>(&'d Deadline);

impl Deadline {
    pub(crate) fn new(limit: Duration) -> Self {
        let state = DeadlineState { resumed_at: Instant::now(), elapsed_before: Duration::ZERO, open_pauses: 0 };
        Deadline { limit, state: Mutex::new(state) }
    }

    /// Pauses the deadline.
    pub(crate) fn pause(&self) -> DeadlinePause<'_> {
        self.with_state(|state| {
            state.elapsed_before = state.elapsed();
            state.open_pauses += 1;
        });
        DeadlinePause(self)
    }

    /// Cancels the work when the time is over, and returns only then.
    pub(crate) async fn cancel_when_expired(&self, work: &CancellationToken) {
        loop {
            let left = self.limit.saturating_sub(self.with_state(|state| state.elapsed()));
            if left.is_zero() {
                return work.cancel();
            }
            tokio::time::sleep(left).await;
        }
    }

    /// Returns whether the time is over.
    pub(crate) fn is_expired(&self) -> bool {
        self.with_state(|state| state.elapsed()) >= self.limit
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut DeadlineState) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DeadlineState {
    fn elapsed(&self) -> Duration {
        let running = if self.open_pauses == 0 { self.resumed_at.elapsed() } else { Duration::ZERO };
        self.elapsed_before.saturating_add(running)
    }
}

impl Drop for DeadlinePause<'_> {
    fn drop(&mut self) {
        self.0.with_state(|state| {
            state.open_pauses -= 1;
            state.resumed_at = Instant::now();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn deadline_is_paused_while_the_user_is_asked() {
        let deadline = Deadline::new(Duration::from_millis(20));
        let question = deadline.pause();
        let another = deadline.pause();
        tokio::time::sleep(Duration::from_millis(60)).await;
        drop(another);
        assert!(!deadline.is_expired());
        drop(question);
        let work = CancellationToken::new();
        deadline.cancel_when_expired(&work).await;
        assert!(work.is_cancelled() && deadline.is_expired());
    }
}
