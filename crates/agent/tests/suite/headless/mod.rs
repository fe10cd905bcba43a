//! Whole headless sessions in process: settings, hook scripts and recorded answers, as the program has them. The
//! program's output and exit codes are tested with the binary.

mod after_agent;
mod after_model;
mod after_tool;
mod answers;
mod attachments;
mod before_agent;
mod before_model;
mod before_tool;
mod chunks;
mod configuration;
mod event_order;
mod guards;
mod model_gateway;
mod protected_files;
mod tampering;

use std::cell::RefCell;
use std::ffi::OsString;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use hookwright_agent::session::{
    InputLine, PreparedSession, Reply, SessionCommand, SessionError, SessionOptions, Shutdown,
};
use hookwright_agent::{
    AgentEvent, AgentNotice, ApprovalMode, EndReason, HookEvent, ModelEvent, SessionEvent, ToolEnd, ToolEvent, TurnEnd,
    TurnEvent,
};
use hookwright_model::{ModelRequest, ReplayOrder};
use hookwright_settings::ProcessEnv;
use hookwright_testkit::fs;
use hookwright_testkit::{EVENT_NAMES, ReplayBuilder, is_running, wait_until};
use serde_json::{Map, Value, json};

use super::support::{TestProject, contents_json, within_hang_timeout};

/// A project, and the requests of its sessions so far.
struct HeadlessProject {
    project: TestProject,
    environment: Vec<(OsString, OsString)>,
    requests: RefCell<Vec<ModelRequest>>,
}

impl Deref for HeadlessProject {
    type Target = TestProject;

    fn deref(&self) -> &TestProject {
        &self.project
    }
}

impl HeadlessProject {
    fn new(project: TestProject) -> Self {
        let environment = project.environment();
        HeadlessProject { project, environment, requests: RefCell::default() }
    }

    /// Sets a variable for the session and everything that it runs.
    fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Leaves the folder's trust to the settings.
    fn without_trust(mut self) -> Self {
        self.environment.retain(|(name, _)| name != "GEMINI_CLI_TRUST_WORKSPACE");
        self
    }
}

/// The result of one prompt.
#[derive(Debug)]
struct HeadlessRun {
    /// The answer as it was shown.
    text: String,
    /// All other messages to the user, one line each, as the program prints them.
    messages: String,
    /// The finished tool calls.
    tools: Vec<ToolEnd>,
    /// The prompts that BeforeAgent hooks let pass.
    prompts: Vec<String>,
    end: Option<TurnEnd>,
}

/// A project with hooks: for each its event, its matcher and its script. The first one is called `hook1`.
fn project(hooks: &[(&str, &str, &str)]) -> HeadlessProject {
    project_with(hooks, json!({}))
}

/// A project with hooks and more settings.
fn project_with(hooks: &[(&str, &str, &str)], mut settings: Value) -> HeadlessProject {
    let project = TestProject::new();
    let mut events = settings.get("hooks").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
    for (at, (event, matcher, script)) in hooks.iter().enumerate() {
        let name = format!("hook{}", at + 1);
        let command = write_hook_script(&project, &name, script);
        let definition = json!({"matcher": matcher, "hooks": [{"type": "command", "name": name, "command": command}]});
        let list = events.entry(*event).or_insert_with(|| json!([]));
        list.as_array_mut().unwrap().push(definition);
    }
    settings["hooks"] = Value::Object(events);
    project.write_settings(&settings);
    HeadlessProject::new(project)
}

/// A project without settings.
fn empty_project() -> HeadlessProject {
    HeadlessProject::new(TestProject::new())
}

/// Writes a hook's script, and returns the command that runs it with `sh`. The script is not executed directly: a file
/// that is being written cannot be.
fn write_hook_script(project: &TestProject, name: &str, script: &str) -> String {
    project.write(&format!(".gemini/hooks/{name}.sh"), format!("{script}\n"));
    format!("sh \"$GEMINI_PROJECT_DIR\"/.gemini/hooks/{name}.sh")
}

/// A hook that logs its input.
const LOG_INPUT_SCRIPT: &str = r#"input=$(cat); printf '%s\n' "$input" >> "$GEMINI_PROJECT_DIR/log.jsonl""#;

/// A hook on every event that logs its input.
fn logging_hooks() -> Vec<(&'static str, &'static str, &'static str)> {
    EVENT_NAMES.map(|event| (event, "*", LOG_INPUT_SCRIPT)).to_vec()
}

