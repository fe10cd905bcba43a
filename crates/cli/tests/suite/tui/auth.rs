//! `/auth`, `/logout` and `/model` in a real terminal, against servers on loopback.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hookwright_testkit::fs;
use serde_json::{Value, json};

use super::{TestTerminal, sandbox};
use crate::suite::model_server::ModelServer;

const KEY: &str = "AIzaTest-0123456789-abcdefghijk";
const WRONG_KEY: &str = "AIzaWrong-9876543210-zyxwvutsrq";

fn connections_file(home: &Path) -> std::path::PathBuf {
    home.join(".gemini/hookwright/connections.json")
}

/// Returns the text of every file below a folder, except one.
fn texts_except(folder: &Path, but: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            text.push_str(&texts_except(&path, but));
        } else if path != but {
            text.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()));
        }
    }
    text
}

/// A sandbox whose hooks log their inputs, with the most detailed log.
fn logging_sandbox(server: &ModelServer) -> hookwright_testkit::Sandbox {
    let sandbox = sandbox()
        .env("GOOGLE_GEMINI_BASE_URL", &format!("http://{}", server.address))
        .env("HOOKWRIGHT_LOG", "trace")
        .env("OLLAMA_HOST", "127.0.0.1:1");
    let seen = sandbox.sibling_path("seen.txt");
    let dump = format!("{{ env; cat; echo; }} >> {}", seen.display());
    let hook = |name: &str| json!([{"hooks": [{"type": "command", "name": name, "command": dump}]}]);
    let telemetry = sandbox.sibling_path("telemetry.jsonl");
    sandbox.user_settings(&json!({
        "telemetry": {"enabled": true, "outfile": telemetry},
        "hooks": {"BeforeModel": hook("m"), "AfterModel": hook("a"), "SessionStart": hook("s"), "SessionEnd": hook("e")},
    }));
    sandbox
}

