//! The state of a session as one value, for a client that joins it later.

use std::sync::Arc;

use hookwright_model::Content;
use hookwright_settings::ApprovalMode;
use serde::Serialize;

use super::{SessionStatistics, SessionView};
use crate::event::{SessionActivity, serialize_messages};
use crate::question::Question;

/// The version of events, questions and snapshots in their serialised form.
pub const PROTOCOL_VERSION: u32 = 1;

/// What a client that joins a session must know; the events tell everything later.
#[derive(Clone, Debug, Serialize)]
pub struct Snapshot {
    /// [`PROTOCOL_VERSION`].
    pub version: u32,
    /// The session's id.
    pub session_id: String,
    /// The name of the model.
    pub model: String,
    /// The approval mode.
    pub mode: ApprovalMode,
    /// The approval modes that the user can select.
    pub modes: Vec<ApprovalMode>,
    /// What the session does, and where the conversation is.
    #[serde(flatten)]
    pub progress: SessionProgress,
    /// The questions that wait for an answer, in the order in which they were asked.
    pub open_questions: Vec<Question>,
    /// What the session did and cost.
    pub statistics: SessionStatistics,
}

/// What a session does, and where its conversation is.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SessionProgress {
    /// The activity that is under way.
    pub activity: Option<SessionActivity>,
    /// The prompts that wait for its end.
    pub queued_prompts: Vec<String>,
    /// The tokens of the conversation, as far as they are known.
    pub tokens: u64,
    /// The last messages of the conversation, without those of the running turn.
    #[serde(serialize_with = "serialize_messages")]
    pub history: Vec<Arc<Content>>,
}

impl SessionView {
    /// Returns the state of the session now.
    pub fn snapshot(&self) -> Snapshot {
        let events = &self.services.events;
        Snapshot {
            version: PROTOCOL_VERSION,
            session_id: self.session_id(),
            model: self.model.clone(),
            mode: self.services.approvals.mode(),
            modes: self.modes(),
            progress: self.progress.clone(),
            open_questions: events.open_questions(),
            statistics: events.statistics(),
        }
    }
}
