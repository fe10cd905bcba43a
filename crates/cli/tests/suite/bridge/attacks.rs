//! Ways to get a yes out of a guard's no. None of them may work.

use hookwright_hooks::BridgeCall;
use hookwright_testkit::deadline::*;
use hookwright_testkit::{Run, Sandbox};
use serde_json::{Value, json};

use super::{HOSTS, answer, bridge, guarded, no, shell, yes};
use crate::sandbox;

const DENY: &str = "echo '{\"decision\": \"deny\", \"reason\": \"no\"}'";

fn raw(sandbox: &Sandbox, args: &[&str], bytes: &[u8]) -> Run {
    use std::io::Write;
    let mut child = sandbox.command(&[&["bridge"], args].concat()).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&bytes);
    });
    let run = hookwright_testkit::finish(child);
    writer.join_in_time().unwrap();
    run
}

/// Whether an agent that was not told its event takes this for a no.
#[track_caller]
fn is_blind_no(host: &str, run: &Run) {
    match host {
        "antigravity" | "opencode" => assert_eq!(answer(run)["decision"], "deny", "{host}: {run:#?}"),
        _ => assert_eq!((run.code, run.stderr.trim().is_empty()), (Some(2), false), "{host}: {run:#?}"),
    }
}

#[test]
fn payloads_that_cannot_be_read_are_no_for_guards() {
    let sandbox = guarded(DENY);
    let utf16: Vec<u8> = "{\"hook_event_name\":\"x\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    let payloads: [&[u8]; 9] = [
        b"",
        b"not json",
        b"[]",
        b"{\"hook_event_name\": \"PreToolUse\", \"tool_name\": \"Bash\"",
        b"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\",\"command\":\"rm\"}}",
        b"{\"hook_event_name\":\"SessionEnd\",\"reason\":\"x\"}{\"hook_event_name\":\"PreToolUse\"}",
        b"{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"rm\"}}",
        &utf16,
        deep.as_bytes(),
    ];
    for (host, _) in HOSTS.iter().filter(|(host, _)| *host != "antigravity") {
        for payload in payloads {
            is_blind_no(host, &raw(&sandbox, &[host], payload));
        }
    }
    // Told its event, the bridge says it in the event's own form.
    for (host, event) in HOSTS {
        let run = raw(&sandbox, &[host, "--event", event], b"");
        let (_, code) = no(host, "");
        assert!(run.stdout.contains("deny") && run.code == Some(code), "{host}: {run:#?}");
    }
    // A byte order mark is no reason not to read what follows.
    let marked = format!("\u{feff}{}", shell("claude-code", "PreToolUse", "ls"));
    assert_eq!(answer(&raw(&sandbox, &["claude-code"], marked.as_bytes())), no("claude-code", "no").0);
}

/// Where nobody guards anything, nobody is held up either, and what was wrong is said.
#[test]
fn without_guards_an_unreadable_payload_passes_with_words() {
    let sandbox = sandbox();
    for (host, event) in HOSTS {
        let run = raw(&sandbox, &[host, "--event", event], b"{");
        assert_eq!((answer(&run), run.code), (yes(host), Some(0)), "{host}: {run:#?}");
        assert!(run.stderr.contains("can't read this event"), "{host}: {run:#?}");
    }
}

#[test]
fn an_event_that_calls_itself_another_is_a_no() {
    let sandbox = guarded(DENY);
    let lie =
        json!({"hook_event_name": "SessionEnd", "reason": "x", "tool_name": "Bash", "tool_input": {"command": "rm"}});
    let run = bridge(&sandbox, &["claude-code", "--event", "PreToolUse"], &lie);
    assert!(run.stdout.contains("deny") && run.stdout.contains("this entry is for PreToolUse"), "{run:#?}");
    for (host, _) in HOSTS {
        let mut payload = shell(host, "SomethingNew", "rm");
        payload["hookEventName"] = "SomethingNew".into();
        is_blind_no(host, &bridge(&sandbox, &[host], &payload));
    }
    for name in ["pretooluse", "PRETOOLUSE", "PreToolUse ", "BeforeTool", "PreToolUseX"] {
        let mut payload = shell("claude-code", "PreToolUse", "rm");
        payload["hook_event_name"] = name.into();
        is_blind_no("claude-code", &bridge(&sandbox, &["claude-code"], &payload));
    }
}

