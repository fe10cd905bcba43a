//! HTTP hooks in the toolbox, the trust review, the bridge and on the screen.

use super::*;
use crate::suite::tui::{COMPOSER, TestTerminal};

/// A service that denies writing into `/etc`.
fn no_etc() -> TestHttpService {
    TestHttpService::start(|asked| {
        let is_etc = asked.body.contains("/etc/");
        ServiceReply::json(&if is_etc { json!({"decision": "deny", "reason": "not into /etc"}) } else { json!({}) })
    })
}

#[test]
fn lists_show_the_type_and_the_address() {
    let service = saying(json!({}));
    let sandbox = guarded(&service);
    let url = format!("{}/hook", service.address);
    assert_contains(&sandbox.run(&["hooks", "list"]).expect_exit_code(0).stdout, "policy");
    let list = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    assert_eq!((&list[0]["type"], &list[0]["url"], &list[0]["command"]), (&json!("http"), &json!(url), &Value::Null));
    let shown = sandbox.run(&["hooks", "show", "policy"]).expect_exit_code(0).stdout;
    for words in ["http", url.as_str(), "yes"] {
        assert_contains(&shown, words);
    }
}

#[test]
fn the_doctor_asks_about_a_sample() {
    let service = saying(json!({}));
    let sandbox = guarded(&service);
    assert_contains(&sandbox.run(&["hooks", "doctor"]).expect_exit_code(0).stdout, "answered a test call in");
    assert_eq!(service.requests().len(), 1);
    let broken = TestHttpService::start(|_| ServiceReply::status(502, "", "no upstream"));
    let run = guarded(&broken).run(&["hooks", "doctor"]);
    assert_ne!(run.code, Some(0), "{run:#?}");
    assert_contains(&run.stdout, "failed a test call: got 502 Bad Gateway from its service: no upstream");
}

#[test]
fn tests_are_written_as_for_a_command() {
    let sandbox = guarded(&no_etc());
    let case = |path: &str, decision: &str| {
        format!(
            "[[case]]\nname = \"{path}\"\nevent = \"BeforeTool\"\ntool = \"write_file\"\nargs = {{ file_path = \"{path}\" }}\n[case.expect]\ndecision = \"{decision}\"\nruns = 1\n"
        )
    };
    let write = |text: String| sandbox.write(".gemini/policy.hooktest.toml", text);
    write(format!("{}{}", case("/etc/passwd", "deny"), case("a.txt", "allow")));
    assert_contains(&sandbox.run(&["hooks", "test"]).expect_exit_code(0).stdout, "2 passed");
    write(case("a.txt", "deny"));
    sandbox.run(&["hooks", "test"]).expect_exit_code(1);
}

#[test]
fn every_wrong_key_is_reported_with_its_location() {
    let url = "https://policy.example/hook";
    for (hook, words) in [
        (json!({"type": "http"}), "needs `url`; this one never runs"),
        (json!({"type": "http", "url": 5}), "`url` should be a string"),
        (
            json!({"type": "http", "url": "policy.example"}),
            "`url` is not an http or https address; this hook never runs",
        ),
        (json!({"type": "http", "url": "https://a:b@policy.example"}), "has a user name or a password in it"),
        (json!({"type": "http", "url": "http://policy.example"}), "can read the input and forge the answer"),
        (json!({"type": "http", "url": "http://127.1/"}), "has no valid host"),
        (json!({"type": "http", "url": url, "headers": []}), "`headers` should be an object of strings"),
        (json!({"type": "http", "url": url, "headers": {"A": 1}}), "`headers.A` should be a string"),
        (json!({"type": "http", "url": url, "headers": {"A b": "x"}}), "`A b` can't be sent as a header"),
        (json!({"type": "http", "url": url, "headers": {"Host": "x"}}), "`Host` can't be sent as a header"),
        (json!({"type": "http", "url": url, "headers": {"A": "x\ny"}}), "`A` can't be sent as a header"),
        (json!({"type": "http", "url": url, "headers": {"A": "$B"}}), "`$B` is not in `allowedEnvVars`"),
        (
            json!({"type": "http", "url": url, "headers": {"Authorization": "Bearer abc"}}),
            "anyone who can read this file can read the value",
        ),
        (json!({"type": "http", "url": url, "allowedEnvVars": "B"}), "`allowedEnvVars`"),
        (json!({"type": "http", "url": url, "command": "x"}), "`command` has no effect here"),
        (json!({"type": "http", "url": url, "env": {}}), "`env` has no effect here"),
        (json!({"type": "http", "url": url, "idleTimeout": 5}), "`idleTimeout` has no effect here"),
        (json!({"type": "http", "url": url, "header": {}}), "a hook has no `header`"),
        (json!({"type": "command", "command": "true", "url": url}), "`url` has no effect here"),
    ] {
        let sandbox = project("BeforeTool", hook.clone());
        let run = sandbox.run(&["hooks", "validate"]);
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(words), "{hook}: no `{words}`: {run:#?}");
        assert_contains(&said, "settings.json:");
        // Warnings alone do not change the exit code.
        assert_eq!(run.code, Some(i32::from(said.contains("error:"))), "{hook}: {run:#?}");
    }
}

