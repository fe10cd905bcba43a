//! The events of each host: the name, the corresponding event of Hookwright, and the capabilities of a hook.
//!
//! A capability is listed only where the host is known to obey it.

use std::time::Duration;

use hookwright_hooks::EventKind::{
    self, AfterAgent, AfterTool, BeforeAgent, BeforeModel, BeforeTool, BeforeToolSelection, Notification, PreCompress,
    SessionEnd, SessionStart,
};
use hookwright_hooks::HookCapability::{
    self, Approve, Ask, ClearContext, Confine, Context, Deny, RewriteInput, Stop, TailCall,
};
use hookwright_hooks::HookCapability::{AnswerForModel, ReplaceResponse, RewriteRequest, SelectTools};

use super::HostEventInfo;

const fn event(name: &'static str, ours: EventKind, powers: &'static [HookCapability]) -> HostEventInfo {
    HostEventInfo { name, kind: Some(ours), powers, timeout: None, wired: true }
}

/// A row for an event that the bridge understands and `agents install` writes no entry for.
const fn unwired(name: &'static str, ours: EventKind, powers: &'static [HookCapability]) -> HostEventInfo {
    HostEventInfo { name, kind: Some(ours), powers, timeout: None, wired: false }
}

/// A row for an event that corresponds to none of Hookwright's: the bridge lets it pass.
const fn unmapped(name: &'static str) -> HostEventInfo {
    HostEventInfo { name, kind: None, powers: &[], timeout: None, wired: false }
}

const fn with_timeout(milliseconds: u64, event: HostEventInfo) -> HostEventInfo {
    HostEventInfo { timeout: Some(Duration::from_millis(milliseconds)), ..event }
}

pub(super) const CLAUDE_EVENTS: &[HostEventInfo] = &[
    event("PreToolUse", BeforeTool, &[Deny, Ask, Approve, RewriteInput, Confine, Stop]),
    event("PostToolUse", AfterTool, &[Deny, Context, Stop]),
    event("PostToolUseFailure", AfterTool, &[Context, Stop]),
    with_timeout(30_000, event("UserPromptSubmit", BeforeAgent, &[Context, Deny, Stop])),
    event("Stop", AfterAgent, &[Deny, Stop]),
    event("SubagentStop", AfterAgent, &[Deny, Stop]),
    event("SessionStart", SessionStart, &[Context]),
    with_timeout(1_500, event("SessionEnd", SessionEnd, &[])),
    event("PreCompact", PreCompress, &[]),
    event("Notification", Notification, &[]),
    event("PermissionRequest", Notification, &[Deny]),
    unmapped("PostToolBatch"),
    unmapped("UserPromptExpansion"),
    unmapped("StopFailure"),
    unmapped("SubagentStart"),
    unmapped("PostCompact"),
    unmapped("PreModelSwitch"),
    unmapped("PostModelSwitch"),
    unmapped("PermissionDenied"),
    unmapped("Setup"),
    unmapped("TeammateIdle"),
    unmapped("TaskCreated"),
    unmapped("TaskCompleted"),
    unmapped("Elicitation"),
    unmapped("ElicitationResult"),
    unmapped("ConfigChange"),
    unmapped("WorktreeCreate"),
    unmapped("WorktreeRemove"),
    unmapped("InstructionsLoaded"),
    unmapped("CwdChanged"),
    unmapped("FileChanged"),
    unmapped("DirectoryAdded"),
    unmapped("MessageDisplay"),
];

pub(super) const CODEX_EVENTS: &[HostEventInfo] = &[
    event("PreToolUse", BeforeTool, &[Deny, RewriteInput]),
    event("PostToolUse", AfterTool, &[Deny, Context, Stop]),
    event("UserPromptSubmit", BeforeAgent, &[Context, Deny]),
    event("Stop", AfterAgent, &[Deny]),
    event("SubagentStop", AfterAgent, &[Deny]),
    event("SessionStart", SessionStart, &[Context]),
    with_timeout(1_000, event("SessionEnd", SessionEnd, &[])),
    event("PreCompact", PreCompress, &[]),
    event("PermissionRequest", Notification, &[Deny]),
    unmapped("PostCompact"),
    unmapped("SubagentStart"),
    with_timeout(1_000, unmapped("Interrupt")),
    unmapped("PreModelRequest"),
];

pub(super) const COPILOT_EVENTS: &[HostEventInfo] = &[
    event("PreToolUse", BeforeTool, &[Deny, Ask, Approve, RewriteInput, Confine]),
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
    unmapped("UserPromptTransformed"),
    unmapped("SubagentStart"),
    unmapped("ErrorOccurred"),
];

