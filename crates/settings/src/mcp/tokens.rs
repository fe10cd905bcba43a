//! Stores OAuth tokens of MCP servers in Gemini CLI's file. Only the user may read it, and it is replaced atomically
//! under a lock. Tokens are not obtained or refreshed here.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::edit::{self, EditError};
use crate::file::{FileError, read_text};

/// Name of the file in `~/.gemini`.
pub(crate) const TOKENS_FILE: &str = "mcp-oauth-tokens.json";

/// Stored credentials of one server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpCredentials {
    pub server_name: String,
    pub token: McpToken,
    /// Client id of this program at the authorisation server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Client secret that the authorisation server issued at registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// Endpoint that refreshes the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_url: Option<String>,
    /// Address of the server; the token is sent to no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_server_url: Option<String>,
    /// Time of the last change, in milliseconds since 1970.
    #[serde(default)]
    pub updated_at: u64,
}

/// An OAuth token.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToken {
    pub access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// Expiry time, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// Scheme in the `Authorization` header.
    #[serde(default = "bearer")]
    pub token_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

fn bearer() -> String {
    "Bearer".to_owned()
}

/// Leaves out the token and the secret.
impl fmt::Debug for McpCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("McpCredentials");
        out.field("server_name", &self.server_name)
            .field("mcp_server_url", &self.mcp_server_url)
            .finish_non_exhaustive()
    }
}

/// Leaves out the token.
impl fmt::Debug for McpToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpToken").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

/// Why the tokens cannot be read or stored.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The file can't be read.
    #[error(transparent)]
    Read(#[from] FileError),
    /// The file is not a list of tokens.
    #[error("{0} is not a valid list of tokens")]
    Broken(std::path::PathBuf),
    /// The file can't be written.
    #[error(transparent)]
    Write(#[from] EditError),
}

/// Returns the stored credentials of a server, if there are any.
///
/// # Errors
/// If the file can't be read.
pub fn read_credentials(file: &Path, server: &str) -> Result<Option<McpCredentials>, TokenFileError> {
    let text = read_text(file)?.unwrap_or_default();
    let all = parse_entries(file, &text)?;
    let own = all.into_iter().rev().find(|entry| is_for_server(entry, server));
    Ok(own.and_then(|entry| serde_json::from_value(entry).ok()))
}

/// Stores the credentials of a server, replacing older ones.
///
/// # Errors
/// If the file can't be read or written; it is unchanged then.
pub fn save_credentials(file: &Path, credentials: &McpCredentials) -> Result<(), TokenFileError> {
    let entry = serde_json::to_value(credentials).unwrap_or_default();
    change_entry(file, &credentials.server_name, Some(entry)).map(|_| ())
}

/// Removes the credentials of a server, and returns whether there were any.
///
/// # Errors
/// If the file can't be read or written; it is unchanged then.
pub fn forget_credentials(file: &Path, server: &str) -> Result<bool, TokenFileError> {
    if read_text(file)?.is_none() {
        return Ok(false);
    }
    change_entry(file, server, None)
}

fn change_entry(file: &Path, server: &str, new: Option<Value>) -> Result<bool, TokenFileError> {
    let mut broken = None;
    let changed = edit::rewrite_private(file, |text| {
        let mut all = match parse_entries(file, text) {
            Ok(all) => all,
            Err(error) => {
                // A file that is no list is not overwritten.
                broken = Some(error);
                return Ok(text.to_owned());
            }
        };
        let before = all.len();
        all.retain(|entry| !is_for_server(entry, server));
        if new.is_none() && all.len() == before {
            return Ok(text.to_owned());
        }
        all.extend(new);
        let mut text = serde_json::to_string_pretty(&all).unwrap_or_default();
        text.push('\n');
        Ok(text)
    })?;
    broken.map_or(Ok(changed), Err)
}

fn is_for_server(entry: &Value, server: &str) -> bool {
    entry.as_object().and_then(|entry: &Map<String, Value>| entry.get("serverName")).and_then(Value::as_str)
        == Some(server)
}

fn parse_entries(file: &Path, text: &str) -> Result<Vec<Value>, TokenFileError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(text).map_err(|_| TokenFileError::Broken(file.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_credentials(server: &str, token: &str) -> McpCredentials {
        let token = McpToken {
            access_token: token.to_owned(),
            refresh_token: None,
            expires_at: Some(5),
            token_type: bearer(),
            scope: None,
        };
        McpCredentials {
            server_name: server.to_owned(),
            token,
            client_id: Some("me".to_owned()),
            client_secret: None,
            token_url: None,
            mcp_server_url: None,
            updated_at: 1,
        }
    }

    #[test]
    fn tokens_are_stored_per_server_in_a_private_file() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(".gemini").join(TOKENS_FILE);
        assert_eq!(read_credentials(&file, "a").unwrap(), None);
        assert!(!forget_credentials(&file, "a").unwrap());
        assert!(!file.exists());
        save_credentials(&file, &sample_credentials("a", "one")).unwrap();
        save_credentials(&file, &sample_credentials("b", "two")).unwrap();
        save_credentials(&file, &sample_credentials("a", "three")).unwrap();
        assert_eq!(read_credentials(&file, "a").unwrap().unwrap().token.access_token, "three");
        assert_eq!(read_credentials(&file, "b").unwrap(), Some(sample_credentials("b", "two")));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert!(forget_credentials(&file, "a").unwrap());
        assert_eq!(read_credentials(&file, "a").unwrap(), None);
        assert!(!format!("{:?}", sample_credentials("a", "hunter2")).contains("hunter2"));
    }

    #[test]
    fn gemini_cli_tokens_are_read_and_other_files_stay_unchanged() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join(TOKENS_FILE);
        let theirs = r#"[{"serverName": "g", "token": {"accessToken": "t", "expiresAt": 7, "tokenType": "Bearer"},
            "clientId": "c", "tokenUrl": "https://as/token", "mcpServerUrl": "https://h/mcp", "updatedAt": 1, "own": 1}, 5]"#;
        std::fs::write(&file, theirs).unwrap();
        assert_eq!(read_credentials(&file, "g").unwrap().unwrap().mcp_server_url.as_deref(), Some("https://h/mcp"));
        save_credentials(&file, &sample_credentials("a", "one")).unwrap();
        let text = hookwright_testkit::fs::read_to_string(&file).unwrap();
        assert!(text.contains("\"own\": 1"), "{text}");
        std::fs::write(&file, "{}").unwrap();
        assert!(save_credentials(&file, &sample_credentials("a", "one")).is_err());
        assert_eq!(hookwright_testkit::fs::read_to_string(&file).unwrap(), "{}");
    }
}
