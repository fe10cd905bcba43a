//! The HTTP clients of hooks: connections are pooled between events, and use the proxies of the hooks' environment. No
//! name lookup keeps the program from exiting.

use std::ffi::OsString;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder, NoProxy, Proxy, Url, redirect};

use crate::running::find_env_var;

/// The idle time after which a pooled connection is closed.
///
/// Many servers close connections after 5 idle seconds; a shorter time avoids failed requests.
const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(4);
/// The hosts that are never reached through a proxy, because they are on this machine.
const LOOPBACK_HOSTS: &str = "localhost,127.0.0.0/8,::1";

/// The clients of one environment, built on first use.
#[derive(Clone, Default)]
pub(in crate::running) struct HttpClients {
    plain: ClientPair,
    tls: ClientPair,
}

#[derive(Clone, Default)]
struct ClientPair {
    pooled: OnceLock<Client>,
    unpooled: OnceLock<Client>,
}

impl HttpClients {
    /// The client that all hooks of this environment share, so that connections are reused.
    pub(super) fn pooled_client(&self, url: &Url, env: &[(OsString, OsString)]) -> reqwest::Result<Client> {
        get_or_build(&self.for_scheme(url).pooled, || {
            client_builder(url, env)?.pool_idle_timeout(IDLE_CONNECTION_TIMEOUT).build()
        })
    }

    /// A client that opens a new connection for each request.
    pub(super) fn unpooled_client(&self, url: &Url, env: &[(OsString, OsString)]) -> reqwest::Result<Client> {
        get_or_build(&self.for_scheme(url).unpooled, || client_builder(url, env)?.pool_max_idle_per_host(0).build())
    }

    fn for_scheme(&self, url: &Url) -> &ClientPair {
        if url.scheme() == "https" { &self.tls } else { &self.plain }
    }
}

fn get_or_build(place: &OnceLock<Client>, make: impl FnOnce() -> reqwest::Result<Client>) -> reqwest::Result<Client> {
    match place.get() {
        Some(client) => Ok(client.clone()),
        None => make().map(|client| place.get_or_init(|| client).clone()),
    }
}

fn client_builder(url: &Url, env: &[(OsString, OsString)]) -> reqwest::Result<ClientBuilder> {
    // The provider is process-wide; it is no error if it has already been installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder().no_proxy().redirect(redirect::Policy::none()).user_agent("hookwright");
    let builder = builder.dns_resolver(Arc::new(ThreadedResolver));
    let proxies = proxies(env);
    // Loading the system's root certificates takes longer than everything else, and unencrypted connections do not need
    // them. A proxy may.
    let is_open = url.scheme() == "http" && proxies.is_empty();
    let builder = if is_open { builder.tls_certs_only([]) } else { builder };
    proxies.into_iter().try_fold(builder, |builder, proxy| Ok(builder.proxy(proxy?)))
}

/// The proxies that a program in this environment would use.
fn proxies(env: &[(OsString, OsString)]) -> Vec<reqwest::Result<Proxy>> {
    let variable = |names: &[&str]| {
        let found = names.iter().find_map(|name| find_env_var(env, name)).and_then(|value| value.to_str());
        found.map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let listed = variable(&["no_proxy", "NO_PROXY"]).unwrap_or_default();
    let direct = NoProxy::from_string(&format!("{LOOPBACK_HOSTS},{listed}"));
    let all = [
        variable(&["https_proxy", "HTTPS_PROXY"]).map(Proxy::https),
        // `HTTP_PROXY` is ignored: CGI servers set it from a request's `Proxy` header.
        variable(&["http_proxy"]).map(Proxy::http),
        variable(&["all_proxy", "ALL_PROXY"]).map(Proxy::all),
    ];
    all.into_iter().flatten().map(|proxy| proxy.map(|proxy| proxy.no_proxy(direct.clone()))).collect()
}

/// Resolves host names on a thread of its own.
///
/// The runtime waits for its blocking threads when it shuts down, and a name server that does not respond can take
/// longer than any hook's timeout.
struct ThreadedResolver;

impl Resolve for ThreadedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (say, said) = tokio::sync::oneshot::channel();
        let look = move || {
            let found = (name.as_str(), 0).to_socket_addrs().map(Iterator::collect::<Vec<SocketAddr>>);
            // The receiver may have been dropped.
            let _ = say.send(found);
        };
        let started = std::thread::Builder::new().name("names".to_owned()).spawn(look);
        Box::pin(async move {
            started?;
            let found = said.await.map_err(|_| io::Error::other("the name could not be resolved"))??;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn host_names_resolve_or_fail() {
        let look = |name: &str| ThreadedResolver.resolve(name.parse().unwrap());
        assert!(look("localhost").await.unwrap().all(|found| found.ip().is_loopback()));
        assert!(look("no-such-name.invalid").await.is_err());
    }

    #[test]
    fn proxies_come_from_the_hook_environment() {
        let env = |pairs: &[(&str, &str)]| -> Vec<(OsString, OsString)> {
            pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
        };
        assert_eq!(proxies(&env(&[("https_proxy", ""), ("HTTP_PROXY", "http://p:1"), ("no_proxy", "x")])).len(), 0);
        assert_eq!(
            proxies(&env(&[("HTTPS_PROXY", "http://p:1"), ("http_proxy", "p:1"), ("ALL_PROXY", "p:1")])).len(),
            3
        );
        assert!(proxies(&env(&[("all_proxy", "not a proxy")]))[0].is_err());
    }
}
