//! `subagents list`: prints every sub-agent in a table.

use hookwright_settings::Notice;
use hookwright_settings::subagents::{SubAgentDefinition, discover};
use serde_json::{Value, json};

use crate::commands::hooks::LoadedProject;
use crate::output::{self, BOLD, DIM, GOOD, PLAIN, TextTable};
use crate::{exit, output::diagnostics};

pub(super) fn run(toolbox: &LoadedProject, as_json: bool) -> anyhow::Result<u8> {
    let agents = discover(&toolbox.loaded);
    if as_json {
        let list: Vec<Value> = agents.list.iter().map(subagent_json).collect();
        output::print_json(&json!({"agents": list, "diagnostics": agents.diagnostics}))?;
        return Ok(exit::OK);
    }
    diagnostics::print(&agents.diagnostics)?;
    let untrusted = |notice: &&Notice| matches!(notice, Notice::ProjectNotTrusted { .. });
    toolbox.loaded.notices.iter().filter(untrusted).try_for_each(output::note)?;
    if !toolbox.loaded.settings.agents.enabled {
        output::note("agents are off: `experimental.enableAgents` is false")?;
        return Ok(exit::OK);
    }
    if agents.list.is_empty() {
        output::note("there are no agents here")?;
        output::hint("write one as .gemini/agents/NAME.md")?;
        return Ok(exit::OK);
    }
    let mut table = TextTable::new(&["AGENT", "SOURCE", "STATE", "TOOLS", "DESCRIPTION"]);
    for agent in &agents.list {
        let (style, state) = if agent.enabled { (GOOD, "enabled") } else { (DIM, "disabled") };
        table.add_row(vec![
            (BOLD, agent.name.clone()),
            (PLAIN, agent.source.to_string()),
            (style, state.to_owned()),
            (PLAIN, output::truncate_columns(&tools_text(agent), 40)),
            (PLAIN, output::truncate_columns(&agent.description, 72)),
        ]);
    }
    table.print(&mut output::stdout())?;
    Ok(exit::OK)
}

fn tools_text(agent: &SubAgentDefinition) -> String {
    let own = agent.servers.iter().map(|server| format!("those of its server {}", server.name));
    let own: Vec<String> = own.collect();
    match agent.tools.names() {
        None => [vec!["all".to_owned()], own].concat().join(", "),
        Some(names) if names.is_empty() && own.is_empty() => "none".to_owned(),
        Some(names) => [names, own].concat().join(", "),
    }
}

/// Formats a sub-agent as JSON; `tools` is null where it has the session's tools.
pub(super) fn subagent_json(agent: &SubAgentDefinition) -> Value {
    json!({
        "name": agent.name, "display_name": agent.display_name, "description": agent.description,
        "source": agent.source.to_string(), "file": agent.path, "enabled": agent.enabled,
        "tools": agent.tools.names(), "model": agent.model, "temperature": agent.temperature,
        "max_turns": agent.max_turns, "timeout_mins": agent.timeout.as_secs() / 60,
        "mcp_servers": agent.servers.iter().map(|server| &server.name).collect::<Vec<_>>(),
    })
}
