//! Retries a request where that may help: exponential backoff with jitter, or the delay that the server asks for.
//! [`ModelError`] decides which errors are retried; only requests without an answer so far come here.

use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::Cancel;
use crate::error::{ModelError, RetryAdvice};

/// When and how often to retry.
#[derive(Clone)]
pub struct RetryPolicy {
    /// The number of attempts, the first included.
    pub max_attempts: u32,
    /// The number of attempts without any connection: a server that is not there rarely comes back.
    pub max_connect_attempts: u32,
    /// The first delay; each further one is twice as long.
    pub base_delay: Duration,
    /// The upper limit of the backoff, before jitter.
    pub max_delay: Duration,
    /// The longest delay a server may ask for; if it asks for more, the error is final.
    pub max_server_delay: Duration,
    /// Called before each delay.
    pub observer: Option<RetryObserver>,
}

/// A callback before each delay, so that the user can be shown why nothing happens.
pub type RetryObserver = Arc<dyn Fn(&RetryNotice) + Send + Sync>;

/// A retry that is about to be delayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryNotice {
    /// The number of the next attempt.
    pub attempt: u32,
    /// The number of attempts in all.
    pub max_attempts: u32,
    /// The delay before it.
    pub delay: Duration,
    /// The HTTP status of the response, if there was one.
    pub status: Option<u16>,
    /// The error message.
    pub reason: String,
}

impl fmt::Display for RetryNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.delay.as_secs_f64();
        let digits = usize::from(seconds < 10.0 && self.delay.subsec_millis() >= 50);
        write!(f, "retrying in {seconds:.digits$} s")?;
        match self.status {
            // The provider's message may be long, so only its first line is shown.
            Some(status) => match first_line(&self.reason) {
                words if words.is_empty() => write!(f, " ({status})")?,
                words => write!(f, " ({status}: {words})")?,
            },
            None => write!(f, " ({})", first_line(&self.reason))?,
        }
        write!(f, ", try {} of {}", self.attempt, self.max_attempts)
    }
}

/// Returns the first line of a text, shortened.
fn first_line(text: &str) -> String {
    const MAX_REASON_CHARS: usize = 160;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let short: String = line.chars().take(MAX_REASON_CHARS).collect();
    if short.len() < line.len() { format!("{short}…") } else { short }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 6,
            max_connect_attempts: 3,
            base_delay: Duration::from_secs(1),
            max_delay: Duration::from_secs(30),
            max_server_delay: Duration::from_secs(120),
            observer: None,
        }
    }
}

impl fmt::Debug for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryPolicy")
            .field("max_attempts", &self.max_attempts)
            .field("base_delay", &self.base_delay)
            .finish_non_exhaustive()
    }
}

impl RetryPolicy {
    /// Calls `attempt` until it succeeds, fails with a final error or the attempts are used up.
    pub(crate) async fn run<T, F, Fut>(&self, cancel: &Cancel, mut attempt: F) -> Result<T, ModelError>
    where
        F: FnMut() -> Fut + Send,
        Fut: Future<Output = Result<T, ModelError>> + Send,
    {
        for tried in 1_u32.. {
            let result = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ModelError::Cancelled),
                result = attempt() => result,
            };
            let error = match result {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let Some(notice) = self.next_retry(tried, &error) else {
                return Err(error);
            };
            let wait_ms = notice.delay.as_millis();
            tracing::warn!(
                attempt = notice.attempt,
                status = notice.status,
                wait_ms,
                "will try again: {}",
                notice.reason
            );
            if let Some(observer) = &self.observer {
                observer(&notice);
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(ModelError::Cancelled),
                () = tokio::time::sleep(notice.delay) => {}
            }
        }
        Err(ModelError::Cancelled)
    }

    /// Returns the delay before the next attempt, or `None` if this error is final.
    fn next_retry(&self, tried: u32, error: &ModelError) -> Option<RetryNotice> {
        let (max_attempts, delay) = match error.retry_advice() {
            RetryAdvice::No => return None,
            RetryAdvice::Connection => (self.max_connect_attempts, self.backoff(tried, random_u64())),
            RetryAdvice::Server(None) => (self.max_attempts, self.backoff(tried, random_u64())),
            RetryAdvice::Server(Some(asked)) if asked > self.max_server_delay => return None,
            RetryAdvice::Server(Some(asked)) => (self.max_attempts, asked),
        };
        let (status, reason) = match error {
            ModelError::Api(api) => (Some(api.status), api.message.clone()),
            error => (None, error.to_string()),
        };
        (tried < max_attempts).then(|| RetryNotice { attempt: tried + 1, max_attempts, delay, status, reason })
    }

    /// Doubles the delay per attempt up to the limit, then adds jitter of up to 30 % so that clients drift apart.
    fn backoff(&self, tried: u32, random: u64) -> Duration {
        let doubled = self.base_delay.saturating_mul(1 << (tried - 1).min(20));
        let share = (random % 1000) as f64 / 1000.0;
        doubled.min(self.max_delay).mul_f64(0.7 + 0.6 * share)
    }
}

