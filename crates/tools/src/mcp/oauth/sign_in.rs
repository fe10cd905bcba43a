//! Signs in to a server, from discovery to the stored token.

use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hookwright_model::ProxyOptions;
use hookwright_settings::McpServer;
use hookwright_settings::mcp::{McpCredentials, read_credentials, save_credentials};
use reqwest::Url;
use sha2::{Digest, Sha256};

use super::client::{OAuthClient, resolve_client};
use super::discovery::{AuthorizationServer, discover, resource_name};
use super::error::OAuthError;
use super::http_client::OAuthHttpClient;
use super::loopback::{LoopbackListener, OAuthCallback};
use super::token_request::{self, now_millis, redact_secrets};

/// The options of signing in.
#[derive(Clone, Debug)]
pub struct SignInOptions<'a> {
    /// The file that tokens are stored in.
    pub file: &'a Path,
    pub proxy: Option<&'a ProxyOptions>,
    /// The time that the user has in the browser.
    pub timeout: Duration,
}

impl SignInOptions<'_> {
    /// The default time that the user has in the browser.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);
}

/// Signs in to a server. `send` receives the address that the user's browser must open, and the host of the
/// authorisation server.
///
/// # Errors
/// If signing in fails. Stored tokens are unchanged then.
pub async fn sign_in(
    server: &McpServer,
    with: &SignInOptions<'_>,
    send: impl FnOnce(&str, &str),
) -> Result<(), OAuthError> {
    let url = server.transport.url().ok_or(OAuthError::LocalServer)?;
    let no = |why| OAuthError::UnusableAddress { what: "server", url: super::http_client::display_url(url), why };
    let url = Url::parse(url).map_err(|_| no("it is not a valid address"))?;
    let web = OAuthHttpClient::new(&url, with.proxy).await?;
    // A token must not be sent over an unencrypted connection.
    let url = web.check_url(url.as_str(), "server")?;
    let mut authority = discover(server, &url, &web).await?;
    // The scopes of the last token, and those that the server asked for since.
    let last =
        read_credentials(with.file, &server.name)?.filter(|kept| kept.mcp_server_url == Some(resource_name(&url)));
    for scope in last.and_then(|kept| kept.token.scope).unwrap_or_default().split_whitespace() {
        if !authority.scopes.iter().any(|known| known == scope) {
            authority.scopes.push(scope.to_owned());
        }
    }
    let loopback =
        LoopbackListener::open(server.oauth.as_ref().and_then(|oauth| oauth.redirect_uri.as_deref())).await?;
    let redirect = loopback.redirect.clone();
    let client = resolve_client(server.oauth.as_ref(), &authority, &redirect, &web).await?;
    let (state, verifier) = (random_token(), random_token());
    let page = authorization_url(server, &authority, &client, &redirect, &state, &verifier);
    send(page.as_str(), authority.authorization_endpoint.host_str().unwrap_or_default());
    let callback = loopback.wait_for_callback(&state, with.timeout).await?;
    let code = check_callback(callback, &authority)?;
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code.as_str()),
        ("redirect_uri", redirect.as_str()),
        ("code_verifier", verifier.as_str()),
        ("resource", authority.resource.as_str()),
    ];
    let token =
        token_request::request_token(&web, &authority.token_endpoint, &client, authority.requires_basic_auth, &fields)
            .await?;
    let credentials = McpCredentials {
        server_name: server.name.clone(),
        token,
        client_id: Some(client.id),
        client_secret: client.secret,
        token_url: Some(authority.token_endpoint.to_string()),
        mcp_server_url: Some(resource_name(&url)),
        updated_at: now_millis(),
    };
    Ok(save_credentials(with.file, &credentials)?)
}

/// Returns the address that the browser opens.
fn authorization_url(
    server: &McpServer,
    authority: &AuthorizationServer,
    client: &OAuthClient,
    redirect: &Url,
    state: &str,
    verifier: &str,
) -> Url {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    let settings = server.oauth.clone().unwrap_or_default();
    let scopes = if settings.scopes.is_empty() { &authority.scopes } else { &settings.scopes };
    let mut page = authority.authorization_endpoint.clone();
    let mut query = page.query_pairs_mut();
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", &client.id)
        .append_pair("redirect_uri", redirect.as_str())
        .append_pair("state", state)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", &authority.resource);
    if !scopes.is_empty() {
        query.append_pair("scope", &scopes.join(" "));
    }
    if !settings.audiences.is_empty() {
        query.append_pair("audience", &settings.audiences.join(" "));
    }
    drop(query);
    page
}

/// Returns the code, if the callback comes from the expected issuer (RFC 9207).
fn check_callback(callback: OAuthCallback, authority: &AuthorizationServer) -> Result<String, OAuthError> {
    if let Some(expected) = &authority.issuer {
        let found = callback.issuer.as_deref();
        if found.map_or(authority.sends_issuer, |found| found != expected) {
            let found = found.map_or_else(|| "an unnamed server".to_owned(), super::http_client::display_url);
            return Err(OAuthError::SenderMismatch { expected: expected.clone(), found });
        }
    }
    callback.code.map_err(|error| OAuthError::Refused(redact_secrets(&error, &[])))
}

/// Returns an unguessable string with 244 random bits.
fn random_token() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}
