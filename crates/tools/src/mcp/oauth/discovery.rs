//! Who gives out tokens for a server: what its entry says, else what it says of itself (RFC 9728), and what the authorisation
//! server says of itself (RFC 8414, OpenID). Descriptions that are somebody else's are no descriptions.

use hookwright_hooks::Source;
use hookwright_settings::{McpOAuth, McpServer};
use reqwest::Url;
use serde_json::Value;

use super::error::OAuthError;
use super::http_client::{OAuthHttpClient, display_url};

/// Who gives out tokens, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuthorizationServer {
    /// Its name, if it is known by one; answers must come from it.
    pub(super) issuer: Option<String>,
    /// Whether it always says in an answer who it is.
    pub(super) sends_issuer: bool,
    /// Where the user is sent.
    pub(super) authorization_endpoint: Url,
    /// Where codes become tokens.
    pub(super) token_endpoint: Url,
    /// Where programs register themselves.
    pub(super) registration_endpoint: Option<Url>,
    /// Whether a program's secret goes into a header alone.
    pub(super) requires_basic_auth: bool,
    /// Whether tokens that renew others are given for a scope of their own.
    pub(super) supports_offline_access: bool,
    /// What to ask for, where the entry does not say.
    pub(super) scopes: Vec<String>,
    /// The server, as tokens for it name it (RFC 8707).
    pub(super) resource: String,
}

/// The scope of OpenID that a token to renew others is given for.
const OFFLINE_ACCESS_SCOPE: &str = "offline_access";

/// How many authorisation servers of a server are tried.
const MAX_AUTHORIZATION_SERVERS: usize = 4;

pub(super) async fn discover(
    server: &McpServer,
    url: &Url,
    web: &OAuthHttpClient,
) -> Result<AuthorizationServer, OAuthError> {
    let settings = server.oauth.clone().unwrap_or_default();
    if let (Some(authorization), Some(token)) = (&settings.authorization_url, &settings.token_url) {
        return from_settings(server, &settings, authorization, token, url, web);
    }
    let challenge = web.fetch_challenge(url).await?.map(|text| AuthChallenge::parse(&text));
    let (challenged, challenge) = (challenge.is_some(), challenge.unwrap_or_default());
    let resource = fetch_resource_metadata(&challenge, url, web).await?;
    let issuers = match (&settings.issuer, resource.issuers.as_slice()) {
        (Some(issuer), _) => vec![issuer.clone()],
        // As servers did before they described themselves.
        (None, []) => vec![url.origin().ascii_serialization()],
        (None, issuers) => issuers.to_vec(),
    };
    // As the protocol had it until 2025-03: the authorisation server is at the server's own origin.
    let describes_nothing = settings.issuer.is_none() && resource.issuers.is_empty();
    let mut last = OAuthError::NoAuthorizationServer;
    for issuer in issuers.iter().take(MAX_AUTHORIZATION_SERVERS) {
        match fetch_authorization_server(issuer, describes_nothing, web).await {
            Ok(Some(found)) => {
                let mut scopes = if challenge.scopes.is_empty() { resource.scopes } else { challenge.scopes };
                // Else there may be no token to renew the first one with.
                if found.supports_offline_access
                    && !scopes.is_empty()
                    && !scopes.iter().any(|scope| scope == OFFLINE_ACCESS_SCOPE)
                {
                    scopes.push(OFFLINE_ACCESS_SCOPE.to_owned());
                }
                return Ok(AuthorizationServer { scopes, resource: resource.name, ..found });
            }
            Ok(None) => {}
            // One that lies is not passed over for the next.
            Err(error) if !matches!(error, OAuthError::Unreachable { .. }) => return Err(error),
            Err(error) => last = error,
        }
    }
    // And a server that describes nothing at all has its endpoints at fixed places.
    if describes_nothing && challenged && matches!(last, OAuthError::NoAuthorizationServer) {
        return Ok(AuthorizationServer {
            issuer: None,
            sends_issuer: false,
            authorization_endpoint: with_path(url, "/authorize"),
            token_endpoint: with_path(url, "/token"),
            registration_endpoint: Some(with_path(url, "/register")),
            requires_basic_auth: false,
            supports_offline_access: false,
            scopes: challenge.scopes,
            resource: resource.name,
        });
    }
    Err(last)
}

