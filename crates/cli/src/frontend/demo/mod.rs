//! `hookwright demo`: scripted sessions on the embedded model, with real hooks and real tools, in a project of their
//! own.
//!
//! The timeline is printed from the events of an ordinary session.

mod ecosystem;
mod events;
mod mcp_server;
mod sandbox;

use std::io::Write;
use std::time::{Duration, Instant};

use hookwright_agent::session::{PreparedSession, SessionCommand, SessionHandle, Shutdown};
use hookwright_agent::{
    AgentEvent, Answer, ApprovalReply, EndReason, EventStream, Interaction, ModelEvent, Question, QuestionEvent,
    QuestionSubject, TurnEvent,
};
use hookwright_settings::ProcessEnv;

use crate::args::short_help::HEADLINE;
use crate::args::{DemoKind, SessionArgs};
use crate::output::{self, BOLD, paint};
use crate::{exit, frontend::session_options, presentation::timeline};
use sandbox::DemoSandbox;

pub(crate) use mcp_server::run as serve_mcp;

/// The script of a demo.
trait DemoScript: Send + 'static {
    /// Writes the files of the demo's project and home.
    fn write_files(&self, stage: &DemoSandbox) -> anyhow::Result<()>;
    /// Returns the commands that a user would give.
    fn session_commands(&self) -> Vec<SessionCommand>;
    fn count_event(&mut self, event: &AgentEvent);
    /// Returns whether everything that the demo shows has happened.
    fn is_complete(&self) -> bool;
    /// Prints the counts, and what to try next.
    fn print_summary(&self, elapsed: Duration) -> std::io::Result<()>;
}

pub(crate) fn run(which: DemoKind, keep: bool, world: &ProcessEnv) -> anyhow::Result<u8> {
    match which {
        DemoKind::Events => run_demo(events::EventsDemo::default(), keep, world),
        DemoKind::Ecosystem => run_demo(ecosystem::EcosystemDemo::default(), keep, world),
    }
}

fn run_demo(show: impl DemoScript, keep: bool, world: &ProcessEnv) -> anyhow::Result<u8> {
    let started = Instant::now();
    let folder = tempfile::Builder::new().prefix("hookwright-demo-").tempdir()?;
    let stage = DemoSandbox::new(folder.path())?;
    show.write_files(&stage)?;
    writeln!(
        output::stdout(),
        "{HEADLINE}\n\nThe model of this demo is offline. Each prompt below is its script: `call TOOL {{arguments}}`, `say TEXT`.\n"
    )?;
    let runtime = crate::runtime::start(2)?;
    let show = runtime.block_on(run_session(show, &stage.world(world)))?;
    show.print_summary(started.elapsed())?;
    if keep {
        let path = folder.keep();
        output::note(format!("the demo's project is {}", path.join("project").display()))?;
    }
    Ok(if show.is_complete() { exit::OK } else { exit::ERROR })
}

async fn run_session<S: DemoScript>(show: S, world: &ProcessEnv) -> anyhow::Result<S> {
    let args = SessionArgs { skip_trust: true, ..SessionArgs::default() };
    let options = session_options::from_args(&args, Interaction::Interactive, world);
    let loaded = options.load(world)?;
    let (session, events, ended) = PreparedSession::new(options, world.clone(), loaded)?.start(Vec::new());
    show.session_commands().into_iter().for_each(|order| session.send(order));
    let screen = tokio::spawn(print_timeline(show, session.clone(), events));
    session.end(Shutdown::Done, EndReason::Exit);
    ended.await?;
    screen.await?
}

/// Prints the timeline and approves every call that is asked about.
async fn print_timeline<S: DemoScript>(
    mut show: S,
    session: SessionHandle,
    mut receiver: EventStream,
) -> anyhow::Result<S> {
    let mut answer = String::new();
    while let Some(event) = receiver.recv().await {
        show.count_event(&event);
        if let AgentEvent::Model(ModelEvent::Text(text)) = &event {
            answer.push_str(text);
            continue;
        }
        let ends_answer =
            matches!(event, AgentEvent::Model(ModelEvent::Answered { .. }) | AgentEvent::Turn(TurnEvent::Finished(_)));
        let mut stdout = output::stdout();
        if ends_answer && !answer.is_empty() {
            writeln!(stdout, "  {} {}", paint(BOLD, "answer:"), output::one_line(&std::mem::take(&mut answer)))?;
        }
        for line in timeline::event_lines(&event) {
            writeln!(stdout, "{line}")?;
        }
        drop(stdout);
        if let AgentEvent::Question(QuestionEvent::Asked(Question { id, subject: QuestionSubject::Approval(_) })) =
            event
        {
            session.send(SessionCommand::Answer { id, answer: Answer::Approval(ApprovalReply::Once) });
        }
    }
    Ok(show)
}
