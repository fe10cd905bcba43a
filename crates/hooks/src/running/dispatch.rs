//! Runs the hooks of one event, sequentially or in parallel, parses each answer and applies the failure policy
//! (`dispatch/failure_policy.rs`). `dispatch/hook_run.rs` has the result of a run.

mod doubt_policy;
mod failure_policy;
mod hook_run;

use std::future::{Future, poll_fn};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::answers::merge::{HookConfinement, MergedAnswer};
use crate::answers::outcome::about_hook;
use crate::answers::{self, Answer, Decision, HookExit, ParsedAnswer, RunProblem};
use crate::confinement::ConfinementNetwork;
use crate::dialect::claude::ClaudeInput;
use crate::dialect::{Dialect, read_claude};
use crate::doubt::Enforcement;
use crate::effects::{self, Effects, PathResolver};
use crate::event::input::{Event, HookInput};
use crate::event::{EventKind, HookCapability};
use crate::guards::trust_gate::TrustGate;
use crate::hook::{Action, Hook};
use crate::matching::effect_filter::MatchReason;
use crate::running::disk_timeout::{DISK_TIMEOUT_MESSAGE, run_with_disk_timeout};
use crate::running::observer::{EventId, EventReport, Observer, RunContext, RunId, RunReport, RunStart, RunStatus};
use crate::running::plan::{Plan, Planner};
use crate::running::session_dir::{SessionDir, SessionSnapshot};
use crate::running::{HookRunners, RunConcurrency, RunOutput};
use doubt_policy::DoubtPolicy;
use failure_policy::{apply_failure_policy, deny_untrusted, report_dropped_output};
pub(crate) use hook_run::HookRun;
use hook_run::{apply_answers, drop_repeated_messages, report_pending_runs};

/// The state that the runs of one event share. It is cheap to clone: every run has its own.
#[derive(Clone)]
pub(crate) struct EventDispatch {
    pub(crate) id: EventId,
    pub(crate) context: RunContext,
    pub(crate) kind: EventKind,
    /// The tools that are offered to the model, where hooks can select among them.
    pub(crate) offered_tools: Arc<[String]>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) planner: Arc<Planner>,
    pub(crate) session: Arc<SessionSnapshot>,
    pub(crate) runners: Arc<HookRunners>,
    /// The home directory for `~` in calls.
    pub(crate) user_home: Option<PathBuf>,
    pub(crate) observers: Arc<[Arc<dyn Observer>]>,
    pub(crate) trust_gate: Option<Arc<dyn TrustGate>>,
    pub(crate) cancel: CancellationToken,
    pub(crate) background: BackgroundRuns,
    /// When the kernel enforces what guards forbid.
    pub(crate) enforcement: Enforcement,
    /// Whether the event is about a command, which can be confined.
    pub(crate) is_command: bool,
}

/// The runs of an event's hooks.
pub(crate) struct EventRuns {
    pub(crate) runs: Vec<HookRun>,
    /// The input of the hooks as the event was fired; empty if it is withheld.
    pub(crate) input: HookInput,
    /// Whether a hook withholds the event's content from all records.
    pub(crate) is_withheld: bool,
}

/// The tool call whose effects are to be determined.
struct EffectsQuery {
    tool: String,
    args: Map<String, Value>,
    path_resolver: PathResolver,
    has_no_effects: bool,
}

impl EffectsQuery {
    fn from_event<E: Event>(event: &E, context: &RunContext) -> Option<EffectsQuery> {
        let (tool, args) = event.tool_call()?;
        let (paths, touches_nothing) = (context.path_resolver.clone(), context.has_no_effects);
        Some(EffectsQuery {
            tool: tool.to_owned(),
            args: effects::telling_args(tool, args),
            path_resolver: paths,
            has_no_effects: touches_nothing,
        })
    }

    fn effects(&self, session: &SessionSnapshot, home: Option<&Path>) -> Effects {
        if self.has_no_effects {
            return Effects::default();
        }
        effects::call_effects(&self.tool, &self.args, &call_place(session, home), &self.path_resolver)
    }
}

