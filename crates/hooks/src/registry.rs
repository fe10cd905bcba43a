//! The hooks of all layers, in order, with their states. `running/plan.rs` selects those that an event runs.

pub(crate) mod hook_changes;

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::answers::FailureCause;
use crate::config::{DeclaredLayer, OnUnknown};
use crate::confinement::ConfinementProfile;
use crate::diagnostic::{Diagnostic, Severity};
use crate::doubt::{Enforcement, OnDoubt};
use crate::guards::{LostGuard, RequiredHook};
use crate::hook::{ConfinementOrigin, Hook, HookRole, ProcessConfinement, Source};
use crate::on_error::{FailureAction, OnError};

/// Whether a hook runs, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookState {
    /// The hook runs when its event fires.
    Enabled,
    /// The name of the hook is on a list of disabled hooks, or the hook was disabled at run time.
    Disabled {
        /// The layers that disable it; empty if it was disabled at run time.
        by: Vec<Source>,
    },
    /// A layer disables all hooks.
    SwitchedOff {
        /// The layer that disables them.
        by: Source,
    },
    /// The user has not trusted the hook.
    Untrusted {
        /// The reason, for the user.
        why: String,
    },
}

/// All hooks of a configuration.
///
/// ```
/// use hookwright_hooks::{Answer, EventKind, Hook, HookState, Registry};
///
/// let mut registry = Registry::default();
/// registry.add(Hook::from_function(EventKind::BeforeTool, "audit", |_input| async { Ok(Answer::allow()) }));
/// registry.set_enabled("audit", false).unwrap();
/// assert!(registry.entries().all(|(_, state)| matches!(state, HookState::Disabled { .. })));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Registry {
    hooks: Vec<Arc<Hook>>,
    states: Vec<HookState>,
    layers: Vec<LayerSwitches>,
    overrides: HashMap<String, bool>,
    untrusted: HashMap<usize, String>,
    /// Hooks that the project disables without the user's trust, by source and name; they stay enabled.
    untrusted_switch_offs: HashSet<(Source, String)>,
    lost_guards: Vec<LostGuard>,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, Debug)]
struct LayerSwitches {
    source: Source,
    enabled: Option<bool>,
    disabled: HashSet<String>,
    on_error: OnError,
    required: Vec<RequiredHook>,
    max_agent_retries: Option<u32>,
    max_parallel: Option<NonZeroU32>,
    keep_context: Option<bool>,
    notifications: Option<bool>,
    session_end_grace: Option<u32>,
    on_unknown: Option<OnUnknown>,
    on_doubt: Option<OnDoubt>,
    enforce: Option<Enforcement>,
}

/// Why a hook cannot be enabled or disabled.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum SwitchError {
    /// No hook has that name.
    #[error("no hook is called `{0}`")]
    Unknown(String),
    /// The system settings lock the hook.
    #[error("hook `{0}` is locked by the system settings and can't be switched off")]
    Locked(String),
    /// The hook is a guard of another layer.
    #[error("hook `{name}` is a guard of the {layer} settings; only those settings can switch it off")]
    Guard {
        /// The name of the hook.
        name: String,
        /// The layer that declares the hook.
        layer: Source,
    },
}

impl SwitchError {
    /// The name of the hook.
    pub fn name(&self) -> &str {
        match self {
            SwitchError::Unknown(name) | SwitchError::Locked(name) | SwitchError::Guard { name, .. } => name,
        }
    }
}

impl Hook {
    /// Whether a layer may disable the hook.
    fn obeys_layer(&self, layer: &LayerSwitches) -> bool {
        !self.is_protected() || layer.source == self.source
    }
}

impl Registry {
    /// Collects declared layers and sorts them by precedence.
    pub fn new(mut layers: Vec<DeclaredLayer>) -> Self {
        layers.sort_by_key(|layer| match &layer.source {
            Source::Extension(_) => 4,
            Source::System => 3,
            Source::User => 2,
            Source::Project => 1,
            Source::Runtime => 0,
        });
        let mut registry = Registry::default();
        for layer in layers {
            registry.hooks.extend(layer.hooks.into_iter().map(Arc::new));
            registry.diagnostics.extend(layer.diagnostics);
            registry.lost_guards.extend(layer.lost_guards);
            registry.layers.push(LayerSwitches {
                source: layer.source,
                enabled: layer.config.enabled,
                disabled: layer.config.disabled.into_iter().collect(),
                on_error: layer.config.on_error,
                required: layer.config.required,
                max_agent_retries: layer.config.max_agent_retries,
                max_parallel: layer.config.max_parallel,
                keep_context: layer.config.keep_context,
                notifications: layer.config.notifications,
                session_end_grace: layer.config.session_end_grace,
                on_unknown: layer.config.on_unknown,
                on_doubt: layer.config.on_doubt,
                enforce: layer.config.enforce,
            });
        }
        registry.mark_required_guards();
        registry.refresh_states();
        registry
    }

