//! Who this program is to an authorisation server: the one of the entry, else one that it registers as (RFC 7591).

use hookwright_settings::McpOAuth;
use reqwest::Url;
use serde_json::{Value, json};

use super::discover::Authority;
use super::error::OAuthError;
use super::token::reason;
use super::web::Web;

/// A program, as an authorisation server knows it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<String>,
}

pub(super) async fn client(
    settings: Option<&McpOAuth>,
    authority: &Authority,
    redirect: &Url,
    web: &Web,
) -> Result<Client, OAuthError> {
    if let Some((id, settings)) = settings.and_then(|settings| Some((settings.client_id.clone()?, settings))) {
        return Ok(Client { id, secret: settings.client_secret.clone() });
    }
    let place = authority.registration.as_ref().ok_or(OAuthError::NoRegistration)?;
    let answer = web
        .post(
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
            Ok(Client { id: id.to_owned(), secret })
        }
        _ => Err(OAuthError::Refused(reason(&answer, &[]))),
    }
}
