//! The events of a tool call.

use std::time::Duration;

use hookwright_tools::{CommandEnd, ToolDisplay, ToolErrorKind, ToolKind};
use serde::Serialize;
use serde_json::{Map, Value};

/// An event of a tool call.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEvent {
    /// The model requested a tool call.
    Requested {
        /// The identifier of the call.
        call_id: String,
        /// The name of the requested tool.
        name: String,
        /// The arguments, as the model gave them.
        args: Map<String, Value>,
    },
    /// Hooks and approval let a tool call run.
    Started(ToolStart),
    /// A running tool printed text.
    ///
    /// When a tool prints faster than the front end reads, only the end of the text is kept.
    Output {
        /// The identifier of the call that printed the text.
        call_id: String,
        /// The text that was printed.
        text: String,
    },
    /// A tool call has ended, whether it ran or not.
    Finished(Box<ToolEnd>),
}

/// A tool call that is about to run.
#[derive(Clone, Debug, Serialize)]
pub struct ToolStart {
    /// The identifier of the call.
    pub call_id: String,
    /// The tool's canonical name.
    pub name: String,
    /// The kind of tool, which says how it affects files and processes.
    pub kind: ToolKind,
    /// The arguments that the call runs with.
    pub args: Map<String, Value>,
    /// A one-line description of the call.
    pub description: String,
    /// The names of the arguments that hooks changed.
    pub rewritten_args: Vec<String>,
}

/// A tool call that has ended.
#[derive(Clone, Debug, Serialize)]
pub struct ToolEnd {
    /// The identifier of the call.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments that the call ran with, or would have run with.
    pub args: Map<String, Value>,
    /// The arguments that a failing hook left out of all records: for the user's screen alone.
    #[serde(skip)]
    pub unrecorded_args: Option<Map<String, Value>>,
    /// The result as the front end displays it.
    pub display: ToolDisplay,
    /// The result as the model reads it, as text.
    pub content: String,
    /// The error of a call that failed.
    pub error: Option<CallError>,
    /// How long the call ran; zero if it did not run.
    #[serde(rename = "duration_ms", serialize_with = "super::serialize_millis")]
    pub duration: Duration,
    /// The decision that let the call run or refused it, where one was needed.
    pub decision: Option<CallDecision>,
    /// How the shell command of the call ended, if it ran one.
    pub command: Option<CommandEnd>,
    /// The metadata that AfterTool hooks attached: `hookData` and `hookMessages`.
    pub metadata: Map<String, Value>,
    /// The turn's identifier in logs.
    pub prompt_id: String,
}

impl ToolEnd {
    /// Returns the arguments to show on the user's screen.
    pub fn screen_args(&self) -> &Map<String, Value> {
        self.unrecorded_args.as_ref().unwrap_or(&self.args)
    }

    /// Returns a short text on why the call's shell command failed.
    ///
    /// Such a call counts as successful: the model reads the exit code.
    pub fn failed_command(&self) -> Option<String> {
        self.command.filter(|_| self.error.is_none()).and_then(CommandEnd::failure)
    }
}

/// The decision on whether a call may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallDecision {
    /// The user approved the call.
    Accept,
    /// The call needed no approval.
    AutoAccept,
    /// A hook, a rule or the user refused the call.
    Reject,
    /// Hooks or the user changed the arguments of the call.
    Modify,
}

impl CallDecision {
    /// All decisions, in the order in which counts list them.
    pub const ALL: [CallDecision; 4] =
        [CallDecision::Accept, CallDecision::Reject, CallDecision::Modify, CallDecision::AutoAccept];

    /// Returns the name of the decision in logs and counts.
    pub fn as_str(self) -> &'static str {
        match self {
            CallDecision::Accept => "accept",
            CallDecision::AutoAccept => "auto_accept",
            CallDecision::Reject => "reject",
            CallDecision::Modify => "modify",
        }
    }
}

/// The error of a call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallError {
    /// The kind of the error.
    pub kind: ToolErrorKind,
    /// The message for users.
    pub message: String,
}

impl CallError {
    /// Returns whether the user cancelled the call, which is no failure.
    pub fn is_cancelled(&self) -> bool {
        self.kind == ToolErrorKind::Cancelled
    }
}
