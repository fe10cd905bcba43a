//! `hookwright extensions …`: installs from folders, repositories and archives, and everything that must not happen on
//! the way.

mod downloads;
mod guards;
mod hostile;
mod templates;
mod updates;

use std::path::{Path, PathBuf};
use std::process::Command;

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::{ProgramRun, Sandbox, make_executable};
use serde_json::{Value, json};

use crate::sandbox;

/// Writes a file beside home and project.
fn lay(sandbox: &Sandbox, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = sandbox.sibling_path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// An extension with a guard whose script denies, and with one of everything else.
fn guard(sandbox: &Sandbox, folder: &str, version: &str) -> PathBuf {
    let manifest = json!({"name": "guard", "version": version, "description": "denies",
        "contextFileName": "${extensionPath}/NOTES.md", "excludeTools": ["run_shell_command(rm -rf)"],
        "mcpServers": {"words": {"command": "node", "args": ["${extensionPath}/server.js"], "env": {"KEY": "$API_KEY"}}},
        "settings": [{"name": "Key", "envVar": "API_KEY", "sensitive": true}]});
    lay(sandbox, &format!("{folder}/gemini-extension.json"), manifest.to_string());
    lay(sandbox, &format!("{folder}/NOTES.md"), "notes");
    let hook = json!({"type": "command", "name": "deny", "command": "\"$CLAUDE_PLUGIN_ROOT\"/check.sh"});
    let hooks = json!({"hooks": {"BeforeTool": [{"matcher": "glob", "hooks": [hook]}]}});
    lay(sandbox, &format!("{folder}/hooks/hooks.json"), hooks.to_string());
    let script = lay(sandbox, &format!("{folder}/check.sh"), "#!/bin/sh\necho \"no, $API_KEY\" >&2\nexit 2\n");
    make_executable(&script);
    lay(sandbox, &format!("{folder}/commands/hi.toml"), "prompt = 'hi'");
    lay(
        sandbox,
        &format!("{folder}/policies/p.toml"),
        "[[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\npriority = 100\n",
    );
    lay(sandbox, &format!("{folder}/skills/s/SKILL.md"), "---\nname: s\ndescription: d\n---\nbody");
    lay(sandbox, &format!("{folder}/agents/a.md"), "---\nname: a\ndescription: d\n---\nbody");
    sandbox.sibling_path(folder)
}

fn installed(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.home().join(".gemini/extensions").join(name)
}

fn fire(sandbox: &Sandbox) -> ProgramRun {
    sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "glob"])
}

fn extensions(sandbox: &Sandbox, words: &[&str]) -> ProgramRun {
    sandbox.run(&[&["extensions"], words].concat())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn git(folder: &Path, words: &[&str]) {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];
    let done = Command::new("git").args(identity).args(words).current_dir(folder).output_in_time().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn commit(folder: &Path) {
    if !folder.join(".git").exists() {
        git(folder, &["init", "-q"]);
    }
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-qm", "x"]);
}

#[test]
fn installing_shows_what_comes_and_consent_is_trust() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"security": {"hooks": {"review": "block"}}}));
    let folder = guard(&sandbox, "my ext", "1.0.0");
    let run = extensions(&sandbox, &["install", text(&folder)]).expect_exit_code(1);
    for words in [
        "guard 1.0.0",
        "BeforeTool (glob) deny",
        "runs \"$CLAUDE_PLUGIN_ROOT\"/check.sh",
        "with check.sh",
        "words: node ${extensionPath}/server.js",
        "run_shell_command(rm -rf)",
        "policies/p.toml",
        "NOTES.md",
        "/hi",
        "skills/s",
        "agents/a.md",
        "Key (API_KEY, a secret)",
        "exit 2",
        "decision = \"deny\"",
    ] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    assert!(run.stderr.contains("not confirmed") && run.stderr.contains("--consent"), "{}", run.stderr);
    assert!(!installed(&sandbox, "guard").exists());
    assert!(std::fs::read_dir(sandbox.home().join(".gemini/extensions")).unwrap().next().is_none(), "a draft was left");

    let run = extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(0);
    assert!(run.stderr.contains("settings without a value: Key"), "{}", run.stderr);
    // Under `block`, only hooks that the user has agreed to run.
    let run = fire(&sandbox).expect_exit_code(2);
    assert!(run.stdout.contains("reason: no,"), "{run:?}");
    let list = extensions(&sandbox, &["list", "--json"]).expect_exit_code(0).json();
    assert_eq!(
        (&list[0]["name"], &list[0]["type"], &list[0]["active"]),
        (&json!("guard"), &json!("local"), &json!(true))
    );
    let said = fs::read_to_string(installed(&sandbox, "guard").join(".gemini-extension-install.json")).unwrap();
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said, json!({"source": text(&folder), "type": "local"}));
    let run = extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(1);
    assert!(run.stderr.contains("installed already") && run.stderr.contains("update guard"), "{}", run.stderr);
}

