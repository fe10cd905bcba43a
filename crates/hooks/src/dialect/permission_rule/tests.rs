use serde_json::json;

use super::*;

fn rule_matches(rule: &str, tool: &str, input: Value) -> bool {
    let Value::Object(input) = input else { panic!("an object") };
    PermissionRule::parse(rule).unwrap().matches(tool, &input, Path::new("/p/sub"), Path::new("/p"))
}

fn matches_shell_command(rule: &str, command: &str) -> bool {
    rule_matches(rule, "run_shell_command", json!({"command": command}))
}

#[test]
fn rules_about_commands() {
    assert!(matches_shell_command("Bash", "anything") && matches_shell_command("Bash(*)", "anything"));
    assert!(
        matches_shell_command("Bash(git *)", "git push")
            && matches_shell_command("Bash(git:*)", "git push")
            && matches_shell_command("Bash(git *)", "git")
    );
    assert!(!matches_shell_command("Bash(git *)", "ls") && !matches_shell_command("Bash(git *)", "gitk"));
    assert!(
        matches_shell_command("Bash(rm *)", "cd / && FOO=1 rm -rf x")
            && matches_shell_command("Bash(rm *)", "sh -c 'rm x'")
    );
    assert!(matches_shell_command("Bash(* --force*)", "git push --force"));
    assert!(!rule_matches("Edit(*.ts)", "run_shell_command", json!({"command": "x"})));
}

/// A command that hides from a rule matches it, so that the hook runs.
#[test]
fn undecidable_commands_match() {
    assert!(
        matches_shell_command("Bash(rm *)", "$(echo rm) -rf x") && matches_shell_command("Bash(rm *)", "\"$X\" -rf x")
    );
    assert!(
        matches_shell_command("Bash(rm *)", "perl -e 'unlink 1'")
            && matches_shell_command("Bash(rm *)", "echo 'unclosed")
    );
    assert!(rule_matches("Bash(rm *)", "run_shell_command", json!({"command": 7})));
    assert!(rule_matches("Glob(x)", "glob", json!({"pattern": "y"})));
}

#[test]
fn rules_about_paths() {
    let edit = |rule: &str, path: &str| rule_matches(rule, "replace", json!({"file_path": path}));
    assert!(edit("Edit(*.ts)", "a.ts") && edit("Edit(*.ts)", "/p/x/y/a.ts") && !edit("Edit(*.ts)", "a.rs"));
    assert!(edit("Edit(/src/**)", "/p/src/a/b") && !edit("Edit(/src/**)", "/p/lib/a"));
    assert!(edit("Edit(./.env)", "../sub/.env") && edit("Edit(//etc/**)", "/etc/passwd"));
    assert!(edit("Edit(~/x)", "anything"), "whose home nobody knows here");
    assert!(
        rule_matches("Edit(*.ts)", "write_file", json!({"file_path": "a.ts"})),
        "a rule about edits is about all writing"
    );
}

#[test]
fn rules_about_domains_and_servers() {
    let fetch = |rule: &str, url: &str| rule_matches(rule, "web_fetch", json!({"url": url}));
    assert!(fetch("WebFetch(domain:a.b)", "https://a.b/x") && fetch("WebFetch(domain:a.b)", "https://u@c.a.b:8/x"));
    assert!(!fetch("WebFetch(domain:a.b)", "https://c.d/a.b"));
    assert!(
        rule_matches("mcp__git", "mcp__git__push", json!({}))
            && rule_matches("mcp__git__*", "mcp__git__push", json!({}))
    );
    assert!(!rule_matches("mcp__git", "mcp__other__push", json!({})));
}

#[test]
fn invalid_rules_are_not_parsed() {
    for text in ["", "Bash(git", "(x)", "a b", "Bash)git("] {
        assert_eq!(PermissionRule::parse(text), None, "{text}");
    }
}
