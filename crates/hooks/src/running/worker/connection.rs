//! One worker process from its start to its end: what was asked of it and is not answered yet. When one is started, and
//! what its end means for the next, is `mod.rs`.

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

/// How often its memory is looked at, and whether it is idle.
pub(super) const LIMIT_CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Before so much is sent, it is waited whether the greeting is answered: it would be sent twice otherwise.
const LARGE_INPUT_BYTES: usize = 256 << 10;
/// For so long: who knows greetings has started by then and answers at once, who does not will never answer.
const HELLO_TIMEOUT: Duration = Duration::from_millis(300);
/// So many lines in a row that nobody waits for are a flood.
const MAX_STRAY_LINES: u32 = 1000;

/// No request has a lower number.
const FIRST_REQUEST_ID: u64 = 1 << 20;
/// The largest step from one request's number to the next. Numbers are drawn, so that only a process that has read a request
/// can answer it; they stay below 2^53 for half a billion requests.
const MAX_REQUEST_ID_STEP: u64 = 1 << 24;

/// The number of a request behind that one.
fn next_request_id(last: u64) -> u64 {
    last + 1 + RandomState::new().hash_one(last) % MAX_REQUEST_ID_STEP
}

/// What one process is held to.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerLimits {
    /// The longest answer, in bytes.
    pub(super) max_answer_bytes: usize,
    /// The most memory, in bytes.
    pub(super) max_memory_bytes: Option<u64>,
    /// How long it may have nothing to do.
    pub(super) idle_timeout: Option<Duration>,
    /// How long it may take to finish, and then to obey.
    pub(super) kill_grace_period: Duration,
}

/// What came of a request.
#[derive(Debug)]
pub(super) enum WorkerReply {
    /// What a command would have printed.
    Answer(String),
    /// The worker says that it failed.
    Failure(String),
    /// The process was gone, or had to go, before it answered.
    Lost(ConnectionLoss),
    /// The process was gone before it had read the request: it can be asked of another.
    Unread(ConnectionLoss),
}

/// A process that is spoken to.
pub(super) struct WorkerConnection {
    pid: u32,
    writer: tokio::sync::Mutex<RequestWriter>,
    pending: Mutex<PendingRequests>,
    reader: Mutex<LineReader>,
    /// The greeting is answered.
    hello_answered: Notify,
    log: SharedLog,
    /// It is to go at once; why is in the book.
    pub(super) stop: CancellationToken,
    /// It is to finish what it does, and go.
    pub(super) finish: CancellationToken,
    /// It is gone.
    pub(super) ended: CancellationToken,
}

/// What is said to it, one after the other.
struct RequestWriter {
    pipe: Option<ProcessStdin>,
    next_id: u64,
    /// How many bytes have been said, and where the last request begins in them.
    bytes_written: u64,
    last_request_start: u64,
    /// Whether it is to be greeted before it is sent anything large.
    sends_hello: bool,
    refs: FieldRefs,
}

/// Who waits for what.
#[derive(Default)]
struct PendingRequests {
    by_id: HashMap<u64, PendingRequest>,
    /// The highest number that was asked under.
    last_request_id: u64,
    /// Why nothing more can be asked.
    closed: Option<CloseReason>,
    /// What was wrong with what it said.
    protocol_error: Option<ConnectionLoss>,
    /// Lines of any kind.
    lines_read: u64,
    answered: u64,
    /// Lines in a row that nobody waited for.
    stray_lines: u32,
    late_answers: u64,
    hello: HelloState,
    spin_policy: SpinPolicy,
}

