//! Every hook there is, in layer order, with its source and its state. Which of them an event runs is `plan.rs`.

pub(crate) mod hook_changes;

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::answers::FailureCause;
use crate::config::{DeclaredLayer, OnUnknown};
use crate::diagnostic::{Diagnostic, Severity};
use crate::guards::{LostGuard, RequiredHook};
use crate::hook::{Hook, HookRole, Source};
use crate::on_error::{FailureAction, OnError};

/// Whether a hook runs, and if not, why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookState {
    /// It runs when its event fires.
    Enabled,
    /// Its name is on a disabled list, or it was disabled at run time.
    Disabled {
        /// The layers that say so; empty for run time.
        by: Vec<Source>,
    },
    /// A layer switched all hooks off.
    SwitchedOff {
        /// The layer that says so.
        by: Source,
    },
    /// It waits for the user's trust.
    Untrusted {
        /// What the user should know.
        why: String,
    },
}

/// All hooks of a configuration.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    hooks: Vec<Arc<Hook>>,
    states: Vec<HookState>,
    layers: Vec<LayerSwitches>,
    overrides: HashMap<String, bool>,
    untrusted: HashMap<usize, String>,
    /// Hooks that the project switches off without the user's trust, by source and name: its word does not count for them.
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
}

/// A hook that cannot be switched off.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum SwitchError {
    /// No hook has that name.
    #[error("no hook is called `{0}`")]
    Unknown(String),
    /// The machine's administrator locked it.
    #[error("hook `{0}` is locked by the system settings and can't be switched off")]
    Locked(String),
    /// It must be awake.
    #[error("hook `{name}` is a guard of the {layer} settings and can't be switched off from anywhere else")]
    Guard {
        /// The hook's name.
        name: String,
        /// Whose settings it stands in.
        layer: Source,
    },
}

impl SwitchError {
    /// The hook's name.
    pub fn name(&self) -> &str {
        match self {
            SwitchError::Unknown(name) | SwitchError::Locked(name) | SwitchError::Guard { name, .. } => name,
        }
    }
}

impl Hook {
    /// Whether a layer has a say in it.
    fn obeys_layer(&self, layer: &LayerSwitches) -> bool {
        !self.is_protected() || layer.source == self.source
    }
}

