//! Why a server can't be used, in words for people and for the model. What is done about it is the client's business.

use std::time::Duration;

/// Why a server, or one request to it, failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// Its program can't be started.
    #[error("`{command}` can't be started: {why}")]
    NotStarted {
        /// The program.
        command: String,
        /// Why.
        why: String,
    },
    /// It can't be reached, or answers with something else than the protocol.
    #[error("{0}")]
    Unreachable(String),
    /// It wants to know who asks.
    #[error("it needs authentication")]
    Unauthorized {
        /// What it says about that (`WWW-Authenticate`).
        challenge: Option<String>,
    },
    /// It is gone.
    #[error("the server is gone: {0}")]
    Closed(String),
    /// It does not answer.
    #[error("no answer within {}", seconds(.0))]
    TimedOut(Duration),
    /// It answers with an error.
    #[error("{message} (code {code})")]
    Refused {
        /// The protocol's code.
        code: i32,
        /// The server's words.
        message: String,
    },
    /// What it answers makes no sense.
    #[error("{0}")]
    Nonsense(String),
    /// Nobody wants the answer any more.
    #[error("cancelled")]
    Cancelled,
}

impl McpError {
    /// Whether it says that there is no such method, as servers do that lack a whole side of the protocol.
    pub(super) fn is_unknown_method(&self) -> bool {
        matches!(self, McpError::Refused { code: -32601, .. })
    }
}

fn seconds(time: &Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 10.0 => format!("{seconds:.1} s"),
        seconds => format!("{seconds:.0} s"),
    }
}
