//! However little the machine has left: a guard is awake, or nothing runs.

use hookwright_testkit::replay::call;

use super::*;

/// A guard that says no to everything.
const NEVER: (&str, &str, &str) = ("BeforeTool", "*", "exec 2>&1; echo never; exit 2");

fn limited(sandbox: &Sandbox, limits: &str, replay: &Replay) -> Run {
    let file = sandbox.replay(replay);
    let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
    hookwright_testkit::finish(sandbox.limited(limits, &args).spawn().unwrap())
}

/// How many calls were refused, and how many ran.
fn refused_and_ran(sandbox: &Sandbox) -> (usize, usize) {
    let calls = records(sandbox, "tool_call");
    let ran = calls.iter().filter(|call| call["success"] == true || call["error_type"] != "policy_violation").count();
    (calls.len() - ran, ran)
}

#[test]
fn of_a_thousand_calls_at_once_none_slips_past_a_guard() {
    for limits in ["ulimit -n 64", "ulimit -n 200"] {
        let sandbox = project(&[NEVER]);
        let calls: Vec<Value> = (0..1000)
            .map(|at| call("list_directory", json!({"dir_path": format!(".{}", "/.".repeat(at % 2))})))
            .collect();
        let run = limited(&sandbox, limits, &Replay::new().parts(&calls).says("done")).exits(0);
        assert_eq!(run.stdout.trim(), "done", "{run:#?}");
        assert_eq!(refused_and_ran(&sandbox), (1000, 0), "{limits}");
        // None of them was refused for want of room: all waited for one another.
        lacks(&run.stderr, "for want of room");
    }
}

/// Hooks that say when they start and end, of which two at once would be told.
fn in_turn(settings: Value, timeout: u64) -> Sandbox {
    let sandbox = crate::sandbox();
    let command = sandbox
        .script("turn.sh", "cd \"$GEMINI_PROJECT_DIR\"; mkdir busy || echo two >> log; echo x >> log; rmdir busy");
    let hooks: Vec<Value> = (0..12)
        .map(|at| json!({"type": "command", "name": format!("h{at}"), "command": command, "timeout": timeout}))
        .collect();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}, "hooksConfig": settings}));
    sandbox
}

const FIRE: [&str; 5] = ["hooks", "fire", "BeforeTool", "--tool", "glob"];

#[test]
fn max_parallel_is_the_most_at_once_and_the_smallest_layer_counts() {
    for (project, user) in
        [(json!({"maxParallel": 1}), json!({})), (json!({"maxParallel": 9}), json!({"maxParallel": 1}))]
    {
        let sandbox = in_turn(project, 60_000);
        sandbox.user_settings(&json!({"hooksConfig": user}));
        let run = sandbox.run(&FIRE).exits(0);
        assert_eq!(sandbox.read("log"), "x\n".repeat(12), "{run:#?}");
    }
    let sandbox = in_turn(json!({"maxParallel": 0}), 60_000);
    let run = sandbox.run(&["hooks", "validate"]).exits(1);
    has(&(run.stdout + &run.stderr), "`maxParallel` should be a whole number, 1 or more");
}

/// The clock of a hook that waits its turn has not started.
#[test]
fn waiting_for_ones_turn_is_no_timeout() {
    let sandbox = crate::sandbox();
    let hook = |name: &str, command: &str, timeout: u64| json!({"type": "command", "name": name, "command": command, "timeout": timeout});
    let hooks = [hook("slow", "sleep 3.5", 60_000), hook("guard", "exit 2", 3_000)];
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}, "hooksConfig": {"maxParallel": 1}}));
    let run = sandbox.run(&FIRE).exits(2);
    lacks(&(run.stdout + &run.stderr), "timed out");
}

#[test]
fn of_many_hooks_on_one_event_all_run() {
    let sandbox = crate::sandbox();
    let note = sandbox.script("note.sh", "echo x >> \"$GEMINI_PROJECT_DIR/ran\"");
    let hooks: Vec<Value> =
        (0..500).map(|at| json!({"type": "command", "name": format!("h{at}"), "command": note})).collect();
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": hooks}]}}));
    let run = hookwright_testkit::finish(sandbox.limited("ulimit -n 64", &FIRE).spawn().unwrap());
    assert_eq!(sandbox.read("ran").lines().count(), 500, "{run:#?}");
    run.exits(0);
}

