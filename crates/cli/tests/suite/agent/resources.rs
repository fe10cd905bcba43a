//! However few resources are left, guards run or nothing does.

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::replay::call;

use super::*;

/// A guard that denies everything.
const DENY_ALL_HOOK: (&str, &str, &str) = ("BeforeTool", "*", "exec 2>&1; echo never; exit 2");

fn run_limited(sandbox: &Sandbox, limits: &str, replay: &ReplayBuilder) -> ProgramRun {
    let file = sandbox.replay(replay);
    let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
    hookwright_testkit::finish(sandbox.limited_command(limits, &args).spawn().unwrap())
}

/// Returns how many calls were refused, and how many ran.
fn refused_and_ran(sandbox: &Sandbox) -> (usize, usize) {
    let calls = records(sandbox, "tool_call");
    let ran = calls.iter().filter(|call| call["success"] == true || call["error_type"] != "policy_violation").count();
    (calls.len() - ran, ran)
}

#[test]
fn of_a_thousand_calls_at_once_none_slips_past_a_guard() {
    for limits in ["ulimit -n 64", "ulimit -n 200"] {
        let sandbox = project(&[DENY_ALL_HOOK]);
        let calls: Vec<Value> = (0..1000)
            .map(|at| call("list_directory", json!({"dir_path": format!(".{}", "/.".repeat(at % 2))})))
            .collect();
        let run = run_limited(&sandbox, limits, &ReplayBuilder::new().parts(&calls).says("done")).expect_exit_code(0);
        assert_eq!(run.stdout.trim(), "done", "{run:#?}");
        assert_eq!(refused_and_ran(&sandbox), (1000, 0), "{limits}");
        // No call was refused for lack of resources: they waited for one another.
        assert_lacks(&run.stderr, "for lack of resources");
    }
}

/// Hooks that log their start and end, so that two at once would be noticed.
fn project_with_exclusive_hooks(settings: Value, timeout: u64) -> Sandbox {
    let sandbox = crate::sandbox();
    let command = sandbox
        .script("turn.sh", "cd \"$GEMINI_PROJECT_DIR\"; mkdir busy || echo two >> log; echo x >> log; rmdir busy");
    let hooks: Vec<Value> = (0..12)
        .map(|at| json!({"type": "command", "name": format!("h{at}"), "command": command, "timeout": timeout}))
        .collect();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}, "hooksConfig": settings}));
    sandbox
}

const FIRE_ARGS: [&str; 5] = ["hooks", "fire", "BeforeTool", "--tool", "glob"];

#[test]
fn max_parallel_is_the_most_at_once_and_the_smallest_layer_counts() {
    for (project, user) in
        [(json!({"maxParallel": 1}), json!({})), (json!({"maxParallel": 9}), json!({"maxParallel": 1}))]
    {
        let sandbox = project_with_exclusive_hooks(project, 60_000);
        sandbox.user_settings(&json!({"hooksConfig": user}));
        let run = sandbox.run(&FIRE_ARGS).expect_exit_code(0);
        assert_eq!(sandbox.read("log"), "x\n".repeat(12), "{run:#?}");
    }
    let sandbox = project_with_exclusive_hooks(json!({"maxParallel": 0}), 60_000);
    let run = sandbox.run(&["hooks", "validate"]).expect_exit_code(1);
    assert_contains(&(run.stdout + &run.stderr), "`maxParallel` should be a whole number, 1 or more");
}

/// The timeout of a hook does not start while it is queued.
#[test]
fn waiting_for_ones_turn_is_no_timeout() {
    let sandbox = crate::sandbox();
    let hook = |name: &str, command: &str, timeout: u64| json!({"type": "command", "name": name, "command": command, "timeout": timeout});
    let hooks = [hook("slow", "sleep 3.5", 60_000), hook("guard", "exit 2", 3_000)];
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}, "hooksConfig": {"maxParallel": 1}}));
    let run = sandbox.run(&FIRE_ARGS).expect_exit_code(2);
    assert_lacks(&(run.stdout + &run.stderr), "timed out");
}

#[test]
fn of_many_hooks_on_one_event_all_run() {
    let sandbox = crate::sandbox();
    let note = sandbox.script("note.sh", "echo x >> \"$GEMINI_PROJECT_DIR/ran\"");
    let hooks: Vec<Value> =
        (0..500).map(|at| json!({"type": "command", "name": format!("h{at}"), "command": note})).collect();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}}));
    let run = hookwright_testkit::finish(sandbox.limited_command("ulimit -n 64", &FIRE_ARGS).spawn().unwrap());
    assert_eq!(sandbox.read("ran").lines().count(), 500, "{run:#?}");
    run.expect_exit_code(0);
}