/// The place where a call of the session runs.
fn call_place<'s>(session: &'s SessionSnapshot, home: Option<&'s Path>) -> effects::CallPlace<'s> {
    let project = &session.project_dir;
    let project = if project.as_os_str().is_empty() { &session.cwd } else { project };
    effects::CallPlace { cwd: &session.cwd, project, home }
}

/// Reads the disk once for an event: where the session's directory is, and what effects the call has.
///
/// If the disk does not respond, the directory is assumed not to have moved, and the effects are unknown.
pub(crate) async fn resolve_session_and_effects<E: Event>(
    event: &E,
    context: &RunContext,
    home: Arc<SessionDir>,
    user_home: Option<PathBuf>,
) -> (SessionSnapshot, Option<Effects>) {
    let call = EffectsQuery::from_event(event, context);
    let (is_call, assumed) = (call.is_some(), home.assumed_snapshot());
    let look = run_with_disk_timeout(move || {
        let session = home.snapshot();
        let effects = call.map(|call| call.effects(&session, user_home.as_deref()));
        (session, effects)
    });
    look.await.unwrap_or_else(|| (assumed, is_call.then(|| Effects::unknown(DISK_TIMEOUT_MESSAGE))))
}

/// Like [`resolve_session_and_effects`], on this thread and for as long as the disk takes.
pub(crate) fn read_session_and_effects<E: Event>(
    event: &E,
    context: &RunContext,
    home: &SessionDir,
    user_home: Option<&Path>,
) -> (SessionSnapshot, Option<Effects>) {
    let session = home.snapshot();
    let effects = EffectsQuery::from_event(event, context).map(|call| call.effects(&session, user_home));
    (session, effects)
}

/// A scheduled run of one hook of the plan.
struct ScheduledRun {
    /// The index of the hook in the plan.
    hook_index: usize,
    /// The number of this run within the event.
    position: usize,
    /// The number of earlier answers that the hook's input includes.
    answers_seen: usize,
    match_reason: MatchReason,
    /// Whether no other hook of the event runs at the same time.
    is_only_hook: bool,
}

/// The background hooks, which run until the session ends.
#[derive(Clone, Default)]
pub(crate) struct BackgroundRuns {
    /// Cancels all of them.
    cancel: CancellationToken,
    running: Arc<Mutex<JoinSet<()>>>,
}

impl BackgroundRuns {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        running.spawn(task);
    }

    /// Waits until all have ended by themselves, each within its timeout. Dropping the future ends none of them.
    pub(crate) async fn wait_all(&self) {
        let all_over = |context: &mut Context<'_>| {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            while ready!(running.poll_join_next(context)).is_some() {}
            Poll::Ready(())
        };
        poll_fn(all_over).await;
    }

    /// Cancels all of them and waits until they have ended.
    pub(crate) async fn cancel_all(&self) {
        self.cancel.cancel();
        let mut running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        while running.join_next().await.is_some() {}
    }
}

impl EventDispatch {
    /// Runs the plan, given the effects of the event as it was fired.
    pub(crate) async fn run<E: Event>(&self, event: &E, effects: Option<Effects>) -> EventRuns {
        let (hooks, sequential) = (self.plan.hooks.len(), self.plan.sequential);
        tracing::debug!(subject = event.subject(), hooks, sequential, "fires");
        let mut input = None;
        let mut ran = if self.plan.sequential && self.plan.hooks.len() > 1 {
            self.run_sequentially(event, effects, &mut input).await
        } else {
            self.run_in_parallel(event, effects, &mut input).await
        };
        let rewrites = |one: &HookRun| one.report.answer.changes_event();
        if E::IS_REWRITABLE && self.plan.hooks.iter().any(|hook| hook.is_guard()) && ran.iter().any(rewrites) {
            self.recheck_guards(event, &mut ran).await;
        }
        if ran.iter().any(|one| one.approves) {
            self.recheck_approvals(event, &mut ran).await;
        }
        withdraw_needless_confinements(&mut ran);
        self.name_known_hosts(event, &mut ran).await;
        let is_withheld = report_pending_runs(self.kind, &self.observers, &mut ran);
        EventRuns { runs: ran, input: input.filter(|_| !is_withheld).unwrap_or_default(), is_withheld }
    }

