//! Text that model hooks and tool hooks redact is in no format, record or file. That every request passes the hooks is
//! tested in `crates/agent/tests/suite/headless/model_gateway.rs`.

use super::*;
use hookwright_testkit::fs;
use hookwright_testkit::replay::{call, secret_outside_of_text};

const SECRET: &str = "hunter2";

#[test]
fn redaction_reaches_thoughts_code_and_sources() {
    let redact = r#"case $(cat) in *hunter2*) echo '{"suppressOutput": true, "content": "[gone]"}';; esac"#;
    for format in ["text", "json", "stream-json"] {
        let sandbox = project(&[("AfterModel", "", redact)]);
        let run = run(&sandbox, &ReplayBuilder::new().stream(secret_outside_of_text()).says("done"), &["-o", format])
            .expect_exit_code(0);
        assert_eq!(sandbox.read("a.txt"), "A", "the call stays");
        assert_lacks(&run.stdout, SECRET);
        assert_lacks(&transcript(&sandbox), SECRET);
        assert_lacks(&fs::read_to_string(sandbox.sibling_path("telemetry.log")).unwrap(), SECRET);
        assert_contains(&requests(&sandbox)[1].to_string(), "[gone]");
    }
}

/// Replaces the model's arguments, and has the original ones recorded nowhere.
const REDACT_INPUT_SCRIPT: &str = r#"case $(cat) in *hunter2*)
echo '{"hookSpecificOutput": {"tool_input": {"command": "echo [gone]"}, "redact_input": true}}';; esac"#;

/// Returns where the secret was printed, recorded or sent.
fn secret_locations(sandbox: &Sandbox, run: &ProgramRun) -> Vec<String> {
    let files =
        files_under(&sandbox.home()).into_iter().chain([sandbox.sibling_path("telemetry.log").display().to_string()]);
    let read = |file: &String| String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
    let printed = [("stdout".to_owned(), run.stdout.clone()), ("stderr".to_owned(), run.stderr.clone())];
    let all = files.map(|file| (file.clone(), read(&file))).chain(printed);
    all.filter(|(_, text)| text.contains(SECRET)).map(|(name, _)| name).collect()
}

#[test]
fn arguments_that_a_hook_redacts_are_nowhere() {
    for format in ["text", "json", "stream-json"] {
        // Another hook gets the arguments too, and its record must not contain them either.
        let sandbox = project(&[("BeforeTool", "", REDACT_INPUT_SCRIPT), ("BeforeTool", "", "cat > /dev/null")]);
        let replay = ReplayBuilder::new().calls("run_shell_command", json!({"command": "login hunter2"})).says("done");
        let run = run(&sandbox, &replay, &["-o", format, "--debug"]).expect_exit_code(0);
        assert_eq!(secret_locations(&sandbox, &run), Vec::<String>::new(), "{format}");
        let sent = requests(&sandbox).pop().unwrap();
        assert_eq!(sent[1]["parts"][0]["functionCall"]["args"], json!({"command": "echo [gone]"}));
        assert_contains(&transcript(&sandbox), "echo [gone]");
        assert_contains(records(&sandbox, "tool_call")[0]["function_args"].as_str().unwrap(), "echo [gone]");
    }
}

#[test]
fn redacted_arguments_of_a_denied_call_are_nowhere_either() {
    let with = json!({"decision": "deny", "reason": "no", "hookSpecificOutput": {"tool_input": {"command": "[gone]"}, "redact_input": true}});
    let without = json!({"decision": "deny", "reason": "no", "hookSpecificOutput": {"redact_input": true}});
    let alone = json!({"hookSpecificOutput": {"redact_input": true}});
    for (said, kept) in [(with, "[gone]"), (without, "[redacted]"), (alone, "[redacted]")] {
        let sandbox = project(&[("BeforeTool", "", &answer_script(&said))]);
        let replay =
            ReplayBuilder::new().calls("run_shell_command", json!({"command": "touch ran # hunter2"})).says("done");
        let run = run(&sandbox, &replay, &["-o", "stream-json"]).expect_exit_code(0);
        assert_eq!(secret_locations(&sandbox, &run), Vec::<String>::new(), "{said}");
        assert!(!sandbox.has_file("ran"));
        let sent = requests(&sandbox).pop().unwrap();
        assert_eq!(sent[1]["parts"][0]["functionCall"]["args"], json!({"command": kept}), "{said}");
    }
}

