//! Approval requests of other agents: which hooks run for them, and how often.

use hookwright_testkit::{Sandbox, make_executable};
use serde_json::{Value, json};

use super::{answer, bridge, expected_denial, shell};
use crate::sandbox;

/// An approval request in an agent's format.
fn question(host: &str, command: &str) -> Value {
    match host {
        "copilot" => json!({"hookName": "permissionRequest", "sessionId": "s", "timestamp": 1, "toolName": "bash",
            "toolInput": {"command": command}, "permissionSuggestions": []}),
        "qwen" => json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "run_shell_command",
            "tool_input": {"command": command}}),
        _ => {
            json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": command}})
        }
    }
}

const ASKING: [&str; 4] = ["claude-code", "codex", "copilot", "qwen"];

/// A hook whose runs are counted.
fn counting(sandbox: &Sandbox, name: &str, script: &str) -> String {
    sandbox.script(
        &format!("{name}.sh"),
        &format!("cat > /dev/null; echo x >> \"{}/{name}.runs\"\n{script}", sandbox.project().display()),
    )
}

fn runs(sandbox: &Sandbox, name: &str) -> usize {
    if sandbox.has_file(&format!("{name}.runs")) { sandbox.read(&format!("{name}.runs")).lines().count() } else { 0 }
}

#[test]
fn a_guards_no_holds_where_the_agent_asks_for_permission() {
    let sandbox = sandbox();
    let guard = counting(&sandbox, "guard", "echo 'hands off' >&2; exit 2");
    let other = counting(&sandbox, "other", "echo 'me too' >&2; exit 2");
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [
        {"type": "command", "name": "guard", "guard": true, "command": guard},
        {"type": "command", "name": "other", "command": other},
    ]}]}}));
    for (nth, host) in ASKING.into_iter().enumerate() {
        let run = bridge(&sandbox, &[host, "--event", "PermissionRequest"], &question(host, "ls"));
        let told = answer(&run);
        let decision = json!({"behavior": "deny", "message": "hands off"});
        assert_eq!(told["hookSpecificOutput"]["decision"], decision, "{host}: {run:#?}");
        assert_eq!(told["behavior"] == "deny", host == "copilot", "{told}");
        assert_eq!((runs(&sandbox, "guard"), runs(&sandbox, "other")), (nth + 1, 0), "only guards are asked again");
    }
}

/// `hooks fire --as` behaves like the bridge.
#[test]
fn firing_a_question_as_an_agent_asks_guards_alone() {
    let sandbox = sandbox();
    let guard = counting(&sandbox, "guard", "echo 'hands off' >&2; exit 2");
    let other = counting(&sandbox, "other", "exit 0");
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "guard", "guard": true, "command": guard},
        {"type": "command", "name": "other", "command": other},
    ]}]}}));
    sandbox.write("question.json", question("codex", "ls").to_string());
    let args = ["hooks", "fire", "Notification", "--as", "codex", "--input", "question.json"];
    let run = sandbox.run(&args).expect_exit_code(2);
    assert!(run.stdout.contains("BeforeTool") && run.stdout.contains("hands off"), "{run:#?}");
    assert_eq!((runs(&sandbox, "guard"), runs(&sandbox, "other")), (1, 0));
}

/// The user is being asked already, and rewrites happened at the first event, so that only a denial counts.
#[test]
fn only_a_denial_counts_for_an_approval_request() {
    for said in [
        r#"{"decision": "ask", "reason": "sure?"}"#,
        r#"{"hookSpecificOutput": {"tool_input": {"command": "nice ls"}}}"#,
        r#"{"decision": "allow"}"#,
        "",
    ] {
        let sandbox = sandbox();
        let guard = counting(&sandbox, "guard", &format!("echo '{said}'"));
        sandbox.settings(
            &json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "guard": true, "command": guard}]}]}}),
        );
        for host in ASKING {
            let run = bridge(&sandbox, &[host, "--event", "PermissionRequest"], &question(host, "ls"));
            assert_eq!((answer(&run), run.code), (Value::Null, Some(0)), "{host} {said}: {run:#?}");
        }
        assert_eq!(runs(&sandbox, "guard"), 4);
    }
}

