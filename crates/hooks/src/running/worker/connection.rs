//! The connection to one worker process, from its start to its end, with the requests that are not answered yet.
//! `mod.rs` decides when a process is started, and what its end means for the next one.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hookwright_process::{PipedProcess, ProcessStdin, ProcessStdout};
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::WaitStrategy;
use super::line_reader::{LineReader, ReadProgress, SPIN_TIMEOUT, SpinPolicy, WaitOutcome};
use super::log::{self, SharedLog};
use super::loss::ConnectionLoss;
use super::protocol::{self, WorkerMessage};
use super::reader_task::ReaderTask;
use super::refs::FieldRefs;
use crate::event::input::HookInput;

/// How often the memory limit and the idle timeout are checked.
pub(super) const LIMIT_CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// The size from which an input is held back until the hello is answered: otherwise it would be sent twice.
const LARGE_INPUT_BYTES: usize = 256 << 10;
/// How long to wait for the answer to the hello: a worker that supports it has started by then and answers at once,
/// others never answer.
const HELLO_TIMEOUT: Duration = Duration::from_millis(300);
/// The number of consecutive unsolicited lines from which they count as a flood.
const MAX_STRAY_LINES: u32 = 1000;

/// A lower bound of all request ids.
const FIRST_REQUEST_ID: u64 = 1 << 20;
/// The largest step from one request id to the next.
///
/// The steps are random, so that only a process that has read a request can answer it. The ids stay below 2^53 for half
/// a billion requests.
const MAX_REQUEST_ID_STEP: u64 = 1 << 24;

/// The id of the request after that one.
fn next_request_id(last: u64) -> u64 {
    last + 1 + RandomState::new().hash_one(last) % MAX_REQUEST_ID_STEP
}

/// The limits of one worker process.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerLimits {
    /// The maximum length of an answer in bytes.
    pub(super) max_answer_bytes: usize,
    /// The maximum memory in bytes.
    pub(super) max_memory_bytes: Option<u64>,
    /// The maximum time without a request.
    pub(super) idle_timeout: Option<Duration>,
    /// The time to finish, and then the time between SIGTERM and SIGKILL.
    pub(super) kill_grace_period: Duration,
}

/// The result of a request.
#[derive(Debug)]
pub(super) enum WorkerReply {
    /// The text that a command would have printed.
    Answer(String),
    /// The worker reports a failure.
    Failure(String),
    /// The process ended, or had to be ended, before it answered.
    Lost(ConnectionLoss),
    /// The process ended before it had read the request, which can be sent to another process.
    Unread(ConnectionLoss),
}

/// The connection to a worker process.
pub(super) struct WorkerConnection {
    pid: u32,
    writer: tokio::sync::Mutex<RequestWriter>,
    pending: Mutex<PendingRequests>,
    reader: Mutex<LineReader>,
    /// Notified when the hello is answered.
    hello_answered: Notify,
    log: SharedLog,
    /// Ends the process at once; `pending.closed` has the reason.
    pub(super) stop: CancellationToken,
    /// Ends the process after it has answered its requests.
    pub(super) finish: CancellationToken,
    /// Cancelled when the process has ended.
    pub(super) ended: CancellationToken,
}

/// The writing side, which sends one request after another.
struct RequestWriter {
    pipe: Option<ProcessStdin>,
    next_id: u64,
    /// The number of bytes written, and the offset of the last request in them.
    bytes_written: u64,
    last_request_start: u64,
    /// Whether a hello is sent before the first large input.
    sends_hello: bool,
    refs: FieldRefs,
}

/// The requests that have not been answered.
#[derive(Default)]
struct PendingRequests {
    by_id: HashMap<u64, PendingRequest>,
    /// The highest id of a request that was sent.
    last_request_id: u64,
    /// Why no more requests can be sent.
    closed: Option<CloseReason>,
    /// The first error in the worker's output.
    protocol_error: Option<ConnectionLoss>,
    /// The number of lines of any kind.
    lines_read: u64,
    answered: u64,
    /// The number of consecutive lines for which no request was waiting.
    stray_lines: u32,
    late_answers: u64,
    hello: HelloState,
    spin_policy: SpinPolicy,
}

