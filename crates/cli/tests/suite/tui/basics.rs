use serde_json::json;

use super::{COMPOSER, Terminal, sandbox};

#[test]
fn a_prompt_is_typed_and_its_answer_streams_in() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("say # A **title** and `code`\r");
    terminal.sees("A title and code");
    terminal.ready();
    assert!(terminal.everything().contains("no model is connected"));
}

#[test]
fn a_prompt_on_the_command_line_starts_the_session_with_it() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &["-i", "say first words"]);
    terminal.sees("> say first words");
    terminal.ready().keys("say second words\r");
    terminal.sees("\nsecond words");
    let mut other = Terminal::start(&sandbox, &["say", "positional"]);
    other.sees("> say positional");
    other.ready();
}

#[test]
fn several_lines_by_backslash_alt_enter_and_paste() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("say one\\\r");
    terminal.keys("say two\x1b\r");
    terminal.keys("\x1b[200~say three\rsay four\x1b[201~");
    let screen = terminal.shows("say four");
    assert!(!screen.contains("esc to cancel"), "a paste is not sent:\n{screen}");
    terminal.keys("\r");
    let screen = terminal.ready().shows("> say one\n  say two\n  say three\n  say four");
    for word in ["one", "two", "three", "four"] {
        assert!(screen.matches(word).count() >= 2, "{word} is not answered:\n{screen}");
    }
}

#[test]
fn undo_words_and_history() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("say alpha\r").sees("\nalpha");
    terminal.ready().keys("some words here").shows("> some words here");
    terminal.keys("\x17\x17").loses("words");
    terminal.shows("> some");
    terminal.keys("\x1f");
    terminal.sees("> some words");
    terminal.keys("\x1bZ");
    terminal.loses("> some words");
    terminal.keys("\x1bz");
    terminal.sees("> some words");
    terminal.keys("\x15");
    terminal.ready().keys("\x1b[A");
    terminal.sees("> say alpha\n─");
    terminal.keys("\x15");
    terminal.ready().keys("\x04");
    terminal.ends();
    // Across sessions, by search.
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("\x12lph");
    terminal.sees("search: lph");
    terminal.sees("> say alpha\n─");
    terminal.keys("\r");
    terminal.loses("search:");
    terminal.keys("\r").sees("\nalpha");
}

#[test]
fn prompts_typed_while_the_agent_works_are_queued() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &["--yolo"]);
    terminal.ready().keys("call run_shell_command {\"command\": \"sleep 2; echo slept\"}\r");
    terminal.sees("esc to cancel");
    terminal.keys("say the next one\r");
    terminal.sees("queued: say the next one");
    terminal.sees("\nthe next one");
    terminal.ready().shows("> say the next one");
}

#[test]
fn escape_cancels_the_turn_and_kills_the_command() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &["--yolo"]);
    terminal.ready().keys("call run_shell_command {\"command\": \"echo begun; sleep 60; echo over > done.txt\"}\r");
    terminal.sees("\n  begun");
    terminal.keys("\x1b");
    terminal.sees("Cancelled");
    terminal.ready();
    assert!(!sandbox.has("done.txt"));
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
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/clear\r").sees("the conversation is cleared");
    terminal.ready().keys("say still here\r").sees("\nstill here");
    terminal.ready();
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
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/ho");
    terminal.sees("the hooks panel");
    terminal.keys("\t");
    terminal.sees("> /hooks ");
    terminal.keys("\x15").ready().keys("/nonsense\r").sees("there is no command /nonsense");
    terminal.ready().keys("/git:commit now\r").sees("\ncommitting now");
    terminal.ready().keys("@fil");
    terminal.sees("src/deep/file.rs");
    terminal.keys("\t");
    terminal.sees("> @src/deep/file.rs");
    terminal.keys("\x15").ready().keys("/help\r").sees("Shift+Tab");
}

#[test]
fn a_custom_commands_shell_block_is_asked_about() {
    let sandbox = sandbox();
    sandbox.write(".gemini/commands/ask.toml", "prompt = \"say the shell said !{echo {{args}}}\"\n");
    sandbox.write(".gemini/commands/bad.toml", "prompt = \n");
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/ask it's fine\r").sees("Allow once");
    terminal.keys("y");
    terminal.sees("the shell said it's fine");
    terminal.ready().keys("/commands list\r").sees("  /ask ");
    terminal.shows("bad.toml:1");
}

#[test]
fn a_shell_command_of_the_users_own() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("!echo from-$((40 + 2))\r").sees("from-42");
    terminal.ready();
}

