//! Errors of signing in. Their messages contain no code, token or secret.

use std::time::Duration;

use hookwright_settings::mcp::TokenFileError;

/// Why a user could not be signed in to a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OAuthError {
    /// The server is a program on this machine.
    #[error("it is a program on this machine, which needs no sign-in")]
    LocalServer,
    /// An address is refused.
    #[error("the {what} {url} is not used: {why}")]
    UnusableAddress {
        /// The role that the address would have.
        what: &'static str,
        url: String,
        why: &'static str,
    },
    /// A server can't be reached or gives an invalid response.
    #[error("{host}: {why}")]
    Unreachable { host: String, why: String },
    /// No authorisation server is known for this MCP server.
    #[error("the server does not name an authorisation server")]
    NoAuthorizationServer,
    /// The metadata of the authorisation server names another issuer.
    #[error("the authorisation server {expected} describes itself as {found}")]
    WrongIssuer {
        /// The issuer that was expected.
        expected: String,
        /// The issuer that the metadata names.
        found: String,
    },
    /// The metadata of the MCP server names another resource.
    #[error("the server at {expected} describes itself as {found}")]
    WrongResource {
        /// The resource that was expected.
        expected: String,
        /// The resource that the metadata names.
        found: String,
    },
    /// The authorisation server does not support PKCE, so codes could be stolen.
    #[error("the authorisation server does not declare support for PKCE with S256")]
    NoPkce,
    /// The settings name no client and the authorisation server registers none.
    #[error("the authorisation server does not let programs register themselves")]
    NoRegistration,
    /// The redirect URI does not lead to this machine.
    #[error("`redirectUri` must be http on 127.0.0.1, [::1] or localhost with a port, not {0}")]
    InvalidRedirect(String),
    /// The listener for the browser's callback can't be opened.
    #[error("can't listen on this machine")]
    NoListener(#[source] std::io::Error),
    /// A project's settings name endpoints of different servers.
    #[error("a project's `authorizationUrl` and `tokenUrl` must be on the same server")]
    MixedOrigins,
    /// The callback names another issuer than the authorisation server.
    #[error("the answer comes from {found}, not from {expected}")]
    SenderMismatch {
        /// The issuer that was expected.
        expected: String,
        /// The issuer that the callback names.
        found: String,
    },
    /// The user or the authorisation server refused.
    #[error("the authorisation server refuses: {0}")]
    Refused(String),
    /// The browser did not come back in time.
    #[error("no answer came from the browser within {} minutes", .0.as_secs() / 60)]
    CallbackTimeout(Duration),
    /// The token can't be stored.
    #[error(transparent)]
    Store(#[from] TokenFileError),
}

impl OAuthError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            OAuthError::NoAuthorizationServer | OAuthError::NoPkce => {
                "if you know its addresses, set `authorizationUrl`, `tokenUrl` and `clientId` under `oauth` in the server's entry"
            }
            OAuthError::NoRegistration => {
                "register this program there by hand, and set `clientId` under `oauth` in the server's entry"
            }
            OAuthError::MixedOrigins => "set them in your own settings, ~/.gemini/settings.json",
            OAuthError::CallbackTimeout(_) => "the browser must be on this machine; the address works only once",
            _ => return None,
        })
    }
}
