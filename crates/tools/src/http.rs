//! Fetches a URL with limits on the body's size, the time and the redirects. Unless allowed otherwise, only public
//! addresses are reached; they are checked after name resolution and again at every redirect. The client is built at
//! the first request.

use crate::address;
use hookwright_model::{ProxyOptions, client_builder};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url, header};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The limits of what may be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpPolicy {
    /// Whether this machine and private networks may be reached.
    pub private_addresses: PrivateAddresses,
    /// The time limit of one request.
    pub timeout: Duration,
    /// The size limit of a body.
    pub max_bytes: usize,
    /// The largest number of redirects that are followed.
    pub max_redirects: usize,
    /// The value of the `User-Agent` header.
    pub user_agent: String,
    /// The proxy, if any. It resolves the names of the hosts that are fetched through it, so only the URLs are checked
    /// for them; hosts that bypass the proxy are checked as if there were none.
    pub proxy: Option<ProxyOptions>,
}

/// Whether addresses outside the public internet may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrivateAddresses {
    /// They are refused, so that a page can't make the agent access the machine's own services.
    #[default]
    Refused,
    /// They are reached like public ones.
    Allowed,
}

impl Default for HttpPolicy {
    fn default() -> Self {
        Self {
            private_addresses: PrivateAddresses::Refused,
            timeout: Duration::from_secs(20),
            max_bytes: 10 * 1024 * 1024,
            max_redirects: 5,
            user_agent: concat!("hookwright/", env!("CARGO_PKG_VERSION")).to_owned(),
            proxy: None,
        }
    }
}

/// Network access under a policy. There is one per session, and its connections are shared.
#[derive(Debug)]
pub struct HttpAccess {
    policy: HttpPolicy,
    client: OnceLock<Client>,
}

/// A fetched page.
#[derive(Debug)]
pub(crate) struct FetchedPage {
    /// The URL after all redirects.
    pub(crate) url: Url,
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("{url} is no valid http or https URL")]
    BadUrl { url: String },
    #[error("{host} is on this machine or a private network, which is not allowed")]
    Private { host: String },
    #[error("{host} is the proxy itself, which is not allowed")]
    Proxy { host: String },
    #[error("more than {limit} redirects")]
    TooManyRedirects { limit: usize },
    #[error("the server answered {status}")]
    Status { status: reqwest::StatusCode },
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("{}", chain(.0))]
    Request(#[source] reqwest::Error),
}

/// Returns the error with its causes, because the outer message alone says little.
fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}

impl HttpAccess {
    /// Creates network access under `policy`, without connecting.
    pub fn new(policy: HttpPolicy) -> Self {
        Self { policy, client: OnceLock::new() }
    }

    /// Returns the policy.
    pub fn policy(&self) -> &HttpPolicy {
        &self.policy
    }

    fn client(&self) -> Result<&Client, HttpError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let guard =
            PublicAddressResolver { private_addresses: self.policy.private_addresses, proxy: self.proxy_host() };
        let client = client_builder(self.policy.proxy.as_ref())
            .map_err(HttpError::Request)?
            .user_agent(&self.policy.user_agent)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(self.policy.timeout)
            .dns_resolver(Arc::new(guard))
            .build()
            .map_err(HttpError::Request)?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Returns the host name of the proxy.
    fn proxy_host(&self) -> Option<String> {
        Url::parse(&self.policy.proxy.as_ref()?.url).ok()?.host_str().map(str::to_owned)
    }

    /// Parses a URL and checks it, as far as the URL itself shows whether it may be fetched.
    pub(crate) fn check_url(&self, url: &str) -> Result<Url, HttpError> {
        let parsed = Url::parse(url).map_err(|_| HttpError::BadUrl { url: url.to_owned() })?;
        let Some(host) = parsed.host_str().filter(|_| matches!(parsed.scheme(), "http" | "https")) else {
            return Err(HttpError::BadUrl { url: url.to_owned() });
        };
        // An IP address in the URL is never resolved, so it is checked here.
        let literal: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        let private = literal.map_or_else(|| address::is_private_name(host), address::is_private);
        if self.policy.private_addresses == PrivateAddresses::Refused {
            if private {
                return Err(HttpError::Private { host: host.to_owned() });
            }
            // The proxy's name may resolve to a private address, so it must not be fetched itself.
            if self.proxy_host().as_deref() == Some(host) {
                return Err(HttpError::Proxy { host: host.to_owned() });
            }
        }
        Ok(parsed)
    }

    /// Fetches `url`, following redirects.
    pub(crate) async fn get(&self, url: &str) -> Result<FetchedPage, HttpError> {
        let mut url = self.check_url(url)?;
        for _ in 0..=self.policy.max_redirects {
            let response = self
                .client()?
                .get(url.clone())
                .header(header::ACCEPT, "text/markdown, text/html;q=0.9, text/plain;q=0.9, */*;q=0.5")
                .send()
                .await
                .map_err(|error| map_send_error(error, &url))?;
            tracing::debug!(host = url.host_str(), status = response.status().as_u16(), "fetched");
            let target = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
            match target {
                Some(target) if response.status().is_redirection() => {
                    let joined = url.join(target).map_err(|_| HttpError::BadUrl { url: target.to_owned() })?;
                    url = self.check_url(joined.as_str())?;
                }
                _ => return self.read_body(url, response).await,
            }
        }
        Err(HttpError::TooManyRedirects { limit: self.policy.max_redirects })
    }

