//! A listener on the loopback interface that receives the browser's callback, once, and only with the right state.
//!
//! Any program on this machine can connect; other requests get an error page and are ignored.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::error::OAuthError;
use super::http_client::is_loopback;

/// The limits of a request's size and time.
const MAX_CALLBACK_REQUEST_BYTES: usize = 16 << 10;
const CALLBACK_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The listener for the browser's callback.
pub(super) struct LoopbackListener {
    listener: TcpListener,
    pub(super) redirect: Url,
}

/// The parameters of the callback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OAuthCallback {
    pub(super) code: Result<String, String>,
    pub(super) issuer: Option<String>,
}

impl LoopbackListener {
    /// Listens at the address in the settings, else on any free port.
    pub(super) async fn open(wanted: Option<&str>) -> Result<Self, OAuthError> {
        let wanted = wanted.map(parse_redirect).transpose()?;
        let address = match &wanted {
            Some((_, address)) => *address,
            None => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
        };
        let listener = TcpListener::bind(address).await.map_err(OAuthError::NoListener)?;
        let redirect = match wanted {
            Some((url, _)) => url,
            None => {
                let port = listener.local_addr().map_err(OAuthError::NoListener)?.port();
                let url = format!("http://127.0.0.1:{port}/oauth/callback");
                Url::parse(&url).map_err(|_| OAuthError::InvalidRedirect(url))?
            }
        };
        Ok(LoopbackListener { listener, redirect })
    }

    /// Waits for the browser's callback.
    pub(super) async fn wait_for_callback(self, state: &str, limit: Duration) -> Result<OAuthCallback, OAuthError> {
        let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
        let waiting = async {
            let mut callers = tokio::task::JoinSet::new();
            loop {
                tokio::select! {
                    // A silent connection does not delay the others; their number is limited.
                    caller = self.listener.accept(), if callers.len() < 32 => {
                        let Ok((stream, _)) = caller else { continue };
                        let (redirect, state, sender) = (self.redirect.clone(), state.to_owned(), sender.clone());
                        callers.spawn(async move {
                            let outcome = tokio::time::timeout(CALLBACK_REQUEST_TIMEOUT, read_callback(stream, &redirect, &state)).await;
                            if let Ok(Some(callback)) = outcome {
                                let _ = sender.send(callback).await;
                            }
                        });
                    }
                    Some(_) = callers.join_next(), if !callers.is_empty() => {}
                    Some(callback) = receiver.recv() => return callback,
                }
            }
        };
        tokio::time::timeout(limit, waiting).await.map_err(|_| OAuthError::CallbackTimeout(limit))
    }
}

/// Parses a redirect URI on this machine; returns it with the address to listen on.
fn parse_redirect(wanted: &str) -> Result<(Url, SocketAddr), OAuthError> {
    let no = || OAuthError::InvalidRedirect(super::http_client::display_url(wanted));
    let url = Url::parse(wanted).map_err(|_| no())?;
    let port = url.port().ok_or_else(no)?;
    if url.scheme() != "http" || !is_loopback(&url) || url.fragment().is_some() {
        return Err(no());
    }
    let host: IpAddr = url
        .host_str()
        .and_then(|host| host.trim_matches(['[', ']']).parse().ok())
        .unwrap_or(Ipv4Addr::LOCALHOST.into());
    Ok((url, SocketAddr::new(host, port)))
}

/// Reads and answers one request; returns `None` if it is not the callback.
async fn read_callback(mut stream: TcpStream, redirect: &Url, state: &str) -> Option<OAuthCallback> {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut piece = [0; 2048];
        let read =
            stream.read(&mut piece).await.ok().filter(|read| *read > 0 && bytes.len() < MAX_CALLBACK_REQUEST_BYTES)?;
        bytes.extend_from_slice(&piece[..read]);
    }
    let request = String::from_utf8_lossy(&bytes).into_owned();
    let callback = parse_callback(&request, redirect, state);
    let (status, words) = match &callback {
        Some(OAuthCallback { code: Ok(_), .. }) => ("200 OK", "You are signed in. This page can be closed."),
        Some(_) => ("200 OK", "You are not signed in. This page can be closed."),
        None => ("400 Bad Request", "This is not the request that is expected here."),
    };
    let page = format!("<!doctype html><meta charset=\"utf-8\"><title>Hookwright</title><p>{words}</p>\n");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
        page.len()
    );
    let _ = stream.write_all(format!("{head}{page}").as_bytes()).await;
    let _ = stream.shutdown().await;
    callback
}

/// Returns the callback's parameters, if the request is the browser's callback.
fn parse_callback(request: &str, redirect: &Url, state: &str) -> Option<OAuthCallback> {
    let mut words = request.lines().next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let url = redirect.join(target).ok()?;
    if method != "GET" || !target.starts_with('/') || url.path() != redirect.path() || url.origin() != redirect.origin()
    {
        return None;
    }
    let value = |name: &str| {
        let mut values = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        // A repeated parameter is ambiguous, so it counts as missing.
        values.next().filter(|_| values.next().is_none())
    };
    if !constant_time_eq(value("state")?.as_bytes(), state.as_bytes()) {
        return None;
    }
    let code = match (value("code"), value("error")) {
        (Some(code), None) if !code.is_empty() => Ok(code),
        (_, Some(error)) => Err(match value("error_description") {
            Some(more) => format!("{error}: {more}"),
            None => error,
        }),
        _ => return None,
    };
    Some(OAuthCallback { code, issuer: value("iss") })
}

/// Compares in constant time, so that the duration does not reveal how much was right.
fn constant_time_eq(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |different, (one, other)| different | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_callback_with_the_right_state_counts() {
        let redirect = Url::parse("http://127.0.0.1:7/oauth/callback").unwrap();
        let outcome = |line: &str| parse_callback(&format!("{line} HTTP/1.1\r\n\r\n"), &redirect, "st");
        let callback = outcome("GET /oauth/callback?code=a%20b&state=st&iss=https%3A%2F%2Fas").unwrap();
        assert_eq!((callback.code, callback.issuer.as_deref()), (Ok("a b".to_owned()), Some("https://as")));
        assert!(outcome("GET /oauth/callback?error=access_denied&state=st").unwrap().code.is_err());
        for line in [
            "GET /oauth/callback?code=a&state=other",
            "GET /oauth/callback?code=a&state=s",
            "GET /oauth/callback?code=a",
            "GET /oauth/callback?code=a&state=other&state=st",
            "GET /oauth/callback?code=a&code=b&state=st",
            "GET /oauth/callback?code=&state=st",
            "GET /oauth/callback?state=st",
            "GET /favicon.ico?code=a&state=st",
            "POST /oauth/callback?code=a&state=st",
            "GET http://evil.example/oauth/callback?code=a&state=st",
            "GET //evil.example/oauth/callback?code=a&state=st",
            "",
        ] {
            assert_eq!(outcome(line), None, "{line}");
        }
    }

    #[test]
    fn redirect_uris_outside_this_machine_are_refused() {
        for wanted in [
            "http://evil.example:80/x",
            "https://127.0.0.1:7/x",
            "http://127.0.0.1/x",
            "http://127.0.0.1.evil.example:7/x",
            "http://127.0.0.1@evil.example:7/x",
            "http://10.0.0.1:7/x",
            "com.example:/x",
            "",
        ] {
            assert!(parse_redirect(wanted).is_err(), "{wanted}");
        }
        for wanted in ["http://127.0.0.1:7777/x", "http://localhost:7777/", "http://[::1]:7777/x"] {
            assert!(parse_redirect(wanted).is_ok(), "{wanted}");
        }
    }
}
