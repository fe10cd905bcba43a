//! The events of each host, row by row: its name there, what it is here, and what a hook can really do there.
//!
//! A power stands in a row only where the host is known to obey; what was measured otherwise does not.

use std::time::Duration;

use hookwright_hooks::EventKind::{
    self, AfterAgent, AfterTool, BeforeAgent, BeforeModel, BeforeTool, BeforeToolSelection, Notification, PreCompress,
    SessionEnd, SessionStart,
};
use hookwright_hooks::Power::{self, Ask, ClearContext, Context, Deny, RewriteInput, Stop, TailCall};
use hookwright_hooks::Power::{AnswerForModel, ReplaceResponse, RewriteRequest, SelectTools};

use super::HostEvent;

const fn event(name: &'static str, ours: EventKind, powers: &'static [Power]) -> HostEvent {
    HostEvent { name, ours: Some(ours), powers, timeout: None, wired: true }
}

/// One that is understood and that nobody needs to be told of.
const fn unwired(name: &'static str, ours: EventKind, powers: &'static [Power]) -> HostEvent {
    HostEvent { name, ours: Some(ours), powers, timeout: None, wired: false }
}

/// One that is no moment of ours: it passes.
const fn other(name: &'static str) -> HostEvent {
    HostEvent { name, ours: None, powers: &[], timeout: None, wired: false }
}

const fn within(milliseconds: u64, event: HostEvent) -> HostEvent {
    HostEvent { timeout: Some(Duration::from_millis(milliseconds)), ..event }
}

pub(super) const CLAUDE: &[HostEvent] = &[
    event("PreToolUse", BeforeTool, &[Deny, Ask, RewriteInput, Stop]),
    event("PostToolUse", AfterTool, &[Deny, Context, Stop]),
    event("PostToolUseFailure", AfterTool, &[Context, Stop]),
    within(30_000, event("UserPromptSubmit", BeforeAgent, &[Context, Deny, Stop])),
    event("Stop", AfterAgent, &[Deny, Stop]),
    event("SubagentStop", AfterAgent, &[Deny, Stop]),
    event("SessionStart", SessionStart, &[Context]),
    within(1_500, event("SessionEnd", SessionEnd, &[])),
    event("PreCompact", PreCompress, &[]),
    event("Notification", Notification, &[]),
    event("PermissionRequest", Notification, &[Deny]),
    other("PostToolBatch"),
    other("UserPromptExpansion"),
    other("StopFailure"),
    other("SubagentStart"),
    other("PostCompact"),
    other("PreModelSwitch"),
    other("PostModelSwitch"),
    other("PermissionDenied"),
    other("Setup"),
    other("TeammateIdle"),
    other("TaskCreated"),
    other("TaskCompleted"),
    other("Elicitation"),
    other("ElicitationResult"),
    other("ConfigChange"),
    other("WorktreeCreate"),
    other("WorktreeRemove"),
    other("InstructionsLoaded"),
    other("CwdChanged"),
    other("FileChanged"),
    other("DirectoryAdded"),
    other("MessageDisplay"),
];

pub(super) const CODEX: &[HostEvent] = &[
    event("PreToolUse", BeforeTool, &[Deny, RewriteInput]),
    event("PostToolUse", AfterTool, &[Deny, Context, Stop]),
    event("UserPromptSubmit", BeforeAgent, &[Context, Deny]),
    event("Stop", AfterAgent, &[Deny]),
    event("SubagentStop", AfterAgent, &[Deny]),
    event("SessionStart", SessionStart, &[Context]),
    within(1_000, event("SessionEnd", SessionEnd, &[])),
    event("PreCompact", PreCompress, &[]),
    event("PermissionRequest", Notification, &[Deny]),
    other("PostCompact"),
    other("SubagentStart"),
    within(1_000, other("Interrupt")),
    other("PreModelRequest"),
];

pub(super) const COPILOT: &[HostEvent] = &[
    event("PreToolUse", BeforeTool, &[Deny, Ask, RewriteInput]),
    event("PostToolUse", AfterTool, &[Deny, Context]),
    event("PostToolUseFailure", AfterTool, &[Context]),
    event("UserPromptSubmit", BeforeAgent, &[Context, Deny]),
    event("Stop", AfterAgent, &[Deny]),
    event("SubagentStop", AfterAgent, &[Deny]),
    event("SessionStart", SessionStart, &[Context]),
    event("SessionEnd", SessionEnd, &[]),
    event("PreCompact", PreCompress, &[]),
    event("Notification", Notification, &[Context]),
    event("PermissionRequest", Notification, &[Deny]),
    unwired("PreMcpToolCall", BeforeTool, &[Deny]),
    other("UserPromptTransformed"),
    other("SubagentStart"),
    other("ErrorOccurred"),
];

/// Copilot's own names for events; its payloads under them have no other.
pub(crate) const COPILOT_NAMES: &[(&str, &str)] = &[
    ("sessionStart", "SessionStart"),
    ("sessionEnd", "SessionEnd"),
    ("userPromptSubmitted", "UserPromptSubmit"),
    ("preToolUse", "PreToolUse"),
    ("preMcpToolCall", "PreMcpToolCall"),
    ("postToolUse", "PostToolUse"),
    ("postToolUseFailure", "PostToolUseFailure"),
    ("agentStop", "Stop"),
    ("subagentStop", "SubagentStop"),
    ("preCompact", "PreCompact"),
    ("permissionRequest", "PermissionRequest"),
    ("notification", "Notification"),
];