/// The program raises its own descriptor limit; its children get the original one.
#[cfg(target_os = "linux")]
#[test]
fn hooks_have_the_limit_on_descriptors_that_was_there_before_it_was_raised() {
    let script = r#"grep 'Max open files' /proc/$PPID/limits > ours
        tries=0
        while [ "$(ulimit -Sn)" != 100 ] && [ $tries -lt 300 ]; do sleep 0.1; tries=$((tries + 1)); done
        echo "$(ulimit -Sn) $(ulimit -Hn)" > theirs"#;
    let sandbox = project(&[("BeforeTool", "*", script)]);
    let fire = sandbox.limited_command("ulimit -Sn 100 && ulimit -Hn 500", &FIRE_ARGS).spawn().unwrap();
    hookwright_testkit::finish(fire).expect_exit_code(0);
    assert_eq!(sandbox.read("theirs").trim(), "100 500");
    let ours: Vec<String> = sandbox.read("ours").split_whitespace().map(str::to_owned).collect();
    assert_eq!(ours[3..5], ["500", "500"]);
}

/// A write that a guard denies.
fn denied_write() -> (Sandbox, Vec<String>) {
    let sandbox = crate::sandbox();
    let hook = json!({"type": "command", "name": "guard", "command": "exit 2", "timeout": 300});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    let file = sandbox
        .replay(&ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "x"})).says("done"));
    let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"].map(str::to_owned);
    (sandbox, args.to_vec())
}

/// Asserts that the session works, guarded, or explains why not.
#[track_caller]
fn assert_works_or_explains(sandbox: &Sandbox, run: &ProgramRun) {
    assert_lacks(&run.stderr, "panicked");
    match run.code {
        Some(0) => assert_eq!(run.stdout.trim(), "done", "{run:#?}"),
        Some(71) => assert_contains(&run.stderr, "error: this machine has no resources left to start: "),
        _ => panic!("{run:#?}"),
    }
    assert!(!sandbox.has_file("a.txt"), "{run:#?}");
}

#[test]
fn with_few_descriptors_the_program_works_or_says_why_not() {
    let (sandbox, args) = denied_write();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut codes = Vec::new();
    for descriptors in [7, 8, 10, 12, 14, 16, 17, 18, 19, 20, 22, 24, 32, 64] {
        let limited = sandbox.limited_command(&format!("ulimit -n {descriptors}"), &args).spawn().unwrap();
        let run = hookwright_testkit::finish(limited);
        assert_works_or_explains(&sandbox, &run);
        codes.extend(run.code);
    }
    assert_eq!((codes.first(), codes.last()), (Some(&71), Some(&0)));
}

/// Returns an unused user id, different for each test, so that only the limit counts.
fn unused_user_id(test: &str) -> u32 {
    100_000 + std::process::id() * 2 + u32::from(test.len().is_multiple_of(2))
}

