//! `hookwright run` under load and with nothing at hand: storms of processes, memory, many files, a home directory that
//! cannot be written to, and services behind sockets.

use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use hookwright_testkit::deadline::*;
use hookwright_testkit::http::{TestHttpResponse, TestHttpServer};
use hookwright_testkit::{has_program, report_skipped};
use portable_pty::{PtySize, native_pty_system};
use serde_json::json;

use super::confine::{can_confine, confined, is_root};
use super::confine_places::{as_user, can_run_as_user};
use crate::sandbox;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hookwright");

/// Each process of the storm starts two more, in sessions of their own.
const FORK_BOMB: &str = "bomb() { bomb | bomb & }; bomb; (setsid sh -c 'while :; do sleep 60 & done' &); sleep 60";

#[test]
fn a_fork_bomb_is_ended() {
    if !can_confine("a_fork_bomb_is_ended") {
        return;
    }
    let options = ["--processes", "40", "--time", "30"];
    let run = confined(&sandbox(), &options, FORK_BOMB);
    let is_killed = run.code == Some(137) && run.stderr.contains("too many processes");
    assert!(is_killed || has_given_up(run.code, &run.stderr), "{run:?}");
    // A long sequence of processes is no storm.
    let run = confined(&sandbox(), &options, "i=0; while [ $i -lt 600 ]; do /bin/true; i=$((i+1)); done; echo done");
    assert_eq!((run.code, &*run.stdout), (Some(0), "done\n"), "{run:?}");
}

#[test]
fn a_fork_bomb_of_an_ordinary_user_is_ended() {
    if !can_run_as_user("a_fork_bomb_of_an_ordinary_user_is_ended") {
        return;
    }
    let run = as_user(&sandbox(), &["--processes", "40", "--time", "5"], FORK_BOMB);
    let (code, stderr) = (run.status.code(), String::from_utf8_lossy(&run.stderr));
    assert!([Some(137), Some(124)].contains(&code) || has_given_up(code, &stderr), "{run:?}");
}

/// Whether the shell that began the storm ended first, because the kernel refused it a process.
fn has_given_up(code: Option<i32>, stderr: &str) -> bool {
    code.is_some_and(|code| code != 0) && stderr.to_lowercase().contains("fork")
}

#[test]
fn a_process_that_takes_too_much_memory_fails_alone() {
    const TEST: &str = "a_process_that_takes_too_much_memory_fails_alone";
    if !can_confine(TEST) || !has_program("python3") {
        return report_skipped(TEST, "it needs python3 and a confinement");
    }
    let script = "python3 -c 'x = bytearray(600 << 20)' 2>&1 | grep -o MemoryError; \
        python3 -c 'import mmap; mmap.mmap(-1, 600 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)' || echo refused; echo goes on";
    let run = confined(&sandbox(), &["--memory", "200"], script);
    assert_eq!(run.stdout, "MemoryError\nrefused\ngoes on\n", "{run:?}");
}

#[test]
fn a_hundred_thousand_files_are_made_and_searched() {
    if !can_confine("a_hundred_thousand_files_are_made_and_searched") {
        return;
    }
    let sandbox = sandbox();
    let script = "mkdir many; cd many; seq 100000 | xargs -n 2000 touch; ls | wc -l";
    let run = confined(&sandbox, &["--writes", "**"], script);
    assert_eq!(run.stdout.trim(), "100000", "{run:?}");
    sandbox.write("many/.env", "hunter2");
    let run = confined(&sandbox, &["--no-reads", "**/.env"], "cat many/.env; echo ran");
    assert_eq!(run.stdout, "ran\n", "{run:?}");
}

#[test]
fn a_read_only_home_is_no_obstacle() {
    const TEST: &str = "a_read_only_home_is_no_obstacle";
    if !can_confine(TEST) || !has_program("unshare") || !is_root() {
        return report_skipped(TEST, "it needs root, unshare and a confinement");
    }
    let sandbox = sandbox();
    sandbox.write(".env", "hunter2");
    sandbox.user_settings(&json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "rule", "name": "guard", "guard": true,
        "decision": "deny", "reason": "guarded", "when": {"reads": ["**/.env"]}}]}]}}));
    let mount = "mount --bind \"$HOME\" \"$HOME\" && mount -o remount,ro,bind \"$HOME\" && ! touch \"$HOME/x\" 2>&-";
    let shell = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &format!("{mount} && {script}")]).current_dir(sandbox.project());
        command.env("HOME", sandbox.home()).env("HOOKWRIGHT", PROGRAM).output_in_time().unwrap()
    };
    let run = shell(
        "\"$HOOKWRIGHT\" run --profile build --no-reads .env -- sh -c 'cat .env; touch made; touch ~/made; true'",
    );
    assert!(run.status.success() && sandbox.has_file("made") && !sandbox.home().join("made").exists(), "{run:?}");
    assert!(!String::from_utf8_lossy(&run.stdout).contains("hunter2"), "{run:?}");
    // A plan that can't be stored in the home directory is stored elsewhere.
    let payload = json!({"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash",
        "tool_input": {"command": "bash build.sh"}});
    let run = shell(&format!("echo '{payload}' | \"$HOOKWRIGHT\" bridge claude-code"));
    assert!(String::from_utf8_lossy(&run.stdout).contains("HOOKWRIGHT_COMMAND="), "{run:?}");
}

