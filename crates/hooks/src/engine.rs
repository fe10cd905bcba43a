//! The engine: holds a session's configuration, fires its events, and returns one typed outcome for each.
//!
//! `running/dispatch.rs` runs the hooks of one event.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::answers::Decision;
use crate::answers::merge::merge;
use crate::answers::outcome::{HookMessage, Outcome};
use crate::confinement::ConfinementLauncher;
use crate::dialect::claude::AgentScope;
use crate::doubt::Enforcement;
use crate::effects::SHELL_TOOL;
use crate::event::chunks::ChunkGranularity;
use crate::event::input::{AnyEvent, Event, HookInput, Session, with_event};
use crate::event::{EventKind, MatcherSubject};
use crate::guards::trust_gate::TrustGate;
use crate::guards::{SleepingGuard, UnarmedGuard};
use crate::hook::{Action, Hook, RunCondition, Source, WorkerAction};
use crate::matching::mcp_names::McpToolName;
use crate::registry::{HookState, Registry, SwitchError};
use crate::running::dispatch::{
    BackgroundRuns, EventDispatch, EventRuns, HookRun, read_session_and_effects, resolve_session_and_effects,
};
use crate::running::observer::{EventId, EventReport, Observer, RunContext};
use crate::running::plan::{Plan, Planner};
use crate::running::readiness::ReadinessError;
use crate::running::session_dir::{SessionDir, SessionSnapshot};
use crate::running::worker::WorkerHealth;
use crate::running::{ExecEnv, ExecEnvs, HookRunners, RunLimits};

/// The hook engine of one session.
///
/// An engine is cheap to clone, and clones share their state. The crate's documentation has an example.
#[derive(Clone)]
pub struct HookEngine {
    shared: Arc<EngineState>,
}

struct EngineState {
    planner: RwLock<Arc<Planner>>,
    session_dir: RwLock<Arc<SessionDir>>,
    runners: RwLock<Arc<HookRunners>>,
    observers: Arc<[Arc<dyn Observer>]>,
    trust_gate: Option<Arc<dyn TrustGate>>,
    disk_access: DiskAccess,
    /// The number of events that have had hooks to run.
    fired_events: AtomicU64,
    background: BackgroundRuns,
    /// The `once` hooks that have run, each with its session.
    spent_once_hooks: Mutex<HashSet<(EventKind, String, String)>>,
    /// The guards that are not armed.
    sleeping_guards: RwLock<Arc<[SleepingGuard]>>,
}

impl EngineState {
    fn runners(&self) -> Arc<HookRunners> {
        self.runners.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for EngineState {
    /// Kills the remaining processes: after the last handle is dropped, no caller can shut the engine down.
    fn drop(&mut self) {
        self.runners().kill_now();
    }
}

/// How the engine reads the disk to determine the effects of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DiskAccess {
    /// On another thread, for a bounded time.
    #[default]
    WithTimeout,
    /// On the thread that fires the event.
    Direct,
}

/// Builds a [`HookEngine`]; made by [`HookEngine::builder`].
pub struct HookEngineBuilder {
    registry: Registry,
    session: Session,
    exec_envs: ExecEnvs,
    limits: RunLimits,
    observers: Vec<Arc<dyn Observer>>,
    trust_gate: Option<Arc<dyn TrustGate>>,
    launcher: Option<Arc<dyn ConfinementLauncher>>,
    disk_access: DiskAccess,
}

impl HookEngineBuilder {
    /// Sets the session that events belong to.
    #[must_use]
    pub fn session(mut self, session: Session) -> Self {
        self.session = session;
        self
    }

    /// Sets the environment that commands start from, `PATH` included. It is empty by default.
    #[must_use]
    pub fn environment(self, env: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let env = env.into_iter().collect();
        self.exec_envs(ExecEnvs::uniform(ExecEnv { env, directory: None }))
    }

    /// Sets the environments of commands, where they depend on the source of the hook.
    #[must_use]
    pub fn exec_envs(mut self, places: ExecEnvs) -> Self {
        self.exec_envs = places;
        self
    }

    /// Sets the limits of hook runs.
    #[must_use]
    pub fn limits(mut self, limits: RunLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds an observer that is notified of every run.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observers.push(observer);
        self
    }

