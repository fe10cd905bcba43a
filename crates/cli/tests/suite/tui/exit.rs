use serde_json::json;

use super::{COMPOSER, TestTerminal, sandbox};
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
        let mut terminal = TestTerminal::start(&sandbox, &[]);
        terminal.wait_until_ready().keys(keys);
        assert_eq!(terminal.wait_for_exit(), 0, "{keys:?}");
        terminal.assert_restored();
        assert_eq!(sandbox.read("ended").matches("SessionEnd").count(), 1, "{keys:?}");
    }
}

#[test]
fn one_control_c_only_warns() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("half a prompt\x03");
    terminal.wait_for_new_text("Press Ctrl+C again to exit");
    terminal.wait_until_gone("half a prompt");
    terminal.keys("\x1f");
    terminal.wait_for_new_text("> half a prompt");
    terminal.keys("\x15say still here\r").wait_for_new_text("\nstill here");
}

#[test]
fn signals_leave_cleanly() {
    for (signal, code) in [("-TERM", 143), ("-HUP", 129), ("-INT", 130)] {
        let sandbox = with_end_hook();
        let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
        terminal
            .wait_until_ready()
            .keys("call run_shell_command {\"command\": \"sleep 60\"}\r")
            .wait_for_new_text("… run_shell_command");
        terminal.signal(signal);
        assert_eq!(terminal.wait_for_exit(), code, "{signal}");
        terminal.assert_restored();
        assert_eq!(sandbox.read("ended").matches("SessionEnd").count(), 1, "{signal}");
    }
}

#[test]
fn the_terminal_is_restored_from_the_panel_and_the_trust_question() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/hooks panel\r").wait_for_new_text("Hooks 0/0");
    terminal.signal("-TERM");
    assert_eq!(terminal.wait_for_exit(), 143);
    terminal.assert_restored();
    let sandbox = sandbox.untrusted();
    for (signal, code) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129), ("-QUIT", 131)] {
        let mut terminal = TestTerminal::start(&sandbox, &[]);
        terminal.wait_for_new_text("Do you want to trust");
        terminal.signal(signal);
        assert_eq!(terminal.wait_for_exit(), code, "{signal}");
        terminal.assert_restored();
    }
}

/// A signal during the end does not shorten it, and the exit code tells the signal.
#[cfg(unix)]
#[test]
fn a_signal_while_the_session_ends_is_told_by_the_exit_code() {
    for (signals, plain) in [(1, false), (2, false), (1, true)] {
        let sandbox = with_hook("SessionEnd", "cd \"$GEMINI_PROJECT_DIR\"; cat > ended; exec sleep 600");
        let mut terminal = TestTerminal::start(&sandbox, if plain { &["--screen-reader"] } else { &[] });
        terminal.wait_for_new_text(COMPOSER);
        terminal.keys("/quit\r");
        hookwright_testkit::wait_until("the hook runs", || sandbox.has_file("ended"));
        for _ in 0..signals {
            terminal.signal("-TERM");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        assert_eq!(terminal.wait_for_exit(), 143, "{signals} {plain}");
        terminal.assert_restored();
    }
}

#[test]
fn the_cursor_ends_up_below_everything() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/hooks panel\r").wait_for_new_text("Hooks 0/0");
    terminal.keys("\x1b");
    terminal.wait_until_ready().keys("say the last words\r").wait_for_new_text("\nthe last words");
    terminal.wait_until_ready().keys("\x04");
    terminal.wait_for_exit();
    terminal.assert_restored();
    assert!(terminal.cursor_is_below_everything(), "{}", terminal.screen());
}

/// A project with one hook of this script.
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
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal
        .wait_until_ready()
        .keys("call run_shell_command {\"command\": \"touch made\"}\r")
        .wait_for_new_text("Allow once");
    terminal.keys("y");
    terminal.wait_until_ready();
    assert!(sandbox.has_file("made"), "the call did not wait");
    terminal.keys("\x04");
    assert_eq!(terminal.wait_for_exit(), 0);
    let told = terminal.raw();
    let told = anstream::adapter::strip_str(&told).to_string();
    assert!(!told.contains("ancelled"), "{told}");
    assert!(told.contains("was still running at the end of the"), "{told}");
}

#[test]
fn a_deny_holds_for_the_users_own_command() {
    let sandbox = with_hook("BeforeTool", "case $(cat) in *'touch ran'*) echo 'not here' >&2; exit 2;; esac");
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    terminal.wait_until_ready().keys("!touch ran\r").wait_for_new_text("Tool execution blocked: not here");
    terminal.wait_until_ready().keys("!touch other\r");
    hookwright_testkit::wait_until("the command runs", || sandbox.has_file("other"));
    assert!(!sandbox.has_file("ran"));
}

/// In plain lines Ctrl-C is a signal, with the same meaning.
#[cfg(unix)]
#[test]
fn in_lines_control_c_gives_up_a_question_then_warns_and_then_leaves() {
    let sandbox = with_hook("SessionEnd", "cat > \"$GEMINI_PROJECT_DIR/ended\"");
    let mut terminal = TestTerminal::start(&sandbox, &["--screen-reader"]);
    terminal.wait_for_new_text("Hookwright");
    terminal.wait_for_new_text("no model is connected: /auth connects one");
    terminal.wait_for_new_text(COMPOSER);
    terminal.keys("/auth\r").wait_for_new_text("Answer with a number or a name");
    terminal.keys("\x03").wait_for_new_text("left as it is");
    // Before the prompt is there again, Ctrl-C ends the turn.
    let wait_for_prompt = |terminal: &mut TestTerminal, answer: &str| {
        hookwright_testkit::wait_until("the prompt is there again", || {
            terminal.everything().rsplit(answer).next().is_some_and(|rest| rest.contains(COMPOSER))
        });
    };
    terminal.keys("say still here\r").wait_for_new_text("\nstill here");
    wait_for_prompt(&mut terminal, "\nstill here");
    terminal.keys("\x03").wait_for_new_text("Press Ctrl+C again to exit");
    // Going on cancels the first Ctrl-C.
    terminal.keys("say and still\r").wait_for_new_text("\nand still");
    wait_for_prompt(&mut terminal, "\nand still");
    terminal.keys("\x03");
    hookwright_testkit::wait_until("it is said again", || {
        terminal.everything().matches("Press Ctrl+C again to exit").count() == 2
    });
    assert!(!sandbox.has_file("ended"));
    terminal.keys("\x03");
    assert_eq!(terminal.wait_for_exit(), 0);
    assert!(terminal.raw().contains("Agent powering down. Goodbye!"));
    let told: serde_json::Value = serde_json::from_str(&sandbox.read("ended")).unwrap();
    assert_eq!(told["reason"], "exit");
}
