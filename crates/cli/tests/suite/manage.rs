//! `list`, `show`, `enable`, `disable`, `trust`, `new`, `schema`: the commands that manage hooks.

use crate::sandbox;
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use serde_json::json;

fn hook(name: &str) -> serde_json::Value {
    json!({"type": "command", "name": name, "command": "true", "description": "does nothing"})
}

#[test]
fn list_shows_every_layer_in_order() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "glob", "hooks": [hook("p")]}]}}));
    sandbox.user_settings(&json!({"hooks": {"AfterAgent": [{"hooks": [hook("u")]}]}}));
    insta::assert_snapshot!(sandbox.run(&["hooks", "list"]).expect_exit_code(0).stdout, @r"
    EVENT       MATCHER  HOOK  SOURCE   STATE
    BeforeTool  glob     p     project  armed
    AfterAgent  *        u     user     armed
    ");
    let only = sandbox.run(&["hooks", "list", "--event", "AfterAgent", "--json"]).expect_exit_code(0).json();
    assert_eq!(only.as_array().unwrap().len(), 1);
    assert_eq!(
        (&only[0]["name"], &only[0]["state"], &only[0]["timeout_ms"]),
        (&json!("u"), &json!("armed"), &json!(60000))
    );
}

#[test]
fn an_empty_project_is_told_how_to_begin() {
    let run = sandbox().run(&["hooks", "list"]).expect_exit_code(0);
    assert!(run.stdout.is_empty() && run.stderr.contains("hooks new"), "{}", run.stderr);
}

#[test]
fn show_tells_everything_about_one_hook() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("p")]}]}}));
    let run = sandbox.run(&["hooks", "show", "p"]).expect_exit_code(0);
    for words in ["does nothing", "true", "settings.json:6:11", "60000 ms", "armed"] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    sandbox.run(&["hooks", "show", "nobody"]).expect_exit_code(1);
}

/// Only the names of variables are shown: their values may be secrets.
#[test]
fn show_tells_what_counts_on_a_failure_and_names_the_variables() {
    let sandbox = sandbox().env("THEIRS", "s3cret-of-the-shell");
    let env = json!({"KEY": "s3cret-in-the-file", "THEIRS": "${THEIRS}"});
    let worker = json!({"type": "worker", "name": "w", "command": "cat", "env": env, "onError": {"timeout": "block", "exit": "ask"},
        "start": "session", "concurrency": 4, "idleTimeout": 60_000, "maxMemoryMb": 200});
    let plain =
        json!({"type": "command", "name": "c", "command": "true", "onError": "block", "async": true, "timeout": 5000});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [worker, plain]}]}}));
    let shown = |name: &str| {
        let run = sandbox.run(&["hooks", "show", name]).expect_exit_code(0);
        assert!(!run.stdout.contains("s3cret"), "{}", run.stdout);
        run.stdout.lines().filter(|line| !line.starts_with("declared at")).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(shown("w"), @r"
    name         w
    event        BeforeTool
    type         worker
    command      cat
    start        session
    concurrency  4
    idleTimeout  60000 ms
    maxMemoryMb  200
    source       project
    timeout      60000 ms
    onError      timeout: block, exit: ask
    env          KEY, THEIRS
    state        armed
    ");
    insta::assert_snapshot!(shown("c"), @r"
    name         c
    event        BeforeTool
    command      true
    source       project
    timeout      5000 ms
    onError      block
    async        yes
    state        armed
    ");
    let told = sandbox.run(&["hooks", "show", "w", "--json"]).expect_exit_code(0).json();
    let worker = &told[0];
    assert_eq!(worker["onError"], json!({"timeout": "block", "exit": "ask"}), "{told:#}");
    assert_eq!(worker["env"], json!(["KEY", "THEIRS"]));
    for (key, value) in [
        ("start", json!("session")),
        ("concurrency", json!(4)),
        ("idleTimeout", json!(60_000)),
        ("maxMemoryMb", json!(200)),
    ] {
        assert_eq!(worker[key], value, "{key}: {told:#}");
    }
    assert!(worker["package"].is_null() && worker["headers"].is_null(), "{told:#}");
    let plain = sandbox.run(&["hooks", "show", "c", "--json"]).expect_exit_code(0).json();
    assert_eq!((&plain[0]["async"], &plain[0]["once"]), (&json!(true), &json!(false)));
    assert_eq!(plain[0]["onError"]["spawn"], "block");
}

#[test]
fn disabling_keeps_comments_and_acts_at_once() {
    let sandbox = sandbox();
    let text = "{\n  // mine\n  \"hooks\": {\n    \"BeforeTool\": [ { \"hooks\": [ { \"type\": \"command\", \"name\": \"g\", \"command\": \"exit 2\" } ] } ], // guard\n  },\n}\n";
    sandbox.write(".gemini/settings.json", text);
    let fire = || sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "glob"]).code;
    assert_eq!(fire(), Some(2));
    sandbox.run(&["hooks", "disable", "g"]).expect_exit_code(0);
    let after = sandbox.read(".gemini/settings.json");
    assert!(after.contains("// mine") && after.contains("// guard") && after.contains("disabled"), "{after}");
    assert_eq!(fire(), Some(1), "nobody was asked, and that is said");
    let list = sandbox.run(&["hooks", "list"]);
    assert!(list.stdout.contains("disabled"), "{}", list.stdout);
    sandbox.run(&["hooks", "enable", "g"]).expect_exit_code(0);
    assert_eq!(fire(), Some(2));
    sandbox.run(&["hooks", "disable-all"]).expect_exit_code(0);
    assert_eq!(fire(), Some(1));
    sandbox.run(&["hooks", "enable-all"]).expect_exit_code(0);
    assert_eq!(fire(), Some(2));
}

