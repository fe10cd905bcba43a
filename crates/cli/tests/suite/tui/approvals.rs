use serde_json::json;

use super::{TestTerminal, sandbox};

const CALL: &str = "call run_shell_command {\"command\": \"echo made > made.txt\"}\r";

#[test]
fn y_and_1_allow() {
    for key in ["y", "1", "\r"] {
        let sandbox = sandbox();
        let mut terminal = TestTerminal::start(&sandbox, &[]);
        terminal.wait_until_ready().keys(CALL).wait_for_new_text("Allow once");
        assert!(terminal.screen().contains("echo made > made.txt"));
        terminal.keys(key);
        terminal.wait_until_ready();
        assert_eq!(sandbox.read("made.txt"), "made\n", "{key:?}");
    }
}

#[test]
fn the_last_number_and_escape_cancel() {
    for key in ["5", "\x1b"] {
        let sandbox = sandbox();
        let mut terminal = TestTerminal::start(&sandbox, &[]);
        terminal.wait_until_ready().keys(CALL).wait_for_new_text("5. Cancel");
        terminal.keys(key);
        terminal.wait_for_new_text("Cancelled");
        terminal.wait_until_ready();
        assert!(!sandbox.has_file("made.txt"));
    }
}

#[test]
fn a_denial_takes_a_word_to_the_model() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys(CALL).wait_for_new_text("Allow once");
    terminal.keys("4");
    terminal.wait_for_new_text("A word to the model");
    terminal.keys("use another file\r");
    terminal.wait_for_new_text("the user did not allow this: use another file");
    terminal.wait_until_ready();
    assert!(!sandbox.has_file("made.txt"));
}

#[test]
fn a_command_is_edited_before_it_runs() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys(CALL).wait_for_new_text("Allow once");
    terminal.keys("3");
    terminal.wait_for_new_text("Edit, then Enter");
    terminal.keys("\x15echo edited > made.txt\r");
    terminal.wait_until_ready();
    assert_eq!(sandbox.read("made.txt"), "edited\n");
}

#[test]
fn an_edit_shows_its_diff_and_a_session_is_not_asked_twice() {
    let sandbox = sandbox();
    sandbox.write("a.txt", "one\ntwo\n");
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal
        .wait_until_ready()
        .keys("call write_file {\"file_path\": \"a.txt\", \"content\": \"one\\nthree\\n\"}\r")
        .wait_for_new_text("Allow once");
    let screen = terminal.screen();
    assert!(screen.contains("-two") && screen.contains("+three"), "{screen}");
    terminal.keys("2");
    terminal.wait_until_ready().keys("call write_file {\"file_path\": \"b.txt\", \"content\": \"new\"}\r");
    terminal.wait_for_new_text("b.txt new file +1");
    terminal.wait_until_ready();
    assert_eq!(sandbox.read("b.txt"), "new");
}

#[test]
fn a_hook_that_asks_is_named_with_its_reason() {
    let sandbox = sandbox();
    let command = sandbox.script("asks.sh", r#"echo '{"decision": "ask", "reason": "this looks risky"}'"#);
    sandbox.settings(
        &json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "doubter", "command": command}]}]}}),
    );
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    terminal.wait_until_ready().keys(CALL).wait_for_new_text("hook doubter wants you to decide: this looks risky");
    // Ctrl+W tells the story of the call that waits.
    terminal.keys("\x17").wait_for_new_text("said ask: this looks risky");
    terminal.keys("q").wait_for_new_text("hook doubter wants you to decide");
    terminal.keys("y");
    terminal.wait_until_ready();
    assert!(sandbox.has_file("made.txt"));
}

#[test]
fn the_approval_request_shows_the_rewritten_call() {
    let sandbox = sandbox();
    let command = sandbox
        .script("rewrites.sh", r#"echo '{"hookSpecificOutput": {"tool_input": {"command": "echo safe > made.txt"}}}'"#);
    sandbox.settings(
        &json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "tamer", "command": command}]}]}}),
    );
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal
        .wait_until_ready()
        .keys(CALL)
        .wait_for_new_text("hooks changed command: echo made > made.txt → echo safe > made.txt");
    terminal.wait_for_new_text("  echo safe > made.txt\n");
    terminal.keys("\x1b[B\x1b[A\r");
    terminal.wait_until_ready().wait_for_new_text("(hooks changed command)");
    assert_eq!(sandbox.read("made.txt"), "safe\n");
}

#[test]
fn yolo_mode_cannot_be_entered_by_accident() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready();
    for mode in ["· auto-edit ·", "· plan ·", "· asks first ·", "· auto-edit ·"] {
        terminal.keys("\x1b[Z");
        terminal.wait_for_new_text(mode);
    }
    let mut terminal = TestTerminal::start(&sandbox, &["-y"]);
    terminal.wait_until_ready();
    terminal.wait_for_new_text("· yolo ·");
    terminal.keys("\x1b[Z");
    terminal.wait_for_new_text("· asks first ·");
}

