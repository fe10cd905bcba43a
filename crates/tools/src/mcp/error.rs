//! Errors of MCP servers, with messages for users and models. The client decides about reconnecting.

use std::time::Duration;

use super::remote::printable_name;

/// Why a server, or one request to it, failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The server's program can't be started.
    #[error("`{command}` can't be started: {why}")]
    SpawnFailed { command: String, why: String },
    /// The server can't be reached, or answers with something other than the protocol.
    #[error("{0}")]
    Unreachable(String),
    /// No server listens at the address.
    #[error("no server answers at {place}: {why}")]
    ConnectFailed {
        /// The address, without secrets.
        place: String,
        why: String,
    },
    /// The server requires authentication.
    #[error("it needs authentication")]
    Unauthorized {
        /// The server's `WWW-Authenticate` header.
        challenge: Option<String>,
    },
    /// The connection is closed.
    #[error("the server is gone: {0}")]
    Closed(String),
    /// The server does not answer in time.
    #[error("no answer within {}", seconds(.0))]
    TimedOut(Duration),
    /// The server answers with an error.
    #[error("{message} (code {code})")]
    Refused {
        /// The JSON-RPC error code.
        code: i32,
        /// The server's message.
        message: String,
    },
    /// The answer violates the protocol.
    #[error("{0}")]
    InvalidResponse(String),
    /// The caller cancelled the request.
    #[error("cancelled")]
    Cancelled,
}

impl McpError {
    /// Returns what the user can do about it.
    pub fn hint(&self, server: &str) -> Option<String> {
        Some(match self {
            McpError::SpawnFailed { .. } => "install the program, or write its full path as `command`".to_owned(),
            McpError::ConnectFailed { .. } => "start the server, or check its address in the settings".to_owned(),
            McpError::Unauthorized { .. } => format!("sign in with `hookwright mcp auth {}`", printable_name(server)),
            McpError::Unreachable(why) if why.starts_with("HTTP 4") => {
                "the address is not that of an MCP server: check its path (often /mcp or /sse)".to_owned()
            }
            McpError::InvalidResponse(_) => {
                "the program or server there does not speak MCP; check `command` or `url`".to_owned()
            }
            McpError::TimedOut(_) => "raise its `timeout`, or check whether it waits for something".to_owned(),
            _ => return None,
        })
    }

    /// Returns whether the server does not know the method, as with servers that lack a part of the protocol.
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
