//! `mcp remove`: takes a server's entry out of a settings file.

use anyhow::bail;
use hookwright_hooks::Source;
use hookwright_settings::Loaded;
use hookwright_settings::edit::{Change, apply};

use super::{file_of, shown};
use crate::args::McpScope;
use crate::{exit, out};

pub(crate) fn run(loaded: &Loaded, name: &str, scope: McpScope) -> anyhow::Result<u8> {
    let file = file_of(loaded, scope)?;
    let way = vec!["mcpServers".to_owned(), name.to_owned()];
    let name_shown = shown::name(name);
    if apply(&file, &Change::Remove(way))? {
        out::note(format!("removed MCP server `{name_shown}` from {}", file.display()))?;
        return Ok(exit::OK);
    }
    let all = loaded.mcp_servers();
    let origins = all.servers.iter().map(|one| (&one.name, &one.origin));
    let origins = origins.chain(all.left_out.iter().map(|one| (&one.name, &one.origin)));
    let elsewhere = origins.filter(|(known, _)| *known == name).map(|(_, origin)| origin).next();
    let advice = match elsewhere {
        Some(Source::User) => "it is in yours: `--scope user`".to_owned(),
        Some(Source::Extension(extension)) => {
            format!("it comes with extension `{}`; `hookwright mcp disable` switches it off", shown::name(extension))
        }
        Some(Source::System) => "it is in the system's; `hookwright mcp disable` switches it off".to_owned(),
        Some(Source::Project | Source::Runtime) => "it is in the project's: `--scope project`".to_owned(),
        None => "`hookwright mcp list` shows them all".to_owned(),
    };
    bail!("the {} settings have no MCP server `{name_shown}`; {advice}", scope.as_str())
}
