//! Tests against an authorisation server on this machine: a correct one, and many incorrect ones.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hookwright_hooks::Source;
use hookwright_settings::mcp::{read_credentials, save_credentials};
use hookwright_settings::{McpOAuth, McpServer, McpTransport};
use reqwest::Url;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::discovery::AuthChallenge;
use super::*;
use crate::mcp::access::TokenProvider;

/// A request, as the fake server receives it.
#[derive(Clone, Debug)]
struct ReceivedRequest {
    path: String,
    body: String,
}

impl ReceivedRequest {
    fn form_fields(&self) -> HashMap<String, String> {
        query_pairs(&self.body)
    }
}

fn query_pairs(query: &str) -> HashMap<String, String> {
    let url = Url::parse(&format!("http://x/?{query}")).unwrap();
    url.query_pairs().into_owned().collect()
}

type ResponseOverride = dyn Fn(&ReceivedRequest, &str) -> Option<(u16, String)> + Send + Sync;

/// An MCP server and its authorisation server in one.
struct FakeAuthServer {
    base: String,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
    temp_dir: tempfile::TempDir,
}

impl FakeAuthServer {
    async fn new() -> Self {
        hookwright_testkit::watchdog::watch();
        FakeAuthServer::with_override(|_, _| None).await
    }

    /// Creates a server with some different answers.
    async fn with_override(
        response_override: impl Fn(&ReceivedRequest, &str) -> Option<(u16, String)> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (record, own, response_override): (_, _, Arc<ResponseOverride>) =
            (requests.clone(), base.clone(), Arc::new(response_override));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, own.clone(), record.clone(), response_override.clone()));
            }
        });
        FakeAuthServer { base, requests, temp_dir: tempfile::tempdir().unwrap() }
    }

    fn server(&self) -> McpServer {
        let transport = McpTransport::Http { url: format!("{}/mcp", self.base), headers: Vec::new() };
        McpServer { timeout: Duration::from_secs(5), ..McpServer::new("remote", transport) }
    }

    fn file(&self) -> PathBuf {
        self.temp_dir.path().join("tokens.json")
    }

    fn requests_to(&self, path: &str) -> Vec<ReceivedRequest> {
        self.requests.lock().unwrap().iter().filter(|one| one.path == path).cloned().collect()
    }

    /// Signs in, with a browser whose callback comes at once and is changed by `browse`.
    async fn sign_in(
        &self,
        server: impl std::borrow::Borrow<McpServer>,
        browse: impl Fn(&Url) -> String,
    ) -> Result<(), OAuthError> {
        let file = self.file();
        let with = SignInOptions { file: &file, proxy: None, timeout: Duration::from_secs(2) };
        sign_in(server.borrow(), &with, |page, _| {
            let back = browse(&Url::parse(page).unwrap());
            tokio::spawn(async move { visit(&back).await });
        })
        .await
    }

    fn tokens(&self) -> OAuthTokens {
        OAuthTokens::new(self.file(), None)
    }
}

/// Returns the callback that a browser makes after the user has agreed.
fn approve_redirect(page: &Url) -> String {
    let asked = query_pairs(page.query().unwrap());
    format!(
        "{}?code=the-secret-code&state={}&iss={}",
        asked["redirect_uri"],
        asked["state"],
        page.origin().ascii_serialization()
    )
}

async fn visit(url: &str) {
    let url = Url::parse(url).unwrap();
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", url.port().unwrap())).await else { return };
    let target = format!("{}?{}", url.path(), url.query().unwrap_or_default());
    stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    assert!(!answer.contains("the-secret-code"), "nothing is sent back: {answer}");
}

async fn serve(
    mut stream: TcpStream,
    base: String,
    record: Arc<Mutex<Vec<ReceivedRequest>>>,
    response_override: Arc<ResponseOverride>,
) {
    let mut bytes = Vec::new();
    let (head, length) = loop {
        let mut piece = [0; 4096];
        let Ok(read @ 1..) = stream.read(&mut piece).await else { return };
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            break (head.to_owned(), length.unwrap_or(0_usize));
        }
    };
    while bytes.len() < head.len() + 4 + length {
        let mut piece = [0; 4096];
        let Ok(read @ 1..) = stream.read(&mut piece).await else { return };
        bytes.extend_from_slice(&piece[..read]);
    }
    let target = Url::parse(&base).unwrap().join(head.split(' ').nth(1).unwrap()).unwrap();
    let request = ReceivedRequest {
        path: target.path().to_owned(),
        body: String::from_utf8_lossy(&bytes[head.len() + 4..]).into_owned(),
    };
    record.lock().unwrap().push(request.clone());
    let (status, body) = response_override(&request, &base).unwrap_or_else(|| default_response(&request, &base));
    let challenge = format!("WWW-Authenticate: Bearer resource_metadata=\"{base}/about\", scope=\"read write\"\r\n");
    let challenge = if status == 401 { challenge } else { String::new() };
    let location = if status == 302 { format!("Location: {body}\r\n") } else { String::new() };
    let answer = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{challenge}{location}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
}

