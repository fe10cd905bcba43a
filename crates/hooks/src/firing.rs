//! The hooks of one event: run in turn or at once, each answer read and put under the failure policy (`firing/failure.rs`).
//! What is known of a run once it is over is `firing/ran.rs`.

mod failure;
mod ran;

use std::future::{Future, poll_fn};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::answer::{self, Decision, End, Reading, Trouble};
use crate::dialect::claude::Shown;
use crate::dialect::{Dialect, read_claude};
use crate::disk::{DISK_SILENT, within_disk_timeout};
use crate::effects::{self, Effects, PathResolver};
use crate::event::{EventKind, Power};
use crate::hook::{Action, Hook};
use crate::input::{Event, HookInput};
use crate::observe::{Belongs, EventId, Observer, RunId, RunReport, RunStart, RunStatus};
use crate::plan::{Plan, Planner};
use crate::run::{Company, RunEnd, Runners};
use crate::sentry::Sentry;
use crate::spot::{Home, Spot};
use crate::when::Because;
use failure::{apply_failure_policy, note_dropped_output, refuse};
pub(crate) use ran::Ran;
use ran::{advanced, forget_what_was_said, tell_the_rest};

/// Everything that the runs of one event share. Cheap to clone: every run takes one along.
#[derive(Clone)]
pub(crate) struct Firing {
    pub(crate) id: EventId,
    pub(crate) belongs: Belongs,
    pub(crate) kind: EventKind,
    /// The tools on offer, where hooks can choose among them.
    pub(crate) offered: Arc<[String]>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) planner: Arc<Planner>,
    pub(crate) session: Arc<Spot>,
    pub(crate) runners: Arc<Runners>,
    /// What `~` stands for in calls.
    pub(crate) home: Option<PathBuf>,
    pub(crate) observers: Arc<[Arc<dyn Observer>]>,
    pub(crate) sentry: Option<Arc<dyn Sentry>>,
    pub(crate) cancel: CancellationToken,
    pub(crate) beside: Beside,
}

/// A tool call, as far as it tells what it does.
struct Call {
    tool: String,
    args: Map<String, Value>,
    paths: PathResolver,
    touches_nothing: bool,
}

impl Call {
    fn of<E: Event>(event: &E, belongs: &Belongs) -> Option<Call> {
        let (tool, args) = event.call()?;
        let (paths, touches_nothing) = (belongs.paths.clone(), belongs.touches_nothing);
        Some(Call { tool: tool.to_owned(), args: Effects::telling_args(tool, args), paths, touches_nothing })
    }

    fn effects(&self, session: &Spot, home: Option<&Path>) -> Effects {
        if self.touches_nothing {
            return Effects::default();
        }
        Effects::resolved(&self.tool, &self.args, &place_in(session, home), &self.paths)
    }
}

/// Where a call of the session runs.
fn place_in<'s>(session: &'s Spot, home: Option<&'s Path>) -> effects::Place<'s> {
    let project = &session.project_dir;
    let project = if project.as_os_str().is_empty() { &session.cwd } else { project };
    effects::Place { cwd: &session.cwd, project, home }
}

/// Looks at the disk once for an event: where the session is, and what the call does that the event is about.
///
/// Where the disk does not answer, the session counts as being where it was, and everything that the call does is in doubt.
pub(crate) async fn survey<E: Event>(
    event: &E,
    belongs: &Belongs,
    home: Arc<Home>,
    user_home: Option<PathBuf>,
) -> (Spot, Option<Effects>) {
    let call = Call::of(event, belongs);
    let (is_call, assumed) = (call.is_some(), home.assumed_spot());
    let look = within_disk_timeout(move || {
        let session = home.spot();
        let effects = call.map(|call| call.effects(&session, user_home.as_deref()));
        (session, effects)
    });
    look.await.unwrap_or_else(|| (assumed, is_call.then(|| Effects::unknown(DISK_SILENT))))
}

/// When a hook of the plan runs, and why.
struct Turn {
    /// Its place in the plan.
    at: usize,
    /// Which run of the event this is.
    position: usize,
    /// How many of the answers before it its input takes in.
    saw: usize,
    because: Because,
    /// Whether nobody else is asked meanwhile.
    alone: bool,
}

/// Hooks that run beside their events, until the session ends.
#[derive(Clone, Default)]
pub(crate) struct Beside {
    /// Ends them.
    end: CancellationToken,
    running: Arc<Mutex<JoinSet<()>>>,
}

