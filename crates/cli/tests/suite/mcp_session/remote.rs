//! Remote servers over both transports: streamable HTTP, and the older server-sent events. Small servers of our own,
//! and the protocol's reference server where it is installed.

use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use hookwright_testkit::deadline::*;
use hookwright_testkit::http::{TestHttpRequest, TestHttpResponse, TestHttpServer};
use hookwright_testkit::{ReplayBuilder, has_program, report_skipped, wait_until};
use serde_json::{Value, json};

use super::{YOLO_ARGS, echo_replay, run_prompt, sandbox, seen_inputs, tool_results};

/// Returns a small server's response to a message; `None` for a notification.
pub(super) fn said_to(asked: &Value) -> Option<Value> {
    let id = asked.get("id")?;
    let result = match asked["method"].as_str() {
        Some("initialize") => json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "small", "version": "1" } }),
        Some("tools/list") => json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }] }),
        Some("tools/call") => json!({ "content": [{ "type": "text", "text": asked["params"]["arguments"]["text"] }] }),
        _ => Value::Null,
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// A minimal streamable HTTP server: every request is answered with JSON.
pub(super) fn answer(asked: &TestHttpRequest) -> TestHttpResponse {
    match (asked.method.as_str(), said_to(&asked.json())) {
        ("POST", Some(said)) => TestHttpResponse::json(&said),
        ("POST", None) => TestHttpResponse::status(202),
        _ => TestHttpResponse::status(405),
    }
}

#[test]
fn a_server_over_http_is_called_past_the_hooks() {
    let http = TestHttpServer::serve(answer);
    let address = format!("{}/mcp", http.address);
    let server = json!({ "httpUrl": format!("{address}?key=s3cret"), "headers": { "X-Key": "s3cret" } });
    let sandbox = sandbox(json!({ "demo": server }));
    let run = run_prompt(&sandbox, "hi", &echo_replay(), YOLO_ARGS).expect_exit_code(0);
    assert_eq!(tool_results(&run)[0]["output"], "hello there", "{}", run.stdout);
    let context = &seen_inputs(&sandbox)[0]["mcp_context"];
    assert_eq!(context, &json!({ "server_name": "demo", "tool_name": "echo", "url": address }));
    assert!(!sandbox.read("seen").contains("s3cret"));
    assert!(http.requests_to("/mcp").iter().all(|asked| asked.header("x-key") == "s3cret"));
}

/// A server over server-sent events: `GET /sse` opens a stream that names an address, and a `POST` there is answered in
/// the stream. `heard` may handle a message first, and returns whether it did.
fn older(heard: impl Fn(&Value, &Sender<String>) -> bool + Send + Sync + 'static) -> TestHttpServer {
    let streams: Mutex<Vec<Sender<String>>> = Mutex::default();
    TestHttpServer::serve(move |asked| {
        let mut streams = streams.lock().unwrap();
        match (asked.method.as_str(), asked.path.strip_prefix("/messages/")) {
            ("GET", _) if asked.path == "/sse" => {
                let (sender, events) = channel();
                sender.send(format!(": hello\n\nevent: endpoint\ndata: /messages/{}?k=v\n\n", streams.len())).unwrap();
                streams.push(sender);
                TestHttpResponse::Events(events)
            }
            ("POST", Some(number)) if asked.query == "k=v" => {
                let message = asked.json();
                let number: usize = number.parse().unwrap();
                if !heard(&message, &streams[number]) {
                    // In two pieces, as on a slow network.
                    if let Some(said) = said_to(&message) {
                        let event = format!("event: message\r\ndata: {said}\r\n\r\n");
                        let (one, other) = event.split_at(event.len() / 2);
                        streams[number].send(one.to_owned()).unwrap();
                        streams[number].send(other.to_owned()).unwrap();
                    }
                }
                if message["method"] == "hang up" || (message["method"] == "tools/call" && gone(&message)) {
                    // Closes the stream for its client.
                    streams[number] = channel().0;
                }
                TestHttpResponse::status(202)
            }
            _ => TestHttpResponse::status(405),
        }
    })
}

fn gone(call: &Value) -> bool {
    call["params"]["arguments"]["text"] == "go away"
}

#[test]
fn a_server_over_events_is_called_past_the_hooks_with_or_without_its_kind() {
    for kind in [json!("sse"), Value::Null] {
        let http = older(|_, _| false);
        let address = format!("{}/sse", http.address);
        let mut server = json!({ "url": address, "headers": { "X-Key": "s3cret" } });
        if !kind.is_null() {
            server["type"] = kind.clone();
        }
        let sandbox = sandbox(json!({ "demo": server }));
        let run = run_prompt(&sandbox, "hi", &echo_replay(), YOLO_ARGS).expect_exit_code(0);
        assert_eq!(tool_results(&run)[0]["output"], "hello there", "{kind}: {run:?}");
        let context = &seen_inputs(&sandbox)[0]["mcp_context"];
        assert_eq!(context, &json!({ "server_name": "demo", "tool_name": "echo", "url": address }));
        assert!(!sandbox.read("seen").contains("s3cret"));
        let told = http.requests_to("/messages/0");
        assert!(!told.is_empty() && told.iter().all(|asked| asked.header("x-key") == "s3cret"), "{told:?}");
    }
}

