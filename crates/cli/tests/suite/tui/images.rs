//! Images in a prompt: pasted by path, from the clipboard, and by `@path`.

use hookwright_testkit::{ReplayBuilder, Sandbox};
use serde_json::json;

use super::{TestTerminal, sandbox};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01";

/// A session whose hook logs the input of prompts.
fn start_session(sandbox: &Sandbox, path: Option<&str>) -> TestTerminal {
    let log = sandbox.script("log.sh", "cat > \"$GEMINI_PROJECT_DIR/told\"");
    sandbox.settings(&json!({"hooks": {"BeforeAgent": [{"hooks": [{"type": "command", "command": log}]}]}}));
    sandbox.user_settings(&json!({"telemetry": {"enabled": true, "target": "local", "outfile": "telemetry.log"}}));
    let file = sandbox.replay(&ReplayBuilder::new().says("seen").says("seen again"));
    let mut command = sandbox.command(&["--fake-responses", &file]);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let mut terminal = TestTerminal::with(&command, 80, 30);
    terminal.wait_until_ready();
    terminal
}

fn bracketed_paste(text: &str) -> String {
    format!("\x1b[200~{text}\x1b[201~")
}

#[test]
fn a_pasted_path_becomes_a_picture() {
    let sandbox = sandbox();
    sandbox.write("my shot.png", PNG);
    let mut terminal = start_session(&sandbox, None);
    terminal.keys("what is ").keys(&bracketed_paste(r"my\ shot.png"));
    terminal.wait_for_new_text("> what is [image my shot.png, 20 bytes]");
    terminal.keys("please\r").wait_for_new_text("> what is [image my shot.png, 20 bytes] please");
    terminal.wait_for_new_text("seen");
    let told: serde_json::Value = serde_json::from_str(&sandbox.read("told")).unwrap();
    assert_eq!(told["prompt"], "what is @\"my shot.png\" please");
    assert_eq!((&told["attachments"][0]["kind"], &told["attachments"][0]["size"]), (&json!("file"), &json!(20)));
    let sent = sandbox.read("telemetry.log");
    assert!(sent.contains("image/png"), "{sent}");
}

#[test]
fn a_picture_from_elsewhere_is_copied_for_the_tools() {
    let sandbox = sandbox();
    let outside = sandbox.sibling_path("shot.png");
    std::fs::write(&outside, [PNG, &[0; 12_000]].concat()).unwrap();
    let mut terminal = start_session(&sandbox, None);
    terminal
        .keys(&bracketed_paste(&format!("file://{}", outside.display())))
        .wait_for_new_text("> [image shot.png, 12 KB]");
    terminal.keys("\r").wait_for_new_text("seen");
    let told: serde_json::Value = serde_json::from_str(&sandbox.read("told")).unwrap();
    let attached = told["attachments"][0]["path"].as_str().unwrap().to_owned();
    assert!(attached.contains("/.gemini/tmp/") && attached.contains("/images/"), "{attached}");
    assert!(sandbox.read("telemetry.log").contains("image/png"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&attached).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_file_that_is_no_image_is_reported_and_stays_text() {
    let sandbox = sandbox();
    sandbox.write("fake.png", "words");
    let mut terminal = start_session(&sandbox, None);
    terminal.keys(&bracketed_paste("fake.png")).wait_for_new_text("fake.png is named like an image but is not one");
    terminal.wait_for_text("> fake.png");
    terminal.keys("\x15").keys(&bracketed_paste("no/such.png")).wait_for_text("> no/such.png");
    terminal
        .keys("\x15see @fake.png\r")
        .wait_for_new_text("@fake.png: its name is that of an image, but it is none; it is read as text");
    terminal.wait_until_ready();
}

#[test]
fn a_picture_that_is_named_is_shown_with_its_size() {
    let sandbox = sandbox();
    sandbox.write("shot.png", PNG);
    let mut terminal = start_session(&sandbox, None);
    terminal.keys("what is @shot.png ?\r").wait_for_new_text("> what is [image shot.png, 20 bytes] ?");
    terminal.wait_for_new_text("seen");
    assert!(sandbox.read("telemetry.log").contains("image/png"));
}

#[test]
fn control_v_takes_a_picture_from_the_clipboard() {
    let sandbox = sandbox();
    sandbox.write("clip.png", PNG);
    let reader = sandbox.sibling_path("bin/wl-paste");
    std::fs::create_dir_all(reader.parent().unwrap()).unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$3\" = image/png ] && [ -e {0}/clip.png ] && cat {0}/clip.png\n",
        sandbox.project().display()
    );
    std::fs::write(&reader, script).unwrap();
    hookwright_testkit::make_executable(&reader);
    let path = format!("{}:/usr/bin:/bin", reader.parent().unwrap().display());
    let mut terminal = start_session(&sandbox, Some(&path));
    terminal.keys("\x16").wait_for_new_text("> [image clipboard.png, 20 bytes]");
    terminal.keys("\r").wait_for_new_text("seen");
    terminal.wait_for_text("> [image clipboard.png, 20 bytes]");
    assert!(sandbox.read("telemetry.log").contains("image/png"));
    std::fs::remove_file(sandbox.project().join("clip.png")).unwrap();
    terminal.wait_until_ready().keys("\x16").wait_for_new_text("there is no image in the clipboard (wl-paste");
}

#[test]
fn without_a_program_for_it_the_clipboard_is_not_read() {
    let sandbox = sandbox();
    let mut terminal = start_session(&sandbox, Some("/nowhere"));
    terminal.keys("\x16").wait_for_new_text("reading an image from the clipboard needs wl-paste, xclip or pngpaste");
}
