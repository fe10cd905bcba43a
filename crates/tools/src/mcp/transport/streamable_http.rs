//! Remote servers over streamable HTTP. `rmcp` implements the protocol; this file sends the requests and limits the
//! size of the responses.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use hookwright_model::client_builder;
use hookwright_model::sse::SseDecoder;
use hookwright_settings::McpServer;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url, redirect};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpClientTransport,
    StreamableHttpClientTransportConfig, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use tokio_util::sync::CancellationToken;

use super::inbound::InboundScreen;
use super::{DisconnectReason, MAX_MESSAGE_BYTES, McpConnection, error_chain, handshake, shorten};
use crate::mcp::access::{McpAccess, TokenProvider};
use crate::mcp::error::McpError;

/// The size limit of an error response.
const MAX_ERROR_BODY_BYTES: usize = 64 << 10;
/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;
/// The limits of the delay that a server may ask for before its stream is resumed.
const MIN_RETRY_MILLIS: u64 = 100;
const MAX_RETRY_MILLIS: u64 = 60_000;

pub(super) type SseEventStream = BoxStream<'static, Result<Sse, SseError>>;
type StreamableHttpFailure = StreamableHttpError<McpHttpError>;

/// Why a message could not be sent or read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct McpHttpError(pub(super) String);

/// The HTTP client for one server, with the headers of its configuration.
#[derive(Clone)]
pub(super) struct McpHttpClient {
    client: reqwest::Client,
    pub(super) url: Url,
    headers: HashMap<HeaderName, HeaderValue>,
    /// The provider of tokens, unless the configuration sets an `Authorization` header.
    tokens: Option<(Arc<dyn TokenProvider>, McpServer)>,
    pub(super) inbound: Arc<InboundScreen>,
    pub(super) disconnect_reason: DisconnectReason,
    /// The status of the first request that the server refused.
    refused_status: Arc<OnceLock<StatusCode>>,
}

