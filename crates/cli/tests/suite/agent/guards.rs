//! No call skips approval while guards could be missing: exit codes, formats, commands. The rest is in
//! `crates/agent/tests/suite/headless/guards.rs`.

use super::*;

fn write_file_replay() -> ReplayBuilder {
    ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done")
}

#[test]
fn settings_that_cannot_be_read_keep_a_session_from_starting() {
    for (broken, place) in [("{ \"hooks\": {", "settings.json"), ("[]", "settings.json")] {
        let sandbox = crate::sandbox();
        sandbox.write(".gemini/settings.json", broken);
        let run = prompt(&sandbox, "go", &write_file_replay(), &[]).expect_exit_code(52);
        assert_contains(&run.stderr, place);
        assert_contains(&run.stderr, "--ignore-broken-settings");
        assert!(!sandbox.has_file("a.txt") && run.stdout.is_empty());
        // Without them on purpose, no mode skips approval.
        let run = prompt(&sandbox, "go", &write_file_replay(), &["--ignore-broken-settings", "-o", "json"])
            .expect_exit_code(0);
        assert_contains(&run.json().to_string(), "so the approval mode is default, not yolo");
        assert!(!sandbox.has_file("a.txt"));
    }
}

/// A guard on BeforeTool.
fn guard_hook(name: &str, command: &str) -> Value {
    json!({"type": "command", "name": name, "command": command, "guard": true})
}

fn settings_with_guards(hooks: &[Value]) -> Value {
    json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}})
}

const DENY_SCRIPT: &str = "cat > /dev/null; echo guarded >&2; exit 2";

#[test]
fn a_guard_is_not_put_to_sleep_by_anything_else() {
    let project = json!({
        "hooks": {"enabled": false, "BeforeTool": [{"matcher": "glob", "hooks": [
            {"type": "command", "name": "guard", "command": DENY_SCRIPT, "timeout": 1, "env": {"PATH": "/nowhere"}, "onError": "allow"}]}]},
        "hooksConfig": {"enabled": false, "disabled": ["guard"], "onError": "allow"},
        "tools": {"enableHooks": false},
    });
    let sandbox = crate::sandbox();
    sandbox.settings(&project);
    sandbox.user_settings(&settings_with_guards(&[guard_hook("guard", DENY_SCRIPT)]));
    for more in [&[][..], &["--no-hooks"]] {
        let run = prompt(&sandbox, "go", &write_file_replay(), more).expect_exit_code(0);
        assert_contains(&run.stderr, "Tool execution blocked: guarded");
        assert!(!sandbox.has_file("a.txt"), "{more:?}");
    }
    let run = sandbox.run(&["hooks", "disable", "guard"]).expect_exit_code(1);
    assert_contains(&run.stderr, "hook `guard` is a guard of the user settings; only those settings can switch it off");
    let run = sandbox.run(&["hooks", "disable-all"]).expect_exit_code(0);
    assert_contains(&run.stderr, "hook `guard` is a guard of the user settings");
    assert!(prompt(&sandbox, "go", &write_file_replay(), &[]).stderr.contains("guarded") && !sandbox.has_file("a.txt"));
}

#[test]
fn no_session_starts_unattended_without_its_guards() {
    let mut off = settings_with_guards(&[guard_hook("asleep", "true")]);
    off["hooksConfig"] = json!({"disabled": ["asleep"]});
    let never = json!({"hooks": {"BeforeTool": [{"matcher": "write_flie", "hooks": [guard_hook("asleep", "true")]}]}});
    let broken = json!({"hooks": {"PreToolUse": [{"hooks": [guard_hook("asleep", "true")]}]}});
    let cases = [
        (
            settings_with_guards(&[guard_hook("asleep", "./nowhere.sh")]),
            "inert",
            "./nowhere.sh: no such file",
            "create ./nowhere.sh",
        ),
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
        let run = prompt(&sandbox, "go", &write_file_replay(), &[]).expect_exit_code(52);
        for words in ["guard `asleep` (", "settings.json:", "is not armed", reason, advice] {
            assert_contains(&run.stderr, words);
        }
        assert!(run.stdout.is_empty() && !sandbox.has_file("a.txt"));
        // No flag bypasses it.
        prompt(&sandbox, "go", &write_file_replay(), &["--no-hooks", "--ignore-broken-settings"]).expect_exit_code(52);
        let run = prompt(&sandbox, "go", &write_file_replay(), &["-o", "json"]).expect_exit_code(52);
        let error = &run.json()["error"];
        assert_eq!((&error["type"], &error["code"]), (&json!("unguarded"), &json!(52)));
        let told = &error["guards"][0];
        assert_eq!((&told["name"], &told["why"]), (&json!("asleep"), &json!(why)), "{told}");
        assert!(told["line"].is_number() && told["file"].as_str().unwrap().ends_with("settings.json"), "{told}");
        let lines =
            prompt(&sandbox, "go", &write_file_replay(), &["-o", "stream-json"]).expect_exit_code(52).json_lines();
        let kinds: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["error", "result"]);
        assert_eq!((&lines[1]["status"], &lines[1]["error"]["code"]), (&json!("error"), &json!(52)));
        assert!(!sandbox.has_file("a.txt"));
    }
}

#[test]
fn a_guard_that_waits_for_trust_keeps_a_session_from_starting() {
    let sandbox = crate::sandbox();
    sandbox.user_settings(&json!({"security": {"hooks": {"review": "block"}}}));
    sandbox.settings(&settings_with_guards(&[guard_hook("new", DENY_SCRIPT)]));
    let run = prompt(&sandbox, "go", &write_file_replay(), &[]).expect_exit_code(52);
    assert_contains(&run.stderr, "not trusted yet");
    assert_contains(&run.stderr, "hookwright hooks trust new");
    sandbox.run(&["hooks", "trust", "new"]).expect_exit_code(0);
    assert_contains(&prompt(&sandbox, "go", &write_file_replay(), &[]).expect_exit_code(0).stderr, "guarded");
    assert!(!sandbox.has_file("a.txt"));
}

