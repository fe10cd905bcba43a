//! What a session answers to an order, as values; drawing them is the front end's work.

use hookwright_hooks::Diagnostic;
use hookwright_settings::Notice;

use super::hook_list::HookListEntry;
use crate::checkpoint::{Checkpoint, RestorePlan};
use crate::transcript::SessionInfo;

/// An answer.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Words.
    Text(Tone, String),
    /// Names and what they stand for.
    Rows(Vec<(String, String)>),
    /// Hooks with their states.
    Hooks(Vec<HookListEntry>),
    /// What is different, as a unified diff.
    Diff(String),
    /// Sessions that can be resumed.
    Sessions(Vec<SessionInfo>),
    /// Checkpoints that can be brought back, the oldest first.
    Checkpoints(Vec<Checkpoint>),
    /// What bringing one back would do.
    Plan(Box<RestorePlan>),
    /// Something wrong with the configuration.
    Diagnostic(Box<Diagnostic>),
    /// Something noteworthy about it.
    Notice(Notice),
}

/// How words are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// What was asked for.
    Plain,
    /// An aside.
    Aside,
    /// News.
    News,
    /// Something to be careful about.
    Warning,
    /// Something that did not work.
    Error,
}

impl Reply {
    /// What was asked for.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Reply::Text(Tone::Plain, text.into())
    }

    /// An aside.
    pub(crate) fn aside(text: impl Into<String>) -> Self {
        Reply::Text(Tone::Aside, text.into())
    }

    /// News.
    pub(crate) fn news(text: impl Into<String>) -> Self {
        Reply::Text(Tone::News, text.into())
    }

    /// Something to be careful about.
    pub(crate) fn warning(text: impl Into<String>) -> Self {
        Reply::Text(Tone::Warning, text.into())
    }

    /// Something that did not work.
    pub(crate) fn error(error: impl std::fmt::Display) -> Self {
        Reply::Text(Tone::Error, error.to_string())
    }
}
