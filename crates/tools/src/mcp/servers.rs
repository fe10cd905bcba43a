//! All servers of a session: which there are, how they are, what they have. They live beside the session, which never waits
//! for them but where it says so.

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

/// How long all of them together may take to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// What servers bring about, for whoever runs the session.
pub enum McpEvent {
    /// These are the tools of this origin now.
    ToolsChanged(ToolSource, Vec<Arc<dyn Tool>>),
    /// This server is not there, like this.
    Disconnected(String, McpConnectionStatus),
    /// Something to look at.
    Warning(String),
}

type McpEventHandler = Arc<dyn Fn(McpEvent) + Send + Sync>;

/// The servers of a session.
pub struct McpServerSet {
    access: McpAccess,
    on_event: McpEventHandler,
    running: Mutex<Vec<RunningServer>>,
}

/// A server as it is now.
#[derive(Clone, Debug)]
pub struct McpServerView {
    /// Its configuration.
    pub server: McpServer,
    /// How it is.
    pub status: McpConnectionStatus,
    /// What it has.
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
    /// None yet. What comes of them is told to `tell`, from any thread.
    pub fn new(access: McpAccess, tell: impl Fn(McpEvent) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(McpServerSet { access, on_event: Arc::new(tell), running: Mutex::default() })
    }

    /// None yet, with the same access but processes of their own, for an agent of the session.
    pub fn for_subagent(&self, tell: impl Fn(McpEvent) + Send + Sync + 'static) -> Arc<Self> {
        Self::new(McpAccess { groups: Arc::default(), ..self.access.clone() }, tell)
    }

    /// For a session that has no servers.
    pub fn none() -> Arc<Self> {
        Self::new(McpAccess::default(), |_| {})
    }

    /// These from now on: those that are the same stay as they are, others are started, and whoever is not among them ends.
    pub fn set(self: &Arc<Self>, servers: Vec<McpServer>) {
        self.set_with_others(servers, &[]);
    }

    /// The same, where there are others whose tools' names theirs must not look like.
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
        let (us, living, name) = (Arc::downgrade(self), client.clone(), alias.clone());
        let life = tokio::spawn(async move {
            let tell = |turn| us.upgrade().into_iter().for_each(|servers| servers.handle_event(&living, &name, &turn));
            living.run(tell).await;
        });
        RunningServer { client, alias, task: life }
    }

    /// What happened to a server.
    fn handle_event(self: &Arc<Self>, client: &Arc<McpClient>, alias: &str, turn: &ConnectionEvent) {
        let name = &client.server.name;
        // One that was ended in the meantime has no say.
        if !self.running().iter().any(|one| Arc::ptr_eq(&one.client, client)) {
            return;
        }
        match turn {
            ConnectionEvent::Disconnected => (self.on_event)(McpEvent::Disconnected(name.clone(), client.status())),
            ConnectionEvent::Connected => {
                for problem in client.inventory().problems.iter().take(5) {
                    (self.on_event)(McpEvent::Warning(format!("MCP server {}: {problem}", printable_name(name))));
                }
            }
            ConnectionEvent::ToolsChanged(used) => {
                for tool in used {
                    (self.on_event)(McpEvent::Warning(format!(
                        "MCP server {} changed its tool {} after it was used: what it says of itself, or its arguments; \
                         you are asked about it again (/mcp desc shows it)",
                        printable_name(name),
                        printable_name(tool)
                    )));
                }
            }
        }
        (self.on_event)(McpEvent::ToolsChanged(ToolSource::Server(name.clone()), server_tools(client, alias)));
        self.publish_resource_tools();
    }

    /// The tools for resources are there where there are some.
    fn publish_resource_tools(self: &Arc<Self>) {
        let offered: Vec<Arc<dyn Tool>> = match self.resources().is_empty() {
            true => Vec::new(),
            false => {
                let us = Arc::downgrade(self);
                vec![Arc::new(ListResources(us.clone())), Arc::new(ReadResource(us))]
            }
        };
        (self.on_event)(McpEvent::ToolsChanged(ToolSource::Servers, offered));
    }

    /// Waits until every server is there or known not to be, but not for ever; the names of those that are still awaited.
    pub async fn wait_settled(&self, limit: Duration, cancel: &CancellationToken) -> Vec<String> {
        let clients = self.clients();
        wait_all_settled(&clients, limit, cancel).await;
        let late = clients.iter().filter(|client| client.status() == McpConnectionStatus::Connecting);
        late.map(|client| client.server.name.clone()).collect()
    }

    /// Waits until those that are there have been asked for lists that they say have changed, but not for long. Nobody waits for
    /// a server that is not there.
    pub async fn wait_lists_current(&self, limit: Duration, cancel: &CancellationToken) {
        let mut clients = self.clients();
        clients.retain(|client| client.status() == McpConnectionStatus::Connected);
        wait_all_settled(&clients, limit, cancel).await;
    }

    /// Connects all of them anew.
    pub fn reconnect_all(&self) {
        self.clients().iter().for_each(|client| client.reconnect());
    }

    /// Connects one of them anew.
    pub fn reconnect(&self, name: &str) {
        self.clients().iter().filter(|client| client.server.name == name).for_each(|client| client.reconnect());
    }

    /// All of them as they are now, in the order of the settings.
    pub fn views(&self) -> Vec<McpServerView> {
        let view = |client: &Arc<McpClient>| McpServerView {
            server: client.server.clone(),
            status: client.status(),
            inventory: client.inventory(),
        };
        self.clients().iter().map(view).collect()
    }

    /// What servers say on how they want to be used, each with its name.
    pub fn instructions(&self) -> Vec<(String, String)> {
        let of = |client: &Arc<McpClient>| Some((client.server.name.clone(), client.inventory().instructions.clone()?));
        self.clients().iter().filter_map(of).filter(|(_, words)| !words.trim().is_empty()).collect()
    }

    /// Everything that can be read, with the server that has it.
    pub fn resources(&self) -> Vec<(String, RemoteResource)> {
        let of = |client: &Arc<McpClient>| {
            let name = client.server.name.clone();
            client.inventory().resources.clone().into_iter().map(move |resource| (name.clone(), resource))
        };
        self.clients().iter().flat_map(of).collect()
    }

    /// Everything that can be asked for as a prompt, with the server that has it.
    pub fn prompts(&self) -> Vec<(String, RemotePrompt)> {
        let of = |client: &Arc<McpClient>| {
            let name = client.server.name.clone();
            client.inventory().prompts.clone().into_iter().map(move |prompt| (name.clone(), prompt))
        };
        self.clients().iter().flat_map(of).collect()
    }

    /// A prompt's text.
    ///
    /// # Errors
    /// If the server does not give it.
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

    /// Who has what an address names: a URI, or `server:uri`.
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

    /// Whether a resource is there under this address.
    pub fn has_resource(&self, address: &str) -> bool {
        self.find_resource(address).is_some()
    }

    /// Ends all of them.
    pub async fn shutdown(&self) {
        self.running().clear();
        self.access.groups.terminate_all(SHUTDOWN_TIMEOUT).await;
    }

    /// The same at once and by force.
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

/// Waits until each of these is there, with its lists, or known not to be.
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
