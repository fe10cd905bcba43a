//! Reads the output of a worker process line by line, for the reader task or for a request that spins for its answer.
//! `connection.rs` assigns the lines to requests.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hookwright_process::ProcessStdout;

use super::loss::{ConnectionLoss, TruncatedLine};
use super::protocol;

/// The maximum length of the JSON around an answer.
const MAX_ENVELOPE_BYTES: usize = 4 << 10;
/// The response time up to which a worker counts as fast, and the maximum time to spin for its next answer.
///
/// Going to sleep and being woken takes a thread longer than a fast worker takes to answer.
pub(super) const SPIN_TIMEOUT: Duration = Duration::from_micros(150);
/// The number of answers without spinning after the first spin in vain; it doubles with each further one in a row.
///
/// The worker may need the very processor that the spinning thread occupies.
const MIN_SPIN_BACKOFF_ANSWERS: u32 = 8;
const MAX_SPIN_BACKOFF_ANSWERS: u32 = 512;

/// The reading side of a worker process.
pub(super) struct LineReader {
    pub(super) pipe: Arc<ProcessStdout>,
    partial_line: Vec<u8>,
    buffer: Vec<u8>,
    /// The maximum length of an answer in bytes.
    max_answer_bytes: usize,
    pub(super) last_read: Instant,
}

/// The result of one read.
pub(super) enum ReadProgress {
    Data,
    Empty,
    /// The output is closed.
    Closed,
}

impl LineReader {
    pub(super) fn new(from: ProcessStdout, longest: usize) -> Self {
        let quiet_since = Instant::now();
        LineReader {
            pipe: Arc::new(from),
            partial_line: Vec::new(),
            buffer: vec![0; 64 << 10],
            max_answer_bytes: longest,
            last_read: quiet_since,
        }
    }

    /// Whether an incomplete line has been read.
    pub(super) fn has_partial_line(&self) -> bool {
        !self.partial_line.is_empty()
    }

    /// Reads the available output without waiting, and passes each line to `line`; an error if the connection cannot
    /// continue.
    pub(super) fn read_lines(
        &mut self,
        read: impl Fn(&ProcessStdout, &mut [u8]) -> io::Result<usize>,
        line: impl Fn(&[u8]) -> Result<(), ConnectionLoss>,
    ) -> Result<ReadProgress, ConnectionLoss> {
        let count = match read(&self.pipe, &mut self.buffer) {
            Ok(0) => return Ok(ReadProgress::Closed),
            Ok(count) => count,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return Ok(ReadProgress::Empty);
            }
            Err(_) => return Ok(ReadProgress::Closed),
        };
        self.last_read = Instant::now();
        let LineReader { partial_line: begun, buffer, max_answer_bytes: longest, .. } = self;
        let most = *longest + MAX_ENVELOPE_BYTES;
        let mut output = &buffer[..count];
        while let Some(end) = output.iter().position(|byte| *byte == b'\n') {
            let (rest, after) = (&output[..end], &output[end + 1..]);
            if begun.len() + rest.len() > most {
                begun.extend_from_slice(rest);
                return Err(line_too_long(begun, *longest));
            }
            if begun.is_empty() {
                line(rest)?;
            } else {
                begun.extend_from_slice(rest);
                line(begun)?;
                begun.clear();
            }
            output = after;
        }
        begun.extend_from_slice(output);
        if begun.len() > most { Err(line_too_long(begun, *longest)) } else { Ok(ReadProgress::Data) }
    }
}

fn line_too_long(line: &[u8], longest: usize) -> ConnectionLoss {
    let text = format!("it sent a line of more than {longest} bytes");
    let kept = String::from_utf8_lossy(&line[..line.len().min(longest)]);
    let is_answer = kept.trim_start().starts_with('{');
    let no = protocol::find_truncated_deny(&kept).map(|(id, answer)| (id, answer.to_owned()));
    let cut_off = is_answer.then_some(TruncatedLine { bytes: line.len() as u64, deny: no });
    ConnectionLoss { truncated_line: cut_off, ..ConnectionLoss::new(text) }
}

/// Decides whether to spin for the next answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpinPolicy {
    is_fast: bool,
    /// The number of answers left without spinning, and the number after the last spin in vain.
    backoff: u32,
    last_backoff: u32,
}

impl SpinPolicy {
    /// Whether to spin for the next answer.
    pub(super) fn should_spin(&mut self) -> bool {
        let rested = self.backoff == 0;
        self.backoff = self.backoff.saturating_sub(1);
        rested && self.is_fast
    }

    /// Records the time that an answer took, and how it was waited for.
    pub(super) fn record(&mut self, took: Duration, waited: WaitOutcome) {
        self.is_fast = took < SPIN_TIMEOUT;
        match waited {
            WaitOutcome::Spun => self.last_backoff = 0,
            // A fast answer to a sleeping thread proves nothing: it may be fast because the thread slept.
            WaitOutcome::Slept => {}
            WaitOutcome::SpunInVain => {
                self.last_backoff = (self.last_backoff * 2).clamp(MIN_SPIN_BACKOFF_ANSWERS, MAX_SPIN_BACKOFF_ANSWERS);
                self.backoff = self.last_backoff;
            }
        }
    }
}

/// How an answer was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitOutcome {
    Spun,
    Slept,
    /// The thread spun for a moment, and slept when the answer did not come.
    SpunInVain,
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST_ANSWER: Duration = Duration::from_micros(20);
    const SLOW_ANSWER: Duration = Duration::from_millis(1);

    #[test]
    fn only_fast_workers_are_spun_for() {
        let mut policy = SpinPolicy::default();
        assert!(!policy.should_spin(), "nobody knows it yet");
        policy.record(FAST_ANSWER, WaitOutcome::Slept);
        assert!(policy.should_spin());
        policy.record(FAST_ANSWER, WaitOutcome::Spun);
        assert!(policy.should_spin());
        policy.record(SLOW_ANSWER, WaitOutcome::SpunInVain);
        assert!(!policy.should_spin());
    }

    #[test]
    fn failed_spins_double_the_backoff() {
        let mut policy = SpinPolicy::default();
        policy.record(FAST_ANSWER, WaitOutcome::Slept);
        let mut naps = Vec::new();
        for _ in 0..8 {
            assert!(policy.should_spin());
            policy.record(SLOW_ANSWER, WaitOutcome::SpunInVain);
            let mut asleep = 0;
            // A sleeping thread leaves the processor to the worker, which then answers fast.
            while !policy.should_spin() {
                asleep += 1;
                policy.record(FAST_ANSWER, WaitOutcome::Slept);
            }
            naps.push(asleep);
            policy.backoff = 0;
        }
        assert_eq!(naps, [8, 16, 32, 64, 128, 256, 512, 512]);
        assert!(policy.should_spin());
        policy.record(FAST_ANSWER, WaitOutcome::Spun);
        assert!(policy.should_spin());
        policy.record(SLOW_ANSWER, WaitOutcome::SpunInVain);
        assert_eq!(policy.backoff, MIN_SPIN_BACKOFF_ANSWERS, "a success wipes the slate");
    }
}
