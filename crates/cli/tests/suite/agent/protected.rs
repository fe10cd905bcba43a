//! The agent cannot touch its own guards: tools do not change what guards are made of unasked, in no mode.

use super::*;

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
            let before = std::fs::read(sandbox.project().join(path)).ok();
            let file = sandbox.replay(&edit(path));
            let run = sandbox.run(&[&["-p", "go", "--fake-responses", file.as_str()], flags].concat()).exits(0);
            has(&run.stderr, "is protected, because guards are made of it, and nobody is there to ask");
            has(&run.stderr, "security.protectedPaths");
            assert_eq!(std::fs::read(sandbox.project().join(path)).ok(), before, "{path} {flags:?}");
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
    has(&std::fs::read_to_string(sandbox.home().join(".gemini/GEMINI.md")).unwrap(), "likes tea");
    // Unless it leads to one.
    let settings = sandbox.home().join(".gemini/settings.json");
    std::fs::remove_file(sandbox.home().join(".gemini/GEMINI.md")).unwrap();
    std::fs::write(&settings, "{}").unwrap();
    std::os::unix::fs::symlink("settings.json", sandbox.home().join(".gemini/GEMINI.md")).unwrap();
    let run = prompt(&sandbox, "go", &replay, &[]).exits(0);
    has(&run.stderr, "is protected");
    assert_eq!(std::fs::read_to_string(settings).unwrap(), "{}");
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