#[test]
fn plain_commands_answer() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/memory add likes tests\r").sees("added to");
    terminal.ready().keys("/memory show\r").sees("- likes tests");
    terminal.ready().keys("/tools\r").sees("run_shell_command");
    terminal.ready().keys("/model other-model\r").sees("the model is other-model");
    terminal.ready().keys("\x1b[Z").sees("auto-edit");
    terminal.ready().keys("/stats\r").sees("Hooks  0 runs");
    terminal.ready().keys("say to keep\r").sees("\nto keep");
    terminal.ready().keys("/chat save one\r").sees("kept this conversation");
    terminal.ready().keys("/chat list\r").sees("\none");
    terminal.ready().keys("/chat resume one\r").sees("going on with `one`");
    terminal.ready().keys("/copy\r").sees("copied");
    terminal.ready().keys("/quit\r");
    assert_eq!(terminal.ends(), 0);
    assert!(terminal.raw().contains("\x1b]52;c;"));
}

#[test]
fn a_screen_reader_gets_lines() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &["--screen-reader"]);
    terminal.sees(COMPOSER);
    terminal.keys("call run_shell_command {\"command\": \"echo lines\"}\r");
    terminal.sees("Allow Shell? echo lines");
    terminal.keys("y\r");
    terminal.sees("run_shell_command done: lines");
    terminal.keys("/quit\r");
    assert_eq!(terminal.ends(), 0);
    assert!(!terminal.raw().contains('\x1b'), "{}", terminal.raw());
}

#[test]
fn a_model_that_fails_does_not_end_the_session() {
    let sandbox = sandbox();
    let file = sandbox.write("replay.jsonl", "");
    let mut terminal = Terminal::start(&sandbox, &["--fake-responses", file.to_str().unwrap()]);
    terminal.ready().keys("anything\r").sees("No more mock responses");
    terminal.ready();
}

#[test]
fn a_prompt_is_written_in_an_editor() {
    let sandbox = sandbox();
    sandbox.script("editor", "printf 'say from the editor' > \"$1\"");
    let editor = sandbox.project().join(".gemini/hooks/editor").display().to_string();
    let sandbox = sandbox.env("EDITOR", &editor);
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("draft\x18");
    terminal.sees("> say from the editor");
    terminal.keys("\r").sees("\nfrom the editor");
}

#[test]
fn an_earlier_session_goes_on() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("say the first session\r").sees("\nthe first session");
    terminal.ready().keys("/quit\r");
    terminal.ends();
    let mut terminal = Terminal::start(&sandbox, &["--resume", "latest"]);
    terminal.ready().sees("\nthe first session");
    terminal.keys("/quit\r");
    terminal.ends();
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/resume\r").sees("Sessions 1/1");
    terminal.keys("\x1b");
    terminal.ready().keys("/resume 1\r").sees("\nthe first session");
    terminal.ready().keys("/resume 77\r").sees("error:");
}

#[test]
fn a_command_that_kills_itself_leaves_the_session_alive() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &["--yolo"]);
    terminal.ready().keys("call run_shell_command {\"command\": \"echo begun; kill -9 $$\"}\r").sees("\n  begun");
    terminal.ready().keys("say alive\r").sees("\nalive");
    terminal.ready().keys("\x04");
    assert_eq!(terminal.ends(), 0);
    terminal.is_restored();
}

#[test]
fn words_typed_ahead_trust_no_folder() {
    let sandbox = sandbox().untrusted();
    sandbox.settings(&json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}));
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.sees("Do you want to trust this folder?");
    // Once the selection has moved, everything before that key has been read.
    terminal.keys("fix issue 12 please\r").keys("\x1b[A").sees("› 2.");
    terminal.shows("Do you want to trust this folder?");
    terminal.keys("\x1b");
    terminal.ready();
    assert!(!sandbox.has("ran"));
}

#[test]
fn a_hook_cannot_draw_on_the_screen() {
    let sandbox = sandbox();
    let command = sandbox.script("writer.sh", "echo scribble > /dev/tty && touch drawn; echo over > over");
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": command}]}]}}));
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("say hello there\r").sees("\nhello there");
    hookwright_testkit::wait_until("the hook is over", || sandbox.has("over"));
    assert!(!sandbox.has("drawn"));
}

#[test]
fn a_hook_that_reads_the_terminal_fails_at_once() {
    let sandbox = sandbox();
    let command = sandbox.script("reader.sh", "read line < /dev/tty && touch read-it; echo over > over");
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": command}]}]}}));
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("say hello there\r").sees("\nhello there");
    hookwright_testkit::wait_until("the hook is over", || sandbox.has("over"));
    assert!(!sandbox.has("read-it"));
}

