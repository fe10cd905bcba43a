//! One HTTP client per model, built at the first request so that runs without network never load TLS.
//! It sends a body, retries where that may help, and returns a response whose first bytes have arrived.

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, Url, redirect};

use crate::api_error::{ApiError, ApiErrorKind};
use crate::error::{ModelError, root_cause};
use crate::memory_size::{MAX_JSON_VALUES, count_json_values};
use crate::proxy::{ProxyOptions, client_builder};
use crate::retry::{RetryPolicy, parse_retry_after};
use crate::sse::MAX_EVENT_BYTES;
use crate::{Cancel, Provider};

/// The number of bytes that are read from an error's body.
const MAX_ERROR_BYTES: usize = 256 * 1024;

/// Options of the connection to a server. Everything comes from the caller; the environment is not read.
#[derive(Clone)]
pub struct HttpOptions {
    /// The time limit for a connection.
    pub connect_timeout: Duration,
    /// The time limit for the next bytes, and for the next chunk of an answer: keep-alive comments do not extend it.
    pub read_timeout: Duration,
    /// The size limit of an answer in bytes; a longer one is treated as endless.
    pub max_answer_bytes: usize,
    /// When and how often to retry.
    pub retry: RetryPolicy,
    /// The proxy to use, if any.
    pub proxy: Option<ProxyOptions>,
    /// Additional headers of each request.
    pub headers: Vec<(String, String)>,
    /// The value of the `User-Agent` header.
    pub user_agent: String,
}

/// Leaves out headers and proxy addresses, which may hold secrets.
impl fmt::Debug for HttpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOptions").field("retry", &self.retry).finish_non_exhaustive()
    }
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(20),
            read_timeout: Duration::from_secs(600),
            max_answer_bytes: 64 << 20,
            retry: RetryPolicy::default(),
            proxy: None,
            headers: Vec::new(),
            user_agent: concat!("hookwright/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// An HTTP client for one model server.
pub(crate) struct ModelHttpClient {
    provider: Provider,
    base: Url,
    server: String,
    auth: Option<(HeaderName, HeaderValue)>,
    pub(crate) options: HttpOptions,
    client: OnceLock<Client>,
}

/// Leaves out the key.
impl fmt::Debug for ModelHttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("server", &self.server).finish_non_exhaustive()
    }
}

/// The limits of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerLimits {
    /// The longest pause between two chunks.
    pub(crate) read_timeout: Duration,
    /// The size limit in bytes.
    pub(crate) max_bytes: usize,
}

/// A response whose first bytes have arrived.
#[derive(Debug)]
pub(crate) struct OpenedResponse {
    pub(crate) server: String,
    pub(crate) limits: AnswerLimits,
    pub(crate) first_bytes: Bytes,
    pub(crate) response: Response,
}

impl ModelHttpClient {
    /// Creates a client for the server at `base`, with a header for the key.
    pub(crate) fn new(
        provider: Provider,
        base: &str,
        auth: Option<(&'static str, String)>,
        options: HttpOptions,
    ) -> Result<Self, ModelError> {
        let base = Url::parse(base)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| ModelError::Config(format!("`{base}` is not the address of a server (https://…)")))?;
        let host = base.host_str().unwrap_or_default();
        let server = match base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let auth = match auth {
            None => None,
            Some((name, value)) => {
                let mut value = HeaderValue::try_from(value.trim()).map_err(|_| {
                    ModelError::Config(format!("the {provider} API key has characters that are not allowed in a key"))
                })?;
                value.set_sensitive(true);
                Some((HeaderName::from_static(name), value))
            }
        };
        Ok(Self { provider, base, server, auth, options, client: OnceLock::new() })
    }

