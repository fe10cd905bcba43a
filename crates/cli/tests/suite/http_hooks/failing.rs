//! A response that is not clearly an answer is a failure, which blocks for a guard and is always reported.

use super::*;
use hookwright_testkit::finish_measured;

/// Asserts that a guard blocks and an ordinary hook fails with this message.
#[track_caller]
fn fails(what: &str, url: &str, words: &str) {
    fails_in(sandbox(), what, url, words);
}

#[track_caller]
fn fails_in(sandbox: Sandbox, what: &str, url: &str, words: &str) {
    let set = |more: Value| {
        sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [policy(url, more)]}]}}));
    };
    set(json!({"guard": true}));
    let run = fire(&sandbox, &[]);
    assert_eq!(run.code, Some(2), "{what}: {run:#?}");
    assert!(run.stdout.contains(words), "{what}: no `{words}`: {run:#?}");
    set(json!({}));
    let run = fire(&sandbox, &["--json"]);
    assert_eq!(run.code, Some(0), "{what}: {run:#?}");
    let error = run.json()["runs"][0]["error"].as_str().unwrap_or_default().to_owned();
    assert!(error.contains(words), "{what}: {error}");
}

#[test]
fn a_response_that_is_no_answer_is_a_failure() {
    let page = "<html><title>Please sign in</title>";
    let plain = |status, body: &str| ServiceReply::status(status, "", body);
    let packed = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xabNIM\xce,\xc9\xcc\xcfS\xb2RPJI\xcd\xab\xac\x05\x00";
    let raw = |text: &str| ServiceReply::Close(text.as_bytes().to_vec());
    for (what, reply, words) in [
        (
            "500 with a page",
            plain(500, page),
            "got 500 Internal Server Error from its service: <html><title>Please sign in",
        ),
        ("500 with a yes", plain(500, "{\"decision\": \"allow\"}"), "got 500"),
        ("404", plain(404, ""), "got 404 Not Found"),
        ("401", plain(401, "{}"), "got 401"),
        ("429", plain(429, ""), "got 429"),
        ("200 with a page", plain(200, page), "something that is not a JSON object"),
        ("200 with words", plain(200, "ok"), "something that is not a JSON object"),
        ("200 with nothing", plain(200, ""), "nothing at all; to allow, answer 204 or {}"),
        ("200 with white space", plain(200, " \n"), "nothing at all"),
        ("202 with nothing", plain(202, ""), "nothing at all"),
        ("an array", plain(200, "[]"), "not a JSON object"),
        ("an array of one", plain(200, "[{\"decision\": \"deny\"}]"), "not a JSON object"),
        ("a string", plain(200, "\"{}\""), "not a JSON object"),
        ("null", plain(200, "null"), "not a JSON object"),
        ("half an object", plain(200, "{\"decision\": \"al"), "looks like JSON but does not parse"),
        ("two objects", plain(200, "{}{\"decision\": \"deny\"}"), "looks like JSON but does not parse"),
        ("an object and words", plain(200, "{} ok"), "looks like JSON but does not parse"),
        ("a template", plain(200, "{{ decision }}"), "looks like JSON but does not parse"),
        ("UTF-16", ServiceReply::status(200, "", "{\0\"\0d\0\"\0:\x001\0}\0"), "UTF-16"),
        ("a part", plain(206, "{}"), "with a partial answer"),
        ("204 with a body", raw("HTTP/1.1 204 X\r\ncontent-length: 20\r\n\r\n{\"decision\": \"deny\"}"), "with a body"),
        (
            "204 with a body in pieces",
            raw("HTTP/1.1 204 X\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
            "with a body",
        ),
        ("gzip", ServiceReply::status(200, "content-encoding: gzip\r\n", packed), "encoded as gzip"),
        ("gzip that is none", ServiceReply::status(200, "content-encoding: gzip\r\n", "{}"), "encoded as gzip"),
        ("gzip, unsaid", ServiceReply::status(200, "", packed), "not a JSON object"),
        ("an answer that breaks off", raw("HTTP/1.1 200 X\r\ncontent-length: 99\r\n\r\n{}"), "incomplete answer"),
        (
            "pieces that break off",
            raw("HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n"),
            "incomplete answer",
        ),
        (
            "pieces that are none",
            raw("HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}"),
            "incomplete answer",
        ),
        ("two lengths", raw("HTTP/1.1 200 X\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}"), "could not start"),
        ("no HTTP", raw("SSH-2.0-OpenSSH_9.0\r\n"), "could not start"),
        ("HTTP/0.9", raw("{}"), "could not start"),
        ("nothing", raw(""), "could not start"),
        (
            "a head that never ends",
            ServiceReply::Endless(b"HTTP/1.1 200 X\r\n".to_vec(), b"x: y\r\n".repeat(100)),
            "could not start",
        ),
    ] {
        let service = TestHttpService::start(move |_| reply.clone());
        fails(what, &service.address, words);
    }
}

#[test]
fn a_denial_counts_whatever_follows_it() {
    let no = "{\"decision\": \"deny\", \"reason\": \"said so\"}";
    for (what, reply) in [
        ("a status of an error", ServiceReply::status(403, "", no)),
        (
            "an answer that breaks off",
            ServiceReply::Close(format!("HTTP/1.1 200 X\r\ncontent-length: 99\r\n\r\n{no}").into_bytes()),
        ),
        (
            "an answer that does not end",
            ServiceReply::Stall(format!("HTTP/1.1 200 X\r\ncontent-length: 99\r\n\r\n{no}").into_bytes()),
        ),
    ] {
        for dialect in ["gemini", "claude"] {
            let reply = reply.clone();
            let service = TestHttpService::start(move |_| reply.clone());
            let hook = policy(&service.address, json!({"timeout": 1500, "dialect": dialect}));
            let run = fire(&project("BeforeTool", hook), &[]);
            assert_eq!(run.code, Some(2), "{what}, {dialect}: {run:#?}");
            assert_contains(&run.stdout, "said so");
        }
    }
}

#[test]
fn a_service_that_is_too_slow_has_not_answered() {
    let check = |(what, reply): (&str, ServiceReply)| {
        let service = TestHttpService::start(move |_| reply.clone());
        let sandbox = project("BeforeTool", policy(&service.address, json!({"guard": true, "timeout": 1000})));
        let run = fire(&sandbox, &[]);
        assert_eq!(run.code, Some(2), "{what}: {run:#?}");
    };
    let cases = [
        ("nothing", ServiceReply::Stall(Vec::new())),
        ("half a head", ServiceReply::Stall(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec())),
        ("half a body", ServiceReply::Stall(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec())),
        ("a yes that does not end", ServiceReply::Stall(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{}".to_vec())),
        ("only 100 Continue", ServiceReply::Endless(Vec::new(), b"HTTP/1.1 100 Continue\r\n\r\n".to_vec())),
    ];
    // All at once, since the time is spent waiting.
    std::thread::scope(|scope| cases.into_iter().for_each(|case| drop(scope.spawn(|| check(case)))));
    let service = TestHttpService::start(|_| ServiceReply::Stall(Vec::new()));
    let run = fire(&project("BeforeTool", policy(&service.address, json!({"timeout": 700}))), &["--json"])
        .expect_exit_code(0);
    assert_contains(run.json()["runs"][0]["error"].as_str().unwrap(), "ran longer than 700 ms");
    let run = fire(
        &project("BeforeTool", policy(&service.address, json!({"timeout": 700, "onError": {"timeout": "ask"}}))),
        &[],
    );
    assert_eq!(run.code, Some(3), "{run:#?}");
}

#[test]
fn bodies_without_end_cost_neither_memory_nor_time() {
    let many = || b" ".repeat(1 << 16);
    let huge = {
        let mut bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n{\"reason\": \"".to_vec();
        bytes.resize(100_000_000, b'x');
        ServiceReply::Close(bytes)
    };
    let spaces = ServiceReply::Endless(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n".to_vec(), many());
    let object = ServiceReply::Endless(b"HTTP/1.1 200 OK\r\n\r\n{\"decision\": \"allow\", ".to_vec(), many());
    let page = ServiceReply::Endless(b"HTTP/1.1 503 X\r\n\r\n".to_vec(), b"<p>sorry".repeat(1000));
    for (what, reply) in [("huge", huge), ("white space", spaces), ("an object", object), ("a page", page)] {
        let service = TestHttpService::start(move |_| reply.clone());
        let sandbox = guarded(&service);
        let (run, peak) =
            finish_measured(sandbox.command(&["hooks", "fire", "BeforeTool", "--tool", "glob"]).spawn().unwrap());
        assert_eq!(run.code, Some(2), "{what}: {run:#?}");
        // A debug build needs more memory, but not a hundred megabytes more.
        assert!(peak.is_none_or(|peak| peak < 120), "{what}: {peak:?} MiB");
    }
    // A denial at the start of it counts.
    let service = TestHttpService::start(|_| {
        ServiceReply::Endless(
            b"HTTP/1.1 200 OK\r\n\r\n{\"decision\": \"deny\", \"reason\": \"".to_vec(),
            b"x".repeat(1 << 16),
        )
    });
    fire(&project("BeforeTool", policy(&service.address, json!({}))), &[]).expect_exit_code(2);
}

#[test]
fn an_unreachable_service_fails() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let free = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    fails("connection refused", &free, "could not start");
    fails("a name that is none", "https://no-such-name.invalid/hook", "could not start");
    let service = saying(json!({}));
    let address = &service.address;
    fails("TLS with one who speaks none", &address.replace("http:", "https:"), "could not start");
}

#[test]
fn an_untrusted_certificate_is_rejected() {
    use hookwright_testkit::http::service::CA_CERTIFICATE_PATH;
    let service = TestHttpService::start_tls(|_| ServiceReply::json(&json!({"decision": "ask"})));
    fails("an unknown authority", &service.address, "certificate");
    assert_eq!(service.requests().len(), 0, "nothing was said to it");
    let trusting = || sandbox().env("SSL_CERT_FILE", CA_CERTIFICATE_PATH);
    fails_in(trusting(), "another machine's", &service.address.replace("127.0.0.1", "localhost"), "certificate");
    assert_eq!(service.requests().len(), 0, "nothing was said to it");
    let sandbox = trusting();
    sandbox
        .settings(&json!({"hooks": {"BeforeTool": [{"hooks": [policy(&service.address, json!({"guard": true}))]}]}}));
    fire(&sandbox, &[]).expect_exit_code(3);
    assert_eq!(service.requests().len(), 1);
    // A project cannot choose the trusted certificates.
    let sandbox = super::sandbox();
    sandbox.write(".gemini/.env", format!("SSL_CERT_FILE={CA_CERTIFICATE_PATH}\n"));
    fails_in(sandbox, "an authority of the project", &service.address, "certificate");
}

#[test]
fn a_proxy_that_is_not_there_is_no_way_around() {
    for variable in ["http_proxy", "all_proxy", "ALL_PROXY"] {
        let sandbox = sandbox().env(variable, "http://127.0.0.1:1");
        fails_in(sandbox, variable, "http://policy.invalid/hook", "could not start");
    }
    for variable in ["https_proxy", "HTTPS_PROXY"] {
        fails_in(sandbox().env(variable, "http://127.0.0.1:1"), variable, "https://policy.invalid/", "could not start");
    }
    fails_in(sandbox().env("https_proxy", "not a proxy"), "no address", "https://policy.invalid/", "could not start");
    // A proxy that exists is used, and the service's answer through it counts; loopback addresses bypass it.
    let proxy = saying(json!({"decision": "deny", "reason": "by way of the proxy"}));
    let own = saying(json!({"decision": "ask"}));
    let sandbox =
        project("BeforeTool", policy("http://policy.invalid/hook", json!({}))).env("http_proxy", &proxy.address);
    assert_contains(&fire(&sandbox, &[]).expect_exit_code(2).stdout, "by way of the proxy");
    for address in [own.address.clone(), own.address.replace("127.0.0.1", "localhost")] {
        sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [policy(&address, json!({}))]}]}}));
        fire(&sandbox, &[]).expect_exit_code(3);
    }
    assert_eq!((proxy.requests().len(), own.requests().len()), (1, 2));
}
