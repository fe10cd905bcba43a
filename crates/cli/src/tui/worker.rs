//! The agent on a task of its own: takes one thing to do after another and says when it is done.

use std::time::Instant;

use hookwright_agent::transcript::{Header, Transcript};
use hookwright_agent::{Agent, AgentEvent, CallError, StartSource, ToolEnd, ToolStart, TurnEnd};
use hookwright_hooks::Session;
use hookwright_settings::commands::Command;
use hookwright_tools::{OutputSink, ToolKind};
use serde_json::{Map, Value};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

/// Something for the agent to do.
pub(crate) enum Task {
    /// Answer a prompt.
    Prompt(String, CancellationToken),
    /// Answer what a custom command stands for: the command, what was typed, and what of it stands behind the name.
    Custom(Box<Command>, String, String, CancellationToken),
    /// Run the user's own command.
    Shell(String, CancellationToken),
    /// Forget everything and begin a new session, written to this directory.
    Clear(std::path::PathBuf, CancellationToken),
    /// Compress the history.
    Compress(CancellationToken),
    /// Ask another model.
    Model(String),
    /// Follow another system prompt.
    System(String),
    /// Go on with another conversation.
    Replace(Box<Agent>, CancellationToken),
}

/// What the agent reports when a task is done.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) model: String,
    pub(crate) tokens: u64,
}

/// Works until there are no more tasks; then the session ends.
pub(crate) async fn work(
    mut agent: Agent,
    source: StartSource,
    start: CancellationToken,
    mut tasks: UnboundedReceiver<Task>,
    done: UnboundedSender<Done>,
) {
    agent.start(source, &start).await;
    let report = |agent: &Agent| {
        // Nobody listens at the end of the session.
        let _ = done.send(Done { model: agent.model().to_owned(), tokens: agent.context_tokens() });
    };
    report(&agent);
    while let Some(task) = tasks.recv().await {
        match task {
            Task::Prompt(prompt, cancel) => {
                agent.prompt(&prompt, &cancel).await;
            }
            Task::Custom(command, typed, args, cancel) => {
                agent.run_command(&command, &typed, &args, &cancel).await;
            }
            Task::Shell(command, cancel) => shell(&mut agent, command, cancel).await,
            Task::Clear(chats, cancel) => clear(&mut agent, &chats, &cancel).await,
            Task::Compress(cancel) => {
                if let Err(end) = agent.compress(&cancel).await {
                    agent.services().events.send(AgentEvent::TurnFinished(end));
                }
            }
            Task::Model(model) => agent.set_model(model),
            Task::System(system) => agent.set_system(system),
            Task::Replace(next, cancel) => {
                agent.end("exit").await;
                agent.shutdown().await;
                agent = *next;
                agent.start(StartSource::Resume, &cancel).await;
            }
        }
        report(&agent);
    }
    agent.end("exit").await;
    agent.shutdown().await;
}

async fn clear(agent: &mut Agent, chats: &std::path::Path, cancel: &CancellationToken) {
    agent.end("clear").await;
    let services = agent.services().clone();
    let before = services.hooks.session();
    let id = uuid::Uuid::new_v4().to_string();
    let header = Header {
        session_id: id.clone(),
        project: before.project_dir.clone(),
        model: agent.model().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started: jiff::Timestamp::now(),
    };
    match Transcript::create_in(chats, &header) {
        Ok(transcript) => {
            // One that the settings name is the same for every session.
            let of_session = before.plans_dir.ends_with(std::path::Path::new(&before.id).join("plans"));
            let temp = before.plans_dir.parent().and_then(std::path::Path::parent).filter(|_| of_session);
            let plans_dir = temp.map(|temp| temp.join(&id).join("plans"));
            services.hooks.set_session(Session {
                id,
                transcript_path: transcript.path().to_owned(),
                plans_dir: plans_dir.unwrap_or_else(|| before.plans_dir.clone()),
                ..(*before).clone()
            });
            agent.clear(transcript);
        }
        Err(error) => services.events.send(AgentEvent::Warning(format!("the conversation was not cleared: {error}"))),
    }
    agent.start(StartSource::Clear, cancel).await;
}

/// Runs a command of the user's as the shell tool would. Nobody is asked: the user wrote it. The model reads of it with
/// the next prompt.
async fn shell(agent: &mut Agent, command: String, cancel: CancellationToken) {
    const TOOL: &str = "run_shell_command";
    let services = agent.services().clone();
    let call_id = format!("user-{}", uuid::Uuid::new_v4());
    let args = Map::from_iter([("command".to_owned(), Value::String(command.clone()))]);
    let failed = |message: &str| TurnEnd::Failed { message: message.to_owned(), hint: None };
    let Some(tool) = services.tools.get(TOOL) else {
        return services.events.send(AgentEvent::TurnFinished(failed("the settings leave out the shell tool")));
    };
    services.events.send(AgentEvent::ToolStarted(ToolStart {
        call_id: call_id.clone(),
        name: "!".to_owned(),
        kind: ToolKind::Execute,
        args: args.clone(),
        description: command.clone(),
        rewritten: Vec::new(),
    }));
    let mut context = services.tool_context.clone();
    context.cancel = cancel;
    let (events, id) = (services.events.clone(), call_id.clone());
    context.output =
        OutputSink::new(move |text| events.send(AgentEvent::ToolOutput { call_id: id.clone(), text: text.to_owned() }));
    let started = Instant::now();
    let result = tool.run(&Value::Object(args.clone()), &context).await;
    agent.tell(format!("I ran this command myself: {command}\n\n{}", result.llm_content.to_text()));
    services.events.send(AgentEvent::ToolFinished(Box::new(ToolEnd {
        call_id,
        name: "!".to_owned(),
        args,
        content: result.llm_content.to_text(),
        error: result.error.map(|error| CallError { kind: error.kind.as_str().to_owned(), message: error.message }),
        display: result.return_display,
        duration: started.elapsed(),
        decision: None,
        metadata: Map::new(),
        prompt_id: String::new(),
    })));
}
