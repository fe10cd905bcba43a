//! Which hooks run at all, and in what surroundings.

use super::*;
use hookwright_testkit::deadline::*;

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
        assert_eq!(run(&sandbox, &hello(), &[]).exits(0).stdout, "ok\n");
        assert!(!sandbox.has("ran"), "{settings}");
    }
    let sandbox = project(&[("BeforeAgent", "", MARK)]);
    run(&sandbox, &hello(), &["--no-hooks"]).exits(0);
    assert!(!sandbox.has("ran"));
    run(&sandbox, &hello(), &[]).exits(0);
    assert!(sandbox.has("ran"));
}

#[test]
fn an_untrusted_folder_loads_nothing_and_says_so() {
    let sandbox = project(&[("BeforeAgent", "", MARK)]).untrusted();
    let first = run(&sandbox, &hello(), &[]).exits(0);
    assert_eq!(first.stdout, "ok\n");
    has(&first.stderr, "this folder is not trusted, so .gemini/settings.json is not loaded");
    assert!(!sandbox.has("ran"));
    run(&sandbox, &hello(), &["--skip-trust"]).exits(0);
    assert!(sandbox.has("ran"));
}

#[test]
fn a_user_can_switch_folder_trust_off() {
    let sandbox = project(&[("BeforeAgent", "", MARK)]).untrusted();
    sandbox.user_settings(&json!({"security": {"folderTrust": {"enabled": false}}}));
    run(&sandbox, &hello(), &[]).exits(0);
    assert!(sandbox.has("ran"));
}

#[test]
fn a_new_project_hook_is_announced_once() {
    let sandbox = project(&[("BeforeAgent", "", MARK)]);
    has(&run(&sandbox, &hello(), &[]).stderr, "new project hook `hook1`");
    lacks(&run(&sandbox, &hello(), &[]).stderr, "new project hook");
}

#[test]
fn a_project_that_switches_off_a_users_hook_is_announced() {
    let sandbox = project_with(&[], json!({"hooks": {"disabled": ["mine"]}}));
    let hook = json!({"type": "command", "name": "mine", "command": "touch \"$GEMINI_PROJECT_DIR/mine-ran\""});
    sandbox.user_settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}}));
    let run = run(&sandbox, &hello(), &[]).exits(0);
    has(&run.stderr, "this project's settings disable `mine` (user)");
    assert!(!sandbox.has("mine-ran"));
}

#[test]
fn all_layers_run_and_doubles_run_once() {
    let hook = |name: &str| json!({"type": "command", "name": name, "command": "echo x >> count"});
    let sandbox = project_with(&[], json!({"hooks": {"BeforeAgent": [{"hooks": [hook("same"), hook("project")]}]}}));
    sandbox.user_settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [hook("same"), hook("user")]}]}}));
    run(&sandbox, &hello(), &[]).exits(0);
    assert_eq!(sandbox.read("count").lines().count(), 3);
}

#[test]
fn a_bad_hook_is_reported_with_its_place_and_the_others_run() {
    let sandbox = project_with(&[("BeforeAgent", "", MARK)], json!({"hooks": {"PreToolUse": []}}));
    let run = run(&sandbox, &hello(), &[]).exits(0);
    has(&run.stderr, "PreToolUse");
    has(&run.stderr, "BeforeTool");
    has(&run.stderr, "settings.json:");
    assert!(sandbox.has("ran"));
}

#[test]
fn paths_with_spaces_and_quotes_work_quoted_and_unquoted() {
    let sandbox = crate::sandbox().project_named("my \"big\" project's $HOME");
    let script = sandbox.script("mark.sh", "cat > /dev/null; echo \"$1\" >> ran");
    let hook = |name: &str, command: &str| json!({"type": "command", "name": name, "command": command});
    let quoted = script
        .replace("$GEMINI_PROJECT_DIR/.gemini/hooks/mark.sh", "\"$GEMINI_PROJECT_DIR\"/.gemini/hooks/mark.sh quoted");
    let whole = format!("\"{script}\" whole; true");
    let hooks = [
        hook("a", &quoted),
        hook("b", &format!("{script} bare")),
        hook("c", &whole),
        hook("d", &format!("{script} bare-in-shell && true")),
    ];
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"sequential": true, "hooks": hooks}]}}));
    let run = run(&sandbox, &hello(), &[]).exits(0);
    assert_eq!(sandbox.read("ran"), "quoted\nbare\nwhole\nbare-in-shell\n", "{}", run.stderr);
}

