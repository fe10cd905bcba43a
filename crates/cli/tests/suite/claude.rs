//! Hooks that were written for Claude Code: read from its files, in its format, and as safe as others.

use hookwright_testkit::{ProgramRun, ReplayBuilder, Sandbox, make_executable};
use serde_json::{Value, json};

use crate::sandbox;

/// The forms of guards that people publish for Claude Code, which need only a shell.
pub(crate) const GUARDS: [(&str, &str); 4] = [
    // Checks the tool's name, and exits with 2.
    (
        "no-rm.sh",
        r#"input=$(cat)
tool=$(printf %s "$input" | sed -n 's/.*"tool_name":"\([^"]*\)".*/\1/p')
[ "$tool" = "Bash" ] || exit 0
case $input in *'rm -rf /'*) echo "BLOCKED: dangerous rm command" >&2; exit 2 ;; esac
exit 0"#,
    ),
    // Logs, and answers with an object for its event.
    (
        "no-force-push.sh",
        r#"input=$(cat)
echo "git guard: checking"
case $input in *'"hook_event_name":"PreToolUse"'*'git push'*--force*)
  echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"force pushes need a person"}}' ;;
esac"#,
    ),
    // Compares a whole path.
    (
        "protect.sh",
        r#"path=$(sed -n 's/.*"file_path":"\([^"]*\)".*/\1/p')
case $path in
"$CLAUDE_PROJECT_DIR"/.env) echo '{"decision":"block","reason":"secrets are not for agents"}' ;;
esac"#,
    ),
    // Asks the user.
    (
        "ask-first.sh",
        r#"case $(cat) in *'"tool_name":"Bash"'*'npm publish'*)
  echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?"}}' ;;
esac"#,
    ),
];

/// Writes Claude Code's settings with those guards, one of them as a program with arguments.
pub(crate) fn with_guards(sandbox: &Sandbox) {
    for (name, script) in GUARDS {
        make_executable(&sandbox.write(&format!(".claude/hooks/{name}"), format!("#!/bin/sh\n{script}\n")));
    }
    let hook =
        |name: &str| json!({"type": "command", "command": format!("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/{name}")});
    let exec = json!({"type": "command", "command": "sh", "args": ["${CLAUDE_PROJECT_DIR}/.claude/hooks/no-force-push.sh"], "timeout": 10});
    let settings = json!({
        "permissions": {"deny": ["Bash(curl *)"]},
        "hooks": {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [hook("no-rm.sh"), exec, hook("ask-first.sh")]},
                {"matcher": "Edit|MultiEdit|Write", "hooks": [hook("protect.sh")]},
            ],
        },
    });
    sandbox.write(".claude/settings.json", format!("{settings:#}\n"));
}

/// Fires the calls that those guards concern, and some that they do not.
#[track_caller]
pub(crate) fn assert_guards_hold(sandbox: &Sandbox) {
    for (tool, args, code) in [
        ("run_shell_command", json!({"command": "rm -rf /"}), 2),
        ("run_shell_command", json!({"command": "git push --force"}), 2),
        ("run_shell_command", json!({"command": "npm publish"}), 3),
        ("write_file", json!({"file_path": ".env", "content": "x"}), 2),
        ("replace", json!({"file_path": "src/../.env", "old_string": "a", "new_string": "b"}), 2),
        ("run_shell_command", json!({"command": "ls"}), 0),
        ("write_file", json!({"file_path": "src/a", "content": "x"}), 0),
    ] {
        let run = fire(sandbox, tool, &args);
        assert_eq!(run.code, Some(code), "{tool} {args}: {run:#?}");
    }
}

fn fire(sandbox: &Sandbox, tool: &str, args: &Value) -> ProgramRun {
    sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", tool, "--args", &args.to_string()])
}

fn project_reading_claude() -> Sandbox {
    let sandbox = sandbox().project_named("a project's");
    with_guards(&sandbox);
    sandbox.user_settings(&json!({"hooksConfig": {"readClaude": true}}));
    sandbox
}

#[test]
fn guards_for_claude_code_hold_where_they_stand() {
    let sandbox = project_reading_claude();
    assert_guards_hold(&sandbox);
    sandbox.user_settings(&json!({}));
    fire(&sandbox, "run_shell_command", &json!({"command": "rm -rf /"})).expect_exit_code(0);
    sandbox.settings(&json!({"hooksConfig": {"readClaude": true}}));
    assert_guards_hold(&sandbox);
}

#[test]
fn a_session_obeys_them() {
    let sandbox = project_reading_claude();
    let replay =
        ReplayBuilder::new().calls("run_shell_command", json!({"command": "touch RAN; : rm -rf /"})).says("done");
    let file = sandbox.replay(&replay);
    let run = sandbox.run(&["-p", "go", "-y", "--fake-responses", &file]).expect_exit_code(0);
    assert!(run.stderr.contains("BLOCKED: dangerous rm command"), "{}", run.stderr);
    assert!(!sandbox.has_file("RAN"));
}

