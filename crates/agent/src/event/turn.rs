//! The events of a turn, and how a turn ends.

use serde::Serialize;

/// An event of a turn.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEvent {
    /// A turn begins.
    ///
    /// BeforeAgent hooks have not judged its prompt yet, so this event is for display only and is not recorded.
    Received {
        /// The prompt as the user wrote it.
        prompt: String,
        /// The turn's identifier in logs.
        prompt_id: String,
    },
    /// BeforeAgent hooks let a prompt pass. A prompt that they deny is never reported by this event.
    Started {
        /// The prompt as the user wrote it.
        prompt: String,
        /// The turn's identifier in logs.
        prompt_id: String,
    },
    /// AfterAgent hooks rejected the answer; their reason is the next prompt.
    Retried {
        /// The reason, which is the next prompt.
        reason: String,
        /// The number of this retry in a row.
        attempt: u32,
    },
    /// The turn is over.
    Finished(TurnEnd),
}

/// The severity of a turn's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEndSeverity {
    /// The turn ended normally.
    Normal,
    /// A hook or the user ended the turn.
    Warning,
    /// The turn failed or reached a limit.
    Error,
}

/// The way in which a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// The model gave an answer.
    Answered,
    /// A hook denied the prompt or the answer; the text is its reason.
    Blocked(String),
    /// A hook stopped the agent; the text is its reason.
    Stopped(String),
    /// The user cancelled the turn.
    Cancelled,
    /// The session has made its maximum number of model requests.
    TurnLimit(u32),
    /// The prompt has made its maximum number of model requests.
    PromptLimit(u32),
    /// The sub-agent has made its maximum number of model requests.
    AgentLimit(u32),
    /// The model repeated itself; the text describes the repetition.
    Loop(String),
    /// The turn failed with an error.
    Failed {
        /// The message of the error.
        message: String,
        /// The advice to the user on what to do about it.
        hint: Option<String>,
    },
}

impl TurnEnd {
    /// Returns a failure without a hint.
    pub fn failed(message: impl Into<String>) -> Self {
        TurnEnd::Failed { message: message.into(), hint: None }
    }

    /// Returns the name of the end for machine-readable output, `None` for an answer.
    pub fn kind(&self) -> Option<&'static str> {
        match self {
            TurnEnd::Answered => None,
            TurnEnd::Blocked(_) => Some("blocked"),
            TurnEnd::Stopped(_) => Some("stopped"),
            TurnEnd::Cancelled => Some("cancelled"),
            TurnEnd::TurnLimit(_) | TurnEnd::PromptLimit(_) | TurnEnd::AgentLimit(_) => Some("turn_limit"),
            TurnEnd::Loop(_) => Some("loop"),
            TurnEnd::Failed { .. } => Some("failed"),
        }
    }

    /// Returns the severity of the end.
    pub fn severity(&self) -> TurnEndSeverity {
        match self {
            TurnEnd::Answered => TurnEndSeverity::Normal,
            TurnEnd::Blocked(_) | TurnEnd::Stopped(_) | TurnEnd::Cancelled => TurnEndSeverity::Warning,
            TurnEnd::TurnLimit(_)
            | TurnEnd::PromptLimit(_)
            | TurnEnd::AgentLimit(_)
            | TurnEnd::Loop(_)
            | TurnEnd::Failed { .. } => TurnEndSeverity::Error,
        }
    }

    /// Returns the message for users, `None` for an answer.
    pub fn message(&self) -> Option<String> {
        match self {
            TurnEnd::Answered => None,
            TurnEnd::Blocked(reason) => Some(format!("Agent execution blocked: {reason}")),
            TurnEnd::Stopped(reason) => Some(format!("Agent execution stopped by hook: {reason}")),
            TurnEnd::Cancelled => Some("Cancelled".to_owned()),
            TurnEnd::TurnLimit(limit) => Some(format!("the session has reached its limit of {limit} model requests")),
            TurnEnd::PromptLimit(limit) => Some(format!("this prompt has reached its limit of {limit} model requests")),
            TurnEnd::AgentLimit(limit) => Some(format!("it has made its {limit} model requests")),
            TurnEnd::Loop(reason) => Some(reason.clone()),
            TurnEnd::Failed { message, .. } => Some(message.clone()),
        }
    }

    /// Returns the advice to the user, if there is any.
    pub fn hint(&self) -> Option<&str> {
        match self {
            TurnEnd::TurnLimit(_) => Some("raise `model.maxSessionTurns` in the settings for more"),
            TurnEnd::PromptLimit(_) => Some("tell it to go on, or raise `model.maxPromptTurns` in your settings"),
            TurnEnd::Failed { hint, .. } => hint.as_deref(),
            _ => None,
        }
    }
}