/// The program has all the descriptors it may have; what it starts has as many as the program was given.
#[cfg(target_os = "linux")]
#[test]
fn hooks_have_the_limit_on_descriptors_that_was_there_before_it_was_raised() {
    let script = r#"grep 'Max open files' /proc/$PPID/limits > ours
        tries=0
        while [ "$(ulimit -Sn)" != 100 ] && [ $tries -lt 300 ]; do sleep 0.1; tries=$((tries + 1)); done
        echo "$(ulimit -Sn) $(ulimit -Hn)" > theirs"#;
    let sandbox = project(&[("BeforeTool", "*", script)]);
    let fire = sandbox.limited("ulimit -Sn 100 && ulimit -Hn 500", &FIRE).spawn().unwrap();
    hookwright_testkit::finish(fire).exits(0);
    assert_eq!(sandbox.read("theirs").trim(), "100 500");
    let ours: Vec<String> = sandbox.read("ours").split_whitespace().map(str::to_owned).collect();
    assert_eq!(ours[3..5], ["500", "500"]);
}

/// One write that a guard denies.
fn denied_write() -> (Sandbox, Vec<String>) {
    let sandbox = crate::sandbox();
    let hook = json!({"type": "command", "name": "guard", "command": "exit 2", "timeout": 300});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    let file =
        sandbox.replay(&Replay::new().calls("write_file", json!({"file_path": "a.txt", "content": "x"})).says("done"));
    let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"].map(str::to_owned);
    (sandbox, args.to_vec())
}

/// It works, guarded, or says in words why not.
#[track_caller]
fn works_or_says_why_not(sandbox: &Sandbox, run: &Run) {
    lacks(&run.stderr, "panicked");
    match run.code {
        Some(0) => assert_eq!(run.stdout.trim(), "done", "{run:#?}"),
        Some(71) => has(&run.stderr, "error: this machine has no room to start: "),
        _ => panic!("{run:#?}"),
    }
    assert!(!sandbox.has("a.txt"), "{run:#?}");
}

#[test]
fn with_few_descriptors_the_program_works_or_says_why_not() {
    let (sandbox, args) = denied_write();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut codes = Vec::new();
    for descriptors in [7, 8, 10, 12, 14, 16, 17, 18, 19, 20, 22, 24, 32, 64] {
        let limited = sandbox.limited(&format!("ulimit -n {descriptors}"), &args).spawn().unwrap();
        let run = hookwright_testkit::finish(limited);
        works_or_says_why_not(&sandbox, &run);
        codes.extend(run.code);
    }
    assert_eq!((codes.first(), codes.last()), (Some(&71), Some(&0)));
}

#[test]
fn with_few_processes_the_program_works_or_says_why_not() {
    const TEST: &str = "with_few_processes_the_program_works_or_says_why_not";
    /// Nobody's: it has no processes, so that the limit is all there is.
    const NOBODY: u32 = 54_321;
    let (sandbox, args) = denied_write();
    let run = |limit: u32| {
        let script = format!("ulimit -u {limit} && exec \"$0\" \"$@\"");
        let free = sandbox.command(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let root = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0;
        // No limit holds for root.
        let user = [format!("--reuid={NOBODY}"), "--clear-groups".to_owned(), "bash".to_owned()];
        let mut limited = std::process::Command::new(if root { "setpriv" } else { "bash" });
        limited.args(user.iter().filter(|_| root)).args(["-c", &script]).arg(free.get_program()).args(free.get_args());
        limited.current_dir(sandbox.project()).env_clear();
        limited.envs(free.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = limited.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (root, Run { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) })
    };
    if !cfg!(target_os = "linux") || !["bash", "setpriv"].iter().all(|name| hookwright_testkit::has_program(name)) {
        return hookwright_testkit::skipped(TEST, "it takes Linux, bash and setpriv");
    }
    hand_over(sandbox.home().parent().unwrap(), NOBODY);
    let (root, plenty) = run(5000);
    if root && plenty.code != Some(0) {
        return hookwright_testkit::skipped(TEST, "another user can't run the program here");
    }
    works_or_says_why_not(&sandbox, &plenty);
    let limits = if root { 1..12 } else { 1..2 };
    for limit in limits {
        works_or_says_why_not(&sandbox, &run(limit).1);
    }
    assert_eq!(run(1).1.code, Some(71));
}

/// Gives a folder and all that is in it to another user, as far as that is allowed.
fn hand_over(folder: &std::path::Path, user: u32) {
    let _ = std::os::unix::fs::chown(folder, Some(user), None);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => hand_over(&path, user),
            path => drop(std::os::unix::fs::chown(path, Some(user), None)),
        }
    }
}

