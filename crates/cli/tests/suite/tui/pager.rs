use base64::Engine as _;
use serde_json::json;

use super::{TestTerminal, sandbox};

/// A call that prints so many numbered lines.
fn print_lines_call(lines: usize) -> String {
    let command = format!("i=1; while [ $i -le {lines} ]; do echo row $i of many; i=$((i+1)); done");
    format!("call run_shell_command {{\"command\": \"{command}\"}}\r")
}

#[test]
fn an_output_is_opened_whole_searched_copied_and_left() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    terminal.wait_until_ready().keys("\x0f").wait_for_new_text("nothing to open yet");
    terminal.keys(&print_lines_call(300)).wait_for_new_text("288 lines before (ctrl+o shows all)");
    terminal.wait_until_ready().keys("\x0f");
    terminal.wait_for_new_text("row 1 of many\n");
    terminal.wait_for_new_text("1–28 of 300");
    terminal.keys("/row 177\r");
    terminal.wait_for_new_text("\nrow 177 of many\n");
    terminal.wait_until_gone("\nrow 176 of many\n");
    assert!(terminal.raw().contains("\x1b[7mrow 177\x1b[0m"), "what is found is marked");
    terminal.keys("/nowhere\r").wait_for_new_text("`nowhere` is not in it");
    terminal.keys("G").wait_for_new_text("273–300 of 300");
    terminal.keys("y").wait_for_new_text("copied 300 lines");
    let text: String = (1..=300).map(|row| format!("row {row} of many\n")).collect();
    let raw = terminal.raw();
    let copied = raw.split("\x1b]52;c;").nth(1).unwrap().split('\x07').next().unwrap();
    let copied = base64::engine::general_purpose::STANDARD.decode(copied).unwrap();
    assert_eq!(String::from_utf8(copied).unwrap().trim_end(), text.trim_end());
    // Keys typed here are not a prompt.
    terminal.keys("\x1b[200~say pasted\x1b[201~q");
    let screen = terminal.wait_until_ready().wait_for_new_text("> call run_shell_command");
    assert!(!screen.contains("pasted"), "{screen}");
    terminal.keys("say after it\r").wait_for_new_text("\nafter it");
}

#[test]
fn the_pager_follows_a_growing_output() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    let command = "i=1; while [ $i -le 60 ]; do echo early $i; i=$((i+1)); done; \
                   until [ -e go ]; do sleep 0.1; done; echo much later; until [ -e end ]; do sleep 0.1; done";
    terminal
        .wait_until_ready()
        .keys(&format!("call run_shell_command {{\"command\": \"{command}\"}}\r"))
        .wait_for_new_text("early 60");
    terminal.keys("\x0f").wait_for_new_text("1/1  running: run_shell_command");
    terminal.wait_for_new_text("early 33\n");
    sandbox.write("go", "");
    terminal.wait_for_new_text("\nmuch later");
    terminal.keys("g").wait_for_new_text("early 1\n");
    sandbox.write("end", "");
    terminal.wait_until_gone("running: ");
    terminal.wait_for_new_text("early 1\n");
    terminal.keys("\x1b");
    terminal.wait_until_ready();
}

#[test]
fn nothing_in_an_output_reaches_the_terminal_but_its_words() {
    let sandbox = sandbox();
    sandbox.write("hostile", "\x1b[2Ja\x1b]52;c;aGFja2Vk\x07b\x1b[31mc\u{202e}d\x1b]0;title\x07e\u{9b}2Jf\n");
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    terminal
        .wait_until_ready()
        .keys("call run_shell_command {\"command\": \"cat hostile\"}\r")
        .wait_for_new_text("✓ run_shell_command");
    terminal.wait_until_ready().keys("\x0f").wait_for_new_text("q close");
    terminal.wait_for_text("abcdef\n");
    terminal.keys("/bcd\ry").wait_for_new_text("copied");
    terminal.keys("q").wait_until_ready();
    let raw = terminal.raw();
    for hostile in ["aGFja2Vk", "\x1b]0;title", "\u{202e}", "\u{9b}"] {
        assert!(!raw.contains(hostile), "{hostile:?} came through");
    }
}

