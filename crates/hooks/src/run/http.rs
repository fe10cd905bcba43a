//! HTTP hooks: the input is posted to a service, and its JSON answer counts as a command's would. Anything that is not surely
//! an answer is a failure: a page that says "please sign in" has not judged anything.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Client, NoProxy, Proxy, Response, StatusCode, Url, redirect};
use tokio_util::sync::CancellationToken;

use super::{RunEnd, Runner, lookup};
use crate::answer::{Captured, End};
use crate::hook::{HeaderPiece, HttpAction};
use crate::input::HookInput;

/// How often an answer may be looked for elsewhere on the same machine.
const MOST_REDIRECTS: usize = 5;
/// How much of an error's page is shown.
const SHOWN: usize = 200;

impl Runner {
    /// Asks a service, within its time.
    pub(super) async fn post(
        &self,
        action: &HttpAction,
        timeout: Duration,
        input: &HookInput,
        cancel: &CancellationToken,
    ) -> RunEnd {
        let answer = async {
            match self.exchange(action, input).await {
                Ok(stdout) => RunEnd { stdout, ..RunEnd::not_run(End::Exited(0)) },
                Err(end) => RunEnd::not_run(end),
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => RunEnd::not_run(End::Cancelled),
            end = answer => end,
            () = tokio::time::sleep(timeout) => RunEnd::not_run(End::TimedOut(timeout)),
        }
    }

    async fn exchange(&self, action: &HttpAction, input: &HookInput) -> Result<Captured, End> {
        let headers = self.headers(action).map_err(unreachable_because)?;
        let client = self.client()?;
        let mut url = Url::parse(&action.url).map_err(|error| unreachable_because(error.to_string()))?;
        // Sent again after a redirect.
        let body = bytes::Bytes::from(input.pieces().concat());
        for _ in 0..=MOST_REDIRECTS {
            let request = client.post(url.clone()).headers(headers.clone()).body(body.clone());
            let response = request.send().await.map_err(|error| unreachable_because(chain(&error)))?;
            match elsewhere(&url, &response)? {
                Some(next) => url = next,
                None => return self.answer(response).await,
            }
        }
        Err(End::Failed(format!("its service redirects more than {MOST_REDIRECTS} times")))
    }

    /// The headers with their variables filled in; why one can't be.
    pub(super) fn headers(&self, action: &HttpAction) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        for (name, pieces) in &action.headers {
            let mut value = String::new();
            for piece in pieces {
                match piece {
                    HeaderPiece::Text(text) => value.push_str(text),
                    HeaderPiece::Variable(variable) => {
                        match lookup(&self.env, variable).and_then(|value| value.to_str()) {
                            Some(found) if !found.is_empty() => value.push_str(found.trim()),
                            _ => return Err(format!("the header {name} needs ${variable}, which is not set")),
                        }
                    }
                }
            }
            let named = HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name} is no header"))?;
            let mut value = HeaderValue::from_str(&value).map_err(|_| format!("the header {name} can't be sent"))?;
            value.set_sensitive(true);
            headers.insert(named, value);
        }
        Ok(headers)
    }

    /// One client for all hooks of these surroundings, so that connections stay.
    fn client(&self) -> Result<Client, End> {
        if let Some(client) = self.http.get() {
            return Ok(client.clone());
        }
        // The first client of a program chooses for all of them; that the choice is made already is no error.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder().no_proxy().redirect(redirect::Policy::none());
        for proxy in self.proxies() {
            builder = builder.proxy(proxy.map_err(|error| unreachable_because(chain(&error)))?);
        }
        let client = builder.user_agent("hookwright").build().map_err(|error| unreachable_because(chain(&error)))?;
        Ok(self.http.get_or_init(|| client).clone())
    }

    /// The proxies that a program in these surroundings would use.
    fn proxies(&self) -> Vec<reqwest::Result<Proxy>> {
        let variable = |names: &[&str]| {
            let found = names.iter().find_map(|name| lookup(&self.env, name)).and_then(|value| value.to_str());
            found.filter(|value| !value.is_empty()).map(str::to_owned)
        };
        let direct = || variable(&["no_proxy", "NO_PROXY"]).as_deref().and_then(NoProxy::from_string);
        let with = |proxy: reqwest::Result<Proxy>| proxy.map(|proxy| proxy.no_proxy(direct()));
        let all = [
            variable(&["https_proxy", "HTTPS_PROXY"]).map(Proxy::https),
            variable(&["http_proxy"]).map(Proxy::http),
            variable(&["all_proxy", "ALL_PROXY"]).map(Proxy::all),
        ];
        all.into_iter().flatten().map(with).collect()
    }

    async fn answer(&self, response: Response) -> Result<Captured, End> {
        let status = response.status();
        let body = self.body(response).await?;
        let text = body.text.trim();
        if !status.is_success() {
            let shown: String = text.chars().filter(|char| !char.is_control()).take(SHOWN).collect();
            let more = if shown.is_empty() { String::new() } else { format!(": {shown}") };
            return Err(End::Failed(format!("its service answered {status}{more}")));
        }
        if text.is_empty() && status == StatusCode::NO_CONTENT || text.starts_with('{') {
            return Ok(body);
        }
        let what = if text.is_empty() { "nothing at all" } else { "something that is no JSON object" };
        Err(End::Failed(format!("its service answered {status} with {what}; no objection is 204 or {{}}")))
    }

    /// The beginning of an answer, of a size that a hook's may have.
    async fn body(&self, mut response: Response) -> Result<Captured, End> {
        let mut kept = Vec::new();
        let mut bytes = 0;
        let broken = |error: reqwest::Error| End::Failed(format!("its service's answer broke off: {}", chain(&error)));
        while let Some(piece) = response.chunk().await.map_err(broken)? {
            bytes += piece.len() as u64;
            let room = self.limits.output - kept.len();
            kept.extend_from_slice(&piece[..piece.len().min(room)]);
            if bytes > self.limits.output as u64 {
                break;
            }
        }
        Ok(Captured::decode(&kept, bytes))
    }
}

/// Where the answer is to be asked for instead; only on the same machine, and as it was asked here.
fn elsewhere(url: &Url, response: &Response) -> Result<Option<Url>, End> {
    let status = response.status();
    if !status.is_redirection() {
        return Ok(None);
    }
    let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
    let Some(next) = to.and_then(|to| url.join(to).ok()) else {
        return Err(End::Failed(format!("its service answered {status} without saying where to go")));
    };
    let keeps_method = matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let shown = next.host_str().unwrap_or("nowhere");
    match next.origin() == url.origin() {
        true if keeps_method => Ok(Some(next)),
        true => Err(End::Failed(format!(
            "its service answered {status}, which asks for another request than the one it got"
        ))),
        false => Err(End::Failed(format!("its service redirects to {shown}, and nothing is sent to another machine"))),
    }
}

fn unreachable_because(why: impl Into<String>) -> End {
    End::NotStarted { code: 126, message: why.into() }
}

/// The error with its causes: the outer message alone says next to nothing. No address in it: that may hold a key.
fn chain(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
        cause = inner.source();
    }
    if texts.is_empty() { "the request failed".to_owned() } else { texts.join(": ") }
}
