//! One hook as a value: its source, when it runs, and what it runs. `registry.rs` decides whether it is enabled.

use std::borrow::Cow;
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::answers::{Answer, Decision};
use crate::confinement::{ConfinementProfile, UnenforceableLine};
use crate::diagnostic::FileLocation;
use crate::dialect::claude::{AgentScope, CallStatus};
use crate::dialect::{Dialect, PermissionRule};
use crate::doubt::OnDoubt;
use crate::effects::{self, Effects};
use crate::event::chunks::ChunkUnit;
use crate::event::input::HookInput;
use crate::event::{EventKind, HookCapability, MatcherSubject};
use crate::matching::Matcher;
use crate::matching::effect_filter::{EffectBounds, EffectFilter, MatchReason, WholeFolders};
use crate::matching::tool_names::known_tools;
use crate::on_error::OnError;
use crate::running::invocation::Invocation;

/// The source of a hook's declaration, highest precedence first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// The embedding program, in code.
    Runtime,
    /// The project's settings.
    Project,
    /// The user's settings.
    User,
    /// The machine's settings.
    System,
    /// The settings of an extension of that name.
    Extension(String),
}

/// Serialises the source as its name in lists.
impl serde::Serialize for Source {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
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

/// The role of a hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookRole {
    /// An ordinary hook: its answer counts, and its failures are treated as `onError` says.
    #[default]
    Ordinary,
    /// A background hook: its event does not wait for it, and it decides nothing.
    Background,
    /// A hook in shadow (`"mode": "shadow"`): it is asked, its answer is recorded, and it decides nothing.
    Shadow,
    /// A guard: every failure of it denies, whatever `onError` says.
    Guard,
}

/// The conditions, besides the matcher, under which a hook runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunCondition {
    /// The hook runs only for calls that this rule matches (`if`).
    pub if_rule: Option<PermissionRule>,
    /// The hook runs only the first time in a session (`once`).
    pub once: bool,
    /// The hook runs only in the main agent, or only in sub-agents.
    pub agent_scope: Option<AgentScope>,
    /// The hook runs only after calls that ended in this way.
    pub after_call: Option<CallStatus>,
}

/// One hook as declared in settings or in code.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The event on which the hook runs.
    pub event: EventKind,
    /// The source of its declaration.
    pub source: Source,
    /// The name of the hook, if it has one.
    pub name: Option<String>,
    /// The description of the hook, if it has one.
    pub description: Option<String>,
    /// The compiled matcher, which is tested against the event's subject.
    pub matcher: Matcher,
    /// The matcher as written.
    pub matcher_text: Option<String>,
    /// Filters on the effects of a call, of the definition and of the hook; the hook runs if all of them match.
    pub when: Vec<EffectFilter>,
    /// Further conditions under which the hook runs.
    pub run_condition: RunCondition,
    /// Whether the definition asks for a sequential plan.
    pub sequential: bool,
    /// The unit in which the hook receives a streamed response (AfterModel).
    pub chunks: Option<ChunkUnit>,
    /// The action that the hook performs.
    pub action: Action,
    /// The time limit of a run.
    pub timeout: Duration,
    /// The failure policy by cause.
    pub on_error: OnError,
    /// What a guard does about a call whose effects are in doubt, if its declaration says so.
    pub on_doubt: Option<OnDoubt>,
    /// Whether no other layer may disable the hook (system hooks only).
    pub locked: bool,
    /// The role of the hook, as declared.
    pub role: HookRole,
    /// Whether a layer requires the hook by name, which makes it a guard; the registry sets it.
    pub required: bool,
    /// Whether its own declaration leaves the hook enabled.
    pub enabled: bool,
    /// The location of the declaration, for hooks from files.
    pub location: Option<FileLocation>,
}

impl Hook {
    /// The timeout of hooks that set none.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