/// Somebody who waits for an answer.
struct PendingRequest {
    sender: oneshot::Sender<WorkerReply>,
    /// Where the request begins in all that was said; nowhere until it is.
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

/// Why nothing more can be asked of a process.
#[derive(Clone, Debug)]
pub(super) enum CloseReason {
    /// Nobody needs it any more.
    Retired,
    /// It failed.
    Lost(ConnectionLoss),
}

impl WorkerConnection {
    /// Goes on with a process that has just been started.
    pub(super) fn start(pipes: PipedProcess, log: SharedLog, bounds: WorkerLimits, greets: bool) -> Arc<Self> {
        let PipedProcess { process, stdin: to, stdout: from } = pipes;
        let speech = RequestWriter {
            pipe: Some(to),
            next_id: next_request_id(FIRST_REQUEST_ID),
            bytes_written: 0,
            last_request_start: u64::MAX,
            sends_hello: greets,
            refs: FieldRefs::default(),
        };
        let talk = Arc::new(WorkerConnection {
            pid: process.pid(),
            writer: tokio::sync::Mutex::new(speech),
            pending: Mutex::default(),
            reader: Mutex::new(LineReader::new(from, bounds.max_answer_bytes)),
            hello_answered: Notify::new(),
            log,
            stop: CancellationToken::new(),
            finish: CancellationToken::new(),
            ended: CancellationToken::new(),
        });
        let listening = ReaderTask { connection: talk.clone(), process, limits: bounds };
        tokio::spawn(listening.run());
        talk
    }

    /// Asks it something and waits for the answer, however long that takes. Safe to drop: the answer is then dropped too.
    pub(super) async fn request(&self, input: &HookInput, patience: WaitStrategy) -> Result<WorkerReply, CloseReason> {
        let mut speech = self.writer.lock().await;
        let id = speech.next_id;
        let (sender, mut answer) = oneshot::channel();
        let _asked = self.register(id, sender)?;
        speech.next_id = next_request_id(id);
        self.write_request(&mut speech, id, input).await;
        drop(speech);
        let said = Instant::now();
        let awake = patience == WaitStrategy::Spin && self.lock_pending().spin_policy.should_spin();
        let at_once = if awake { self.spin_for_answer(&mut answer, said) } else { None };
        let waited = match (awake, &at_once) {
            (true, Some(_)) => WaitOutcome::Spun,
            (true, None) => WaitOutcome::SpunInVain,
            (false, _) => WaitOutcome::Slept,
        };
        let answer = match at_once {
            Some(reply) => reply,
            // Whoever ends it tells everybody who waits.
            None => answer.await.unwrap_or_else(|_| WorkerReply::Lost(ConnectionLoss::unknown())),
        };
        self.lock_pending().spin_policy.record(said.elapsed(), waited);
        Ok(answer)
    }