impl Registry {
    /// Gathers declared layers; they are brought into precedence order, whatever order they come in.
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
            });
        }
        registry.mark_required_guards();
        registry.refresh_states();
        registry
    }

    /// Makes guards of the hooks that a layer requires.
    fn mark_required_guards(&mut self) {
        let required = self.layers.iter().flat_map(|layer| &layer.required);
        let names: HashSet<&str> = required.map(|required| required.name.as_str()).collect();
        if names.is_empty() {
            return;
        }
        let mut problems = Vec::new();
        for hook in self.hooks.iter_mut().filter(|hook| !hook.required && names.contains(hook.id())) {
            if let (HookRole::Background, Some(place)) = (hook.role, &hook.location) {
                let text = format!("`{}` is required, so that it can't run beside its event", hook.id());
                problems.push(Diagnostic::about_location(Severity::Error, place, text).help("remove `async`"));
            }
            Arc::make_mut(hook).required = true;
        }
        self.diagnostics.extend(problems);
    }

    /// The hooks that must be there, whoever says so.
    pub fn required(&self) -> impl Iterator<Item = &RequiredHook> {
        self.layers.iter().flat_map(|layer| &layer.required)
    }

    /// What was written as a guard and is none.
    pub fn lost_guards(&self) -> &[LostGuard] {
        &self.lost_guards
    }

    /// Adds a hook in code; it runs ahead of all layers.
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

    /// What was wrong with the configuration.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// How often in a row AfterAgent may demand a retry.
    pub fn max_agent_retries(&self) -> u32 {
        const DEFAULT_MAX_AGENT_RETRIES: u32 = 5;
        // A project does not unsay what the user or the system says.
        let (project, others): (Vec<_>, Vec<_>) = self.layers.iter().partition(|layer| layer.source == Source::Project);
        others.iter().chain(&project).find_map(|layer| layer.max_agent_retries).unwrap_or(DEFAULT_MAX_AGENT_RETRIES)
    }

    /// The most commands that run at once, if a layer says: the smallest of their numbers.
    pub fn max_parallel(&self) -> Option<NonZeroU32> {
        self.layers.iter().filter_map(|layer| layer.max_parallel).min()
    }

    /// Whether what BeforeAgent hooks tell the model stays beyond its turn.
    pub fn keep_context(&self) -> bool {
        // A project does not unsay what the user or the system says.
        let (project, others): (Vec<_>, Vec<_>) = self.layers.iter().partition(|layer| layer.source == Source::Project);
        others.iter().chain(&project).find_map(|layer| layer.keep_context).unwrap_or(false)
    }

    /// Whether running hooks are shown to the user.
    pub fn notifications(&self) -> bool {
        // A project does not hide what runs.
        let counts = |layer: &&LayerSwitches| layer.source != Source::Project || layer.notifications == Some(true);
        self.layers.iter().filter(counts).find_map(|layer| layer.notifications).unwrap_or(true)
    }

    /// How long SessionEnd hooks are waited for.
    pub fn session_end_grace(&self) -> Duration {
        const DEFAULT_SESSION_END_GRACE_PERIOD: Duration = Duration::from_secs(2);
        /// Longer than that no project keeps anybody from leaving.
        const MAX_PROJECT_SESSION_END_GRACE_PERIOD: Duration = Duration::from_secs(10);
        let said = |layer: &LayerSwitches| layer.session_end_grace.map(|time| Duration::from_millis(time.into()));
        let (project, others): (Vec<_>, Vec<_>) = self.layers.iter().partition(|layer| layer.source == Source::Project);
        let own = others.into_iter().find_map(said);
        own.or_else(|| project.into_iter().find_map(said).map(|time| time.min(MAX_PROJECT_SESSION_END_GRACE_PERIOD)))
            .unwrap_or(DEFAULT_SESSION_END_GRACE_PERIOD)
    }

    /// What counts for guards where another agent has a tool or an event that nobody here knows: the strictest word.
    pub fn on_unknown(&self) -> OnUnknown {
        self.layers.iter().filter_map(|layer| layer.on_unknown).max().unwrap_or_default()
    }

    /// Lets no hook take longer than that, whatever it asks for: whoever waits for all of them does not wait longer.
    pub fn limit_timeouts(&mut self, most: Duration) {
        for hook in self.hooks.iter_mut().filter(|hook| hook.timeout > most) {
            Arc::make_mut(hook).timeout = most;
        }
    }

    /// What counts when this hook fails. A guard's failure blocks. Else its own word counts, or its layer's, or the
    /// cause's own; what other layers say can only make that stricter.
    pub(crate) fn failure_action(&self, hook: &Hook, cause: FailureCause) -> FailureAction {
        if hook.is_guard() {
            return FailureAction::Block;
        }
        let (own, others): (Vec<_>, Vec<_>) = self.layers.iter().partition(|layer| layer.source == hook.source);
        let word = own.iter().fold(hook.on_error, |policy, layer| policy.or(layer.on_error)).get(cause);
        let stricter = others.iter().filter_map(|layer| layer.on_error.get(cause)).max();
        word.unwrap_or(cause.default_action()).max(stricter.unwrap_or(FailureAction::Allow))
    }

    /// Enables or disables every hook of that name, until the configuration is loaded again.
    ///
    /// # Errors
    /// If no hook has that name, or a locked one or a guard should be disabled.
    pub fn set_enabled(&mut self, name: &str, enabled: bool) -> Result<(), SwitchError> {
        self.set_many_enabled([name], enabled).into_iter().next().map_or(Ok(()), Err)
    }

    /// Enables or disables the hooks of many names at once; says which of them could not be: locked ones and guards stay on,
    /// whatever else has their name.
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

    /// Holds hooks back until the user trusts them; the function says why, or nothing for a trusted one.
    pub fn mark_untrusted(&mut self, why: impl Fn(&Hook) -> Option<String>) {
        self.untrusted = self.hooks.iter().enumerate().filter_map(|(at, hook)| Some((at, why(hook)?))).collect();
        self.refresh_states();
    }

    /// Ignores the project's settings where they switch off one of these hooks, until the user trusts that.
    pub fn set_untrusted_switch_offs(&mut self, hooks: HashSet<(Source, String)>) {
        self.untrusted_switch_offs = hooks;
        self.refresh_states();
    }

    /// Hooks of other layers that only the project's settings keep from running, in order.
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

    /// Leaves out hooks that are nobody's business at the moment.
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
