//! Tools cannot change the files of guards without approval, in any mode.

use super::*;

fn write_file_replay(path: &str) -> ReplayBuilder {
    ReplayBuilder::new().calls("write_file", json!({"file_path": path, "content": "{}"})).says("done")
}

fn auto_edit_options() -> SessionOptions {
    SessionOptions { approval_mode: Some(ApprovalMode::AutoEdit), ..SessionOptions::default() }
}

/// A project with empty programs of interpreters' names, since languages are told apart by the program's name.
fn with_interpreters(sandbox: HeadlessProject) -> HeadlessProject {
    let folder = sandbox.outside_path("interpreters");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["python3", "node", "make"] {
        std::fs::write(folder.join(name), "#!/bin/sh\nexit 1\n").unwrap();
        hookwright_testkit::make_executable(&folder.join(name));
    }
    let path = std::env::var("PATH").unwrap_or_default();
    sandbox.env("PATH", &format!("{}:{path}", folder.display()))
}

#[test]
fn no_mode_list_or_rule_lets_a_tool_change_a_guard_unasked() {
    let allow = "[[rule]]\ntoolName = \"write_file\"\ndecision = \"allow\"\n";
    for flag in ["yolo", "auto_edit", "allowed tools", "policy"] {
        let sandbox = project(&[("BeforeTool", "nothing", "exit 0")]);
        let rules = sandbox.write("rules.toml", allow);
        let options = match flag {
            "yolo" => yolo_options(),
            "auto_edit" => auto_edit_options(),
            "policy" => SessionOptions { policies: vec![rules], ..SessionOptions::default() },
            _ => SessionOptions { allowed_tools: vec!["write_file".to_owned()], ..SessionOptions::default() },
        };
        for path in
            [".gemini/settings.json", ".gemini/hooks/hook1.sh", "src/../.gemini/new.json", ".env", ".git/hooks/x"]
        {
            let before = fs::read(sandbox.project_dir().join(path)).ok();
            let run = run_with_options(&sandbox, "go", &write_file_replay(path), options.clone()).assert_ended_well();
            assert_contains(
                &run.messages,
                "is protected because guards depend on it, and no user is present to approve a change",
            );
            assert_contains(&run.messages, "security.protectedPaths");
            assert_eq!(fs::read(sandbox.project_dir().join(path)).ok(), before, "{path} {flag}");
        }
        run_with_options(&sandbox, "go", &write_file_replay("src/a.txt"), options).assert_ended_well();
        assert!(sandbox.exists("src/a.txt"), "{flag}");
    }
}

#[test]
fn memory_is_no_guard() {
    let sandbox = empty_project();
    let replay = ReplayBuilder::new().calls("save_memory", json!({"fact": "likes tea"})).says("done");
    run_prompt(&sandbox, "go", &replay);
    assert_contains(&fs::read_to_string(sandbox.home_dir().join(".gemini/GEMINI.md")).unwrap(), "likes tea");
    // A context file that links to a guard's file is protected.
    let settings = sandbox.home_dir().join(".gemini/settings.json");
    std::fs::remove_file(sandbox.home_dir().join(".gemini/GEMINI.md")).unwrap();
    std::fs::write(&settings, "{}").unwrap();
    std::os::unix::fs::symlink("settings.json", sandbox.home_dir().join(".gemini/GEMINI.md")).unwrap();
    let run = run_prompt(&sandbox, "go", &replay);
    assert_contains(&run.messages, "is protected");
    assert_eq!(fs::read_to_string(settings).unwrap(), "{}");
}

#[test]
fn a_hooks_deny_wins_and_its_allow_lifts_nothing() {
    let sandbox = project(&[("BeforeTool", "write_file", r#"echo '{"decision": "allow"}'"#)]);
    let run = run_prompt(&sandbox, "go", &write_file_replay(".gemini/settings.json"));
    assert_contains(&run.messages, "is protected");
    let sandbox = project(&[("BeforeTool", "write_file", "echo 'not here' >&2; exit 2")]);
    let run = run_prompt(&sandbox, "go", &write_file_replay(".gemini/settings.json"));
    assert_contains(&run.messages, "Tool execution blocked: not here");
}

#[test]
fn context_file_names_do_not_unprotect_guards() {
    let names = json!({"context": {"fileName": ["hooks.json", "a.toml", "settings.json", "guard2.sh", "own.md"]}});
    let paths = [
        ".hookwright/hooks.json",
        ".gemini/policies/a.toml",
        ".gemini/hooks/guard2.sh",
        "sub/.gemini/settings.json",
        ".gemini/own.md",
    ];
    for of_user in [false, true] {
        let sandbox = empty_project();
        if of_user {
            sandbox.write_user_settings(&names);
        } else {
            sandbox.write_settings(&names);
        }
        for path in paths {
            let run = run_prompt(&sandbox, "go", &write_file_replay(path));
            // A file that the user's own settings name as context is not protected.
            let free = of_user && path.ends_with(".md");
            assert_eq!(
                (sandbox.exists(path), run.messages.contains("is protected")),
                (free, !free),
                "{path} {of_user}"
            );
        }
    }
}

#[test]
fn files_that_a_guard_loads_are_protected_and_those_of_other_hooks_are_not() {
    for guard in [true, false] {
        let sandbox = with_interpreters(empty_project());
        sandbox.write("tools/guard.py", "import rules\n");
        sandbox.write("tools/rules.py", "");
        sandbox.write("tools/guard.js", "require('./more')\n");
        sandbox.write("tools/more.js", "");
        sandbox.write("tools/guard.sh", "cat > /dev/null\n. tools/lib.sh\n");
        sandbox.write("tools/lib.sh", "");
        sandbox.write("tools/deny.txt", "forbidden\n");
        sandbox.write("Makefile", "guard:\n\tsh tools/made.sh\n");
        sandbox.write("tools/made.sh", "exit 0\n");
        let commands = [
            "python3 tools/guard.py",
            "node tools/guard.js",
            "sh tools/guard.sh",
            "! grep -qf tools/deny.txt",
            "true || make guard",
        ];
        let hooks = commands.map(|command| json!({"type": "command", "command": command, "guard": guard}));
        // The hooks do not run here; being guards is enough.
        sandbox.write_user_settings(&json!({"hooks": {"BeforeTool": [{"matcher": "read_file", "hooks": hooks}]}}));
        for (path, own) in [
            ("tools/rules.py", true),
            ("tools/json.py", true),
            ("tools/json/__init__.py", true),
            ("tools/__pycache__/rules.cpython-312.pyc", true),
            ("tools/more.js", true),
            ("tools/more", true),
            ("tools/node_modules/fs2/index.js", true),
            ("tools/lib.sh", true),
            ("tools/made.sh", true),
            ("tools/notes.txt", false),
            ("src/rules.py", false),
        ] {
            let before = fs::read(sandbox.project_dir().join(path)).ok();
            let ran =
                run_with_options(&sandbox, "go", &write_file_replay(path), auto_edit_options()).assert_ended_well();
            assert_eq!(ran.messages.contains("is protected"), guard && own, "{path}\n{ran:#?}");
            let after = fs::read(sandbox.project_dir().join(path)).ok();
            assert_eq!(before == after, guard && own, "{path}");
            if let Some(before) = before {
                sandbox.write(path, before);
            }
        }
    }
}
