//! Why nobody could be signed in, in words. None of them has a code, a token or a secret in it.

use std::time::Duration;

use hookwright_settings::mcp::TokenFileError;

/// Why a user could not be signed in to a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OAuthError {
    /// It is a program on this machine.
    #[error("it is a program on this machine, which needs no signing in")]
    LocalServer,
    /// An address that is not used, for that reason.
    #[error("the {what} {url} is not used: {why}")]
    UnusableAddress {
        /// What it would have been.
        what: &'static str,
        /// The address.
        url: String,
        /// Why not.
        why: &'static str,
    },
    /// Somebody can't be reached or answers with something else.
    #[error("{host}: {why}")]
    Unreachable {
        /// Who.
        host: String,
        /// Why.
        why: String,
    },
    /// Nobody is known to give out tokens for this server.
    #[error("the server does not say who gives out tokens for it")]
    NoAuthorizationServer,
    /// The description of the authorisation server is another one's.
    #[error("the authorisation server {expected} describes itself as {found}")]
    WrongIssuer {
        /// Who it should be.
        expected: String,
        /// Who it says it is.
        found: String,
    },
    /// The description of the server is another one's.
    #[error("the server at {expected} describes itself as {found}")]
    WrongResource {
        /// Which it should be.
        expected: String,
        /// Which it says it is.
        found: String,
    },
    /// Codes could be stolen on the way.
    #[error("the authorisation server does not say that it knows PKCE with S256")]
    NoPkce,
    /// It is unknown who this program is.
    #[error("the authorisation server registers no programs by itself")]
    NoRegistration,
    /// The user would be sent away from this machine.
    #[error("`redirectUri` must be http on 127.0.0.1, [::1] or localhost with a port, not {0}")]
    InvalidRedirect(String),
    /// Nothing on this machine can hear the browser.
    #[error("can't listen on this machine")]
    NoListener(#[source] std::io::Error),
    /// A project's settings name places that do not belong together.
    #[error("a project's `authorizationUrl` and `tokenUrl` must be of one server")]
    MixedOrigins,
    /// The answer is for, or from, somebody else.
    #[error("the answer comes from {found}, not from {expected}")]
    SenderMismatch {
        /// Who was asked.
        expected: String,
        /// Who answered.
        found: String,
    },
    /// The user, or the authorisation server, said no.
    #[error("the authorisation server refuses: {0}")]
    Refused(String),
    /// Nobody came back.
    #[error("nobody came back from the browser within {} minutes", .0.as_secs() / 60)]
    CallbackTimeout(Duration),
    /// What was got can't be kept.
    #[error(transparent)]
    Store(#[from] TokenFileError),
}

impl OAuthError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            OAuthError::NoAuthorizationServer | OAuthError::NoPkce => {
                "if you know better, say `authorizationUrl`, `tokenUrl` and `clientId` under `oauth` in the server's entry"
            }
            OAuthError::NoRegistration => {
                "register this program there by hand, and say `clientId` under `oauth` in the server's entry"
            }
            OAuthError::MixedOrigins => "say them in your own settings, ~/.gemini/settings.json",
            OAuthError::CallbackTimeout(_) => "the browser must be on this machine; the address is good for one try",
            _ => return None,
        })
    }
}
