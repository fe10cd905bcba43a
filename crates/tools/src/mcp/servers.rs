//! All MCP servers of a session: their connections and lists. They connect in the background; the session waits for
//! them only where it asks to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hookwright_settings::McpServer;
use serde_json::{Map, Value};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::access::McpAccess;
use super::client::{ConnectionEvent, McpClient, McpConnectionStatus};
use super::error::McpError;
use super::inventory::Inventory;
use super::names::aliases;
use super::remote::{self, RemotePrompt, RemoteResource, printable_name};
use super::resources::{ListResources, ReadResource};
use super::tool::server_tools;
use crate::tool::Tool;
use crate::toolbox::ToolSource;

/// The time that all servers together have to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// A change of a server, for the session.
pub enum McpEvent {
    /// The tools of this source have changed to these.
    ToolsChanged(ToolSource, Vec<Arc<dyn Tool>>),
    /// This server is not connected, for this reason.
    Disconnected(String, McpConnectionStatus),
    /// A warning for the user.
    Warning(String),
}

type McpEventHandler = Arc<dyn Fn(McpEvent) + Send + Sync>;

/// The MCP servers of a session.
pub struct McpServerSet {
    access: McpAccess,
    on_event: McpEventHandler,
    running: Mutex<Vec<RunningServer>>,
}

/// The current state of a server.
#[derive(Clone, Debug)]
pub struct McpServerView {
    pub server: McpServer,
    pub status: McpConnectionStatus,
    pub inventory: Arc<Inventory>,
}

