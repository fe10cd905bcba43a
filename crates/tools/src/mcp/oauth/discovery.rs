//! Finds the authorisation server of an MCP server: from the settings, else from the server's metadata (RFC 9728), and
//! the authorisation server's own metadata (RFC 8414, OpenID). Metadata of another server is refused.

use hookwright_hooks::Source;
use hookwright_settings::{McpOAuth, McpServer};
use reqwest::Url;
use serde_json::Value;

use super::error::OAuthError;
use super::http_client::{OAuthHttpClient, display_url};

/// An authorisation server and its endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuthorizationServer {
    /// The issuer, if it is known; authorisation responses must come from it.
    pub(super) issuer: Option<String>,
    /// Whether every authorisation response contains the issuer.
    pub(super) sends_issuer: bool,
    /// The URL that the user's browser opens.
    pub(super) authorization_endpoint: Url,
    /// The URL that exchanges codes for tokens.
    pub(super) token_endpoint: Url,
    /// The URL for client registration.
    pub(super) registration_endpoint: Option<Url>,
    /// Whether the client's secret must be sent in the `Authorization` header.
    pub(super) requires_basic_auth: bool,
    /// Whether refresh tokens need the scope `offline_access`.
    pub(super) supports_offline_access: bool,
    /// The scopes to request, if the settings name none.
    pub(super) scopes: Vec<String>,
    /// The server's identifier in token requests (RFC 8707).
    pub(super) resource: String,
}

/// The OpenID scope for refresh tokens.
const OFFLINE_ACCESS_SCOPE: &str = "offline_access";

/// The largest number of authorisation servers that are tried.
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
        // Servers without metadata use their own origin.
        (None, []) => vec![url.origin().ascii_serialization()],
        (None, issuers) => issuers.to_vec(),
    };
    // Until 2025-03 the protocol placed the authorisation server at the MCP server's own origin.
    let describes_nothing = settings.issuer.is_none() && resource.issuers.is_empty();
    let mut last = OAuthError::NoAuthorizationServer;
    for issuer in issuers.iter().take(MAX_AUTHORIZATION_SERVERS) {
        match fetch_authorization_server(issuer, describes_nothing, web).await {
            Ok(Some(found)) => {
                let mut scopes = if challenge.scopes.is_empty() { resource.scopes } else { challenge.scopes };
                // Without this scope there may be no refresh token.
                if found.supports_offline_access
                    && !scopes.is_empty()
                    && !scopes.iter().any(|scope| scope == OFFLINE_ACCESS_SCOPE)
                {
                    scopes.push(OFFLINE_ACCESS_SCOPE.to_owned());
                }
                return Ok(AuthorizationServer { scopes, resource: resource.name, ..found });
            }
            Ok(None) => {}
            // Wrong metadata is an error; the next server is tried only if this one is unreachable.
            Err(error) if !matches!(error, OAuthError::Unreachable { .. }) => return Err(error),
            Err(error) => last = error,
        }
    }
    // A server without any metadata has its endpoints at fixed paths.
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

/// Returns the authorisation server whose endpoints the settings name.
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
    // Otherwise a project could have codes of an authorisation server that users trust sent to another server.
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

/// The metadata of an MCP server.
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
        // Metadata must come from the server's own origin.
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

/// Returns an authorisation server's metadata; `None` if it has none. Its issuer must be the given one, or have the
/// same origin where only the origin is known.
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

/// Returns the well-known URLs: with the path appended, and for protected resources also without it.
fn well_known_urls(url: &Url, name: &str) -> Vec<Url> {
    let path = url.path().trim_end_matches('/');
    let mut paths = vec![format!("/.well-known/{name}{path}")];
    if !path.is_empty() && name == "oauth-protected-resource" {
        paths.push(format!("/.well-known/{name}"));
    }
    paths.into_iter().map(|path| with_path(url, &path)).collect()
}

/// Returns OpenID's URL of the metadata, with the well-known part behind the path.
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

/// Returns a server's identifier in token requests: its URL without the fragment.
pub(super) fn resource_name(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    let name = url.to_string();
    if url.path() == "/" && url.query().is_none() { name.trim_end_matches('/').to_owned() } else { name }
}

/// Returns whether a resource identifier is the server's own, or of a resource that contains the server.
fn is_within_resource(url: &Url, name: &str) -> bool {
    let Ok(name) = Url::parse(name) else { return false };
    let whole = name.path().trim_end_matches('/');
    let below = url.path().strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    name.origin() == url.origin() && below && name.query().is_none_or(|query| url.query() == Some(query))
}

/// The parameters of a `WWW-Authenticate` header.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AuthChallenge {
    pub(super) resource_metadata: Option<String>,
    pub(super) scopes: Vec<String>,
}

impl AuthChallenge {
    /// Reads the parameters wherever they are in the header, because servers differ in its form.
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