    /// A hook that is a Rust function and runs every time its event fires; other fields can be set afterwards.
    ///
    /// ```
    /// use hookwright_hooks::{Answer, EventKind, Hook};
    ///
    /// let mut hook = Hook::from_function(EventKind::BeforeTool, "no-fridays", |_input| async {
    ///     Ok(Answer::deny("not on Fridays"))
    /// });
    /// hook.locked = true;
    /// assert_eq!(hook.id(), "no-fridays");
    /// ```
    pub fn from_function<F, Fut>(event: EventKind, name: impl Into<String>, function: F) -> Self
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
            when: Vec::new(),
            run_condition: RunCondition::default(),
            sequential: false,
            chunks: None,
            action: Action::Function(HookFunction::new(function)),
            timeout: Hook::DEFAULT_TIMEOUT,
            on_error: OnError::default(),
            on_doubt: None,
            locked: false,
            role: HookRole::Ordinary,
            required: false,
            enabled: true,
            location: None,
        }
    }

    /// Whether the hook is a guard, by its own declaration or because a layer requires it.
    pub fn is_guard(&self) -> bool {
        self.required || self.role == HookRole::Guard
    }

    /// Whether the event does not wait for the hook. It always waits for a guard.
    pub fn is_background(&self) -> bool {
        self.role == HookRole::Background && !self.required
    }

    /// Whether the hook's answer is recorded and decides nothing. A required hook in shadow is a guard that is not armed.
    pub fn is_shadow(&self) -> bool {
        self.role == HookRole::Shadow
    }

    /// Whether only its own layer may disable the hook.
    pub fn is_protected(&self) -> bool {
        self.locked || self.is_guard()
    }

    /// Why the hook runs on a call with these effects, if it does.
    pub(crate) fn match_reason(&self, effects: &Effects, place: &effects::CallPlace<'_>) -> Option<MatchReason> {
        let mut reason = MatchReason::Always;
        for when in &self.when {
            match (when.match_effects(effects, place, self.is_guard(), self.whole_folders())?, &reason) {
                // A known effect is a better reason than an uncertain one.
                (MatchReason::Always, _) | (MatchReason::Uncertain { .. }, MatchReason::Effect { .. }) => {}
                (found, _) => reason = found,
            }
        }
        match self.approval_bounds() {
            Some(only) if self.is_confining_rule() => only.contain_confined(effects, place).then_some(reason),
            Some(only) => only.contain(effects, place).then_some(reason),
            None => Some(reason),
        }
    }

    /// How touching a folder as a whole counts: a guard that lets a call in doubt run need not stop a search of a folder
    /// in which its file may lie, or `git pull`.
    fn whole_folders(&self) -> WholeFolders {
        match self.on_doubt {
            Some(OnDoubt::ConfineOrAllow) if self.is_guard() => WholeFolders::Doubtful,
            _ => WholeFolders::Known,
        }
    }

    /// The profile of a command whose effects are in doubt: with it, the command cannot do what the hook looks for.
    ///
    /// # Errors
    /// The line of its `when` that the kernel cannot enforce.
    pub fn doubt_confinement(&self) -> Result<ConfinementProfile, UnenforceableLine> {
        // The hook runs if all filters match, so that it is enough to rule out one of them.
        let mut tried = self.when.iter().map(EffectFilter::confinement);
        let first = tried.next().unwrap_or_else(|| Ok(ConfinementProfile::default()));
        match first {
            Ok(profile) => Ok(profile),
            Err(line) => tried.find_map(Result::ok).ok_or(line),
        }
    }

    /// The profile that keeps every command from what this guard denies, as far as the kernel can do exactly that.
    pub fn enforced_confinement(&self) -> Option<ConfinementProfile> {
        let denies = matches!(&self.action, Action::Rule(rule) if rule.decision == Decision::Deny);
        match &*self.when {
            [when]
                if denies && self.is_guard() && !self.is_shadow() && self.run_condition == RunCondition::default() =>
            {
                when.exact_confinement()
            }
            _ => None,
        }
    }

    /// The profile in its declaration: of the call for a rule, of the hook's own process for other hooks.
    pub fn confinement(&self) -> Option<&ConfinementProfile> {
        match &self.action {
            Action::Rule(rule) => rule.confinement.as_ref(),
            action => Some(&action.command()?.confinement.as_ref()?.profile),
        }
    }

    /// The profile that its declaration names.
    pub(crate) fn declared_confinement(&self) -> Option<&ConfinementProfile> {
        let own = self.action.command().and_then(|command| command.confinement.as_ref());
        let is_default = own.is_some_and(|own| own.origin == ConfinementOrigin::ExtensionDefault);
        self.confinement().filter(|_| !is_default)
    }

    fn is_confining_rule(&self) -> bool {
        matches!(&self.action, Action::Rule(rule) if rule.decision == Decision::Confine)
    }

    /// The `only` of a rule that approves calls.
    pub fn approval_bounds(&self) -> Option<&EffectBounds> {
        match &self.action {
            Action::Rule(rule) => rule.only.as_ref(),
            _ => None,
        }
    }

    /// Whether an answer of this hook can have such an effect: a rule can do nothing but what it says, and nothing but a
    /// rule with `only` approves.
    pub fn can_use(&self, power: HookCapability) -> bool {
        match (&self.action, power) {
            _ if self.is_shadow() => false,
            (Action::Rule(rule), HookCapability::Approve) => rule.only.is_some(),
            (_, HookCapability::Approve) => false,
            (Action::Rule(rule), HookCapability::Deny) => rule.decision == Decision::Deny,
            (Action::Rule(rule), HookCapability::Ask) if rule.decision == Decision::Ask => true,
            // A guard that denies confines or asks about a call whose effects are uncertain.
            (Action::Rule(rule), HookCapability::Ask | HookCapability::Confine) => match rule.decision {
                Decision::Confine => true,
                Decision::Deny => self.is_guard(),
                Decision::Ask | Decision::Allow => false,
            },
            (Action::Rule(_), _) => false,
            _ => true,
        }
    }

    /// Whether the hook starts no process and contacts nothing, so that its timeout means nothing.
    pub fn is_instant(&self) -> bool {
        matches!(self.action, Action::Rule(_))
    }

    /// The text of the hook's `when` filters as written, if it has any.
    pub fn when_text(&self) -> Option<String> {
        let texts: Vec<&str> = self.when.iter().map(EffectFilter::text).collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    }

    /// Whether the matcher can match anything known: the built-in tools, tools of MCP servers, the values of the
    /// event's field.
    pub fn can_match(&self) -> bool {
        let text = self.matcher_text.as_deref().unwrap_or_default();
        match self.event.info().subject {
            _ if matches!(self.matcher, Matcher::All) => true,
            MatcherSubject::Nothing => true,
            MatcherSubject::Field { values, .. } => values.iter().any(|value| self.matcher.matches(value)),
            MatcherSubject::ToolName => text.contains("mcp") || known_tools().any(|tool| self.matcher.matches(tool)),
        }
    }

    /// The hook's identity: its name, or else its command or another description of its action.
    pub fn id(&self) -> &str {
        match (&self.name, &self.action) {
            (Some(name), _) => name,
            (None, Action::Command(command)) => &command.command,
            (None, Action::Worker(worker)) => worker.summary(),
            (None, Action::Http(http)) => &http.url,
            (None, Action::Rule(rule)) => &rule.reason,
            (None, Action::Function(_)) => "unnamed",
        }
    }

    /// The command as written, for command and worker hooks.
    pub fn command(&self) -> Option<&str> {
        self.action.command().map(|command| command.command.as_str())
    }

    /// A description of the action for display: the command, the URL, or the rule's decision. `None` for functions.
    pub fn summary(&self) -> Option<Cow<'_, str>> {
        match &self.action {
            Action::Command(command) => Some(Cow::Borrowed(&command.command)),
            Action::Worker(worker) => Some(Cow::Borrowed(worker.summary())),
            Action::Http(http) => Some(Cow::Owned(format!("POST {}", http.url))),
            Action::Rule(rule) => {
                let when = self.when_text().map(|when| format!(" when {when}")).unwrap_or_default();
                let only = rule.only.as_ref().map(|only| format!(" only {}", only.text())).unwrap_or_default();
                Some(Cow::Owned(format!("rule: {}{only}{when}", rule.decision_word())))
            }
            Action::Function(_) => None,
        }
    }

    /// A description of the action for a note: of a rule with long filters only what they are about.
    pub fn short_summary(&self) -> Option<Cow<'_, str>> {
        const MAX_SUMMARY_CHARS: usize = 100;
        let summary = self.summary()?;
        let Action::Rule(rule) = &self.action else { return Some(summary) };
        if summary.chars().count() <= MAX_SUMMARY_CHARS {
            return Some(summary);
        }
        let texts = self.when.iter().map(EffectFilter::text).chain(rule.only.as_ref().map(EffectBounds::text));
        let filters = texts.filter_map(|text| serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(text).ok());
        let mut aspects: Vec<String> = Vec::new();
        for aspect in filters.flat_map(|filter| filter.into_iter().map(|(key, _)| key)) {
            if !aspects.contains(&aspect) {
                aspects.push(aspect);
            }
        }
        if aspects.is_empty() {
            return Some(summary);
        }
        Some(Cow::Owned(format!("rule: {} by {}", rule.decision_word(), aspects.join(", "))))
    }

    /// The dialect of the hook's input and answer.
    pub fn dialect(&self) -> Dialect {
        match &self.action {
            Action::Http(http) => http.dialect,
            other => other.command().map_or(Dialect::Gemini, |command| command.dialect),
        }
    }

    /// The environment variables that the hook sets.
    pub fn env(&self) -> &[(String, String)] {
        self.action.command().map_or(&[], |command| &command.env)
    }

    /// The key by which equal hooks are recognised and run once. Functions have no key and equal no other hook.
    pub(crate) fn dedup_key(&self) -> Option<(Option<&str>, Cow<'_, str>, Option<String>)> {
        let action = match &self.action {
            // A service may answer differently to other headers.
            Action::Http(http) => Some(Cow::Owned(format!("{} {:?}", http.url, http.headers))),
            other => other.command().map(|command| Cow::Borrowed(command.command.as_str())),
        };
        action.map(|action| (self.name.as_deref(), action, self.when_text()))
    }

    /// The value of `type` in settings.
    pub fn type_name(&self) -> &'static str {
        match &self.action {
            Action::Command(_) => "command",
            Action::Worker(WorkerAction { package: None, .. }) => "worker",
            Action::Worker(WorkerAction { package: Some(_), .. }) => "plugin",
            Action::Http(_) => "http",
            Action::Rule(_) => "rule",
            Action::Function(_) => "function",
        }
    }
}