#[test]
fn a_tool_that_nobody_knows_is_a_no_for_guards_alone() {
    let guarded = guarded(DENY);
    for name in ["Frobnicate", "Bash ", " Bash", "bash\n", "BASH", "", "Bash\u{200b}"] {
        let payload = json!({"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": {"command": "rm"}});
        let run = bridge(&guarded, &["claude-code"], &payload);
        assert!(run.stdout.contains("deny") && run.stdout.contains("guard guard does not know"), "{name:?} {run:#?}");
    }
    for harmless in ["AskUserQuestion", "ExitPlanMode", "mcp__git__log"] {
        let payload = json!({"hook_event_name": "PreToolUse", "tool_name": harmless, "tool_input": {}});
        bridge(&guarded, &["claude-code"], &payload).exits(0);
        assert_eq!(answer(&bridge(&guarded, &["claude-code"], &payload)), Value::Null, "{harmless}");
    }
    let unknown = json!({"hook_event_name": "PreToolUse", "tool_name": "Frobnicate", "tool_input": {}});
    // The user may let them pass; a project may not.
    guarded.user_settings(&json!({"hooksConfig": {"onUnknown": "allow"}}));
    assert_eq!(answer(&bridge(&guarded, &["claude-code"], &unknown)), Value::Null);
    let free = sandbox();
    let command = free.script("log.sh", "exit 0");
    let hook = json!({"BeforeTool": [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]});
    free.settings(&json!({"hooks": hook, "hooksConfig": {"onUnknown": "allow"}}));
    assert_eq!(answer(&bridge(&free, &["claude-code"], &unknown)), Value::Null);
}

#[test]
fn a_project_cannot_let_unknown_tools_pass() {
    let sandbox = sandbox();
    let command = sandbox.script("guard.sh", DENY);
    let hook =
        json!({"BeforeTool": [{"matcher": "Bash", "hooks": [{"type": "command", "guard": true, "command": command}]}]});
    sandbox.settings(&json!({"hooks": hook, "hooksConfig": {"onUnknown": "allow"}}));
    let unknown = json!({"hook_event_name": "PreToolUse", "tool_name": "Frobnicate", "tool_input": {}});
    assert!(bridge(&sandbox, &["claude-code"], &unknown).stdout.contains("deny"));
}

/// The agent's directory of the moment is not the project.
#[test]
fn leaving_the_project_does_not_leave_its_guards() {
    let sandbox = guarded(DENY);
    let project = sandbox.project().to_string_lossy().into_owned();
    let sandbox = sandbox.env("CLAUDE_PROJECT_DIR", &project);
    for cwd in ["/", "/tmp", "/nonexistent/folder", "", "relative", "."] {
        let mut payload = shell("claude-code", "PreToolUse", "rm");
        payload["cwd"] = cwd.into();
        assert_eq!(answer(&bridge(&sandbox, &["claude-code"], &payload)), no("claude-code", "no").0, "{cwd:?}");
    }
    // A folder below the project belongs to it, whatever the agent says of itself.
    let below = sandbox.project().join("src/deep");
    std::fs::create_dir_all(&below).unwrap();
    let mut payload = shell("codex", "PreToolUse", "rm");
    payload["cwd"] = below.to_string_lossy().into_owned().into();
    assert_eq!(answer(&bridge(&sandbox, &["codex"], &payload)), no("codex", "no").0);
}

