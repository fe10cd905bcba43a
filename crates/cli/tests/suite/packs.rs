//! Packs of rules: what `hooks packs` and `hooks add --pack` do, and what the shipped packs keep calls from.

use std::path::{Path, PathBuf};
use std::process::Command;

use hookwright_testkit::deadline::*;
use hookwright_testkit::{Sandbox, fs, report_skipped};
use serde_json::{Value, json};

use crate::sandbox;

fn packs_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/packs")
}

fn add(sandbox: &Sandbox, pack: &str, options: &[&str]) -> String {
    sandbox.run(&[&["hooks", "add", "--pack", pack], options].concat()).expect_exit_code(0).stdout
}

#[test]
fn every_pack_is_shipped_and_valid() {
    let run = sandbox().run(&["hooks", "packs", "--json"]).expect_exit_code(0);
    let packs: Value = serde_json::from_str(&run.stdout).unwrap();
    let mut shipped: Vec<&str> = packs.as_array().unwrap().iter().map(|pack| pack["name"].as_str().unwrap()).collect();
    shipped.sort_unstable();
    let folders = std::fs::read_dir(packs_dir()).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.is_dir()).collect();
    folders.sort();
    let names: Vec<String> =
        folders.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(shipped, names);
    for pack in packs.as_array().unwrap() {
        let is_users = pack["name"] == "quiet";
        assert_eq!(pack["scope"], if is_users { "user" } else { "project" }, "{pack}");
        assert!(!pack["summary"].as_str().unwrap().is_empty() && !pack["hooks"].as_array().unwrap().is_empty());
    }
    let table = sandbox().run(&["hooks", "packs"]).expect_exit_code(0).stdout;
    assert!(names.iter().all(|name| table.contains(name)), "{table}");
}

#[test]
fn a_pack_is_added_once_and_keeps_what_is_there() {
    let sandbox = sandbox();
    let own = json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "rule", "name": "mine", "decision": "ask",
        "when": {"commands": ["x"]}, "reason": "r"}]}]}});
    sandbox.write(".hookwright/hooks.json", own.to_string());
    let said = add(&sandbox, "essentials", &[]);
    assert!(said.contains("added    no-forced-push") && said.contains(".hookwright/hooks.json"), "{said}");
    let text = sandbox.read(".hookwright/hooks.json");
    assert!(text.contains("\"mine\"") && text.contains("no-secrets"), "{text}");
    let again = add(&sandbox, "essentials", &[]);
    assert!(again.contains("present  no-forced-push") && !again.contains("added"), "{again}");
    assert_eq!(sandbox.read(".hookwright/hooks.json"), text);
    let listed = sandbox.run(&["hooks", "list", "--skip-trust"]).stdout;
    assert!(listed.contains("no-forced-push"), "{listed}");
    // The test that came along is about this file.
    let run = sandbox.run(&["hooks", "test", "--skip-trust"]);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
}

#[test]
fn a_pack_that_approves_goes_to_the_users_settings() {
    let sandbox = sandbox();
    let said = add(&sandbox, "quiet", &[]);
    assert!(said.contains("quiet-programs"), "{said}");
    assert!(!sandbox.has_file(".hookwright/hooks.json"));
    let file = sandbox.home().join(".hookwright/hooks.json");
    assert!(fs::read_to_string(&file).unwrap().contains("quiet-programs"));
    let said = add(&sandbox, "essentials", &["--user"]);
    assert!(said.contains("no-secrets") && !sandbox.has_file(".hookwright/hooks.json"), "{said}");
}

#[test]
fn a_folder_can_be_a_pack() {
    let sandbox = sandbox();
    for (name, text) in [
        (
            "hooks.json",
            r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "rule", "name": "no-docs", "decision": "deny", "when": {"writes": ["docs/**"]}, "reason": "not the docs"}]}]}}"#,
        ),
        (
            "team.hooktest.toml",
            "settings = \"hooks.json\"\n\n[[case]]\nname = \"docs\"\nevent = \"BeforeTool\"\ntool = \"write_file\"\nargs = { file_path = \"docs/a\", content = \"\" }\nexpect = { decision = \"deny\" }\n",
        ),
        ("README.md", "# team: our rules\n"),
    ] {
        sandbox.write(&format!("packs/team/{name}"), text);
    }
    assert!(add(&sandbox, "packs/team", &[]).contains("no-docs"));
    let run = sandbox.run(&["hooks", "test", "--skip-trust", ".hookwright"]);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    sandbox.write(
        "packs/team/hooks.json",
        r#"{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "x", "command": "x"}]}]}}"#,
    );
    let run = sandbox.run(&["hooks", "add", "--pack", "packs/team"]);
    assert!(run.code == Some(1) && run.stderr.contains("runs a program"), "{run:?}");
    let run = sandbox.run(&["hooks", "add", "--pack", "esentials"]);
    assert!(run.code == Some(1) && run.stderr.contains("did you mean `essentials`"), "{run:?}");
}

