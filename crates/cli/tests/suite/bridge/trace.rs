//! The trace of bridged events: enough to tell which hook denied and with what effect, and no private data.

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use serde_json::{Value, json};

use super::{bridge, guarded, shell};

fn lines_of(sandbox: &hookwright_testkit::Sandbox) -> Vec<Value> {
    let shown = sandbox.run(&["agents", "trace", "--json", "-n", "1000"]).expect_exit_code(0);
    shown.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_event_leaves_one_line() {
    let sandbox = guarded("echo '{\"decision\": \"ask\", \"reason\": \"sure?\"}'");
    let mut payload = shell("codex", "PreToolUse", "echo private words");
    payload["turn_id"] = "t7".into();
    payload["tool_use_id"] = "u7".into();
    bridge(&sandbox, &["codex"], &payload);
    bridge(&sandbox, &["codex"], &json!({"hook_event_name": "SomethingNew", "session_id": "s"}));
    let lines = lines_of(&sandbox);
    assert_eq!(lines.len(), 2);
    let line = &lines[0];
    for (key, value) in [
        ("host", json!("codex")),
        ("event", json!("PreToolUse")),
        ("as", json!("BeforeTool")),
        ("tool", json!("Bash")),
        ("verdict", json!("ask")),
        ("why", json!("sure?")),
        ("turn_id", json!("t7")),
        ("tool_use_id", json!("u7")),
        ("can_enforce", json!(["deny", "rewrite_input"])),
        ("lost", json!([{"wanted": "ask", "became": "deny"}])),
    ] {
        assert_eq!(line[key], value, "{key} of {line}");
    }
    assert_eq!((&line["hooks"][0]["hook"], &line["hooks"][0]["decision"]), (&json!("guard"), &json!("ask")));
    assert!(line["hooks"][0]["ms"].as_f64().unwrap() <= line["ms"].as_f64().unwrap());
    assert!(!line.to_string().contains("private words"));
    assert_eq!((&lines[1]["event"], &lines[1]["verdict"]), (&json!("SomethingNew"), &json!("pass")));
}

#[test]
fn suppressed_output_is_not_recorded() {
    let sandbox = guarded("echo '{\"decision\": \"deny\", \"reason\": \"the key is 1234\", \"suppressOutput\": true}'");
    bridge(&sandbox, &["claude-code"], &shell("claude-code", "PreToolUse", "ls"));
    let kept = lines_of(&sandbox);
    assert_eq!((kept[0]["verdict"].as_str(), kept[0].get("why")), (Some("deny"), None));
    assert!(!kept[0].to_string().contains("1234"));
}

#[cfg(unix)]
#[test]
fn the_trace_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = guarded("exit 0");
    bridge(&sandbox, &["claude-code"], &shell("claude-code", "PreToolUse", "ls"));
    let file = sandbox.home().join(".gemini/hookwright/journal/00000001.jsonl");
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_trace_is_shown_to_people_and_to_machines() {
    let sandbox = guarded("grep -q push && echo '{\"decision\": \"ask\", \"reason\": \"sure?\"}'; exit 0");
    let none = sandbox.run(&["agents", "trace"]).expect_exit_code(0);
    assert!(none.stderr.contains("no event has come through the bridge yet"), "{none:#?}");
    bridge(&sandbox, &["codex"], &shell("codex", "PreToolUse", "git push"));
    bridge(&sandbox, &["claude-code"], &shell("claude-code", "PreToolUse", "ls"));
    let shown = sandbox.run(&["agents", "trace"]).expect_exit_code(0).stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].contains("codex") && lines[0].contains("ask") && lines[0].contains("PreToolUse Bash"), "{shown}");
    assert!(shown.contains("guard (project): ask") && shown.contains("because: sure?"), "{shown}");
    assert!(shown.contains("lost: ask became deny"), "{shown}");
    assert!(lines.last().unwrap().contains("claude-code") && lines.last().unwrap().contains("1 hook"), "{shown}");
    let json = |args: &[&str]| {
        let run = sandbox.run(&[&["agents", "trace", "--json"], args].concat()).expect_exit_code(0);
        run.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(json(&[]), lines_of(&sandbox));
    assert_eq!(json(&["--agent", "claude"]).len(), 1);
    assert_eq!(json(&["--refused"])[0]["host"], "codex");
    assert_eq!(json(&["--last", "1"])[0]["host"], "claude-code");
    assert!(json(&["-n", "0"]).is_empty() && json(&["--session", "other"]).is_empty());
    sandbox.run(&["agents", "trace", "--agent", "nobody"]).expect_exit_code(1);
}

/// A damaged journal is read around the damage, and cannot control the terminal.
#[test]
fn a_damaged_trace_is_read_as_far_as_it_goes() {
    let sandbox = guarded("exit 0");
    bridge(&sandbox, &["codex"], &shell("codex", "PreToolUse", "ls"));
    let mut hostile = shell("codex", "PreToolUse", "ls");
    hostile["tool_name"] = "\u{1b}[2J".into();
    bridge(&sandbox, &["codex"], &hostile);
    let file = sandbox.home().join(".gemini/hookwright/journal/00000001.jsonl");
    let mut text = fs::read(&file).unwrap();
    text.extend_from_slice(
        b"{\"seq\": \n\xff\xfe\n[1]\n7\n{\"seq\": 9, \"kind\": \"event\", \"verdict\": {}}\n{\"seq\"",
    );
    std::fs::write(&file, text).unwrap();
    let shown = sandbox.run(&["agents", "trace"]).expect_exit_code(0).stdout;
    assert_eq!(shown.lines().filter(|line| line.contains("codex")).count(), 2, "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    sandbox.run(&["journal", "verify"]).expect_exit_code(1);
}

#[test]
fn following_the_trace_shows_new_events() {
    let sandbox = guarded("exit 0");
    bridge(&sandbox, &["codex"], &shell("codex", "PreToolUse", "ls"));
    let mut follower = sandbox.command(&["agents", "trace", "--follow", "--json", "--last", "1"]);
    let mut follower = follower.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = lines_in_time(follower.stdout.take().unwrap());
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap()).unwrap()["host"].clone();
    assert_eq!(next(), "codex");
    bridge(&sandbox, &["claude-code"], &shell("claude-code", "PreToolUse", "ls"));
    assert_eq!(next(), "claude-code");
    follower.kill().unwrap();
    follower.wait_in_time().unwrap();
}

/// `agents trace --follow
/// head -1` ends even if no further event would be written to the closed pipe.
#[test]
fn a_follower_without_a_reader_ends() {
    use std::io::{BufRead, BufReader};
    let sandbox = guarded("exit 0");
    bridge(&sandbox, &["codex"], &shell("codex", "PreToolUse", "ls"));
    for news in [false, true] {
        let mut follower = sandbox.command(&["agents", "trace", "--follow"]);
        let mut follower =
            follower.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let stdout = follower.stdout.take().unwrap();
        let first = hookwright_testkit::deadline::run_in_time(move || {
            let mut first = String::new();
            BufReader::new(stdout).read_line(&mut first).unwrap();
            first
        });
        assert!(first.contains("codex"), "{first}");
        if news {
            bridge(&sandbox, &["claude-code"], &shell("claude-code", "PreToolUse", "ls"));
        }
        hookwright_testkit::wait_until("the follower's end", || follower.try_wait().unwrap().is_some());
        let run = hookwright_testkit::finish(follower);
        assert_eq!((run.code, run.stderr.as_str()), (Some(141), ""));
    }
}