/// A stream that names another server's address would have the headers sent there.
#[test]
fn messages_over_events_go_to_no_other_server() {
    let other = TestHttpServer::serve(|_| TestHttpResponse::status(200));
    let address = other.address.clone();
    let http = TestHttpServer::serve(move |_| {
        let (sender, events) = channel();
        sender.send(format!("event: endpoint\ndata: {address}/take\n\n")).unwrap();
        // The stream stays open.
        std::mem::forget(sender);
        TestHttpResponse::Events(events)
    });
    let server = json!({ "type": "sse", "url": format!("{}/sse", http.address), "headers": { "X-Key": "s3cret" } });
    let sandbox = sandbox(json!({ "demo": server }));
    let run = sandbox.run(&["mcp", "test", "demo"]).expect_exit_code(1);
    assert!(run.stdout.contains("it wants messages sent to another server"), "{run:?}");
    assert!(other.requests_to("/take").is_empty());
}

/// A stream that ends during a call fails that call; the server is reconnected.
#[test]
fn a_stream_that_ends_costs_the_call_it_ended_in() {
    let http = older(|message, _| message["method"] == "tools/call" && gone(message));
    let sandbox = sandbox(json!({ "demo": { "type": "sse", "url": format!("{}/sse", http.address) } }));
    let replay = ReplayBuilder::new()
        .calls("mcp__demo__echo", json!({ "text": "go away" }))
        .calls("mcp__demo__echo", json!({ "text": "hello again" }))
        .says("done");
    let run = run_prompt(&sandbox, "hi", &replay, YOLO_ARGS).expect_exit_code(0);
    let results = tool_results(&run);
    assert!(results[0].to_string().contains("its stream of events ended"), "{}", results[0]);
    assert_eq!(results[1]["output"], "hello again", "{}", run.stdout);
    assert_eq!(http.requests_to("/sse").len(), 2, "{}", run.stdout);
}

/// A server's notifications come over the same stream.
#[test]
fn a_changed_list_is_notified_over_events() {
    let grown = std::sync::atomic::AtomicBool::new(false);
    let http = older(move |message, stream| {
        use std::sync::atomic::Ordering::SeqCst;
        let say = |value: Value| stream.send(format!("data: {value}\n\n")).unwrap();
        match message["method"].as_str() {
            Some("tools/call") if !grown.swap(true, SeqCst) => {
                say(json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
                false
            }
            Some("tools/list") if grown.load(SeqCst) => {
                let tools = json!([{ "name": "echo", "inputSchema": { "type": "object" } }, { "name": "more" }]);
                say(json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "tools": tools } }));
                true
            }
            _ => false,
        }
    });
    let sandbox = sandbox(json!({ "demo": { "type": "sse", "url": format!("{}/sse", http.address) } }));
    let replay = echo_then(&["mcp__demo__more"]);
    let run = run_prompt(&sandbox, "hi", &replay, YOLO_ARGS).expect_exit_code(0);
    let results = tool_results(&run);
    assert_eq!(results[1]["output"], "more words", "{}", run.stdout);
}

fn echo_then(tools: &[&str]) -> ReplayBuilder {
    let first = ReplayBuilder::new().calls("mcp__demo__echo", json!({ "text": "hello there" }));
    tools.iter().fold(first, |replay, tool| replay.calls(tool, json!({ "text": "more words" }))).says("done")
}

/// Starts `server-everything` on a port, and tries the next one if another program took it meanwhile.
fn listening(program: &Path, kind: &str) -> (std::process::Child, u16) {
    for _ in 0..5 {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut node = std::process::Command::new("node");
        node.arg(program).arg(kind).env("PORT", port.to_string());
        let mut child = node.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        let mut has_ended = false;
        wait_until("it listens or ends", || {
            has_ended = child.try_wait().unwrap().is_some();
            has_ended || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        if !has_ended {
            return (child, port);
        }
    }
    panic!("{kind}: it never listened");
}

/// The protocol's reference server over the newer transport and the older.
#[test]
fn server_everything_over_http_and_events() {
    let name = "server_everything_over_http_and_events";
    let Some(modules) = std::env::var_os("HOOKWRIGHT_MCP_SERVERS").filter(|path| !path.is_empty()) else {
        return report_skipped(name, "HOOKWRIGHT_MCP_SERVERS names none");
    };
    let program = Path::new(&modules).join("@modelcontextprotocol/server-everything/dist/index.js");
    if !program.exists() || !has_program("node") {
        return report_skipped(name, "server-everything or node is not there");
    }
    for (kind, path, key) in [("streamableHttp", "mcp", "httpUrl"), ("sse", "sse", "url")] {
        let (mut child, port) = listening(&program, kind);
        let mut server = json!({ key: format!("http://127.0.0.1:{port}/{path}") });
        if kind == "sse" {
            server["type"] = json!("sse");
        }
        let sandbox = sandbox(json!({ "all": server }));
        let replay = ReplayBuilder::new().calls("mcp__all__echo", json!({ "message": "hello there" })).says("done");
        let run = run_prompt(&sandbox, "hi", &replay, YOLO_ARGS);
        let _ = child.kill();
        let _ = child.wait_in_time();
        assert!(
            tool_results(&run)[0]["output"].as_str().unwrap_or_default().contains("hello there"),
            "{kind}: {run:?}"
        );
        assert!(seen_inputs(&sandbox)[0]["mcp_context"]["url"].as_str().unwrap().contains(&port.to_string()));
    }
}
