//! Commands on their own terminal: keys, colours, switching the keyboard back, and ending with everything they started.

use std::time::Duration;

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::{Sandbox, has_program, is_running, report_skipped, wait_until};
use serde_json::json;

use super::{COMPOSER, TestTerminal, sandbox};

const PROGRAM_HAS_KEYBOARD: &str = "the keyboard is the program's";
/// The key Ctrl-F.
const SWITCH_KEYBOARD_KEY: &str = "\x06";

fn start_ready(sandbox: &Sandbox) -> TestTerminal {
    let mut terminal = TestTerminal::start(sandbox, &["--yolo"]);
    terminal.wait_until_ready();
    terminal
}

fn call(command: &str) -> String {
    format!("call run_shell_command {}\r", json!({ "command": command }))
}

/// Returns the text of the sessions' files.
fn session_files_text(sandbox: &Sandbox) -> String {
    let mut found = String::new();
    let mut folders = vec![sandbox.home().join(".gemini/tmp")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true => folders.push(entry),
                false => found.push_str(&String::from_utf8_lossy(&fs::read(entry).unwrap())),
            }
        }
    }
    found
}

#[test]
fn a_command_has_a_terminal_and_its_colours_stay() {
    let sandbox = sandbox();
    let mut terminal = start_ready(&sandbox);
    terminal
        .keys("![ -t 0 ] && [ -t 1 ] && [ -t 2 ] && stty size && printf '\\033[31mr''ed\\033[0m\\n'\r")
        .wait_for_new_text("29 80");
    wait_until("the colour is on the finished card", || terminal.raw().contains("\x1b[31mred\x1b[0m"));
    terminal.wait_until_ready();
    // The model gets plain text.
    terminal
        .keys(&call("printf '\\033[32mgr''een\\033[0m %s\\n' $TERM; sleep 0.1; tty > tty"))
        .wait_for_new_text("green xterm-256color");
    wait_until("the command has a terminal", || sandbox.has_file("tty") && sandbox.read("tty").starts_with("/dev/"));
}

#[test]
fn the_model_is_told_plain_words() {
    let sandbox = sandbox();
    let replay = hookwright_testkit::ReplayBuilder::new()
        .calls("run_shell_command", json!({"command": "printf '\\033[31m10%%\\r100%%\\033[K\\033[0m done\\n'; exit 3"}))
        .says("over");
    let file = sandbox.replay(&replay);
    let mut terminal = TestTerminal::start(&sandbox, &["--yolo", "--fake-responses", &file]);
    terminal.wait_until_ready().keys("go\r").wait_for_new_text("over");
    terminal.wait_until_ready().keys("/quit\r");
    terminal.wait_for_exit();
    let told = session_files_text(&sandbox);
    assert!(told.contains("Output: 100% done\\nExit Code: 3"), "{told}");
    assert!(!told.contains("\\u001b"), "{told}");
}

#[test]
fn a_line_is_typed_to_a_command_and_escape_comes_back() {
    let sandbox = sandbox();
    let mut terminal = start_ready(&sandbox);
    terminal.keys("!echo \"who are you?\"; read name; echo \"hello $name\" | tee said; read more; echo over\r");
    terminal.wait_for_new_text("\n  who are you?");
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_for_new_text(PROGRAM_HAS_KEYBOARD);
    terminal.wait_for_new_text("Ctrl+F or Esc comes back");
    terminal.keys("wim\r").wait_for_new_text("hello wim");
    terminal.keys("\x1b").wait_until_gone(PROGRAM_HAS_KEYBOARD);
    terminal.wait_for_new_text("esc to cancel");
    // Tab switches the keyboard too, where there is nothing to complete.
    terminal.keys("\t").wait_for_new_text(PROGRAM_HAS_KEYBOARD);
    terminal.keys("x\r").wait_until_gone(PROGRAM_HAS_KEYBOARD);
    terminal.wait_until_ready().wait_for_new_text("over");
    assert_eq!(sandbox.read("said"), "hello wim\n");
}

