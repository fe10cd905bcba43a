//! Worker hooks: one process for a session, asked line by line, and looked after: started on first use, held to its time
//! and its bounds, started again when it fails, given up when that does not help.

mod birth;
mod ear;
mod line;
mod listen;
mod log;
mod loss;
mod refs;
mod talk;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hookwright_process::{Pipes, Program, Room};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::command::Start;
use super::{RunEnd, Runner};
use crate::answer::{Captured, End};
use crate::disk::{DISK_SILENT, within_disk_timeout};
use crate::hook::{Source, WorkerAction};
use crate::input::HookInput;
use crate::spot::Spot;
use birth::Birth;
use loss::{CutOff, Loss};
use talk::{Bounds, Closed, Reply, Talk};

/// Set to the version of the protocol, so that one script can be a command and a worker.
pub(super) const VARIABLE: (&str, &str) = ("HOOKWRIGHT_WORKER", "1");
/// So many failures in a row, and it is not started again.
const MOST_FAILURES: u32 = 5;
/// How long it is waited after the second failure; after each more, four times as long.
const PAUSE: Duration = Duration::from_millis(50);
/// An answer that lies in the pipe when its time is over was given in time.
const LAST_LOOK: Duration = Duration::from_millis(10);

/// How an answer is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// For a moment without falling asleep, if the worker is quick: nobody else wants the thread.
    Awake,
    Asleep,
}

/// The workers of one engine: hooks of one layer that say the same share a process.
#[derive(Default)]
pub(crate) struct Workers {
    /// Few, so that looking through them is the quickest way to one.
    all: Mutex<Vec<Arc<Worker>>>,
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
    pub late: u64,
    /// Why it is not started again, if it is not.
    pub inert: Option<String>,
}

impl Workers {
    fn of(&self, source: &Source, action: &WorkerAction) -> Arc<Worker> {
        let mut all = self.all();
        if let Some(known) = all.iter().find(|worker| worker.is_of(source, action)) {
            return known.clone();
        }
        let worker = Arc::new(Worker::new(source.clone(), action.clone()));
        all.push(worker.clone());
        worker
    }

    /// Lets go those that are not wanted any more; they finish what they were asked.
    pub(crate) fn keep(&self, is_wanted: impl Fn(&Source, &WorkerAction) -> bool) {
        self.all().retain(|worker| {
            let stays = is_wanted(&worker.source, &worker.action);
            if !stays {
                worker.retire();
            }
            stays
        });
    }

    /// How one of them does, if it has ever been asked anything.
    fn health(&self, source: &Source, action: &WorkerAction, place: (&Runner, &Spot)) -> Option<WorkerHealth> {
        self.all().iter().find(|worker| worker.is_of(source, action)).map(|worker| worker.health(place))
    }

