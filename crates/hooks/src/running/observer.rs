//! Who wants to know: every run is reported as it starts and as it ends, for panels, telemetry and traces.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::answers::outcome::HookMessage;
use crate::answers::{Answer, CapturedStream, Decision, HookExit};
use crate::effects::PathResolver;
use crate::event::EventKind;
use crate::event::input::HookInput;
use crate::hook::Source;

/// Hears of every hook run. Called on the engine's tasks: be quick, and never block.
pub trait Observer: Send + Sync {
    /// A hook is about to run.
    fn run_started(&self, _run: &RunStart<'_>) {}
    /// A hook has ended and its answer has been read.
    fn run_finished(&self, _run: &RunReport, _input: &HookInput) {}
    /// A hook that ran beside its event has something to say: messages, and warnings about it.
    fn background_output(&self, _event: EventKind, _messages: &[HookMessage], _warnings: &[HookMessage]) {}
}

/// Which firing of an event this is: counted through the life of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub struct EventId(pub(crate) u64);

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Which run this is: the firing it belongs to, and its place in the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId {
    /// The firing.
    pub event: EventId,
    /// Its place in the plan, from 1.
    pub position: usize,
}

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.event, self.position)
    }
}

/// What a run belongs to: the same in every report, log and trace, so that nobody has to guess.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunContext {
    /// The turn.
    pub turn_id: Option<Arc<str>>,
    /// The sub-agent at whose work it happens; nothing for the agent that the user talks to.
    pub agent: Option<Arc<SubAgent>>,
    /// The tool call, for tool events.
    pub tool_use_id: Option<Arc<str>>,
    /// The agent that it happens in, if that is another one.
    pub host: Option<Arc<AgentHost>>,
    /// What the agent may do unasked: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own word.
    pub approval_mode: Option<Cow<'static, str>>,
    /// Where the paths of the tool call lead, for callers that resolve them once.
    pub path_resolver: PathResolver,
    /// Whether the tool is known to touch nothing, in words that only the caller knows.
    pub has_no_effects: bool,
}

/// Another agent, whose event it really is.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentHost {
    /// Its name, as `hookwright bridge` takes it.
    pub name: String,
    /// Its version, if it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The event's name there.
    pub event: String,
    /// The tool's name there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The tool's arguments there, whole and in that agent's own spelling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_input: Option<serde_json::Map<String, serde_json::Value>>,
}

/// An agent that another one has given an objective to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubAgent {
    /// `agent_name`: how its definition calls it.
    pub name: String,
    /// `agent_id`: which run of it this is.
    pub id: String,
    /// `agent_transcript_path`: its own conversation.
    pub transcript_path: PathBuf,
}

/// A hook that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct RunStart<'a> {
    /// Which run this is.
    pub id: RunId,
    /// What it belongs to.
    pub context: &'a RunContext,
    /// The event.
    pub event: EventKind,
    /// The hook's name.
    pub hook: &'a str,
    /// Where it was declared.
    pub source: &'a Source,
    /// How many hooks the plan has.
    pub total: usize,
}

/// How one hook ran.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Which run this is.
    pub id: RunId,
    /// What it belongs to.
    pub context: RunContext,
    /// The event.
    pub event: EventKind,
    /// The hook's name.
    pub hook: String,
    /// The type that it is written with: `command`, `worker`, …
    pub hook_type: &'static str,
    /// Where it was declared.
    pub source: Source,
    /// How many hooks the plan has.
    pub total: usize,
    /// Whether it ran beside its event, so that it decides nothing.
    pub in_background: bool,
    /// How it ended.
    pub status: RunStatus,
    /// Its exit code, or the one a shell would have reported.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// From start to end.
    pub duration: Duration,
    /// How much input it was given.
    pub input_bytes: usize,
    /// What it printed.
    pub stdout: CapturedStream,
    /// What it complained.
    pub stderr: CapturedStream,
    /// Its answer, after the failure policy.
    pub answer: Answer,
    /// What went wrong, if anything did.
    pub error: Option<String>,
    /// Whether it left processes behind in its group.
    pub has_survivors: bool,
}

impl RunReport {
    /// Whether the hook did what hooks should: ran, and said something that can be understood.
    pub fn succeeded(&self) -> bool {
        matches!(self.status, RunStatus::Ok | RunStatus::Blocked)
    }

    /// What it decided.
    pub fn decision(&self) -> Option<Decision> {
        self.answer.decision
    }

    /// Whether any of its output was dropped.
    pub fn is_truncated(&self) -> bool {
        self.stdout.truncated || self.stderr.truncated
    }
}

/// How a run ended, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It exited with 0.
    Ok,
    /// It exited with 2.
    Blocked,
    /// It exited with another code.
    Failed,
    /// A signal ended it.
    Signaled,
    /// It ran too long.
    TimedOut,
    /// What it ran for was cancelled.
    Cancelled,
    /// It could not start.
    NotStarted,
}

impl RunStatus {
    pub(crate) fn from_exit(end: &HookExit) -> Self {
        match end {
            HookExit::Exited(0) => RunStatus::Ok,
            HookExit::Exited(2) => RunStatus::Blocked,
            HookExit::Exited(_) | HookExit::Failed(_) => RunStatus::Failed,
            HookExit::Signaled(_) => RunStatus::Signaled,
            HookExit::TimedOut(_) => RunStatus::TimedOut,
            HookExit::Cancelled => RunStatus::Cancelled,
            HookExit::NotStarted { .. } | HookExit::OutOfResources(_) => RunStatus::NotStarted,
        }
    }

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            RunStatus::Ok => "ok",
            RunStatus::Blocked => "blocked",
            RunStatus::Failed => "failed",
            RunStatus::Signaled => "signaled",
            RunStatus::TimedOut => "timed_out",
            RunStatus::Cancelled => "cancelled",
            RunStatus::NotStarted => "not_started",
        }
    }
}
