//! Whole sessions without a screen, in process: settings, hook scripts and recorded answers as the program has them. What is
//! printed of them, and how the program ends, is tested with the binary.

mod after_agent;
mod after_model;
mod after_tool;
mod answers;
mod attached;
mod before_agent;
mod before_model;
mod before_tool;
mod chunks;
mod configuration;
mod door;
mod guards;
mod order;
mod protected;
mod tampering;

use std::cell::RefCell;
use std::ffi::OsString;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use hookwright_agent::session::{Opened, Order, Reply, SessionError, SessionOptions, Typed, When};
use hookwright_agent::{AgentEvent, ApprovalMode, EndReason, ToolEnd, TurnEnd};
use hookwright_model::{ReplayOrder, Request};
use hookwright_settings::World;
use hookwright_testkit::fs;
use hookwright_testkit::{EVENTS, Replay, is_running, wait_until};
use serde_json::{Map, Value, json};

use super::support::{Project, told, within};

/// A project, and what its sessions asked the model so far.
struct Headless {
    project: Project,
    environment: Vec<(OsString, OsString)>,
    requests: RefCell<Vec<Request>>,
}

impl Deref for Headless {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.project
    }
}

impl Headless {
    fn new(project: Project) -> Self {
        let environment = project.environment();
        Headless { project, environment, requests: RefCell::default() }
    }

    /// With another variable for the session and all that it runs.
    fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.into(), value.into()));
        self
    }

    /// With the folder's trust up to the settings.
    fn untrusted(mut self) -> Self {
        self.environment.retain(|(name, _)| name != "GEMINI_CLI_TRUST_WORKSPACE");
        self
    }
}

/// What came of one prompt.
#[derive(Debug)]
struct Run {
    /// The answer, as it was shown.
    text: String,
    /// Everything else that people are told, a line each, as the program prints it.
    said: String,
    /// The tool calls that are over.
    tools: Vec<ToolEnd>,
    /// The prompts that BeforeAgent hooks let pass.
    prompts: Vec<String>,
    /// How the turn ended.
    end: Option<TurnEnd>,
}

/// A project with hooks: for each its event, its matcher and its script. The first one is called `hook1`.
fn project(hooks: &[(&str, &str, &str)]) -> Headless {
    project_with(hooks, json!({}))
}

/// The same with more settings.
fn project_with(hooks: &[(&str, &str, &str)], mut settings: Value) -> Headless {
    let project = Project::new();
    let mut events = settings.get("hooks").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
    for (at, (event, matcher, script)) in hooks.iter().enumerate() {
        let name = format!("hook{}", at + 1);
        let command = script_of(&project, &name, script);
        let definition = json!({"matcher": matcher, "hooks": [{"type": "command", "name": name, "command": command}]});
        let list = events.entry(*event).or_insert_with(|| json!([]));
        list.as_array_mut().unwrap().push(definition);
    }
    settings["hooks"] = Value::Object(events);
    project.write_settings(&settings);
    Headless::new(project)
}

/// A project without settings.
fn empty_project() -> Headless {
    Headless::new(Project::new())
}

/// Writes a hook's script, and gives back the command that runs it. Not executed itself: a file that is just being written
/// can't be.
fn script_of(project: &Project, name: &str, script: &str) -> String {
    project.write(&format!(".gemini/hooks/{name}.sh"), format!("{script}\n"));
    format!("sh \"$GEMINI_PROJECT_DIR\"/.gemini/hooks/{name}.sh")
}

/// A hook that keeps what it is told.
const LOG: &str = r#"input=$(cat); printf '%s\n' "$input" >> "$GEMINI_PROJECT_DIR/log.jsonl""#;

/// A hook on every event that keeps what it is told.
fn watched() -> Vec<(&'static str, &'static str, &'static str)> {
    EVENTS.map(|event| (event, "*", LOG)).to_vec()
}

