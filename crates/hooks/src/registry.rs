//! Every hook there is, in layer order, with its source and its state. Which of them an event runs is `plan.rs`.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Cause};
use crate::declare::Declared;
use crate::diagnostic::{Diagnostic, Place, Severity};
use crate::event::{EventKind, Subject};
use crate::guard::{Lost, Required};
use crate::input::HookInput;
use crate::matcher::Matcher;
use crate::run::words::Invocation;
use crate::tool_names::known_tools;

/// Where a hook was declared, highest precedence first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// By the embedding program, in code.
    Runtime,
    /// The project's settings.
    Project,
    /// The user's settings.
    User,
    /// The machine's settings.
    System,
    /// An extension of that name.
    Extension(String),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Runtime => f.pad("runtime"),
            Source::Project => f.pad("project"),
            Source::User => f.pad("user"),
            Source::System => f.pad("system"),
            Source::Extension(name) => f.pad(&format!("extension {name}")),
        }
    }
}

/// What counts when a hook fails, from the most lenient to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FailureAction {
    /// The event goes on, with a warning.
    Allow,
    /// The user decides.
    Ask,
    /// The event is denied.
    Block,
}

/// What counts when a hook fails, by cause; what is not set here is decided further out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnError {
    /// It ran too long.
    pub timeout: Option<FailureAction>,
    /// Another exit code, or a signal.
    pub exit: Option<FailureAction>,
    /// It could not start.
    pub spawn: Option<FailureAction>,
    /// Its output could not be understood in full.
    pub output: Option<FailureAction>,
    /// This machine had no room for it.
    pub resource: Option<FailureAction>,
    /// Its answer was cut off before a decision could be read.
    pub truncated: Option<FailureAction>,
}

impl OnError {
    /// The same for every cause.
    pub fn all(action: FailureAction) -> Self {
        let action = Some(action);
        OnError { timeout: action, exit: action, spawn: action, output: action, resource: action, truncated: action }
    }

    /// The action for a cause, if set.
    pub fn get(&self, cause: Cause) -> Option<FailureAction> {
        match cause {
            Cause::Timeout => self.timeout,
            Cause::Exit => self.exit,
            Cause::Spawn => self.spawn,
            Cause::Output => self.output,
            Cause::Resource => self.resource,
            Cause::Truncated => self.truncated,
        }
    }

    /// This policy, with gaps filled by an outer one.
    pub(crate) fn or(self, outer: OnError) -> OnError {
        OnError {
            timeout: self.timeout.or(outer.timeout),
            exit: self.exit.or(outer.exit),
            spawn: self.spawn.or(outer.spawn),
            output: self.output.or(outer.output),
            resource: self.resource.or(outer.resource),
            truncated: self.truncated.or(outer.truncated),
        }
    }
}

impl Cause {
    /// What counts where nobody has said: a hook's own failure lets the event go on, ours does not.
    fn default_action(self) -> FailureAction {
        match self {
            Cause::Timeout | Cause::Exit | Cause::Spawn | Cause::Output => FailureAction::Allow,
            Cause::Resource | Cause::Truncated => FailureAction::Block,
        }
    }
}

/// What is expected of a hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duty {
    /// It says what it has to say.
    #[default]
    Ordinary,
    /// It runs beside its event and decides nothing.
    Beside,
    /// It must be awake: every failure of it blocks, whatever `onError` says.
    Guard,
}

/// One hook.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The event it runs on.
    pub event: EventKind,
    /// Where it was declared.
    pub source: Source,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// When it runs.
    pub matcher: Matcher,
    /// The matcher as written.
    pub matcher_text: Option<String>,
    /// Whether its definition asks for a sequential plan.
    pub sequential: bool,
    /// What runs.
    pub action: Action,
    /// How long it may take.
    pub timeout: Duration,
    /// What counts when it fails.
    pub on_error: OnError,
    /// Whether no other layer may switch it off (system hooks only).
    pub locked: bool,
    /// What is expected of it, as declared.
    pub duty: Duty,
    /// Whether a layer requires it by name, which makes it a guard; the registry sees to that.
    pub required: bool,
    /// Whether its own declaration leaves it on.
    pub enabled: bool,
    /// Where it stands, for hooks from files.
    pub place: Option<Place>,
}

