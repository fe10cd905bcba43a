//! SIGSTOP and SIGCONT for hooks, tools and the program itself: the time of a stop does not count against a guard that
//! has answered, and nothing waits for ever.

use super::signals::{assert_gone, send};
use super::*;
use hookwright_testkit::{finish, is_stopped, wait_until};

/// A project with one hook on BeforeTool, which has so many milliseconds.
fn guarded(script: &str, timeout: u64) -> Sandbox {
    project_with_hook(script, timeout, true)
}

fn project_with_hook(script: &str, timeout: u64, guard: bool) -> Sandbox {
    let sandbox = crate::sandbox();
    let command = sandbox.script("guard.sh", &format!("cd \"$GEMINI_PROJECT_DIR\"; {script}"));
    let hook = json!({"type": "command", "name": "guard", "command": command, "timeout": timeout, "guard": guard});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [hook]}]}}));
    sandbox
}

fn start(sandbox: &Sandbox, replay: &ReplayBuilder) -> std::process::Child {
    let file = sandbox.replay(replay);
    sandbox.command(&["-p", "go", "--fake-responses", &file, "--approval-mode=yolo"]).spawn().unwrap()
}

fn write() -> ReplayBuilder {
    ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done")
}

#[test]
fn a_guard_that_is_stopped_times_out_and_is_gone() {
    let sandbox = guarded("echo $$ > pid; kill -STOP $$; exit 0", 500);
    let run = finish(start(&sandbox, &write())).expect_exit_code(0);
    assert_contains(&run.stderr, "ran longer than 500 ms");
    assert!(!sandbox.has_file("a.txt"), "{run:#?}");
    assert_gone(sandbox.read("pid").trim());
}

#[test]
fn a_guard_that_goes_on_in_time_counts() {
    let sandbox = guarded("echo $$ > pid.tmp; mv pid.tmp pid; kill -STOP $$; echo never >&2; exit 2", 60_000);
    let child = start(&sandbox, &write());
    wait_until("the guard runs", || sandbox.has_file("pid"));
    let pid = sandbox.read("pid").trim().to_owned();
    wait_until("it is stopped", || is_stopped(&pid));
    send("-CONT", &pid);
    let run = finish(child).expect_exit_code(0);
    assert_contains(&run.stderr, "never");
    assert!(!sandbox.has_file("a.txt"), "{run:#?}");
}

/// The program is stopped while a guard answers in time, and continues after the guard's timeout.
#[test]
fn an_answer_that_came_in_time_counts_however_late_it_is_read() {
    std::thread::scope(|scope| {
        let _ = [(0, true), (2, false)]
            .map(|(code, written)| scope.spawn(move || stopped_past_a_guards_time(code, written)));
    });
}

fn stopped_past_a_guards_time(code: i32, written: bool) {
    let guard =
        format!("touch started; while [ ! -e go ]; do sleep 0.05; done; echo told >&2; touch told; exit {code}");
    let sandbox = project_with_hook(&guard, 4_000, false);
    let child = start(&sandbox, &write());
    wait_until("the guard runs", || sandbox.has_file("started"));
    let pid = child.id().to_string();
    send("-STOP", &pid);
    wait_until("it is stopped", || is_stopped(&pid));
    sandbox.write("go", "");
    wait_until("the guard has answered", || sandbox.has_file("told"));
    std::thread::sleep(std::time::Duration::from_secs(5));
    send("-CONT", &pid);
    let run = finish(child).expect_exit_code(0);
    assert_lacks(&run.stderr, "ran longer");
    assert_eq!(sandbox.has_file("a.txt"), written, "{run:#?}");
}

#[test]
fn a_command_that_is_stopped_is_ended_by_a_signal_and_may_go_on() {
    let stops = "echo $$ > pid.tmp; mv pid.tmp pid; kill -STOP $$; touch went-on";
    for signal in ["-CONT", "-TERM"] {
        let sandbox = project(&[("SessionEnd", "", LOG_INPUT_SCRIPT)]);
        let child =
            start(&sandbox, &ReplayBuilder::new().calls("run_shell_command", json!({"command": stops})).says("done"));
        wait_until("it runs", || sandbox.has_file("pid"));
        let pid = sandbox.read("pid").trim().to_owned();
        wait_until("it is stopped", || is_stopped(&pid));
        let target = if signal == "-CONT" { pid.clone() } else { child.id().to_string() };
        send(signal, &target);
        finish(child).expect_exit_code(if signal == "-CONT" { 0 } else { 143 });
        assert_gone(&pid);
        assert_eq!(sandbox.has_file("went-on"), signal == "-CONT");
        assert_eq!(logged_events(&sandbox), ["SessionEnd"]);
    }
}

/// A signal during a stop ends the program when it continues.
#[test]
fn a_signal_that_comes_while_it_is_stopped_counts_afterwards() {
    let sandbox = project(&[
        ("BeforeTool", "", "echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 600"),
        ("SessionEnd", "", LOG_INPUT_SCRIPT),
    ]);
    let child = start(&sandbox, &write());
    wait_until("the hook runs", || sandbox.has_file("pid"));
    let id = child.id().to_string();
    send("-STOP", &id);
    wait_until("it is stopped", || is_stopped(&id));
    send("-TERM", &id);
    send("-CONT", &id);
    finish(child).expect_exit_code(143);
    assert_gone(sandbox.read("pid").trim());
    assert!(!sandbox.has_file("a.txt"));
    assert_eq!(logged_events(&sandbox), ["SessionEnd"]);
}

/// As by `nohup`: a signal that was ignored before stays ignored. Others count.
#[test]
fn a_hangup_that_was_ignored_stays_so() {
    let hook = "touch started; while [ ! -e go ]; do sleep 0.05; done";
    for (signal, code) in [("-HUP", 0), ("-TERM", 143)] {
        let sandbox = guarded(hook, 60_000);
        let file = sandbox.replay(&write());
        let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
        let child = sandbox.limited_command("trap '' HUP", &args).spawn().unwrap();
        wait_until("the hook runs", || sandbox.has_file("started"));
        send(signal, &child.id().to_string());
        if signal == "-HUP" {
            sandbox.write("go", "");
        }
        finish(child).expect_exit_code(code);
        assert_eq!(sandbox.has_file("a.txt"), code == 0);
    }
}

/// A hook ignores the signals that the program inherited as ignored, and none that the program ignores for itself. The
/// keyboard signals that a shell's `&` ignores are not inherited. (The shell prints its own masks, since starting
/// another process blocks signals meanwhile.)
#[cfg(target_os = "linux")]
#[test]
fn a_hook_ignores_what_the_program_was_told_to() {
    let script = "while read -r line; do case $line in SigBlk*|SigIgn*) echo \"$line\";; esac; done";
    let sandbox = guarded(&format!("{script} < /proc/self/status > signals"), 60_000);
    let file = sandbox.replay(&write());
    let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
    finish(sandbox.limited_command("trap '' HUP USR1 INT QUIT", &args).spawn().unwrap()).expect_exit_code(0);
    let told: Vec<(String, u64)> = sandbox
        .read("signals")
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, bits)| (name.to_owned(), u64::from_str_radix(bits.trim(), 16).unwrap() & NAMED))
        .collect();
    const HANGUP_AND_USER_1: u64 = 1 | 1 << 9;
    /// Of the other signals, the C library reserves two for itself.
    const NAMED: u64 = (1 << 31) - 1;
    let expected = [("SigBlk", 0), ("SigIgn", HANGUP_AND_USER_1)];
    assert_eq!(told, expected.map(|(name, bits)| (name.to_owned(), bits)));
}