#[test]
fn without_workspace_settings_the_users_are_edited() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("u")]}]}}));
    sandbox.run(&["hooks", "disable", "u"]).expect_exit_code(0);
    assert!(!sandbox.has_file(".gemini/settings.json"));
    let text = fs::read_to_string(sandbox.home().join(".gemini/settings.json")).unwrap();
    assert!(text.contains("disabled"), "{text}");
}

#[test]
fn in_an_untrusted_folder_the_users_settings_are_edited() {
    let sandbox = sandbox().untrusted();
    sandbox.settings(&json!({}));
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("u")]}]}}));
    sandbox.run(&["hooks", "disable", "u"]).expect_exit_code(0);
    assert_eq!(sandbox.read(".gemini/settings.json"), "{}\n", "a file that does not count was changed");
    assert!(sandbox.run(&["hooks", "list"]).stdout.contains("disabled"));
}

#[test]
fn a_hook_that_trust_keeps_out_is_not_switched_in_the_users_settings() {
    let sandbox = sandbox().untrusted();
    let guard = json!({"type": "command", "name": "g", "command": "exit 2", "guard": true});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [guard, hook("p")]}]}}));
    sandbox.user_settings(&json!({}));
    for name in ["g", "p"] {
        for verb in ["disable", "enable"] {
            let run = sandbox.run(&["hooks", verb, name]).expect_exit_code(1);
            assert!(run.stderr.contains("is not loaded, because this folder is not trusted"), "{}", run.stderr);
        }
    }
    sandbox.run(&["hooks", "disable-all"]).expect_exit_code(0);
    let user = fs::read_to_string(sandbox.home().join(".gemini/settings.json")).unwrap();
    assert_eq!(user.trim(), "{}");
}

#[test]
fn enabling_takes_the_name_out_of_every_list_that_may_be_written() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"hooksConfig": {"disabled": ["p"]}}));
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("p")]}]}, "hooksConfig": {"disabled": ["p"]}}));
    let run = sandbox.run(&["hooks", "enable", "p"]).expect_exit_code(0);
    let home = sandbox.home().join(".gemini/settings.json").display().to_string();
    assert!(run.stderr.contains(&format!("settings.json and {home}")), "{}", run.stderr);
    assert!(!run.stderr.contains("still switched off"), "{}", run.stderr);
    assert_eq!(sandbox.run(&["hooks", "list", "--json"]).json()[0]["state"], "armed");
    assert!(sandbox.run(&["hooks", "enable", "p"]).expect_exit_code(0).stderr.contains("already enabled"));
}

#[test]
fn enabling_what_another_layer_switches_off_fails_and_says_so() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"hooksConfig": {"enabled": false}}));
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("p")]}]}, "hooksConfig": {"disabled": ["p"]}}));
    let run = sandbox.run(&["hooks", "enable", "p"]).expect_exit_code(1);
    assert!(run.stderr.contains("hook `p` is still switched off by the user settings"), "{}", run.stderr);
    sandbox.user_settings(&json!({}));
    sandbox.run(&["hooks", "enable", "p"]).expect_exit_code(0);
    // The hook's own declaration is not a list.
    let mut off = hook("p");
    off["enabled"] = json!(false);
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [off]}]}}));
    let run = sandbox.run(&["hooks", "enable", "p"]).expect_exit_code(1);
    assert!(run.stderr.contains("still switched off by the project settings"), "{}", run.stderr);
    assert!(!run.stderr.contains("already enabled"), "{}", run.stderr);
}

