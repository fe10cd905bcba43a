//! Hooks that misbehave: none of them may hang, crash or bloat the program that runs them.

use std::time::{Duration, Instant};

use hookwright_hooks::{BeforeAgent, EventKind, RunLimits, RunStatus, Session};
use hookwright_testkit::fs;
use serde_json::{Value, json};

use super::fixture::{
    EngineFixture, assert_proceeds, command_hook, deny_reason, is_running, only_warning, print_command,
    short_grace_limits, tool_call, wait_until_gone, with_hang_timeout,
};

#[tokio::test]
async fn a_hook_that_ignores_term_is_killed_with_its_whole_group() {
    let world = EngineFixture::new();
    world.write(
        "stubborn.sh",
        "trap '' TERM\nsh -c 'trap \"\" TERM; echo $$ >child; while :; do sleep 1; done' &\necho $$ >leader\nwhile :; do sleep 1; done\n",
    );
    let hook = json!({"type": "command", "command": "sh stubborn.sh", "timeout": 1000});
    let outcome = world.run_hook(hook).await;
    assert_eq!(outcome.runs[0].status, RunStatus::TimedOut);
    wait_until_gone(world.read_pid("leader").await).await;
    wait_until_gone(world.read_pid("child").await).await;
}

#[tokio::test]
async fn a_hook_that_obeys_term_is_not_made_to_wait_out_the_grace() {
    let world = EngineFixture::new();
    let hook =
        json!({"type": "command", "command": "trap 'echo cleaned; exit 0' TERM; sleep 60 & wait", "timeout": 1000});
    let limits = RunLimits { kill_grace_period: Duration::from_secs(50), ..RunLimits::default() };
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([hook])).limits(limits).build();
    let started = Instant::now();
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    assert_eq!(outcome.runs[0].status, RunStatus::TimedOut);
    assert_eq!(outcome.runs[0].stdout.text, "cleaned\n");
    assert!(started.elapsed() < Duration::from_secs(40), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_group_member_that_ignores_term_outlives_its_leader_by_the_grace_only() {
    let world = EngineFixture::new();
    world.write("child.sh", "trap '' TERM\necho $$ >child\nwhile :; do sleep 1; done\n");
    let hook = json!({"type": "command", "command": "sh child.sh & wait", "timeout": 1000});
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([hook])).limits(short_grace_limits()).build();
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    assert_eq!(outcome.runs[0].status, RunStatus::TimedOut);
    wait_until_gone(world.read_pid("child").await).await;
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipes_does_not_delay_the_outcome() {
    let world = EngineFixture::new();
    let started = Instant::now();
    let engine = world
        .engine_with_hooks(
            EventKind::BeforeTool,
            json!([command_hook(
                "h",
                r#"sleep 300 & echo $! >grandchild; echo '{"decision": "deny", "reason": "quick"}'"#
            )]),
        )
        .limits(short_grace_limits())
        .build();
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    assert_eq!(deny_reason(&outcome), "quick");
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    assert!(outcome.runs[0].has_survivors);
    let grandchild = world.read_pid("grandchild").await;
    assert!(is_running(grandchild), "a hook may leave a helper running");
    with_hang_timeout(engine.shutdown()).await;
    wait_until_gone(grandchild).await;
}

#[tokio::test]
async fn a_grandchild_that_ignores_term_does_not_survive_the_shutdown() {
    let world = EngineFixture::new();
    world.write("helper.sh", "trap '' TERM\necho $$ >grandchild\nwhile :; do sleep 1; done\n");
    let hooks = json!([command_hook("h", "sh helper.sh & while ! [ -s grandchild ]; do sleep 0.01; done")]);
    let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).limits(short_grace_limits()).build();
    with_hang_timeout(engine.fire(&tool_call())).await;
    with_hang_timeout(engine.shutdown()).await;
    wait_until_gone(world.read_pid("grandchild").await).await;
}

