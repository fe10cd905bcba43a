//! Updates: changes are shown, changes to what runs or decides need consent again, and a failure changes nothing.

use super::*;
use hookwright_testkit::deadline::*;

fn installed_guard() -> (Sandbox, PathBuf) {
    let sandbox = sandbox();
    let folder = guard(&sandbox, "g", "1.0.0");
    extensions(&sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(0);
    (sandbox, folder)
}

fn version(sandbox: &Sandbox) -> String {
    extensions(sandbox, &["list", "--json"]).expect_exit_code(0).json()[0]["version"].as_str().unwrap().to_owned()
}

#[test]
fn an_update_that_changes_no_code_needs_no_consent() {
    let (sandbox, folder) = installed_guard();
    guard(&sandbox, "g", "1.1.0");
    std::fs::write(folder.join("NOTES.md"), "other notes").unwrap();
    let run = extensions(&sandbox, &["update", "guard"]).expect_exit_code(0);
    assert!(run.stdout.contains("1.0.0 → 1.1.0") && run.stdout.contains("NOTES.md has changed"), "{}", run.stdout);
    assert_eq!(version(&sandbox), "1.1.0");
    let run = extensions(&sandbox, &["update", "--all"]).expect_exit_code(0);
    assert!(run.stderr.contains("is the newest"), "{}", run.stderr);
}

/// As scripts for Gemini CLI do it, with `--debug` before the command.
#[test]
fn a_piped_yes_is_consent_and_anything_else_is_none() {
    let sandbox = sandbox();
    let folder = guard(&sandbox, "g", "1.0.0").to_string_lossy().into_owned();
    let install = ["--debug", "extensions", "install", folder.as_str()];
    for answer in ["", "n\n", "maybe\n", "\ny\n"] {
        let run = sandbox.run_with_input(&install, answer).expect_exit_code(1);
        assert!(run.stderr.contains(": not confirmed; nothing was changed"), "{answer:?}: {}", run.stderr);
    }
    sandbox.run_with_input(&install, "y\n").expect_exit_code(0);
    assert_eq!(version(&sandbox), "1.0.0");
}

#[test]
fn a_changed_script_is_shown_and_asked_about_again() {
    let (sandbox, folder) = installed_guard();
    guard(&sandbox, "g", "1.1.0");
    std::fs::write(folder.join("check.sh"), "#!/bin/sh\ncurl evil\nexit 0\n").unwrap();
    let run = extensions(&sandbox, &["update", "guard"]).expect_exit_code(1);
    assert!(run.stdout.contains("+curl evil") && run.stdout.contains("-exit 2"), "{}", run.stdout);
    assert!(run.stderr.contains(": not confirmed; nothing was changed"), "{}", run.stderr);
    assert_eq!((version(&sandbox).as_str(), fire(&sandbox).code), ("1.0.0", Some(2)));
    extensions(&sandbox, &["update", "guard", "--consent"]).expect_exit_code(0);
    assert_eq!((version(&sandbox).as_str(), fire(&sandbox).code), ("1.1.0", Some(0)));
}

#[test]
fn a_new_server_policy_or_hook_is_asked_about() {
    let (sandbox, folder) = installed_guard();
    let changes: [(&str, &dyn Fn()); 4] = [
        ("+MCP servers: own: sh ${extensionPath}/own.sh", &|| {
            let own = "mcp_servers:\n  own:\n    command: sh\n    args: ['${extensionPath}/own.sh']\n";
            std::fs::write(folder.join("own.sh"), "evil\n").unwrap();
            std::fs::write(folder.join("agents/a.md"), format!("---\nname: a\ndescription: d\n{own}---\nbody"))
                .unwrap();
        }),
        ("+MCP servers: evil: sh -c evil", &|| {
            let manifest = json!({"name": "guard", "version": "1.1.0", "mcpServers": {"evil": {"command": "sh", "args": ["-c", "evil"]}}});
            std::fs::write(folder.join("gemini-extension.json"), manifest.to_string()).unwrap();
        }),
        ("+priority = 999", &|| {
            std::fs::write(
                folder.join("policies/p.toml"),
                "[[rule]]\ntoolName = \"glob\"\ndecision = \"deny\"\npriority = 999\n",
            )
            .unwrap();
        }),
        ("+hooks: AfterTool", &|| {
            let hook = json!([{"hooks": [{"type": "command", "command": "true"}]}]);
            std::fs::write(folder.join("hooks/hooks.json"), json!({"hooks": {"AfterTool": hook}}).to_string()).unwrap();
        }),
    ];
    for (shown, change) in changes {
        guard(&sandbox, "g", "1.0.0");
        change();
        let run = extensions(&sandbox, &["update", "guard"]).expect_exit_code(1);
        assert!(run.stdout.contains(shown), "{shown}: {}", run.stdout);
        assert_eq!(version(&sandbox), "1.0.0");
    }
}

#[test]
fn values_of_settings_outlive_an_update() {
    let (sandbox, _) = installed_guard();
    sandbox.run_with_input(&["extensions", "config", "guard", "API_KEY"], "kept\n").expect_exit_code(0);
    guard(&sandbox, "g", "1.1.0");
    extensions(&sandbox, &["update", "guard"]).expect_exit_code(0);
    assert!(format!("{:?}", fire(&sandbox).expect_exit_code(2)).contains("no, kept"));
}

#[test]
fn a_downgrade_is_reported_and_needs_consent() {
    let (sandbox, _) = installed_guard();
    guard(&sandbox, "g", "0.9.0");
    let run = extensions(&sandbox, &["update", "guard"]).expect_exit_code(1);
    assert!(run.stderr.contains("0.9.0 is lower than 1.0.0"), "{}", run.stderr);
    assert_eq!(version(&sandbox), "1.0.0");
}

#[test]
fn a_failed_update_leaves_what_was_there() {
    let (sandbox, folder) = installed_guard();
    let spoilt: [(&str, &dyn Fn()); 3] = [
        ("another name", &|| {
            std::fs::write(folder.join("gemini-extension.json"), json!({"name": "other", "version": "2"}).to_string())
                .unwrap();
        }),
        ("no manifest", &|| std::fs::write(folder.join("gemini-extension.json"), "{").unwrap()),
        ("no folder", &|| std::fs::rename(&folder, sandbox.sibling_path("away")).unwrap()),
    ];
    for (why, spoil) in spoilt {
        spoil();
        let run = extensions(&sandbox, &["update", "guard", "--consent"]).expect_exit_code(1);
        assert!(!run.stderr.is_empty(), "{why}");
        assert_eq!((version(&sandbox).as_str(), fire(&sandbox).code), ("1.0.0", Some(2)), "{why}");
    }
    let there: Vec<_> = std::fs::read_dir(sandbox.home().join(".gemini/extensions")).unwrap().flatten().collect();
    assert!(there.iter().all(|entry| !entry.file_name().to_string_lossy().starts_with(".draft")), "{there:?}");
}

#[test]
fn a_repository_is_updated_to_its_newest_commit() {
    let sandbox = sandbox();
    let folder = guard(&sandbox, "repo", "1.0.0");
    commit(&folder);
    extensions(&sandbox, &["install", "--consent", &format!("file://{}", text(&folder))]).expect_exit_code(0);
    guard(&sandbox, "repo", "2.0.0");
    commit(&folder);
    extensions(&sandbox, &["update", "--all"]).expect_exit_code(0);
    assert_eq!(version(&sandbox), "2.0.0");
    let run = extensions(&sandbox, &["update", "--all"]).expect_exit_code(0);
    assert!(run.stderr.contains("is the newest"), "{}", run.stderr);
}

/// Returns the number of files of a new extension that is not installed yet.
#[cfg(unix)]
fn drafted(sandbox: &Sandbox) -> usize {
    let installed = std::fs::read_dir(sandbox.home().join(".gemini/extensions")).unwrap().flatten();
    let drafts = installed.filter(|entry| entry.file_name().to_string_lossy().starts_with(".draft"));
    drafts.map(|draft| files_in(&draft.path())).sum()
}

/// Files that are removed meanwhile do not count.
#[cfg(unix)]
fn files_in(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { files_in(&entry.path()) } else { 1 }).sum()
}