/// Copilot's camelCase event names; a payload under such a name has no other name in it.
pub(crate) const COPILOT_EVENT_NAMES: &[(&str, &str)] = &[
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

pub(super) const CURSOR_EVENTS: &[HostEventInfo] = &[
    event("preToolUse", BeforeTool, &[Deny, RewriteInput, Confine]),
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
    unmapped("afterAgentResponse"),
    unmapped("afterAgentThought"),
    unmapped("workspaceOpen"),
];

pub(super) const QWEN_EVENTS: &[HostEventInfo] = &[
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
    unmapped("PostToolBatch"),
    unmapped("UserPromptExpansion"),
    unmapped("SessionDelete"),
    unmapped("MessageDisplay"),
    unmapped("StopFailure"),
    unmapped("SubagentStart"),
    unmapped("PostCompact"),
    unmapped("PermissionDenied"),
    unmapped("InstructionsLoaded"),
    unmapped("TodoCreated"),
    unmapped("TodoCompleted"),
];

pub(super) const DROID_EVENTS: &[HostEventInfo] = &[
    event("PreToolUse", BeforeTool, &[Deny, RewriteInput, Confine, Stop]),
    event("PostToolUse", AfterTool, &[Context, Stop]),
    event("UserPromptSubmit", BeforeAgent, &[Context, Deny, Stop]),
    event("Stop", AfterAgent, &[Deny, Stop]),
    event("SubagentStop", AfterAgent, &[Deny, Stop]),
    event("SessionStart", SessionStart, &[Context]),
    event("SessionEnd", SessionEnd, &[]),
    event("PreCompact", PreCompress, &[]),
    event("Notification", Notification, &[]),
];

/// Grok's events. `Ask` is missing because Grok answers a hook's question with yes when everything is approved
/// beforehand.
pub(super) const GROK_EVENTS: &[HostEventInfo] = &[
    event("PreToolUse", BeforeTool, &[Deny, RewriteInput, Confine]),
    with_timeout(600_000, event("PostToolUse", AfterTool, &[Context])),
    event("PostToolUseFailure", AfterTool, &[Context]),
    with_timeout(30_000, event("UserPromptSubmit", BeforeAgent, &[Deny])),
    with_timeout(600_000, event("Stop", AfterAgent, &[Deny, Stop])),
    with_timeout(600_000, event("SubagentStop", AfterAgent, &[Deny, Stop])),
    event("SessionStart", SessionStart, &[]),
    event("SessionEnd", SessionEnd, &[]),
    event("PreCompact", PreCompress, &[]),
    event("Notification", Notification, &[]),
    unmapped("SubagentStart"),
    unmapped("PostCompact"),
    unmapped("StopFailure"),
    unmapped("StopCancelled"),
    unmapped("PermissionDenied"),
];

pub(super) const GEMINI_EVENTS: &[HostEventInfo] = &[
    event("SessionStart", SessionStart, &[Context]),
    event("SessionEnd", SessionEnd, &[]),
    event("BeforeAgent", BeforeAgent, &[Context, Deny, Stop]),
    event("AfterAgent", AfterAgent, &[Deny, Stop, ClearContext]),
    event("BeforeModel", BeforeModel, &[RewriteRequest, AnswerForModel, Deny, Stop]),
    event("BeforeToolSelection", BeforeToolSelection, &[SelectTools]),
    event("AfterModel", EventKind::AfterModel, &[ReplaceResponse, Deny, Stop]),
    event("BeforeTool", BeforeTool, &[Deny, RewriteInput, Confine, Stop]),
    event("AfterTool", AfterTool, &[Deny, Context, TailCall, Stop]),
    event("PreCompress", PreCompress, &[]),
    event("Notification", Notification, &[]),
];

pub(super) const ANTIGRAVITY_EVENTS: &[HostEventInfo] = &[
    event("PreToolUse", BeforeTool, &[Deny, Ask]),
    event("PostToolUse", AfterTool, &[]),
    // Every model request sends this event; the first one of a conversation is the session's start.
    event("PreInvocation", SessionStart, &[Context]),
    event("Stop", AfterAgent, &[Deny]),
    unmapped("PostInvocation"),
];

/// The events of opencode's plugin interface that the generated plugin forwards.
pub(super) const OPENCODE_EVENTS: &[HostEventInfo] = &[
    event("tool.execute.before", BeforeTool, &[Deny, RewriteInput, Confine, Stop]),
    event("tool.execute.after", AfterTool, &[Deny, Context]),
    event("chat.message", BeforeAgent, &[Deny, Context]),
    event("session.created", SessionStart, &[]),
    event("session.idle", AfterAgent, &[]),
    event("session.compacting", PreCompress, &[]),
];

/// The messages of the Agent Client Protocol that are judged between an editor and an agent.
pub(super) const ACP_EVENTS: &[HostEventInfo] = &[
    event("session/prompt", BeforeAgent, &[Context, Deny, Stop]),
    event("fs/read_text_file", BeforeTool, &[Deny, Ask, RewriteInput, Stop]),
    event("fs/write_text_file", BeforeTool, &[Deny, Ask, RewriteInput, Stop]),
    event("terminal/create", BeforeTool, &[Deny, Ask, RewriteInput, Confine, Stop]),
    event("session/request_permission", BeforeTool, &[Deny, Ask, Approve, Stop]),
    // A call that the agent has run without asking: hooks see it, and nothing can refuse it any more.
    event("session/update", BeforeTool, &[]),
    event("response", AfterTool, &[Deny]),
];
