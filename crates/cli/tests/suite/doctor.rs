//! `hooks doctor`: reports every enabled hook that cannot run.

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
    let report = sandbox.run(&["hooks", "doctor", "--json"]).expect_exit_code(1).json();
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
fn the_doctors_report_agrees_with_a_run() {
    for (command, code) in
        [("no-such-program", 127), ("./plain.sh", 126), ("./folder", 126), ("no-such-program | cat; exit 127", 127)]
    {
        let sandbox = sandbox();
        sandbox.write("plain.sh", "#!/bin/sh\n");
        std::fs::create_dir(sandbox.project().join("folder")).unwrap();
        sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": command}]}]}}));
        sandbox.run(&["hooks", "doctor"]).expect_exit_code(1);
        let run = sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "glob", "--json"]).expect_exit_code(0).json();
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
    let run = sandbox.run(&["hooks", "doctor"]).expect_exit_code(0);
    assert!(run.stdout.contains("off"), "{}", run.stdout);
}

#[test]
fn a_session_says_at_its_start_which_hooks_cannot_run() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "glob", "hooks": [
        {"type": "command", "name": "guard", "command": "./gone.sh"}]}]}}));
    for _ in 0..2 {
        let run = sandbox.run(&["-p", "say hi"]).expect_exit_code(0);
        assert!(
            run.stderr.contains("hook guard (project, BeforeTool) can't run: ./gone.sh: no such file"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn unset_variables_are_reported() {
    let sandbox = sandbox().env("THERE", "1");
    let command = |command: &str| json!({"type": "command", "command": command});
    let hooks = json!([
        command("echo \"${CLAUDE_PLUGIN_ROOT}/x.sh\" $NOWHERE $THERE $GEMINI_SESSION_ID $HOME ${OTHER:-x}"),
        {"type": "command", "command": "echo $OWN", "env": {"OWN": "1"}},
        command("MINE=1; echo $MINE; awk '{print $NF}' /dev/null"),
    ]);
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]},
        "mcpServers": {"s": {"command": "sh", "args": ["${CLAUDE_PLUGIN_ROOT}/s.js"]}}}));
    let report = sandbox.run(&["doctor", "--json"]).expect_exit_code(0).json();
    assert_eq!(report["hooks"][0]["unset_variables"], json!(["CLAUDE_PLUGIN_ROOT", "NOWHERE"]));
    assert_eq!(
        (&report["hooks"][1]["unset_variables"], &report["hooks"][2]["unset_variables"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(report["servers_without_variables"], json!([{"name": "s", "unset_variables": ["CLAUDE_PLUGIN_ROOT"]}]));
    let run = sandbox.run(&["doctor"]).expect_exit_code(0);
    for words in [
        "never set: $CLAUDE_PLUGIN_ROOT, which is set only for the hooks of an extension",
        "never set: $NOWHERE",
        "MCP server s, never set",
    ] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    // For an extension's own hooks it is the extension's folder.
    let folder = sandbox.home().join(".gemini/extensions/plug");
    std::fs::create_dir_all(folder.join("hooks")).unwrap();
    std::fs::write(folder.join("gemini-extension.json"), json!({"name": "plug", "version": "1"}).to_string()).unwrap();
    let hooks = json!({"BeforeTool": [{"hooks": [command("echo $CLAUDE_PLUGIN_ROOT ${extensionPath}")]}]});
    std::fs::write(folder.join("hooks/hooks.json"), json!({"hooks": hooks}).to_string()).unwrap();
    let report = sandbox.run(&["doctor", "--json"]).json();
    let of_extension =
        report["hooks"].as_array().unwrap().iter().find(|hook| hook["source"].as_str().unwrap().contains("plug"));
    assert_eq!(of_extension.unwrap()["unset_variables"], json!([]), "{report:#}");
}

/// A hook whose matcher has a typing mistake never runs, and only the doctor reports it.
#[test]
fn a_matcher_that_can_never_match_is_no_armed_hook() {
    let sandbox = sandbox();
    let hook = |name: &str| json!([{"type": "command", "name": name, "command": "true"}]);
    sandbox.settings(&json!({"hooks": {
        "BeforeTool": [
            {"matcher": "run_shell_comand", "hooks": hook("typo")},
            {"matcher": "run_shell_command|write_flie", "hooks": hook("half")},
            {"matcher": "mcp__git__push", "hooks": hook("server")},
        ],
        "SessionStart": [{"matcher": "startupp", "hooks": hook("late")}],
    }}));
    let listed = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    let state = |name: &str| {
        let hook = listed.as_array().unwrap().iter().find(|hook| hook["name"] == name).unwrap();
        (hook["state"].as_str().unwrap().to_owned(), hook["reason"].to_string())
    };
    for (name, matcher) in [("typo", "run_shell_comand"), ("late", "startupp")] {
        let (word, reason) = state(name);
        assert_eq!(word, "inert");
        assert!(reason.contains(matcher) && reason.contains("never runs"), "{reason}");
    }
    assert_eq!((state("half").0.as_str(), state("server").0.as_str()), ("armed", "armed"));
    let run = sandbox.run(&["doctor"]).expect_exit_code(1);
    assert!(
        run.stdout.contains("FAIL BeforeTool typo") && run.stdout.contains("FAIL SessionStart late"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("did you mean `run_shell_command`?"), "{}", run.stdout);
    assert!(
        run.stdout.contains("did you mean `startup`?") && run.stdout.contains("2 armed, 2 inert"),
        "{}",
        run.stdout
    );
}
