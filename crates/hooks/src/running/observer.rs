//! The interface for observers: every run is reported when it starts and when it ends, for panels, telemetry and
//! traces.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::answers::merge::MergedAnswer;
use crate::answers::outcome::HookMessage;
use crate::answers::{Answer, CapturedStream, Decision, FailureCause, HookExit};
use crate::effects::PathResolver;
use crate::event::input::{HookInput, Session};
use crate::event::{EventKind, MatcherSubject};
use crate::guards::UnarmedGuard;
use crate::hook::{Hook, Source};
use crate::matching::effect_filter::MatchReason;

/// Receives a report of every hook run.
///
/// The methods are called on the engine's tasks: they must be quick and never block.
pub trait Observer: Send + Sync {
    /// Called before a hook runs.
    fn run_started(&self, _run: &RunStart<'_>) {}
    /// Called after a hook has ended and its answer has been parsed.
    fn run_finished(&self, _run: &RunReport, _input: &HookInput) {}
    /// Called after all hooks of an event that ran have ended and their answers have been merged; for a background hook,
    /// after it has ended. Also called for an event about which a guard should have been asked that is not armed.
    fn event_finished(&self, _event: &EventReport<'_>) {}
    /// Called with the messages of a background hook and the warnings about it.
    fn background_output(&self, _event: EventKind, _messages: &[HookMessage], _warnings: &[HookMessage]) {}
}

/// The number of a fired event, counted over the lifetime of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub struct EventId(pub(crate) u64);

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// The identity of a run: the event that it belongs to, and its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId {
    /// The event that the run belongs to.
    pub event: EventId,
    /// The position within the event, counted from 1.
    pub position: usize,
}

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.event, self.position)
    }
}

impl Serialize for RunId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The context of a run, which is the same in every report, log and trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunContext {
    /// The id of the turn, for events within one.
    pub turn_id: Option<Arc<str>>,
    /// The sub-agent in which the event happens; `None` for the main agent.
    pub agent: Option<Arc<SubAgent>>,
    /// The id of the tool call, for tool events.
    pub tool_use_id: Option<Arc<str>>,
    /// The agent that calls the bridge, if the event comes from another agent.
    pub host: Option<Arc<AgentHost>>,
    /// The approval mode: `default`, `auto_edit`, `plan`, `yolo`, or another agent's own name.
    pub approval_mode: Option<Cow<'static, str>>,
    /// Resolves the paths of the tool call, for callers that resolve them once.
    pub path_resolver: PathResolver,
    /// Whether the caller knows that the tool has no effects.
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

/// An agent to which another agent has delegated an objective.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubAgent {
    /// The name in its definition: `agent_name`.
    pub name: String,
    /// The id of this run of the agent: `agent_id`.
    pub id: String,
    /// The path of its own transcript: `agent_transcript_path`.
    pub transcript_path: PathBuf,
}

/// An event whose hooks have ended.
#[derive(Clone, Copy, Debug)]
pub struct EventReport<'a> {
    /// The context of the event.
    pub context: &'a RunContext,
    /// The session that the event belongs to.
    pub session: &'a Session,
    /// The event that was fired.
    pub kind: EventKind,
    /// The subject that matchers were tested against.
    pub subject: Option<&'a str>,
    /// The input of the hooks, as the event was fired; empty if a hook withholds it.
    pub input: &'a HookInput,
    /// Whether a hook withholds the content from all records.
    pub is_withheld: bool,
    /// Whether the hooks ran one after another.
    pub sequential: bool,
    /// The runs, in plan order. There is none if only guards that are not armed would have been asked.
    pub runs: &'a [RunReport],
    /// The guards that should have been asked and are not armed.
    pub unarmed: &'a [UnarmedGuard],
    /// The merged answer.
    pub merged: &'a MergedAnswer,
    /// The time from the start of the event to the merged answer.
    pub duration: Duration,
}

impl EventReport<'_> {
    /// The verdict, unless no hook decided and no guard was asked.
    pub fn verdict(&self) -> Option<VerdictReport> {
        let (answer, first) = (&self.merged.answer, self.runs.first()?);
        let guards = self.runs.iter().filter(|run| run.is_guard()).count();
        if answer.decision.is_none() && !answer.stop && guards == 0 {
            return None;
        }
        let reason = if answer.stop { answer.stop_reason.as_ref() } else { answer.reason.as_ref() };
        let decided_by = &self.merged.decided_by;
        let is_about_tool = self.kind.info().subject == MatcherSubject::ToolName;
        Some(VerdictReport {
            id: first.id.event,
            context: first.context.clone(),
            event: first.event,
            tool: self.subject.filter(|_| is_about_tool).map(str::to_owned),
            decision: answer.decision.unwrap_or(Decision::Allow),
            stop: answer.stop,
            decided_by: decided_by.clone(),
            decided_by_guard: self.runs.iter().any(|run| run.is_guard() && decided_by.contains(&run.hook)),
            reason: reason.filter(|_| !answer.suppress_output).cloned(),
            guards,
        })
    }
}

/// A hook that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct RunStart<'a> {
    /// The identity of the run.
    pub id: RunId,
    /// The context of the run.
    pub context: &'a RunContext,
    /// The event that was fired.
    pub event: EventKind,
    /// The name of the hook.
    pub hook: &'a str,
    /// The source of the hook.
    pub source: &'a Source,
    /// The number of hooks in the plan.
    pub total: usize,
}