    /// Withdraws approvals that are not about the call that runs: other hooks may have changed its arguments since a
    /// rule saw it, and the effects of some tools are not told by their arguments.
    async fn recheck_approvals<E: Event>(&self, event: &E, ran: &mut [HookRun]) {
        let now = apply_answers(event, ran.iter());
        let is_known = event.mcp_name().is_none()
            && !self.context.has_no_effects
            && now.tool_call().is_some_and(|(tool, args)| effects::are_told_by_arguments(tool, args));
        let is_unchanged = !self.plan.sequential && now.is_unchanged_from(event);
        let effects = if is_known && !is_unchanged { self.resolve_effects(&now).await } else { None };
        for one in ran.iter_mut().filter(|one| one.approves) {
            let is_within =
                || effects.as_ref().is_some_and(|effects| self.match_reason(one.hook_index, Some(effects)).is_some());
            one.approves = is_known && (is_unchanged || is_within());
        }
    }

    /// Puts the hosts that the call is known to reach, after all changes, into confinements to just these.
    async fn name_known_hosts<E: Event>(&self, event: &E, ran: &mut [HookRun]) {
        let wants_hosts = |one: &HookRun| {
            let profile = one.report.answer.confinement.as_ref();
            profile.is_some_and(|profile| profile.network == ConfinementNetwork::Known)
        };
        if !ran.iter().any(wants_hosts) {
            return;
        }
        let effects = self.resolve_effects(&apply_answers(event, ran.iter())).await.unwrap_or_default();
        for profile in ran.iter_mut().filter_map(|one| one.report.answer.confinement.as_mut()) {
            profile.network.name_hosts(&effects.network);
        }
    }

    /// Runs the hooks one after another: each receives the input with the earlier hooks' changes, and a deny ends the
    /// sequence.
    async fn run_sequentially<E: Event>(
        &self,
        event: &E,
        mut effects: Option<Effects>,
        fired_input: &mut Option<HookInput>,
    ) -> Vec<HookRun> {
        let mut event = event.clone();
        let mut ran: Vec<HookRun> = Vec::with_capacity(self.plan.hooks.len());
        for at in 0..self.plan.hooks.len() {
            let Some(reason) = self.match_reason(at, effects.as_ref()) else { continue };
            let input = HookInput::encode(&event, effects.as_ref(), &self.session, &self.context);
            if fired_input.is_none() {
                *fired_input = input.clone().ok();
            }
            if self.plan.hooks[at].is_background() {
                self.spawn_background_run(at, reason, input);
                continue;
            }
            let turn = ScheduledRun {
                hook_index: at,
                position: at + 1,
                answers_seen: ran.len(),
                match_reason: reason,
                is_only_hook: true,
            };
            for one in self.run_alone(turn, input).await {
                event.apply_answer(&one.report.answer);
                if one.report.answer.changes_event() {
                    effects = self.resolve_effects(&event).await;
                }
                ran.push(one);
            }
            if self.is_finished(&ran) {
                break;
            }
        }
        ran
    }

    /// Runs the hooks in parallel, all with the same input.
    async fn run_in_parallel<E: Event>(
        &self,
        event: &E,
        effects: Option<Effects>,
        fired_input: &mut Option<HookInput>,
    ) -> Vec<HookRun> {
        let matching = |at: usize| Some((at, self.match_reason(at, effects.as_ref())?));
        let mut matching: Vec<(usize, MatchReason)> = (0..self.plan.hooks.len()).filter_map(matching).collect();
        if matching.is_empty() {
            return Vec::new();
        }
        let input = HookInput::encode(event, effects.as_ref(), &self.session, &self.context);
        *fired_input = input.clone().ok();
        if let [(at, _)] = matching[..]
            && !self.plan.hooks[at].is_background()
            && let Some((at, reason)) = matching.pop()
        {
            return self
                .run_alone(
                    ScheduledRun {
                        hook_index: at,
                        position: at + 1,
                        answers_seen: 0,
                        match_reason: reason,
                        is_only_hook: true,
                    },
                    input,
                )
                .await;
        }
        let mut tasks = JoinSet::new();
        for (at, reason) in matching {
            match self.plan.hooks[at].is_background() {
                true => self.spawn_background_run(at, reason, input.clone()),
                false => {
                    let turn = ScheduledRun {
                        hook_index: at,
                        position: at + 1,
                        answers_seen: 0,
                        match_reason: reason,
                        is_only_hook: false,
                    };
                    self.spawn_run(&mut tasks, turn, input.clone());
                }
            }
        }
        let mut ran = tasks.join_all().await;
        ran.sort_by_key(|one| one.report.id);
        ran
    }

