//! The short column on one machine: does a deny hold with this agent, in this version, here? Under half a minute, without a
//! key, in one run of the agent where it comes so far.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Instant;

use hookwright_bridge::Host;
use serde::Serialize;

use crate::batch;
use crate::behaviour::Behaviour;
use crate::case::{CallOutcome, HookWiring, TrialAgent, TrialCase, TrialError, TrialLimits, TrialObservation};
use crate::driver::AgentDriver;

/// What is tried.
#[derive(Debug, Clone, Copy)]
pub struct LiveTrial<'a> {
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
    pub deadline: Instant,
}

/// What came of it.
#[derive(Debug)]
pub struct LiveReport {
    /// What was tried, in the order of the table.
    pub rows: Vec<LiveRow>,
}

/// One behaviour.
#[derive(Debug)]
pub struct LiveRow {
    /// How the hook behaved.
    pub behaviour: &'static Behaviour,
    /// What was seen; nothing if the time was up before.
    pub observation: Option<TrialObservation>,
}

/// What one row comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialVerdict {
    /// What the hook's author meant is what happened.
    Holds,
    /// It is not.
    Fails,
    /// Nothing can be said.
    Unknown,
}

impl LiveRow {
    /// What it comes to.
    pub fn verdict(&self) -> TrialVerdict {
        match &self.observation {
            Some(seen) if seen.end == CallOutcome::Dead => TrialVerdict::Unknown,
            Some(seen) if seen.matches_intent(self.behaviour) => TrialVerdict::Holds,
            Some(_) => TrialVerdict::Fails,
            None => TrialVerdict::Unknown,
        }
    }
}

impl LiveReport {
    /// Whether every row holds.
    pub fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.verdict() == TrialVerdict::Holds)
    }
}

/// Tries the short column; `done` hears of each row as it comes to an end. The agent is started once, and again only for what it
/// did not come to.
///
/// # Errors
/// If the agent has no driver, or could not be run at all.
pub async fn run_live_trial(wanted: LiveTrial<'_>, mut done: impl FnMut(&LiveRow)) -> Result<LiveReport, TrialError> {
    let agent = TrialAgent { host: wanted.host, program: wanted.program };
    let cell = |behaviour| TrialCase { agent, behaviour, wiring: HookWiring::Bridge(wanted.hookwright) };
    let mut left: Vec<&'static Behaviour> =
        Behaviour::live_trials().filter(|behaviour| cell(behaviour).is_applicable()).collect();
    let mut rows: Vec<LiveRow> = Vec::new();
    AgentDriver::for_host(wanted.host).ok_or(TrialError::NoDriver(wanted.host))?;
    loop {
        let time = wanted.deadline.saturating_duration_since(Instant::now());
        if left.is_empty() || time.is_zero() {
            break;
        }
        let bounds = TrialLimits {
            search_path: wanted.path,
            timeout: time,
            block_network: true,
            keep_files: false,
            cache_dir: wanted.cache,
        };
        let tell = |nth: usize, seen: &TrialObservation| {
            done(&LiveRow { behaviour: left[nth], observation: Some(seen.clone()) })
        };
        let column = batch::run_batch(agent, &left, wanted.hookwright, bounds, tell).await?;
        let nothing = column.observations.is_empty() && !column.timed_out;
        let rest = left.split_off(column.observations.len());
        rows.extend(
            left.iter()
                .zip(column.observations)
                .map(|(behaviour, seen)| LiveRow { behaviour, observation: Some(seen) }),
        );
        left = rest;
        if nothing {
            // It does not even come to a call; why should it the next time.
            let dead = left
                .drain(..)
                .map(|behaviour| LiveRow { behaviour, observation: Some(TrialObservation::without_call()) });
            rows.extend(dead.inspect(&mut done));
        }
    }
    rows.extend(left.into_iter().map(|behaviour| LiveRow { behaviour, observation: None }).inspect(done));
    Ok(LiveReport { rows })
}
