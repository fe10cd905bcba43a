//! Commands, paths and the hooks in `--debug` output. Which hooks run is in
//! `crates/agent/tests/suite/headless/configuration.rs`.

use super::*;
use hookwright_testkit::deadline::*;

const TOUCH_SCRIPT: &str = "cat > /dev/null; touch ran";

fn ok_replay() -> ReplayBuilder {
    ReplayBuilder::new().says("ok")
}

#[test]
fn a_switch_off_by_the_project_takes_effect_after_trust() {
    let sandbox = project_with(&[], json!({"hooks": {"disabled": ["mine"]}}));
    let hook = |name: &str| json!({"type": "command", "name": name, "command": format!("touch {name}-ran")});
    sandbox.user_settings(&json!({
        "security": {"hooks": {"review": "ask"}},
        "hooks": {"BeforeAgent": [{"hooks": [hook("mine"), hook("other")]}]},
    }));
    let ran = |name: &str| {
        let file = sandbox.project().join(format!("{name}-ran"));
        let ran = file.exists();
        let _ = std::fs::remove_file(file);
        ran
    };
    let first = run(&sandbox, &ok_replay(), &[]).expect_exit_code(0);
    assert_contains(
        &first.stderr,
        "this project's settings disable `mine` (user); it stays on until you trust this change",
    );
    assert!(ran("mine") && ran("other"));
    assert_contains(
        &sandbox.run(&["hooks", "trust"]).expect_exit_code(0).stdout,
        "switched off by this project's settings, waits for trust",
    );
    sandbox.run(&["hooks", "trust", "mine"]).expect_exit_code(0);
    run(&sandbox, &ok_replay(), &[]).expect_exit_code(0);
    assert!(!ran("mine") && ran("other"));
    // A hook that the user disables needs no confirmation, although the project's settings hold it.
    sandbox.run(&["hooks", "disable", "other"]).expect_exit_code(0);
    run(&sandbox, &ok_replay(), &[]).expect_exit_code(0);
    assert!(!ran("mine") && !ran("other"));
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
    let run = run(&sandbox, &ok_replay(), &[]).expect_exit_code(0);
    assert_eq!(sandbox.read("ran"), "quoted\nbare\nwhole\nbare-in-shell\n", "{}", run.stderr);
}

#[test]
fn debugging_shows_every_hook_run() {
    let sandbox = project(&[("BeforeAgent", "", TOUCH_SCRIPT)]);
    let run = run(&sandbox, &ok_replay(), &["--debug"]).expect_exit_code(0);
    assert_contains(&run.stderr, "hook hook1 (project, BeforeAgent) ok in ");
    assert_eq!(run.stdout, "ok\n");
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
    let run = sandbox.run(&["-p", "/git:bad now"]).expect_exit_code(42);
    assert_contains(&run.stderr, "bad.toml:2:");
    assert_eq!(run.stdout, "");
    sandbox.run(&["-p", "/nothing of ours"]).expect_exit_code(0);
}
