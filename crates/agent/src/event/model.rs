//! The events of a request to the model.

use std::time::Duration;

use hookwright_model::{Chunk, ModelRequest, Usage};
use serde::Serialize;

/// An event of a request to the model.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelEvent {
    /// A request is sent to the model.
    Requested {
        /// The request, without the media and unknown tool calls that no hook is shown.
        request: Box<ModelRequest>,
        /// The turn's identifier in logs.
        prompt_id: String,
    },
    /// A piece of the answer, after AfterModel hooks.
    Text(String),
    /// A piece of the model's thinking.
    Thought(String),
    /// The part of the current answer that was already shown is withdrawn.
    AnswerDropped {
        /// Why the answer was dropped.
        reason: String,
    },
    /// The model's answer is complete.
    Answered {
        /// The name of the model.
        model: String,
        /// The tokens that the request used, where the provider reports them.
        usage: Option<Usage>,
        /// The answer, after AfterModel hooks.
        response: Box<Chunk>,
        /// The time from the request to the end of the answer.
        #[serde(rename = "duration_ms", serialize_with = "super::serialize_millis")]
        duration: Duration,
        /// The turn's identifier in logs.
        prompt_id: String,
    },
    /// A request failed, or a hook denied its answer.
    Failed {
        /// The name of the model.
        model: String,
        /// The text of the error.
        error: String,
        /// The time from the request to the failure.
        #[serde(rename = "duration_ms", serialize_with = "super::serialize_millis")]
        duration: Duration,
        /// The turn's identifier in logs.
        prompt_id: String,
    },
    /// The request is sent again after a failed attempt; the text says why.
    Retried(String),
}
