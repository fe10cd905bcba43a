//! What every dialect does: a native event in, views of it in our own types out; a verdict in, the host's answer out.
//!
//! The types are here; how each host speaks is `claude_family.rs`, `gemini.rs`, `cursor.rs` and `antigravity.rs`.

use std::path::PathBuf;

use hookwright_hooks::AnyEvent;
use serde_json::{Map, Value};

use crate::host::{Host, HostEventInfo};

/// One way of speaking, for one host or several that are close.
pub trait HostDialect: Sync {
    /// Reads a native event. `told` is the event's name where whoever installed the entry said it: it counts where the payload
    /// has none, and a payload that says another is misheard.
    ///
    /// # Errors
    /// If this is no event of that host. Nothing can be judged then, so whoever could be guarded is answered with
    /// [`HostDialect::write_refusal`].
    fn parse_event(
        &self,
        host: Host,
        payload: Map<String, Value>,
        told: Option<&str>,
    ) -> Result<HostEvent, PayloadError>;

    /// Writes what was decided in the words that the host obeys, lowered towards no where it obeys none.
    fn write_response(&self, heard: &HostEvent, verdict: &HostVerdict) -> HostResponse;

    /// The host's form of no where nothing is known but, perhaps, the event.
    fn write_refusal(&self, host: Host, event: Option<&HostEventInfo>, words: &str) -> HostResponse;
}

/// A native event, understood.
#[derive(Clone, Debug)]
pub struct HostEvent {
    /// Whose it is.
    pub host: Host,
    /// That agent's version, if it says.
    pub version: Option<String>,
    /// The event's name there.
    pub name: String,
    /// Its row of the table; nothing for one that is not in it.
    pub info: Option<&'static HostEventInfo>,
    /// The tool that it is about, in the host's own words.
    pub tool: Option<NativeTool>,
    /// The session.
    pub session: HostSession,
    /// What this event has in common with the host's own records: `prompt_id`, `turn_id`, `generation_id`, `tool_use_id`.
    pub correlation_ids: Vec<(&'static str, String)>,
    /// The event in our words: none where it is no moment of ours, several where one call does several things.
    pub views: Vec<EventView>,
}

/// What a payload says about the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSession {
    /// Its id.
    pub id: String,
    /// Where the conversation is kept.
    pub transcript_path: Option<PathBuf>,
    /// Where the agent works; nothing if it does not say.
    pub cwd: Option<PathBuf>,
    /// The project's folders, where it says more than the directory.
    pub roots: Vec<PathBuf>,
    /// Inside a sub-agent: which run of it this is.
    pub agent_id: Option<String>,
    /// Inside a sub-agent: what kind it is.
    pub agent_name: Option<String>,
    /// What the agent may do unasked, in our words where there are any.
    pub approval_mode: Option<String>,
}

/// A call in the host's own words.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeTool {
    /// Its name there.
    pub name: String,
    /// Its arguments there.
    pub input: Map<String, Value>,
    /// What is known of it.
    pub recognition: ToolRecognition,
    /// Why its arguments are not understood, if they are not.
    pub uncertainty: Option<String>,
}

/// What is known of a host's tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolRecognition {
    /// It stands for a tool of ours, or for one of an MCP server.
    Known,
    /// It has no counterpart and harms nothing: it asks the user, plans, or keeps a list.
    Harmless,
    /// A tool of an MCP server, and which server's is not said: a guard on MCP tools may be blind to it.
    UnknownServer,
    /// The tool is known and its arguments are not: they could be read in two ways, or one of them could be a path or a
    /// command that no guard sees. Every guard may be blind to it.
    UnknownArguments,
    /// It is not known what the tool does: a guard that does not match it may be blind to it.
    Unknown,
}

