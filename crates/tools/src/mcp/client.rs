//! One server's life in a session: it connects beside everything else, is started again when it is lost, and is asked for
//! things. A server that is slow, dies or lies costs whoever asked it, and nobody else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hookwright_settings::McpServer;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::access::Access;
use super::error::McpError;
use super::inventory::Inventory;
use super::wire::{self, Connection};

/// The longest that a server may take to introduce itself.
const INTRODUCTION: Duration = Duration::from_secs(60);
/// How long a call waits for a server that is about to be there.
const ABOUT_TO_BE: Duration = Duration::from_secs(10);
/// How often a lost server is started again before somebody has to ask for it.
const TRIES: u32 = 5;
/// The wait before the first of them; each next one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Who was there for so long was not lost at once.
const STEADY: Duration = Duration::from_secs(60);
/// Whoever changes its lists all the time is heard so often.
const BETWEEN_CHANGES: Duration = Duration::from_millis(500);

/// How a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is about to be there.
    Connecting,
    /// It is there.
    Connected,
    /// It is not.
    Disconnected {
        /// Why.
        why: String,
        /// Whether it will be tried again without anybody's word.
        again: bool,
        /// What to do about it, if that is known.
        hint: Option<String>,
    },
    /// It wants to know who asks.
    NeedsAuthentication,
}

/// What happens to a server, for whoever runs the session.
#[derive(Clone, Debug)]
pub(super) enum Turn {
    /// It is there, with this.
    Met,
    /// What it has is different now; these of its tools that were used already are.
    Changed(Vec<String>),
    /// It is not there.
    Lost,
}

/// One server.
pub(super) struct Client {
    pub(super) server: McpServer,
    access: Access,
    state: watch::Sender<State>,
    /// Whether everybody has been told how it is: its tools are on offer, or it is known not to be there.
    told: watch::Sender<bool>,
    again: Notify,
    /// The tools that were called, as they were then.
    used: Mutex<HashMap<String, u64>>,
}

#[derive(Clone)]
struct State {
    status: Status,
    connection: Option<Arc<Connection>>,
    inventory: Arc<Inventory>,
}

/// Why a connection is not used any more.
enum Over {
    Lost(String),
    /// Somebody wants it made anew.
    Again,
}

impl Client {
    pub(super) fn new(server: McpServer, access: Access) -> Self {
        let state = State { status: Status::Connecting, connection: None, inventory: Arc::default() };
        let (state, told) = (watch::Sender::new(state), watch::Sender::new(false));
        Client { server, access, state, told, again: Notify::new(), used: Mutex::default() }
    }

    pub(super) fn status(&self) -> Status {
        self.state.borrow().status.clone()
    }

    pub(super) fn inventory(&self) -> Arc<Inventory> {
        self.state.borrow().inventory.clone()
    }

    /// Connects it anew.
    pub(super) fn reconnect(&self) {
        self.again.notify_one();
    }

    /// Waits until it is there, or is known not to be.
    pub(super) async fn settled(&self) {
        // It only fails when this is gone.
        let _ = self.told.subscribe().wait_for(|told| *told).await;
    }

    /// Its life, for as long as anybody polls this.
    pub(super) async fn live(&self, tell: impl Fn(Turn)) {
        let span = tracing::info_span!("mcp", server = self.server.name);
        self.live_on(&tell).instrument(span).await;
    }

    async fn live_on(&self, tell: &impl Fn(Turn)) {
        let mut tries = 0;
        loop {
            let error = match open(&self.server, &self.access).await {
                Err(error) => error,
                Ok((connection, inventory)) => {
                    tracing::debug!(tools = inventory.tools.len(), about = inventory.about, "connected");
                    let since = Instant::now();
                    let connection = Arc::new(connection);
                    let changed = self.take(Status::Connected, Some(connection.clone()), inventory);
                    tell(Turn::Met);
                    self.told.send_replace(true);
                    if !changed.is_empty() {
                        tell(Turn::Changed(changed));
                    }
                    match self.keep(&connection, tell).await {
                        Over::Again => {
                            tries = 0;
                            self.connecting();
                            continue;
                        }
                        Over::Lost(why) => {
                            tries = if since.elapsed() > STEADY { 0 } else { tries };
                            McpError::Closed(why)
                        }
                    }
                }
            };
            tries = if self.wait_after(&error, tries, tell).await { tries + 1 } else { 0 };
        }
    }

    /// Waits until it is time to try again; whether that is by itself.
    async fn wait_after(&self, error: &McpError, tries: u32, tell: &impl Fn(Turn)) -> bool {
        let by_itself = tries < TRIES && !matches!(error, McpError::NotStarted { .. } | McpError::Unauthorized { .. });
        tracing::warn!(tries, again = by_itself, "{error}");
        // What was lost is started again at once, and missed by nobody if that succeeds.
        let at_once = tries == 0 && matches!(error, McpError::Closed(_)) && self.status() == Status::Connected;
        let status = match error {
            _ if at_once => Status::Connecting,
            McpError::Unauthorized { .. } => Status::NeedsAuthentication,
            error => {
                let why = if let McpError::Closed(why) = error { why.clone() } else { error.to_string() };
                Status::Disconnected { why, again: by_itself, hint: error.hint(&self.server.name) }
            }
        };
        let inventory = if at_once { self.inventory() } else { Arc::default() };
        self.state.send_modify(|state| *state = State { status, connection: None, inventory });
        if !at_once {
            tell(Turn::Lost);
            self.told.send_replace(true);
        }
        let again = match by_itself {
            true => tokio::time::timeout(FIRST_WAIT * 2u32.pow(tries), self.again.notified()).await.is_err(),
            false => {
                self.again.notified().await;
                false
            }
        };
        self.connecting();
        again
    }

