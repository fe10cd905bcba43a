//! Reads the error bodies of the Gemini API and of OpenAI-compatible servers into one typed error.
//! Both wrap it as `{"error": {…}}`; the start of a body that is not JSON (a proxy's page) is quoted.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::Provider;
use crate::error::RetryAdvice;

/// The number of characters that are quoted from an unreadable body.
const MAX_QUOTE_CHARS: usize = 200;

/// The kind of a server's refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiErrorKind {
    /// The key is missing, wrong or not allowed to do this.
    Auth,
    /// Too many requests just now; waiting helps.
    RateLimited,
    /// The quota is used up; waiting a moment does not help.
    QuotaExhausted,
    /// There is no such model, or no such address.
    NotFound,
    /// The conversation is longer than the model can take.
    ContextTooLong,
    /// The request is wrong in another way.
    BadRequest,
    /// The server has a problem.
    Server,
}

/// A refusal by the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The provider that the server belongs to.
    pub provider: Provider,
    /// HTTP status; 200 if the error came inside a stream.
    pub status: u16,
    /// The kind of refusal.
    pub kind: ApiErrorKind,
    /// The server's message.
    pub message: String,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
}

impl std::error::Error for ApiError {}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ApiErrorKind::Auth => "the key was refused",
            ApiErrorKind::RateLimited => "too many requests",
            ApiErrorKind::QuotaExhausted => "the quota is used up",
            ApiErrorKind::NotFound => "not found",
            ApiErrorKind::ContextTooLong => "the conversation is too long for the model",
            ApiErrorKind::BadRequest => "the request was refused",
            ApiErrorKind::Server => "the server has a problem",
        };
        write!(f, "{} API: {what} ({}): {}", self.provider, self.status, self.message)
    }
}

impl ApiError {
    /// Reads the body of an error response.
    pub(crate) fn from_body(provider: Provider, status: u16, body: &[u8], retry_after: Option<Duration>) -> Self {
        match serde_json::from_slice::<Value>(body) {
            Ok(json) => {
                let first = json.get(0).unwrap_or(&json);
                let error = first.get("error").unwrap_or(first);
                Self::from_json(provider, status, error, retry_after)
            }
            Err(_) => Self::from_parts(provider, status, "", quote(body), retry_after),
        }
    }

    /// Reads the value under `error`, which is an object or a string.
    pub(crate) fn from_json(provider: Provider, status: u16, error: &Value, retry_after: Option<Duration>) -> Self {
        let message = [error.get("message"), error.get("detail"), Some(error)]
            .into_iter()
            .flatten()
            .find_map(Value::as_str)
            .map_or_else(|| quote(error.to_string().as_bytes()), str::to_owned);
        // An error inside a stream has its status only in the body.
        let status = match error.get("code").and_then(Value::as_u64) {
            Some(code @ 400..=599) if status == 200 => code as u16,
            _ => status,
        };
        let codes: Vec<&str> =
            ["code", "status", "type"].iter().filter_map(|name| error.get(name).and_then(Value::as_str)).collect();
        let details = error.get("details").map(Value::to_string).unwrap_or_default();
        let signs = format!("{} {details}", codes.join(" "));
        let retry_after = retry_after.or_else(|| google_retry_delay(error));
        Self::from_parts(provider, status, &signs, message, retry_after)
    }

    fn from_parts(
        provider: Provider,
        status: u16,
        signs: &str,
        message: String,
        retry_after: Option<Duration>,
    ) -> Self {
        let kind = classify(status, signs, &message);
        Self { provider, status, kind, message, retry_after }
    }

    /// Returns what the user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match (self.kind, self.provider) {
            (ApiErrorKind::Auth, Provider::Gemini) => {
                "check the key (GEMINI_API_KEY, or /auth); keys are made at https://aistudio.google.com/apikey"
            }
            (ApiErrorKind::Auth, _) => "check the key (OPENAI_API_KEY, or /auth)",
            (ApiErrorKind::RateLimited, _) => match self.retry_after {
                Some(wait) => return Some(format!("try again in {} s", wait.as_secs().max(1))),
                None => "try again in a while, or use another model with --model",
            },
            (ApiErrorKind::QuotaExhausted, _) => {
                "wait for the quota to be renewed, raise it, or use another model with --model"
            }
            (ApiErrorKind::NotFound, Provider::OpenAi) => {
                "check --model, and that OPENAI_BASE_URL is the address that ends in /v1"
            }
            (ApiErrorKind::NotFound, _) => "check --model",
            (ApiErrorKind::ContextTooLong, _) => "compress the conversation with /compress, or start a new one",
            (ApiErrorKind::Server, _) => "try again in a while",
            (ApiErrorKind::BadRequest, _) => return None,
        };
        Some(hint.to_owned())
    }

    /// Returns whether the server refuses this key, or requests without a key.
    #[must_use]
    pub fn is_auth(&self) -> bool {
        self.kind == ApiErrorKind::Auth
    }

    pub(crate) fn retry_advice(&self) -> RetryAdvice {
        match self.kind {
            ApiErrorKind::RateLimited => RetryAdvice::Server(self.retry_after),
            ApiErrorKind::Server if self.status != 501 => RetryAdvice::Server(self.retry_after),
            _ => RetryAdvice::No,
        }
    }
}