#[test]
fn a_new_one_is_announced_with_its_address_and_a_changed_one_is_reviewed() {
    let service = no_etc();
    let sandbox = guarded(&service);
    let run = prompt(&sandbox, &ReplayBuilder::new().says("hi"), &[]).expect_exit_code(0);
    assert_contains(&run.stderr, &service.address);
    sandbox.user_settings(&json!({"security": {"hooks": {"review": "block"}}}));
    let hook = |url: &str, header: &str| {
        let hook = json!({"type": "http", "name": "policy", "url": url, "headers": {"X-Team": header, "X-Of": "v $HOME"}, "allowedEnvVars": ["HOME"]});
        sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    };
    let is_held = || sandbox.run(&["hooks", "list", "--json"]).json()[0]["state"] == "untrusted";
    let trust = || sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0);
    hook(&service.address, "a");
    assert!(is_held());
    fire(&sandbox, &[]).expect_exit_code(1);
    assert_contains(&sandbox.run(&["hooks", "trust"]).stdout, &service.address);
    trust();
    assert!(!is_held());
    fire(&sandbox, &[]).expect_exit_code(0);
    // Changes in fields that are not shown count too.
    hook(&service.address, "b");
    assert!(is_held());
    assert_contains(&sandbox.run(&["hooks", "trust"]).stdout, "its header X-Team changed");
    trust();
    hook(&format!("{}/other", service.address), "b");
    assert!(is_held());
    assert_contains(&sandbox.run(&["hooks", "trust"]).stdout, "its `url` was");
    trust();
    let text = sandbox.read(".gemini/settings.json").replace("v $HOME", "w $HOME");
    sandbox.write(".gemini/settings.json", text);
    assert!(is_held());
    let asked = service.requests().len();
    fire(&sandbox, &[]).expect_exit_code(1);
    assert_eq!(service.requests().len(), asked, "what is held is not asked");
}

#[test]
fn the_bridge_asks_it_too() {
    let service = no_etc();
    let sandbox = guarded(&service);
    let bridge = |sandbox: &Sandbox, command: &str| {
        let payload = json!({"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash", "tool_input": {"command": command}});
        sandbox.run_with_input(&["bridge", "claude-code"], &payload.to_string())
    };
    let no = bridge(&sandbox, "echo x > /etc/passwd").json();
    assert_eq!(no["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(no["hookSpecificOutput"]["permissionDecisionReason"], "not into /etc");
    assert_eq!(bridge(&sandbox, "ls").expect_exit_code(0).stdout, "");
    let down = TestHttpService::start(|_| ServiceReply::Close(Vec::new()));
    let no = bridge(&guarded(&down), "ls").json();
    assert_eq!(no["hookSpecificOutput"]["permissionDecision"], "deny", "{no}");
}

#[test]
fn the_panel_and_the_question_of_trust_show_the_address() {
    let service = saying(json!({}));
    let port = service.address.rsplit(':').next().unwrap().to_owned();
    let sandbox = guarded(&service);
    let mut terminal = TestTerminal::sized(&sandbox, &[], 120, 30);
    terminal.wait_until_ready().keys("/hooks panel\r").wait_for_new_text("Hooks 1/1");
    let screen = terminal.wait_for_text(&format!("{port}/hook"));
    assert_contains(&screen, "http");
    terminal.keys("c");
    terminal.wait_for_new_text("canary: policy");
    terminal.keys("\x1b");
    terminal.wait_for_new_text(COMPOSER);
    drop(terminal);
    let untrusted = guarded(&service).untrusted();
    let mut terminal = TestTerminal::sized(&untrusted, &[], 120, 30);
    terminal.wait_for_new_text("Do you want to trust this folder?");
    assert_contains(&terminal.wait_for_new_text(&format!("{port}/hook")), "POST http://127.0.0.1");
}
