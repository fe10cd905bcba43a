//! The log: off by default, whole lines that share ids, without secrets, and never on a screen.

use std::io::{Read, Write};
use std::path::PathBuf;

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::{ProgramRun, ReplayBuilder, Sandbox, finish};
use serde_json::json;

use super::tui::TestTerminal;
use crate::sandbox;

fn file(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".gemini/hookwright/logs/hookwright.log")
}

fn log(sandbox: &Sandbox) -> String {
    fs::read_to_string(file(sandbox)).unwrap()
}

/// A project whose hook objects to nothing, and a model that calls a tool.
fn guarded(sandbox: Sandbox) -> Sandbox {
    let command = sandbox.script("guard.sh", "cat > /dev/null");
    let guard = json!({"matcher": "glob", "hooks": [{"type": "command", "name": "guard", "command": command}]});
    sandbox.settings(&json!({"hooks": {"BeforeTool": [guard]}}));
    sandbox
}

fn ask(sandbox: &Sandbox, more: &[&str]) -> ProgramRun {
    let replay = sandbox.replay(&ReplayBuilder::new().calls("glob", json!({"pattern": "*.rs"})).says("none"));
    sandbox.run(&[&["-p", "which files?", "--fake-responses", &replay], more].concat()).expect_exit_code(0)
}

/// Asserts that lines with these words come in this order.
#[track_caller]
fn in_order(log: &str, lines: &[&[&str]]) {
    let mut rest = log.lines();
    for words in lines {
        let found = rest.any(|line| words.iter().all(|word| line.contains(word)));
        assert!(found, "no line with {words:?}, or not in its place:\n{log}");
    }
}

