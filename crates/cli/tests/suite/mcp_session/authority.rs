//! An MCP server that requires authorisation, with its authorisation server, on this machine and strict about PKCE.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hookwright_testkit::Sandbox;
use hookwright_testkit::fs;
use hookwright_testkit::http::{TestHttpRequest, TestHttpResponse, TestHttpServer, form_field};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::remote;

/// How the authorisation server behaves.
#[derive(Clone, Copy)]
pub(crate) enum AuthorityBehaviour {
    /// It grants tokens that are valid for so many seconds.
    Grants(u64),
    /// The user refuses on its page.
    Refuses,
}

#[derive(Default)]
struct AuthorityState {
    /// The challenge for each code.
    codes: HashMap<String, String>,
    /// The number of granted tokens; only the last is valid.
    tokens: usize,
}

pub(crate) struct FakeAuthority {
    pub(crate) http: TestHttpServer,
    state: Arc<Mutex<AuthorityState>>,
}

impl FakeAuthority {
    pub(crate) fn new(mood: AuthorityBehaviour) -> FakeAuthority {
        let state: Arc<Mutex<AuthorityState>> = Arc::default();
        let own = state.clone();
        let http = TestHttpServer::serve(move |asked| answer(asked, mood, &mut own.lock().unwrap()));
        FakeAuthority { http, state }
    }

    /// Returns settings that name the server.
    pub(crate) fn settings(&self) -> Value {
        json!({ "demo": { "httpUrl": format!("{}/mcp", self.http.address) } })
    }

    /// Revokes the last token before it expires.
    pub(crate) fn revoke(&self) {
        self.state.lock().unwrap().tokens += 1;
    }

    /// Returns how many times a code or an older token was exchanged for a token.
    pub(crate) fn grants(&self, kind: &str) -> usize {
        self.http
            .requests_to("/token")
            .iter()
            .filter(|asked| asked.field("grant_type").as_deref() == Some(kind))
            .count()
    }
}

/// Returns the saved tokens.
pub(crate) fn kept(sandbox: &Sandbox) -> Option<String> {
    fs::read_to_string(sandbox.home().join(".gemini/mcp-oauth-tokens.json")).ok()
}

/// Returns the address for the browser in a text.
pub(crate) fn page_in(text: &str) -> Option<String> {
    let page = text.split_whitespace().find(|word| word.starts_with("http://") && word.contains("/authorize?"))?;
    // A page that is still being drawn lacks its end.
    form_field(page.split_once('?')?.1, "scope").filter(|scope| scope == "use")?;
    Some(page.to_owned())
}

fn token(number: usize) -> String {
    format!("s3cret-token-{number}")
}

fn answer(asked: &TestHttpRequest, mood: AuthorityBehaviour, state: &mut AuthorityState) -> TestHttpResponse {
    let base = format!("http://{}", asked.header("host"));
    match asked.path.as_str() {
        "/mcp" if asked.header("authorization") == format!("Bearer {}", token(state.tokens)) => remote::answer(asked),
        "/mcp" => {
            let about = format!("Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\"");
            TestHttpResponse::status(401).with_header("www-authenticate", &about)
        }
        "/.well-known/oauth-protected-resource/mcp" => TestHttpResponse::json(
            &json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base], "scopes_supported": ["use"] }),
        ),
        "/.well-known/oauth-authorization-server" => TestHttpResponse::json(&json!({
            "issuer": base, "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
            "code_challenge_methods_supported": ["S256"], "authorization_response_iss_parameter_supported": true,
        })),
        "/register" => TestHttpResponse::json(&json!({ "client_id": "this-program" })),
        "/authorize" => authorize(asked, &base, mood, state),
        "/token" => given(asked, mood, state),
        _ => TestHttpResponse::status(404),
    }
}

/// Simulates the user's decision on the page, and redirects the browser back.
fn authorize(
    asked: &TestHttpRequest,
    base: &str,
    mood: AuthorityBehaviour,
    state: &mut AuthorityState,
) -> TestHttpResponse {
    let of = |name: &str| asked.field(name).unwrap_or_default();
    assert_eq!((of("code_challenge_method"), of("client_id")), ("S256".to_owned(), "this-program".to_owned()));
    assert_eq!((of("resource"), of("response_type")), (format!("{base}/mcp"), "code".to_owned()));
    let said = match mood {
        AuthorityBehaviour::Refuses => "error=access_denied&error_description=not%20today".to_owned(),
        AuthorityBehaviour::Grants(_) => {
            let code = format!("s3cret-code-{}", state.codes.len());
            state.codes.insert(code.clone(), of("code_challenge"));
            format!("code={code}")
        }
    };
    let back = format!("{}?{said}&state={}&iss={base}", of("redirect_uri"), of("state"));
    TestHttpResponse::status(302).with_header("location", &back)
}

/// Exchanges a code with its PKCE verifier, or a refresh token.
fn given(asked: &TestHttpRequest, mood: AuthorityBehaviour, state: &mut AuthorityState) -> TestHttpResponse {
    let of = |name: &str| asked.field(name).unwrap_or_default();
    let is_good = match of("grant_type").as_str() {
        "authorization_code" => {
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(of("code_verifier")));
            // A code is valid once.
            state.codes.remove(&of("code")).is_some_and(|known| known == challenge)
        }
        "refresh_token" => of("refresh_token").starts_with("s3cret-refresh"),
        _ => false,
    };
    let AuthorityBehaviour::Grants(seconds) = mood else { return TestHttpResponse::status(400) };
    if !is_good {
        return TestHttpResponse::Full(400, Vec::new(), json!({ "error": "invalid_grant" }).to_string());
    }
    state.tokens += 1;
    // Only the first token expires soon; a renewed one lasts long.
    let seconds = if state.tokens == 1 { seconds } else { 3600 };
    TestHttpResponse::json(&json!({
        "access_token": token(state.tokens), "token_type": "Bearer", "expires_in": seconds,
        "refresh_token": format!("s3cret-refresh-{}", state.tokens),
    }))
}