#[test]
fn a_broken_settings_file_is_never_overwritten() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("u")]}]}}));
    sandbox.write(".gemini/settings.json", "{ \"hooks\": ");
    let run = sandbox.run(&["hooks", "disable", "u"]).expect_exit_code(1);
    assert_eq!(sandbox.read(".gemini/settings.json"), "{ \"hooks\": ");
    assert!(run.stderr.contains("settings.json"), "{}", run.stderr);
}

#[test]
fn two_processes_that_disable_at_once_lose_neither_change() {
    let sandbox = sandbox();
    let names: Vec<String> = (0..12).map(|at| format!("h{at}")).collect();
    let hooks: Vec<_> = names.iter().map(|name| hook(name)).collect();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}}));
    let children: Vec<_> =
        names.iter().map(|name| sandbox.command(&["hooks", "disable", name]).spawn().unwrap()).collect();
    for child in children {
        hookwright_testkit::finish(child).expect_exit_code(0);
    }
    let list = sandbox.run(&["hooks", "list", "--json"]).json();
    assert!(list.as_array().unwrap().iter().all(|hook| hook["state"] == "disabled"), "{list:#}");
}

#[cfg(unix)]
#[test]
fn a_settings_file_that_cannot_be_written_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("p")]}]}}));
    let before = sandbox.read(".gemini/settings.json");
    // File modes do not stop root. A limit on file sizes, which also holds for root, stands for a full disk.
    let script = format!("ulimit -f 0; exec {:?} hooks disable p", env!("CARGO_BIN_EXE_hookwright"));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script]).current_dir(sandbox.project()).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", sandbox.home());
    command.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    let output = command.output_in_time().unwrap();
    assert!(!output.status.success());
    assert_eq!(sandbox.read(".gemini/settings.json"), before);
    let file = sandbox.project().join(".gemini/settings.json");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    sandbox.run(&["hooks", "disable", "p"]).expect_exit_code(0);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn trust_holds_a_hook_back_until_it_is_given() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"security": {"hooks": {"review": "block"}}}));
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "g", "command": "exit 2"}]}]}}));
    let fire = || sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "glob"]).code;
    assert_eq!(fire(), Some(1));
    assert!(sandbox.run(&["hooks", "list"]).stdout.contains("untrusted"));
    assert!(sandbox.run(&["hooks", "trust"]).stdout.contains("g on BeforeTool (new"));
    sandbox.run(&["hooks", "trust", "g"]).expect_exit_code(0);
    assert_eq!(fire(), Some(2));
    sandbox.run(&["hooks", "trust", "nobody"]).expect_exit_code(1);
    assert!(sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0).stderr.contains("trusted already"));
}

#[test]
fn a_folder_can_be_trusted_from_here() {
    let sandbox = sandbox().untrusted();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("p")]}]}}));
    assert!(sandbox.run(&["hooks", "list"]).stdout.contains("untrusted: the folder is not trusted"));
    sandbox.run(&["hooks", "trust"]).expect_exit_code(1);
    sandbox.run(&["hooks", "trust", "--folder"]).expect_exit_code(0);
    assert!(sandbox.run(&["hooks", "list"]).stdout.contains("armed"));
}

#[test]
fn new_writes_a_hook_that_passes_its_own_test() {
    let languages = [("sh", "sh"), ("python", "python3"), ("node", "node")];
    for (language, program) in languages {
        if !hookwright_testkit::has_program(program) {
            let test = "new_writes_a_hook_that_passes_its_own_test";
            hookwright_testkit::report_skipped(test, &format!("{program} is not installed"));
            continue;
        }
        let sandbox = sandbox();
        for (at, event) in hookwright_hooks::EventKind::all().enumerate() {
            sandbox
                .run(&["hooks", "new", &format!("h{at}"), "--event", event.name(), "--lang", language])
                .expect_exit_code(0);
        }
        let run = sandbox.run(&["hooks", "test"]).expect_exit_code(0);
        assert!(run.stdout.contains(" passed, 0 failed, 0 skipped"), "{}", run.stdout);
        sandbox.run(&["hooks", "doctor"]).expect_exit_code(0);
    }
}

#[test]
fn new_refuses_what_makes_no_sense() {
    let sandbox = sandbox();
    sandbox.run(&["hooks", "new", "a/b", "--event", "BeforeTool"]).expect_exit_code(1);
    sandbox.run(&["hooks", "new", "a", "--event", "BeforeAgent", "--matcher", "x"]).expect_exit_code(1);
    let run = sandbox.run(&["hooks", "new", "a", "--event", "BeforeTool", "--matcher", "("]).expect_exit_code(1);
    assert!(run.stderr.contains("is not a regular expression") && !sandbox.has_file(".gemini"), "{}", run.stderr);
    sandbox.run(&["hooks", "new", "a", "--event", "BeforeTool"]).expect_exit_code(0);
    assert!(sandbox.run(&["hooks", "new", "a", "--event", "BeforeTool"]).expect_exit_code(1).stderr.contains("exists"));
}