    /// Sets the trust gate that is asked before every run.
    #[must_use]
    pub fn trust_gate(mut self, gate: Arc<dyn TrustGate>) -> Self {
        self.trust_gate = Some(gate);
        self
    }

    /// Sets the launcher of hooks whose own process is confined; without one, such hooks cannot run.
    #[must_use]
    pub fn confinement_launcher(mut self, launcher: Option<Arc<dyn ConfinementLauncher>>) -> Self {
        self.launcher = launcher;
        self
    }

    /// Has the effects of a call determined on the thread that fires the event, for programs that fire many events and
    /// that a disk which does not respond may hold up.
    #[must_use]
    pub fn read_disk_directly(mut self) -> Self {
        self.disk_access = DiskAccess::Direct;
        self
    }

    /// Builds the engine.
    pub fn build(self) -> HookEngine {
        HookEngine {
            shared: Arc::new(EngineState {
                planner: RwLock::new(Arc::new(Planner::new(self.registry))),
                session_dir: RwLock::new(Arc::new(SessionDir::new(self.session))),
                runners: RwLock::new(Arc::new(HookRunners::new(self.exec_envs, self.limits, self.launcher))),
                observers: self.observers.into(),
                trust_gate: self.trust_gate,
                disk_access: self.disk_access,
                fired_events: AtomicU64::new(0),
                background: BackgroundRuns::default(),
                spent_once_hooks: Mutex::default(),
                sleeping_guards: RwLock::new(Arc::default()),
            }),
        }
    }
}

impl HookEngine {
    /// Starts building an engine with this registry.
    pub fn builder(registry: Registry) -> HookEngineBuilder {
        HookEngineBuilder {
            registry,
            session: Session::default(),
            exec_envs: ExecEnvs::default(),
            limits: RunLimits::default(),
            observers: Vec::new(),
            trust_gate: None,
            launcher: None,
            disk_access: DiskAccess::default(),
        }
    }

    /// Fires an event and waits for its hooks.
    pub async fn fire<E: Event>(&self, event: &E) -> Outcome<E::Verdict> {
        // A token needs an allocation, and most events have no hooks.
        if !self.has_hooks_for(E::KIND) {
            return build_outcome::<E>(Vec::new());
        }
        self.fire_cancellable(event, &CancellationToken::new()).await
    }

    /// Fires an event; cancelling the token ends its hooks.
    pub async fn fire_cancellable<E: Event>(&self, event: &E, cancel: &CancellationToken) -> Outcome<E::Verdict> {
        self.fire_in_context(event, &RunContext::default(), cancel).await
    }

    /// Fires an event of a turn, or of a sub-agent in it; cancelling the token ends its hooks.
    pub async fn fire_in_context<E: Event>(
        &self,
        event: &E,
        context: &RunContext,
        cancel: &CancellationToken,
    ) -> Outcome<E::Verdict> {
        let mut sleeping = self.sleeping_guards_for(event);
        let plan = match self.plan_for_event(event) {
            Some(plan) => plan,
            None if sleeping.is_empty() => return build_outcome::<E>(Vec::new()),
            // No hook runs, but the observers learn which guard should have.
            None => (self.planner(), Arc::default()),
        };
        let started = Instant::now();
        let (session, effects) = match self.shared.disk_access {
            DiskAccess::WithTimeout => {
                resolve_session_and_effects(event, context, self.session_dir(), self.user_home::<E>()).await
            }
            DiskAccess::Direct => {
                read_session_and_effects(event, context, &self.session_dir(), self.user_home::<E>().as_deref())
            }
        };
        let Some(dispatch) = self.prepare_dispatch(plan, event, context, cancel, session) else {
            return build_outcome::<E>(Vec::new());
        };
        let span = tracing::info_span!("event", id = %dispatch.id, kind = %E::KIND);
        if let Some(effects) = &effects {
            let place = dispatch.effects_place();
            sleeping.retain(|one| match &one.declaration {
                Some(hook) => hook.match_reason(effects, &place).is_some(),
                None => true,
            });
        }
        let unasked_input = if sleeping.is_empty() {
            None
        } else {
            HookInput::encode(event, effects.as_ref(), &dispatch.session, &dispatch.context).ok()
        };
        let enforced = dispatch.enforced_confinements(effects.as_ref());
        let enforced_if_changed = dispatch.enforced_confinements(None);
        let EventRuns { runs, input, is_withheld } = dispatch.run(event, effects).instrument(span).await;
        let mut outcome = build_outcome::<E>(runs);
        let is_changed = outcome.merged.answer.tool_input.is_some();
        outcome.merged.enforced = if is_changed { enforced_if_changed } else { enforced };
        if outcome.merged.answer.suppress_output {
            // The report of a wrong prediction would name the command.
            outcome.merged.enforced.iter_mut().for_each(|one| one.is_predicted = false);
        }
        outcome.merged.requires_enforcement =
            !outcome.merged.enforced.is_empty() && dispatch.planner.registry().requires_enforcement();
        let input = if outcome.runs.is_empty() { unasked_input.unwrap_or(input) } else { input };
        // A guard that could not start was asked, and counts as such.
        sleeping.retain(|one| !outcome.runs.iter().any(|run| run.hook == one.guard.name));
        let unarmed: Vec<UnarmedGuard> = sleeping.into_iter().map(|one| one.guard).collect();
        let report = EventReport { input: &input, is_withheld, unarmed: &unarmed, ..dispatch.event_report() };
        report_event(&dispatch, event, &outcome, started, report);
        outcome
    }

