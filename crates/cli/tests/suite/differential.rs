//! The same settings, the same recorded answers and the same prompt through Hookwright and through Gemini CLI: hooks of
//! both must be told the same things in the same order. Where they are not, on purpose, `DIFFERENCES` says so and
//! `docs/compatibility.md` says why.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use hookwright_testkit::replay::{call, chunk};
use hookwright_testkit::{Replay, Sandbox, finish, has_program};
use serde_json::{Value, json};

/// A difference that is wanted, and the row of `docs/compatibility.md` that explains it.
struct Difference {
    row: &'static str,
    what: What,
}

enum What {
    /// Only Gemini CLI fires this event.
    NotFired(&'static str),
    /// Gemini CLI fires this event too in these scenarios.
    NotFiredIn(&'static str, &'static [&'static str]),
    /// Only Hookwright tells hooks of this event this field.
    Added(&'static str, &'static str),
    /// The values of this field differ, or one of the two leaves it out.
    Differs(&'static str, &'static str),
    /// Gemini CLI puts a preamble in front of the first message.
    Preamble,
}

const DIFFERENCES: [Difference; 10] = [
    Difference { row: "PreCompress without compression", what: What::NotFired("PreCompress") },
    Difference { row: "AfterAgent after a refused request", what: What::NotFiredIn("AfterAgent", &["denied request"]) },
    Difference { row: "AfterModel's `content` and `full_content`", what: What::Added("AfterModel", "content") },
    Difference { row: "AfterModel's `content` and `full_content`", what: What::Added("AfterModel", "full_content") },
    Difference { row: "AfterAgent's `prompt_response`", what: What::Differs("AfterAgent", "/prompt_response") },
    Difference { row: "thoughts", what: What::Differs("AfterModel", "/llm_response/candidates") },
    Difference { row: "generation settings in `llm_request`", what: What::Differs("*", "/llm_request/config") },
    Difference { row: "words of tool results", what: What::Differs("AfterTool", "/tool_response/llmContent") },
    Difference { row: "words of tool results", what: What::Differs("AfterTool", "/tool_response/returnDisplay") },
    Difference { row: "session preamble", what: What::Preamble },
];

/// What differs between any two runs.
const OF_THE_RUN: [&str; 4] = ["session_id", "transcript_path", "cwd", "timestamp"];

const EVENTS: [&str; 11] = [
    "SessionStart",
    "SessionEnd",
    "BeforeAgent",
    "AfterAgent",
    "BeforeModel",
    "BeforeToolSelection",
    "AfterModel",
    "BeforeTool",
    "AfterTool",
    "PreCompress",
    "Notification",
];

struct Scenario {
    name: &'static str,
    /// A hook beside those that keep what they are told.
    hook: Option<(&'static str, &'static str)>,
    replay: Replay,
}

fn scenarios() -> Vec<Scenario> {
    let write = || Replay::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"}));
    let scenario = |name, replay| Scenario { name, hook: None, replay };
    let hooked = |name, event, script, replay| Scenario { name, hook: Some((event, script)), replay };
    vec![
        scenario("plain answer", Replay::new().pieces(&["one ", "two"])),
        scenario(
            "thoughts and empty pieces",
            Replay::new().stream(vec![
                chunk(&[json!({"text": "hm", "thought": true})], false),
                chunk(&[json!({"text": "ok"})], true),
            ]),
        ),
        scenario("one tool", write().says("done")),
        scenario(
            "several tools",
            Replay::new()
                .parts(&[json!({"text": "let me see "}), call("read_file", json!({"file_path": "seed.txt"}))])
                .calls("run_shell_command", json!({"command": "echo hi"}))
                .says("done"),
        ),
        scenario(
            "unknown tool, bad arguments",
            Replay::new().calls("no_such_tool", json!({})).calls("write_file", json!({"file_path": 7})).says("done"),
        ),
        hooked("denied tool", "BeforeTool", "echo nope >&2; exit 2", write().says("done")),
        hooked("stopped tool", "BeforeTool", r#"echo '{"continue": false, "stopReason": "halt"}'"#, write().says("x")),
        hooked(
            "hidden result",
            "AfterTool",
            r#"echo '{"decision": "deny", "reason": "hidden"}'"#,
            write().says("done"),
        ),
        hooked(
            "context for the prompt",
            "BeforeAgent",
            r#"echo '{"hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "a <b>"}}'"#,
            Replay::new().says("ok"),
        ),
        hooked("denied prompt", "BeforeAgent", "echo no >&2; exit 2", Replay::new()),
        hooked("denied request", "BeforeModel", r#"echo '{"decision": "deny", "reason": "no"}'"#, Replay::new()),
        hooked(
            "retry",
            "AfterAgent",
            r#"case $(cat) in *'"stop_hook_active":true'*) ;; *) echo '{"decision": "deny", "reason": "better"}' ;; esac"#,
            Replay::new().says("first").says("second"),
        ),
        hooked(
            "replaced piece",
            "AfterModel",
            r#"case $(cat) in *'"text":"two '*) echo '{"hookSpecificOutput": {"hookEventName": "AfterModel", "llm_response": {"candidates": [{"content": {"role": "model", "parts": ["2 "]}}]}}}' ;; esac"#,
            Replay::new().pieces(&["one ", "two ", "three"]),
        ),
    ]
}

#[test]
fn hooks_are_told_what_gemini_cli_tells_them() {
    let Some(gemini) = gemini() else {
        eprintln!(
            "skipped: Gemini CLI is not installed (npm install @google/gemini-cli, HOOKWRIGHT_GEMINI=…/bundle/gemini.js)"
        );
        return;
    };
    let scenarios = scenarios();
    let next = AtomicUsize::new(0);
    // Gemini CLI is slow to start; a few at once.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                    compare(scenario, &gemini);
                }
            });
        }
    });
}

