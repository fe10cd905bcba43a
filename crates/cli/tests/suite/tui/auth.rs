//! `/auth`, `/logout` and `/model` in a real terminal, against servers on loopback.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hookwright_testkit::fs;
use serde_json::{Value, json};

use super::{Terminal, sandbox};
use crate::suite::model_server::ModelServer;

const KEY: &str = "AIzaTest-0123456789-abcdefghijk";
const WRONG: &str = "AIzaWrong-9876543210-zyxwvutsrq";

fn kept(home: &Path) -> std::path::PathBuf {
    home.join(".gemini/hookwright/connections.json")
}

/// The text of every file below a folder, but for one.
fn everything_but(folder: &Path, but: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            text.push_str(&everything_but(&path, but));
        } else if path != but {
            text.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()));
        }
    }
    text
}

/// A box whose hooks write down all that they see, and whose log says everything.
fn watched(server: &ModelServer) -> hookwright_testkit::Sandbox {
    let sandbox = sandbox()
        .env("GOOGLE_GEMINI_BASE_URL", &format!("http://{}", server.address))
        .env("HOOKWRIGHT_LOG", "trace")
        .env("OLLAMA_HOST", "127.0.0.1:1");
    let seen = sandbox.beside("seen.txt");
    let dump = format!("{{ env; cat; echo; }} >> {}", seen.display());
    let hook = |name: &str| json!([{"hooks": [{"type": "command", "name": name, "command": dump}]}]);
    let telemetry = sandbox.beside("telemetry.jsonl");
    sandbox.user_settings(&json!({
        "telemetry": {"enabled": true, "outfile": telemetry},
        "hooks": {"BeforeModel": hook("m"), "AfterModel": hook("a"), "SessionStart": hook("s"), "SessionEnd": hook("e")},
    }));
    sandbox
}

