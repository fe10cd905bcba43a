//! The interface of a host dialect: it reads a native event into views of Hookwright's event types, and writes a
//! verdict as the host's answer.
//!
//! The dialects themselves are in `claude_family.rs`, `gemini.rs`, `cursor.rs`, `antigravity.rs`,
//! `opencode.rs` and `acp.rs`.

use std::path::PathBuf;

use hookwright_hooks::AnyEvent;
use serde_json::{Map, Value};

use crate::host::{Host, HostEventInfo};

/// Reads payloads and writes answers for one host, or for several that share a format.
pub trait HostDialect: Sync {
    /// Reads a native event.
    ///
    /// `expected_event` is the event's name that the installed entry was written for. It is used where the payload has
    /// none; a payload that names another event is an error.
    ///
    /// # Errors
    /// If the payload is no event of that host. The event can't be judged then, so a gate is answered with
    /// [`HostDialect::write_refusal`].
    fn parse_event(
        &self,
        host: Host,
        payload: Map<String, Value>,
        expected_event: Option<&str>,
    ) -> Result<HostEvent, PayloadError>;

    /// Writes the verdict as an answer that the host obeys; a ruling that the host has no form for becomes a stronger
    /// one.
    fn write_response(&self, host_event: &HostEvent, verdict: &HostVerdict) -> HostResponse;

    /// Writes the host's form of a denial for a payload of which at most the event is known.
    fn write_refusal(&self, host: Host, event: Option<&HostEventInfo>, reason: &str) -> HostResponse;
}

/// A native event, parsed and translated.
#[derive(Clone, Debug)]
pub struct HostEvent {
    /// The agent that sent the event.
    pub host: Host,
    /// The agent's version, if the payload has it.
    pub version: Option<String>,
    /// The event's name at the host.
    pub name: String,
    /// The event's row in the host table; `None` for an event that is not listed.
    pub info: Option<&'static HostEventInfo>,
    /// The tool call that the event is about, in the host's terms.
    pub tool: Option<NativeTool>,
    /// The session fields of the payload.
    pub session: HostSession,
    /// Ids that tie the event to the host's own records, such as `prompt_id`, `turn_id`, `generation_id` and
    /// `tool_use_id`.
    pub correlation_ids: Vec<(&'static str, String)>,
    /// The event in Hookwright's types: no view where Hookwright has no such event, several where one call does several
    /// things.
    pub views: Vec<EventView>,
}

/// The session fields of a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSession {
    /// The host's id of the session, empty if the payload has none.
    pub id: String,
    /// The file in which the host keeps the conversation.
    pub transcript_path: Option<PathBuf>,
    /// The agent's working directory; `None` if the payload has none.
    pub cwd: Option<PathBuf>,
    /// The project's folders, where the payload lists them.
    pub roots: Vec<PathBuf>,
    /// The id of the sub-agent's run, inside a sub-agent.
    pub agent_id: Option<String>,
    /// The kind of the sub-agent, inside a sub-agent.
    pub agent_name: Option<String>,
    /// The approval mode, under Hookwright's name where it has one.
    pub approval_mode: Option<String>,
}

/// A tool call in the host's terms.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeTool {
    /// The tool's name at the host.
    pub name: String,
    /// The arguments under the host's keys.
    pub input: Map<String, Value>,
    /// How far Hookwright recognises the tool.
    pub recognition: ToolRecognition,
    /// Why the arguments are not understood, if they are not.
    pub uncertainty: Option<String>,
}

/// How far Hookwright recognises a host's tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolRecognition {
    /// The tool corresponds to one of Hookwright's tools, or to an MCP tool whose server is known.
    Known,
    /// The tool has no counterpart and no effect on files or commands: it asks the user, plans, or keeps a list.
    Harmless,
    /// The tool belongs to an MCP server whose name the host does not give. A guard on MCP tools may not match it.
    UnknownServer,
    /// The tool is known and its arguments are not: they could be read in two ways, or one of them could be a path or a
    /// command that guards don't see. No guard can be relied on for this call.
    UnknownArguments,
    /// The tool is not known. A guard whose matcher does not cover it may miss what it does.
    Unknown,
}

impl ToolRecognition {
    /// Returns the recognition of this name.
    pub fn from_word(word: &str) -> Option<ToolRecognition> {
        use ToolRecognition::{Harmless, Known, Unknown, UnknownArguments, UnknownServer};
        [Known, Harmless, UnknownServer, UnknownArguments, Unknown].into_iter().find(|one| one.as_str() == word)
    }

    /// Returns the name that traces and reports use.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolRecognition::Known => "known",
            ToolRecognition::Harmless => "harmless",
            ToolRecognition::UnknownServer => "someservers",
            ToolRecognition::UnknownArguments => "unknown arguments",
            ToolRecognition::Unknown => "unknown",
        }
    }
}

