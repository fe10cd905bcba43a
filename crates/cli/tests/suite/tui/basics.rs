use serde_json::json;

use super::{COMPOSER, TestTerminal, sandbox};

#[test]
fn a_prompt_is_typed_and_its_answer_streams_in() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("say # A **title** and `code`\r");
    terminal.wait_for_new_text("A title and code");
    terminal.wait_until_ready();
    assert!(terminal.everything().contains("no model is connected"));
}

#[test]
fn a_prompt_on_the_command_line_starts_the_session_with_it() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["-i", "say first words"]);
    terminal.wait_for_new_text("> say first words");
    terminal.wait_until_ready().keys("say second words\r");
    terminal.wait_for_new_text("\nsecond words");
    let mut other = TestTerminal::start(&sandbox, &["say", "positional"]);
    other.wait_for_new_text("> say positional");
    other.wait_until_ready();
}

#[test]
fn several_lines_by_backslash_alt_enter_and_paste() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("say one\\\r");
    terminal.keys("say two\x1b\r");
    terminal.keys("\x1b[200~say three\rsay four\x1b[201~");
    let screen = terminal.wait_for_text("say four");
    assert!(!screen.contains("esc to cancel"), "a paste is not sent:\n{screen}");
    terminal.keys("\r");
    let screen = terminal.wait_until_ready().wait_for_text("> say one\n  say two\n  say three\n  say four");
    for word in ["one", "two", "three", "four"] {
        assert!(screen.matches(word).count() >= 2, "{word} is not answered:\n{screen}");
    }
}

#[test]
fn undo_words_and_history() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("say alpha\r").wait_for_new_text("\nalpha");
    terminal.wait_until_ready().keys("some words here").wait_for_text("> some words here");
    terminal.keys("\x17\x17").wait_until_gone("words");
    terminal.wait_for_text("> some");
    terminal.keys("\x1f");
    terminal.wait_for_new_text("> some words");
    terminal.keys("\x1bZ");
    terminal.wait_until_gone("> some words");
    terminal.keys("\x1bz");
    terminal.wait_for_new_text("> some words");
    terminal.keys("\x15");
    terminal.wait_until_ready().keys("\x1b[A");
    terminal.wait_for_new_text("> say alpha\n─");
    terminal.keys("\x15");
    terminal.wait_until_ready().keys("\x04");
    terminal.wait_for_exit();
    // Across sessions, by search.
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("\x12lph");
    terminal.wait_for_new_text("search: lph");
    terminal.wait_for_new_text("> say alpha\n─");
    terminal.keys("\r");
    terminal.wait_until_gone("search:");
    terminal.keys("\r").wait_for_new_text("\nalpha");
}

#[test]
fn prompts_typed_while_the_agent_works_are_queued() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    terminal.wait_until_ready().keys("call run_shell_command {\"command\": \"sleep 2; echo slept\"}\r");
    terminal.wait_for_new_text("esc to cancel");
    terminal.keys("say the next one\r");
    terminal.wait_for_new_text("queued: say the next one");
    terminal.wait_for_new_text("\nthe next one");
    terminal.wait_until_ready().wait_for_text("> say the next one");
}

#[test]
fn escape_cancels_the_turn_and_kills_the_command() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    terminal
        .wait_until_ready()
        .keys("call run_shell_command {\"command\": \"echo begun; sleep 60; echo over > done.txt\"}\r");
    terminal.wait_for_new_text("\n  begun");
    terminal.keys("\x1b");
    terminal.wait_for_new_text("Cancelled");
    terminal.wait_until_ready();
    assert!(!sandbox.has_file("done.txt"));
}

