//! Worker hooks: one process for a session, asked line by line, and looked after: started on first use, held to its time
//! and its bounds, started again when it fails, given up when that does not help.

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

/// Set to the version of the protocol, so that one script can be a command and a worker.
pub(super) const WORKER_VARIABLE: (&str, &str) = ("HOOKWRIGHT_WORKER", "1");
/// So many failures in a row, and it is not started again.
const MAX_CONSECUTIVE_FAILURES: u32 = 5;
/// How long it is waited after the second failure; after each more, four times as long.
const RESTART_BACKOFF: Duration = Duration::from_millis(50);
/// An answer that lies in the pipe when its time is over was given in time.
const LATE_ANSWER_GRACE_PERIOD: Duration = Duration::from_millis(10);

/// How an answer is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitStrategy {
    /// For a moment without falling asleep, if the worker is quick: nobody else wants the thread.
    Spin,
    Sleep,
}

/// The workers of one engine: hooks of one layer that say the same share a process.
#[derive(Default)]
pub(crate) struct WorkerPool {
    /// Few, so that looking through them is the quickest way to one.
    workers: Mutex<Vec<Arc<WorkerSupervisor>>>,
}

/// How a worker does, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerHealth {
    /// Its process, if one runs.
    pub pid: Option<u32>,
    /// How often a process was started.
    pub starts: u64,
    /// How many requests were answered.
    pub answered: u64,
    /// How many answers nobody waited for any more.
    pub late_answers: u64,
    /// Why it is not started again, if it is not.
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

    /// Lets go those that are not wanted any more; they finish what they were asked.
    pub(crate) fn retain(&self, is_wanted: impl Fn(&Source, &WorkerAction) -> bool) {
        self.lock().retain(|worker| {
            let stays = is_wanted(&worker.source, &worker.action);
            if !stays {
                worker.retire();
            }
            stays
        });
    }

    /// How one of them does, if it has ever been asked anything.
    fn health(
        &self,
        source: &Source,
        action: &WorkerAction,
        place: (&HookRunner, &SessionSnapshot),
    ) -> Option<WorkerHealth> {
        self.lock().iter().find(|worker| worker.matches(source, action)).map(|worker| worker.health(place))
    }

    /// Lets all of them finish, and waits for that, but not for long.
    pub(crate) async fn shut_down(&self, longest: Duration) {
        let all = std::mem::take(&mut *self.lock());
        let talks: Vec<Arc<WorkerConnection>> = all.iter().filter_map(|worker| worker.retire()).collect();
        let gone = async {
            for talk in &talks {
                talk.wait_ended().await;
            }
        };
        let _ = tokio::time::timeout(longest, gone).await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<WorkerSupervisor>>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One worker, whichever process does its work.
struct WorkerSupervisor {
    source: Source,
    action: WorkerAction,
    /// As many as it can be asked at once.
    limiter: Limiter,
    /// Held while a process is looked for or started, so that only one is.
    spawn_lock: tokio::sync::Mutex<()>,
    current: Mutex<CurrentProcess>,
    /// In a row.
    failures: AtomicU32,
    starts: AtomicU64,
    /// What earlier processes answered in time, and late.
    past_counts: Mutex<(u64, u64)>,
}

#[derive(Default)]
struct CurrentProcess {
    connection: Option<Arc<WorkerConnection>>,
    fingerprint: Option<Arc<LaunchFingerprint>>,
    /// Whether it stands a greeting; one that died of it is not greeted again.
    skip_hello: bool,
    last_failure: Option<(Instant, String)>,
}

/// Which process was asked, and how much it had said and logged by then.
#[derive(Clone)]
struct SentRequest {
    connection: Arc<WorkerConnection>,
    lines_before: u64,
    log_bytes_before: u64,
}

impl HookRunner {
    /// Asks a worker. It waits for its turn first, and its time counts from then on.
    pub(super) async fn ask_worker(
        &self,
        (source, action): (&Source, &WorkerAction),
        timeout: Duration,
        (input, patience): (&HookInput, WaitStrategy),
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
        let asked = Mutex::default();
        let mut answer =
            std::pin::pin!(worker.request_answer(self, (input, patience), session, deadline, cancel, &asked));
        let end = tokio::select! {
            biased;
            end = &mut answer => return end,
            () = cancel.cancelled() => HookExit::Cancelled,
            () = tokio::time::sleep_until(deadline) => match tokio::time::timeout(LATE_ANSWER_GRACE_PERIOD, &mut answer).await {
                Ok(end) => return end,
                Err(_) => HookExit::TimedOut(timeout),
            },
        };
        let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut run = RunOutput::from_exit(end);
        if let (Some(SentRequest { connection: talk, lines_before: heard, .. }), HookExit::TimedOut(_)) =
            (asked, &run.exit)
        {
            run.stderr = captured_log(&talk, 0);
            worker.handle_timeout(&talk, heard);
        }
        run
    }

    /// How a worker does, if it has ever been asked anything.
    pub(crate) fn worker_health(
        &self,
        source: &Source,
        action: &WorkerAction,
        session: &SessionSnapshot,
    ) -> Option<WorkerHealth> {
        self.shared.workers.health(source, action, (self, session))
    }

    /// Starts a worker's process ahead of time.
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

    /// Asks whichever process there is; `asked` says which one it was.
    async fn request_answer(
        &self,
        runner: &HookRunner,
        (input, patience): (&HookInput, WaitStrategy),
        session: &SessionSnapshot,
        deadline: Instant,
        cancel: &CancellationToken,
        asked: &Mutex<Option<SentRequest>>,
    ) -> RunOutput {
        loop {
            let talk = match self.connect(runner, session, deadline, cancel).await {
                Ok(talk) => talk,
                Err(end) => return RunOutput::from_exit(end),
            };
            let now = SentRequest {
                lines_before: talk.lines_read(),
                log_bytes_before: talk.logged_bytes(),
                connection: talk.clone(),
            };
            *asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(now.clone());
            match talk.request(input, patience).await {
                // It went while it was being looked for.
                Err(CloseReason::Retired) => {}
                Err(CloseReason::Lost(loss)) | Ok(WorkerReply::Unread(loss)) => {
                    // It was gone before it knew of the request. One that has never answered would only go again.
                    let again = talk.answer_counts().0 > 0 || talk.ended_at_hello();
                    if let Some(end) = self.handle_loss(&SentRequest { log_bytes_before: 0, ..now }, loss, again) {
                        return end;
                    }
                }
                Ok(WorkerReply::Lost(loss)) => {
                    // If our greeting was too much for it, it is asked once more, without.
                    let again = talk.ended_at_hello();
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
                    let why = if text.is_empty() { "it did not say why".to_owned() } else { text };
                    return RunOutput::from_exit(HookExit::Failed(format!("failed: {why}")));
                }
            }
        }
    }

    /// What a process's end means for who asked it, unless another is to be asked.
    fn handle_loss(&self, asked: &SentRequest, loss: ConnectionLoss, again: bool) -> Option<RunOutput> {
        if loss.is_deny() && !again {
            self.failures.store(0, Ordering::Relaxed);
            self.discard(&asked.connection);
            return Some(RunOutput {
                stderr: captured_log(&asked.connection, asked.log_bytes_before),
                ..RunOutput::from_exit(HookExit::Exited(2))
            });
        }
        self.record_loss(&asked.connection, &loss);
        (!again).then(|| loss_output(&asked.connection, loss))
    }

    /// The process that is there, or a new one.
    async fn connect(
        &self,
        runner: &HookRunner,
        session: &SessionSnapshot,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Arc<WorkerConnection>, HookExit> {
        let _hiring = self.spawn_lock.lock().await;
        if let Some(talk) = self.current_connection(runner, session).await? {
            return Ok(talk);
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
        // What it is made of is looked at before it starts: a change in between counts.
        let birth = LaunchFingerprint::capture(action, runner, session);
        let start = CommandLaunch { action, extra_env: &[WORKER_VARIABLE], session, spawn_with: &open };
        let pipes = runner.start_with_retry(&start, deadline, cancel).await?;
        self.starts.fetch_add(1, Ordering::Relaxed);
        let mut current = self.current();
        let talk = WorkerConnection::start(pipes, log, self.limits(runner), !current.skip_hello);
        tracing::debug!(pid = talk.pid(), command = self.action.command.command, "a worker runs");
        current.connection = Some(talk.clone());
        current.fingerprint = Some(Arc::new(birth));
        Ok(talk)
    }

    /// The process that is there, if it is still the right one.
    async fn current_connection(
        &self,
        runner: &HookRunner,
        session: &SessionSnapshot,
    ) -> Result<Option<Arc<WorkerConnection>>, HookExit> {
        let birth = self.current().fingerprint.clone();
        let is_same = match birth {
            None => true,
            Some(birth) if !birth.has_same_context(runner, session) => false,
            Some(birth) => {
                let has_same_files = run_with_disk_timeout(move || birth.has_same_files()).await;
                let unknown =
                    || format!("{DISK_TIMEOUT_MESSAGE}, so it can't be told whether its files are as they were");
                has_same_files.ok_or_else(|| HookExit::Failed(unknown()))?
            }
        };
        let mut live = self.current();
        if is_same && let Some(talk) = live.connection.as_ref().filter(|talk| talk.is_open()) {
            return Ok(Some(talk.clone()));
        }
        let old = live.connection.take();
        if !is_same {
            // What failed before may be mended now.
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

    /// Waits longer after every failure; after too many for ever. For what has no time to wait, the failure before counts.
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
                return Err(HookExit::Failed(format!("lost its worker, which is not started again so soon: {why}")));
            }
            tokio::time::sleep_until(until).await;
        }
        Ok(())
    }

    fn limits(&self, runner: &HookRunner) -> WorkerLimits {
        let upkeep = &self.action.config;
        WorkerLimits {
            max_answer_bytes: runner.limits.max_output_bytes,
            max_memory_bytes: upkeep.max_memory_bytes,
            idle_timeout: upkeep.idle_timeout,
            kill_grace_period: runner.limits.kill_grace_period,
        }
    }

    /// It has ended, and is not missed.
    fn discard(&self, talk: &Arc<WorkerConnection>) {
        let mut live = self.current();
        if live.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, talk)) {
            live.connection = None;
            drop(live);
            self.retire_connection(talk);
        }
    }

    /// Counts a process that failed, once; how many in a row that makes.
    fn record_loss(&self, talk: &Arc<WorkerConnection>, loss: &ConnectionLoss) -> u32 {
        let mut live = self.current();
        let is_current = live.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, talk));
        if !is_current {
            return self.failures.load(Ordering::Relaxed);
        }
        live.connection = None;
        if talk.ended_at_hello() && !live.skip_hello {
            live.skip_hello = true;
            return self.failures.load(Ordering::Relaxed);
        }
        live.last_failure = Some((Instant::now(), loss.text.clone()));
        drop(live);
        self.retire_connection(talk);
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        tracing::warn!(pid = talk.pid(), failures, why = loss.text, "a worker failed");
        failures
    }

    /// A request was not answered in its time. A process that has said nothing at all since then is deaf; one that goes on
    /// answering others is not, and its late answer is dropped.
    fn handle_timeout(&self, talk: &Arc<WorkerConnection>, heard: u64) {
        if talk.lines_read() == heard {
            talk.abort("it did not answer in time");
            if let Some(loss) = talk.loss() {
                self.record_loss(talk, &loss);
            }
        }
    }

    fn retire_connection(&self, talk: &WorkerConnection) {
        let (answered, late) = talk.answer_counts();
        let mut past = self.past_counts.lock().unwrap_or_else(PoisonError::into_inner);
        *past = (past.0 + answered, past.1 + late);
        talk.retire();
    }

    fn retire(&self) -> Option<Arc<WorkerConnection>> {
        let talk = self.current().connection.take()?;
        self.retire_connection(&talk);
        Some(talk)
    }

    fn health(&self, (runner, session): (&HookRunner, &SessionSnapshot)) -> WorkerHealth {
        // The disk is not waited for under the lock.
        let birth = self.current().fingerprint.clone();
        let is_same = birth.is_none_or(|birth| birth.has_same_context(runner, session) && birth.has_same_files());
        let live = self.current();
        let talk = live.connection.as_ref();
        let (answered, late) = talk.map_or((0, 0), |talk| talk.answer_counts());
        let past = *self.past_counts.lock().unwrap_or_else(PoisonError::into_inner);
        // What has changed since then is tried again.
        let gave_up = is_same && self.failures.load(Ordering::Relaxed) >= MAX_CONSECUTIVE_FAILURES;
        WorkerHealth {
            pid: talk.filter(|talk| talk.is_open()).map(|talk| talk.pid()),
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

/// What a command would have ended with that printed this.
fn answer_output(text: String) -> RunOutput {
    let bytes = text.len() as u64;
    RunOutput { stdout: CapturedStream { text, bytes, truncated: false }, ..RunOutput::from_exit(HookExit::Exited(0)) }
}

fn loss_output(talk: &WorkerConnection, loss: ConnectionLoss) -> RunOutput {
    let stderr = captured_log(talk, 0);
    match loss.truncated_line {
        // A no to this request is heard; of anything else it is only known that it was cut off.
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

/// What it has logged since then, as a command's stderr.
fn captured_log(talk: &WorkerConnection, then: u64) -> CapturedStream {
    let text = talk.log_since(then);
    let bytes = text.len() as u64;
    CapturedStream { text, bytes, truncated: false }
}
