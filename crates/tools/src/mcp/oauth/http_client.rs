//! The HTTP client for authorisation servers: small JSON documents over https, with limits on size and time, and
//! without redirects. A server on the internet can't make this program access an address of this machine or of its
//! network.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hookwright_model::{ProxyOptions, client_builder};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url, redirect};
use serde_json::{Value, json};

use super::error::OAuthError;
use crate::address;

/// The size limit of a response.
const MAX_OAUTH_RESPONSE_BYTES: usize = 256 << 10;
/// The time limit of a request.
const OAUTH_REQUEST_TIMEOUT: Duration = Duration::from_secs(15);

/// The addresses that may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NetworkReach {
    /// Public addresses only.
    Public,
    /// Private addresses too, because the MCP server has one itself. Link-local addresses are never reached: cloud
    /// machines get credentials there.
    Private,
}

/// An HTTP client with a limited reach.
pub(super) struct OAuthHttpClient {
    client: Client,
    reach: NetworkReach,
}

/// A JSON response.
pub(super) struct OAuthResponse {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

impl OAuthHttpClient {
    /// Creates the client for signing in to a server.
    pub(super) async fn new(server: &Url, proxy: Option<&ProxyOptions>) -> Result<Self, OAuthError> {
        let reach = reach_of(server).await;
        let unbuilt = |error: reqwest::Error| unreachable_error(server, error.without_url().to_string());
        let client = client_builder(proxy)
            .map_err(unbuilt)?
            .user_agent(concat!("hookwright/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .timeout(OAUTH_REQUEST_TIMEOUT)
            .dns_resolver(Arc::new(ReachResolver(reach)))
            .build()
            .map_err(unbuilt)?;
        Ok(OAuthHttpClient { client, reach })
    }

    /// Checks an address that is about to be requested, or opened in the user's browser.
    pub(super) fn check_url(&self, url: &str, what: &'static str) -> Result<Url, OAuthError> {
        let no = |why| OAuthError::UnusableAddress { what, url: display_url(url), why };
        let parsed = Url::parse(url).map_err(|_| no("it is not a valid address"))?;
        let host = parsed.host_str().ok_or_else(|| no("it has no host"))?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(no("it contains a user name or a password"));
        }
        let literal: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        if literal.is_some_and(is_link_local) {
            return Err(no("link-local addresses are never used"));
        }
        let is_private = literal.map_or_else(|| address::is_private_name(host), address::is_private);
        if is_private && self.reach == NetworkReach::Public {
            return Err(no("it resolves only to addresses that may not be reached from here"));
        }
        match parsed.scheme() {
            "https" => Ok(parsed),
            "http" if is_loopback(&parsed) => Ok(parsed),
            _ => Err(no("it is not https")),
        }
    }

    /// Returns a JSON object; `None` if the response is an error or not an object.
    pub(super) async fn get_json(&self, url: &Url) -> Result<Option<Value>, OAuthError> {
        let answer = self.send(self.client.get(url.clone()), url).await?;
        Ok(answer.filter(|answer| answer.status.is_success()).map(|answer| answer.body).filter(Value::is_object))
    }

    /// Posts a form, with the client's id and secret in the `Authorization` header if `basic` is given.
    pub(super) async fn post_form(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        basic: Option<&str>,
    ) -> Result<OAuthResponse, OAuthError> {
        let mut body = Url::parse("form:x").map_err(|_| unreachable_error(url, "no form".to_owned()))?;
        body.query_pairs_mut().extend_pairs(form);
        let request = self.client.post(url.clone()).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let request = match basic {
            Some(basic) => request.header(AUTHORIZATION, format!("Basic {basic}")),
            None => request,
        };
        let answer = self.send(request.body(body.query().unwrap_or_default().to_owned()), url).await?;
        answer.ok_or_else(|| unreachable_error(url, "its answer is not JSON".to_owned()))
    }

    /// Posts a JSON document.
    pub(super) async fn post_json(&self, url: &Url, document: &Value) -> Result<OAuthResponse, OAuthError> {
        let request = self.client.post(url.clone()).header(CONTENT_TYPE, "application/json").body(document.to_string());
        let answer = self.send(request, url).await?;
        answer.ok_or_else(|| unreachable_error(url, "its answer is not JSON".to_owned()))
    }

    /// Sends a request without a token and returns the server's `WWW-Authenticate` headers.
    pub(super) async fn fetch_challenge(&self, server: &Url) -> Result<Option<String>, OAuthError> {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "hookwright", "version": env!("CARGO_PKG_VERSION")}}});
        let request = self
            .client
            .post(server.clone())
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_TYPE, "application/json")
            .body(hello.to_string());
        let response = request.send().await.map_err(|error| request_error(server, error))?;
        let challenges = response.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let all: Vec<&str> = challenges.collect();
        Ok((!all.is_empty()).then(|| all.join(", ")))
    }

    async fn send(&self, request: RequestBuilder, url: &Url) -> Result<Option<OAuthResponse>, OAuthError> {
        let response =
            request.header(ACCEPT, "application/json").send().await.map_err(|error| request_error(url, error))?;
        let status = response.status();
        let body = read_body(response, url).await?;
        Ok(serde_json::from_slice(&body).ok().map(|body| OAuthResponse { status, body }))
    }
}