    /// Makes the hooks guards that a layer requires by name.
    fn mark_required_guards(&mut self) {
        let required = self.layers.iter().flat_map(|layer| &layer.required);
        let names: HashSet<&str> = required.map(|required| required.name.as_str()).collect();
        if names.is_empty() {
            return;
        }
        let by_wildcard: Vec<bool> = self.hooks.iter().map(|hook| self.is_required_by_wildcard(hook)).collect();
        let mut problems = Vec::new();
        for (hook, by_wildcard) in self.hooks.iter_mut().zip(by_wildcard) {
            if hook.required || !by_wildcard && !names.contains(hook.id()) {
                continue;
            }
            if let (HookRole::Background, Some(place)) = (hook.role, &hook.location) {
                let text = format!("`{}` is required, so it can't run in the background", hook.id());
                problems.push(Diagnostic::about_location(Severity::Error, place, text).help("remove `async`"));
            }
            Arc::make_mut(hook).required = true;
        }
        self.diagnostics.extend(problems);
    }

    /// The hooks that any layer requires.
    pub fn required(&self) -> impl Iterator<Item = &RequiredHook> {
        self.layers.iter().flat_map(|layer| &layer.required)
    }

    /// Hooks that were declared as guards and could not be loaded.
    pub fn lost_guards(&self) -> &[LostGuard] {
        &self.lost_guards
    }

    /// Adds a hook of the embedding program; it runs before the hooks of all layers.
    pub fn add(&mut self, hook: Hook) {
        let at = self.hooks.iter().take_while(|hook| hook.source == Source::Runtime).count();
        self.hooks.insert(at, Arc::new(hook));
        self.untrusted = std::mem::take(&mut self.untrusted)
            .into_iter()
            .map(|(index, why)| (if index >= at { index + 1 } else { index }, why))
            .collect();
        self.mark_required_guards();
        self.refresh_states();
    }

    /// All hooks, in the order in which they run.
    pub fn hooks(&self) -> &[Arc<Hook>] {
        &self.hooks
    }

    /// All hooks with their states.
    pub fn entries(&self) -> impl Iterator<Item = (&Arc<Hook>, &HookState)> {
        self.hooks.iter().zip(&self.states)
    }

    /// The problems of the configuration.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// How many times in a row AfterAgent hooks may ask for another attempt.
    pub fn max_agent_retries(&self) -> u32 {
        const DEFAULT_MAX_AGENT_RETRIES: u32 = 5;
        // A project does not override the user's or the system's setting.
        let (project, others): (Vec<_>, Vec<_>) = self.layers.iter().partition(|layer| layer.source == Source::Project);
        others.iter().chain(&project).find_map(|layer| layer.max_agent_retries).unwrap_or(DEFAULT_MAX_AGENT_RETRIES)
    }

    /// The maximum number of commands that run at the same time: the smallest number that a layer sets, if one does.
    pub fn max_parallel(&self) -> Option<NonZeroU32> {
        self.layers.iter().filter_map(|layer| layer.max_parallel).min()
    }

    /// Whether the context that BeforeAgent hooks add stays in the history after the turn.
    pub fn keep_context(&self) -> bool {
        // A project does not override the user's or the system's setting.
        let (project, others): (Vec<_>, Vec<_>) = self.layers.iter().partition(|layer| layer.source == Source::Project);
        others.iter().chain(&project).find_map(|layer| layer.keep_context).unwrap_or(false)
    }

    /// Whether running hooks are shown to the user.
    pub fn notifications(&self) -> bool {
        // A project cannot hide which hooks run.
        let counts = |layer: &&LayerSwitches| layer.source != Source::Project || layer.notifications == Some(true);
        self.layers.iter().filter(counts).find_map(|layer| layer.notifications).unwrap_or(true)
    }