/// The answer of a host's hook to a shell command, with the pack as the user's.
fn bridge(sandbox: &Sandbox, host: &str, command: &str) -> String {
    let payload = json!({"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash",
        "tool_input": {"command": command}});
    sandbox.run_with_input(&["bridge", host], &payload.to_string()).stdout
}

#[test]
fn doubtful_work_runs_without_the_secrets_and_without_a_question() {
    let sandbox = sandbox();
    sandbox.write(".env", "TOKEN=hunter2");
    sandbox.write("build.sh", "cat .env\necho built > out\necho ran\n");
    add(&sandbox, "essentials", &["--user"]);
    // Codex has a sandbox of its own, in which nothing can be confined: the command runs as it is.
    assert_eq!(bridge(&sandbox, "codex", "bash build.sh"), "");
    assert!(bridge(&sandbox, "codex", "git push --force").contains("forced push"));
    if sandbox.run(&["run", "--", "true"]).code == Some(125) {
        report_skipped(
            "doubtful_work_runs_without_the_secrets_and_without_a_question",
            "commands can't be confined here",
        );
        return;
    }
    for command in ["bash build.sh", "grep -r hunter .; bash build.sh"] {
        let answer: Value = serde_json::from_str(&bridge(&sandbox, "claude-code", command)).unwrap();
        assert!(answer.pointer("/hookSpecificOutput/permissionDecision").is_none_or(|word| word != "ask"), "{answer}");
        let rewritten = answer.pointer("/hookSpecificOutput/updatedInput/command").and_then(Value::as_str).unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", rewritten]).current_dir(sandbox.project());
        let output = shell.output_in_time().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.contains("ran") && !printed.contains("hunter2"), "{output:?}");
        assert_eq!(sandbox.read("out"), "built\n");
    }
    // What is known and harmless is left alone.
    assert_eq!(bridge(&sandbox, "claude-code", "git status"), "");
}

#[test]
fn what_is_not_known_runs_confined_and_without_a_question() {
    const TEST: &str = "what_is_not_known_runs_confined_and_without_a_question";
    if sandbox().run(&["run", "--", "true"]).code == Some(125) {
        return report_skipped(TEST, "commands can't be confined here");
    }
    let sandbox = sandbox();
    sandbox.write(".env", "TOKEN=hunter2");
    sandbox.write(".git/kept", "kept");
    // The sandbox lies in a folder for temporary files, which may be changed.
    let outside = PathBuf::from(format!("/var/tmp/hookwright-escaped-{}", std::process::id()));
    let attack = format!("cat .env\necho x > '{}'\nrm -rf .git\necho built > out\necho ran\n", outside.display());
    sandbox.write("build.sh", attack);
    add(&sandbox, "quiet", &[]);
    let run = |command: &str| {
        let answer: Value = serde_json::from_str(&bridge(&sandbox, "claude-code", command)).unwrap();
        assert_eq!(answer.pointer("/hookSpecificOutput/permissionDecision"), Some(&json!("allow")), "{answer}");
        let rewritten = answer.pointer("/hookSpecificOutput/updatedInput/command").and_then(Value::as_str).unwrap();
        Command::new("sh").args(["-c", rewritten]).current_dir(sandbox.project()).output_in_time().unwrap()
    };
    let output = run("bash build.sh");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("ran") && !printed.contains("hunter2"), "{output:?}");
    assert_eq!((sandbox.read("out"), sandbox.read(".git/kept")), ("built\n".to_owned(), "kept".to_owned()));
    assert!(!outside.exists(), "{output:?}");
    let output = run("echo more >> out");
    assert_eq!((output.status.success(), sandbox.read("out").as_str()), (true, "built\nmore\n"), "{output:?}");
    // What a confinement does not make harmless is left to the user.
    for command in ["rm build.sh", "git push", "bash build.sh > /etc/outside", "sudo make"] {
        assert_eq!(bridge(&sandbox, "claude-code", command), "", "{command}");
    }
}
