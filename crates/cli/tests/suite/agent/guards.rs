//! Nothing runs unasked where guards could be missing.

use super::*;
use hookwright_testkit::fs;

fn writes() -> Replay {
    Replay::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done")
}

#[test]
fn settings_that_cannot_be_read_keep_a_session_from_starting() {
    for (broken, place) in [("{ \"hooks\": {", "settings.json"), ("[]", "settings.json")] {
        let sandbox = crate::sandbox();
        sandbox.write(".gemini/settings.json", broken);
        let run = prompt(&sandbox, "go", &writes(), &[]).exits(52);
        has(&run.stderr, place);
        has(&run.stderr, "--ignore-broken-settings");
        assert!(!sandbox.has("a.txt") && run.stdout.is_empty());
        // Without them, on purpose: then nothing runs unasked because of a mode.
        let run = prompt(&sandbox, "go", &writes(), &["--ignore-broken-settings", "-o", "json"]).exits(0);
        has(&run.json().to_string(), "so the approval mode is default, not yolo");
        assert!(!sandbox.has("a.txt"));
    }
}

#[test]
fn in_a_folder_that_is_not_trusted_no_mode_lets_anything_run_unasked() {
    for mode in ["yolo", "auto_edit"] {
        let sandbox = crate::sandbox().untrusted();
        let file = sandbox.replay(&writes());
        let mode = format!("--approval-mode={mode}");
        let args = ["-p", "go", "--fake-responses", file.as_str(), mode.as_str(), "-o", "json"];
        let run = sandbox.run(&args).exits(0);
        has(&run.json()["warnings"].to_string(), "this folder is not trusted, so the approval mode is default");
        assert!(!sandbox.has("a.txt"), "{mode}");
        let run = sandbox.run(&[&args[..], &["--skip-trust"]].concat()).exits(0);
        lacks(&run.stdout, "approval mode");
        assert!(sandbox.has("a.txt"), "{mode}");
    }
}

#[test]
fn a_locked_hook_runs_whatever_the_command_line_says() {
    let sandbox = crate::sandbox();
    let hook = |name: &str, locked: bool| json!({"type": "command", "name": name, "command": format!("echo {name} >&2; exit 2"), "locked": locked});
    let settings = json!({"hooks": {"BeforeTool": [{"hooks": [hook("lock", true), hook("loose", false)]}]}});
    std::fs::write(sandbox.home().join("system-settings.json"), settings.to_string()).unwrap();
    let run = prompt(&sandbox, "go", &writes(), &["--no-hooks"]).exits(0);
    has(&run.stderr, "--no-hooks leaves locked hooks and guards running: lock");
    has(&run.stderr, "Tool execution blocked: lock");
    lacks(&run.stderr, "loose");
    assert!(!sandbox.has("a.txt"));
}

/// One hook on BeforeTool, as a guard.
fn guard(name: &str, command: &str) -> Value {
    json!({"type": "command", "name": name, "command": command, "guard": true})
}

fn guarded(hooks: &[Value]) -> Value {
    json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}})
}

const NO: &str = "cat > /dev/null; echo guarded >&2; exit 2";

#[test]
fn a_guard_is_not_put_to_sleep_by_anything_else() {
    let project = json!({
        "hooks": {"enabled": false, "BeforeTool": [{"matcher": "glob", "hooks": [
            {"type": "command", "name": "guard", "command": NO, "timeout": 1, "env": {"PATH": "/nowhere"}, "onError": "allow"}]}]},
        "hooksConfig": {"enabled": false, "disabled": ["guard"], "onError": "allow"},
        "tools": {"enableHooks": false},
    });
    let sandbox = crate::sandbox();
    sandbox.settings(&project);
    sandbox.user_settings(&guarded(&[guard("guard", NO)]));
    for more in [&[][..], &["--no-hooks"]] {
        let run = prompt(&sandbox, "go", &writes(), more).exits(0);
        has(&run.stderr, "Tool execution blocked: guarded");
        assert!(!sandbox.has("a.txt"), "{more:?}");
    }
    let run = sandbox.run(&["hooks", "disable", "guard"]).exits(1);
    has(&run.stderr, "hook `guard` is a guard of the user settings and can't be switched off from anywhere else");
    let run = sandbox.run(&["hooks", "disable-all"]).exits(0);
    has(&run.stderr, "hook `guard` is a guard of the user settings");
    assert!(prompt(&sandbox, "go", &writes(), &[]).stderr.contains("guarded") && !sandbox.has("a.txt"));
}

