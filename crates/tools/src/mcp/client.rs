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

use super::access::McpAccess;
use super::error::McpError;
use super::inventory::Inventory;
use super::transport::{self, McpConnection};

/// The longest that a server may take to introduce itself.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a call waits for a server that is about to be there.
const PENDING_CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a lost server is started again before somebody has to ask for it.
const MAX_RECONNECT_ATTEMPTS: u32 = 5;
/// The wait before the first of them; each next one is twice as long.
const INITIAL_RECONNECT_DELAY: Duration = Duration::from_millis(500);
/// Who was there for so long was not lost at once.
const STABLE_CONNECTION_PERIOD: Duration = Duration::from_secs(60);
/// Whoever changes its lists all the time is heard so often.
const LIST_REFRESH_INTERVAL: Duration = Duration::from_millis(500);

/// How a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpConnectionStatus {
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
pub(super) enum ConnectionEvent {
    /// It is there, with this.
    Connected,
    /// What it has is different now; these of its tools that were used already are.
    ToolsChanged(Vec<String>),
    /// It is not there.
    Disconnected,
}

/// One server.
pub(super) struct McpClient {
    pub(super) server: McpServer,
    access: McpAccess,
    state: watch::Sender<McpClientState>,
    /// Whether everybody has been told how it is: its tools are on offer, or it is known not to be there.
    is_settled: watch::Sender<bool>,
    reconnect_signal: Notify,
    /// The tools that were called, as they were then.
    used_tools: Mutex<HashMap<String, u64>>,
}

#[derive(Clone)]
struct McpClientState {
    status: McpConnectionStatus,
    connection: Option<Arc<McpConnection>>,
    inventory: Arc<Inventory>,
}

/// Why a connection is not used any more.
enum ConnectionEnd {
    Lost(String),
    /// Somebody wants it made anew.
    ReconnectRequested,
}

impl McpClient {
    pub(super) fn new(server: McpServer, access: McpAccess) -> Self {
        let state =
            McpClientState { status: McpConnectionStatus::Connecting, connection: None, inventory: Arc::default() };
        let (state, told) = (watch::Sender::new(state), watch::Sender::new(false));
        McpClient {
            server,
            access,
            state,
            is_settled: told,
            reconnect_signal: Notify::new(),
            used_tools: Mutex::default(),
        }
    }

    pub(super) fn status(&self) -> McpConnectionStatus {
        self.state.borrow().status.clone()
    }

    pub(super) fn inventory(&self) -> Arc<Inventory> {
        self.state.borrow().inventory.clone()
    }

    /// Connects it anew.
    pub(super) fn reconnect(&self) {
        self.reconnect_signal.notify_one();
    }

    /// Waits until it is there, or is known not to be.
    pub(super) async fn wait_settled(&self) {
        // It only fails when this is gone.
        let _ = self.is_settled.subscribe().wait_for(|told| *told).await;
    }

    /// Its life, for as long as anybody polls this.
    pub(super) async fn run(&self, tell: impl Fn(ConnectionEvent)) {
        let span = tracing::info_span!("mcp", server = self.server.name);
        self.run_loop(&tell).instrument(span).await;
    }

    async fn run_loop(&self, tell: &impl Fn(ConnectionEvent)) {
        let mut tries = 0;
        loop {
            let error = match connect_and_list(&self.server, &self.access).await {
                Err(error) => error,
                Ok((connection, inventory)) => {
                    tracing::debug!(tools = inventory.tools.len(), about = inventory.about, "connected");
                    let since = Instant::now();
                    let connection = Arc::new(connection);
                    let changed =
                        self.set_inventory(McpConnectionStatus::Connected, Some(connection.clone()), inventory);
                    tell(ConnectionEvent::Connected);
                    self.is_settled.send_replace(true);
                    if !changed.is_empty() {
                        tell(ConnectionEvent::ToolsChanged(changed));
                    }
                    match self.monitor(&connection, tell).await {
                        ConnectionEnd::ReconnectRequested => {
                            tries = 0;
                            self.set_connecting();
                            continue;
                        }
                        ConnectionEnd::Lost(why) => {
                            tries = if since.elapsed() > STABLE_CONNECTION_PERIOD { 0 } else { tries };
                            McpError::Closed(why)
                        }
                    }
                }
            };
            tries = if self.wait_for_retry(&error, tries, tell).await { tries + 1 } else { 0 };
        }
    }

    /// Waits until it is time to try again; whether that is by itself.
    async fn wait_for_retry(&self, error: &McpError, tries: u32, tell: &impl Fn(ConnectionEvent)) -> bool {
        let by_itself = tries < MAX_RECONNECT_ATTEMPTS
            && !matches!(error, McpError::SpawnFailed { .. } | McpError::Unauthorized { .. });
        tracing::warn!(tries, again = by_itself, "{error}");
        // What was lost is started again at once, and missed by nobody if that succeeds.
        let at_once =
            tries == 0 && matches!(error, McpError::Closed(_)) && self.status() == McpConnectionStatus::Connected;
        let status = match error {
            _ if at_once => McpConnectionStatus::Connecting,
            McpError::Unauthorized { .. } => McpConnectionStatus::NeedsAuthentication,
            error => {
                let why = if let McpError::Closed(why) = error { why.clone() } else { error.to_string() };
                McpConnectionStatus::Disconnected { why, again: by_itself, hint: error.hint(&self.server.name) }
            }
        };
        let inventory = if at_once { self.inventory() } else { Arc::default() };
        self.state.send_modify(|state| *state = McpClientState { status, connection: None, inventory });
        if !at_once {
            tell(ConnectionEvent::Disconnected);
            self.is_settled.send_replace(true);
        }
        let again = match by_itself {
            true => tokio::time::timeout(INITIAL_RECONNECT_DELAY * 2u32.pow(tries), self.reconnect_signal.notified())
                .await
                .is_err(),
            false => {
                self.reconnect_signal.notified().await;
                false
            }
        };
        self.set_connecting();
        again
    }

