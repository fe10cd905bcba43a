//! The hooks of one event: run in turn or at once, each answer read and put under the failure policy.

use std::sync::Arc;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::answer::{self, Decision, End, Reading, Trouble};
use crate::event::{EventKind, Power};
use crate::input::{Event, HookInput};
use crate::observe::{Belongs, EventId, Observer, RunId, RunReport, RunStart, RunStatus};
use crate::plan::{Plan, Planner};
use crate::registry::{FailureAction, Hook, Registry};
use crate::run::{RunEnd, Runner};
use crate::spot::Spot;

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
    pub(crate) runner: Arc<Runner>,
    pub(crate) observers: Arc<[Arc<dyn Observer>]>,
    pub(crate) cancel: CancellationToken,
}

/// One hook's run: the report for everybody, and its troubles for the user.
pub(crate) struct Ran {
    pub(crate) report: RunReport,
    pub(crate) troubles: Vec<Trouble>,
}

impl Firing {
    /// Runs the plan.
    pub(crate) async fn run<E: Event>(self, event: &E) -> Vec<Ran> {
        let (hooks, sequential) = (self.plan.hooks.len(), self.plan.sequential);
        tracing::debug!(subject = event.subject(), hooks, sequential, "fires");
        if self.plan.sequential && self.plan.hooks.len() > 1 {
            self.run_in_turn(event).await
        } else {
            self.run_at_once(event).await
        }
    }

    /// One after another: each sees the input as changed by those before it, and a no ends the row.
    async fn run_in_turn<E: Event>(self, event: &E) -> Vec<Ran> {
        let mut event = event.clone();
        let mut ran: Vec<Ran> = Vec::with_capacity(self.plan.hooks.len());
        for at in 0..self.plan.hooks.len() {
            let mut task = JoinSet::new();
            self.start(&mut task, at, HookInput::encode(&event, &self.session, &self.belongs));
            for one in task.join_all().await {
                event.advance(&one.report.answer);
                ran.push(one);
            }
            let over = ran.last().is_some_and(|one| one.report.answer.ends_plan());
            if over || self.cancel.is_cancelled() {
                break;
            }
        }
        ran
    }

    /// All at once, on the same input.
    async fn run_at_once<E: Event>(self, event: &E) -> Vec<Ran> {
        let input = HookInput::encode(event, &self.session, &self.belongs);
        let mut tasks = JoinSet::new();
        for at in 0..self.plan.hooks.len() {
            self.start(&mut tasks, at, input.clone());
        }
        let mut ran = tasks.join_all().await;
        ran.sort_by_key(|one| one.report.id);
        ran
    }

    /// Starts one run as a task of its own: the worker that hears of a hook's pipes then goes on with them itself,
    /// which is much quicker than waking whoever waits for the outcome every time.
    fn start(&self, tasks: &mut JoinSet<Ran>, at: usize, input: Result<HookInput, String>) {
        let firing = self.clone();
        let id = RunId { event: self.id, position: at + 1 };
        let span = tracing::info_span!("run", %id, hook = self.plan.hooks[at].id());
        tasks.spawn(async move { firing.run_one(id, at, input).await }.instrument(span));
    }

    async fn run_one(&self, id: RunId, at: usize, input: Result<HookInput, String>) -> Ran {
        let hook = &self.plan.hooks[at];
        tracing::debug!(source = %hook.source, timeout = ?hook.timeout, "the hook starts");
        let (belongs, total) = (&self.belongs, self.plan.hooks.len());
        let start = RunStart { id, belongs, event: self.kind, hook: hook.id(), source: &hook.source, total };
        self.observers.iter().for_each(|observer| observer.started(&start));
        let (mut finished, input) = match input {
            Ok(input) => {
                let max_parallel = self.planner.registry().max_parallel();
                (self.runner.run(hook, &input, &self.session, max_parallel, &self.cancel).await, input)
            }
            Err(message) => (RunEnd::not_run(End::NotStarted { code: 126, message }), HookInput::default()),
        };
        let mut reading = match finished.answer.take() {
            Some(answer) => answer::read_answer(self.kind, answer),
            None => answer::read(self.kind, &finished.end, &finished.stdout, &finished.stderr),
        };
        if self.kind.can(Power::SelectTools) {
            answer::keep_offered(&mut reading, &finished.stdout, &self.offered);
        }
        apply_failure_policy(self.kind, hook, self.planner.registry(), &mut reading);
        note_dropped_output(&finished, &mut reading);
        let report = self.report(hook, id, input.len(), finished, &mut reading);
        log_end(&report);
        self.observers.iter().for_each(|observer| observer.finished(&report, &input));
        Ran { report, troubles: reading.troubles }
    }

    fn report(&self, hook: &Hook, id: RunId, input_bytes: usize, finished: RunEnd, reading: &mut Reading) -> RunReport {
        let (exit_code, signal) = match finished.end {
            End::Exited(code) | End::NotStarted { code, .. } => (Some(code), None),
            End::NoRoom(_) => (Some(126), None),
            End::Signaled(signal) => (None, Some(signal)),
            End::TimedOut(_) | End::Cancelled => (None, None),
        };
        RunReport {
            id,
            belongs: self.belongs.clone(),
            event: self.kind,
            hook: hook.id().to_owned(),
            source: hook.source.clone(),
            total: self.plan.hooks.len(),
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

fn log_end(report: &RunReport) {
    // A hook's complaint may quote what it was given.
    let error = report.error.as_ref().filter(|_| !report.answer.suppress_output);
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

/// A failed hook counts as its `onError` says, where the event can be denied at all.
fn apply_failure_policy(kind: EventKind, hook: &Hook, registry: &Registry, reading: &mut Reading) {
    let Some((cause, text)) = reading.troubles.iter().find_map(|trouble| Some((trouble.cause?, trouble.text.clone())))
    else {
        return;
    };
    if !kind.can(Power::Deny) || reading.answer.ends_plan() {
        return;
    }
    let decision = match registry.failure_action(hook, cause) {
        FailureAction::Allow => return,
        FailureAction::Ask if kind.can(Power::Ask) => Decision::Ask,
        FailureAction::Ask | FailureAction::Block => Decision::Deny,
    };
    reading.answer.decision = Some(decision);
    reading.answer.reason = Some(format!("hook {} {text}", hook.id()));
}

/// Output over the bound is never dropped silently.
fn note_dropped_output(finished: &RunEnd, reading: &mut Reading) {
    for (name, stream) in [("stdout", &finished.stdout), ("stderr", &finished.stderr)] {
        if stream.truncated {
            let kept = stream.text.len();
            let text = format!("wrote {} bytes to {name}; all but the first {kept} were dropped", stream.bytes);
            reading.troubles.push(Trouble { cause: None, text });
        }
    }
}
