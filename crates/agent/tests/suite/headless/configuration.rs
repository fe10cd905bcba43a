//! Which hooks run, and in which environment.

use hookwright_agent::session::HookUse;
use hookwright_settings::{ExtensionChoice, TrustOverride};

use super::*;

const TOUCH_SCRIPT: &str = "cat > /dev/null; touch ran";

fn ok_replay() -> ReplayBuilder {
    ReplayBuilder::new().says("ok")
}

#[test]
fn hooks_can_be_switched_off() {
    for settings in [
        json!({"hooksConfig": {"enabled": false}}),
        json!({"tools": {"enableHooks": false}}),
        json!({"hooks": {"enabled": false}}),
        json!({"hooks": {"disabled": ["hook1"]}}),
        json!({"hooksConfig": {"disabled": ["hook1"]}}),
    ] {
        let sandbox = project_with(&[("BeforeAgent", "", TOUCH_SCRIPT)], settings.clone());
        assert_eq!(run_hello(&sandbox, &ok_replay()).text, "ok");
        assert!(!sandbox.exists("ran"), "{settings}");
    }
    let sandbox = project(&[("BeforeAgent", "", TOUCH_SCRIPT)]);
    run_with_options(&sandbox, "hello", &ok_replay(), SessionOptions { hooks: HookUse::Off, ..yolo_options() })
        .assert_ended_well();
    assert!(!sandbox.exists("ran"));
    run_hello(&sandbox, &ok_replay());
    assert!(sandbox.exists("ran"));
}

#[test]
fn an_untrusted_folder_loads_nothing_and_says_so() {
    let sandbox = project(&[("BeforeAgent", "", TOUCH_SCRIPT)]).without_trust();
    let first = run_hello(&sandbox, &ok_replay());
    assert_eq!(first.text, "ok");
    assert_contains(&first.messages, "this folder is not trusted, so .gemini/settings.json is not loaded");
    assert!(!sandbox.exists("ran"));
    run_with_options(&sandbox, "hello", &ok_replay(), SessionOptions { trust: TrustOverride::Skip, ..yolo_options() })
        .assert_ended_well();
    assert!(sandbox.exists("ran"));
}

#[test]
fn a_user_can_switch_folder_trust_off() {
    let sandbox = project(&[("BeforeAgent", "", TOUCH_SCRIPT)]).without_trust();
    sandbox.write_user_settings(&json!({"security": {"folderTrust": {"enabled": false}}}));
    run_hello(&sandbox, &ok_replay());
    assert!(sandbox.exists("ran"));
}

#[test]
fn a_new_project_hook_is_announced_once() {
    let sandbox = project(&[("BeforeAgent", "", TOUCH_SCRIPT)]);
    assert_contains(&run_hello(&sandbox, &ok_replay()).messages, "new project hook `hook1`");
    assert_lacks(&run_hello(&sandbox, &ok_replay()).messages, "new project hook");
}

#[test]
fn a_project_that_switches_off_a_users_hook_is_announced() {
    let sandbox = project_with(&[], json!({"hooks": {"disabled": ["mine"]}}));
    let hook = json!({"type": "command", "name": "mine", "command": "touch \"$GEMINI_PROJECT_DIR/mine-ran\""});
    sandbox.write_user_settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}}));
    let run = run_hello(&sandbox, &ok_replay());
    assert_contains(&run.messages, "this project's settings disable `mine` (user)");
    assert!(!sandbox.exists("mine-ran"));
}

#[test]
fn all_layers_run_and_doubles_run_once() {
    let hook = |name: &str| json!({"type": "command", "name": name, "command": "echo x >> count"});
    let sandbox = project_with(&[], json!({"hooks": {"BeforeAgent": [{"hooks": [hook("same"), hook("project")]}]}}));
    sandbox.write_user_settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [hook("same"), hook("user")]}]}}));
    run_hello(&sandbox, &ok_replay());
    assert_eq!(sandbox.read("count").lines().count(), 3);
}

#[test]
fn a_bad_hook_is_reported_with_its_place_and_the_others_run() {
    let sandbox = project_with(&[("BeforeAgent", "", TOUCH_SCRIPT)], json!({"hooks": {"PreToolUse": []}}));
    let run = run_hello(&sandbox, &ok_replay());
    assert_contains(&run.messages, "PreToolUse");
    assert_contains(&run.messages, "BeforeTool");
    assert_contains(&run.messages, "settings.json:");
    assert!(sandbox.exists("ran"));
}

