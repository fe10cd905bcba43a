//! Questions and choices on the screen, at three widths: nothing is cut that fits, and nothing is wider than the
//! window.

use hookwright_testkit::Sandbox;
use serde_json::json;

use super::{TestTerminal, sandbox};
use crate::suite::model_server::ModelServer;

const WIDTHS: [u16; 3] = [40, 80, 120];

/// Returns the screen from a line with this beginning, down to the status line.
fn from(terminal: &TestTerminal, begin: &str) -> String {
    // A part of a frame may come before the rest.
    let ends = [" · asks first", " · yolo", "4. Nothing (esc)"];
    let is_whole =
        |screen: &str| screen.rfind(begin).is_some_and(|at| ends.iter().any(|end| screen[at..].contains(end)));
    hookwright_testkit::wait_until("all of it is drawn", || is_whole(&terminal.screen()));
    let screen = terminal.screen();
    let lines = screen.lines().map(str::trim_end).skip_while(|line| !line.trim_start().starts_with(begin));
    let lines: Vec<&str> =
        lines.take_while(|line| !line.contains(" · asks first") && !line.contains(" · yolo")).collect();
    assert!(!lines.is_empty(), "{begin}: {screen}");
    lines.join("\n").trim_end().to_owned()
}

/// Takes a snapshot at each width of what a session shows from such a line on.
fn at_every_width(
    name: &str,
    begin: &str,
    args: &[&str],
    prepare: impl Fn() -> Sandbox,
    act: impl Fn(&mut TestTerminal),
) {
    for columns in WIDTHS {
        let sandbox = prepare().env("NO_COLOR", "1");
        let mut terminal = TestTerminal::sized(&sandbox, args, columns, 30);
        terminal.wait_until_ready();
        act(&mut terminal);
        let shown = from(&terminal, begin);
        let widest = shown.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= usize::from(columns), "{name} {columns}: {shown}");
        insta::assert_snapshot!(format!("{name}_{columns}"), shown);
    }
}

fn write(content: &str) -> String {
    let args = json!({"file_path": "src/a.txt", "content": content});
    format!("call write_file {args}\r")
}

#[test]
fn themes_to_choose_from() {
    at_every_width("theme", "? Which theme", &[], sandbox, |terminal| {
        terminal.keys("/theme\r").wait_for_new_text("Enter to choose");
    });
}

#[test]
fn models_to_choose_from() {
    let server = ModelServer::start("local", "", &["tiny-8b", "a-model-with-a-rather-long-name-70b-instruct-q4"]);
    let prepare =
        || sandbox().env("OPENAI_BASE_URL", &format!("http://{}/v1", server.address)).env("OPENAI_MODEL", "tiny-8b");
    for columns in WIDTHS {
        let sandbox = prepare().env("NO_COLOR", "1");
        let mut terminal = TestTerminal::sized(&sandbox, &[], columns, 30);
        terminal.wait_until_ready().keys("/model\r").wait_for_new_text("(now)");
        // The port is different each time.
        let shown = from(&terminal, "? ").replace(&server.address, "127.0.0.1:…");
        let shown = shown.lines().map(|line| line.split("127.0").next().unwrap_or_default().trim_end().to_owned());
        insta::assert_snapshot!(format!("model_{columns}"), shown.collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn arguments_that_are_edited() {
    at_every_width("edit", "? Allow", &[], sandbox, |terminal| {
        terminal
            .keys(&write("one line\nand another one that is longer than a narrow window is wide"))
            .wait_for_new_text("Allow once");
        terminal.keys("3").wait_for_new_text("Edit, then Enter");
    });
}

#[test]
fn the_refusal_message_dialog() {
    at_every_width("deny", "? Allow", &[], sandbox, |terminal| {
        terminal
            .keys("call run_shell_command {\"command\": \"git push --force origin main\"}\r")
            .wait_for_new_text("Allow once");
        terminal.keys("4").wait_for_new_text("A word to the model");
        terminal.keys("not today").wait_for_text("> not today");
    });
}

#[test]
fn the_restore_dialog() {
    at_every_width("bring_back", "Bring back what", &["-y"], sandbox, |terminal| {
        terminal.keys(&write("x\n")).wait_for_new_text("write_file: done");
        terminal.wait_until_ready().keys("/restore\r").wait_for_new_text("Turns 1/1");
        terminal.keys("\r").wait_for_new_text("Bring back what?");
    });
}

#[cfg(unix)]
#[test]
fn a_change_of_the_guards() {
    let prepare = || {
        let sandbox = sandbox();
        let command = sandbox.script("guard.sh", "grep -q forbidden && exit 2\nexit 0");
        let hook = json!({"type": "command", "name": "guard", "command": command});
        sandbox.settings(&json!({"hooks": {"BeforeTool": [{"matcher": "run_shell_command", "hooks": [hook]}]}}));
        sandbox
    };
    for columns in WIDTHS {
        let sandbox = prepare().env("NO_COLOR", "1");
        let mut terminal = TestTerminal::sized(&sandbox, &["-y"], columns, 30);
        terminal.wait_until_ready();
        let call = r#"call run_shell_command {"command": "sed -i s/exit/true/ .gemini/hooks/guard.sh"}"#;
        terminal.keys(&format!("{call}\r")).wait_for_new_text("1. Leave it untrusted");
        // The path of the project is different each time.
        let shown = from(&terminal, "? The agent");
        let (question, diff) = (shown.lines().next().unwrap(), &shown[shown.find("    @@").unwrap()..]);
        insta::assert_snapshot!(format!("guards_{columns}"), format!("{question}\n…\n{diff}"));
    }
}

#[test]
fn the_composer_in_shell_mode_and_with_a_paste() {
    for columns in WIDTHS {
        let sandbox = sandbox().env("NO_COLOR", "1");
        let mut terminal = TestTerminal::sized(&sandbox, &[], columns, 30);
        terminal.wait_until_ready().keys("!\r").wait_for_new_text("Type a shell command");
        let shell = from(&terminal, "! ");
        terminal.keys("\x1b");
        terminal
            .wait_until_ready()
            .keys(&format!("\x1b[200~{}\x1b[201~", "line\n".repeat(3000)))
            .wait_for_new_text("[pasted 3000 lines]");
        let paste = from(&terminal, "> ");
        terminal.keys("\x15").wait_until_gone("[pasted");
        terminal.keys("/dir").wait_for_new_text("› ");
        let menu = from(&terminal, "> /dir");
        insta::assert_snapshot!(format!("composer_{columns}"), [shell, paste, menu].join("\n\n"));
    }
}

#[test]
fn the_permanent_permissions() {
    for columns in WIDTHS {
        let sandbox = sandbox().env("NO_COLOR", "1");
        let mut terminal = TestTerminal::sized(&sandbox, &[], columns, 30);
        let command = "cargo build --offline --all-targets";
        terminal
            .wait_until_ready()
            .keys(&format!("call run_shell_command {}\r", json!({"command": command})))
            .wait_for_new_text("a always");
        terminal.keys("a").wait_for_new_text("Always allow");
        terminal.keys("1").wait_for_new_text("yes, always");
        terminal.keys("y").wait_for_new_text("run_shell_command: done");
        terminal.wait_until_ready().keys("/permissions\r").wait_for_new_text("forget NUMBER");
        // The path of the file is different each time.
        let shown = from(&terminal, "> /permissions");
        insta::assert_snapshot!(format!("permissions_{columns}"), shown.split("/permissions forget").next().unwrap());
    }
}
