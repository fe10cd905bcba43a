//! One connection serves many events; a connection that the service has closed does not fail a hook.

use super::*;
use hookwright_testkit::wait_until;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An answer in so many pieces.
fn pieces(count: usize) -> ReplayBuilder {
    let texts: Vec<String> = (0..count).map(|at| format!("piece {at} ")).collect();
    ReplayBuilder::new().says_in_chunks(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Runs a prompt whose hook judges every piece; a piece is only shown if the service answered.
fn asked_about(service: &TestHttpService, count: usize) -> ProgramRun {
    let sandbox = project("AfterModel", policy(&service.address, json!({"onError": "block"})));
    let run = prompt(&sandbox, &pieces(count), &[]).expect_exit_code(0);
    for at in 0..count {
        assert_contains(&run.stdout, &format!("piece {at}"));
    }
    assert_lacks(&run.stderr, "service");
    run
}

#[test]
fn fifty_events_go_over_one_connection() {
    let service = saying(json!({}));
    asked_about(&service, 50);
    assert_eq!((service.requests().len(), service.connections()), (50, 1));
    let service = TestHttpService::start(|_| ServiceReply::status(204, "", ""));
    asked_about(&service, 50);
    assert_eq!((service.requests().len(), service.connections()), (50, 1));
}

#[test]
fn a_connection_that_the_service_has_closed_is_no_failure() {
    // Right after the answer, without notice.
    let service = TestHttpService::start(|_| ServiceReply::json(&json!({})).and_close());
    asked_about(&service, 20);
    // When the next request arrives, which is the latest possible moment.
    let service = TestHttpService::start(|asked| match asked.nth {
        1 => ServiceReply::json(&json!({})),
        _ => ServiceReply::Close(Vec::new()),
    });
    asked_about(&service, 20);
    // With notice, by a header.
    let service = TestHttpService::start(|_| ServiceReply::status(200, "connection: close\r\n", "{}").and_close());
    asked_about(&service, 5);
    assert_eq!(service.connections(), 5);
}

/// A response that arrives before its request has judged nothing.
#[test]
fn data_left_on_a_connection_answers_no_other_request() {
    let service = TestHttpService::start(|asked| {
        let yes = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        match asked.body.contains("second.txt") {
            true => ServiceReply::json(&json!({"decision": "deny", "reason": "the second"})),
            false => ServiceReply::KeepAlive([yes.as_slice(), yes.as_slice()].concat()),
        }
    });
    let sandbox = guarded(&service);
    let write = |name: &str| json!({"file_path": name, "content": "x"});
    let replay = ReplayBuilder::new()
        .calls("write_file", write("first.txt"))
        .calls("write_file", write("second.txt"))
        .says("done");
    let run = prompt(&sandbox, &replay, &[]).expect_exit_code(0);
    assert!(sandbox.has_file("first.txt") && !sandbox.has_file("second.txt"), "{run:#?}");
}

#[test]
fn events_and_hooks_do_not_wait_for_one_another() {
    let met = AtomicUsize::new(0);
    let service = TestHttpService::start(move |_| {
        met.fetch_add(1, Ordering::SeqCst);
        wait_until("all four are asked at the same time", || met.load(Ordering::SeqCst) == 4);
        ServiceReply::json(&json!({}))
    });
    let hooks = ["a", "b", "c", "d"].map(|name| policy(&service.address, json!({"name": name, "guard": true})));
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}}));
    fire(&sandbox, &[]).expect_exit_code(0);
    assert_eq!(service.requests().len(), 4);
}

/// A service may decide by its headers, so that two headers are two hooks.
#[test]
fn one_address_with_two_headers_is_asked_twice_and_a_double_once() {
    let service = TestHttpService::start(|asked| {
        ServiceReply::json(&if asked.header("x-policy") == "strict" { json!({"decision": "deny"}) } else { json!({}) })
    });
    let hook = |policy: &str| json!({"type": "http", "url": service.address, "headers": {"X-Policy": policy}});
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("lax"), hook("strict"), hook("lax")]}]}}));
    fire(&sandbox, &[]).expect_exit_code(2);
    assert_eq!(service.requests().len(), 2);
}
