use super::*;
use serde_json::json;

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

fn one(host: Host, name: &str, input: Value) -> (String, Value) {
    let views = views(host, name, &map(input)).views;
    assert_eq!(views.len(), 1, "{name}");
    (views[0].0.tool.clone(), Value::Object(views[0].0.input.clone()))
}

#[test]
fn every_agents_words_come_to_ours() {
    let command = json!({"command": "ls"});
    for (host, name, input, ours, expected) in [
        (Host::ClaudeCode, "Bash", command.clone(), "run_shell_command", command.clone()),
        (Host::Codex, "Bash", command.clone(), "run_shell_command", command.clone()),
        (Host::Qwen, "run_shell_command", command.clone(), "run_shell_command", command.clone()),
        (Host::Droid, "Execute", command.clone(), "run_shell_command", command.clone()),
        (Host::Cursor, "Shell", command.clone(), "run_shell_command", command.clone()),
        (Host::Antigravity, "run_command", json!({"CommandLine": "ls"}), "run_shell_command", command.clone()),
        (Host::GeminiCli, "run_shell_command", command.clone(), "run_shell_command", command.clone()),
        (Host::Grok, "run_terminal_command", command.clone(), "run_shell_command", command),
        (
            Host::Copilot,
            "Edit",
            json!({"path": "/a", "old_str": "x", "new_str": "y"}),
            "replace",
            json!({"file_path": "/a", "old_string": "x", "new_string": "y"}),
        ),
        (
            Host::Copilot,
            "Write",
            json!({"path": "/a", "file_text": "x"}),
            "write_file",
            json!({"file_path": "/a", "content": "x"}),
        ),
        (
            Host::Droid,
            "Create",
            json!({"file_path": "/a", "content": "x"}),
            "write_file",
            json!({"file_path": "/a", "content": "x"}),
        ),
        (
            Host::Antigravity,
            "replace_file_content",
            json!({"TargetFile": "/a", "TargetContent": "x", "ReplacementContent": "y"}),
            "replace",
            json!({"file_path": "/a", "old_string": "x", "new_string": "y"}),
        ),
        (
            Host::Opencode,
            "edit",
            json!({"filePath": "/a", "oldString": "x", "newString": "y"}),
            "replace",
            json!({"file_path": "/a", "old_string": "x", "new_string": "y"}),
        ),
        (Host::Copilot, "Read", json!({"path": "/a"}), "read_file", json!({"file_path": "/a"})),
        (Host::Codex, "mcp__git__push", json!({"x": 1}), "mcp__git__push", json!({"x": 1})),
        (Host::Copilot, "git/push", json!({"x": 1}), "mcp__git__push", json!({"x": 1})),
    ] {
        let (tool, input) = one(host, name, input);
        assert_eq!((tool.as_str(), &input), (ours, &expected), "{host} {name}");
    }
}

#[test]
fn a_change_goes_back_in_the_hosts_own_words() {
    for (host, name, input, changes, expected) in [
        (Host::ClaudeCode, "Bash", json!({"command": "a"}), json!({"command": "b"}), json!({"command": "b"})),
        (
            Host::Copilot,
            "Edit",
            json!({"path": "/a", "old_str": "x", "new_str": "y"}),
            json!({"new_string": "z"}),
            json!({"path": "/a", "old_str": "x", "new_str": "z"}),
        ),
        (
            Host::Droid,
            "Execute",
            json!({"command": "a", "summary": "s"}),
            json!({"command": "b"}),
            json!({"command": "b", "summary": "s"}),
        ),
    ] {
        let input = map(input);
        let (view, back) = views(host, name, &input).views.remove(0);
        let mut changed = view.input;
        changed.extend(map(changes));
        assert_eq!(put_back(host, name, &input, back, &changed).map(Value::Object), Ok(expected), "{host} {name}");
    }
}

const PATCH: &str = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Update File: b.txt\n@@\n-x\n+y\n*** Delete File: c.txt\n*** End Patch";

#[test]
fn a_patch_is_a_view_of_each_file() {
    let files = |name: &str, input: Value| -> Vec<(String, String)> {
        let views = views(Host::Codex, name, &map(input));
        assert_eq!(views.standing, Standing::Known);
        let file = |call: &Call| call.input.get("file_path").and_then(Value::as_str).unwrap_or_default().to_owned();
        views.views.iter().map(|(call, _)| (call.tool.clone(), file(call))).collect()
    };
    let expected = [("write_file", "a.txt"), ("replace", "b.txt"), ("replace", "c.txt")];
    let expected: Vec<_> = expected.iter().map(|(tool, file)| ((*tool).to_owned(), (*file).to_owned())).collect();
    assert_eq!(files("apply_patch", json!({"command": PATCH})), expected);
    let within = files("Bash", json!({"command": format!("cd x && apply_patch <<'EOF'\n{PATCH}\nEOF")}));
    assert_eq!(within[0].0, "run_shell_command");
    assert_eq!(within[1..], expected);
}

#[test]
fn what_cannot_be_read_is_unknown_and_never_rewritten() {
    let cut = json!({"command": "*** Begin Patch\n*** Add File: a\n+x"});
    assert_eq!(views(Host::Codex, "apply_patch", &map(cut.clone())).standing, Standing::Unknown);
    let shell = json!({"command": "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\nEOF"});
    assert_eq!(views(Host::Codex, "Bash", &map(shell)).standing, Standing::Unknown);
    assert_eq!(views(Host::ClaudeCode, "Frobnicate", &Map::new()).standing, Standing::Unknown);
    assert_eq!(views(Host::ClaudeCode, "Bash ", &Map::new()).standing, Standing::Unknown);
    assert_eq!(views(Host::Cursor, "MCP:push", &Map::new()).standing, Standing::SomeServers);
    assert_eq!(views(Host::ClaudeCode, "AskUserQuestion", &Map::new()).standing, Standing::Harmless);
    let (_, back) = views(Host::Codex, "apply_patch", &map(json!({"command": PATCH}))).views.remove(0);
    assert!(put_back(Host::Codex, "apply_patch", &Map::new(), back, &Map::new()).is_err());
}

/// A key in both spellings is shown in both: nobody knows which the host heeds.
#[test]
fn two_spellings_of_a_key_hide_nothing() {
    let (_, input) = one(Host::Copilot, "Write", json!({"file_path": "/safe", "path": "/etc/passwd", "content": "x"}));
    assert_eq!(input["file_path"], "/safe");
    assert_eq!(input["path"], "/etc/passwd");
}
