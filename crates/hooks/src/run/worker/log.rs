//! What a worker's process says on stderr: told to our own log, and its end kept for those who ask why it failed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// How much of its log is kept for those who ask why it failed.
const LOG: usize = 8 << 10;

/// What a process has logged.
#[derive(Default)]
pub(super) struct Log {
    /// The end of it.
    kept: VecDeque<u8>,
    /// How much it was in all, in bytes.
    all: u64,
}

pub(super) type SharedLog = Arc<Mutex<Log>>;

/// Where a process's log goes: to ours, and of its end some is kept.
pub(super) fn logging() -> (SharedLog, hookwright_process::Live) {
    let log = SharedLog::default();
    let own = log.clone();
    let live = move |piece: &[u8]| {
        tracing::debug!(text = %String::from_utf8_lossy(piece).trim_end(), "a worker's log");
        let mut log = own.lock().unwrap_or_else(PoisonError::into_inner);
        log.all += piece.len() as u64;
        log.kept.extend(&piece[piece.len().saturating_sub(LOG)..]);
        let over = log.kept.len().saturating_sub(LOG);
        log.kept.drain(..over);
    };
    (log, Box::new(live))
}

/// How much it was so far, in bytes.
pub(super) fn length(log: &SharedLog) -> u64 {
    log.lock().unwrap_or_else(PoisonError::into_inner).all
}

/// What has come since then, as far as that is kept.
pub(super) fn since(log: &SharedLog, then: u64) -> String {
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let new = usize::try_from(log.all.saturating_sub(then)).unwrap_or(usize::MAX);
    let kept = log.kept.make_contiguous();
    String::from_utf8_lossy(&kept[kept.len().saturating_sub(new)..]).into_owned()
}
