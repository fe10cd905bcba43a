//! Guards on the screen: the question before a session without them, the foot, the panel, and what a change of the settings
//! does to a running session.

use serde_json::{Value, json};

use super::{COMPOSER, Terminal, sandbox};

fn guard(name: &str, command: &str) -> Value {
    json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": name, "command": command, "guard": true}]}]}})
}

/// Everything said so far, without line ends.
fn said(terminal: &Terminal) -> String {
    terminal.everything().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn guards_that_are_not_armed_are_asked_about() {
    let sandbox = sandbox();
    sandbox.settings(&guard("gone", "./nowhere.sh"));
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.sees("Go on with guards that are not armed?");
    terminal.keys("\r");
    assert_eq!(terminal.ends(), 52);
    let mut terminal = Terminal::sized(&sandbox, &["-y"], 120, 30);
    terminal.sees("Go on with guards that are not armed?");
    terminal.keys("2");
    terminal.ready().sees("1 guard not armed");
    let said = said(&terminal);
    assert!(said.contains("guard gone is not armed, so the approval mode is default, not yolo"), "{said}");
    // Going on does not open the gate that could not be shut.
    terminal.keys("call write_file {\"file_path\": \"a.txt\", \"content\": \"A\"}\r");
    terminal.sees("hook gone could not start");
    terminal.ready();
    assert!(!sandbox.has("a.txt"));
}

#[test]
fn in_lines_they_are_asked_about_too() {
    let sandbox = sandbox();
    sandbox.settings(&json!({"hooksConfig": {"required": ["absent"]}}));
    let mut terminal = Terminal::start(&sandbox, &["--screen-reader"]);
    terminal.sees("Answer 1 or 2:");
    terminal.keys("1\r");
    assert_eq!(terminal.ends(), 52);
    let mut terminal = Terminal::start(&sandbox, &["--screen-reader"]);
    terminal.sees("Answer 1 or 2:");
    terminal.keys("2\r");
    terminal.sees(COMPOSER);
}

#[test]
fn the_foot_and_the_panel_show_guards() {
    let sandbox = sandbox();
    sandbox.settings(&guard("watch", "true"));
    let mut terminal = Terminal::sized(&sandbox, &[], 120, 30);
    terminal.ready().sees("1 hook (1 guard)");
    terminal.keys("/hooks panel\r").sees("Hooks 1/1");
    terminal.sees("on guard");
    terminal.keys("d");
    terminal.sees("is a guard of the project settings");
    terminal.keys("\x1b");
    terminal.sees("1 hook (1 guard)");
    assert!(!sandbox.read(".gemini/settings.json").contains("disabled"));
}

#[test]
fn a_guard_that_goes_to_sleep_in_a_session_is_announced_and_nothing_runs_unasked() {
    let sandbox = sandbox();
    sandbox.settings(&guard("watch", "true"));
    let mut terminal = Terminal::sized(&sandbox, &["-y"], 120, 30);
    terminal.ready().sees("· yolo ·");
    // Broken, it stays as it was.
    let good = sandbox.read(".gemini/settings.json");
    sandbox.write(".gemini/settings.json", "{ \"hooks\": {");
    terminal.sees("the hooks stay as they were");
    terminal.sees("1 hook (1 guard)");
    sandbox.write(".gemini/settings.json", good.replace("BeforeTool", "BeforeTol"));
    terminal.sees("would be lost");
    terminal.sees("1 hook (1 guard)");
    terminal.sees("· yolo ·");
    // Switched off by its own settings, it is missed.
    let off = good.replace("\"guard\": true", "\"guard\": true, \"enabled\": false");
    assert_ne!(off, good);
    sandbox.write(".gemini/settings.json", &off);
    terminal.sees("1 guard not armed");
    terminal.sees("· asks first ·");
    terminal.keys("\x1b[Zsay all the same\r").sees("\nall the same");
    terminal.ready().shows("· asks first ·");
    // Taken out, that is said.
    sandbox.write(".gemini/settings.json", "{}");
    terminal.loses("1 guard not armed");
    terminal.sees("removed guard watch on BeforeTool (project)");
}