/// An edit and a thought, as a model would give them.
fn replay(sandbox: &hookwright_testkit::Sandbox) -> String {
    let old: String = (1..=100).map(|row| format!("let a{row} = {row};\n")).collect();
    sandbox.write("src/long.rs", &old);
    let new: String = (1..=100).map(|row| format!("let b{row} = {row};\n")).collect();
    let thought: String = (1..=40).map(|row| format!("thinking of {row}\n")).collect();
    let call = json!({"functionCall": {"name": "write_file", "args": {"file_path": "src/long.rs", "content": new}}});
    let answer = |parts: serde_json::Value| {
        let candidates = json!([{"content": {"role": "model", "parts": parts}}]);
        json!({"method": "generateContentStream", "response": [{"candidates": candidates}]})
    };
    let first = answer(json!([{"text": thought, "thought": true}, call]));
    let replay = format!("{first}\n{}\n", answer(json!([{"text": "done"}])));
    sandbox.write("replay.jsonl", replay).to_str().unwrap().to_owned()
}

#[test]
fn questions_diffs_and_thoughts_are_opened_too() {
    let sandbox = sandbox();
    let replay = replay(&sandbox);
    let mut terminal = TestTerminal::start(&sandbox, &["--fake-responses", &replay]);
    terminal.wait_until_ready().keys("go\r").wait_for_new_text("Allow once");
    terminal.keys("\x0f").wait_for_new_text("what is asked about");
    terminal.keys("G").wait_for_new_text(" 100 +let b100 = 100;");
    terminal.keys("q").wait_for_new_text("Allow once");
    terminal.keys("y").wait_for_new_text("\ndone");
    terminal.wait_until_ready().keys("\x0f").wait_for_new_text("src/long.rs changed +100 -100");
    terminal.keys("\x1b[D").wait_for_new_text("thinking of 20");
    terminal.keys("\x1b[C").wait_for_new_text("src/long.rs changed +100 -100");
    terminal.keys("\x0f").wait_until_gone("q close");
    terminal.wait_until_ready().keys("/expand 2\r").wait_for_new_text("thinking of 20");
    terminal.keys("q");
    terminal.wait_until_ready().keys("/expand 7\r").wait_for_new_text("there is no 7th card");
    terminal.wait_until_ready().keys("/expand x\r").wait_for_new_text("write it as /expand");
}

#[test]
fn a_cancelled_command_leaves_what_it_printed() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    let call = "call run_shell_command {\"command\": \"echo half of it; sleep 60\"}\r";
    terminal.wait_until_ready().keys(call).wait_for_new_text("\n  half of it");
    terminal.keys("\x1b").wait_for_new_text("\n  half of it\n  Cancelled");
    terminal.wait_until_ready().keys("\x0f").wait_for_new_text("half of it\n[cancelled]");
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo", "--screen-reader"]);
    terminal.wait_for_new_text("Type your message");
    terminal.keys(&call.replace("sleep 60", "touch printed; sleep 60"));
    hookwright_testkit::wait_until("it has printed", || sandbox.has_file("printed"));
    terminal.keys("\x03").wait_for_new_text("half of it\nrun_shell_command: Cancelled");
    terminal.keys("/expand\r").wait_for_new_text("half of it\n[cancelled]");
}

#[test]
fn in_lines_everything_is_shown_whole_on_demand() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo", "--screen-reader"]);
    terminal.wait_for_new_text("Type your message");
    terminal.keys("/expand\r").wait_for_new_text("nothing to open yet");
    terminal.keys(&print_lines_call(20)).wait_for_new_text("run_shell_command done");
    terminal.keys("/expand\r").wait_for_new_text("row 1 of many\nrow 2 of many");
}

fn page(columns: u16) -> String {
    let sandbox = sandbox();
    let replay = replay(&sandbox);
    let mut terminal = TestTerminal::sized(&sandbox, &["--yolo", "--fake-responses", &replay], columns, 14);
    terminal.wait_until_ready().keys("go\r").wait_for_new_text("\ndone");
    terminal.wait_until_ready().keys("\x0f").wait_for_new_text("src/long.rs changed");
    terminal.keys("/b7\r").wait_for_new_text("+let b7");
    terminal.wait_for_new_text("108–119 of 201")
}

#[test]
fn a_page_in_forty_columns() {
    insta::assert_snapshot!(page(40));
}

#[test]
fn a_page_in_eighty_columns() {
    insta::assert_snapshot!(page(80));
}

#[test]
fn a_page_in_two_hundred_columns() {
    insta::assert_snapshot!(page(200));
}
