//! A service may redirect a request to another path of its own, and to no other service.

use super::*;

/// A service that answers at `/there`, and elsewhere redirects with this status and location.
fn moving(status: u16, to: impl Fn(&str) -> String + Send + Sync + 'static) -> TestHttpService {
    TestHttpService::start(move |asked| {
        if asked.path == "/there" {
            return ServiceReply::json(&json!({"decision": "deny", "reason": "found there"}));
        }
        ServiceReply::status(status, &format!("location: {}\r\n", to(asked.header("host"))), "")
    })
}

#[test]
fn to_the_same_service_the_question_goes_on_as_it_was() {
    for status in [307, 308] {
        for to in ["/there", "there", "http://{host}/there?x=1", "//{host}/there#y"] {
            let service = moving(status, move |host| to.replace("{host}", host));
            let sandbox = guarded(&service).env("TOKEN", "abc-token");
            let hook = policy(
                &format!("{}/hook", service.address),
                json!({"headers": {"X-Token": "$TOKEN"}, "allowedEnvVars": ["TOKEN"]}),
            );
            sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
            assert_contains(&fire(&sandbox, &[]).expect_exit_code(2).stdout, "found there");
            let heard = service.requests();
            assert_eq!((heard[0].body.as_str(), heard[1].header("x-token")), (heard[1].body.as_str(), "abc-token"));
            assert_eq!((heard[1].method.as_str(), heard.len()), ("POST", 2));
        }
    }
}

#[test]
fn redirects_to_other_services_are_not_followed() {
    let other = saying(json!({}));
    let port = other.address.rsplit(':').next().unwrap().to_owned();
    for status in [301, 302, 303, 307, 308] {
        for to in [
            "http://127.0.0.1:{port}/there",
            "//127.0.0.1:{port}/",
            "http://localhost:{port}/",
            "https://{host}/there",
            "http://user:pw@{host}/there",
            "file:///etc/passwd",
            "data:application/json,{}",
        ] {
            let place = to.replace("{port}", &port);
            let service = moving(status, move |host| place.replace("{host}", host));
            let run = fire(&guarded(&service), &[]);
            assert_eq!(run.code, Some(2), "{status} to {to}: {run:#?}");
            assert_lacks(&run.stdout, "found there");
            assert_eq!(service.requests().len(), 1, "{status} to {to}");
        }
    }
    assert_eq!(other.connections(), 0, "nobody even knocked there");
    let service = moving(307, |_| "http://evil.invalid/?steal=1".to_owned());
    assert_contains(
        &fire(&guarded(&service), &[]).stdout,
        "redirected to http://evil.invalid by its service; redirects to another server are not followed",
    );
}

#[test]
fn another_request_than_the_one_it_got_is_not_made() {
    for status in [300, 301, 302, 303, 304] {
        let service = moving(status, |_| "/there".to_owned());
        let run = fire(&guarded(&service), &[]).expect_exit_code(2);
        assert_lacks(&run.stdout, "found there");
        assert_eq!(service.requests().len(), 1, "{status}");
    }
    let nowhere = TestHttpService::start(|_| ServiceReply::status(307, "", ""));
    assert_contains(&fire(&guarded(&nowhere), &[]).expect_exit_code(2).stdout, "a redirect without an address");
}

#[test]
fn round_and_round_has_an_end() {
    let service = moving(307, |_| "/hook".to_owned());
    assert_contains(&fire(&guarded(&service), &[]).expect_exit_code(2).stdout, "redirected more than 5 times");
    assert_eq!(service.requests().len(), 6);
}