impl McpHttpClient {
    pub(super) async fn new(
        server: &McpServer,
        url: &str,
        headers: &[(String, String)],
        access: &McpAccess,
    ) -> Result<Self, McpError> {
        let no_url = || McpError::Unreachable(format!("{} is not an http or https URL", strip_url_secrets(url)));
        let parsed = Url::parse(url).map_err(|_| no_url())?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(no_url());
        }
        let mut all = HashMap::new();
        for (name, value) in headers {
            let bad = || McpError::Unreachable(format!("the header {name} can't be sent"));
            let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            all.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?, value);
        }
        let has_own_authorization = all.contains_key(&AUTHORIZATION);
        let tokens = access.tokens.clone().filter(|_| !has_own_authorization).map(|tokens| (tokens, server.clone()));
        let unbuilt = |error: reqwest::Error| McpError::Unreachable(error_chain(&error));
        let client = client_builder(access.proxy.as_ref())
            .map_err(unbuilt)?
            .user_agent(concat!("hookwright/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(redirect::Policy::custom(same_origin_redirect))
            .build()
            .map_err(unbuilt)?;
        Ok(McpHttpClient {
            client,
            url: parsed,
            headers: all,
            tokens,
            inbound: InboundScreen::new(),
            disconnect_reason: DisconnectReason::default(),
            refused_status: Arc::default(),
        })
    }

    /// Returns whether the server's refusal is typical of servers that support only the SSE transport.
    pub(super) fn suggests_sse_server(&self) -> bool {
        matches!(
            self.refused_status.get(),
            Some(
                &(StatusCode::BAD_REQUEST
                    | StatusCode::NOT_FOUND
                    | StatusCode::METHOD_NOT_ALLOWED
                    | StatusCode::NOT_ACCEPTABLE
                    | StatusCode::UNSUPPORTED_MEDIA_TYPE)
            )
        )
    }

    /// Connects over streamable HTTP.
    pub(super) async fn connect(self, access: &McpAccess) -> Result<McpConnection, McpError> {
        let config =
            StreamableHttpClientTransportConfig::with_uri(self.url.as_str()).max_sse_event_size(MAX_MESSAGE_BYTES);
        let (inbound, disconnect_reason) = (self.inbound.clone(), self.disconnect_reason.clone());
        let transport = StreamableHttpClientTransport::with_client(self, config);
        handshake(transport, access, &inbound, disconnect_reason, CancellationToken::new()).await
    }

    fn request(&self, method: Method, url: Url) -> RequestBuilder {
        self.headers.iter().fold(self.client.request(method, url), |request, (name, value)| request.header(name, value))
    }

    /// Sends a request; an authentication error becomes `AuthRequired`. A refused token is renewed once.
    async fn send(&self, request: RequestBuilder) -> Result<Response, StreamableHttpFailure> {
        let again = request.try_clone();
        let token = match &self.tokens {
            Some((tokens, server)) => tokens.bearer(server).await,
            None => None,
        };
        let mut response = with_token(request, token.as_deref()).send().await.map_err(request_error)?;
        if let (StatusCode::UNAUTHORIZED, Some((tokens, server)), Some(refused), Some(again)) =
            (response.status(), &self.tokens, &token, again)
            && let Some(other) = tokens.replace_refused(server, refused).await
        {
            response = with_token(again, Some(&other)).send().await.map_err(request_error)?;
        }
        if response.status().is_client_error() {
            let _ = self.refused_status.set(response.status());
        }
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
                if let (StatusCode::FORBIDDEN, Some((tokens, server)), Some(challenge)) =
                    (response.status(), &self.tokens, challenge)
                {
                    tokens.request_scopes(server, challenge).await;
                }
                Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge.unwrap_or_default().to_owned())))
            }
            _ => Ok(response),
        }
    }

    /// Opens the server's stream of events, for both transports.
    pub(super) async fn open_events(
        &self,
        more: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<SseEventStream, StreamableHttpFailure> {
        let request = self.request(Method::GET, self.url.clone()).header(ACCEPT, "text/event-stream");
        let response = self.send(more(request)).await?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !response.status().is_success() {
            return Err(error_response(response).await);
        }
        match content_type(&response) {
            Some(kind) if kind.starts_with("text/event-stream") => Ok(decode_events(response)),
            other => Err(StreamableHttpError::UnexpectedContentType(other)),
        }
    }

    /// Posts a message to an address.
    pub(super) async fn post(
        &self,
        url: Url,
        message: &ClientJsonRpcMessage,
        more: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, StreamableHttpFailure> {
        let request = self
            .request(Method::POST, url)
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(serde_json::to_vec(message)?);
        let response = self.send(more(request)).await;
        self.inbound.note_sent(message);
        response
    }

    /// Screens the messages of a stream of events, and removes the notifications.
    fn screen_events(&self, events: SseEventStream) -> SseEventStream {
        let inbound = self.inbound.clone();
        let screen = move |event: Result<Sse, SseError>| {
            let inbound = inbound.clone();
            async move {
                let mut event = event?;
                if let Some(data) = event.data.take().filter(|data| !data.is_empty()) {
                    event.data = inbound.screen(data.as_bytes()).await.map(|message| message.to_string());
                }
                Ok(event)
            }
        };
        events.then(screen).boxed()
    }
}

fn with_token(request: RequestBuilder, token: Option<&str>) -> RequestBuilder {
    let value = token.and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
    match value {
        Some(mut value) => {
            value.set_sensitive(true);
            request.header(AUTHORIZATION, value)
        }
        None => request,
    }
}

/// Follows redirects only within the origin, because headers may contain secrets.
fn same_origin_redirect(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let from = attempt.previous().first().map(Url::origin);
    match from {
        Some(origin) if origin == attempt.url().origin() && attempt.previous().len() <= MAX_REDIRECTS => {
            attempt.follow()
        }
        _ => attempt.stop(),
    }
}

/// Returns an address without the parts that may be secret: user, password, query and fragment.
pub(super) fn strip_url_secrets(url: &str) -> String {
    match Url::parse(url) {
        Ok(mut parsed) => {
            let _ = parsed.set_username("");
            let _ = parsed.set_password(None);
            parsed.set_query(None);
            parsed.set_fragment(None);
            parsed.to_string()
        }
        // An unparsable address may contain secrets anywhere.
        Err(_) => "the given address".to_owned(),
    }
}

fn request_error(error: reqwest::Error) -> StreamableHttpFailure {
    // The address may hold secrets.
    let error = error.without_url();
    let words = match () {
        () if error.is_timeout() => "no answer in time".to_owned(),
        () if error.is_connect() => format!("{CONNECT_FAILED_PREFIX}{}", root_cause(&error)),
        () => error_chain(&error),
    };
    StreamableHttpError::Client(McpHttpError(words))
}

/// The prefix of an error message for failed connections, by which they are recognised.
pub(super) const CONNECT_FAILED_PREFIX: &str = "no server is there: ";

/// Returns the innermost cause, without the system's error number.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        words = cause.to_string();
        next = cause.source();
    }
    words.split(" (os error").next().unwrap_or_default().to_lowercase()
}

