//! Which hooks run at all, and in what surroundings.

use hookwright_agent::session::HookUse;
use hookwright_settings::{ExtensionChoice, TrustOverride};

use super::*;

const MARK: &str = "cat > /dev/null; touch ran";

fn hello() -> Replay {
    Replay::new().says("ok")
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
        let sandbox = project_with(&[("BeforeAgent", "", MARK)], settings.clone());
        assert_eq!(run(&sandbox, &hello()).text, "ok");
        assert!(!sandbox.has("ran"), "{settings}");
    }
    let sandbox = project(&[("BeforeAgent", "", MARK)]);
    run_with(&sandbox, "hello", &hello(), SessionOptions { hooks: HookUse::Off, ..yolo() }).ends_well();
    assert!(!sandbox.has("ran"));
    run(&sandbox, &hello());
    assert!(sandbox.has("ran"));
}

#[test]
fn an_untrusted_folder_loads_nothing_and_says_so() {
    let sandbox = project(&[("BeforeAgent", "", MARK)]).untrusted();
    let first = run(&sandbox, &hello());
    assert_eq!(first.text, "ok");
    has(&first.said, "this folder is not trusted, so .gemini/settings.json is not loaded");
    assert!(!sandbox.has("ran"));
    run_with(&sandbox, "hello", &hello(), SessionOptions { trust: TrustOverride::Skip, ..yolo() }).ends_well();
    assert!(sandbox.has("ran"));
}

#[test]
fn a_user_can_switch_folder_trust_off() {
    let sandbox = project(&[("BeforeAgent", "", MARK)]).untrusted();
    sandbox.write_user_settings(&json!({"security": {"folderTrust": {"enabled": false}}}));
    run(&sandbox, &hello());
    assert!(sandbox.has("ran"));
}

#[test]
fn a_new_project_hook_is_announced_once() {
    let sandbox = project(&[("BeforeAgent", "", MARK)]);
    has(&run(&sandbox, &hello()).said, "new project hook `hook1`");
    lacks(&run(&sandbox, &hello()).said, "new project hook");
}

#[test]
fn a_project_that_switches_off_a_users_hook_is_announced() {
    let sandbox = project_with(&[], json!({"hooks": {"disabled": ["mine"]}}));
    let hook = json!({"type": "command", "name": "mine", "command": "touch \"$GEMINI_PROJECT_DIR/mine-ran\""});
    sandbox.write_user_settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}}));
    let run = run(&sandbox, &hello());
    has(&run.said, "this project's settings disable `mine` (user)");
    assert!(!sandbox.has("mine-ran"));
}

#[test]
fn all_layers_run_and_doubles_run_once() {
    let hook = |name: &str| json!({"type": "command", "name": name, "command": "echo x >> count"});
    let sandbox = project_with(&[], json!({"hooks": {"BeforeAgent": [{"hooks": [hook("same"), hook("project")]}]}}));
    sandbox.write_user_settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [hook("same"), hook("user")]}]}}));
    run(&sandbox, &hello());
    assert_eq!(sandbox.read("count").lines().count(), 3);
}

#[test]
fn a_bad_hook_is_reported_with_its_place_and_the_others_run() {
    let sandbox = project_with(&[("BeforeAgent", "", MARK)], json!({"hooks": {"PreToolUse": []}}));
    let run = run(&sandbox, &hello());
    has(&run.said, "PreToolUse");
    has(&run.said, "BeforeTool");
    has(&run.said, "settings.json:");
    assert!(sandbox.has("ran"));
}

#[test]
fn hooks_run_in_the_project_with_its_variables() {
    let sandbox = project(&[("BeforeAgent", "", "cat > /dev/null; env > env.txt; pwd > pwd.txt")]);
    let options = SessionOptions { session_id: Some("s-1".to_owned()), ..yolo() };
    run_with(&sandbox, "hello", &hello(), options).ends_well();
    let project = sandbox.dir().to_str().unwrap().to_owned();
    let env = sandbox.read("env.txt");
    for line in [
        format!("GEMINI_PROJECT_DIR={project}"),
        format!("CLAUDE_PROJECT_DIR={project}"),
        format!("GEMINI_CWD={project}"),
        "GEMINI_SESSION_ID=s-1".to_owned(),
    ] {
        assert!(env.lines().any(|one| one == line), "{line}:\n{env}");
    }
    has(&env, "GEMINI_PLANS_DIR=");
    assert_eq!(sandbox.read("pwd.txt").trim(), project);
}