#[test]
fn output_is_plain_in_pipes_and_a_closed_pipe_is_no_error() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("p")]}]}}));
    assert!(!sandbox.run(&["hooks", "list"]).stdout.contains('\u{1b}'));
    let script = format!("{:?} hooks schema | head -n 1", env!("CARGO_BIN_EXE_hookwright"));
    let output = std::process::Command::new("sh").args(["-c", &script]).output_in_time().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(unix)]
#[test]
fn a_settings_file_that_is_a_pipe_or_a_device_is_reported_and_does_not_hang() {
    for sandbox in [sandbox(), sandbox().untrusted()] {
        let file = sandbox.write(".gemini/settings.json", "");
        std::fs::remove_file(&file).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&file).status_in_time().unwrap().success());
        for args in [&["hooks", "list"][..], &["hooks", "doctor"], &["hooks", "validate"]] {
            let run = sandbox.run(args);
            let said = run.stdout.clone() + &run.stderr;
            assert!(said.contains("this is not a regular file"), "{args:?}: {run:#?}");
        }
    }
    let sandbox = sandbox();
    std::fs::create_dir_all(sandbox.home().join(".gemini")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", sandbox.home().join(".gemini/settings.json")).unwrap();
    let run = sandbox.run(&["hooks", "list"]);
    assert!(run.stderr.contains("this is not a regular file"), "{run:#?}");
}

#[test]
fn list_and_show_say_what_trust_extends_to() {
    let sandbox = sandbox();
    let command = sandbox.script("guard.sh", ". \"$(dirname \"$0\")/lib.sh\"");
    sandbox.write(".gemini/hooks/lib.sh", "exit 0\n");
    let hook = |name: &str, command: &str| json!({"type": "command", "name": name, "command": command});
    let hooks = json!([hook("plain", &command), hook("far", "docker run guard")]);
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}}));
    let listed = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    assert_eq!(listed[0]["files"], json!([".gemini/hooks/guard.sh", ".gemini/hooks/lib.sh"]));
    assert_eq!((&listed[0]["files_certain"], &listed[1]["files_certain"]), (&json!(true), &json!(false)));
    let run = sandbox.run(&["hooks", "list"]).expect_exit_code(0);
    assert!(run.stderr.contains("hook `far`: the files it runs can't be determined"), "{}", run.stderr);
    assert!(!run.stderr.contains("hook `plain`: the files"), "{}", run.stderr);
    let run = sandbox.run(&["hooks", "show", "plain"]).expect_exit_code(0);
    assert!(run.stdout.contains("runs         .gemini/hooks/lib.sh"), "{}", run.stdout);
    assert!(
        sandbox.run(&["hooks", "show", "far"]).expect_exit_code(0).stdout.contains("everything under .gemini/ counts")
    );
}

#[test]
fn a_script_that_a_hook_sources_is_reviewed_and_the_review_says_what_changed() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"security": {"hooks": {"review": "block"}}}));
    let command = sandbox.script("guard.sh", ". \"${0%/*}/lib.sh\"");
    sandbox.write(".gemini/hooks/lib.sh", "touch ran\n");
    let hook = |timeout: u64| {
        json!({"hooks": {"SessionStart": [{"hooks": [
            {"type": "command", "name": "g", "command": command, "timeout": timeout}]}]}})
    };
    sandbox.settings(&hook(5000));
    let fire = || {
        sandbox.run_with_input(&["hooks", "fire", "SessionStart", "--input", "-"], r#"{"source": "startup"}"#);
        sandbox.has_file("ran")
    };
    assert!(!fire());
    sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0);
    assert!(fire());
    std::fs::remove_file(sandbox.project().join("ran")).unwrap();
    sandbox.write(".gemini/hooks/lib.sh", "touch ran\ntouch stolen\n");
    sandbox.settings(&hook(1));
    assert!(!fire() && !sandbox.has_file("stolen"));
    let run = sandbox.run(&["hooks", "trust"]).expect_exit_code(0);
    assert!(
        run.stdout.contains("its `timeout` was `5000 ms`; .gemini/hooks/lib.sh changed (+1 -0 lines)"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_hook_whose_settings_cannot_be_written_leaves_nothing_behind() {
    let sandbox = sandbox();
    sandbox.write(".gemini/settings.json", "{ \"hooks\": ");
    let run = sandbox.run(&["hooks", "new", "mine", "--event", "BeforeTool"]).expect_exit_code(1);
    assert!(!sandbox.has_file(".gemini/hooks"));
    assert_eq!(sandbox.read(".gemini/settings.json"), "{ \"hooks\": ");
    assert_eq!(run.stderr.matches("is not valid JSON").count(), 1, "{}", run.stderr);
    sandbox.settings(&json!({}));
    sandbox.run(&["hooks", "new", "mine", "--event", "BeforeTool"]).expect_exit_code(0);
    assert!(sandbox.has_file(".gemini/hooks/mine.sh"));
}

#[test]
fn an_unknown_hook_is_reported_with_a_suggestion() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("secret-scanner")]}]}}));
    for verb in ["show", "enable", "disable", "trust"] {
        let run = sandbox.run(&["hooks", verb, "secret-scaner"]).expect_exit_code(1);
        let words = "no hook is called `secret-scaner`; did you mean `secret-scanner`?";
        assert!(run.stderr.contains(words), "{verb}: {}", run.stderr);
        let run = sandbox.run(&["hooks", verb, "banana"]).expect_exit_code(1);
        assert!(run.stderr.contains("`hookwright hooks list` shows them all"), "{verb}: {}", run.stderr);
    }
}

