//! Extensions with guards are disabled and removed: the user confirms it, and later sessions start.

use super::*;

/// Installs an extension whose hook is a guard, and runs a session with it.
fn with_guard(sandbox: &Sandbox) {
    let folder = guard(sandbox, "g", "1.0.0");
    let hook = json!({"type": "command", "name": "deny", "command": "\"$CLAUDE_PLUGIN_ROOT\"/check.sh", "guard": true});
    let hooks = json!({"hooks": {"BeforeTool": [{"matcher": "glob", "hooks": [hook]}]}});
    std::fs::write(folder.join("hooks/hooks.json"), hooks.to_string()).unwrap();
    extensions(sandbox, &["install", "--consent", text(&folder)]).expect_exit_code(0);
    sandbox.run(&["-p", "hi"]).expect_exit_code(0);
}

#[test]
fn a_guard_is_switched_off_by_a_person_who_knows() {
    let sandbox = sandbox();
    with_guard(&sandbox);
    let run = extensions(&sandbox, &["disable", "guard"]).expect_exit_code(1);
    assert!(run.stderr.contains("guard `deny` on BeforeTool belongs to `guard` and goes with it"), "{}", run.stderr);
    assert!(run.stderr.contains("add --consent"), "{}", run.stderr);
    sandbox.run(&["-p", "hi"]).expect_exit_code(0);
    assert_eq!(fire(&sandbox).code, Some(2), "it is still awake");

    extensions(&sandbox, &["disable", "guard", "--consent", "--scope", "workspace"]).expect_exit_code(0);
    sandbox.run(&["-p", "hi"]).expect_exit_code(0);
    assert_eq!(fire(&sandbox).code, Some(0));
    // Enabled again, it is a guard again, which only the user can disable.
    extensions(&sandbox, &["enable", "guard", "--scope", "workspace"]).expect_exit_code(0);
    sandbox.run(&["-p", "hi"]).expect_exit_code(0);
    let rules = json!({"guard": {"overrides": ["!/*"]}}).to_string();
    std::fs::write(sandbox.home().join(".gemini/extensions/extension-enablement.json"), rules).unwrap();
    let run = sandbox.run(&["-p", "hi"]).expect_exit_code(52);
    assert!(run.stderr.contains("was active here and no longer is"), "{}", run.stderr);
    assert!(run.stderr.contains("hookwright extensions disable guard --consent"), "{}", run.stderr);
    extensions(&sandbox, &["disable", "guard", "--consent"]).expect_exit_code(0);
    sandbox.run(&["-p", "hi"]).expect_exit_code(0);
}

#[test]
fn no_agent_agrees_to_be_without_a_guard() {
    let sandbox = sandbox();
    with_guard(&sandbox);
    let sandbox = sandbox.env("GEMINI_CLI", "1");
    for words in [&["disable", "guard", "--consent"][..], &["uninstall", "guard", "--consent"]] {
        let run = extensions(&sandbox, words).expect_exit_code(1);
        assert!(run.stderr.contains("an agent can't agree to that"), "{}", run.stderr);
    }
    let run = sandbox.run_with_input(&["extensions", "disable", "guard"], "y\n").expect_exit_code(1);
    assert!(run.stderr.contains("an agent can't agree to that"), "{}", run.stderr);
    assert_eq!(fire(&sandbox).code, Some(2));
}

#[test]
fn a_guard_that_is_required_is_missed_all_the_same() {
    let sandbox = sandbox();
    with_guard(&sandbox);
    sandbox.user_settings(&json!({"hooksConfig": {"required": ["deny"]}}));
    let run = extensions(&sandbox, &["uninstall", "guard"]).expect_exit_code(1);
    assert!(run.stderr.contains("`deny` is required by") && run.stderr.contains("settings.json:4:"), "{}", run.stderr);
    extensions(&sandbox, &["uninstall", "guard", "--consent"]).expect_exit_code(0);
    assert!(!installed(&sandbox, "guard").exists());
    let run = sandbox.run(&["-p", "hi"]).expect_exit_code(52);
    assert!(run.stderr.contains("hooksConfig.required"), "{}", run.stderr);
    sandbox.user_settings(&json!({}));
    sandbox.run(&["-p", "hi"]).expect_exit_code(0);
}

#[test]
fn a_named_extension_that_is_not_installed_is_reported() {
    let sandbox = sandbox();
    let run = sandbox.run(&["-e", "nosuch", "-p", "hi"]).expect_exit_code(0);
    assert!(run.stderr.contains("names the extension `nosuch`, but there is no such extension"), "{}", run.stderr);
    with_guard(&sandbox);
    let run = sandbox.run(&["-e", "guard", "-e", "gaurd", "-p", "hi"]).expect_exit_code(0);
    assert!(run.stderr.contains("did you mean `guard`?"), "{}", run.stderr);
    assert!(!sandbox.run(&["-e", "GUARD", "-p", "hi"]).expect_exit_code(0).stderr.contains("no extension"));
}

/// The target of a linked extension stays, with its guards in it.
#[test]
fn a_linked_guard_is_missed_until_a_person_says_otherwise() {
    let sandbox = sandbox();
    extensions(&sandbox, &["new", "mine", "hooks"]).expect_exit_code(0);
    extensions(&sandbox, &["link", "mine", "--consent"]).expect_exit_code(0);
    sandbox.run(&["-p", "hi"]).expect_exit_code(0);
    extensions(&sandbox, &["uninstall", "mine", "--consent"]).expect_exit_code(0);
    sandbox.run(&["-p", "hi"]).expect_exit_code(0);

    extensions(&sandbox, &["link", "mine", "--consent"]).expect_exit_code(0);
    sandbox.run(&["-p", "hi"]).expect_exit_code(0);
    std::fs::remove_dir_all(installed(&sandbox, "mine")).unwrap();
    let run = sandbox.run(&["-p", "hi"]).expect_exit_code(52);
    assert!(run.stderr.contains("hookwright extensions disable mine --consent"), "{}", run.stderr);
    extensions(&sandbox, &["disable", "mine"]).expect_exit_code(1);
    sandbox.run(&["-p", "hi"]).expect_exit_code(52);
    extensions(&sandbox, &["disable", "mine", "--consent"]).expect_exit_code(0);
    sandbox.run(&["-p", "hi"]).expect_exit_code(0);
    let run = extensions(&sandbox, &["disable", "mine", "--consent"]).expect_exit_code(1);
    assert!(run.stderr.contains("no extension is called `mine`"), "{}", run.stderr);
}
