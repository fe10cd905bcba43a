//! Tests `web_fetch` against a server on this machine.

use super::support::{ToolTestProject, result_text};
use hookwright_model::ProxyOptions;
use hookwright_tools::{HttpAccess, HttpPolicy, PrivateAddresses, ToolErrorKind};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Serves a fixed answer per path and returns the server's address.
async fn serve(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                let count = stream.read(&mut request).await.unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..count]).into_owned();
                let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
                if path == "/hang" {
                    tokio::time::sleep(Duration::from_secs(60)).await;
                }
                let _ = stream.write_all(&answer(&path)).await;
            });
        }
    });
    format!("http://{address}")
}

fn ok(content_type: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.as_ref().len()
    );
    [head.as_bytes(), body.as_ref()].concat()
}

fn redirect(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").into_bytes()
}

fn project(change: impl FnOnce(&mut HttpPolicy)) -> ToolTestProject {
    let mut project = ToolTestProject::new();
    let mut policy = HttpPolicy { private_addresses: PrivateAddresses::Allowed, ..HttpPolicy::default() };
    change(&mut policy);
    project.ctx.http = Arc::new(HttpAccess::new(policy));
    project
}

#[tokio::test]
async fn html_becomes_text() {
    let html = "<html><head><title>T</title><script>evil()</script></head><body><h1>Hello</h1><p>one <b>two</b></p>\
                <a href='/x'>link</a></body></html>";
    let server = serve(move |_| ok("text/html; charset=utf-8", html)).await;
    let project = project(|_| {});
    let result = project.call("web_fetch", json!({ "prompt": format!("Read {server}/page, please") })).await;
    let text = result_text(&result);
    assert!(text.starts_with(&format!("<untrusted_context>\n--- {server}/page ---\n")), "{text}");
    assert!(text.contains("Hello") && text.contains("two") && text.contains("/x"), "{text}");
    assert!(!text.contains("evil") && !text.contains("<p>"), "{text}");
    assert_eq!(result.to_json()["returnDisplay"], "Fetched 1 of 1 URL(s)");
}

#[tokio::test]
async fn other_content_comes_as_it_is() {
    let server = serve(|path| match path {
        "/json" => ok("application/json", "{\"a\": 1}"),
        "/png" => ok("image/png", b"\x89PNG"),
        "/bin" => ok("application/octet-stream", b"\0\0\0"),
        _ => b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec(),
    })
    .await;
    let project = project(|_| {});
    assert!(project.call_text("web_fetch", json!({ "url": format!("{server}/json") })).await.contains("{\"a\": 1}"));
    let image = project.call("web_fetch", json!({ "url": format!("{server}/png") })).await;
    assert_eq!(image.to_json()["llmContent"][1]["inlineData"]["mimeType"], "image/png");
    let (kind, text) = project.call_failure("web_fetch", json!({ "url": format!("{server}/bin") })).await;
    assert_eq!(kind, ToolErrorKind::WebFetchProcessingError);
    assert!(text.contains("neither text nor a picture"), "{text}");
    let (_, text) = project.call_failure("web_fetch", json!({ "url": format!("{server}/gone") })).await;
    assert!(text.contains("the server answered 404 Not Found"), "{text}");
    let both = project.call_text("web_fetch", json!({ "prompt": format!("{server}/json {server}/gone") })).await;
    assert!(both.contains("{\"a\": 1}") && both.contains("Error: the server answered 404"), "{both}");
}

#[tokio::test]
async fn private_addresses_are_refused_unless_allowed() {
    let server = serve(|_| ok("text/plain", "secret")).await;
    let port = server.rsplit(':').next().unwrap_or_default().to_owned();
    let project = ToolTestProject::new();
    for url in [
        server.clone(),
        format!("http://localhost:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://2130706433:{port}/"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://10.0.0.1/".to_owned(),
    ] {
        let (kind, text) = project.call_failure("web_fetch", json!({ "url": url })).await;
        assert_eq!(kind, ToolErrorKind::WebFetchProcessingError, "{url}");
        assert!(text.contains("not allowed") && !text.contains("secret"), "{url}: {text}");
    }
}

#[tokio::test]
async fn redirects_are_followed_and_counted() {
    let server = serve(|path| match path {
        "/a" => redirect("/b"),
        "/b" => redirect("c?x=1"),
        "/c?x=1" => ok("text/plain", "arrived"),
        "/file" => redirect("file:///etc/passwd"),
        _ => redirect("/loop"),
    })
    .await;
    let project = project(|policy| policy.max_redirects = 3);
    assert!(project.call_text("web_fetch", json!({ "url": format!("{server}/a") })).await.contains("arrived"));
    let (_, text) = project.call_failure("web_fetch", json!({ "url": format!("{server}/loop") })).await;
    assert!(text.contains("more than 3 redirects"), "{text}");
    let (_, text) = project.call_failure("web_fetch", json!({ "url": format!("{server}/file") })).await;
    assert!(text.contains("no valid http or https URL"), "{text}");
}

/// The server acts as the proxy, so that a public name can lead to it without being resolved.
#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused() {
    let server = serve(|path| match path {
        "http://public.example/start" => redirect("http://127.0.0.1:9/secret"),
        "http://public.example/other" => redirect("//LOCALHOST/secret"),
        "http://public.example/fine" => ok("text/plain", "public text"),
        _ => ok("text/plain", "secret text"),
    })
    .await;
    let project = project(|policy| {
        policy.private_addresses = PrivateAddresses::Refused;
        policy.proxy = Some(ProxyOptions { url: server, no_proxy: None });
    });
    assert!(
        project.call_text("web_fetch", json!({ "url": "http://public.example/fine" })).await.contains("public text")
    );
    for path in ["start", "other"] {
        let (_, text) =
            project.call_failure("web_fetch", json!({ "url": format!("http://public.example/{path}") })).await;
        assert!(text.contains("private network") && !text.contains("secret text"), "{text}");
    }
}