#[test]
fn a_hook_of_the_users_is_written_under_their_home_and_passes_its_test() {
    let sandbox = sandbox();
    let run = sandbox.run(&["hooks", "new", "mine", "--event", "BeforeTool", "--user"]).expect_exit_code(0);
    assert!(!sandbox.has_file(".gemini"), "{}", run.stdout);
    let test = sandbox.home().join(".gemini/hooks/mine.hooktest.toml");
    sandbox.run(&["hooks", "test", "--skip-trust", test.to_str().unwrap()]).expect_exit_code(0);
    let listed = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    assert_eq!((&listed[0]["source"], &listed[0]["state"]), (&json!("user"), &json!("armed")), "{listed:#}");
    sandbox.run(&["hooks", "new", "mine", "--event", "BeforeTool", "--user"]).expect_exit_code(1);
    sandbox.run(&["hooks", "remove", "mine"]).expect_exit_code(0);
    assert_eq!(sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json(), json!([]));
    assert!(!test.exists(), "a test of a hook that is gone would fail");
    assert!(sandbox.home().join(".gemini/hooks/mine.sh").exists(), "the script stays");
}

#[test]
fn an_example_is_taken_over_with_its_tests() {
    let listed = sandbox().run(&["hooks", "add"]).expect_exit_code(0);
    assert!(listed.stdout.contains("secret-scanner"), "{}", listed.stdout);
    for (user, folder) in [(false, ".gemini"), (true, "../home/.gemini")] {
        let sandbox = sandbox();
        let more: &[&str] = if user { &["--user"] } else { &[] };
        for example in ["secret-scanner", "rule-no-force-push", "git-context"] {
            sandbox.run(&[&["hooks", "add", example], more].concat()).expect_exit_code(0);
        }
        let hooks = format!("{folder}/hooks");
        let run = sandbox.run(&["hooks", "test", "--skip-trust", &hooks]).expect_exit_code(0);
        assert!(run.stdout.contains("secret-scanner") && run.stdout.contains(" 0 failed"), "{}", run.stdout);
        let key = r#"{"file_path": "a", "content": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}"#;
        sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "write_file", "--args", key]).expect_exit_code(2);
        let push = r#"{"command": "git push --force"}"#;
        sandbox
            .run(&["hooks", "fire", "BeforeTool", "--tool", "run_shell_command", "--args", push])
            .expect_exit_code(2);
        // A second run adds and overwrites nothing.
        let again = sandbox.run(&[&["hooks", "add", "secret-scanner"], more].concat()).expect_exit_code(1);
        assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    }
    let run = sandbox().run(&["hooks", "add", "secret-scaner"]).expect_exit_code(1);
    assert!(run.stderr.contains("did you mean `secret-scanner`?"), "{}", run.stderr);
}

#[test]
fn every_example_can_be_taken_over_at_once() {
    let sandbox = sandbox();
    let listed = sandbox.run(&["hooks", "add"]).expect_exit_code(0).stdout;
    let names: Vec<&str> = listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 16, "{listed}");
    for name in names {
        sandbox.run(&["hooks", "add", name]).expect_exit_code(0);
    }
    let run = sandbox.run(&["hooks", "validate"]).expect_exit_code(0);
    assert!(!run.stderr.contains("error"), "{}", run.stderr);
}

