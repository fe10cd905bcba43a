//! Failures of a session with a screen: lack of resources, a closed terminal, a stopped program.

use hookwright_testkit::deadline::*;
use serde_json::json;

use hookwright_testkit::{ReplayBuilder, Sandbox, is_running, is_stopped, wait_until};

use super::{COMPOSER, TestTerminal, sandbox};

/// Either hooks run, or the session has not started.
#[cfg(unix)]
#[test]
fn with_few_descriptors_a_screen_works_or_says_why_not() {
    let mut codes = Vec::new();
    for descriptors in [12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 64] {
        let sandbox = sandbox();
        let hook = json!({"hooks": [{"type": "command", "name": "guard", "command": "echo never >&2; exit 2"}]});
        sandbox.settings(&json!({"hooks": {"BeforeTool": [hook]}}));
        let mut terminal =
            TestTerminal::with(&sandbox.limited_command(&format!("ulimit -n {descriptors}"), &["--yolo"]), 80, 30);
        let screen = terminal.wait_for_either_text(COMPOSER, "error: this machine has no resources left to start: ");
        if screen.contains(COMPOSER) {
            terminal.keys("call run_shell_command {\"command\": \"touch ran\"}\r").wait_for_new_text("denied: never");
            terminal.wait_until_ready().keys("\x04");
        }
        codes.push(terminal.wait_for_exit());
        terminal.assert_restored();
        assert!(!sandbox.has_file("ran"));
    }
    assert!(codes.iter().all(|code| [0, 71].contains(code)), "{codes:?}");
    assert_eq!((codes.first(), codes.last()), (Some(&71), Some(&0)), "{codes:?}");
}

/// This happens where memory or stack run out.
#[cfg(unix)]
#[test]
fn an_abort_gives_the_terminal_back() {
    for keys in ["", "/hooks panel\r"] {
        let sandbox = sandbox();
        let mut terminal = TestTerminal::start(&sandbox, &[]);
        terminal.wait_until_ready().keys(keys);
        if !keys.is_empty() {
            terminal.wait_for_new_text("Hooks 0/0");
        }
        terminal.signal("-ABRT");
        assert_ne!(terminal.wait_for_exit(), 0);
        terminal.assert_restored();
        assert!(terminal.raw().contains("hint: allow more memory (`ulimit -v`)"));
    }
}

