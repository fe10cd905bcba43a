//! Fires events: plan, run, read, apply the failure policy, merge, and hand back one typed outcome.

use std::ffi::OsString;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::answer::{self, Answer, Decision, End, Reading, Trouble};
use crate::event::{EventKind, Power};
use crate::input::{AnyEvent, Event, HookInput, Session, with_event};
use crate::merge::{Merged, merge};
use crate::observe::{Observer, RunReport, RunStart, RunStatus};
use crate::outcome::{Outcome, Said};
use crate::plan::{Plan, Planner};
use crate::ready::NotReady;
use crate::registry::{FailureAction, Hook, Registry, SwitchError};
use crate::run::{Finished, Limits, Runner};

/// The hook engine of one session. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct HookEngine {
    shared: Arc<Shared>,
}

struct Shared {
    planner: RwLock<Arc<Planner>>,
    session: RwLock<Arc<Session>>,
    runner: Runner,
    observers: Vec<Arc<dyn Observer>>,
}

/// Puts an engine together.
pub struct Builder {
    registry: Registry,
    session: Session,
    env: Vec<(OsString, OsString)>,
    limits: Limits,
    observers: Vec<Arc<dyn Observer>>,
}

impl Builder {
    /// The session that events belong to.
    #[must_use]
    pub fn session(mut self, session: Session) -> Self {
        self.session = session;
        self
    }

    /// The environment that commands start from, `PATH` included. Empty unless given.
    #[must_use]
    pub fn environment(mut self, env: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.env = env.into_iter().collect();
        self
    }

    /// Other bounds than the default ones.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Somebody who wants to know of every run.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// The engine.
    pub fn build(self) -> HookEngine {
        HookEngine {
            shared: Arc::new(Shared {
                planner: RwLock::new(Arc::new(Planner::new(self.registry))),
                session: RwLock::new(Arc::new(self.session)),
                runner: Runner::new(self.env, self.limits),
                observers: self.observers,
            }),
        }
    }
}

impl HookEngine {
    /// Starts putting an engine together around a registry.
    pub fn builder(registry: Registry) -> Builder {
        Builder {
            registry,
            session: Session::default(),
            env: Vec::new(),
            limits: Limits::default(),
            observers: Vec::new(),
        }
    }

    /// Fires an event and waits for its hooks.
    pub async fn fire<E: Event>(&self, event: &E) -> Outcome<E::Verdict> {
        self.fire_until(event, &CancellationToken::new()).await
    }

    /// Fires an event; cancelling the token ends its hooks.
    pub async fn fire_until<E: Event>(&self, event: &E, cancel: &CancellationToken) -> Outcome<E::Verdict> {
        let planner = self.planner();
        let Some(plan) = planner.plan(E::KIND, event.subject()) else { return nothing_ran::<E>() };
        let session = self.session();
        let ran = if plan.sequential && plan.hooks.len() > 1 {
            self.run_in_turn(&planner, &plan, event, &session, cancel).await
        } else {
            self.run_at_once(&planner, &plan, event, &session, cancel).await
        };
        self.conclude::<E>(ran)
    }

    /// Fires an event whose kind is only known at run time; the verdict is in the merged answer.
    pub async fn fire_any(&self, event: &AnyEvent, cancel: &CancellationToken) -> Outcome<()> {
        with_event!(event, event => {
            let outcome = self.fire_until(event, cancel).await;
            Outcome {
                verdict: (),
                messages: outcome.messages,
                warnings: outcome.warnings,
                suppress_output: outcome.suppress_output,
                merged: outcome.merged,
                runs: outcome.runs,
            }
        })
    }

    /// Whether any enabled hook could run on this event; asking costs next to nothing.
    pub fn wants(&self, kind: EventKind) -> bool {
        self.planner().wants(kind)
    }

    /// The hooks that an event would run.
    pub fn plan(&self, kind: EventKind, subject: Option<&str>) -> Option<Arc<Plan>> {
        self.planner().plan(kind, subject)
    }

    /// A snapshot of the registry.
    pub fn registry(&self) -> Registry {
        self.planner().registry().clone()
    }

    /// How often in a row AfterAgent hooks may demand a retry.
    pub fn max_agent_retries(&self) -> u32 {
        self.planner().registry().max_agent_retries()
    }

    /// Whether running hooks are shown to the user.
    pub fn notifications(&self) -> bool {
        self.planner().registry().notifications()
    }