/// A request that waits for its answer.
struct PendingRequest {
    sender: oneshot::Sender<WorkerReply>,
    /// The offset of the request in the bytes written; `u64::MAX` until it is written.
    start_offset: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum HelloState {
    #[default]
    NotSent,
    Sent,
    Answered {
        refs: bool,
    },
}

/// Why no more requests can be sent to a process.
#[derive(Clone, Debug)]
pub(super) enum CloseReason {
    /// The process is no longer needed.
    Retired,
    /// The process failed.
    Lost(ConnectionLoss),
}

impl WorkerConnection {
    /// Starts the reader task for a process that has just been started.
    pub(super) fn start(pipes: PipedProcess, log: SharedLog, limits: WorkerLimits, sends_hello: bool) -> Arc<Self> {
        let PipedProcess { process, stdin: to, stdout: from } = pipes;
        let writer = RequestWriter {
            pipe: Some(to),
            next_id: next_request_id(FIRST_REQUEST_ID),
            bytes_written: 0,
            last_request_start: u64::MAX,
            sends_hello,
            refs: FieldRefs::default(),
        };
        let connection = Arc::new(WorkerConnection {
            pid: process.pid(),
            writer: tokio::sync::Mutex::new(writer),
            pending: Mutex::default(),
            reader: Mutex::new(LineReader::new(from, limits.max_answer_bytes)),
            hello_answered: Notify::new(),
            log,
            stop: CancellationToken::new(),
            finish: CancellationToken::new(),
            ended: CancellationToken::new(),
        });
        let reader = ReaderTask { connection: connection.clone(), process, limits };
        tokio::spawn(reader.run());
        connection
    }

    /// Sends a request and waits for the answer without a timeout. The future may be dropped: the answer is then
    /// dropped too.
    pub(super) async fn request(&self, input: &HookInput, strategy: WaitStrategy) -> Result<WorkerReply, CloseReason> {
        let mut writer = self.writer.lock().await;
        let id = writer.next_id;
        let (sender, mut answer) = oneshot::channel();
        let _registration = self.register(id, sender)?;
        writer.next_id = next_request_id(id);
        self.write_request(&mut writer, id, input).await;
        drop(writer);
        let sent_at = Instant::now();
        let spins = strategy == WaitStrategy::Spin && self.lock_pending().spin_policy.should_spin();
        let at_once = if spins { self.spin_for_answer(&mut answer, sent_at) } else { None };
        let waited = match (spins, &at_once) {
            (true, Some(_)) => WaitOutcome::Spun,
            (true, None) => WaitOutcome::SpunInVain,
            (false, _) => WaitOutcome::Slept,
        };
        let answer = match at_once {
            Some(reply) => reply,
            // The end of the process is reported to all pending requests.
            None => answer.await.unwrap_or_else(|_| WorkerReply::Lost(ConnectionLoss::unknown())),
        };
        self.lock_pending().spin_policy.record(sent_at.elapsed(), waited);
        Ok(answer)
    }

    /// Waits for an answer for a moment without sleeping.
    fn spin_for_answer(&self, answer: &mut oneshot::Receiver<WorkerReply>, sent_at: Instant) -> Option<WorkerReply> {
        while sent_at.elapsed() < SPIN_TIMEOUT && self.is_open() {
            // The reader task notices the end of the process too.
            if let Err(loss) = self.read_available(hookwright_process::read_nonblocking) {
                self.fail_protocol(loss);
                return None;
            }
            match answer.try_recv() {
                Ok(reply) => return Some(reply),
                Err(TryRecvError::Closed) => return Some(WorkerReply::Lost(ConnectionLoss::unknown())),
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
            }
        }
        None
    }

    /// Reads the available output and completes the requests that it answers; an error if the connection cannot
    /// continue.
    pub(super) fn read_available(
        &self,
        read: impl Fn(&ProcessStdout, &mut [u8]) -> std::io::Result<usize>,
    ) -> Result<ReadProgress, ConnectionLoss> {
        self.lock_reader().read_lines(read, |line| self.handle_line(line))
    }

    pub(super) fn lock_reader(&self) -> MutexGuard<'_, LineReader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn register(&self, id: u64, sender: oneshot::Sender<WorkerReply>) -> Result<RequestRegistration<'_>, CloseReason> {
        let mut pending = self.lock_pending();
        if let Some(closed) = &pending.closed {
            return Err(closed.clone());
        }
        pending.last_request_id = id;
        pending.by_id.insert(id, PendingRequest { sender, start_offset: u64::MAX });
        Ok(RequestRegistration { connection: self, id })
    }