/// However often it is killed on the way, the old or the new version is there and works.
#[cfg(unix)]
#[test]
fn killed_in_the_middle_the_old_or_the_new_one_is_there() {
    let (sandbox, folder) = installed_guard();
    for round in 0..12 {
        guard(&sandbox, "g", &format!("1.{}.0", round + 1));
        (0..40).for_each(|at| std::fs::write(folder.join(format!("f{round}-{at}")), "x").unwrap());
        let mut child = sandbox.command(&["extensions", "update", "guard", "--consent"]).spawn().unwrap();
        // Each time a little later: from before the first file of the new version up to its end.
        hookwright_testkit::wait_until("it is far enough", || {
            drafted(&sandbox) >= round * 5 || child.try_wait().unwrap().is_some()
        });
        let _ = child.kill();
        let _ = child.wait_in_time();
        assert_eq!(fire(&sandbox).code, Some(2), "round {round}");
        assert!(version(&sandbox).starts_with("1."), "round {round}");
    }
}

/// The hooks of an extension that was copied manually were never agreed to; an update that does not change them does
/// not change that.
#[test]
fn an_update_without_a_question_trusts_nothing() {
    let (sandbox, folder) = installed_guard();
    std::fs::remove_file(sandbox.home().join(".gemini/trusted_hooks.json")).unwrap();
    sandbox.user_settings(&json!({"security": {"hooks": {"review": "block"}}}));
    // It matches, and waits to be trusted.
    assert_eq!(fire(&sandbox).code, Some(1));
    guard(&sandbox, "g", "1.1.0");
    std::fs::write(folder.join("NOTES.md"), "other notes").unwrap();
    extensions(&sandbox, &["update", "guard"]).expect_exit_code(0);
    assert_eq!((version(&sandbox).as_str(), fire(&sandbox).code), ("1.1.0", Some(1)));
}

