//! Runs work that may wait for the disk on a blocking thread, with a timeout.
//!
//! A network mount that does not respond must not freeze the session or its user interface.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The time after which the disk counts as not responding.
pub const DISK_TIMEOUT: Duration = Duration::from_secs(2);

/// The message for a value that could not be read within [`DISK_TIMEOUT`].
pub const DISK_TIMEOUT_MESSAGE: &str = "the disk did not answer within 2 seconds";

/// The maximum number of calls that wait for an unresponsive disk, each of which holds a thread; further calls fail at
/// once.
const MAX_STUCK_CALLS: usize = 16;

static STUCK_CALLS: AtomicUsize = AtomicUsize::new(0);

/// Runs work on a blocking thread; `None` if it takes longer than [`DISK_TIMEOUT`], in which case its result is
/// dropped.
pub async fn run_with_disk_timeout<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    run_with_timeout(DISK_TIMEOUT, &STUCK_CALLS, work).await
}

async fn run_with_timeout<T: Send + 'static>(
    timeout: Duration,
    stuck_calls: &'static AtomicUsize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if stuck_calls.load(Ordering::Relaxed) >= MAX_STUCK_CALLS {
        return None;
    }
    let mut task = tokio::task::spawn_blocking(work);
    let Ok(done) = tokio::time::timeout(timeout, &mut task).await else {
        tracing::warn!("{DISK_TIMEOUT_MESSAGE}");
        stuck_calls.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            let _ = task.await;
            stuck_calls.fetch_sub(1, Ordering::Relaxed);
        });
        return None;
    };
    match done {
        Ok(result) => Some(result),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, mpsc};
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn stuck_calls_are_abandoned_and_bounded() {
        static TEST_STUCK_CALLS: AtomicUsize = AtomicUsize::new(0);
        let (soon, ample) = (Duration::from_millis(10), Duration::from_secs(60));
        assert_eq!(run_with_timeout(ample, &TEST_STUCK_CALLS, || 1).await, Some(1));
        let (release, blocked) = mpsc::channel::<()>();
        let blocked = Arc::new(Mutex::new(blocked));
        for _ in 0..MAX_STUCK_CALLS {
            let blocked = blocked.clone();
            let stuck = run_with_timeout(soon, &TEST_STUCK_CALLS, move || {
                blocked.lock().unwrap().recv_timeout(Duration::from_secs(60)).is_err()
            });
            assert_eq!(stuck.await, None);
        }
        assert_eq!(run_with_timeout(ample, &TEST_STUCK_CALLS, || 1).await, None);
        drop(release);
        let end = Instant::now() + ample;
        while run_with_timeout(ample, &TEST_STUCK_CALLS, || 1).await.is_none() {
            assert!(Instant::now() < end, "calls that have ended are not forgotten");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