/// One of Hookwright's events that a native event is translated to.
#[derive(Clone, Debug)]
pub struct EventView {
    /// The event that hooks receive.
    pub event: AnyEvent,
    /// How changed arguments of this view are written back to the host's call.
    pub write_back: ArgumentWriteBack,
    /// Whether this call was judged before and the host now asks for permission to run it.
    ///
    /// Guards run again, and only their denials count.
    pub is_recheck: bool,
}

/// How changed arguments are written back to the host's call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentWriteBack {
    /// The tool table translates them; the number is the view's index among the views of one call.
    View(usize),
    /// The host's call can't take them, for this reason.
    Impossible(&'static str),
}

/// Why a payload can't be read as an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// Stdin holds nothing but white space.
    #[error("there is no payload on stdin")]
    Empty,
    /// The payload is not a JSON object.
    #[error("the payload is not a JSON object: {0}")]
    NotJsonObject(String),
    /// The payload exceeds [`MAX_PAYLOAD_BYTES`](crate::payload::MAX_PAYLOAD_BYTES).
    #[error("the payload is larger than {} MiB", crate::payload::MAX_PAYLOAD_BYTES >> 20)]
    TooLarge,
    /// The agent has cut the call's arguments for the payload, and runs the call with all of them.
    #[error("the call is too large for this agent to show: only its beginning is in the payload")]
    Truncated,
    /// A required field is missing.
    #[error("the payload has no `{0}`")]
    Missing(&'static str),
    /// A field has the wrong JSON type.
    #[error("`{field}` of the payload is {found}, not {wanted}")]
    WrongType {
        /// The name of the field.
        field: &'static str,
        /// The type that the field should have.
        wanted: &'static str,
        /// The type that the field has.
        found: &'static str,
    },
    /// One field is there in two spellings with different values.
    #[error("`{0}` and `{1}` of the payload contradict each other")]
    ConflictingFields(&'static str, &'static str),
    /// The payload names another event than the installed entry.
    #[error("the payload says that it is {said}, but this entry is for {told}")]
    EventMismatch {
        /// The event that the payload names.
        said: String,
        /// The event that the entry was installed for.
        told: String,
    },
    /// The payload lacks a field that the event needs, or has a wrong one.
    #[error("the payload is not a valid {event}: {problem}")]
    Incomplete {
        /// The event's name.
        event: String,
        /// The deserialisation error.
        problem: String,
    },
}

/// The joint decision of all hooks about a native event, from weakest to strongest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ruling {
    /// No hook objects.
    #[default]
    Pass,
    /// The user decides.
    Ask,
    /// The event is denied: a call does not run, a finished answer is tried again, a result is hidden.
    Deny,
    /// The event is denied and the agent's loop ends.
    Stop,
}

impl Ruling {
    /// Returns the name that traces and reports use.
    pub fn as_str(self) -> &'static str {
        match self {
            Ruling::Pass => "pass",
            Ruling::Ask => "ask",
            Ruling::Deny => "deny",
            Ruling::Stop => "stop",
        }
    }
}

/// The decision to write as the host's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostVerdict {
    /// The joint decision of all hooks.
    pub ruling: Ruling,
    /// The reason; [`reason_or_default`](Self::reason_or_default) covers an empty one.
    pub reason: String,
    /// The rules that approve the call in the user's place, if every view of it is approved.
    pub approved_by: Vec<String>,
    /// Context to add for the model.
    pub context: Option<String>,
    /// A message to the user.
    pub message: Option<String>,
    /// The complete arguments under the host's keys, as hooks changed them.
    pub input: Option<Map<String, Value>>,
    /// The merged answer in Hookwright's own format, for a host that reads it.
    pub engine_answer: Map<String, Value>,
    /// The parts of hooks' answers that the host has no capability for, found before the answer is written.
    pub downgrades: Vec<VerdictDowngrade>,
}

impl HostVerdict {
    /// Creates a denial with this reason.
    pub fn deny(reason: impl Into<String>) -> HostVerdict {
        HostVerdict { ruling: Ruling::Deny, reason: reason.into(), ..HostVerdict::default() }
    }

    /// Returns the reason, or a stock text if it is empty, because some hosts ignore a denial without a reason.
    pub fn reason_or_default(&self) -> &str {
        if self.reason.trim().is_empty() { "a hook denied this without a reason" } else { &self.reason }
    }
}

/// A part of a verdict that the host has no form for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerdictDowngrade {
    /// The effect that hooks asked for.
    pub requested: &'static str,
    /// The effect that the host's answer has instead.
    pub applied: &'static str,
}

/// The host's answer: the process's output and exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostResponse {
    /// The text for stdout.
    pub stdout: String,
    /// The text for stderr.
    pub stderr: String,
    /// The exit code of the bridge process.
    pub exit_code: u8,
    /// The parts of the verdict that the answer does not express.
    pub downgrades: Vec<VerdictDowngrade>,
}