#[test]
fn no_session_starts_unattended_without_its_guards() {
    let mut off = guarded(&[guard("asleep", "true")]);
    off["hooksConfig"] = json!({"disabled": ["asleep"]});
    let never = json!({"hooks": {"BeforeTool": [{"matcher": "write_flie", "hooks": [guard("asleep", "true")]}]}});
    let broken = json!({"hooks": {"PreToolUse": [{"hooks": [guard("asleep", "true")]}]}});
    let cases = [
        (guarded(&[guard("asleep", "./nowhere.sh")]), "inert", "./nowhere.sh: no such file", "create ./nowhere.sh"),
        (off, "disabled", "the project settings switch it off", "hookwright hooks enable asleep"),
        (never, "never_matches", "its matcher `write_flie` matches nothing that is known", "correct its matcher"),
        (broken, "broken", "unknown hook event `PreToolUse`", "correct its declaration"),
        (
            json!({"hooksConfig": {"required": ["asleep"]}}),
            "missing",
            "the project settings require it",
            "add the hook",
        ),
    ];
    for (settings, why, reason, advice) in cases {
        let sandbox = crate::sandbox();
        sandbox.settings(&settings);
        let run = prompt(&sandbox, "go", &writes(), &[]).exits(52);
        for words in ["guard asleep (", "settings.json:", "is not armed", reason, advice] {
            has(&run.stderr, words);
        }
        assert!(run.stdout.is_empty() && !sandbox.has("a.txt"));
        // No flag gets around it.
        prompt(&sandbox, "go", &writes(), &["--no-hooks", "--ignore-broken-settings"]).exits(52);
        let run = prompt(&sandbox, "go", &writes(), &["-o", "json"]).exits(52);
        let error = &run.json()["error"];
        assert_eq!((&error["type"], &error["code"]), (&json!("unguarded"), &json!(52)));
        let told = &error["guards"][0];
        assert_eq!((&told["name"], &told["why"]), (&json!("asleep"), &json!(why)), "{told}");
        assert!(told["line"].is_number() && told["file"].as_str().unwrap().ends_with("settings.json"), "{told}");
        let lines = prompt(&sandbox, "go", &writes(), &["-o", "stream-json"]).exits(52).json_lines();
        let kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["error", "result"]);
        assert_eq!((&lines[1]["status"], &lines[1]["error"]["code"]), (&json!("error"), &json!(52)));
        assert!(!sandbox.has("a.txt"));
    }
}

#[test]
fn an_unarmed_hook_that_is_no_guard_keeps_nobody_from_starting() {
    let sandbox = crate::sandbox();
    sandbox.settings(&guarded(&[json!({"type": "command", "name": "lost", "command": "./nowhere.sh"})]));
    let run = prompt(&sandbox, "go", &writes(), &[]).exits(0);
    has(&run.stderr, "hook lost (project, BeforeTool) can't run");
    assert!(sandbox.has("a.txt"));
}

#[test]
fn a_guard_that_waits_for_trust_keeps_a_session_from_starting() {
    let sandbox = crate::sandbox();
    sandbox.user_settings(&json!({"security": {"hooks": {"review": "block"}}}));
    sandbox.settings(&guarded(&[guard("new", NO)]));
    let run = prompt(&sandbox, "go", &writes(), &[]).exits(52);
    has(&run.stderr, "not trusted yet");
    has(&run.stderr, "hookwright hooks trust new");
    sandbox.run(&["hooks", "trust", "new"]).exits(0);
    has(&prompt(&sandbox, "go", &writes(), &[]).exits(0).stderr, "guarded");
    assert!(!sandbox.has("a.txt"));
}