    /// Lets all of them finish, and waits for that, but not for long.
    pub(crate) async fn finish(&self, longest: Duration) {
        let all = std::mem::take(&mut *self.all());
        let talks: Vec<Arc<Talk>> = all.iter().filter_map(|worker| worker.retire()).collect();
        let gone = async {
            for talk in &talks {
                talk.gone().await;
            }
        };
        let _ = tokio::time::timeout(longest, gone).await;
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Worker>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One worker, whichever process does its work.
struct Worker {
    source: Source,
    action: WorkerAction,
    /// As many as it can be asked at once.
    room: Room,
    /// Held while a process is looked for or started, so that only one is.
    hiring: tokio::sync::Mutex<()>,
    live: Mutex<Live>,
    /// In a row.
    failures: AtomicU32,
    starts: AtomicU64,
    /// What earlier processes answered in time, and late.
    past: Mutex<(u64, u64)>,
}

#[derive(Default)]
struct Live {
    talk: Option<Arc<Talk>>,
    birth: Option<Arc<Birth>>,
    /// Whether it stands a greeting; one that died of it is not greeted again.
    shy: bool,
    last_failure: Option<(Instant, String)>,
}

/// Which process was asked, and how much it had said and logged by then.
#[derive(Clone)]
struct Asked {
    talk: Arc<Talk>,
    heard: u64,
    logged: u64,
}

impl Runner {
    /// Asks a worker. It waits for its turn first, and its time counts from then on.
    pub(super) async fn ask_worker(
        &self,
        (source, action): (&Source, &WorkerAction),
        timeout: Duration,
        (input, patience): (&HookInput, Patience),
        session: &Spot,
        cancel: &CancellationToken,
    ) -> RunEnd {
        let worker = self.shared.workers.of(source, action);
        let _turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return RunEnd::not_run(End::Cancelled),
            turn = worker.room.enter() => turn,
        };
        let deadline = Instant::now() + timeout;
        let asked = Mutex::default();
        let mut answer = std::pin::pin!(worker.answer(self, (input, patience), session, deadline, cancel, &asked));
        let end = tokio::select! {
            biased;
            end = &mut answer => return end,
            () = cancel.cancelled() => End::Cancelled,
            () = tokio::time::sleep_until(deadline) => match tokio::time::timeout(LAST_LOOK, &mut answer).await {
                Ok(end) => return end,
                Err(_) => End::TimedOut(timeout),
            },
        };
        let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut run = RunEnd::not_run(end);
        if let (Some(Asked { talk, heard, .. }), End::TimedOut(_)) = (asked, &run.end) {
            run.stderr = logged(&talk, 0);
            worker.did_not_answer(&talk, heard);
        }
        run
    }

    /// How a worker does, if it has ever been asked anything.
    pub(crate) fn worker_health(&self, source: &Source, action: &WorkerAction, session: &Spot) -> Option<WorkerHealth> {
        self.shared.workers.health(source, action, (self, session))
    }

    /// Starts a worker's process ahead of time.
    pub(super) async fn start_worker(&self, source: &Source, action: &WorkerAction, timeout: Duration, session: &Spot) {
        let worker = self.shared.workers.of(source, action);
        let cancel = CancellationToken::new();
        if let Err(end) = worker.talk(self, session, Instant::now() + timeout, &cancel).await {
            tracing::debug!(?end, "a worker could not be started ahead of time");
        }
    }
}

impl Worker {
    fn new(source: Source, action: WorkerAction) -> Self {
        let room = Room::new(usize::try_from(action.upkeep.concurrency.get()).unwrap_or(usize::MAX));
        Worker {
            source,
            action,
            room,
            hiring: tokio::sync::Mutex::default(),
            live: Mutex::default(),
            failures: AtomicU32::new(0),
            starts: AtomicU64::new(0),
            past: Mutex::default(),
        }
    }

    fn is_of(&self, source: &Source, action: &WorkerAction) -> bool {
        self.source == *source && self.action == *action
    }

    /// Asks whichever process there is; `asked` says which one it was.
    async fn answer(
        &self,
        runner: &Runner,
        (input, patience): (&HookInput, Patience),
        session: &Spot,
        deadline: Instant,
        cancel: &CancellationToken,
        asked: &Mutex<Option<Asked>>,
    ) -> RunEnd {
        loop {
            let talk = match self.talk(runner, session, deadline, cancel).await {
                Ok(talk) => talk,
                Err(end) => return RunEnd::not_run(end),
            };
            let now = Asked { heard: talk.heard(), logged: talk.logged(), talk: talk.clone() };
            *asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(now.clone());
            match talk.ask(input, patience).await {
                // It went while it was being looked for.
                Err(Closed::Retired) => {}
                Err(Closed::Lost(loss)) | Ok(Reply::Unread(loss)) => {
                    // It was gone before it knew of the request. One that has never answered would only go again.
                    let again = talk.counts().0 > 0 || talk.ended_at_greeting();
                    if let Some(end) = self.after_loss(&Asked { logged: 0, ..now }, loss, again) {
                        return end;
                    }
                }
                Ok(Reply::Lost(loss)) => {
                    // If our greeting was too much for it, it is asked once more, without.
                    let again = talk.ended_at_greeting();
                    if let Some(end) = self.after_loss(&now, loss, again) {
                        return end;
                    }
                }
                Ok(Reply::Answer(text)) => {
                    self.failures.store(0, Ordering::Relaxed);
                    return answered(text);
                }
                Ok(Reply::Failure(text)) => {
                    self.failures.store(0, Ordering::Relaxed);
                    let why = if text.is_empty() { "it did not say why".to_owned() } else { text };
                    return RunEnd::not_run(End::Failed(format!("failed: {why}")));
                }
            }
        }
    }

