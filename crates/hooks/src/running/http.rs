//! HTTP hooks: the input is posted to a service, and its JSON response counts like a command's output.
//!
//! A response that is not certain to be an answer is a failure: a sign-in page has not judged anything. A deny in such
//! a response counts all the same.

mod clients;

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Response, StatusCode, Url};
use tokio_util::sync::CancellationToken;

use super::{HookRunner, RunOutput, find_env_var};
use crate::answers::{CapturedStream, HookExit, trim_output};
use crate::event::input::HookInput;
use crate::hook::{HeaderPiece, HttpAction};
use crate::running::readiness::ReadinessError;
pub(super) use clients::HttpClients;

/// The maximum number of redirects, which are followed within the same origin only.
const MAX_REDIRECTS: usize = 5;
/// The maximum length of an error page that is shown.
const MAX_ERROR_PAGE_CHARS: usize = 200;

/// The part of the response that has been read; it is used however the exchange ends.
#[derive(Default)]
struct ResponseBody {
    head: Vec<u8>,
    total_bytes: u64,
}

impl HookRunner {
    /// Posts the input to a service and reads its answer, within the timeout.
    pub(super) async fn run_http(
        &self,
        action: &HttpAction,
        timeout: Duration,
        input: &HookInput,
        cancel: &CancellationToken,
    ) -> RunOutput {
        let mut received = ResponseBody::default();
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(HookExit::Cancelled),
            ended = self.exchange(action, input, &mut received) => ended,
            () = tokio::time::sleep(timeout) => Err(HookExit::TimedOut(timeout)),
        };
        let stdout = CapturedStream::decode(&received.head, received.total_bytes);
        match ended {
            Ok(()) => RunOutput { stdout, ..RunOutput::from_exit(HookExit::Exited(0)) },
            // Error pages often quote the request.
            Err(end) => RunOutput { stdout: self.redact_secrets(action, stdout), ..RunOutput::from_exit(end) },
        }
    }

    /// Checks whether all headers can be built.
    pub(super) fn check_http(&self, action: &HttpAction) -> Result<(), ReadinessError> {
        self.build_headers(action).map(drop).map_err(ReadinessError::HeaderUnavailable)
    }

    async fn exchange(
        &self,
        action: &HttpAction,
        input: &HookInput,
        received: &mut ResponseBody,
    ) -> Result<(), HookExit> {
        let headers = self.build_headers(action).map_err(unreachable_exit)?;
        let mut url = Url::parse(&action.url).map_err(|error| unreachable_exit(error.to_string()))?;
        // The body may be sent again after a redirect.
        let body = Bytes::from(input.pieces().concat());
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send_request(&url, &headers, &body).await?;
            match redirect_target(&url, &response)? {
                Some(next) => url = next,
                None => return self.read_response(action, response, received).await,
            }
        }
        Err(HookExit::Failed(format!("was redirected more than {MAX_REDIRECTS} times by its service")))
    }

    /// Sends a request.
    ///
    /// If the connection is closed, it was probably a pooled one that was idle for too long: the request is sent once
    /// more on a new connection. The service may so receive it twice.
    async fn send_request(&self, url: &Url, headers: &HeaderMap, body: &Bytes) -> Result<Response, HookExit> {
        let to_exit = |error: reqwest::Error| unreachable_exit(error_chain(&error));
        let kept = self.http.pooled_client(url, &self.env).map_err(to_exit)?;
        let send =
            |client: &reqwest::Client| client.post(url.clone()).headers(headers.clone()).body(body.clone()).send();
        match send(&kept).await {
            Err(error) if error.is_request() && !error.is_connect() && !error.is_timeout() => {
                let new = self.http.unpooled_client(url, &self.env).map_err(to_exit)?;
                send(&new).await
            }
            sent => sent,
        }
        .map_err(to_exit)
    }

    /// Builds the headers with their variables, or says why one cannot be built. The reason contains no value.
    fn build_headers(&self, action: &HttpAction) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        for (name, pieces) in &action.headers {
            let mut value = String::new();
            for piece in pieces {
                match piece {
                    HeaderPiece::Text(text) => value.push_str(text),
                    HeaderPiece::Variable(variable) => match self.header_variable(variable) {
                        Some(found) => value.push_str(found),
                        None => return Err(format!("the header {name} needs ${variable}, which is not set")),
                    },
                }
            }
            let named =
                HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("{name} is not a valid header name"))?;
            let sendable = HeaderValue::from_str(&value).ok().filter(|_| value.is_ascii());
            let Some(mut value) = sendable else {
                return Err(format!(
                    "the header {name} can't be sent: the values of its variables are not one line of ASCII"
                ));
            };
            value.set_sensitive(true);
            headers.insert(named, value);
        }
        Ok(headers)
    }

    /// The value of a variable, if it is set and not empty.
    fn header_variable(&self, name: &str) -> Option<&str> {
        find_env_var(&self.env, name).and_then(|value| value.to_str()).map(str::trim).filter(|value| !value.is_empty())
    }

    /// Removes the values of the headers' variables from a text.
    fn redact_secrets(&self, action: &HttpAction, captured: CapturedStream) -> CapturedStream {
        let pieces = action.headers.iter().flat_map(|(_, pieces)| pieces);
        let values = pieces.filter_map(|piece| match piece {
            HeaderPiece::Variable(name) => self.header_variable(name),
            HeaderPiece::Text(_) => None,
        });
        values
            .fold(captured, |captured, value| CapturedStream { text: captured.text.replace(value, "***"), ..captured })
    }

    /// Reads a response, and checks whether it is an answer.
    async fn read_response(
        &self,
        action: &HttpAction,
        mut response: Response,
        received: &mut ResponseBody,
    ) -> Result<(), HookExit> {
        let status = response.status();
        let failed = |how: String| Err(HookExit::Failed(how));
        if let Some(how) = unreadable_reason(&response) {
            return failed(format!("got {status} from its service, {how}"));
        }
        let most = self.limits.max_output_bytes;
        while let Some(piece) = response.chunk().await.map_err(|error| {
            HookExit::Failed(format!("got an incomplete answer from its service: {}", error_chain(&error)))
        })? {
            received.total_bytes += piece.len() as u64;
            let room = most - received.head.len();
            received.head.extend_from_slice(&piece[..piece.len().min(room)]);
            if received.total_bytes > most as u64 {
                break;
            }
        }
        let body = CapturedStream::decode(&received.head, received.total_bytes);
        let text = trim_output(&body.text);
        if !status.is_success() {
            let page = self.redact_secrets(action, body);
            let shown: String =
                trim_output(&page.text).chars().filter(|char| !char.is_control()).take(MAX_ERROR_PAGE_CHARS).collect();
            let more = if shown.is_empty() { String::new() } else { format!(": {shown}") };
            return failed(format!("got {status} from its service{more}"));
        }
        if text.is_empty() && status == StatusCode::NO_CONTENT || text.starts_with('{') {
            return Ok(());
        }
        let what = if text.is_empty() { "nothing at all" } else { "something that is not a JSON object" };
        failed(format!("got {status} from its service with {what}; to allow, answer 204 or {{}}"))
    }
}

