//! Signing in to MCP servers and out of them: which server is meant, and what the user is told. The protocol is in the
//! crate `hookwright-tools`.

use serde::Serialize;

use super::{ActionError, ConfigAccess, NamedItem, UnknownName};
use crate::load::LoadedConfig;
use crate::mcp::{McpServer, ServerSkipReason, TokenFileError, forget_credentials};

/// What the user is told about an account at an MCP server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum McpAccountReport {
    /// There is no such server, or it is not used here.
    Refused(McpServerRefusal),
    /// The page to open in a browser.
    SignInPage {
        /// The server's name.
        name: String,
        /// The host that the user signs in to.
        host: String,
        /// The address of the page.
        page: String,
    },
    /// The user is signed in.
    SignedIn {
        /// The server's name.
        name: String,
    },
    /// The user is not signed in.
    NotSignedIn {
        /// The server's name.
        name: String,
        /// Why not.
        error: ActionError,
    },
    /// The token is forgotten.
    SignedOut {
        /// The server's name.
        name: String,
    },
    /// There is no token.
    NoToken {
        /// The server's name.
        name: String,
    },
}

/// Why an MCP server can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum McpServerRefusal {
    /// No server has that name.
    Unknown(UnknownName),
    /// The server is not used here.
    NotUsed {
        /// Its name.
        name: String,
        /// Why not.
        reason: ServerSkipReason,
    },
}

/// Returns the server of that name, if it is used here.
///
/// # Errors
/// If there is none, or it is not used.
pub fn usable_server(loaded: &LoadedConfig, name: &str) -> Result<McpServer, McpServerRefusal> {
    let all = loaded.mcp_servers();
    match all.find(name) {
        Ok(server) => Ok(server.clone()),
        Err(Some(skipped)) => Err(McpServerRefusal::NotUsed { name: name.to_owned(), reason: skipped.reason.clone() }),
        Err(None) => Err(McpServerRefusal::Unknown(unknown_server(loaded, name))),
    }
}

/// Describes the name of a server that does not exist.
pub fn unknown_server(loaded: &LoadedConfig, name: &str) -> UnknownName {
    let all = loaded.mcp_servers();
    let known = all.servers.iter().map(|one| one.name.as_str()).chain(all.skipped.iter().map(|one| one.name.as_str()));
    UnknownName::new(NamedItem::McpServer, name, known)
}

/// Forgets the token of a server, which may be gone from the settings.
///
/// # Errors
/// If the file of tokens can't be read or written.
pub fn sign_out(access: &impl ConfigAccess, name: &str) -> Result<McpAccountReport, TokenFileError> {
    let file = &access.loaded().paths.mcp_tokens.clone();
    let name = name.to_owned();
    match access.change_file(file, || forget_credentials(file, &name))? {
        true => Ok(McpAccountReport::SignedOut { name }),
        false => Ok(McpAccountReport::NoToken { name }),
    }
}
