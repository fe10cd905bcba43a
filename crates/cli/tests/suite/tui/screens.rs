use serde_json::json;

use super::{TestTerminal, sandbox};

const ANSWER: &str = "# Plan\n\n- first *item* with `code` and enough words to need another line somewhere\n- 日本語 and 👍\n\n\
| a | b |\n|---|---|\n| one | two |\n\n```rust\nlet x = 1; // one\n```\n";

fn replay(answers: &[serde_json::Value]) -> String {
    let line = |parts: &serde_json::Value| {
        let chunk = json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
        format!("{}\n", json!({"method": "generateContentStream", "response": [chunk]}))
    };
    answers.iter().map(line).collect()
}

fn screen(columns: u16) -> String {
    let sandbox = sandbox().env("NO_COLOR", "1");
    // The first session would say where the journal is, and that path is different each time.
    std::fs::create_dir_all(sandbox.home().join(".gemini/hookwright/journal")).unwrap();
    let command = sandbox.script("says.sh", r#"echo '{"systemMessage": "looks fine"}'"#);
    sandbox.user_settings(
        &json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "name": "scan", "command": command}]}]}}),
    );
    let call = json!({"functionCall": {"name": "write_file", "args": {"file_path": "a.txt", "content": "hello\n"}}});
    let file = sandbox.write("replay.jsonl", replay(&[json!([{"text": ANSWER}, call])]));
    let mut terminal = TestTerminal::sized(&sandbox, &["--fake-responses", file.to_str().unwrap()], columns, 40);
    terminal.wait_until_ready().keys("make a plan, please, and begin with the first file\r");
    // Down to the status line: a part of a frame may come before the rest.
    let screen = terminal.wait_for_new_text("a always allow …\ngemini-2.5-pro · asks first");
    let raw = terminal.raw();
    let coloured = |code: u8| raw.contains(&format!("\x1b[{code}m"));
    assert!(!(30..50).chain(90..108).any(coloured), "NO_COLOR: no colours");
    // The status line names the folder, which is different each time.
    let foot = |line: &str| {
        line.split_once(" · asks first")
            .map_or(line.trim_end().to_owned(), |(model, _)| format!("{model} · asks first …"))
    };
    screen.lines().map(foot).collect::<Vec<_>>().join("\n")
}

#[test]
fn forty_columns() {
    insta::assert_snapshot!(screen(40));
}

#[test]
fn eighty_columns() {
    insta::assert_snapshot!(screen(80));
}

#[test]
fn three_hundred_columns() {
    insta::assert_snapshot!(screen(300));
}

#[test]
fn a_resize_draws_everything_afresh() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("say some words that stay\r").wait_for_new_text("\nsome words that stay");
    terminal.wait_until_ready();
    let drawn = |terminal: &TestTerminal| terminal.everything().matches("Type your").count();
    let mut resized = |columns: u16, rows: u16| {
        let before = drawn(&terminal);
        terminal.resize(columns, rows);
        hookwright_testkit::wait_until("it is drawn afresh", || drawn(&terminal) > before);
        let screen = terminal.wait_for_text(&format!("\n{}\n>  Type", "─".repeat(usize::from(columns))));
        assert_eq!(screen.matches(">  Type").count(), 1, "{screen}");
        screen
    };
    for (columns, rows) in [(40, 20), (120, 40), (20, 10)] {
        resized(columns, rows);
    }
    let screen = resized(80, 30);
    assert_eq!(screen.matches("> say some words that stay").count(), 1, "{screen}");
}

/// Both have arrived when the program polls.
#[test]
fn a_key_that_comes_with_a_resize_counts_at_once() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready();
    for step in 1..=100_u16 {
        terminal.resize(60 + step % 20, 30);
        terminal.keys("x");
        let rest = usize::from(step % 50);
        terminal.wait_for_text(&format!("> {}\n", "x".repeat(if rest == 0 { 50 } else { rest })));
        if rest == 0 {
            terminal.keys("\x15").wait_for_new_text("Type your message");
        }
    }
}

#[test]
fn ten_thousand_lines_pass_by() {
    let sandbox = sandbox();
    let text: String = (0..10_000).map(|number| format!("- line {number}\n")).collect();
    let chunks: Vec<_> = text.as_bytes().chunks(4000).map(|piece| json!({"candidates": [{"content": {"role": "model", "parts": [{"text": String::from_utf8_lossy(piece)}]}}]})).collect();
    let replay = json!({"method": "generateContentStream", "response": chunks});
    let file = sandbox.write("replay.jsonl", format!("{replay}\n"));
    let mut terminal = TestTerminal::start(&sandbox, &["--fake-responses", file.to_str().unwrap()]);
    terminal.wait_until_ready().keys("much, please\r").wait_for_new_text("line 9999");
    terminal.wait_until_ready();
    let everything = terminal.everything();
    for number in [0, 5_000, 9_998] {
        assert!(everything.contains(&format!("• line {number}\r\n")), "line {number} is in the scrollback");
    }
}