    /// What a process's end means for who asked it, unless another is to be asked.
    fn after_loss(&self, asked: &Asked, loss: Loss, again: bool) -> Option<RunEnd> {
        if loss.is_no() && !again {
            self.failures.store(0, Ordering::Relaxed);
            self.forget(&asked.talk);
            return Some(RunEnd { stderr: logged(&asked.talk, asked.logged), ..RunEnd::not_run(End::Exited(2)) });
        }
        self.note_loss(&asked.talk, &loss);
        (!again).then(|| lost(&asked.talk, loss))
    }

    /// The process that is there, or a new one.
    async fn talk(
        &self,
        runner: &Runner,
        session: &Spot,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Arc<Talk>, End> {
        let _hiring = self.hiring.lock().await;
        if let Some(talk) = self.present(runner, session).await? {
            return Ok(talk);
        }
        self.pause(deadline).await?;
        let action = &self.action.command;
        runner.has_its_place(action, session)?;
        let (log, live) = log::logging();
        let live = Mutex::new(Some(live));
        let open = |program: &mut Program<'_>| {
            let own = live.lock().unwrap_or_else(PoisonError::into_inner).take();
            Pipes::open(program, own.unwrap_or_else(|| Box::new(|_| {})), &runner.shared.groups)
        };
        // What it is made of is looked at before it starts: a change in between counts.
        let birth = Birth::now(action, runner, session);
        let start = Start { action, more_env: &[VARIABLE], session, open: &open };
        let pipes = runner.start_when_free(&start, deadline, cancel).await?;
        self.starts.fetch_add(1, Ordering::Relaxed);
        let mut current = self.live();
        let talk = Talk::with(pipes, log, self.bounds(runner), !current.shy);
        tracing::debug!(pid = talk.pid(), command = self.action.command.command, "a worker runs");
        current.talk = Some(talk.clone());
        current.birth = Some(Arc::new(birth));
        Ok(talk)
    }

    /// The process that is there, if it is still the right one.
    async fn present(&self, runner: &Runner, session: &Spot) -> Result<Option<Arc<Talk>>, End> {
        let birth = self.live().birth.clone();
        let is_same = match birth {
            None => true,
            Some(birth) if !birth.is_of(runner, session) => false,
            Some(birth) => {
                let has_same_files = within_disk_timeout(move || birth.has_same_files()).await;
                let unknown = || format!("{DISK_SILENT}, so it can't be told whether its files are as they were");
                has_same_files.ok_or_else(|| End::Failed(unknown()))?
            }
        };
        let mut live = self.live();
        if is_same && let Some(talk) = live.talk.as_ref().filter(|talk| talk.is_open()) {
            return Ok(Some(talk.clone()));
        }
        let old = live.talk.take();
        if !is_same {
            // What failed before may be mended now.
            live.last_failure = None;
            live.birth = None;
            live.shy = false;
        }
        drop(live);
        if let Some(old) = old {
            match old.loss() {
                Some(loss) => drop(self.note_loss(&old, &loss)),
                None => self.let_go(&old),
            }
        }
        if !is_same {
            self.failures.store(0, Ordering::Relaxed);
        }
        Ok(None)
    }

    /// Waits longer after every failure; after too many for ever. For what has no time to wait, the failure before counts.
    async fn pause(&self, deadline: Instant) -> Result<(), End> {
        let failures = self.failures.load(Ordering::Relaxed);
        let last = self.live().last_failure.clone();
        let Some((when, why)) = last.filter(|_| failures > 0) else { return Ok(()) };
        if failures >= MOST_FAILURES {
            return Err(End::NotStarted { code: 126, message: given_up(&why) });
        }
        if failures > 1 {
            let until = when + PAUSE * 4_u32.pow(failures - 2);
            if until >= deadline {
                return Err(End::Failed(format!("lost its worker, which is not started again so soon: {why}")));
            }
            tokio::time::sleep_until(until).await;
        }
        Ok(())
    }

    fn bounds(&self, runner: &Runner) -> Bounds {
        let upkeep = &self.action.upkeep;
        Bounds {
            answer: runner.limits.output,
            memory: upkeep.max_memory,
            idle: upkeep.idle_timeout,
            grace: runner.limits.grace,
        }
    }

