//! `/theme`, `/vim`, the window's title and notices, as a terminal gets them.

use hookwright_testkit::fs;
use serde_json::{Value, json};

use super::{Terminal, sandbox};

fn user_settings(sandbox: &hookwright_testkit::Sandbox) -> Value {
    let text = fs::read_to_string(sandbox.home().join(".gemini/settings.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Waits until the terminal got something that it does not show.
fn gets(terminal: &Terminal, text: &str) {
    let begun = std::time::Instant::now();
    while !terminal.raw().contains(text) {
        assert!(begun.elapsed().as_secs() < 40, "waited in vain for {text:?}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn a_theme_is_chosen_kept_and_drawn_at_once() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/theme\r").sees("Which theme?");
    terminal.keys("3").sees("the theme is light");
    assert_eq!(user_settings(&sandbox)["ui"]["theme"], "light");
    gets(&terminal, "\x1b[38;5;");
    terminal.ready().keys("/theme nope\r").sees("there is no theme `nope`");
    terminal.ready().keys("/theme high-contrast\r").sees("the theme is high-contrast");
    terminal.blank();
    terminal.keys("\x0c").sees("asks first");
}

#[test]
fn the_background_decides_where_nobody_else_does_and_its_answer_is_no_typing() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"ui": {"theme": "auto"}}));
    let mut terminal = Terminal::start(&sandbox, &[]);
    gets(&terminal, "\x1b]11;?");
    terminal.keys("\x1b]11;rgb:ffff/ffff/ffff\x07");
    gets(&terminal, "\x1b[38;5;25m");
    terminal.ready().keys("say fine\r").sees("\nfine");
    assert!(!terminal.everything().contains("rgb:"), "{}", terminal.everything());
}

#[test]
fn without_colour_no_theme_brings_any() {
    let sandbox = sandbox().env("NO_COLOR", "1");
    sandbox.user_settings(&json!({"ui": {"theme": "dark"}}));
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/hooks list\r").sees("there are no hooks");
    let raw = terminal.raw();
    let coloured = |code: u8| raw.contains(&format!("\x1b[{code}m"));
    assert!(!raw.contains("\x1b[38;") && !(30..50).chain(90..108).any(coloured), "{raw:?}");
}

#[test]
fn vis_keys_write_move_and_change() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/vim\r").sees("vi's keys are on");
    assert_eq!(user_settings(&sandbox)["general"]["vimMode"], true);
    terminal.sees("INSERT");
    terminal.keys("say one two three").shows("> say one two three");
    terminal.keys("\x1b").sees("NORMAL");
    terminal.keys("bb").keys("dw").sees("> say one three");
    terminal.keys("u").sees("> say one two three");
    terminal.keys("0wcwfour").sees("> say four two three");
    terminal.keys("\x1b").sees("NORMAL");
    terminal.keys("\r").sees("\nfour two three");
    terminal.sees("INSERT");
    terminal.ready().keys("/vim\r").sees("vi's keys are off");
    terminal.loses("INSERT");
}

#[test]
fn the_title_names_the_folder_says_what_happens_and_is_given_back() {
    let sandbox = sandbox().project_named("a\x07b");
    sandbox.user_settings(&json!({"ui": {"showStatusInTitle": true}}));
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready();
    gets(&terminal, "\x1b]2;ready - ab - Hookwright\x1b\\");
    assert_eq!(terminal.keys("\x04").ends(), 0);
    let raw = terminal.raw();
    assert!(raw.contains("\x1b[22;2t") && raw.contains("\x1b[23;2t"), "put aside and given back");
    assert!(raw.contains("\x1b]2;starting - "));
}

#[test]
fn who_hides_the_title_gets_none() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"ui": {"hideWindowTitle": true}}));
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready();
    assert!(!terminal.raw().contains("\x1b]2;"));
}

#[test]
fn a_question_rings_or_pops_up_where_that_is_wanted() {
    for (how, expected) in [("bell", "\x07"), ("desktop", "\x1b]9;Hookwright: ")] {
        let sandbox = sandbox();
        sandbox.user_settings(&json!({"ui": {"notifications": how}}));
        let mut terminal = Terminal::start(&sandbox, &[]);
        terminal.ready();
        assert!(!terminal.raw().contains(expected), "{how}: not before it waits");
        terminal.keys("call write_file {\"file_path\": \"a\", \"content\": \"x\"}\r").sees("Allow once");
        gets(&terminal, expected);
    }
}
