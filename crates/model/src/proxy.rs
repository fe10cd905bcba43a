//! What every HTTP client of the program begins with: the proxy that the caller names, TLS, and no look at the
//! environment. What a client is for (headers, time limits, redirects) is its owner's business.

use std::fmt;

use reqwest::{Client, ClientBuilder, NoProxy, Proxy};

/// A proxy and the hosts that do without it.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyOptions {
    /// The proxy's address.
    pub url: String,
    /// Hosts reached directly, in the form of `NO_PROXY`.
    pub no_proxy: Option<String>,
}

/// A proxy's address may hold a password, which stays out of logs.
impl fmt::Debug for ProxyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyOptions").field("no_proxy", &self.no_proxy).finish_non_exhaustive()
    }
}

/// A client to be completed, which goes through `proxy` and through no other.
///
/// # Errors
/// If the proxy's address is none.
pub fn client_builder(proxy: Option<&ProxyOptions>) -> Result<ClientBuilder, reqwest::Error> {
    // The first client chooses for all of them; that the choice is made already is no error.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder().no_proxy();
    let Some(ProxyOptions { url, no_proxy }) = proxy else { return Ok(builder) };
    let direct = no_proxy.as_deref().and_then(NoProxy::from_string);
    Ok(builder.proxy(Proxy::all(url)?.no_proxy(direct)))
}