/// Why the body of a response would not be a complete answer, if so.
fn unreadable_reason(response: &Response) -> Option<String> {
    let header = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let encoding = header(CONTENT_ENCODING).map(str::trim).filter(|word| !word.eq_ignore_ascii_case("identity"));
    if let Some(encoding) = encoding.filter(|word| !word.is_empty()) {
        return Some(format!("encoded as {encoding}, which was not requested"));
    }
    match response.status() {
        StatusCode::PARTIAL_CONTENT => Some("with a partial answer".to_owned()),
        // HTTP clients do not read such a body, and would miss a deny in it.
        StatusCode::NO_CONTENT
            if header(CONTENT_LENGTH).is_some_and(|length| length.trim() != "0")
                || header(TRANSFER_ENCODING).is_some() =>
        {
            Some("with a body, which is not read; an answer with a body must be 200".to_owned())
        }
        _ => None,
    }
}

/// The target of a redirect; an error unless it has the same origin and keeps the method.
fn redirect_target(url: &Url, response: &Response) -> Result<Option<Url>, HookExit> {
    let status = response.status();
    if !status.is_redirection() {
        return Ok(None);
    }
    let failed = |how: String| Err(HookExit::Failed(how));
    let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
    let Some(next) = to.and_then(|to| url.join(to).ok()) else {
        return failed(format!("got {status} from its service, a redirect without an address"));
    };
    if next.origin() != url.origin() {
        let origin = next.origin().ascii_serialization();
        return failed(format!(
            "was redirected to {origin} by its service; redirects to another server are not followed"
        ));
    }
    if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
        return failed(format!(
            "got {status} from its service, a redirect that would change the request and is not followed"
        ));
    }
    if !next.username().is_empty() || next.password().is_some() {
        return failed(format!("got {status} from its service, a redirect to an address with a user name or password"));
    }
    Ok(Some(next))
}

fn unreachable_exit(why: impl Into<String>) -> HookExit {
    HookExit::NotStarted { code: 126, message: why.into() }
}

/// The messages of an error's causes, since the outer message says little. They contain no URL, which may hold a key.
fn error_chain(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let text = inner.to_string();
        // This prefix only announces the next cause.
        let says_nothing = text.starts_with("client error (") && inner.source().is_some();
        if !says_nothing && !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
        cause = inner.source();
    }
    if texts.is_empty() { "the request failed".to_owned() } else { texts.join(": ") }
}