#[test]
fn every_intended_difference_is_explained() {
    let text = std::fs::read_to_string(root().join("docs/compatibility.md")).unwrap();
    for Difference { row, .. } in &DIFFERENCES {
        assert!(text.contains(&format!("| {row} |")), "docs/compatibility.md has no row `{row}`");
    }
}

fn compare(scenario: &Scenario, gemini: &[OsString]) {
    let (ours, our_code) = run(scenario, None);
    let (theirs, their_code) = run(scenario, Some(gemini));
    let (ours, theirs) = (comparable(ours, scenario, Side::Hookwright), comparable(theirs, scenario, Side::GeminiCli));
    let events = |log: &[Value]| log.iter().map(|input| input["hook_event_name"].clone()).collect::<Vec<_>>();
    assert_eq!(events(&ours), events(&theirs), "{}: the order of events (ours, theirs)", scenario.name);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs, "{}: {} (ours, theirs)", scenario.name, ours["hook_event_name"]);
    }
    assert_eq!(our_code, their_code, "{}: the exit code (ours, theirs)", scenario.name);
}

/// Runs a scenario; what hooks were told, and the exit code.
fn run(scenario: &Scenario, program: Option<&[OsString]>) -> (Vec<Value>, Option<i32>) {
    let sandbox = crate::sandbox().untrusted();
    sandbox.user_settings(&json!({
        "security": {"folderTrust": {"enabled": false}, "auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": false},
        "privacy": {"usageStatisticsEnabled": false},
    }));
    sandbox.write("seed.txt", "seed");
    let log = sandbox.script("log.sh", r#"input=$(cat); printf '%s\n' "$input" >> "$GEMINI_PROJECT_DIR/log.jsonl""#);
    let definition =
        |name: &str, command: &str| json!({"hooks": [{"type": "command", "name": name, "command": command}]});
    let mut hooks = json!({});
    for event in EVENTS {
        hooks[event] = json!([definition("log", &log)]);
    }
    if let Some((event, script)) = scenario.hook {
        let command = sandbox.script("extra.sh", script);
        hooks[event] = json!([definition("log", &log), definition("extra", &command)]);
    }
    sandbox.settings(&json!({"hooks": hooks}));
    let run = finish(command(&sandbox, &scenario.replay, program).spawn().unwrap());
    assert!(sandbox.has("log.jsonl"), "{}: no hook ran: {run:#?}", scenario.name);
    let inputs = sandbox.read("log.jsonl");
    (inputs.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), run.code)
}

fn command(sandbox: &Sandbox, replay: &Replay, program: Option<&[OsString]>) -> Command {
    let file = sandbox.replay(replay);
    let args = ["--model", "gemini-2.5-pro", "--approval-mode=yolo", "--fake-responses", &file, "-p", "hello"];
    let mut command = sandbox.command(&args);
    if let Some([program, first @ ..]) = program {
        let ours = std::mem::replace(&mut command, Command::new(program));
        command.args(first).args(ours.get_args()).env_clear();
        command.envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(sandbox.project());
        command
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
    }
    command.env("GEMINI_CLI_HOME", sandbox.home()).env("GEMINI_API_KEY", "fake");
    command
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Hookwright,
    GeminiCli,
}

/// What hooks were told, without what may differ.
fn comparable(mut log: Vec<Value>, scenario: &Scenario, side: Side) -> Vec<Value> {
    for input in &mut log {
        for field in OF_THE_RUN {
            assert!(input[field].is_string(), "{field} is missing: {input}");
            input[field] = json!("…");
        }
    }
    for Difference { what, .. } in &DIFFERENCES {
        let gone = |event: &'static str| move |input: &Value| input["hook_event_name"] != event;
        match (what, side) {
            (What::NotFired(event), Side::GeminiCli) => log.retain(gone(event)),
            (What::NotFiredIn(event, names), Side::GeminiCli) if names.contains(&scenario.name) => {
                log.retain(gone(event))
            }
            (What::Added(event, field), Side::Hookwright) => {
                for input in log.iter_mut().filter(|input| input["hook_event_name"] == *event) {
                    assert!(input.as_object_mut().unwrap().shift_remove(*field).is_some(), "{event} has no {field}");
                }
            }
            (What::Differs(event, pointer), _) => {
                let concerned = |input: &&mut Value| *event == "*" || input["hook_event_name"] == *event;
                log.iter_mut().filter(concerned).for_each(|input| remove(input, pointer));
            }
            (What::Preamble, Side::GeminiCli) => log.iter_mut().for_each(without_preamble),
            _ => {}
        }
    }
    log
}

fn remove(input: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    if let Some(parent) = input.pointer_mut(parent).and_then(Value::as_object_mut) {
        parent.shift_remove(key);
    }
}

fn without_preamble(input: &mut Value) {
    if let Some(content) = input.pointer_mut("/llm_request/messages/0/content") {
        let text = content.as_str().unwrap();
        let (_, prompt) = text.split_once("</session_context>").unwrap_or(("", text));
        *content = json!(prompt);
    }
}

/// How Gemini CLI is started, if it is installed.
fn gemini() -> Option<Vec<OsString>> {
    if let Some(file) = std::env::var_os("HOOKWRIGHT_GEMINI").filter(|file| !file.is_empty()) {
        assert!(Path::new(&file).is_file(), "HOOKWRIGHT_GEMINI names no file: {}", file.display());
        return has_program("node").then(|| vec!["node".into(), file]);
    }
    if has_program("gemini") {
        return Some(vec!["gemini".into()]);
    }
    let local = root().join("node_modules/.bin/gemini");
    local.is_file().then(|| vec![local.into_os_string()])
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
