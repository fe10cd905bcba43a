//! Restoring an earlier turn: `/restore`, Esc Esc, on the screen and in plain lines.

use super::{TestTerminal, sandbox};
use hookwright_testkit::Sandbox;

const EDIT: &str = "call write_file {\"file_path\": \"src/a.txt\", \"content\": \"two\\n\"}\r";

fn start_session(args: &[&str], columns: u16) -> (Sandbox, TestTerminal) {
    let sandbox = sandbox().env("NO_COLOR", "1");
    sandbox.write("src/a.txt", "one\n");
    let mut terminal = TestTerminal::sized(&sandbox, args, columns, 30);
    terminal.wait_until_ready().keys("say hello there\r").wait_for_new_text("\nhello there");
    terminal.wait_until_ready().keys(EDIT).wait_for_new_text("write_file: done");
    terminal.wait_until_ready();
    assert_eq!(sandbox.read("src/a.txt"), "two\n");
    (sandbox, terminal)
}

#[test]
fn escape_twice_lists_the_turns_and_brings_back_files_and_conversation() {
    let (sandbox, mut terminal) = start_session(&["-y"], 100);
    terminal.keys("\x1b").wait_for_new_text("Press Esc again to go back to an earlier turn");
    terminal.keys("\x1b").wait_for_new_text("Turns 2/2");
    let page = terminal.wait_for_new_text("src/a.txt +1 -1");
    assert!(page.contains("-two") && page.contains("+one"), "{page}");
    terminal.keys("\r").wait_for_new_text("1. Files and conversation");
    terminal.keys("1").wait_for_new_text("brought back src/a.txt");
    assert_eq!(sandbox.read("src/a.txt"), "one\n");
    // The prompt is back for editing, and the turn is removed from the history.
    let screen = terminal.wait_for_new_text("> call write_file");
    assert!(screen.contains("the conversation goes on from here"), "{screen}");
    terminal.wait_for_text("/restore 3 undoes this");
    terminal.keys("\x1b").wait_until_ready().keys("/restore 3 both\r").wait_for_new_text("/restore 4 undoes this");
    assert_eq!(sandbox.read("src/a.txt"), "two\n");
}

#[test]
fn files_alone_or_the_conversation_alone() {
    let (sandbox, mut terminal) = start_session(&["-y"], 100);
    terminal.keys("/restore\r").wait_for_new_text("Turns 2/2");
    terminal.keys("\r").wait_for_new_text("3. Conversation only");
    terminal.keys("3").wait_for_new_text("the conversation goes on from here");
    assert_eq!(sandbox.read("src/a.txt"), "two\n");
    terminal.keys("\x1b");
    terminal.wait_until_ready().keys("/restore 2 files\r").wait_for_new_text("brought back src/a.txt");
    assert_eq!(sandbox.read("src/a.txt"), "one\n");
}

#[test]
fn files_changed_since_are_asked_about_separately() {
    let (sandbox, mut terminal) = start_session(&["-y"], 100);
    sandbox.write("src/a.txt", "mine\n");
    terminal.keys("/restore\r").wait_for_new_text("changed since the agent's turn");
    terminal.keys("\r").wait_for_new_text("1. Files and conversation, and overwrite 1 changed since");
    terminal.keys("\x1b").wait_for_new_text("enter go back to before it");
    assert_eq!(sandbox.read("src/a.txt"), "mine\n");
    terminal.keys("\r").wait_for_new_text("2. Files only, and overwrite 1 changed since");
    terminal.keys("2").wait_for_new_text("brought back src/a.txt");
    assert_eq!(sandbox.read("src/a.txt"), "one\n");
}

#[test]
fn a_search_finds_a_turn_by_its_words_and_files() {
    let (_sandbox, mut terminal) = start_session(&["-y"], 100);
    terminal.keys("/restore\r").wait_for_new_text("Turns 2/2");
    terminal.keys("/hello").wait_for_new_text("Turns 1/2");
    terminal.keys("\x1b").wait_for_new_text("Turns 2/2");
    terminal.keys("/a.txt").wait_for_new_text("Turns 1/2");
    terminal.keys("\x1b\x1b");
    terminal.keys("\x1b");
    terminal.wait_until_ready();
}

#[test]
fn without_a_screen_it_is_lines() {
    let sandbox = sandbox();
    sandbox.write("src/a.txt", "one\n");
    let mut terminal = TestTerminal::sized(&sandbox, &["--screen-reader", "-y"], 120, 40);
    terminal.wait_for_new_text("Type your message");
    terminal.keys(EDIT).wait_for_new_text("write_file done");
    terminal.keys("/restore\r").wait_for_new_text("see what a restore would change: /restore NUMBER");
    terminal.keys("/restore 1\r").wait_for_new_text("go back: /restore 1 files");
    assert!(terminal.screen().contains("+one"));
    terminal.keys("/restore 1 both\r").wait_for_new_text("brought back src/a.txt");
    terminal.wait_for_new_text("the conversation goes on from before: call write_file");
    assert_eq!(sandbox.read("src/a.txt"), "one\n");
    terminal.keys("/restore 9 both\r").wait_for_new_text("there is no checkpoint 9");
    terminal.keys("/restore 1 nonsense\r").wait_for_new_text("this is written /restore");
}

#[test]
fn the_page_at_three_widths() {
    for columns in [40, 80, 200] {
        let (_sandbox, mut terminal) = start_session(&["-y"], columns);
        terminal.keys("/restore\r").wait_for_new_text("Turns 2/2");
        terminal.wait_for_new_text("src/a.txt +1 -1");
        terminal.keys("\r").wait_for_new_text("Nothing (esc)");
        let page: Vec<String> = terminal.screen().lines().map(|line| line.trim_end().to_owned()).collect();
        insta::assert_snapshot!(format!("restore_{columns}"), page.join("\n"));
    }
}