#[test]
fn settings_that_cannot_be_read_are_asked_about() {
    let sandbox = sandbox();
    sandbox.write(".gemini/settings.json", "{ \"hooks\": {");
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_for_new_text("Go on without these settings?");
    terminal.keys("\r");
    assert_eq!(terminal.wait_for_exit(), 52);
    let mut terminal = TestTerminal::start(&sandbox, &["-y"]);
    terminal.wait_for_new_text("Go on without these settings?");
    terminal.keys("2");
    terminal.wait_for_new_text("not yolo");
    let said: String = terminal.everything().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("so the approval mode is default, not yolo"), "{said}");
    terminal.wait_for_new_text("· asks first ·");
}

#[test]
fn a_guard_is_asked_about_every_time_in_yolo_too() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["-y"]);
    for content in ["one", "two"] {
        let call = format!("call write_file {{\"file_path\": \".gemini/hooks/a.sh\", \"content\": \"{content}\"}}\r");
        terminal.wait_until_ready().keys(&call).wait_for_new_text("is protected: guards are made of it");
        let screen = terminal.screen();
        assert!(!screen.contains("for this session") && screen.contains("4. Cancel"), "{screen}");
        terminal.keys("y");
        terminal.wait_until_ready();
        assert_eq!(sandbox.read(".gemini/hooks/a.sh"), content);
    }
}

#[test]
fn invisible_characters_are_escaped_in_approval_requests() {
    let sandbox = sandbox();
    let call = r#"call run_shell_command {"description": "lists", "command": "echo a\u202eb \u001b[2K\u200bc\rd"}"#;
    for mode in [&[][..], &["--screen-reader"]] {
        let mut terminal = TestTerminal::start(&sandbox, mode);
        terminal.wait_for_new_text("Type your message");
        terminal.keys(call).keys("\r");
        terminal.wait_for_new_text(r"echo a\u{202e}b \u{1b}[2K\u{200b}c\rd");
    }
}

/// Two calls in one answer, on two files of the same name.
fn two_edits(sandbox: &hookwright_testkit::Sandbox) -> String {
    sandbox.write("a/b/index.ts", "const one = 1;\nconst two = 2; // no more\n");
    sandbox.write("c/index.ts", "let x;\n");
    let call = |name: &str, args: serde_json::Value| json!({"functionCall": {"name": name, "args": args}});
    let parts = json!([
        call(
            "replace",
            json!({"file_path": "a/b/index.ts", "instruction": "count further", "old_string": "two = 2", "new_string": "two = \"zwei\""})
        ),
        call("write_file", json!({"file_path": "c/index.ts", "content": "let y;\n"})),
    ]);
    let answer = |parts: serde_json::Value| json!({"method": "generateContentStream", "response": [{"candidates": [{"content": {"role": "model", "parts": parts}}]}]});
    let replay = format!("{}\n{}\n", answer(parts), answer(json!([{"text": "done"}])));
    sandbox.write("replay.jsonl", replay).to_str().unwrap().to_owned()
}

#[test]
fn an_edit_is_asked_about_with_its_path_numbers_description_and_place() {
    let sandbox = sandbox();
    let replay = two_edits(&sandbox);
    let mut terminal = TestTerminal::start(&sandbox, &["--fake-responses", &replay]);
    terminal.wait_until_ready().keys("go\r").wait_for_new_text("Allow once");
    let screen = terminal.screen();
    for wanted in [
        "call 1 of 2",
        "the model says: count further",
        "  a/b/index.ts changed +1 -1",
        "2 -const two = 2;",
        "2 +const two = \"zwei\";",
    ] {
        assert!(screen.contains(wanted), "no {wanted:?}:\n{screen}");
    }
    // A keyword, a string and a comment in colours of their own.
    let raw = terminal.raw();
    assert!(raw.contains("\x1b[34mconst\x1b[0m") && raw.contains("\x1b[32m\"zwei\"\x1b[0m"), "{raw:?}");
    terminal.keys("y");
    terminal.wait_for_new_text("  c/index.ts changed +1 -1");
    terminal.wait_for_new_text("call 2 of 2");
    terminal.keys("y");
    terminal.wait_for_new_text("\ndone");
    terminal.wait_until_ready();
    assert_eq!(sandbox.read("c/index.ts"), "let y;\n");
}

