//! Calls that guards and hooks want confined, in a session and under other agents: they run, and cannot do what the
//! guard is about.

use std::process::Command;

use hookwright_testkit::deadline::*;
use hookwright_testkit::{ProgramRun, ReplayBuilder, Sandbox, fs, has_program, report_skipped};
use serde_json::{Value, json};

use crate::sandbox;

/// Whether this machine can confine; a test that returns without it is skipped aloud.
fn can_confine(test: &str) -> bool {
    let run = sandbox().run(&["run", "--", "true"]);
    if run.code == Some(125) {
        report_skipped(test, &format!("commands can't be confined here: {}", run.stderr.trim()));
    }
    run.code != Some(125)
}

/// A project with a secret, a program whose effects are not known, and this hook of the user.
fn project(hook: &Value) -> Sandbox {
    let sandbox = sandbox();
    sandbox.write(".env", "TOKEN=hunter2");
    sandbox.write("kept", "kept");
    sandbox.write("build.sh", "cat .env\necho changed > kept\necho built > out\necho ran\n");
    set_hook(&sandbox, hook, &json!({}));
    sandbox
}

fn set_hook(sandbox: &Sandbox, hook: &Value, config: &Value) {
    sandbox.user_settings(&json!({"hooksConfig": config, "hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
}

fn guard(when: &Value) -> Value {
    json!({"type": "rule", "name": "guard", "guard": true, "decision": "deny", "when": when, "reason": "guarded"})
}

fn secrets_guard() -> Value {
    guard(&json!({"writes": ["kept"], "reads": ["**/.env"]}))
}

/// Runs a command in a session without a user that approves everything else, and returns what the model was told.
fn call(sandbox: &Sandbox, command: &str) -> (ProgramRun, String) {
    let replay = ReplayBuilder::new().calls("run_shell_command", json!({"command": command})).says("done");
    let replay = sandbox.replay(&replay);
    let run = sandbox.run(&["--fake-responses", &replay, "-p", "go", "--approval-mode=yolo", "-o", "stream-json"]);
    let told = run.stdout.clone();
    (run, told)
}

#[test]
fn a_doubtful_command_runs_and_cannot_do_what_the_guard_is_about() {
    if !can_confine("a_doubtful_command_runs_and_cannot_do_what_the_guard_is_about") {
        return;
    }
    let sandbox = project(&secrets_guard());
    let (run, told) = call(&sandbox, "bash build.sh");
    assert!(told.contains("ran") && !told.contains("hunter2"), "{told}\n{}", run.stderr);
    assert_eq!((sandbox.read("kept"), sandbox.read("out")), ("kept".to_owned(), "built\n".to_owned()));
}

#[test]
fn guards_are_enforced_although_the_analysis_is_sure() {
    if !can_confine("guards_are_enforced_although_the_analysis_is_sure") {
        return;
    }
    // A confined command has a `/dev` of its own.
    if !std::path::Path::new("/dev/console").exists() {
        report_skipped("guards_are_enforced_although_the_analysis_is_sure", "there is no /dev/console");
        return;
    }
    let is_confined = |sandbox: &Sandbox| {
        let (_, told) = call(sandbox, "ls /dev");
        assert!(told.contains("null"), "{told}");
        !told.contains("console")
    };
    let sandbox = project(&secrets_guard());
    assert!(is_confined(&sandbox));
    // A guard that the kernel cannot enforce, and one that only asks, confine nothing that is known.
    set_hook(&sandbox, &guard(&json!({"commands": ["rm"]})), &json!({}));
    assert!(!is_confined(&sandbox));
    for enforce in ["doubt", "off"] {
        set_hook(&sandbox, &secrets_guard(), &json!({"enforce": enforce}));
        assert!(!is_confined(&sandbox), "{enforce}");
    }
    // A project can ask for more, and not for less.
    sandbox.settings(&json!({"hooksConfig": {"enforce": "always"}}));
    assert!(is_confined(&sandbox));
    set_hook(&sandbox, &secrets_guard(), &json!({}));
    sandbox.settings(&json!({"hooksConfig": {"enforce": "off"}}));
    assert!(is_confined(&sandbox));
}

#[test]
fn on_doubt_says_what_happens_to_a_doubtful_command() {
    if !can_confine("on_doubt_says_what_happens_to_a_doubtful_command") {
        return;
    }
    for (on_doubt, runs, changes) in
        [("confine", true, false), ("ask", false, false), ("deny", false, false), ("allow", true, true)]
    {
        let sandbox = project(&Value::Null);
        set_hook(&sandbox, &secrets_guard(), &json!({"onDoubt": on_doubt, "enforce": "doubt"}));
        let (_, told) = call(&sandbox, "bash build.sh");
        assert_eq!(sandbox.has_file("out"), runs, "{on_doubt}: {told}");
        assert_eq!(sandbox.read("kept") == "changed\n", changes, "{on_doubt}: {told}");
        // What is known to be forbidden is denied in any case.
        let (_, told) = call(&sandbox, "cat .env");
        assert!(told.contains("guarded") && !told.contains("hunter2"), "{on_doubt}: {told}");
    }
}

#[test]
fn what_cannot_be_enforced_is_not_run_without_a_user() {
    let sandbox = project(&guard(&json!({"writes": ["**/*.lock"]})));
    let (run, told) = call(&sandbox, "bash build.sh");
    assert!(!sandbox.has_file("out"));
    assert!(told.contains("it can't be confined: writes: **/*.lock"), "{told}\n{}", run.stderr);
}

#[test]
fn a_program_can_confine_a_call() {
    if !can_confine("a_program_can_confine_a_call") {
        return;
    }
    let answer =
        json!({"decision": "confine", "hookSpecificOutput": {"confine": {"writes": ["out"], "noReads": [".env"]}}});
    let sandbox = project(&json!({"type": "command", "name": "h", "command": "cat answer"}));
    sandbox.write("answer", answer.to_string());
    sandbox.write("out", "");
    let (_, told) = call(&sandbox, "bash build.sh");
    assert_eq!((sandbox.read("kept"), sandbox.read("out")), ("kept".to_owned(), "built\n".to_owned()), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
    // A profile that is not understood allows nothing.
    let wrong = json!({"decision": "confine", "hookSpecificOutput": {"confine": {"write": ["**"]}}});
    sandbox.write("answer", wrong.to_string());
    sandbox.write("out", "");
    let (run, told) = call(&sandbox, "bash build.sh");
    assert_eq!(sandbox.read("out"), "", "{told}");
    assert!(told.contains("is not a profile") || run.stderr.contains("is not a profile"), "{told}\n{}", run.stderr);
}

#[test]
fn the_files_that_guards_are_made_of_stay_as_they_are() {
    if !can_confine("the_files_that_guards_are_made_of_stay_as_they_are") {
        return;
    }
    let sandbox = project(&guard(&json!({"writes": ["kept"]})));
    let settings = sandbox.home().join(".gemini/settings.json");
    let before = fs::read_to_string(&settings).unwrap();
    let script = format!(
        "echo '{{}}' > '{0}'; rm -f '{0}'; mv '{1}' '{1}.old'; mkdir -p .hookwright; echo x > .hookwright/hooks.json; echo ran",
        settings.display(),
        settings.parent().unwrap().display()
    );
    sandbox.write("attack.sh", script);
    let (_, told) = call(&sandbox, "bash attack.sh");
    assert!(told.contains("ran"), "{told}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), before);
    assert!(!sandbox.has_file(".hookwright/hooks.json"));
}

fn bridge(sandbox: &Sandbox, host: &str, payload: &Value) -> Value {
    let run = sandbox.run_with_input(&["bridge", host], &payload.to_string());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"))
}

fn claude_call(command: &str) -> Value {
    json!({"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash", "tool_input": {"command": command}})
}

#[test]
fn another_agent_gets_a_command_that_confines_itself() {
    if !can_confine("another_agent_gets_a_command_that_confines_itself") {
        return;
    }
    let sandbox = project(&secrets_guard());
    let answers = [
        ("claude-code", claude_call("bash build.sh"), "/hookSpecificOutput/updatedInput/command"),
        (
            "gemini-cli",
            json!({"hook_event_name": "BeforeTool", "session_id": "s1", "tool_name": "run_shell_command",
                "tool_input": {"command": "bash build.sh"}}),
            "/hookSpecificOutput/tool_input/command",
        ),
    ];
    for (host, payload, place) in answers {
        let answer = bridge(&sandbox, host, &payload);
        let command = answer.pointer(place).and_then(Value::as_str).unwrap_or_else(|| panic!("{host}: {answer}"));
        assert!(command.starts_with("HOOKWRIGHT_COMMAND='bash build.sh' "), "{command}");
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(sandbox.project());
        let output = shell.output_in_time().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.contains("ran") && !printed.contains("hunter2"), "{host}: {output:?}");
        assert_eq!((sandbox.read("kept"), sandbox.read("out")), ("kept".to_owned(), "built\n".to_owned()));
        // What is known is not touched.
        assert_eq!(
            sandbox.run_with_input(&["bridge", host], &payload.to_string().replace("bash build.sh", "ls")).stdout,
            ""
        );
    }
}

#[test]
fn an_agent_that_runs_no_changed_command_asks_or_refuses() {
    let sandbox = project(&secrets_guard());
    // Codex has a sandbox of its own.
    let answer = bridge(&sandbox, "codex", &claude_call("bash build.sh")).to_string();
    assert!(answer.contains("\"deny\"") && answer.contains("does not allow another one in it"), "{answer}");
    let droid = json!({"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Read",
        "tool_input": {"file_path": "kept"}});
    assert_eq!(sandbox.run_with_input(&["bridge", "droid"], &droid.to_string()).code, Some(0));
}

/// The analysis is sure about these calls, and could be wrong.
#[test]
fn what_must_always_be_enforced_and_cannot_is_asked_about() {
    let sandbox = project(&secrets_guard());
    let qwen = json!({"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "run_shell_command",
        "tool_input": {"command": "ls"}, "qwen_code_version": "1"});
    let answer = |host: &str, payload: &Value| sandbox.run_with_input(&["bridge", host], &payload.to_string()).stdout;
    for config in [json!({}), json!({"enforce": "doubt"})] {
        set_hook(&sandbox, &secrets_guard(), &config);
        assert_eq!((answer("qwen", &qwen), answer("codex", &claude_call("ls"))), (String::new(), String::new()));
    }
    set_hook(&sandbox, &secrets_guard(), &json!({"enforce": "always"}));
    let told: Value = serde_json::from_str(&answer("qwen", &qwen)).unwrap();
    assert_eq!(told.pointer("/hookSpecificOutput/permissionDecision"), Some(&json!("ask")), "{told}");
    assert!(told.to_string().contains("what guard forbids; it can't be confined"), "{told}");
    assert!(told.to_string().contains("does not run a changed command here"), "{told}");
    // Codex asks nobody.
    let told: Value = serde_json::from_str(&answer("codex", &claude_call("ls"))).unwrap();
    assert_eq!(told.pointer("/hookSpecificOutput/permissionDecision"), Some(&json!("deny")), "{told}");
    let lost = sandbox.run(&["agents", "trace", "--json"]).expect_exit_code(0).stdout;
    assert!(lost.contains(r#""wanted":"confine""#), "{lost}");
    let explained = sandbox.run(&["agents", "explain", "qwen"]).expect_exit_code(0);
    assert!(explained.stdout.contains("with `enforce: always` every command does"), "{explained:?}");
    // A guard that asks, and a tool that is no command, have nothing to be enforced.
    let read = json!({"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "read_file",
        "tool_input": {"file_path": "kept"}, "qwen_code_version": "1"});
    assert_eq!(answer("qwen", &read), "");
}

#[test]
fn an_agent_of_our_own_asks_about_a_command_that_must_be_kept_and_cannot() {
    // The link could be replaced, so that the folder behind it can't be guarded.
    let guard = guard(&json!({"writes": ["link/file"]}));
    for (config, runs) in [(json!({}), true), (json!({"enforce": "always"}), false)] {
        let sandbox = project(&guard);
        sandbox.write("real/file", "");
        std::os::unix::fs::symlink("real", sandbox.project().join("link")).unwrap();
        set_hook(&sandbox, &guard, &config);
        let (_, told) = call(&sandbox, "touch out");
        assert_eq!(sandbox.has_file("out"), runs, "{config}: {told}");
        assert_eq!(told.contains("it can't be confined"), !runs, "{config}: {told}");
    }
}

#[test]
fn hooks_see_a_confined_call_as_the_model_made_it() {
    if !can_confine("hooks_see_a_confined_call_as_the_model_made_it") {
        return;
    }
    let sandbox = project(&secrets_guard());
    let command = bridge(&sandbox, "claude-code", &claude_call("bash build.sh"));
    let command =
        command.pointer("/hookSpecificOutput/updatedInput/command").and_then(Value::as_str).unwrap().to_owned();
    sandbox.settings(
        &json!({"hooks": {"AfterTool": [{"hooks": [{"type": "command", "name": "log", "command": "cat > seen"}]}]}}),
    );
    let after = json!({"hook_event_name": "PostToolUse", "session_id": "s1", "tool_name": "Bash",
        "tool_input": {"command": command}, "tool_response": {"stdout": "ran"}});
    sandbox.run_with_input(&["bridge", "claude-code"], &after.to_string());
    let seen: Value = serde_json::from_str(&sandbox.read("seen")).unwrap();
    assert_eq!(seen["tool_input"]["command"], "bash build.sh");
    // A plan that was changed is refused.
    let plan = command.split(" --plan ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    std::fs::write(plan, "{\"project\": \"/\", \"profiles\": [{\"writes\": [\"/**\"], \"network\": \"all\"}]}")
        .unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", &command]).current_dir(sandbox.project());
    let output = shell.output_in_time().unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    assert!(!sandbox.has_file("out"));
}

#[test]
fn a_hooks_own_process_can_be_confined() {
    if !can_confine("a_hooks_own_process_can_be_confined") {
        return;
    }
    let script = "cat > /dev/null; echo x > log 2>/dev/null && echo 'wrote' >&2; cat .env >&2; echo no >&2; exit 2";
    let sandbox = sandbox();
    sandbox.write(".env", "TOKEN=hunter2");
    sandbox.write("hook.sh", script);
    let hook = |confine: &Value| json!({"type": "command", "name": "h", "guard": true, "command": "sh hook.sh", "confine": confine});
    set_hook(&sandbox, &hook(&json!({"noReads": [".env"]})), &json!({}));
    let fire = || sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "run_shell_command"]);
    let run = fire();
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stdout.contains("no") && !run.stdout.contains("hunter2") && !run.stdout.contains("wrote"), "{run:?}");
    // A guard whose confinement is not possible is not armed.
    set_hook(&sandbox, &hook(&json!({"writes": ["**/*.log"]})), &json!({}));
    let listed = sandbox.run(&["hooks", "list"]);
    assert!(listed.stdout.contains("can't be confined"), "{listed:?}");
    assert_eq!(fire().code, Some(2));
}

#[test]
fn hooks_of_an_extension_change_their_own_folder_only() {
    if !can_confine("hooks_of_an_extension_change_their_own_folder_only") {
        return;
    }
    let sandbox = sandbox();
    let folder = sandbox.home().join(".gemini/extensions/tool");
    let write = |confine: &Value| {
        let hook =
            json!({"type": "command", "name": "h", "command": "sh ${extensionPath}/hook.sh", "confine": confine});
        let settings = json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}});
        std::fs::create_dir_all(folder.join("hooks")).unwrap();
        std::fs::write(folder.join("hooks/hooks.json"), settings.to_string()).unwrap();
        std::fs::write(folder.join("gemini-extension.json"), r#"{"name": "tool", "version": "1.0.0"}"#).unwrap();
        let script = "cd \"$(dirname \"$0\")\"; echo x > own; echo x > \"$GEMINI_PROJECT_DIR/made\"; exit 0";
        std::fs::write(folder.join("hook.sh"), script).unwrap();
    };
    let fire = || sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "run_shell_command"]);
    write(&Value::Null);
    let run = fire();
    assert!(folder.join("own").exists() && !sandbox.has_file("made"), "{run:?}");
    // More is what the extension lists, and what the user agrees to when it is installed.
    write(&json!({"writes": ["**"]}));
    sandbox.run(&["hooks", "trust", "--all"]);
    let run = fire();
    assert!(sandbox.has_file("made"), "{run:?}");
}