#[test]
fn a_hook_has_its_own_variables_and_no_secrets_if_they_are_redacted() {
    let hook = json!({"type": "command", "name": "x", "command": "env > env.txt", "env": {"MINE": "yes"}});
    let settings = json!({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}, "security": {"environmentVariableRedaction": {"enabled": true}}});
    let sandbox = project_with(&[], settings).env("SERVICE_TOKEN", "t0ken").env("HARMLESS", "fine");
    run(&sandbox, &hello());
    let env = sandbox.read("env.txt");
    has(&env, "MINE=yes");
    has(&env, "HARMLESS=fine");
    lacks(&env, "t0ken");
}

#[test]
fn yolo_cannot_come_from_a_settings_file() {
    let settings = json!({"general": {"defaultApprovalMode": "yolo"}});
    let sandbox = project_with(&[], settings.clone());
    sandbox.write_user_settings(&settings);
    let replay = Replay::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("ok");
    let run = run_with(&sandbox, "x", &replay, SessionOptions::default()).ends_well();
    has(&run.said, "write_file needs approval");
    has(&run.said, "defaultApprovalMode");
    assert!(!sandbox.has("a.txt"));
}

#[test]
fn an_extensions_hooks_run_with_its_places_and_settings() {
    let sandbox = project(&[]);
    let extension = sandbox.home().join(".gemini/extensions/linter");
    std::fs::create_dir_all(extension.join("hooks")).unwrap();
    let manifest = json!({"name": "linter", "version": "1.0.0", "settings": [{"name": "Key", "envVar": "LINT_KEY"}]});
    std::fs::write(extension.join("gemini-extension.json"), manifest.to_string()).unwrap();
    std::fs::write(extension.join(".env"), "LINT_KEY=sesame\n").unwrap();
    let command = "echo \"${extensionPath} ${workspacePath} $LINT_KEY\" > ran";
    let hooks =
        json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "name": "lint", "command": command}]}]}});
    std::fs::write(extension.join("hooks/hooks.json"), hooks.to_string()).unwrap();
    let first = run(&sandbox, &hello());
    has(&first.said, "lint");
    let expected = format!("{} {} sesame\n", extension.display(), sandbox.dir().display());
    assert_eq!(sandbox.read("ran"), expected, "{}", first.said);
    std::fs::remove_file(sandbox.dir().join("ran")).unwrap();
    let options = SessionOptions { extensions: ExtensionChoice::None, ..yolo() };
    run_with(&sandbox, "hello", &hello(), options).ends_well();
    assert!(!sandbox.has("ran"));
}

#[test]
fn a_policy_file_has_its_say_after_the_hooks() {
    let sandbox = project(&[("BeforeTool", "", LOG)]);
    let rule =
        "[[rule]]\ntoolName = \"write_file\"\ndecision = \"deny\"\npriority = 100\ndenyMessage = \"not by policy\"\n";
    let options = SessionOptions { policies: vec![sandbox.write("policy.toml", rule)], ..yolo() };
    let replay = Replay::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("ok");
    let denied = run_with(&sandbox, "hello", &replay, options.clone()).ends_well();
    has(&denied.said, "Error executing tool write_file: Tool execution denied by policy: not by policy");
    assert!(!sandbox.has("a.txt"));
    assert_eq!(log(&sandbox).len(), 1);
    sandbox.write("policy.toml", "rule = 7");
    has(&try_run(&sandbox, "hello", &replay, options).unwrap_err().to_string(), "policy.toml");
}

#[test]
fn a_users_own_hooks_run_in_any_folder() {
    let sandbox = project(&[("BeforeAgent", "", MARK)]).untrusted();
    let hook = json!({"type": "command", "name": "mine", "command": "touch \"$GEMINI_PROJECT_DIR/mine-ran\""});
    sandbox.write_user_settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}}));
    run(&sandbox, &hello());
    assert!(sandbox.has("mine-ran") && !sandbox.has("ran"));
}