#[test]
fn the_guards_of_a_folder_that_is_not_trusted_are_missed() {
    let sandbox = crate::sandbox().untrusted();
    sandbox.settings(&guarded(&[guard("own", NO)]));
    let file = sandbox.replay(&writes());
    let args = ["-p", "go", "--fake-responses", file.as_str(), "-y"];
    let run = sandbox.run(&args).exits(52);
    has(&run.stderr, "guard own (");
    has(&run.stderr, "this folder is not trusted");
    has(&run.stderr, "--skip-trust");
    has(&sandbox.run(&[&args[..], &["--skip-trust"]].concat()).exits(0).stderr, "guarded");
}

#[test]
fn a_broken_file_is_known_to_have_held_guards() {
    let sandbox = crate::sandbox();
    let record = sandbox.home().join(".gemini/known_guards.json");
    sandbox.settings(&json!({}));
    prompt(&sandbox, "hello", &Replay::new().says("hi"), &[]).exits(0);
    assert!(!record.exists(), "there is nothing to remember");
    sandbox.user_settings(&guarded(&[guard("mine", NO)]));
    prompt(&sandbox, "hello", &Replay::new().says("hi"), &[]).exits(0);
    assert!(record.exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(record.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let settings = sandbox.home().join(".gemini/settings.json");
    let good = fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, good.replacen('{', "{,", 1)).unwrap();
    // The flag is for files of which nobody knows that they held any.
    for more in [&[][..], &["--ignore-broken-settings"]] {
        let run = prompt(&sandbox, "go", &writes(), more).exits(52);
        has(&run.stderr, if more.is_empty() { "can't be read as settings" } else { "guard mine (" });
        assert!(!sandbox.has("a.txt"));
    }
    // Put right, it is as before; taken out, that is said once.
    std::fs::write(&settings, good).unwrap();
    has(&prompt(&sandbox, "go", &writes(), &[]).exits(0).stderr, "guarded");
    std::fs::write(&settings, "{}").unwrap();
    let run = prompt(&sandbox, "hello", &Replay::new().says("hi"), &[]).exits(0);
    has(&run.stderr, "guard `mine` is no longer in ");
    let run = prompt(&sandbox, "hello", &Replay::new().says("hi"), &[]).exits(0);
    lacks(&run.stderr, "no longer");
}

#[test]
fn what_a_layer_requires_is_a_guard() {
    let sandbox = crate::sandbox();
    let settings = json!({"hooksConfig": {"required": ["check"]}});
    std::fs::write(sandbox.home().join("system-settings.json"), settings.to_string()).unwrap();
    has(&prompt(&sandbox, "go", &writes(), &[]).exits(52).stderr, "the system settings require it");
    let failing = json!({"type": "command", "name": "check", "command": "cat > /dev/null; exit 1"});
    sandbox.user_settings(&guarded(&[failing]));
    sandbox.settings(&json!({"hooksConfig": {"disabled": ["check"]}}));
    let run = prompt(&sandbox, "go", &writes(), &["--no-hooks"]).exits(0);
    has(&run.stderr, "Tool execution blocked: hook check exited with code 1");
    assert!(!sandbox.has("a.txt"));
}

#[test]
fn a_rewriting_hook_smuggles_nothing_past_a_guard() {
    let sandbox = crate::sandbox();
    let no_evil = "case $(cat) in *evil*) echo 'no evil' >&2; exit 2;; esac";
    let rewrite = answer(&json!({"hookSpecificOutput": {"tool_input": {"content": "evil"}}}));
    let rewriter = sandbox.script("rewrite.sh", &rewrite);
    sandbox.settings(&guarded(&[
        guard("no-evil", no_evil),
        json!({"type": "command", "name": "rewriter", "command": rewriter}),
    ]));
    let run = prompt(&sandbox, "go", &writes(), &[]).exits(0);
    has(&run.stderr, "Tool execution blocked: no evil");
    assert!(!sandbox.has("a.txt"));
}

#[test]
fn a_hook_beside_its_event_decides_nothing_and_is_ended_with_the_session() {
    let sandbox = crate::sandbox();
    let no = json!({"type": "command", "name": "late", "command": NO, "async": true});
    let stays = json!({"type": "command", "name": "stays", "async": true,
        "command": "echo $$ > pid; exec sleep 600"});
    sandbox.settings(&guarded(&[no, stays]));
    prompt(&sandbox, "go", &writes(), &[]).exits(0);
    assert!(sandbox.has("a.txt"));
    // It may have been ended before it wrote anything.
    if sandbox.has("pid") && !sandbox.read("pid").trim().is_empty() {
        let pid = sandbox.read("pid").trim().to_owned();
        let gone = || !std::path::Path::new(&format!("/proc/{pid}/stat")).exists();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while cfg!(target_os = "linux") && !gone() {
            assert!(std::time::Instant::now() < deadline, "process {pid} goes on");
            std::thread::yield_now();
        }
    }
}

#[test]
fn guards_are_shown_wherever_hooks_are() {
    let sandbox = crate::sandbox();
    sandbox.user_settings(&guarded(&[guard("awake", "true"), guard("asleep", "./nowhere.sh")]));
    sandbox.settings(&json!({"hooksConfig": {"required": ["absent"]}}));
    let run = sandbox.run(&["hooks", "list"]).exits(0);
    has(&run.stdout, "armed, guard");
    has(&run.stdout, "inert, guard: ./nowhere.sh: no such file");
    has(&run.stderr, "guard absent (");
    let listed = sandbox.run(&["hooks", "list", "--json"]).exits(0).json();
    let of = |name: &str| listed.as_array().unwrap().iter().find(|hook| hook["name"] == name).unwrap().clone();
    assert_eq!((&of("awake")["guard"], &of("awake")["armed"]), (&json!(true), &json!(true)));
    assert_eq!((&of("asleep")["guard"], &of("asleep")["armed"]), (&json!(true), &json!(false)));
    has(&sandbox.run(&["hooks", "show", "awake"]).exits(0).stdout, "guard        yes");
    let run = sandbox.run(&["hooks", "doctor"]).exits(1);
    has(&run.stdout, "FAIL guard absent (");
    has(&run.stdout, "guards: 1 armed, 2 not armed");
    assert_eq!(sandbox.run(&["hooks", "doctor", "--json"]).exits(1).json()["unarmed"].as_array().unwrap().len(), 2);
    let run = sandbox.run(&["hooks", "validate"]).exits(0);
    has(&run.stderr, "guard asleep (");
    assert_eq!(sandbox.run(&["hooks", "validate", "--json"]).json()["unarmed"].as_array().unwrap().len(), 2);
}

#[test]
fn a_guards_own_settings_switch_it_off_and_say_what_that_means() {
    let sandbox = crate::sandbox();
    sandbox.settings(&guarded(&[guard("own", NO)]));
    let run = sandbox.run(&["hooks", "disable", "own"]).exits(0);
    has(&run.stderr, "unattended sessions do not start here any more");
    prompt(&sandbox, "go", &writes(), &[]).exits(52);
    sandbox.run(&["hooks", "enable", "own"]).exits(0);
    has(&prompt(&sandbox, "go", &writes(), &[]).exits(0).stderr, "guarded");
}

#[test]
fn a_new_guard_is_written_and_awake() {
    let sandbox = crate::sandbox();
    sandbox.run(&["hooks", "new", "mine", "--event", "BeforeTool", "--guard"]).exits(0);
    has(&sandbox.read(".gemini/settings.json"), "\"guard\": true");
    has(&sandbox.run(&["hooks", "list"]).exits(0).stdout, "armed, guard");
    sandbox.run(&["hooks", "test"]).exits(0);
    let run = sandbox.run(&["hooks", "new", "other", "--event", "SessionEnd", "--guard"]).exits(1);
    has(&run.stderr, "SessionEnd can't be denied");
}

/// Installs an extension with these hooks.
fn extension(sandbox: &Sandbox, hooks: &Value) {
    let folder = sandbox.home().join(".gemini/extensions/ext");
    std::fs::create_dir_all(folder.join("hooks")).unwrap();
    std::fs::write(folder.join("gemini-extension.json"), r#"{"name": "ext", "version": "1.0.0"}"#).unwrap();
    std::fs::write(folder.join("hooks/hooks.json"), hooks.to_string()).unwrap();
}

#[test]
fn leaving_out_an_extension_does_not_leave_out_its_guards() {
    let sandbox = crate::sandbox();
    extension(&sandbox, &guarded(&[guard("theirs", NO)]));
    has(&prompt(&sandbox, "go", &writes(), &[]).exits(0).stderr, "guarded");
    for choice in ["none", "other"] {
        let run = prompt(&sandbox, "go", &writes(), &["-e", choice]).exits(52);
        has(&run.stderr, "guard theirs (");
        has(&run.stderr, "the command line leaves its extension ext out");
        assert!(!sandbox.has("a.txt"), "{choice}");
    }
    // Whoever does not want it says so for good.
    sandbox.user_settings(&json!({"extensions": {"disabled": ["ext"]}}));
    prompt(&sandbox, "go", &writes(), &["-e", "none"]).exits(0);
    assert!(sandbox.has("a.txt"));
}

#[test]
fn an_extensions_broken_hooks_are_known_to_have_held_guards() {
    let sandbox = crate::sandbox();
    extension(&sandbox, &guarded(&[guard("theirs", NO)]));
    has(&prompt(&sandbox, "go", &writes(), &[]).exits(0).stderr, "guarded");
    let file = sandbox.home().join(".gemini/extensions/ext/hooks/hooks.json");
    std::fs::write(file, "{").unwrap();
    let run = prompt(&sandbox, "go", &writes(), &[]).exits(52);
    has(&run.stderr, "guard theirs (");
    has(&run.stderr, "the settings that held it can't be read");
    assert!(!sandbox.has("a.txt"));
}

#[test]
fn a_guard_does_not_run_beside_its_event() {
    let sandbox = crate::sandbox();
    let mut both = guard("both", NO);
    both["async"] = json!(true);
    sandbox.settings(&guarded(&[both]));
    let run = prompt(&sandbox, "go", &writes(), &[]).exits(0);
    has(&run.stderr, "a guard can't run beside its event");
    has(&run.stderr, "Tool execution blocked: guarded");
    assert!(!sandbox.has("a.txt"));
}

#[test]
fn a_guards_answer_that_is_nearly_a_no_is_not_a_yes() {
    let near = r#"cat > /dev/null; echo '{"decison": "deny"}'"#;
    let utf16 = r"cat > /dev/null; printf '{\000}\000'";
    for (command, expected) in [(near, "did it mean `decision`?"), (utf16, "holds NUL bytes")] {
        let sandbox = crate::sandbox();
        sandbox.settings(&guarded(&[guard("mumbles", command)]));
        let run = prompt(&sandbox, "go", &writes(), &[]).exits(0);
        has(&run.stderr, "Tool execution blocked: hook mumbles ");
        has(&run.stderr, expected);
        assert!(!sandbox.has("a.txt"));
    }
}

#[test]
fn a_project_makes_nobodys_hook_more_lenient() {
    let failing = |more: Value| {
        let mut hook = json!({"type": "command", "name": "check", "command": "cat > /dev/null; exit 1"});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        guarded(&[hook])
    };
    let lenient = json!({"hooksConfig": {"onError": "allow"}});
    let strict = json!({"hooksConfig": {"onError": "block"}});
    for (user, project) in [
        (failing(json!({"onError": "block"})), lenient.clone()),
        (failing(json!({"onError": {"exit": "block"}})), failing(json!({"onError": "allow", "timeout": 50}))),
        (strict, failing(json!({"onError": "allow"}))),
        (failing(json!({})), json!({"hooksConfig": {"onError": "block"}})),
    ] {
        let sandbox = crate::sandbox();
        sandbox.user_settings(&user);
        sandbox.settings(&project);
        has(
            &prompt(&sandbox, "go", &writes(), &[]).exits(0).stderr,
            "Tool execution blocked: hook check exited with code 1",
        );
        assert!(!sandbox.has("a.txt"), "{user} {project}");
    }
}

#[test]
fn keys_that_change_nothing_are_no_warnings_and_enabled_false_counts() {
    let sandbox = crate::sandbox();
    let common = json!({"type": "command", "name": "common", "command": "true", "enabled": true, "async": false,
        "shell": "bash", "statusMessage": "checks", "$schema": "x"});
    let off = json!({"type": "command", "name": "off", "command": NO, "enabled": false});
    let mut settings = guarded(&[common, off]);
    settings["$schema"] = json!("https://example.com/schema.json");
    sandbox.settings(&settings);
    has(&sandbox.run(&["hooks", "validate"]).exits(0).stdout, "no problems");
    has(&sandbox.run(&["hooks", "list"]).exits(0).stdout, "disabled: by project settings");
    prompt(&sandbox, "go", &writes(), &[]).exits(0);
    assert!(sandbox.has("a.txt"));
}

#[test]
fn machines_are_told_of_settings_that_cannot_be_read() {
    let sandbox = crate::sandbox();
    sandbox.write(".gemini/settings.json", "{");
    let error = prompt(&sandbox, "go", &writes(), &["-o", "json"]).exits(52).json()["error"].clone();
    assert_eq!((&error["type"], &error["code"]), (&json!("unguarded"), &json!(52)));
    has(error["hint"].as_str().unwrap(), "--ignore-broken-settings");
}

#[test]
fn no_other_name_of_an_argument_smuggles_anything_past_a_guard() {
    let sandbox = crate::sandbox();
    std::fs::create_dir(sandbox.project().join("private")).unwrap();
    let no_private = r#"case $(cat) in *'"dir_path":"private"'*) echo 'not there' >&2; exit 2;; esac"#;
    let rewrite = answer(&json!({"hookSpecificOutput": {"tool_input": {"directory": "private"}}}));
    let rewriter = sandbox.script("rewrite.sh", &rewrite);
    sandbox.settings(&guarded(&[
        guard("no-private", no_private),
        json!({"type": "command", "name": "rewriter", "command": rewriter}),
    ]));
    let calls = Replay::new().calls("run_shell_command", json!({"command": "touch made"})).says("done");
    let run = prompt(&sandbox, "go", &calls, &[]).exits(0);
    has(&run.stderr, "Tool execution blocked: not there");
    assert!(!sandbox.has("private/made") && !sandbox.has("made"));
}

#[test]
fn a_guard_that_is_written_wrong_is_a_guard_all_the_same() {
    let mut yes = guard("keep-out", NO);
    yes["guard"] = json!("yes");
    let sandbox = crate::sandbox();
    sandbox.settings(&guarded(&[yes]));
    let run = prompt(&sandbox, "go", &writes(), &[]).exits(0);
    has(&run.stderr, "`guard` should be true or false, not a string");
    has(&run.stderr, "Tool execution blocked: guarded");
    assert!(!sandbox.has("a.txt"));
    for (config, reason) in [
        (json!({"required": "keep-out"}), "`required` should be an array of names, not a string"),
        (json!({"requird": ["keep-out"]}), "`requird` has no effect; the key is `required` in `hooksConfig`"),
    ] {
        let sandbox = crate::sandbox();
        sandbox.settings(&json!({"hooksConfig": config}));
        let run = prompt(&sandbox, "go", &writes(), &[]).exits(52);
        has(&run.stderr, "guard keep-out (");
        has(&run.stderr, reason);
        assert!(!sandbox.has("a.txt"), "{config}");
    }
}

#[test]
fn a_word_for_failures_that_is_none_blocks() {
    let failing = |more: Value| {
        let mut hook = json!({"type": "command", "name": "check", "command": "cat > /dev/null; exit 1"});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        guarded(&[hook])
    };
    let mut config = failing(json!({}));
    config["hooksConfig"] = json!({"onError": "blok"});
    for settings in [
        failing(json!({"onError": "blok"})),
        failing(json!({"onError": {"exit": "Block"}})),
        failing(json!({"onError": {"exti": "block"}})),
        config,
    ] {
        let sandbox = crate::sandbox();
        sandbox.settings(&settings);
        let run = prompt(&sandbox, "go", &writes(), &[]).exits(0);
        has(&run.stderr, "Tool execution blocked: hook check exited with code 1");
        has(&run.stderr, "it counts as");
        assert!(!sandbox.has("a.txt"), "{settings}");
    }
}

#[test]
fn what_a_file_required_is_remembered_though_it_never_was_there() {
    for config in [json!({"required": ["keep-out"]}), json!({"required": "keep-out"})] {
        let sandbox = crate::sandbox();
        sandbox.settings(&json!({"hooksConfig": config}));
        prompt(&sandbox, "go", &writes(), &[]).exits(52);
        sandbox.write(".gemini/settings.json", "{ \"hooksConfig\": {");
        let run = prompt(&sandbox, "go", &writes(), &["--ignore-broken-settings"]).exits(52);
        has(&run.stderr, "guard keep-out (");
        has(&run.stderr, "the settings that held it can't be read");
        assert!(!sandbox.has("a.txt"), "{config}");
    }
}

#[cfg(unix)]
#[test]
fn a_settings_file_that_leads_nowhere_is_known_to_have_held_guards() {
    let sandbox = crate::sandbox();
    sandbox.user_settings(&guarded(&[guard("mine", NO)]));
    let settings = sandbox.home().join(".gemini/settings.json");
    let moved = sandbox.home().join("d.json");
    std::fs::rename(&settings, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &settings).unwrap();
    has(&prompt(&sandbox, "go", &writes(), &[]).exits(0).stderr, "guarded");
    std::fs::rename(&moved, sandbox.home().join("gone.json")).unwrap();
    // Not only the first time.
    for more in [&[][..], &[], &["--ignore-broken-settings", "--no-hooks"]] {
        let run = prompt(&sandbox, "go", &writes(), more).exits(52);
        has(&run.stderr, "guard mine (");
        has(&run.stderr, "the settings that held it can't be read");
        assert!(!sandbox.has("a.txt"));
    }
    std::fs::rename(sandbox.home().join("gone.json"), &moved).unwrap();
    has(&prompt(&sandbox, "go", &writes(), &[]).exits(0).stderr, "guarded");
}

#[test]
fn a_projects_folder_that_is_none_is_known_to_have_held_guards() {
    let sandbox = crate::sandbox();
    sandbox.settings(&guarded(&[guard("own", NO)]));
    has(&prompt(&sandbox, "go", &writes(), &[]).exits(0).stderr, "guarded");
    std::fs::rename(sandbox.project().join(".gemini"), sandbox.project().join("other")).unwrap();
    sandbox.write(".gemini", "");
    has(&prompt(&sandbox, "go", &writes(), &[]).exits(52).stderr, "guard own (");
    assert!(!sandbox.has("a.txt"));
}
