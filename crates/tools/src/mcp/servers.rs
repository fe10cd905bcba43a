//! All servers of a session: which there are, how they are, what they have. They live beside the session, which never waits
//! for them but where it says so.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hookwright_settings::McpServer;
use serde_json::{Map, Value};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::access::Access;
use super::client::{Client, Status, Turn};
use super::error::McpError;
use super::inventory::Inventory;
use super::names::aliases;
use super::read::{self, RemotePrompt, RemoteResource, shown};
use super::resources::{ListResources, ReadResource};
use super::tool::tools;
use crate::tool::Tool;
use crate::toolbox::Origin;

/// How long all of them together may take to end.
const END: Duration = Duration::from_secs(3);

/// What servers bring about, for whoever runs the session.
pub enum Told {
    /// These are the tools of this origin now.
    Tools(Origin, Vec<Arc<dyn Tool>>),
    /// This server is not there, like this.
    Lost(String, Status),
    /// Something to look at.
    Warning(String),
}

type Tell = Arc<dyn Fn(Told) + Send + Sync>;

/// The servers of a session.
pub struct Servers {
    access: Access,
    tell: Tell,
    running: Mutex<Vec<Running>>,
}

/// A server as it is now.
#[derive(Clone, Debug)]
pub struct ServerView {
    /// Its configuration.
    pub server: McpServer,
    /// How it is.
    pub status: Status,
    /// What it has.
    pub inventory: Arc<Inventory>,
}

struct Running {
    client: Arc<Client>,
    alias: String,
    life: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.life.abort();
    }
}

