//! One hook as a value: where it was declared, when it runs, what runs. Whether it runs at all is `registry.rs`.

use std::borrow::Cow;
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::answers::{Answer, Decision};
use crate::diagnostic::FileLocation;
use crate::dialect::claude::{AgentScope, CallStatus};
use crate::dialect::{Dialect, PermissionRule};
use crate::effects::{self, Effects};
use crate::event::chunks::ChunkUnit;
use crate::event::input::HookInput;
use crate::event::{EventKind, MatcherSubject};
use crate::matching::Matcher;
use crate::matching::effect_filter::{EffectFilter, MatchReason};
use crate::matching::tool_names::known_tools;
use crate::on_error::OnError;
use crate::running::invocation::Invocation;

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

/// What is expected of a hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HookRole {
    /// It says what it has to say.
    #[default]
    Ordinary,
    /// It runs beside its event and decides nothing.
    Background,
    /// It must be awake: every failure of it blocks, whatever `onError` says.
    Guard,
}

/// When a hook runs of the times that its matcher lets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunCondition {
    /// Only for calls that this rule is about (`if`).
    pub if_rule: Option<PermissionRule>,
    /// Only the first time in a session (`once`).
    pub once: bool,
    /// Only at the work of the agent that the user talks to, or only at a sub-agent's.
    pub agent_scope: Option<AgentScope>,
    /// Only after calls that came to such an end.
    pub after_call: Option<CallStatus>,
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
    /// What a call must do for it to run: all of these filters match, its definition's and its own.
    pub when: Vec<EffectFilter>,
    /// When it runs of the times that its matcher lets it.
    pub run_condition: RunCondition,
    /// Whether its definition asks for a sequential plan.
    pub sequential: bool,
    /// How much of a streamed answer it is handed at a time (AfterModel).
    pub chunks: Option<ChunkUnit>,
    /// What runs.
    pub action: Action,
    /// How long it may take.
    pub timeout: Duration,
    /// What counts when it fails.
    pub on_error: OnError,
    /// Whether no other layer may switch it off (system hooks only).
    pub locked: bool,
    /// What is expected of it, as declared.
    pub role: HookRole,
    /// Whether a layer requires it by name, which makes it a guard; the registry sees to that.
    pub required: bool,
    /// Whether its own declaration leaves it on.
    pub enabled: bool,
    /// Where it stands, for hooks from files.
    pub location: Option<FileLocation>,
}

impl Hook {
    /// How long a hook may take where nothing else is said.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

    /// A hook in code that runs every time its event fires; set other fields afterwards.
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
            locked: false,
            role: HookRole::Ordinary,
            required: false,
            enabled: true,
            location: None,
        }
    }

    /// Whether it must be awake.
    pub fn is_guard(&self) -> bool {
        self.required || self.role == HookRole::Guard
    }

    /// Whether its event does not wait for it. A guard is always waited for.
    pub fn is_background(&self) -> bool {
        self.role == HookRole::Background && !self.required
    }

    /// Whether no layer but its own has a say in it.
    pub fn is_protected(&self) -> bool {
        self.locked || self.is_guard()
    }

    /// Why it runs on a call with these effects, if it does.
    pub(crate) fn match_reason(&self, effects: &Effects, place: &effects::Place<'_>) -> Option<MatchReason> {
        let mut because = MatchReason::Always;
        for when in &self.when {
            match (when.match_effects(effects, place, self.is_guard())?, &because) {
                // What is known says more than what is not.
                (MatchReason::Always, _) | (MatchReason::Uncertain { .. }, MatchReason::Effect { .. }) => {}
                (found, _) => because = found,
            }
        }
        Some(because)
    }

    /// What it asks of a call, as it is written.
    pub fn when_text(&self) -> Option<String> {
        let texts: Vec<&str> = self.when.iter().map(EffectFilter::text).collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    }

    /// Whether its matcher can match anything that is known: the built-in tools, tools of MCP servers, the values that
    /// the event's field can have.
    pub fn can_match(&self) -> bool {
        let text = self.matcher_text.as_deref().unwrap_or_default();
        match self.event.info().subject {
            _ if matches!(self.matcher, Matcher::All) => true,
            MatcherSubject::Nothing => true,
            MatcherSubject::Field { values, .. } => values.iter().any(|value| self.matcher.matches(value)),
            MatcherSubject::ToolName => text.contains("mcp") || known_tools().any(|tool| self.matcher.matches(tool)),
        }
    }

    /// The hook's identity: its name, else its command.
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

    /// The command as written, for hooks that run one, at each event or for the session.
    pub fn command(&self) -> Option<&str> {
        self.action.command().map(|command| command.command.as_str())
    }

    /// What it does, for people: its command, or what a rule says. Nothing for hooks in code.
    pub fn summary(&self) -> Option<Cow<'_, str>> {
        match &self.action {
            Action::Command(command) => Some(Cow::Borrowed(&command.command)),
            Action::Worker(worker) => Some(Cow::Borrowed(worker.summary())),
            Action::Http(http) => Some(Cow::Owned(format!("POST {}", http.url))),
            Action::Rule(rule) => {
                let when = self.when_text().map(|when| format!(" when {when}")).unwrap_or_default();
                Some(Cow::Owned(format!("rule: {}{when}", rule.decision_word())))
            }
            Action::Function(_) => None,
        }
    }

    /// In whose words it is spoken to and answers.
    pub fn dialect(&self) -> Dialect {
        match &self.action {
            Action::Http(http) => http.dialect,
            other => other.command().map_or(Dialect::Gemini, |command| command.dialect),
        }
    }

    /// Variables of its own.
    pub fn env(&self) -> &[(String, String)] {
        self.action.command().map_or(&[], |command| &command.env)
    }

    /// Hooks with equal keys are one hook; one that runs on other calls is another. A hook in code equals no other.
    pub(crate) fn dedup_key(&self) -> Option<(Option<&str>, Cow<'_, str>, Option<String>)> {
        let deed = match &self.action {
            // A service may answer by what it is told beside the input.
            Action::Http(http) => Some(Cow::Owned(format!("{} {:?}", http.url, http.headers))),
            other => other.command().map(|command| Cow::Borrowed(command.command.as_str())),
        };
        deed.map(|deed| (self.name.as_deref(), deed, self.when_text()))
    }

    /// The type that it is written with.
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