/// What the logging hooks were told.
fn log(project: &Project) -> Vec<Value> {
    if !project.has("log.jsonl") {
        return Vec::new();
    }
    project.read("log.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The events that the logging hooks saw.
fn logged_events(project: &Project) -> Vec<String> {
    log(project).iter().map(|input| input["hook_event_name"].as_str().unwrap().to_owned()).collect()
}

/// What the logging hooks were told of one event.
fn logged(project: &Project, event: &str) -> Vec<Value> {
    log(project).into_iter().filter(|input| input["hook_event_name"] == event).collect()
}

/// One prompt with recorded answers in a new session; every tool may run.
#[track_caller]
fn run(headless: &Headless, replay: &Replay) -> Run {
    prompt(headless, "hello", replay)
}

#[track_caller]
fn prompt(headless: &Headless, prompt: &str, replay: &Replay) -> Run {
    run_with(headless, prompt, replay, yolo()).ends_well()
}

/// The same in the session that was last.
#[track_caller]
fn resume(headless: &Headless, prompt: &str, replay: &Replay) -> Run {
    run_with(headless, prompt, replay, SessionOptions { resume: Some("latest".to_owned()), ..yolo() }).ends_well()
}

fn yolo() -> SessionOptions {
    SessionOptions { approval_mode: Some(ApprovalMode::Yolo), ..SessionOptions::default() }
}

/// One prompt with recorded answers in a session of these options.
#[track_caller]
fn run_with(headless: &Headless, prompt: &str, replay: &Replay, options: SessionOptions) -> Run {
    try_run(headless, prompt, replay, options).unwrap_or_else(|error| panic!("the session does not start: {error}"))
}

/// The same; an error if the session does not start.
fn try_run(headless: &Headless, prompt: &str, replay: &Replay, options: SessionOptions) -> Result<Run, SessionError> {
    let file = headless.beside("replay.jsonl");
    std::fs::write(&file, replay.text()).unwrap();
    let options = SessionOptions { replay: Some((file, ReplayOrder::Strict)), ..options };
    let world = World::new(headless.environment.clone(), headless.dir());
    // As the program has it: all of a session on one thread.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let events = runtime.block_on(within("the session's end", converse(options, world, prompt)))?;
    let mut run = Run { text: String::new(), said: String::new(), tools: Vec::new(), prompts: Vec::new(), end: None };
    for event in events {
        if let Some(line) = line_of(&event) {
            run.said.push_str(&format!("{line}\n"));
        }
        match event {
            AgentEvent::Text(text) => run.text.push_str(&text),
            AgentEvent::AgentRetry { .. } => run.text.push('\n'),
            AgentEvent::ToolFinished(end) => run.tools.push(*end),
            AgentEvent::PromptStarted { prompt, .. } => run.prompts.push(prompt),
            AgentEvent::TurnFinished(end) => run.end = Some(end),
            AgentEvent::ModelRequest { request, .. } => headless.requests.borrow_mut().push(*request),
            AgentEvent::Within { event, .. } => {
                if let AgentEvent::ModelRequest { request, .. } = *event {
                    headless.requests.borrow_mut().push(*request);
                }
            }
            _ => {}
        }
    }
    Ok(run)
}

/// Why a session does not start that could lack guards, and what to do about it.
#[track_caller]
fn refused(headless: &Headless, replay: &Replay) -> String {
    refused_with(headless, replay, yolo())
}

#[track_caller]
fn refused_with(headless: &Headless, replay: &Replay, options: SessionOptions) -> String {
    match try_run(headless, "go", replay, options) {
        Err(error) if error.is_unguarded() => format!("{error}\n{}", error.hint().unwrap_or_default()),
        other => panic!("{other:#?}"),
    }
}

async fn converse(options: SessionOptions, world: World, prompt: &str) -> Result<Vec<AgentEvent>, SessionError> {
    let loaded = options.load(&world)?;
    let opened = Opened::new(options, world, loaded)?;
    let order = match opened.view().read(prompt) {
        Typed::Order(order) => order,
        _ => Order::Prompt(prompt.to_owned()),
    };
    let (session, mut events, task) = opened.start();
    session.order(order);
    session.end(When::Done, EndReason::Exit);
    let mut seen = Vec::new();
    while let Some(event) = events.recv().await {
        seen.push(event);
    }
    task.await.unwrap();
    Ok(seen)
}

/// What people read of an event, if they read anything.
fn line_of(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::HookMessage { text, .. } => format!("Hook system message: {text}"),
        AgentEvent::HookWarning { event, hook, source, text } => {
            format!("warning: hook {hook} ({source}, {event}) {text}")
        }
        AgentEvent::ToolStarted(start) if start.rewritten.is_empty() => format!("{} {}", start.name, start.description),
        AgentEvent::ToolStarted(start) => {
            format!("{} {} (hooks changed {})", start.name, start.description, start.rewritten.join(", "))
        }
        AgentEvent::ToolFinished(end) => format!("Error executing tool {}: {}", end.name, end.error.as_ref()?.message),
        AgentEvent::AgentRetry { reason, .. } => format!("Agent execution blocked: {reason}"),
        AgentEvent::Compressed { .. } => "Chat history compressed".to_owned(),
        AgentEvent::Note(text) | AgentEvent::ModelRetry(text) => text.clone(),
        AgentEvent::Warning(text) => format!("warning: {text}"),
        AgentEvent::Reply(Reply::Text(_, text)) => text.clone(),
        AgentEvent::Reply(Reply::Diagnostic(diagnostic)) => diagnostic.to_string(),
        AgentEvent::Reply(Reply::Notice(notice)) => notice.to_string(),
        AgentEvent::TurnFinished(end) => end.words()?,
        AgentEvent::Within { agent, event, .. } => format!("{}: {}", agent.name, line_of(event)?),
        _ => return None,
    })
}

