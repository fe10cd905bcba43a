//! The events of a session: its activity, its queue, its conversation and its replies to commands.

use std::sync::Arc;

use hookwright_model::Content;
use hookwright_settings::ApprovalMode;
use serde::{Serialize, Serializer};

use crate::session::{Reply, Snapshot};

/// An event of a session.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEvent {
    /// The session has begun an activity; [`SessionEvent::Idle`] reports its end.
    Busy(SessionActivity),
    /// The session has no activity under way.
    Idle {
        /// The model of the session.
        model: String,
        /// The tokens of the conversation, as far as they are known.
        tokens: u64,
    },
    /// The commands before a [`SessionCommand::Sync`](crate::session::SessionCommand::Sync) are carried out, except for
    /// queued ones.
    Synced,
    /// The whole list of queued prompts, sent whenever it changes.
    PromptsQueued(Vec<String>),
    /// The session begins to handle an input that the user typed.
    InputStarted(String),
    /// Queued prompts were given back to the user and will not run.
    PromptsReturned(Vec<String>),
    /// The reply to a command of the front end, or a report about the configuration.
    Reply(Reply),
    /// The configuration, or its known state, has changed.
    ConfigurationChanged,
    /// The history was compressed.
    Compressed {
        /// `auto` or `manual`.
        trigger: &'static str,
        /// The number of tokens before the compression.
        before: u64,
        /// The number of tokens after the compression.
        after: u64,
    },
    /// The conversation was emptied.
    Cleared,
    /// The conversation was set back to before this prompt.
    Rewound(String),
    /// The last messages of the resumed conversation.
    #[serde(serialize_with = "serialize_messages")]
    History(Vec<Arc<Content>>),
    /// The approval mode has changed.
    ModeChanged(ApprovalMode),
    /// The session's model has changed.
    ModelChanged(String),
    /// The stored connection was removed, and the session ends.
    LoggedOut,
    /// The state of the session, as [`SessionCommand::Snapshot`](crate::session::SessionCommand::Snapshot) asks for it.
    Snapshot(Box<Snapshot>),
}

pub(crate) fn serialize_messages<S: Serializer>(messages: &[Arc<Content>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(messages.iter().map(|message| &**message))
}

/// The activity that a session is busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionActivity {
    /// SessionStart hooks are running.
    Starting,
    /// A turn is running.
    Working,
    /// A shell command of the user is running.
    RunningCommand,
    /// A new conversation is being started.
    Clearing,
    /// The history is being summarised.
    Compressing,
    /// An earlier conversation is being resumed.
    Resuming,
    /// Files or the conversation are being restored from a checkpoint.
    Restoring,
}

impl SessionActivity {
    /// Returns the label of the activity for display.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionActivity::Starting => "Starting",
            SessionActivity::Working => "Working",
            SessionActivity::RunningCommand => "Running",
            SessionActivity::Clearing => "Clearing",
            SessionActivity::Compressing => "Compressing",
            SessionActivity::Resuming => "Resuming",
            SessionActivity::Restoring => "Restoring",
        }
    }
}
