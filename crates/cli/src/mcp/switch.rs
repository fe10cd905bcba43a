//! `mcp enable` and `mcp disable`: for every project, in the record that Gemini CLI keeps too.

use anyhow::bail;
use hookwright_settings::edit::Switch;
use hookwright_settings::{Loaded, switch_server};

use super::shown;
use crate::{exit, out};

pub(crate) fn run(loaded: &Loaded, name: &str, switch: Switch) -> anyhow::Result<u8> {
    let all = loaded.mcp_servers();
    let mut known = all.servers.iter().map(|one| &one.name).chain(all.left_out.iter().map(|one| &one.name));
    let is_known = known.any(|known| known.trim().to_lowercase() == name.trim().to_lowercase());
    let name_shown = shown::name(name);
    // One that is gone from the settings can still be taken off the record.
    if !is_known && switch == Switch::Disable {
        bail!("no MCP server is called `{name_shown}`; `hookwright mcp list` shows them all");
    }
    let changed = switch_server(&loaded.paths, name, switch)?;
    let verb = match switch {
        Switch::Enable => "on",
        Switch::Disable => "off",
    };
    match changed {
        true => out::note(format!("MCP server `{name_shown}` is {verb}"))?,
        false if !is_known => bail!("no MCP server is called `{name_shown}`"),
        false => out::note(format!("MCP server `{name_shown}`: already {verb}"))?,
    }
    Ok(exit::OK)
}