/// The places that a server's entry names.
fn from_settings(
    server: &McpServer,
    settings: &McpOAuth,
    authorization: &str,
    token: &str,
    url: &Url,
    web: &OAuthHttpClient,
) -> Result<AuthorizationServer, OAuthError> {
    let authorization = web.check_url(authorization, "authorizationUrl")?;
    let token = web.check_url(token, "tokenUrl")?;
    // Else a project could have codes of a place that users know sent to another.
    if server.origin == Source::Project && authorization.origin() != token.origin() {
        return Err(OAuthError::MixedOrigins);
    }
    let registration =
        settings.registration_url.as_deref().map(|url| web.check_url(url, "registrationUrl")).transpose()?;
    Ok(AuthorizationServer {
        issuer: settings.issuer.clone(),
        sends_issuer: false,
        authorization_endpoint: authorization,
        token_endpoint: token,
        registration_endpoint: registration,
        requires_basic_auth: false,
        supports_offline_access: false,
        scopes: Vec::new(),
        resource: resource_name(url),
    })
}

/// What a server says of itself.
struct ResourceMetadata {
    name: String,
    issuers: Vec<String>,
    scopes: Vec<String>,
}

async fn fetch_resource_metadata(
    challenge: &AuthChallenge,
    url: &Url,
    web: &OAuthHttpClient,
) -> Result<ResourceMetadata, OAuthError> {
    let mut places = Vec::new();
    if let Some(place) = &challenge.resource_metadata {
        let place = web.check_url(place, "description")?;
        // A server describes itself, and sends nobody elsewhere for it.
        if place.origin() != url.origin() {
            let why = "it is not the server's own";
            return Err(OAuthError::UnusableAddress { what: "description", url: display_url(place.as_str()), why });
        }
        places.push(place);
    }
    places.extend(well_known_urls(url, "oauth-protected-resource"));
    for place in places {
        let Some(document) = web.get_json(&place).await? else { continue };
        let name = text_field(&document, "resource").unwrap_or_default();
        if !is_within_resource(url, &name) {
            return Err(OAuthError::WrongResource { expected: resource_name(url), found: display_url(&name) });
        }
        let issuers = text_list(&document, "authorization_servers");
        return Ok(ResourceMetadata { name, issuers, scopes: text_list(&document, "scopes_supported") });
    }
    Ok(ResourceMetadata { name: resource_name(url), issuers: Vec::new(), scopes: Vec::new() })
}

/// What an authorisation server says of itself; nothing if it says nothing. Its name must be the one that was given, or where
/// only its origin is known, of that origin.
async fn fetch_authorization_server(
    issuer: &str,
    is_origin: bool,
    web: &OAuthHttpClient,
) -> Result<Option<AuthorizationServer>, OAuthError> {
    let url = web.check_url(issuer, "authorisation server")?;
    let mut places = well_known_urls(&url, "oauth-authorization-server");
    places.extend(well_known_urls(&url, "openid-configuration"));
    if let Some(below) = openid_config_url(&url) {
        places.push(below);
    }
    places.dedup();
    for place in places {
        let Some(document) = web.get_json(&place).await? else { continue };
        let found = text_field(&document, "issuer").unwrap_or_default();
        let is_same_origin = || Url::parse(&found).is_ok_and(|found| found.origin() == url.origin());
        if found.trim_end_matches('/') != issuer.trim_end_matches('/') && !(is_origin && is_same_origin()) {
            return Err(OAuthError::WrongIssuer { expected: display_url(issuer), found: display_url(&found) });
        }
        return parse_authorization_server(&document, found, web).map(Some);
    }
    Ok(None)
}