impl Run {
    /// Checks that the turn ended as the user or a hook wished.
    #[track_caller]
    fn ends_well(self) -> Self {
        let well = matches!(self.end, None | Some(TurnEnd::Answered | TurnEnd::Blocked(_) | TurnEnd::Stopped(_)));
        assert!(well, "{self:#?}");
        self
    }

    /// Why calls failed, in the words for machines.
    fn error_kinds(&self) -> Vec<&'static str> {
        self.tools.iter().filter_map(|end| Some(end.error.as_ref()?.kind.as_str())).collect()
    }
}

/// The conversations that were sent to the model, one per request.
fn requests(headless: &Headless) -> Vec<Value> {
    let requests = headless.requests.borrow();
    requests.iter().map(|request| serde_json::from_str(&told(&request.contents)).unwrap()).collect()
}

/// What the model was told of its first call.
fn result_of_call(headless: &Headless) -> Value {
    requests(headless)[1][2]["parts"][0]["functionResponse"]["response"].clone()
}

/// The session's transcript; the only one.
fn transcript(project: &Project) -> String {
    let files: Vec<_> = files_under(&project.home());
    let mut transcripts = files.iter().filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let (Some(file), None) = (transcripts.next(), transcripts.next()) else { panic!("{files:?}") };
    fs::read_to_string(file).unwrap()
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_under(&path) } else { vec![path] }).collect()
}

/// Waits until a process is gone.
fn assert_gone(pid: &str) {
    wait_until(&format!("process {pid} is gone"), || !is_running(pid));
}

/// A script that prints a JSON answer.
fn answer(answer: &Value) -> String {
    format!("cat > /dev/null\ncat <<'END'\n{answer}\nEND")
}

#[track_caller]
fn has(text: &str, words: &str) {
    assert!(text.contains(words), "no `{words}` in:\n{text}");
}

#[track_caller]
fn lacks(text: &str, words: &str) {
    assert!(!text.contains(words), "`{words}` in:\n{text}");
}
