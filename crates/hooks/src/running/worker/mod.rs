//! Worker hooks: one process per session that receives requests line by line. It is started on first use, held to its
//! timeout and limits, restarted when it fails, and given up when that does not help.

mod connection;
mod launch_fingerprint;
mod line_reader;
mod log;
mod loss;
mod protocol;
mod reader_task;
mod refs;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hookwright_process::{Limiter, PipedProcess, ProgramSpec};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::command::CommandLaunch;
use super::{HookRunner, RunOutput};
use crate::answers::{CapturedStream, HookExit};
use crate::event::input::HookInput;
use crate::hook::{Source, WorkerAction};
use crate::running::disk_timeout::{DISK_TIMEOUT_MESSAGE, run_with_disk_timeout};
use crate::running::session_dir::SessionSnapshot;
use connection::{CloseReason, WorkerConnection, WorkerLimits, WorkerReply};
use launch_fingerprint::LaunchFingerprint;
use loss::{ConnectionLoss, TruncatedLine};

/// The variable that holds the protocol version, so that one script can be a command and a worker.
pub(super) const WORKER_VARIABLE: (&str, &str) = ("HOOKWRIGHT_WORKER", "1");
/// The number of consecutive failures after which a worker is given up.
const MAX_CONSECUTIVE_FAILURES: u32 = 5;
/// The delay after the second failure; it quadruples with each further one.
const RESTART_BACKOFF: Duration = Duration::from_millis(50);
/// The time in which an answer that was in the pipe at the deadline is still read.
const LATE_ANSWER_GRACE_PERIOD: Duration = Duration::from_millis(10);

/// How an answer is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitStrategy {
    /// Spins for a moment if the worker is fast: no other hook needs the thread.
    Spin,
    Sleep,
}

/// The workers of one engine: hooks of one source with the same action share a process.
#[derive(Default)]
pub(crate) struct WorkerPool {
    /// There are few of them, so a linear search is the fastest.
    workers: Mutex<Vec<Arc<WorkerSupervisor>>>,
}

/// The health of a worker, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerHealth {
    /// The id of the process, if one runs.
    pub pid: Option<u32>,
    /// The number of processes that were started.
    pub starts: u64,
    /// The number of requests that were answered.
    pub answered: u64,
    /// The number of answers that came too late.
    pub late_answers: u64,
    /// Why the worker is given up, if it is.
    pub inert: Option<String>,
}

impl WorkerPool {
    fn get_or_create(&self, source: &Source, action: &WorkerAction) -> Arc<WorkerSupervisor> {
        let mut all = self.lock();
        if let Some(known) = all.iter().find(|worker| worker.matches(source, action)) {
            return known.clone();
        }
        let worker = Arc::new(WorkerSupervisor::new(source.clone(), action.clone()));
        all.push(worker.clone());
        worker
    }

    /// Retires the workers that are no longer needed; they finish the requests that they have received.
    pub(crate) fn retain(&self, is_wanted: impl Fn(&Source, &WorkerAction) -> bool) {
        self.lock().retain(|worker| {
            let stays = is_wanted(&worker.source, &worker.action);
            if !stays {
                worker.retire();
            }
            stays
        });
    }

    /// The health of a worker, if it was ever used.
    fn health(
        &self,
        source: &Source,
        action: &WorkerAction,
        place: (&HookRunner, &SessionSnapshot),
    ) -> Option<WorkerHealth> {
        self.lock().iter().find(|worker| worker.matches(source, action)).map(|worker| worker.health(place))
    }

