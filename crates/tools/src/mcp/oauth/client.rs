//! The client identity at an authorisation server: the one in the settings, else a registered one (RFC 7591).

use hookwright_settings::McpOAuth;
use reqwest::Url;
use serde_json::{Value, json};

use super::discovery::AuthorizationServer;
use super::error::OAuthError;
use super::http_client::OAuthHttpClient;
use super::token_request::refusal_reason;

/// A client identity at an authorisation server.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct OAuthClient {
    pub(super) id: String,
    pub(super) secret: Option<String>,
}

pub(super) async fn resolve_client(
    settings: Option<&McpOAuth>,
    authority: &AuthorizationServer,
    redirect: &Url,
    web: &OAuthHttpClient,
) -> Result<OAuthClient, OAuthError> {
    if let Some((id, settings)) = settings.and_then(|settings| Some((settings.client_id.clone()?, settings))) {
        return Ok(OAuthClient { id, secret: settings.client_secret.clone() });
    }
    let place = authority.registration_endpoint.as_ref().ok_or(OAuthError::NoRegistration)?;
    let answer = web
        .post_json(
            place,
            &json!({
                "client_name": "Hookwright",
                "redirect_uris": [redirect.as_str()],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                "application_type": "native",
            }),
        )
        .await?;
    let id = answer.body.get("client_id").and_then(Value::as_str).filter(|id| !id.is_empty());
    match id {
        Some(id) if answer.status.is_success() => {
            let secret = answer.body.get("client_secret").and_then(Value::as_str).map(str::to_owned);
            Ok(OAuthClient { id: id.to_owned(), secret })
        }
        _ => Err(OAuthError::Refused(refusal_reason(&answer, &[]))),
    }
}