/// Returns the command that an agent is told to run instead of this one.
fn rewritten(sandbox: &Sandbox, command: &str) -> Option<String> {
    let answer = bridge(sandbox, "claude-code", &claude_call(command));
    answer.pointer("/hookSpecificOutput/updatedInput/command").and_then(Value::as_str).map(str::to_owned)
}

fn run_shell(sandbox: &Sandbox, command: &str) -> std::process::Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(sandbox.project()).env("HOME", sandbox.home()).output_in_time().unwrap()
}

/// A disguised program: the analysis is sure that `ls` uses no network.
#[test]
fn a_wrong_prediction_is_told_with_the_command() {
    if !can_confine("a_wrong_prediction_is_told_with_the_command") {
        return;
    }
    if !has_program("bash") {
        return report_skipped("a_wrong_prediction_is_told_with_the_command", "bash is not installed");
    }
    let sandbox = project(&Value::Null);
    set_hook(&sandbox, &guard(&json!({"network": ["*"]})), &json!({"enforce": "always"}));
    let attempt = "#!/usr/bin/env bash\ntrue 3<>/dev/tcp/192.0.2.1/80; echo ran\n";
    sandbox.write("build.sh", attempt);
    sandbox.write("bin/ls", attempt);
    std::fs::set_permissions(sandbox.project().join("bin/ls"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    for (command, is_predicted) in [("ls", true), ("bash build.sh", false)] {
        let confined = rewritten(&sandbox, command).unwrap();
        let output = run_shell(&sandbox, &format!("PATH=\"$PWD/bin:$PATH\"; {confined}"));
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(String::from_utf8_lossy(&output.stdout).contains("ran"), "{output:?}");
        assert!(told.contains("the network was refused (1×)"), "{output:?}");
        let report = "expected not to use the network, so `hookwright effects` is wrong about it: bash -c ls";
        assert_eq!(told.contains(report), is_predicted, "{command}: {told}");
        assert_eq!(told.contains("expected not to"), is_predicted, "{command}: {told}");
    }
    let line = sandbox.run(&["journal", "list"]).expect_exit_code(0).stdout;
    let line = line.lines().find(|line| line.contains("misprediction")).expect("it is on record").to_owned();
    assert!(line.contains("network (1×)") && line.contains("bash -c ls"), "{line}");
    let number = line.split_whitespace().next().unwrap();
    let shown = sandbox.run(&["journal", "show", number]).expect_exit_code(0).stdout;
    assert!(shown.contains("bash -c ls") && shown.contains("network (1×)"), "{shown}");
    assert!(sandbox.run(&["journal", "verify"]).code == Some(0));
    // What it really does is within its prediction.
    let ordinary = run_shell(&sandbox, &rewritten(&sandbox, "ls").unwrap());
    assert_eq!(String::from_utf8_lossy(&ordinary.stderr), "", "{ordinary:?}");
}

/// Disguised programs: the analysis is sure that `ls` uses no service, and that `curl` uses the network alone.
#[test]
fn services_that_a_call_does_not_use_are_closed_where_guards_are_always_enforced() {
    const TEST: &str = "services_that_a_call_does_not_use_are_closed_where_guards_are_always_enforced";
    if !can_confine(TEST) || !has_program("python3") {
        return report_skipped(TEST, "it needs python3 and a confinement");
    }
    let sandbox = project(&Value::Null);
    set_hook(&sandbox, &guard(&json!({"reads": ["**/.env"]})), &json!({"enforce": "always"}));
    let folder = sandbox.home().join(".docker/run");
    std::fs::create_dir_all(&folder).unwrap();
    let _service = std::os::unix::net::UnixListener::bind(folder.join("docker.sock")).unwrap();
    let connect = format!(
        "#!/usr/bin/env python3\nimport socket\ntry:\n  socket.socket(socket.AF_UNIX).connect('{}/docker.sock'); print('reached')\n\
         except OSError: print('closed')\n",
        folder.display()
    );
    for name in ["ls", "curl", "docker"] {
        sandbox.write(&format!("bin/{name}"), &connect);
        let file = sandbox.project().join("bin").join(name);
        std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    for (command, told) in [("ls", "closed\n"), ("curl https://example.com", "closed\n"), ("docker ps", "reached\n")] {
        let confined = rewritten(&sandbox, command).unwrap_or_else(|| panic!("{command}"));
        let output = run_shell(&sandbox, &format!("PATH=\"$PWD/bin:$PATH\"; {confined}"));
        assert_eq!(String::from_utf8_lossy(&output.stdout), told, "{command}: {output:?}");
    }
}

#[test]
fn a_rewritten_command_is_the_same_command() {
    if !can_confine("a_rewritten_command_is_the_same_command") {
        return;
    }
    let sandbox = project(&secrets_guard());
    for (command, printed) in [
        ("sh build.sh; printf '%s' \"it's \\\"quoted\\\"\"", "it's \"quoted\""),
        ("sh build.sh\ncat <<'END'\n$HOME `id` ' \" \\\nEND\n", "$HOME `id` ' \" \\\n"),
        ("sh build.sh; x='; touch escaped #'; echo \"$x\"", "; touch escaped #"),
        ("sh build.sh; echo ${HOOKWRIGHT_COMMAND-unset}; env | grep -c HOOKWRIGHT_COMMAND", "unset\n0\n"),
        ("sh build.sh; '\\''touch escaped", ""),
    ] {
        let command = rewritten(&sandbox, command).unwrap_or_else(|| panic!("{command}"));
        let run = run_shell(&sandbox, &command);
        assert!(String::from_utf8_lossy(&run.stdout).contains(printed), "{command}: {run:?}");
        assert_eq!(sandbox.read("kept"), "kept", "{command}");
        assert!(!sandbox.has_file("escaped"), "{command}");
    }
    // What a shell or the system cannot take does not run.
    for command in [format!("sh build.sh # {}", "x".repeat(200 << 10)), "sh build.sh\0; true".to_owned()] {
        std::fs::remove_file(sandbox.project().join("out")).unwrap_or_default();
        if let Some(command) = rewritten(&sandbox, &command) {
            let mut shell = Command::new("sh");
            shell.arg("-s").current_dir(sandbox.project());
            sandbox.write("script", command);
            shell.stdin(std::fs::File::open(sandbox.project().join("script")).unwrap());
            let _ = shell.status_in_time();
        }
        assert_eq!(sandbox.read("kept"), "kept");
    }
}

#[test]
fn a_model_that_writes_the_wrapper_gains_nothing() {
    if !can_confine("a_model_that_writes_the_wrapper_gains_nothing") {
        return;
    }
    let sandbox = project(&secrets_guard());
    let wrapped = rewritten(&sandbox, "bash build.sh").unwrap();
    let with_command = |command: &str| wrapped.replace("'bash build.sh'", &format!("'{command}'"));
    // What is known to be forbidden is refused inside the wrapper too.
    let answer = bridge(&sandbox, "claude-code", &claude_call(&with_command("cat .env"))).to_string();
    assert!(answer.contains("\"deny\""), "{answer}");
    // What is not ours is a command like any other, of which not all is known.
    for attack in [
        format!("{wrapped}; echo changed > kept"),
        format!("{wrapped} --writes '/**'"),
        wrapped.replace("--plan ", "--plan ./"),
        "HOOKWRIGHT_COMMAND='bash build.sh'".to_owned()
            + " hookwright run --writes '/**' --command-from HOOKWRIGHT_COMMAND",
        "HOOKWRIGHT_COMMAND='bash build.sh".to_owned(),
        "HOOKWRIGHT_COMMAND=".to_owned(),
        format!("HOOKWRIGHT_COMMAND={}", "'".repeat(10_001)),
    ] {
        let reply = sandbox.run_with_input(&["bridge", "claude-code"], &claude_call(&attack).to_string());
        let answer: Value = serde_json::from_str(&reply.stdout).unwrap_or_default();
        let command = answer.pointer("/hookSpecificOutput/updatedInput/command").and_then(Value::as_str);
        if !reply.stdout.contains("\"deny\"") {
            run_shell(&sandbox, command.unwrap_or(&attack));
        }
        assert_eq!(sandbox.read("kept"), "kept", "{attack}: {}", reply.stdout);
    }
    // In a shell that is kept for later commands, a function could take the place of this program.
    let program = env!("CARGO_BIN_EXE_hookwright");
    for definition in ["function PROGRAM { echo changed > kept; }", "PROGRAM() { echo changed > kept; }"] {
        let definition = rewritten(&sandbox, &definition.replace("PROGRAM", program));
        let definition = definition.expect("it is defined in a shell of its own");
        let script = format!("{definition}\n{wrapped}");
        let shell = if has_program("bash") { "bash" } else { "sh" };
        Command::new(shell).args(["-c", &script]).current_dir(sandbox.project()).output_in_time().unwrap();
        assert_eq!(sandbox.read("kept"), "kept", "{definition}");
    }
    // A path or a content that looks like a wrapper stays what it is.
    sandbox.settings(
        &json!({"hooks": {"AfterTool": [{"hooks": [{"type": "command", "name": "log", "command": "cat > seen"}]}]}}),
    );
    let write = json!({"hook_event_name": "PostToolUse", "session_id": "s1", "tool_name": "Write",
        "tool_input": {"file_path": "note", "content": wrapped}, "tool_response": {}});
    sandbox.run_with_input(&["bridge", "claude-code"], &write.to_string());
    let seen: Value = serde_json::from_str(&sandbox.read("seen")).unwrap();
    assert_eq!(seen["tool_input"]["content"], wrapped);
}

#[test]
fn nothing_survives_a_killed_agent() {
    if !can_confine("nothing_survives_a_killed_agent") {
        return;
    }
    let sandbox = project(&secrets_guard());
    sandbox.write("wait.sh", "touch started; sleep 3; touch late\n");
    let replay = ReplayBuilder::new().calls("run_shell_command", json!({"command": "sh wait.sh"})).says("done");
    let replay = sandbox.replay(&replay);
    let mut command = sandbox.command(&["--fake-responses", &replay, "-p", "go", "--approval-mode=yolo"]);
    let mut agent = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    hookwright_testkit::wait_until("the command runs", || sandbox.has_file("started"));
    agent.kill().unwrap();
    let _ = agent.wait_in_time();
    std::thread::sleep(std::time::Duration::from_millis(3500));
    assert!(!sandbox.has_file("late"));
    // The next run removes the placeholders that the killed one left.
    assert_eq!(sandbox.run(&["run", "--writes", "**", "--", "true"]).code, Some(0));
    assert!(!sandbox.has_file(".gemini") && !sandbox.has_file(".hookwright"));
}