/// The report of one hook's run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The identity of the run.
    pub id: RunId,
    /// The context of the run.
    pub context: RunContext,
    /// The event that was fired.
    pub event: EventKind,
    /// The name of the hook.
    pub hook: String,
    /// The type of the hook in settings: `command`, `worker`, …
    pub hook_type: &'static str,
    /// The source of the hook.
    pub source: Source,
    /// The hook as it is declared.
    pub declaration: Arc<Hook>,
    /// Why the hook ran.
    pub match_reason: MatchReason,
    /// The answer of a hook in shadow, which has no effect; `answer` is empty then.
    pub shadow_answer: Option<Box<Answer>>,
    /// The number of hooks in the plan.
    pub total: usize,
    /// Whether the hook ran in the background, so that it decides nothing.
    pub in_background: bool,
    /// How the run ended.
    pub status: RunStatus,
    /// The exit code, or the one that a shell would have reported.
    pub exit_code: Option<i32>,
    /// The signal that ended the process.
    pub signal: Option<i32>,
    /// The time from start to end.
    pub duration: Duration,
    /// The length of the input in bytes.
    pub input_bytes: usize,
    /// The captured stdout.
    pub stdout: CapturedStream,
    /// The captured stderr.
    pub stderr: CapturedStream,
    /// The answer, after the failure policy.
    pub answer: Answer,
    /// The description of the failure, if there was one.
    pub error: Option<String>,
    /// The cause of the failure, if the run counts as failed.
    pub failure: Option<FailureCause>,
    /// Whether the hook left processes running in its process group.
    pub has_survivors: bool,
}

impl RunReport {
    /// Whether the hook exited with 0 or 2.
    pub fn succeeded(&self) -> bool {
        matches!(self.status, RunStatus::Ok | RunStatus::Blocked)
    }

    /// Whether the hook is a guard.
    pub fn is_guard(&self) -> bool {
        self.declaration.is_guard()
    }

    /// The decision of the answer.
    pub fn decision(&self) -> Option<Decision> {
        self.answer.decision
    }

    /// Whether output was dropped.
    pub fn is_truncated(&self) -> bool {
        self.stdout.truncated || self.stderr.truncated
    }
}

/// The report for programs that follow a session: what ran, how it ended and what it decided, without its texts.
impl Serialize for RunReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.hook)?;
        map.serialize_entry("event", &self.event)?;
        map.serialize_entry("event_id", &self.id.event.to_string())?;
        map.serialize_entry("run_id", &self.id)?;
        map.serialize_entry("turn_id", &self.context.turn_id.as_deref())?;
        map.serialize_entry("tool_use_id", &self.context.tool_use_id.as_deref())?;
        map.serialize_entry("source", &self.source)?;
        map.serialize_entry(
            "decision",
            &if self.answer.stop { Some("stop") } else { self.decision().map(Decision::as_str) },
        )?;
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("exit_code", &self.exit_code)?;
        map.serialize_entry("duration_ms", &((self.duration.as_secs_f64() * 1e6).round() / 1e3))?;
        map.serialize_entry("error", &self.error)?;
        serialize_subagent(&mut map, &self.context)?;
        map.end()
    }
}

/// Serialises the sub-agent in which an event happens, if it happens in one.
fn serialize_subagent<M: SerializeMap>(map: &mut M, context: &RunContext) -> Result<(), M::Error> {
    let Some(agent) = &context.agent else { return Ok(()) };
    map.serialize_entry("agent_name", &agent.name)?;
    map.serialize_entry("agent_id", &agent.id)
}

/// The merged verdict of an event's hooks.
#[derive(Clone, Debug)]
pub struct VerdictReport {
    /// The event that was fired.
    pub id: EventId,
    /// The context of the event's runs.
    pub context: RunContext,
    /// The kind of the event.
    pub event: EventKind,
    /// The tool of the call, for tool events.
    pub tool: Option<String>,
    /// The strongest decision; allow where no hook objects.
    pub decision: Decision,
    /// Whether a hook ends the agent loop, which is stronger than any decision.
    pub stop: bool,
    /// The names of the hooks that stopped, denied, asked or confined.
    pub decided_by: Vec<String>,
    /// Whether one of these hooks is a guard.
    pub decided_by_guard: bool,
    /// The reason; `None` where a hook keeps the content of the event out of records.
    pub reason: Option<String>,
    /// The number of guards that were asked.
    pub guards: usize,
}

/// The verdict for programs that follow a session.
impl Serialize for VerdictReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("event", &self.event)?;
        map.serialize_entry("event_id", &self.id.to_string())?;
        map.serialize_entry("turn_id", &self.context.turn_id.as_deref())?;
        map.serialize_entry("tool_use_id", &self.context.tool_use_id.as_deref())?;
        map.serialize_entry("tool", &self.tool)?;
        map.serialize_entry("verdict", self.as_str())?;
        map.serialize_entry("decided_by", &self.decided_by)?;
        map.serialize_entry("reason", &self.reason)?;
        map.serialize_entry("guards", &self.guards)?;
        serialize_subagent(&mut map, &self.context)?;
        map.end()
    }
}

impl VerdictReport {
    /// The name of the verdict: `stop`, `deny`, `ask`, `confine` or `allow`.
    pub fn as_str(&self) -> &'static str {
        if self.stop { "stop" } else { self.decision.as_str() }
    }
}

/// How a run ended, as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The hook exited with 0.
    Ok,
    /// The hook exited with 2.
    Blocked,
    /// The hook exited with another code.
    Failed,
    /// A signal ended the hook.
    Signaled,
    /// The hook exceeded its timeout.
    TimedOut,
    /// The event was cancelled.
    Cancelled,
    /// The hook could not be started.
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

    /// The name of the status in JSON.
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