impl Beside {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        running.spawn(task);
    }

    /// Waits until they have all ended by themselves, which each does within its timeout. Whoever gives up waiting ends none.
    pub(crate) async fn settled(&self) {
        let all_over = |context: &mut Context<'_>| {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            while ready!(running.poll_join_next(context)).is_some() {}
            Poll::Ready(())
        };
        poll_fn(all_over).await;
    }

    /// Ends them all and waits until they have ended.
    pub(crate) async fn end(&self) {
        self.end.cancel();
        let mut running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        while running.join_next().await.is_some() {}
    }
}

impl Firing {
    /// Runs the plan. The effects are those of the event as it is.
    pub(crate) async fn run<E: Event>(self, event: &E, effects: Option<Effects>) -> Vec<Ran> {
        let (hooks, sequential) = (self.plan.hooks.len(), self.plan.sequential);
        tracing::debug!(subject = event.subject(), hooks, sequential, "fires");
        let mut ran = if self.plan.sequential && self.plan.hooks.len() > 1 {
            self.run_in_turn(event, effects).await
        } else {
            self.run_at_once(event, effects).await
        };
        let rewrites = |one: &Ran| one.report.answer.rewrites();
        if E::CAN_ADVANCE && self.plan.hooks.iter().any(|hook| hook.is_guard()) && ran.iter().any(rewrites) {
            self.ask_guards_again(event, &mut ran).await;
        }
        tell_the_rest(self.kind, &self.observers, &mut ran);
        ran
    }

    /// One after another: each sees the input as changed by those before it, and a no ends the row.
    async fn run_in_turn<E: Event>(&self, event: &E, mut effects: Option<Effects>) -> Vec<Ran> {
        let mut event = event.clone();
        let mut ran: Vec<Ran> = Vec::with_capacity(self.plan.hooks.len());
        for at in 0..self.plan.hooks.len() {
            let Some(because) = self.because(at, effects.as_ref()) else { continue };
            let input = HookInput::encode(&event, effects.as_ref(), &self.session, &self.belongs);
            if self.plan.hooks[at].runs_beside() {
                self.start_beside(at, because, input);
                continue;
            }
            let turn = Turn { at, position: at + 1, saw: ran.len(), because, alone: true };
            for one in self.run_by_itself(turn, input).await {
                event.advance(&one.report.answer);
                if one.report.answer.rewrites() {
                    effects = self.effects(&event).await;
                }
                ran.push(one);
            }
            if self.is_over(&ran) {
                break;
            }
        }
        ran
    }

    /// All at once, on the same input.
    async fn run_at_once<E: Event>(&self, event: &E, effects: Option<Effects>) -> Vec<Ran> {
        let asked = |at: usize| Some((at, self.because(at, effects.as_ref())?));
        let mut asked: Vec<(usize, Because)> = (0..self.plan.hooks.len()).filter_map(asked).collect();
        if asked.is_empty() {
            return Vec::new();
        }
        let input = HookInput::encode(event, effects.as_ref(), &self.session, &self.belongs);
        if let [(at, _)] = asked[..]
            && !self.plan.hooks[at].runs_beside()
            && let Some((at, because)) = asked.pop()
        {
            return self.run_by_itself(Turn { at, position: at + 1, saw: 0, because, alone: true }, input).await;
        }
        let mut tasks = JoinSet::new();
        for (at, because) in asked {
            match self.plan.hooks[at].runs_beside() {
                true => self.start_beside(at, because, input.clone()),
                false => {
                    let turn = Turn { at, position: at + 1, saw: 0, because, alone: false };
                    self.start(&mut tasks, turn, input.clone());
                }
            }
        }
        let mut ran = tasks.join_all().await;
        ran.sort_by_key(|one| one.report.id);
        ran
    }

    /// What the call does that the event is about.
    async fn effects<E: Event>(&self, event: &E) -> Option<Effects> {
        let call = Call::of(event, &self.belongs)?;
        let (session, home) = (self.session.clone(), self.home.clone());
        let effects = within_disk_timeout(move || call.effects(&session, home.as_deref())).await;
        Some(effects.unwrap_or_else(|| Effects::unknown(DISK_SILENT)))
    }

