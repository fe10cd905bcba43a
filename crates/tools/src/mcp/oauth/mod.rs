//! Signing in to servers elsewhere: OAuth 2.1 with PKCE, for a program without a secret, on the user's own machine.
//!
//! `http_client.rs` is the way out and its bounds, `discovery.rs` finds who gives out tokens, `client.rs` who this program is to them,
//! `loopback.rs` hears the browser come back, `token_request.rs` gets and renews tokens, `sign_in.rs` is the order of all that, and
//! `token_store.rs` has them at hand for a session. Where they are kept is the settings' business, what a server does is `mcp`'s.

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
