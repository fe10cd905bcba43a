use base64::Engine as _;
use serde_json::json;

use super::{Terminal, sandbox};

/// A call that prints so many numbered lines.
fn prints(lines: usize) -> String {
    let command = format!("i=1; while [ $i -le {lines} ]; do echo row $i of many; i=$((i+1)); done");
    format!("call run_shell_command {{\"command\": \"{command}\"}}\r")
}

#[test]
fn an_output_is_opened_whole_searched_copied_and_left() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &["--yolo"]);
    terminal.ready().keys("\x0f").sees("there is nothing to open yet");
    terminal.keys(&prints(300)).sees("288 lines before (ctrl+o shows all)");
    terminal.ready().keys("\x0f");
    terminal.sees("row 1 of many\n");
    terminal.sees("1–28 of 300");
    terminal.keys("/row 177\r");
    terminal.sees("\nrow 177 of many\n");
    terminal.loses("\nrow 176 of many\n");
    assert!(terminal.raw().contains("\x1b[7mrow 177\x1b[0m"), "what is found is marked");
    terminal.keys("/nowhere\r").sees("`nowhere` is not in it");
    terminal.keys("G").sees("273–300 of 300");
    terminal.keys("y").sees("copied 300 lines");
    let text: String = (1..=300).map(|row| format!("row {row} of many\n")).collect();
    let raw = terminal.raw();
    let copied = raw.split("\x1b]52;c;").nth(1).unwrap().split('\x07').next().unwrap();
    let copied = base64::engine::general_purpose::STANDARD.decode(copied).unwrap();
    assert_eq!(String::from_utf8(copied).unwrap().trim_end(), text.trim_end());
    // What is typed here is no prompt.
    terminal.keys("\x1b[200~say pasted\x1b[201~q");
    let screen = terminal.ready().sees("> call run_shell_command");
    assert!(!screen.contains("pasted"), "{screen}");
    terminal.keys("say after it\r").sees("\nafter it");
}

#[test]
fn what_runs_can_be_looked_at_while_it_grows() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &["--yolo"]);
    let command = "i=1; while [ $i -le 60 ]; do echo early $i; i=$((i+1)); done; \
                   until [ -e go ]; do sleep 0.1; done; echo much later; until [ -e end ]; do sleep 0.1; done";
    terminal.ready().keys(&format!("call run_shell_command {{\"command\": \"{command}\"}}\r")).sees("early 60");
    terminal.keys("\x0f").sees("1/1  running: run_shell_command");
    terminal.sees("early 33\n");
    sandbox.write("go", "");
    terminal.sees("\nmuch later");
    terminal.keys("g").sees("early 1\n");
    sandbox.write("end", "");
    terminal.loses("running: ");
    terminal.sees("early 1\n");
    terminal.keys("\x1b");
    terminal.ready();
}

#[test]
fn nothing_in_an_output_reaches_the_terminal_but_its_words() {
    let sandbox = sandbox();
    sandbox.write("hostile", "\x1b[2Ja\x1b]52;c;aGFja2Vk\x07b\x1b[31mc\u{202e}d\x1b]0;title\x07e\u{9b}2Jf\n");
    let mut terminal = Terminal::start(&sandbox, &["--yolo"]);
    terminal.ready().keys("call run_shell_command {\"command\": \"cat hostile\"}\r").sees("✓ run_shell_command");
    terminal.ready().keys("\x0f").sees("q close");
    terminal.shows("abcdef\n");
    terminal.keys("/bcd\ry").sees("copied");
    terminal.keys("q").ready();
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
    let mut terminal = Terminal::start(&sandbox, &["--fake-responses", &replay]);
    terminal.ready().keys("go\r").sees("Allow once");
    terminal.keys("\x0f").sees("what is asked about");
    terminal.keys("G").sees(" 100 +let b100 = 100;");
    terminal.keys("q").sees("Allow once");
    terminal.keys("y").sees("\ndone");
    terminal.ready().keys("\x0f").sees("src/long.rs changed +100 -100");
    terminal.keys("\x1b[D").sees("thinking of 20");
    terminal.keys("\x1b[C").sees("src/long.rs changed +100 -100");
    terminal.keys("\x0f").loses("q close");
    terminal.ready().keys("/expand 2\r").sees("thinking of 20");
    terminal.keys("q");
    terminal.ready().keys("/expand 7\r").sees("there is no 7th card");
    terminal.ready().keys("/expand x\r").sees("write it as /expand");
}

#[test]
fn a_cancelled_command_leaves_what_it_printed() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &["--yolo"]);
    let call = "call run_shell_command {\"command\": \"echo half of it; sleep 60\"}\r";
    terminal.ready().keys(call).sees("\n  half of it");
    terminal.keys("\x1b").sees("\n  half of it\n  Cancelled");
    terminal.ready().keys("\x0f").sees("half of it\n[cancelled]");
    let mut terminal = Terminal::start(&sandbox, &["--yolo", "--screen-reader"]);
    terminal.sees("Type your message");
    terminal.keys(&call.replace("sleep 60", "touch printed; sleep 60"));
    hookwright_testkit::wait_until("it has printed", || sandbox.has("printed"));
    terminal.keys("\x03").sees("half of it\nrun_shell_command: Cancelled");
    terminal.keys("/expand\r").sees("half of it\n[cancelled]");
}

#[test]
fn in_lines_everything_is_shown_whole_on_demand() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &["--yolo", "--screen-reader"]);
    terminal.sees("Type your message");
    terminal.keys("/expand\r").sees("there is nothing to open yet");
    terminal.keys(&prints(20)).sees("run_shell_command done");
    terminal.keys("/expand\r").sees("row 1 of many\nrow 2 of many");
}

fn page(columns: u16) -> String {
    let sandbox = sandbox();
    let replay = replay(&sandbox);
    let mut terminal = Terminal::sized(&sandbox, &["--yolo", "--fake-responses", &replay], columns, 14);
    terminal.ready().keys("go\r").sees("\ndone");
    terminal.ready().keys("\x0f").sees("src/long.rs changed");
    terminal.keys("/b7\r").sees("+let b7");
    terminal.sees("108–119 of 201")
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
