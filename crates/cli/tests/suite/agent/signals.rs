//! Ctrl-C and other signals: children end, the transcript is complete, the exit code tells the signal.

use super::*;
use hookwright_testkit::deadline::*;
use hookwright_testkit::{finish, wait_until};
use std::process::Command;

pub(crate) fn send(signal: &str, pid: &str) {
    Command::new("kill").args([signal, pid]).status_in_time().unwrap();
}

/// Waits until a process is gone; a zombie counts as gone.
#[track_caller]
pub(crate) fn assert_gone(pid: &str) {
    wait_until(&format!("process {pid} is gone"), || {
        let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output_in_time().unwrap().stdout;
        state.is_empty() || state.starts_with(b"Z")
    });
}

fn interrupt_when_started(sandbox: &Sandbox, replay: &ReplayBuilder, signal: &str, more: &[&str]) -> ProgramRun {
    let file = sandbox.replay(replay);
    let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
    let child = sandbox.command(&[&args, more].concat()).spawn().unwrap();
    wait_until("it runs", || sandbox.has_file("pid"));
    send(signal, &child.id().to_string());
    finish(child)
}

const SLEEPER: &str = "sleep 60 & echo $! > pid.tmp; mv pid.tmp pid; wait";

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_running_tool() {
    let sandbox = project(&[("SessionEnd", "", LOG_INPUT_SCRIPT), ("AfterAgent", "", LOG_INPUT_SCRIPT)]);
    let replay = ReplayBuilder::new().calls("run_shell_command", json!({"command": SLEEPER})).says("never");
    let run = interrupt_when_started(&sandbox, &replay, "-INT", &[]).expect_exit_code(130);
    assert_gone(sandbox.read("pid").trim());
    assert_eq!(run.stdout, "");
    assert_contains(&run.stderr, "Cancelled");
    assert_eq!(logged_events(&sandbox), ["SessionEnd"]);
    let text = transcript(&sandbox);
    assert!(text.ends_with('\n'));
    assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    prompt(&sandbox, "go on", &ReplayBuilder::new().says("ok"), &["--resume"]).expect_exit_code(0);
    let sent = requests(&sandbox).pop().unwrap();
    assert_eq!(sent[2]["parts"][0]["functionResponse"]["name"], "run_shell_command");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_running_hook() {
    for event in ["SessionStart", "BeforeAgent", "BeforeModel", "BeforeTool", "AfterTool", "AfterModel", "AfterAgent"] {
        let sandbox = project(&[(event, "", SLEEPER)]);
        sandbox.write("a.txt", "A");
        let replay = ReplayBuilder::new().calls("read_file", json!({"file_path": "a.txt"})).says("done");
        interrupt_when_started(&sandbox, &replay, "-INT", &[]).expect_exit_code(130);
        assert_gone(sandbox.read("pid").trim());
        let text = transcript(&sandbox);
        assert!(text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{event}: {text}");
    }
}

#[cfg(unix)]
#[test]
fn term_and_hup_end_it_too() {
    for (signal, code) in [("-TERM", 143), ("-HUP", 129)] {
        if signal == "-HUP" && !hookwright_testkit::receives_hangups("term_and_hup_end_it_too") {
            continue;
        }
        let sandbox = project(&[("BeforeTool", "", SLEEPER)]);
        sandbox.write("a.txt", "A");
        let replay = ReplayBuilder::new().calls("read_file", json!({"file_path": "a.txt"}));
        interrupt_when_started(&sandbox, &replay, signal, &[]).expect_exit_code(code);
        assert_gone(sandbox.read("pid").trim());
    }
}

#[cfg(unix)]
#[test]
fn a_cancelled_turn_says_so_to_machines() {
    let sandbox = project(&[("BeforeAgent", "", SLEEPER)]);
    let answer =
        interrupt_when_started(&sandbox, &ReplayBuilder::new(), "-INT", &["-o", "json"]).expect_exit_code(130).json();
    assert_eq!(answer["error"]["code"], 130);
    assert_eq!(answer["response"], "");
}

/// A guard that was killed has not allowed anything.
#[cfg(unix)]
#[test]
fn nothing_happens_behind_the_back_of_a_hook_that_was_ended() {
    let write = || ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"})).says("done");
    let sandbox = project(&[("BeforeTool", "", SLEEPER)]);
    interrupt_when_started(&sandbox, &write(), "-INT", &[]).expect_exit_code(130);
    assert!(!sandbox.has_file("a.txt"), "the tool ran without its guard");

    let sandbox = project(&[("AfterModel", "", SLEEPER)]);
    let run =
        interrupt_when_started(&sandbox, &ReplayBuilder::new().says("hunter2"), "-INT", &[]).expect_exit_code(130);
    assert_lacks(&run.stdout, "hunter2");
    assert_lacks(&transcript(&sandbox), "hunter2");

    let sandbox = project(&[("BeforeAgent", "", SLEEPER)]);
    interrupt_when_started(&sandbox, &ReplayBuilder::new(), "-INT", &[]).expect_exit_code(130);
    assert_lacks(&transcript(&sandbox), "\"go\"");

    let sandbox = project(&[("AfterTool", "", SLEEPER)]);
    sandbox.write("a.txt", "hunter2");
    let read = ReplayBuilder::new().calls("read_file", json!({"file_path": "a.txt"}));
    interrupt_when_started(&sandbox, &read, "-INT", &[]).expect_exit_code(130);
    assert_lacks(&transcript(&sandbox), "hunter2");
}

/// Starts a program whose output is not read.
fn start_unread(sandbox: &Sandbox, replay: &ReplayBuilder) -> std::process::Child {
    let file = sandbox.replay(replay);
    let args = ["-p", "go", "--fake-responses", file.as_str(), "--approval-mode=yolo"];
    let mut command = sandbox.command(&args);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap()
}

fn assert_exit_code(child: &mut std::process::Child, code: i32) {
    wait_until("it has ended", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait_in_time().unwrap().code(), Some(code));
}

#[cfg(unix)]
#[test]
fn a_reader_that_does_not_read_holds_up_no_signal() {
    let long: String = (0..40_000).map(|at| format!("word {at} ")).collect();
    // The turn is over and its answer cannot be printed.
    let sandbox = project(&[("SessionEnd", "", LOG_INPUT_SCRIPT)]);
    let mut child = start_unread(&sandbox, &ReplayBuilder::new().says(&long));
    wait_until("the session is over", || sandbox.has_file("log.jsonl"));
    send("-INT", &child.id().to_string());
    assert_exit_code(&mut child, 130);
    // The turn is running, and blocked by the output before.
    let sandbox = project(&[("BeforeTool", "", SLEEPER)]);
    let parts = [
        json!({"text": long}),
        hookwright_testkit::replay::call("write_file", json!({"file_path": "a.txt", "content": "A"})),
    ];
    let mut child = start_unread(&sandbox, &ReplayBuilder::new().parts(&parts));
    wait_until("the hook runs", || sandbox.has_file("pid"));
    send("-TERM", &child.id().to_string());
    assert_exit_code(&mut child, 143);
    assert_gone(sandbox.read("pid").trim());
    assert!(!sandbox.has_file("a.txt"));
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_everything_at_once() {
    let stubborn = "trap ': > heard' TERM INT; echo $$ > pid.tmp; mv pid.tmp pid; while :; do sleep 60 & wait $!; done";
    for hooks in [vec![], vec![("BeforeTool", "", stubborn)]] {
        let sandbox = project(&hooks);
        let replay = ReplayBuilder::new().calls("run_shell_command", json!({"command": stubborn}));
        let mut child = start_unread(&sandbox, &replay);
        wait_until("it runs", || sandbox.has_file("pid"));
        send("-INT", &child.id().to_string());
        wait_until("the first signal is passed on", || sandbox.has_file("heard"));
        send("-INT", &child.id().to_string());
        assert_exit_code(&mut child, 130);
        assert_gone(sandbox.read("pid").trim());
    }
}