#[test]
fn the_files_of_claude_hooks_are_protected() {
    let sandbox = project_reading_claude();
    for path in
        [".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/no-rm.sh", ".hookwright/hooks.json"]
    {
        let replay = ReplayBuilder::new().calls("write_file", json!({"file_path": path, "content": "{}"})).says("done");
        let file = sandbox.replay(&replay);
        let run = sandbox.run(&["-p", "go", "-y", "--fake-responses", &file]).expect_exit_code(0);
        assert!(run.stderr.contains("is protected because guards depend on it"), "{path}: {}", run.stderr);
    }
}

#[test]
fn lists_and_checks_know_them() {
    let sandbox = project_reading_claude();
    let list = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    let hooks = list.as_array().unwrap();
    assert_eq!(hooks.len(), 4, "{list:#}");
    assert!(hooks.iter().all(|hook| hook["dialect"] == "claude" && hook["source"] == "project"), "{list:#}");
    assert!(hooks.iter().any(|hook| hook["timeout_ms"] == 10_000), "seconds there: {list:#}");
    sandbox.run(&["hooks", "doctor"]).expect_exit_code(0);
    let checked = sandbox.run(&["hooks", "validate"]).expect_exit_code(0);
    assert!(checked.stderr.contains("Claude Code's `permissions` are not read here"), "{checked:#?}");
    sandbox.write(".claude/settings.json", "{ broken");
    sandbox.run(&["hooks", "validate"]).expect_exit_code(1);
    let file = sandbox.replay(&ReplayBuilder::new().says("done"));
    sandbox.run(&["-p", "go", "--fake-responses", &file]).expect_exit_code(52);
}

#[test]
fn a_folder_that_is_not_trusted_runs_none_of_them() {
    let sandbox = project_reading_claude().untrusted();
    make_executable(&sandbox.write(".claude/hooks/no-rm.sh", "#!/bin/sh\ntouch RAN\n"));
    sandbox.write(
        ".hookwright/hooks.json",
        r#"{"BeforeTool": [{"hooks": [{"type": "command", "command": "touch RAN"}]}]}"#,
    );
    let run = fire(&sandbox, "run_shell_command", &json!({"command": "ls"})).expect_exit_code(1);
    assert!(run.stdout.contains(".claude/settings.json has hooks for BeforeTool that did not run"), "{run:#?}");
    assert!(run.stdout.contains(".hookwright/hooks.json has hooks for BeforeTool that did not run"), "{run:#?}");
    assert!(!sandbox.has_file("RAN"));
}

#[test]
fn new_and_changed_ones_are_reviewed() {
    let sandbox = project_reading_claude();
    sandbox.user_settings(&json!({"hooksConfig": {"readClaude": true}, "security": {"hooks": {"review": "block"}}}));
    let state = |sandbox: &Sandbox| sandbox.run(&["hooks", "list"]).stdout;
    assert!(state(&sandbox).contains("untrusted"), "{}", state(&sandbox));
    sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0);
    assert!(!state(&sandbox).contains("untrusted"), "{}", state(&sandbox));
    make_executable(&sandbox.write(".claude/hooks/no-rm.sh", "#!/bin/sh\nexit 0\n"));
    assert!(state(&sandbox).contains("untrusted"), "{}", state(&sandbox));
}

#[test]
fn hooks_for_any_agent_stand_in_a_place_of_their_own() {
    let sandbox = sandbox();
    let deny = |why: &str| json!({"type": "command", "command": format!("echo {why} >&2; exit 2")});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [deny("one")]}]}}));
    sandbox.write(".hookwright/hooks.json", json!({"hooks": {"BeforeTool": [{"hooks": [deny("two")]}]}}).to_string());
    std::fs::create_dir_all(sandbox.home().join(".hookwright")).unwrap();
    let bare = json!({"BeforeTool": [{"hooks": [deny("three")]}]}).to_string();
    std::fs::write(sandbox.home().join(".hookwright/hooks.json"), bare).unwrap();
    let list = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    let found: Vec<_> =
        list.as_array().unwrap().iter().map(|hook| (hook["source"].clone(), hook["command"].clone())).collect();
    let expected = [("project", "one"), ("project", "two"), ("user", "three")];
    let expected: Vec<_> =
        expected.iter().map(|(source, why)| (json!(source), json!(format!("echo {why} >&2; exit 2")))).collect();
    assert_eq!(found, expected);
    let run = fire(&sandbox, "glob", &json!({"pattern": "x"})).expect_exit_code(2);
    assert!(run.stdout.contains("one\n") && run.stdout.contains("three"), "{}", run.stdout);
    sandbox.run(&["hooks", "disable", "echo two >&2; exit 2"]).expect_exit_code(0);
    assert!(sandbox.read(".gemini/settings.json").contains("disabled"), "switches stay in the settings");
    sandbox.write(".hookwright/hooks.json", "{ broken");
    sandbox.run(&["hooks", "validate"]).expect_exit_code(1);
}
