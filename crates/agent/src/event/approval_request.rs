//! What the user is asked on an agent's way, and what can be answered: whether a call may run, and whether a changed guard is
//! fine. Who has to be asked is `approval/` and `protect/`; a command's own questions are `user_question.rs`.

use hookwright_hooks::RequestedBy;
use hookwright_tools::mcp::McpToolOrigin;
use hookwright_tools::{ToolDisplay, ToolKind};
use serde_json::{Map, Value};

/// What the user is asked to allow.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// The call's name.
    pub call_id: String,
    /// The tool's canonical name.
    pub name: String,
    /// The tool's name for people.
    pub title: String,
    /// What it does to the world.
    pub kind: ToolKind,
    /// The exact arguments that will run.
    pub args: Map<String, Value>,
    /// The call in one line.
    pub description: String,
    /// What an edit would change.
    pub preview: Option<ToolDisplay>,
    /// Arguments that hooks changed.
    pub rewritten_args: Vec<String>,
    /// What those were before, where there was something; nothing at all if hooks want it kept from people.
    pub original_args: Option<Map<String, Value>>,
    /// Which of the answer's calls it is.
    pub call_number: Option<CallNumber>,
    /// Who wants it to run.
    pub requested_by: RequestedBy,
    /// The hooks that want the user asked, and why.
    pub approval_demand: Option<ApprovalDemand>,
    /// For a tool of an MCP server: which one it is there.
    pub server: Option<McpToolOrigin>,
    /// The file that guards are made of and that the call would change; such a call is asked about every time.
    pub protected_file: Option<String>,
    /// What could be allowed for good, in words; the answer is [`ApprovalReply::Always`] with its place in the list.
    pub rule_offer_texts: Vec<String>,
}

/// Which of an answer's calls one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallNumber {
    /// From 1.
    pub ordinal: usize,
    /// How many there are.
    pub total: usize,
}

/// Who wants the user asked.
#[derive(Clone, Debug)]
pub struct ApprovalDemand {
    /// The hooks.
    pub hooks: Vec<String>,
    /// Why.
    pub reason: String,
}

/// The user's word.
#[derive(Clone, Debug, PartialEq)]
pub enum ApprovalReply {
    /// Once.
    Once,
    /// From now on, this tool (for shell commands: this program) runs unasked.
    Session,
    /// From now on, every tool of this MCP server runs unasked.
    Server,
    /// For good: what stands in this place of [`ApprovalRequest::rule_offer_texts`].
    Always(usize),
    /// With other arguments.
    Edited(Map<String, Value>),
    /// No, with a word to the model.
    Deny(Option<String>),
    /// No, and the turn ends.
    Cancel,
}

impl ApprovalReply {
    /// The word in logs.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            ApprovalReply::Once => "once",
            ApprovalReply::Session => "session",
            ApprovalReply::Server => "server",
            ApprovalReply::Always(_) => "always",
            ApprovalReply::Edited(_) => "edited",
            ApprovalReply::Deny(_) => "deny",
            ApprovalReply::Cancel => "cancel",
        }
    }
}

/// The user's word on what the agent changed of the guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardTrustReply {
    /// It is fine, and counts from now on.
    Trust,
    /// It is not: hooks that depend on it do not run, and deny what they can.
    KeepUntrusted,
}