/// Runs a session with so many processes and threads; root, which has no limit, becomes another user for it. Returns
/// `None`, and reports it, where that cannot be done.
fn with_processes(test: &str, sandbox: &Sandbox, args: &[&str], limit: u32) -> Option<ProgramRun> {
    if !cfg!(target_os = "linux") || !["bash", "setpriv"].iter().all(|name| hookwright_testkit::has_program(name)) {
        hookwright_testkit::report_skipped(test, "it takes Linux, bash and setpriv");
        return None;
    }
    let (root, nobody) = (is_root(), unused_user_id(test));
    if root {
        chown_recursively(sandbox.home().parent().unwrap(), nobody);
    }
    let start = |args: &[&str], limit: u32| {
        let free = sandbox.command(args);
        let user = [format!("--reuid={nobody}"), "--clear-groups".to_owned(), "bash".to_owned()];
        let mut limited = std::process::Command::new(if root { "setpriv" } else { "bash" });
        limited.args(user.iter().filter(|_| root)).args(["-c", &format!("ulimit -u {limit} && exec \"$0\" \"$@\"")]);
        limited.arg(free.get_program()).args(free.get_args()).current_dir(sandbox.project()).env_clear();
        limited.envs(free.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = limited.output_in_time().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        ProgramRun { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    };
    if root && start(&["--version"], 5000).code != Some(0) {
        hookwright_testkit::report_skipped(test, "another user can't run the program here");
        return None;
    }
    Some(start(args, limit))
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

#[test]
fn with_few_processes_the_program_works_or_says_why_not() {
    let (sandbox, args) = denied_write();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // An ordinary user may have any number of other processes.
    let limits: &[u32] = if is_root() { &[1, 2, 3, 4, 5, 6, 7, 8, 12, 20] } else { &[1] };
    for limit in limits {
        let test = "with_few_processes_the_program_works_or_says_why_not";
        let Some(run) = with_processes(test, &sandbox, &args, *limit) else { return };
        assert_works_or_explains(&sandbox, &run);
        assert!(*limit > 1 || run.code == Some(71), "{run:#?}");
    }
}

/// However many processes the model's commands start, some are left for guards.
#[test]
fn commands_that_start_all_they_can_leave_processes_for_guards() {
    const TEST: &str = "commands_that_start_all_they_can_leave_processes_for_guards";
    if !is_root() {
        return hookwright_testkit::report_skipped(
            TEST,
            "it takes a user without other processes, which only root can become",
        );
    }
    let guard = r#"word=$(echo never | cat); [ "$word" = never ] && echo "$word" >&2 && exit 2; exit 0"#;
    let sandbox = project(&[("BeforeTool", "write_file", guard)]);
    let hoard = "for i in $(seq 150); do sleep 600 & done";
    let replay = ReplayBuilder::new()
        .calls("run_shell_command", json!({"command": hoard, "is_background": true, "delay_ms": 1500}))
        .calls("write_file", json!({"file_path": "a.txt", "content": "x"}))
        .says("done");
    let file = sandbox.replay(&replay);
    let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
    let Some(run) = with_processes(TEST, &sandbox, &args, 100) else { return };
    assert_contains(&run.stderr, "Tool execution blocked: never");
    assert!(!sandbox.has_file("a.txt"), "{run:#?}");
}

/// Gives a folder and its contents to another user, as far as that is allowed.
fn chown_recursively(folder: &std::path::Path, user: u32) {
    let _ = std::os::unix::fs::chown(folder, Some(user), None);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => chown_recursively(&path, user),
            path => drop(std::os::unix::fs::chown(path, Some(user), None)),
        }
    }
}

/// However many commands the model leaves running, they have only a share of the descriptors, and hooks have theirs.
#[test]
fn commands_that_are_left_running_take_no_descriptors_from_guards() {
    let sandbox = project(&[("BeforeTool", "write_file", "echo never >&2; exit 2")]);
    let mut replay = ReplayBuilder::new();
    for at in 0..30 {
        // In the background by the tool's argument, by the shell's `&`, and by both.
        let args = match at % 3 {
            0 => json!({"command": format!("sleep {}", 600 + at), "is_background": true, "delay_ms": 0}),
            1 => json!({"command": format!("sleep {} & echo left", 600 + at)}),
            _ => json!({"command": format!("sleep {} & sleep 700", 600 + at), "is_background": true, "delay_ms": 0}),
        };
        replay = replay.calls("run_shell_command", args);
    }
    let replay = replay.calls("write_file", json!({"file_path": "a.txt", "content": "x"})).says("done");
    let run = run_limited(&sandbox, "ulimit -n 100", &replay).expect_exit_code(0);
    assert_contains(&run.stderr, "which is all that there is room for; end some first");
    assert_contains(&run.stderr, "Error executing tool write_file: Tool execution blocked: never");
    assert_lacks(&run.stderr, "for lack of resources");
    assert!(!sandbox.has_file("a.txt"));
}

/// A project whose guard denies writing and logs its directory.
fn guarded(command: &str) -> Sandbox {
    let sandbox = crate::sandbox();
    sandbox.script("guard.sh", "pwd >> ran; echo \"$GEMINI_PROJECT_DIR\" >> ran; echo never >&2; exit 2");
    let command = command.replace("@PROJECT@", sandbox.project().to_str().unwrap());
    let hook = json!({"type": "command", "name": "guard", "command": command});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "write_file", "hooks": [hook]}]}}));
    sandbox
}

/// The model runs a command, then writes a file.
fn command_then_write(sandbox: &Sandbox, command: &str) -> ProgramRun {
    let replay = ReplayBuilder::new()
        .calls("run_shell_command", json!({"command": command}))
        .calls("write_file", json!({"file_path": "denied.txt", "content": "x"}))
        .calls("run_shell_command", json!({"command": "pwd > shell"}))
        .says("done");
    prompt(sandbox, "go", &replay, &[]).expect_exit_code(0)
}

