//! A sub-agent's time: it runs while the agent works, and stands while somebody is asked something for it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// So much time to work.
#[derive(Debug)]
pub(crate) struct Deadline {
    limit: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When the clock was started, or started anew after a question.
    since: Instant,
    /// What it showed then.
    before: Duration,
    /// How many questions are open.
    questions: usize,
}

/// The clock stands for as long as this is there.
pub(crate) struct Standing<'d>(&'d Deadline);

impl Deadline {
    pub(crate) fn new(limit: Duration) -> Self {
        let state = State { since: Instant::now(), before: Duration::ZERO, questions: 0 };
        Deadline { limit, state: Mutex::new(state) }
    }

    /// Stops the clock.
    pub(crate) fn stand(&self) -> Standing<'_> {
        self.change(|state| {
            state.before = state.worked();
            state.questions += 1;
        });
        Standing(self)
    }

    /// Ends the work when its time is over. Never comes back by itself otherwise.
    pub(crate) async fn watch(&self, work: &CancellationToken) {
        loop {
            let left = self.limit.saturating_sub(self.change(|state| state.worked()));
            if left.is_zero() {
                return work.cancel();
            }
            tokio::time::sleep(left).await;
        }
    }

    /// Whether the time is over.
    pub(crate) fn is_over(&self) -> bool {
        self.change(|state| state.worked()) >= self.limit
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn worked(&self) -> Duration {
        let running = if self.questions == 0 { self.since.elapsed() } else { Duration::ZERO };
        self.before.saturating_add(running)
    }
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        self.0.change(|state| {
            state.questions -= 1;
            state.since = Instant::now();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn time_runs_only_while_nobody_is_asked() {
        let deadline = Deadline::new(Duration::from_millis(20));
        let question = deadline.stand();
        let another = deadline.stand();
        tokio::time::sleep(Duration::from_millis(60)).await;
        drop(another);
        assert!(!deadline.is_over());
        drop(question);
        let work = CancellationToken::new();
        deadline.watch(&work).await;
        assert!(work.is_cancelled() && deadline.is_over());
    }
}
