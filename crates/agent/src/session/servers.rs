//! The MCP servers of a session: made, started, shown. What they are is `hookwright_tools::mcp`.

use std::sync::Arc;
use std::time::Duration;

use hookwright_settings::{LeftOutServer, Loaded, WhyLeftOut};
use hookwright_tools::mcp::{Access, Inventory, OAuthTokens, ServerView, Servers, Status, Told};
use hookwright_tools::{Groups, ToolContext, Toolbox};
use tokio_util::sync::CancellationToken;

use super::choose;
use super::conduct::Conductor;
use super::order::{Detail, McpOrder};
use super::reply::Reply;
use crate::agent::Agent;
use crate::event::AgentEvent;
use crate::events::Events;
use crate::scope::Scope;
use crate::services::Interaction;

/// How long the first request of a session waits for servers: long where nobody watches, since nobody could ask again.
const FIRST_REQUEST: Duration = Duration::from_secs(30);
const FIRST_REQUEST_WATCHED: Duration = Duration::from_secs(5);

/// The servers, none of which is started yet.
pub(super) fn make(loaded: &Loaded, context: &ToolContext, tools: &Arc<Toolbox>, events: &Events) -> Arc<Servers> {
    let access = Access {
        directory: loaded.project.root.clone(),
        roots: context.workspace.roots().to_vec(),
        environment: context.environment.clone(),
        groups: Arc::new(Groups::default()),
        tokens: Some(Arc::new(OAuthTokens::new(loaded.paths.mcp_tokens.clone(), choose::proxy(&loaded.world)))),
        proxy: choose::proxy(&loaded.world),
    };
    let (tools, events) = (tools.clone(), events.clone());
    Servers::new(access, move |told| match told {
        Told::Notice(words) => events.send(AgentEvent::Note(words)),
        Told::Warning(words) => events.send(AgentEvent::Warning(words)),
        Told::Tools(origin, brought) => {
            for name in tools.bring(&origin, brought) {
                events.send(AgentEvent::Warning(format!(
                    "{origin}: its tool {name} is left out, because another tool has that name"
                )));
            }
            // Their prompts are commands.
            events.send(AgentEvent::Configured);
        }
    })
}

/// What to do where a folder is not trusted.
const TRUST_IT: &str = "`hookwright hooks trust --folder` trusts it, --skip-trust does for once";

impl Conductor {
    /// Starts the servers of the configuration as it is now, and ends all others.
    pub(super) fn connect_servers(&self) {
        let view = self.shared.view();
        let all = view.loaded.mcp_servers();
        for LeftOutServer { name, why, .. } in &all.left_out {
            if let WhyLeftOut::Broken(_) | WhyLeftOut::Shadowed(_) | WhyLeftOut::NobodyKnows = why {
                self.tell(AgentEvent::Warning(format!("MCP server {name} is not started: {why}")));
            }
        }
        let untrusted = all.left_out.iter().filter(|one| one.why == WhyLeftOut::Untrusted);
        let untrusted: Vec<&str> = untrusted.map(|one| one.name.as_str()).collect();
        if !untrusted.is_empty() {
            let names = untrusted.join(", ");
            let text = format!("this folder is not trusted, so no MCP server is started: {names}; {TRUST_IT}");
            self.tell(AgentEvent::Warning(text));
        }
        // What changes of the guards while servers start was changed by them, whoever wrote their names into the settings.
        let watched = (!all.servers.is_empty()).then(|| view.services.guards.servers());
        view.services.servers.set(all.servers);
        if let Some(watched) = watched {
            let servers = view.services.servers.clone();
            tokio::spawn(async move {
                servers.settled(FIRST_REQUEST, &CancellationToken::new()).await;
                drop(watched);
            });
        }
    }

    pub(super) fn mcp(&self, order: McpOrder) {
        let servers = self.services().servers.clone();
        match order {
            McpOrder::Refresh => {
                servers.refresh();
                self.reply(Reply::plain("MCP servers are connected anew; /mcp shows how they are"));
            }
            McpOrder::List(detail) => {
                let left_out = self.shared.view().loaded.mcp_servers().left_out;
                let view = servers.view();
                if view.is_empty() && left_out.is_empty() {
                    let none = "there are no MCP servers; `hookwright mcp add` adds one";
                    return self.reply(Reply::aside(none));
                }
                let mut rows: Vec<_> = view.iter().flat_map(|server| rows(server, detail)).collect();
                rows.extend(left_out.iter().map(|one| (one.name.clone(), format!("disabled: {}", one.why))));
                self.reply(Reply::Rows(rows));
            }
        }
    }
}

/// A server in rows: how it is, and what it has.
fn rows(view: &ServerView, detail: Detail) -> Vec<(String, String)> {
    let ServerView { server, status, inventory } = view;
    let state = match status {
        Status::Connecting => "connecting".to_owned(),
        Status::Connected => {
            let about = if inventory.about.is_empty() { String::new() } else { format!(" to {}", inventory.about) };
            format!("connected{about}: {}", counts(inventory))
        }
        Status::Disconnected { why, again: true } => format!("disconnected: {why}; it is tried again"),
        Status::Disconnected { why, again: false } => format!("disconnected: {why}"),
        Status::NeedsAuthentication => format!("needs authentication: `hookwright mcp auth {}`", server.name),
    };
    let trusted = if server.trust { ", trusted" } else { "" };
    let mut rows = vec![(server.name.clone(), format!("{state} ({}{trusted})", server.origin))];
    rows.extend(server.description.iter().map(|about| (String::new(), about.clone())));
    let named = |name: &str, about: &str| match detail {
        Detail::Short => (format!("  {name}"), about.lines().next().unwrap_or_default().to_owned()),
        Detail::Full => (format!("  {name}"), about.to_owned()),
    };
    rows.extend(inventory.tools.iter().map(|tool| named(&tool.name, &tool.description)));
    rows.extend(inventory.prompts.iter().map(|prompt| named(&format!("/{}", prompt.name), &prompt.description)));
    rows.extend(inventory.resources.iter().map(|one| named(&format!("@{}:{}", server.name, one.uri), &one.name)));
    rows.extend(inventory.problems.iter().map(|problem| named("problem", problem)));
    if detail == Detail::Full {
        rows.extend(inventory.instructions.iter().map(|words| named("instructions", words)));
    }
    rows
}

fn counts(inventory: &Inventory) -> String {
    let count = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        many => Some(format!("{many} {what}s")),
    };
    let (tools, prompts) = (inventory.tools.len(), inventory.prompts.len());
    let all = [count(tools, "tool"), count(prompts, "prompt"), count(inventory.resources.len(), "resource")];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

impl Agent {
    /// The first request waits until servers have said what they have, but not for ever.
    pub(crate) async fn wait_for_servers(&mut self, scope: &Scope) {
        if std::mem::replace(&mut self.servers_awaited, true) {
            return;
        }
        let limit = match self.services.interaction {
            Interaction::Headless => FIRST_REQUEST,
            Interaction::Interactive => FIRST_REQUEST_WATCHED,
        };
        for name in self.services.servers.settled(limit, &scope.cancel).await {
            self.services.events.send(AgentEvent::Warning(format!(
                "MCP server {name} is not there after {} s; the model goes on without its tools",
                limit.as_secs()
            )));
        }
    }
}
