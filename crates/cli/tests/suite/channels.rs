//! Text from any source cannot control the terminal. In a pipe it is unchanged.

use hookwright_testkit::{ReplayBuilder, Sandbox};
use serde_json::json;

use super::tui::TestTerminal;

/// Sets the clipboard, clears the screen, hides text, sets the title, beeps, and reverses the text direction.
const HOSTILE: &str = "\x1b]52;c;aGk=\x07\x1b[2J\x1b[8m\u{9b}1;1H\u{9d}0;title\u{9c}\x08\x07\u{202e}";

/// Returns control sequences in the output that are neither text nor the program's own styles.
fn foreign(raw: &str) -> Option<String> {
    let mut rest = raw;
    while let Some(at) = rest.find(|char: char| {
        (char.is_control() && !matches!(char, '\r' | '\n' | '\t')) || matches!(char, '\u{202a}'..='\u{202e}')
    }) {
        let style = rest[at..].strip_prefix("\x1b[").and_then(|text| {
            let end = text.find(|char: char| !matches!(char, '0'..='9' | ';'))?;
            let plain = text[..end].split(';').all(|number| !matches!(number, "5" | "7" | "8"));
            text[end..].strip_prefix('m').filter(|_| plain)
        });
        match style {
            Some(after) => rest = after,
            None => return Some(rest[at..].chars().take(40).collect()),
        }
    }
    None
}

fn hostile_project() -> Sandbox {
    // The name of the folder is on many lines too.
    let sandbox = crate::sandbox().project_named(&format!("project{HOSTILE}"));
    let message = sandbox.script("says.sh", &format!("echo '{}'", json!({"systemMessage": HOSTILE})));
    let denies = sandbox.script("denies.sh", &format!("printf '%s' '{HOSTILE}' >&2; exit 2"));
    let fails = sandbox.script("fails.sh", &format!("printf '%s' '{HOSTILE}' >&2; exit 1"));
    let hook = |name: &str, command: &str| json!({"hooks": [{"type": "command", "name": format!("{name}{HOSTILE}"), "command": command}]});
    sandbox.settings(&json!({
        HOSTILE: 1,
        "theme": HOSTILE,
        "hooks": {
            format!("Before{HOSTILE}"): [],
            "SessionStart": [hook("fails", &fails)],
            "BeforeAgent": [hook("says", &message)],
            "BeforeTool": [
                {"matcher": "glob", "hooks": hook("denies", &denies)["hooks"]},
                {"matcher": format!("({HOSTILE}"), "hooks": hook("matcher", &message)["hooks"]},
            ],
            "AfterTool": [hook("missing", &format!("/nowhere/{HOSTILE}"))],
        },
    }));
    sandbox.write(
        ".gemini/commands/bad.toml",
        format!(
            "description = \"{}\"\nprompt = \"x\"\n",
            HOSTILE.escape_default().to_string().replace("\\'", "'").replace("\\u{", "\\\\u{")
        ),
    );
    sandbox.write(&format!(".gemini/commands/{}.toml", HOSTILE.replace('/', "")), "prompt = \n");
    sandbox.write("policy.toml", format!("[[rule]]\ntoolName = 'glob{}'\ndecision = 'maybe'\n", "\u{9b}2J"));
    sandbox
}

#[test]
fn no_text_from_any_source_controls_the_terminal() {
    let sandbox = hostile_project();
    let replay = ReplayBuilder::new()
        .parts(&[
            json!({"text": format!("thinking {HOSTILE}"), "thought": true}),
            json!({"text": format!("well {HOSTILE} then")}),
            hookwright_testkit::replay::call(
                "run_shell_command",
                json!({"command": format!("printf '{HOSTILE}'"), "description": HOSTILE}),
            ),
            hookwright_testkit::replay::call("glob", json!({"pattern": HOSTILE})),
            hookwright_testkit::replay::call("read_file", json!({"file_path": format!("/nowhere/{HOSTILE}")})),
            hookwright_testkit::replay::call(&format!("no_tool{HOSTILE}"), json!({})),
        ])
        .says(&format!("end {HOSTILE}"));
    let file = sandbox.replay(&replay);
    let bad_replay = sandbox.sibling_path("bad.jsonl");
    std::fs::write(&bad_replay, format!("{{\"method\": \"{}\"", "\u{9b}2J")).unwrap();
    let bad_replay = bad_replay.to_string_lossy().into_owned();
    let args = format!("{{\"pattern\": {}}}", json!(HOSTILE));
    let runs: [&[&str]; 19] = [
        &["-p", HOSTILE, "--fake-responses", &file, "-y"],
        &["-p", "go", "--fake-responses", &file, "-y", "-o", "json"],
        &["-p", "go", "--fake-responses", &file, "-y", "-o", "stream-json"],
        &["-p", "go", "--fake-responses", &file, "-y", "--debug"],
        &["-p", "go", "--fake-responses", &bad_replay],
        &["-p", "/hooks list"],
        &["-p", "/commands list"],
        &["-p", "/about"],
        &["--list-sessions"],
        &["--resume", HOSTILE, "-p", "x"],
        &["hooks", "list"],
        &["hooks", "validate"],
        &["hooks", "doctor"],
        &["hooks", "show", HOSTILE],
        &["hooks", "fire", "BeforeTool", "--tool", "glob", "--args", &args],
        &["hooks", "trust"],
        &["hooks", "test"],
        &["policy", "check", "policy.toml"],
        &["policy", "explain", "glob", &args],
    ];
    for args in runs {
        let mut terminal = TestTerminal::start(&sandbox, args);
        terminal.wait_for_exit();
        let raw = terminal.raw();
        assert!(!raw.is_empty(), "{args:?} says nothing");
        assert_eq!(foreign(&raw), None, "{args:?}:\n{raw:?}");
    }
}

/// Style marks are for the writer; on the screen they would be stray characters.
#[test]
fn the_screen_shows_no_marks_of_styles() {
    let sandbox = hostile_project();
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("say hello\r").wait_for_new_text("\nhello");
    terminal.wait_until_ready().keys("/hooks trace\r").wait_for_new_text("\nprompt\n  say hello\n  BeforeAgent");
    terminal.wait_until_ready().keys("/commands list\r").wait_for_new_text("bad");
    let shown = terminal.everything();
    assert!(shown.contains("help:"), "{shown}");
    assert!(!shown.contains(['\u{f0000}', '\u{f0001}']), "{shown}");
}

#[test]
fn a_pipe_gets_every_byte_of_an_answer() {
    let sandbox = crate::sandbox();
    let answer = format!("one {HOSTILE} two");
    let file = sandbox.replay(&ReplayBuilder::new().says(&answer));
    let run = sandbox.run(&["-p", "go", "--fake-responses", &file]).expect_exit_code(0);
    assert_eq!(run.stdout.trim_end_matches('\n'), answer);
}