    /// It has ended, and is not missed.
    fn forget(&self, talk: &Arc<Talk>) {
        let mut live = self.live();
        if live.talk.as_ref().is_some_and(|current| Arc::ptr_eq(current, talk)) {
            live.talk = None;
            drop(live);
            self.let_go(talk);
        }
    }

    /// Counts a process that failed, once; how many in a row that makes.
    fn note_loss(&self, talk: &Arc<Talk>, loss: &Loss) -> u32 {
        let mut live = self.live();
        let is_current = live.talk.as_ref().is_some_and(|current| Arc::ptr_eq(current, talk));
        if !is_current {
            return self.failures.load(Ordering::Relaxed);
        }
        live.talk = None;
        if talk.ended_at_greeting() && !live.shy {
            live.shy = true;
            return self.failures.load(Ordering::Relaxed);
        }
        live.last_failure = Some((Instant::now(), loss.text.clone()));
        drop(live);
        self.let_go(talk);
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        tracing::warn!(pid = talk.pid(), failures, why = loss.text, "a worker failed");
        failures
    }

    /// A request was not answered in its time. A process that has said nothing at all since then is deaf; one that goes on
    /// answering others is not, and its late answer is dropped.
    fn did_not_answer(&self, talk: &Arc<Talk>, heard: u64) {
        if talk.heard() == heard {
            talk.break_off("it did not answer in time");
            if let Some(loss) = talk.loss() {
                self.note_loss(talk, &loss);
            }
        }
    }

    fn let_go(&self, talk: &Talk) {
        let (answered, late) = talk.counts();
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        *past = (past.0 + answered, past.1 + late);
        talk.retire();
    }

    fn retire(&self) -> Option<Arc<Talk>> {
        let talk = self.live().talk.take()?;
        self.let_go(&talk);
        Some(talk)
    }

    fn health(&self, (runner, session): (&Runner, &Spot)) -> WorkerHealth {
        // The disk is not waited for under the lock.
        let birth = self.live().birth.clone();
        let is_same = birth.is_none_or(|birth| birth.is_of(runner, session) && birth.has_same_files());
        let live = self.live();
        let talk = live.talk.as_ref();
        let (answered, late) = talk.map_or((0, 0), |talk| talk.counts());
        let past = *self.past.lock().unwrap_or_else(PoisonError::into_inner);
        // What has changed since then is tried again.
        let gave_up = is_same && self.failures.load(Ordering::Relaxed) >= MOST_FAILURES;
        WorkerHealth {
            pid: talk.filter(|talk| talk.is_open()).map(|talk| talk.pid()),
            starts: self.starts.load(Ordering::Relaxed),
            answered: past.0 + answered,
            late: past.1 + late,
            inert: live.last_failure.as_ref().filter(|_| gave_up).map(|(_, why)| given_up(why)),
        }
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn given_up(why: &str) -> String {
    format!(
        "its worker failed {MOST_FAILURES} times in a row (the last time: {why}); it is started again when its files or \
         its settings change"
    )
}

/// What a command would have ended with that printed this.
fn answered(text: String) -> RunEnd {
    let bytes = text.len() as u64;
    RunEnd { stdout: Captured { text, bytes, truncated: false }, ..RunEnd::not_run(End::Exited(0)) }
}

fn lost(talk: &Talk, loss: Loss) -> RunEnd {
    let stderr = logged(talk, 0);
    match loss.cut_off {
        // A no to this request is heard; of anything else it is only known that it was cut off.
        Some(CutOff { bytes, no }) => {
            let text = no.map_or_else(|| "{".to_owned(), |(_, no)| no);
            let stdout = Captured { text, bytes, truncated: true };
            RunEnd { stdout, stderr, ..RunEnd::not_run(End::Exited(0)) }
        }
        None => RunEnd { stderr, ..RunEnd::not_run(End::Failed(format!("lost its worker: {}", loss.text))) },
    }
}

/// What it has logged since then, as a command's stderr.
fn logged(talk: &Talk, then: u64) -> Captured {
    let text = talk.log_since(then);
    let bytes = text.len() as u64;
    Captured { text, bytes, truncated: false }
}