#[test]
fn an_edit_is_asked_about_in_lines_too() {
    let sandbox = sandbox();
    let replay = two_edits(&sandbox);
    let mut terminal = TestTerminal::start(&sandbox, &["--fake-responses", &replay, "--screen-reader"]);
    terminal.wait_for_new_text("Type your message");
    terminal.keys("go\r").wait_for_new_text("1 or y: allow once");
    let screen = terminal.screen();
    for wanted in ["call 1 of 2", "the model says: count further", "a/b/index.ts changed +1 -1", "2 -const two = 2;"] {
        assert!(screen.contains(wanted), "no {wanted:?}:\n{screen}");
    }
    assert!(!terminal.raw().contains('\x1b'));
}

#[test]
fn the_text_of_a_file_is_edited_before_it_is_written() {
    let sandbox = sandbox();
    sandbox.script("editor", "case $1 in *.txt) sed 's/two/zwei/' \"$1\" > \"$1.new\"; cat \"$1.new\" > \"$1\";; esac");
    let editor = sandbox.project().join(".gemini/hooks/editor").display().to_string();
    let sandbox = sandbox.env("EDITOR", &editor);
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal
        .wait_until_ready()
        .keys("call write_file {\"file_path\": \"n/a.txt\", \"content\": \"one\\ntwo\"}\r")
        .wait_for_new_text("Allow once");
    terminal.keys("e");
    let screen = terminal.wait_for_new_text("> one\n  two");
    let written = screen.split("Edit, then Enter").nth(1).unwrap();
    assert!(!written.contains("content"), "{screen}");
    terminal.keys("\x18");
    terminal.wait_for_new_text("  zwei");
    terminal.keys("!\r");
    terminal.wait_until_ready();
    assert_eq!(sandbox.read("n/a.txt"), "one\nzwei!");
}

#[test]
fn a_command_is_written_anew_in_lines() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["--screen-reader"]);
    terminal.wait_for_new_text("Type your message");
    terminal.keys(CALL).wait_for_new_text("3, with another command: run that instead.");
    terminal.keys("3 echo anew > made.txt\r");
    hookwright_testkit::wait_until("it runs", || sandbox.has_file("made.txt") && sandbox.read("made.txt") == "anew\n");
}

/// Returns the approval request for an edit that a hook changed, down to the status line.
fn question(columns: u16) -> String {
    let sandbox = sandbox();
    let replay = two_edits(&sandbox);
    let change = r#"{"hookSpecificOutput": {"tool_input": {"new_string": "two = 'deux'"}}}"#;
    let command = sandbox.script("change.sh", &format!("cat > /dev/null; cat <<'END'\n{change}\nEND"));
    let hook = json!({"type": "command", "name": "french", "command": command});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "replace", "hooks": [hook]}]}}));
    let mut terminal = TestTerminal::sized(&sandbox, &["--fake-responses", &replay], columns, 30);
    terminal.wait_until_ready().keys("go\r").wait_for_new_text("Cancel the turn");
    let screen = terminal.wait_for_new_text("this is what will run");
    let from = screen.find("? Allow").unwrap();
    let to = screen.rfind("(esc)").unwrap();
    screen[from..to].to_owned()
}

#[test]
fn a_question_in_forty_columns() {
    insta::assert_snapshot!(question(40));
}

#[test]
fn a_question_in_eighty_columns() {
    insta::assert_snapshot!(question(80));
}

#[test]
fn a_question_in_two_hundred_columns() {
    insta::assert_snapshot!(question(200));
}

#[test]
fn the_selection_is_visible_in_the_smallest_window() {
    let sandbox = sandbox();
    let content = format!("{}the end", "a long line that a narrow window wraps\n".repeat(9));
    let call = format!("call write_file {}\r", serde_json::json!({"file_path": "z.txt", "content": content}));
    let mut terminal = TestTerminal::sized(&sandbox, &[], 80, 24);
    terminal.wait_until_ready().keys(&call).wait_for_new_text("› 1. Allow once");
    terminal.resize(20, 5);
    terminal.wait_for_new_text("more lines");
    let screen = terminal.wait_for_text("› 1. Allow once");
    assert!(screen.contains("? Allow WriteFile?"), "{screen}");
    terminal.keys("\x1b[B").wait_for_new_text("› 2. Allow WriteFi");
    terminal.keys("3").wait_for_new_text("  the end");
    terminal.keys("\x1b").wait_for_new_text("› 3. Edit before");
    terminal.keys("a").wait_for_new_text("› 1. ");
    terminal.resize(12, 3);
    terminal.wait_for_new_text("› 1.");
    assert!(!sandbox.has_file("z.txt"));
    // A key that arrives together with a resize may not be read until the next one.
    terminal.resize(80, 24);
    terminal.wait_for_new_text("› 1. edits in this project");
    terminal.keys("\x1b").wait_for_new_text("› 3. Edit before it runs");
    terminal.keys("\x1b").wait_for_new_text("Cancelled");
}

