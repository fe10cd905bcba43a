//! The engine: holds a session's configuration, fires its events, and hands back one typed outcome for each.
//!
//! How the hooks of one event are run is `firing.rs`.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::chunks::Grain;
use crate::dialect::claude::Whose;
use crate::event::{EventKind, Subject};
use crate::firing::{Beside, Firing, Ran, survey};
use crate::guard::Unarmed;
use crate::hook::{Action, Hook, Occasion, Source, WorkerAction};
use crate::input::{AnyEvent, Event, Session, with_event};
use crate::mcp_names::McpName;
use crate::merge::merge;
use crate::observe::{Belongs, EventId, Observer};
use crate::outcome::{Outcome, Said};
use crate::plan::{Plan, Planner};
use crate::ready::NotReady;
use crate::registry::{HookState, Registry, SwitchError};
use crate::run::worker::WorkerHealth;
use crate::run::{Limits, Places, Runners, Surroundings};
use crate::sentry::Sentry;
use crate::spot::{Home, Spot};

/// The hook engine of one session. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct HookEngine {
    shared: Arc<Shared>,
}

struct Shared {
    planner: RwLock<Arc<Planner>>,
    home: RwLock<Arc<Home>>,
    runners: RwLock<Arc<Runners>>,
    observers: Arc<[Arc<dyn Observer>]>,
    sentry: Option<Arc<dyn Sentry>>,
    /// How many events have had hooks to run.
    fired: AtomicU64,
    beside: Beside,
    /// The hooks that run once in a session and have, with the session.
    spent: Mutex<HashSet<(EventKind, String, String)>>,
}