#[test]
fn only_the_call_that_is_redacted_is() {
    let sandbox = project(&[("BeforeTool", "run_shell_command", REDACT_INPUT_SCRIPT)]);
    sandbox.write("a.txt", "A");
    let parts = [
        call("read_file", json!({"file_path": "a.txt"})),
        call("run_shell_command", json!({"command": "login hunter2"})),
        call("run_shell_command", json!({"command": "echo fine"})),
    ];
    let run = run(&sandbox, &ReplayBuilder::new().parts(&parts).says("done"), &[]).expect_exit_code(0);
    assert_eq!(secret_locations(&sandbox, &run), Vec::<String>::new());
    let sent = requests(&sandbox).pop().unwrap();
    let args = |at: usize| sent[1]["parts"][at]["functionCall"]["args"].clone();
    assert_eq!(args(0), json!({"file_path": "a.txt"}));
    assert_eq!((args(1), args(2)), (json!({"command": "echo [gone]"}), json!({"command": "echo fine"})));
}

#[cfg(unix)]
#[test]
fn arguments_that_no_hook_could_judge_in_time_are_nowhere() {
    use super::signals::send;
    use hookwright_testkit::{finish, wait_until};
    let waits = "touch waits; sleep 60";
    for hooks in
        [vec![("BeforeTool", "", waits)], vec![("BeforeTool", "", waits), ("BeforeTool", "", "cat > /dev/null")]]
    {
        let sandbox = project(&hooks);
        let two = ["touch ran # hunter2", "touch ran too # hunter2"];
        let calls = two.map(|command| call("run_shell_command", json!({"command": command})));
        let file = sandbox.replay(&ReplayBuilder::new().parts(&calls));
        let args = ["-p", "go", "--fake-responses", &file, "--approval-mode=yolo", "-o", "stream-json", "--debug"];
        let child = sandbox.command(&args).spawn().unwrap();
        wait_until("the hook runs", || sandbox.has_file("waits"));
        send("-INT", &child.id().to_string());
        let run = finish(child).expect_exit_code(130);
        assert_eq!(secret_locations(&sandbox, &run), Vec::<String>::new());
        assert!(!sandbox.has_file("ran"));
        assert_eq!(transcript(&sandbox).matches("[redacted]").count(), 2);
    }
}

#[test]
fn arguments_that_a_guard_failed_to_judge_are_nowhere() {
    for (script, more) in [("exit 1", json!({})), ("sleep 60", json!({"timeout": 50})), ("echo '{'", json!({}))] {
        let sandbox = project(&[("BeforeTool", "", script), ("BeforeTool", "", REDACT_INPUT_SCRIPT)]);
        let mut settings: Value = serde_json::from_str(&sandbox.read(".gemini/settings.json")).unwrap();
        let hook = settings["hooks"]["BeforeTool"][0]["hooks"][0].as_object_mut().unwrap();
        hook.insert("guard".to_owned(), true.into());
        hook.extend(more.as_object().unwrap().clone());
        sandbox.write(".gemini/settings.json", settings.to_string());
        let args = json!({"command": "touch ran", "description": "as hunter2"});
        let replay = ReplayBuilder::new().calls("run_shell_command", args).says("done");
        let run = run(&sandbox, &replay, &["-o", "stream-json", "--debug"]).expect_exit_code(0);
        assert_eq!(secret_locations(&sandbox, &run), Vec::<String>::new(), "{script}");
        assert!(!sandbox.has_file("ran"));
        let kept = &requests(&sandbox).pop().unwrap()[1]["parts"][0]["functionCall"]["args"];
        assert_eq!(*kept, json!({"command": "[redacted]", "description": "[redacted]"}), "{script}");
    }
}