#[test]
fn removing_takes_the_hook_from_the_file_that_has_it() {
    let sandbox = sandbox();
    sandbox.write(
        ".gemini/settings.json",
        "{\n  // mine\n  \"hooks\": { \"BeforeTool\": [ { \"hooks\": [ { \"type\": \"command\", \"name\": \"g\", \"command\": \"exit 2\", \"guard\": true }, { \"type\": \"command\", \"name\": \"h\", \"command\": \"true\" } ] } ] }\n}\n",
    );
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("g")]}]}}));
    let run = sandbox.run(&["hooks", "remove", "g"]).expect_exit_code(1);
    assert!(run.stderr.contains("--scope user or workspace"), "{}", run.stderr);
    let run = sandbox.run(&["hooks", "remove", "g", "--scope", "workspace"]).expect_exit_code(0);
    assert!(
        run.stderr.contains("was a guard") && run.stderr.contains("the program that it ran is kept: exit 2"),
        "{}",
        run.stderr
    );
    let text = sandbox.read(".gemini/settings.json");
    assert!(text.contains("// mine") && text.contains("\"h\"") && !text.contains("\"g\""), "{text}");
    sandbox.run(&["hooks", "remove", "g"]).expect_exit_code(0);
    let run = sandbox.run(&["hooks", "remove", "gg"]).expect_exit_code(1);
    assert!(run.stderr.contains("no hook is called `gg`"), "{}", run.stderr);
    sandbox.write(".gemini/settings.json", "{ \"hooks\": {");
    sandbox.run(&["hooks", "remove", "h"]).expect_exit_code(1);
    assert_eq!(sandbox.read(".gemini/settings.json"), "{ \"hooks\": {");
}

/// Other unknown names come with a suggestion too.
#[test]
fn other_unknown_names_are_reported_with_a_suggestion() {
    let sandbox = sandbox();
    sandbox.write(".gemini/skills/reviewing/SKILL.md", "---\nname: reviewing\ndescription: reviews\n---\nx\n");
    sandbox.user_settings(&json!({"mcpServers": {"github": {"command": "true"}}}));
    sandbox.write("ext/gemini-extension.json", "{\"name\": \"linter\", \"version\": \"1.0.0\"}");
    sandbox.run(&["extensions", "link", "ext", "--consent"]).expect_exit_code(0);
    for (args, near) in [
        (&["skills", "disable", "reviewin"][..], "reviewing"),
        (&["mcp", "disable", "gihtub"], "github"),
        (&["mcp", "test", "gthub"], "github"),
        (&["extensions", "disable", "lintr"], "linter"),
        (&["extensions", "uninstall", "lintr"], "linter"),
    ] {
        let run = sandbox.run(args).expect_exit_code(1);
        assert!(run.stderr.contains(&format!("did you mean `{near}`?")), "{args:?}: {}", run.stderr);
    }
}

/// A project's command in an untrusted folder is neither unknown nor a prompt for the model. A command with the name of
/// a built-in one gets another name, and that is reported.
#[test]
fn custom_commands_that_await_trust_or_clash_are_reported() {
    let sandbox = sandbox().untrusted();
    sandbox.write(".gemini/commands/restore.toml", "description = '''first\nsecond'''\nprompt = 'restore it'\n");
    sandbox.write(".gemini/commands/deploy.toml", "prompt = 'deploy it'\n");
    let replay = sandbox.replay(&hookwright_testkit::ReplayBuilder::new().says("done"));
    let run = |prompt: &str| sandbox.run(&["--fake-responses", &replay, "-p", prompt]);
    for prompt in ["/deploy now", "/workspace.restore"] {
        let refused = run(prompt).expect_exit_code(42);
        let name = prompt.split(' ').next().unwrap();
        let words = format!("{name} is a command of this folder and waits for trust");
        assert!(refused.stderr.contains(&words), "{}", refused.stderr);
    }
    sandbox.run(&["hooks", "trust", "--folder"]).expect_exit_code(0);
    let listed = run("/commands list").expect_exit_code(0);
    assert!(listed.stdout.contains("/workspace.restore  first second (project)"), "{}", listed.stdout);
    assert!(
        listed.stderr.contains("/restore is a built-in command, so this one is renamed to /workspace.restore"),
        "{listed:#?}"
    );
    assert!(run("/workspace.restore").expect_exit_code(0).stdout.contains("done"));
}

/// The panel as text: by event, each hook with source, type, state and description, which may have several lines.
#[test]
fn the_panel_without_a_screen_is_organised_by_event() {
    let sandbox = sandbox();
    let described = json!({"type": "command", "name": "a", "description": "keeps\nwatch", "command": "true"});
    sandbox.settings(&json!({"hooks": {
        "SessionEnd": [{"hooks": [hook("last")]}],
        "BeforeTool": [{"matcher": "write_file", "hooks": [described]}],
    }, "hooksConfig": {"disabled": ["last"]}}));
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("mine")]}]}}));
    let expected = "BeforeTool\n  a: armed (project, command, matcher write_file)\n    keeps watch\n  \
                    mine: armed (user, command, matcher *)\n    does nothing\n\
                    SessionEnd\n  last: disabled: by project settings (project, command, matcher *)\n    does nothing";
    let replay = sandbox.replay(&hookwright_testkit::ReplayBuilder::new());
    let text = sandbox.run(&["--fake-responses", &replay, "-p", "/hooks panel"]).expect_exit_code(0).stdout;
    assert_eq!(text.trim_end(), expected);
    let json = sandbox
        .run(&["--fake-responses", &replay, "-p", "/hooks panel", "--output-format", "json"])
        .expect_exit_code(0);
    assert_eq!(json.json()["response"], expected);
}