    /// Determines the effects of the call that the event is about.
    async fn resolve_effects<E: Event>(&self, event: &E) -> Option<Effects> {
        let call = EffectsQuery::from_event(event, &self.context)?;
        let (session, home) = (self.session.clone(), self.user_home.clone());
        let effects = run_with_disk_timeout(move || call.effects(&session, home.as_deref())).await;
        Some(effects.unwrap_or_else(|| Effects::unknown(DISK_TIMEOUT_MESSAGE)))
    }

    pub(crate) fn effects_place(&self) -> effects::CallPlace<'_> {
        call_place(&self.session, self.user_home.as_deref())
    }

    /// Why a hook of the plan runs, if it does. A guard that is blocked always counts as running.
    fn match_reason(&self, at: usize, effects: Option<&Effects>) -> Option<MatchReason> {
        match effects {
            Some(effects) if !self.plan.blocked_guards.contains_key(&at) => {
                let hook = &self.plan.hooks[at];
                let reason = hook.match_reason(effects, &self.effects_place())?;
                (!self.doubt_policy().overlooks(hook, &reason)).then_some(reason)
            }
            // Nothing is known to be within the bounds of an approval.
            None if self.plan.hooks[at].approval_bounds().is_some() => None,
            _ => Some(MatchReason::Always),
        }
    }

    fn doubt_policy(&self) -> DoubtPolicy<'_> {
        DoubtPolicy {
            kind: self.kind,
            registry: self.planner.registry(),
            enforcement: self.enforcement,
            is_command: self.is_command,
        }
    }

    /// The profiles that guards of the plan want a command with these effects to be kept to, where the machine can do
    /// that. Without effects it is a command that may do anything.
    pub(crate) fn enforced_confinements(&self, effects: Option<&Effects>) -> Vec<HookConfinement> {
        if !self.is_command || self.kind != EventKind::BeforeTool {
            return Vec::new();
        }
        let policy = self.doubt_policy();
        let is_in_doubt = |hook: &Hook| {
            let Some(effects) = effects else { return true };
            let reason = hook.match_reason(effects, &self.effects_place());
            reason.is_some_and(|reason| doubt_policy::is_in_doubt(hook, &reason))
        };
        let is_enforced =
            |hook: &Hook| self.enforcement == Enforcement::Always || policy.enforces_doubt(hook) && is_in_doubt(hook);
        let profile = |hook: &Arc<Hook>| {
            let mut profile = hook.enforced_confinement().filter(|_| is_enforced(hook))?;
            if self.planner.registry().requires_enforcement() {
                profile.close_unused_sockets(effects);
            }
            let is_predicted = effects.is_some() && !is_in_doubt(hook);
            Some(HookConfinement { hook: hook.id().to_owned(), profile, is_predicted })
        };
        self.plan.hooks.iter().filter_map(profile).collect()
    }

    fn is_finished(&self, ran: &[HookRun]) -> bool {
        self.cancel.is_cancelled() || ran.iter().any(|one| one.report.answer.ends_plan())
    }

    /// Reruns the guards that have not seen the latest changes of other hooks, so that guards decide last.
    async fn recheck_guards<E: Event>(&self, event: &E, ran: &mut Vec<HookRun>) {
        /// The maximum number of rounds: hooks that keep changing each other's changes would never end.
        const MAX_RECHECK_ROUNDS: usize = 3;
        for _ in 0..MAX_RECHECK_ROUNDS {
            let again = self.guards_to_recheck(event, ran).await;
            if again.is_empty() || self.is_finished(ran) {
                return;
            }
            let now = apply_answers(event, ran.iter());
            let effects = self.resolve_effects(&now).await;
            let input = HookInput::encode(&now, effects.as_ref(), &self.session, &self.context);
            let mut tasks = JoinSet::new();
            for (nth, (at, reason)) in again.into_iter().enumerate() {
                let position = self.plan.hooks.len().max(ran.len()) + nth + 1;
                let turn = ScheduledRun {
                    hook_index: at,
                    position,
                    answers_seen: ran.len(),
                    match_reason: reason,
                    is_only_hook: false,
                };
                self.spawn_run(&mut tasks, turn, input.clone());
            }
            let mut round = tasks.join_all().await;
            round.sort_by_key(|one| one.report.id);
            round.iter_mut().for_each(|one| drop_repeated_messages(one, ran));
            ran.extend(round);
        }
        if self.is_finished(ran) {
            return;
        }
        for (at, _) in self.guards_to_recheck(event, ran).await {
            // A guard that has not run at all denies through the report of the last hook that ran.
            let nth = ran.iter().rposition(|one| one.hook_index == at).unwrap_or(ran.len().saturating_sub(1));
            let Some(last) = ran.get_mut(nth) else { continue };
            let text = "could not decide, because other hooks keep changing the event";
            last.report.answer.decision = Some(Decision::Deny);
            last.report.answer.reason = Some(about_hook(self.plan.hooks[at].id(), text));
            last.problems.push(RunProblem { cause: None, text: text.to_owned() });
        }
    }

    /// The guards that have not seen the event with all changes, and why each runs on it.
    ///
    /// A guard that did not match before may match now, and the other way round.
    async fn guards_to_recheck<E: Event>(&self, event: &E, ran: &[HookRun]) -> Vec<(usize, MatchReason)> {
        let decides = |hook: &Hook| hook.is_guard() && !hook.is_shadow();
        let guards = (0..self.plan.hooks.len()).filter(|at| decides(&self.plan.hooks[*at]));
        let now = apply_answers(event, ran.iter());
        let unseen = |at: &usize| {
            let Some(nth) = ran.iter().rposition(|one| one.hook_index == *at) else { return true };
            // The guard's own change needs no second check.
            let known = ran.iter().enumerate().filter(|(other, _)| *other < ran[nth].answers_seen || *other == nth);
            !apply_answers(event, known.map(|(_, one)| one)).is_unchanged_from(&now)
        };
        let unseen: Vec<usize> = guards.filter(unseen).collect();
        let effects = if unseen.is_empty() { None } else { self.resolve_effects(&now).await };
        unseen.into_iter().filter_map(|at| Some((at, self.match_reason(at, effects.as_ref())?))).collect()
    }

    /// Runs a hook while no other hook of the event runs.
    ///
    /// A hook without a process gets no task: creating a task and being woken by it takes longer than many of its
    /// answers.
    async fn run_alone(&self, turn: ScheduledRun, input: Result<HookInput, String>) -> Vec<HookRun> {
        if matches!(self.plan.hooks[turn.hook_index].action, Action::Command(_)) {
            let mut task = JoinSet::new();
            self.spawn_run(&mut task, turn, input);
            return task.join_all().await;
        }
        let (id, span) = self.run_id_and_span(&turn);
        // The future is boxed because it would enlarge the future of every event, even of those without hooks.
        vec![Box::pin(self.run_one(id, turn, input).instrument(span)).await]
    }

    fn run_id_and_span(&self, turn: &ScheduledRun) -> (RunId, tracing::Span) {
        let id = RunId { event: self.id, position: turn.position };
        (id, tracing::info_span!("run", %id, hook = self.plan.hooks[turn.hook_index].id()))
    }

    /// Spawns one run as a task: the runtime thread that is notified of the hook's pipes then handles them itself,
    /// which is quicker than waking the task that waits for the outcome each time.
    fn spawn_run(&self, tasks: &mut JoinSet<HookRun>, turn: ScheduledRun, input: Result<HookInput, String>) {
        let dispatch = self.clone();
        let (id, span) = self.run_id_and_span(&turn);
        tasks.spawn(async move { dispatch.run_one(id, turn, input).await }.instrument(span));
    }

    /// Starts a run for which the event does not wait; the observers receive its result.
    fn spawn_background_run(&self, at: usize, reason: MatchReason, input: Result<HookInput, String>) {
        let dispatch = EventDispatch { cancel: self.background.cancel.child_token(), ..self.clone() };
        let id = RunId { event: self.id, position: at + 1 };
        let span = tracing::info_span!("run", %id, hook = self.plan.hooks[at].id(), beside = true);
        let fired_input = input.clone().unwrap_or_default();
        let run = async move {
            let turn = ScheduledRun {
                hook_index: at,
                position: at + 1,
                answers_seen: 0,
                match_reason: reason,
                is_only_hook: false,
            };
            let ran = dispatch.run_one(id, turn, input).await;
            // After a cancellation at the end of the session there is nothing to report.
            if !dispatch.cancel.is_cancelled() {
                let words = ran.messages_and_warnings();
                dispatch
                    .observers
                    .iter()
                    .for_each(|observer| observer.background_output(dispatch.kind, &words.0, &words.1));
            }
            let is_withheld = dispatch.kind.can_withhold_content() && dispatch.plan.hooks.len() > 1;
            let input = if is_withheld { HookInput::default() } else { fired_input };
            let duration = ran.report.duration;
            let event =
                EventReport { input: &input, is_withheld, runs: &[ran.report], duration, ..dispatch.event_report() };
            dispatch.observers.iter().for_each(|observer| observer.event_finished(&event));
        };
        self.background.spawn(run.instrument(span));
    }

    async fn run_one(&self, id: RunId, turn: ScheduledRun, input: Result<HookInput, String>) -> HookRun {
        let ScheduledRun { hook_index: at, answers_seen: saw, match_reason: reason, is_only_hook: alone, .. } = turn;
        let concurrency = RunConcurrency { is_only_hook: alone, max_parallel: self.planner.registry().max_parallel() };
        let hook = &self.plan.hooks[at];
        tracing::debug!(source = %hook.source, timeout = ?hook.timeout, "the hook starts");
        let (context, total) = (&self.context, self.plan.hooks.len().max(id.position));
        let start = RunStart { id, context, event: self.kind, hook: hook.id(), source: &hook.source, total };
        self.observers.iter().for_each(|observer| observer.run_started(&start));
        let distrust = self.trust_problem(hook).await;
        let not_started = |message| RunOutput::from_exit(HookExit::NotStarted { code: 126, message });
        let (finished, input, mut reading) = match input {
            Ok(input) if let Some(message) = distrust.clone() => self.parse_gemini_run(not_started(message), input),
            Ok(input) if let Some(why) = self.plan.blocked_guards.get(&at) => {
                let message = format!("it waits for your trust ({why}); `/hooks trust {}` lets it run", hook.id());
                self.parse_gemini_run(not_started(message), input)
            }
            Ok(input) => match hook.dialect() {
                Dialect::Gemini => {
                    self.parse_gemini_run(self.run_hook((hook, &reason), &input, concurrency).await, input)
                }
                Dialect::Claude => self.run_claude_hook((hook, &reason), input, concurrency).await,
            },
            Err(message) => self.parse_gemini_run(not_started(message), HookInput::default()),
        };
        if self.kind.can(HookCapability::SelectTools) {
            answers::retain_offered_tools(&mut reading, &finished.stdout, &self.offered_tools);
        }
        if hook.is_guard() {
            answers::deny_if_cancelled(self.kind, &mut reading, &finished.exit);
        }
        match (hook.dialect(), hook.is_guard()) {
            (Dialect::Gemini, true) => answers::check_guard_output(&mut reading, &finished.exit, &finished.stdout),
            (Dialect::Gemini, false) => answers::check_foreign_decision(&mut reading, &finished.exit, &finished.stdout),
            // The Claude answer parser has already checked this.
            (Dialect::Claude, _) => {}
        }
        match hook.is_background() {
            true => answers::strip_decision(&mut reading),
            false => {
                apply_failure_policy(self.kind, hook, self.planner.registry(), &mut reading);
                self.doubt_policy().apply(hook, &reason, &mut reading);
            }
        }
        let shadow_answer = hook.is_shadow().then(|| answers::take_shadow_answer(&mut reading));
        let has_failed = finished.exit == HookExit::Cancelled || reading.is_deny_by_failure();
        let unjudged = distrust.is_some() || has_failed && !hook.is_shadow();
        let is_distrusted = distrust.is_some();
        // The agent may have put the hook into shadow, so that here a hook in shadow denies like any other.
        if let Some(why) = distrust {
            deny_untrusted(self.kind, hook, why, &mut reading);
        }
        if unjudged && self.kind.can(HookCapability::RedactInput) && !hook.is_background() {
            // It is unknown whether the hook would have redacted the arguments.
            reading.answer.redact_input = true;
            reading.answer.tool_input = None;
        }
        report_dropped_output(&finished, &mut reading);
        let may_run = matches!(reading.answer.decision, Some(Decision::Allow | Decision::Confine));
        let approves = hook.approval_bounds().is_some() && may_run;
        let mut report = self.build_report(hook, id, input.len(), finished, &mut reading);
        report.match_reason = reason;
        if let Some(shadow) = shadow_answer {
            if !is_distrusted {
                reading.problems.clear();
            }
            report.shadow_answer = Some(Box::new(shadow));
        }
        report.answer.suppress_output |= report.answer.redact_input;
        // Another hook, or this one, may still withhold the content of this event from all records.
        let may_be_withheld = self.kind.can_withhold_content() && (total > 1 || self.kind != EventKind::BeforeTool);
        log_run_end(&report, may_be_withheld);
        let mut untold = None;
        match (may_be_withheld, hook.is_background()) {
            (false, _) => self.observers.iter().for_each(|observer| observer.run_finished(&report, &input)),
            (true, false) => untold = Some(input),
            // A background hook may end before the hooks that withhold the content.
            (true, true) if total > 1 => {
                report.answer.suppress_output = true;
                self.observers.iter().for_each(|observer| observer.run_finished(&report, &HookInput::default()));
            }
            (true, true) => self.observers.iter().for_each(|observer| observer.run_finished(&report, &input)),
        }
        HookRun {
            report,
            unreported_input: untold,
            problems: reading.problems,
            approves,
            hook_index: at,
            answers_seen: saw,
        }
    }

    /// A report of the event without its runs, its input and its merged answer.
    pub(crate) fn event_report(&self) -> EventReport<'_> {
        static NO_ANSWER: LazyLock<MergedAnswer> = LazyLock::new(MergedAnswer::default);
        static NO_INPUT: LazyLock<HookInput> = LazyLock::new(HookInput::default);
        EventReport {
            context: &self.context,
            session: &self.session,
            kind: self.kind,
            subject: None,
            input: &NO_INPUT,
            is_withheld: false,
            sequential: self.plan.sequential,
            runs: &[],
            unarmed: &[],
            merged: &NO_ANSWER,
            duration: Duration::ZERO,
        }
    }

    /// Why a hook is no longer trusted, if so.
    async fn trust_problem(&self, hook: &Arc<Hook>) -> Option<String> {
        let gate = self.trust_gate.clone()?;
        let (hook, session) = (hook.clone(), self.session.clone());
        let check = move || {
            let why = gate.check(&hook).err()?;
            // If the directory is gone, so are the files of the guards, and the directory is the better explanation.
            Some(
                session
                    .directory_problem()
                    .map_or_else(|| why.clone(), |dir_problem| format!("{dir_problem}, and {why}")),
            )
        };
        let unknown = || Some(format!("{DISK_TIMEOUT_MESSAGE}, so its trust could not be checked"));
        run_with_disk_timeout(check).await.unwrap_or_else(unknown)
    }

    async fn run_hook(
        &self,
        (hook, reason): (&Hook, &MatchReason),
        input: &HookInput,
        concurrency: RunConcurrency,
    ) -> RunOutput {
        self.runners.for_source(&hook.source).run((hook, reason), input, &self.session, concurrency, &self.cancel).await
    }

    /// Parses the result of a run in the Gemini dialect.
    fn parse_gemini_run(&self, mut finished: RunOutput, input: HookInput) -> (RunOutput, HookInput, ParsedAnswer) {
        let reading = match finished.answer.take() {
            Some(answer) => answers::accept_function_answer(self.kind, answer),
            None => answers::parse_answer(self.kind, &finished.exit, &finished.stdout, &finished.stderr),
        };
        (finished, input, reading)
    }

    /// Runs a hook in Claude Code's dialect: for each view of a call, until an answer does anything but allow.
    async fn run_claude_hook(
        &self,
        (hook, reason): (&Hook, &MatchReason),
        input: HookInput,
        concurrency: RunConcurrency,
    ) -> (RunOutput, HookInput, ParsedAnswer) {
        let shown = match ClaudeInput::translate(self.kind, hook.run_condition.after_call, &input) {
            Ok(shown) => shown,
            Err(message) => {
                return self.parse_gemini_run(RunOutput::from_exit(HookExit::NotStarted { code: 126, message }), input);
            }
        };
        let mut ended = None;
        for (view, input) in shown.views.iter().enumerate() {
            let finished = self.run_hook((hook, reason), input, concurrency).await;
            let reading = read_claude(hook, &shown, view, &finished.exit, &finished.stdout, &finished.stderr);
            let passes = reading.answer.decision.is_none_or(|decision| decision == Decision::Allow)
                && !reading.answer.stop
                && reading.problems.is_empty();
            ended = Some((finished, input.clone(), reading));
            if !passes {
                break;
            }
        }
        ended.unwrap_or_else(|| {
            let message = "there is nothing to show it".to_owned();
            self.parse_gemini_run(RunOutput::from_exit(HookExit::NotStarted { code: 126, message }), input)
        })
    }

    fn build_report(
        &self,
        hook: &Arc<Hook>,
        id: RunId,
        input_bytes: usize,
        finished: RunOutput,
        reading: &mut ParsedAnswer,
    ) -> RunReport {
        let (exit_code, signal) = match finished.exit {
            HookExit::Exited(code) | HookExit::NotStarted { code, .. } => (Some(code), None),
            HookExit::OutOfResources(_) => (Some(126), None),
            HookExit::Signaled(signal) => (None, Some(signal)),
            HookExit::Failed(_) | HookExit::TimedOut(_) | HookExit::Cancelled => (None, None),
        };
        RunReport {
            id,
            context: self.context.clone(),
            event: self.kind,
            hook: hook.id().to_owned(),
            hook_type: hook.type_name(),
            source: hook.source.clone(),
            declaration: hook.clone(),
            match_reason: MatchReason::Always,
            shadow_answer: None,
            total: self.plan.hooks.len().max(id.position),
            in_background: hook.is_background(),
            status: RunStatus::from_exit(&finished.exit),
            exit_code,
            signal,
            duration: finished.duration,
            input_bytes,
            stdout: finished.stdout,
            stderr: finished.stderr,
            answer: std::mem::take(&mut reading.answer),
            error: reading.problems.first().map(|problem| problem.text.clone()),
            failure: reading.problems.iter().find_map(|problem| problem.cause),
            has_survivors: finished.has_survivors,
        }
    }
}

/// Withdraws the answers of rules that approve a call if it runs confined, where another rule approves it as it is.
fn withdraw_needless_confinements(ran: &mut [HookRun]) {
    let approves = |one: &HookRun, decision| one.approves && one.report.answer.decision == Some(decision);
    if ran.iter().any(|one| approves(one, Decision::Allow)) {
        for one in ran.iter_mut().filter(|one| approves(one, Decision::Confine)) {
            one.approves = false;
            one.report.answer = Answer::default();
        }
    }
}

fn log_run_end(report: &RunReport, may_be_withheld: bool) {
    // A hook's error message may quote its input.
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
