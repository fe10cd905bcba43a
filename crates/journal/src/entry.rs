//! What a line of the journal says: an event with the answers of its hooks, what became of a call, or a fact about the
//! journal itself.

use std::collections::BTreeMap;

use hookwright_hooks::EventKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A line as it is stored, without its chain fields.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// An event, and what hooks answered.
    Event(Box<EventEntry>),
    /// What became of a tool call.
    Call(CallEntry),
    /// A request to the model.
    Request(RequestEntry),
    /// A confined command was kept from what its analysis was sure that it does not do. The content names the command.
    Misprediction {
        /// The project's directory.
        project: String,
        /// What was refused.
        refused: Vec<String>,
    },
    /// The first line of a journal.
    Start {
        /// The version of the program.
        version: String,
    },
    /// The segment before this line is complete.
    Seal {
        /// The number of the complete segment.
        segment: u64,
        /// The number of its lines.
        lines: u64,
        /// The Merkle root of their digests.
        root: String,
    },
    /// The writer found lines missing before this one, or bytes that are no line.
    Gap {
        /// What was found.
        problem: String,
    },
    /// The user removed the content of lines.
    Forgot {
        /// What the user asked for.
        what: String,
        /// The first and last numbers of each run of lines.
        lines: Vec<(u64, u64)>,
    },
    /// Old segments were removed, because of their age or the size of the journal.
    Dropped {
        /// The first and the last number of the removed segments.
        segments: (u64, u64),
        /// The number of the last removed line.
        last_line: u64,
    },
}

/// A line as it is read.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct JournalLine {
    /// The number of the line, by which users name it.
    pub seq: u64,
    /// The digest of the line before.
    pub prev: String,
    /// The time of writing, in UTC with milliseconds.
    pub time: String,
    /// What the line says.
    #[serde(flatten)]
    pub entry: Entry,
    /// The digest of the content, also where the content has been forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_digest: Option<String>,
    /// Arguments, output and reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
}

impl JournalLine {
    /// The event of the line, if it is about one.
    pub fn event(&self) -> Option<&EventEntry> {
        match &self.entry {
            Entry::Event(event) => Some(event),
            _ => None,
        }
    }
}

/// The merged decision of an event's hooks, weakest first.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No hook objected.
    #[default]
    Pass,
    /// A rule approved the call.
    Allow,
    /// The call runs confined.
    Confine,
    /// The user is asked.
    Ask,
    /// The event is denied.
    Deny,
    /// The agent is stopped.
    Stop,
}

impl Verdict {
    /// All verdicts, weakest first.
    pub const ALL: [Verdict; 6] =
        [Verdict::Pass, Verdict::Allow, Verdict::Confine, Verdict::Ask, Verdict::Deny, Verdict::Stop];

    /// The verdict as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Allow => "allow",
            Verdict::Confine => "confine",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
            Verdict::Stop => "stop",
        }
    }

    /// The verdict of this word.
    pub fn from_word(word: &str) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }
}

/// An event, and what hooks answered.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(default)]
pub struct EventEntry {
    /// The agent whose event it is: `hookwright`, or another agent's name.
    pub agent: String,
    /// The version of that agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The project's directory.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// The session's id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub session: String,
    /// The turn's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The tool call's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The sub-agent in which it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// Other ids that the agent gave.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ids: BTreeMap<String, String>,
    /// The event, by our name for it; empty for an event that is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub event: String,
    /// The event's name in the other agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_event: Option<String>,
    /// The tool's canonical name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The tool's name in the other agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_tool: Option<String>,
    /// How well the other agent's tool is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// What is not understood about the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// The merged decision.
    pub verdict: Verdict,
    /// The hooks that made it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decided_by: Vec<String>,
    /// The hooks that ran, in plan order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookEntry>,
    /// Whether the event's hooks ran one after another.
    #[serde(skip_serializing_if = "is_false")]
    pub sequential: bool,
    /// The number of the part, for a call that hooks see in several; the first one is 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub part: u32,
    /// What the other agent was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<HostAnswer>,
    /// What that agent could not honour.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Loss>,
    /// What hooks can do at this event of that agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub can_enforce: Vec<String>,
    /// The limits that the call runs under.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confined: Vec<String>,
    /// Hooks that did not run because the folder is not trusted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Guards that should have been asked and are not armed, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unarmed: Vec<String>,
    /// Why the bridge refused the event itself, without the answer of a hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<BridgeRefusal>,
    /// The agent whose own entry evaluates the event in this one's place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stood_down_for: Option<String>,
    /// The time from the event's start to the verdict, in milliseconds.
    pub ms: f64,
    /// Why there is no content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
}

