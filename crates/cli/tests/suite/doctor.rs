//! `hooks doctor`: no enabled hook is silently dead.

use crate::sandbox;
use serde_json::json;

#[test]
fn every_way_to_be_inert_is_found_and_explained() {
    let sandbox = sandbox();
    sandbox.script("fine.sh", "exit 0");
    sandbox.write(".gemini/hooks/plain.sh", "#!/bin/sh\n");
    let alien = sandbox.write(".gemini/hooks/alien", "#!/opt/no/such/interpreter\n");
    hookwright_testkit::make_executable(&alien);
    let env_alien = sandbox.write(".gemini/hooks/env-alien", "#!/usr/bin/env no-such-language\n");
    hookwright_testkit::make_executable(&env_alien);
    let crlf = sandbox.write(".gemini/hooks/crlf.sh", "#!/bin/sh\r\necho\r\n");
    hookwright_testkit::make_executable(&crlf);
    let at = |path: &str| format!("$GEMINI_PROJECT_DIR/.gemini/hooks/{path}");
    let cases = [
        (at("fine.sh"), None),
        ("sh -c 'exit 0'".to_owned(), None),
        ("FOO=bar sh -c true | cat".to_owned(), None),
        ("if true; then exit 0; fi".to_owned(), None),
        (at("plain.sh"), Some("not executable")),
        (at("missing.sh"), Some("no such file")),
        (at(""), Some("is a directory")),
        (at("alien"), Some("/opt/no/such/interpreter")),
        (at("env-alien"), Some("no-such-language")),
        (at("crlf.sh"), Some("interpreter")),
        ("no-such-program --flag".to_owned(), Some("command not found")),
        ("no-such-program | cat".to_owned(), Some("command not found")),
        (format!("sh {}", at("missing.sh")), Some("no such file")),
    ];
    let hooks: Vec<_> = cases.iter().map(|(command, _)| json!({"type": "command", "command": command})).collect();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}}));
    let report = sandbox.run(&["hooks", "doctor", "--json"]).exits(1).json();
    for ((command, problem), found) in cases.iter().zip(report["hooks"].as_array().unwrap()) {
        match problem {
            None => assert_eq!(found["state"], "armed", "{command}: {found:#}"),
            Some(words) => {
                assert_eq!(found["state"], "inert", "{command}: {found:#}");
                assert!(found["reason"].as_str().unwrap().contains(words), "{command}: {found:#}");
                assert!(!found["advice"].as_str().unwrap().is_empty());
            }
        }
    }
}

#[test]
fn what_the_doctor_says_is_what_running_shows() {
    for (command, code) in
        [("no-such-program", 127), ("./plain.sh", 126), ("./folder", 126), ("no-such-program | cat; exit 127", 127)]
    {
        let sandbox = sandbox();
        sandbox.write("plain.sh", "#!/bin/sh\n");
        std::fs::create_dir(sandbox.project().join("folder")).unwrap();
        sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": command}]}]}}));
        sandbox.run(&["hooks", "doctor"]).exits(1);
        let run = sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "glob", "--json"]).exits(0).json();
        assert_eq!(run["runs"][0]["status"], "not_started", "{command}: {run:#}");
        assert_eq!(run["runs"][0]["exit_code"], code, "{command}");
        assert!(!run["warnings"].as_array().unwrap().is_empty());
    }
}

#[test]
fn disabled_hooks_do_not_worry_the_doctor() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"disabled": ["no-such-program"], "BeforeTool": [{"hooks": [
        {"type": "command", "command": "no-such-program"}]}]}}));
    let run = sandbox.run(&["hooks", "doctor"]).exits(0);
    assert!(run.stdout.contains("off"), "{}", run.stdout);
}

#[test]
fn a_session_says_at_its_start_which_hooks_cannot_run() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "glob", "hooks": [
        {"type": "command", "name": "guard", "command": "./gone.sh"}]}]}}));
    for _ in 0..2 {
        let run = sandbox.run(&["-p", "say hi"]).exits(0);
        assert!(
            run.stderr.contains("hook guard (project, BeforeTool) can't run: ./gone.sh: no such file"),
            "{}",
            run.stderr
        );
    }
}