    /// Returns the server's host and port, for messages.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// Returns the base URL with `path` appended.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.base.as_str().trim_end_matches('/'))
    }

    /// Posts JSON and waits for the first bytes of the answer.
    pub(crate) async fn post(&self, url: &str, body: Vec<u8>, cancel: &Cancel) -> Result<OpenedResponse, ModelError> {
        let client = self.client()?;
        let body = Bytes::from(body);
        tracing::debug!(provider = %self.provider, server = self.server, bytes = body.len(), "posts a request");
        tracing::trace!(body = %String::from_utf8_lossy(&body), "the request");
        self.options.retry.run(cancel, || self.send_once(client.post(url).body(body.clone()))).await
    }

    /// Posts JSON and reads the whole answer.
    pub(crate) async fn post_whole(&self, url: &str, body: Vec<u8>, cancel: &Cancel) -> Result<Vec<u8>, ModelError> {
        read_whole(self.post(url, body, cancel).await?, cancel).await
    }

    /// Sends a GET request and reads the whole response.
    pub(crate) async fn get_whole(&self, url: &str, cancel: &Cancel) -> Result<Vec<u8>, ModelError> {
        let client = self.client()?;
        tracing::debug!(provider = %self.provider, server = self.server, "asks for something");
        let opened = self.options.retry.run(cancel, || self.send_once(client.get(url))).await?;
        read_whole(opened, cancel).await
    }

    async fn send_once(&self, request: RequestBuilder) -> Result<OpenedResponse, ModelError> {
        let started = Instant::now();
        let mut response = request.send().await.map_err(|error| self.send_error(error))?;
        let (status, ms) = (response.status().as_u16(), started.elapsed().as_millis());
        tracing::debug!(server = self.server, status, ms, "the server answers");
        if !response.status().is_success() {
            return Err(self.read_api_error(response).await.into());
        }
        let server = self.server.clone();
        let bounds = AnswerLimits { read_timeout: self.options.read_timeout, max_bytes: self.options.max_answer_bytes };
        match response.chunk().await {
            Ok(Some(first)) => Ok(OpenedResponse { server, limits: bounds, first_bytes: first, response }),
            Ok(None) => Err(ModelError::CutOff { chunks: 0, detail: format!("{server} sent nothing") }),
            Err(error) => Err(body_error(&error, &server, 0)),
        }
    }

    fn send_error(&self, error: reqwest::Error) -> ModelError {
        let server = self.server.clone();
        if error.is_timeout() && !error.is_connect() {
            return ModelError::Timeout { server };
        }
        ModelError::Connect { server, source: Box::new(error.without_url()) }
    }

    async fn read_api_error(&self, mut response: Response) -> ApiError {
        let status = response.status();
        let header = |name| response.headers().get(name).and_then(|v: &HeaderValue| v.to_str().ok());
        let retry_after = header(RETRY_AFTER).and_then(|value| parse_retry_after(value, Timestamp::now()));
        if status.is_redirection() {
            let to = header(LOCATION).unwrap_or("another address");
            return ApiError {
                provider: self.provider,
                status: status.as_u16(),
                kind: ApiErrorKind::NotFound,
                message: format!("{} redirects to {to}; use that as the base URL", self.server),
                retry_after: None,
            };
        }
        let mut body = Vec::new();
        // An incomplete body is still better than none.
        let _ = read_up_to(&mut response, &mut body, MAX_ERROR_BYTES).await;
        ApiError::from_body(self.provider, status.as_u16(), &body, retry_after)
    }

    fn client(&self) -> Result<&Client, ModelError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = self.build_client()?;
        Ok(self.client.get_or_init(|| client))
    }

    fn build_client(&self) -> Result<Client, ModelError> {
        let bad = |what: &str, error: &dyn fmt::Display| ModelError::Config(format!("{what} cannot be used: {error}"));
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &self.options.headers {
            let name = HeaderName::try_from(name).map_err(|e| bad("a header's name", &e))?;
            let value = HeaderValue::try_from(value).map_err(|e| bad("a header's value", &e))?;
            headers.insert(name, value);
        }
        headers.extend(self.auth.clone());
        let builder = client_builder(self.options.proxy.as_ref()).map_err(|e| bad("the proxy", &e))?;
        let builder = builder
            // Following a redirect would send the key to another server.
            .redirect(redirect::Policy::none())
            .connect_timeout(self.options.connect_timeout)
            .read_timeout(self.options.read_timeout)
            .user_agent(&self.options.user_agent)
            .default_headers(headers);
        builder.build().map_err(|e| bad("the HTTP client", &e))
    }
}

/// Reads the whole of a response that has begun.
async fn read_whole(opened: OpenedResponse, cancel: &Cancel) -> Result<Vec<u8>, ModelError> {
    let OpenedResponse { first_bytes: first, response: mut rest, server, limits: bounds } = opened;
    let mut whole = first.to_vec();
    let largest = bounds.max_bytes.min(MAX_EVENT_BYTES);
    let read = read_up_to(&mut rest, &mut whole, largest);
    let read = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(ModelError::Cancelled),
        read = read => read,
    };
    match read {
        Ok(BodyEnd::Complete) => match count_json_values(&whole) {
            count if count > MAX_JSON_VALUES => {
                let detail = format!("an answer of more than {MAX_JSON_VALUES} values");
                Err(ModelError::Malformed { server, detail })
            }
            _ => Ok(whole),
        },
        Ok(BodyEnd::LimitReached) => {
            let detail = format!("an answer of more than {largest} bytes");
            Err(ModelError::Malformed { server, detail })
        }
        Err(error) => Err(body_error(&error, &server, 0)),
    }
}

enum BodyEnd {
    Complete,
    LimitReached,
}

async fn read_up_to(response: &mut Response, into: &mut Vec<u8>, bound: usize) -> Result<BodyEnd, reqwest::Error> {
    while let Some(bytes) = response.chunk().await? {
        into.extend_from_slice(&bytes);
        if into.len() > bound {
            return Ok(BodyEnd::LimitReached);
        }
    }
    Ok(BodyEnd::Complete)
}

/// Returns the error for a response that failed after it had begun.
pub(crate) fn body_error(error: &reqwest::Error, server: &str, chunks: usize) -> ModelError {
    if error.is_timeout() {
        return ModelError::Timeout { server: server.to_owned() };
    }
    ModelError::CutOff { chunks, detail: root_cause(error) }
}
