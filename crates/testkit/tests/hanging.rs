//! Tests that hang on purpose, in another process of this test program: each is ended and reports what it waited for.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::process::{Command, Stdio};
use std::time::Duration;

use hookwright_testkit::deadline::*;
use hookwright_testkit::{ProgramRun, deadline, finish, fs, is_running, wait_until, watchdog};

/// The variable that names the test below that is to hang.
const HANG_VARIABLE: &str = "HOOKWRIGHT_TEST_HANG";

fn should_hang(test: &str) -> bool {
    std::env::var(HANG_VARIABLE).is_ok_and(|hanging| hanging == test)
}

/// Runs one test of this program in another process, where it hangs.
fn run_hanging(test: &str, limit: (&str, &str)) -> ProgramRun {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", test]).env(HANG_VARIABLE, test).env(limit.0, limit.1);
    program.output_in_time().unwrap().into()
}

fn pid_in(text: &str) -> &str {
    text.split("pid ").nth(1).expect("a number is printed").split_ascii_whitespace().next().unwrap()
}

#[test]
fn spins_when_asked_to() {
    if !should_hang("spins_when_asked_to") {
        return;
    }
    watchdog::watch();
    let mut child = Command::new("sleep").arg("1000").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    hookwright_testkit::report_skipped("spins", &format!("pid {} is left to the watchdog", child.id()));
    while child.try_wait().unwrap().is_none() {
        std::hint::spin_loop();
    }
}

#[test]
fn the_watchdog_ends_a_run_that_stalls_and_names_the_test() {
    let run = run_hanging("spins_when_asked_to", (watchdog::STALL_VARIABLE, "2"));
    let run = run.expect_exit_code(101);
    assert!(run.stderr.contains("no test has finished for 2 s; running:\n  spins_when_asked_to, for "), "{run:#?}");
    assert!(run.stderr.contains("sleep 1000"), "its processes are listed: {run:#?}");
    wait_until("its processes are killed", || !is_running(pid_in(&run.stderr)));
}

#[test]
fn waits_for_a_program_when_asked_to() {
    if !should_hang("waits_for_a_program_when_asked_to") {
        return;
    }
    // The descendant leaves the program's group and its tree, and holds on to stderr.
    let script = "echo before; setsid sh -c 'echo pid $$ >&2; exec sleep 1000' > /dev/null & exit 3";
    let mut program = Command::new("sh");
    program.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(program.spawn().unwrap());
}

#[test]
fn program_with_held_pipes_fails_with_a_report() {
    let run = run_hanging("waits_for_a_program_when_asked_to", (deadline::DEADLINE_VARIABLE, "2"));
    let run = run.expect_exit_code(101);
    for part in ["did not end within 2s", "before", "pid ", "sleep 1000", "waits in "] {
        assert!(run.stdout.contains(part), "{part}: {run:#?}");
    }
    wait_until("the holder of the pipe is killed", || !is_running(pid_in(&run.stdout).trim_end_matches("\\n\",")));
}

#[test]
fn waits_for_a_thread_when_asked_to() {
    if !should_hang("waits_for_a_thread_when_asked_to") {
        return;
    }
    // A wait with a deadline of its own would end at the same time.
    let _ = std::thread::spawn(|| std::thread::sleep(Duration::from_secs(1000))).join_in_time();
}

#[test]
fn a_thread_that_does_not_end_fails_the_test() {
    let run = run_hanging("waits_for_a_thread_when_asked_to", (deadline::DEADLINE_VARIABLE, "1"));
    let run = run.expect_exit_code(101);
    assert!(run.stdout.contains("in vain: "), "{run:#?}");
}

#[test]
fn reading_a_pipe_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status_in_time().unwrap().success());
    assert!(fs::read(&pipe).is_err() && fs::read_to_string(&pipe).is_err());
}