    /// Waits for an answer for a moment, without falling asleep.
    fn spin_for_answer(&self, answer: &mut oneshot::Receiver<WorkerReply>, said: Instant) -> Option<WorkerReply> {
        while said.elapsed() < SPIN_TIMEOUT && self.is_open() {
            // Its end is seen elsewhere, too.
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

    /// Hears what is there, and tells those who wait for it; why that can't go on, if it can't.
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
        let mut book = self.lock_pending();
        if let Some(closed) = &book.closed {
            return Err(closed.clone());
        }
        book.last_request_id = id;
        book.by_id.insert(id, PendingRequest { sender, start_offset: u64::MAX });
        Ok(RequestRegistration { connection: self, id })
    }

    async fn write_request(&self, speech: &mut RequestWriter, id: u64, input: &HookInput) {
        if speech.sends_hello && input.layout().is_some() && input.len() > LARGE_INPUT_BYTES {
            self.write_hello(speech).await;
        }
        let RequestWriter { pipe, bytes_written: said, last_request_start: last, sends_hello: greets, refs, .. } =
            speech;
        let Some(pipe) = pipe else { return };
        // A line that is given up halfway leaves a process that nobody can speak to.
        let mut halfway = PartialWrite { connection: self, is_complete: false };
        let mut pieces = Vec::new();
        if *greets && input.layout().is_some() {
            *greets = false;
            self.lock_pending().hello = HelloState::Sent;
            pieces.push(bytes::Bytes::from_static(protocol::HELLO_LINE));
        }
        let takes_refs = self.lock_pending().hello == HelloState::Answered { refs: true };
        let greeted: usize = pieces.iter().map(bytes::Bytes::len).sum();
        pieces.extend(protocol::encode_request(id, input, takes_refs.then_some(refs)));
        *last = *said + greeted as u64;
        if let Some(waiting) = self.lock_pending().by_id.get_mut(&id) {
            waiting.start_offset = *last;
        }
        *said += pieces.iter().map(|piece| piece.len() as u64).sum::<u64>();
        for piece in pieces {
            if let Err(error) = pipe.write_all(&piece).await {
                // One that has ended says why by its end, which is seen elsewhere.
                tracing::debug!(pid = self.pid, %error, "a worker does not read what it is sent");
                if let Some(waiting) = self.lock_pending().by_id.get_mut(&id) {
                    waiting.start_offset = u64::MAX;
                }
                halfway.is_complete = true;
                tokio::time::sleep(LIMIT_CHECK_INTERVAL).await;
                self.abort("it does not listen any more");
                return;
            }
        }
        halfway.is_complete = true;
    }

    /// Says the greeting ahead of what is large, and waits for the answer for a moment.
    async fn write_hello(&self, speech: &mut RequestWriter) {
        let RequestWriter { pipe: Some(pipe), bytes_written: said, sends_hello: greets, .. } = speech else { return };
        let answered = self.hello_answered.notified();
        let mut halfway = PartialWrite { connection: self, is_complete: false };
        let written = pipe.write_all(protocol::HELLO_LINE).await;
        halfway.is_complete = true;
        if written.is_err() {
            // What follows will fail as well, and says so.
            return;
        }
        *greets = false;
        *said += protocol::HELLO_LINE.len() as u64;
        self.lock_pending().hello = HelloState::Sent;
        tokio::select! {
            () = answered => {}
            // Whoever waits for it has been told.
            () = self.ended.cancelled() => speech.pipe = None,
            () = tokio::time::sleep(HELLO_TIMEOUT) => {}
        }
    }

    /// Whether it can be asked something.
    pub(super) fn is_open(&self) -> bool {
        self.lock_pending().closed.is_none()
    }

    /// Why it failed, if it did.
    pub(super) fn loss(&self) -> Option<ConnectionLoss> {
        match &self.lock_pending().closed {
            Some(CloseReason::Lost(loss)) => Some(loss.clone()),
            _ => None,
        }
    }

    /// How many lines it has said: one that says none while somebody waits is deaf.
    pub(super) fn lines_read(&self) -> u64 {
        self.lock_pending().lines_read
    }

    /// How many answers it has given to those who waited, and how many to nobody.
    pub(super) fn answer_counts(&self) -> (u64, u64) {
        let book = self.lock_pending();
        (book.answered, book.late_answers)
    }

    /// Whether it ended with the greeting unanswered, and before it had answered anything.
    pub(super) fn ended_at_hello(&self) -> bool {
        let book = self.lock_pending();
        book.hello == HelloState::Sent && book.answered == 0 && matches!(book.closed, Some(CloseReason::Lost(_)))
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// How much it has logged so far, in bytes.
    pub(super) fn logged_bytes(&self) -> u64 {
        log::logged_bytes(&self.log)
    }

    /// What it has logged since then, as far as that is kept.
    pub(super) fn log_since(&self, then: u64) -> String {
        log::text_since(&self.log, then)
    }

    /// Whether nobody waits for anything.
    pub(super) fn is_idle(&self) -> bool {
        self.lock_pending().by_id.is_empty()
    }

    /// Says no more: the process reads the end of its input.
    pub(super) async fn close_input(&self) {
        self.writer.lock().await.pipe = None;
    }

    /// Lets it finish what it was asked, and then go.
    pub(super) fn retire(&self) {
        let mut book = self.lock_pending();
        book.closed.get_or_insert(CloseReason::Retired);
        if book.by_id.is_empty() {
            self.finish.cancel();
        }
    }

    /// Ends it; whoever waits is told why.
    pub(super) fn abort(&self, why: impl Into<String>) {
        self.fail_all(ConnectionLoss::new(why));
        self.stop.cancel();
    }

    /// It said what is no answer: nothing more is asked of it, and it is ended. Whoever waits is told when it is known whether
    /// it was about to end by itself, which says more.
    pub(super) fn fail_protocol(&self, loss: ConnectionLoss) {
        if loss.truncated_line.is_some() {
            self.fail_all(loss);
        } else {
            let mut book = self.lock_pending();
            book.closed.get_or_insert_with(|| CloseReason::Lost(loss.clone()));
            book.protocol_error.get_or_insert(loss);
        }
        self.stop.cancel();
    }

    /// What was wrong with what it said, if that was why it was ended.
    pub(super) fn protocol_error(&self) -> Option<ConnectionLoss> {
        self.lock_pending().protocol_error.clone()
    }

    /// Waits until it is gone.
    pub(super) async fn wait_ended(&self) {
        self.ended.cancelled().await;
    }

    pub(super) fn fail_all(&self, loss: ConnectionLoss) {
        self.fail_pending(loss, u64::MAX);
    }

    /// Tells everybody who waits; whose request begins behind what was read can ask another.
    pub(super) fn fail_pending(&self, loss: ConnectionLoss, read: u64) {
        let mut book = self.lock_pending();
        if !matches!(book.closed, Some(CloseReason::Lost(_))) {
            // Whoever comes later was answered nothing.
            book.closed = Some(CloseReason::Lost(loss.for_later_requests()));
        }
        for (id, PendingRequest { sender, start_offset: from }) in book.by_id.drain() {
            let reply = if from >= read { WorkerReply::Unread } else { WorkerReply::Lost };
            let _ = sender.send(reply(loss.for_request(id)));
        }
    }

    /// How much of what was said to it the process has read, now that it is gone; all of it, if that can't be told.
    pub(super) fn consumed_bytes(&self) -> u64 {
        // Whoever is in the middle of saying something hears that nobody listens.
        let Ok(speech) = self.writer.try_lock() else { return u64::MAX };
        // What is unread is the end of it: the last request was not read as a whole.
        let unread = speech.pipe.as_ref().is_some_and(hookwright_process::has_unread_input);
        if unread { speech.last_request_start } else { u64::MAX }
    }

    fn lock_pending(&self) -> MutexGuard<'_, PendingRequests> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It said something to nobody; too much of that is a flood.
    fn count_stray_line(&self) -> Result<(), ConnectionLoss> {
        let mut book = self.lock_pending();
        book.stray_lines += 1;
        if book.stray_lines > MAX_STRAY_LINES {
            Err(ConnectionLoss::new("it floods with lines that nobody asked for"))
        } else {
            Ok(())
        }
    }

    /// What it said, for whoever waits for it; why that can't go on, if it can't.
    fn handle_line(&self, line: &[u8]) -> Result<(), ConnectionLoss> {
        let Some(word) = protocol::parse_message(line) else { return self.count_stray_line() };
        self.lock_pending().lines_read += 1;
        let (id, reply) = match word {
            WorkerMessage::Answer(id, text) => (id, WorkerReply::Answer(text)),
            WorkerMessage::Failure(id, text) => (id, WorkerReply::Failure(text)),
            WorkerMessage::Features { refs } => {
                // Once; whoever goes on about it floods like anybody else.
                if std::mem::replace(&mut self.lock_pending().hello, HelloState::Answered { refs }) != HelloState::Sent
                {
                    return self.count_stray_line();
                }
                self.hello_answered.notify_waiters();
                return Ok(());
            }
            WorkerMessage::Malformed(text) => return Err(ConnectionLoss::new(text)),
        };
        let mut book = self.lock_pending();
        if id > book.last_request_id {
            return Err(ConnectionLoss::new(format!("it answered request {id}, which was not sent")));
        }
        let Some(waiting) = book.by_id.remove(&id) else {
            book.late_answers += 1;
            tracing::debug!(pid = self.pid, id, "an answer that nobody waits for");
            drop(book);
            return self.count_stray_line();
        };
        book.answered += 1;
        book.stray_lines = 0;
        let _ = waiting.sender.send(reply);
        if book.closed.is_some() && book.by_id.is_empty() {
            self.finish.cancel();
        }
        Ok(())
    }
}

/// Somebody's place in the book, until they go.
struct RequestRegistration<'a> {
    connection: &'a WorkerConnection,
    id: u64,
}

impl Drop for RequestRegistration<'_> {
    fn drop(&mut self) {
        let mut book = self.connection.lock_pending();
        let gave_up = book.by_id.remove(&self.id).is_some();
        if gave_up && book.closed.is_some() && book.by_id.is_empty() {
            self.connection.finish.cancel();
        }
    }
}

/// A line that is being said.
struct PartialWrite<'a> {
    connection: &'a WorkerConnection,
    is_complete: bool,
}

impl Drop for PartialWrite<'_> {
    fn drop(&mut self) {
        if !self.is_complete {
            self.connection.abort("it did not read what it was sent");
        }
    }
}