    fn connecting(&self) {
        self.told.send_replace(false);
        self.state.send_modify(|state| {
            state.status = Status::Connecting;
            state.connection = None;
        });
    }

    /// Takes what a server has now; the names of those tools that somebody used and that are others now.
    fn take(&self, status: Status, connection: Option<Arc<Connection>>, inventory: Inventory) -> Vec<String> {
        let inventory = Arc::new(inventory);
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Vec::new();
        for (name, print) in used.iter_mut() {
            if let Some(tool) = inventory.tool(name).filter(|tool| tool.print != *print) {
                *print = tool.print;
                changed.push(name.clone());
            }
        }
        drop(used);
        changed.sort();
        self.state.send_modify(|state| *state = State { status, connection, inventory });
        changed
    }

    /// Holds on to a connection, and hears what changes.
    async fn keep(&self, connection: &Arc<Connection>, tell: &impl Fn(Turn)) -> Over {
        loop {
            tokio::select! {
                () = connection.ended() => return Over::Lost(connection.why().await),
                () = self.again.notified() => return Over::Again,
                () = connection.changes().next() => {}
            }
            self.told.send_replace(false);
            tokio::select! {
                () = connection.ended() => return Over::Lost(connection.why().await),
                inventory = Inventory::take(connection, &self.server) => match inventory {
                    Ok(inventory) => {
                        let changed = self.take(Status::Connected, Some(connection.clone()), inventory);
                        tell(Turn::Changed(changed));
                    }
                    Err(error) => tracing::warn!("its lists have changed, and can't be read: {error}"),
                },
            }
            self.told.send_replace(true);
            tokio::time::sleep(BETWEEN_CHANGES).await;
        }
    }

    /// The connection, which may be about to be there.
    async fn connection(&self, cancel: &CancellationToken) -> Result<Arc<Connection>, McpError> {
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|state| state.status != Status::Connecting);
        let state = tokio::select! {
            () = cancel.cancelled() => return Err(McpError::Cancelled),
            settled = tokio::time::timeout(ABOUT_TO_BE, settled) => match settled {
                Ok(Ok(state)) => state.clone(),
                _ => return Err(McpError::Closed("it is still being started".to_owned())),
            },
        };
        match (state.connection, state.status) {
            (Some(connection), _) => Ok(connection),
            (None, Status::NeedsAuthentication) => Err(McpError::Unauthorized { challenge: None }),
            (None, Status::Disconnected { why, .. }) => Err(McpError::Closed(why)),
            (None, _) => Err(McpError::Closed("it is not connected".to_owned())),
        }
    }

    async fn request(&self, method: &str, params: Value, cancel: &CancellationToken) -> Result<Value, McpError> {
        let connection = self.connection(cancel).await?;
        self.ask(&connection, method, params, cancel).await
    }

    async fn ask(
        &self,
        connection: &Connection,
        method: &str,
        params: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, McpError> {
        let answer = connection.request(method, params, self.server.timeout, cancel).await;
        // A token that has run out: whoever knows them may have a newer one.
        if matches!(answer, Err(McpError::Unauthorized { .. })) {
            self.reconnect();
        }
        answer
    }

    /// Calls a tool, which must still be what it was when somebody looked at it.
    pub(super) async fn call(
        &self,
        tool: &str,
        print: u64,
        args: &Value,
        cancel: &CancellationToken,
    ) -> Result<Value, McpError> {
        let connection = self.connection(cancel).await?;
        let changed = |words: &str| Err(McpError::Nonsense(words.to_owned()));
        match self.inventory().tool(tool) {
            Some(now) if now.print == print => {}
            Some(_) => return changed("the server changed this tool just now; look at it again"),
            None => return changed("the server does not have this tool any more"),
        }
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.to_owned(), print);
        self.ask(&connection, "tools/call", json!({ "name": tool, "arguments": args }), cancel).await
    }

    pub(super) async fn read_resource(&self, uri: &str, cancel: &CancellationToken) -> Result<Value, McpError> {
        self.request("resources/read", json!({ "uri": uri }), cancel).await
    }

    pub(super) async fn prompt(&self, name: &str, args: Value, cancel: &CancellationToken) -> Result<Value, McpError> {
        self.request("prompts/get", json!({ "name": name, "arguments": args }), cancel).await
    }
}

/// Connects to a server and asks it what it has.
pub(super) async fn open(server: &McpServer, access: &Access) -> Result<(Connection, Inventory), McpError> {
    let limit = server.timeout.min(INTRODUCTION);
    let both = async {
        let connection = wire::connect(server, access).await?;
        let inventory = Inventory::take(&connection, server).await?;
        Ok((connection, inventory))
    };
    tokio::time::timeout(limit, both).await.unwrap_or_else(|_| Err(McpError::TimedOut(limit)))
}