    /// Retires all workers and waits for their end, up to a limit.
    pub(crate) async fn shut_down(&self, longest: Duration) {
        let all = std::mem::take(&mut *self.lock());
        let connections: Vec<Arc<WorkerConnection>> = all.iter().filter_map(|worker| worker.retire()).collect();
        let gone = async {
            for connection in &connections {
                connection.wait_ended().await;
            }
        };
        let _ = tokio::time::timeout(longest, gone).await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<WorkerSupervisor>>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One worker with its successive processes.
struct WorkerSupervisor {
    source: Source,
    action: WorkerAction,
    /// Limits the concurrent requests.
    limiter: Limiter,
    /// Held while a process is looked up or started, so that only one is started.
    spawn_lock: tokio::sync::Mutex<()>,
    current: Mutex<CurrentProcess>,
    /// The number of consecutive failures.
    failures: AtomicU32,
    starts: AtomicU64,
    /// The answers of earlier processes: in time, and late.
    past_counts: Mutex<(u64, u64)>,
}

#[derive(Default)]
struct CurrentProcess {
    connection: Option<Arc<WorkerConnection>>,
    fingerprint: Option<Arc<LaunchFingerprint>>,
    /// Whether no hello is sent, because a process ended when it received one.
    skip_hello: bool,
    last_failure: Option<(Instant, String)>,
}

/// The process that received a request, and how much it had written and logged by then.
#[derive(Clone)]
struct SentRequest {
    connection: Arc<WorkerConnection>,
    lines_before: u64,
    log_bytes_before: u64,
}

impl HookRunner {
    /// Sends a request to a worker. It waits for a permit first, and the timeout counts from then on.
    pub(super) async fn ask_worker(
        &self,
        (source, action): (&Source, &WorkerAction),
        timeout: Duration,
        (input, strategy): (&HookInput, WaitStrategy),
        session: &SessionSnapshot,
        cancel: &CancellationToken,
    ) -> RunOutput {
        let worker = self.shared.workers.get_or_create(source, action);
        let _turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return RunOutput::from_exit(HookExit::Cancelled),
            turn = worker.limiter.acquire() => turn,
        };
        let deadline = Instant::now() + timeout;
        let sent = Mutex::default();
        let mut answer =
            std::pin::pin!(worker.request_answer(self, (input, strategy), session, deadline, cancel, &sent));
        let end = tokio::select! {
            biased;
            end = &mut answer => return end,
            () = cancel.cancelled() => HookExit::Cancelled,
            () = tokio::time::sleep_until(deadline) => match tokio::time::timeout(LATE_ANSWER_GRACE_PERIOD, &mut answer).await {
                Ok(end) => return end,
                Err(_) => HookExit::TimedOut(timeout),
            },
        };
        let sent = sent.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut run = RunOutput::from_exit(end);
        if let (Some(SentRequest { connection, lines_before, .. }), HookExit::TimedOut(_)) = (sent, &run.exit) {
            run.stderr = captured_log(&connection, 0);
            worker.handle_timeout(&connection, lines_before);
        }
        run
    }

    /// The health of a worker, if it was ever used.
    pub(crate) fn worker_health(
        &self,
        source: &Source,
        action: &WorkerAction,
        session: &SessionSnapshot,
    ) -> Option<WorkerHealth> {
        self.shared.workers.health(source, action, (self, session))
    }

    /// Starts a worker's process before its first request.
    pub(super) async fn start_worker(
        &self,
        source: &Source,
        action: &WorkerAction,
        timeout: Duration,
        session: &SessionSnapshot,
    ) {
        let worker = self.shared.workers.get_or_create(source, action);
        let cancel = CancellationToken::new();
        if let Err(end) = worker.connect(self, session, Instant::now() + timeout, &cancel).await {
            tracing::debug!(?end, "a worker could not be started ahead of time");
        }
    }
}

impl WorkerSupervisor {
    fn new(source: Source, action: WorkerAction) -> Self {
        let room = Limiter::new(usize::try_from(action.config.concurrency.get()).unwrap_or(usize::MAX));
        WorkerSupervisor {
            source,
            action,
            limiter: room,
            spawn_lock: tokio::sync::Mutex::default(),
            current: Mutex::default(),
            failures: AtomicU32::new(0),
            starts: AtomicU64::new(0),
            past_counts: Mutex::default(),
        }
    }