fn default_response(request: &ReceivedRequest, base: &str) -> (u16, String) {
    let body = match request.path.as_str() {
        "/mcp" => return (401, "{}".to_owned()),
        "/about" => json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]}),
        "/.well-known/oauth-authorization-server" => server_metadata(base),
        "/register" => json!({"client_id": "dynamic"}),
        "/token" => {
            json!({"access_token": "the-secret-token", "refresh_token": "the-secret-refresh", "token_type": "bearer", "expires_in": 3600})
        }
        _ => return (404, "{}".to_owned()),
    };
    (200, body.to_string())
}

fn server_metadata(base: &str) -> Value {
    json!({"issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
        "registration_endpoint": format!("{base}/register"), "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true})
}

#[tokio::test]
async fn a_user_is_signed_in_and_the_token_is_kept() {
    let stand = FakeAuthServer::new().await;
    let asked = Arc::new(Mutex::new(HashMap::new()));
    let record = asked.clone();
    stand
        .sign_in(stand.server(), |page| {
            *record.lock().unwrap() = query_pairs(page.query().unwrap());
            approve_redirect(page)
        })
        .await
        .unwrap();
    let asked = asked.lock().unwrap().clone();
    let form = stand.requests_to("/token")[0].form_fields();
    assert_eq!(asked["code_challenge"], URL_SAFE_NO_PAD.encode(Sha256::digest(&form["code_verifier"])));
    assert_eq!((asked["code_challenge_method"].as_str(), asked["scope"].as_str()), ("S256", "read write"));
    assert_eq!((asked["client_id"].as_str(), form["client_id"].as_str()), ("dynamic", "dynamic"));
    assert_eq!(
        (&asked["resource"], &form["resource"]),
        (&format!("{}/mcp", stand.base), &format!("{}/mcp", stand.base))
    );
    assert_eq!(form["code"], "the-secret-code");
    assert_eq!(form["redirect_uri"], asked["redirect_uri"]);
    assert!(asked["redirect_uri"].starts_with("http://127.0.0.1:") && asked["state"].len() >= 32);
    assert!(!form.contains_key("client_secret"));
    let kept = read_credentials(&stand.file(), "remote").unwrap().unwrap();
    assert_eq!(kept.token_url, Some(format!("{}/token", stand.base)));
    assert_eq!(stand.tokens().bearer(&stand.server()).await.as_deref(), Some("the-secret-token"));
}

#[tokio::test]
async fn a_token_is_sent_only_to_its_server() {
    let stand = FakeAuthServer::new().await;
    stand.sign_in(stand.server(), approve_redirect).await.unwrap();
    for url in
        ["https://evil.example/mcp".to_owned(), format!("{}/other", stand.base), "http://127.0.0.1:1/mcp".to_owned()]
    {
        let mut server = stand.server();
        server.transport = McpTransport::Http { url, headers: Vec::new() };
        assert_eq!(stand.tokens().bearer(&server).await, None);
        assert_eq!(stand.tokens().replace_refused(&server, "the-secret-token").await, None);
    }
}

#[tokio::test]
async fn a_sign_in_ignores_callbacks_with_a_wrong_state() {
    let stand = FakeAuthServer::new().await;
    let wrong = stand.sign_in(stand.server(), |page| {
        let asked = query_pairs(page.query().unwrap());
        format!("{}?code=forged&state=another", asked["redirect_uri"])
    });
    assert!(matches!(wrong.await, Err(OAuthError::CallbackTimeout(_))));
    assert!(stand.requests_to("/token").is_empty());
    assert!(!stand.file().exists());
}

#[tokio::test]
async fn a_callback_from_another_issuer_is_refused() {
    let stand = FakeAuthServer::new().await;
    for iss in ["&iss=https%3A%2F%2Fevil.example", ""] {
        let mixed = stand.sign_in(stand.server(), |page| {
            let asked = query_pairs(page.query().unwrap());
            format!("{}?code=theirs&state={}{iss}", asked["redirect_uri"], asked["state"])
        });
        assert!(matches!(mixed.await, Err(OAuthError::SenderMismatch { .. })), "{iss}");
    }
    assert!(stand.requests_to("/token").is_empty());
}

#[tokio::test]
async fn a_refusal_is_reported_without_secrets() {
    let stand = FakeAuthServer::new().await;
    let denied = stand.sign_in(stand.server(), |page| {
        let asked = query_pairs(page.query().unwrap());
        let base = page.origin().ascii_serialization();
        format!(
            "{}?error=access_denied&error_description=no%1b[31m&state={}&iss={base}",
            asked["redirect_uri"], asked["state"]
        )
    });
    assert_eq!(denied.await.unwrap_err().to_string(), "the authorisation server refuses: access_denied: no[31m");
    let echoes = |request: &ReceivedRequest, _: &str| {
        let echo = json!({"error": "invalid_grant", "error_description": format!("bad {}", request.body)});
        (request.path == "/token").then(|| (400, echo.to_string()))
    };
    let stand = FakeAuthServer::with_override(echoes).await;
    let error = stand.sign_in(stand.server(), approve_redirect).await.unwrap_err().to_string();
    assert!(error.contains("invalid_grant") && !error.contains("the-secret-code"), "{error}");
}

#[tokio::test]
async fn false_server_metadata_is_refused() {
    type MetadataCase = (&'static str, fn(&str) -> Value, &'static str);
    let cases: [MetadataCase; 9] = [
        ("/about", |_| json!({"resource": "https://other.example/mcp"}), "describes itself as"),
        (
            "/about",
            |base| json!({"resource": format!("{base}/mc"), "authorization_servers": [base]}),
            "describes itself as",
        ),
        (
            "/about",
            |base| json!({"resource": base, "authorization_servers": ["http://169.254.169.254/"]}),
            "never used",
        ),
        ("/about", |base| json!({"resource": base, "authorization_servers": ["http://as.example/"]}), "not https"),
        ("/about", |base| json!({"resource": base, "authorization_servers": ["file:///etc/passwd"]}), "is not used"),
        (
            "/.well-known/oauth-authorization-server",
            |base| with(base, "issuer", "https://as.example"),
            "describes itself as",
        ),
        (
            "/.well-known/oauth-authorization-server",
            |base| with(base, "token_endpoint", "http://169.254.1.1/t"),
            "never used",
        ),
        (
            "/.well-known/oauth-authorization-server",
            |base| with(base, "authorization_endpoint", "javascript:alert(1)"),
            "is not used",
        ),
        (
            "/.well-known/oauth-authorization-server",
            |base| with(base, "code_challenge_methods_supported", "plain"),
            "PKCE",
        ),
    ];
    for (path, document, words) in cases {
        let stand = FakeAuthServer::with_override(move |request, base| {
            (request.path == path).then(|| (200, document(base).to_string()))
        })
        .await;
        let error = stand.sign_in(stand.server(), |_| panic!("nobody is sent anywhere")).await.unwrap_err().to_string();
        assert!(error.contains(words), "{path}: {error}");
        assert!(stand.requests_to("/token").is_empty() && stand.requests_to("/register").is_empty());
    }
}

fn with(base: &str, key: &str, value: &str) -> Value {
    let mut document = server_metadata(base);
    document[key] = json!(value);
    document
}

#[tokio::test]
async fn metadata_from_another_origin_is_refused() {
    let elsewhere = FakeAuthServer::new().await;
    let stand = FakeAuthServer::with_override(|_, _| None).await;
    // The challenge names the server's own address here, so the check is called directly.
    let url = Url::parse(&format!("{}/mcp", stand.base)).unwrap();
    let web = super::http_client::OAuthHttpClient::new(&url, None).await.unwrap();
    assert!(web.check_url("https://as.example/x", "x").is_ok());
    let public =
        super::http_client::OAuthHttpClient::new(&Url::parse("https://8.8.8.8/mcp").unwrap(), None).await.unwrap();
    for url in [
        &elsewhere.base,
        "https://10.0.0.1/x",
        "https://localhost/x",
        "https://[::ffff:169.254.169.254]/x",
        "https://u:p@as.example/",
    ] {
        assert!(public.check_url(url, "x").is_err(), "{url}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed_and_size_and_time_are_limited() {
    let stand = FakeAuthServer::with_override(|request, base| {
        (request.path == "/about").then(|| (302, format!("{base}/elsewhere")))
    })
    .await;
    stand.sign_in(stand.server(), approve_redirect).await.unwrap();
    assert!(stand.requests_to("/elsewhere").is_empty());
    let huge = FakeAuthServer::with_override(|request, _| {
        (request.path == "/about").then(|| (200, format!("[{}1]", "1,".repeat(300_000))))
    })
    .await;
    let error = huge.sign_in(huge.server(), approve_redirect).await.unwrap_err().to_string();
    assert!(error.contains("larger than"), "{error}");
    let nobody = FakeAuthServer::new().await;
    let waiting = nobody.sign_in(nobody.server(), |_| format!("{}/x", nobody.base));
    assert!(matches!(waiting.await, Err(OAuthError::CallbackTimeout(_))));
}

#[tokio::test]
async fn a_server_without_metadata_has_endpoints_at_fixed_paths() {
    let nothing = |path: &str| path == "/about" || path.starts_with("/.well-known/");
    let stand =
        FakeAuthServer::with_override(move |request, _| nothing(&request.path).then(|| (404, "{}".to_owned()))).await;
    stand.sign_in(stand.server(), approve_redirect).await.unwrap();
    assert_eq!(stand.requests_to("/register").len(), 1);
    assert_eq!(stand.requests_to("/token")[0].form_fields()["grant_type"], "authorization_code");
}

#[tokio::test]
async fn offline_access_is_requested_where_it_is_a_scope() {
    let stand = FakeAuthServer::with_override(|request, base| match request.path.as_str() {
        "/.well-known/oauth-authorization-server" => {
            let mut document = server_metadata(base);
            document["scopes_supported"] = json!(["read", "offline_access"]);
            Some((200, document.to_string()))
        }
        _ => None,
    })
    .await;
    let asked = Mutex::new(String::new());
    let agrees_to = |page: &Url| {
        let scope = page.query_pairs().find(|(key, _)| key == "scope").map(|(_, scope)| scope.into_owned());
        *asked.lock().unwrap() = scope.unwrap_or_default();
        approve_redirect(page)
    };
    stand.sign_in(stand.server(), agrees_to).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), "read write offline_access");
    let challenge = r#"Bearer error="insufficient_scope", scope="read admin""#;
    stand.tokens().request_scopes(&stand.server(), challenge).await;
    stand.sign_in(stand.server(), agrees_to).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), "read write offline_access admin");
}