/// Returns the inputs of the logging hooks.
fn logged_inputs(project: &TestProject) -> Vec<Value> {
    if !project.exists("log.jsonl") {
        return Vec::new();
    }
    project.read("log.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the events that the logging hooks saw.
fn logged_events(project: &TestProject) -> Vec<String> {
    logged_inputs(project).iter().map(|input| input["hook_event_name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the inputs of the logging hooks for one event.
fn logged_inputs_of(project: &TestProject, event: &str) -> Vec<Value> {
    logged_inputs(project).into_iter().filter(|input| input["hook_event_name"] == event).collect()
}

/// Runs one prompt with recorded answers in a new yolo session.
#[track_caller]
fn run_hello(headless: &HeadlessProject, replay: &ReplayBuilder) -> HeadlessRun {
    run_prompt(headless, "hello", replay)
}

#[track_caller]
fn run_prompt(headless: &HeadlessProject, prompt: &str, replay: &ReplayBuilder) -> HeadlessRun {
    run_with_options(headless, prompt, replay, yolo_options()).assert_ended_well()
}

/// Runs one prompt in the last session, resumed.
#[track_caller]
fn resume_with_prompt(headless: &HeadlessProject, prompt: &str, replay: &ReplayBuilder) -> HeadlessRun {
    run_with_options(headless, prompt, replay, SessionOptions { resume: Some("latest".to_owned()), ..yolo_options() })
        .assert_ended_well()
}

fn yolo_options() -> SessionOptions {
    SessionOptions { approval_mode: Some(ApprovalMode::Yolo), ..SessionOptions::default() }
}

/// Runs one prompt with recorded answers in a session of these options.
#[track_caller]
fn run_with_options(
    headless: &HeadlessProject,
    prompt: &str,
    replay: &ReplayBuilder,
    options: SessionOptions,
) -> HeadlessRun {
    try_run(headless, prompt, replay, options).unwrap_or_else(|error| panic!("the session does not start: {error}"))
}

/// Runs one prompt, or returns the error if the session does not start.
fn try_run(
    headless: &HeadlessProject,
    prompt: &str,
    replay: &ReplayBuilder,
    options: SessionOptions,
) -> Result<HeadlessRun, SessionError> {
    let file = headless.outside_path("replay.jsonl");
    std::fs::write(&file, replay.text()).unwrap();
    let options = SessionOptions { replay: Some((file, ReplayOrder::Strict)), ..options };
    let world = ProcessEnv::new(headless.environment.clone(), headless.project_dir());
    // The whole session runs on one thread, as in the program.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let events = runtime.block_on(within_hang_timeout("the session's end", run_session(options, world, prompt)))?;
    let mut run =
        HeadlessRun { text: String::new(), messages: String::new(), tools: Vec::new(), prompts: Vec::new(), end: None };
    for event in events {
        if let Some(line) = printed_line(&event) {
            run.messages.push_str(&format!("{line}\n"));
        }
        match event {
            AgentEvent::Model(ModelEvent::Text(text)) => run.text.push_str(&text),
            AgentEvent::Turn(TurnEvent::Retried { .. }) => run.text.push('\n'),
            AgentEvent::Tool(ToolEvent::Finished(end)) => run.tools.push(*end),
            AgentEvent::Turn(TurnEvent::Started { prompt, .. }) => run.prompts.push(prompt),
            AgentEvent::Turn(TurnEvent::Finished(end)) => run.end = Some(end),
            AgentEvent::Model(ModelEvent::Requested { request, .. }) => headless.requests.borrow_mut().push(*request),
            AgentEvent::SubAgent { event, .. } => {
                if let AgentEvent::Model(ModelEvent::Requested { request, .. }) = *event {
                    headless.requests.borrow_mut().push(*request);
                }
            }
            _ => {}
        }
    }
    Ok(run)
}

/// Returns the error and hint of a session that does not start because guards could be missing.
#[track_caller]
fn refusal(headless: &HeadlessProject, replay: &ReplayBuilder) -> String {
    refusal_with(headless, replay, yolo_options())
}

#[track_caller]
fn refusal_with(headless: &HeadlessProject, replay: &ReplayBuilder, options: SessionOptions) -> String {
    match try_run(headless, "go", replay, options) {
        Err(error) if error.is_unguarded() => format!("{error}\n{}", error.hint().unwrap_or_default()),
        other => panic!("{other:#?}"),
    }
}

async fn run_session(
    options: SessionOptions,
    world: ProcessEnv,
    prompt: &str,
) -> Result<Vec<AgentEvent>, SessionError> {
    let loaded = options.load(&world)?;
    let opened = PreparedSession::new(options, world, loaded)?;
    let order = match opened.view().parse_line(prompt) {
        InputLine::Command(order) => order,
        _ => SessionCommand::Prompt(prompt.to_owned()),
    };
    let (session, mut events, task) = opened.start(Vec::new());
    session.send(order);
    session.end(Shutdown::Done, EndReason::Exit);
    let mut seen = Vec::new();
    while let Some(event) = events.recv().await {
        seen.push(event);
    }
    task.await.unwrap();
    Ok(seen)
}

/// Returns the line that the program prints for an event, if any.
fn printed_line(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::Hook(HookEvent::Message { text, .. }) => format!("Hook system message: {text}"),
        AgentEvent::Hook(HookEvent::Warning { event, hook, source, text }) => {
            format!("warning: hook {hook} ({source}, {event}): {text}")
        }
        AgentEvent::Tool(ToolEvent::Started(start)) if start.rewritten_args.is_empty() => {
            format!("{} {}", start.name, start.description)
        }
        AgentEvent::Tool(ToolEvent::Started(start)) => {
            format!("{} {} (hooks changed {})", start.name, start.description, start.rewritten_args.join(", "))
        }
        AgentEvent::Tool(ToolEvent::Finished(end)) => {
            format!("Error executing tool {}: {}", end.name, end.error.as_ref()?.message)
        }
        AgentEvent::Turn(TurnEvent::Retried { reason, .. }) => format!("Agent execution blocked: {reason}"),
        AgentEvent::Session(SessionEvent::Compressed { .. }) => "Chat history compressed".to_owned(),
        AgentEvent::Notice(AgentNotice::Note(text)) | AgentEvent::Model(ModelEvent::Retried(text)) => text.clone(),
        AgentEvent::Notice(AgentNotice::Warning(text)) => format!("warning: {text}"),
        AgentEvent::Session(SessionEvent::Reply(Reply::Text(_, text))) => text.clone(),
        AgentEvent::Session(SessionEvent::Reply(Reply::Diagnostic(diagnostic))) => diagnostic.to_string(),
        AgentEvent::Session(SessionEvent::Reply(Reply::Notice(notice))) => notice.to_string(),
        AgentEvent::Turn(TurnEvent::Finished(end)) => end.message()?,
        AgentEvent::SubAgent { agent, event, .. } => format!("{}: {}", agent.name, printed_line(event)?),
        _ => return None,
    })
}

impl HeadlessRun {
    /// Asserts that the turn ended as the user or a hook wished.
    #[track_caller]
    fn assert_ended_well(self) -> Self {
        let well = matches!(self.end, None | Some(TurnEnd::Answered | TurnEnd::Blocked(_) | TurnEnd::Stopped(_)));
        assert!(well, "{self:#?}");
        self
    }

    /// Returns the error kinds of failed calls.
    fn error_kinds(&self) -> Vec<&'static str> {
        self.tools.iter().filter_map(|end| Some(end.error.as_ref()?.kind.as_str())).collect()
    }
}

/// Returns the conversations that were sent to the model, one for each request.
fn request_contents(headless: &HeadlessProject) -> Vec<Value> {
    let requests = headless.requests.borrow();
    requests.iter().map(|request| serde_json::from_str(&contents_json(&request.contents)).unwrap()).collect()
}

/// Returns the result of the model's first call.
fn first_call_result(headless: &HeadlessProject) -> Value {
    request_contents(headless)[1][2]["parts"][0]["functionResponse"]["response"].clone()
}

/// Returns the text of the only transcript.
fn read_transcript(project: &TestProject) -> String {
    let files: Vec<_> = files_under(&project.home_dir());
    let is_transcript =
        |path: &&PathBuf| path.extension().is_some_and(|end| end == "jsonl") && path.iter().any(|it| it == "chats");
    let mut transcripts = files.iter().filter(is_transcript);
    let (Some(file), None) = (transcripts.next(), transcripts.next()) else { panic!("{files:?}") };
    fs::read_to_string(file).unwrap()
}

fn files_under(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_under(&path) } else { vec![path] }).collect()
}

fn assert_process_gone(pid: &str) {
    wait_until(&format!("process {pid} is gone"), || !is_running(pid));
}

/// Returns a script that prints a JSON answer.
fn answer_script(answer: &Value) -> String {
    format!("cat > /dev/null\ncat <<'END'\n{answer}\nEND")
}

#[track_caller]
fn assert_contains(text: &str, words: &str) {
    assert!(text.contains(words), "no `{words}` in:\n{text}");
}

#[track_caller]
fn assert_lacks(text: &str, words: &str) {
    assert!(!text.contains(words), "`{words}` in:\n{text}");
}