impl ToolRecognition {
    /// The word for it.
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

/// One of our events that a native event comes to.
#[derive(Clone, Debug)]
pub struct EventView {
    /// The event.
    pub event: AnyEvent,
    /// How a change of its arguments becomes one of the host's.
    pub write_back: ArgumentWriteBack,
    /// Whether it was judged before, as the call that it is: the host asks once more whether it may run. Guards are asked
    /// again, and of what they say only a no counts.
    pub is_recheck: bool,
}

/// How changed arguments go back to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentWriteBack {
    /// By the table of tools; the view is the one at this place.
    View(usize),
    /// Not at all, because of this.
    Impossible(&'static str),
}

/// Why a payload is no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// There is nothing.
    #[error("there is no payload on stdin")]
    Empty,
    /// It is no JSON object.
    #[error("the payload is no JSON object: {0}")]
    NotJsonObject(String),
    /// It is larger than anything that is read.
    #[error("the payload is larger than {} MiB", crate::payload::MAX_PAYLOAD_BYTES >> 20)]
    TooLarge,
    /// The agent has left out a part of the call, which is there when it runs.
    #[error("the call is too large for this agent to show: only its beginning is in the payload")]
    Truncated,
    /// A field is not there.
    #[error("the payload has no `{0}`")]
    Missing(&'static str),
    /// A field holds something else than it should.
    #[error("`{field}` of the payload is {found}, not {wanted}")]
    WrongType {
        /// The field.
        field: &'static str,
        /// What it should be.
        wanted: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// One field is there in two spellings that do not say the same.
    #[error("`{0}` and `{1}` of the payload do not say the same")]
    ConflictingFields(&'static str, &'static str),
    /// It is another event than the one it was installed for.
    #[error("the payload says that it is {said}, and this entry is for {told}")]
    EventMismatch {
        /// What the payload says.
        said: String,
        /// What the entry is for.
        told: String,
    },
    /// It looks like one of our events and does not hold what that needs.
    #[error("the payload is no {event}: {problem}")]
    Incomplete {
        /// The event.
        event: String,
        /// What is wrong.
        problem: String,
    },
}

/// What hooks decided about a native event, all views together, from weakest to strongest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ruling {
    /// No objection.
    #[default]
    Pass,
    /// The user decides.
    Ask,
    /// No; for a finished answer, another try; for a result, that it is hidden.
    Deny,
    /// No, and the agent's loop ends.
    Stop,
}

impl Ruling {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Ruling::Pass => "pass",
            Ruling::Ask => "ask",
            Ruling::Deny => "deny",
            Ruling::Stop => "stop",
        }
    }
}

/// What is to be said to the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostVerdict {
    /// What was decided.
    pub ruling: Ruling,
    /// Why; never empty but for [`Ruling::Pass`].
    pub reason: String,
    /// Words for the model.
    pub context: Option<String>,
    /// Words for the user.
    pub message: Option<String>,
    /// The host's own arguments, whole, as hooks changed them.
    pub input: Option<Map<String, Value>>,
    /// The answer in our own vocabulary, for a host that speaks it.
    pub engine_answer: Map<String, Value>,
    /// What could not be kept before a word was written.
    pub downgrades: Vec<VerdictDowngrade>,
}

impl HostVerdict {
    /// A no, and why.
    pub fn deny(reason: impl Into<String>) -> HostVerdict {
        HostVerdict { ruling: Ruling::Deny, reason: reason.into(), ..HostVerdict::default() }
    }

    /// Why, in words: there are hosts that take a no without any for no no.
    pub fn reason_or_default(&self) -> &str {
        if self.reason.trim().is_empty() { "a hook said no and gave no reason" } else { &self.reason }
    }
}

/// Something of a verdict that the host can't be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerdictDowngrade {
    /// What hooks wanted.
    pub requested: &'static str,
    /// What it became.
    pub applied: &'static str,
}

/// The host's answer: what to print, and how to exit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostResponse {
    /// For stdout.
    pub stdout: String,
    /// For stderr.
    pub stderr: String,
    /// The exit code.
    pub exit_code: u8,
    /// What was lost on the way.
    pub downgrades: Vec<VerdictDowngrade>,
}