#[test]
fn a_key_is_typed_unseen_checked_kept_and_nowhere_else() {
    let server = ModelServer::start("gemini", KEY, &["gemini-2.5-flash", "gemini-2.5-pro"]);
    let sandbox = watched(&server);
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/auth\r").sees("Which model is to be connected?");
    terminal.keys("gem").sees("1 of 3 with `gem`");
    terminal.keys("\r").sees("The key for the Gemini API");
    terminal.keys(WRONG).sees("•••••");
    terminal.keys("\r").sees("That did not work: ");
    assert_eq!(server.asked(), 0, "a key that is refused asks no model");
    terminal.keys(KEY).sees("•••••");
    terminal.keys("\r").sees("Which model of 127.0.0.1");
    terminal.sees("› 2. gemini-2.5-pro");
    terminal.keys("1").sees("the model is gemini-2.5-flash");
    terminal.sees("only you can read");
    assert_eq!(server.asked(), 1, "it was asked for a word");
    terminal.ready().keys("good morning\r").sees("hello from gemini");
    terminal.ready();
    let everything = terminal.raw();
    assert_eq!(terminal.keys("\x04").ends(), 0);

    let file = kept(&sandbox.home());
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(KEY) && !text.contains(WRONG), "{text}");
    let elsewhere = everything_but(sandbox.beside("x").parent().unwrap(), &file);
    for secret in [KEY, WRONG] {
        assert!(!everything.contains(secret), "not on the screen");
        assert!(!elsewhere.contains(secret), "not in logs, transcripts, telemetry, hooks' input or environment");
    }
    let hooks = fs::read_to_string(sandbox.beside("seen.txt")).unwrap();
    assert!(hooks.contains(r#""purpose":"check""#), "hooks see the request that checks: {hooks}");

    // From now on it counts, without any variable.
    let run = sandbox.run(&["-p", "hi"]).exits(0);
    assert_eq!(run.stdout.trim(), "hello from gemini", "{run:?}");
    let last = server.seen().pop().unwrap();
    assert_eq!(last.key, KEY);
    assert!(last.line.contains("gemini-2.5-flash"), "{last:?}");
}

#[test]
fn a_guard_that_refuses_the_check_keeps_it_from_being_connected() {
    let server = ModelServer::start("gemini", KEY, &["gemini-2.5-pro"]);
    let sandbox = sandbox().env("GOOGLE_GEMINI_BASE_URL", &format!("http://{}", server.address));
    sandbox.user_settings(&json!({"hooks": {"BeforeModel": [{"hooks": [
        {"type": "command", "name": "no", "command": "echo not from here >&2; exit 2", "guard": true}]}]}}));
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/auth\r").sees("Gemini API");
    terminal.keys("Gemini\r").sees("The key for");
    terminal.keys(&format!("{KEY}\r")).sees("Which model of");
    terminal.keys("\r").sees("That did not work: a hook refused the request: not from here");
    terminal.keys("\x1b").sees(super::COMPOSER);
    assert_eq!(server.asked(), 0);
    assert!(!kept(&sandbox.home()).exists());
}

#[test]
fn a_server_on_this_machine_is_offered_and_models_of_both_can_be_picked() {
    let local = ModelServer::start("local", "", &["tiny", "large"]);
    let far = ModelServer::start("far", KEY, &["far-1"]);
    let sandbox = sandbox().env("OLLAMA_HOST", &local.address);
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/auth\r").sees("1. Ollama");
    terminal.keys("1").sees("Which model of");
    terminal.keys("2").sees("the model is large");
    terminal.ready().keys("hi\r").sees("hello from local");
    terminal.ready().keys("/auth\r").sees("Another server");
    terminal.keys("another\r").sees("The server's address");
    terminal.keys(&format!("http://{}/v1\r", far.address)).sees("The key for");
    terminal.keys(&format!("{KEY}\r")).sees("1. far-1");
    terminal.keys("1").sees("the model is far-1");
    terminal.ready().keys("hi\r").sees("hello from far");
    terminal.ready().keys("/model\r").sees("(now)");
    let screen = terminal.screen();
    assert!(screen.contains("tiny") && screen.contains("large") && screen.contains("far-1"), "{screen}");
    terminal.keys("tiny\r").sees("the model is tiny");
    terminal.blank();
    terminal.keys("and now?\r").sees("hello from local");
    let last = local.seen().pop().unwrap();
    assert!(last.line.contains("/v1/chat/completions") && last.body.contains(r#""tiny""#), "{last:?}");
    assert!(last.key.is_empty(), "no key goes where none is wanted");
    assert_eq!(terminal.keys("\x04").ends(), 0);
    let text = fs::read_to_string(kept(&sandbox.home())).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(all["connections"][0]["model"], "tiny", "{text}");
    assert_eq!(all["connections"].as_array().unwrap().len(), 2);
}

#[test]
fn logout_forgets_fires_and_leaves() {
    let local = ModelServer::start("local", "", &["tiny"]);
    let sandbox = sandbox().env("OLLAMA_HOST", &local.address);
    let ended = sandbox.beside("ended.json");
    sandbox.user_settings(&json!({"hooks": {"SessionEnd": [{"matcher": "logout", "hooks": [
        {"type": "command", "name": "end", "command": format!("cat > {}", ended.display())}]}]}}));
    let mut terminal = Terminal::start(&sandbox, &[]);
    terminal.ready().keys("/auth\r").sees("1. Ollama");
    terminal.keys("1").sees("Which model of");
    terminal.keys("1").sees("kept in ");
    assert!(kept(&sandbox.home()).exists());
    assert_eq!(terminal.ready().keys("/logout\r").ends(), 0);
    assert!(terminal.everything().contains("forgot what was connected"), "{}", terminal.everything());
    assert!(!kept(&sandbox.home()).exists());
    let input: Value = serde_json::from_str(&fs::read_to_string(ended).unwrap()).unwrap();
    assert_eq!(input["reason"], "logout");
}

#[test]
fn in_lines_the_key_is_not_echoed() {
    let server = ModelServer::start("gemini", KEY, &["gemini-2.5-pro"]);
    let sandbox = watched(&server);
    let mut terminal = Terminal::start(&sandbox, &["--screen-reader"]);
    terminal.sees(super::COMPOSER);
    terminal.keys("/auth\r").sees("Answer with a number or a name");
    terminal.keys("7\r").sees("that is none of them");
    terminal.keys("gemini api\r").sees("what you type is not shown");
    terminal.keys(&format!("{KEY}\r")).sees("1. gemini-2.5-pro");
    terminal.keys("1\r").sees("the model is gemini-2.5-pro");
    terminal.keys("hi\r").sees("hello from gemini");
    assert_eq!(terminal.keys("/logout\r").ends(), 0);
    assert!(!terminal.raw().contains(KEY));
    assert!(!kept(&sandbox.home()).exists());
}

#[test]
fn no_tool_reads_or_prints_a_kept_key() {
    let sandbox = sandbox().project_named("home");
    let folder = sandbox.home().join(".gemini/hookwright");
    fs::create_dir_all(&folder).unwrap();
    let text = json!({"connections": [{"service": "gemini", "key": KEY}]}).to_string();
    fs::write(folder.join("connections.json"), text).unwrap();
    let path = ".gemini/hookwright/connections.json";
    let replay = hookwright_testkit::Replay::new()
        .calls("read_file", json!({"file_path": path}))
        .calls("search_file_content", json!({"pattern": "AIza"}))
        .calls("run_shell_command", json!({"command": format!("cat {path}")}))
        .says("done");
    let file = sandbox.replay(&replay);
    let run = sandbox.run(&["-p", "go", "--fake-responses", &file, "--yolo", "-o", "stream-json"]).exits(0);
    assert!(run.stdout.contains("\\\"key\\\":\\\"***\\\"") || run.stdout.contains("***"), "{}", run.stdout);
    let elsewhere = everything_but(&sandbox.home(), &folder.join("connections.json"));
    assert!(!run.stdout.contains(KEY) && !elsewhere.contains(KEY), "{}", run.stdout);
}

fn dialog(columns: u16, steps: &[(&str, &str)]) -> String {
    let server = ModelServer::start("local", "", &["tiny", "large"]);
    let sandbox = sandbox().env("OLLAMA_HOST", &server.address).env("NO_COLOR", "1");
    let mut terminal = Terminal::sized(&sandbox, &[], columns, 24);
    terminal.ready().keys("/auth\r").sees("Another server");
    for (keys, until) in steps {
        terminal.keys(keys).sees(until);
    }
    let port = server.address.split(':').nth(1).unwrap().to_owned();
    // The status line below the dialog is drawn last.
    let screen = terminal.shows("\noffline · ");
    let from = screen.find("? ").unwrap();
    let end = screen.rfind("offline · ").unwrap();
    screen[from..end].replace(&port, &"9".repeat(port.len()))
}

#[test]
fn what_can_be_connected_at_three_widths() {
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