/// A change to anything that a hook may run or a server is started with needs consent, however large it is.
#[test]
fn a_change_to_what_runs_needs_consent() {
    let (sandbox, folder) = installed_guard();
    let mut large = vec![b'#'; 2 << 20];
    std::fs::write(folder.join("server.js"), &large).unwrap();
    let hook = json!([{"hooks": [{"type": "command", "name": "any", "command": "cd \"$CLAUDE_PLUGIN_ROOT\" && make -s $(cat which)"}]}]);
    std::fs::write(folder.join("hooks/hooks.json"), json!({"hooks": {"AfterTool": hook}}).to_string()).unwrap();
    std::fs::write(folder.join("rules.mk"), "all:\n").unwrap();
    extensions(&sandbox, &["update", "guard", "--consent"]).expect_exit_code(0);
    // The user's values and the installation's metadata are not shown.
    sandbox.run_with_input(&["extensions", "config", "guard", "API_KEY"], "hunter2\n").expect_exit_code(0);
    let run = extensions(&sandbox, &["update", "guard"]).expect_exit_code(0);
    assert!(!run.stdout.contains("hunter2") && run.stderr.contains("is the newest"), "{run:?}");
    large[1] = b'x';
    std::fs::write(folder.join("server.js"), &large).unwrap();
    let run = extensions(&sandbox, &["update", "guard"]).expect_exit_code(1);
    assert!(run.stdout.contains("server.js") && !run.stdout.contains("hunter2"), "{}", run.stdout);
    extensions(&sandbox, &["update", "guard", "--consent"]).expect_exit_code(0);
    std::fs::write(folder.join("rules.mk"), "all:\n\tevil\n").unwrap();
    let run = extensions(&sandbox, &["update", "guard"]).expect_exit_code(1);
    assert!(run.stdout.contains("rules.mk"), "{}", run.stdout);
}
