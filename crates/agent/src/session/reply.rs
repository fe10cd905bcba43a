//! The session's replies to commands, as values that front ends draw.

use hookwright_extensions::ExtensionUpdateReport;
use hookwright_hooks::Diagnostic;
use hookwright_settings::Notice;
use hookwright_settings::administration::{
    ActionError, ExtensionSwitchOutcome, HookSwitchOutcome, HookTrustOutcome, McpAccountReport, PendingTrust,
    SkillSwitchOutcome, UnknownName,
};
use hookwright_settings::skills::Skill;
use serde::Serialize;

use super::command::Detail;
use super::hook_list::HookListEntry;
use super::statistics::SessionStatistics;
use crate::checkpoint::{Checkpoint, RestorePlan, RestoreReport, RestoreScope};
use crate::transcript::SessionInfo;

/// A reply to a command.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// A message with its tone.
    Text(Tone, String),
    /// Why an action failed.
    Failed(Box<ActionError>),
    /// Nothing has the name that the user gave.
    Unknown(UnknownName),
    /// Hooks were enabled or disabled.
    HookSwitch(Box<HookSwitchOutcome>),
    /// What waits for trust.
    PendingTrust(Box<PendingTrust>),
    /// Hooks were trusted.
    HookTrust(Box<HookTrustOutcome>),
    /// An extension was enabled or disabled.
    ExtensionSwitch(Box<ExtensionSwitchOutcome>),
    /// What is known about an update of an extension.
    ExtensionUpdate(Box<ExtensionUpdateReport>),
    /// A skill was enabled or disabled.
    SkillSwitch(Box<SkillSwitchOutcome>),
    /// What is known about an account at an MCP server.
    McpAccount(McpAccountReport),
    /// Skills with their states.
    Skills(Vec<Skill>, Detail),
    /// Names with their descriptions.
    Rows(Vec<(String, String)>),
    /// Hooks with their states.
    Hooks(Vec<HookListEntry>),
    /// What the session did and cost.
    Statistics(Box<SessionStatistics>),
    /// A unified diff.
    Diff(String),
    /// Sessions that can be resumed.
    Sessions(Vec<SessionInfo>),
    /// Checkpoints that can be restored, the oldest first.
    Checkpoints(Vec<Checkpoint>),
    /// The plan for restoring a checkpoint.
    Plan(Box<RestorePlan>),
    /// Files, the conversation or both were restored.
    Restored(Box<RestoreReport>, RestoreScope),
    /// A problem in the configuration.
    Diagnostic(Box<Diagnostic>),
    /// A notice about the configuration.
    Notice(Notice),
}

/// The tone of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// The answer to the command.
    Plain,
    /// Secondary information, which front ends dim.
    Aside,
    /// Something new that concerns the user.
    News,
    /// Something to be careful about.
    Warning,
    /// Something that did not work.
    Error,
}

impl Reply {
    /// Creates a plain answer.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Reply::Text(Tone::Plain, text.into())
    }

    /// Creates a message of secondary information.
    pub(crate) fn aside(text: impl Into<String>) -> Self {
        Reply::Text(Tone::Aside, text.into())
    }

    /// Creates a message about something new.
    pub(crate) fn news(text: impl Into<String>) -> Self {
        Reply::Text(Tone::News, text.into())
    }

    /// Creates a warning.
    pub(crate) fn warning(text: impl Into<String>) -> Self {
        Reply::Text(Tone::Warning, text.into())
    }

    /// Creates an error message.
    pub(crate) fn error(error: impl std::fmt::Display) -> Self {
        Reply::Text(Tone::Error, error.to_string())
    }

    /// Creates the reply for an action that failed.
    pub(crate) fn failed(error: impl Into<ActionError>) -> Self {
        Reply::Failed(Box::new(error.into()))
    }
}