    /// The time to wait for SessionEnd hooks.
    pub fn session_end_grace(&self) -> Duration {
        const DEFAULT_SESSION_END_GRACE_PERIOD: Duration = Duration::from_secs(2);
        /// The longest time for which a project can delay the end of a session.
        const MAX_PROJECT_SESSION_END_GRACE_PERIOD: Duration = Duration::from_secs(10);
        let said = |layer: &LayerSwitches| layer.session_end_grace.map(|time| Duration::from_millis(time.into()));
        let (project, others): (Vec<_>, Vec<_>) = self.layers.iter().partition(|layer| layer.source == Source::Project);
        let own = others.into_iter().find_map(said);
        own.or_else(|| project.into_iter().find_map(said).map(|time| time.min(MAX_PROJECT_SESSION_END_GRACE_PERIOD)))
            .unwrap_or(DEFAULT_SESSION_END_GRACE_PERIOD)
    }

    /// The decision of guards on a tool or event of another agent that Hookwright does not know: the strictest that a
    /// layer sets.
    pub fn on_unknown(&self) -> OnUnknown {
        self.layers.iter().filter_map(|layer| layer.on_unknown).max().unwrap_or_default()
    }

    /// Limits the timeouts of all hooks, so that waiting for a hook takes no longer than this.
    pub fn limit_timeouts(&mut self, most: Duration) {
        for hook in self.hooks.iter_mut().filter(|hook| hook.timeout > most) {
            Arc::make_mut(hook).timeout = most;
        }
    }

    /// Keeps the processes of all hooks from changing anything and from the network. What a hook's own profile forbids
    /// besides stays forbidden.
    pub fn confine_processes(&mut self) {
        for hook in self.hooks.iter_mut().filter(|hook| hook.action.command().is_some()) {
            if let Some(command) = Arc::make_mut(hook).action.command_mut() {
                let own = command.confinement.take().map(|own| own.profile).unwrap_or_default();
                let profile = ConfinementProfile {
                    no_reads: own.no_reads,
                    memory_mb: own.memory_mb,
                    processes: own.processes,
                    seconds: own.seconds,
                    // A process that can send nothing anywhere may have the hook's variables.
                    keep_env: true,
                    ..ConfinementProfile::default()
                };
                command.confinement = Some(ProcessConfinement { profile, origin: ConfinementOrigin::Declared });
            }
        }
    }

    /// The action for a failure of this hook.
    ///
    /// A guard's failure blocks. Otherwise the hook's own policy applies, or its layer's, or the default of the cause;
    /// other layers can only make the action stricter.
    pub(crate) fn failure_action(&self, hook: &Hook, cause: FailureCause) -> FailureAction {
        if hook.is_guard() {
            return FailureAction::Block;
        }
        let (own, others): (Vec<_>, Vec<_>) = self.layers.iter().partition(|layer| layer.source == hook.source);
        let word = own.iter().fold(hook.on_error, |policy, layer| policy.or(layer.on_error)).get(cause);
        let stricter = others.iter().filter_map(|layer| layer.on_error.get(cause)).max();
        word.unwrap_or(cause.default_action()).max(stricter.unwrap_or(FailureAction::Allow))
    }

    /// What a guard does about a call whose effects are in doubt, if settings say so: its own word, or its layer's;
    /// other layers can only make it stricter.
    pub fn on_doubt(&self, hook: &Hook) -> Option<OnDoubt> {
        let (own, others): (Vec<_>, Vec<_>) = self.layers.iter().partition(|layer| layer.source == hook.source);
        let word = hook.on_doubt.or_else(|| own.iter().filter_map(|layer| layer.on_doubt).max());
        word.max(others.iter().filter_map(|layer| layer.on_doubt).max())
    }

    /// When the kernel enforces what guards forbid, if settings say so; the strictest layer counts.
    pub fn enforcement(&self) -> Option<Enforcement> {
        self.layers.iter().filter_map(|layer| layer.enforce).max()
    }

    /// Whether settings say `enforce: always`, so that what cannot be enforced is asked about.
    pub fn requires_enforcement(&self) -> bool {
        self.enforcement() == Some(Enforcement::Always)
    }

    /// Enables or disables all hooks of a name, until the configuration is loaded again.
    ///
    /// # Errors
    /// If no hook has the name, or a locked hook or a guard would be disabled.
    pub fn set_enabled(&mut self, name: &str, enabled: bool) -> Result<(), SwitchError> {
        self.set_many_enabled([name], enabled).into_iter().next().map_or(Ok(()), Err)
    }

