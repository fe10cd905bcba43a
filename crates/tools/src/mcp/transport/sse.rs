//! The older HTTP transport with server-sent events: the server sends one stream of events, the first of which names
//! the address for messages to it.

use std::future::Future;
use std::sync::Arc;

use futures_util::StreamExt;
use reqwest::Url;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::inbound::InboundScreen;
use super::streamable_http::{McpHttpClient, McpHttpError, SseEventStream, error_response};
use super::{DisconnectReason, McpConnection, error_chain, handshake};
use crate::mcp::access::McpAccess;
use crate::mcp::error::McpError;

/// The number of messages that are queued before the server has to wait.
pub(super) const MESSAGE_QUEUE_CAPACITY: usize = 16;

pub(super) async fn connect(client: McpHttpClient, access: &McpAccess) -> Result<McpConnection, McpError> {
    let mut events = client.open_events(|request| request).await.map_err(|error| match error {
        StreamableHttpError::AuthRequired(challenge) => McpError::Unauthorized {
            challenge: Some(challenge.www_authenticate_header).filter(|words| !words.is_empty()),
        },
        StreamableHttpError::ServerDoesNotSupportSse => McpError::Unreachable("HTTP 405".to_owned()),
        other => McpError::Unreachable(error_chain(&other)),
    })?;
    let endpoint = read_endpoint(&client, &mut events).await?;
    let (stop, disconnect_reason) = (CancellationToken::new(), client.disconnect_reason.clone());
    let (sender, messages) = mpsc::channel(MESSAGE_QUEUE_CAPACITY);
    let inbound = client.inbound.clone();
    tokio::spawn(forward_events(events, sender, inbound.clone(), disconnect_reason.clone(), stop.clone()));
    handshake(SseTransport { client, endpoint, messages }, access, &inbound, disconnect_reason, stop).await
}

/// Reads the address for messages to the server, which must have the server's own origin.
async fn read_endpoint(client: &McpHttpClient, events: &mut SseEventStream) -> Result<Url, McpError> {
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| McpError::Unreachable(error_chain(&error)))?;
        if event.event.as_deref() == Some("endpoint") {
            let named = client.url.join(event.data.as_deref().unwrap_or_default().trim());
            let named =
                named.map_err(|_| McpError::InvalidResponse("the address that it names is not valid".to_owned()))?;
            if named.origin() != client.url.origin() {
                return Err(McpError::InvalidResponse("it wants messages sent to another server".to_owned()));
            }
            return Ok(named);
        }
    }
    Err(McpError::InvalidResponse("it names no address for messages".to_owned()))
}

async fn forward_events(
    mut events: SseEventStream,
    sender: mpsc::Sender<ServerJsonRpcMessage>,
    inbound: Arc<InboundScreen>,
    disconnect_reason: DisconnectReason,
    stop: CancellationToken,
) {
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = stop.cancelled() => return,
        };
        let data = match event {
            None => return disconnect_reason.set_once(|| "its stream of events ended".to_owned()),
            Some(Err(error)) => return disconnect_reason.set_once(|| error_chain(&error)),
            Some(Ok(event)) => event.data.unwrap_or_default(),
        };
        tokio::select! {
            passed = forward_message(&inbound, data.as_bytes(), &sender) => if !passed { return },
            () = stop.cancelled() => return,
        }
    }
}

/// Passes a server's message on; returns whether the receiver still exists.
pub(super) async fn forward_message(
    inbound: &InboundScreen,
    bytes: &[u8],
    to: &mpsc::Sender<ServerJsonRpcMessage>,
) -> bool {
    match inbound.read(bytes).await {
        Some(message) => to.send(message).await.is_ok(),
        None => !to.is_closed(),
    }
}

struct SseTransport {
    client: McpHttpClient,
    endpoint: Url,
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
}

impl Transport<RoleClient> for SseTransport {
    type Error = StreamableHttpError<McpHttpError>;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (client, endpoint) = (self.client.clone(), self.endpoint.clone());
        async move {
            let response = client.post(endpoint, &message, |request| request).await?;
            if response.status().is_success() { Ok(()) } else { Err(error_response(response).await) }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.messages.close();
        Ok(())
    }
}
