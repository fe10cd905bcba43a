//! The live trial: a few behaviours with an agent that is installed on this machine, to test whether a deny holds in
//! this version. It needs no key, and one run of the agent if that reaches all behaviours.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Instant;

use hookwright_bridge::Host;
use serde::Serialize;

use crate::batch;
use crate::behaviour::Behaviour;
use crate::case::{CallOutcome, HookWiring, TrialAgent, TrialCase, TrialError, TrialLimits, TrialObservation};
use crate::driver::AgentDriver;

/// The agent and the programs of a live trial.
#[derive(Debug, Clone, Copy)]
pub struct LiveTrial<'a> {
    /// The agent's name and properties.
    pub host: Host,
    /// The path of the agent's program.
    pub program: &'a Path,
    /// The path of Hookwright's own program, which the agent will call.
    pub hookwright: &'a Path,
    /// The search path for programs.
    pub path: &'a OsStr,
    /// The user's cache directory.
    pub cache: Option<&'a Path>,
    /// When the whole trial has to be over.
    pub deadline: Instant,
}

/// The result of a live trial.
#[derive(Debug)]
pub struct LiveReport {
    /// The behaviours that were tried, in the order of the table.
    pub rows: Vec<LiveRow>,
}

/// The result of one behaviour.
#[derive(Debug)]
pub struct LiveRow {
    /// The behaviour of the hook.
    pub behaviour: &'static Behaviour,
    /// The observation; none if the deadline came first.
    pub observation: Option<TrialObservation>,
}

/// The verdict on one behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialVerdict {
    /// The outcome is what the hook's author intended.
    Holds,
    /// The outcome is not what the hook's author intended.
    Fails,
    /// The agent never made the call, or there was no time left.
    Unknown,
}

impl LiveRow {
    /// Returns the verdict on this behaviour.
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
    /// Returns whether every behaviour holds.
    pub fn holds(&self) -> bool {
        self.rows.iter().all(|row| row.verdict() == TrialVerdict::Holds)
    }
}

/// Runs the live trial, and calls `done` for each behaviour as soon as its result is known.
///
/// The agent is started once, and again only for behaviours that it did not reach.
///
/// # Errors
/// Returns an error if the agent has no driver, or could not be run at all.
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
            // It makes no call at all, so another run would not either.
            let dead = left
                .drain(..)
                .map(|behaviour| LiveRow { behaviour, observation: Some(TrialObservation::without_call()) });
            rows.extend(dead.inspect(&mut done));
        }
    }
    rows.extend(left.into_iter().map(|behaviour| LiveRow { behaviour, observation: None }).inspect(done));
    Ok(LiveReport { rows })
}
