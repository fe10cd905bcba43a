//! The tokens of a session: sent only to the server that they are for, and renewed before they expire.

use std::path::PathBuf;
use std::time::Duration;

use hookwright_model::ProxyOptions;
use hookwright_settings::McpServer;
use hookwright_settings::mcp::{McpCredentials, read_credentials, save_credentials};
use reqwest::Url;
use tokio::sync::Mutex;

use super::client::OAuthClient;
use super::discovery::{AuthChallenge, resource_name};
use super::error::OAuthError;
use super::http_client::OAuthHttpClient;
use super::token_request::{self, now_millis};
use crate::mcp::access::TokenProvider;
use crate::tool::BoxFuture;

/// The time before its expiry at which a token is renewed.
const RENEWAL_MARGIN: Duration = Duration::from_secs(60);

/// The stored tokens of all servers.
#[derive(Debug)]
pub struct OAuthTokens {
    file: PathBuf,
    proxy: Option<ProxyOptions>,
    /// Serialises renewals, because some servers accept a refresh token only once.
    renewal_lock: Mutex<()>,
}

impl TokenProvider for OAuthTokens {
    fn bearer<'a>(&'a self, server: &'a McpServer) -> BoxFuture<'a, Option<String>> {
        Box::pin(self.valid_token(server))
    }

    fn replace_refused<'a>(&'a self, server: &'a McpServer, refused: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(self.replacement_token(server, refused))
    }

    fn request_scopes<'a>(&'a self, server: &'a McpServer, challenge: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.store_scopes(server, AuthChallenge::parse(challenge).scopes))
    }
}

impl OAuthTokens {
    /// Creates a provider for the tokens in a file.
    pub fn new(file: PathBuf, proxy: Option<ProxyOptions>) -> Self {
        OAuthTokens { file, proxy, renewal_lock: Mutex::new(()) }
    }

    async fn valid_token(&self, server: &McpServer) -> Option<String> {
        let kept = self.stored_credentials(server).await?;
        if !is_expiring(&kept) {
            return Some(kept.token.access_token);
        }
        let _turn = self.renewal_lock.lock().await;
        self.renew_or_reread(server, &kept).await
    }

    async fn replacement_token(&self, server: &McpServer, refused: &str) -> Option<String> {
        let _turn = self.renewal_lock.lock().await;
        let kept = self.stored_credentials(server).await?;
        // Another call has renewed it meanwhile.
        if kept.token.access_token != refused && !is_expiring(&kept) {
            return Some(kept.token.access_token);
        }
        self.renew_or_reread(server, &kept).await.filter(|token| token != refused)
    }

    /// Stores the scopes that the token lacks with the token.
    async fn store_scopes(&self, server: &McpServer, lacking: Vec<String>) {
        let _turn = self.renewal_lock.lock().await;
        let Some(mut kept) = self.stored_credentials(server).await else { return };
        let known = kept.token.scope.clone().unwrap_or_default();
        let mut scopes: Vec<&str> = known.split_whitespace().collect();
        let new: Vec<&str> = lacking.iter().map(String::as_str).filter(|scope| !scopes.contains(scope)).collect();
        if new.is_empty() {
            return;
        }
        scopes.extend(new);
        kept.token.scope = Some(scopes.join(" "));
        let file = self.file.clone();
        let written = tokio::task::spawn_blocking(move || save_credentials(&file, &kept)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(server = server.name, "the scopes that it wants can't be kept: {error}");
        }
    }

    /// Returns the credentials stored for a server at exactly this address.
    async fn stored_credentials(&self, server: &McpServer) -> Option<McpCredentials> {
        let url = Url::parse(server.transport.url()?).ok()?;
        let (file, name) = (self.file.clone(), server.name.clone());
        let kept = tokio::task::spawn_blocking(move || read_credentials(&file, &name)).await.ok()?;
        let kept = kept.unwrap_or_else(|error| {
            tracing::warn!(server = server.name, "tokens can't be read: {error}");
            None
        })?;
        let theirs = kept.mcp_server_url.as_deref().and_then(|url| Url::parse(url).ok())?;
        (resource_name(&theirs) == resource_name(&url)).then_some(kept)
    }

    async fn renew_or_reread(&self, server: &McpServer, old: &McpCredentials) -> Option<String> {
        // Another session may have renewed it.
        let kept = self.stored_credentials(server).await?;
        if kept.token != old.token && !is_expiring(&kept) {
            return Some(kept.token.access_token);
        }
        match self.renew(server, &kept).await {
            Ok(token) => token,
            Err(error) => {
                tracing::warn!(server = server.name, "its token can't be renewed: {error}");
                // If another session has just renewed the token, our refresh token is invalid and theirs is stored.
                let newer = self.stored_credentials(server).await?;
                (newer.token != kept.token && !is_expiring(&newer)).then_some(newer.token.access_token)
            }
        }
    }

    async fn renew(&self, server: &McpServer, kept: &McpCredentials) -> Result<Option<String>, OAuthError> {
        let (Some(old), Some(place), Some(id)) = (&kept.token.refresh_token, &kept.token_url, &kept.client_id) else {
            return Ok(None);
        };
        let Some(url) = server.transport.url().and_then(|url| Url::parse(url).ok()) else { return Ok(None) };
        let web = OAuthHttpClient::new(&url, self.proxy.as_ref()).await?;
        let place = web.check_url(place, "token_endpoint")?;
        let own = server.oauth.as_ref().filter(|oauth| oauth.client_id.as_ref() == Some(id));
        let secret = own.and_then(|oauth| oauth.client_secret.clone()).or_else(|| kept.client_secret.clone());
        let client = OAuthClient { id: id.clone(), secret };
        let resource = kept.mcp_server_url.clone().unwrap_or_default();
        let fields =
            [("grant_type", "refresh_token"), ("refresh_token", old.as_str()), ("resource", resource.as_str())];
        let mut token = token_request::request_token(&web, &place, &client, false, &fields).await?;
        token.refresh_token = token.refresh_token.or_else(|| Some(old.clone()));
        token.scope = token.scope.or_else(|| kept.token.scope.clone());
        let access = token.access_token.clone();
        let new = McpCredentials { token, updated_at: now_millis(), ..kept.clone() };
        let file = self.file.clone();
        let written = tokio::task::spawn_blocking(move || save_credentials(&file, &new)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(server = server.name, "a renewed token can't be kept: {error}");
        }
        Ok(Some(access))
    }
}

fn is_expiring(kept: &McpCredentials) -> bool {
    let margin = u64::try_from(RENEWAL_MARGIN.as_millis()).unwrap_or_default();
    kept.token.expires_at.is_some_and(|end| end <= now_millis().saturating_add(margin))
}
