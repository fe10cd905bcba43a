//! Servers that speak the Model Context Protocol: their tools, resources and prompts, as this session's.
//!
//! `wire/` is the way to one server and alone knows `rmcp`, `remote.rs` understands what it says, `client.rs` is one server's
//! life, `servers.rs` all of a session, `oauth/` how a user is let in. Which servers there are, and whether a call may run, is others' business.

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
