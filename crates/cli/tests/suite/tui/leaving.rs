use serde_json::json;

use super::{COMPOSER, Terminal, sandbox};
use hookwright_testkit::Sandbox;

fn with_end_hook() -> Sandbox {
    let sandbox = sandbox();
    let command = sandbox.script("end.sh", "cat >> \"$GEMINI_PROJECT_DIR/ended\"");
    sandbox.settings(&json!({"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": command}]}]}}));
    sandbox
}

#[test]
fn control_d_quit_and_control_c_twice_leave() {
    for keys in ["\x04", "/quit\r", "\x03\x03"] {
        let sandbox = with_end_hook();
        let mut terminal = Terminal::start(&sandbox, &[]);
        terminal.ready().keys(keys);
        assert_eq!(terminal.ends(), 0, "{keys:?}");
        terminal.is_restored();
        assert_eq!(sandbox.read("ended").matches("SessionEnd").count(), 1, "{keys:?}");
    }
}

#[test]
fn one_control_c_only_warns() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("half a prompt\x03");
    terminal.sees("Press Ctrl+C again to exit");
    terminal.loses("half a prompt");
    terminal.keys("\x1f");
    terminal.sees("> half a prompt");
    terminal.keys("\x15say still here\r").sees("\nstill here");
}

#[test]
fn signals_leave_cleanly() {
    for (signal, code) in [("-TERM", 143), ("-HUP", 129), ("-INT", 130)] {
        let sandbox = with_end_hook();
        let mut terminal = Terminal::start(&sandbox, &["--yolo"]);
        terminal.ready().keys("call run_shell_command {\"command\": \"sleep 60\"}\r").sees("… run_shell_command");
        terminal.signal(signal);
        assert_eq!(terminal.ends(), code, "{signal}");
        terminal.is_restored();
        assert_eq!(sandbox.read("ended").matches("SessionEnd").count(), 1, "{signal}");
    }
}

#[test]
fn the_terminal_is_restored_from_the_panel_and_the_trust_question() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/hooks panel\r").sees("Hooks 0/0");
    terminal.signal("-TERM");
    assert_eq!(terminal.ends(), 143);
    terminal.is_restored();
    let sandbox = sandbox.untrusted();
    for (signal, code) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129), ("-QUIT", 131)] {
        let mut terminal = Terminal::start(&sandbox, &[]);
        terminal.sees("Do you want to trust");
        terminal.signal(signal);
        assert_eq!(terminal.ends(), code, "{signal}");
        terminal.is_restored();
    }
}

/// Whoever loses patience with the end: it has its time, and the exit code tells of the signal.
#[cfg(unix)]
#[test]
fn a_signal_while_the_session_ends_is_told_by_the_exit_code() {
    for (signals, plain) in [(1, false), (2, false), (1, true)] {
        let sandbox = with_hook("SessionEnd", "cd \"$GEMINI_PROJECT_DIR\"; cat > ended; exec sleep 600");
        let mut terminal = Terminal::start(&sandbox, if plain { &["--screen-reader"] } else { &[] });
        terminal.sees(COMPOSER);
        terminal.keys("/quit\r");
        hookwright_testkit::wait_until("the hook runs", || sandbox.has("ended"));
        for _ in 0..signals {
            terminal.signal("-TERM");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        assert_eq!(terminal.ends(), 143, "{signals} {plain}");
        terminal.is_restored();
    }
}

#[test]
fn the_cursor_ends_up_below_everything() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/hooks panel\r").sees("Hooks 0/0");
    terminal.keys("\x1b");
    terminal.ready().keys("say the last words\r").sees("\nthe last words");
    terminal.ready().keys("\x04");
    terminal.ends();
    terminal.is_restored();
    assert!(terminal.cursor_is_below_everything(), "{}", terminal.screen());
}

/// A project with one hook, whose script is this.
fn with_hook(event: &str, script: &str) -> Sandbox {
    let sandbox = sandbox();
    let command = sandbox.script("hook.sh", script);
    let hook = json!({"type": "command", "name": "watch", "command": command});
    sandbox.settings(&json!({"hooks": {event: [{"hooks": [hook]}]}}));
    sandbox
}

#[test]
fn a_hook_that_still_notifies_holds_up_nothing_and_control_d_cancels_nothing() {
    let sandbox = with_hook("Notification", "exec sleep 600");
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("call run_shell_command {\"command\": \"touch made\"}\r").sees("Allow once");
    terminal.keys("y");
    terminal.ready();
    assert!(sandbox.has("made"), "the call did not wait");
    terminal.keys("\x04");
    assert_eq!(terminal.ends(), 0);
    let told = terminal.raw();
    let told = anstream::adapter::strip_str(&told).to_string();
    assert!(!told.contains("ancelled"), "{told}");
    assert!(told.contains("was still running at the end of the"), "{told}");
}

#[test]
fn a_deny_holds_for_the_users_own_command() {
    let sandbox = with_hook("BeforeTool", "case $(cat) in *'touch ran'*) echo 'not here' >&2; exit 2;; esac");
    let mut terminal = Terminal::start(&sandbox, &["--yolo"]);
    terminal.ready().keys("!touch ran\r").sees("Tool execution blocked: not here");
    terminal.ready().keys("!touch other\r");
    hookwright_testkit::wait_until("the command runs", || sandbox.has("other"));
    assert!(!sandbox.has("ran"));
}

/// In lines Ctrl-C is a signal, and means the same.
#[cfg(unix)]
#[test]
fn in_lines_control_c_gives_up_a_question_then_warns_and_then_leaves() {
    let sandbox = with_hook("SessionEnd", "cat > \"$GEMINI_PROJECT_DIR/ended\"");
    let mut terminal = Terminal::start(&sandbox, &["--screen-reader"]);
    terminal.sees("Hookwright");
    terminal.sees("no model is connected: /auth connects one");
    terminal.sees(COMPOSER);
    terminal.keys("/auth\r").sees("Answer with a number or a name");
    terminal.keys("\x03").sees("left as it is");
    terminal.keys("say still here\r").sees("\nstill here");
    terminal.keys("\x03").sees("Press Ctrl+C again to exit");
    // Whoever goes on has not left.
    terminal.keys("say and still\r").sees("\nand still");
    terminal.keys("\x03");
    hookwright_testkit::wait_until("it is said again", || {
        terminal.everything().matches("Press Ctrl+C again to exit").count() == 2
    });
    assert!(!sandbox.has("ended"));
    terminal.keys("\x03");
    assert_eq!(terminal.ends(), 0);
    assert!(terminal.raw().contains("Agent powering down. Goodbye!"));
    let told: serde_json::Value = serde_json::from_str(&sandbox.read("ended")).unwrap();
    assert_eq!(told["reason"], "exit");
}
