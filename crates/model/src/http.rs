//! One HTTP client per model, built at the first request so that runs without network never load TLS.
//! Sends a body, tries again where that helps, and hands over an answer that has begun to arrive.

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, Url, redirect};

use crate::api_error::{ApiError, ApiErrorKind};
use crate::client::{ProxyOptions, client_builder};
use crate::error::{ModelError, root_cause};
use crate::retry::{RetryPolicy, parse_retry_after};
use crate::sse::MAX_EVENT_BYTES;
use crate::weight::{MOST_VALUES, values_in};
use crate::{Cancel, Provider};

/// How much of an error's body is read.
const MAX_ERROR_BYTES: usize = 256 * 1024;

/// How to talk to a server. Everything comes from the caller; the environment is not read.
#[derive(Clone)]
pub struct HttpOptions {
    /// How long to wait for a connection.
    pub connect_timeout: Duration,
    /// How long to wait for the next bytes, and for the next piece of an answer: signs of life are no answer.
    pub read_timeout: Duration,
    /// How many bytes an answer may have in all. Whatever goes on beyond that never ends.
    pub largest_answer: usize,
    /// How often to try again.
    pub retry: RetryPolicy,
    /// The proxy to go through.
    pub proxy: Option<ProxyOptions>,
    /// Further headers for each request.
    pub headers: Vec<(String, String)>,
    /// What the client calls itself.
    pub user_agent: String,
}

/// Headers and proxy addresses may hold secrets, which stay out of logs.
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
            largest_answer: 64 << 20,
            retry: RetryPolicy::default(),
            proxy: None,
            headers: Vec::new(),
            user_agent: concat!("hookwright/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// A client for one server.
pub(crate) struct Http {
    provider: Provider,
    base: Url,
    server: String,
    auth: Option<(HeaderName, HeaderValue)>,
    pub(crate) options: HttpOptions,
    client: OnceLock<Client>,
}

/// The key stays out of logs.
impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("server", &self.server).finish_non_exhaustive()
    }
}

/// How long and how large an answer may get.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// The longest pause between two pieces.
    pub(crate) pause: Duration,
    /// The most bytes in all.
    pub(crate) bytes: usize,
}

/// An answer whose first bytes are there.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) server: String,
    pub(crate) bounds: Bounds,
    pub(crate) first: Bytes,
    pub(crate) rest: Response,
}

impl Http {
    /// A client for the server at `base`, with a header that carries the key.
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
                let mut value = HeaderValue::try_from(value.trim())
                    .map_err(|_| ModelError::Config(format!("the {provider} API key has characters no key has")))?;
                value.set_sensitive(true);
                Some((HeaderName::from_static(name), value))
            }
        };
        Ok(Self { provider, base, server, auth, options, client: OnceLock::new() })
    }

    /// Host and port, for messages.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// The base with `path` appended.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.base.as_str().trim_end_matches('/'))
    }

    /// Posts JSON and waits for the answer to begin.
    pub(crate) async fn post(&self, url: &str, body: Vec<u8>, cancel: &Cancel) -> Result<Opened, ModelError> {
        let client = self.client()?;
        let body = Bytes::from(body);
        tracing::debug!(provider = %self.provider, server = self.server, bytes = body.len(), "posts a request");
        tracing::trace!(body = %String::from_utf8_lossy(&body), "the request");
        self.options.retry.run(cancel, || self.attempt(client.post(url).body(body.clone()))).await
    }

    /// Posts JSON and reads the whole answer.
    pub(crate) async fn post_whole(&self, url: &str, body: Vec<u8>, cancel: &Cancel) -> Result<Vec<u8>, ModelError> {
        read_whole(self.post(url, body, cancel).await?, cancel).await
    }

    /// Gets something that is no answer of a model's.
    pub(crate) async fn get_whole(&self, url: &str, cancel: &Cancel) -> Result<Vec<u8>, ModelError> {
        let client = self.client()?;
        tracing::debug!(provider = %self.provider, server = self.server, "asks for something");
        let opened = self.options.retry.run(cancel, || self.attempt(client.get(url))).await?;
        read_whole(opened, cancel).await
    }

    async fn attempt(&self, request: RequestBuilder) -> Result<Opened, ModelError> {
        let started = Instant::now();
        let mut response = request.send().await.map_err(|error| self.send_error(error))?;
        let (status, ms) = (response.status().as_u16(), started.elapsed().as_millis());
        tracing::debug!(server = self.server, status, ms, "the server answers");
        if !response.status().is_success() {
            return Err(self.refusal(response).await.into());
        }
        let server = self.server.clone();
        let bounds = Bounds { pause: self.options.read_timeout, bytes: self.options.largest_answer };
        match response.chunk().await {
            Ok(Some(first)) => Ok(Opened { server, bounds, first, rest: response }),
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

    async fn refusal(&self, mut response: Response) -> ApiError {
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
        // A body that breaks off still says more than none.
        let _ = read_up_to(&mut response, &mut body, MAX_ERROR_BYTES).await;
        ApiError::read(self.provider, status.as_u16(), &body, retry_after)
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
            // Following one would hand the key to whoever answers there.
            .redirect(redirect::Policy::none())
            .connect_timeout(self.options.connect_timeout)
            .read_timeout(self.options.read_timeout)
            .user_agent(&self.options.user_agent)
            .default_headers(headers);
        builder.build().map_err(|e| bad("the HTTP client", &e))
    }
}

/// The whole of an answer that has begun.
async fn read_whole(opened: Opened, cancel: &Cancel) -> Result<Vec<u8>, ModelError> {
    let Opened { first, mut rest, server, bounds } = opened;
    let mut whole = first.to_vec();
    let largest = bounds.bytes.min(MAX_EVENT_BYTES);
    let read = read_up_to(&mut rest, &mut whole, largest);
    let read = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(ModelError::Cancelled),
        read = read => read,
    };
    match read {
        Ok(End::Reached) => match values_in(&whole) {
            count if count > MOST_VALUES => {
                let detail = format!("an answer of more than {MOST_VALUES} values");
                Err(ModelError::Malformed { server, detail })
            }
            _ => Ok(whole),
        },
        Ok(End::Bound) => {
            let detail = format!("an answer of more than {largest} bytes");
            Err(ModelError::Malformed { server, detail })
        }
        Err(error) => Err(body_error(&error, &server, 0)),
    }
}

enum End {
    Reached,
    Bound,
}

async fn read_up_to(response: &mut Response, into: &mut Vec<u8>, bound: usize) -> Result<End, reqwest::Error> {
    while let Some(bytes) = response.chunk().await? {
        into.extend_from_slice(&bytes);
        if into.len() > bound {
            return Ok(End::Bound);
        }
    }
    Ok(End::Reached)
}

/// An answer that broke off after it had begun.
pub(crate) fn body_error(error: &reqwest::Error, server: &str, chunks: usize) -> ModelError {
    if error.is_timeout() {
        return ModelError::Timeout { server: server.to_owned() };
    }
    ModelError::CutOff { chunks, detail: root_cause(error) }
}