fn content_type(response: &Response) -> Option<String> {
    let value = response.headers().get(CONTENT_TYPE)?;
    Some(String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase())
}

/// Reads a body up to a size limit.
async fn read_body(mut response: Response, limit: usize) -> Result<Vec<u8>, StreamableHttpFailure> {
    let mut all = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(request_error)? {
        if all.len() + piece.len() > limit {
            let words = format!("it sent a message of more than {} MiB", MAX_MESSAGE_BYTES >> 20);
            return Err(StreamableHttpError::Client(McpHttpError(words)));
        }
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

/// Converts an error response.
pub(super) async fn error_response(response: Response) -> StreamableHttpFailure {
    let status = response.status();
    let words = read_body(response, MAX_ERROR_BODY_BYTES).await.unwrap_or_default();
    let words = shorten(&String::from_utf8_lossy(&words));
    let words = if words.starts_with('<') { String::new() } else { words };
    let sign = if words.is_empty() { "" } else { ": " };
    StreamableHttpError::Client(McpHttpError(format!("HTTP {}{sign}{words}", status.as_u16())))
}

/// Decodes a body's events, each with a size limit.
fn decode_events(response: Response) -> SseEventStream {
    let state = (response, SseDecoder::with_limit(MAX_MESSAGE_BYTES), VecDeque::new());
    let events = stream::try_unfold(state, |(mut response, mut decoder, mut queue)| async move {
        let body = |error: Box<dyn std::error::Error + Send + Sync>| SseError::Body(error);
        loop {
            if let Some(event) = queue.pop_front() {
                return Ok(Some((event, (response, decoder, queue))));
            }
            let piece = response.chunk().await.map_err(|error| body(Box::new(error.without_url())))?;
            let Some(piece) = piece else { return Ok(None) };
            let emit = |event: hookwright_model::sse::SseEvent| {
                let kind = Some(event.event).filter(|kind| !kind.is_empty());
                let retry = event.retry.map(|millis| millis.clamp(MIN_RETRY_MILLIS, MAX_RETRY_MILLIS));
                queue.push_back(Sse { event: kind, data: Some(event.data), id: event.id, retry });
            };
            decoder.push(&piece, emit).map_err(|error| body(Box::new(error)))?;
        }
    });
    events.boxed()
}

impl StreamableHttpClient for McpHttpClient {
    type Error = McpHttpError;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpFailure> {
        let has_session = session.is_some();
        let response =
            self.post(self.url.clone(), &message, |request| with_protocol_headers(request, session, headers)).await?;
        let status = response.status();
        let wants_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let session = response.headers().get(SESSION_HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let kind = content_type(&response).unwrap_or_default();
        match () {
            () if !status.is_success() => Err(error_response(response).await),
            () if kind.starts_with("text/event-stream") => {
                Ok(StreamableHttpPostResponse::Sse(self.screen_events(decode_events(response)), session))
            }
            () if kind.starts_with("application/json") && wants_answer => {
                let message = self.inbound.read(&read_body(response, MAX_MESSAGE_BYTES).await?).await;
                let message = message.ok_or_else(|| {
                    StreamableHttpError::Client(McpHttpError("its answer is not an MCP message".to_owned()))
                })?;
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            () if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
            () => Err(StreamableHttpError::UnexpectedContentType(Some(kind))),
        }
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), StreamableHttpFailure> {
        let request = self.request(Method::DELETE, self.url.clone());
        self.send(with_protocol_headers(request, Some(session), headers)).await.map(drop)
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<SseEventStream, StreamableHttpFailure> {
        let resumed = |request| {
            let request = with_protocol_headers(request, session, headers);
            match last {
                Some(last) => request.header("last-event-id", last),
                None => request,
            }
        };
        self.open_events(resumed).await.map(|events| self.screen_events(events))
    }
}

const SESSION_HEADER: &str = "mcp-session-id";

/// Adds the protocol's headers to a request.
fn with_protocol_headers(
    request: RequestBuilder,
    session: Option<Arc<str>>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> RequestBuilder {
    let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    match session {
        Some(session) => request.header(SESSION_HEADER, session.as_ref()),
        None => request,
    }
}
