//! The connection to one server: handshake, requests, notifications. Only this module uses `rmcp`. It sends a method
//! with JSON parameters and returns JSON, which other modules parse more leniently than `rmcp`'s types would.

mod client_handler;
mod inbound;
mod sse;
mod stdio;
mod streamable_http;

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hookwright_settings::{McpServer, McpTransport};
use rmcp::model::{ClientRequest, CustomRequest, ErrorData};
use rmcp::service::{ClientInitializeError, Peer, PeerRequestOptions, RoleClient, ServiceError, serve_client_with_ct};
use rmcp::transport::IntoTransport;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::access::McpAccess;
use super::error::McpError;
use client_handler::RootsHandler;
use inbound::InboundScreen;

/// The size limit of one message from a server.
pub(super) const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// The connection to a server after the handshake. Dropping it ends the server.
pub(super) struct McpConnection {
    peer: Peer<RoleClient>,
    server_info: McpServerInfo,
    changes: Arc<ListChanges>,
    disconnect_reason: DisconnectReason,
    ended: CancellationToken,
    _stop: DropGuard,
}

/// A server's answer to the handshake.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct McpServerInfo {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) instructions: Option<String>,
    pub(super) has_tools: bool,
    pub(super) has_prompts: bool,
    pub(super) has_resources: bool,
}

/// Signals that a server has changed its lists.
#[derive(Default)]
pub(super) struct ListChanges {
    pending: AtomicBool,
    notify: Notify,
}

impl ListChanges {
    fn signal(&self) {
        self.pending.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// Waits for the next change.
    pub(super) async fn next(&self) {
        while !self.pending.swap(false, Ordering::AcqRel) {
            self.notify.notified().await;
        }
    }
}

/// Why the connection ended, as first reported.
#[derive(Clone)]
struct DisconnectReason(watch::Sender<Option<String>>);

impl Default for DisconnectReason {
    fn default() -> Self {
        DisconnectReason(watch::Sender::new(None))
    }
}

impl DisconnectReason {
    fn set_once(&self, why: impl FnOnce() -> String) {
        self.0.send_if_modified(|reason| {
            let is_new = reason.is_none();
            reason.get_or_insert_with(why);
            is_new
        });
    }

    /// Waits for the reason, because the end of a program's output is seen before its exit, which says more.
    async fn wait(&self) -> Option<String> {
        let mut reason = self.0.subscribe();
        let reason = tokio::time::timeout(DISCONNECT_REASON_TIMEOUT, reason.wait_for(Option::is_some)).await;
        reason.ok()?.ok()?.clone()
    }
}

/// Connects to a server and performs the handshake.
pub(super) async fn connect(server: &McpServer, access: &McpAccess) -> Result<McpConnection, McpError> {
    match &server.transport {
        McpTransport::Stdio { .. } => stdio::connect(server, access).await,
        McpTransport::Http { url, headers } => {
            let client = streamable_http::McpHttpClient::new(server, url, headers, access).await?;
            client.connect(access).await.map_err(|error| refine_connect_error(error, url))
        }
        McpTransport::Sse { url, headers } => {
            let client = streamable_http::McpHttpClient::new(server, url, headers, access).await?;
            sse::connect(client, access).await.map_err(|error| refine_connect_error(error, url))
        }
        McpTransport::HttpOrSse { url, headers } => {
            let client = streamable_http::McpHttpClient::new(server, url, headers, access).await?;
            match client.clone().connect(access).await {
                // An older server supports only the SSE transport.
                Err(McpError::Unreachable(why)) if client.suggests_sse_server() => {
                    sse::connect(client, access).await.map_err(|_| McpError::Unreachable(why))
                }
                other => other.map_err(|error| refine_connect_error(error, url)),
            }
        }
    }
}

/// Converts the transport's error to one for the user who configured the server.
fn refine_connect_error(error: McpError, url: &str) -> McpError {
    match error {
        McpError::Unreachable(words) => match words.split_once(streamable_http::CONNECT_FAILED_PREFIX) {
            Some((_, why)) => {
                McpError::ConnectFailed { place: streamable_http::strip_url_secrets(url), why: why.to_owned() }
            }
            // This prefix of `rmcp` says nothing to the user.
            None => McpError::Unreachable(words.trim_start_matches("Client error: ").to_owned()),
        },
        other => other,
    }
}

/// Performs the handshake over a transport. Cancelling `stop` ends everything.
async fn handshake<T, E, A>(
    transport: T,
    access: &McpAccess,
    inbound: &InboundScreen,
    disconnect_reason: DisconnectReason,
    stop: CancellationToken,
) -> Result<McpConnection, McpError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: Error + Send + Sync + 'static,
{
    let guard = stop.clone().drop_guard();
    let changes = inbound.changes.clone();
    let listener = RootsHandler { roots: access.roots.clone() };
    let running = match serve_client_with_ct(listener, transport, stop).await {
        Ok(running) => running,
        Err(error) => return Err(map_handshake_error(error, &disconnect_reason).await),
    };
    let peer = running.peer().clone();
    let hello = peer.peer_info().map(|info| McpServerInfo {
        name: info.server_info.as_ref().map(|server| server.name.clone()).unwrap_or_default(),
        version: info.server_info.as_ref().map(|server| server.version.clone()).unwrap_or_default(),
        instructions: info.instructions.clone(),
        has_tools: info.capabilities.tools.is_some(),
        has_prompts: info.capabilities.prompts.is_some(),
        has_resources: info.capabilities.resources.is_some(),
    });
    let ended = CancellationToken::new();
    let over = ended.clone().drop_guard();
    tokio::spawn(async move {
        let _over = over;
        let _ = running.waiting().await;
    });
    Ok(McpConnection { peer, server_info: hello.unwrap_or_default(), changes, disconnect_reason, ended, _stop: guard })
}

impl McpConnection {
    pub(super) fn server_info(&self) -> &McpServerInfo {
        &self.server_info
    }