#[test]
fn a_setting_reaches_its_hooks_and_no_output() {
    let sandbox = sandbox();
    let folder = guard(&sandbox, "g", "1.0.0");
    extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(0);
    let run =
        sandbox.run_with_input(&["extensions", "config", "guard", "API_KEY"], "se$HOME cret\n").expect_exit_code(0);
    assert!(!run.stderr.contains("cret"), "{}", run.stderr);
    let file = installed(&sandbox, "guard").join(".env");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    // The value is text, even if it looks like shell syntax.
    let run = fire(&sandbox).expect_exit_code(2);
    assert!(format!("{run:?}").contains("no, se$HOME cret"), "{run:?}");
    let run = extensions(&sandbox, &["config", "guard"]).expect_exit_code(0);
    assert!(run.stdout.contains("guard.API_KEY Key (a secret)"), "{}", run.stdout);
    sandbox
        .run_with_input(&["extensions", "config", "guard", "API_KEY", "--scope", "workspace"], "mine\n")
        .expect_exit_code(0);
    assert!(sandbox.read(".env").contains("API_KEY=mine"));
    assert!(format!("{:?}", fire(&sandbox)).contains("no, mine"));
    extensions(&sandbox, &["config", "guard", "OTHER"]).expect_exit_code(1);
    extensions(&sandbox, &["config", "nobody"]).expect_exit_code(1);
}

#[test]
fn extensions_are_switched_here_or_everywhere() {
    let sandbox = sandbox();
    let folder = guard(&sandbox, "g", "1.0.0");
    extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(0);
    extensions(&sandbox, &["disable", "guard", "--scope", "workspace"]).expect_exit_code(0);
    assert_eq!(fire(&sandbox).code, Some(0));
    let list = extensions(&sandbox, &["list"]).expect_exit_code(0);
    assert!(list.stdout.contains("disabled here"), "{}", list.stdout);
    extensions(&sandbox, &["enable", "GUARD", "--scope", "Workspace"]).expect_exit_code(0);
    assert_eq!(fire(&sandbox).code, Some(2));
    extensions(&sandbox, &["disable", "guard"]).expect_exit_code(0);
    assert_eq!(fire(&sandbox).code, Some(0));
    extensions(&sandbox, &["enable", "guard"]).expect_exit_code(0);
    assert_eq!(fire(&sandbox).code, Some(2));
    extensions(&sandbox, &["disable", "nobody"]).expect_exit_code(1);
    extensions(&sandbox, &["uninstall", "guard"]).expect_exit_code(0);
    assert!(!installed(&sandbox, "guard").exists());
    assert_eq!(fire(&sandbox).code, Some(0));
    let rules = fs::read_to_string(sandbox.home().join(".gemini/extensions/extension-enablement.json")).unwrap();
    assert!(!rules.contains("guard"), "{rules}");
}