async fn read_body(mut response: Response, url: &Url) -> Result<Vec<u8>, OAuthError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| request_error(url, error))? {
        if body.len() + chunk.len() > MAX_OAUTH_RESPONSE_BYTES {
            return Err(unreachable_error(url, format!("its answer is larger than {MAX_OAUTH_RESPONSE_BYTES} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Returns the reach for a server: private addresses only if the server has one itself.
async fn reach_of(server: &Url) -> NetworkReach {
    let Some(host) = server.host_str() else { return NetworkReach::Public };
    let is_private = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(literal) => address::is_private(literal),
        Err(_) if address::is_private_name(host) => true,
        Err(_) => {
            let port = server.port_or_known_default().unwrap_or(443);
            let found = tokio::time::timeout(OAUTH_REQUEST_TIMEOUT, tokio::net::lookup_host((host, port))).await;
            found.ok().and_then(Result::ok).is_some_and(|mut found| found.any(|one| address::is_private(one.ip())))
        }
    };
    if is_private { NetworkReach::Private } else { NetworkReach::Public }
}

/// Returns whether an address is of the loopback interface.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let literal: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    literal.map_or_else(|| host.eq_ignore_ascii_case("localhost"), |address| address.is_loopback())
}

fn is_link_local(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Resolves names to addresses that may be reached; the connection is made to exactly these.
struct ReachResolver(NetworkReach);

#[derive(Debug, thiserror::Error)]
#[error("it resolves only to addresses that may not be reached from here")]
struct DisallowedAddressError;

impl Resolve for ReachResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0;
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let may = |address: IpAddr| match reach {
                NetworkReach::Public => !address::is_private(address),
                NetworkReach::Private => !is_link_local(address),
            };
            let usable: Vec<SocketAddr> = found.iter().copied().filter(|one| may(one.ip())).collect();
            if usable.is_empty() && !found.is_empty() {
                return Err(DisallowedAddressError.into());
            }
            Ok(Box::new(usable.into_iter()) as Addrs)
        })
    }
}

/// Returns an address without the parts that may be secret.
pub(super) fn display_url(url: &str) -> String {
    let plain: String = url.chars().filter(|char| !char.is_control()).take(200).collect();
    match Url::parse(&plain) {
        Ok(mut url) => {
            url.set_query(None);
            url.set_fragment(None);
            let _ = url.set_password(None);
            let _ = url.set_username("");
            url.to_string()
        }
        Err(_) => plain,
    }
}

fn unreachable_error(url: &Url, why: String) -> OAuthError {
    OAuthError::Unreachable { host: url.host_str().unwrap_or_default().to_owned(), why }
}

fn request_error(url: &Url, error: reqwest::Error) -> OAuthError {
    if error.is_timeout() {
        return unreachable_error(url, format!("no answer within {} seconds", OAUTH_REQUEST_TIMEOUT.as_secs()));
    }
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    unreachable_error(url, text)
}