/// The action that a hook performs.
#[derive(Clone, Debug)]
pub enum Action {
    /// A command that is run for every event.
    Command(CommandAction),
    /// A command that is started once and receives every event.
    Worker(WorkerAction),
    /// An HTTP service that receives every event.
    Http(HttpAction),
    /// A fixed answer, without a process.
    Rule(RuleAction),
    /// A function of the embedding program.
    Function(HookFunction),
}

impl Action {
    /// The command of a command or worker hook.
    pub fn command(&self) -> Option<&CommandAction> {
        match self {
            Action::Command(command) | Action::Worker(WorkerAction { command, .. }) => Some(command),
            Action::Http(_) | Action::Rule(_) | Action::Function(_) => None,
        }
    }

    /// The command of a command or worker hook, for changes.
    pub fn command_mut(&mut self) -> Option<&mut CommandAction> {
        match self {
            Action::Command(command) | Action::Worker(WorkerAction { command, .. }) => Some(command),
            Action::Http(_) | Action::Rule(_) | Action::Function(_) => None,
        }
    }
}

/// A process that runs for the session and receives one request per line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerAction {
    /// The command that starts the process.
    pub command: CommandAction,
    /// For plugins: the package with the handlers, as written.
    pub package: Option<String>,
    /// How the process is kept.
    pub config: WorkerConfig,
}

