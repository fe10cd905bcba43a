//! `mcp enable` and `mcp disable`: for every project, in the file that Gemini CLI uses too.

use hookwright_settings::administration::unknown_server;
use hookwright_settings::edit::Switch;
use hookwright_settings::{LoadedConfig, switch_server};

use super::redaction;
use crate::presentation::CommandStyle;
use crate::presentation::administration::unknown_name_text;
use crate::{exit, output};

pub(crate) fn run(loaded: &LoadedConfig, name: &str, switch: Switch) -> anyhow::Result<u8> {
    let all = loaded.mcp_servers();
    let mut known = all.servers.iter().map(|one| &one.name).chain(all.skipped.iter().map(|one| &one.name));
    let is_known = known.any(|known| known.trim().to_lowercase() == name.trim().to_lowercase());
    let name_shown = redaction::visible_name(name);
    // A server that is gone from the settings can still be removed from the record.
    if !is_known && switch == Switch::Disable {
        return Err(unknown_server_error(loaded, name));
    }
    let changed = switch_server(&loaded.paths, name, switch)?;
    let verb = match switch {
        Switch::Enable => "on",
        Switch::Disable => "off",
    };
    match changed {
        true => output::note(format!("MCP server `{name_shown}` is {verb}"))?,
        false if !is_known => return Err(unknown_server_error(loaded, name)),
        false => output::note(format!("MCP server `{name_shown}`: already {verb}"))?,
    }
    Ok(exit::OK)
}

/// Builds the error for an unknown server name, with a suggestion.
fn unknown_server_error(loaded: &LoadedConfig, name: &str) -> anyhow::Error {
    anyhow::anyhow!(unknown_name_text(&unknown_server(loaded, name), CommandStyle::Shell))
}
