//! `hookwright demo`: scripted sessions on the embedded model, with real hooks and real tools, in a project of their own.
//!
//! Nothing in here is pretended: the timeline is made of the events of an ordinary session.

mod ecosystem;
mod events;
mod server;
mod stage;

use std::io::Write;
use std::time::{Duration, Instant};

use hookwright_agent::session::{Opened, Order, When};
use hookwright_agent::{AgentEvent, ApprovalReply, EndReason, EventStream, Interaction};
use hookwright_settings::World;

use crate::args::{AgentArgs, Demo};
use crate::out::{self, BOLD, paint};
use crate::{exit, session, trace};
use stage::Stage;

pub(crate) use server::run as serve_mcp;

/// What a demo shows.
trait Show: Send + 'static {
    /// Writes what the project and the home hold.
    fn build(&self, stage: &Stage) -> anyhow::Result<()>;
    /// What the user would do.
    fn orders(&self) -> Vec<Order>;
    /// Something has happened.
    fn count(&mut self, event: &AgentEvent);
    /// Whether everything has happened that is to be shown.
    fn is_whole(&self) -> bool;
    /// What it came to, and what to look at next.
    fn print(&self, elapsed: Duration) -> std::io::Result<()>;
}

pub(crate) fn run(which: Demo, keep: bool, world: &World) -> anyhow::Result<u8> {
    match which {
        Demo::Events => play(events::Events::default(), keep, world),
        Demo::Ecosystem => play(ecosystem::Ecosystem::default(), keep, world),
    }
}

fn play(show: impl Show, keep: bool, world: &World) -> anyhow::Result<u8> {
    let started = Instant::now();
    let folder = tempfile::Builder::new().prefix("hookwright-demo-").tempdir()?;
    let stage = Stage::new(folder.path())?;
    show.build(&stage)?;
    let runtime = crate::runtime::start(2)?;
    let show = runtime.block_on(converse(show, &stage.world(world)))?;
    show.print(started.elapsed())?;
    if keep {
        let path = folder.keep();
        out::note(format!("the demo's project is {}", path.join("project").display()))?;
    }
    Ok(if show.is_whole() { exit::OK } else { exit::ERROR })
}

async fn converse<S: Show>(show: S, world: &World) -> anyhow::Result<S> {
    let args = AgentArgs { skip_trust: true, ..AgentArgs::default() };
    let options = session::options(&args, Interaction::Interactive);
    let loaded = options.load(world)?;
    let (session, events, ended) = Opened::new(options, world.clone(), loaded)?.start();
    show.orders().into_iter().for_each(|order| session.order(order));
    let screen = tokio::spawn(watch(show, events));
    session.end(When::Done, EndReason::Exit);
    ended.await?;
    screen.await?
}

/// Prints the timeline and says yes to every question.
async fn watch<S: Show>(mut show: S, mut receiver: EventStream) -> anyhow::Result<S> {
    let mut answer = String::new();
    while let Some(event) = receiver.recv().await {
        show.count(&event);
        if let AgentEvent::Text(text) = &event {
            answer.push_str(text);
            continue;
        }
        let ends_answer = matches!(event, AgentEvent::ModelResponse { .. } | AgentEvent::TurnFinished(_));
        let mut stdout = out::stdout();
        if ends_answer && !answer.is_empty() {
            writeln!(stdout, "  {} {}", paint(BOLD, "answer:"), out::one_line(&std::mem::take(&mut answer)))?;
        }
        for line in trace::lines(&event) {
            writeln!(stdout, "{line}")?;
        }
        drop(stdout);
        if let AgentEvent::Approval(_, reply) = event {
            let _ = reply.send(ApprovalReply::Once);
        }
    }
    Ok(show)
}
