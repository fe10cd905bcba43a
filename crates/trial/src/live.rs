//! The short column on one machine: does a deny hold with this agent, in this version, here? Under half a minute, without a
//! key.

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use hookwright_bridge::Host;
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::behaviour::Behaviour;
use crate::cell::{Agent, Bounds, Cell, End, Seen, TrialError, Wiring};
use crate::driver::Driver;

/// What is tried.
#[derive(Debug, Clone, Copy)]
pub struct Live<'a> {
    /// Which agent.
    pub host: Host,
    /// Its program on this machine.
    pub program: &'a Path,
    /// Hookwright's own program, which the agent will call.
    pub hookwright: &'a Path,
    /// Where programs are looked for.
    pub path: &'a OsStr,
    /// How long all of it may take.
    pub time: Duration,
}

/// How many runs go on at once.
const AT_ONCE: usize = 3;

/// How long one run may take before it says something of the agent; less says only that the machine was busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// What came of it.
#[derive(Debug)]
pub struct Report {
    /// What was tried, in the order of the table.
    pub rows: Vec<Row>,
}

/// One behaviour.
#[derive(Debug)]
pub struct Row {
    /// How the hook behaved.
    pub behaviour: &'static Behaviour,
    /// What was seen; nothing if the time was up before.
    pub seen: Option<Seen>,
}

/// What one row comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// What the hook's author meant is what happened.
    Holds,
    /// It is not.
    Fails,
    /// Nothing can be said.
    Unknown,
}

impl Row {
    /// What it comes to.
    pub fn verdict(&self) -> Verdict {
        match &self.seen {
            Some(seen) if seen.end == End::Dead => Verdict::Unknown,
            Some(seen) if seen.is_as_meant(self.behaviour) => Verdict::Holds,
            Some(_) => Verdict::Fails,
            None => Verdict::Unknown,
        }
    }
}

impl Report {
    /// Whether every row holds.
    pub fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.verdict() == Verdict::Holds)
    }
}

/// Tries the short column, a few runs at a time; `done` hears of each row as it comes to an end.
///
/// # Errors
/// If the agent has no driver, or a run could not be made at all.
pub async fn live(wanted: Live<'_>, mut done: impl FnMut(&Row)) -> Result<Report, TrialError> {
    Driver::of(wanted.host).ok_or(TrialError::NoDriver(wanted.host))?;
    let (deadline, room) = (Instant::now() + wanted.time, Semaphore::new(AT_ONCE));
    let agent = Agent { host: wanted.host, program: wanted.program };
    let cells =
        Behaviour::short().map(|behaviour| Cell { agent, behaviour, wiring: Wiring::Bridge(wanted.hookwright) });
    let runs = cells.filter(Cell::exists).enumerate().map(|(nth, cell)| {
        let room = &room;
        async move {
            let _place = room.acquire().await;
            let time = PATIENCE.min(deadline.saturating_duration_since(Instant::now()));
            let seen = match time.is_zero() {
                true => None,
                false => Some(cell.run(Bounds { path: wanted.path, time, fence: true, keep: false }).await?),
            };
            let seen = seen.filter(|seen| seen.end != End::Hung || time == PATIENCE);
            Ok((nth, Row { behaviour: cell.behaviour, seen }))
        }
    });
    let mut rows: Vec<(usize, Row)> = Vec::new();
    let mut running: futures_util::stream::FuturesUnordered<_> = runs.collect();
    while let Some(row) = futures_util::StreamExt::next(&mut running).await {
        let row: (usize, Row) = row?;
        done(&row.1);
        rows.push(row);
    }
    rows.sort_by_key(|(nth, _)| *nth);
    Ok(Report { rows: rows.into_iter().map(|(_, row)| row).collect() })
}
