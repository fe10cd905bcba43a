//! Workers and plugins in sessions of the built binary: one process for a session, under the same trust, tools and
//! records as any other hook, which ends with the agent however that ends.

use super::signals::{assert_gone, send};
use super::*;
use hookwright_testkit::{finish, has_program, report_skipped, wait_until};

/// A guard in sh that stays running: it logs its pid and its end, and denies everything with a count.
const GUARD: &str = r#"echo $$ >> pids
while IFS= read -r line; do
    id=${line#'{"id":'}; id=${id%%,*}; n=$((n+1))
    printf '{"id":%s,"output":{"decision":"deny","reason":"no %s"}}\n' "$id" "$n"
done
echo eof >> ends"#;

fn hook(command: &str, more: Value) -> Value {
    let mut hook = json!({"type": "worker", "name": "guard", "command": command, "guard": true});
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    hook
}

fn guarded_by(script: &str, more: Value) -> Sandbox {
    let sandbox = crate::sandbox();
    let command = sandbox.script("guard.sh", script);
    project_in(sandbox, &[], json!({"hooks": {"BeforeTool": [{"hooks": [hook(&command, more)]}]}}))
}

fn writes(count: usize) -> ReplayBuilder {
    let call = |replay: ReplayBuilder, at: usize| {
        replay.calls("write_file", json!({"file_path": format!("{at}.txt"), "content": "x"}))
    };
    (0..count).fold(ReplayBuilder::new(), call).says("done")
}

fn pids(sandbox: &Sandbox) -> Vec<String> {
    let noted = if sandbox.has_file("pids") { sandbox.read("pids") } else { String::new() };
    noted.lines().map(str::to_owned).collect()
}

#[test]
fn one_process_judges_every_call_of_a_session_and_is_told_of_its_end() {
    let sandbox = guarded_by(GUARD, json!({}));
    let run = run(&sandbox, &writes(5), &[]).expect_exit_code(0);
    for at in 1..=5 {
        assert_contains(&run.stderr, &format!("Tool execution blocked: no {at}"));
    }
    assert!((0..5).all(|at| !sandbox.has_file(&format!("{at}.txt"))));
    let pids = pids(&sandbox);
    assert_eq!(pids.len(), 1);
    assert_gone(&pids[0]);
    assert_eq!(sandbox.read("ends"), "eof\n");
    let calls = records(&sandbox, "hook_call");
    assert_eq!(calls.len(), 5);
    assert!(calls.iter().all(|call| call["hook_type"] == "worker" && call["hook_name"] == "guard"), "{calls:#?}");
    assert_contains(calls[0]["hook_output"].as_str().unwrap(), "no 1");
}

/// However the agent ends while a worker judges, no process is left, even one that ignores signals.
#[test]
#[cfg(target_os = "linux")]
fn a_worker_does_not_outlive_the_agent_however_that_ends() {
    let deaf = "trap '' TERM HUP INT; echo $$ >> pids; (trap '' TERM HUP INT; echo $BASHPID >> pids; sleep 600) & \
                read -r line; : > asked; while :; do sleep 1; done";
    for (signal, code) in [("-INT", Some(130)), ("-TERM", Some(143)), ("-HUP", Some(129)), ("-KILL", None)] {
        if signal == "-HUP" && !hookwright_testkit::receives_hangups("a_worker_does_not_outlive_the_agent") {
            continue;
        }
        let sandbox = guarded_by(deaf, json!({}));
        let file = sandbox.replay(&writes(1));
        let agent = sandbox.command(&["-p", "go", "--fake-responses", &file, "--approval-mode=yolo"]).spawn().unwrap();
        wait_until("the worker was asked", || sandbox.has_file("asked"));
        send(signal, &agent.id().to_string());
        let run = finish(agent);
        assert_eq!(run.code, code, "{signal}: {run:?}");
        pids(&sandbox).iter().filter(|pid| !pid.is_empty()).for_each(|pid| assert_gone(pid));
        assert!(!sandbox.has_file("0.txt"));
    }
}

#[test]
fn one_that_is_killed_in_mid_session_is_started_again_and_no_call_slips_by() {
    let sandbox = guarded_by(&GUARD.replace("decision\":\"deny\"", "decision\":\"allow\""), json!({}));
    let kill = json!({"command": "kill -9 $(tail -n 1 pids)"});
    let replay = ReplayBuilder::new()
        .calls("run_shell_command", kill.clone())
        .calls("run_shell_command", kill)
        .calls("write_file", json!({"file_path": "a.txt", "content": "x"}))
        .says("done");
    let run = run(&sandbox, &replay, &[]).expect_exit_code(0);
    assert!(sandbox.has_file("a.txt"), "{run:#?}");
    assert_eq!(pids(&sandbox).len(), 3);
}

#[test]
fn a_worker_that_always_crashes_denies_with_a_message() {
    let sandbox = guarded_by("echo 'no such list' >&2; exit 3", json!({"onError": "allow"}));
    let run = run(&sandbox, &writes(7), &[]).expect_exit_code(0);
    assert_contains(&run.stderr, "hook guard: lost its worker: it ended with code 3");
    assert_contains(&run.stderr, "no such list");
    assert_contains(&run.stderr, "failed 5 times in a row");
    assert!((0..7).all(|at| !sandbox.has_file(&format!("{at}.txt"))));
}

/// It starts with the session, but not before the user trusts it.
#[test]
fn a_worker_that_starts_with_the_session_waits_for_trust() {
    let sandbox = guarded_by(GUARD, json!({"start": "session", "guard": false}));
    let hello = ReplayBuilder::new().says("hello");
    run(&sandbox, &hello, &[]).expect_exit_code(0);
    let started = pids(&sandbox).len();
    assert!(started <= 1, "whether it came up before the end is a matter of time");
    let held = guarded_by(GUARD, json!({"start": "session", "guard": false}));
    held.user_settings(&json!({"security": {"hooks": {"review": "block"}}}));
    run(&held, &writes(1), &[]).expect_exit_code(0);
    assert!(pids(&held).is_empty());
    let foreign = guarded_by(GUARD, json!({"start": "session", "guard": false})).untrusted();
    run(&foreign, &hello, &[]).expect_exit_code(0);
    assert!(pids(&foreign).is_empty());
}

/// A changed script is an untrusted hook, whatever runs it.
#[test]
fn a_changed_worker_is_reviewed() {
    let sandbox = guarded_by(GUARD, json!({}));
    sandbox.user_settings(&json!({"security": {"hooks": {"review": "block"}}}));
    sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0);
    let run = sandbox.run(&["hooks", "fire", "BeforeTool"]).expect_exit_code(2);
    assert_contains(&run.stdout, "no 1");
    sandbox.script("guard.sh", &format!("# looks harmless\n{GUARD}"));
    let run = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0);
    assert_eq!(run.json()[0]["state"], "untrusted", "{}", run.stdout);
    // A change of its worker settings is reviewed too.
    sandbox.script("guard.sh", GUARD);
    sandbox.run(&["hooks", "trust", "--all"]).expect_exit_code(0);
    let command = "$GEMINI_PROJECT_DIR/.gemini/hooks/guard.sh";
    let other = hook(command, json!({"concurrency": 8}));
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [other]}]}}));
    let list = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
    assert_eq!((&list[0]["state"], &list[0]["type"]), (&json!("untrusted"), &json!("worker")), "{list:#}");
}

