use std::path::PathBuf;

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::{Sandbox, make_executable};
use serde_json::json;

use super::{Terminal, sandbox};

/// An extension whose script denies every prompt, saying this.
fn lay(sandbox: &Sandbox, version: &str, words: &str) -> PathBuf {
    let folder = sandbox.beside("wall");
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
    sandbox.run(&["extensions", "install", "--consent", folder.to_str().unwrap()]).exits(0);
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("say one\r").sees("blocked: not today");
    terminal.ready().keys("/extensions list\r").sees("1.0.0 (active) says no");
    terminal.ready().keys("/extensions disable WALL --scope=workspace\r").sees("`wall` is disabled in");
    terminal.ready().keys("say two\r").sees("\ntwo");
    terminal.ready().keys("/extensions enable wall --scope workspace\r").sees("`wall` is enabled in");
    terminal.ready().keys("say three\r").sees("> say three\n");
    terminal.ready();
    assert_eq!(terminal.everything().matches("blocked: not today").count(), 2);
    terminal.ready().keys("/extensions disable nobody\r").sees("no extension is called `nobody`");
    terminal.ready().keys("/extensions disable wall --scope moon\r").sees("/extensions list|enable NAME");
}

#[test]
fn an_update_in_a_session_is_shown_before_anybody_agrees() {
    let sandbox = sandbox();
    let folder = lay(&sandbox, "1.0.0", "not today");
    sandbox.run(&["extensions", "install", "--consent", folder.to_str().unwrap()]).exits(0);
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/extensions update wall --consent\r").sees("no update of `wall` was shown");
    terminal.ready().keys("/extensions update wall\r").sees("`wall` is the newest");
    lay(&sandbox, "1.1.0", "never");
    terminal.ready().keys("/extensions update --all\r").sees("--consent puts it in place");
    assert!(terminal.everything().contains("+echo 'never' >&2"));
    terminal.ready().keys("say one\r").sees("blocked: not today");
    // What has come since then was not shown, and is not what is put in place.
    lay(&sandbox, "1.2.0", "unseen");
    terminal.ready().keys("/extensions update wall --consent\r").sees("`wall` is at 1.1.0 now");
    terminal.ready().keys("say two\r").sees("blocked: never");
}

#[test]
fn a_newer_version_is_said_and_not_put_in_place() {
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
    sandbox.run(&["extensions", "install", "--auto-update", "--consent", &url]).exits(0);
    lay(&sandbox, "1.1.0", "never");
    git(&["commit", "--quiet", "-a", "-m", "two"]);
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.sees("there is a newer version of `wall`; /extensions update wall shows it");
    terminal.ready().keys("say one\r").sees("blocked: not today");
}

#[test]
fn a_guard_is_not_switched_off_in_passing() {
    let sandbox = sandbox();
    let folder = lay(&sandbox, "1.0.0", "not today");
    let hooks = folder.join("hooks/hooks.json");
    let text = fs::read_to_string(&hooks).unwrap().replace("\"name\":\"no\"", "\"name\":\"no\",\"guard\":true");
    std::fs::write(&hooks, text).unwrap();
    sandbox.run(&["extensions", "install", "--consent", folder.to_str().unwrap()]).exits(0);
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/extensions disable wall\r").sees("`wall` brings guards, which would be off: `no`");
    terminal.ready().keys("say one\r").sees("blocked: not today");
    terminal.ready().keys("/extensions disable wall --consent\r").sees("`wall` is disabled everywhere");
    terminal.ready().keys("say two\r").sees("\ntwo");
    terminal.ready();
    assert!(!terminal.everything().contains("is not armed"), "{}", terminal.everything());
    drop(terminal);
    sandbox.run(&["-p", "say three"]).exits(0);
}

#[test]
fn notes_for_other_agents_are_offered_once() {
    let sandbox = sandbox();
    sandbox.write("AGENTS.md", "Use tabs.");
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.sees("Read this project's AGENTS.md?");
    terminal.keys("1");
    terminal.ready().keys("/memory list\r").sees("AGENTS.md");
    drop(terminal);
    assert!(sandbox.read(".gemini/settings.json").contains("\"AGENTS.md\""));

    let other = super::sandbox();
    other.write("AGENTS.md", "Use tabs.");
    let mut terminal = Terminal::start(&other, &[]);
    terminal.sees("Read this project's AGENTS.md?");
    terminal.keys("3");
    terminal.ready();
    drop(terminal);
    assert!(!other.has(".gemini/settings.json"));
    let mut terminal = Terminal::start(&other, &[]);
    terminal.ready();
    assert!(!terminal.everything().contains("Read this project's"), "{}", terminal.everything());
}