#[tokio::test]
async fn dropping_the_engine_ends_what_hooks_left_behind() {
    let world = EngineFixture::new();
    let outcome = world.run_command("sleep 300 & echo $! >grandchild").await;
    assert!(outcome.runs[0].has_survivors);
    wait_until_gone(world.read_pid("grandchild").await).await;
}

#[tokio::test]
async fn a_hook_without_leftover_processes_is_not_reported() {
    assert!(!EngineFixture::new().run_command("sleep 0.01 & wait").await.runs[0].has_survivors);
}

/// Returns the peak memory of this process in bytes.
fn peak_memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or(0, |line| line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10)
}

#[tokio::test]
async fn a_gigabyte_on_stdout_is_read_and_dropped() {
    let before = peak_memory();
    let outcome = EngineFixture::new().run_command("head -c 1073741824 /dev/zero | tr '\\0' x").await;
    let run = &outcome.runs[0];
    assert_eq!((run.status, run.stdout.bytes, run.stdout.text.len()), (RunStatus::Ok, 1 << 30, 1 << 20));
    assert!(run.is_truncated());
    assert_eq!(only_warning(&outcome), "wrote 1073741824 bytes to stdout; all but the first 1048576 were dropped");
    let grown = peak_memory() - before;
    assert!(grown < 200 << 20, "memory grew by {grown} bytes");
}

#[tokio::test]
async fn a_flood_on_stderr_does_not_hide_the_answer() {
    let world = EngineFixture::new();
    let answer = print_command(json!({"decision": "deny", "reason": "loud"}));
    let outcome = world.run_command(&format!("head -c 50000000 /dev/zero >&2; {answer}")).await;
    assert_eq!(deny_reason(&outcome), "loud");
    assert_eq!((outcome.runs[0].stderr.bytes, outcome.runs[0].stderr.text.len()), (50_000_000, 1 << 20));
}

#[tokio::test]
async fn a_truncated_json_answer_does_not_allow() {
    let world = EngineFixture::new();
    world.write("long.json", &json!({"decision": "deny", "reason": "x".repeat(3 << 20)}).to_string());
    let outcome = world.run_command("cat long.json").await;
    assert!(deny_reason(&outcome).contains("cut off"));
    assert!(outcome.warnings[0].text.contains("cut off at the output limit"), "{:?}", outcome.warnings);
    world.write("late.json", &json!({"reason": "x".repeat(3 << 20), "decision": "deny"}).to_string());
    assert!(deny_reason(&world.run_command("cat late.json").await).contains("before a decision could be read"));
    let hook = json!({"type": "command", "command": "cat late.json", "onError": {"truncated": "allow"}});
    assert_proceeds(&world.run_hook(hook).await);
}

#[tokio::test]
async fn a_working_directory_that_is_gone_denies() {
    let world = EngineFixture::new();
    let cwd = world.dir().join("gone");
    let session = Session { cwd, ..Session::default() };
    for command in ["exit 0", "true", "./guard.sh"] {
        let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([{"type": "command", "command": command}]));
        let outcome = with_hang_timeout(engine.session(session.clone()).build().fire(&tool_call())).await;
        assert!(deny_reason(&outcome).contains("working directory"), "{command}");
    }
    let hook = json!({"type": "command", "command": "exit 0", "onError": {"resource": "allow"}});
    let engine = world.engine_with_hooks(EventKind::BeforeTool, json!([hook])).session(session).build();
    assert_proceeds(&with_hang_timeout(engine.fire(&tool_call())).await);
}

#[tokio::test]
async fn the_bound_splits_no_character() {
    let world = EngineFixture::new();
    let limits = RunLimits { max_output_bytes: 10, ..short_grace_limits() };
    world.write("text", "ααααααααααα");
    for (skipped, kept) in [(0, 10), (1, 9)] {
        let hooks = json!([command_hook("h", &format!("printf '%.{skipped}s' a; cat text"))]);
        let engine = world.engine_with_hooks(EventKind::BeforeTool, hooks).limits(limits).build();
        let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
        assert_eq!(outcome.runs[0].stdout.text.len(), kept);
        assert!(!outcome.runs[0].stdout.text.contains('\u{fffd}'));
    }
}