pub(super) const CURSOR: &[HostEvent] = &[
    event("preToolUse", BeforeTool, &[Deny, RewriteInput]),
    event("beforeShellExecution", BeforeTool, &[Deny]),
    event("beforeMCPExecution", BeforeTool, &[Deny]),
    event("beforeReadFile", BeforeTool, &[Deny]),
    unwired("beforeTabFileRead", BeforeTool, &[Deny]),
    event("subagentStart", BeforeTool, &[Deny]),
    event("postToolUse", AfterTool, &[Context]),
    event("postToolUseFailure", AfterTool, &[]),
    unwired("afterShellExecution", AfterTool, &[]),
    unwired("afterMCPExecution", AfterTool, &[]),
    unwired("afterFileEdit", AfterTool, &[]),
    unwired("afterTabFileEdit", AfterTool, &[]),
    event("beforeSubmitPrompt", BeforeAgent, &[Deny, Stop]),
    event("stop", AfterAgent, &[Deny, Stop]),
    event("subagentStop", AfterAgent, &[Deny, Stop]),
    event("sessionStart", SessionStart, &[Context]),
    event("sessionEnd", SessionEnd, &[]),
    event("preCompact", PreCompress, &[]),
    other("afterAgentResponse"),
    other("afterAgentThought"),
    other("workspaceOpen"),
];

pub(super) const QWEN: &[HostEvent] = &[
    event("PreToolUse", BeforeTool, &[Deny, Ask, Stop]),
    event("PostToolUse", AfterTool, &[Deny, Context, Stop]),
    event("PostToolUseFailure", AfterTool, &[Context]),
    event("UserPromptSubmit", BeforeAgent, &[Context, Deny, Stop]),
    event("Stop", AfterAgent, &[Deny, Stop]),
    event("SubagentStop", AfterAgent, &[Deny, Stop]),
    event("SessionStart", SessionStart, &[Context]),
    event("SessionEnd", SessionEnd, &[]),
    event("PreCompact", PreCompress, &[]),
    event("Notification", Notification, &[]),
    event("PermissionRequest", Notification, &[Deny]),
    other("PostToolBatch"),
    other("UserPromptExpansion"),
    other("SessionDelete"),
    other("MessageDisplay"),
    other("StopFailure"),
    other("SubagentStart"),
    other("PostCompact"),
    other("PermissionDenied"),
    other("InstructionsLoaded"),
    other("TodoCreated"),
    other("TodoCompleted"),
];

pub(super) const DROID: &[HostEvent] = &[
    event("PreToolUse", BeforeTool, &[Deny, RewriteInput, Stop]),
    event("PostToolUse", AfterTool, &[Context, Stop]),
    event("UserPromptSubmit", BeforeAgent, &[Context, Deny, Stop]),
    event("Stop", AfterAgent, &[Deny, Stop]),
    event("SubagentStop", AfterAgent, &[Deny, Stop]),
    event("SessionStart", SessionStart, &[Context]),
    event("SessionEnd", SessionEnd, &[]),
    event("PreCompact", PreCompress, &[]),
    event("Notification", Notification, &[]),
];

/// A question of a hook's is answered with yes there as soon as everything is approved beforehand, so it is none.
pub(super) const GROK: &[HostEvent] = &[
    event("PreToolUse", BeforeTool, &[Deny, RewriteInput]),
    within(600_000, event("PostToolUse", AfterTool, &[Context])),
    event("PostToolUseFailure", AfterTool, &[Context]),
    within(30_000, event("UserPromptSubmit", BeforeAgent, &[Deny])),
    within(600_000, event("Stop", AfterAgent, &[Deny, Stop])),
    within(600_000, event("SubagentStop", AfterAgent, &[Deny, Stop])),
    event("SessionStart", SessionStart, &[]),
    event("SessionEnd", SessionEnd, &[]),
    event("PreCompact", PreCompress, &[]),
    event("Notification", Notification, &[]),
    other("SubagentStart"),
    other("PostCompact"),
    other("StopFailure"),
    other("StopCancelled"),
    other("PermissionDenied"),
];

pub(super) const GEMINI: &[HostEvent] = &[
    event("SessionStart", SessionStart, &[Context]),
    event("SessionEnd", SessionEnd, &[]),
    event("BeforeAgent", BeforeAgent, &[Context, Deny, Stop]),
    event("AfterAgent", AfterAgent, &[Deny, Stop, ClearContext]),
    event("BeforeModel", BeforeModel, &[RewriteRequest, AnswerForModel, Deny, Stop]),
    event("BeforeToolSelection", BeforeToolSelection, &[SelectTools]),
    event("AfterModel", EventKind::AfterModel, &[ReplaceResponse, Deny, Stop]),
    event("BeforeTool", BeforeTool, &[Deny, RewriteInput, Stop]),
    event("AfterTool", AfterTool, &[Deny, Context, TailCall, Stop]),
    event("PreCompress", PreCompress, &[]),
    event("Notification", Notification, &[]),
];

pub(super) const ANTIGRAVITY: &[HostEvent] = &[
    event("PreToolUse", BeforeTool, &[Deny, Ask]),
    event("PostToolUse", AfterTool, &[]),
    // The first one of a conversation is its start.
    event("PreInvocation", SessionStart, &[Context]),
    event("Stop", AfterAgent, &[Deny]),
    other("PostInvocation"),
];

/// The names of the plugin's own functions, which the generated file passes on.
pub(super) const OPENCODE: &[HostEvent] = &[
    event("tool.execute.before", BeforeTool, &[Deny, RewriteInput, Stop]),
    event("tool.execute.after", AfterTool, &[Deny, Context]),
    event("chat.message", BeforeAgent, &[Deny, Context]),
    event("session.created", SessionStart, &[]),
    event("session.idle", AfterAgent, &[]),
    event("session.compacting", PreCompress, &[]),
];