#[test]
fn hooks_run_in_the_project_with_its_variables() {
    let sandbox = project(&[("BeforeAgent", "", "cat > /dev/null; env > env.txt; pwd > pwd.txt")]);
    let options = SessionOptions { session_id: Some("s-1".to_owned()), ..yolo_options() };
    run_with_options(&sandbox, "hello", &ok_replay(), options).assert_ended_well();
    let project = sandbox.project_dir().to_str().unwrap().to_owned();
    let env = sandbox.read("env.txt");
    for line in [
        format!("GEMINI_PROJECT_DIR={project}"),
        format!("CLAUDE_PROJECT_DIR={project}"),
        format!("GEMINI_CWD={project}"),
        "GEMINI_SESSION_ID=s-1".to_owned(),
    ] {
        assert!(env.lines().any(|one| one == line), "{line}:\n{env}");
    }
    assert_contains(&env, "GEMINI_PLANS_DIR=");
    assert_eq!(sandbox.read("pwd.txt").trim(), project);
}

#[test]
fn a_hook_has_its_own_variables_and_no_secrets_if_they_are_redacted() {
    let hook = json!({"type": "command", "name": "x", "command": "env > env.txt", "env": {"MINE": "yes"}});
    let settings = json!({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}, "security": {"environmentVariableRedaction": {"enabled": true}}});
    let sandbox = project_with(&[], settings).env("SERVICE_TOKEN", "t0ken").env("HARMLESS", "fine");
    run_hello(&sandbox, &ok_replay());
    let env = sandbox.read("env.txt");
    assert_contains(&env, "MINE=yes");
    assert_contains(&env, "HARMLESS=fine");
    assert_lacks(&env, "t0ken");
}

#[test]
fn yolo_cannot_come_from_a_settings_file() {
    let settings = json!({"general": {"defaultApprovalMode": "yolo"}});
    let sandbox = project_with(&[], settings.clone());
    sandbox.write_user_settings(&settings);
    let replay = ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("ok");
    let run = run_with_options(&sandbox, "x", &replay, SessionOptions::default()).assert_ended_well();
    assert_contains(&run.messages, "write_file needs approval");
    assert_contains(&run.messages, "defaultApprovalMode");
    assert!(!sandbox.exists("a.txt"));
}

#[test]
fn an_extensions_hooks_run_with_its_places_and_settings() {
    let sandbox = project(&[]);
    let extension = sandbox.home_dir().join(".gemini/extensions/linter");
    std::fs::create_dir_all(extension.join("hooks")).unwrap();
    let manifest = json!({"name": "linter", "version": "1.0.0", "settings": [{"name": "Key", "envVar": "LINT_KEY"}]});
    std::fs::write(extension.join("gemini-extension.json"), manifest.to_string()).unwrap();
    std::fs::write(extension.join(".env"), "LINT_KEY=sesame\n").unwrap();
    let command = "echo \"${extensionPath} ${workspacePath} $LINT_KEY\" > ran";
    let hooks =
        json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "name": "lint", "command": command}]}]}});
    std::fs::write(extension.join("hooks/hooks.json"), hooks.to_string()).unwrap();
    let first = run_hello(&sandbox, &ok_replay());
    assert_contains(&first.messages, "lint");
    let expected = format!("{} {} sesame\n", extension.display(), sandbox.project_dir().display());
    assert_eq!(sandbox.read("ran"), expected, "{}", first.messages);
    std::fs::remove_file(sandbox.project_dir().join("ran")).unwrap();
    let options = SessionOptions { extensions: ExtensionChoice::None, ..yolo_options() };
    run_with_options(&sandbox, "hello", &ok_replay(), options).assert_ended_well();
    assert!(!sandbox.exists("ran"));
}

#[test]
fn a_policy_file_has_its_say_after_the_hooks() {
    let sandbox = project(&[("BeforeTool", "", LOG_INPUT_SCRIPT)]);
    let rule =
        "[[rule]]\ntoolName = \"write_file\"\ndecision = \"deny\"\npriority = 100\ndenyMessage = \"not by policy\"\n";
    let options = SessionOptions { policies: vec![sandbox.write("policy.toml", rule)], ..yolo_options() };
    let replay = ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("ok");
    let denied = run_with_options(&sandbox, "hello", &replay, options.clone()).assert_ended_well();
    assert_contains(
        &denied.messages,
        "Error executing tool write_file: Tool execution denied by policy: not by policy",
    );
    assert!(!sandbox.exists("a.txt"));
    assert_eq!(logged_inputs(&sandbox).len(), 1);
    sandbox.write("policy.toml", "rule = 7");
    assert_contains(&try_run(&sandbox, "hello", &replay, options).unwrap_err().to_string(), "policy.toml");
}

#[test]
fn a_users_own_hooks_run_in_any_folder() {
    let sandbox = project(&[("BeforeAgent", "", TOUCH_SCRIPT)]).without_trust();
    let hook = json!({"type": "command", "name": "mine", "command": "touch \"$GEMINI_PROJECT_DIR/mine-ran\""});
    sandbox.write_user_settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}}));
    run_hello(&sandbox, &ok_replay());
    assert!(sandbox.exists("mine-ran") && !sandbox.exists("ran"));
}
