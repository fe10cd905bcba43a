//! The events that the agent sends to its front end, in the order in which they happen.
//!
//! They come in groups, a file each. All of them can be serialised: other programs read them in this form. Printing, drawing
//! and logging are left to the front end.

mod approval_request;
mod hook;
mod model;
mod session;
mod tool;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use hookwright_hooks::SubAgent;
use serde::{Serialize, Serializer};

use crate::question::{Question, QuestionId};
pub use approval_request::{ApprovalDemand, ApprovalReply, ApprovalRequest, CallNumber, GuardTrustReply};
pub use hook::HookEvent;
pub use model::ModelEvent;
pub(crate) use session::serialize_messages;
pub use session::{SessionActivity, SessionEvent};
pub use tool::{CallDecision, CallError, ToolEnd, ToolEvent, ToolStart};
pub use turn::{TurnEnd, TurnEndSeverity, TurnEvent};

/// An event that the agent reports to its front end.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentEvent {
    /// An event of a turn: its prompt and its end.
    Turn(TurnEvent),
    /// An event of a request to the model.
    Model(ModelEvent),
    /// An event of a tool call.
    Tool(ToolEvent),
    /// An event of a hook.
    Hook(HookEvent),
    /// A question to the user, or its end.
    Question(QuestionEvent),
    /// An event of the session: its activity, its queue, its state and its replies.
    Session(SessionEvent),
    /// A message for the user.
    Notice(AgentNotice),
    /// An event of a sub-agent.
    ///
    /// Questions and hook events of a sub-agent are not wrapped in this variant.
    SubAgent {
        /// The sub-agent that reports the event.
        #[serde(serialize_with = "serialize_shared")]
        agent: Arc<SubAgent>,
        /// The identifier of the delegating call.
        #[serde(serialize_with = "serialize_shared")]
        call_id: Arc<str>,
        /// The event itself, which is never a `SubAgent` event.
        event: Box<AgentEvent>,
    },
}

/// An event of a question to the user.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionEvent {
    /// The session asks the user; it waits until the question is answered or withdrawn.
    Asked(Question),
    /// A question was answered, or the session no longer waits for its answer.
    Closed(QuestionId),
}

/// A message of the agent for the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentNotice {
    /// Information.
    Note(String),
    /// A warning.
    Warning(String),
}

impl AgentEvent {
    /// Returns the inner event, with the sub-agent that reported it; `None` stands for the main agent.
    pub fn unwrap_subagent(&self) -> (Option<&SubAgent>, &AgentEvent) {
        match self {
            AgentEvent::SubAgent { agent, event, .. } => (Some(agent), event),
            event => (None, event),
        }
    }
}

macro_rules! groups {
    ($($group:ident($event:ident),)+) => {
        $(impl From<$event> for AgentEvent {
            fn from(event: $event) -> Self {
                AgentEvent::$group(event)
            }
        })+
    };
}

groups! {
    Turn(TurnEvent),
    Model(ModelEvent),
    Tool(ToolEvent),
    Hook(HookEvent),
    Question(QuestionEvent),
    Session(SessionEvent),
    Notice(AgentNotice),
}

fn serialize_shared<T: Serialize + ?Sized, S: Serializer>(value: &Arc<T>, serializer: S) -> Result<S::Ok, S::Error> {
    (**value).serialize(serializer)
}

/// Serialises a duration as milliseconds, with three decimals.
pub(crate) fn serialize_millis<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((duration.as_secs_f64() * 1e6).round() / 1e3)
}
