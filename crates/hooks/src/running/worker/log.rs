//! What a worker's process says on stderr: told to our own log, and its end kept for those who ask why it failed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// How much of its log is kept for those who ask why it failed.
const MAX_KEPT_LOG_BYTES: usize = 8 << 10;

/// What a process has logged.
#[derive(Default)]
pub(super) struct WorkerLog {
    /// The end of it.
    tail: VecDeque<u8>,
    /// How much it was in all, in bytes.
    total_bytes: u64,
}

pub(super) type SharedLog = Arc<Mutex<WorkerLog>>;

/// Where a process's log goes: to ours, and of its end some is kept.
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

/// How much it was so far, in bytes.
pub(super) fn logged_bytes(log: &SharedLog) -> u64 {
    log.lock().unwrap_or_else(PoisonError::into_inner).total_bytes
}

/// What has come since then, as far as that is kept.
pub(super) fn text_since(log: &SharedLog, then: u64) -> String {
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let new = usize::try_from(log.total_bytes.saturating_sub(then)).unwrap_or(usize::MAX);
    let kept = log.tail.make_contiguous();
    String::from_utf8_lossy(&kept[kept.len().saturating_sub(new)..]).into_owned()
}