    pub(super) fn changes(&self) -> &Arc<ListChanges> {
        &self.changes
    }

    /// Waits for the end of the connection.
    pub(super) async fn wait_closed(&self) {
        self.ended.cancelled().await;
    }

    /// Returns why the connection ended.
    pub(super) async fn disconnect_reason(&self) -> String {
        self.disconnect_reason.wait().await.unwrap_or_else(|| "the connection was closed".to_owned())
    }

    /// Sends a request. A request that times out or is cancelled is also cancelled at the server.
    pub(super) async fn request(
        &self,
        method: &str,
        params: Value,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Value, McpError> {
        let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
        let send = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut handle = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(McpError::Cancelled),
            // A server that does not read its input does not answer either.
            sent = tokio::time::timeout(limit, send) => match sent {
                Ok(Ok(handle)) => handle,
                Ok(Err(error)) => return Err(self.map_request_error(error).await),
                Err(_) => return Err(McpError::TimedOut(limit)),
            },
        };
        let (reason, error) = tokio::select! {
            biased;
            answer = &mut handle.rx => {
                return match answer {
                    Ok(Ok(answer)) => {
                        serde_json::to_value(answer).map_err(|error| McpError::InvalidResponse(error.to_string()))
                    }
                    Ok(Err(error)) => Err(self.map_request_error(error).await),
                    Err(_) => Err(McpError::Closed(self.disconnect_reason().await)),
                };
            }
            () = self.ended.cancelled() => return Err(McpError::Closed(self.disconnect_reason().await)),
            () = cancel.cancelled() => ("the user cancelled it", McpError::Cancelled),
            () = tokio::time::sleep(limit) => ("it took too long", McpError::TimedOut(limit)),
        };
        // The caller does not wait for the server to receive the cancellation.
        tokio::spawn(async move {
            let _ = tokio::time::timeout(CANCEL_NOTICE_TIMEOUT, handle.cancel(Some(reason.to_owned()))).await;
        });
        Err(error)
    }

    async fn map_request_error(&self, error: ServiceError) -> McpError {
        match error {
            ServiceError::McpError(ErrorData { code, message, .. }) => {
                McpError::Refused { code: code.0, message: shorten(&message) }
            }
            ServiceError::TransportSend(error) if is_unauthorized(error.error.as_ref()) => {
                McpError::Unauthorized { challenge: None }
            }
            ServiceError::TransportSend(error) if !error.error.is::<std::io::Error>() => {
                McpError::Closed(shorten(&error_chain(error.error.as_ref())))
            }
            ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
                McpError::Closed(self.disconnect_reason().await)
            }
            ServiceError::Cancelled { .. } => McpError::Cancelled,
            other => McpError::InvalidResponse(other.to_string()),
        }
    }
}

/// The time limit for the reason of a disconnection.
const DISCONNECT_REASON_TIMEOUT: Duration = Duration::from_millis(500);
/// The time limit for sending a cancellation.
const CANCEL_NOTICE_TIMEOUT: Duration = Duration::from_secs(5);

/// Converts the error of a handshake.
async fn map_handshake_error(error: ClientInitializeError, disconnect_reason: &DisconnectReason) -> McpError {
    if let Some(challenge) = error.auth_challenge() {
        return McpError::Unauthorized { challenge: Some(challenge.to_owned()).filter(|words| !words.is_empty()) };
    }
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            McpError::Refused { code: error.code.0, message: shorten(&error.message) }
        }
        // A program that does not read its input has often ended.
        ClientInitializeError::TransportError { error, .. } if error.error.is::<std::io::Error>() => {
            McpError::Closed(disconnect_reason.wait().await.unwrap_or_else(|| error.error.to_string()))
        }
        ClientInitializeError::TransportError { error, .. } => {
            McpError::Unreachable(shorten(&error_chain(error.error.as_ref())))
        }
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::Cancelled => {
            McpError::Closed(disconnect_reason.wait().await.unwrap_or_else(|| "it said nothing".to_owned()))
        }
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            McpError::InvalidResponse("its answer to `initialize` is not valid".to_owned())
        }
        other => McpError::InvalidResponse(shorten(&other.to_string())),
    }
}

/// Returns whether the server requires authentication.
fn is_unauthorized(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error.is::<rmcp::transport::streamable_http_client::AuthRequiredError>() {
            return true;
        }
        next = error.source();
    }
    false
}

/// Returns an error with its causes, because the outer message alone often says nothing.
fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        next = cause.source();
    }
    words
}

/// Returns a server's text as one short line.
fn shorten(words: &str) -> String {
    crate::tool::one_line(words, 400)
}