/// A project of its own, whose guard says no to writing and notes where it is.
fn guarded(command: &str) -> Sandbox {
    let sandbox = crate::sandbox();
    sandbox.script("guard.sh", "pwd >> ran; echo \"$GEMINI_PROJECT_DIR\" >> ran; echo never >&2; exit 2");
    let command = command.replace("@PROJECT@", sandbox.project().to_str().unwrap());
    let hook = json!({"type": "command", "name": "guard", "command": command});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "write_file", "hooks": [hook]}]}}));
    sandbox
}

/// The model runs a command, then writes a file.
fn command_then_write(sandbox: &Sandbox, command: &str) -> Run {
    let replay = Replay::new()
        .calls("run_shell_command", json!({"command": command}))
        .calls("write_file", json!({"file_path": "denied.txt", "content": "x"}))
        .calls("run_shell_command", json!({"command": "pwd > shell"}))
        .says("done");
    prompt(sandbox, "go", &replay, &[]).exits(0)
}

#[test]
fn a_directory_that_is_moved_away_takes_its_guards_along() {
    for (command, replaced) in [
        (".gemini/hooks/guard.sh", "true"),
        ("sh .gemini/hooks/guard.sh", "true"),
        ("$GEMINI_PROJECT_DIR/.gemini/hooks/guard.sh", "true"),
        // Another project in its place, without guards: the session goes on in its own.
        (
            "\"$GEMINI_PROJECT_DIR\"/.gemini/hooks/guard.sh || exit 2",
            "mkdir -p ../project/.gemini && echo {} > ../project/.gemini/settings.json",
        ),
    ] {
        let sandbox = guarded(command);
        let moved = sandbox.beside("moved");
        // Long enough for a changed configuration to be noticed.
        let run = command_then_write(&sandbox, &format!("mv ../project ../moved && {replaced} && sleep 1.5"));
        has(&run.stderr, "never");
        assert!(!sandbox.has("denied.txt") && !moved.join("denied.txt").exists(), "{command}");
        let moved = moved.to_str().unwrap();
        let ran = std::fs::read_to_string(format!("{moved}/ran")).unwrap();
        assert_eq!(ran.lines().collect::<Vec<_>>(), [moved, moved], "{command}: {run:#?}");
        assert_eq!(std::fs::read_to_string(format!("{moved}/shell")).unwrap().trim(), moved, "tools are there too");
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
        has(&run.stderr, "for want of room: the working directory");
        has(&run.stderr, "was moved to");
        let moved = sandbox.beside("moved/denied.txt");
        assert!(!sandbox.has("denied.txt") && !moved.exists(), "{command}: {run:#?}");
    }
}

#[test]
fn where_the_directory_is_gone_nothing_runs_unguarded() {
    for (command, replaced) in [("exit 0", "true"), ("/bin/true", "mkdir ../project"), ("cat", "ln -s /tmp ../project")]
    {
        let sandbox = guarded(command);
        let run = command_then_write(&sandbox, &format!("rm -rf ../project && {replaced}"));
        has(&run.stderr, "for want of room: the working directory");
        has(&run.stderr, "does not exist");
        assert!(!sandbox.has("denied.txt"), "{command}: {run:#?}");
    }
}
