use serde_json::json;

use super::*;

fn matches(rule: &str, tool: &str, input: Value) -> bool {
    let Value::Object(input) = input else { panic!("an object") };
    Condition::parse(rule).unwrap().matches(tool, &input, Path::new("/p/sub"), Path::new("/p"))
}

fn shell(rule: &str, command: &str) -> bool {
    matches(rule, "run_shell_command", json!({"command": command}))
}

#[test]
fn rules_about_commands() {
    assert!(shell("Bash", "anything") && shell("Bash(*)", "anything"));
    assert!(shell("Bash(git *)", "git push") && shell("Bash(git:*)", "git push") && shell("Bash(git *)", "git"));
    assert!(!shell("Bash(git *)", "ls") && !shell("Bash(git *)", "gitk"));
    assert!(shell("Bash(rm *)", "cd / && FOO=1 rm -rf x") && shell("Bash(rm *)", "sh -c 'rm x'"));
    assert!(shell("Bash(* --force*)", "git push --force"));
    assert!(!matches("Edit(*.ts)", "run_shell_command", json!({"command": "x"})));
}

/// Whoever hides a command from a rule runs the hook.
#[test]
fn what_nobody_can_tell_counts_as_matching() {
    assert!(shell("Bash(rm *)", "$(echo rm) -rf x") && shell("Bash(rm *)", "\"$X\" -rf x"));
    assert!(shell("Bash(rm *)", "perl -e 'unlink 1'") && shell("Bash(rm *)", "echo 'unclosed"));
    assert!(matches("Bash(rm *)", "run_shell_command", json!({"command": 7})));
    assert!(matches("Glob(x)", "glob", json!({"pattern": "y"})));
}

#[test]
fn rules_about_paths() {
    let edit = |rule: &str, path: &str| matches(rule, "replace", json!({"file_path": path}));
    assert!(edit("Edit(*.ts)", "a.ts") && edit("Edit(*.ts)", "/p/x/y/a.ts") && !edit("Edit(*.ts)", "a.rs"));
    assert!(edit("Edit(/src/**)", "/p/src/a/b") && !edit("Edit(/src/**)", "/p/lib/a"));
    assert!(edit("Edit(./.env)", "../sub/.env") && edit("Edit(//etc/**)", "/etc/passwd"));
    assert!(edit("Edit(~/x)", "anything"), "whose home nobody knows here");
    assert!(
        matches("Edit(*.ts)", "write_file", json!({"file_path": "a.ts"})),
        "a rule about edits is about all writing"
    );
}

#[test]
fn rules_about_addresses_and_servers() {
    let fetch = |rule: &str, url: &str| matches(rule, "web_fetch", json!({"url": url}));
    assert!(fetch("WebFetch(domain:a.b)", "https://a.b/x") && fetch("WebFetch(domain:a.b)", "https://u@c.a.b:8/x"));
    assert!(!fetch("WebFetch(domain:a.b)", "https://c.d/a.b"));
    assert!(matches("mcp__git", "mcp__git__push", json!({})) && matches("mcp__git__*", "mcp__git__push", json!({})));
    assert!(!matches("mcp__git", "mcp__other__push", json!({})));
}

#[test]
fn what_is_no_rule_is_none() {
    for text in ["", "Bash(git", "(x)", "a b", "Bash)git("] {
        assert_eq!(Condition::parse(text), None, "{text}");
    }
}