#[test]
fn clear_begins_a_new_session() {
    let sandbox = sandbox();
    let start = sandbox
        .script("start.sh", "cat >> \"$GEMINI_PROJECT_DIR/starts.txt\"; echo >> \"$GEMINI_PROJECT_DIR/starts.txt\"");
    let end = sandbox.script("end.sh", "cat >> \"$GEMINI_PROJECT_DIR/ends.txt\"");
    sandbox.settings(&serde_json::json!({"hooks": {
        "SessionStart": [{"hooks": [{"type": "command", "command": start}]}],
        "SessionEnd": [{"hooks": [{"type": "command", "command": end}]}],
    }}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/clear\r").wait_for_new_text("the conversation is cleared");
    terminal.wait_until_ready().keys("say still here\r").wait_for_new_text("\nstill here");
    terminal.wait_until_ready();
    let starts = sandbox.read("starts.txt");
    assert!(starts.contains("\"source\":\"startup\"") && starts.contains("\"source\":\"clear\""), "{starts}");
    assert!(sandbox.read("ends.txt").contains("\"reason\":\"clear\""));
    let ids: std::collections::HashSet<&str> =
        starts.lines().filter_map(|line| line.split("\"session_id\":\"").nth(1)?.split('"').next()).collect();
    assert_eq!(ids.len(), 2, "a new session has an id of its own");
}

#[test]
fn commands_complete_and_unknown_ones_are_named() {
    let sandbox = sandbox();
    sandbox
        .write(".gemini/commands/git/commit.toml", "description = \"commits\"\nprompt = \"say committing {{args}}\"\n");
    sandbox.write("src/deep/file.rs", "fn main() {}");
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/ho");
    terminal.wait_for_new_text("the hooks panel");
    terminal.keys("\t");
    terminal.wait_for_new_text("> /hooks ");
    terminal.keys("\x15").wait_until_ready().keys("/nonsense\r").wait_for_new_text("there is no command /nonsense");
    terminal.wait_until_ready().keys("/git:commit now\r").wait_for_new_text("\ncommitting now");
    terminal.wait_until_ready().keys("@fil");
    terminal.wait_for_new_text("src/deep/file.rs");
    terminal.keys("\t");
    terminal.wait_for_new_text("> @src/deep/file.rs");
    terminal.keys("\x15").wait_until_ready().keys("/help\r").wait_for_new_text("Hooks and permissions");
    terminal.keys("G").wait_for_new_text("Shift+Tab");
}

#[test]
fn a_custom_commands_shell_block_is_asked_about() {
    let sandbox = sandbox();
    sandbox.write(".gemini/commands/ask.toml", "prompt = \"say the shell said !{echo {{args}} | tee made}\"\n");
    sandbox.write(".gemini/commands/bad.toml", "prompt = \n");
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/ask it's fine\r").wait_for_new_text("Allow once");
    terminal.keys("y");
    terminal.wait_for_new_text("the shell said it's fine");
    terminal.wait_until_ready().keys("/commands list\r").wait_for_new_text("  /ask ");
    terminal.wait_for_text("bad.toml:1");
}

#[test]
fn a_shell_command_of_the_users_own() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("!echo from-$((40 + 2))\r").wait_for_new_text("from-42");
    terminal.wait_until_ready();
}

#[test]
fn plain_commands_answer() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/memory add likes tests\r").wait_for_new_text("added to");
    terminal.wait_until_ready().keys("/memory show\r").wait_for_new_text("- likes tests");
    terminal.wait_until_ready().keys("/tools\r").wait_for_new_text("run_shell_command");
    terminal.wait_until_ready().keys("/model other-model\r").wait_for_new_text("the model is other-model");
    terminal.wait_until_ready().keys("\x1b[Z").wait_for_new_text("auto-edit");
    terminal.wait_until_ready().keys("/stats\r").wait_for_new_text("Hooks  0 runs");
    terminal.wait_until_ready().keys("say to keep\r").wait_for_new_text("\nto keep");
    terminal.wait_until_ready().keys("/chat save one\r").wait_for_new_text("kept this conversation");
    terminal.wait_until_ready().keys("/chat list\r").wait_for_new_text("\none");
    terminal.wait_until_ready().keys("/chat resume one\r").wait_for_new_text("going on with `one`");
    terminal.wait_until_ready().keys("/copy\r").wait_for_new_text("copied");
    terminal.wait_until_ready().keys("/quit\r");
    assert_eq!(terminal.wait_for_exit(), 0);
    assert!(terminal.raw().contains("\x1b]52;c;"));
}

#[test]
fn a_screen_reader_gets_lines() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["--screen-reader"]);
    terminal.wait_for_new_text(COMPOSER);
    terminal.keys("call run_shell_command {\"command\": \"echo lines | tee made\"}\r");
    terminal.wait_for_new_text("\nAllow Shell? echo lines | tee made");
    terminal.keys("y\r");
    terminal.wait_for_new_text("run_shell_command done: lines");
    terminal.keys("/quit\r");
    assert_eq!(terminal.wait_for_exit(), 0);
    assert!(!terminal.raw().contains('\x1b'), "{}", terminal.raw());
}

#[test]
fn a_model_that_fails_does_not_end_the_session() {
    let sandbox = sandbox();
    let file = sandbox.write("replay.jsonl", "");
    let mut terminal = TestTerminal::start(&sandbox, &["--fake-responses", file.to_str().unwrap()]);
    terminal.wait_until_ready().keys("anything\r").wait_for_new_text("No more mock responses");
    terminal.wait_until_ready();
}