#[test]
fn a_directory_that_is_moved_away_takes_its_guards_along() {
    for (command, replaced) in [
        (".gemini/hooks/guard.sh", "true"),
        ("sh .gemini/hooks/guard.sh", "true"),
        ("$GEMINI_PROJECT_DIR/.gemini/hooks/guard.sh", "true"),
        // Another project without guards takes its place, for long enough to be noticed: the session stays with its
        // own.
        (
            "\"$GEMINI_PROJECT_DIR\"/.gemini/hooks/guard.sh || exit 2",
            "mkdir -p ../project/.gemini && echo {} > ../project/.gemini/settings.json && sleep 1.5",
        ),
    ] {
        let sandbox = guarded(command);
        let moved = sandbox.sibling_path("moved");
        let run = command_then_write(&sandbox, &format!("mv ../project ../moved && {replaced}"));
        assert_contains(&run.stderr, "never");
        assert!(!sandbox.has_file("denied.txt") && !moved.join("denied.txt").exists(), "{command}");
        let moved = moved.to_str().unwrap();
        let ran = fs::read_to_string(format!("{moved}/ran")).unwrap();
        assert_eq!(ran.lines().collect::<Vec<_>>(), [moved, moved], "{command}: {run:#?}");
        assert_eq!(fs::read_to_string(format!("{moved}/shell")).unwrap().trim(), moved, "tools are there too");
    }
}

#[test]
fn a_guard_that_was_left_behind_by_a_move_blocks() {
    for command in [
        "@PROJECT@/.gemini/hooks/guard.sh",
        "sh @PROJECT@/.gemini/hooks/guard.sh",
        "cat && @PROJECT@/.gemini/hooks/guard.sh; exit 0",
    ] {
        let sandbox = guarded(command);
        let run = command_then_write(&sandbox, "mv ../project ../moved");
        assert_contains(&run.stderr, "for lack of resources: the working directory");
        assert_contains(&run.stderr, "was moved to");
        let moved = sandbox.sibling_path("moved/denied.txt");
        assert!(!sandbox.has_file("denied.txt") && !moved.exists(), "{command}: {run:#?}");
    }
}

#[test]
fn where_the_directory_is_gone_nothing_runs_unguarded() {
    for (command, replaced) in [("exit 0", "true"), ("/bin/true", "mkdir ../project"), ("cat", "ln -s /tmp ../project")]
    {
        let sandbox = guarded(command);
        let run = command_then_write(&sandbox, &format!("rm -rf ../project && {replaced}"));
        assert_contains(&run.stderr, "did not run: the working directory");
        assert_contains(&run.stderr, "does not exist");
        assert!(!sandbox.has_file("denied.txt"), "{command}: {run:#?}");
    }
}

#[test]
fn a_missing_directory_of_the_settings_is_reported_and_not_an_error() {
    let sandbox = crate::sandbox();
    sandbox.settings(&json!({"context": {"includeDirectories": ["gone", "there"]}}));
    std::fs::create_dir(sandbox.project().join("there")).unwrap();
    let file = sandbox.replay(&ReplayBuilder::new().says("done"));
    let run = sandbox.run(&["-p", "go", "--fake-responses", &file]).expect_exit_code(0);
    assert_contains(&run.stderr, "context.includeDirectories: there is no directory gone; it is left out");
    assert!(!run.stderr.contains("there is no directory there"), "{}", run.stderr);
    let run = sandbox.run(&["-p", "go", "--fake-responses", &file, "--include-directories", "gone"]);
    assert_ne!(run.code, Some(0), "what was asked for by hand must be there: {run:#?}");
}

#[test]
fn a_directory_that_lets_nobody_in_lets_no_call_run() {
    const TEST: &str = "a_directory_that_lets_nobody_in_lets_no_call_run";
    let sandbox = guarded(".gemini/hooks/guard.sh");
    let beside = sandbox.sibling_path("beside");
    std::fs::create_dir(&beside).unwrap();
    let denied = beside.join("denied.txt");
    let replay = ReplayBuilder::new()
        .calls("run_shell_command", json!({"command": "chmod 000 ."}))
        .calls("write_file", json!({"file_path": denied, "content": "x"}))
        .says("done");
    let file = sandbox.replay(&replay);
    let include = beside.to_str().unwrap();
    let args =
        ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo", "--include-directories", include];
    let run = with_processes(TEST, &sandbox, &args, 5000);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(sandbox.project(), open).unwrap();
    let Some(run) = run else { return };
    assert_contains(&run.stderr, "can't be entered");
    assert!(!denied.exists(), "{run:#?}");
}