#[test]
fn a_linked_extension_stays_where_it_is_whatever_becomes_of_the_link() {
    let sandbox = sandbox();
    let folder = guard(&sandbox, "dev/guard", "1.0.0");
    extensions(&sandbox, &["link", text(&folder)]).expect_exit_code(1);
    extensions(&sandbox, &["link", "--consent", text(&folder)]).expect_exit_code(0);
    assert_eq!(fire(&sandbox).code, Some(2));
    let run = extensions(&sandbox, &["update", "guard"]).expect_exit_code(0);
    assert!(run.stderr.contains("is linked"), "{}", run.stderr);
    let run = extensions(&sandbox, &["uninstall", "guard"]).expect_exit_code(0);
    assert!(run.stderr.contains("stays"), "{}", run.stderr);
    assert!(folder.join("check.sh").exists() && !installed(&sandbox, "guard").exists());
    // Linked manually, by a symbolic link.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&folder, installed(&sandbox, "guard")).unwrap();
        extensions(&sandbox, &["uninstall", "guard"]).expect_exit_code(0);
        assert!(folder.join("check.sh").exists() && !installed(&sandbox, "guard").exists());
    }
}

#[test]
fn git_fetches_a_branch_a_tag_or_a_commit() {
    let sandbox = sandbox();
    let folder = guard(&sandbox, "repo", "1.0.0");
    commit(&folder);
    git(&folder, &["tag", "v1"]);
    guard(&sandbox, "repo", "2.0.0");
    commit(&folder);
    let url = format!("file://{}", text(&folder));
    extensions(&sandbox, &["install", &url, "--ref", "v1", "--consent"]).expect_exit_code(0);
    let list = || extensions(&sandbox, &["list", "--json"]).expect_exit_code(0).json();
    let shown = list();
    assert_eq!(
        (&shown[0]["version"], &shown[0]["ref"], &shown[0]["type"]),
        (&json!("1.0.0"), &json!("v1"), &json!("git"))
    );
    let run = extensions(&sandbox, &["update", "guard"]).expect_exit_code(0);
    assert!(run.stderr.contains("is the newest"), "{}", run.stderr);
    extensions(&sandbox, &["uninstall", &url]).expect_exit_code(0);
    let run = extensions(&sandbox, &["install", &url, "--auto-update", "--consent"]).expect_exit_code(0);
    assert!(
        run.stderr.contains("fetching") && run.stderr.contains("nothing is installed without asking"),
        "{}",
        run.stderr
    );
    assert_eq!(list()[0]["version"], "2.0.0");
    assert_eq!(list()[0]["commit"].as_str().unwrap().len(), 40);
    let run = extensions(&sandbox, &["install", "file:///nowhere/at/all", "--consent"]).expect_exit_code(1);
    assert!(run.stderr.contains("git could not fetch"), "{}", run.stderr);
    let run = extensions(&sandbox, &["install", &url, "--ref", "nobranch", "--consent"]).expect_exit_code(1);
    assert!(run.stderr.contains("nobranch"), "{}", run.stderr);
}

#[test]
fn an_archive_is_unpacked_and_its_only_folder_is_the_extension() {
    let sandbox = sandbox();
    guard(&sandbox, "packed/guard-1.0.0", "1.0.0");
    let mut tar = Command::new("tar");
    tar.args(["-czf", "x.tar.gz", "-C", "packed", "guard-1.0.0"]).current_dir(sandbox.sibling_path(""));
    if !tar.status_in_time().is_ok_and(|status| status.success()) {
        return hookwright_testkit::report_skipped("an_archive_is_unpacked", "there is no tar");
    }
    extensions(&sandbox, &["install", text(&sandbox.sibling_path("x.tar.gz")), "--consent"]).expect_exit_code(0);
    assert!(installed(&sandbox, "guard").join("check.sh").exists());
    assert_eq!(fire(&sandbox).code, Some(2));
}

#[test]
fn wrong_command_lines_are_no_denials() {
    let sandbox = sandbox();
    for words in [&["install"][..], &["nonsense"], &["update"], &["uninstall"], &["enable", "x", "--scope", "moon"]] {
        extensions(&sandbox, words).expect_exit_code(1);
    }
    let help = extensions(&sandbox, &["install", "--help"]).expect_exit_code(0);
    assert!(help.stdout.contains("Examples:"), "{}", help.stdout);
}