/// Checks a line's form, `2026-01-31T10:20:30.456Z DEBUG 4242 hooks::running::dispatch …`, and returns the process id.
#[track_caller]
fn process_of(line: &str) -> &str {
    let shape: String = line.chars().take(24).map(|char| if char.is_ascii_digit() { '0' } else { char }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000Z", "{line}");
    let mut words = line.split_whitespace().skip(1);
    assert!(["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].contains(&words.next().unwrap()), "{line}");
    words.next().unwrap()
}

#[test]
fn there_is_no_log_unless_asked_for() {
    let sandbox = guarded(sandbox());
    ask(&sandbox, &[]);
    assert!(!sandbox.home().join(".gemini/hookwright/logs").exists());
    let off = guarded(crate::sandbox().env("HOOKWRIGHT_LOG", "off"));
    ask(&off, &["--debug"]);
    assert!(!off.home().join(".gemini/hookwright/logs").exists());
}

#[test]
fn related_lines_share_ids() {
    let sandbox = guarded(sandbox().env("HOOKWRIGHT_LOG", "debug"));
    let run = ask(&sandbox, &["--session-id", "s-one"]);
    assert!(!run.stderr.contains("fires") && !run.stderr.contains("log"), "{}", run.stderr);
    let turn = "turn{id=s-one########1}";
    let call = format!("{turn}:call{{id=glob-1 tool=glob}}");
    let event = format!("{call}:event{{id=1 kind=BeforeTool}}");
    let hook = format!("{event}:run{{id=1.1 hook=guard}}");
    in_order(
        &log(&sandbox),
        &[
            &["INFO", "cli::log: begins version="],
            &["settings::load: settings file", ".gemini/settings.json", "state=Loaded"],
            &["settings::load: configuration loaded", " hooks=1 ", " ms="],
            &["agent::session::actor: busy with=Starting"],
            &["agent::session::actor: ordered order=prompt"],
            &["agent::model_gateway", turn, "asks the model provider=replay"],
            &["agent::model_gateway", turn, "the answer is over end=complete", "tokens_in=5 tokens_out=3 calls=1"],
            &["hooks::running::dispatch", &format!("{event}: fires subject=glob hooks=1 sequential=false")],
            &["hooks::running::dispatch", &format!("{hook}: the hook starts source=")],
            &["hooks::running::command", &format!("{hook}: its process runs pid=")],
            &["hooks::running::dispatch", &format!("{hook}: the hook has ended status=ok exit=0 ms=")],
            &["agent::call", &format!("{call}: may run by=rules mode=default")],
            &["agent::call", &format!("{call}: the tool runs")],
            &["agent::call", &format!("{call}: the call is over ms=")],
            &["agent::agent", &format!("{turn}: the turn is over end=answered")],
            &["agent::session::actor: idle"],
            &["agent::session::actor: ends reason=Exit"],
            &["cli: ends code=0"],
        ],
    );
    assert!(!log(&sandbox).contains("which files?"), "what the user wrote is nobody's business");
}

#[test]
fn a_filter_chooses_parts() {
    let sandbox = guarded(sandbox().env("HOOKWRIGHT_LOG", "hooks::running::dispatch=debug,agent=loud"));
    let run = ask(&sandbox, &[]);
    let warning =
        "warning: HOOKWRIGHT_LOG: `agent=loud` is left out: `loud` is not a level (off, error, warn, info, debug";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    let log = log(&sandbox);
    assert_eq!(log.lines().count(), 3, "{log}");
    // The line still names its turn and event.
    assert!(
        log.lines().all(|line| line.contains(" hooks::running::dispatch turn{id=") && line.contains(":event{id=1 ")),
        "{log}"
    );
}

#[test]
fn debug_says_where_the_log_is_and_goes_on_without_one() {
    let sandbox = guarded(sandbox());
    let run = ask(&sandbox, &["--debug"]);
    let place = format!("note: the log is {}", file(&sandbox).display());
    assert_eq!(run.stderr.matches(&place).count(), 1, "{}", run.stderr);
    assert!(log(&sandbox).contains("the hook has ended"));

    std::fs::remove_dir_all(sandbox.home().join(".gemini/hookwright/logs")).unwrap();
    std::fs::write(sandbox.home().join(".gemini/hookwright/logs"), "in the way").unwrap();
    let run = ask(&sandbox, &["--debug"]);
    assert_eq!(run.stdout, "none\n");
    assert_eq!(run.stderr.matches("warning: there is no log: ").count(), 1, "{}", run.stderr);
    assert!(!run.stderr.contains("the log is "), "{}", run.stderr);
}

#[test]
fn lines_of_several_processes_stay_whole() {
    let sandbox = guarded(sandbox().env("HOOKWRIGHT_LOG", "trace"));
    let long: String = (0..3000).map(|number| format!("{number} ")).collect();
    let replay = sandbox.replay(&ReplayBuilder::new().calls("glob", json!({"pattern": "x".repeat(9000)})).says(&long));
    let args = ["-p", "go", "--fake-responses", &replay];
    let all: Vec<_> = (0..4).map(|_| sandbox.command(&args).spawn().unwrap()).collect();
    let pids: Vec<String> = all.iter().map(|child| child.id().to_string()).collect();
    for child in all {
        finish(child).expect_exit_code(0);
    }
    let log = log(&sandbox);
    for line in log.lines() {
        assert!(pids.iter().any(|pid| pid == process_of(line)), "{line}");
    }
    for pid in &pids {
        let own: Vec<&str> = log.lines().filter(|line| process_of(line) == pid).collect();
        assert!(own[0].contains("cli::log: begins") && own[own.len() - 1].ends_with("cli: ends code=0"), "{log}");
        assert!(own.iter().any(|line| line.contains(&long)), "{log}");
    }
}

/// A server that refuses every request and repeats the key as the reason.
fn refusing_server() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.connections() {
            let mut bytes = vec![0; 1 << 20];
            let mut length = 0;
            while !String::from_utf8_lossy(&bytes[..length]).contains("stream_options") {
                let read = stream.read(&mut bytes[length..]).unwrap();
                assert!(read > 0, "the request ends before its body");
                length += read;
            }
            let head = String::from_utf8_lossy(&bytes[..length]).split("\r\n\r\n").next().unwrap().to_owned();
            let body = json!({"error": {"message": format!("no: {head}"), "type": "x", "code": "invalid_api_key"}});
            let body = body.to_string();
            let answer =
                format!("HTTP/1.1 401 No\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    format!("http://{address}/v1")
}

#[test]
fn no_secret_reaches_the_log() {
    let secrets =
        ["quiet-value-of-a-key-1", "quiet-value-of-a-token-2", "AIzaSyFAKEFAKEFAKEFAKEFAKEFAKE333", "value-four"];
    let [key, token, shaped, named] = secrets;
    let sandbox = sandbox()
        .env("HOOKWRIGHT_LOG", "trace")
        .env("OPENAI_BASE_URL", &refusing_server())
        .env("OPENAI_MODEL", "m")
        .env("OPENAI_API_KEY", key);
    sandbox.user_settings(&json!({}));
    std::fs::write(sandbox.home().join(".gemini/.env"), format!("MY_TOKEN={token}\n")).unwrap();
    let failing = sandbox.script("failing.sh", "cat > /dev/null; echo \"$MY_TOKEN $OPENAI_API_KEY\" >&2; exit 1");
    sandbox.settings(&json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": failing}]}]}}));
    let prompt = format!("with {shaped}, https://host/?key={named} and \x1b[2J");
    let run = sandbox.run(&["-p", &prompt]);
    assert!(run.stderr.contains("quiet-value-of-a-token-2"), "the hook's words are shown: {}", run.stderr);
    let log = log(&sandbox);
    in_order(
        &log,
        &[
            &["the hook has ended status=failed", "*** ***"],
            &["model::http", "the request body=", "with ***, https://host/?key=*** and "],
            &["model::http", "the server answers", "status=401"],
            &["the turn is over end=failed"],
        ],
    );
    for secret in secrets {
        assert!(!log.contains(secret), "{secret} is in the log:\n{log}");
    }
    assert!(log.chars().all(|char| char == '\n' || !char.is_control()), "{log:?}");
}

#[test]
fn nothing_of_it_is_on_the_screen_of_a_session() {
    let sandbox = guarded(sandbox());
    let mut terminal = TestTerminal::sized(&sandbox, &["--debug"], 160, 30);
    terminal.wait_until_ready().keys("say hello\r").wait_for_new_text("\nhello");
    terminal.wait_until_ready().keys("/about\r");
    terminal.wait_for_new_text(".gemini/hookwright/logs/hookwright.log");
    terminal.wait_until_ready().keys("\x04");
    terminal.wait_for_exit();
    let log = log(&sandbox);
    in_order(&log, &[&["busy with=Working"], &["the turn is over"], &["ordered order=about"], &["cli: ends code=0"]]);
    let seen = terminal.everything();
    for words in ["DEBUG", "INFO", "conduct", "ordered", "turn{"] {
        assert!(!seen.contains(words), "`{words}` is on the screen:\n{seen}");
    }
}
