//! Signing in to servers elsewhere: OAuth 2.1 with PKCE, for a program without a secret, on the user's own machine.
//!
//! `web.rs` is the way out and its bounds, `discover.rs` finds who gives out tokens, `client.rs` who this program is to them,
//! `loopback.rs` hears the browser come back, `token.rs` gets and renews tokens, `sign_in.rs` is the order of all that, and
//! `tokens.rs` has them at hand for a session. Where they are kept is the settings' business, what a server does is `mcp`'s.

mod client;
mod discover;
mod error;
mod loopback;
mod sign_in;
mod token;
mod tokens;
mod web;

pub use error::OAuthError;
pub use sign_in::{SignIn, sign_in};
pub use tokens::OAuthTokens;

#[cfg(test)]
mod tests;
