//! The likely reason why the journal was not asked about a call.

use std::fmt;

use jiff::Timestamp;

use super::JournalIndex;
use crate::host::Host;
use crate::transcripts::TranscriptCall;

/// Why the journal was not asked about a call, as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UncoveredReason {
    /// The call is older than the journal.
    BeforeJournal,
    /// The agent never asks its hooks about this tool.
    NoHookForTool,
    /// The provider of the model runs the tool, not the agent.
    RunByProvider,
    /// The journal has no call of this agent at all.
    AgentUnknown(Host),
    /// The journal has calls of this agent, and none of this session.
    SessionUnknown(Host),
    /// The session's first line in the journal is later than the call.
    BeforeFirstLine(Timestamp),
    /// The session's last line in the journal is earlier than the call.
    AfterLastLine(Timestamp),
    /// The journal has lines of the session before and after the call.
    Skipped,
}

impl UncoveredReason {
    /// Returns the name that reports use.
    pub fn as_str(self) -> &'static str {
        match self {
            UncoveredReason::BeforeJournal => "before_journal",
            UncoveredReason::NoHookForTool => "no_hook_for_tool",
            UncoveredReason::RunByProvider => "run_by_provider",
            UncoveredReason::AgentUnknown(_) => "agent_unknown",
            UncoveredReason::SessionUnknown(_) => "session_unknown",
            UncoveredReason::BeforeFirstLine(_) => "before_first_line",
            UncoveredReason::AfterLastLine(_) => "after_last_line",
            UncoveredReason::Skipped => "skipped",
        }
    }
}

impl fmt::Display for UncoveredReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UncoveredReason::BeforeJournal => write!(f, "the journal began later"),
            UncoveredReason::NoHookForTool => write!(f, "the agent asks no hook about this tool"),
            UncoveredReason::RunByProvider => write!(f, "the model's provider runs this tool, and no hook is asked"),
            UncoveredReason::AgentUnknown(agent) => write!(
                f,
                "the journal has no call of {}: `hookwright agents doctor {agent}` says whether it calls Hookwright",
                agent.title()
            ),
            UncoveredReason::SessionUnknown(agent) => {
                write!(f, "the journal has no call of this session: {}", hooks_off_hint(*agent))
            }
            UncoveredReason::BeforeFirstLine(time) => {
                write!(f, "the session asked from {time:.0} on: Hookwright's entry was added while it ran")
            }
            UncoveredReason::AfterLastLine(time) => {
                write!(f, "the session last asked at {time:.0}: Hookwright's entry was removed or changed while it ran")
            }
            UncoveredReason::Skipped => {
                write!(f, "the session asked about other calls: the hook may have been killed or timed out")
            }
        }
    }
}

/// Returns what switches off all hooks of a session.
fn hooks_off_hint(agent: Host) -> &'static str {
    match agent {
        Host::ClaudeCode => {
            "its hooks were off (`--bare`, `--safe-mode`, `CLAUDE_CODE_SIMPLE`, `disableAllHooks`), or Hookwright's entry was gone"
        }
        Host::Codex => "Codex had not trusted Hookwright's entry, hooks were off, or the entry was gone",
        Host::GeminiCli => {
            "it ran in an editor (ACP), which asks no hooks, hooks were off, or Hookwright's entry was gone"
        }
        Host::Copilot => "hooks were off (`disableAllHooks`), or Hookwright's entry was gone",
        Host::Qwen => "its hooks were off (`--bare`, `--safe-mode`, `disableAllHooks`), or Hookwright's entry was gone",
        Host::Opencode => "plugins were off (`--pure`), or Hookwright's plugin was gone",
        _ => "its hooks were off, or Hookwright's entry was gone",
    }
}

/// Tools about which agents ask no hook; `write_stdin` was measured, the others are from their documentation.
const UNHOOKED_TOOLS: [(Host, &str, UncoveredReason); 4] = [
    (Host::Codex, "write_stdin", UncoveredReason::NoHookForTool),
    (Host::Codex, "web_search", UncoveredReason::RunByProvider),
    (Host::Codex, "image_generation", UncoveredReason::RunByProvider),
    (Host::ClaudeCode, "web_search", UncoveredReason::RunByProvider),
];

/// Returns the likely reason why the journal has no line about a call.
pub(super) fn uncovered_reason(journal: &JournalIndex, call: &TranscriptCall) -> UncoveredReason {
    let is_unhooked = |(agent, tool, _): &&(Host, &str, UncoveredReason)| *agent == call.agent && *tool == call.tool;
    if let (Some(time), Some(from)) = (call.time, journal.records_from())
        && time < from
    {
        return UncoveredReason::BeforeJournal;
    }
    if let Some((_, _, reason)) = UNHOOKED_TOOLS.iter().find(is_unhooked) {
        return *reason;
    }
    if !journal.knows_agent(call.agent) {
        return UncoveredReason::AgentUnknown(call.agent);
    }
    match (journal.session_span(call), call.time) {
        (None, _) => UncoveredReason::SessionUnknown(call.agent),
        (Some((first, _)), Some(time)) if time < first => UncoveredReason::BeforeFirstLine(first),
        (Some((_, last)), Some(time)) if time > last => UncoveredReason::AfterLastLine(last),
        (Some(_), _) => UncoveredReason::Skipped,
    }
}