    /// Enables or disables the hooks of several names at once, and returns the names for which that is not possible:
    /// locked hooks and guards stay enabled.
    pub fn set_many_enabled<'n>(
        &mut self,
        names: impl IntoIterator<Item = &'n str>,
        enabled: bool,
    ) -> Vec<SwitchError> {
        let mut known: HashMap<&str, Option<&Hook>> = HashMap::new();
        for hook in &self.hooks {
            let protected = hook.is_protected().then_some(hook.as_ref());
            let one = known.entry(hook.id()).or_default();
            *one = one.or(protected);
        }
        let mut refused = Vec::new();
        for name in names {
            let owned = name.to_owned();
            match known.get(name) {
                None => {
                    refused.push(SwitchError::Unknown(owned));
                    continue;
                }
                Some(Some(hook)) if !enabled && hook.locked => refused.push(SwitchError::Locked(owned)),
                Some(Some(hook)) if !enabled => {
                    refused.push(SwitchError::Guard { name: owned, layer: hook.source.clone() });
                }
                Some(_) => {}
            }
            self.overrides.insert(name.to_owned(), enabled);
        }
        self.refresh_states();
        refused
    }

    /// Marks hooks as untrusted, so that they do not run; the function returns the reason, or `None` for a trusted
    /// hook.
    pub fn mark_untrusted(&mut self, why: impl Fn(&Hook) -> Option<String>) {
        self.untrusted = self.hooks.iter().enumerate().filter_map(|(at, hook)| Some((at, why(hook)?))).collect();
        self.refresh_states();
    }

    /// Ignores the project's settings where they disable one of these hooks, until the user trusts them.
    pub fn set_untrusted_switch_offs(&mut self, hooks: HashSet<(Source, String)>) {
        self.untrusted_switch_offs = hooks;
        self.refresh_states();
    }

    /// The hooks of other layers that only the project's settings disable, in order.
    pub fn switched_off_by_project(&self) -> impl Iterator<Item = (&Arc<Hook>, &HookState)> {
        self.entries().filter(|(hook, state)| {
            let by_project = match state {
                HookState::Disabled { by } => by.as_slice() == [Source::Project],
                HookState::SwitchedOff { by } => *by == Source::Project,
                HookState::Enabled | HookState::Untrusted { .. } => false,
            };
            by_project && hook.source != Source::Project
        })
    }

    /// Removes the hooks for which the predicate is false.
    pub fn retain(&mut self, wanted: impl Fn(&Hook) -> bool) {
        if self.hooks.iter().all(|hook| wanted(hook)) {
            return;
        }
        let held = std::mem::take(&mut self.untrusted);
        let kept: Vec<usize> = (0..self.hooks.len()).filter(|at| wanted(&self.hooks[*at])).collect();
        self.untrusted = kept.iter().enumerate().filter_map(|(now, was)| Some((now, held.get(was)?.clone()))).collect();
        self.hooks = kept.into_iter().map(|at| self.hooks[at].clone()).collect();
        self.refresh_states();
    }

    fn refresh_states(&mut self) {
        self.states = (0..self.hooks.len()).map(|at| self.state_of(at)).collect();
    }

    fn state_of(&self, at: usize) -> HookState {
        let hook = &self.hooks[at];
        if let Some(why) = self.untrusted.get(&at) {
            return HookState::Untrusted { why: why.clone() };
        }
        let ignores_project = !self.untrusted_switch_offs.is_empty()
            && self.untrusted_switch_offs.contains(&(hook.source.clone(), hook.id().to_owned()));
        let counts = |layer: &&LayerSwitches| !(ignores_project && layer.source == Source::Project);
        let heeded = || self.layers.iter().filter(counts).filter(|layer| hook.obeys_layer(layer));
        let decider = heeded().find(|layer| layer.enabled.is_some());
        if let Some(layer) = decider.filter(|layer| layer.enabled == Some(false)) {
            return HookState::SwitchedOff { by: layer.source.clone() };
        }
        match self.overrides.get(hook.id()) {
            Some(true) => return HookState::Enabled,
            Some(false) if !hook.is_protected() => return HookState::Disabled { by: Vec::new() },
            Some(false) | None => {}
        }
        let itself = (!hook.enabled).then(|| hook.source.clone());
        let lists = heeded().filter(|layer| layer.disabled.contains(hook.id())).map(|layer| layer.source.clone());
        let mut by: Vec<_> = itself.into_iter().chain(lists).collect();
        by.dedup();
        if by.is_empty() { HookState::Enabled } else { HookState::Disabled { by } }
    }
}
