//! Servers that speak the Model Context Protocol: their tools, resources and prompts, as this session's.
//!
//! `wire/` is the way to one server and alone knows `rmcp`, `read.rs` understands what it says, `client.rs` is one server's
//! life, `servers.rs` all of a session, `oauth/` how a user is let in. Which servers there are, and whether a call may run, is others' business.

mod access;
mod client;
mod error;
mod inventory;
mod mend;
mod names;
mod oauth;
mod probe;
mod read;
mod resources;
mod result;
mod servers;
mod tool;
mod wire;

pub use access::{Access, Tokens};
pub use client::Status;
pub use error::McpError;
pub use inventory::Inventory;
pub use names::{aliases, session_names};
pub use oauth::{OAuthError, OAuthTokens, SignIn, sign_in};
pub use probe::{Probe, probe};
pub use read::{PromptArgument, RemotePrompt, RemoteResource, RemoteTool};
pub use servers::{ServerView, Servers, Told};
pub use tool::ServerTool;
