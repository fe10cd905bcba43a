//! `mcp enable` and `mcp disable`: for every project, in the file that Gemini CLI uses too.

use hookwright_hooks::nearest_name;
use hookwright_settings::edit::Switch;
use hookwright_settings::{LoadedConfig, switch_server};

use super::redaction;
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
pub(super) fn unknown_server_error(loaded: &LoadedConfig, name: &str) -> anyhow::Error {
    let all = loaded.mcp_servers();
    let known = all.servers.iter().map(|one| one.name.as_str()).chain(all.skipped.iter().map(|one| one.name.as_str()));
    let near = nearest_name(name, known).map(redaction::visible_name);
    let help = near.map_or_else(
        || "`hookwright mcp list --no-connect` shows them all".to_owned(),
        |near| format!("did you mean `{near}`?"),
    );
    anyhow::anyhow!("no MCP server is called `{}`; {help}", redaction::visible_name(name))
}
