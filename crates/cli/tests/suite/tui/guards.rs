//! Guards on the screen: the question before a session without them, the status line, the panel, and a change of
//! settings in a running session.

use serde_json::{Value, json};

use super::{COMPOSER, TestTerminal, sandbox};

fn guard(name: &str, command: &str) -> Value {
    json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": name, "command": command, "guard": true}]}]}})
}

/// Returns all output so far, without line ends.
fn screen_text(terminal: &TestTerminal) -> String {
    terminal.everything().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn guards_that_are_not_armed_are_asked_about() {
    let sandbox = sandbox();
    sandbox.settings(&guard("gone", "./nowhere.sh"));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_for_new_text("Go on with guards that are not armed?");
    terminal.keys("\r");
    assert_eq!(terminal.wait_for_exit(), 52);
    let mut terminal = TestTerminal::sized(&sandbox, &["-y"], 120, 30);
    terminal.wait_for_new_text("Go on with guards that are not armed?");
    terminal.keys("2");
    terminal.wait_until_ready().wait_for_new_text("1 guard not armed");
    let said = screen_text(&terminal);
    assert!(said.contains("guard gone is not armed, so the approval mode is default, not yolo"), "{said}");
    // Continuing does not let calls pass the guard that cannot start.
    terminal.keys("call write_file {\"file_path\": \"a.txt\", \"content\": \"A\"}\r");
    terminal.wait_for_new_text("hook gone: could not start");
    terminal.wait_until_ready();
    assert!(!sandbox.has_file("a.txt"));
}

#[test]
fn in_lines_they_are_asked_about_too() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooksConfig": {"required": ["absent"]}}));
    let mut terminal = TestTerminal::start(&sandbox, &["--screen-reader"]);
    terminal.wait_for_new_text("Answer 1 or 2:");
    terminal.keys("1\r");
    assert_eq!(terminal.wait_for_exit(), 52);
    let mut terminal = TestTerminal::start(&sandbox, &["--screen-reader"]);
    terminal.wait_for_new_text("Answer 1 or 2:");
    terminal.keys("2\r");
    terminal.wait_for_new_text(COMPOSER);
}

#[test]
fn the_foot_and_the_panel_show_guards() {
    let sandbox = sandbox();
    sandbox.settings(&guard("watch", "true"));
    let mut terminal = TestTerminal::sized(&sandbox, &[], 120, 30);
    terminal.wait_until_ready().wait_for_new_text("1 hook (1 guard)");
    terminal.keys("/hooks panel\r").wait_for_new_text("Hooks 1/1");
    terminal.wait_for_new_text("on guard");
    terminal.keys("d");
    terminal.wait_for_new_text("is a guard, and stays on");
    terminal.keys("\x1b");
    terminal.wait_for_new_text("1 hook (1 guard)");
    assert!(!sandbox.read(".gemini/settings.json").contains("disabled"));
}

#[test]
fn a_guard_disarmed_during_a_session_is_announced_and_no_mode_skips_approval() {
    let sandbox = sandbox();
    sandbox.settings(&guard("watch", "true"));
    let mut terminal = TestTerminal::sized(&sandbox, &["-y"], 120, 30);
    terminal.wait_until_ready().wait_for_new_text("· yolo ·");
    // With broken settings, the guards stay as they were.
    let good = sandbox.read(".gemini/settings.json");
    sandbox.write(".gemini/settings.json", "{ \"hooks\": {");
    terminal.wait_for_new_text("the hooks stay as they were");
    terminal.wait_for_new_text("1 hook (1 guard)");
    sandbox.write(".gemini/settings.json", good.replace("BeforeTool", "BeforeTol"));
    terminal.wait_for_new_text("would be lost");
    terminal.wait_for_new_text("1 hook (1 guard)");
    terminal.wait_for_new_text("· yolo ·");
    // A guard that its own settings disable is reported as missing.
    let off = good.replace("\"guard\": true", "\"guard\": true, \"enabled\": false");
    assert_ne!(off, good);
    sandbox.write(".gemini/settings.json", &off);
    terminal.wait_for_new_text("1 guard not armed");
    terminal.wait_for_new_text("· asks first ·");
    terminal.keys("\x1b[Zsay all the same\r").wait_for_new_text("\nall the same");
    terminal.wait_until_ready().wait_for_text("· asks first ·");
    // The removal of a guard is reported.
    sandbox.write(".gemini/settings.json", "{}");
    terminal.wait_until_gone("1 guard not armed");
    terminal.wait_for_new_text("removed guard watch on BeforeTool (project)");
}