    fn matches(&self, source: &Source, action: &WorkerAction) -> bool {
        self.source == *source && self.action == *action
    }

    /// Sends a request to the current process; `sent` receives which process that was.
    async fn request_answer(
        &self,
        runner: &HookRunner,
        (input, strategy): (&HookInput, WaitStrategy),
        session: &SessionSnapshot,
        deadline: Instant,
        cancel: &CancellationToken,
        sent: &Mutex<Option<SentRequest>>,
    ) -> RunOutput {
        loop {
            let connection = match self.connect(runner, session, deadline, cancel).await {
                Ok(connection) => connection,
                Err(end) => return RunOutput::from_exit(end),
            };
            let now = SentRequest {
                lines_before: connection.lines_read(),
                log_bytes_before: connection.logged_bytes(),
                connection: connection.clone(),
            };
            *sent.lock().unwrap_or_else(PoisonError::into_inner) = Some(now.clone());
            match connection.request(input, strategy).await {
                // The process was retired after it was looked up.
                Err(CloseReason::Retired) => {}
                Err(CloseReason::Lost(loss)) | Ok(WorkerReply::Unread(loss)) => {
                    // The process ended before it had read the request. One that has never answered would only end
                    // again.
                    let again = connection.answer_counts().0 > 0 || connection.ended_at_hello();
                    if let Some(end) = self.handle_loss(&SentRequest { log_bytes_before: 0, ..now }, loss, again) {
                        return end;
                    }
                }
                Ok(WorkerReply::Lost(loss)) => {
                    // If the process ended because of the hello, the request is sent once more without one.
                    let again = connection.ended_at_hello();
                    if let Some(end) = self.handle_loss(&now, loss, again) {
                        return end;
                    }
                }
                Ok(WorkerReply::Answer(text)) => {
                    self.failures.store(0, Ordering::Relaxed);
                    return answer_output(text);
                }
                Ok(WorkerReply::Failure(text)) => {
                    self.failures.store(0, Ordering::Relaxed);
                    let why = if text.is_empty() { "it gave no reason".to_owned() } else { text };
                    return RunOutput::from_exit(HookExit::Failed(format!("failed: {why}")));
                }
            }
        }
    }

    /// The result of a request whose process ended; `None` if the request is sent again.
    fn handle_loss(&self, sent: &SentRequest, loss: ConnectionLoss, again: bool) -> Option<RunOutput> {
        if loss.is_deny() && !again {
            self.failures.store(0, Ordering::Relaxed);
            self.discard(&sent.connection);
            return Some(RunOutput {
                stderr: captured_log(&sent.connection, sent.log_bytes_before),
                ..RunOutput::from_exit(HookExit::Exited(2))
            });
        }
        self.record_loss(&sent.connection, &loss);
        (!again).then(|| loss_output(&sent.connection, loss))
    }

    /// The current process, or a new one.
    async fn connect(
        &self,
        runner: &HookRunner,
        session: &SessionSnapshot,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Arc<WorkerConnection>, HookExit> {
        let _spawn_guard = self.spawn_lock.lock().await;
        if let Some(connection) = self.current_connection(runner, session).await? {
            return Ok(connection);
        }
        self.wait_backoff(deadline).await?;
        let action = &self.action.command;
        runner.check_working_directory(action, session)?;
        let (log, live) = log::log_sink();
        let live = Mutex::new(Some(live));
        let open = |program: &mut ProgramSpec<'_>| {
            let own = live.lock().unwrap_or_else(PoisonError::into_inner).take();
            PipedProcess::spawn(program, own.unwrap_or_else(|| Box::new(|_| {})), &runner.shared.groups)
        };
        // The fingerprint is taken before the start, so that a change in between is noticed.
        let fingerprint = LaunchFingerprint::capture(action, runner, session);
        let start = CommandLaunch { action, extra_env: &[WORKER_VARIABLE], session, spawn_with: &open };
        let pipes = runner.start_with_retry(&start, deadline, cancel).await?;
        self.starts.fetch_add(1, Ordering::Relaxed);
        let mut current = self.current();
        let connection = WorkerConnection::start(pipes, log, self.limits(runner), !current.skip_hello);
        tracing::debug!(pid = connection.pid(), command = self.action.command.command, "a worker runs");
        current.connection = Some(connection.clone());
        current.fingerprint = Some(Arc::new(fingerprint));
        Ok(connection)
    }

