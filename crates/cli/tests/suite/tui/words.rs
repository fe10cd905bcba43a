//! The wording and keys that scripts made for Gemini CLI rely on, and the messages in plain lines.

use serde_json::{Value, json};

use super::{COMPOSER, TestTerminal, sandbox};

const MODES: [&[&str]; 2] = [&[], &["--screen-reader"]];
const CALL: &str = "call run_shell_command {\"command\": \"echo made > made.txt\"}\r";

#[test]
fn the_placeholder_stands_behind_two_blanks() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready();
    assert!(terminal.screen().contains(&format!(">  {COMPOSER}")), "{}", terminal.screen());
    terminal.keys("x").wait_for_new_text("\n> x");
}

#[test]
fn four_and_enter_end_in_a_call_that_did_not_run() {
    for keys in [&[("4", "A word to the model"), ("\r", "Cancelled")][..], &[("\x1b", "Cancelled")]] {
        let sandbox = sandbox();
        let mut terminal = TestTerminal::start(&sandbox, &[]);
        terminal.wait_until_ready().keys(CALL).wait_for_new_text("Allow once");
        for (key, shown) in keys {
            terminal.keys(key).wait_for_new_text(shown);
        }
        terminal.wait_until_ready();
        assert!(!sandbox.has_file("made.txt"), "{keys:?}");
    }
}

#[test]
fn compressing_says_the_known_words() {
    for mode in MODES {
        let sandbox = sandbox();
        let mut terminal = TestTerminal::start(&sandbox, mode);
        terminal.wait_for_new_text(COMPOSER);
        terminal.keys("/compress\r").wait_for_new_text("Nothing to compress.");
        terminal.keys("say one\r").wait_for_new_text("\none");
        for at in 0..3 {
            terminal
                .keys(&format!("say reply-{at} {}\r", "many words ".repeat(20)))
                .wait_for_new_text(&format!("\nreply-{at}"));
        }
        terminal.keys("/compress\r");
        terminal.wait_for_new_text("Chat history compressed");
    }
}

#[test]
fn leaving_says_goodbye_and_hooks_are_told_how_it_was_left() {
    for (keys, reason) in [("\x04", "prompt_input_exit"), ("/quit\r", "exit"), ("\x03\x03", "exit")] {
        for mode in MODES {
            // In plain lines, Ctrl-C is a signal.
            if keys == "\x03\x03" && !mode.is_empty() {
                continue;
            }
            let sandbox = sandbox();
            let command = sandbox.script("end.sh", "cat > \"$GEMINI_PROJECT_DIR/ended\"");
            sandbox.settings(&json!({"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": command}]}]}}));
            let mut terminal = TestTerminal::start(&sandbox, mode);
            terminal.wait_for_new_text(COMPOSER);
            terminal.keys(keys);
            assert_eq!(terminal.wait_for_exit(), 0, "{keys:?} {mode:?}");
            let raw = terminal.raw();
            assert!(raw.contains("Agent powering down. Goodbye!"), "{keys:?} {mode:?}: {raw}");
            let told: Value = serde_json::from_str(&sandbox.read("ended")).unwrap();
            assert_eq!(told["reason"], reason, "{keys:?} {mode:?}");
        }
    }
}

#[test]
fn hooks_that_delay_or_outlive_the_end_are_reported() {
    for mode in MODES {
        let sandbox = sandbox();
        sandbox.settings(&json!({"hooksConfig": {"sessionEndGrace": 1200}, "hooks": {"SessionEnd": [{"hooks": [
            {"type": "command", "name": "slow", "command": "sleep 600"}]}]}}));
        let mut terminal = TestTerminal::start(&sandbox, mode);
        terminal.wait_for_new_text(COMPOSER);
        terminal.keys("/quit\r");
        terminal.wait_for_new_text("waiting for SessionEnd hooks (slow), 1.2 s at most");
        assert_eq!(terminal.wait_for_exit(), 0);
        let raw = terminal.raw().replace("\r\n", " ");
        assert!(raw.contains("was still running at the end of the"), "{mode:?}: {raw}");
    }
}

/// A failed command has no tick, and shows its exit code.
#[test]
fn a_failed_command_looks_failed() {
    for (mode, shown) in MODES.iter().zip(["✗ run_shell_command", "run_shell_command failed, exit code 2"]) {
        let sandbox = sandbox();
        let mut terminal = TestTerminal::start(&sandbox, &[&["--yolo"], *mode].concat());
        terminal.wait_for_new_text(COMPOSER);
        terminal.keys("call run_shell_command {\"command\": \"ls /nonexistent\"}\r");
        terminal.wait_for_new_text(shown);
        terminal.wait_for_new_text("exit code 2");
        assert!(!terminal.everything().contains("✓"), "{}", terminal.everything());
        terminal.keys("!false\r").wait_for_new_text("exit code 1");
        assert!(!terminal.everything().contains("✓"), "{}", terminal.everything());
        terminal.keys("!true\r");
        terminal.wait_for_new_text(if mode.is_empty() { "✓" } else { "! done" });
    }
}