    async fn write_request(&self, writer: &mut RequestWriter, id: u64, input: &HookInput) {
        if writer.sends_hello && input.layout().is_some() && input.len() > LARGE_INPUT_BYTES {
            self.write_hello(writer).await;
        }
        let RequestWriter { pipe, bytes_written, last_request_start: last, sends_hello, refs, .. } = writer;
        let Some(pipe) = pipe else { return };
        // After half a line, nothing more can be sent to the process.
        let mut partial_write = PartialWrite { connection: self, is_complete: false };
        let mut pieces = Vec::new();
        if *sends_hello && input.layout().is_some() {
            *sends_hello = false;
            self.lock_pending().hello = HelloState::Sent;
            pieces.push(bytes::Bytes::from_static(protocol::HELLO_LINE));
        }
        let takes_refs = self.lock_pending().hello == HelloState::Answered { refs: true };
        let greeted: usize = pieces.iter().map(bytes::Bytes::len).sum();
        pieces.extend(protocol::encode_request(id, input, takes_refs.then_some(refs)));
        *last = *bytes_written + greeted as u64;
        if let Some(waiting) = self.lock_pending().by_id.get_mut(&id) {
            waiting.start_offset = *last;
        }
        *bytes_written += pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        for piece in pieces {
            if let Err(error) = pipe.write_all(&piece).await {
                // If the process has ended, the reader task reports the reason.
                tracing::debug!(pid = self.pid, %error, "a worker does not read what it is sent");
                if let Some(waiting) = self.lock_pending().by_id.get_mut(&id) {
                    waiting.start_offset = u64::MAX;
                }
                partial_write.is_complete = true;
                tokio::time::sleep(LIMIT_CHECK_INTERVAL).await;
                self.abort("it no longer reads its input");
                return;
            }
        }
        partial_write.is_complete = true;
    }

    /// Sends the hello before a large input, and waits a moment for the answer.
    async fn write_hello(&self, writer: &mut RequestWriter) {
        let RequestWriter { pipe: Some(pipe), bytes_written, sends_hello, .. } = writer else { return };
        let answered = self.hello_answered.notified();
        let mut partial_write = PartialWrite { connection: self, is_complete: false };
        let written = pipe.write_all(protocol::HELLO_LINE).await;
        partial_write.is_complete = true;
        if written.is_err() {
            // The next write will fail too, and report it.
            return;
        }
        *sends_hello = false;
        *bytes_written += protocol::HELLO_LINE.len() as u64;
        self.lock_pending().hello = HelloState::Sent;
        tokio::select! {
            () = answered => {}
            // The pending requests have been notified.
            () = self.ended.cancelled() => writer.pipe = None,
            () = tokio::time::sleep(HELLO_TIMEOUT) => {}
        }
    }

    /// Whether requests can be sent.
    pub(super) fn is_open(&self) -> bool {
        self.lock_pending().closed.is_none()
    }

    /// Why the process failed, if it did.
    pub(super) fn loss(&self) -> Option<ConnectionLoss> {
        match &self.lock_pending().closed {
            Some(CloseReason::Lost(loss)) => Some(loss.clone()),
            _ => None,
        }
    }

    /// The number of lines read so far: a worker that writes none while a request is pending has hung.
    pub(super) fn lines_read(&self) -> u64 {
        self.lock_pending().lines_read
    }

    /// The number of answers that arrived in time, and of those for which no request was waiting any more.
    pub(super) fn answer_counts(&self) -> (u64, u64) {
        let pending = self.lock_pending();
        (pending.answered, pending.late_answers)
    }