    /// The guards that should be asked about an event and are not armed.
    fn sleeping_guards_for<E: Event>(&self, event: &E) -> Vec<SleepingGuard> {
        let all = self.shared.sleeping_guards.read().unwrap_or_else(PoisonError::into_inner).clone();
        all.iter().filter(|one| one.is_for(E::KIND, event.subject())).cloned().collect()
    }

    /// Sets the guards that are not armed, so that observers learn of the events at which they should have been asked.
    pub fn set_sleeping_guards(&self, guards: Vec<SleepingGuard>) {
        *self.shared.sleeping_guards.write().unwrap_or_else(PoisonError::into_inner) = guards.into();
    }

    /// Fires an event for which the caller does not wait: returns a future that runs the hooks, or `None` if no hook
    /// runs.
    ///
    /// The future uses the plan and the session of the time of the call. Cancelling the token ends the hooks.
    pub fn fire_detached<E: Event + 'static>(
        &self,
        event: E,
        context: &RunContext,
        cancel: &CancellationToken,
    ) -> Option<impl Future<Output = Outcome<E::Verdict>> + Send + use<E>> {
        let (of, home, user_home) = (context.clone(), self.session_dir(), self.user_home::<E>());
        let mut dispatch =
            self.prepare_dispatch(self.plan_for_event(&event)?, &event, context, cancel, home.assumed_snapshot())?;
        let span = tracing::info_span!("event", id = %dispatch.id, kind = %E::KIND);
        let started = Instant::now();
        let run = async move {
            let (session, effects) = resolve_session_and_effects(&event, &of, home, user_home).await;
            dispatch.session = Arc::new(session);
            let EventRuns { runs, input, is_withheld } = dispatch.run(&event, effects).await;
            let outcome = build_outcome::<E>(runs);
            let report = EventReport { input: &input, is_withheld, ..dispatch.event_report() };
            report_event(&dispatch, &event, &outcome, started, report);
            outcome
        };
        Some(run.instrument(span))
    }

    /// The plan of an event, and the planner that made it.
    fn plan_for_event<E: Event>(&self, event: &E) -> Option<(Arc<Planner>, Arc<Plan>)> {
        let planner = self.planner();
        let plan = planner.plan_with_mcp_name(E::KIND, event.subject(), event.mcp_name());
        if plan.is_none() {
            tracing::trace!(event = %E::KIND, subject = event.subject(), "no hook runs");
        }
        plan.map(|plan| (planner, plan))
    }

    /// The user's home directory, for events that are about a tool call.
    fn user_home<E: Event>(&self) -> Option<PathBuf> {
        if E::KIND.info().subject == MatcherSubject::ToolName { self.runners().home_dir() } else { None }
    }