/// Starts the program in a terminal, with hangups ignored as by `nohup`, or not.
fn start(sandbox: &Sandbox, hangups: HangupHandling, args: &[&str]) -> TestTerminal {
    match hangups {
        HangupHandling::Handled => TestTerminal::start(sandbox, args),
        HangupHandling::Ignored => TestTerminal::with(&sandbox.limited_command("trap '' HUP", args), 80, 30),
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum HangupHandling {
    Handled,
    Ignored,
}

/// A project whose SessionEnd hook leaves a file.
fn with_end_hook() -> Sandbox {
    let sandbox = sandbox();
    let end = sandbox.script("end.sh", "cat >> \"$GEMINI_PROJECT_DIR/ended\"");
    let tool =
        sandbox.script("tool.sh", "cd \"$GEMINI_PROJECT_DIR\"; echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 600");
    let hook = |command: &str| json!([{"matcher": "slow|glob", "hooks": [{"type": "command", "name": "watch", "command": command}]}]);
    let end = json!([{"hooks": [{"type": "command", "name": "end", "command": end}]}]);
    sandbox.settings(&json!({"hooks": {"SessionEnd": end, "BeforeTool": hook(&tool)}}));
    sandbox
}

const CALL: &str = "call run_shell_command {\"command\": \"echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 600\"}\r";

#[cfg(unix)]
#[test]
fn a_terminal_that_vanishes_ends_the_session_properly() {
    for hangups in [HangupHandling::Handled, HangupHandling::Ignored] {
        for screen in [&[][..], &["--screen-reader"]] {
            for keys in ["", CALL, "call glob {\"pattern\": \"*\"}\r"] {
                let sandbox = with_end_hook();
                let mut terminal = start(&sandbox, hangups, &[&["--yolo"], screen].concat());
                terminal.wait_for_new_text(COMPOSER);
                if !keys.is_empty() {
                    terminal.keys(keys);
                    wait_until("the command or the hook runs", || sandbox.has_file("pid"));
                }
                terminal.hang_up("x");
                assert_eq!(terminal.wait_for_exit(), 129, "{hangups:?} {screen:?} {keys}");
                assert_eq!(sandbox.read("ended").matches("SessionEnd").count(), 1, "{hangups:?} {screen:?} {keys}");
                assert!(keys.is_empty() || !is_running(sandbox.read("pid").trim()), "{hangups:?} {screen:?} {keys}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_terminal_that_vanishes_answers_no_question() {
    for hangups in [HangupHandling::Handled, HangupHandling::Ignored] {
        let sandbox = with_end_hook();
        let mut terminal = start(&sandbox, hangups, &[]);
        terminal
            .wait_until_ready()
            .keys("call run_shell_command {\"command\": \"touch ran\"}\r")
            .wait_for_new_text("Allow once");
        terminal.hang_up("\x1b[B");
        assert_eq!(terminal.wait_for_exit(), 129, "{hangups:?}");
        assert!(!sandbox.has_file("ran"));
        assert_eq!(sandbox.read("ended").matches("SessionEnd").count(), 1, "{hangups:?}");

        let sandbox = with_end_hook().untrusted();
        let mut terminal = start(&sandbox, hangups, &[]);
        terminal.wait_for_new_text("Do you want to trust");
        terminal.hang_up("\x1b[B");
        assert_eq!(terminal.wait_for_exit(), 129, "{hangups:?}");
        assert!(!sandbox.home().join(".gemini/trustedFolders.json").exists());
    }
}

/// Without a screen, a hangup ends the program; started by `nohup`, it runs to its end.
#[cfg(unix)]
#[test]
fn a_headless_run_survives_a_hangup_only_under_nohup() {
    let hook = "cd \"$GEMINI_PROJECT_DIR\"; cat >> events; touch started; while [ ! -e go ]; do sleep 0.05; done";
    for hangups in [HangupHandling::Handled, HangupHandling::Ignored] {
        for form in ["session", "fire"] {
            let sandbox = sandbox();
            let command = sandbox.script("hook.sh", hook);
            let hook = json!([{"hooks": [{"type": "command", "name": "watch", "command": command}]}]);
            sandbox.settings(&json!({"hooks": {"BeforeTool": hook}}));
            let file = sandbox.replay(
                &ReplayBuilder::new().calls("write_file", json!({"file_path": "made", "content": ""})).says("done"),
            );
            let args: &[&str] = match form {
                "session" => &["-p", "go", "--yolo", "--fake-responses", &file],
                _ => &["hooks", "fire", "BeforeTool", "--tool", "glob"],
            };
            let mut terminal = start(&sandbox, hangups, args);
            wait_until("the hook runs", || sandbox.has_file("started"));
            // The terminal itself echoes this key.
            terminal.hang_up("x");
            if hangups == HangupHandling::Handled {
                assert_eq!(terminal.wait_for_exit(), 129, "{form}");
                assert!(!sandbox.has_file("made"));
                continue;
            }
            sandbox.write("go", "");
            assert_eq!(terminal.wait_for_exit(), 0, "{form}");
            assert!(form == "fire" || sandbox.has_file("made"));
        }
    }
}

/// Starts the program as a shell's job, which writes its pid to a file. A background job gets the terminal explicitly.
fn as_a_job(sandbox: &Sandbox, args: &[&str]) -> (TestTerminal, String) {
    let program = sandbox.command(args);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "exec 3<&0; \"$0\" \"$@\" <&3 & echo $! > job.tmp; mv job.tmp job; wait $!; wait $!"]);
    shell.arg(program.get_program()).args(program.get_args()).current_dir(sandbox.project());
    shell.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let terminal = TestTerminal::with(&shell, 80, 30);
    wait_until("it is started", || sandbox.has_file("job"));
    (terminal, sandbox.read("job").trim().to_owned())
}

#[track_caller]
fn send(signal: &str, pid: &str) {
    assert!(std::process::Command::new("kill").args([signal, pid]).status_in_time().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_session_that_was_stopped_goes_on_where_it_was() {
    for (signal, keys) in [("-TSTP", "say something\r"), ("-STOP", "say something\r"), ("-TSTP", "/hooks panel\r")] {
        let sandbox = sandbox();
        let (mut terminal, job) = as_a_job(&sandbox, &[]);
        let seen = if keys.starts_with("say") { "\nsomething" } else { "Hooks 0/0" };
        terminal.wait_until_ready().keys(keys).wait_for_new_text(seen);
        send(signal, &job);
        wait_until("it is stopped", || is_stopped(&job));
        if signal == "-TSTP" {
            terminal.assert_restored();
        }
        terminal.blank();
        send("-CONT", &job);
        terminal.wait_for_new_text(seen);
        wait_until("the terminal is taken again", || !terminal.echo_is_on());
        if seen == "Hooks 0/0" {
            terminal.keys("\x1b");
        }
        terminal.wait_until_ready().keys("say still here\r").wait_for_new_text("\nstill here");
        terminal.wait_until_ready().keys("\x04");
        terminal.wait_for_exit();
        terminal.assert_restored();
    }
}

/// Ctrl-Z suspends it as a shell's job, from the composer, from an approval request and from a page; `fg` draws
/// everything again.
#[cfg(unix)]
#[test]
fn control_z_suspends_and_the_screen_comes_back() {
    let call = "call run_shell_command {\"command\": \"touch made\"}\r";
    for (keys, seen) in [("say something\r", "\nsomething"), ("/hooks panel\r", "Hooks 0/0"), (call, "Allow once")] {
        let sandbox = sandbox();
        let (mut terminal, job) = as_a_job(&sandbox, &[]);
        terminal.wait_until_ready().keys(keys).wait_for_new_text(seen);
        terminal.keys("\x1a");
        wait_until("it is stopped", || is_stopped(&job));
        terminal.assert_restored();
        terminal.blank();
        send("-CONT", &job);
        let screen = terminal.wait_for_new_text(seen);
        assert_eq!(screen.matches(seen).count(), 1, "{screen}");
        wait_until("the terminal is taken again", || !terminal.echo_is_on());
        if !seen.starts_with('\n') {
            terminal.keys("\x1b").wait_until_gone(seen);
        }
        terminal.wait_until_ready().keys("draft");
        terminal.wait_for_text("> draft");
        terminal.keys("\x1a");
        wait_until("it is stopped again", || is_stopped(&job));
        send("-CONT", &job);
        wait_until("the terminal is taken again", || !terminal.echo_is_on());
        terminal.keys("\x15").wait_until_ready().keys("\x04");
        terminal.wait_for_exit();
        terminal.assert_restored();
    }
}

#[cfg(unix)]
#[test]
fn a_question_that_was_stopped_is_asked_again() {
    let sandbox = sandbox().untrusted();
    let (mut terminal, job) = as_a_job(&sandbox, &[]);
    terminal.wait_for_new_text("Don't trust it");
    terminal.keys("\x1a");
    wait_until("it is stopped", || is_stopped(&job));
    terminal.assert_restored();
    terminal.blank();
    send("-CONT", &job);
    terminal.wait_for_new_text("Don't trust it");
    wait_until("the terminal is taken again", || !terminal.echo_is_on());
    terminal.keys("3").wait_for_new_text(COMPOSER);
    terminal.wait_until_ready().keys("\x04");
    terminal.wait_for_exit();
}

/// A program that is alone in its terminal would be stopped for ever.
#[cfg(unix)]
#[test]
fn control_z_does_not_stop_a_program_without_a_shell() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready();
    terminal.blank();
    terminal.signal("-TSTP");
    // It gives the terminal back, does not stop, and takes it again: keys typed in between would be a line for the next
    // reader.
    terminal.wait_for_new_text(COMPOSER);
    wait_until("the terminal is taken again", || !terminal.echo_is_on());
    terminal.keys("say still here\r").wait_for_new_text("\nstill here");
    terminal.wait_until_ready().keys("\x04");
    assert_eq!(terminal.wait_for_exit(), 0);
}

#[cfg(unix)]
#[test]
fn a_terminal_of_no_size_and_a_storm_of_sizes_change_nothing() {
    let sandbox = sandbox();
    for (columns, rows) in [(0, 0), (1, 1), (2, 1), (1, 50), (3, 2)] {
        let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
        terminal.wait_until_ready();
        terminal.resize_only(columns, rows);
        terminal.keys("say hello\r/hooks panel\rq");
        terminal.keys("call run_shell_command {\"command\": \"touch ran\"}\r");
        wait_until("the command runs", || sandbox.has_file("ran"));
        std::fs::remove_file(sandbox.project().join("ran")).unwrap();
        terminal.keys("\x03\x03");
        assert_eq!(terminal.wait_for_exit(), 0, "{columns}x{rows}");
    }
    let lines = "i=0; while [ ! -e calm ]; do echo line $i; i=$((i+1)); sleep 0.01; done; echo the end";
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    terminal
        .wait_until_ready()
        .keys(&format!("call run_shell_command {{\"command\": \"{lines}\"}}\r"))
        .wait_for_new_text("line 1");
    for step in 0..200 {
        terminal.resize_only(step % 90, (step * 7) % 40);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    terminal.resize(80, 30);
    sandbox.write("calm", "");
    terminal.wait_for_new_text("run_shell_command: done");
    terminal.wait_until_ready().keys("\x04");
    assert_eq!(terminal.wait_for_exit(), 0);
    terminal.assert_restored();
}