#[test]
fn a_reply_of_the_terminal_answers_no_question() {
    let sandbox = sandbox();
    let call = format!("call write_file {}\r", serde_json::json!({"file_path": "z.txt", "content": "z"}));
    let replies =
        ["\x1b]11;rgb:1111/1111/1111\x1b\\", "\x1b[>1;10;0c", "\x1bP>|xterm(1)\x1b\\", "\x1bP1$r1m\x1b\\", "\x1by"];
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys(&call).wait_for_new_text("› 1. Allow once");
    for reply in replies {
        terminal.keys(reply);
    }
    terminal.keys("\x1b[B").wait_for_new_text("› 2. Allow WriteFile");
    assert!(!sandbox.has_file("z.txt"));
    terminal.keys("\x1b").wait_for_new_text("Cancelled");
    assert!(!sandbox.has_file("z.txt"));
}

/// What is allowed for the session is not asked again, even if a hook asks; another call is.
#[test]
fn a_sessions_approval_holds_for_the_same_call_of_a_hook_that_asks() {
    let sandbox = sandbox();
    let command = sandbox.script("asks.sh", r#"echo '{"decision": "ask", "reason": "this looks risky"}'"#);
    sandbox.settings(
        &json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "name": "doubter", "command": command}]}]}}),
    );
    let call = |text: &str, file: &str| {
        format!("call run_shell_command {{\"command\": \"echo {text} >> {file}\", \"description\": \"{text}\"}}\r")
    };
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys(&call("x", "a.txt")).wait_for_new_text("Allow exactly this for this session");
    terminal.keys("2");
    terminal.wait_until_ready().blank();
    terminal.keys(&call("x", "a.txt")).wait_for_new_text("run_shell_command: done");
    terminal.wait_until_ready();
    assert_eq!(sandbox.read("a.txt"), "x\nx\n");
    terminal.keys(&call("y", "a.txt")).wait_for_new_text("hook doubter wants you to decide");
    terminal.keys("\x1b");
    terminal.wait_until_ready();
}

/// A sentence, however slowly it is typed, stores no permanent rule and runs nothing.
#[test]
fn a_sentence_typed_at_the_dialog_approves_nothing() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    let call = "call run_shell_command {\"command\": \"touch made.txt\"}\r";
    terminal.wait_until_ready().keys(call).wait_for_new_text("a always allow");
    for key in ["m", "a", "y", "b", "e", " ", "1", "\r"] {
        terminal.keys(key);
        std::thread::sleep(std::time::Duration::from_millis(650));
    }
    assert!(terminal.screen().contains("Allow once (y)") && !sandbox.has_file("made.txt"));
    // The permanent rule is confirmed.
    terminal.keys("a").wait_for_new_text("Always allow, in this project");
    terminal.keys("1").wait_for_new_text("y yes, always");
    terminal.keys("\r");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!sandbox.has_file("made.txt"));
    terminal.keys("y").wait_for_new_text("always allowed in this project");
    terminal.wait_until_ready();
    assert!(sandbox.has_file("made.txt"));
}

/// What only reads files of the project runs unasked, by its effects and not by the program's name.
#[test]
fn commands_that_certainly_only_read_the_project_run_unasked() {
    let sandbox = sandbox();
    sandbox.write("seen.txt", "seen\n");
    let call = |command: &str| format!("call run_shell_command {{\"command\": \"{command}\"}}\r");
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    for command in ["ls", "cat seen.txt | head -n 1"] {
        terminal.wait_until_ready().blank();
        terminal.keys(&call(command)).wait_for_new_text("✓ run_shell_command");
    }
    for command in ["ls /etc", "cat ../x", "ls > list.txt", "sort -o seen.txt seen.txt", "make"] {
        terminal.wait_until_ready().blank();
        terminal.keys(&call(command)).wait_for_new_text("Allow once");
        terminal.keys("\x1b").wait_for_new_text("Cancelled");
    }
    terminal.wait_until_ready();
}

/// A failing guard does not hide from the user what it blocked; a hook that redacts does.
#[test]
fn what_a_failing_guard_blocked_is_shown() {
    let sandbox = sandbox();
    let redacts = r#"{"decision": "deny", "reason": "secret", "hookSpecificOutput": {"redact_input": true}}"#;
    let broken = sandbox.script("broken.sh", &format!("case $(cat) in *hidden*) echo '{redacts}';; *) exit 1;; esac"));
    sandbox.settings(&json!({"hooks": {"BeforeTool": [{"hooks": [
        {"type": "command", "name": "broken", "guard": true, "command": broken}]}]}}));
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    terminal.wait_until_ready().keys(CALL).wait_for_new_text("✗ run_shell_command echo made > made.txt");
    terminal.wait_until_ready().keys("call run_shell_command {\"command\": \"echo hidden\"}\r");
    terminal.wait_for_new_text("✗ run_shell_command [redacted]");
    terminal.wait_until_ready();
}
