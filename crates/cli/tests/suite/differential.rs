//! The same settings, recorded answers and prompt through Hookwright and through Gemini CLI: hooks must get the same
//! inputs in the same order. Intended differences are in `DIFFERENCES`, and `docs/compatibility.md` explains them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use hookwright_testkit::replay::{call, chunk};
use hookwright_testkit::{EVENT_NAMES, ReplayBuilder, Sandbox, finish, has_program, report_skipped};
use serde_json::{Value, json};

/// An intended difference.
struct KnownDifference {
    /// The row of `docs/compatibility.md` that explains it.
    row: &'static str,
    kind: DifferenceKind,
    /// The scenarios in which it appears; empty means all.
    only_in: &'static [&'static str],
}

enum DifferenceKind {
    /// Only Gemini CLI fires this event.
    NotFired(&'static str),
    /// Only Hookwright's input of this event has this field.
    Added(&'static str, &'static str),
    /// The values of this field differ, or one of the two programs omits it.
    Differs(&'static str, &'static str),
    /// Gemini CLI puts a preamble before the first message.
    Preamble,
}

const DIFFERENCES: [KnownDifference; 21] = [
    everywhere("PreCompress without compression", DifferenceKind::NotFired("PreCompress")),
    only_in("AfterAgent after a refused request", DifferenceKind::NotFired("AfterAgent"), &["denied request"]),
    everywhere("AfterModel's `content` and `full_content`", DifferenceKind::Added("AfterModel", "content")),
    everywhere("AfterModel's `content` and `full_content`", DifferenceKind::Added("AfterModel", "full_content")),
    only_in(
        "AfterAgent's `prompt_response`",
        DifferenceKind::Differs("AfterAgent", "/prompt_response"),
        &["plain answer", "thoughts and empty pieces", "several tools", "replaced piece"],
    ),
    only_in(
        THOUGHTS_ROW,
        DifferenceKind::Differs("AfterModel", "/llm_response/candidates"),
        &["thoughts and empty pieces"],
    ),
    only_in(THOUGHTS_ROW, DifferenceKind::Differs("AfterModel", "/llm_response/text"), &["thoughts and empty pieces"]),
    everywhere("generation settings in `llm_request`", DifferenceKind::Differs("*", "/llm_request/config")),
    everywhere("tools in `llm_request`", DifferenceKind::Differs("*", "/llm_request/toolConfig")),
    everywhere("requests of the agent's own: summaries, searches", DifferenceKind::Differs("*", "/purpose")),
    only_in(THOUGHTS_ROW, DifferenceKind::Differs("AfterModel", "/thoughts"), &["thoughts and empty pieces"]),
    everywhere(REQUESTED_ROW, DifferenceKind::Differs("*", "/requested_by")),
    everywhere(REQUESTED_ROW, DifferenceKind::Differs("*", "/attachments")),
    everywhere("words of tool results", DifferenceKind::Differs("AfterTool", "/tool_response/llmContent")),
    everywhere("words of tool results", DifferenceKind::Differs("AfterTool", "/tool_response/returnDisplay")),
    everywhere("session preamble", DifferenceKind::Preamble),
    everywhere("what a call does", DifferenceKind::Added("BeforeTool", "effects")),
    everywhere("what a call does", DifferenceKind::Added("AfterTool", "effects")),
    everywhere(IDS_ROW, DifferenceKind::Differs("*", "/turn_id")),
    everywhere(IDS_ROW, DifferenceKind::Differs("*", "/tool_use_id")),
    everywhere("what may be done unasked", DifferenceKind::Differs("*", "/approval_mode")),
];

const IDS_ROW: &str = "ids of turns, calls, events and runs";

const REQUESTED_ROW: &str = "commands and files that the user asks for: `!cmd`, `@path`, `!{…}`, `@{…}`";

const THOUGHTS_ROW: &str = "thoughts and empty pieces";

const fn everywhere(row: &'static str, what: DifferenceKind) -> KnownDifference {
    only_in(row, what, &[])
}

const fn only_in(row: &'static str, what: DifferenceKind, only_in: &'static [&'static str]) -> KnownDifference {
    KnownDifference { row, kind: what, only_in }
}

/// The fields that differ between any two runs.
const RUN_SPECIFIC_FIELDS: [&str; 4] = ["session_id", "transcript_path", "cwd", "timestamp"];

struct DifferentialScenario {
    name: &'static str,
    /// A hook besides the logging ones.
    hook: Option<(&'static str, &'static str)>,
    replay: ReplayBuilder,
}

fn scenarios() -> Vec<DifferentialScenario> {
    let write = || ReplayBuilder::new().calls("write_file", json!({"file_path": "a.txt", "content": "A"}));
    let scenario = |name, replay| DifferentialScenario { name, hook: None, replay };
    let hooked = |name, event, script, replay| DifferentialScenario { name, hook: Some((event, script)), replay };
    vec![
        scenario("plain answer", ReplayBuilder::new().says_in_chunks(&["one ", "two"])),
        scenario(
            "thoughts and empty pieces",
            ReplayBuilder::new().stream(vec![
                chunk(&[json!({"text": "hm", "thought": true})], false),
                json!({"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8}}),
                json!({"candidates": [{"content": {"role": "model"}}]}),
                chunk(&[json!({"text": "ok"})], true),
            ]),
        ),
        scenario("one tool", write().says("done")),
        scenario(
            "several tools",
            ReplayBuilder::new()
                .parts(&[json!({"text": "let me see "}), call("read_file", json!({"file_path": "seed.txt"}))])
                .calls("run_shell_command", json!({"command": "echo hi"}))
                .says("done"),
        ),
        scenario(
            "unknown tool, bad arguments",
            ReplayBuilder::new()
                .calls("no_such_tool", json!({}))
                .calls("write_file", json!({"file_path": 7}))
                .says("done"),
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
            ReplayBuilder::new().says("ok"),
        ),
        hooked("denied prompt", "BeforeAgent", "echo no >&2; exit 2", ReplayBuilder::new()),
        hooked("denied request", "BeforeModel", r#"echo '{"decision": "deny", "reason": "no"}'"#, ReplayBuilder::new()),
        hooked(
            "retry",
            "AfterAgent",
            r#"case $(cat) in *'"stop_hook_active":true'*) ;; *) echo '{"decision": "deny", "reason": "better"}' ;; esac"#,
            ReplayBuilder::new().says("first").says("second"),
        ),
        hooked(
            "replaced piece",
            "AfterModel",
            r#"case $(cat) in *'"text":"two '*) echo '{"hookSpecificOutput": {"hookEventName": "AfterModel", "llm_response": {"candidates": [{"content": {"role": "model", "parts": ["2 "]}}]}}}' ;; esac"#,
            ReplayBuilder::new().says_in_chunks(&["one ", "two ", "three"]),
        ),
    ]
}

#[test]
fn hooks_are_told_what_gemini_cli_tells_them() {
    let Some(gemini) = gemini("hooks_are_told_what_gemini_cli_tells_them") else { return };
    let scenarios = scenarios();
    let next = AtomicUsize::new(0);
    // Gemini CLI starts slowly, so a few run at once.
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

/// Attributes of telemetry records that only Gemini CLI has; the row is `telemetry records`.
const NOT_RECORDED: [&str; 3] = ["auth_type", "installation.id", "metadata"];

/// Attributes that only Hookwright has; the row is [`IDS_ROW`].
const MORE_RECORDED: [(&str, &str); 5] = [
    ("hook_call", "event_id"),
    ("hook_call", "run_id"),
    ("hook_call", "prompt_id"),
    ("hook_call", "tool_use_id"),
    ("tool_call", "tool_use_id"),
];

#[test]
fn telemetry_has_what_gemini_cli_records() {
    let Some(gemini) = gemini("telemetry_has_what_gemini_cli_records") else { return };
    let scenario = scenarios().into_iter().find(|scenario| scenario.name == "one tool").unwrap();
    let (ours, theirs) = (recorded(&scenario, None), recorded(&scenario, Some(&gemini)));
    for name in ["hook_call", "tool_call", "api_request", "api_response", "user_prompt"] {
        let of = |records: &[Value]| -> BTreeSet<String> {
            let concerned = records.iter().filter(|record| record["event.name"] == format!("gemini_cli.{name}"));
            concerned.flat_map(|record| record.as_object().unwrap().keys().cloned()).collect()
        };
        let mut theirs = of(&theirs);
        theirs.retain(|attribute| !NOT_RECORDED.contains(&attribute.as_str()));
        let mut ours = of(&ours);
        for (_, attribute) in MORE_RECORDED.iter().filter(|(record, _)| *record == name) {
            assert!(ours.remove(*attribute), "{name} has no {attribute}");
        }
        assert_eq!(ours, theirs, "{name} (ours, theirs)");
    }
}

/// Counts that only Gemini CLI gives; the row is "counts in JSON output".
const NOT_COUNTED: [&str; 2] = ["errorsByType", "roles"];

#[test]
fn json_output_has_what_gemini_cli_prints() {
    let Some(gemini) = gemini("json_output_has_what_gemini_cli_prints") else { return };
    let scenario = scenarios().into_iter().find(|scenario| scenario.name == "one tool").unwrap();
    let print = |program: Option<&[OsString]>, format: &str| {
        let sandbox = prepare(&scenario);
        let run = finish(command(&sandbox, &scenario.replay, program).args(["-o", format]).spawn().unwrap())
            .expect_exit_code(0);
        if format == "json" { vec![run.json()] } else { run.json_lines() }
    };
    for format in ["json", "stream-json"] {
        let (mut ours, theirs) = (print(None, format), print(Some(&gemini), format));
        ours.retain(|line| line["type"] != "hook");
        assert_eq!(ours.len(), theirs.len(), "{format}: {ours:#?} {theirs:#?}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours["type"], theirs["type"]);
            assert_eq!(missing(ours, theirs, ""), Vec::<String>::new(), "{format}: {ours:#} {theirs:#}");
        }
    }
}

/// Returns the keys that one value has and the other lacks.
fn missing(ours: &Value, theirs: &Value, place: &str) -> Vec<String> {
    let Some(theirs) = theirs.as_object() else { return Vec::new() };
    let relevant = theirs.iter().filter(|(key, _)| !NOT_COUNTED.contains(&key.as_str()));
    relevant
        .flat_map(|(key, theirs)| match ours.get(key) {
            Some(ours) => missing(ours, theirs, &format!("{place}/{key}")),
            None => vec![format!("{place}/{key}")],
        })
        .collect()
}

/// Returns the attributes of a scenario's telemetry records.
fn recorded(scenario: &DifferentialScenario, program: Option<&[OsString]>) -> Vec<Value> {
    let sandbox = prepare(scenario);
    let outfile = sandbox.sibling_path("telemetry.log");
    let mut command = command(&sandbox, &scenario.replay, program);
    command.env("GEMINI_TELEMETRY_ENABLED", "true").env("GEMINI_TELEMETRY_TARGET", "local");
    finish(command.env("GEMINI_TELEMETRY_OUTFILE", &outfile).spawn().unwrap());
    let text = fs::read_to_string(outfile).unwrap();
    let records = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let attributes = records.map(|record| record.unwrap()["attributes"].take());
    attributes.filter(|attributes| attributes["event.name"].is_string()).collect()
}

#[test]
fn every_intended_difference_is_explained() {
    let text = fs::read_to_string(root().join("docs/compatibility.md")).unwrap();
    for row in DIFFERENCES.iter().map(|difference| difference.row).chain(["telemetry records", "counts in JSON output"])
    {
        assert!(text.contains(&format!("| {row} |")), "docs/compatibility.md has no row `{row}`");
    }
}

fn compare(scenario: &DifferentialScenario, gemini: &[OsString]) {
    let (ours, our_code) = run(scenario, None);
    let (theirs, their_code) = run(scenario, Some(gemini));
    let (ours, theirs) = (
        comparable(ours, scenario, ComparedProgram::Hookwright),
        comparable(theirs, scenario, ComparedProgram::GeminiCli),
    );
    let events = |log: &[Value]| log.iter().map(|input| input["hook_event_name"].clone()).collect::<Vec<_>>();
    assert_eq!(events(&ours), events(&theirs), "{}: the order of events (ours, theirs)", scenario.name);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs, "{}: {} (ours, theirs)", scenario.name, ours["hook_event_name"]);
    }
    assert_eq!(our_code, their_code, "{}: the exit code (ours, theirs)", scenario.name);
}

/// Runs a scenario, and returns the hooks' inputs and the exit code.
fn run(scenario: &DifferentialScenario, program: Option<&[OsString]>) -> (Vec<Value>, Option<i32>) {
    let sandbox = prepare(scenario);
    let run = finish(command(&sandbox, &scenario.replay, program).spawn().unwrap());
    assert!(sandbox.has_file("log.jsonl"), "{}: no hook ran: {run:#?}", scenario.name);
    let inputs = sandbox.read("log.jsonl");
    (inputs.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), run.code)
}

/// A project with a scenario's hooks.
fn prepare(scenario: &DifferentialScenario) -> Sandbox {
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
    for event in EVENT_NAMES {
        hooks[event] = json!([definition("log", &log)]);
    }
    if let Some((event, script)) = scenario.hook {
        let command = sandbox.script("extra.sh", script);
        hooks[event] = json!([definition("log", &log), definition("extra", &command)]);
    }
    sandbox.settings(&json!({"hooks": hooks}));
    sandbox
}

pub(super) fn command(sandbox: &Sandbox, replay: &ReplayBuilder, program: Option<&[OsString]>) -> Command {
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
enum ComparedProgram {
    Hookwright,
    GeminiCli,
}

/// Returns the hooks' inputs without the fields that may differ.
fn comparable(mut log: Vec<Value>, scenario: &DifferentialScenario, side: ComparedProgram) -> Vec<Value> {
    for input in &mut log {
        for field in RUN_SPECIFIC_FIELDS {
            assert!(input[field].is_string(), "{field} is missing: {input}");
            input[field] = json!("…");
        }
    }
    let shows =
        |difference: &&KnownDifference| difference.only_in.is_empty() || difference.only_in.contains(&scenario.name);
    for KnownDifference { kind: what, .. } in DIFFERENCES.iter().filter(shows) {
        match (what, side) {
            (DifferenceKind::NotFired(event), ComparedProgram::GeminiCli) => {
                log.retain(|input| input["hook_event_name"] != *event)
            }
            (DifferenceKind::Added(event, field), ComparedProgram::Hookwright) => {
                for input in log.iter_mut().filter(|input| input["hook_event_name"] == *event) {
                    assert!(input.as_object_mut().unwrap().shift_remove(*field).is_some(), "{event} has no {field}");
                }
            }
            (DifferenceKind::Differs(event, pointer), _) => {
                let concerned = |input: &&mut Value| *event == "*" || input["hook_event_name"] == *event;
                log.iter_mut().filter(concerned).for_each(|input| remove(input, pointer));
            }
            (DifferenceKind::Preamble, ComparedProgram::GeminiCli) => log.iter_mut().for_each(without_preamble),
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

#[test]
fn where_gemini_cli_is_missing_every_test_that_needs_it_says_so() {
    if root().join("node_modules/.bin/gemini").is_file() {
        return;
    }
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args(["suite::differential::", "--skip", "where_gemini_cli_is_missing"]);
    let run = tests.env("PATH", root()).env_remove("HOOKWRIGHT_GEMINI").output_in_time().unwrap();
    let said = String::from_utf8_lossy(&run.stderr);
    let told: BTreeSet<&str> =
        said.lines().filter_map(|line| line.strip_prefix("skipped: ")?.split(':').next()).collect();
    let expected = BTreeSet::from([
        "hooks_are_told_what_gemini_cli_tells_them",
        "json_output_has_what_gemini_cli_prints",
        "telemetry_has_what_gemini_cli_records",
    ]);
    assert_eq!(told, expected, "{said}");
    assert!(run.status.success() && said.contains("HOOKWRIGHT_GEMINI=.../bundle/gemini.js"), "{said}");
}

/// Returns how Gemini CLI is started, if it is installed; otherwise reports that the test is skipped.
pub(super) fn gemini(test: &str) -> Option<Vec<OsString>> {
    let found = find_gemini();
    if found.is_none() {
        let how = "npm install @google/gemini-cli; HOOKWRIGHT_GEMINI=.../bundle/gemini.js";
        report_skipped(test, &format!("Gemini CLI is not installed ({how})"));
    }
    found
}

fn find_gemini() -> Option<Vec<OsString>> {
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