#[test]
fn guards_are_shown_wherever_hooks_are() {
    let sandbox = crate::sandbox();
    sandbox.user_settings(&settings_with_guards(&[guard_hook("awake", "true"), guard_hook("asleep", "./nowhere.sh")]));
    sandbox.settings(&json!({"hooksConfig": {"required": ["absent"]}}));
    let run = sandbox.run(&["hooks", "list"]).expect_exit_code(0);
    assert_contains(&run.stdout, "armed, guard");
    assert_contains(&run.stdout, "inert, guard: ./nowhere.sh: no such file");
    assert_contains(&run.stderr, "guard `absent` (");
    let listed = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    let of = |name: &str| listed.as_array().unwrap().iter().find(|hook| hook["name"] == name).unwrap().clone();
    assert_eq!((&of("awake")["guard"], &of("awake")["armed"]), (&json!(true), &json!(true)));
    assert_eq!((&of("asleep")["guard"], &of("asleep")["armed"]), (&json!(true), &json!(false)));
    assert_contains(&sandbox.run(&["hooks", "show", "awake"]).expect_exit_code(0).stdout, "guard        yes");
    let run = sandbox.run(&["hooks", "doctor"]).expect_exit_code(1);
    assert_contains(&run.stdout, "FAIL guard `absent` (");
    assert_contains(&run.stdout, "guards: 1 armed, 2 not armed");
    assert_eq!(
        sandbox.run(&["hooks", "doctor", "--json"]).expect_exit_code(1).json()["unarmed"].as_array().unwrap().len(),
        2
    );
    let run = sandbox.run(&["hooks", "validate"]).expect_exit_code(0);
    assert_contains(&run.stderr, "guard `asleep` (");
    assert_eq!(sandbox.run(&["hooks", "validate", "--json"]).json()["unarmed"].as_array().unwrap().len(), 2);
}

#[test]
fn a_guards_own_settings_switch_it_off_and_say_what_that_means() {
    let sandbox = crate::sandbox();
    sandbox.settings(&settings_with_guards(&[guard_hook("own", DENY_SCRIPT)]));
    let run = sandbox.run(&["hooks", "disable", "own"]).expect_exit_code(1);
    assert_contains(&run.stderr, "disable the guard `own`: not confirmed; nothing was changed");
    let run = sandbox.run(&["hooks", "disable-all"]).expect_exit_code(0);
    assert_contains(&run.stderr, "`hookwright hooks disable-all --consent` switches it off all the same");
    assert_contains(&prompt(&sandbox, "go", &write_file_replay(), &[]).expect_exit_code(0).stderr, "guarded");
    let run = sandbox.run(&["hooks", "disable", "own", "--consent"]).expect_exit_code(0);
    assert_contains(&run.stderr, "unattended sessions no longer start here");
    prompt(&sandbox, "go", &write_file_replay(), &[]).expect_exit_code(52);
    sandbox.run(&["hooks", "enable", "own"]).expect_exit_code(0);
    assert_contains(&prompt(&sandbox, "go", &write_file_replay(), &[]).expect_exit_code(0).stderr, "guarded");
}

#[test]
fn a_new_guard_is_written_and_awake() {
    let sandbox = crate::sandbox();
    sandbox.run(&["hooks", "new", "mine", "--event", "BeforeTool", "--guard"]).expect_exit_code(0);
    assert_contains(&sandbox.read(".gemini/settings.json"), "\"guard\": true");
    assert_contains(&sandbox.run(&["hooks", "list"]).expect_exit_code(0).stdout, "armed, guard");
    sandbox.run(&["hooks", "test"]).expect_exit_code(0);
    let run = sandbox.run(&["hooks", "new", "other", "--event", "SessionEnd", "--guard"]).expect_exit_code(1);
    assert_contains(&run.stderr, "SessionEnd can't be denied");
}

#[test]
fn keys_that_change_nothing_are_no_warnings_and_enabled_false_counts() {
    let sandbox = crate::sandbox();
    let common = json!({"type": "command", "name": "common", "command": "true", "enabled": true, "async": false,
        "shell": "bash", "statusMessage": "checks", "$schema": "x"});
    let off = json!({"type": "command", "name": "off", "command": DENY_SCRIPT, "enabled": false});
    let mut settings = settings_with_guards(&[common, off]);
    settings["$schema"] = json!("https://example.com/schema.json");
    sandbox.settings(&settings);
    assert_contains(&sandbox.run(&["hooks", "validate"]).expect_exit_code(0).stdout, "no problems");
    assert_contains(&sandbox.run(&["hooks", "list"]).expect_exit_code(0).stdout, "disabled: by project settings");
    prompt(&sandbox, "go", &write_file_replay(), &[]).expect_exit_code(0);
    assert!(sandbox.has_file("a.txt"));
}

#[test]
fn machines_are_told_of_settings_that_cannot_be_read() {
    let sandbox = crate::sandbox();
    sandbox.write(".gemini/settings.json", "{");
    let error =
        prompt(&sandbox, "go", &write_file_replay(), &["-o", "json"]).expect_exit_code(52).json()["error"].clone();
    assert_eq!((&error["type"], &error["code"]), (&json!("unguarded"), &json!(52)));
    assert_contains(error["hint"].as_str().unwrap(), "--ignore-broken-settings");
}