    fn set_connecting(&self) {
        self.is_settled.send_replace(false);
        self.state.send_modify(|state| {
            state.status = McpConnectionStatus::Connecting;
            state.connection = None;
        });
    }

    /// Takes what a server has now; the names of those tools that somebody used and that are others now.
    fn set_inventory(
        &self,
        status: McpConnectionStatus,
        connection: Option<Arc<McpConnection>>,
        inventory: Inventory,
    ) -> Vec<String> {
        let inventory = Arc::new(inventory);
        let mut used = self.used_tools.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Vec::new();
        for (name, print) in used.iter_mut() {
            if let Some(tool) = inventory.tool(name).filter(|tool| tool.fingerprint != *print) {
                *print = tool.fingerprint;
                changed.push(name.clone());
            }
        }
        drop(used);
        changed.sort();
        self.state.send_modify(|state| *state = McpClientState { status, connection, inventory });
        changed
    }

    /// Holds on to a connection, and hears what changes.
    async fn monitor(&self, connection: &Arc<McpConnection>, tell: &impl Fn(ConnectionEvent)) -> ConnectionEnd {
        loop {
            tokio::select! {
                () = connection.wait_closed() => return ConnectionEnd::Lost(connection.disconnect_reason().await),
                () = self.reconnect_signal.notified() => return ConnectionEnd::ReconnectRequested,
                () = connection.changes().next() => {}
            }
            self.is_settled.send_replace(false);
            tokio::select! {
                () = connection.wait_closed() => return ConnectionEnd::Lost(connection.disconnect_reason().await),
                inventory = Inventory::fetch(connection, &self.server) => match inventory {
                    Ok(inventory) => {
                        let changed = self.set_inventory(McpConnectionStatus::Connected, Some(connection.clone()), inventory);
                        tell(ConnectionEvent::ToolsChanged(changed));
                    }
                    Err(error) => tracing::warn!("its lists have changed, and can't be read: {error}"),
                },
            }
            self.is_settled.send_replace(true);
            tokio::time::sleep(LIST_REFRESH_INTERVAL).await;
        }
    }

    /// The connection, which may be about to be there.
    async fn connection(&self, cancel: &CancellationToken) -> Result<Arc<McpConnection>, McpError> {
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|state| state.status != McpConnectionStatus::Connecting);
        let state = tokio::select! {
            () = cancel.cancelled() => return Err(McpError::Cancelled),
            settled = tokio::time::timeout(PENDING_CONNECTION_TIMEOUT, settled) => match settled {
                Ok(Ok(state)) => state.clone(),
                _ => return Err(McpError::Closed("it is still being started".to_owned())),
            },
        };
        match (state.connection, state.status) {
            (Some(connection), _) => Ok(connection),
            (None, McpConnectionStatus::NeedsAuthentication) => Err(McpError::Unauthorized { challenge: None }),
            (None, McpConnectionStatus::Disconnected { why, .. }) => Err(McpError::Closed(why)),
            (None, _) => Err(McpError::Closed("it is not connected".to_owned())),
        }
    }

    async fn request(&self, method: &str, params: Value, cancel: &CancellationToken) -> Result<Value, McpError> {
        let connection = self.connection(cancel).await?;
        self.request_on(&connection, method, params, cancel).await
    }

    async fn request_on(
        &self,
        connection: &McpConnection,
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
    pub(super) async fn call_tool(
        &self,
        tool: &str,
        print: u64,
        args: &Value,
        cancel: &CancellationToken,
    ) -> Result<Value, McpError> {
        let connection = self.connection(cancel).await?;
        let changed = |words: &str| Err(McpError::InvalidResponse(words.to_owned()));
        match self.inventory().tool(tool) {
            Some(now) if now.fingerprint == print => {}
            Some(_) => return changed("the server changed this tool just now; look at it again"),
            None => return changed("the server does not have this tool any more"),
        }
        self.used_tools.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.to_owned(), print);
        self.request_on(&connection, "tools/call", json!({ "name": tool, "arguments": args }), cancel).await
    }

    pub(super) async fn read_resource(&self, uri: &str, cancel: &CancellationToken) -> Result<Value, McpError> {
        self.request("resources/read", json!({ "uri": uri }), cancel).await
    }

    pub(super) async fn get_prompt(
        &self,
        name: &str,
        args: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, McpError> {
        self.request("prompts/get", json!({ "name": name, "arguments": args }), cancel).await
    }
}

/// Connects to a server and asks it what it has.
pub(super) async fn connect_and_list(
    server: &McpServer,
    access: &McpAccess,
) -> Result<(McpConnection, Inventory), McpError> {
    let limit = server.timeout.min(HANDSHAKE_TIMEOUT);
    let both = async {
        let connection = transport::connect(server, access).await?;
        let inventory = Inventory::fetch(&connection, server).await?;
        Ok((connection, inventory))
    };
    tokio::time::timeout(limit, both).await.unwrap_or_else(|_| Err(McpError::TimedOut(limit)))
}
