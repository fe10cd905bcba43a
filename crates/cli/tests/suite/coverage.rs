//! `hookwright agents coverage` end to end: transcripts that real agents wrote, and the real bridge, which is sent what
//! the agents' hooks were sent in the same runs.

use std::path::{Path, PathBuf};

use hookwright_testkit::{Sandbox, fs};
use serde_json::{Value, json};

use crate::sandbox;

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bridge/fixtures").join(path)
}

/// The sessions of Claude Code's recorded runs.
const ASKED_SESSION: &str = "0d0d67a4-26cf-403e-a8b2-ad0fc83e110f";
const BARE_SESSION: &str = "79c6472a-9ebd-4644-8a65-a728205f97bd";

/// Returns a sandbox with a guard that denies what the recorded one denied.
fn guarded() -> Sandbox {
    let sandbox = sandbox();
    let deny = "case $(cat) in *DENYME*) echo 'the guard says no' >&2; exit 2;; esac";
    let command = sandbox.script("guard.sh", deny);
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "*", "hooks": [
        {"type": "command", "name": "guard", "guard": true, "command": command},
    ]}]}}));
    sandbox
}

/// Copies a session's recorded transcript into the home as if it had just been written, and returns its path.
fn keep_transcript(sandbox: &Sandbox, session: &str, change: impl Fn(&mut Value)) -> PathBuf {
    let recorded = fixture("claude-code/2.1.327/transcripts/projects/-project").join(format!("{session}.jsonl"));
    let now = format!("{:.3}", jiff::Timestamp::now());
    let line = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if line.get("timestamp").is_some() {
            line["timestamp"] = json!(now);
        }
        change(&mut line);
        format!("{line}\n")
    };
    let text: String = fs::read_to_string(recorded).unwrap().lines().map(line).collect();
    let path = sandbox.home().join(".claude/projects/-project").join(format!("{session}.jsonl"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// Sends the bridge what hooks were sent in the recorded session.
fn ask_bridge(sandbox: &Sandbox, session: &str) {
    let recorded = fs::read_to_string(fixture("claude-code/2.1.327/transcripts/hooks.jsonl")).unwrap();
    for line in recorded.lines().filter(|line| line.contains(session)) {
        let mut payload: Value = serde_json::from_str(line).unwrap();
        payload["cwd"] = json!(sandbox.project());
        sandbox.run_with_input(&["bridge", "claude-code"], &payload.to_string());
    }
}

#[test]
fn calls_without_a_question_are_found_by_session_time_and_call() {
    let sandbox = guarded();
    ask_bridge(&sandbox, ASKED_SESSION);
    keep_transcript(&sandbox, ASKED_SESSION, |_| {});
    let report = sandbox.run(&["agents", "coverage", "--json"]).expect_exit_code(0).json();
    let agent = &report["agents"][0];
    assert_eq!(
        (&agent["calls"], &agent["asked"], &agent["not_asked"]),
        (&json!(7), &json!(7), &json!(0)),
        "{report:#}"
    );

    let bare = keep_transcript(&sandbox, BARE_SESSION, |_| {});
    let report = sandbox.run(&["agents", "coverage", "claude", "--json"]).expect_exit_code(1).json();
    let found = &report["not_asked"][0];
    assert_eq!(report["not_asked"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!((&found["session"], &found["tool"]), (&json!(BARE_SESSION), &json!("Bash")));
    assert_eq!((&found["reason"], &found["arguments"]), (&json!("session_unknown"), &json!("echo one > RAN1")));
    assert_eq!(found["file"], json!(bare));
    let shown = sandbox.run(&["agents", "coverage"]).expect_exit_code(1);
    for part in ["Claude Code", "NOT ASKED", "echo one > RAN1", BARE_SESSION, "--bare"] {
        assert!(shown.stdout.contains(part), "{part}\n{}", shown.stdout);
    }
    assert_eq!(sandbox.run(&["agents", "coverage", "codex"]).expect_exit_code(0).stdout, "");
}

#[test]
fn denied_call_that_ran_is_listed_first() {
    let sandbox = guarded();
    ask_bridge(&sandbox, ASKED_SESSION);
    keep_transcript(&sandbox, BARE_SESSION, |_| {});
    keep_transcript(&sandbox, ASKED_SESSION, |line| {
        if line["permissionDecision"]["decision"] == "reject" {
            line["permissionDecision"]["decision"] = json!("accept");
        }
    });
    let shown = sandbox.run(&["agents", "coverage"]).expect_exit_code(1).stdout;
    let (overruled, not_asked) = (shown.find("\noverruled:").unwrap(), shown.find("\nnot asked:").unwrap());
    assert!(overruled < not_asked && shown[overruled..not_asked].contains("echo DENYME > RAN2"), "{shown}");
    let report = sandbox.run(&["agents", "coverage", "--json"]).expect_exit_code(1).json();
    assert_eq!(report["overruled"][0]["result"], "ran", "{report:#}");
    assert_eq!(report["agents"][0]["overruled"], 1);
}

#[test]
fn nothing_unread_is_taken_for_covered() {
    let sandbox = guarded();
    let none = sandbox.run(&["agents", "coverage"]).expect_exit_code(0);
    assert!(
        none.stderr.contains("no transcript has a call") && none.stderr.contains(".codex/sessions"),
        "{}",
        none.stderr
    );

    keep_transcript(&sandbox, ASKED_SESSION, |_| {});
    let unrecorded = sandbox.run(&["agents", "coverage"]).expect_exit_code(1);
    assert!(unrecorded.stderr.contains("nothing is recorded"), "{}", unrecorded.stderr);

    ask_bridge(&sandbox, ASKED_SESSION);
    keep_transcript(&sandbox, ASKED_SESSION, |_| {});
    let file = sandbox.home().join(".claude/projects/-project/future.jsonl");
    std::fs::write(&file, "{\"kind\":\"call\"}\n").unwrap();
    let unread = sandbox.run(&["agents", "coverage"]).expect_exit_code(1);
    assert!(unread.stderr.contains("future.jsonl: has a format that is not known"), "{}", unread.stderr);
    assert_eq!(sandbox.run(&["agents", "coverage", "--json"]).json()["unread"].as_array().unwrap().len(), 1);
    std::fs::remove_file(&file).unwrap();
    sandbox.run(&["agents", "coverage"]).expect_exit_code(0);
    let cursor = sandbox.run(&["agents", "coverage", "cursor"]).expect_exit_code(1);
    assert!(cursor.stderr.contains("transcripts of Cursor can't be read"), "{}", cursor.stderr);
}

#[test]
fn directories_follow_their_variables_and_periods_are_checked() {
    let sandbox = guarded();
    keep_transcript(&sandbox, BARE_SESSION, |_| {});
    let moved = sandbox.sibling_path("moved");
    std::fs::rename(sandbox.home().join(".claude"), &moved).unwrap();
    sandbox.run(&["agents", "coverage"]).expect_exit_code(0);
    let sandbox = sandbox.env("CLAUDE_CONFIG_DIR", moved.to_str().unwrap());
    sandbox.run(&["agents", "coverage"]).expect_exit_code(1);
    let wrong = sandbox.run(&["agents", "coverage", "--since", "yesterday"]).expect_exit_code(1);
    assert!(wrong.stderr.contains("7d"), "{}", wrong.stderr);
    sandbox.run(&["agents", "coverage", "--since", "2100-01-01"]).expect_exit_code(0);
}