/// What a hook runs.
#[derive(Clone, Debug)]
pub enum Action {
    /// A command, at every event.
    Command(CommandAction),
    /// A command that is started once and asked at every event.
    Worker(WorkerAction),
    /// A service that is asked over HTTP.
    Http(HttpAction),
    /// Nothing: the answer is written down.
    Rule(RuleAction),
    /// A function of the embedding program.
    Function(HookFunction),
}

impl Action {
    /// The command that it runs, at each event or for the session.
    pub fn command(&self) -> Option<&CommandAction> {
        match self {
            Action::Command(command) | Action::Worker(WorkerAction { command, .. }) => Some(command),
            Action::Http(_) | Action::Rule(_) | Action::Function(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn command_mut(&mut self) -> Option<&mut CommandAction> {
        match self {
            Action::Command(command) | Action::Worker(WorkerAction { command, .. }) => Some(command),
            Action::Http(_) | Action::Rule(_) | Action::Function(_) => None,
        }
    }
}

/// A process for a session, which is asked line by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerAction {
    /// What is started.
    pub command: CommandAction,
    /// The package whose handlers it runs, as written: a plugin's.
    pub package: Option<String>,
    /// How it is kept.
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
    /// Whether it is started with the session, rather than on first use.
    pub start_with_session: bool,
    /// How many requests it is sent before it has answered the first.
    pub concurrency: NonZeroU32,
    /// How long it may have nothing to do before it is ended.
    pub idle_timeout: Option<Duration>,
    /// The most memory that it may take, in bytes.
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

/// A service that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAction {
    /// Where it is asked.
    pub url: String,
    /// What it is sent beside the input: names, and values with their variables.
    pub headers: Vec<(String, Vec<HeaderPiece>)>,
    /// In whose words it is spoken to and answers.
    pub dialect: Dialect,
}

/// A part of a header's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderPiece {
    /// Words.
    Text(String),
    /// The value of a variable that it may have.
    Variable(String),
}

impl HeaderPiece {
    /// The variable's name, if it is one.
    pub fn variable(&self) -> Option<&str> {
        match self {
            HeaderPiece::Variable(name) => Some(name),
            HeaderPiece::Text(_) => None,
        }
    }
}

impl HttpAction {
    /// The headers in words.
    pub fn redacted_header_lines(&self) -> impl Iterator<Item = String> {
        self.redacted_headers().map(|(name, value)| format!("{name}: {value}"))
    }

    /// The headers for people to read. What is written down without a variable may be a secret all the same, and is not shown.
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

    /// The headers whose values are written down and not shown, by name.
    pub fn literal_headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().filter_map(|(name, pieces)| match pieces.as_slice() {
            [] => Some((name.as_str(), "")),
            [HeaderPiece::Text(text)] => Some((name.as_str(), text.as_str())),
            _ => None,
        })
    }
}

/// An answer that needs no process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleAction {
    /// What it says: deny or ask.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// Whether it is about what can't be told: `"certain": false`.
    pub(crate) matches_uncertain: bool,
}

impl RuleAction {
    /// `deny` or `ask`.
    pub fn decision_word(&self) -> &'static str {
        if self.decision == Decision::Ask { "ask" } else { "deny" }
    }
}

/// A command and what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandAction {
    /// The command as written.
    pub command: String,
    /// Variables of its own, over the session's.
    pub env: Vec<(String, String)>,
    /// In whose words it is spoken to and answers.
    pub dialect: Dialect,
    /// How it is started.
    pub(crate) invocation: Invocation,
}

type AnswerFuture = Pin<Box<dyn Future<Output = Result<Answer, String>> + Send>>;

/// A hook in code: gets the JSON that a command would get on stdin, and gives an answer or says why it failed.
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
