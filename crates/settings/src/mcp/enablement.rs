//! Reads and changes the record of disabled servers, a file beside the settings that is shared with Gemini CLI.

use hookwright_hooks::{Diagnostic, Severity};
use serde_json::{Map, Value, json};

use crate::edit::{self, EditError, Switch};
use crate::file::read_text;
use crate::json::parse_map;
use crate::paths::ConfigPaths;

pub(crate) const MCP_ENABLEMENT_FILE: &str = "mcp-server-enablement.json";

/// The servers that the user has disabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DisabledServers {
    /// The names of disabled servers.
    Names(Vec<String>),
    /// The record can't be read.
    Unknown,
}

impl Default for DisabledServers {
    fn default() -> Self {
        DisabledServers::Names(Vec::new())
    }
}

impl DisabledServers {
    /// Reads the record.
    pub(crate) fn read(paths: &ConfigPaths, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let file = paths.user_dir.join(MCP_ENABLEMENT_FILE);
        let text = match read_text(&file) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => {
                diagnostics.push(error.diagnostic());
                return DisabledServers::Unknown;
            }
        };
        match parse_map(&file, &text) {
            Ok(record) => DisabledServers::Names(
                record.iter().filter(|(_, state)| is_disabled(state)).map(|(name, _)| name.clone()).collect(),
            ),
            Err(_) => {
                let text = "this list of switched-off MCP servers can't be read, so no MCP server is started";
                let wrong = Diagnostic::about_file(Severity::Error, &file, text);
                diagnostics.push(wrong.help("correct or remove it"));
                DisabledServers::Unknown
            }
        }
    }
}

fn is_disabled(state: &Value) -> bool {
    state.get("enabled") == Some(&Value::Bool(false))
}

/// Enables or disables a server for all projects, and returns whether the record changed.
///
/// # Errors
/// If the record can't be read or written; it is unchanged then.
pub fn switch_server(paths: &ConfigPaths, name: &str, switch: Switch) -> Result<bool, EditError> {
    let file = paths.user_dir.join(MCP_ENABLEMENT_FILE);
    let key = name.trim().to_lowercase();
    edit::rewrite(&file, |text| {
        let mut record = parse_map(&file, text).map_err(EditError::Broken)?;
        let is_off = record.get(&key).is_some_and(is_disabled);
        match switch {
            Switch::Disable if is_off => return Ok(text.to_owned()),
            Switch::Enable if !record.contains_key(&key) => return Ok(text.to_owned()),
            Switch::Disable => drop(record.insert(key, json!({"enabled": false}))),
            Switch::Enable => drop(record.remove(&key)),
        }
        Ok(to_json_text(&record))
    })
}

fn to_json_text(record: &Map<String, Value>) -> String {
    let mut text = serde_json::to_string_pretty(record).unwrap_or_default();
    text.push('\n');
    text
}
