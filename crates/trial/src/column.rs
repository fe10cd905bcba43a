//! Many behaviours in one run: a hook for each, and for each a command that only this hook is asked about. The agent is started
//! once, which is what takes its time.

use std::path::Path;
use std::time::Instant;

use crate::behaviour::{self, Behaviour, Meaning};
use crate::cell::place::{Called, Scene};
use crate::cell::run::{self, Patience};
use crate::cell::{Agent, Bounds, End, Seen, TrialError};
use crate::driver::Driver;
use crate::standin::{Standin, Wish};

/// What came of one run.
pub(crate) struct Column {
    /// What was seen, for as many behaviours as the agent came to, in order.
    pub(crate) seen: Vec<Seen>,
    /// Whether its time was up before it was done.
    pub(crate) is_overdue: bool,
}

/// One run of an agent with all of these behaviours; `done` hears of each as the agent comes back with it.
pub(crate) async fn run(
    agent: Agent<'_>,
    behaviours: &[&'static Behaviour],
    hookwright: &Path,
    bounds: Bounds<'_>,
    mut done: impl FnMut(usize, &Seen),
) -> Result<Column, TrialError> {
    let driver = Driver::of(agent.host).ok_or(TrialError::NoDriver(agent.host))?;
    let file = |nth: usize| format!("{}-{nth:02}", behaviour::RAN);
    let command = |nth: usize| format!("touch {}", file(nth));
    let mut scene = Scene::new(bounds.keep)?;
    let wishes = (0..behaviours.len()).map(|nth| Wish::Shell(command(nth))).collect();
    let standin = Standin::start(wishes).await.map_err(TrialError::Standin)?;
    let hooks: Vec<_> = behaviours.iter().enumerate().map(|(nth, behaviour)| (*behaviour, command(nth))).collect();
    let called = Called { hookwright, goes: false };
    scene.furnish_all(agent, driver, &hooks, &standin.url(), called, bounds).await?;
    let start = Instant::now();
    let end = |nth: usize| match () {
        () if scene.has(&file(nth)) => End::Ran,
        () if behaviours[nth].means == Meaning::Otherwise && scene.has(behaviour::REWRITTEN) => End::Rewritten,
        () => End::Blocked,
    };
    let look = |nth: usize, before: Instant| Seen {
        end: end(nth),
        told: standin.has_heard(behaviour::REASON),
        context: standin.has_heard(behaviour::CONTEXT),
        started: scene.started(nth),
        took: before.elapsed(),
        words: String::new(),
        kept: bounds.keep.then(|| scene.root().to_owned()),
    };
    let mut seen: Vec<Seen> = Vec::new();
    let patience = Patience { trusts: true, answers: Some(behaviours.len()) };
    let agents_run = run::agent(agent.program, driver, &scene, &standin, bounds, patience, || ());
    let mut agents_run = std::pin::pin!(agents_run);
    let mut before = start;
    let ended = loop {
        tokio::select! {
            // What has been answered counts, also if the agent ends with it.
            biased;
            () = standin.answered(seen.len() + 1), if seen.len() < behaviours.len() => {
                let one = look(seen.len(), before);
                done(seen.len(), &one);
                before = Instant::now();
                seen.push(one);
            }
            ended = &mut agents_run => break ended?,
        }
    };
    // One that went away with its last call unanswered has been told no, or has run it.
    if !ended.is_overdue && standin.progress().0 > seen.len() {
        let one = look(seen.len(), before);
        done(seen.len(), &one);
        seen.push(one);
    }
    Ok(Column { seen, is_overdue: ended.is_overdue })
}