#[test]
fn the_toolbox_fires_tests_shows_and_examines_it() {
    let sandbox = guarded_by(GUARD, json!({"idleTimeout": 60_000, "maxMemoryMb": 200}));
    let fired = sandbox.run(&["hooks", "fire", "BeforeTool", "--json"]).expect_exit_code(2).json();
    assert_eq!(fired["runs"][0]["status"], "ok");
    sandbox.write(
        ".gemini/guard.hooktest.toml",
        "[[case]]\nname = \"no\"\nevent = \"BeforeTool\"\ntool = \"write_file\"\n[case.expect]\ndecision = \"deny\"\n",
    );
    sandbox.run(&["hooks", "test"]).expect_exit_code(0);
    let shown = sandbox.run(&["hooks", "show", "guard"]).expect_exit_code(0).stdout;
    for words in ["worker", "idleTimeout", "60000 ms", "maxMemoryMb"] {
        assert_contains(&shown, words);
    }
    let doctor = sandbox.run(&["hooks", "doctor"]).expect_exit_code(0);
    assert_contains(&doctor.stdout, "answered a test call in");
    assert_eq!(
        sandbox.run(&["hooks", "doctor", "--json"]).expect_exit_code(0).json()["hooks"][0]["canary"]["ok"],
        true
    );
    for pid in pids(&sandbox) {
        assert_gone(&pid);
    }
    // A worker that starts and does not answer is detected before a session depends on it.
    for (script, words) in [
        ("exec sleep 600", "longer than"),
        ("while read -r line; do echo hello; done", "is not a JSON object"),
        ("exit 4", "ended with code 4"),
    ] {
        let sandbox = guarded_by(script, json!({"timeout": 400}));
        let doctor = sandbox.run(&["hooks", "doctor"]).expect_exit_code(1);
        assert_contains(&doctor.stdout, words);
        assert_contains(&doctor.stdout, "FAIL BeforeTool guard");
        assert_eq!(
            sandbox.run(&["hooks", "doctor", "--json"]).expect_exit_code(1).json()["hooks"][0]["canary"]["ok"],
            false
        );
    }
}

