//! `hooks migrate --from-claude`: added to what is there, nothing overwritten, nothing doubled.

use crate::sandbox;
use serde_json::json;

const CLAUDE: &str = r#"{ "hooks": {
  "PreToolUse": [ { "matcher": "Bash|Edit", "hooks": [ { "type": "command", "command": "$CLAUDE_PROJECT_DIR/guard.sh", "timeout": 30 } ] } ],
  "Stop": [ { "hooks": [ { "type": "command", "command": "check" } ] } ],
  "SomethingElse": [ { "hooks": [ { "type": "command", "command": "x" } ] } ]
} }"#;

#[test]
fn hooks_are_taken_over_once() {
    let sandbox = sandbox();
    sandbox.write(".claude/settings.json", CLAUDE);
    sandbox.write(".gemini/settings.json", "{\n  // keep me\n  \"hooks\": { \"AfterAgent\": [] }\n}\n");
    let dry = sandbox.run(&["hooks", "migrate", "--from-claude", "--dry-run"]).exits(0);
    assert!(dry.stdout.contains("+") && dry.stdout.contains("run_shell_command|replace"), "{}", dry.stdout);
    assert!(dry.stderr.contains("SomethingElse"), "{}", dry.stderr);
    assert!(!sandbox.read(".gemini/settings.json").contains("BeforeTool"));
    sandbox.run(&["hooks", "migrate", "--from-claude"]).exits(0);
    let after = sandbox.read(".gemini/settings.json");
    assert!(after.contains("// keep me"), "{after}");
    let hooks = sandbox.run(&["hooks", "list", "--json"]).json();
    let found: Vec<_> = hooks
        .as_array()
        .unwrap()
        .iter()
        .map(|hook| (hook["event"].as_str().unwrap().to_owned(), hook["matcher"].clone(), hook["timeout_ms"].clone()))
        .collect();
    assert!(found.contains(&("BeforeTool".into(), json!("run_shell_command|replace"), json!(30000))), "{found:?}");
    assert!(found.iter().any(|(event, _, _)| event == "AfterAgent"), "{found:?}");
    let again = sandbox.run(&["hooks", "migrate", "--from-claude"]).exits(0);
    assert!(again.stderr.contains("already"), "{}", again.stderr);
    assert_eq!(sandbox.read(".gemini/settings.json"), after);
}

#[test]
fn nothing_to_take_over_is_said() {
    let run = sandbox().run(&["hooks", "migrate", "--from-claude"]).exits(0);
    assert!(run.stderr.contains("no Claude Code settings"), "{}", run.stderr);
}

#[test]
fn the_users_own_go_to_the_user() {
    let sandbox = sandbox();
    std::fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    std::fs::write(sandbox.home().join(".claude/settings.json"), CLAUDE).unwrap();
    sandbox.run(&["hooks", "migrate", "--from-claude", "--project"]).exits(0);
    assert!(!sandbox.home().join(".gemini/settings.json").exists());
    sandbox.run(&["hooks", "migrate", "--from-claude", "--user"]).exits(0);
    let text = std::fs::read_to_string(sandbox.home().join(".gemini/settings.json")).unwrap();
    assert!(text.contains("BeforeTool"), "{text}");
}
