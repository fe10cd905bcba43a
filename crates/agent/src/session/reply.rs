//! The session's replies to commands, as values that front ends draw.

use hookwright_hooks::Diagnostic;
use hookwright_settings::Notice;
use serde::Serialize;

use super::hook_list::HookListEntry;
use super::statistics::SessionStatistics;
use crate::checkpoint::{Checkpoint, RestorePlan};
use crate::transcript::SessionInfo;

/// A reply to a command.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// A message with its tone.
    Text(Tone, String),
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
}