impl Hook {
    /// How long a hook may take where nothing else is said.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

    /// A hook in code that runs every time its event fires; set other fields afterwards.
    pub fn in_code<F, Fut>(event: EventKind, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(HookInput) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer, String>> + Send + 'static,
    {
        Hook {
            event,
            source: Source::Runtime,
            name: Some(name.into()),
            description: None,
            matcher: Matcher::All,
            matcher_text: None,
            sequential: false,
            action: Action::Function(HookFunction::new(function)),
            timeout: Hook::DEFAULT_TIMEOUT,
            on_error: OnError::default(),
            locked: false,
            duty: Duty::Ordinary,
            required: false,
            enabled: true,
            place: None,
        }
    }

    /// Whether it must be awake.
    pub fn is_guard(&self) -> bool {
        self.required || self.duty == Duty::Guard
    }

    /// Whether its event does not wait for it. A guard is always waited for.
    pub fn runs_beside(&self) -> bool {
        self.duty == Duty::Beside && !self.required
    }

    /// Whether no layer but its own has a say in it.
    pub(crate) fn is_protected(&self) -> bool {
        self.locked || self.is_guard()
    }

    fn heeds(&self, layer: &LayerSwitches) -> bool {
        !self.is_protected() || layer.source == self.source
    }

    /// Whether its matcher can match anything that is known: the built-in tools, tools of MCP servers, the values that
    /// the event's field can have.
    pub fn can_match(&self) -> bool {
        let text = self.matcher_text.as_deref().unwrap_or_default();
        match self.event.info().subject {
            _ if matches!(self.matcher, Matcher::All) => true,
            Subject::Nothing => true,
            Subject::Field { values, .. } => values.iter().any(|value| self.matcher.matches(value)),
            Subject::ToolName => text.contains("mcp") || known_tools().any(|tool| self.matcher.matches(tool)),
        }
    }

    /// The hook's identity: its name, else its command.
    pub fn id(&self) -> &str {
        match (&self.name, &self.action) {
            (Some(name), _) => name,
            (None, Action::Command(command)) => &command.command,
            (None, Action::Function(_)) => "unnamed",
        }
    }

    /// The command as written, for command hooks.
    pub fn command(&self) -> Option<&str> {
        match &self.action {
            Action::Command(command) => Some(&command.command),
            Action::Function(_) => None,
        }
    }

    /// Variables of its own.
    pub fn env(&self) -> &[(String, String)] {
        match &self.action {
            Action::Command(command) => &command.env,
            Action::Function(_) => &[],
        }
    }

    /// Hooks with equal keys are one hook. A hook in code equals no other.
    pub(crate) fn key(&self) -> Option<(Option<&str>, &str)> {
        self.command().map(|command| (self.name.as_deref(), command))
    }
}

/// What a hook runs.
#[derive(Clone, Debug)]
pub enum Action {
    /// A command.
    Command(CommandAction),
    /// A function of the embedding program.
    Function(HookFunction),
}

/// A command and what it needs.
#[derive(Clone, Debug)]
pub struct CommandAction {
    /// The command as written.
    pub command: String,
    /// Variables of its own, over the session's.
    pub env: Vec<(String, String)>,
    /// How it is started.
    pub(crate) invocation: Invocation,
}

type BoxedAnswer = Pin<Box<dyn Future<Output = Result<Answer, String>> + Send>>;

/// A hook in code: gets the JSON that a command would get on stdin, and gives an answer or says why it failed.
#[derive(Clone)]
pub struct HookFunction(Arc<dyn Fn(HookInput) -> BoxedAnswer + Send + Sync>);

impl HookFunction {
    /// Wraps an async function.
    pub fn new<F, Fut>(function: F) -> Self
    where
        F: Fn(HookInput) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer, String>> + Send + 'static,
    {
        HookFunction(Arc::new(move |input| Box::pin(function(input))))
    }