struct RunningServer {
    client: Arc<McpClient>,
    alias: String,
    task: JoinHandle<()>,
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl McpServerSet {
    /// Creates an empty set. `on_event` receives the events, from any thread.
    pub fn new(access: McpAccess, on_event: impl Fn(McpEvent) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(McpServerSet { access, on_event: Arc::new(on_event), running: Mutex::default() })
    }

    /// Creates an empty set with the same access but its own process groups, for a sub-agent of the session.
    pub fn for_subagent(&self, on_event: impl Fn(McpEvent) + Send + Sync + 'static) -> Arc<Self> {
        Self::new(McpAccess { groups: Arc::default(), ..self.access.clone() }, on_event)
    }

    /// Creates a set for a session without servers.
    pub fn none() -> Arc<Self> {
        Self::new(McpAccess::default(), |_| {})
    }

    /// Sets the servers: unchanged ones stay connected, new ones are started, and others end.
    pub fn set(self: &Arc<Self>, servers: Vec<McpServer>) {
        self.set_with_others(servers, &[]);
    }

    /// Sets the servers like [`set`](Self::set), with aliases that differ from those of `others`.
    pub fn set_with_others(self: &Arc<Self>, servers: Vec<McpServer>, others: &[McpServer]) {
        let all: Vec<McpServer> = servers.iter().chain(others).cloned().collect();
        let aliases = aliases(&all);
        let alias = |server: &McpServer| aliases.get(&server.name).cloned().unwrap_or_default();
        let mut running = self.running();
        let mut before = std::mem::take(&mut *running);
        for server in servers {
            let same = |one: &RunningServer| one.client.server == server && one.alias == alias(&server);
            let known = before.iter().position(same).map(|at| before.swap_remove(at));
            running.push(known.unwrap_or_else(|| self.start(alias(&server), server)));
        }
        let kept: Vec<&str> = running.iter().map(|one| one.client.server.name.as_str()).collect();
        let gone: Vec<String> = before.iter().map(|one| one.client.server.name.clone()).collect();
        let gone: Vec<String> = gone.into_iter().filter(|name| !kept.contains(&name.as_str())).collect();
        drop(running);
        drop(before);
        gone.into_iter().for_each(|name| (self.on_event)(McpEvent::ToolsChanged(ToolSource::Server(name), Vec::new())));
        self.publish_resource_tools();
    }

    fn start(self: &Arc<Self>, alias: String, server: McpServer) -> RunningServer {
        let client = Arc::new(McpClient::new(server, self.access.clone()));
        let (weak_set, running_client, name) = (Arc::downgrade(self), client.clone(), alias.clone());
        let task = tokio::spawn(async move {
            let on_event = |event| {
                weak_set.upgrade().into_iter().for_each(|servers| servers.handle_event(&running_client, &name, &event))
            };
            running_client.run(on_event).await;
        });
        RunningServer { client, alias, task }
    }

    /// Forwards the event of a server's connection.
    fn handle_event(self: &Arc<Self>, client: &Arc<McpClient>, alias: &str, event: &ConnectionEvent) {
        let name = &client.server.name;
        // A server that was removed in the meantime is ignored.
        if !self.running().iter().any(|one| Arc::ptr_eq(&one.client, client)) {
            return;
        }
        match event {
            ConnectionEvent::Disconnected => (self.on_event)(McpEvent::Disconnected(name.clone(), client.status())),
            ConnectionEvent::Connected => {
                for problem in client.inventory().problems.iter().take(5) {
                    (self.on_event)(McpEvent::Warning(format!("MCP server {}: {problem}", printable_name(name))));
                }
            }
            ConnectionEvent::ToolsChanged(used) => {
                for tool in used {
                    (self.on_event)(McpEvent::Warning(format!(
                        "MCP server {} changed the description or the arguments of its tool {} after it was used; you are asked about it again (/mcp desc shows it)",
                        printable_name(name),
                        printable_name(tool)
                    )));
                }
            }
        }
        (self.on_event)(McpEvent::ToolsChanged(ToolSource::Server(name.clone()), server_tools(client, alias)));
        self.publish_resource_tools();
    }

    /// Offers the tools for resources if any server has resources.
    fn publish_resource_tools(self: &Arc<Self>) {
        let offered: Vec<Arc<dyn Tool>> = match self.resources().is_empty() {
            true => Vec::new(),
            false => {
                let weak_set = Arc::downgrade(self);
                vec![Arc::new(ListResources(weak_set.clone())), Arc::new(ReadResource(weak_set))]
            }
        };
        (self.on_event)(McpEvent::ToolsChanged(ToolSource::Servers, offered));
    }

    /// Waits, at most `limit`, until every server is connected or has failed; returns the names of those still
    /// connecting.
    pub async fn wait_settled(&self, limit: Duration, cancel: &CancellationToken) -> Vec<String> {
        let clients = self.clients();
        wait_all_settled(&clients, limit, cancel).await;
        let late = clients.iter().filter(|client| client.status() == McpConnectionStatus::Connecting);
        late.map(|client| client.server.name.clone()).collect()
    }

    /// Waits, at most `limit`, until the connected servers' changed lists are loaded. Servers without a connection are
    /// not waited for.
    pub async fn wait_lists_current(&self, limit: Duration, cancel: &CancellationToken) {
        let mut clients = self.clients();
        clients.retain(|client| client.status() == McpConnectionStatus::Connected);
        wait_all_settled(&clients, limit, cancel).await;
    }

    /// Reconnects all servers.
    pub fn reconnect_all(&self) {
        self.clients().iter().for_each(|client| client.reconnect());
    }

    /// Reconnects the server with this name.
    pub fn reconnect(&self, name: &str) {
        self.clients().iter().filter(|client| client.server.name == name).for_each(|client| client.reconnect());
    }

    /// Returns the state of all servers, in the order of the settings.
    pub fn views(&self) -> Vec<McpServerView> {
        let view = |client: &Arc<McpClient>| McpServerView {
            server: client.server.clone(),
            status: client.status(),
            inventory: client.inventory(),
        };
        self.clients().iter().map(view).collect()
    }

    /// Returns the servers' instructions for their use, each with the server's name.
    pub fn instructions(&self) -> Vec<(String, String)> {
        let of = |client: &Arc<McpClient>| Some((client.server.name.clone(), client.inventory().instructions.clone()?));
        self.clients().iter().filter_map(of).filter(|(_, words)| !words.trim().is_empty()).collect()
    }

    /// Returns all resources, each with the server's name.
    pub fn resources(&self) -> Vec<(String, RemoteResource)> {
        let of = |client: &Arc<McpClient>| {
            let name = client.server.name.clone();
            client.inventory().resources.clone().into_iter().map(move |resource| (name.clone(), resource))
        };
        self.clients().iter().flat_map(of).collect()
    }

    /// Returns all prompts, each with the server's name.
    pub fn prompts(&self) -> Vec<(String, RemotePrompt)> {
        let of = |client: &Arc<McpClient>| {
            let name = client.server.name.clone();
            client.inventory().prompts.clone().into_iter().map(move |prompt| (name.clone(), prompt))
        };
        self.clients().iter().flat_map(of).collect()
    }

    /// Returns the text of a prompt.
    ///
    /// # Errors
    /// If the server does not return it.
    pub async fn get_prompt(
        &self,
        server: &str,
        name: &str,
        args: Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<String, McpError> {
        let client = self.clients().into_iter().find(|client| client.server.name == server);
        let client = client.ok_or_else(|| McpError::Closed("it is not there any more".to_owned()))?;
        let answer = client.get_prompt(name, Value::Object(args), cancel).await?;
        remote::prompt_text(&answer).ok_or_else(|| McpError::InvalidResponse("it gave an empty prompt".to_owned()))
    }

    /// Finds the resource at an address, which is a URI or `server:uri`, and its server.
    pub(super) fn find_resource(&self, address: &str) -> Option<(Arc<McpClient>, RemoteResource)> {
        let clients = self.clients();
        let has = |client: &Arc<McpClient>, uri: &str| {
            client.inventory().resources.iter().find(|resource| resource.uri == uri).cloned()
        };
        let named = |client: &Arc<McpClient>| {
            let uri = address.strip_prefix(client.server.name.as_str())?.strip_prefix(':')?;
            has(client, uri)
        };
        let find = |look: &dyn Fn(&Arc<McpClient>) -> Option<RemoteResource>| {
            clients.iter().find_map(|client| Some((client.clone(), look(client)?)))
        };
        find(&named).or_else(|| find(&|client| has(client, address)))
    }

    /// Returns whether there is a resource at this address.
    pub fn has_resource(&self, address: &str) -> bool {
        self.find_resource(address).is_some()
    }

    /// Ends all servers.
    pub async fn shutdown(&self) {
        self.running().clear();
        self.access.groups.terminate_all(SHUTDOWN_TIMEOUT).await;
    }

    /// Kills all servers at once.
    pub fn kill_now(&self) {
        self.access.groups.kill_all();
    }

    fn clients(&self) -> Vec<Arc<McpClient>> {
        self.running().iter().map(|one| one.client.clone()).collect()
    }

    fn running(&self) -> MutexGuard<'_, Vec<RunningServer>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until each of these has loaded its lists or has failed.
async fn wait_all_settled(clients: &[Arc<McpClient>], limit: Duration, cancel: &CancellationToken) {
    let all = async {
        for client in clients {
            client.wait_settled().await;
        }
    };
    tokio::select! {
        () = all => {}
        () = tokio::time::sleep(limit) => {}
        () = cancel.cancelled() => {}
    }
}