#[tokio::test]
async fn invalid_utf8_is_read_as_far_as_it_goes() {
    let world = EngineFixture::new();
    let outcome = world.run_printing(b"caf\xe9 \xff\xfe ok").await;
    assert_eq!(outcome.messages[0].text, "caf\u{fffd} \u{fffd}\u{fffd} ok");
    let outcome = world.run_printing(b"{\"decision\": \"deny\", \"reason\": \"caf\xe9\"}").await;
    assert_eq!(deny_reason(&outcome), "caf\u{fffd}");
    let outcome = world.run_command("printf 'bad \\377' >&2; exit 2").await;
    assert_eq!(deny_reason(&outcome), "bad \u{fffd}");
}

fn large_prompt() -> BeforeAgent<'static> {
    BeforeAgent { prompt: "x".repeat(10_000_000).into(), attachments: Vec::new() }
}

#[tokio::test]
async fn a_hook_that_never_reads_ten_megabytes_of_input_is_not_waited_for() {
    let world = EngineFixture::new();
    let engine = world.engine_with_hooks(EventKind::BeforeAgent, json!([command_hook("h", "echo done")])).build();
    let outcome = with_hang_timeout(engine.fire(&large_prompt())).await;
    assert_eq!(outcome.messages[0].text, "done");
    assert!(outcome.warnings.is_empty() && outcome.runs[0].input_bytes > 10_000_000);
}

#[tokio::test]
async fn a_hook_that_never_reads_and_never_ends_still_times_out() {
    let world = EngineFixture::new();
    let hooks = json!([{"type": "command", "command": "sleep 60", "timeout": 200}]);
    let engine = world.engine_with_hooks(EventKind::BeforeAgent, hooks).limits(short_grace_limits()).build();
    let outcome = with_hang_timeout(engine.fire(&large_prompt())).await;
    assert_eq!(outcome.runs[0].status, RunStatus::TimedOut);
}

#[tokio::test]
async fn ten_megabytes_of_input_arrive_whole() {
    let world = EngineFixture::new();
    let engine = world.engine_with_hooks(EventKind::BeforeAgent, json!([command_hook("h", "wc -c")])).build();
    let outcome = with_hang_timeout(engine.fire(&large_prompt())).await;
    assert_eq!(outcome.messages[0].text.trim(), outcome.runs[0].input_bytes.to_string());
}

#[tokio::test]
async fn input_and_output_may_both_be_larger_than_a_pipe() {
    let world = EngineFixture::new();
    let limits = RunLimits { max_output_bytes: 32 << 20, ..short_grace_limits() };
    let engine = world
        .engine_with_hooks(EventKind::BeforeAgent, json!([command_hook("h", "cat; cat >&2 nothing")]))
        .limits(limits)
        .build();
    let outcome = with_hang_timeout(engine.fire(&large_prompt())).await;
    assert_eq!(outcome.runs[0].stdout.bytes, outcome.runs[0].input_bytes as u64);
}

#[tokio::test]
async fn a_hook_may_close_its_input_at_once() {
    let world = EngineFixture::new();
    let hooks = json!([command_hook("h", "exec <&-; sleep 0.05; echo fine")]);
    let engine = world.engine_with_hooks(EventKind::BeforeAgent, hooks).build();
    let outcome = with_hang_timeout(engine.fire(&large_prompt())).await;
    assert_eq!(outcome.messages[0].text, "fine");
    assert!(outcome.warnings.is_empty());
}

#[tokio::test]
async fn a_hook_may_close_its_output_and_go_on() {
    let world = EngineFixture::new();
    let outcome = world.run_command("echo early; exec >&- 2>&-; sleep 0.1; exit 3").await;
    assert_eq!(outcome.runs[0].exit_code, Some(3));
    assert_eq!(outcome.runs[0].stdout.text, "early\n");
}