/// Returns a random number that suffices for jitter: the standard library seeds its hashers.
fn random_u64() -> u64 {
    RandomState::new().hash_one(0_u8)
}

/// Parses a `Retry-After` header: seconds, or a date.
pub(crate) fn parse_retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(now)).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ApiError, Provider};
    use std::sync::Mutex;

    fn fast() -> RetryPolicy {
        RetryPolicy {
            base_delay: Duration::from_millis(1),
            max_delay: Duration::from_millis(4),
            ..RetryPolicy::default()
        }
    }

    fn api(status: u16, retry_after: Option<Duration>) -> ModelError {
        ApiError::from_body(Provider::Gemini, status, b"{}", retry_after).into()
    }

    async fn run(policy: &RetryPolicy, error: fn() -> ModelError, succeed_at: u32) -> (u32, bool) {
        let mut tries = 0;
        let result = policy
            .run(&Cancel::new(), || {
                tries += 1;
                let done = tries >= succeed_at;
                async move { if done { Ok(()) } else { Err(error()) } }
            })
            .await;
        (tries, result.is_ok())
    }

    #[tokio::test]
    async fn only_retryable_errors_are_retried() {
        let policy = fast();
        assert_eq!(run(&policy, || api(503, None), 3).await, (3, true));
        assert_eq!(run(&policy, || api(503, None), 99).await, (6, false));
        assert_eq!(run(&policy, || api(400, None), 3).await, (1, false));
        let refused = || ModelError::Connect { server: "x".into(), source: "refused".into() };
        assert_eq!(run(&policy, refused, 99).await, (3, false));
    }

    #[tokio::test]
    async fn a_servers_wait_is_honoured_up_to_the_bound() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        let observer: RetryObserver = Arc::new(move |notice| sink.lock().unwrap().push(notice.clone()));
        let policy = RetryPolicy { observer: Some(observer), ..fast() };
        let asked = || api(429, Some(Duration::from_millis(3)));
        assert_eq!(run(&policy, asked, 2).await, (2, true));
        let notices = seen.lock().unwrap().clone();
        assert_eq!(notices.len(), 1);
        assert_eq!(notices[0].delay, Duration::from_millis(3));
        assert_eq!((notices[0].attempt, notices[0].status), (2, Some(429)));
        let too_long = || api(429, Some(Duration::from_secs(3600)));
        assert_eq!(run(&policy, too_long, 2).await, (1, false));
    }

    #[tokio::test]
    async fn cancelling_ends_the_wait() {
        let cancel = Cancel::new();
        let policy = RetryPolicy { base_delay: Duration::from_secs(60), ..RetryPolicy::default() };
        let (result, ()) = tokio::join!(policy.run(&cancel, || async { Err::<(), _>(api(503, None)) }), async {
            tokio::task::yield_now().await;
            cancel.cancel();
        });
        assert!(result.unwrap_err().is_cancelled());
    }

    #[test]
    fn waits_double_up_to_the_bound() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.backoff(1, 500), Duration::from_secs(1));
        assert_eq!(policy.backoff(3, 500), Duration::from_secs(4));
        assert_eq!(policy.backoff(40, 500), Duration::from_secs(30));
        assert!(policy.backoff(1, 0) >= Duration::from_millis(699));
        assert!(policy.backoff(1, 999) <= Duration::from_millis(1300));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now: Timestamp = "2026-11-15T10:00:00Z".parse().unwrap();
        let read = |text| parse_retry_after(text, now);
        assert_eq!(read("7"), Some(Duration::from_secs(7)));
        assert_eq!(read("Sun, 15 Nov 2026 10:00:30 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(read("Sun, 15 Nov 2026 09:00:00 GMT"), Some(Duration::ZERO));
        assert_eq!(read("soon"), None);
        assert_eq!(read("-1"), None);
    }

    #[test]
    fn a_notice_reads_well() {
        let mut notice = RetryNotice {
            attempt: 2,
            max_attempts: 6,
            delay: Duration::from_secs(2),
            status: Some(429),
            reason: "r".into(),
        };
        assert_eq!(notice.to_string(), "retrying in 2 s (429: r), try 2 of 6");
        notice.reason = "\n too many requests \nand a page more".into();
        assert_eq!(notice.to_string(), "retrying in 2 s (429: too many requests), try 2 of 6");
        notice.reason = "x".repeat(1000);
        assert!(notice.to_string().len() < 220 && notice.to_string().contains("x…)"));
        notice.reason = String::new();
        assert_eq!(notice.to_string(), "retrying in 2 s (429), try 2 of 6");
        notice.reason = "r".into();
        notice.delay = Duration::from_millis(1300);
        notice.status = None;
        assert_eq!(notice.to_string(), "retrying in 1.3 s (r), try 2 of 6");
    }
}