fn parse_authorization_server(
    document: &Value,
    issuer: String,
    web: &OAuthHttpClient,
) -> Result<AuthorizationServer, OAuthError> {
    let place = |key: &str, what| text_field(document, key).map(|url| web.check_url(&url, what)).transpose();
    let methods = text_list(document, "code_challenge_methods_supported");
    if !methods.iter().any(|method| method == "S256") {
        return Err(OAuthError::NoPkce);
    }
    let ways = text_list(document, "token_endpoint_auth_methods_supported");
    let can_post = ways.is_empty() || ways.iter().any(|way| way == "client_secret_post");
    Ok(AuthorizationServer {
        issuer: Some(issuer),
        sends_issuer: document.get("authorization_response_iss_parameter_supported") == Some(&Value::Bool(true)),
        authorization_endpoint: place("authorization_endpoint", "authorization_endpoint")?
            .ok_or(OAuthError::NoAuthorizationServer)?,
        token_endpoint: place("token_endpoint", "token_endpoint")?.ok_or(OAuthError::NoAuthorizationServer)?,
        registration_endpoint: place("registration_endpoint", "registration_endpoint")?,
        requires_basic_auth: !can_post && ways.iter().any(|way| way == "client_secret_basic"),
        supports_offline_access: text_list(document, "scopes_supported")
            .iter()
            .any(|scope| scope == OFFLINE_ACCESS_SCOPE),
        scopes: Vec::new(),
        resource: String::new(),
    })
}

/// Where a description is: before the path, and for those who forget it without.
fn well_known_urls(url: &Url, name: &str) -> Vec<Url> {
    let path = url.path().trim_end_matches('/');
    let mut paths = vec![format!("/.well-known/{name}{path}")];
    if !path.is_empty() && name == "oauth-protected-resource" {
        paths.push(format!("/.well-known/{name}"));
    }
    paths.into_iter().map(|path| with_path(url, &path)).collect()
}

/// Where OpenID has it: behind the path.
fn openid_config_url(url: &Url) -> Option<Url> {
    let path = url.path().trim_end_matches('/');
    (!path.is_empty()).then(|| with_path(url, &format!("{path}/.well-known/openid-configuration")))
}

fn with_path(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// A server's name in tokens: its address without a fragment.
pub(super) fn resource_name(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    let name = url.to_string();
    if url.path() == "/" && url.query().is_none() { name.trim_end_matches('/').to_owned() } else { name }
}

/// Whether a name is the server's, or of what it is part of.
fn is_within_resource(url: &Url, name: &str) -> bool {
    let Ok(name) = Url::parse(name) else { return false };
    let whole = name.path().trim_end_matches('/');
    let below = url.path().strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    name.origin() == url.origin() && below && name.query().is_none_or(|query| url.query() == Some(query))
}

/// What is said in `WWW-Authenticate`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AuthChallenge {
    pub(super) resource_metadata: Option<String>,
    pub(super) scopes: Vec<String>,
}

impl AuthChallenge {
    /// Reads parameters wherever they stand; whoever writes such headers rarely agrees on more.
    pub(super) fn parse(text: &str) -> Self {
        let value = |name: &str| -> Option<String> {
            let lower = text.to_ascii_lowercase();
            let mut from = 0;
            loop {
                let at = from + lower.get(from..)?.find(name)?;
                from = at + name.len();
                let starts = at == 0 || lower[..at].ends_with([' ', ',', '\t']);
                let Some(rest) = text.get(from..)?.trim_start().strip_prefix('=').filter(|_| starts) else { continue };
                let rest = rest.trim_start();
                let end = |rest: &str, ends: &[char]| rest.find(ends).unwrap_or(rest.len());
                return Some(match rest.strip_prefix('"') {
                    Some(quoted) => quoted[..end(quoted, &['"'])].to_owned(),
                    None => rest[..end(rest, &[',', ' '])].to_owned(),
                });
            }
        };
        let scopes = value("scope").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        AuthChallenge { resource_metadata: value("resource_metadata"), scopes }
    }
}

fn text_field(document: &Value, key: &str) -> Option<String> {
    document.get(key)?.as_str().map(str::to_owned)
}

fn text_list(document: &Value, key: &str) -> Vec<String> {
    let list = document.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