#[test]
fn the_proxy_follows_no_redirect_to_another_host() {
    const TEST: &str = "the_proxy_follows_no_redirect_to_another_host";
    if !can_confine(TEST) || !has_program("curl") {
        return report_skipped(TEST, "it needs curl and a confinement");
    }
    let other = TestHttpServer::serve(|_| TestHttpResponse::json(&json!("ESCAPED")));
    let target = other.address.clone();
    let listed = TestHttpServer::serve(move |request| match &*request.path {
        "/here" => TestHttpResponse::json(&json!("reached")),
        "/near" => TestHttpResponse::status(302).with_header("location", "/here"),
        _ => TestHttpResponse::status(302).with_header("location", &target),
    });
    let allowed = listed.address.trim_start_matches("http://").to_owned();
    let follow = |path: &str, options: &str| {
        let script = format!("curl -sS -L --max-time 5 --noproxy '' {options} {}{path}; true", listed.address);
        confined(&sandbox(), &["--network", &allowed], &script)
    };
    for options in ["", "--proxytunnel", "--proxy \"$ALL_PROXY\""] {
        let run = follow("/near", options);
        assert!(run.stdout.contains("reached"), "{options}: {run:?}");
        let run = follow("/far", options);
        assert!(!run.stdout.contains("ESCAPED"), "{options}: {run:?}");
        let refused = format!("the network was refused: {}", other.address.trim_start_matches("http://"));
        assert!(run.stderr.contains(&refused), "{options}: {run:?}");
    }
    assert!(other.requests_to("/").is_empty());
}

/// Whatever listens on a socket outside is not reached, by its path or by a variable that names it.
#[test]
fn services_of_the_user_are_not_reached() {
    const TEST: &str = "services_of_the_user_are_not_reached";
    if !can_confine(TEST) || !has_program("python3") {
        return report_skipped(TEST, "it needs python3 and a confinement");
    }
    let base = sandbox();
    let socket = base.home().join("agent.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    let path = socket.display().to_string();
    let sandbox = base.env("SSH_AUTH_SOCK", &path).env("DOCKER_HOST", &format!("unix://{path}")).env("WHERE", &path);
    let script = "import os,socket\nprint(os.environ.get('SSH_AUTH_SOCK'), os.environ.get('DOCKER_HOST'))\n\
        for kind in (1, 2, 5):\n  try:\n    socket.socket(socket.AF_UNIX, kind).connect(os.environ['WHERE']); print('ESCAPED')\n  except OSError: pass";
    for network in ["none", "all"] {
        let run = sandbox.run(&["run", "--writes", "**", "--network", network, "--", "python3", "-c", script]);
        assert_eq!(run.stdout, "None None\n", "{run:?}");
    }
    #[expect(clippy::disallowed_methods, reason = "it does not block")]
    let accepted = listener.accept();
    assert!(accepted.is_err(), "a connection came in");
    let run = sandbox.run(&["run", "--unix-sockets", "--", "python3", "-c", script]);
    assert!(run.stdout.contains("ESCAPED"), "with all sockets it is reached: {run:?}");
}

#[test]
fn another_terminal_is_not_written_to() {
    const TEST: &str = "another_terminal_is_not_written_to";
    if !can_confine(TEST) {
        return;
    }
    let pair = native_pty_system().openpty(PtySize::default()).unwrap();
    let Some(terminal) = pair.master.tty_name() else { return report_skipped(TEST, "the terminal has no name") };
    let mut reader = pair.master.try_clone_reader().unwrap();
    let seen = std::thread::spawn(move || {
        let mut bytes = [0; 64];
        std::io::Read::read(&mut reader, &mut bytes).map(|count| String::from_utf8_lossy(&bytes[..count]).into_owned())
    });
    let terminal = terminal.display();
    let script = format!("for t in '{terminal}' /dev/pts/* /dev/tty /dev/console; do echo ESCAPED > $t; done; true");
    for options in [&["--writes", "**"][..], &["--writes", "/**", "!kept", "--network", "all"]] {
        assert_eq!(confined(&sandbox(), options, &script).code, Some(0));
    }
    // Outside the same name is the terminal.
    let mut outside = Command::new("sh");
    outside.args(["-c", &format!("echo outside > '{terminal}'")]).stdin(Stdio::null());
    assert!(outside.status_in_time().unwrap().success());
    hookwright_testkit::wait_until("the terminal shows something", || seen.is_finished());
    assert_eq!(seen.join_in_time().unwrap().unwrap().trim(), "outside");
    drop(pair);
}