/// The bridge stands down only for an agent that really judges in its place.
#[test]
fn nobody_fakes_the_bridge_into_standing_down() {
    let cursor = |sandbox: &Sandbox, entry: Value| {
        sandbox.write(".cursor/hooks.json", json!({"version": 1, "hooks": {"preToolUse": [entry]}}).to_string());
    };
    let borrowed = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "rm"},
        "session_id": "s1", "cursor_version": "3.9", "generation_id": "g", "workspace_roots": ["/p"]});
    let is_no = |sandbox: &Sandbox, payload: &Value, why: &str| {
        assert_eq!(answer(&bridge(sandbox, &["claude-code"], payload)), no("claude-code", "no").0, "{why}");
    };
    let sandbox = guarded(DENY);
    is_no(&sandbox, &borrowed, "no entry of its own");
    let patience = std::time::Duration::from_secs(60);
    let call = |host: &str, event: &str| {
        BridgeCall::command("/opt/hookwright", host, event, patience, hookwright_hooks::WithoutAnswer::Refused)
    };
    let own = call("cursor", "preToolUse");
    for (entry, why) in [
        (json!({"command": "true"}), "another command"),
        (json!({"command": "echo hookwright bridge cursor"}), "only its name"),
        (json!({"command": "hookwright bridge cursor --event preToolUse"}), "by hand"),
        (json!({"command": own, "matcher": "Read"}), "for another tool"),
        (json!({"command": format!("{own} || true")}), "a shell around it"),
        (json!({"command": call("codex", "preToolUse")}), "another agent's"),
        (json!({"command": call("cursor", "stop")}), "another event's"),
        (json!({"command": own, "enabled": false}), "switched off"),
    ] {
        cursor(&sandbox, entry);
        is_no(&sandbox, &borrowed, why);
    }
    cursor(&sandbox, json!({"command": own, "failClosed": true}));
    let run = bridge(&sandbox, &["claude-code"], &borrowed);
    assert_eq!((answer(&run), run.code), (Value::Null, Some(0)), "its own entry judges: {run:#?}");
    // Claude Code in a terminal of Cursor's is still Claude Code.
    let sandbox = sandbox.env("CURSOR_VERSION", "3.9").env("CLAUDE_CODE_SESSION_ID", "s1").env("COPILOT_CLI", "1");
    is_no(&sandbox, &shell("claude-code", "PreToolUse", "rm"), "by environment alone");
    is_no(&sandbox, &borrowed, "with Claude Code's own session");
    let other = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "cursor_version": "3.9"});
    bridge(&sandbox, &["claude-code"], &other).exits(0);
}

/// Settings that can't be read may hold guards.
#[test]
fn broken_settings_are_a_no() {
    let sandbox = guarded(DENY);
    sandbox.write(".gemini/settings.json", "{ \"hooks\": ");
    for (host, event) in HOSTS {
        let run = bridge(&sandbox, &[host], &shell(host, event, "ls"));
        let (_, code) = no(host, "");
        assert!(run.stdout.contains("deny") && run.stdout.contains("settings.json"), "{host}: {run:#?}");
        assert_eq!(run.code, Some(code), "{host}");
    }
    // What can't be refused goes on.
    let end = json!({"hook_event_name": "SessionEnd", "session_id": "s", "reason": "other"});
    bridge(&sandbox, &["claude-code"], &end).exits(0);
    let stop = json!({"hook_event_name": "Stop", "session_id": "s"});
    assert_eq!(answer(&bridge(&sandbox, &["claude-code"], &stop)), Value::Null);
}

/// A guard in a folder that nobody trusts does not run, and its silence is no yes.
#[test]
fn a_guard_of_an_untrusted_folder_is_a_no() {
    let sandbox = guarded("touch $GEMINI_PROJECT_DIR/RAN").untrusted();
    let run = bridge(&sandbox, &["codex"], &shell("codex", "PreToolUse", "ls"));
    assert!(run.stdout.contains("deny") && run.stdout.contains("not trusted"), "{run:#?}");
    assert!(!sandbox.has("RAN"));
}

#[test]
fn a_large_call_is_judged_like_any_other() {
    let sandbox = guarded("grep -q needle && exit 2; exit 0");
    let mut command = "x".repeat(20 << 20);
    command.push_str("needle");
    let run = bridge(&sandbox, &["claude-code"], &shell("claude-code", "PreToolUse", &command));
    assert!(run.stdout.contains("deny"), "{:?}", &run.stdout[..run.stdout.len().min(400)]);
    let over = vec![b' '; (64 << 20) + 2];
    is_blind_no("claude-code", &raw(&sandbox, &["claude-code"], &over));
}

/// A home that can't be written holds nothing up, and one that can't be read is no yes where guards are known.
#[test]
fn a_home_that_is_no_folder_changes_nothing_about_a_no() {
    let sandbox = guarded(DENY);
    let nowhere = sandbox.beside("file");
    std::fs::write(&nowhere, "x").unwrap();
    let sandbox = sandbox.env("HOME", &nowhere.to_string_lossy());
    let run = bridge(&sandbox, &["claude-code"], &shell("claude-code", "PreToolUse", "rm"));
    assert!(run.stdout.contains("deny"), "{run:#?}");
}
