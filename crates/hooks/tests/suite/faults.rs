//! Hooks that misbehave: none of them may hang, crash or bloat the program that runs them.

use std::time::{Duration, Instant};

use hookwright_hooks::{BeforeAgent, EventKind, Limits, RunStatus, Session};
use hookwright_testkit::fs;
use serde_json::{Value, json};

use super::world::{
    World, assert_proceeds, command, denied, gone, is_running, quick, says, tool_call, warning, within,
};

#[tokio::test]
async fn a_hook_that_ignores_term_is_killed_with_its_whole_group() {
    let world = World::new();
    world.write(
        "stubborn.sh",
        "trap '' TERM\nsh -c 'trap \"\" TERM; echo $$ >child; while :; do sleep 1; done' &\necho $$ >leader\nwhile :; do sleep 1; done\n",
    );
    let hook = json!({"type": "command", "command": "sh stubborn.sh", "timeout": 1000});
    let outcome = world.run_hook(hook).await;
    assert_eq!(outcome.runs[0].status, RunStatus::TimedOut);
    gone(world.pid("leader").await).await;
    gone(world.pid("child").await).await;
}

#[tokio::test]
async fn a_hook_that_obeys_term_is_not_made_to_wait_out_the_grace() {
    let world = World::new();
    let hook =
        json!({"type": "command", "command": "trap 'echo cleaned; exit 0' TERM; sleep 60 & wait", "timeout": 1000});
    let limits = Limits { grace: Duration::from_secs(50), ..Limits::default() };
    let engine = world.hooks(EventKind::BeforeTool, json!([hook])).limits(limits).build();
    let started = Instant::now();
    let outcome = within(engine.fire(&tool_call())).await;
    assert_eq!(outcome.runs[0].status, RunStatus::TimedOut);
    assert_eq!(outcome.runs[0].stdout.text, "cleaned\n");
    assert!(started.elapsed() < Duration::from_secs(40), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_group_member_that_ignores_term_outlives_its_leader_by_the_grace_only() {
    let world = World::new();
    world.write("child.sh", "trap '' TERM\necho $$ >child\nwhile :; do sleep 1; done\n");
    let hook = json!({"type": "command", "command": "sh child.sh & wait", "timeout": 1000});
    let engine = world.hooks(EventKind::BeforeTool, json!([hook])).limits(quick()).build();
    let outcome = within(engine.fire(&tool_call())).await;
    assert_eq!(outcome.runs[0].status, RunStatus::TimedOut);
    gone(world.pid("child").await).await;
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipes_does_not_delay_the_outcome() {
    let world = World::new();
    let started = Instant::now();
    let engine = world
        .hooks(
            EventKind::BeforeTool,
            json!([command("h", r#"sleep 300 & echo $! >grandchild; echo '{"decision": "deny", "reason": "quick"}'"#)]),
        )
        .limits(quick())
        .build();
    let outcome = within(engine.fire(&tool_call())).await;
    assert_eq!(denied(&outcome), "quick");
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    assert!(outcome.runs[0].left_behind);
    let grandchild = world.pid("grandchild").await;
    assert!(is_running(grandchild), "a hook may leave a helper running");
    within(engine.shutdown()).await;
    gone(grandchild).await;
}

#[tokio::test]
async fn a_grandchild_that_ignores_term_does_not_survive_the_shutdown() {
    let world = World::new();
    world.write("helper.sh", "trap '' TERM\necho $$ >grandchild\nwhile :; do sleep 1; done\n");
    let hooks = json!([command("h", "sh helper.sh & while ! [ -s grandchild ]; do sleep 0.01; done")]);
    let engine = world.hooks(EventKind::BeforeTool, hooks).limits(quick()).build();
    within(engine.fire(&tool_call())).await;
    within(engine.shutdown()).await;
    gone(world.pid("grandchild").await).await;
}

#[tokio::test]
async fn dropping_the_engine_ends_what_hooks_left_behind() {
    let world = World::new();
    let outcome = world.run("sleep 300 & echo $! >grandchild").await;
    assert!(outcome.runs[0].left_behind);
    gone(world.pid("grandchild").await).await;
}

#[tokio::test]
async fn a_hook_that_leaves_nothing_behind_is_not_blamed() {
    assert!(!World::new().run("sleep 0.01 & wait").await.runs[0].left_behind);
}

/// The most memory this process ever had, in bytes.
fn peak_memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10)
}

#[tokio::test]
async fn a_gigabyte_on_stdout_is_read_and_dropped() {
    let before = peak_memory();
    let outcome = World::new().run("head -c 1073741824 /dev/zero | tr '\\0' x").await;
    let run = &outcome.runs[0];
    assert_eq!((run.status, run.stdout.bytes, run.stdout.text.len()), (RunStatus::Ok, 1 << 30, 1 << 20));
    assert!(run.truncated());
    assert_eq!(warning(&outcome), "wrote 1073741824 bytes to stdout; all but the first 1048576 were dropped");
    let grown = peak_memory() - before;
    assert!(grown < 200 << 20, "memory grew by {grown} bytes");
}

#[tokio::test]
async fn a_flood_on_stderr_does_not_hide_the_answer() {
    let world = World::new();
    let answer = says(json!({"decision": "deny", "reason": "loud"}));
    let outcome = world.run(&format!("head -c 50000000 /dev/zero >&2; {answer}")).await;
    assert_eq!(denied(&outcome), "loud");
    assert_eq!((outcome.runs[0].stderr.bytes, outcome.runs[0].stderr.text.len()), (50_000_000, 1 << 20));
}

#[tokio::test]
async fn a_json_answer_cut_by_the_bound_is_no_yes() {
    let world = World::new();
    world.write("long.json", &json!({"decision": "deny", "reason": "x".repeat(3 << 20)}).to_string());
    let outcome = world.run("cat long.json").await;
    assert!(denied(&outcome).contains("cut off"));
    assert!(outcome.warnings[0].text.contains("cut off by the output bound"), "{:?}", outcome.warnings);
    world.write("late.json", &json!({"reason": "x".repeat(3 << 20), "decision": "deny"}).to_string());
    assert!(denied(&world.run("cat late.json").await).contains("before a decision could be read"));
    let hook = json!({"type": "command", "command": "cat late.json", "onError": {"truncated": "allow"}});
    assert_proceeds(&world.run_hook(hook).await);
}

#[tokio::test]
async fn a_working_directory_that_is_gone_denies() {
    let world = World::new();
    let cwd = world.dir().join("gone");
    let session = Session { cwd, ..Session::default() };
    for command in ["exit 0", "true", "./guard.sh"] {
        let engine = world.hooks(EventKind::BeforeTool, json!([{"type": "command", "command": command}]));
        let outcome = within(engine.session(session.clone()).build().fire(&tool_call())).await;
        assert!(denied(&outcome).contains("working directory"), "{command}");
    }
    let hook = json!({"type": "command", "command": "exit 0", "onError": {"resource": "allow"}});
    let engine = world.hooks(EventKind::BeforeTool, json!([hook])).session(session).build();
    assert_proceeds(&within(engine.fire(&tool_call())).await);
}

#[tokio::test]
async fn the_bound_splits_no_character() {
    let world = World::new();
    let limits = Limits { output: 10, ..quick() };
    world.write("text", "ααααααααααα");
    for (skipped, kept) in [(0, 10), (1, 9)] {
        let hooks = json!([command("h", &format!("printf '%.{skipped}s' a; cat text"))]);
        let engine = world.hooks(EventKind::BeforeTool, hooks).limits(limits).build();
        let outcome = within(engine.fire(&tool_call())).await;
        assert_eq!(outcome.runs[0].stdout.text.len(), kept);
        assert!(!outcome.runs[0].stdout.text.contains('\u{fffd}'));
    }
}

#[tokio::test]
async fn invalid_utf8_is_read_as_far_as_it_goes() {
    let world = World::new();
    let outcome = world.print(b"caf\xe9 \xff\xfe ok").await;
    assert_eq!(outcome.messages[0].text, "caf\u{fffd} \u{fffd}\u{fffd} ok");
    let outcome = world.print(b"{\"decision\": \"deny\", \"reason\": \"caf\xe9\"}").await;
    assert_eq!(denied(&outcome), "caf\u{fffd}");
    let outcome = world.run("printf 'bad \\377' >&2; exit 2").await;
    assert_eq!(denied(&outcome), "bad \u{fffd}");
}

fn large_prompt() -> BeforeAgent<'static> {
    BeforeAgent { prompt: "x".repeat(10_000_000).into(), attachments: Vec::new() }
}

#[tokio::test]
async fn a_hook_that_never_reads_ten_megabytes_of_input_is_not_waited_for() {
    let world = World::new();
    let engine = world.hooks(EventKind::BeforeAgent, json!([command("h", "echo done")])).build();
    let outcome = within(engine.fire(&large_prompt())).await;
    assert_eq!(outcome.messages[0].text, "done");
    assert!(outcome.warnings.is_empty() && outcome.runs[0].input_bytes > 10_000_000);
}

#[tokio::test]
async fn a_hook_that_never_reads_and_never_ends_still_times_out() {
    let world = World::new();
    let hooks = json!([{"type": "command", "command": "sleep 60", "timeout": 200}]);
    let engine = world.hooks(EventKind::BeforeAgent, hooks).limits(quick()).build();
    let outcome = within(engine.fire(&large_prompt())).await;
    assert_eq!(outcome.runs[0].status, RunStatus::TimedOut);
}

#[tokio::test]
async fn ten_megabytes_of_input_arrive_whole() {
    let world = World::new();
    let engine = world.hooks(EventKind::BeforeAgent, json!([command("h", "wc -c")])).build();
    let outcome = within(engine.fire(&large_prompt())).await;
    assert_eq!(outcome.messages[0].text.trim(), outcome.runs[0].input_bytes.to_string());
}

#[tokio::test]
async fn input_and_output_may_both_be_larger_than_a_pipe() {
    let world = World::new();
    let limits = Limits { output: 32 << 20, ..quick() };
    let engine =
        world.hooks(EventKind::BeforeAgent, json!([command("h", "cat; cat >&2 nothing")])).limits(limits).build();
    let outcome = within(engine.fire(&large_prompt())).await;
    assert_eq!(outcome.runs[0].stdout.bytes, outcome.runs[0].input_bytes as u64);
}

#[tokio::test]
async fn a_hook_may_close_its_input_at_once() {
    let world = World::new();
    let hooks = json!([command("h", "exec <&-; sleep 0.05; echo fine")]);
    let engine = world.hooks(EventKind::BeforeAgent, hooks).build();
    let outcome = within(engine.fire(&large_prompt())).await;
    assert_eq!(outcome.messages[0].text, "fine");
    assert!(outcome.warnings.is_empty());
}

#[tokio::test]
async fn a_hook_may_close_its_output_and_go_on() {
    let world = World::new();
    let outcome = world.run("echo early; exec >&- 2>&-; sleep 0.1; exit 3").await;
    assert_eq!(outcome.runs[0].exit_code, Some(3));
    assert_eq!(outcome.runs[0].stdout.text, "early\n");
}

#[tokio::test]
async fn json_may_have_a_byte_order_mark_and_carriage_returns() {
    let world = World::new();
    let outcome = world.print(b"\xef\xbb\xbf{\r\n  \"decision\": \"deny\",\r\n  \"reason\": \"dos\"\r\n}\r\n").await;
    assert_eq!(denied(&outcome), "dos");
    assert!(outcome.warnings.is_empty());
}

#[tokio::test]
async fn json_nested_ten_thousand_deep_does_not_hide_a_deny() {
    let world = World::new();
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let outcome = world.print(format!(r#"{{"extra": {deep}, "decision": "deny", "reason": "deep"}}"#).as_bytes()).await;
    assert_eq!(denied(&outcome), "deep");
    // Where somebody looks at it, it is a wrong field like any other.
    let objects = format!("{}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
    let answer =
        format!(r#"{{"decision": "deny", "reason": "deep", "hookSpecificOutput": {{"tool_input": {objects}}}}}"#);
    let outcome = world.print(answer.as_bytes()).await;
    assert_eq!(denied(&outcome), "deep");
    assert!(warning(&outcome).contains("hookSpecificOutput.tool_input"));
    // Nothing but nesting, never closed.
    let outcome = world.print("{\"a\":[".repeat(10_000).as_bytes()).await;
    assert_proceeds(&outcome);
    assert!(warning(&outcome).contains("does not parse"));
}

#[tokio::test]
async fn of_a_repeated_key_only_a_no_counts() {
    let world = World::new();
    for answer in [
        r#"{"decision": "allow", "reason": "a", "decision": "deny", "reason": "b"}"#,
        r#"{"decision": "deny", "reason": "a", "decision": "allow", "reason": "b"}"#,
    ] {
        let outcome = world.print(answer.as_bytes()).await;
        denied(&outcome);
        assert!(warning(&outcome).contains("the key `decision` twice"), "{answer}");
    }
}

#[tokio::test]
async fn numbers_beyond_64_bits_are_no_trouble() {
    let world = World::new();
    let huge = "123456789012345678901234567890";
    let outcome = world
        .print(
            format!(
                r#"{{"n": {huge}, "f": 1e999, "hookSpecificOutput": {{"tool_input": {{"big": {huge}, "small": 1}}}}}}"#
            )
            .as_bytes(),
        )
        .await;
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    let changes = outcome.merged.answer.tool_input.unwrap();
    assert_eq!(changes["small"], Value::from(1));
    assert_eq!(changes["big"].as_f64(), Some(123_456_789_012_345_678_901_234_567_890.0));
}

#[tokio::test]
async fn a_hundred_failing_hooks_at_once_fail_one_by_one() {
    let world = World::new();
    let hooks: Vec<_> =
        (0..100).map(|at| command(&format!("h{at}"), &format!("cat >/dev/null; exit {}", 3 + at % 2))).collect();
    let engine = world.hooks(EventKind::BeforeTool, Value::Array(hooks)).build();
    let outcome = within(engine.fire(&tool_call())).await;
    assert_proceeds(&outcome);
    assert_eq!(outcome.warnings.len(), 100);
    assert_eq!((outcome.warnings[7].hook.as_str(), outcome.runs[7].exit_code), ("h7", Some(4)));
}

#[tokio::test]
async fn a_working_directory_that_is_gone_is_named() {
    let world = World::new();
    let engine = world.hooks(EventKind::BeforeTool, json!([command("h", "cat"), command("s", "cat | cat")])).build();
    let mut session = world.session();
    session.cwd = world.path("gone");
    engine.set_session(session);
    let outcome = within(engine.fire(&tool_call())).await;
    assert_eq!(outcome.warnings.len(), 2);
    for warning in &outcome.warnings {
        assert!(warning.text.contains("gone does not exist"), "{warning:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_script_that_is_still_being_written_is_waited_for() {
    let world = World::new();
    let path = world.executable("late.sh", "#!/bin/sh\necho no >&2; exit 2\n");
    let writer = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    let closing = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(10)).await;
        drop(writer);
    });
    let outcome = world.run_hook(json!({"type": "command", "command": "./late.sh"})).await;
    assert_eq!(denied(&outcome), "no");
    closing.await.unwrap();
}