#[test]
fn a_prompt_is_written_in_an_editor() {
    let sandbox = sandbox();
    sandbox.script("editor", "printf 'say from the editor' > \"$1\"");
    let editor = sandbox.project().join(".gemini/hooks/editor").display().to_string();
    let sandbox = sandbox.env("EDITOR", &editor);
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("draft\x18");
    terminal.wait_for_new_text("> say from the editor");
    terminal.keys("\r").wait_for_new_text("\nfrom the editor");
}

#[test]
fn an_earlier_session_goes_on() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("say the first session\r").wait_for_new_text("\nthe first session");
    terminal.wait_until_ready().keys("/quit\r");
    terminal.wait_for_exit();
    let mut terminal = TestTerminal::start(&sandbox, &["--resume", "latest"]);
    terminal.wait_until_ready().wait_for_new_text("\nthe first session");
    terminal.keys("/quit\r");
    terminal.wait_for_exit();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/resume\r").wait_for_new_text("Sessions 1/1");
    terminal.keys("\x1b");
    terminal.wait_until_ready().keys("/resume 1\r").wait_for_new_text("\nthe first session");
    terminal.wait_until_ready().keys("/resume 77\r").wait_for_new_text("error:");
}

#[test]
fn a_command_that_kills_itself_leaves_the_session_alive() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    terminal
        .wait_until_ready()
        .keys("call run_shell_command {\"command\": \"echo begun; kill -9 $$\"}\r")
        .wait_for_new_text("\n  begun");
    terminal.wait_until_ready().keys("say alive\r").wait_for_new_text("\nalive");
    terminal.wait_until_ready().keys("\x04");
    assert_eq!(terminal.wait_for_exit(), 0);
    terminal.assert_restored();
}