    /// The current process, if its fingerprint is still valid.
    async fn current_connection(
        &self,
        runner: &HookRunner,
        session: &SessionSnapshot,
    ) -> Result<Option<Arc<WorkerConnection>>, HookExit> {
        let fingerprint = self.current().fingerprint.clone();
        let is_same = match fingerprint {
            None => true,
            Some(fingerprint) if !fingerprint.has_same_context(runner, session) => false,
            Some(fingerprint) => {
                let has_same_files = run_with_disk_timeout(move || fingerprint.has_same_files()).await;
                let unknown =
                    || format!("{DISK_TIMEOUT_MESSAGE}, so it could not be checked whether its files have changed");
                has_same_files.ok_or_else(|| HookExit::Failed(unknown()))?
            }
        };
        let mut live = self.current();
        if is_same && let Some(connection) = live.connection.as_ref().filter(|connection| connection.is_open()) {
            return Ok(Some(connection.clone()));
        }
        let old = live.connection.take();
        if !is_same {
            // The cause of earlier failures may be gone.
            live.last_failure = None;
            live.fingerprint = None;
            live.skip_hello = false;
        }
        drop(live);
        if let Some(old) = old {
            match old.loss() {
                Some(loss) => drop(self.record_loss(&old, &loss)),
                None => self.retire_connection(&old),
            }
        }
        if !is_same {
            self.failures.store(0, Ordering::Relaxed);
        }
        Ok(None)
    }

    /// Waits longer after every failure, and gives up after too many. If the deadline comes first, the last failure is
    /// returned.
    async fn wait_backoff(&self, deadline: Instant) -> Result<(), HookExit> {
        let failures = self.failures.load(Ordering::Relaxed);
        let last = self.current().last_failure.clone();
        let Some((when, why)) = last.filter(|_| failures > 0) else { return Ok(()) };
        if failures >= MAX_CONSECUTIVE_FAILURES {
            return Err(HookExit::NotStarted { code: 126, message: given_up_message(&why) });
        }
        if failures > 1 {
            let until = when + RESTART_BACKOFF * 4_u32.pow(failures - 2);
            if until >= deadline {
                return Err(HookExit::Failed(format!("lost its worker, which is not restarted yet: {why}")));
            }
            tokio::time::sleep_until(until).await;
        }
        Ok(())
    }

    fn limits(&self, runner: &HookRunner) -> WorkerLimits {
        let config = &self.action.config;
        WorkerLimits {
            max_answer_bytes: runner.limits.max_output_bytes,
            max_memory_bytes: config.max_memory_bytes,
            idle_timeout: config.idle_timeout,
            kill_grace_period: runner.limits.kill_grace_period,
        }
    }

    /// Forgets a process that ended without a failure.
    fn discard(&self, connection: &Arc<WorkerConnection>) {
        let mut live = self.current();
        if live.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            live.connection = None;
            drop(live);
            self.retire_connection(connection);
        }
    }