#[test]
fn a_key_is_typed_unseen_checked_kept_and_nowhere_else() {
    let server = ModelServer::start("gemini", KEY, &["gemini-2.5-flash", "gemini-2.5-pro"]);
    let sandbox = logging_sandbox(&server);
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/auth\r").wait_for_new_text("Which model do you want to connect?");
    terminal.keys("gem").wait_for_new_text("1 of 3 with `gem`");
    terminal.keys("\r").wait_for_new_text("The key for the Gemini API");
    terminal.keys(WRONG_KEY).wait_for_new_text("•••••");
    terminal.keys("\r").wait_for_new_text("That did not work: ");
    assert_eq!(server.model_request_count(), 0, "a key that is refused asks no model");
    terminal.keys(KEY).wait_for_new_text("•••••");
    terminal.keys("\r").wait_for_new_text("Which model of 127.0.0.1");
    terminal.wait_for_new_text("› 2. gemini-2.5-pro");
    terminal.keys("1").wait_for_new_text("the model is gemini-2.5-flash");
    terminal.wait_for_new_text("only you can read");
    assert_eq!(server.model_request_count(), 1, "it was asked for a word");
    terminal.wait_until_ready().keys("good morning\r").wait_for_new_text("hello from gemini");
    terminal.wait_until_ready();
    let everything = terminal.raw();
    assert_eq!(terminal.keys("\x04").wait_for_exit(), 0);

    let file = connections_file(&sandbox.home());
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(KEY) && !text.contains(WRONG_KEY), "{text}");
    let elsewhere = texts_except(sandbox.sibling_path("x").parent().unwrap(), &file);
    for secret in [KEY, WRONG_KEY] {
        assert!(!everything.contains(secret), "not on the screen");
        assert!(!elsewhere.contains(secret), "not in logs, transcripts, telemetry, hooks' input or environment");
    }
    let hooks = fs::read_to_string(sandbox.sibling_path("seen.txt")).unwrap();
    assert!(hooks.contains(r#""purpose":"check""#), "hooks see the request that checks: {hooks}");

    // From now on the saved connection counts, without a variable.
    let run = sandbox.run(&["-p", "hi"]).expect_exit_code(0);
    assert_eq!(run.stdout.trim(), "hello from gemini", "{run:?}");
    let last = server.received_requests().pop().unwrap();
    assert_eq!(last.key, KEY);
    assert!(last.line.contains("gemini-2.5-flash"), "{last:?}");
}

#[test]
fn a_guard_that_refuses_the_check_keeps_it_from_being_connected() {
    let server = ModelServer::start("gemini", KEY, &["gemini-2.5-pro"]);
    let sandbox = sandbox().env("GOOGLE_GEMINI_BASE_URL", &format!("http://{}", server.address));
    sandbox.user_settings(&json!({"hooks": {"BeforeModel": [{"hooks": [
        {"type": "command", "name": "no", "command": "echo not from here >&2; exit 2", "guard": true}]}]}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/auth\r").wait_for_new_text("Gemini API");
    terminal.keys("Gemini\r").wait_for_new_text("The key for");
    terminal.keys(&format!("{KEY}\r")).wait_for_new_text("Which model of");
    terminal.keys("\r").wait_for_new_text("That did not work: a hook refused the request: not from here");
    terminal.keys("\x1b").wait_for_new_text(super::COMPOSER);
    assert_eq!(server.model_request_count(), 0);
    assert!(!connections_file(&sandbox.home()).exists());
}

#[test]
fn a_server_on_this_machine_is_offered_and_models_of_both_can_be_picked() {
    let local = ModelServer::start("local", "", &["tiny", "large"]);
    let far = ModelServer::start("far", KEY, &["far-1"]);
    let sandbox = sandbox().env("OLLAMA_HOST", &local.address);
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/auth\r").wait_for_new_text("1. Ollama");
    terminal.keys("1").wait_for_new_text("Which model of");
    terminal.keys("2").wait_for_new_text("the model is large");
    terminal.wait_until_ready().keys("hi\r").wait_for_new_text("hello from local");
    terminal.wait_until_ready().keys("/auth\r").wait_for_new_text("Another server");
    terminal.keys("another\r").wait_for_new_text("The server's address");
    terminal.keys(&format!("http://{}/v1\r", far.address)).wait_for_new_text("The key for");
    terminal.keys(&format!("{KEY}\r")).wait_for_new_text("1. far-1");
    terminal.keys("1").wait_for_new_text("the model is far-1");
    terminal.wait_until_ready().keys("hi\r").wait_for_new_text("hello from far");
    terminal.wait_until_ready().keys("/model\r").wait_for_new_text("(now)");
    let screen = terminal.screen();
    assert!(screen.contains("tiny") && screen.contains("large") && screen.contains("far-1"), "{screen}");
    terminal.keys("tiny\r").wait_for_new_text("the model is tiny");
    terminal.blank();
    terminal.keys("and now?\r").wait_for_new_text("hello from local");
    let last = local.received_requests().pop().unwrap();
    assert!(last.line.contains("/v1/chat/completions") && last.body.contains(r#""tiny""#), "{last:?}");
    assert!(last.key.is_empty(), "no key goes where none is wanted");
    assert_eq!(terminal.keys("\x04").wait_for_exit(), 0);
    let text = fs::read_to_string(connections_file(&sandbox.home())).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(all["connections"][0]["model"], "tiny", "{text}");
    assert_eq!(all["connections"].as_array().unwrap().len(), 2);
}

#[test]
fn logout_forgets_fires_and_leaves() {
    let local = ModelServer::start("local", "", &["tiny"]);
    let sandbox = sandbox().env("OLLAMA_HOST", &local.address);
    let ended = sandbox.sibling_path("ended.json");
    sandbox.user_settings(&json!({"hooks": {"SessionEnd": [{"matcher": "logout", "hooks": [
        {"type": "command", "name": "end", "command": format!("cat > {}", ended.display())}]}]}}));
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/auth\r").wait_for_new_text("1. Ollama");
    terminal.keys("1").wait_for_new_text("Which model of");
    terminal.keys("1").wait_for_new_text("kept in ");
    assert!(connections_file(&sandbox.home()).exists());
    assert_eq!(terminal.wait_until_ready().keys("/logout\r").wait_for_exit(), 0);
    assert!(terminal.everything().contains("forgot what was connected"), "{}", terminal.everything());
    assert!(!connections_file(&sandbox.home()).exists());
    let input: Value = serde_json::from_str(&fs::read_to_string(ended).unwrap()).unwrap();
    assert_eq!(input["reason"], "logout");
}

#[test]
fn in_lines_the_key_is_not_echoed() {
    let server = ModelServer::start("gemini", KEY, &["gemini-2.5-pro"]);
    let sandbox = logging_sandbox(&server);
    let mut terminal = TestTerminal::start(&sandbox, &["--screen-reader"]);
    terminal.wait_for_new_text(super::COMPOSER);
    terminal.keys("/auth\r").wait_for_new_text("Answer with a number or a name");
    terminal.keys("7\r").wait_for_new_text("that is not one of the choices");
    terminal.keys("gemini api\r").wait_for_new_text("what you type is not shown");
    terminal.keys(&format!("{KEY}\r")).wait_for_new_text("1. gemini-2.5-pro");
    terminal.keys("1\r").wait_for_new_text("the model is gemini-2.5-pro");
    terminal.keys("hi\r").wait_for_new_text("hello from gemini");
    assert_eq!(terminal.keys("/logout\r").wait_for_exit(), 0);
    assert!(!terminal.raw().contains(KEY));
    assert!(!connections_file(&sandbox.home()).exists());
}

#[test]
fn no_tool_reads_or_prints_a_kept_key() {
    let sandbox = sandbox().project_named("home");
    let folder = sandbox.home().join(".gemini/hookwright");
    fs::create_dir_all(&folder).unwrap();
    let text = json!({"connections": [{"service": "gemini", "key": KEY}]}).to_string();
    fs::write(folder.join("connections.json"), text).unwrap();
    let path = ".gemini/hookwright/connections.json";
    let replay = hookwright_testkit::ReplayBuilder::new()
        .calls("read_file", json!({"file_path": path}))
        .calls("search_file_content", json!({"pattern": "AIza"}))
        .calls("run_shell_command", json!({"command": format!("cat {path}")}))
        .says("done");
    let file = sandbox.replay(&replay);
    let run = sandbox.run(&["-p", "go", "--fake-responses", &file, "--yolo", "-o", "stream-json"]).expect_exit_code(0);
    assert!(run.stdout.contains("\\\"key\\\":\\\"***\\\"") || run.stdout.contains("***"), "{}", run.stdout);
    let elsewhere = texts_except(&sandbox.home(), &folder.join("connections.json"));
    assert!(!run.stdout.contains(KEY) && !elsewhere.contains(KEY), "{}", run.stdout);
}

fn dialog(columns: u16, steps: &[(&str, &str)]) -> String {
    let server = ModelServer::start("local", "", &["tiny", "large"]);
    let sandbox = sandbox().env("OLLAMA_HOST", &server.address).env("NO_COLOR", "1");
    let mut terminal = TestTerminal::sized(&sandbox, &[], columns, 24);
    terminal.wait_until_ready().keys("/auth\r").wait_for_new_text("Another server");
    for (keys, until) in steps {
        terminal.keys(keys).wait_for_new_text(until);
    }
    let port = server.address.split(':').nth(1).unwrap().to_owned();
    // The status line below the dialog is drawn last.
    let screen = terminal.wait_for_text("\noffline · ");
    let from = screen.find("? ").unwrap();
    let end = screen.rfind("offline · ").unwrap();
    screen[from..end].replace(&port, &"9".repeat(port.len()))
}

#[test]
fn connection_choices_at_three_widths() {
    for columns in [40, 80, 120] {
        insta::assert_snapshot!(format!("auth_places_{columns}"), dialog(columns, &[]));
    }
}

#[test]
fn a_hidden_key_at_three_widths() {
    for columns in [40, 80, 120] {
        let shown = dialog(columns, &[("openai\r", "The key for"), ("sk-secret", "•••••••••")]);
        assert!(!shown.contains("secret"));
        insta::assert_snapshot!(format!("auth_key_{columns}"), shown);
    }
}

/// An address without a scheme is refused before the key is asked for, and what was typed stays.
#[test]
fn an_address_is_checked_before_the_key() {
    let sandbox = sandbox().env("OLLAMA_HOST", "127.0.0.1:1");
    let mut terminal = TestTerminal::start(&sandbox, &[]);
    terminal.wait_until_ready().keys("/auth\r").wait_for_new_text("Which model do you want to connect?");
    terminal.keys("another").wait_for_new_text("1 of 3 with `another`");
    terminal.keys("\r").wait_for_new_text("The server's address");
    terminal.keys("\r").wait_for_new_text("An address is needed here");
    terminal.keys("127.0.0.1:1\r").wait_for_new_text("does not say how to reach it");
    terminal.wait_for_new_text("> http://127.0.0.1:1");
    terminal.keys("\r").wait_for_new_text("The key for http://127.0.0.1:1");
    terminal.keys("\r").wait_for_new_text("That did not work");
    assert!(terminal.screen().contains("> http://127.0.0.1:1"), "{}", terminal.screen());
    terminal.keys("\x1b").wait_until_ready();
}
