//! All cells, a few at a time; and earlier results, for those that are not run again.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hookwright_trial::{Agent, Behaviour, Bounds, Cell, End, Host, Seen, Wiring};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::args::{Args, Way};
use crate::install::Installed;
use crate::progress::Progress;

/// One cell with what was seen.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Tried {
    pub(crate) agent: String,
    pub(crate) version: String,
    pub(crate) behaviour: String,
    pub(crate) wiring: Way,
    #[serde(flatten)]
    pub(crate) seen: Seen,
}

impl Tried {
    pub(crate) fn host(&self) -> Option<Host> {
        Host::from_name(&self.agent)
    }

    pub(crate) fn behaviour(&self) -> Option<&'static Behaviour> {
        Behaviour::named(&self.behaviour)
    }

    /// Whether what the hook's author meant is what happened.
    pub(crate) fn is_as_meant(&self) -> bool {
        self.behaviour().is_some_and(|behaviour| self.seen.is_as_meant(behaviour))
    }

    fn is_same_cell(&self, other: &Tried) -> bool {
        (&self.agent, &self.version, &self.behaviour, self.wiring)
            == (&other.agent, &other.version, &other.behaviour, other.wiring)
    }
}

/// Runs every cell that there is.
pub(crate) async fn all(
    args: &Args,
    agents: &[Installed],
    hookwright: &Path,
    fence: bool,
    deadline: Option<Instant>,
) -> anyhow::Result<Vec<Tried>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cache = hookwright_trial::cache(|name| std::env::var_os(name));
    let time = Duration::from_secs(args.seconds);
    let bounds = Bounds { path: &path, time, fence, keep: args.keep, cache: cache.as_deref() };
    let cells = cells(args, agents, hookwright);
    let (room, mut progress) = (Semaphore::new(args.at_once.max(1)), Progress::new(cells.len()));
    let mut running: FuturesUnordered<_> = cells
        .into_iter()
        .map(|(agent, wiring, cell)| {
            let room = &room;
            async move {
                let _place = room.acquire().await;
                let late = deadline.is_some_and(|deadline| Instant::now() > deadline);
                let seen = if late { Err("no time was left".to_owned()) } else { one(&cell, bounds).await };
                (agent, wiring, cell.behaviour, seen)
            }
        })
        .collect();
    let (mut tried, mut left) = (Vec::new(), Vec::new());
    while let Some((agent, wiring, behaviour, seen)) = running.next().await {
        progress.step(&format!("{} {} {}", agent.host, wiring.name(), behaviour.name));
        let (name, version) = (agent.host.name().to_owned(), agent.version.clone());
        match seen {
            Ok(seen) => tried.push(Tried { agent: name, version, behaviour: behaviour.name.to_owned(), wiring, seen }),
            Err(why) => left.push(format!("{name} {} {}: {why}", wiring.name(), behaviour.name)),
        }
    }
    progress.end();
    left.iter().for_each(|line| eprintln!("conformance: not tried: {line}"));
    tried.extend(earlier(args, &tried)?);
    Ok(tried)
}

fn cells<'a>(args: &Args, agents: &'a [Installed], hookwright: &'a Path) -> Vec<(&'a Installed, Way, Cell<'a>)> {
    let mut cells = Vec::new();
    // Agents in turn, so that no two starts of the same one get in each other's way more than need be.
    for behaviour in &args.behaviours.0 {
        for way in &args.wiring {
            for installed in agents {
                let wiring = match way {
                    Way::Direct => Wiring::Direct,
                    Way::Closed => Wiring::DirectClosed,
                    Way::Bridge => Wiring::Bridge(hookwright),
                };
                let agent = Agent { host: installed.host, program: &installed.program };
                let cell = Cell { agent, behaviour, wiring };
                if cell.exists() {
                    cells.push((installed, *way, cell));
                }
            }
        }
    }
    cells
}

/// One cell. An agent that never came to a call is tried once more: a machine may have been too busy.
async fn one(cell: &Cell<'_>, bounds: Bounds<'_>) -> Result<Seen, String> {
    let mut seen = cell.run(bounds).await.map_err(|error| said(&error))?;
    if matches!(seen.end, End::Dead) {
        seen = cell.run(bounds).await.map_err(|error| said(&error))?;
    }
    if matches!(seen.end, End::Dead | End::Hung) || bounds.keep {
        let place = seen.kept.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
        eprintln!("conformance: {} {}: {:?} {place}\n{}", cell.agent.host, cell.behaviour.name, seen.end, seen.words);
    }
    Ok(seen)
}

/// An error with its causes, on one line.
fn said(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Earlier results of cells that were not run now.
pub(crate) fn earlier(args: &Args, now: &[Tried]) -> anyhow::Result<Vec<Tried>> {
    let Some(path) = &args.with else { return Ok(Vec::new()) };
    #[expect(clippy::disallowed_methods, reason = "a file that the developer names")]
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut file: crate::table::File = serde_json::from_str(&text).with_context(|| format!("in {}", path.display()))?;
    file.cells.retain(|then| !now.iter().any(|now| now.is_same_cell(then)));
    Ok(file.cells)
}
