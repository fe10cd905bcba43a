//! Errors of a model: the kind, the cause, and what the user can do about it.
//! The hint is separate from the message so that the caller can show both. This module prints nothing.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::api_error::ApiError;
use crate::finish::FinishReason;
use crate::replay::ReplayError;

/// Why a model did not answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The caller cancelled the request.
    #[error("cancelled")]
    Cancelled,
    /// The server could not be reached.
    #[error("cannot reach {server}: {}", root_cause(.source.as_ref()))]
    Connect {
        /// The server's host and port.
        server: String,
        /// The error of the network stack.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server did not answer in time.
    #[error("{server} sent nothing for too long")]
    Timeout {
        /// The server's host and port.
        server: String,
    },
    /// The server answered with an error.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The answer stopped before it was complete.
    #[error("the answer was cut off after {chunks} chunks: {detail}")]
    CutOff {
        /// The number of chunks that arrived.
        chunks: usize,
        /// The reason why the stream ended.
        detail: String,
    },
    /// The server sent something that is not an answer.
    #[error("{server} sent something that cannot be read: {detail}")]
    Malformed {
        /// The server's host and port.
        server: String,
        /// The parse error and the start of the data.
        detail: String,
    },
    /// The answer exceeds the size limit.
    #[error("the answer is larger than {} MiB and was dropped", .largest >> 20)]
    TooLarge {
        /// The limit, in bytes of memory.
        largest: usize,
    },
    /// The answer ended without text and without a readable tool call.
    #[error("{}", .reason.as_ref().and_then(FinishReason::user_message).unwrap_or("the model gave an empty answer"))]
    NoAnswer {
        /// The finish reason, if the provider gave one.
        reason: Option<FinishReason>,
    },
    /// The provider refused the prompt.
    #[error("the prompt was refused: {reason}{}", .message.as_deref().map(|m| format!(": {m}")).unwrap_or_default())]
    Blocked {
        /// The provider's reason, for example `SAFETY`.
        reason: String,
        /// The provider's explanation.
        message: Option<String>,
    },
    /// The replay file has no answer for this request.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The recording cannot be written.
    #[error("cannot record to {}: {source}", .path.display())]
    Record {
        /// The path of the recording.
        path: PathBuf,
        /// The error of the file system.
        #[source]
        source: io::Error,
    },
    /// The provider has no such function.
    #[error("{provider} cannot {what}")]
    Unsupported {
        /// The provider's name.
        provider: &'static str,
        /// The function that was requested.
        what: &'static str,
    },
    /// The model's configuration cannot work.
    #[error("{0}")]
    Config(String),
}

/// Whether a retry may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryAdvice {
    /// A retry does not help.
    No,
    /// A retry may help after a while; the server may say how long.
    Server(Option<Duration>),
    /// A retry may help after a while, but with few attempts: there may be no server at the address.
    Connection,
}

impl ModelError {
    /// Returns what the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Api(error) => error.hint(),
            Self::Replay(error) => error.hint().map(str::to_owned),
            Self::Connect { .. } => Some("check the network and the base URL; is the server running?".to_owned()),
            Self::Timeout { .. } => Some("try again, or raise the read timeout".to_owned()),
            Self::CutOff { .. } => Some("try again; the connection was lost".to_owned()),
            Self::Malformed { .. } => {
                Some("check that the base URL is the API's and not a web page or proxy".to_owned())
            }
            Self::TooLarge { .. } => Some("ask for less at once, or try again".to_owned()),
            Self::Blocked { .. } => Some("rephrase the prompt".to_owned()),
            Self::NoAnswer { reason } => match reason {
                Some(reason) if reason.is_blocked() => Some("rephrase the prompt".to_owned()),
                _ => Some("try again, or use another model".to_owned()),
            },
            Self::Unsupported { .. } => Some("use a Gemini model for this".to_owned()),
            Self::Cancelled | Self::Record { .. } | Self::Config(_) => None,
        }
    }

    /// Returns the same error with `change` applied to every text from a server, which may repeat secrets.
    #[must_use]
    pub fn map_text(self, change: &dyn Fn(&str) -> String) -> Self {
        match self {
            Self::Connect { server, source } => {
                Self::Connect { server, source: change(&root_cause(source.as_ref())).into() }
            }
            Self::Api(error) => Self::Api(ApiError { message: change(&error.message), ..error }),
            Self::CutOff { chunks, detail } => Self::CutOff { chunks, detail: change(&detail) },
            Self::Malformed { server, detail } => Self::Malformed { server, detail: change(&detail) },
            Self::Blocked { reason, message } => {
                Self::Blocked { reason: change(&reason), message: message.map(|text| change(&text)) }
            }
            Self::Config(text) => Self::Config(change(&text)),
            Self::Cancelled
            | Self::Timeout { .. }
            | Self::TooLarge { .. }
            | Self::NoAnswer { .. }
            | Self::Replay(_)
            | Self::Record { .. }
            | Self::Unsupported { .. } => self,
        }
    }

    /// Returns whether this is a cancellation and not a failure.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    /// Returns whether the model gave no answer for a reason that need not apply to the next attempt.
    #[must_use]
    pub fn is_transient_no_answer(&self) -> bool {
        let Self::NoAnswer { reason } = self else { return false };
        !reason.as_ref().is_some_and(|reason| reason.is_blocked() || *reason == FinishReason::MaxTokens)
    }

    /// Returns whether a retry of the same request may help.
    pub(crate) fn retry_advice(&self) -> RetryAdvice {
        match self {
            Self::Api(error) => error.retry_advice(),
            Self::Connect { .. } => RetryAdvice::Connection,
            Self::CutOff { chunks: 0, .. } => RetryAdvice::Server(None),
            _ => RetryAdvice::No,
        }
    }
}

/// Returns the innermost cause: outer layers of network errors only say that there was an error.
pub(crate) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
