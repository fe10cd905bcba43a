//! The connection to one MCP server in a session: it connects in the background, reconnects when the connection is
//! lost, and sends requests. A slow or failing server affects only the calls to it.

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

/// The time limit for connecting and listing.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a call waits for a server that is still connecting.
const PENDING_CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// The number of automatic reconnection attempts; further ones happen only on request.
const MAX_RECONNECT_ATTEMPTS: u32 = 5;
/// The delay before the first reconnection attempt; each further one is twice as long.
const INITIAL_RECONNECT_DELAY: Duration = Duration::from_millis(500);
/// The connection time after which the attempts are counted anew.
const STABLE_CONNECTION_PERIOD: Duration = Duration::from_secs(60);
/// The least time between two refreshes of a server's lists.
const LIST_REFRESH_INTERVAL: Duration = Duration::from_millis(500);

/// The state of the connection to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpConnectionStatus {
    /// The connection is being made.
    Connecting,
    /// The connection works.
    Connected,
    /// There is no connection.
    Disconnected {
        /// The reason for users.
        why: String,
        /// Whether another attempt follows automatically.
        again: bool,
        /// What the user can do about it, if that is known.
        hint: Option<String>,
    },
    /// The server requires authentication.
    NeedsAuthentication,
}

/// A change of a server's connection, for the session.
#[derive(Clone, Debug)]
pub(super) enum ConnectionEvent {
    /// The server is connected and its lists are loaded.
    Connected,
    /// The server's lists have changed; the names are the changed tools that were already used.
    ToolsChanged(Vec<String>),
    /// The server is not connected.
    Disconnected,
}

/// The client of one server.
pub(super) struct McpClient {
    pub(super) server: McpServer,
    access: McpAccess,
    state: watch::Sender<McpClientState>,
    /// Whether the last change of state was announced: the tools are offered, or the server is known to be
    /// disconnected.
    is_settled: watch::Sender<bool>,
    reconnect_signal: Notify,
    /// The fingerprints of the tools that were called.
    used_tools: Mutex<HashMap<String, u64>>,
}

#[derive(Clone)]
struct McpClientState {
    status: McpConnectionStatus,
    connection: Option<Arc<McpConnection>>,
    inventory: Arc<Inventory>,
}

/// Why a connection is no longer used.
enum ConnectionEnd {
    Lost(String),
    /// The session asked for a new connection.
    ReconnectRequested,
}

impl McpClient {
    pub(super) fn new(server: McpServer, access: McpAccess) -> Self {
        let state =
            McpClientState { status: McpConnectionStatus::Connecting, connection: None, inventory: Arc::default() };
        let (state, is_settled) = (watch::Sender::new(state), watch::Sender::new(false));
        McpClient { server, access, state, is_settled, reconnect_signal: Notify::new(), used_tools: Mutex::default() }
    }

    pub(super) fn status(&self) -> McpConnectionStatus {
        self.state.borrow().status.clone()
    }

    pub(super) fn inventory(&self) -> Arc<Inventory> {
        self.state.borrow().inventory.clone()
    }

    /// Makes a new connection.
    pub(super) fn reconnect(&self) {
        self.reconnect_signal.notify_one();
    }

    /// Waits until the server is connected or known to be disconnected.
    pub(super) async fn wait_settled(&self) {
        // The sender lives in `self`, so this cannot fail.
        let _ = self.is_settled.subscribe().wait_for(|settled| *settled).await;
    }

    /// Connects and reconnects for as long as the future is polled.
    pub(super) async fn run(&self, on_event: impl Fn(ConnectionEvent)) {
        let span = tracing::info_span!("mcp", server = self.server.name);
        self.run_loop(&on_event).instrument(span).await;
    }

    async fn run_loop(&self, on_event: &impl Fn(ConnectionEvent)) {
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
                    on_event(ConnectionEvent::Connected);
                    self.is_settled.send_replace(true);
                    if !changed.is_empty() {
                        on_event(ConnectionEvent::ToolsChanged(changed));
                    }
                    match self.monitor(&connection, on_event).await {
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
            tries = if self.wait_for_retry(&error, tries, on_event).await { tries + 1 } else { 0 };
        }
    }

    /// Waits until the next attempt is due; returns whether it is an automatic one.
    async fn wait_for_retry(&self, error: &McpError, tries: u32, on_event: &impl Fn(ConnectionEvent)) -> bool {
        let by_itself = tries < MAX_RECONNECT_ATTEMPTS
            && !matches!(error, McpError::SpawnFailed { .. } | McpError::Unauthorized { .. });
        tracing::warn!(tries, again = by_itself, "{error}");
        // A lost connection is first remade silently; its tools stay listed meanwhile.
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
            on_event(ConnectionEvent::Disconnected);
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

    /// Stores a server's lists; returns the names of the changed tools that were already used.
    fn set_inventory(
        &self,
        status: McpConnectionStatus,
        connection: Option<Arc<McpConnection>>,
        inventory: Inventory,
    ) -> Vec<String> {
        let inventory = Arc::new(inventory);
        let mut used = self.used_tools.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Vec::new();
        for (name, fingerprint) in used.iter_mut() {
            if let Some(tool) = inventory.tool(name).filter(|tool| tool.fingerprint != *fingerprint) {
                *fingerprint = tool.fingerprint;
                changed.push(name.clone());
            }
        }
        drop(used);
        changed.sort();
        self.state.send_modify(|state| *state = McpClientState { status, connection, inventory });
        changed
    }

    /// Refreshes the lists when they change, until the connection ends.
    async fn monitor(&self, connection: &Arc<McpConnection>, on_event: &impl Fn(ConnectionEvent)) -> ConnectionEnd {
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
                        on_event(ConnectionEvent::ToolsChanged(changed));
                    }
                    Err(error) => tracing::warn!("its lists have changed, and can't be read: {error}"),
                },
            }
            self.is_settled.send_replace(true);
            tokio::time::sleep(LIST_REFRESH_INTERVAL).await;
        }
    }

    /// Returns the connection, after waiting for one that is being made.
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
        // The token may have expired; reconnecting asks the token provider for a newer one.
        if matches!(answer, Err(McpError::Unauthorized { .. })) {
            self.reconnect();
        }
        answer
    }

    /// Calls a tool, if its definition is still the one that was approved.
    pub(super) async fn call_tool(
        &self,
        tool: &str,
        fingerprint: u64,
        args: &Value,
        cancel: &CancellationToken,
    ) -> Result<Value, McpError> {
        let connection = self.connection(cancel).await?;
        let changed = |words: &str| Err(McpError::InvalidResponse(words.to_owned()));
        match self.inventory().tool(tool) {
            Some(now) if now.fingerprint == fingerprint => {}
            Some(_) => return changed("the server changed this tool just now; look at it again"),
            None => return changed("the server does not have this tool any more"),
        }
        self.used_tools.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.to_owned(), fingerprint);
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

/// Connects to a server and loads its lists.
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
