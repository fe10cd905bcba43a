//! The stderr of a worker process: it goes to the tracing log, and its end is kept for error messages.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of bytes of the log's end that are kept.
const MAX_KEPT_LOG_BYTES: usize = 8 << 10;

/// The log of a worker process.
#[derive(Default)]
pub(super) struct WorkerLog {
    tail: VecDeque<u8>,
    /// The number of bytes logged in all.
    total_bytes: u64,
}

pub(super) type SharedLog = Arc<Mutex<WorkerLog>>;

/// The log, and the callback that fills it and writes to the tracing log.
pub(super) fn log_sink() -> (SharedLog, hookwright_process::OutputCallback) {
    let log = SharedLog::default();
    let own = log.clone();
    let live = move |piece: &[u8]| {
        tracing::debug!(text = %String::from_utf8_lossy(piece).trim_end(), "a worker's log");
        let mut log = own.lock().unwrap_or_else(PoisonError::into_inner);
        log.total_bytes += piece.len() as u64;
        log.tail.extend(&piece[piece.len().saturating_sub(MAX_KEPT_LOG_BYTES)..]);
        let over = log.tail.len().saturating_sub(MAX_KEPT_LOG_BYTES);
        log.tail.drain(..over);
    };
    (log, Box::new(live))
}

/// The number of bytes logged so far.
pub(super) fn logged_bytes(log: &SharedLog) -> u64 {
    log.lock().unwrap_or_else(PoisonError::into_inner).total_bytes
}

/// The log after that number of bytes, as far as it is kept.
pub(super) fn text_since(log: &SharedLog, then: u64) -> String {
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let new = usize::try_from(log.total_bytes.saturating_sub(then)).unwrap_or(usize::MAX);
    let kept = log.tail.make_contiguous();
    String::from_utf8_lossy(&kept[kept.len().saturating_sub(new)..]).into_owned()
}
