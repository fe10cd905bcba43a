//! `hookwright demo`: a scripted session on the embedded model, with real hooks and real tools, in a project of its own.
//!
//! Nothing in here is pretended: the timeline is made of the events of an ordinary session.

mod project;
mod server;

use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};

use hookwright_agent::session::{Opened, Order, When};
use hookwright_agent::{AgentEvent, ApprovalReply, EndReason, EventStream, Interaction};
use hookwright_hooks::{Decision, EventKind};
use hookwright_settings::World;

use crate::args::AgentArgs;
use crate::out::{self, BOLD, DIM, GOOD, paint};
use crate::{exit, session, trace};

pub(crate) use server::run as serve_mcp;

/// What the user would type.
const PROMPTS: [&str; 3] = [
    "call write_file {\"file_path\": \"build/notes.txt\", \"content\": \"three bugs left\\n\"}\n\
     call run_shell_command {\"command\": \"rm -rf /\"}\n\
     call run_shell_command {\"command\": \"rm build/notes.txt\"}\n\
     say Done. Questions go to ada@example.org.",
    "say TODO: say something useful",
    "say Good night.",
];

pub(crate) fn run(keep: bool, world: &World) -> anyhow::Result<u8> {
    let started = Instant::now();
    let folder = tempfile::Builder::new().prefix("hookwright-demo-").tempdir()?;
    let world = project::create(folder.path(), world)?;
    let runtime = crate::runtime::start(2)?;
    let tally = runtime.block_on(converse(&world))?;
    tally.print(started.elapsed())?;
    if keep {
        let path = folder.keep();
        out::note(format!("the demo's project is {}", path.join("project").display()))?;
    }
    Ok(if tally.fired.len() == EventKind::COUNT { exit::OK } else { exit::ERROR })
}

async fn converse(world: &World) -> anyhow::Result<Tally> {
    let args = AgentArgs { skip_trust: true, ..AgentArgs::default() };
    let options = session::options(&args, Interaction::Interactive);
    let loaded = options.load(world)?;
    let (session, events, ended) = Opened::new(options, world.clone(), loaded)?.start();
    let screen = tokio::spawn(watch(events));
    for prompt in PROMPTS {
        session.order(Order::Prompt(prompt.to_owned()));
    }
    session.order(Order::Compress);
    session.end(When::Done, EndReason::Exit);
    ended.await?;
    screen.await?
}

/// What happened, counted.
#[derive(Default)]
struct Tally {
    fired: BTreeSet<EventKind>,
    hooks: u32,
    in_hooks: Duration,
    denied: u32,
    rewritten: u32,
    redacted: u32,
    retried: u32,
}

/// Prints the timeline and says yes to every question.
async fn watch(mut receiver: EventStream) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut answer = String::new();
    while let Some(event) = receiver.recv().await {
        tally.count(&event);
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
    Ok(tally)
}

impl Tally {
    fn count(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::HookFinished { report, .. } => {
                self.fired.insert(report.event);
                self.hooks += 1;
                self.in_hooks += report.duration;
                self.rewritten += u32::from(report.answer.tool_input.is_some());
                self.redacted +=
                    u32::from(report.event == EventKind::AfterModel && report.answer.llm_response.is_some());
                let refused = report.event == EventKind::BeforeTool && report.decision() == Some(Decision::Deny);
                self.denied += u32::from(refused);
            }
            AgentEvent::AgentRetry { .. } => self.retried += 1,
            _ => {}
        }
    }

    fn print(&self, elapsed: Duration) -> std::io::Result<()> {
        let Tally { denied, rewritten, redacted, retried, hooks, .. } = self;
        let events = format!("{} of {} events fired", self.fired.len(), EventKind::COUNT);
        let mut stdout = out::stdout();
        writeln!(
            stdout,
            "\n{}: {denied} call blocked, {rewritten} rewritten, {redacted} piece redacted, {retried} answer retried",
            paint(GOOD, events)
        )?;
        let times = format!("{hooks} hook runs took {} ms of {} ms", self.in_hooks.as_millis(), elapsed.as_millis());
        writeln!(stdout, "{}", paint(DIM, times))?;
        writeln!(stdout, "\nNext: `hookwright hooks new my-hook --event BeforeTool` in a project of yours.")
    }
}
