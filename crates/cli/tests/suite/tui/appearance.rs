//! `/theme`, `/vim`, the window's title and notifications, as a terminal gets them.

use hookwright_testkit::fs;
use serde_json::{Value, json};

use super::{TestTerminal, sandbox};

fn user_settings(sandbox: &hookwright_testkit::Sandbox) -> Value {
    let text = fs::read_to_string(sandbox.home().join(".gemini/settings.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Waits until the terminal received something that it does not show.
fn wait_for_raw(terminal: &TestTerminal, text: &str) {
    let begun = std::time::Instant::now();
    while !terminal.raw().contains(text) {
        assert!(begun.elapsed().as_secs() < 40, "waited in vain for {text:?}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_theme_is_chosen_kept_and_drawn_at_once() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/theme\r").wait_for_new_text("Which theme?");
    terminal.keys("3").wait_for_new_text("the theme is light");
    assert_eq!(user_settings(&sandbox)["ui"]["theme"], "light");
    wait_for_raw(&terminal, "\x1b[38;5;");
    terminal.wait_until_ready().keys("/theme nope\r").wait_for_new_text("there is no theme `nope`");
    terminal.wait_until_ready().keys("/theme high-contrast\r").wait_for_new_text("the theme is high-contrast");
    terminal.blank();
    terminal.keys("\x0c").wait_for_new_text("asks first");
}

#[test]
fn the_terminals_background_is_the_default_theme_and_its_reply_is_not_typed() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"ui": {"theme": "auto"}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    wait_for_raw(&terminal, "\x1b]11;?");
    terminal.keys("\x1b]11;rgb:ffff/ffff/ffff\x07");
    wait_for_raw(&terminal, "\x1b[38;5;25m");
    terminal.wait_until_ready().keys("say fine\r").wait_for_new_text("\nfine");
    assert!(!terminal.everything().contains("rgb:"), "{}", terminal.everything());
}

#[test]
fn without_colour_no_theme_brings_any() {
    let sandbox = sandbox().env("NO_COLOR", "1");
    sandbox.user_settings(&json!({"ui": {"theme": "dark"}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/hooks list\r").wait_for_new_text("there are no hooks");
    let raw = terminal.raw();
    let coloured = |code: u8| raw.contains(&format!("\x1b[{code}m"));
    assert!(!raw.contains("\x1b[38;") && !(30..50).chain(90..108).any(coloured), "{raw:?}");
}

#[test]
fn vis_keys_write_move_and_change() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/vim\r").wait_for_new_text("vi's keys are on");
    assert_eq!(user_settings(&sandbox)["general"]["vimMode"], true);
    terminal.wait_for_new_text("INSERT");
    terminal.keys("say one two three").wait_for_text("> say one two three");
    terminal.keys("\x1b").wait_for_new_text("NORMAL");
    terminal.keys("bb").keys("dw").wait_for_new_text("> say one three");
    terminal.keys("u").wait_for_new_text("> say one two three");
    terminal.keys("0wcwfour").wait_for_new_text("> say four two three");
    terminal.keys("\x1b").wait_for_new_text("NORMAL");
    terminal.keys("\r").wait_for_new_text("\nfour two three");
    terminal.wait_for_new_text("INSERT");
    terminal.wait_until_ready().keys("/vim\r").wait_for_new_text("vi's keys are off");
    terminal.wait_until_gone("INSERT");
}

#[test]
fn the_title_names_the_folder_says_what_happens_and_is_given_back() {
    let sandbox = sandbox().project_named("a\x07b");
    sandbox.user_settings(&json!({"ui": {"showStatusInTitle": true}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready();
    wait_for_raw(&terminal, "\x1b]2;ready - ab - Hookwright\x1b\\");
    assert_eq!(terminal.keys("\x04").wait_for_exit(), 0);
    let raw = terminal.raw();
    assert!(raw.contains("\x1b[22;2t") && raw.contains("\x1b[23;2t"), "put aside and given back");
    assert!(raw.contains("\x1b]2;starting - "));
}

#[test]
fn a_hidden_title_is_not_set() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"ui": {"hideWindowTitle": true}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready();
    assert!(!terminal.raw().contains("\x1b]2;"));
}

#[test]
fn a_question_rings_or_pops_up_where_that_is_wanted() {
    for (how, expected) in [("bell", "\x07"), ("desktop", "\x1b]9;Hookwright: ")] {
        let sandbox = sandbox();
        sandbox.user_settings(&json!({"ui": {"notifications": how}}));
        let mut terminal = TestTerminal::start(&sandbox, &[]);
        terminal.wait_until_ready();
        assert!(!terminal.raw().contains(expected), "{how}: not before it waits");
        terminal.keys("call write_file {\"file_path\": \"a\", \"content\": \"x\"}\r").wait_for_new_text("Allow once");
        wait_for_raw(&terminal, expected);
    }
}