#[tokio::test]
async fn an_older_server_may_have_an_issuer_with_a_path() {
    let described = |issuer: String| {
        move |request: &ReceivedRequest, base: &str| match request.path.as_str() {
            "/about" | "/.well-known/oauth-protected-resource/mcp" | "/.well-known/oauth-protected-resource" => {
                Some((404, "{}".to_owned()))
            }
            "/.well-known/oauth-authorization-server" => {
                let mut document = with(base, "issuer", &issuer.replace("BASE", base));
                document["authorization_response_iss_parameter_supported"] = json!(false);
                Some((200, document.to_string()))
            }
            _ => None,
        }
    };
    let agrees_silently = |page: &Url| approve_redirect(page).split("&iss=").next().unwrap().to_owned();
    let stand = FakeAuthServer::with_override(described("BASE/oauth".to_owned())).await;
    stand.sign_in(stand.server(), agrees_silently).await.unwrap();
    let stand = FakeAuthServer::with_override(described("https://other.example/oauth".to_owned())).await;
    let refused = stand.sign_in(stand.server(), agrees_silently).await;
    assert!(matches!(refused, Err(OAuthError::WrongIssuer { .. })), "{refused:?}");
}

#[tokio::test]
async fn without_registration_a_client_must_be_named() {
    let stand = FakeAuthServer::with_override(|request, base| {
        let mut document = server_metadata(base);
        document.as_object_mut().unwrap().remove("registration_endpoint");
        (request.path == "/.well-known/oauth-authorization-server").then(|| (200, document.to_string()))
    })
    .await;
    assert!(matches!(stand.sign_in(stand.server(), approve_redirect).await, Err(OAuthError::NoRegistration)));
    let mut server = stand.server();
    let oauth = McpOAuth {
        client_id: Some("mine".into()),
        client_secret: Some("its-secret".into()),
        scopes: vec!["s".into()],
        ..McpOAuth::default()
    };
    server.oauth = Some(oauth.clone());
    stand.sign_in(&server, approve_redirect).await.unwrap();
    let form = stand.requests_to("/token")[0].form_fields();
    assert_eq!((form["client_id"].as_str(), form["client_secret"].as_str()), ("mine", "its-secret"));
    server.oauth = Some(McpOAuth { redirect_uri: Some("http://evil.example:80/x".into()), ..oauth });
    assert!(matches!(stand.sign_in(&server, approve_redirect).await, Err(OAuthError::InvalidRedirect(_))));
}

