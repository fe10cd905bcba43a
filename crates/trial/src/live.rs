//! The short column on one machine: does a deny hold with this agent, in this version, here? Under half a minute, without a
//! key, in one run of the agent where it comes so far.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Instant;

use hookwright_bridge::Host;
use serde::Serialize;

use crate::behaviour::Behaviour;
use crate::cell::{Agent, Bounds, Cell, End, Seen, TrialError, Wiring};
use crate::column;
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
    /// The user's folder for what programs can make again.
    pub cache: Option<&'a Path>,
    /// When all of it must be over.
    pub until: Instant,
}

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

/// Tries the short column; `done` hears of each row as it comes to an end. The agent is started once, and again only for what it
/// did not come to.
///
/// # Errors
/// If the agent has no driver, or could not be run at all.
pub async fn live(wanted: Live<'_>, mut done: impl FnMut(&Row)) -> Result<Report, TrialError> {
    let agent = Agent { host: wanted.host, program: wanted.program };
    let cell = |behaviour| Cell { agent, behaviour, wiring: Wiring::Bridge(wanted.hookwright) };
    let mut left: Vec<&'static Behaviour> = Behaviour::short().filter(|behaviour| cell(behaviour).exists()).collect();
    let mut rows: Vec<Row> = Vec::new();
    Driver::of(wanted.host).ok_or(TrialError::NoDriver(wanted.host))?;
    loop {
        let time = wanted.until.saturating_duration_since(Instant::now());
        if left.is_empty() || time.is_zero() {
            break;
        }
        let bounds = Bounds { path: wanted.path, time, fence: true, keep: false, cache: wanted.cache };
        let tell = |nth: usize, seen: &Seen| done(&Row { behaviour: left[nth], seen: Some(seen.clone()) });
        let column = column::run(agent, &left, wanted.hookwright, bounds, tell).await?;
        let nothing = column.seen.is_empty() && !column.is_overdue;
        let rest = left.split_off(column.seen.len());
        rows.extend(left.iter().zip(column.seen).map(|(behaviour, seen)| Row { behaviour, seen: Some(seen) }));
        left = rest;
        if nothing {
            // It does not even come to a call; why should it the next time.
            let dead = left.drain(..).map(|behaviour| Row { behaviour, seen: Some(Seen::of_nothing()) });
            rows.extend(dead.inspect(&mut done));
        }
    }
    rows.extend(left.into_iter().map(|behaviour| Row { behaviour, seen: None }).inspect(done));
    Ok(Report { rows })
}