#[test]
fn a_password_is_neither_shown_nor_told() {
    let sandbox = sandbox();
    let mut terminal = start_ready(&sandbox);
    let ask = "stty -echo; printf 'Password: '; read word < /dev/tty; stty echo; echo; test \"$word\" = hunter2 && echo right";
    terminal
        .keys(&format!("!{ask}\r"))
        .wait_for_new_text("it asks for something that is not shown, such as a password");
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_for_new_text(PROGRAM_HAS_KEYBOARD);
    terminal.keys("hunter2\r").wait_until_gone(PROGRAM_HAS_KEYBOARD);
    terminal.wait_until_ready().wait_for_new_text("right");
    assert!(!terminal.raw().contains("hunter2\r"), "{}", terminal.raw());
    terminal.keys("/quit\r");
    terminal.wait_for_exit();
    let told = session_files_text(&sandbox);
    assert_eq!(told.matches("hunter2").count(), told.matches("= hunter2").count(), "{told}");
}

/// A small editor: raw keys on the whole screen. It handles Esc itself.
const EDITOR: &str = "stty raw -echo; printf '\\033[?1049h\\033[2J\\033[3;5Hediting'; keys=; \
    while key=$(dd bs=1 count=1 2>/dev/null | od -An -tx1); do keys=\"$keys$key\"; case $key in *71*) break;; esac; \
    printf '\\033[4;5H%s' \"$keys\"; done; \
    printf '\\033[?1049l'; stty sane; echo \"$keys\" > \"$1\"";

#[test]
fn an_editor_has_the_whole_screen_and_every_key_but_one() {
    let sandbox = sandbox();
    sandbox.script("edit.sh", EDITOR);
    let mut terminal = start_ready(&sandbox);
    terminal.keys("!sh .gemini/hooks/edit.sh out.txt\r").wait_for_new_text("it has drawn a whole screen");
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_for_new_text("Ctrl+F comes back");
    terminal.wait_for_text("    editing\n");
    // Esc, an arrow, Ctrl-C, Ctrl-Z, Tab: all go to the program.
    terminal.keys("\x1b");
    terminal.wait_for_new_text("    1b");
    terminal.keys("\x1b[A");
    terminal.wait_for_new_text("1b 5b 41");
    terminal.keys("\x03");
    terminal.wait_for_new_text("41 03");
    terminal.keys("\x1a");
    terminal.wait_for_new_text("03 1a");
    terminal.keys("\t");
    terminal.wait_for_new_text("1a 09");
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_until_gone(PROGRAM_HAS_KEYBOARD);
    terminal.wait_for_new_text("it has drawn a whole screen");
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_for_new_text(PROGRAM_HAS_KEYBOARD);
    terminal.wait_for_text("1a 09");
    terminal.keys("q").wait_until_gone(PROGRAM_HAS_KEYBOARD);
    terminal.wait_until_ready();
    assert_eq!(sandbox.read("out.txt").split_whitespace().collect::<Vec<_>>().join(" "), "1b 1b 5b 41 03 1a 09 71");
}

#[test]
fn vim_edits_a_file() {
    if !has_program("vim") {
        return report_skipped("vim_edits_a_file", "there is no vim");
    }
    let sandbox = sandbox();
    let mut terminal = start_ready(&sandbox);
    terminal.keys("!vim -u NONE -N notes.txt\r").wait_for_new_text("it has drawn a whole screen");
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_for_new_text(PROGRAM_HAS_KEYBOARD);
    terminal.keys("ihello from vim").wait_for_new_text("-- INSERT --");
    terminal.keys("\x1b").wait_until_gone("-- INSERT --");
    terminal.keys(":wq\r").wait_until_gone(PROGRAM_HAS_KEYBOARD);
    terminal.wait_until_ready();
    assert_eq!(sandbox.read("notes.txt"), "hello from vim\n");
}