    /// Returns the bytes at a URL.
    ///
    /// # Errors
    /// If it can't be fetched within the policy.
    pub async fn download(&self, url: &str) -> Result<Vec<u8>, String> {
        self.get(url).await.map(|fetched| fetched.body).map_err(|error| error.to_string())
    }

    async fn read_body(&self, url: Url, mut response: reqwest::Response) -> Result<FetchedPage, HttpError> {
        let status = response.status();
        if !status.is_success() {
            return Err(HttpError::Status { status });
        }
        let limit = self.policy.max_bytes;
        let content_type = response
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_ascii_lowercase();
        if response.content_length().is_some_and(|length| length > limit as u64) {
            return Err(HttpError::TooLarge { limit });
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(HttpError::Request)? {
            if body.len() + chunk.len() > limit {
                return Err(HttpError::TooLarge { limit });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(FetchedPage { url, content_type, body })
    }
}

/// Recognises a refusal by the resolver, which is wrapped in a connection error.
fn map_send_error(error: reqwest::Error, url: &Url) -> HttpError {
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(inner) = cause {
        if inner.is::<OnlyPrivateAddresses>() {
            return HttpError::Private { host: url.host_str().unwrap_or_default().to_owned() };
        }
        cause = inner.source();
    }
    HttpError::Request(error)
}

/// Resolves names and keeps only addresses that may be reached.
///
/// The connection is made to exactly these addresses, so a name can't resolve to another address between check and use.
struct PublicAddressResolver {
    private_addresses: PrivateAddresses,
    /// The proxy's host, which the user chose and which may be private.
    proxy: Option<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("all addresses are private")]
struct OnlyPrivateAddresses;

impl Resolve for PublicAddressResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let all = self.private_addresses == PrivateAddresses::Allowed || self.proxy.as_deref() == Some(name.as_str());
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let usable: Vec<SocketAddr> =
                found.iter().copied().filter(|found| all || !address::is_private(found.ip())).collect();
            if usable.is_empty() && !found.is_empty() {
                return Err(OnlyPrivateAddresses.into());
            }
            Ok(Box::new(usable.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_checked_before_resolution() {
        let access = HttpAccess::new(HttpPolicy::default());
        for url in [
            "http://localhost/",
            "http://127.0.0.1:8080/x",
            "http://[::1]/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://[::ffff:10.0.0.1]/",
            "http://169.254.169.254/latest",
            "https://db.internal/",
            "http://0/",
            "http://localhost./",
            "http://user@192.168.0.1/",
        ] {
            assert!(matches!(access.check_url(url), Err(HttpError::Private { .. })), "{url}");
        }
        for url in ["ftp://example.com", "file:///etc/passwd", "not a url", "http://", "javascript:1"] {
            assert!(matches!(access.check_url(url), Err(HttpError::BadUrl { .. })), "{url}");
        }
        assert!(access.check_url("https://example.com/a?b#c").is_ok());
        let policy = HttpPolicy { private_addresses: PrivateAddresses::Allowed, ..HttpPolicy::default() };
        assert!(HttpAccess::new(policy).check_url("http://127.0.0.1/").is_ok());
    }
    #[tokio::test]
    async fn names_are_checked_after_resolution() {
        let resolve = |private| async move {
            PublicAddressResolver { private_addresses: private, proxy: None }
                .resolve("localhost".parse().unwrap())
                .await
        };
        let refusal = resolve(PrivateAddresses::Refused).await.err().unwrap();
        assert!(refusal.is::<OnlyPrivateAddresses>(), "{refusal}");
        assert!(resolve(PrivateAddresses::Allowed).await.unwrap().all(|found| found.ip().is_loopback()));
    }

    #[tokio::test]
    async fn the_proxy_may_be_private_but_is_not_fetched() {
        let guard = |proxy: &str| PublicAddressResolver {
            private_addresses: PrivateAddresses::Refused,
            proxy: Some(proxy.to_owned()),
        };
        assert!(guard("localhost").resolve("localhost".parse().unwrap()).await.is_ok());
        assert!(guard("proxy.example").resolve("localhost".parse().unwrap()).await.is_err());
        let proxy = ProxyOptions { url: "http://me:secret@proxy.example:3128".into(), no_proxy: None };
        let access = HttpAccess::new(HttpPolicy { proxy: Some(proxy), ..HttpPolicy::default() });
        assert!(matches!(access.check_url("http://PROXY.example:80/x"), Err(HttpError::Proxy { .. })));
        assert!(access.check_url("http://other.example/x").is_ok());
    }
}
