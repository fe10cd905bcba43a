//! Bad days of a session with a screen: the machine runs short, the terminal vanishes, the program is stopped.

use serde_json::json;

use super::{COMPOSER, Terminal, sandbox};

/// A hook runs, or the session has not started.
#[cfg(unix)]
#[test]
fn with_few_descriptors_a_screen_works_or_says_why_not() {
    let mut codes = Vec::new();
    for descriptors in [12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 64] {
        let sandbox = sandbox();
        let hook = json!({"hooks": [{"type": "command", "name": "guard", "command": "echo never >&2; exit 2"}]});
        sandbox.settings(&json!({"hooks": {"BeforeTool": [hook]}}));
        let mut terminal = Terminal::with(&sandbox.limited(&format!("ulimit -n {descriptors}"), &["--yolo"]), 80, 30);
        let screen = terminal.sees_either(COMPOSER, "error: this machine has no room to start: ");
        if screen.contains(COMPOSER) {
            terminal.keys("call run_shell_command {\"command\": \"touch ran\"}\r").sees("never");
            terminal.ready().keys("\x04");
        }
        codes.push(terminal.ends());
        terminal.is_restored();
        assert!(!sandbox.has("ran"));
    }
    assert!(codes.iter().all(|code| [0, 71].contains(code)), "{codes:?}");
    assert_eq!((codes.first(), codes.last()), (Some(&71), Some(&0)), "{codes:?}");
}

/// What happens where memory or stack run out.
#[cfg(unix)]
#[test]
fn an_abort_gives_the_terminal_back() {
    for keys in ["", "/hooks panel\r"] {
        let sandbox = sandbox();
        let mut terminal = Terminal::start(&sandbox, &[]);
        terminal.ready().keys(keys);
        if !keys.is_empty() {
            terminal.sees("Hooks 0/0");
        }
        terminal.signal("-ABRT");
        assert_ne!(terminal.ends(), 0);
        terminal.is_restored();
        assert!(terminal.raw_to_the_end().contains("hint: allow more memory (`ulimit -v`)"));
    }
}