#[test]
fn hooks_run_in_the_project_with_its_variables() {
    let sandbox = project(&[("BeforeAgent", "", "cat > /dev/null; env > env.txt; pwd > pwd.txt")]);
    run(&sandbox, &hello(), &["--session-id", "s-1"]).exits(0);
    let project = sandbox.project().to_str().unwrap().to_owned();
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
    run(&sandbox, &hello(), &[]).exits(0);
    let env = sandbox.read("env.txt");
    has(&env, "MINE=yes");
    has(&env, "HARMLESS=fine");
    lacks(&env, "t0ken");
}

#[test]
fn yolo_cannot_come_from_a_settings_file() {
    let settings = json!({"general": {"defaultApprovalMode": "yolo"}});
    let sandbox = project_with(&[], settings.clone());
    sandbox.user_settings(&settings);
    let file =
        sandbox.replay(&Replay::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("ok"));
    let run = sandbox.run(&["-p", "x", "--fake-responses", &file]).exits(0);
    has(&run.stderr, "write_file needs approval");
    has(&run.stderr, "defaultApprovalMode");
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
    let first = run(&sandbox, &hello(), &[]).exits(0);
    has(&first.stderr, "lint");
    let expected = format!("{} {} sesame\n", extension.display(), sandbox.project().display());
    assert_eq!(sandbox.read("ran"), expected, "{}", first.stderr);
    std::fs::remove_file(sandbox.project().join("ran")).unwrap();
    run(&sandbox, &hello(), &["--extensions", "none"]).exits(0);
    assert!(!sandbox.has("ran"));
}

#[test]
fn a_policy_file_has_its_say_after_the_hooks() {
    let sandbox = project(&[("BeforeTool", "", LOG)]);
    let rule =
        "[[rule]]\ntoolName = \"write_file\"\ndecision = \"deny\"\npriority = 100\ndenyMessage = \"not by policy\"\n";
    sandbox.write("policy.toml", rule);
    let replay = Replay::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("ok");
    let denied = run(&sandbox, &replay, &["--policy", "policy.toml"]).exits(0);
    has(&denied.stderr, "Error executing tool write_file: Tool execution denied by policy: not by policy");
    assert!(!sandbox.has("a.txt"));
    assert_eq!(log(&sandbox).len(), 1);
    sandbox.write("policy.toml", "rule = 7");
    has(&run(&sandbox, &replay, &["--policy", "policy.toml"]).exits(1).stderr, "policy.toml");
}

#[test]
fn debugging_shows_every_hook_run() {
    let sandbox = project(&[("BeforeAgent", "", MARK)]);
    let run = run(&sandbox, &hello(), &["--debug"]).exits(0);
    has(&run.stderr, "hook hook1 (project, BeforeAgent) ok in ");
    assert_eq!(run.stdout, "ok\n");
}

#[test]
fn a_users_own_hooks_run_in_any_folder() {
    let sandbox = project(&[("BeforeAgent", "", MARK)]).untrusted();
    let hook = json!({"type": "command", "name": "mine", "command": "touch \"$GEMINI_PROJECT_DIR/mine-ran\""});
    sandbox.user_settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}}));
    run(&sandbox, &hello(), &[]).exits(0);
    assert!(sandbox.has("mine-ran") && !sandbox.has("ran"));
}

#[test]
fn a_request_is_tried_as_often_as_the_settings_say() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let (sender, requests) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.connections() {
            let mut connection = connection;
            let _ = connection.read(&mut [0; 65536]);
            let _ = connection.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = sender.send(());
        }
    });
    let sandbox = crate::sandbox().env("OPENAI_BASE_URL", &base).env("OPENAI_MODEL", "m");
    sandbox.settings(&json!({"general": {"maxAttempts": 1}}));
    let run = sandbox.run(&["-p", "hi"]);
    assert_ne!(run.code, Some(0), "{run:#?}");
    assert_eq!(requests.try_iter().count(), 1);
}

#[test]
fn a_command_that_is_broken_is_no_prompt() {
    let sandbox = crate::sandbox();
    sandbox.write(".gemini/commands/git/bad.toml", "description = 'x'\nprompt = \n");
    let run = sandbox.run(&["-p", "/git:bad now"]).exits(42);
    has(&run.stderr, "bad.toml:2:");
    assert_eq!(run.stdout, "");
    sandbox.run(&["-p", "/nothing of ours"]).exits(0);
}