impl WorkerAction {
    fn summary(&self) -> &str {
        self.package.as_deref().unwrap_or(&self.command.command)
    }
}

/// How a worker's process is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerConfig {
    /// Whether the process is started with the session, rather than on first use.
    pub start_with_session: bool,
    /// The maximum number of requests that are sent without having been answered.
    pub concurrency: NonZeroU32,
    /// The time without requests after which the process is ended.
    pub idle_timeout: Option<Duration>,
    /// The maximum memory of the process in bytes.
    pub max_memory_bytes: Option<u64>,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        WorkerConfig {
            start_with_session: false,
            concurrency: NonZeroU32::MIN,
            idle_timeout: None,
            max_memory_bytes: None,
        }
    }
}

/// An HTTP service that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAction {
    /// The URL to which the input is posted.
    pub url: String,
    /// The headers of the request: names, and values with their variables.
    pub headers: Vec<(String, Vec<HeaderPiece>)>,
    /// The dialect of the input and answer.
    pub dialect: Dialect,
}

/// A part of a header's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderPiece {
    /// Text that is sent as it stands.
    Text(String),
    /// The value of an environment variable.
    Variable(String),
}

impl HeaderPiece {
    /// The name of the variable, if the piece is one.
    pub fn variable(&self) -> Option<&str> {
        match self {
            HeaderPiece::Variable(name) => Some(name),
            HeaderPiece::Text(_) => None,
        }
    }
}