    /// Replaces the configuration; events under way finish with the old one.
    pub fn reload(&self, registry: Registry) {
        *self.shared.planner.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Planner::new(registry));
    }

    /// Changes the registry in place: adds hooks in code, enables, disables, holds.
    pub fn update<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        let mut planner = self.shared.planner.write().unwrap_or_else(PoisonError::into_inner);
        let mut registry = planner.registry().clone();
        let result = change(&mut registry);
        *planner = Arc::new(Planner::new(registry));
        result
    }

    /// Enables or disables every hook of that name, at once.
    ///
    /// # Errors
    /// If no hook has that name, or a locked one should be disabled.
    pub fn set_enabled(&self, name: &str, enabled: bool) -> Result<(), SwitchError> {
        self.update(|registry| registry.set_enabled(name, enabled))
    }

    /// The session that events belong to.
    pub fn session(&self) -> Arc<Session> {
        self.shared.session.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Moves to another session, as `/clear` does.
    pub fn set_session(&self, session: Session) {
        *self.shared.session.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(session);
    }

    /// Whether a hook's command could really start, without running it.
    ///
    /// # Errors
    /// If it could not, with the reason.
    pub fn check(&self, hook: &Hook) -> Result<(), NotReady> {
        self.shared.runner.check(hook, &self.session())
    }

    /// Ends everything that hooks left running. Call it before the program ends; dropping the engine is the rough way.
    pub async fn shutdown(&self) {
        self.shared.runner.end_all().await;
    }

    fn planner(&self) -> Arc<Planner> {
        self.shared.planner.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// One after another: each sees the input as changed by those before it, and a no ends the row.
    async fn run_in_turn<E: Event>(
        &self,
        planner: &Arc<Planner>,
        plan: &Plan,
        event: &E,
        session: &Arc<Session>,
        cancel: &CancellationToken,
    ) -> Vec<Ran> {
        let mut event = event.clone();
        let mut ran: Vec<Ran> = Vec::with_capacity(plan.hooks.len());
        for (at, hook) in plan.hooks.iter().enumerate() {
            let position = Position { at, total: plan.hooks.len() };
            let one = match HookInput::encode(&event, session) {
                Ok(input) => {
                    let mut task = JoinSet::new();
                    self.start_one(&mut task, planner, hook, E::KIND, position, input, session, cancel);
                    task.join_all().await.pop()
                }
                Err(error) => Some(Ran::not_encoded(hook, E::KIND, position, &error)),
            };
            let Some(one) = one else { break };
            event.advance(&one.report.answer);
            let over = one.report.answer.ends_plan() || cancel.is_cancelled();
            ran.push(one);
            if over {
                break;
            }
        }
        ran
    }

    /// All at once, on the same input.
    async fn run_at_once<E: Event>(
        &self,
        planner: &Arc<Planner>,
        plan: &Plan,
        event: &E,
        session: &Arc<Session>,
        cancel: &CancellationToken,
    ) -> Vec<Ran> {
        let total = plan.hooks.len();
        let input = match HookInput::encode(event, session) {
            Ok(input) => input,
            Err(error) => {
                let failed =
                    |(at, hook): (usize, &Arc<Hook>)| Ran::not_encoded(hook, E::KIND, Position { at, total }, &error);
                return plan.hooks.iter().enumerate().map(failed).collect();
            }
        };
        let mut tasks = JoinSet::new();
        for (at, hook) in plan.hooks.iter().enumerate() {
            self.start_one(&mut tasks, planner, hook, E::KIND, Position { at, total }, input.clone(), session, cancel);
        }
        let mut ran = tasks.join_all().await;
        ran.sort_by_key(|one| one.report.position);
        ran
    }

    /// Starts one run as a task of its own: the worker that hears of a hook's pipes then goes on with them itself,
    /// which is much quicker than waking whoever waits for the outcome every time.
    #[expect(clippy::too_many_arguments, reason = "everything that one run is about, gathered at its only two callers")]
    fn start_one(
        &self,
        tasks: &mut JoinSet<Ran>,
        planner: &Arc<Planner>,
        hook: &Arc<Hook>,
        kind: EventKind,
        position: Position,
        input: HookInput,
        session: &Arc<Session>,
        cancel: &CancellationToken,
    ) {
        let (shared, planner, hook) = (self.shared.clone(), planner.clone(), hook.clone());
        let (session, cancel) = (session.clone(), cancel.clone());
        tasks.spawn(async move { shared.run_one(&planner, &hook, kind, position, &input, &session, &cancel).await });
    }

    /// Merges what ran into the event's outcome.
    fn conclude<E: Event>(&self, ran: Vec<Ran>) -> Outcome<E::Verdict> {
        let (merged, conflicts) = merge(ran.iter().map(|one| (one.report.hook.as_str(), &one.report.answer)));
        let said = |report: &RunReport, text: &str| Said {
            hook: report.hook.clone(),
            source: report.source.clone(),
            text: text.to_owned(),
        };
        let messages = ran
            .iter()
            .filter_map(|one| Some(said(&one.report, one.report.answer.system_message.as_deref()?)))
            .collect();
        let mut warnings: Vec<Said> =
            ran.iter().flat_map(|one| one.troubles.iter().map(|trouble| said(&one.report, &trouble.text))).collect();
        for conflict in conflicts {
            let owner = ran.iter().find(|one| one.report.hook == conflict.later);
            warnings.extend(owner.map(|one| said(&one.report, &conflict.to_string())));
        }
        Outcome {
            verdict: E::verdict(&merged),
            messages,
            warnings,
            suppress_output: merged.suppress_output,
            merged,
            runs: ran.into_iter().map(|one| one.report).collect(),
        }
    }
}

fn nothing_ran<E: Event>() -> Outcome<E::Verdict> {
    let merged = Merged::default();
    Outcome {
        verdict: E::verdict(&merged),
        messages: Vec::new(),
        warnings: Vec::new(),
        suppress_output: false,
        merged,
        runs: Vec::new(),
    }
}

#[derive(Clone, Copy)]
struct Position {
    at: usize,
    total: usize,
}

/// One hook's run: the report for everybody, and its troubles for the user.
struct Ran {
    report: RunReport,
    troubles: Vec<Trouble>,
}

impl Ran {
    fn not_encoded(hook: &Hook, kind: EventKind, position: Position, error: &serde_json::Error) -> Self {
        let message = format!("its input could not be written as JSON: {error}");
        let finished = Finished {
            end: End::NotStarted { code: 126, message: message.clone() },
            stdout: answer::Captured::default(),
            stderr: answer::Captured::default(),
            duration: std::time::Duration::ZERO,
            left_behind: false,
            answer: None,
        };
        let reading = Reading { answer: Answer::default(), troubles: vec![Trouble { cause: None, text: message }] };
        Ran::new(hook, kind, position, 0, finished, reading)
    }

    fn new(
        hook: &Hook,
        event: EventKind,
        position: Position,
        input_bytes: usize,
        finished: Finished,
        reading: Reading,
    ) -> Self {
        let (exit_code, signal) = match finished.end {
            End::Exited(code) | End::NotStarted { code, .. } => (Some(code), None),
            End::Signaled(signal) => (None, Some(signal)),
            End::TimedOut(_) | End::Cancelled => (None, None),
        };
        let error = reading.troubles.first().map(|trouble| trouble.text.clone());
        let report = RunReport {
            event,
            hook: hook.id().to_owned(),
            source: hook.source.clone(),
            position: position.at + 1,
            total: position.total,
            status: RunStatus::of(&finished.end),
            exit_code,
            signal,
            duration: finished.duration,
            input_bytes,
            stdout: finished.stdout,
            stderr: finished.stderr,
            answer: reading.answer,
            error,
            left_behind: finished.left_behind,
        };
        Ran { report, troubles: reading.troubles }
    }
}

impl Shared {
    #[expect(clippy::too_many_arguments, reason = "everything that one run is about, gathered at its only caller")]
    async fn run_one(
        &self,
        planner: &Planner,
        hook: &Hook,
        kind: EventKind,
        position: Position,
        input: &HookInput,
        session: &Session,
        cancel: &CancellationToken,
    ) -> Ran {
        let start = RunStart {
            event: kind,
            hook: hook.id(),
            source: &hook.source,
            position: position.at + 1,
            total: position.total,
        };
        self.observers.iter().for_each(|observer| observer.started(&start));
        let mut finished = self.runner.run(hook, input, session, cancel).await;
        let mut reading = match finished.answer.take() {
            Some(answer) => answer::read_answer(kind, answer),
            None => answer::read(kind, &finished.end, &finished.stdout, &finished.stderr),
        };
        apply_failure_policy(kind, hook, planner.registry(), &mut reading);
        note_dropped_output(&finished, &mut reading);
        let ran = Ran::new(hook, kind, position, input.len(), finished, reading);
        self.observers.iter().for_each(|observer| observer.finished(&ran.report, input));
        ran
    }
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
fn note_dropped_output(finished: &Finished, reading: &mut Reading) {
    for (name, stream) in [("stdout", &finished.stdout), ("stderr", &finished.stderr)] {
        if stream.truncated {
            let kept = stream.text.len();
            let text = format!("wrote {} bytes to {name}; all but the first {kept} were dropped", stream.bytes);
            reading.troubles.push(Trouble { cause: None, text });
        }
    }
}