/// `-p '/hooks …'` does what the sub-command does, except where it could remove guards.
#[test]
fn hooks_are_managed_without_a_screen() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("p")]}]}, "hooksConfig": {"disabled": ["p"]}}));
    let replay = sandbox.replay(&hookwright_testkit::ReplayBuilder::new());
    let run = |prompt: &str| sandbox.run(&["--fake-responses", &replay, "-p", prompt]);
    for prompt in ["/hooks", "/hooks panel", "/hooks list"] {
        let shown = run(prompt).expect_exit_code(0).stdout;
        assert!(shown.contains("BeforeTool") && shown.contains("disabled"), "{prompt}: {shown}");
    }
    run("/hooks enable p").expect_exit_code(0);
    assert_eq!(sandbox.run(&["hooks", "list", "--json"]).json()[0]["state"], "armed");
    for prompt in ["/hooks disable p", "/hooks disable-all", "/hooks trust --all", "/hooks trust p"] {
        let refused = run(prompt).expect_exit_code(42).stderr;
        assert!(refused.contains(&format!("run `hookwright {}`", &prompt[1..])), "{refused}");
    }
    assert_eq!(sandbox.run(&["hooks", "list", "--json"]).json()[0]["state"], "armed");
}

/// What a sub-command says and what the session's command says are made of the same outcome.
#[test]
fn a_command_says_the_same_in_a_session_and_outside() {
    for name in ["p", "off", "nobody"] {
        let said = |run: &dyn Fn(&hookwright_testkit::Sandbox) -> hookwright_testkit::ProgramRun| {
            let sandbox = sandbox();
            let off = json!({"type": "command", "name": "off", "command": "true", "enabled": false});
            sandbox.settings(&json!({
                "hooks": {"BeforeTool": [{"hooks": [hook("p"), off]}]}, "hooksConfig": {"disabled": ["p"]}
            }));
            let run = run(&sandbox);
            let text = format!("{}{}", run.stdout, run.stderr).replace(&*sandbox.project().to_string_lossy(), "");
            // How commands are named differs, and that a session knows a change that lasts as long as it does.
            let text = text.replace("`hookwright hooks list`", "/hooks list");
            let text = text.replace("; a change made here lasts for this session at most", "");
            (text.replace("note: ", ""), sandbox.read(".gemini/settings.json"))
        };
        let outside = said(&|sandbox| sandbox.run(&["hooks", "enable", name]));
        let inside = said(&|sandbox| {
            let replay = sandbox.replay(&hookwright_testkit::ReplayBuilder::new());
            sandbox.run(&["--fake-responses", &replay, "-p", &format!("/hooks enable {name}")])
        });
        // A session also says what is new in the project.
        assert!(outside.0.lines().all(|line| inside.0.lines().any(|other| other == line)), "{outside:?}\n{inside:?}");
        assert_eq!(outside.1, inside.1, "{name}");
    }
}

#[test]
fn the_older_switch_of_all_hooks_is_a_known_setting() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook("p")]}]}, "tools": {"enableHooks": true}}));
    let run = sandbox.run(&["hooks", "validate"]).expect_exit_code(0);
    assert!(!format!("{}{}", run.stdout, run.stderr).contains("enableHooks"), "{run:#?}");
}

