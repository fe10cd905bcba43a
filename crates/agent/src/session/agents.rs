//! Discovers, lists, reloads and switches the sub-agents of a running session.

use hookwright_hooks::{Diagnostic, Severity};
use hookwright_settings::LoadedConfig;
use hookwright_settings::administration::{NamedItem, UnknownName};
use hookwright_settings::edit::set_value;
use hookwright_settings::subagents::{SubAgentDefinition, SubAgents, discover};
use serde_json::Value;

use super::actor::SessionActor;
use super::command::AgentsAction;
use super::reply::Reply;
use crate::protect::UntrustedInstructions;

/// Returns the sub-agents of a configuration, without those whose definitions wait for trust.
pub(super) fn trusted_agents(loaded: &LoadedConfig, held: &UntrustedInstructions) -> SubAgents {
    let mut agents = discover(loaded);
    let SubAgents { list, diagnostics, .. } = &mut agents;
    list.retain(|agent| match held.reason_for(&agent.path) {
        Some(why) => {
            diagnostics.push(Diagnostic::about_file(Severity::Warning, &agent.path, why));
            false
        }
        None => true,
    });
    agents
}

impl SessionActor {
    pub(super) fn handle_agents(&mut self, order: AgentsAction) {
        match order {
            AgentsAction::List => self.list_agents(),
            AgentsAction::Reload => {
                self.refresh_agents();
                self.reply_agent_diagnostics();
                self.list_agents();
            }
            AgentsAction::Enable(name) => self.switch_agent(&name, true),
            AgentsAction::Disable(name) => self.switch_agent(&name, false),
        }
    }

    /// Reads the definitions again. The next model request offers the new ones.
    pub(super) fn refresh_agents(&self) {
        let (services, loaded) = (self.services(), self.shared.view().loaded.clone());
        services
            .subagents
            .set_definitions(trusted_agents(&loaded, &services.tamper_watch.untrusted_instructions()), &services.tools);
        self.send_configuration_changed();
    }

    /// Sends a reply for each problem in the definitions.
    pub(super) fn reply_agent_diagnostics(&self) {
        let agents = self.services().subagents.current();
        agents.diagnostics.iter().for_each(|one| self.reply(Reply::Diagnostic(Box::new(one.clone()))));
    }

    fn list_agents(&self) {
        let agents = self.services().subagents.current();
        let settings = &self.shared.view().loaded.settings.agents;
        let none = match settings.enabled {
            true => "there are no agents; write one as .gemini/agents/NAME.md",
            false => "agents are off: `experimental.enableAgents` is false",
        };
        let rows = agents.list.iter().map(agent_row).collect();
        self.reply(if agents.list.is_empty() { Reply::aside(none) } else { Reply::Rows(rows) });
    }

    fn switch_agent(&mut self, name: &str, enabled: bool) {
        let agents = self.services().subagents.current();
        let Some(agent) = agents.list.iter().find(|agent| agent.name == name) else {
            let known = agents.list.iter().map(|agent| agent.name.as_str());
            return self.reply(Reply::Unknown(UnknownName::new(NamedItem::SubAgent, name, known)));
        };
        let verb = if enabled { "enabled" } else { "disabled" };
        if agent.enabled == enabled {
            return self.reply(Reply::aside(format!("agent {name} is {verb} already")));
        }
        let file = self.shared.view().loaded.paths.user_settings.clone();
        let path = ["agents", "overrides", name, "enabled"];
        let set =
            self.services().tamper_watch.with_user_change(&file, || set_value(&file, &path, Value::Bool(enabled)));
        match set {
            Ok(_) => self.reply(Reply::plain(format!("{verb} {name} in {}", file.display()))),
            Err(error) => return self.reply(Reply::error(error)),
        }
        self.reload_configuration(&[]);
    }
}

/// Returns the row that lists an agent: its name, and its description and state.
fn agent_row(agent: &SubAgentDefinition) -> (String, String) {
    let state = if agent.enabled { "" } else { ", disabled" };
    let servers: Vec<&str> = agent.servers.iter().map(|server| server.name.as_str()).collect();
    let own = if servers.is_empty() { String::new() } else { format!(", with MCP server {}", servers.join(", ")) };
    (agent.name.clone(), format!("{} ({}{state}{own})", first_line(&agent.description), agent.source))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
