//! One prompt without a screen: put a session together, run the turn, print what happens as the user asked for it.

mod input;
mod json;
mod stream_json;
mod text;

use std::io;

use hookwright_agent::commands::parse_invocation;
use hookwright_agent::{Agent, AgentEvent, Events, Interaction, StartSource, TurnEnd};
use hookwright_settings::commands::discover;
use hookwright_settings::{Loaded, Notice, World};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use crate::args::{AgentArgs, OutputFormat};
use crate::session::{self, Ready};
use crate::stats::Stats;
use crate::telemetry::Telemetry;
use crate::{exit, out, report, signals};

/// Prints a session's events.
trait Printer {
    /// Something happened.
    fn event(&mut self, event: &AgentEvent) -> io::Result<()>;
    /// The session is over.
    fn finish(&mut self, end: &TurnEnd, stats: &Stats) -> io::Result<()>;
}

/// Runs one prompt and prints the answer.
pub(crate) fn run(args: &AgentArgs, world: &World) -> anyhow::Result<u8> {
    let Some(prompt) = input::prompt(args)? else {
        out::stderr_line(&format!("{} there is no prompt", out::paint(out::BAD, "error:")))?;
        out::hint("give one with `hookwright -p TEXT`, or pipe it in")?;
        return Ok(exit::BAD_INPUT);
    };
    let (events, receiver) = Events::channel();
    let loaded = session::configuration(args, world)?;
    report::print(loaded.registry.diagnostics())?;
    let ready = session::prepare(args, loaded, Interaction::Headless, events)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let code = runtime.block_on(converse(args, ready, prompt, receiver));
    // A hook or a tool that blocks a thread must not hold up the exit.
    runtime.shutdown_background();
    code
}

async fn converse(
    args: &AgentArgs,
    ready: Ready,
    prompt: String,
    receiver: UnboundedReceiver<AgentEvent>,
) -> anyhow::Result<u8> {
    let Ready { mut agent, loaded, resumed, session_id, warnings } = ready;
    for notice in loaded.notices.iter().filter(|notice| !matches!(notice, Notice::Hook { held: false, .. })) {
        out::note(notice)?;
    }
    session::announce(&loaded)?;
    warnings.iter().try_for_each(out::warn)?;
    let printer: Box<dyn Printer + Send> = match args.output_format {
        OutputFormat::Text => Box::new(text::Text::new(args.debug)),
        OutputFormat::Json => Box::new(json::Json::new(&session_id)),
        OutputFormat::StreamJson => Box::new(stream_json::StreamJson::new(&session_id, agent.model())?),
    };
    let facts = session::facts(&agent, &loaded, &session_id, args);
    let (telemetry, troubles) = Telemetry::start(&loaded.settings.telemetry, &facts);
    troubles.iter().try_for_each(out::warn)?;
    let screen = tokio::spawn(listen(receiver, printer, telemetry));
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let watcher = tokio::spawn(async move {
        let code = signals::ended().await;
        stop.cancel();
        code
    });
    let source = if resumed { StartSource::Resume } else { StartSource::Startup };
    agent.start(source, &cancel).await;
    let end = answer(&mut agent, &loaded, &prompt, &cancel).await;
    agent.end("exit").await;
    agent.shutdown().await;
    // The screen ends when the last sender of events is gone.
    drop(agent);
    screen.await??;
    let signalled = if cancel.is_cancelled() { watcher.await.ok() } else { None };
    Ok(signalled.unwrap_or_else(|| exit_code(&end)))
}

/// Answers the prompt, which may be a custom command.
async fn answer(agent: &mut Agent, loaded: &Loaded, prompt: &str, cancel: &CancellationToken) -> TurnEnd {
    let commands = discover(&loaded.paths, &loaded.project, &loaded.extensions);
    let Some((command, args)) = parse_invocation(prompt, &commands) else { return agent.prompt(prompt, cancel).await };
    agent.run_command(command, prompt, args, cancel).await
}

/// Prints and records events until there are no more.
async fn listen(
    mut receiver: UnboundedReceiver<AgentEvent>,
    mut printer: Box<dyn Printer + Send>,
    mut telemetry: Telemetry,
) -> io::Result<()> {
    let mut stats = Stats::default();
    let mut end = TurnEnd::Cancelled;
    let mut unread = None;
    while let Some(event) = receiver.recv().await {
        stats.count(&event);
        telemetry.record(&event);
        // Whoever stopped reading stops nothing else: what happens is still recorded.
        if unread.is_none() {
            unread = printer.event(&event).err();
        }
        if let AgentEvent::TurnFinished(how) = event {
            end = how;
        }
    }
    let finished = unread.map_or_else(|| printer.finish(&end, &stats), Err);
    // It may wait a second for a collector, so it comes after everything that the user waits for.
    telemetry.shutdown().iter().try_for_each(out::warn)?;
    finished
}

fn exit_code(end: &TurnEnd) -> u8 {
    match end {
        TurnEnd::Answered | TurnEnd::Blocked(_) | TurnEnd::Stopped(_) => exit::OK,
        TurnEnd::Cancelled => exit::INTERRUPTED,
        TurnEnd::TurnLimit(_) => exit::TURN_LIMIT,
        TurnEnd::Loop(_) | TurnEnd::Failed { .. } => exit::ERROR,
    }
}

/// What went wrong with a turn, for machines: a word, and the words.
fn error_of(end: &TurnEnd) -> Option<(&'static str, String)> {
    match end {
        TurnEnd::Answered => None,
        TurnEnd::Blocked(reason) => Some(("blocked", format!("Agent execution blocked: {reason}"))),
        TurnEnd::Stopped(reason) => Some(("stopped", format!("Agent execution stopped by hook: {reason}"))),
        TurnEnd::Cancelled => Some(("cancelled", "the turn was cancelled".to_owned())),
        TurnEnd::TurnLimit(limit) => Some(("turn_limit", turn_limit(*limit))),
        TurnEnd::Loop(reason) => Some(("loop", reason.clone())),
        TurnEnd::Failed { message, .. } => Some(("failed", message.clone())),
    }
}

fn turn_limit(limit: u32) -> String {
    format!("the session has made its {limit} model requests; raise `model.maxSessionTurns` in the settings for more")
}
