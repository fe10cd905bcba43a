//! The base of every HTTP client of the program: TLS and the proxy that the caller gives, without reading the
//! environment. Each client adds its own headers, time limits and redirect policy.

use std::fmt;

use reqwest::{Client, ClientBuilder, NoProxy, Proxy};

/// A proxy and the hosts that bypass it.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyOptions {
    /// The proxy's address.
    pub url: String,
    /// Hosts that are reached directly, in the form of `NO_PROXY`.
    pub no_proxy: Option<String>,
}

/// Leaves out the address, which may hold a password.
impl fmt::Debug for ProxyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyOptions").field("no_proxy", &self.no_proxy).finish_non_exhaustive()
    }
}

/// Creates a client builder that uses `proxy` and no other.
///
/// # Errors
/// If the proxy's address is invalid.
pub fn client_builder(proxy: Option<&ProxyOptions>) -> Result<ClientBuilder, reqwest::Error> {
    // The provider is process-wide; an error only means that it is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder().no_proxy();
    let Some(ProxyOptions { url, no_proxy }) = proxy else { return Ok(builder) };
    let direct = no_proxy.as_deref().and_then(NoProxy::from_string);
    Ok(builder.proxy(Proxy::all(url)?.no_proxy(direct)))
}
