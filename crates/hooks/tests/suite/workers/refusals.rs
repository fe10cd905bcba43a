//! A worker's exit, its delay and its truncated answers: none of them allows a call.

use super::*;

/// As for a command, whose script the worker may have been: exit code 2 denies, with the reason on stderr.
#[tokio::test]
async fn a_worker_that_exits_with_2_denies() {
    let world = EngineFixture::new();
    let body = "case $line in *'\"pwd\"'*) echo an older line >&2; answer \"$id\" null; continue;; esac\n\
                echo off limits >&2; exit 2";
    let engine = worker_engine(&world, body, json!({}));
    let harmless = tool_call_of("run_shell_command", json!({"command": "pwd"}));
    for _ in 0..8 {
        assert_proceeds(&with_hang_timeout(engine.fire(&harmless)).await);
        assert_eq!(deny_reason(&fire_tool_call(&engine).await), "off limits");
    }
    assert_eq!(worker_health(&engine).inert, None, "who says no has not failed");
    assert_eq!(started_pids(&world).len(), 8);
}

/// The backoff before a restart does not count as time of the hook.
#[tokio::test]
async fn a_backoff_beyond_the_deadline_reports_the_previous_failure() {
    let world = EngineFixture::new();
    let on_error = json!({"timeout": "allow", "exit": "block", "spawn": "block"});
    let engine = worker_engine(&world, "exit 7", json!({"timeout": 100, "onError": on_error}));
    for at in 1..=6 {
        let outcome = fire_tool_call(&engine).await;
        let reason = deny_reason(&outcome);
        assert!(reason.contains("ended with code 7") && !reason.contains("ran longer"), "{at}: {reason}");
    }
}

/// Returns a command that prints a line that is too long: the start of an answer, and three megabytes.
fn too_long_line(frame: &str, answer: &str) -> String {
    let begun = format!("{frame}{{{answer},\"systemMessage\":\"");
    format!("printf '{begun}' \"$id\"; head -c 3000000 /dev/zero | tr '\\0' x; echo '\"}}}}'")
}

const DENY_FIELDS: &str = r#""decision":"deny","reason":"no way""#;
const ALLOW_FIELDS: &str = r#""decision":"allow""#;

/// A deny at the start of an answer that is too long counts, as for a command.
#[tokio::test]
async fn a_truncated_deny_denies() {
    for frame in [r#"{"id":%s,"output":"#, r#"{"more":[{"a":"}"}], "id" : %s , "output": "#] {
        let world = EngineFixture::new();
        let on_error = json!({"truncated": "allow", "exit": "allow"});
        let engine = worker_engine(&world, &too_long_line(frame, DENY_FIELDS), json!({"onError": on_error}));
        assert_eq!(deny_reason(&fire_tool_call(&engine).await), "no way", "{frame}");
    }
}

/// An allow does not count without the end of its line; neither does a line that is no answer, or a failure.
#[tokio::test]
async fn a_truncated_allow_does_not_allow() {
    for frame in [
        r#"{"id":%s,"output":"#,
        r#"{"error":"it failed","id":%s,"output":"#,
        r#"{"output":"#,
        "",
        r#"{"id":"%s","output":"#,
        r#"{"id":%s,"input":"#,
    ] {
        let world = EngineFixture::new();
        let engine = worker_engine(&world, &too_long_line(frame, ALLOW_FIELDS), json!({"guard": true}));
        let outcome = fire_tool_call(&engine).await;
        assert!(deny_reason(&outcome).contains("cut off"), "{frame}: {}", deny_reason(&outcome));
    }
}

/// An answer counts for its request only, even a deny: the other requests were not judged, which is a failure.
#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_answer_counts_only_for_its_request() {
    for answer in [ALLOW_FIELDS, DENY_FIELDS] {
        let world = EngineFixture::new();
        let body = format!(
            "if [ -z \"$held\" ]; then held=$id; : > held; continue; fi; id=$held\n{}",
            too_long_line(ANSWER_ENVELOPE, answer)
        );
        let engine = worker_engine(&world, &body, json!({"concurrency": 2, "guard": true}));
        let ask = || {
            let engine = engine.clone();
            tokio::spawn(async move { fire_tool_call(&engine).await })
        };
        let first = ask();
        eventually("it holds the first back", || world.path("held").exists()).await;
        let other = ask().await.unwrap();
        assert!(deny_reason(&other).contains("before a decision could be read"), "{}", deny_reason(&other));
        assert_eq!(deny_reason(&first.await.unwrap()).contains("no way"), answer == DENY_FIELDS);
    }
}

/// Nor does it answer the request after one that was cancelled.
#[tokio::test]
async fn a_late_truncated_allow_does_not_answer_the_next_request() {
    let world = EngineFixture::new();
    let body = format!("while [ ! -e go ]; do sleep 0.02; done; {}", too_long_line(ANSWER_ENVELOPE, ALLOW_FIELDS));
    let engine = worker_engine(&world, &body, json!({"guard": true}));
    let cancel = CancellationToken::new();
    let given_up = async {
        eventually("it runs", || !started_pids(&world).is_empty()).await;
        cancel.cancel();
    };
    let call = tool_call();
    let (_, ()) = tokio::join!(engine.fire_cancellable(&call, &cancel), given_up);
    let go = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        world.write("go", "");
    };
    let (outcome, ()) = tokio::join!(fire_tool_call(&engine), go);
    assert!(deny_reason(&outcome).contains("before a decision could be read"), "{}", deny_reason(&outcome));
}

/// Output that is no answer does not change the deny.
#[tokio::test]
async fn a_worker_that_prints_and_exits_with_2_denies() {
    for body in ["echo off limits; exit 2", "printf 'off limits'; exit 2", "echo '{\"decision\":\"allow\"}'; exit 2"] {
        let world = EngineFixture::new();
        let engine = worker_engine(&world, &format!("echo why >&2; {body}"), json!({}));
        assert_eq!(deny_reason(&fire_tool_call(&engine).await), "why", "{body}");
    }
}

const ANSWER_ENVELOPE: &str = r#"{"id":%s,"output":"#;