impl Servers {
    /// None yet. What comes of them is told to `tell`, from any thread.
    pub fn new(access: Access, tell: impl Fn(Told) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Servers { access, tell: Arc::new(tell), running: Mutex::default() })
    }

    /// None yet, with the same access but processes of their own, for an agent of the session.
    pub fn beside(&self, tell: impl Fn(Told) + Send + Sync + 'static) -> Arc<Self> {
        Self::new(Access { groups: Arc::default(), ..self.access.clone() }, tell)
    }

    /// For a session that has no servers.
    pub fn none() -> Arc<Self> {
        Self::new(Access::default(), |_| {})
    }

    /// These from now on: those that are the same stay as they are, others are started, and whoever is not among them ends.
    pub fn set(self: &Arc<Self>, servers: Vec<McpServer>) {
        self.set_among(servers, &[]);
    }

    /// The same, where there are others whose tools' names theirs must not look like.
    pub fn set_among(self: &Arc<Self>, servers: Vec<McpServer>, others: &[McpServer]) {
        let all: Vec<McpServer> = servers.iter().chain(others).cloned().collect();
        let aliases = aliases(&all);
        let alias = |server: &McpServer| aliases.get(&server.name).cloned().unwrap_or_default();
        let mut running = self.running();
        let mut before = std::mem::take(&mut *running);
        for server in servers {
            let same = |one: &Running| one.client.server == server && one.alias == alias(&server);
            let known = before.iter().position(same).map(|at| before.swap_remove(at));
            running.push(known.unwrap_or_else(|| self.start(alias(&server), server)));
        }
        let kept: Vec<&str> = running.iter().map(|one| one.client.server.name.as_str()).collect();
        let gone: Vec<String> = before.iter().map(|one| one.client.server.name.clone()).collect();
        let gone: Vec<String> = gone.into_iter().filter(|name| !kept.contains(&name.as_str())).collect();
        drop(running);
        drop(before);
        gone.into_iter().for_each(|name| (self.tell)(Told::Tools(Origin::Server(name), Vec::new())));
        self.offer_resources();
    }

    fn start(self: &Arc<Self>, alias: String, server: McpServer) -> Running {
        let client = Arc::new(Client::new(server, self.access.clone()));
        let (us, living, name) = (Arc::downgrade(self), client.clone(), alias.clone());
        let life = tokio::spawn(async move {
            let tell = |turn| us.upgrade().into_iter().for_each(|servers| servers.hear(&living, &name, &turn));
            living.live(tell).await;
        });
        Running { client, alias, life }
    }

    /// What happened to a server.
    fn hear(self: &Arc<Self>, client: &Arc<Client>, alias: &str, turn: &Turn) {
        let name = &client.server.name;
        // One that was ended in the meantime has no say.
        if !self.running().iter().any(|one| Arc::ptr_eq(&one.client, client)) {
            return;
        }
        match turn {
            Turn::Lost => (self.tell)(Told::Lost(name.clone(), client.status())),
            Turn::Met => {
                for problem in client.inventory().problems.iter().take(5) {
                    (self.tell)(Told::Warning(format!("MCP server {}: {problem}", shown(name))));
                }
            }
            Turn::Changed(used) => {
                for tool in used {
                    (self.tell)(Told::Warning(format!(
                        "MCP server {} changed its tool {} after it was used: what it says of itself, or its arguments; \
                         you are asked about it again (/mcp desc shows it)",
                        shown(name),
                        shown(tool)
                    )));
                }
            }
        }
        (self.tell)(Told::Tools(Origin::Server(name.clone()), tools(client, alias)));
        self.offer_resources();
    }

    /// The tools for resources are there where there are some.
    fn offer_resources(self: &Arc<Self>) {
        let offered: Vec<Arc<dyn Tool>> = match self.resources().is_empty() {
            true => Vec::new(),
            false => {
                let us = Arc::downgrade(self);
                vec![Arc::new(ListResources(us.clone())), Arc::new(ReadResource(us))]
            }
        };
        (self.tell)(Told::Tools(Origin::Servers, offered));
    }

    /// Waits until every server is there or known not to be, but not for ever; the names of those that are still awaited.
    pub async fn settled(&self, limit: Duration, cancel: &CancellationToken) -> Vec<String> {
        let clients = self.clients();
        wait(&clients, limit, cancel).await;
        let late = clients.iter().filter(|client| client.status() == Status::Connecting);
        late.map(|client| client.server.name.clone()).collect()
    }

    /// Waits until those that are there have been asked for lists that they say have changed, but not for long. Nobody waits for
    /// a server that is not there.
    pub async fn caught_up(&self, limit: Duration, cancel: &CancellationToken) {
        let mut clients = self.clients();
        clients.retain(|client| client.status() == Status::Connected);
        wait(&clients, limit, cancel).await;
    }

    /// Connects all of them anew.
    pub fn refresh(&self) {
        self.clients().iter().for_each(|client| client.reconnect());
    }

    /// Connects one of them anew.
    pub fn reconnect(&self, name: &str) {
        self.clients().iter().filter(|client| client.server.name == name).for_each(|client| client.reconnect());
    }

    /// All of them as they are now, in the order of the settings.
    pub fn view(&self) -> Vec<ServerView> {
        let view = |client: &Arc<Client>| ServerView {
            server: client.server.clone(),
            status: client.status(),
            inventory: client.inventory(),
        };
        self.clients().iter().map(view).collect()
    }

    /// What servers say on how they want to be used, each with its name.
    pub fn instructions(&self) -> Vec<(String, String)> {
        let of = |client: &Arc<Client>| Some((client.server.name.clone(), client.inventory().instructions.clone()?));
        self.clients().iter().filter_map(of).filter(|(_, words)| !words.trim().is_empty()).collect()
    }

    /// Everything that can be read, with the server that has it.
    pub fn resources(&self) -> Vec<(String, RemoteResource)> {
        let of = |client: &Arc<Client>| {
            let name = client.server.name.clone();
            client.inventory().resources.clone().into_iter().map(move |resource| (name.clone(), resource))
        };
        self.clients().iter().flat_map(of).collect()
    }

    /// Everything that can be asked for as a prompt, with the server that has it.
    pub fn prompts(&self) -> Vec<(String, RemotePrompt)> {
        let of = |client: &Arc<Client>| {
            let name = client.server.name.clone();
            client.inventory().prompts.clone().into_iter().map(move |prompt| (name.clone(), prompt))
        };
        self.clients().iter().flat_map(of).collect()
    }

    /// A prompt's text.
    ///
    /// # Errors
    /// If the server does not give it.
    pub async fn prompt(
        &self,
        server: &str,
        name: &str,
        args: Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<String, McpError> {
        let client = self.clients().into_iter().find(|client| client.server.name == server);
        let client = client.ok_or_else(|| McpError::Closed("it is not there any more".to_owned()))?;
        let answer = client.prompt(name, Value::Object(args), cancel).await?;
        read::prompt_text(&answer).ok_or_else(|| McpError::Nonsense("it gave an empty prompt".to_owned()))
    }

    /// Who has what an address names: a URI, or `server:uri`.
    pub(super) fn find_resource(&self, address: &str) -> Option<(Arc<Client>, RemoteResource)> {
        let clients = self.clients();
        let has = |client: &Arc<Client>, uri: &str| {
            client.inventory().resources.iter().find(|resource| resource.uri == uri).cloned()
        };
        let named = |client: &Arc<Client>| {
            let uri = address.strip_prefix(client.server.name.as_str())?.strip_prefix(':')?;
            has(client, uri)
        };
        let find = |look: &dyn Fn(&Arc<Client>) -> Option<RemoteResource>| {
            clients.iter().find_map(|client| Some((client.clone(), look(client)?)))
        };
        find(&named).or_else(|| find(&|client| has(client, address)))
    }

    /// Whether a resource is there under this address.
    pub fn has_resource(&self, address: &str) -> bool {
        self.find_resource(address).is_some()
    }

    /// Ends all of them.
    pub async fn end(&self) {
        self.running().clear();
        self.access.groups.end_all(END).await;
    }

    /// The same at once and by force.
    pub fn kill_now(&self) {
        self.access.groups.kill_now();
    }

    fn clients(&self) -> Vec<Arc<Client>> {
        self.running().iter().map(|one| one.client.clone()).collect()
    }

    fn running(&self) -> MutexGuard<'_, Vec<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until each of these is there, with its lists, or known not to be.
async fn wait(clients: &[Arc<Client>], limit: Duration, cancel: &CancellationToken) {
    let all = async {
        for client in clients {
            client.settled().await;
        }
    };
    tokio::select! {
        () = all => {}
        () = tokio::time::sleep(limit) => {}
        () = cancel.cancelled() => {}
    }
}