impl EventEntry {
    /// Whether it is an event of this kind.
    pub fn is_kind(&self, kind: EventKind) -> bool {
        self.event == kind.name()
    }
}

/// Why the bridge refused an event itself, without the answer of a hook.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum BridgeRefusal {
    /// A guard does not know the tool.
    UnknownTool,
    /// A guard can't judge the arguments of the tool.
    UnknownArguments,
    /// The agent's event is not known.
    UnknownEvent,
    /// What the agent sent can't be read.
    UnreadablePayload,
    /// A guard is not armed.
    GuardNotArmed,
    /// Settings that may hold guards can't be read.
    BrokenSettings,
    /// The evaluation did not end before the agent stops waiting.
    OutOfTime,
    /// The program or the machine failed.
    Failure,
    /// A cause that this version does not know.
    #[serde(other)]
    Other,
}

impl BridgeRefusal {
    /// The cause in plain words.
    pub fn description(self) -> &'static str {
        match self {
            BridgeRefusal::UnknownTool => "a guard does not know the tool",
            BridgeRefusal::UnknownArguments => "a guard can't judge the tool's arguments",
            BridgeRefusal::UnknownEvent => "the agent's event is not known",
            BridgeRefusal::UnreadablePayload => "what the agent sent can't be read",
            BridgeRefusal::GuardNotArmed => "a guard is not armed",
            BridgeRefusal::BrokenSettings => "settings that may hold guards can't be read",
            BridgeRefusal::OutOfTime => "hooks did not end before the agent stops waiting",
            BridgeRefusal::Failure => "no hook could be run",
            BridgeRefusal::Other => "for a reason that this version does not know",
        }
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// One hook's run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(default)]
pub struct HookEntry {
    /// The hook's name, or its command.
    pub hook: String,
    /// The settings layer that declares it.
    pub source: String,
    /// `command`, `rule`, `worker`, …
    #[serde(rename = "type")]
    pub hook_type: String,
    /// A digest of its declaration.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// Whether it is a guard.
    #[serde(skip_serializing_if = "is_false")]
    pub guard: bool,
    /// `shadow` for a hook that decides nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Whether the event did not wait for it.
    #[serde(skip_serializing_if = "is_false")]
    pub background: bool,
    /// How the run ended: `ok`, `blocked`, `failed`, …
    pub status: String,
    /// The cause of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The exit code of its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Its decision; none if it did not object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// Why it ran: the effect that its `when` matched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<String>,
    /// The time that it took, in milliseconds.
    pub ms: f64,
}

/// What another agent was told.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(default)]
pub struct HostAnswer {
    /// The verdict in its own form.
    pub verdict: String,
    /// The exit code of the bridge.
    pub exit: u8,
}

/// An answer that another agent cannot honour.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Loss {
    /// What hooks wanted.
    pub wanted: String,
    /// What it became.
    pub became: String,
}

/// What became of a tool call.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(default)]
pub struct CallEntry {
    /// The agent that made the call.
    pub agent: String,
    /// The project's directory.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub project: String,
    /// The session's id.
    pub session: String,
    /// The turn's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The call's id.
    pub call: String,
    /// The tool's canonical name.
    pub tool: String,
    /// What became of it.
    pub result: CallResult,
    /// Who refused it: `hook`, `policy`, `user`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_by: Option<String>,
    /// What a policy rule or a list of tools decided about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyEntry>,
    /// The exit code of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The time that the tool took, in milliseconds.
    pub ms: f64,
}

/// The decision of a policy rule, or of a list of tools in the settings, about a call.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub struct PolicyEntry {
    /// `allow`, `ask` or `deny`.
    pub verdict: Verdict,
    /// The rule with its tier and priority, or the list.
    pub by: String,
    /// The file of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum CallResult {
    /// The tool ran without an error.
    #[default]
    Ran,
    /// The tool ran and reported an error.
    Failed,
    /// The tool did not run.
    Refused,
    /// The user cancelled it.
    Cancelled,
}

impl CallResult {
    /// The result as a word.
    pub fn as_str(self) -> &'static str {
        match self {
            CallResult::Ran => "ran",
            CallResult::Failed => "failed",
            CallResult::Refused => "refused",
            CallResult::Cancelled => "cancelled",
        }
    }
}

/// A request to the model.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
#[serde(default)]
pub struct RequestEntry {
    /// The agent that made the request.
    pub agent: String,
    /// The session's id.
    pub session: String,
    /// The turn's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The model's name.
    pub model: String,
    /// The time until the answer was complete, in milliseconds.
    pub ms: f64,
    /// The tokens of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_in: Option<u64>,
    /// The tokens of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_out: Option<u64>,
    /// Whether the request failed.
    #[serde(skip_serializing_if = "is_false")]
    pub failed: bool,
}
