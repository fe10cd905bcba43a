//! Policies against the real binary: no spelling gets around a deny, only those who may loosen do, and `policy …` says
//! which rule decides.

use crate::sandbox;
use hookwright_testkit::{Replay, Run, Sandbox};
use serde_json::json;

const NO_RM: &str =
    "[[rule]]\ncommandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 100\ndenyMessage = \"keep it\"\n";
const ASK_TOUCH: &str = "[[rule]]\ncommandPrefix = \"touch\"\ndecision = \"ask_user\"\n";

fn user_policy(sandbox: &Sandbox, name: &str, text: &str) {
    let directory = sandbox.home().join(".gemini/policies");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join(name), text).unwrap();
}

fn shell(sandbox: &Sandbox, command: &str, more: &[&str]) -> Run {
    let replay = Replay::new().calls("run_shell_command", json!({"command": command})).says("ok");
    let file = sandbox.replay(&replay);
    let args = ["-p", "hello", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
    sandbox.run(&[&args, more].concat())
}

fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in:\n{text}");
}

#[test]
fn no_spelling_gets_around_a_deny() {
    let sandbox = sandbox();
    user_policy(&sandbox, "rm.toml", NO_RM);
    for command in [
        "rm -rf x;",
        "true && rm -rf x",
        "echo $(rm -rf x)",
        "echo `rm -rf x`",
        "env rm -rf x",
        "sudo rm -rf x",
        "echo x | xargs rm -rf",
        "sh -c 'rm -rf x'",
        "/bin/rm -rf x",
        "command rm -rf x",
        "\\rm -rf x",
        "true\nrm -rf x",
        "{ rm -rf x; }",
    ] {
        sandbox.write("x", "");
        let run = shell(&sandbox, command, &[]).exits(0);
        has(&run.stderr, "Tool execution denied by policy: keep it");
        assert!(sandbox.has("x"), "{command}");
    }
    // What only the running shell knows may be what is denied: it is asked, and nobody is there.
    shell(&sandbox, "X=rm; $X -rf x", &[]).exits(0);
    assert!(sandbox.has("x"));
    shell(&sandbox, "echo rm > ran", &[]).exits(0);
    assert!(sandbox.has("ran"));
}

#[test]
fn an_ask_is_asked_in_yolo_too() {
    let sandbox = sandbox();
    sandbox.write("p/ask.toml", ASK_TOUCH);
    let run = shell(&sandbox, "touch ran", &["--policy", "p"]).exits(0);
    has(&run.stderr, "needs approval");
    assert!(!sandbox.has("ran"));
    shell(&sandbox, "touch ran", &[]).exits(0);
    assert!(sandbox.has("ran"));
}

#[test]
fn a_projects_rules_count_where_it_is_trusted_and_only_tighten() {
    let sandbox = sandbox();
    sandbox.write(".gemini/policies/p.toml", NO_RM.to_owned() + "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\n");
    sandbox.write("x", "");
    let run = shell(&sandbox, "rm x", &[]).exits(0);
    has(&run.stderr, "keep it");
    has(&run.stderr, "p.toml:6:1: warning: a project can only tighten, so this `allow` is ignored");
    assert!(sandbox.has("x"));
    let sandbox = sandbox.untrusted();
    let list = sandbox.run(&["policy", "list"]).exits(0);
    has(&list.stdout, "no rules are in force");
}

#[test]
fn an_extensions_rules_count() {
    let sandbox = sandbox();
    let extension = sandbox.home().join(".gemini/extensions/tidy");
    std::fs::create_dir_all(extension.join("policies")).unwrap();
    std::fs::write(extension.join("gemini-extension.json"), r#"{"name": "tidy", "version": "1.0.0"}"#).unwrap();
    std::fs::write(extension.join("policies/p.toml"), NO_RM).unwrap();
    has(&shell(&sandbox, "rm x", &[]).exits(0).stderr, "keep it");
    let without = shell(&sandbox, "rm -f x", &["--extensions", "none"]).exits(0);
    assert!(!without.stderr.contains("keep it"));
}

#[test]
fn a_broken_policy_stops_what_nobody_watches() {
    let sandbox = sandbox();
    user_policy(&sandbox, "broken.toml", "[[rule]]\ntoolName = 7\ndecision = \"deny\"\n");
    let run = shell(&sandbox, "touch ran", &[]).exits(52);
    has(&run.stderr, "broken.toml:2:12");
    has(&run.stderr, "policy check");
    assert!(!sandbox.has("ran"));
    let file = sandbox.home().join(".gemini/policies/broken.toml");
    has(&sandbox.run(&["policy", "check", file.to_str().unwrap()]).exits(1).stderr, "expected a text");
    let args = ["policy", "explain", "write_file", "{}", "--mode", "yolo"];
    has(&sandbox.run(&args).exits(3).stdout, "a policy file that is broken");
}

#[test]
fn explaining_names_what_decides() {
    let sandbox = sandbox();
    user_policy(&sandbox, "rm.toml", NO_RM);
    let explain = |args: &[&str]| sandbox.run(&[&["policy", "explain"], args].concat());
    let denied = explain(&["run_shell_command", r#"{"command": "ls; rm x"}"#, "--json"]).exits(2).json();
    assert_eq!(
        (&denied["decision"], &denied["message"]),
        (&json!("deny"), &json!("Tool execution denied by policy: keep it"))
    );
    has(denied["by"].as_str().unwrap(), "rm.toml:1 (user, priority 100)");
    has(
        &explain(&["run_shell_command", r#"{"command": "ls"}"#]).exits(3).stdout,
        "ask_user, by the approval mode default",
    );
    has(&explain(&["write_file", "{}", "--mode", "yolo"]).exits(0).stdout, "allow, by the approval mode yolo");
    explain(&["write_file", "[]"]).exits(1);
    let rules = sandbox.run(&["policy", "list", "--json"]).exits(0).json();
    assert_eq!((&rules["rules"][0]["tier"], &rules["rules"][0]["line"]), (&json!("user"), &json!(1)));
}

#[test]
fn settings_take_single_commands_away() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"tools": {"exclude": ["run_shell_command(touch)"]}}));
    has(&shell(&sandbox, "true; touch ran", &[]).exits(0).stderr, "tools.exclude takes `touch` away");
    sandbox.settings(&json!({"tools": {"core": ["run_shell_command(echo)"]}}));
    has(&shell(&sandbox, "touch ran", &[]).exits(0).stderr, "tools.core names the commands that may run");
    assert!(!sandbox.has("ran"));
    shell(&sandbox, "echo a > ran", &[]).exits(0);
    assert!(sandbox.has("ran"));
}
