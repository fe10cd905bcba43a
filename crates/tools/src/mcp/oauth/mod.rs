//! Signing in to remote MCP servers: OAuth 2.1 with PKCE, as a public client on the user's machine.
//!
//! `http_client.rs` sends the requests, `discovery.rs` finds the authorisation server, `client.rs` gets the client
//! identity, `loopback.rs` receives the browser's callback, `token_request.rs` requests and renews tokens, `sign_in.rs`
//! runs these steps in order, and `token_store.rs` provides the tokens of a session. The settings crate stores the
//! tokens in a file.

mod client;
mod discovery;
mod error;
mod http_client;
mod loopback;
mod sign_in;
mod token_request;
mod token_store;

pub use error::OAuthError;
pub use sign_in::{SignInOptions, sign_in};
pub use token_store::OAuthTokens;

#[cfg(test)]
mod tests;
