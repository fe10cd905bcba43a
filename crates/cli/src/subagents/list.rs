//! `subagents list`: every sub-agent in a table.

use hookwright_settings::Notice;
use hookwright_settings::subagents::{Definition, discover};
use serde_json::{Value, json};

use crate::hooks::Toolbox;
use crate::out::{self, BOLD, DIM, GOOD, PLAIN, Table};
use crate::{exit, report};

pub(super) fn run(toolbox: &Toolbox, as_json: bool) -> anyhow::Result<u8> {
    let agents = discover(&toolbox.loaded);
    if as_json {
        let list: Vec<Value> = agents.list.iter().map(in_json).collect();
        out::json(&json!({"agents": list, "diagnostics": agents.diagnostics}))?;
        return Ok(exit::OK);
    }
    report::print(&agents.diagnostics)?;
    let untrusted = |notice: &&Notice| matches!(notice, Notice::ProjectNotTrusted { .. });
    toolbox.loaded.notices.iter().filter(untrusted).try_for_each(out::note)?;
    if !toolbox.loaded.settings.agents.enabled {
        out::note("agents are off: `experimental.enableAgents` is false")?;
        return Ok(exit::OK);
    }
    if agents.list.is_empty() {
        out::note("there are no agents here")?;
        out::hint("write one as .gemini/agents/NAME.md")?;
        return Ok(exit::OK);
    }
    let mut table = Table::new(&["AGENT", "SOURCE", "STATE", "TOOLS", "DESCRIPTION"]);
    for agent in &agents.list {
        let (style, state) = if agent.enabled { (GOOD, "enabled") } else { (DIM, "disabled") };
        table.row(vec![
            (BOLD, agent.name.clone()),
            (PLAIN, agent.source.to_string()),
            (style, state.to_owned()),
            (PLAIN, out::shorten(&tools(agent), 40)),
            (PLAIN, out::shorten(&agent.description, 72)),
        ]);
    }
    table.print(&mut out::stdout())?;
    Ok(exit::OK)
}

fn tools(agent: &Definition) -> String {
    let own = agent.servers.iter().map(|server| format!("those of its server {}", server.name));
    let own: Vec<String> = own.collect();
    match agent.tools.names() {
        None => [vec!["all".to_owned()], own].concat().join(", "),
        Some(names) if names.is_empty() && own.is_empty() => "none".to_owned(),
        Some(names) => [names, own].concat().join(", "),
    }
}

/// A sub-agent as JSON; where it has no list of tools, it has the session's.
pub(super) fn in_json(agent: &Definition) -> Value {
    json!({
        "name": agent.name, "display_name": agent.display_name, "description": agent.description,
        "source": agent.source.to_string(), "file": agent.path, "enabled": agent.enabled,
        "tools": agent.tools.names(), "model": agent.model, "temperature": agent.temperature,
        "max_turns": agent.max_turns, "timeout_mins": agent.timeout.as_secs() / 60,
        "mcp_servers": agent.servers.iter().map(|server| &server.name).collect::<Vec<_>>(),
    })
}
