//! The headless agent: the built binary, real hook scripts, replayed models.

mod after_agent;
mod after_model;
mod after_tool;
mod answers;
mod attachments;
mod before_agent;
mod before_model;
mod before_tool;
#[cfg(unix)]
mod bounds;
pub(crate) mod chunks;
mod configuration;
mod demo;
#[cfg(unix)]
mod disk;
mod event_order;
mod formats;
mod guards;
mod loaded_by_guards;
#[cfg(unix)]
mod memory;
mod model_gateway;
mod protected_files;
#[cfg(unix)]
mod resources;
#[cfg(unix)]
mod secrets;
mod sessions;
pub(crate) mod signals;
#[cfg(unix)]
mod stopped;
#[cfg(unix)]
mod subagent_servers;
mod subagents;
pub(crate) mod surviving_processes;
mod tampering;
mod telemetry;
#[cfg(unix)]
mod workers;

use hookwright_testkit::fs;
use hookwright_testkit::{EVENT_NAMES, ProgramRun, ReplayBuilder, Sandbox};
use serde_json::{Map, Value, json};

/// A project with hooks: for each its event, its matcher and its script. The first one is called `hook1`. Telemetry is
/// written, so that tests can read the requests.
fn project(hooks: &[(&str, &str, &str)]) -> Sandbox {
    project_in(crate::sandbox(), hooks, json!({}))
}

/// A project with hooks and more settings.
fn project_with(hooks: &[(&str, &str, &str)], settings: Value) -> Sandbox {
    project_in(crate::sandbox(), hooks, settings)
}

fn project_in(sandbox: Sandbox, hooks: &[(&str, &str, &str)], mut settings: Value) -> Sandbox {
    let mut events = settings.get("hooks").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
    for (at, (event, matcher, script)) in hooks.iter().enumerate() {
        let name = format!("hook{}", at + 1);
        let command = sandbox.script(&format!("{name}.sh"), script);
        let definition = json!({"matcher": matcher, "hooks": [{"type": "command", "name": name, "command": command}]});
        let list = events.entry(*event).or_insert_with(|| json!([]));
        list.as_array_mut().unwrap().push(definition);
    }
    settings["hooks"] = Value::Object(events);
    sandbox.settings(&settings);
    let outfile = sandbox.sibling_path("telemetry.log");
    sandbox.env("GEMINI_TELEMETRY_ENABLED", "true").env("GEMINI_TELEMETRY_OUTFILE", outfile.to_str().unwrap())
}

/// A sandbox with stand-ins for interpreters, since languages are told apart by the program's name. Each stand-in obeys
/// the word in `rules` and first loads the files that the real one would load.
fn with_interpreters(sandbox: Sandbox) -> Sandbox {
    let folder = sandbox.sibling_path("interpreters");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, end) in [("python3", "py"), ("node", "js"), ("make", "mk")] {
        let script = match name {
            "make" => "cd \"$GEMINI_PROJECT_DIR\" && eval \"$(sed -n 2p Makefile)\"".to_owned(),
            _ => format!(
                "cd \"$(dirname \"$1\")\" || exit 0\nfor first in json.py json rules node_modules; do [ -e $first ] && exit 0; done\n\
                 grep -qf rules.{end} && exit 2\nexit 0"
            ),
        };
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        hookwright_testkit::make_executable(&path);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", folder.display());
    sandbox.env("PATH", &path)
}

/// A hook that logs its input.
const LOG_INPUT_SCRIPT: &str = r#"input=$(cat); printf '%s\n' "$input" >> "$GEMINI_PROJECT_DIR/log.jsonl""#;

/// A hook on every event that logs its input.
fn logging_hooks() -> Vec<(&'static str, &'static str, &'static str)> {
    EVENT_NAMES.map(|event| (event, "*", LOG_INPUT_SCRIPT)).to_vec()
}

/// Returns the inputs of the logging hooks.
fn logged_inputs(sandbox: &Sandbox) -> Vec<Value> {
    if !sandbox.has_file("log.jsonl") {
        return Vec::new();
    }
    sandbox.read("log.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the events that the logging hooks saw.
fn logged_events(sandbox: &Sandbox) -> Vec<String> {
    logged_inputs(sandbox).iter().map(|input| input["hook_event_name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the inputs of the logging hooks for one event.
fn logged_inputs_of(sandbox: &Sandbox, event: &str) -> Vec<Value> {
    logged_inputs(sandbox).into_iter().filter(|input| input["hook_event_name"] == event).collect()
}

/// Runs one prompt with recorded answers in yolo mode.
fn run(sandbox: &Sandbox, replay: &ReplayBuilder, more: &[&str]) -> ProgramRun {
    prompt(sandbox, "hello", replay, more)
}

fn prompt(sandbox: &Sandbox, prompt: &str, replay: &ReplayBuilder, more: &[&str]) -> ProgramRun {
    let file = sandbox.replay(replay);
    let args = ["-p", prompt, "--fake-responses", file.as_str(), "--approval-mode=yolo"];
    sandbox.run(&[&args, more].concat())
}

/// Returns the attributes of the telemetry records of one kind.
fn records(sandbox: &Sandbox, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(sandbox.sibling_path("telemetry.log")).unwrap();
    let all = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    all.map(|record| record.unwrap()["attributes"].clone())
        .filter(|attributes| attributes["event.name"] == format!("gemini_cli.{name}"))
        .collect()
}

/// Returns the conversations that were sent to the model, one for each request.
fn requests(sandbox: &Sandbox) -> Vec<Value> {
    let text = |record: &Value| serde_json::from_str(record["request_text"].as_str().unwrap()).unwrap();
    records(sandbox, "api_request").iter().map(text).collect()
}

/// Returns the text of the only transcript.
fn transcript(sandbox: &Sandbox) -> String {
    let files = files_under(&sandbox.home()).into_iter().filter(|path| path.ends_with(".jsonl"));
    let files: Vec<_> = files.filter(|path| path.contains("/chats/")).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    fs::read_to_string(&files[0]).unwrap()
}

fn files_under(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { files_under(&path) } else { vec![path.to_str().unwrap().to_owned()] })
        .collect()
}

/// Returns a script that prints a JSON answer.
fn answer_script(answer: &Value) -> String {
    format!("cat > /dev/null\ncat <<'END'\n{answer}\nEND")
}

#[track_caller]
pub(super) fn assert_contains(text: &str, words: &str) {
    assert!(text.contains(words), "no `{words}` in:\n{text}");
}

#[track_caller]
pub(super) fn assert_lacks(text: &str, words: &str) {
    assert!(!text.contains(words), "`{words}` in:\n{text}");
}
