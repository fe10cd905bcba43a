//! The questions about approval and trust that the agent sends to the user, and the possible replies.
//!
//! Which calls need approval is decided in `approval.rs` and `protect/`; the questions that a
//! command asks itself are in `question.rs`.

use hookwright_hooks::RequestedBy;
use hookwright_tools::mcp::McpToolOrigin;
use hookwright_tools::{ToolDisplay, ToolKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool call that the user is asked to approve.
#[derive(Clone, Debug, Serialize)]
pub struct ApprovalRequest {
    /// The identifier of the call.
    pub call_id: String,
    /// The tool's canonical name.
    pub name: String,
    /// The tool's display name.
    pub title: String,
    /// The kind of tool, which says how it affects files and processes.
    pub kind: ToolKind,
    /// The exact arguments that the call will run with.
    pub args: Map<String, Value>,
    /// A one-line description of the call.
    pub description: String,
    /// A preview of the edit that the call would make.
    pub preview: Option<ToolDisplay>,
    /// The names of the arguments that hooks changed.
    pub rewritten_args: Vec<String>,
    /// The values of the changed arguments before the change; `None` if hooks want them hidden from users.
    pub original_args: Option<Map<String, Value>>,
    /// The call's number among the calls of the answer.
    pub call_number: Option<CallNumber>,
    /// The origin of the call.
    pub requested_by: RequestedBy,
    /// The hooks that demand approval, with their reason.
    pub approval_demand: Option<ApprovalDemand>,
    /// The MCP server and the tool's name there, for an MCP tool.
    pub server: Option<McpToolOrigin>,
    /// The protected file that the call would change; such a call needs approval every time.
    pub protected_file: Option<String>,
    /// Whether a reply can also cover later calls; a protected file and a policy's question are asked about every time.
    pub can_last: bool,
    /// The texts of the rules that the user may store permanently; [`ApprovalReply::Always`] refers to them by index.
    pub rule_offer_texts: Vec<String>,
}

/// The number of a call among the calls of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CallNumber {
    /// The number of the call, counted from 1.
    pub ordinal: usize,
    /// The number of calls in the answer.
    pub total: usize,
}

/// The hooks that demand approval by the user.
#[derive(Clone, Debug, Serialize)]
pub struct ApprovalDemand {
    /// The identifiers of the hooks.
    pub hooks: Vec<String>,
    /// The reason that the hooks give.
    pub reason: String,
}

/// The user's reply to an [`ApprovalRequest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ApprovalReply {
    /// The call may run this time.
    Once,
    /// The call may run, and later calls of this tool (for shell commands: of this program) need no approval. Where
    /// hooks demanded approval, only the same call of the same hooks needs none.
    Session,
    /// The call may run, and later calls of all tools of this MCP server need no approval.
    Server,
    /// The call may run, and the rule at this index of [`ApprovalRequest::rule_offer_texts`] is stored permanently.
    Always(usize),
    /// The call may run with these arguments instead.
    Edited(Map<String, Value>),
    /// The call is denied, with an optional message to the model.
    Deny(Option<String>),
    /// The call is denied and the turn ends.
    Cancel,
}

impl ApprovalReply {
    /// Returns the name of the reply in logs.
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

/// The user's reply on guard files that the agent changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GuardTrustReply {
    /// The changes are trusted from now on.
    Trust,
    /// The changes stay untrusted: hooks that depend on them do not run, and guards among them deny what they can.
    KeepUntrusted,
}
