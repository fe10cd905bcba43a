//! Pictures in a prompt: pasted by path, from the clipboard, and by `@path`.

use hookwright_testkit::{Replay, Sandbox};
use serde_json::json;

use super::{Terminal, sandbox};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01";

/// A session whose hook keeps what it is told of prompts.
fn started(sandbox: &Sandbox, path: Option<&str>) -> Terminal {
    let log = sandbox.script("log.sh", "cat > \"$GEMINI_PROJECT_DIR/told\"");
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": log}]}]}}));
    sandbox.user_settings(&json!({"telemetry": {"enabled": true, "target": "local", "outfile": "telemetry.log"}}));
    let file = sandbox.replay(&Replay::new().says("seen").says("seen again"));
    let mut command = sandbox.command(&["--fake-responses", &file]);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let mut terminal = Terminal::with(&command, 80, 30);
    terminal.ready();
    terminal
}

fn pasted(text: &str) -> String {
    format!("\x1b[200~{text}\x1b[201~")
}

#[test]
fn a_pasted_path_becomes_a_picture() {
    let sandbox = sandbox();
    sandbox.write("my shot.png", PNG);
    let mut terminal = started(&sandbox, None);
    terminal.keys("what is ").keys(&pasted(r"my\ shot.png"));
    terminal.sees("> what is [image my shot.png, 20 bytes]");
    terminal.keys("please\r").sees("> what is [image my shot.png, 20 bytes] please");
    terminal.sees("seen");
    let told: serde_json::Value = serde_json::from_str(&sandbox.read("told")).unwrap();
    assert_eq!(told["prompt"], "what is @\"my shot.png\" please");
    assert_eq!((&told["attachments"][0]["kind"], &told["attachments"][0]["size"]), (&json!("file"), &json!(20)));
    let sent = sandbox.read("telemetry.log");
    assert!(sent.contains("image/png"), "{sent}");
}

#[test]
fn a_picture_from_elsewhere_is_copied_for_the_tools() {
    let sandbox = sandbox();
    let outside = sandbox.beside("shot.png");
    std::fs::write(&outside, [PNG, &[0; 12_000]].concat()).unwrap();
    let mut terminal = started(&sandbox, None);
    terminal.keys(&pasted(&format!("file://{}", outside.display()))).sees("> [image shot.png, 12 KB]");
    terminal.keys("\r").sees("seen");
    let told: serde_json::Value = serde_json::from_str(&sandbox.read("told")).unwrap();
    let attached = told["attachments"][0]["path"].as_str().unwrap().to_owned();
    assert!(attached.contains("/.gemini/tmp/") && attached.contains("/images/"), "{attached}");
    assert!(sandbox.read("telemetry.log").contains("image/png"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&attached).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_is_no_picture_is_said_and_stays_text() {
    let sandbox = sandbox();
    sandbox.write("fake.png", "words");
    let mut terminal = started(&sandbox, None);
    terminal.keys(&pasted("fake.png")).sees("fake.png is called like an image and is none");
    terminal.shows("> fake.png");
    terminal.keys("\x15").keys(&pasted("no/such.png")).shows("> no/such.png");
    terminal.keys("\x15see @fake.png\r").sees("@fake.png: it is called like an image and is none; it is read as text");
    terminal.ready();
}

#[test]
fn a_picture_that_is_named_is_shown_with_its_size() {
    let sandbox = sandbox();
    sandbox.write("shot.png", PNG);
    let mut terminal = started(&sandbox, None);
    terminal.keys("what is @shot.png ?\r").sees("> what is [image shot.png, 20 bytes] ?");
    terminal.sees("seen");
    assert!(sandbox.read("telemetry.log").contains("image/png"));
}

#[test]
fn control_v_takes_a_picture_from_the_clipboard() {
    let sandbox = sandbox();
    sandbox.write("clip.png", PNG);
    let reader = sandbox.beside("bin/wl-paste");
    std::fs::create_dir_all(reader.parent().unwrap()).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$3\" = image/png ] && [ -e {0}/clip.png ] && cat {0}/clip.png\n",
        sandbox.project().display()
    );
    std::fs::write(&reader, script).unwrap();
    hookwright_testkit::make_executable(&reader);
    let path = format!("{}:/usr/bin:/bin", reader.parent().unwrap().display());
    let mut terminal = started(&sandbox, Some(&path));
    terminal.keys("\x16").sees("> [image clipboard.png, 20 bytes]");
    terminal.keys("\r").sees("seen");
    terminal.shows("> [image clipboard.png, 20 bytes]");
    assert!(sandbox.read("telemetry.log").contains("image/png"));
    std::fs::remove_file(sandbox.project().join("clip.png")).unwrap();
    terminal.ready().keys("\x16").sees("there is no image in the clipboard (wl-paste");
}

#[test]
fn without_a_program_for_it_the_clipboard_is_not_read() {
    let sandbox = sandbox();
    let mut terminal = started(&sandbox, Some("/nowhere"));
    terminal.keys("\x16").sees("wl-paste, xclip or pngpaste would read an image from the clipboard");
}