#[tokio::test]
async fn hosts_without_a_proxy_are_reached_and_judged_directly() {
    let proxy = serve(|_| ok("text/plain", "by way of the proxy")).await;
    let server = serve(|_| ok("text/plain", "direct")).await;
    let direct = ProxyOptions { url: proxy, no_proxy: Some("example.org, 127.0.0.1, localhost.example".into()) };
    let open = project(|policy| policy.proxy = Some(direct.clone()));
    assert!(open.call_text("web_fetch", json!({ "url": server })).await.contains("direct"));
    assert!(open.call_text("web_fetch", json!({ "url": "http://a.example/" })).await.contains("by way of the proxy"));
    let closed = project(|policy| {
        policy.private_addresses = PrivateAddresses::Refused;
        policy.proxy = Some(direct);
    });
    assert!(closed.call_text("web_fetch", json!({ "url": "http://a.example/" })).await.contains("by way of the proxy"));
    let (_, text) = closed.call_failure("web_fetch", json!({ "url": server })).await;
    assert!(text.contains("private network"), "{text}");
}

#[tokio::test]
async fn pages_are_read_in_the_encoding_they_name() {
    let server = serve(|path| match path {
        "/1252" => ok("text/plain; charset=windows-1252", b"\x93caf\xE9\x94 \x80 5"),
        "/latin1" => ok("text/plain; charset=\"ISO-8859-1\"; x=y", b"\x93caf\xE9\x94"),
        "/sjis" => ok("text/plain;charset=Shift_JIS", b"\x93\xFA\x96\x7B"),
        "/wrong" => ok("text/plain; charset=windows-1252", "caf\u{e9} \u{20ac}"),
        _ => ok("text/plain; charset=nonsense", "caf\u{e9}"),
    })
    .await;
    let project = project(|_| {});
    for (path, text) in [
        ("1252", "\u{201c}caf\u{e9}\u{201d} \u{20ac} 5"),
        ("latin1", "\u{201c}caf\u{e9}\u{201d}"),
        ("sjis", "\u{65e5}\u{672c}"),
        ("wrong", "caf\u{e9} \u{20ac}"),
        ("other", "caf\u{e9}"),
    ] {
        let told = project.call_text("web_fetch", json!({ "url": format!("{server}/{path}") })).await;
        assert!(told.contains(&format!("---\n{text}\n")), "{path}: {told:?}");
    }
}

#[tokio::test]
async fn sizes_and_times_are_bounded() {
    let endless = || {
        let mut answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n".to_vec();
        answer.extend(vec![b'x'; 100_000]);
        answer
    };
    let server = serve(move |_| endless()).await;
    let project = project(|policy| {
        policy.max_bytes = 50_000;
        policy.timeout = Duration::from_millis(1500);
    });
    let (_, text) = project.call_failure("web_fetch", json!({ "url": format!("{server}/big") })).await;
    assert!(text.contains("larger than 50000 bytes"), "{text}");
    let (_, text) = project.call_failure("web_fetch", json!({ "url": format!("{server}/hang") })).await;
    assert!(text.contains("timed out") || text.contains("timeout"), "{text}");
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let cancelling = async {
        let connection = silent.accept().await.unwrap();
        project.ctx.cancel.cancel();
        connection
    };
    let ((kind, _), _) = tokio::join!(project.call_failure("web_fetch", json!({ "url": url })), cancelling);
    assert_eq!(kind, ToolErrorKind::Cancelled);
}

#[tokio::test]
async fn odd_html_is_survived() {
    let deep = format!("{}x{}", "<div>".repeat(5_000), "</div>".repeat(5_000));
    let table = "<table><tr><td>".repeat(200);
    let server = serve(move |path| match path {
        "/deep" => ok("text/html", &deep),
        "/table" => ok("text/html", &table),
        _ => ok("text/html", b"<p>\xFF\xFE<<<&&#xffffffff;"),
    })
    .await;
    let project = project(|_| {});
    for path in ["deep", "table", "junk"] {
        let result = project.call("web_fetch", json!({ "url": format!("{server}/{path}") })).await;
        assert!(!result_text(&result).is_empty(), "{path}");
    }
}
