//! What a worker's end, its wait and half of its answer mean: never a yes that nobody gave.

use super::*;

/// As with a command, whose script it may have been: exit code 2 is a no, with its reason on stderr.
#[tokio::test]
async fn one_that_ends_with_code_2_has_said_no() {
    let world = World::new();
    let body = "case $line in *'\"pwd\"'*) echo an older line >&2; answer \"$id\" null; continue;; esac\n\
                echo off limits >&2; exit 2";
    let engine = engine_of(&world, body, json!({}));
    let harmless = call_of("run_shell_command", json!({"command": "pwd"}));
    for _ in 0..8 {
        assert_proceeds(&within(engine.fire(&harmless)).await);
        assert_eq!(denied(&fire(&engine).await), "off limits");
    }
    assert_eq!(health(&engine).inert, None, "who says no has not failed");
    assert_eq!(pids(&world).len(), 8);
}

/// The pause before it is started again is no time that the hook took.
#[tokio::test]
async fn a_pause_that_is_longer_than_the_time_is_told_as_the_failure_before_it() {
    let world = World::new();
    let on_error = json!({"timeout": "allow", "exit": "block", "spawn": "block"});
    let engine = engine_of(&world, "exit 7", json!({"timeout": 100, "onError": on_error}));
    for at in 1..=6 {
        let outcome = fire(&engine).await;
        let reason = denied(&outcome);
        assert!(reason.contains("ended with code 7") && !reason.contains("ran longer"), "{at}: {reason}");
    }
}

/// A line for this request that is too long: its beginning, and three megabytes.
fn long(frame: &str, answer: &str) -> String {
    let begun = format!("{frame}{{{answer},\"systemMessage\":\"");
    format!("printf '{begun}' \"$id\"; head -c 3000000 /dev/zero | tr '\\0' x; echo '\"}}}}'")
}

const NO: &str = r#""decision":"deny","reason":"no way""#;
const YES: &str = r#""decision":"allow""#;

/// A no at the beginning of an answer that is too long is heard, as a command's is.
#[tokio::test]
async fn a_no_that_was_cut_off_is_a_no() {
    for frame in [r#"{"id":%s,"output":"#, r#"{"more":[{"a":"}"}], "id" : %s , "output": "#] {
        let world = World::new();
        let on_error = json!({"truncated": "allow", "exit": "allow"});
        let engine = engine_of(&world, &long(frame, NO), json!({"onError": on_error}));
        assert_eq!(denied(&fire(&engine).await), "no way", "{frame}");
    }
}

/// A yes is none without its end, and neither is what is no answer or a failure.
#[tokio::test]
async fn a_yes_that_was_cut_off_is_none() {
    for frame in [
        r#"{"id":%s,"output":"#,
        r#"{"error":"it failed","id":%s,"output":"#,
        r#"{"output":"#,
        "",
        r#"{"id":"%s","output":"#,
        r#"{"id":%s,"input":"#,
    ] {
        let world = World::new();
        let engine = engine_of(&world, &long(frame, YES), json!({"guard": true}));
        let outcome = fire(&engine).await;
        assert!(denied(&outcome).contains("cut off"), "{frame}: {}", denied(&outcome));
    }
}

/// What was said to one is said to nobody else, be it a no: they were not judged, and that is a failure.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_cut_off_is_nobody_elses_answer() {
    for answer in [YES, NO] {
        let world = World::new();
        let body =
            format!("if [ -z \"$held\" ]; then held=$id; : > held; continue; fi; id=$held\n{}", long(FRAME, answer));
        let engine = engine_of(&world, &body, json!({"concurrency": 2, "guard": true}));
        let ask = || {
            let engine = engine.clone();
            tokio::spawn(async move { fire(&engine).await })
        };
        let first = ask();
        eventually("it holds the first back", || world.path("held").exists()).await;
        let other = ask().await.unwrap();
        assert!(denied(&other).contains("before a decision could be read"), "{}", denied(&other));
        assert_eq!(denied(&first.await.unwrap()).contains("no way"), answer == NO);
    }
}

/// Nor is it that of who comes after somebody who gave up.
#[tokio::test]
async fn a_late_yes_that_was_cut_off_is_not_the_next_ones() {
    let world = World::new();
    let body = format!("while [ ! -e go ]; do sleep 0.02; done; {}", long(FRAME, YES));
    let engine = engine_of(&world, &body, json!({"guard": true}));
    let cancel = CancellationToken::new();
    let given_up = async {
        eventually("it runs", || !pids(&world).is_empty()).await;
        cancel.cancel();
    };
    let call = tool_call();
    let (_, ()) = tokio::join!(engine.fire_until(&call, &cancel), given_up);
    let go = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        world.write("go", "");
    };
    let (outcome, ()) = tokio::join!(fire(&engine), go);
    assert!(denied(&outcome).contains("before a decision could be read"), "{}", denied(&outcome));
}

/// Words that are no answer change nothing about a no.
#[tokio::test]
async fn one_that_says_something_and_ends_with_code_2_has_said_no() {
    for body in ["echo off limits; exit 2", "printf 'off limits'; exit 2", "echo '{\"decision\":\"allow\"}'; exit 2"] {
        let world = World::new();
        let engine = engine_of(&world, &format!("echo why >&2; {body}"), json!({}));
        assert_eq!(denied(&fire(&engine).await), "why", "{body}");
    }
}

const FRAME: &str = r#"{"id":%s,"output":"#;