fn classify(status: u16, signs: &str, message: &str) -> ApiErrorKind {
    let message = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let too_long = signs.contains("context_length_exceeded")
        || signs.contains("exceed_context_size")
        || says(&["exceeds the maximum number of tokens", "maximum context length"]);
    // Servers report invalid keys with status 400 too.
    let bad_key = signs.contains("API_KEY_INVALID")
        || signs.contains("invalid_api_key")
        || says(&["api key not valid", "api key expired"]);
    match status {
        400 | 413 | 422 if too_long => ApiErrorKind::ContextTooLong,
        401 | 403 => ApiErrorKind::Auth,
        400 if bad_key => ApiErrorKind::Auth,
        404 => ApiErrorKind::NotFound,
        402 => ApiErrorKind::QuotaExhausted,
        429 if signs.contains("PerDay") || signs.contains("insufficient_quota") => ApiErrorKind::QuotaExhausted,
        408 | 429 => ApiErrorKind::RateLimited,
        400..=499 => ApiErrorKind::BadRequest,
        _ => ApiErrorKind::Server,
    }
}

/// Google names the wait in the error's details: `{"@type": "…RetryInfo", "retryDelay": "7.5s"}`.
fn google_retry_delay(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let text = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds: f64 = text.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Returns the start of unreadable bytes as one line.
pub(crate) fn quote(bytes: &[u8]) -> String {
    let head = &bytes[..bytes.len().min(4 * MAX_QUOTE_CHARS)];
    let text = String::from_utf8_lossy(head);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.is_empty() {
        return "(empty)".to_owned();
    }
    let mut short: String = words.chars().take(MAX_QUOTE_CHARS).collect();
    if short.len() < words.len() || head.len() < bytes.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gemini(status: u16, body: &str) -> ApiError {
        ApiError::from_body(Provider::Gemini, status, body.as_bytes(), None)
    }

    #[test]
    fn gemini_errors_are_classified() {
        let key = gemini(
            400,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
        );
        assert_eq!(key.kind, ApiErrorKind::Auth);
        assert!(key.hint().unwrap().contains("GEMINI_API_KEY"));
        let busy = gemini(
            429,
            r#"{"error":{"message":"slow down","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7.5s"}]}}"#,
        );
        assert_eq!(busy.retry_after, Some(Duration::from_millis(7500)));
        assert_eq!(busy.retry_advice(), RetryAdvice::Server(Some(Duration::from_millis(7500))));
        let day = gemini(
            429,
            r#"{"error":{"message":"x","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}"#,
        );
        assert_eq!((day.kind, day.retry_advice()), (ApiErrorKind::QuotaExhausted, RetryAdvice::No));
        assert_eq!(gemini(404, r#"[{"error":{"message":"no model x"}}]"#).message, "no model x");
        let long = gemini(
            400,
            r#"{"error":{"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}"#,
        );
        assert_eq!(long.kind, ApiErrorKind::ContextTooLong);
    }

    #[test]
    fn openai_errors_are_classified() {
        let read = |status, body: &str| ApiError::from_body(Provider::OpenAi, status, body.as_bytes(), None);
        let quota = read(429, r#"{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}"#);
        assert_eq!(quota.kind, ApiErrorKind::QuotaExhausted);
        assert_eq!(read(404, r#"{"error":"model 'x' not found"}"#).message, "model 'x' not found");
        assert_eq!(read(422, r#"{"detail":"bad"}"#).message, "bad");
        assert_eq!(read(401, "{}").kind, ApiErrorKind::Auth);
    }

    #[test]
    fn a_page_is_quoted_in_short() {
        let page = format!("<html>\n  <h1>Bad Gateway</h1>{}", "x".repeat(5000));
        let error = gemini(502, &page);
        assert_eq!(error.kind, ApiErrorKind::Server);
        assert!(error.message.starts_with("<html> <h1>Bad Gateway"));
        assert!(error.message.chars().count() <= MAX_QUOTE_CHARS + 1);
        assert_eq!(gemini(500, "").message, "(empty)");
    }
}
