//! `mcp remove`: removes a server's entry from a settings file.

use anyhow::bail;
use hookwright_hooks::Source;
use hookwright_settings::LoadedConfig;
use hookwright_settings::edit::{SettingsChange, apply_change};

use super::{redaction, settings_file};
use crate::args::McpScopeArg;
use crate::{exit, output};

pub(crate) fn run(loaded: &LoadedConfig, name: &str, scope: McpScopeArg) -> anyhow::Result<u8> {
    let file = settings_file(loaded, scope)?;
    let way = vec!["mcpServers".to_owned(), name.to_owned()];
    let name_shown = redaction::visible_name(name);
    if apply_change(&file, &SettingsChange::Remove(way))? {
        output::note(format!("removed MCP server `{name_shown}` from {}", file.display()))?;
        return Ok(exit::OK);
    }
    let all = loaded.mcp_servers();
    let origins = all.servers.iter().map(|one| (&one.name, &one.origin));
    let origins = origins.chain(all.skipped.iter().map(|one| (&one.name, &one.origin)));
    let elsewhere = origins.filter(|(known, _)| *known == name).map(|(_, origin)| origin).next();
    let advice = match elsewhere {
        Some(Source::User) => "it is in yours: `--scope user`".to_owned(),
        Some(Source::Extension(extension)) => {
            format!(
                "it comes with extension `{}`; `hookwright mcp disable` switches it off",
                redaction::visible_name(extension)
            )
        }
        Some(Source::System) => "it is in the system's; `hookwright mcp disable` switches it off".to_owned(),
        Some(Source::Project | Source::Runtime) => "it is in the project's: `--scope project`".to_owned(),
        None => "`hookwright mcp list` shows them all".to_owned(),
    };
    bail!("the {} settings have no MCP server `{name_shown}`; {advice}", scope.as_str())
}
