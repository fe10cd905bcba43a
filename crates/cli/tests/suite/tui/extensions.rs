use std::path::PathBuf;

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::{Sandbox, make_executable};
use serde_json::json;

use super::{TestTerminal, sandbox};

/// An extension whose script denies every prompt with these words.
fn lay(sandbox: &Sandbox, version: &str, words: &str) -> PathBuf {
    let folder = sandbox.sibling_path("wall");
    std::fs::create_dir_all(folder.join("hooks")).unwrap();
    let manifest = json!({"name": "wall", "version": version, "description": "says no"});
    std::fs::write(folder.join("gemini-extension.json"), manifest.to_string()).unwrap();
    let hook = json!({"type": "command", "name": "no", "command": "${extensionPath}/no.sh"});
    let hooks = json!({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}});
    std::fs::write(folder.join("hooks/hooks.json"), hooks.to_string()).unwrap();
    std::fs::write(folder.join("no.sh"), format!("#!/bin/sh\necho '{words}' >&2; exit 2\n")).unwrap();
    make_executable(&folder.join("no.sh"));
    folder
}

#[test]
fn extensions_are_listed_and_switched_in_a_session() {
    let sandbox = sandbox();
    let folder = lay(&sandbox, "1.0.0", "not today");
    sandbox.run(&["extensions", "install", "--consent", folder.to_str().unwrap()]).expect_exit_code(0);
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("say one\r").wait_for_new_text("blocked: not today");
    terminal.wait_until_ready().keys("/extensions list\r").wait_for_new_text("1.0.0 (active) says no");
    terminal
        .wait_until_ready()
        .keys("/extensions disable WALL --scope=workspace\r")
        .wait_for_new_text("`wall` is disabled in");
    terminal.wait_until_ready().keys("say two\r").wait_for_new_text("\ntwo");
    terminal
        .wait_until_ready()
        .keys("/extensions enable wall --scope workspace\r")
        .wait_for_new_text("`wall` is enabled in");
    terminal.wait_until_ready().keys("say three\r").wait_for_new_text("> say three\n");
    terminal.wait_until_ready();
    assert_eq!(terminal.everything().matches("blocked: not today").count(), 2);
    terminal
        .wait_until_ready()
        .keys("/extensions disable nobody\r")
        .wait_for_new_text("no extension is called `nobody`");
    terminal
        .wait_until_ready()
        .keys("/extensions disable wall --scope moon\r")
        .wait_for_new_text("/extensions list|enable NAME");
}

#[test]
fn an_update_in_a_session_is_shown_before_consent() {
    let sandbox = sandbox();
    let folder = lay(&sandbox, "1.0.0", "not today");
    sandbox.run(&["extensions", "install", "--consent", folder.to_str().unwrap()]).expect_exit_code(0);
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal
        .wait_until_ready()
        .keys("/extensions update wall --consent\r")
        .wait_for_new_text("no update of `wall` was shown");
    terminal.wait_until_ready().keys("/extensions update wall\r").wait_for_new_text("`wall` 1.0.0 is the newest");
    lay(&sandbox, "1.1.0", "never");
    terminal.wait_until_ready().keys("/extensions update --all\r").wait_for_new_text("--consent installs it");
    assert!(terminal.everything().contains("+echo 'never' >&2"));
    terminal.wait_until_ready().keys("say one\r").wait_for_new_text("blocked: not today");
    // A version that appeared since was not shown, and is not installed.
    lay(&sandbox, "1.2.0", "unseen");
    terminal.wait_until_ready().keys("/extensions update wall --consent\r").wait_for_new_text("`wall` is at 1.1.0 now");
    terminal.wait_until_ready().keys("say two\r").wait_for_new_text("blocked: never");
}

#[test]
fn a_newer_version_is_announced_and_not_installed() {
    let sandbox = sandbox();
    let folder = lay(&sandbox, "1.0.0", "not today");
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
        let mut git = std::process::Command::new("git");
        let done = git.args(identity).args(words).current_dir(&folder).output_in_time().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "one"]);
    let url = format!("file://{}", folder.display());
    sandbox.run(&["extensions", "install", "--auto-update", "--consent", &url]).expect_exit_code(0);
    lay(&sandbox, "1.1.0", "never");
    git(&["commit", "--quiet", "-a", "-m", "two"]);
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_for_new_text("there is a newer version of `wall`; /extensions update wall shows it");
    terminal.wait_until_ready().keys("say one\r").wait_for_new_text("blocked: not today");
}

#[test]
fn a_guard_is_not_switched_off_in_passing() {
    let sandbox = sandbox();
    let folder = lay(&sandbox, "1.0.0", "not today");
    let hooks = folder.join("hooks/hooks.json");
    let text = fs::read_to_string(&hooks).unwrap().replace("\"name\":\"no\"", "\"name\":\"no\",\"guard\":true");
    std::fs::write(&hooks, text).unwrap();
    sandbox.run(&["extensions", "install", "--consent", folder.to_str().unwrap()]).expect_exit_code(0);
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal
        .wait_until_ready()
        .keys("/extensions disable wall\r")
        .wait_for_new_text("guard `no` on BeforeAgent belongs to `wall` and goes with it");
    terminal.wait_until_ready().keys("say one\r").wait_for_new_text("blocked: not today");
    terminal
        .wait_until_ready()
        .keys("/extensions disable wall --consent\r")
        .wait_for_new_text("`wall` is disabled everywhere");
    terminal.wait_until_ready().keys("say two\r").wait_for_new_text("\ntwo");
    terminal.wait_until_ready();
    assert!(!terminal.everything().contains("is not armed"), "{}", terminal.everything());
    drop(terminal);
    sandbox.run(&["-p", "say three"]).expect_exit_code(0);
}

#[test]
fn notes_for_other_agents_are_offered_once() {
    let sandbox = sandbox();
    sandbox.write("AGENTS.md", "Use tabs.");
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_for_new_text("Read this project's AGENTS.md?");
    terminal.keys("1");
    terminal.wait_until_ready().keys("/memory list\r").wait_for_new_text("AGENTS.md");
    drop(terminal);
    assert!(sandbox.read(".gemini/settings.json").contains("\"AGENTS.md\""));

    let other = super::sandbox();
    other.write("AGENTS.md", "Use tabs.");
    let mut terminal = TestTerminal::start(&other, &[]);
    terminal.wait_for_new_text("Read this project's AGENTS.md?");
    terminal.keys("3");
    terminal.wait_until_ready();
    drop(terminal);
    assert!(!other.has_file(".gemini/settings.json"));
    let mut terminal = TestTerminal::start(&other, &[]);
    terminal.wait_until_ready();
    assert!(!terminal.everything().contains("Read this project's"), "{}", terminal.everything());
}