#[test]
fn letters_of_a_name_find_it() {
    let sandbox = sandbox();
    sandbox.write("src/new_module.py", "");
    sandbox.write(".geminiignore", "vault\n");
    sandbox.write("vault/new_mode.py", "");
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("see @newmod").sees("› src/new_module.py");
    assert!(!terminal.screen().contains("vault"));
    terminal.keys("\t").sees("> see @src/new_module.py");
    terminal.keys("\x15").ready().keys("/hkspan").sees("› hooks panel");
    terminal.keys("\t").sees("> /hooks panel");
    terminal.keys("\x15").ready().keys("say a rather long prompt\r").sees("\na rather long prompt");
    terminal.ready().keys("\x12ratpro");
    terminal.sees("> say a rather long prompt\n─");
}

/// Among more files than can be looked through at once, beside the loop.
#[test]
fn letters_find_a_file_among_very_many() {
    let sandbox = sandbox();
    for number in 0..2_500 {
        sandbox.write(&format!("src/d{}/module_{number}.rs", number % 20), "");
    }
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("@mod2481").sees("› src/d1/module_2481.rs");
    terminal.keys("\x15@zzzzqqq");
    terminal.loses("module_");
}

#[test]
fn a_long_paste_is_shown_in_short_opened_and_sent_whole() {
    let sandbox = sandbox();
    let command = sandbox.script("count.sh", "cat > \"$GEMINI_PROJECT_DIR/prompt.json\"");
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": command}]}]}}));
    let mut terminal = Terminal::start(&sandbox, &[]);
    let pasted: String = (1..=3000).map(|number| format!("say pasted {number}\r")).collect();
    terminal.ready().keys(&format!("\x1b[200~{pasted}\x1b[201~")).sees("> [pasted 3000 lines]");
    terminal.keys("\x0f").sees("your draft");
    terminal.keys("G").sees("say pasted 3000");
    terminal.keys("q").sees("> [pasted 3000 lines]");
    terminal.keys("say the end\r").sees("3000 the end");
    let screen = terminal.ready().screen();
    let everything = terminal.everything();
    assert!(everything.contains("> [pasted 3000 lines]say the end"), "{screen}");
    assert!(!everything.contains("> say pasted 1\r\n"), "it is not echoed");
    let prompt = sandbox.read("prompt.json");
    assert!(prompt.contains("say pasted 1\\nsay pasted 2\\n") && prompt.contains("say pasted 3000\\nsay the end"));
    // From the history it comes back as it was.
    terminal.keys("\x1b[A").sees("> [3001 lines]");
}

#[test]
fn what_is_attached_says_its_size_and_what_names_no_file_is_said() {
    let sandbox = sandbox();
    sandbox.write("notes.md", "x".repeat(3_400));
    for mode in [&[][..], &["--screen-reader"]] {
        let mut terminal = Terminal::start(&sandbox, mode);
        terminal.sees(COMPOSER);
        terminal.keys("say with @notes.md and @nope.txt\r");
        terminal.sees("attached @notes.md (3.4 kB)");
        terminal.sees("@nope.txt names no file, so nothing is attached for it");
    }
    let run = sandbox.run(&["-p", "say with @nope.txt", "-o", "json"]);
    assert!(
        run.stdout.contains("@nope.txt names no file") || run.stderr.contains("@nope.txt names no file"),
        "{run:?}"
    );
}

#[test]
fn an_earlier_session_shows_its_calls() {
    let sandbox = sandbox();
    let mut terminal = Terminal::start(&sandbox, &["--yolo"]);
    let keys = "call run_shell_command {\"command\": \"echo from before; exit 0\"}\x1b\r\
                also read_file {\"file_path\": \"gone.txt\"}\r";
    terminal.ready().keys(keys).sees("✓ run_shell_command");
    terminal.ready().keys("say and the end\r").sees("\nand the end");
    terminal.ready().keys("/quit\r");
    terminal.ends();
    let mut terminal = Terminal::start(&sandbox, &["--resume", "latest"]);
    let screen = terminal.ready().sees("\nand the end");
    for wanted in ["✓ run_shell_command echo from before", "\n  from before\n", "✗ read_file gone.txt"] {
        assert!(screen.contains(wanted), "no {wanted:?}:\n{screen}");
    }
    assert!(!screen.contains("untrusted_context"), "{screen}");
    terminal.keys("\x0f").sees("q close");
    terminal.keys("q").loses("q close");
    terminal.ready().keys("/quit\r");
    terminal.ends();
    let mut terminal = Terminal::start(&sandbox, &["--resume", "latest", "--screen-reader"]);
    terminal.sees("run_shell_command echo from before; exit 0 done: from before");
    terminal.sees("and the end");
}