    fn place(&self) -> effects::Place<'_> {
        place_in(&self.session, self.home.as_deref())
    }

    /// Why a hook of the plan is asked, if it is. One that may not run is, whatever it says of itself.
    fn because(&self, at: usize, effects: Option<&Effects>) -> Option<Because> {
        match effects {
            Some(effects) if !self.plan.closed.contains_key(&at) => self.plan.hooks[at].applies(effects, &self.place()),
            _ => Some(Because::Always),
        }
    }

    fn is_over(&self, ran: &[Ran]) -> bool {
        self.cancel.is_cancelled() || ran.iter().any(|one| one.report.answer.ends_plan())
    }

    /// Guards judge last: what another hook has changed since a guard looked at it, the guard sees once more.
    async fn ask_guards_again<E: Event>(&self, event: &E, ran: &mut Vec<Ran>) {
        /// Hooks that go on changing each other's changes after this come to no end.
        const ROUNDS: usize = 3;
        for _ in 0..ROUNDS {
            let again = self.guards_to_ask(event, ran).await;
            if again.is_empty() || self.is_over(ran) {
                return;
            }
            let now = advanced(event, ran.iter());
            let effects = self.effects(&now).await;
            let input = HookInput::encode(&now, effects.as_ref(), &self.session, &self.belongs);
            let mut tasks = JoinSet::new();
            for (nth, (at, because)) in again.into_iter().enumerate() {
                let position = self.plan.hooks.len().max(ran.len()) + nth + 1;
                let turn = Turn { at, position, saw: ran.len(), because, alone: false };
                self.start(&mut tasks, turn, input.clone());
            }
            let mut round = tasks.join_all().await;
            round.sort_by_key(|one| one.report.id);
            round.iter_mut().for_each(|one| forget_what_was_said(one, ran));
            ran.extend(round);
        }
        if self.is_over(ran) {
            return;
        }
        for (at, _) in self.guards_to_ask(event, ran).await {
            // One that has not been asked at all says no by the mouth of the last one that was.
            let nth = ran.iter().rposition(|one| one.at == at).unwrap_or(ran.len().saturating_sub(1));
            let Some(last) = ran.get_mut(nth) else { continue };
            let text = "could not judge what other hooks keep changing";
            last.report.answer.decision = Some(Decision::Deny);
            last.report.answer.reason = Some(format!("hook {} {text}", self.plan.hooks[at].id()));
            last.troubles.push(Trouble { cause: None, text: text.to_owned() });
        }
    }

    /// The guards that have not seen the event as it would go on, and why they are asked about it as it is now: one that
    /// was not asked before may be now, and the other way round.
    async fn guards_to_ask<E: Event>(&self, event: &E, ran: &[Ran]) -> Vec<(usize, Because)> {
        let guards = (0..self.plan.hooks.len()).filter(|at| self.plan.hooks[*at].is_guard());
        let now = advanced(event, ran.iter());
        let unseen = |at: &usize| {
            let Some(nth) = ran.iter().rposition(|one| one.at == *at) else { return true };
            // Its own change is what it wants.
            let known = ran.iter().enumerate().filter(|(other, _)| *other < ran[nth].saw || *other == nth);
            !advanced(event, known.map(|(_, one)| one)).is_same(&now)
        };
        let unseen: Vec<usize> = guards.filter(unseen).collect();
        let effects = if unseen.is_empty() { None } else { self.effects(&now).await };
        unseen.into_iter().filter_map(|at| Some((at, self.because(at, effects.as_ref())?))).collect()
    }

    /// Runs a hook while nobody else is asked. One that starts no process needs no task either: to make one and to be woken by
    /// it takes longer than many of their answers.
    async fn run_by_itself(&self, turn: Turn, input: Result<HookInput, String>) -> Vec<Ran> {
        if matches!(self.plan.hooks[turn.at].action, Action::Command(_)) {
            let mut task = JoinSet::new();
            self.start(&mut task, turn, input);
            return task.join_all().await;
        }
        let (id, span) = self.named(&turn);
        // Boxed: it would be carried along by every event that runs no hook at all.
        vec![Box::pin(self.run_one(id, turn, input).instrument(span)).await]
    }

    fn named(&self, turn: &Turn) -> (RunId, tracing::Span) {
        let id = RunId { event: self.id, position: turn.position };
        (id, tracing::info_span!("run", %id, hook = self.plan.hooks[turn.at].id()))
    }

    /// Starts one run as a task of its own: the worker that hears of a hook's pipes then goes on with them itself,
    /// which is much quicker than waking whoever waits for the outcome every time.
    fn start(&self, tasks: &mut JoinSet<Ran>, turn: Turn, input: Result<HookInput, String>) {
        let firing = self.clone();
        let (id, span) = self.named(&turn);
        tasks.spawn(async move { firing.run_one(id, turn, input).await }.instrument(span));
    }

    /// Starts a run that nobody waits for; what comes of it is told to the observers.
    fn start_beside(&self, at: usize, because: Because, input: Result<HookInput, String>) {
        let firing = Firing { cancel: self.beside.end.child_token(), ..self.clone() };
        let id = RunId { event: self.id, position: at + 1 };
        let span = tracing::info_span!("run", %id, hook = self.plan.hooks[at].id(), beside = true);
        let run = async move {
            let turn = Turn { at, position: at + 1, saw: 0, because, alone: false };
            let ran = firing.run_one(id, turn, input).await;
            // That the session is over is why it was ended, and no news.
            if !firing.cancel.is_cancelled() {
                let words = ran.words();
                firing.observers.iter().for_each(|observer| observer.later(firing.kind, &words.0, &words.1));
            }
        };
        self.beside.spawn(run.instrument(span));
    }

    async fn run_one(&self, id: RunId, turn: Turn, input: Result<HookInput, String>) -> Ran {
        let Turn { at, saw, because, alone, .. } = turn;
        let company = Company { alone, max_parallel: self.planner.registry().max_parallel() };
        let hook = &self.plan.hooks[at];
        tracing::debug!(source = %hook.source, timeout = ?hook.timeout, "the hook starts");
        let (belongs, total) = (&self.belongs, self.plan.hooks.len().max(id.position));
        let start = RunStart { id, belongs, event: self.kind, hook: hook.id(), source: &hook.source, total };
        self.observers.iter().for_each(|observer| observer.started(&start));
        let distrust = self.distrust(hook).await;
        let not_started = |message| RunEnd::not_run(End::NotStarted { code: 126, message });
        let (finished, input, mut reading) = match input {
            Ok(input) if let Some(message) = distrust.clone() => self.ended(not_started(message), input),
            Ok(input) if let Some(why) = self.plan.closed.get(&at) => {
                let message = format!("it waits for your trust ({why}); `/hooks trust {}` lets it run", hook.id());
                self.ended(not_started(message), input)
            }
            Ok(input) => match hook.dialect() {
                Dialect::Gemini => self.ended(self.run_hook((hook, &because), &input, company).await, input),
                Dialect::Claude => self.run_in_claudes_words((hook, &because), input, company).await,
            },
            Err(message) => self.ended(not_started(message), HookInput::default()),
        };
        if self.kind.can(Power::SelectTools) {
            answer::keep_offered(&mut reading, &finished.stdout, &self.offered);
        }
        if hook.is_guard() {
            answer::hear_cancelled(self.kind, &mut reading, &finished.end);
        }
        match (hook.dialect(), hook.is_guard()) {
            (Dialect::Gemini, true) => answer::hear_guard(&mut reading, &finished.end, &finished.stdout),
            (Dialect::Gemini, false) => answer::hear_others(&mut reading, &finished.end, &finished.stdout),
            // Its reader hears all of that.
            (Dialect::Claude, _) => {}
        }
        match hook.runs_beside() {
            true => answer::without_a_say(&mut reading),
            false => apply_failure_policy(self.kind, hook, self.planner.registry(), &mut reading),
        }
        let unjudged = finished.end == End::Cancelled || distrust.is_some() || reading.is_no_for_want_of_an_answer();
        if let Some(why) = distrust {
            refuse(self.kind, hook, why, &mut reading);
        }
        if unjudged && self.kind.can(Power::RedactInput) && !hook.runs_beside() {
            // Nobody knows whether it would have had them redacted.
            reading.answer.redact_input = true;
            reading.answer.tool_input = None;
        }
        note_dropped_output(&finished, &mut reading);
        let mut report = self.report(hook, id, input.len(), finished, &mut reading);
        report.answer.suppress_output |= report.answer.redact_input;
        // Another hook, or this one, may yet keep the content of this event from every record.
        let may_be_withheld = self.kind.can_withhold_content() && (total > 1 || self.kind != EventKind::BeforeTool);
        log_end(&report, may_be_withheld);
        let mut untold = None;
        match (may_be_withheld, hook.runs_beside()) {
            (false, _) => self.observers.iter().for_each(|observer| observer.finished(&report, &input)),
            (true, false) => untold = Some(input),
            // It ends at any time, perhaps before the hooks that withhold the content.
            (true, true) if total > 1 => {
                report.answer.suppress_output = true;
                self.observers.iter().for_each(|observer| observer.finished(&report, &HookInput::default()));
            }
            (true, true) => self.observers.iter().for_each(|observer| observer.finished(&report, &input)),
        }
        Ran { report, untold, troubles: reading.troubles, guard: hook.is_guard(), at, saw }
    }

    /// Why a hook may not run any more, if it may not.
    async fn distrust(&self, hook: &Arc<Hook>) -> Option<String> {
        let sentry = self.sentry.clone()?;
        let (hook, session) = (hook.clone(), self.session.clone());
        let challenge = move || {
            let why = sentry.challenge(&hook).err()?;
            // Whoever took the directory away took the guards too, and that says more.
            Some(session.complaint().map_or_else(|| why.clone(), |complaint| format!("{complaint}, and {why}")))
        };
        let unknown = || Some(format!("{DISK_SILENT}, so it can't be told whether it is still what you trust"));
        within_disk_timeout(challenge).await.unwrap_or_else(unknown)
    }

    async fn run_hook(&self, (hook, because): (&Hook, &Because), input: &HookInput, company: Company) -> RunEnd {
        self.runners.of(&hook.source).run((hook, because), input, &self.session, company, &self.cancel).await
    }

    /// A run's end, read in our own words.
    fn ended(&self, mut finished: RunEnd, input: HookInput) -> (RunEnd, HookInput, Reading) {
        let reading = match finished.answer.take() {
            Some(answer) => answer::read_answer(self.kind, answer),
            None => answer::read(self.kind, &finished.end, &finished.stdout, &finished.stderr),
        };
        (finished, input, reading)
    }

    /// Runs a hook that is spoken to in Claude Code's words: for each view of a call, until one is not simply let pass.
    async fn run_in_claudes_words(
        &self,
        (hook, because): (&Hook, &Because),
        input: HookInput,
        company: Company,
    ) -> (RunEnd, HookInput, Reading) {
        let shown = match Shown::of(self.kind, hook.occasion.after, &input) {
            Ok(shown) => shown,
            Err(message) => {
                return self.ended(RunEnd::not_run(End::NotStarted { code: 126, message }), input);
            }
        };
        let mut ended = None;
        for (view, input) in shown.views.iter().enumerate() {
            let finished = self.run_hook((hook, because), input, company).await;
            let reading = read_claude(hook, &shown, view, &finished.end, &finished.stdout, &finished.stderr);
            let passes = reading.answer.decision.is_none_or(|decision| decision == Decision::Allow)
                && !reading.answer.stop
                && reading.troubles.is_empty();
            ended = Some((finished, input.clone(), reading));
            if !passes {
                break;
            }
        }
        ended.unwrap_or_else(|| {
            let message = "there is nothing to show it".to_owned();
            self.ended(RunEnd::not_run(End::NotStarted { code: 126, message }), input)
        })
    }

    fn report(&self, hook: &Hook, id: RunId, input_bytes: usize, finished: RunEnd, reading: &mut Reading) -> RunReport {
        let (exit_code, signal) = match finished.end {
            End::Exited(code) | End::NotStarted { code, .. } => (Some(code), None),
            End::NoRoom(_) => (Some(126), None),
            End::Signaled(signal) => (None, Some(signal)),
            End::Failed(_) | End::TimedOut(_) | End::Cancelled => (None, None),
        };
        RunReport {
            id,
            belongs: self.belongs.clone(),
            event: self.kind,
            hook: hook.id().to_owned(),
            hook_type: hook.type_name(),
            source: hook.source.clone(),
            total: self.plan.hooks.len().max(id.position),
            beside: hook.runs_beside(),
            status: RunStatus::of(&finished.end),
            exit_code,
            signal,
            duration: finished.duration,
            input_bytes,
            stdout: finished.stdout,
            stderr: finished.stderr,
            answer: std::mem::take(&mut reading.answer),
            error: reading.troubles.first().map(|trouble| trouble.text.clone()),
            left_behind: finished.left_behind,
        }
    }
}

fn log_end(report: &RunReport, may_be_withheld: bool) {
    // A hook's complaint may quote what it was given.
    let error = report.error.as_ref().filter(|_| !report.answer.suppress_output && !may_be_withheld);
    tracing::debug!(
        status = report.status.as_str(),
        exit = report.exit_code,
        signal = report.signal,
        ms = report.duration.as_millis(),
        decision = report.decision().map(tracing::field::debug),
        error,
        "the hook has ended"
    );
}