#[test]
fn a_rebase_opens_its_editor_on_the_screen() {
    let sandbox = sandbox();
    let git = |args: &[&str]| {
        let done =
            std::process::Command::new("git").args(args).current_dir(sandbox.project()).output_in_time().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q"]);
    for name in ["one", "two", "three"] {
        sandbox.write(name, name);
        git(&["add", name]);
        git(&["-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", name]);
    }
    let editor = "printf '\\033[?1049h'; cat \"$1\"; read line; sed -i '1s/^pick/drop/' \"$1\"; printf '\\033[?1049l'";
    sandbox.script("editor.sh", editor);
    let mut terminal = start_ready(&sandbox);
    let rebase = "GIT_SEQUENCE_EDITOR='sh .gemini/hooks/editor.sh' git -c user.name=T -c user.email=t@example.org rebase -i HEAD~2";
    terminal.keys(&call(rebase)).wait_for_new_text("it has drawn a whole screen");
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_for_new_text(PROGRAM_HAS_KEYBOARD);
    terminal.wait_for_text("pick");
    terminal.keys("go\r").wait_until_gone(PROGRAM_HAS_KEYBOARD);
    terminal.wait_for_new_text("Successfully rebased");
    terminal.wait_until_ready();
    assert!(!sandbox.has_file("two") && sandbox.has_file("three"));
}

#[test]
fn control_c_is_the_programs_while_it_has_the_keyboard_and_cancels_otherwise() {
    let sandbox = sandbox();
    let mut terminal = start_ready(&sandbox);
    terminal.keys("!echo $$ > pid; echo running; sleep 60\r").wait_for_new_text("\n  running");
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_for_new_text(PROGRAM_HAS_KEYBOARD);
    terminal.keys("\x03").wait_until_gone(PROGRAM_HAS_KEYBOARD);
    terminal.wait_until_ready();
    assert!(!is_running(&sandbox.read("pid")));
    terminal
        .keys("!echo $$ > pid2; trap '' INT HUP TERM; echo stubborn; while :; do sleep 1; done\r")
        .wait_for_new_text("\n  stubborn");
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_for_new_text(PROGRAM_HAS_KEYBOARD);
    terminal.keys("\x03\x03");
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_until_gone(PROGRAM_HAS_KEYBOARD);
    terminal.keys("\x1b").wait_for_new_text("Cancelled");
    terminal.wait_until_ready();
    wait_until("it is gone", || !is_running(&sandbox.read("pid2")));
}

#[test]
fn a_command_that_waits_says_so() {
    let sandbox = sandbox();
    let mut terminal = start_ready(&sandbox);
    terminal.keys(&call("read line; echo \"got [$line]\""));
    terminal.wait_for_new_text("if it waits for you: Ctrl+F or Tab gives it the keyboard");
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_for_new_text(PROGRAM_HAS_KEYBOARD);
    terminal.keys("answer\r").wait_until_gone(PROGRAM_HAS_KEYBOARD);
    terminal.wait_for_new_text("got [answer]");
    terminal.wait_until_ready();
}

#[test]
fn the_size_follows_the_window() {
    let sandbox = sandbox();
    let mut terminal = start_ready(&sandbox);
    terminal
        .keys("!trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done\r")
        .wait_for_new_text("\n  ready");
    terminal.resize(64, 20);
    terminal.wait_for_new_text("19 64");
    terminal.wait_until_ready();
}

/// A program's control sequences do not reach the user's terminal.
#[test]
fn nothing_that_a_command_draws_steers_the_terminal() {
    let sandbox = sandbox();
    let hostile = "\\033]52;c;aGk=\\007\\033]0;owned\\007\\033]8;;http://x\\007link\\033]8;;\\007\\033P+q544e\\033\\\\\
        \\033[?1000h\\033[?1003h\\033[?2004l\\033[?7l\\033[!p\\033c\\033[2J\\033[8;5;5t\\033[5i\\033]11;?\\007\\302\\233\\062Jdrawn";
    sandbox.script(
        "hostile.sh",
        &format!("printf '{hostile}\\n'; printf '{hostile}\\033[?1049hdrawn'; read x; echo over"),
    );
    let mut terminal = start_ready(&sandbox);
    terminal.keys("!sh .gemini/hooks/hostile.sh\r").wait_for_new_text("it has drawn a whole screen");
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_for_new_text(PROGRAM_HAS_KEYBOARD);
    terminal.wait_for_text("drawn");
    terminal.keys("\r").wait_until_gone(PROGRAM_HAS_KEYBOARD);
    terminal.wait_until_ready().keys("/quit\r");
    terminal.wait_for_exit();
    let raw = terminal.raw();
    // The program sets its own title.
    for bad in [
        "\x1b]52",
        "owned",
        "\x1b]8",
        "\x1b]11",
        "\x1bP",
        "\x1b[?1000h",
        "\x1b[?1003h",
        "\x1b[?7l",
        "\x1bc",
        "\x1b[!p",
        "t\x1b[5i",
        "\u{9b}",
    ] {
        assert!(!raw.contains(bad), "{bad:?} reached the terminal");
    }
    terminal.assert_restored();
}

#[test]
fn processes_that_a_command_leaves_running_end_with_the_session() {
    let sandbox = sandbox();
    let mut terminal = start_ready(&sandbox);
    let talker = "(while :; do echo talk; echo x >> talked; sleep 0.05; done) & echo $! > pid; echo left";
    terminal.keys(&call(talker)).wait_for_new_text("run_shell_command: done");
    terminal.wait_until_ready();
    wait_until("it runs", || sandbox.has_file("pid"));
    let pid = sandbox.read("pid").trim().to_owned();
    let before = sandbox.read("talked").len();
    wait_until("it goes on", || sandbox.read("talked").len() > before + 10);
    terminal.keys("/background\r").wait_for_new_text("  (while :; do echo talk");
    assert!(is_running(&pid));
    terminal.keys("\x04");
    assert_eq!(terminal.wait_for_exit(), 0);
    wait_until("it has ended", || !is_running(&pid));
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_on_a_terminal_outlives_a_killed_session() {
    let sandbox = sandbox();
    let mut terminal = start_ready(&sandbox);
    terminal.keys(
        "!trap '' HUP TERM; echo $$ > pid; setsid sh -c 'trap \"\" HUP TERM; echo $$ > pid2; sleep 300' & \
                   echo waits; while :; do sleep 1; done\r",
    );
    terminal.wait_for_new_text("\n  waits");
    wait_until("both run", || sandbox.has_file("pid") && sandbox.has_file("pid2"));
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_for_new_text(PROGRAM_HAS_KEYBOARD);
    terminal.signal("-KILL");
    for pid in ["pid", "pid2"] {
        wait_until("it is gone", || !is_running(&sandbox.read(pid)));
    }
}

#[test]
fn leaving_a_program_that_has_the_screen_gives_the_terminal_back() {
    let sandbox = sandbox();
    sandbox.script("edit.sh", EDITOR);
    let mut terminal = start_ready(&sandbox);
    terminal.keys("!sh .gemini/hooks/edit.sh out.txt\r").wait_for_new_text("it has drawn a whole screen");
    terminal.keys(SWITCH_KEYBOARD_KEY).wait_for_new_text(PROGRAM_HAS_KEYBOARD);
    terminal.signal("-TERM");
    assert_eq!(terminal.wait_for_exit(), 143);
    terminal.assert_restored();
}

#[test]
fn the_settings_can_take_the_terminal_away_and_name_a_pager() {
    let sandbox = sandbox();
    sandbox.user_settings(&json!({"tools": {"shell": {"enableInteractiveShell": false, "pager": "head -n 1"}}}));
    let mut terminal = start_ready(&sandbox);
    terminal
        .keys("![ -t 1 ] || echo \"none, $PAGER, $GIT_PAGER\"; read x; echo \"[$x]\"\r")
        .wait_for_new_text("none, head -n 1, head -n 1");
    terminal.wait_for_new_text("[]");
    terminal.wait_until_ready();
}

#[test]
fn a_hook_has_no_terminal_while_a_command_has_one() {
    let sandbox = sandbox();
    let command = sandbox.script(
        "hook.sh",
        "cat >/dev/null; { [ -t 0 ] || [ -t 1 ] || echo x > /dev/tty; } && touch drawn; echo over > over",
    );
    sandbox.settings(&json!({"hooks": {"AfterTool": [{"hooks": [{"type": "command", "command": command}]}]}}));
    let mut terminal = start_ready(&sandbox);
    terminal.keys("!tty\r").wait_for_new_text("/dev/");
    wait_until("the hook is over", || sandbox.has_file("over"));
    assert!(!sandbox.has_file("drawn"));
}

#[test]
fn without_a_screen_a_command_has_no_terminal_and_does_not_wait() {
    let sandbox = sandbox();
    let mut terminal = TestTerminal::start(&sandbox, &["--screen-reader", "--yolo"]);
    terminal.wait_for_new_text(COMPOSER);
    terminal.keys("![ -t 0 ] || echo 'no term''inal'; read x; echo \"[$x]\"\r").wait_for_new_text("no terminal");
    terminal.keys("!\r").wait_for_new_text("every line is a shell command now");
    terminal.keys("echo $((40 + 2))\r").wait_for_new_text("42");
    terminal.keys("!\r").wait_for_new_text("lines go to the agent again");
    terminal.keys("say back\r").wait_for_new_text("\nback");
}

#[test]
fn a_sign_alone_makes_every_line_a_command_until_escape_or_backspace() {
    let sandbox = sandbox();
    let mut terminal = start_ready(&sandbox);
    terminal.keys("!\r").wait_for_new_text("! ");
    terminal.wait_for_new_text("Type a shell command");
    terminal.keys("echo one-$((40 + 2))\r").wait_for_new_text("one-42");
    terminal.wait_for_text("Type a shell command");
    let screen = terminal.keys("/he").wait_for_text("! /he");
    assert!(!screen.contains("commands and keys"), "{screen}");
    terminal.keys("\x1b").wait_for_new_text("Type a shell command");
    // The last command returns without its `!`; a prompt returns as a prompt.
    terminal.keys("\x1b[A").wait_for_new_text("! echo one-$((40 + 2))\n─");
    terminal.keys("\x15").wait_for_new_text("Type a shell command");
    terminal.keys("\x7f").wait_for_new_text(COMPOSER);
    terminal.keys("say words\r").wait_for_new_text("\nwords");
    terminal.wait_until_ready().keys("!\r").wait_for_new_text("Type a shell command");
    terminal.keys("\x1b[A").wait_for_new_text("> say words\n─");
    terminal.keys("\x15").wait_until_ready();
    terminal.keys("!\r").wait_for_new_text("Type a shell command");
    std::thread::sleep(Duration::from_millis(50));
    terminal.keys("\x04").wait_for_new_text(COMPOSER);
}

/// `benches/flood.py` measures the speed; here, keys are not blocked for good and memory does not grow.
#[cfg(target_os = "linux")]
#[test]
fn a_flood_holds_up_no_key_and_is_not_kept() {
    let sandbox = sandbox();
    let mut terminal = start_ready(&sandbox);
    for flood in ["yes", "tr '\\0' x < /dev/zero", "cat /dev/urandom"] {
        terminal.keys(&format!("!{flood}\r")).wait_for_new_text("esc to cancel");
        for word in ["first", "second", "third"] {
            terminal.keys(word).wait_for_text(&format!("> {word}"));
            terminal.keys("\x15").wait_for_new_text(COMPOSER);
        }
        terminal.keys("\x1b").wait_for_new_text("Cancelled");
        terminal.wait_until_ready();
        terminal.blank();
        terminal.keys("/clear\r").wait_until_ready();
    }
    assert!(terminal.peak_memory_mib() < 200, "{} MB", terminal.peak_memory_mib());
}
