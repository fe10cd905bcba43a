//! Requests tokens for codes and refresh tokens.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hookwright_settings::mcp::McpToken;
use reqwest::Url;
use serde_json::Value;

use super::client::OAuthClient;
use super::error::OAuthError;
use super::http_client::{OAuthHttpClient, OAuthResponse};

/// Requests a token; `fields` contains the grant.
pub(super) async fn request_token(
    web: &OAuthHttpClient,
    place: &Url,
    client: &OAuthClient,
    only_basic: bool,
    fields: &[(&str, &str)],
) -> Result<McpToken, OAuthError> {
    let mut form = fields.to_vec();
    form.push(("client_id", &client.id));
    let basic = client.secret.as_ref().filter(|_| only_basic).map(|secret| {
        let escaped = |text: &str| -> String { form_encode(text) };
        STANDARD.encode(format!("{}:{}", escaped(&client.id), escaped(secret)))
    });
    if let (Some(secret), None) = (&client.secret, &basic) {
        form.push(("client_secret", secret));
    }
    let answer = web.post_form(place, &form, basic.as_deref()).await?;
    let secrets: Vec<&str> = fields.iter().map(|(_, value)| *value).chain(client.secret.as_deref()).collect();
    parse_token(&answer).ok_or_else(|| OAuthError::Refused(refusal_reason(&answer, &secrets)))
}

fn form_encode(text: &str) -> String {
    let mut url = Url::parse("form:x").ok();
    if let Some(url) = &mut url {
        url.query_pairs_mut().append_key_only(text);
    }
    url.and_then(|url| url.query().map(str::to_owned)).unwrap_or_default()
}

fn parse_token(answer: &OAuthResponse) -> Option<McpToken> {
    let text = |key: &str| answer.body.get(key).and_then(Value::as_str).map(str::to_owned);
    let fits = |token: &String| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    let access_token = text("access_token").filter(fits).filter(|_| answer.status.is_success())?;
    // Only bearer tokens can be sent as the `Authorization` header that is used here.
    let token_type = text("token_type").unwrap_or_else(|| "Bearer".to_owned());
    token_type.eq_ignore_ascii_case("bearer").then_some(())?;
    let lifetime = answer.body.get("expires_in").and_then(|value| match value {
        Value::String(text) => text.trim().parse::<f64>().ok(),
        other => other.as_f64(),
    });
    let millis = |seconds: f64| (seconds.clamp(0.0, 1e9) * 1000.0) as u64;
    Some(McpToken {
        access_token,
        refresh_token: text("refresh_token").filter(|token| !token.is_empty()),
        expires_at: lifetime.map(|seconds| now_millis().saturating_add(millis(seconds))),
        token_type: "Bearer".to_owned(),
        scope: text("scope"),
    })
}

/// Returns an authorisation server's reason for a refusal, as one short line without what was sent to it.
pub(super) fn refusal_reason(answer: &OAuthResponse, secrets: &[&str]) -> String {
    let text = |key: &str| answer.body.get(key).and_then(Value::as_str);
    let reason: Vec<&str> = [text("error"), text("error_description")].into_iter().flatten().collect();
    let reason = if reason.is_empty() { format!("HTTP {}", answer.status.as_u16()) } else { reason.join(": ") };
    redact_secrets(&reason, secrets)
}

/// Returns a server's text as one short line without secrets.
pub(super) fn redact_secrets(reason: &str, secrets: &[&str]) -> String {
    let hidden = secrets
        .iter()
        .filter(|secret| secret.len() >= 8)
        .fold(reason.to_owned(), |reason, secret| reason.replace(*secret, "***"));
    hidden.chars().filter(|char| !char.is_control()).take(200).collect()
}

/// Returns the milliseconds since 1970.
pub(super) fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
