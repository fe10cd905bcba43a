//! Why a server can't be used, in words for people and for the model. What is done about it is the client's business.

use std::time::Duration;

use super::remote::printable_name;

/// Why a server, or one request to it, failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// Its program can't be started.
    #[error("`{command}` can't be started: {why}")]
    SpawnFailed {
        /// The program.
        command: String,
        /// Why.
        why: String,
    },
    /// It can't be reached, or answers with something else than the protocol.
    #[error("{0}")]
    Unreachable(String),
    /// Nobody is there at its address.
    #[error("nobody answers at {place}: {why}")]
    ConnectFailed {
        /// The address, without secrets.
        place: String,
        /// Why.
        why: String,
    },
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
    InvalidResponse(String),
    /// Nobody wants the answer any more.
    #[error("cancelled")]
    Cancelled,
}

impl McpError {
    /// What to do about it, for whoever named the server.
    pub fn hint(&self, server: &str) -> Option<String> {
        Some(match self {
            McpError::SpawnFailed { .. } => "install the program, or write its whole path as `command`".to_owned(),
            McpError::ConnectFailed { .. } => "start the server, or look at its address in the settings".to_owned(),
            McpError::Unauthorized { .. } => format!("sign in with `hookwright mcp auth {}`", printable_name(server)),
            McpError::Unreachable(why) if why.starts_with("HTTP 4") => {
                "the address is not an MCP server's: look at its path (often /mcp or /sse)".to_owned()
            }
            McpError::InvalidResponse(_) => "what is there does not speak MCP; look at `command` or `url`".to_owned(),
            McpError::TimedOut(_) => "raise its `timeout`, or look whether it waits for something".to_owned(),
            _ => return None,
        })
    }

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