#[test]
fn a_guard_that_fails_or_sleeps_keeps_permission_from_being_given() {
    let sandbox = sandbox();
    for (script, words) in [("exit 1", "exit"), ("kill -9 $$", "signal"), ("echo '{\"decision\": \"de'", "output")] {
        let guard = sandbox.script("guard.sh", script);
        sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "g", "guard": true, "command": guard}]}]}}));
        let run = bridge(&sandbox, &["codex"], &question("codex", "ls"));
        assert_eq!(answer(&run)["hookSpecificOutput"]["decision"]["behavior"], "deny", "{words}: {run:#?}");
    }
    std::fs::remove_file(sandbox.project().join("guard.sh")).unwrap_or_default();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "g", "guard": true, "command": "./not-there.sh"}]}]}}));
    let run = bridge(&sandbox, &["claude-code"], &question("claude-code", "ls"));
    assert_eq!(answer(&run)["hookSpecificOutput"]["decision"]["behavior"], "deny", "{run:#?}");
}

/// Notification hooks decide nothing, as in a session.
#[test]
fn a_notification_hook_is_told_and_does_not_decide() {
    let sandbox = sandbox();
    let hook = counting(&sandbox, "told", "echo '{\"decision\": \"deny\", \"reason\": \"no\"}'");
    sandbox.settings(&json!({"hooks": {"Notification": [{"matcher": "ToolPermission", "hooks": [{"type": "command", "command": hook}]}]}}));
    let run = bridge(&sandbox, &["codex"], &question("codex", "ls"));
    assert_eq!((answer(&run), runs(&sandbox, "told")), (Value::Null, 1), "{run:#?}");
}

#[test]
fn a_call_that_is_too_large_to_be_shown_is_a_no_for_guards() {
    let mut payload = shell("grok", "PreToolUse", "ls; : xxxxx [truncated]");
    payload["toolInputTruncated"] = true.into();
    let run = bridge(&super::guarded("exit 0"), &["grok", "--event", "PreToolUse"], &payload);
    let reason = answer(&run)["reason"].as_str().unwrap_or_default().to_owned();
    assert!(run.code == Some(2) && reason.contains("only its beginning"), "{run:#?}");
    assert_eq!(answer(&run)["decision"], expected_denial("grok", "").0["decision"]);
    let run = bridge(&sandbox(), &["grok", "--event", "PreToolUse"], &payload);
    assert_eq!((answer(&run), run.code), (Value::Null, Some(0)), "there is no guard: {run:#?}");
}

/// Claude Code runs its own hooks. If `readClaude` loads them too, they run again only where Claude Code may overlook a
/// denial.
#[test]
fn hooks_of_claude_codes_own_files_are_not_run_twice_for_nothing() {
    let sandbox = sandbox();
    let hook = |name: &str, more: Value| {
        make_executable(
            &sandbox.write(&format!("{name}.sh"), format!("#!/bin/sh\ncat > /dev/null\necho x >> {name}.runs\n")),
        );
        let mut hook = json!({"type": "command", "command": format!("./{name}.sh")});
        for (key, value) in more.as_object().into_iter().flatten() {
            hook[key] = value.clone();
        }
        hook
    };
    let events = json!({
        "PreToolUse": [{"hooks": [hook("before", json!({})), hook("beside", json!({"async": true}))]}],
        "UserPromptSubmit": [{"hooks": [hook("prompt", json!({}))]}],
        "PostToolUse": [{"hooks": [hook("after", json!({})), hook("hide", json!({"guard": true}))]}],
        "Stop": [{"hooks": [hook("stop", json!({}))]}],
        "SessionStart": [{"hooks": [hook("start", json!({}))]}],
    });
    sandbox.write(".claude/settings.json", json!({"hooks": events}).to_string());
    sandbox.user_settings(&json!({"hooksConfig": {"readClaude": true}}));
    let send = |host: &str| {
        let payload = |event: &str| {
            json!({"hook_event_name": event, "session_id": "s", "prompt": "hi", "prompt_id": "p", "tool_name": "Bash", "source": "startup",
                "tool_input": {"command": "ls"}, "tool_response": {"stdout": "a"}})
        };
        for event in ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"] {
            bridge(&sandbox, &[host, "--event", event], &payload(event)).expect_exit_code(0);
        }
    };
    send("claude-code");
    let counts = |names: &[&str]| names.iter().map(|name| runs(&sandbox, name)).collect::<Vec<_>>();
    assert_eq!(counts(&["before", "prompt", "hide"]), [1, 1, 1], "a no may be overlooked there");
    assert_eq!(counts(&["beside", "after", "stop", "start"]), [0, 0, 0, 0], "Claude Code has run them");
    send("codex");
    assert_eq!(counts(&["before", "prompt", "hide", "after", "stop", "start"]), [2, 2, 2, 1, 1, 1]);
}