#[test]
fn custom_commands_are_in_the_help_and_read_again_by_themselves() {
    for mode in MODES {
        let sandbox = sandbox();
        sandbox.write(".gemini/commands/git/commit.toml", "prompt = \"say committing\"\n");
        sandbox.write(".gemini/commands/bad.toml", "prompt = \n");
        let mut terminal = TestTerminal::start(&sandbox, mode);
        terminal.wait_for_new_text("bad.toml:1");
        terminal.wait_for_new_text(COMPOSER);
        // Lines end with the last group, the screen begins with the first one.
        terminal.keys("/help\r").wait_for_new_text(if mode.is_empty() { "/git:commit" } else { "/quit: " });
        assert!(terminal.everything().contains("custom command from commit.toml"), "{}", terminal.everything());
        assert!(terminal.everything().contains("/hooks disable NAME"), "{}", terminal.everything());
        if mode.is_empty() {
            terminal.keys("q").wait_for_new_text(COMPOSER);
        }
        // The time or the size of the file differs.
        sandbox.write(".gemini/commands/git/later.toml", "prompt = \"say later on\"\n");
        terminal.wait_for_new_text("custom commands: added /git:later");
        terminal.keys("/git:later\r").wait_for_new_text("later on");
        sandbox.write(".gemini/commands/bad.toml", "description = \"good now\"\nprompt = \"say well\"\n");
        terminal.wait_for_new_text("custom commands: added /bad");
        std::fs::remove_file(sandbox.project().join(".gemini/commands/git/commit.toml")).unwrap();
        terminal.wait_for_new_text("custom commands: removed /git:commit");
        sandbox.write(".gemini/commands/git/later.toml", "prompt = broken\n");
        terminal.wait_for_new_text("later.toml:1");
        terminal.keys("/git:later\r").wait_for_new_text("later.toml:1:10:");
    }
}

#[test]
fn the_menu_describes_custom_commands() {
    let sandbox = sandbox();
    sandbox.write(".gemini/commands/review.toml", "prompt = \"say x\"\n");
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/rev").wait_for_new_text("custom command from review.toml");
}

#[test]
fn without_hooks_the_next_step_is_said() {
    for mode in MODES {
        let sandbox = sandbox();
        let mut terminal = TestTerminal::start(&sandbox, mode);
        terminal.wait_for_new_text(COMPOSER);
        terminal.keys("/hooks\r");
        terminal.wait_for_new_text("hookwright hooks add EXAMPLE");
    }
}

#[test]
fn the_foot_counts_hooks_that_can_run() {
    let sandbox = sandbox();
    let hook = |name: &str, command: &str| json!({"type": "command", "name": name, "command": command});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [
        {"hooks": [hook("fine", "true"), hook("gone", "no-such-program")]},
        {"matcher": "run_shell_comand", "hooks": [hook("typo", "true")]}]}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready();
    let screen = terminal.wait_for_new_text("1 hook");
    assert!(!screen.contains("3 hooks"), "{screen}");
}

#[test]
fn tools_are_names_and_tools_desc_describes_them() {
    let sandbox = sandbox();
    let names = sandbox.run(&["-p", "/tools"]).expect_exit_code(0).stdout;
    assert!(names.lines().any(|line| line == "read_file"), "{names}");
    let described = sandbox.run(&["-p", "/tools desc"]).expect_exit_code(0).stdout;
    assert!(described.len() > 4 * names.len(), "{described}");
}

/// The input of hooks for an approval request, in Gemini CLI's form.
#[test]
fn a_notification_tells_what_is_asked_about() {
    let sandbox = sandbox();
    sandbox.write("a.txt", "old\n");
    let command = sandbox.script("note.sh", "cat > \"$GEMINI_PROJECT_DIR/note.tmp\"; mv note.tmp note.json");
    sandbox.settings(&json!({"hooks": {"Notification": [{"hooks": [{"type": "command", "command": command}]}]}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    let mut details = |call: &str| -> Value {
        let _ = std::fs::remove_file(sandbox.project().join("note.json"));
        terminal.wait_until_ready().keys(&format!("call {call}\r")).wait_for_new_text("Allow once");
        hookwright_testkit::wait_until("the hook is told", || sandbox.has_file("note.json"));
        terminal.keys("\x1b").wait_until_gone("Allow once");
        terminal.wait_until_ready();
        let told: Value = serde_json::from_str(&sandbox.read("note.json")).unwrap();
        told["details"].clone()
    };
    let exec = details(r#"run_shell_command {"command": "cd . && touch x"}"#);
    assert_eq!((&exec["type"], &exec["title"]), (&json!("exec"), &json!("Confirm Shell Command")));
    assert_eq!((&exec["command"], &exec["rootCommand"]), (&json!("cd . && touch x"), &json!("cd, touch")));
    assert_eq!(
        (&exec["tool_name"], &exec["tool_input"]["command"]),
        (&json!("run_shell_command"), &json!("cd . && touch x"))
    );
    let edit = details(r#"write_file {"file_path": "a.txt", "content": "new\n"}"#);
    assert_eq!((&edit["type"], &edit["fileName"]), (&json!("edit"), &json!("a.txt")));
    assert_eq!((&edit["originalContent"], &edit["newContent"]), (&json!("old\n"), &json!("new\n")));
    assert_eq!(edit["filePath"], sandbox.project().join("a.txt").to_str().unwrap());
    assert!(edit["fileDiff"].as_str().unwrap().contains("+new"), "{edit}");
    let info = details(r#"web_fetch {"prompt": "read https://example.com/"}"#);
    assert_eq!(info["type"], "info");
    assert!(info["prompt"].is_string() && info["title"].as_str().unwrap().starts_with("Confirm "), "{info}");
}