    /// Whether the process ended before it answered the hello or anything else.
    pub(super) fn ended_at_hello(&self) -> bool {
        let pending = self.lock_pending();
        pending.hello == HelloState::Sent
            && pending.answered == 0
            && matches!(pending.closed, Some(CloseReason::Lost(_)))
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// The number of bytes that the process has logged so far.
    pub(super) fn logged_bytes(&self) -> u64 {
        log::logged_bytes(&self.log)
    }

    /// The log after that number of bytes, as far as it is kept.
    pub(super) fn log_since(&self, then: u64) -> String {
        log::text_since(&self.log, then)
    }

    /// Whether no request is pending.
    pub(super) fn is_idle(&self) -> bool {
        self.lock_pending().by_id.is_empty()
    }

    /// Closes the process's stdin.
    pub(super) async fn close_input(&self) {
        self.writer.lock().await.pipe = None;
    }

    /// Lets the process answer its requests and then end.
    pub(super) fn retire(&self) {
        let mut pending = self.lock_pending();
        pending.closed.get_or_insert(CloseReason::Retired);
        if pending.by_id.is_empty() {
            self.finish.cancel();
        }
    }

    /// Ends the process and fails all pending requests.
    pub(super) fn abort(&self, why: impl Into<String>) {
        self.fail_all(ConnectionLoss::new(why));
        self.stop.cancel();
    }

    /// Ends the process after a protocol error.
    ///
    /// Pending requests are failed when it is known whether the process was about to end by itself, which is the better
    /// explanation.
    pub(super) fn fail_protocol(&self, loss: ConnectionLoss) {
        if loss.truncated_line.is_some() {
            self.fail_all(loss);
        } else {
            let mut pending = self.lock_pending();
            pending.closed.get_or_insert_with(|| CloseReason::Lost(loss.clone()));
            pending.protocol_error.get_or_insert(loss);
        }
        self.stop.cancel();
    }

    /// The protocol error for which the process was ended, if there was one.
    pub(super) fn protocol_error(&self) -> Option<ConnectionLoss> {
        self.lock_pending().protocol_error.clone()
    }

    /// Waits until the process has ended.
    pub(super) async fn wait_ended(&self) {
        self.ended.cancelled().await;
    }

    pub(super) fn fail_all(&self, loss: ConnectionLoss) {
        self.fail_pending(loss, u64::MAX);
    }

    /// Fails all pending requests; those that begin after the bytes that were read can be sent to another process.
    pub(super) fn fail_pending(&self, loss: ConnectionLoss, read: u64) {
        let mut pending = self.lock_pending();
        if !matches!(pending.closed, Some(CloseReason::Lost(_))) {
            // Later requests have received no answer of their own.
            pending.closed = Some(CloseReason::Lost(loss.for_later_requests()));
        }
        for (id, PendingRequest { sender, start_offset: from }) in pending.by_id.drain() {
            let reply = if from >= read { WorkerReply::Unread } else { WorkerReply::Lost };
            let _ = sender.send(reply(loss.for_request(id)));
        }
    }

    /// The number of bytes that the process had read when it ended; `u64::MAX` if that cannot be determined.
    pub(super) fn consumed_bytes(&self) -> u64 {
        // A write in progress fails by itself.
        let Ok(writer) = self.writer.try_lock() else { return u64::MAX };
        // Unread bytes are the last ones: the last request was not read completely.
        let unread = writer.pipe.as_ref().is_some_and(hookwright_process::has_unread_input);
        if unread { writer.last_request_start } else { u64::MAX }
    }

    fn lock_pending(&self) -> MutexGuard<'_, PendingRequests> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a line for which no request was waiting; too many of them are an error.
    fn count_stray_line(&self) -> Result<(), ConnectionLoss> {
        let mut pending = self.lock_pending();
        pending.stray_lines += 1;
        if pending.stray_lines > MAX_STRAY_LINES {
            Err(ConnectionLoss::new("it sends too many lines that answer no request"))
        } else {
            Ok(())
        }
    }

    /// Handles a line of the worker's output: completes the request that it answers, or returns why the connection
    /// cannot continue.
    fn handle_line(&self, line: &[u8]) -> Result<(), ConnectionLoss> {
        let Some(word) = protocol::parse_message(line) else { return self.count_stray_line() };
        self.lock_pending().lines_read += 1;
        let (id, reply) = match word {
            WorkerMessage::Answer(id, text) => (id, WorkerReply::Answer(text)),
            WorkerMessage::Failure(id, text) => (id, WorkerReply::Failure(text)),
            WorkerMessage::Features { refs } => {
                // Further answers to the hello count as unsolicited lines.
                if std::mem::replace(&mut self.lock_pending().hello, HelloState::Answered { refs }) != HelloState::Sent
                {
                    return self.count_stray_line();
                }
                self.hello_answered.notify_waiters();
                return Ok(());
            }
            WorkerMessage::Malformed(text) => return Err(ConnectionLoss::new(text)),
        };
        let mut pending = self.lock_pending();
        if id > pending.last_request_id {
            return Err(ConnectionLoss::new(format!("it answered request {id}, which was not sent")));
        }
        let Some(waiting) = pending.by_id.remove(&id) else {
            pending.late_answers += 1;
            tracing::debug!(pid = self.pid, id, "an answer that nobody waits for");
            drop(pending);
            return self.count_stray_line();
        };
        pending.answered += 1;
        pending.stray_lines = 0;
        let _ = waiting.sender.send(reply);
        if pending.closed.is_some() && pending.by_id.is_empty() {
            self.finish.cancel();
        }
        Ok(())
    }
}

/// The registration of a pending request, which is removed when dropped.
struct RequestRegistration<'a> {
    connection: &'a WorkerConnection,
    id: u64,
}

impl Drop for RequestRegistration<'_> {
    fn drop(&mut self) {
        let mut pending = self.connection.lock_pending();
        let gave_up = pending.by_id.remove(&self.id).is_some();
        if gave_up && pending.closed.is_some() && pending.by_id.is_empty() {
            self.connection.finish.cancel();
        }
    }
}

/// A line that is being written; dropping it halfway aborts the connection.
struct PartialWrite<'a> {
    connection: &'a WorkerConnection,
    is_complete: bool,
}

impl Drop for PartialWrite<'_> {
    fn drop(&mut self) {
        if !self.is_complete {
            self.connection.abort("it did not read its input");
        }
    }
}
