//! What is kept of bridged events: enough to tell who said no and what became of it, and nothing that is nobody's business.

use serde_json::{Value, json};

use super::{bridge, guarded, shell};

fn lines(sandbox: &hookwright_testkit::Sandbox) -> Vec<Value> {
    let file = sandbox.home().join(".gemini/hookwright/bridge/trace.jsonl");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_event_leaves_one_line() {
    let sandbox = guarded("echo '{\"decision\": \"ask\", \"reason\": \"sure?\"}'");
    let mut payload = shell("codex", "PreToolUse", "echo private words");
    payload["turn_id"] = "t7".into();
    payload["tool_use_id"] = "u7".into();
    bridge(&sandbox, &["codex"], &payload);
    bridge(&sandbox, &["codex"], &json!({"hook_event_name": "SomethingNew", "session_id": "s"}));
    let lines = lines(&sandbox);
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
fn what_is_suppressed_is_not_kept() {
    let sandbox = guarded("echo '{\"decision\": \"deny\", \"reason\": \"the key is 1234\", \"suppressOutput\": true}'");
    bridge(&sandbox, &["claude-code"], &shell("claude-code", "PreToolUse", "ls"));
    let kept = lines(&sandbox);
    assert_eq!((kept[0]["verdict"].as_str(), kept[0].get("why")), (Some("deny"), None));
    assert!(!kept[0].to_string().contains("1234"));
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = guarded("exit 0");
    bridge(&sandbox, &["claude-code"], &shell("claude-code", "PreToolUse", "ls"));
    let file = sandbox.home().join(".gemini/hookwright/bridge/trace.jsonl");
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}
