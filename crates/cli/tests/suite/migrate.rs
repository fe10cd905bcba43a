//! `hooks migrate --from-claude`: adds to the existing hooks, overwrites nothing and duplicates nothing.

use crate::sandbox;
use hookwright_testkit::fs;
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
    let dry = sandbox.run(&["hooks", "migrate", "--from-claude", "--dry-run"]).expect_exit_code(0);
    assert!(dry.stdout.contains("+") && dry.stdout.contains("run_shell_command|replace"), "{}", dry.stdout);
    assert!(dry.stderr.contains("SomethingElse"), "{}", dry.stderr);
    assert!(!sandbox.read(".gemini/settings.json").contains("BeforeTool"));
    sandbox.run(&["hooks", "migrate", "--from-claude"]).expect_exit_code(0);
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
    let again = sandbox.run(&["hooks", "migrate", "--from-claude"]).expect_exit_code(0);
    assert!(again.stderr.contains("already"), "{}", again.stderr);
    assert_eq!(sandbox.read(".gemini/settings.json"), after);
}

#[test]
fn nothing_to_migrate_is_reported() {
    let run = sandbox().run(&["hooks", "migrate", "--from-claude"]).expect_exit_code(0);
    assert!(run.stderr.contains("no Claude Code settings"), "{}", run.stderr);
}

#[test]
fn the_users_own_go_to_the_user() {
    let sandbox = sandbox();
    std::fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    std::fs::write(sandbox.home().join(".claude/settings.json"), CLAUDE).unwrap();
    sandbox.run(&["hooks", "migrate", "--from-claude", "--project"]).expect_exit_code(0);
    assert!(!sandbox.home().join(".gemini/settings.json").exists());
    sandbox.run(&["hooks", "migrate", "--from-claude", "--user"]).expect_exit_code(0);
    let text = fs::read_to_string(sandbox.home().join(".gemini/settings.json")).unwrap();
    assert!(text.contains("BeforeTool"), "{text}");
}

/// Guards that deny under Claude Code deny after the migration; answers that Claude Code ignores count here.
#[test]
fn guards_are_fired_both_ways_and_hold() {
    let sandbox = sandbox().project_named("a project's");
    super::claude::with_guards(&sandbox);
    let verify = |sandbox: &hookwright_testkit::Sandbox| {
        sandbox.run(&["hooks", "migrate", "--from-claude", "--verify", "--json"])
    };
    let report = verify(&sandbox).expect_exit_code(1).json();
    let different: Vec<_> =
        report["cases"].as_array().unwrap().iter().filter(|case| !case["difference"].is_null()).collect();
    // The hook that logs before it answers, and the hook that answers without the event's name.
    assert!(different.iter().all(|case| case["difference"] == "stricter"), "{different:#?}");
    assert!(different.iter().any(|case| case["tool_input"]["command"] == "git push --force origin main"), "{report:#}");
    assert!(!sandbox.has_file(".gemini/settings.json"), "nothing is changed");
    let held = |tool: &str, side: &str| {
        let cases = report["cases"].as_array().unwrap().iter();
        cases.filter(|case| case["tool_name"] == tool && case[side]["decision"] == "deny").count()
    };
    assert_eq!((held("Write", "claude_code"), held("Write", "here"), held("Edit", "here")), (1, 1, 1), "{report:#}");
    sandbox.write(".claude/hooks/no-force-push.sh", "exit 0\n");
    let same = verify(&sandbox).expect_exit_code(0).json();
    assert_eq!(same["ok"], true, "{same:#}");
    let shown = sandbox.run(&["hooks", "migrate", "--from-claude", "--verify"]).expect_exit_code(0);
    assert!(shown.stdout.contains("CLAUDE CODE") && shown.stdout.contains("the same in both"), "{}", shown.stdout);
}

/// Every event that a hook can deny in Claude Code is fired both ways; those that cannot be denied here are reported.
#[test]
fn every_event_that_can_be_objected_to_is_fired_both_ways() {
    let sandbox = sandbox();
    let hook = |script: &str| json!([{"hooks": [{"type": "command", "command": script}]}]);
    let says = |event: &str| {
        format!("echo '{{\"hookSpecificOutput\":{{\"hookEventName\":\"{event}\",\"additionalContext\":\"mind\"}}}}'")
    };
    let settings = json!({"hooks": {
        "UserPromptSubmit": hook("grep -q AKIA && { echo 'no keys' >&2; exit 2; }; exit 0"),
        "Stop": hook("grep -q 'not run the tests' && echo '{\"decision\":\"block\",\"reason\":\"run them\"}'; exit 0"),
        "SubagentStop": hook("exit 0"),
        "PostToolUse": hook(&says("PostToolUse")),
        "PostToolUseFailure": hook("grep -q '\"error\":\"Command failed' || exit 0; echo 'try again' >&2; exit 2"),
        "PreCompact": hook("echo 'not now' >&2; exit 2"),
        "SessionStart": hook("touch RAN"),
    }});
    sandbox.write(".claude/settings.json", settings.to_string());
    let report = sandbox.run(&["hooks", "migrate", "--from-claude", "--verify", "--json"]).expect_exit_code(1).json();
    let cases = report["cases"].as_array().unwrap();
    let of = |event: &str| cases.iter().filter(|case| case["event"] == event).collect::<Vec<_>>();
    for event in ["UserPromptSubmit", "Stop", "SubagentStop", "PostToolUse", "PostToolUseFailure"] {
        assert!(!of(event).is_empty(), "{event}: {report:#}");
        assert!(of(event).iter().all(|case| case["difference"].is_null()), "{event}: {report:#}");
    }
    for event in ["UserPromptSubmit", "Stop", "PostToolUse", "PostToolUseFailure"] {
        assert!(of(event).iter().any(|case| case["here"]["decision"] == "deny"), "{event}: {report:#}");
    }
    // Compression cannot be denied here.
    assert!(of("PreCompact").iter().all(|case| case["difference"] == "weaker"), "{report:#}");
    assert_eq!(report["guards"], 6);
    assert!(!sandbox.has_file("RAN"), "nobody can object to a session's start");
}

#[test]
fn guards_of_a_folder_that_is_not_trusted_are_not_fired() {
    let sandbox = sandbox().untrusted();
    super::claude::with_guards(&sandbox);
    sandbox.write(".claude/hooks/no-force-push.sh", "touch RAN\n");
    let run = sandbox.run(&["hooks", "migrate", "--from-claude", "--verify"]).expect_exit_code(1);
    assert!(run.stderr.contains("this folder is not trusted") && !sandbox.has_file("RAN"), "{run:#?}");
}

#[test]
fn guards_hold_after_they_are_taken_over() {
    let sandbox = sandbox().project_named("a project's");
    super::claude::with_guards(&sandbox);
    let run = sandbox.run(&["hooks", "migrate", "--from-claude"]).expect_exit_code(0);
    assert!(run.stderr.contains("`Bash(curl *)` of `permissions.deny` is not migrated"), "{}", run.stderr);
    super::claude::assert_guards_hold(&sandbox);
    let text = sandbox.read(".gemini/settings.json");
    assert!(text.contains("\"dialect\": \"claude\"") && !text.contains("\"args\""), "{text}");
}
