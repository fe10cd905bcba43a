//! MCP servers that one agent alone has: started as it begins, ended as it ends. Their tools stand behind the same hooks, rules
//! and questions as all others. Which of them count is decided by `settings::subagents`.

use std::sync::Arc;
use std::time::Duration;

use hookwright_settings::subagents::Definition;
use hookwright_settings::{McpServer, Transport};
use hookwright_tools::mcp::{Servers, Told, aliases};
use tokio_util::sync::CancellationToken;

use crate::event::AgentEvent;
use crate::services::{Interaction, Services};
use crate::session::servers as session;

/// How long an agent waits for them before it begins without.
const PATIENCE: Duration = Duration::from_secs(30);

/// The servers of an agent at work, if it has some.
pub(super) struct OwnServers(Option<Arc<Servers>>);

impl OwnServers {
    /// Starts them, and waits until each is there or known not to be. `services` are the agent's own.
    pub(super) async fn start(definition: &Definition, services: &Services, cancel: &CancellationToken) -> Self {
        if definition.servers.is_empty() {
            return OwnServers(None);
        }
        if definition.servers.iter().any(|server| matches!(server.transport, Transport::Stdio { .. })) {
            services.guards.serve();
        }
        // What is allowed by the name of one of the session's is not theirs.
        let others: Vec<McpServer> = services.servers.view().into_iter().map(|one| one.server).collect();
        let mut named = aliases(&[&definition.servers[..], &others].concat());
        named.retain(|name, _| definition.servers.iter().any(|own| own.name == *name));
        services.approvals.add_servers(named);
        let (tools, events, list) = (services.tools.clone(), services.events.clone(), definition.tools.clone());
        let servers = services.servers.beside(move |mut told| {
            if let Told::Tools(_, brought) = &mut told {
                brought.retain(|tool| list.leaves(tool.name(), tool.server().map(|of| of.named(tool.name()))));
            }
            // Nobody can ask for an agent's server to be tried again.
            session::pass_on(told, &tools, &events, Interaction::Headless);
        });
        servers.set_among(definition.servers.clone(), &others);
        for name in servers.settled(PATIENCE, cancel).await {
            let text = format!("MCP server {name} is not there after {} s; ", PATIENCE.as_secs());
            services.events.send(AgentEvent::Warning(format!("{text}agent {} begins without it", definition.name)));
        }
        OwnServers(Some(servers))
    }

    /// What they want the agent to know.
    pub(super) fn instructions(&self) -> Option<String> {
        session::instructions(&self.0.as_ref()?.instructions())
    }

    /// Ends them, and waits for that.
    pub(super) async fn end(self) {
        if let Some(servers) = self.0 {
            servers.end().await;
        }
    }
}