#[test]
fn hooks_get_the_approval_mode() {
    let sandbox = sandbox();
    let ours = sandbox.script("ours.sh", "cat > ours.json");
    let theirs = sandbox.script("theirs.sh", "cat > theirs.json");
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "command": ours}, {"type": "command", "dialect": "claude", "command": theirs},
    ]}]}}));
    let read = |name: &str| serde_json::from_str::<Value>(&sandbox.read(name)).unwrap();
    let mut payload = shell("claude-code", "PreToolUse", "ls");
    payload["permission_mode"] = "acceptEdits".into();
    bridge(&sandbox, &["claude-code"], &payload).expect_exit_code(0);
    assert_eq!(read("ours.json")["approval_mode"], "auto_edit");
    assert_eq!(read("theirs.json")["permission_mode"], "acceptEdits");
    let replay =
        hookwright_testkit::ReplayBuilder::new().calls("run_shell_command", json!({"command": "true"})).says("done");
    let file = sandbox.replay(&replay);
    sandbox.run(&["-p", "go", "-y", "--fake-responses", &file]).expect_exit_code(0);
    assert_eq!(
        (read("ours.json")["approval_mode"].clone(), read("theirs.json")["permission_mode"].clone()),
        (json!("yolo"), json!("bypassPermissions"))
    );
}

/// A failed call is a separate event in Claude Code.
#[test]
fn failures_reach_the_hooks_that_are_for_them() {
    let sandbox = sandbox();
    let hook = |name: &str| json!([{"hooks": [{"type": "command", "command": sandbox.script(&format!("{name}.sh"), &format!("cat > {name}.json"))}]}]);
    let events = json!({"PostToolUse": hook("after"), "PostToolUseFailure": hook("failed")});
    sandbox.write(".claude/settings.json", json!({"hooks": events}).to_string());
    sandbox.user_settings(&json!({"hooksConfig": {"readClaude": true}}));
    let call = json!({"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "false"}});
    let mut failed = call.clone();
    failed["hook_event_name"] = "PostToolUseFailure".into();
    failed["error"] = "exit 1".into();
    bridge(&sandbox, &["qwen"], &failed).expect_exit_code(0);
    assert!(!sandbox.has_file("after.json"));
    let told: Value = serde_json::from_str(&sandbox.read("failed.json")).unwrap();
    assert_eq!((&told["hook_event_name"], &told["error"]), (&json!("PostToolUseFailure"), &json!("exit 1")));
    std::fs::remove_file(sandbox.project().join("failed.json")).unwrap();
    let mut worked = call;
    worked["hook_event_name"] = "PostToolUse".into();
    worked["tool_response"] = "fine".into();
    bridge(&sandbox, &["qwen"], &worked).expect_exit_code(0);
    assert!(sandbox.has_file("after.json") && !sandbox.has_file("failed.json"));
}