/// The doctor's total agrees with its lines: a hook that failed its sample is not counted as armed.
#[test]
fn a_guard_that_fails_its_sample_is_counted_as_one_that_does_not_do_its_work() {
    let sandbox = guarded_by("exit 4", json!({"timeout": 5000}));
    let report = sandbox.run(&["hooks", "doctor"]).expect_exit_code(1).stdout;
    // Its last line is about this machine.
    let report = report.split("confinement:").next().unwrap();
    insta::assert_snapshot!(report, @r"
    FAIL BeforeTool guard (project, guard)
           failed a test call: lost its worker: it ended with code 4
           to do: correct its program; `hookwright hooks fire BeforeTool` runs it again
    0 armed, 0 inert, 1 failed its test call, 0 off or held, 0 broken declarations
    guards: 0 armed, 1 not armed (1 failed its test call and does not work)
    ");
    let told = sandbox.run(&["hooks", "doctor", "--json"]).expect_exit_code(1).json();
    let hook = &told["hooks"][0];
    assert_eq!((&hook["armed"], &hook["state"]), (&json!(false), &json!("failing")), "{told:#}");
    assert_contains(hook["advice"].as_str().unwrap(), "hookwright hooks fire BeforeTool");
    assert_eq!(told["counts"], json!({"armed": 0, "inert": 0, "failing": 1, "off_or_held": 0, "broken": 0}));
    let unarmed = &told["unarmed"][0];
    assert_eq!((&unarmed["name"], &unarmed["why"]), (&json!("guard"), &json!("failed_sample")), "{told:#}");
    assert_eq!(unarmed["line"], hook["line"]);
}

#[test]
fn errors_in_a_worker_declaration_are_reported_with_their_location() {
    let sandbox = crate::sandbox();
    let hooks = json!([
        {"type": "worker"},
        {"type": "worker", "command": "true", "concurrency": 0, "start": "later", "maxMemoryMb": "much", "idleTimeout": 1.5},
        {"type": "command", "command": "true", "concurrency": 2},
        {"type": "plugin"},
        {"type": "plugin", "package": "../x/../y", "command": "true"},
        {"type": "plugin", "package": "a/../../b"},
    ]);
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}}));
    let run = sandbox.run(&["hooks", "validate"]).expect_exit_code(1);
    for words in [
        "a hook needs `command`",
        "`concurrency` should be a whole number",
        "`start` should be \"session\" or \"use\"",
        "`maxMemoryMb` should be a whole number",
        "`idleTimeout` should be a whole number",
        "`concurrency` has no effect here; only a worker has it",
        "a hook of type \"plugin\" needs `package`",
        "`command` has no effect here; a plugin runs a package",
        "`package` is neither a package name nor a path",
    ] {
        assert_contains(&format!("{}{}", run.stdout, run.stderr), words);
    }
}