    pub(crate) fn call(&self, input: HookInput) -> BoxedAnswer {
        (self.0)(input)
    }
}

impl std::fmt::Debug for HookFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HookFunction")
    }
}

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
    Held {
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
    held: HashMap<usize, String>,
    lost: Vec<Lost>,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, Debug)]
struct LayerSwitches {
    source: Source,
    enabled: Option<bool>,
    disabled: HashSet<String>,
    on_error: OnError,
    required: Vec<Required>,
    max_agent_retries: Option<u32>,
    max_parallel: Option<NonZeroU32>,
    keep_context: Option<bool>,
    notifications: Option<bool>,
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

impl Registry {
    /// Gathers declared layers; they are brought into precedence order, whatever order they come in.
    pub fn new(mut layers: Vec<Declared>) -> Self {
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
            registry.lost.extend(layer.lost);
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
            });
        }
        registry.require();
        registry.refresh();
        registry
    }

    /// Makes guards of the hooks that a layer requires.
    fn require(&mut self) {
        let required = self.layers.iter().flat_map(|layer| &layer.required);
        let names: HashSet<&str> = required.map(|required| required.name.as_str()).collect();
        if names.is_empty() {
            return;
        }
        let mut problems = Vec::new();
        for hook in self.hooks.iter_mut().filter(|hook| !hook.required && names.contains(hook.id())) {
            if let (Duty::Beside, Some(place)) = (hook.duty, &hook.place) {
                let text = format!("`{}` is required, so that it can't run beside its event", hook.id());
                problems.push(Diagnostic::about_place(Severity::Error, place, text).help("remove `async`"));
            }
            Arc::make_mut(hook).required = true;
        }
        self.diagnostics.extend(problems);
    }

    /// The hooks that must be there, whoever says so.
    pub(crate) fn required(&self) -> impl Iterator<Item = &Required> {
        self.layers.iter().flat_map(|layer| &layer.required)
    }

    /// What was written as a guard and is none.
    pub fn lost(&self) -> &[Lost] {
        &self.lost
    }

    /// Adds a hook in code; it runs ahead of all layers.
    pub fn add(&mut self, hook: Hook) {
        let at = self.hooks.iter().take_while(|hook| hook.source == Source::Runtime).count();
        self.hooks.insert(at, Arc::new(hook));
        self.held = std::mem::take(&mut self.held)
            .into_iter()
            .map(|(index, why)| (if index >= at { index + 1 } else { index }, why))
            .collect();
        self.require();
        self.refresh();
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
        const DEFAULT: u32 = 5;
        // A project does not unsay what the user or the system says.
        let (project, others): (Vec<_>, Vec<_>) = self.layers.iter().partition(|layer| layer.source == Source::Project);
        others.iter().chain(&project).find_map(|layer| layer.max_agent_retries).unwrap_or(DEFAULT)
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

    /// What counts when this hook fails. A guard's failure blocks. Else its own word counts, or its layer's, or the
    /// cause's own; what other layers say can only make that stricter.
    pub(crate) fn failure_action(&self, hook: &Hook, cause: Cause) -> FailureAction {
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
        self.switch([name], enabled).into_iter().next().map_or(Ok(()), Err)
    }

    /// Enables or disables the hooks of many names at once; says which of them could not be: locked ones and guards stay on,
    /// whatever else has their name.
    pub fn switch<'n>(&mut self, names: impl IntoIterator<Item = &'n str>, enabled: bool) -> Vec<SwitchError> {
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
        self.refresh();
        refused
    }

    /// Holds hooks back until the user trusts them; the function says why, or nothing for a trusted one.
    pub fn hold(&mut self, why: impl Fn(&Hook) -> Option<String>) {
        self.held = self.hooks.iter().enumerate().filter_map(|(at, hook)| Some((at, why(hook)?))).collect();
        self.refresh();
    }

    fn refresh(&mut self) {
        self.states = (0..self.hooks.len()).map(|at| self.state_of(at)).collect();
    }

    fn state_of(&self, at: usize) -> HookState {
        let hook = &self.hooks[at];
        if let Some(why) = self.held.get(&at) {
            return HookState::Held { why: why.clone() };
        }
        let heeded = || self.layers.iter().filter(|layer| hook.heeds(layer));
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