    /// Collects everything that the event's hooks need; `None` if no hook runs.
    fn prepare_dispatch<E: Event>(
        &self,
        (planner, plan): (Arc<Planner>, Arc<Plan>),
        event: &E,
        context: &RunContext,
        cancel: &CancellationToken,
        session: SessionSnapshot,
    ) -> Option<EventDispatch> {
        let plan = self.retain_by_run_condition(plan, event, context, &session)?;
        let default = if context.host.is_some() { Enforcement::Doubt } else { Enforcement::Always };
        Some(EventDispatch {
            enforcement: planner.registry().enforcement().unwrap_or(default),
            is_command: event.tool_call().is_some_and(|(tool, _)| tool == SHELL_TOOL),
            id: EventId(self.shared.fired_events.fetch_add(1, Ordering::Relaxed) + 1),
            context: RunContext { tool_use_id: event.tool_use_id().map(Arc::from), ..context.clone() },
            kind: E::KIND,
            offered_tools: event.offered_tools().into(),
            plan,
            planner,
            session: Arc::new(session),
            user_home: self.user_home::<E>(),
            runners: self.runners(),
            observers: self.shared.observers.clone(),
            trust_gate: self.shared.trust_gate.clone(),
            cancel: cancel.clone(),
            background: self.shared.background.clone(),
        })
    }

    /// Removes hooks whose run condition is not met from a plan; `None` if none is left.
    fn retain_by_run_condition<E: Event>(
        &self,
        plan: Arc<Plan>,
        event: &E,
        context: &RunContext,
        session: &Session,
    ) -> Option<Arc<Plan>> {
        if plan.hooks.iter().all(|hook| hook.run_condition == RunCondition::default()) {
            return Some(plan);
        }
        let here = if context.agent.is_some() { AgentScope::SubAgent } else { AgentScope::Session };
        let mut spent = self.shared.spent_once_hooks.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = plan.filtered(|hook| {
            let RunCondition { if_rule: only_if, once, agent_scope: scope, after_call: after } = &hook.run_condition;
            let meant = match (only_if, event.tool_call()) {
                (Some(rule), Some((tool, input))) => rule.matches(tool, input, &session.cwd, &session.project_dir),
                _ => true,
            };
            // `once` does not apply to guards.
            let mut first =
                || !*once || hook.is_guard() || spent.insert((E::KIND, hook.id().to_owned(), session.id.clone()));
            let ended = after.is_none_or(|after| event.call_status().is_none_or(|end| end == after));
            scope.is_none_or(|scope| scope == here) && ended && meant && first()
        });
        (!plan.hooks.is_empty()).then(|| Arc::new(plan))
    }

    /// Fires an event whose kind is only known at run time; the verdict is in the merged answer.
    pub async fn fire_any(&self, event: &AnyEvent, cancel: &CancellationToken) -> Outcome<()> {
        self.fire_any_in_context(event, &RunContext::default(), cancel).await
    }

    /// Fires an event whose kind is only known at run time, in the context of a turn, a sub-agent or another agent.
    pub async fn fire_any_in_context(
        &self,
        event: &AnyEvent,
        context: &RunContext,
        cancel: &CancellationToken,
    ) -> Outcome<()> {
        with_event!(event, event => {
            let outcome = self.fire_in_context(event, context, cancel).await;
            Outcome {
                verdict: (),
                messages: outcome.messages,
                warnings: outcome.warnings,
                merged: outcome.merged,
                runs: outcome.runs,
            }
        })
    }

    /// Whether any enabled hook could run on this event. This is a cheap check.
    pub fn has_hooks_for(&self, kind: EventKind) -> bool {
        self.planner().has_hooks_for(kind)
    }

    /// The granularity of a streamed response that AfterModel hooks receive; `None` if they receive every piece.
    pub fn chunk_granularity(&self) -> Option<ChunkGranularity> {
        self.planner().plan(EventKind::AfterModel, None)?.grain
    }

    /// The plan of hooks that an event would run.
    pub fn plan(&self, kind: EventKind, subject: Option<&str>) -> Option<Arc<Plan>> {
        self.planner().plan(kind, subject)
    }

    /// The plan of hooks that an event on a tool of an MCP server would run; such a tool has several names.
    pub fn plan_with_mcp_name(
        &self,
        kind: EventKind,
        subject: Option<&str>,
        mcp: Option<McpToolName<'_>>,
    ) -> Option<Arc<Plan>> {
        self.planner().plan_with_mcp_name(kind, subject, mcp)
    }