#[tokio::test]
async fn a_project_cannot_mix_endpoints_of_two_origins() {
    let (stand, evil) = (FakeAuthServer::new().await, FakeAuthServer::new().await);
    let mut server = stand.server();
    server.oauth = Some(McpOAuth {
        client_id: Some("known".into()),
        authorization_url: Some(format!("{}/authorize", stand.base)),
        token_url: Some(format!("{}/token", evil.base)),
        ..McpOAuth::default()
    });
    server.origin = Source::Project;
    assert!(matches!(stand.sign_in(&server, approve_redirect).await, Err(OAuthError::MixedOrigins)));
    server.origin = Source::User;
    stand.sign_in(&server, approve_redirect).await.unwrap();
    assert_eq!(evil.requests_to("/token").len(), 1);
}

/// Exchanges each refresh token once for a new token.
fn renewing(request: &ReceivedRequest, _: &str) -> Option<(u16, String)> {
    let form = request.form_fields();
    (request.path == "/token" && form.get("grant_type").is_some_and(|kind| kind == "refresh_token")).then(|| {
        (200, json!({"access_token": "the-new-token", "token_type": "Bearer", "expires_in": "3600"}).to_string())
    })
}

#[tokio::test]
async fn a_token_is_renewed_before_expiry_and_after_a_refusal() {
    let stand = FakeAuthServer::with_override(renewing).await;
    stand.sign_in(stand.server(), approve_redirect).await.unwrap();
    let tokens = stand.tokens();
    assert_eq!(tokens.replace_refused(&stand.server(), "the-secret-token").await.as_deref(), Some("the-new-token"));
    // A later caller with the old token gets the current one.
    assert_eq!(tokens.replace_refused(&stand.server(), "the-secret-token").await.as_deref(), Some("the-new-token"));
    let renewals =
        || stand.requests_to("/token").iter().filter(|one| one.form_fields()["grant_type"] == "refresh_token").count();
    assert_eq!(renewals(), 1);
    let mut kept = read_credentials(&stand.file(), "remote").unwrap().unwrap();
    assert_eq!(kept.token.refresh_token.as_deref(), Some("the-secret-refresh"), "kept where no other was given");
    kept.token.expires_at = Some(1);
    save_credentials(&stand.file(), &kept).unwrap();
    let server = stand.server();
    let (one, other) = tokio::join!(tokens.bearer(&server), tokens.bearer(&server));
    assert_eq!((one.as_deref(), other.as_deref()), (Some("the-new-token"), Some("the-new-token")));
    assert_eq!(renewals(), 2, "one renews, the other waits for it");
    // Refreshing ends if the server refuses every token.
    assert_eq!(tokens.replace_refused(&server, "the-new-token").await, None);
}

