//! Runs all cells, a few at a time, and loads earlier results of cells that are not run again.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hookwright_trial::{
    Behaviour, CallOutcome, HookWiring, Host, TrialAgent, TrialCase, TrialLimits, TrialObservation,
};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::args::{ConformanceArgs, WiringKind};
use crate::install::InstalledAgent;
use crate::progress::ProgressBar;

/// The result of one cell.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CellResult {
    pub(crate) agent: String,
    pub(crate) version: String,
    pub(crate) behaviour: String,
    pub(crate) wiring: WiringKind,
    #[serde(flatten)]
    pub(crate) observation: TrialObservation,
}

impl CellResult {
    pub(crate) fn host(&self) -> Option<Host> {
        Host::from_name(&self.agent)
    }

    pub(crate) fn behaviour(&self) -> Option<&'static Behaviour> {
        Behaviour::by_name(&self.behaviour)
    }

    /// Returns whether the outcome is what the hook's author intended.
    pub(crate) fn is_as_intended(&self) -> bool {
        self.behaviour().is_some_and(|behaviour| self.observation.matches_intent(behaviour))
    }

    fn is_same_cell(&self, other: &CellResult) -> bool {
        (&self.agent, &self.version, &self.behaviour, self.wiring)
            == (&other.agent, &other.version, &other.behaviour, other.wiring)
    }
}

/// Runs every applicable cell.
pub(crate) async fn run_cells(
    args: &ConformanceArgs,
    agents: &[InstalledAgent],
    hookwright: &Path,
    fence: bool,
    deadline: Option<Instant>,
) -> anyhow::Result<Vec<CellResult>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cache = hookwright_trial::cache_dir(|name| std::env::var_os(name));
    let time = Duration::from_secs(args.seconds);
    let bounds = TrialLimits {
        search_path: &path,
        timeout: time,
        block_network: fence,
        keep_files: args.keep,
        cache_dir: cache.as_deref(),
    };
    let cells = plan_cells(args, agents, hookwright);
    let (room, mut progress) = (Semaphore::new(args.at_once.max(1)), ProgressBar::new(cells.len()));
    let mut running: FuturesUnordered<_> = cells
        .into_iter()
        .map(|(agent, wiring, cell)| {
            let room = &room;
            async move {
                let _place = room.acquire().await;
                let late = deadline.is_some_and(|deadline| Instant::now() > deadline);
                let seen = if late { Err("no time was left".to_owned()) } else { run_cell(&cell, bounds).await };
                (agent, wiring, cell.behaviour, seen)
            }
        })
        .collect();
    let (mut tried, mut left) = (Vec::new(), Vec::new());
    while let Some((agent, wiring, behaviour, seen)) = running.next().await {
        progress.advance(&format!("{} {} {}", agent.host, wiring.name(), behaviour.name));
        let (name, version) = (agent.host.name().to_owned(), agent.version.clone());
        match seen {
            Ok(seen) => tried.push(CellResult {
                agent: name,
                version,
                behaviour: behaviour.name.to_owned(),
                wiring,
                observation: seen,
            }),
            Err(why) => left.push(format!("{name} {} {}: {why}", wiring.name(), behaviour.name)),
        }
    }
    progress.clear();
    left.iter().for_each(|line| eprintln!("conformance: not tried: {line}"));
    tried.extend(load_earlier_results(args, &tried)?);
    Ok(tried)
}

fn plan_cells<'a>(
    args: &ConformanceArgs,
    agents: &'a [InstalledAgent],
    hookwright: &'a Path,
) -> Vec<(&'a InstalledAgent, WiringKind, TrialCase<'a>)> {
    let mut cells = Vec::new();
    // Agents take turns, so that starts of the same agent disturb one another as little as possible.
    for behaviour in &args.behaviours.0 {
        for way in &args.wiring {
            for installed in agents {
                let wiring = match way {
                    WiringKind::Direct => HookWiring::Direct,
                    WiringKind::Closed => HookWiring::DirectClosed,
                    WiringKind::Bridge => HookWiring::Bridge(hookwright),
                };
                let agent = TrialAgent { host: installed.host, program: &installed.program };
                let cell = TrialCase { agent, behaviour, wiring };
                if cell.is_applicable() {
                    cells.push((installed, *way, cell));
                }
            }
        }
    }
    cells
}

/// Runs one cell. An agent that never made a call is tried once more: the machine may have been too busy.
async fn run_cell(cell: &TrialCase<'_>, bounds: TrialLimits<'_>) -> Result<TrialObservation, String> {
    let mut seen = cell.run(bounds).await.map_err(|error| error_chain(&error))?;
    if matches!(seen.end, CallOutcome::Dead) {
        seen = cell.run(bounds).await.map_err(|error| error_chain(&error))?;
    }
    if matches!(seen.end, CallOutcome::Dead | CallOutcome::Hung) || bounds.keep_files {
        let place = seen.kept_dir.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
        eprintln!("conformance: {} {}: {:?} {place}\n{}", cell.agent.host, cell.behaviour.name, seen.end, seen.output);
    }
    Ok(seen)
}

/// Formats an error with its causes, on one line.
fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Returns earlier results of cells that were not run now.
pub(crate) fn load_earlier_results(args: &ConformanceArgs, now: &[CellResult]) -> anyhow::Result<Vec<CellResult>> {
    let Some(path) = &args.with else { return Ok(Vec::new()) };
    #[expect(clippy::disallowed_methods, reason = "a file that the developer names")]
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut file: crate::table::ResultsFile =
        serde_json::from_str(&text).with_context(|| format!("in {}", path.display()))?;
    file.cells.retain(|then| !now.iter().any(|now| now.is_same_cell(then)));
    Ok(file.cells)
}
