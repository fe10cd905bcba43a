//! Servers that speak the Model Context Protocol: their tools, resources and prompts.
//!
//! `transport/` connects to one server, `remote.rs` parses its lists, `client.rs` manages the connection to one server
//! and `servers.rs` all servers of a session; `oauth/` signs the user in. The caller decides which servers there are
//! and whether a call may run.

mod access;
mod client;
mod error;
mod inventory;
mod names;
mod oauth;
mod probe;
mod remote;
mod resources;
mod result;
mod schema_compat;
mod servers;
mod tool;
mod transport;

pub use access::{McpAccess, TokenProvider};
pub use client::McpConnectionStatus;
pub use error::McpError;
pub use inventory::Inventory;
pub use names::{aliases, session_names};
pub use oauth::{OAuthError, OAuthTokens, SignInOptions, sign_in};
pub use probe::{McpProbe, probe};
pub use remote::{PromptArgument, RemotePrompt, RemoteResource, RemoteTool};
pub use servers::{McpEvent, McpServerSet, McpServerView};
pub use tool::McpToolOrigin;