impl HttpAction {
    /// The headers as lines of text, with literal values hidden.
    pub fn redacted_header_lines(&self) -> impl Iterator<Item = String> {
        self.redacted_headers().map(|(name, value)| format!("{name}: {value}"))
    }

    /// The headers for display. A value that is written without a variable may be a secret, and is hidden.
    pub fn redacted_headers(&self) -> impl Iterator<Item = (&str, String)> {
        self.headers.iter().map(|(name, pieces)| {
            let is_shown = pieces.iter().any(|piece| matches!(piece, HeaderPiece::Variable(_)));
            let value = pieces.iter().map(|piece| match piece {
                HeaderPiece::Text(text) if is_shown => text.clone(),
                HeaderPiece::Text(_) => "…".to_owned(),
                HeaderPiece::Variable(name) => format!("${{{name}}}"),
            });
            (name.as_str(), value.collect::<String>())
        })
    }

    /// The headers whose values are literal and therefore hidden.
    pub fn literal_headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().filter_map(|(name, pieces)| match pieces.as_slice() {
            [] => Some((name.as_str(), "")),
            [HeaderPiece::Text(text)] => Some((name.as_str(), text.as_str())),
            _ => None,
        })
    }
}

/// A fixed answer that needs no process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleAction {
    /// The decision: deny, ask, confine, or allow.
    pub decision: Decision,
    /// The profile of a rule that confines; without one, its `when` is what the call is kept from.
    pub confinement: Option<ConfinementProfile>,
    /// The reason for the decision.
    pub reason: String,
    /// Whether the rule matches calls whose effects are uncertain: `"certain": false`.
    pub(crate) matches_uncertain: bool,
    /// The bounds within which a rule that allows or confines approves calls; other rules have none.
    pub only: Option<EffectBounds>,
}

impl RuleAction {
    /// The name of the decision: `deny`, `ask`, `confine` or `allow`.
    pub fn decision_word(&self) -> &'static str {
        self.decision.as_str()
    }
}

/// A command and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandAction {
    /// The command as written.
    pub command: String,
    /// Environment variables of the hook, which override the session's.
    pub env: Vec<(String, String)>,
    /// The dialect of the input and answer.
    pub dialect: Dialect,
    /// How the command is started.
    pub(crate) invocation: Invocation,
    /// The profile that the hook's own process is kept to.
    pub confinement: Option<ProcessConfinement>,
}

/// The profile of a hook's own process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessConfinement {
    /// What the process may do.
    pub profile: ConfinementProfile,
    /// Where it comes from.
    pub origin: ConfinementOrigin,
}

/// Where the confinement of a hook's process comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfinementOrigin {
    /// The hook's declaration: without it the hook does not run.
    Declared,
    /// The default for hooks of extensions: it is left out where the machine cannot enforce it.
    ExtensionDefault,
}

type AnswerFuture = Pin<Box<dyn Future<Output = Result<Answer, String>> + Send>>;

/// A hook that is a Rust function: it receives the JSON that a command would receive on stdin, and returns an answer or
/// the reason of its failure.
#[derive(Clone)]
pub struct HookFunction(Arc<dyn Fn(HookInput) -> AnswerFuture + Send + Sync>);

impl HookFunction {
    /// Wraps an async function.
    pub fn new<F, Fut>(function: F) -> Self
    where
        F: Fn(HookInput) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Answer, String>> + Send + 'static,
    {
        HookFunction(Arc::new(move |input| Box::pin(function(input))))
    }

    pub(crate) fn call(&self, input: HookInput) -> AnswerFuture {
        (self.0)(input)
    }
}

impl std::fmt::Debug for HookFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HookFunction")
    }
}
