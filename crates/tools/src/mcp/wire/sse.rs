//! Servers elsewhere, over the older way: one stream of events from the server, which first names the address where it
//! wants to be told things.

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

use super::http::{Client, Events, HttpFailure, refusal};
use super::inbound::Inbound;
use super::{Connection, Trouble, chain, introduce};
use crate::mcp::access::Access;
use crate::mcp::error::McpError;

/// How many messages wait for us before the server does.
pub(super) const WAITING: usize = 16;

pub(super) async fn connect(client: Client, access: &Access) -> Result<Connection, McpError> {
    let mut events = client.events(|request| request).await.map_err(|error| match error {
        StreamableHttpError::AuthRequired(challenge) => McpError::Unauthorized {
            challenge: Some(challenge.www_authenticate_header).filter(|words| !words.is_empty()),
        },
        StreamableHttpError::ServerDoesNotSupportSse => McpError::Unreachable("HTTP 405".to_owned()),
        other => McpError::Unreachable(chain(&other)),
    })?;
    let endpoint = endpoint(&client, &mut events).await?;
    let (stop, trouble) = (CancellationToken::new(), client.trouble.clone());
    let (sender, messages) = mpsc::channel(WAITING);
    let inbound = client.inbound.clone();
    tokio::spawn(read(events, sender, inbound.clone(), trouble.clone(), stop.clone()));
    introduce(Older { client, endpoint, messages }, access, &inbound, trouble, stop).await
}

/// Where the server wants to be told things: at its own address and nowhere else.
async fn endpoint(client: &Client, events: &mut Events) -> Result<Url, McpError> {
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| McpError::Unreachable(chain(&error)))?;
        if event.event.as_deref() == Some("endpoint") {
            let named = client.url.join(event.data.as_deref().unwrap_or_default().trim());
            let named = named.map_err(|_| McpError::Nonsense("the address that it names is none".to_owned()))?;
            if named.origin() != client.url.origin() {
                return Err(McpError::Nonsense("it wants what it is told sent to another server".to_owned()));
            }
            return Ok(named);
        }
    }
    Err(McpError::Nonsense("it names no address to be told things at".to_owned()))
}

async fn read(
    mut events: Events,
    sender: mpsc::Sender<ServerJsonRpcMessage>,
    inbound: Arc<Inbound>,
    trouble: Trouble,
    stop: CancellationToken,
) {
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = stop.cancelled() => return,
        };
        let data = match event {
            None => return trouble.tell(|| "its stream of events ended".to_owned()),
            Some(Err(error)) => return trouble.tell(|| chain(&error)),
            Some(Ok(event)) => event.data.unwrap_or_default(),
        };
        tokio::select! {
            passed = pass_on(&inbound, data.as_bytes(), &sender) => if !passed { return },
            () = stop.cancelled() => return,
        }
    }
}

/// Hands a server's message on; whether anybody is still there for more.
pub(super) async fn pass_on(inbound: &Inbound, bytes: &[u8], to: &mpsc::Sender<ServerJsonRpcMessage>) -> bool {
    match inbound.read(bytes).await {
        Some(message) => to.send(message).await.is_ok(),
        None => !to.is_closed(),
    }
}

struct Older {
    client: Client,
    endpoint: Url,
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
}

impl Transport<RoleClient> for Older {
    type Error = StreamableHttpError<HttpFailure>;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (client, endpoint) = (self.client.clone(), self.endpoint.clone());
        async move {
            let response = client.post(endpoint, &message, |request| request).await?;
            if response.status().is_success() { Ok(()) } else { Err(refusal(response).await) }
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