#[tokio::test]
async fn json_may_have_a_byte_order_mark_and_carriage_returns() {
    let world = EngineFixture::new();
    let outcome =
        world.run_printing(b"\xef\xbb\xbf{\r\n  \"decision\": \"deny\",\r\n  \"reason\": \"dos\"\r\n}\r\n").await;
    assert_eq!(deny_reason(&outcome), "dos");
    assert!(outcome.warnings.is_empty());
}

#[tokio::test]
async fn json_nested_ten_thousand_deep_does_not_hide_a_deny() {
    let world = EngineFixture::new();
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let outcome =
        world.run_printing(format!(r#"{{"extra": {deep}, "decision": "deny", "reason": "deep"}}"#).as_bytes()).await;
    assert_eq!(deny_reason(&outcome), "deep");
    // In a field that the engine reads, it is an invalid field like any other.
    let objects = format!("{}1{}", r#"{"a":"#.repeat(10_000), "}".repeat(10_000));
    let answer =
        format!(r#"{{"decision": "deny", "reason": "deep", "hookSpecificOutput": {{"tool_input": {objects}}}}}"#);
    let outcome = world.run_printing(answer.as_bytes()).await;
    assert_eq!(deny_reason(&outcome), "deep");
    assert!(only_warning(&outcome).contains("hookSpecificOutput.tool_input"));
    // Only nesting, never closed.
    let outcome = world.run_printing("{\"a\":[".repeat(10_000).as_bytes()).await;
    assert_proceeds(&outcome);
    assert!(only_warning(&outcome).contains("does not parse"));
}

#[tokio::test]
async fn a_repeated_key_counts_only_if_it_denies() {
    let world = EngineFixture::new();
    for answer in [
        r#"{"decision": "allow", "reason": "a", "decision": "deny", "reason": "b"}"#,
        r#"{"decision": "deny", "reason": "a", "decision": "allow", "reason": "b"}"#,
    ] {
        let outcome = world.run_printing(answer.as_bytes()).await;
        deny_reason(&outcome);
        assert!(only_warning(&outcome).contains("the key `decision` twice"), "{answer}");
    }
}

#[tokio::test]
async fn numbers_beyond_64_bits_are_accepted() {
    let world = EngineFixture::new();
    let huge = "123456789012345678901234567890";
    let outcome = world
        .run_printing(
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
    let world = EngineFixture::new();
    let hooks: Vec<_> =
        (0..100).map(|at| command_hook(&format!("h{at}"), &format!("cat >/dev/null; exit {}", 3 + at % 2))).collect();
    let engine = world.engine_with_hooks(EventKind::BeforeTool, Value::Array(hooks)).build();
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    assert_proceeds(&outcome);
    assert_eq!(outcome.warnings.len(), 100);
    assert_eq!((outcome.warnings[7].hook.as_str(), outcome.runs[7].exit_code), ("h7", Some(4)));
}

#[tokio::test]
async fn a_working_directory_that_is_gone_is_named() {
    let world = EngineFixture::new();
    let engine = world
        .engine_with_hooks(EventKind::BeforeTool, json!([command_hook("h", "cat"), command_hook("s", "cat | cat")]))
        .build();
    let mut session = world.session();
    session.cwd = world.path("gone");
    engine.set_session(session);
    let outcome = with_hang_timeout(engine.fire(&tool_call())).await;
    assert_eq!(outcome.warnings.len(), 2);
    for warning in &outcome.warnings {
        assert!(warning.text.contains("gone does not exist"), "{warning:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_script_that_is_still_being_written_is_waited_for() {
    let world = EngineFixture::new();
    let path = world.write_executable("late.sh", "#!/bin/sh\necho no >&2; exit 2\n");
    let writer = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    let closing = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(10)).await;
        drop(writer);
    });
    let outcome = world.run_hook(json!({"type": "command", "command": "./late.sh"})).await;
    assert_eq!(deny_reason(&outcome), "no");
    closing.await.unwrap();
}