/// Gemini CLI complains about types of hooks that it does not know, so they go where it does not look.
#[test]
fn types_that_gemini_cli_does_not_know_are_declared_in_the_neutral_file() {
    let sandbox = sandbox();
    sandbox.run(&["hooks", "add", "rule-no-force-push"]).expect_exit_code(0);
    sandbox.run(&["hooks", "new", "stays", "--event", "BeforeTool", "--worker"]).expect_exit_code(0);
    assert!(!sandbox.has_file(".gemini"));
    let declared: serde_json::Value = serde_json::from_str(&sandbox.read(".hookwright/hooks.json")).unwrap();
    let hooks = declared["hooks"]["BeforeTool"].as_array().unwrap();
    assert_eq!((&hooks[0]["hooks"][0]["type"], &hooks[1]["hooks"][0]["type"]), (&json!("rule"), &json!("worker")));
    let listed = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    assert!(listed.as_array().unwrap().iter().all(|hook| hook["state"] == "armed"), "{listed:#}");
    let run = sandbox.run(&["hooks", "test"]);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    sandbox.run(&["hooks", "new", "ends", "--event", "BeforeTool"]).expect_exit_code(0);
    assert!(sandbox.read(".gemini/settings.json").contains(".gemini/hooks/ends.sh"));
    // The same for the user's own.
    sandbox.run(&["hooks", "new", "mine", "--event", "BeforeTool", "--worker", "--user"]).expect_exit_code(0);
    let test = sandbox.home().join(".hookwright/hooks/mine.hooktest.toml");
    sandbox.run(&["hooks", "test", "--skip-trust", test.to_str().unwrap()]).expect_exit_code(0);
}

#[test]
fn another_agents_name_of_an_event_is_understood() {
    let sandbox = sandbox();
    let run = sandbox.run(&["hooks", "new", "it", "--event", "PreToolUse"]).expect_exit_code(0);
    assert!(run.stderr.contains("PreToolUse is called BeforeTool here"), "{}", run.stderr);
    assert!(sandbox.read(".gemini/settings.json").contains("\"BeforeTool\""));
    sandbox.run(&["hooks", "fire", "PreToolUse", "--tool", "glob", "--args", "{}"]).expect_exit_code(0);
    let run = sandbox.run(&["hooks", "new", "it", "--event", "Nonsense"]).expect_exit_code(1);
    assert!(run.stderr.contains("possible values"), "{}", run.stderr);
    let run = sandbox.run(&["hooks", "new", "other"]).expect_exit_code(1);
    assert!(run.stderr.contains("on a terminal, it asks"), "{}", run.stderr);
}

#[test]
fn a_test_of_others_that_names_a_removed_hook_is_named() {
    let sandbox = sandbox();
    sandbox.run(&["hooks", "new", "it", "--event", "BeforeTool"]).expect_exit_code(0);
    let own = sandbox.read(".gemini/hooks/it.hooktest.toml");
    sandbox.write(".hookwright/all.hooktest.toml", own);
    let run = sandbox.run(&["hooks", "remove", "it"]).expect_exit_code(0);
    assert!(run.stderr.contains("removed its test"), "{}", run.stderr);
    assert!(run.stderr.contains(".hookwright/all.hooktest.toml still tests `it`"), "{}", run.stderr);
    assert!(!sandbox.has_file(".gemini/hooks/it.hooktest.toml") && sandbox.has_file(".hookwright/all.hooktest.toml"));
}

/// A rule takes no time and changes no arguments, so neither is said to be lost under another agent.
#[test]
fn a_rule_is_explained_by_what_it_can_do() {
    let sandbox = sandbox();
    let rule = json!({"type": "rule", "name": "no", "when": {"writes": ["x"]}, "decision": "deny", "reason": "no"});
    let command = json!({"type": "command", "name": "slow", "command": "true"});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [rule, command]}]}}));
    for agent in ["claude-code", "codex", "copilot", "gemini-cli"] {
        let run = sandbox.run(&["agents", "explain", agent]).expect_exit_code(0);
        let (of_rule, of_command) = run.stdout.split_once("slow (").unwrap();
        let said = ["arguments stay in its history", "is stopped after"].map(|text| of_rule.contains(text));
        assert_eq!(said, [false, false], "{agent}: {}", run.stdout);
        assert!(of_command.contains("arguments stay in its history"), "{agent}: {}", run.stdout);
    }
}

/// Gemini CLI writes into its home even for `--version`; that home is not the user's.
#[cfg(unix)]
#[test]
fn asking_for_a_version_leaves_no_files() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = sandbox();
    let programs = sandbox.sibling_path("bin");
    std::fs::create_dir_all(&programs).unwrap();
    let gemini = programs.join("gemini");
    let script = "#!/bin/sh\nmkdir -p \"${GEMINI_CLI_HOME:-$HOME}/.gemini\"\ntouch \"${GEMINI_CLI_HOME:-$HOME}/.gemini/projects.json.tmp\"\necho 0.61.0\n";
    std::fs::write(&gemini, script).unwrap();
    std::fs::set_permissions(&gemini, std::fs::Permissions::from_mode(0o755)).unwrap();
    let sandbox = sandbox.env("PATH", &format!("{}:/usr/bin:/bin", programs.display()));
    let run = sandbox.run(&["agents", "list"]).expect_exit_code(0);
    assert!(run.stdout.contains("0.61.0"), "{}", run.stdout);
    assert!(!sandbox.home().join(".gemini/projects.json.tmp").exists());
}
