use std::path::PathBuf;

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