impl Shared {
    fn runners(&self) -> Arc<Runners> {
        self.runners.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Shared {
    /// Nobody can ask for a proper end any more.
    fn drop(&mut self) {
        self.runners().kill_now();
    }
}

/// Puts an engine together.
pub struct Builder {
    registry: Registry,
    session: Session,
    places: Places,
    limits: Limits,
    observers: Vec<Arc<dyn Observer>>,
    sentry: Option<Arc<dyn Sentry>>,
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
    pub fn environment(self, env: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let env = env.into_iter().collect();
        self.places(Places::everywhere(Surroundings { env, directory: None }))
    }

    /// What commands run with, where that depends on whose hooks they are.
    #[must_use]
    pub fn places(mut self, places: Places) -> Self {
        self.places = places;
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

    /// Somebody who is asked before every run.
    #[must_use]
    pub fn sentry(mut self, sentry: Arc<dyn Sentry>) -> Self {
        self.sentry = Some(sentry);
        self
    }

    /// The engine.
    pub fn build(self) -> HookEngine {
        HookEngine {
            shared: Arc::new(Shared {
                planner: RwLock::new(Arc::new(Planner::new(self.registry))),
                home: RwLock::new(Arc::new(Home::new(self.session))),
                runners: RwLock::new(Arc::new(Runners::new(self.places, self.limits))),
                observers: self.observers.into(),
                sentry: self.sentry,
                fired: AtomicU64::new(0),
                beside: Beside::default(),
                spent: Mutex::default(),
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
            places: Places::default(),
            limits: Limits::default(),
            observers: Vec::new(),
            sentry: None,
        }
    }

    /// Fires an event and waits for its hooks.
    pub async fn fire<E: Event>(&self, event: &E) -> Outcome<E::Verdict> {
        // A token is an allocation, and most events have no hooks.
        if !self.wants(E::KIND) {
            return conclude::<E>(Vec::new());
        }
        self.fire_until(event, &CancellationToken::new()).await
    }

    /// Fires an event; cancelling the token ends its hooks.
    pub async fn fire_until<E: Event>(&self, event: &E, cancel: &CancellationToken) -> Outcome<E::Verdict> {
        self.fire_in(event, &Belongs::default(), cancel).await
    }

    /// Fires an event of a turn, or of a sub-agent in it; cancelling the token ends its hooks.
    pub async fn fire_in<E: Event>(
        &self,
        event: &E,
        belongs: &Belongs,
        cancel: &CancellationToken,
    ) -> Outcome<E::Verdict> {
        let Some(plan) = self.plan_of(event) else { return conclude::<E>(Vec::new()) };
        let (session, effects) = survey(event, belongs, self.home(), self.user_home::<E>()).await;
        let Some(firing) = self.prepare(plan, event, belongs, cancel, session) else {
            return conclude::<E>(Vec::new());
        };
        let span = tracing::info_span!("event", id = %firing.id, kind = %E::KIND);
        conclude::<E>(firing.run(event, effects).instrument(span).await)
    }

    /// An event that the caller does not wait for, as it is now, whatever becomes of the session meanwhile; nothing if
    /// no hook wants to know. Cancelling the token ends its hooks.
    pub fn fire_aside<E: Event + 'static>(
        &self,
        event: E,
        belongs: &Belongs,
        cancel: &CancellationToken,
    ) -> Option<impl Future<Output = Outcome<E::Verdict>> + Send + use<E>> {
        let (of, home, user_home) = (belongs.clone(), self.home(), self.user_home::<E>());
        let mut firing = self.prepare(self.plan_of(&event)?, &event, belongs, cancel, home.assumed_spot())?;
        let span = tracing::info_span!("event", id = %firing.id, kind = %E::KIND);
        let run = async move {
            let (session, effects) = survey(&event, &of, home, user_home).await;
            firing.session = Arc::new(session);
            conclude::<E>(firing.run(&event, effects).await)
        };
        Some(run.instrument(span))
    }

    /// The hooks that an event may run, and whose plan that is.
    fn plan_of<E: Event>(&self, event: &E) -> Option<(Arc<Planner>, Arc<Plan>)> {
        let planner = self.planner();
        let plan = planner.plan_as(E::KIND, event.subject(), event.mcp_name());
        if plan.is_none() {
            tracing::trace!(event = %E::KIND, subject = event.subject(), "no hook runs");
        }
        plan.map(|plan| (planner, plan))
    }

    /// The user's home directory, where an event is about a call.
    fn user_home<E: Event>(&self) -> Option<PathBuf> {
        if E::KIND.info().subject == Subject::ToolName { self.runners().home() } else { None }
    }

    /// Everything that the event's hooks need; nothing if there are none.
    fn prepare<E: Event>(
        &self,
        (planner, plan): (Arc<Planner>, Arc<Plan>),
        event: &E,
        belongs: &Belongs,
        cancel: &CancellationToken,
        session: Spot,
    ) -> Option<Firing> {
        let plan = self.on_occasion(plan, event, belongs, &session)?;
        Some(Firing {
            id: EventId(self.shared.fired.fetch_add(1, Ordering::Relaxed) + 1),
            belongs: Belongs { tool_use_id: event.tool_use_id().map(Arc::from), ..belongs.clone() },
            kind: E::KIND,
            offered: event.tools_on_offer().into(),
            plan,
            planner,
            session: Arc::new(session),
            home: self.user_home::<E>(),
            runners: self.runners(),
            observers: self.shared.observers.clone(),
            sentry: self.shared.sentry.clone(),
            cancel: cancel.clone(),
            beside: self.shared.beside.clone(),
        })
    }

    /// The plan without the hooks that only run on another occasion; nothing if none is left.
    fn on_occasion<E: Event>(
        &self,
        plan: Arc<Plan>,
        event: &E,
        belongs: &Belongs,
        session: &Session,
    ) -> Option<Arc<Plan>> {
        if plan.hooks.iter().all(|hook| hook.occasion == Occasion::default()) {
            return Some(plan);
        }
        let here = if belongs.agent.is_some() { Whose::SubAgent } else { Whose::Session };
        let mut spent = self.shared.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = plan.keeping(|hook| {
            let Occasion { only_if, once, whose, after } = &hook.occasion;
            let meant = match (only_if, event.call()) {
                (Some(rule), Some((tool, input))) => rule.matches(tool, input, &session.cwd, &session.project_dir),
                _ => true,
            };
            // A guard does not go to sleep.
            let mut first =
                || !*once || hook.is_guard() || spent.insert((E::KIND, hook.id().to_owned(), session.id.clone()));
            let ended = after.is_none_or(|after| event.end().is_none_or(|end| end == after));
            whose.is_none_or(|whose| whose == here) && ended && meant && first()
        });
        (!plan.hooks.is_empty()).then(|| Arc::new(plan))
    }

    /// Fires an event whose kind is only known at run time; the verdict is in the merged answer.
    pub async fn fire_any(&self, event: &AnyEvent, cancel: &CancellationToken) -> Outcome<()> {
        self.fire_any_in(event, &Belongs::default(), cancel).await
    }

    /// The same for an event of a turn, a sub-agent or another agent.
    pub async fn fire_any_in(&self, event: &AnyEvent, belongs: &Belongs, cancel: &CancellationToken) -> Outcome<()> {
        with_event!(event, event => {
            let outcome = self.fire_in(event, belongs, cancel).await;
            Outcome {
                verdict: (),
                messages: outcome.messages,
                warnings: outcome.warnings,
                merged: outcome.merged,
                runs: outcome.runs,
            }
        })
    }

    /// Whether any enabled hook could run on this event; asking costs next to nothing.
    pub fn wants(&self, kind: EventKind) -> bool {
        self.planner().wants(kind)
    }

    /// How much of a streamed answer AfterModel hooks want to be handed at a time; nothing if they take every piece. Asking
    /// costs next to nothing.
    pub fn grain(&self) -> Option<Grain> {
        self.planner().plan(EventKind::AfterModel, None)?.grain
    }

    /// The hooks that an event would run.
    pub fn plan(&self, kind: EventKind, subject: Option<&str>) -> Option<Arc<Plan>> {
        self.planner().plan(kind, subject)
    }

    /// The same for what may be a tool of an MCP server, which has other names too.
    pub fn plan_as(&self, kind: EventKind, subject: Option<&str>, mcp: Option<McpName<'_>>) -> Option<Arc<Plan>> {
        self.planner().plan_as(kind, subject, mcp)
    }

    /// A snapshot of the registry.
    pub fn registry(&self) -> Registry {
        self.planner().registry().clone()
    }

    /// How often in a row AfterAgent hooks may demand a retry.
    pub fn max_agent_retries(&self) -> u32 {
        self.planner().registry().max_agent_retries()
    }

    /// How long SessionEnd hooks are waited for.
    pub fn session_end_grace(&self) -> std::time::Duration {
        self.planner().registry().session_end_grace()
    }

    /// Whether what BeforeAgent hooks tell the model stays beyond its turn.
    pub fn keep_context(&self) -> bool {
        self.planner().registry().keep_context()
    }

    /// Whether running hooks are shown to the user.
    pub fn notifications(&self) -> bool {
        self.planner().registry().notifications()
    }

    /// Replaces the configuration; events under way finish with the old one.
    pub fn reload(&self, registry: Registry) {
        tracing::debug!(hooks = registry.hooks().len(), "another registry");
        *self.shared.planner.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Planner::new(registry));
        self.let_idle_workers_go();
    }

    /// Changes the registry in place: adds hooks in code, enables, disables, holds.
    pub fn update<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        let mut planner = self.shared.planner.write().unwrap_or_else(PoisonError::into_inner);
        let mut registry = planner.registry().clone();
        let result = change(&mut registry);
        *planner = Arc::new(Planner::new(registry));
        drop(planner);
        self.let_idle_workers_go();
        result
    }

    /// Ends the processes of workers that no hook needs any more; what they were asked they may answer.
    fn let_idle_workers_go(&self) {
        let planner = self.planner();
        let runs = |source: &Source, action: &WorkerAction| {
            planner.registry().entries().any(|(hook, state)| {
                hook.source == *source
                    && matches!(&hook.action, Action::Worker(own) if own == action)
                    && *state == HookState::Enabled
            })
        };
        self.runners().workers().keep(runs);
    }

    /// Starts the processes of workers that are to be there from the beginning, without waiting for them.
    pub fn start_workers(&self) {
        let planner = self.planner();
        let early = |hook: &Hook| matches!(&hook.action, Action::Worker(action) if action.upkeep.early);
        let entries = planner.registry().entries();
        for (hook, _) in entries.filter(|(hook, state)| **state == HookState::Enabled && early(hook)) {
            if self.trusts(hook).is_ok() {
                let (hook, runners, spot) = (hook.clone(), self.runners(), self.spot());
                tokio::spawn(async move { runners.start_early(&hook, &spot).await });
            }
        }
    }

    /// How a worker does; nothing for other hooks, and for one that was never asked.
    pub fn worker_health(&self, hook: &Hook) -> Option<WorkerHealth> {
        match &hook.action {
            Action::Worker(action) => self.runners().of(&hook.source).worker_health(&hook.source, action, &self.spot()),
            _ => None,
        }
    }

    /// Enables or disables every hook of that name, at once.
    ///
    /// # Errors
    /// If no hook has that name, or a locked one or a guard should be disabled.
    pub fn set_enabled(&self, name: &str, enabled: bool) -> Result<(), SwitchError> {
        self.update(|registry| registry.set_enabled(name, enabled))
    }

    /// The session that events belong to; its paths are those of now, should its directory have been moved.
    pub fn session(&self) -> Arc<Session> {
        self.spot().session().clone()
    }

    /// What has become of the session's directory, in words, if it is not where it was.
    pub fn displaced(&self) -> Option<String> {
        self.spot().complaint()
    }

    /// Moves to another session, as `/clear` does.
    pub fn set_session(&self, session: Session) {
        let mut home = self.shared.home.write().unwrap_or_else(PoisonError::into_inner);
        *home = Arc::new(home.moved_into(session));
    }

    /// Whether a hook's command could really start, without running it.
    ///
    /// # Errors
    /// If it could not, with the reason.
    pub fn check(&self, hook: &Hook) -> Result<(), NotReady> {
        self.runners().of(&hook.source).check(hook, &self.spot())
    }

    /// The guards that would not do their work: whoever runs unattended should not start with any.
    pub fn unarmed(&self) -> Vec<Unarmed> {
        self.planner().registry().unarmed(|hook| self.check(hook))
    }

    /// Whether a hook is still what the user trusts.
    ///
    /// # Errors
    /// If it is not, and why.
    pub fn trusts(&self, hook: &Arc<Hook>) -> Result<(), String> {
        self.shared.sentry.as_ref().map_or(Ok(()), |sentry| sentry.challenge(hook))
    }

    /// Waits for the hooks that run beside their events; each has its timeout. What they said is told to the observers.
    pub async fn settled(&self) {
        self.shared.beside.settled().await;
    }

    /// Ends everything that hooks left running and those that run beside their events. Call it before the program ends;
    /// dropping the engine is the rough way.
    pub async fn shutdown(&self) {
        self.shared.beside.end().await;
        self.runners().end_all().await;
    }

    /// Ends at once, without asking, every hook that runs and everything that hooks left running.
    pub fn kill_now(&self) {
        self.runners().kill_now();
    }

    /// Other surroundings for commands, from the next event on.
    pub fn set_places(&self, places: Places) {
        let mut runners = self.shared.runners.write().unwrap_or_else(PoisonError::into_inner);
        *runners = Arc::new(runners.moved(places));
    }

    fn runners(&self) -> Arc<Runners> {
        self.shared.runners()
    }

    fn spot(&self) -> Spot {
        self.home().spot()
    }

    fn home(&self) -> Arc<Home> {
        self.shared.home.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn planner(&self) -> Arc<Planner> {
        self.shared.planner.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Merges what ran into the event's outcome.
fn conclude<E: Event>(ran: Vec<Ran>) -> Outcome<E::Verdict> {
    let (mut merged, conflicts) = merge(ran.iter().map(|one| (one.report.hook.as_str(), &one.report.answer)));
    let guards: Vec<&Ran> = ran.iter().filter(|one| one.is_guards_no()).collect();
    if !guards.is_empty() {
        merged.answer.llm_response = None;
        // A stop keeps the prompt, or the answer so far; a guard's no does not.
        if merged.answer.stop && matches!(E::KIND, EventKind::BeforeAgent | EventKind::AfterModel) {
            merged.answer.stop = false;
            merged.decided_by = guards.iter().map(|one| one.report.hook.clone()).collect();
        }
    }
    let (mut messages, mut warnings) = (Vec::new(), Vec::new());
    for one in &ran {
        let (says, about) = one.words();
        messages.extend(says);
        warnings.extend(about);
    }
    for conflict in conflicts {
        let owner = ran.iter().find(|one| one.report.hook == conflict.later);
        warnings.extend(owner.map(|one| Said {
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