    /// Counts a process that failed, once, and returns the number of consecutive failures.
    fn record_loss(&self, connection: &Arc<WorkerConnection>, loss: &ConnectionLoss) -> u32 {
        let mut live = self.current();
        let is_current = live.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection));
        if !is_current {
            return self.failures.load(Ordering::Relaxed);
        }
        live.connection = None;
        if connection.ended_at_hello() && !live.skip_hello {
            live.skip_hello = true;
            return self.failures.load(Ordering::Relaxed);
        }
        live.last_failure = Some((Instant::now(), loss.text.clone()));
        drop(live);
        self.retire_connection(connection);
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        tracing::warn!(pid = connection.pid(), failures, why = loss.text, "a worker failed");
        failures
    }

    /// Handles a request that timed out.
    ///
    /// A process that has written nothing since then has hung and is ended; one that goes on answering other requests
    /// is kept, and its late answer is dropped.
    fn handle_timeout(&self, connection: &Arc<WorkerConnection>, lines_before: u64) {
        if connection.lines_read() == lines_before {
            connection.abort("it did not answer in time");
            if let Some(loss) = connection.loss() {
                self.record_loss(connection, &loss);
            }
        }
    }

    fn retire_connection(&self, connection: &WorkerConnection) {
        let (answered, late) = connection.answer_counts();
        let mut past = self.past_counts.lock().unwrap_or_else(PoisonError::into_inner);
        *past = (past.0 + answered, past.1 + late);
        connection.retire();
    }

    fn retire(&self) -> Option<Arc<WorkerConnection>> {
        let connection = self.current().connection.take()?;
        self.retire_connection(&connection);
        Some(connection)
    }

    fn health(&self, (runner, session): (&HookRunner, &SessionSnapshot)) -> WorkerHealth {
        // The lock is not held while the disk is read.
        let fingerprint = self.current().fingerprint.clone();
        let is_same = fingerprint
            .is_none_or(|fingerprint| fingerprint.has_same_context(runner, session) && fingerprint.has_same_files());
        let live = self.current();
        let connection = live.connection.as_ref();
        let (answered, late) = connection.map_or((0, 0), |connection| connection.answer_counts());
        let past = *self.past_counts.lock().unwrap_or_else(PoisonError::into_inner);
        // After a change, the worker is started again.
        let gave_up = is_same && self.failures.load(Ordering::Relaxed) >= MAX_CONSECUTIVE_FAILURES;
        WorkerHealth {
            pid: connection.filter(|connection| connection.is_open()).map(|connection| connection.pid()),
            starts: self.starts.load(Ordering::Relaxed),
            answered: past.0 + answered,
            late_answers: past.1 + late,
            inert: live.last_failure.as_ref().filter(|_| gave_up).map(|(_, why)| given_up_message(why)),
        }
    }

    fn current(&self) -> MutexGuard<'_, CurrentProcess> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn given_up_message(why: &str) -> String {
    format!(
        "its worker failed {MAX_CONSECUTIVE_FAILURES} times in a row (the last time: {why}); it is started again when its files or \
         its settings change"
    )
}

/// The result of a command that prints this text and exits with 0.
fn answer_output(text: String) -> RunOutput {
    let bytes = text.len() as u64;
    RunOutput { stdout: CapturedStream { text, bytes, truncated: false }, ..RunOutput::from_exit(HookExit::Exited(0)) }
}

fn loss_output(connection: &WorkerConnection, loss: ConnectionLoss) -> RunOutput {
    let stderr = captured_log(connection, 0);
    match loss.truncated_line {
        // A deny of this request counts; anything else is only known to be truncated.
        Some(TruncatedLine { bytes, deny: no }) => {
            let text = no.map_or_else(|| "{".to_owned(), |(_, no)| no);
            let stdout = CapturedStream { text, bytes, truncated: true };
            RunOutput { stdout, stderr, ..RunOutput::from_exit(HookExit::Exited(0)) }
        }
        None => {
            RunOutput { stderr, ..RunOutput::from_exit(HookExit::Failed(format!("lost its worker: {}", loss.text))) }
        }
    }
}

/// The log after that number of bytes, as a command's stderr.
fn captured_log(connection: &WorkerConnection, then: u64) -> CapturedStream {
    let text = connection.log_since(then);
    let bytes = text.len() as u64;
    CapturedStream { text, bytes, truncated: false }
}
