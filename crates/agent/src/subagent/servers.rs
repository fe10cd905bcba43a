//! MCP servers that belong to one sub-agent: started and ended with it.
//!
//! Their tools pass the same hooks, approval rules and questions as all others.
//! `settings::subagents` decides which servers count.

use std::sync::Arc;
use std::time::Duration;

use hookwright_settings::subagents::SubAgentDefinition;
use hookwright_settings::{McpServer, McpTransport};
use hookwright_tools::mcp::{McpEvent, McpServerSet, aliases};
use tokio_util::sync::CancellationToken;

use crate::event::AgentNotice;
use crate::services::{Interaction, Services};
use crate::session::mcp_servers as session;

/// The time that a sub-agent waits for its servers before it begins without them.
const SERVER_START_TIMEOUT: Duration = Duration::from_secs(30);

/// The MCP servers of a running sub-agent, if it has any.
pub(super) struct SubAgentServers(Option<Arc<McpServerSet>>);

impl SubAgentServers {
    /// Starts the servers and waits until each has started or failed. `services` are the sub-agent's own.
    pub(super) async fn start(
        definition: &SubAgentDefinition,
        services: &Services,
        cancel: &CancellationToken,
    ) -> Self {
        if definition.servers.is_empty() {
            return SubAgentServers(None);
        }
        if definition.servers.iter().any(|server| matches!(server.transport, McpTransport::Stdio { .. })) {
            services.tamper_watch.note_servers_started();
        }
        // A rule that names a server of the session does not cover the sub-agent's servers.
        let others: Vec<McpServer> = services.servers.views().into_iter().map(|one| one.server).collect();
        let mut named = aliases(&[&definition.servers[..], &others].concat());
        named.retain(|name, _| definition.servers.iter().any(|own| own.name == *name));
        services.approvals.add_server_names(named);
        let (tools, events, list) = (services.tools.clone(), services.events.clone(), definition.tools.clone());
        let servers = services.servers.for_subagent(move |mut message| {
            if let McpEvent::ToolsChanged(_, brought) = &mut message {
                brought.retain(|tool| {
                    list.allows_own_server_tool(tool.name(), tool.mcp_origin().map(|of| of.mcp_name(tool.name())))
                });
            }
            // The user has no way to restart a sub-agent's server, so its messages offer none.
            session::forward_server_message(message, &tools, &events, Interaction::Headless);
        });
        servers.set_with_others(definition.servers.clone(), &others);
        for name in servers.wait_settled(SERVER_START_TIMEOUT, cancel).await {
            let text = format!("MCP server {name} is not available after {} s; ", SERVER_START_TIMEOUT.as_secs());
            services.events.send(AgentNotice::Warning(format!("{text}agent {} begins without it", definition.name)));
        }
        SubAgentServers(Some(servers))
    }

    /// Returns the instructions of the servers for the system prompt.
    pub(super) fn instructions(&self) -> Option<String> {
        session::server_instructions_section(&self.0.as_ref()?.instructions())
    }

    /// Ends the servers and waits for them.
    pub(super) async fn shut_down(self) {
        if let Some(servers) = self.0 {
            servers.shutdown().await;
        }
    }
}