/// The output of `hooks new --worker` works as it is, in both modes.
#[test]
fn a_new_worker_passes_its_own_test_and_runs_as_a_command_too() {
    const TEST: &str = "a_new_worker_passes_its_own_test_and_runs_as_a_command_too";
    for (language, program) in [("sh", "sh"), ("python", "python3"), ("node", "node")] {
        if !has_program(program) {
            report_skipped(TEST, &format!("{program} is not installed"));
            continue;
        }
        for event in ["BeforeTool", "AfterModel", "SessionStart", "BeforeAgent"] {
            let sandbox = crate::sandbox();
            sandbox.run(&["hooks", "new", "w", "--event", event, "--worker", "--lang", language]).expect_exit_code(0);
            assert_contains(&sandbox.read(".hookwright/hooks.json"), "\"worker\"");
            let run = sandbox.run(&["hooks", "test"]);
            assert_eq!(run.code, Some(0), "{language} {event}: {run:#?}");
            sandbox.run(&["hooks", "doctor"]).expect_exit_code(0);
            let settings = sandbox.read(".hookwright/hooks.json").replace("\"worker\"", "\"command\"");
            sandbox.write(".hookwright/hooks.json", settings);
            sandbox.run(&["hooks", "test"]).expect_exit_code(0);
        }
    }
}

/// A worker may deny like a command, by exit code 2; any other failure is a failure.
#[test]
fn a_new_worker_may_say_no_as_a_command_does() {
    const TEST: &str = "a_new_worker_may_say_no_as_a_command_does";
    let languages = [
        ("sh", "sh", "judge() {\n", "echo not here >&2; exit CODE\n"),
        ("python", "py", "def judge(event):\n", "    print('not here', file=sys.stderr); sys.exit(CODE)\n"),
        ("node", "cjs", "async function judge(event) {\n", "console.error('not here'); process.exit(CODE);\n"),
    ];
    for (language, ending, head, body) in languages {
        let program = if language == "python" { "python3" } else { language };
        if !has_program(program) {
            report_skipped(TEST, &format!("{program} is not installed"));
            continue;
        }
        for (code, expected) in [("2", "reason: not here\n"), ("1", "lost its worker: it ended with code 1")] {
            let sandbox = crate::sandbox();
            let new = ["hooks", "new", "w", "--event", "BeforeTool", "--worker", "--guard", "--lang", language];
            sandbox.run(&new).expect_exit_code(0);
            let file = format!(".hookwright/hooks/w.{ending}");
            let script = sandbox.read(&file);
            assert_contains(&script, head);
            sandbox.write(&file, script.replace(head, &format!("{head}{}", body.replace("CODE", code))));
            let run = sandbox.run(&["hooks", "fire", "BeforeTool", "--tool", "write_file"]).expect_exit_code(2);
            assert_contains(&run.stdout, expected);
        }
    }
}

#[test]
fn a_worker_stands_guard_under_another_agent() {
    let sandbox = guarded_by(GUARD, json!({}));
    let payload = json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": sandbox.project(),
        "tool_name": "Bash", "tool_input": {"command": "ls"}});
    let run = sandbox.run_with_input(&["bridge", "claude-code"], &payload.to_string());
    assert_contains(&format!("{}{}", run.stdout, run.stderr), "no 1");
    pids(&sandbox).iter().for_each(|pid| assert_gone(pid));
}

fn with_plugin(test: &str, package: &str, files: &[(&str, &str)]) -> Option<Sandbox> {
    if !has_program("node") {
        report_skipped(test, "node is not installed");
        return None;
    }
    let sandbox = crate::sandbox();
    files.iter().for_each(|(path, text)| drop(sandbox.write(path, text)));
    let hook = json!({"type": "plugin", "name": "plugin", "package": package, "guard": true});
    Some(project_in(sandbox, &[], json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}})))
}