#[tokio::test]
async fn an_expired_token_that_cannot_be_renewed_is_not_sent() {
    let stand = FakeAuthServer::with_override(|request, _| {
        let is_renewal = request.body.contains("refresh_token&");
        (request.path == "/token" && is_renewal).then(|| (400, json!({"error": "invalid_grant"}).to_string()))
    })
    .await;
    stand.sign_in(stand.server(), approve_redirect).await.unwrap();
    let mut kept = read_credentials(&stand.file(), "remote").unwrap().unwrap();
    kept.token.expires_at = Some(1);
    save_credentials(&stand.file(), &kept).unwrap();
    assert_eq!(stand.tokens().bearer(&stand.server()).await, None);
}

#[test]
fn challenges_are_parsed_in_every_form() {
    for (text, metadata, scopes) in [
        (r#"Bearer resource_metadata="https://h/a", scope="a b""#, Some("https://h/a"), &["a", "b"][..]),
        (r#"Bearer error="invalid_token",Resource_Metadata = https://h/a, x"#, Some("https://h/a"), &[]),
        (r#"Basic realm="x_resource_metadata=1""#, None, &[]),
        ("Bearer", None, &[]),
        ("", None, &[]),
        (r#"Bearer resource_metadata=""#, Some(""), &[]),
        ("Bearer resource_metadata", None, &[]),
        ("ÄÖ resource_metadata=\"https://h\"", Some("https://h"), &[]),
    ] {
        let challenge = AuthChallenge::parse(text);
        assert_eq!(
            (challenge.resource_metadata.as_deref(), challenge.scopes.as_slice()),
            (metadata, scopes.iter().map(|scope| (*scope).to_owned()).collect::<Vec<_>>().as_slice()),
            "{text}"
        );
    }
}