#[test]
fn words_typed_ahead_trust_no_folder() {
    let sandbox = sandbox().untrusted();
    sandbox.settings(&json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_for_new_text("Do you want to trust this folder?");
    // Once the selection has moved, every key before has been read.
    terminal.keys("fix issue 12 please\r").keys("\x1b[A").wait_for_new_text("› 2.");
    terminal.wait_for_text("Do you want to trust this folder?");
    terminal.keys("\x1b");
    terminal.wait_until_ready();
    assert!(!sandbox.has_file("ran"));
}

#[test]
fn a_hook_cannot_draw_on_the_screen() {
    let sandbox = sandbox();
    let command = sandbox.script("writer.sh", "echo scribble > /dev/tty && touch drawn; echo over > over");
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": command}]}]}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("say hello there\r").wait_for_new_text("\nhello there");
    hookwright_testkit::wait_until("the hook is over", || sandbox.has_file("over"));
    assert!(!sandbox.has_file("drawn"));
}

#[test]
fn a_hook_that_reads_the_terminal_fails_at_once() {
    let sandbox = sandbox();
    let command = sandbox.script("reader.sh", "read line < /dev/tty && touch read-it; echo over > over");
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": command}]}]}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("say hello there\r").wait_for_new_text("\nhello there");
    hookwright_testkit::wait_until("the hook is over", || sandbox.has_file("over"));
    assert!(!sandbox.has_file("read-it"));
}

#[test]
fn letters_of_a_name_find_it() {
    let sandbox = sandbox();
    sandbox.write("src/new_module.py", "");
    sandbox.write(".geminiignore", "vault\n");
    sandbox.write("vault/new_mode.py", "");
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("see @newmod").wait_for_new_text("› src/new_module.py");
    assert!(!terminal.screen().contains("vault"));
    terminal.keys("\t").wait_for_new_text("> see @src/new_module.py");
    terminal.keys("\x15").wait_until_ready().keys("/hkspan").wait_for_new_text("› hooks panel");
    terminal.keys("\t").wait_for_new_text("> /hooks panel");
    terminal
        .keys("\x15")
        .wait_until_ready()
        .keys("say a rather long prompt\r")
        .wait_for_new_text("\na rather long prompt");
    terminal.wait_until_ready().keys("\x12ratpro");
    terminal.wait_for_new_text("> say a rather long prompt\n─");
}

/// The search among many files runs in the background.
#[test]
fn letters_find_a_file_among_very_many() {
    let sandbox = sandbox();
    for number in 0..2_500 {
        sandbox.write(&format!("src/d{}/module_{number}.rs", number % 20), "");
    }
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("@mod2481").wait_for_new_text("› src/d1/module_2481.rs");
    terminal.keys("\x15@zzzzqqq");
    terminal.wait_until_gone("module_");
}

#[test]
fn a_long_paste_is_shown_in_short_opened_and_sent_whole() {
    let sandbox = sandbox();
    let command = sandbox.script("count.sh", "cat > \"$GEMINI_PROJECT_DIR/prompt.json\"");
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": command}]}]}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    let pasted: String = (1..=3000).map(|number| format!("say pasted {number}\r")).collect();
    terminal.wait_until_ready().keys(&format!("\x1b[200~{pasted}\x1b[201~")).wait_for_new_text("> [pasted 3000 lines]");
    terminal.keys("\x0f").wait_for_new_text("your draft");
    terminal.keys("G").wait_for_new_text("say pasted 3000");
    terminal.keys("q").wait_for_new_text("> [pasted 3000 lines]");
    terminal.keys("say the end\r").wait_for_new_text("3000 the end");
    let screen = terminal.wait_until_ready().screen();
    let everything = terminal.everything();
    assert!(everything.contains("> [pasted 3000 lines]say the end"), "{screen}");
    assert!(!everything.contains("> say pasted 1\r\n"), "it is not echoed");
    let prompt = sandbox.read("prompt.json");
    assert!(prompt.contains("say pasted 1\\nsay pasted 2\\n") && prompt.contains("say pasted 3000\\nsay the end"));
    // The history returns it unchanged.
    terminal.keys("\x1b[A").wait_for_new_text("> [3001 lines]");
}

#[test]
fn attachments_show_their_size_and_missing_files_are_reported() {
    let sandbox = sandbox();
    sandbox.write("notes.md", "x".repeat(3_400));
    for mode in [&[][..], &["--screen-reader"]] {
        let mut terminal = TestTerminal::start(&sandbox, mode);
        terminal.wait_for_new_text(COMPOSER);
        terminal.keys("say with @notes.md and @nope.txt\r");
        terminal.wait_for_new_text("attached @notes.md (3.4 kB)");
        terminal.wait_for_new_text("@nope.txt is not a file, so nothing is attached for it");
    }
    let run = sandbox.run(&["-p", "say with @nope.txt", "-o", "json"]);
    assert!(
        run.stdout.contains("@nope.txt is not a file") || run.stderr.contains("@nope.txt is not a file"),
        "{run:?}"
    );
}

#[test]
fn an_earlier_session_shows_its_calls() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo"]);
    let keys = "call run_shell_command {\"command\": \"echo from before; exit 0\"}\x1b\r\
                also read_file {\"file_path\": \"gone.txt\"}\r";
    terminal.wait_until_ready().keys(keys).wait_for_new_text("✓ run_shell_command");
    terminal.wait_until_ready().keys("say and the end\r").wait_for_new_text("\nand the end");
    terminal.wait_until_ready().keys("/quit\r");
    terminal.wait_for_exit();
    let mut terminal = TestTerminal::start(&sandbox, &["--resume", "latest"]);
    let screen = terminal.wait_until_ready().wait_for_new_text("\nand the end");
    for wanted in ["✓ run_shell_command echo from before", "\n  from before\n", "✗ read_file gone.txt"] {
        assert!(screen.contains(wanted), "no {wanted:?}:\n{screen}");
    }
    assert!(!screen.contains("untrusted_context"), "{screen}");
    terminal.keys("\x0f").wait_for_new_text("q close");
    terminal.keys("q").wait_until_gone("q close");
    terminal.wait_until_ready().keys("/quit\r");
    terminal.wait_for_exit();
    let mut terminal = TestTerminal::start(&sandbox, &["--resume", "latest", "--screen-reader"]);
    terminal.wait_for_new_text("run_shell_command echo from before; exit 0 done: from before");
    terminal.wait_for_new_text("and the end");
}

/// A question begins on a line of its own, although the model's text has no end of line.
#[test]
fn a_question_does_not_continue_the_models_line() {
    use hookwright_testkit::ReplayBuilder;
    use hookwright_testkit::replay::call;
    let sandbox = sandbox();
    let parts = [
        serde_json::json!({"text": "I'll use the shell."}),
        call("run_shell_command", serde_json::json!({"command": "touch x"})),
    ];
    let replay = sandbox.replay(&ReplayBuilder::new().parts(&parts).says("done"));
    let mut terminal = TestTerminal::start(&sandbox, &["--screen-reader", "--fake-responses", &replay]);
    terminal.wait_for_new_text(COMPOSER);
    terminal.keys("go\r").wait_for_new_text("I'll use the shell.\nAllow Shell? touch x");
    terminal.keys("n\r");
    terminal.wait_for_new_text("done");
}

#[test]
fn the_command_menu_says_that_there_is_more() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/").wait_for_new_text("more: ↓, or type on");
}
