//! The agent cannot touch its own guards: tools do not change what guards are made of unasked, in no mode.

use super::*;
use hookwright_testkit::fs;

fn edit(path: &str) -> Replay {
    Replay::new().calls("write_file", json!({"file_path": path, "content": "{}"})).says("done")
}

#[test]
fn no_mode_list_or_rule_lets_a_tool_change_a_guard_unasked() {
    let allow = "[[rule]]\ntoolName = \"write_file\"\ndecision = \"allow\"\n";
    for flags in
        [&["-y"][..], &["--approval-mode=auto_edit"], &["--allowed-tools", "write_file"], &["--policy", "rules.toml"]]
    {
        let sandbox = project(&[("BeforeTool", "nothing", "exit 0")]);
        sandbox.write("rules.toml", allow);
        for path in
            [".gemini/settings.json", ".gemini/hooks/hook1.sh", "src/../.gemini/new.json", ".env", ".git/hooks/x"]
        {
            let before = fs::read(sandbox.project().join(path)).ok();
            let file = sandbox.replay(&edit(path));
            let run = sandbox.run(&[&["-p", "go", "--fake-responses", file.as_str()], flags].concat()).exits(0);
            has(&run.stderr, "is protected, because guards are made of it, and nobody is there to ask");
            has(&run.stderr, "security.protectedPaths");
            assert_eq!(fs::read(sandbox.project().join(path)).ok(), before, "{path} {flags:?}");
        }
        let file = sandbox.replay(&edit("src/a.txt"));
        sandbox.run(&[&["-p", "go", "--fake-responses", file.as_str()], flags].concat()).exits(0);
        assert!(sandbox.has("src/a.txt"), "{flags:?}");
    }
}

#[test]
fn memory_is_no_guard() {
    let sandbox = crate::sandbox();
    let replay = Replay::new().calls("save_memory", json!({"fact": "likes tea"})).says("done");
    prompt(&sandbox, "go", &replay, &[]).exits(0);
    has(&fs::read_to_string(sandbox.home().join(".gemini/GEMINI.md")).unwrap(), "likes tea");
    // Unless it leads to one.
    let settings = sandbox.home().join(".gemini/settings.json");
    std::fs::remove_file(sandbox.home().join(".gemini/GEMINI.md")).unwrap();
    std::fs::write(&settings, "{}").unwrap();
    std::os::unix::fs::symlink("settings.json", sandbox.home().join(".gemini/GEMINI.md")).unwrap();
    let run = prompt(&sandbox, "go", &replay, &[]).exits(0);
    has(&run.stderr, "is protected");
    assert_eq!(fs::read_to_string(settings).unwrap(), "{}");
}

#[test]
fn the_user_can_give_a_path_free_and_a_project_cannot() {
    let sandbox = crate::sandbox();
    let free = json!({"security": {"protectedPaths": ["!.gemini/commands/**", "locked/"]}});
    sandbox.settings(&free);
    let run = prompt(&sandbox, "go", &edit(".gemini/commands/a.toml"), &[]).exits(0);
    has(&run.stderr, "a project can't set `security.protectedPaths`; it is ignored");
    assert!(!sandbox.has(".gemini/commands/a.toml"));
    sandbox.settings(&json!({}));
    sandbox.user_settings(&free);
    prompt(&sandbox, "go", &edit(".gemini/commands/a.toml"), &[]).exits(0);
    assert!(sandbox.has(".gemini/commands/a.toml"));
    prompt(&sandbox, "go", &edit("locked/a"), &[]).exits(0);
    assert!(!sandbox.has("locked/a"));
    sandbox.user_settings(&json!({"security": {"protectedPaths": ["a[", "!"]}}));
    let run = sandbox.run(&["hooks", "validate"]);
    has(&run.stderr, "\"a[\" in `security.protectedPaths` is no glob");
    has(&run.stderr, "settings.json:4:");
}

#[test]
fn a_hooks_deny_wins_and_its_allow_lifts_nothing() {
    let sandbox = project(&[("BeforeTool", "write_file", r#"echo '{"decision": "allow"}'"#)]);
    let run = prompt(&sandbox, "go", &edit(".gemini/settings.json"), &[]).exits(0);
    has(&run.stderr, "is protected");
    let sandbox = project(&[("BeforeTool", "write_file", "echo 'not here' >&2; exit 2")]);
    let run = prompt(&sandbox, "go", &edit(".gemini/settings.json"), &[]).exits(0);
    has(&run.stderr, "Tool execution blocked: not here");
}

#[test]
fn policy_explain_knows_protected_paths() {
    let sandbox = crate::sandbox();
    let args = r#"{"file_path": ".gemini/settings.json", "content": ""}"#;
    let run = sandbox.run(&["policy", "explain", "write_file", args, "--mode", "yolo"]).exits(3);
    has(&run.stdout, "ask_user, by the protected path .gemini/settings.json");
    has(&run.stdout, "security.protectedPaths");
    sandbox.run(&["policy", "explain", "write_file", r#"{"file_path": "a"}"#, "--mode", "yolo"]).exits(0);
}

#[test]
fn names_of_context_files_open_no_guard_to_tools() {
    let names = json!({"context": {"fileName": ["hooks.json", "a.toml", "settings.json", "guard2.sh", "own.md"]}});
    let paths = [
        ".hookwright/hooks.json",
        ".gemini/policies/a.toml",
        ".gemini/hooks/guard2.sh",
        "sub/.gemini/settings.json",
        ".gemini/own.md",
    ];
    for of_user in [false, true] {
        let sandbox = crate::sandbox();
        if of_user {
            sandbox.user_settings(&names)
        } else {
            sandbox.settings(&names)
        };
        for path in paths {
            let run = prompt(&sandbox, "go", &edit(path), &[]).exits(0);
            // What the user calls a note is one.
            let free = of_user && path.ends_with(".md");
            assert_eq!((sandbox.has(path), run.stderr.contains("is protected")), (free, !free), "{path} {of_user}");
        }
    }
}

#[test]
fn what_a_guard_loads_is_its_own_and_what_an_ordinary_hook_runs_is_not() {
    for guard in [true, false] {
        let sandbox = with_interpreters(crate::sandbox());
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
        // None of them runs here: that they are guards is enough.
        sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"matcher": "read_file", "hooks": hooks}]}}));
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
            let file = sandbox.replay(&edit(path));
            let before = fs::read(sandbox.project().join(path)).ok();
            let ran = sandbox.run(&["-p", "go", "--fake-responses", &file, "--approval-mode=auto_edit"]).exits(0);
            assert_eq!(ran.stderr.contains("is protected"), guard && own, "{path}\n{ran:#?}");
            let after = fs::read(sandbox.project().join(path)).ok();
            assert_eq!(before == after, guard && own, "{path}");
            if let Some(before) = before {
                sandbox.write(path, before);
            }
        }
    }
}