    /// A copy of the current registry.
    pub fn registry(&self) -> Registry {
        self.planner().registry().clone()
    }

    /// How many times in a row AfterAgent hooks may ask for another attempt.
    pub fn max_agent_retries(&self) -> u32 {
        self.planner().registry().max_agent_retries()
    }

    /// The time to wait for SessionEnd hooks.
    pub fn session_end_grace(&self) -> std::time::Duration {
        self.planner().registry().session_end_grace()
    }

    /// Whether the context that BeforeAgent hooks add stays in the history after the turn.
    pub fn keep_context(&self) -> bool {
        self.planner().registry().keep_context()
    }

    /// Whether running hooks are shown to the user.
    pub fn notifications(&self) -> bool {
        self.planner().registry().notifications()
    }

    /// Replaces the configuration; events that have started finish with the old one.
    pub fn reload(&self, registry: Registry) {
        tracing::debug!(hooks = registry.hooks().len(), "another registry");
        *self.shared.planner.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Planner::new(registry));
        self.retire_unused_workers();
    }

    /// Changes the registry: to add hooks that are functions, to enable, disable or distrust hooks.
    pub fn update<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        let mut planner = self.shared.planner.write().unwrap_or_else(PoisonError::into_inner);
        let mut registry = planner.registry().clone();
        let result = change(&mut registry);
        *planner = Arc::new(Planner::new(registry));
        drop(planner);
        self.retire_unused_workers();
        result
    }

    /// Retires the workers that no hook needs any more; they may finish the requests that they have received.
    fn retire_unused_workers(&self) {
        let planner = self.planner();
        let runs = |source: &Source, action: &WorkerAction| {
            planner.registry().entries().any(|(hook, state)| {
                hook.source == *source
                    && matches!(&hook.action, Action::Worker(own) if own == action)
                    && *state == HookState::Enabled
            })
        };
        self.runners().workers().retain(runs);
    }

    /// Starts the workers that are configured to start with the session, without waiting for them.
    pub fn start_workers(&self) {
        let planner = self.planner();
        let early = |hook: &Hook| matches!(&hook.action, Action::Worker(action) if action.config.start_with_session);
        let entries = planner.registry().entries();
        for (hook, _) in entries.filter(|(hook, state)| **state == HookState::Enabled && early(hook)) {
            if self.check_trust(hook).is_ok() {
                let (hook, runners, spot) = (hook.clone(), self.runners(), self.session_snapshot());
                tokio::spawn(async move { runners.prestart_worker(&hook, &spot).await });
            }
        }
    }

    /// The health of a hook's worker; `None` for other hooks, and for a worker that was never used.
    pub fn worker_health(&self, hook: &Hook) -> Option<WorkerHealth> {
        match &hook.action {
            Action::Worker(action) => {
                self.runners().for_source(&hook.source).worker_health(&hook.source, action, &self.session_snapshot())
            }
            _ => None,
        }
    }

    /// Enables or disables all hooks of a name together.
    ///
    /// # Errors
    /// If no hook has the name, or a locked hook or a guard would be disabled.
    pub fn set_enabled(&self, name: &str, enabled: bool) -> Result<(), SwitchError> {
        self.update(|registry| registry.set_enabled(name, enabled))
    }

    /// The user's home directory in the environment of hooks.
    pub fn home_dir(&self) -> Option<PathBuf> {
        self.runners().home_dir()
    }

    /// The session that events belong to; its paths are current if its directory has been moved.
    pub fn session(&self) -> Arc<Session> {
        self.session_snapshot().session().clone()
    }

    /// The problem with the session's directory, if it was moved or deleted or cannot be entered.
    pub fn session_dir_problem(&self) -> Option<String> {
        self.session_snapshot().directory_problem()
    }

    /// Switches to another session, as `/clear` does.
    pub fn set_session(&self, session: Session) {
        let mut home = self.shared.session_dir.write().unwrap_or_else(PoisonError::into_inner);
        *home = Arc::new(home.for_session(session));
    }

    /// Checks whether a hook's command could start, without running it.
    ///
    /// # Errors
    /// If it could not start, with the reason.
    pub fn check_readiness(&self, hook: &Hook) -> Result<(), ReadinessError> {
        self.runners().for_source(&hook.source).check_readiness(hook, &self.session_snapshot())
    }

    /// The guards that would not work. A program that runs unattended should not start if there are any.
    pub fn unarmed_guards(&self) -> Vec<UnarmedGuard> {
        self.planner().registry().unarmed_guards(|hook| self.check_readiness(hook))
    }

    /// Checks whether the user's trust in a hook is still valid.
    ///
    /// # Errors
    /// If it is not, with the reason.
    pub fn check_trust(&self, hook: &Arc<Hook>) -> Result<(), String> {
        self.shared.trust_gate.as_ref().map_or(Ok(()), |gate| gate.check(hook))
    }

    /// Waits for the background hooks, each of which has its timeout. The observers receive their messages.
    pub async fn wait_for_background_hooks(&self) {
        self.shared.background.wait_all().await;
    }

    /// Ends the background hooks and all processes that hooks left running.
    ///
    /// Call it before the program ends; dropping the engine kills the processes without giving them time to exit.
    pub async fn shutdown(&self) {
        self.shared.background.cancel_all().await;
        self.runners().end_all().await;
    }

    /// Kills every running hook and every process that hooks left running, at once.
    pub fn kill_now(&self) {
        self.runners().kill_now();
    }

    /// Replaces the environments of commands, from the next event on.
    pub fn set_exec_envs(&self, places: ExecEnvs) {
        let mut runners = self.shared.runners.write().unwrap_or_else(PoisonError::into_inner);
        *runners = Arc::new(runners.with_exec_envs(places));
    }

    fn runners(&self) -> Arc<HookRunners> {
        self.shared.runners()
    }

    fn session_snapshot(&self) -> SessionSnapshot {
        self.session_dir().snapshot()
    }

    fn session_dir(&self) -> Arc<SessionDir> {
        self.shared.session_dir.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn planner(&self) -> Arc<Planner> {
        self.shared.planner.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Notifies the observers that the hooks of an event have ended. If no hook ran or should have, there is nothing to
/// report.
fn report_event<E: Event>(
    dispatch: &EventDispatch,
    event: &E,
    outcome: &Outcome<E::Verdict>,
    started: Instant,
    report: EventReport<'_>,
) {
    if outcome.runs.is_empty() && report.unarmed.is_empty() {
        return;
    }
    let report = EventReport {
        subject: event.subject(),
        runs: &outcome.runs,
        merged: &outcome.merged,
        duration: started.elapsed(),
        ..report
    };
    dispatch.observers.iter().for_each(|observer| observer.event_finished(&report));
}

/// Merges the answers of the hooks that ran into the event's outcome.
fn build_outcome<E: Event>(ran: Vec<HookRun>) -> Outcome<E::Verdict> {
    let (mut merged, conflicts) = merge(ran.iter().map(|one| (one.report.hook.as_str(), &one.report.answer)));
    if !merged.answer.stop && matches!(merged.answer.decision, Some(Decision::Allow | Decision::Confine)) {
        merged.approved_by = ran.iter().filter(|one| one.approves).map(|one| one.report.hook.clone()).collect();
    }
    let guards: Vec<&HookRun> = ran.iter().filter(|one| one.is_guard_denial()).collect();
    if !guards.is_empty() {
        merged.answer.llm_response = None;
        // A stop keeps the prompt, or the response so far; a guard's deny does not.
        if merged.answer.stop && matches!(E::KIND, EventKind::BeforeAgent | EventKind::AfterModel) {
            merged.answer.stop = false;
            merged.decided_by = guards.iter().map(|one| one.report.hook.clone()).collect();
        }
    }
    let (mut messages, mut warnings) = (Vec::new(), Vec::new());
    for one in &ran {
        let (says, about) = one.messages_and_warnings();
        messages.extend(says);
        warnings.extend(about);
    }
    for conflict in conflicts {
        let owner = ran.iter().find(|one| one.report.hook == conflict.later);
        warnings.extend(owner.map(|one| HookMessage {
            hook: one.report.hook.clone(),
            source: one.report.source.clone(),
            text: conflict.to_string(),
        }));
    }
    Outcome {
        verdict: E::Verdict::from(&merged),
        messages,
        warnings,
        merged,
        runs: ran.into_iter().map(|one| one.report).collect(),
    }
}