#[test]
fn a_plugin_is_a_module_whose_handlers_are_asked() {
    const TEST: &str = "a_plugin_is_a_module_whose_handlers_are_asked";
    let modern = "let n = 0;\nexport function BeforeTool(input) { return { decision: 'deny', reason: `${input.tool_name} ${++n}` }; }";
    let older = "let n = 0;\nmodule.exports = { async BeforeTool(input) { return { decision: 'deny', reason: `${input.tool_name} ${++n}` }; } };";
    let manifest = r#"{"name": "policy", "version": "1.0.0", "type": "module", "exports": "./main.js"}"#;
    for (package, files) in [
        ("./guard.mjs", vec![("guard.mjs", modern)]),
        ("./guard.cjs", vec![("guard.cjs", older)]),
        ("policy", vec![("node_modules/policy/package.json", manifest), ("node_modules/policy/main.js", modern)]),
    ] {
        let Some(sandbox) = with_plugin(TEST, package, &files) else { return };
        let run = run(&sandbox, &writes(3), &[]).expect_exit_code(0);
        for at in 1..=3 {
            assert_contains(&run.stderr, &format!("Tool execution blocked: write_file {at}"));
        }
        assert!(records(&sandbox, "hook_call").iter().all(|call| call["hook_type"] == "plugin"));
        let list = sandbox.run(&["hooks", "list", "--json"]).expect_exit_code(0).json();
        assert_eq!(list[0]["type"], "plugin");
        // Trust covers the files that it consists of.
        let files_of = sandbox.run(&["hooks", "show", "plugin", "--json"]).expect_exit_code(0).json();
        let named = files.last().unwrap().0;
        assert_contains(&files_of.to_string(), named);
    }
}

#[test]
fn a_plugin_that_is_none_closes_the_door() {
    const TEST: &str = "a_plugin_that_is_none_closes_the_door";
    for (package, text, words) in [
        ("./p.mjs", "export const nothing = 1;", "exports no handler"),
        ("./p.mjs", "throw new Error('broken at once');", "broken at once"),
        ("./p.mjs", "export function BeforeTool() { throw new Error('broken later'); }", "broken later"),
        ("./p.mjs", "export function BeforeTool() { process.exit(0); }", "ended before its handler had answered"),
        ("./p.mjs", "export function BeforeTool() { return 'just words'; }", "a handler answers an object"),
    ] {
        let Some(sandbox) = with_plugin(TEST, package, &[("p.mjs", text)]) else { return };
        let run = run(&sandbox, &writes(1), &[]).expect_exit_code(0);
        assert_contains(&run.stderr, words);
        assert!(!sandbox.has_file("0.txt"), "{text}");
    }
    // A plugin that does not exist is detected before the session starts.
    let Some(sandbox) = with_plugin(TEST, "not-installed", &[]) else { return };
    run(&sandbox, &writes(1), &[]).expect_exit_code(52);
    assert_contains(&sandbox.run(&["hooks", "doctor"]).expect_exit_code(1).stdout, "`npm install not-installed`");
}

#[test]
fn an_extension_brings_a_plugin_of_its_own_folder() {
    const TEST: &str = "an_extension_brings_a_plugin_of_its_own_folder";
    if !has_program("node") {
        return report_skipped(TEST, "node is not installed");
    }
    let guard =
        "export function BeforeTool(input) { return { decision: 'deny', reason: `theirs: ${input.tool_name}` }; }";
    for package in ["${extensionPath}/guard.mjs", "./guard.mjs"] {
        let sandbox = crate::sandbox();
        let folder = sandbox.home().join(".gemini/extensions/ext");
        std::fs::create_dir_all(folder.join("hooks")).unwrap();
        std::fs::write(folder.join("gemini-extension.json"), r#"{"name": "ext", "version": "1.0.0"}"#).unwrap();
        std::fs::write(folder.join("guard.mjs"), guard).unwrap();
        let hook = json!({"type": "plugin", "name": "theirs", "package": package, "guard": true});
        let hooks = json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}});
        std::fs::write(folder.join("hooks/hooks.json"), hooks.to_string()).unwrap();
        let run = run(&sandbox, &writes(1), &[]).expect_exit_code(0);
        assert_contains(&run.stderr, "Tool execution blocked: theirs: write_file");
        assert!(!sandbox.has_file("0.txt"), "{package}");
        let shown = sandbox.run(&["hooks", "show", "theirs", "--json"]).expect_exit_code(0).json();
        assert_eq!(shown[0]["files"], json!(["guard.mjs"]), "{shown}");
        assert_contains(shown[0]["package"].as_str().unwrap(), "guard.mjs");
    }
}
