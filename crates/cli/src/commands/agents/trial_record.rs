//! The last result of `agents doctor --live` for each agent, in a small file in the `hookwright` folder of the user's
//! settings, for `agents list`.

use std::path::{Path, PathBuf};

use hookwright_bridge::Host;
use hookwright_settings::edit::set_value;
use hookwright_settings::{ConfigPaths, ProcessEnv, read_settings_file};
use serde_json::{Value, json};

/// The result of one live trial.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TrialRecord {
    /// The time, as `2026-11-16T20:00:00Z`.
    pub(super) time: String,
    pub(super) version: Option<String>,
    /// How many behaviours held.
    pub(super) held: u64,
    /// How many behaviours did not hold; the others could not be tried.
    pub(super) failed: u64,
    /// How many behaviours were tried.
    pub(super) total: u64,
    /// The result for the user's own guards in one project; none if there was no guard.
    pub(super) guards: Option<GuardTrialRecord>,
}

/// The result of a live trial of the user's own guards.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GuardTrialRecord {
    pub(super) project: PathBuf,
    /// A digest of the guards' declarations.
    pub(super) digest: String,
    /// How many guards refused their call.
    pub(super) held: u64,
    /// How many guards did not refuse their call.
    pub(super) failed: u64,
    pub(super) total: u64,
    /// The guards of which it is not known whether they would have refused a call.
    pub(super) untried: Vec<String>,
}

impl TrialRecord {
    /// Returns whether every behaviour held.
    pub(super) fn holds(&self) -> bool {
        self.total > 0 && self.held == self.total
    }

    /// Returns the day of the trial.
    pub(super) fn day(&self) -> &str {
        self.time.split('T').next().unwrap_or_default()
    }
}

pub(super) fn record_path(world: &ProcessEnv) -> PathBuf {
    ConfigPaths::new(world).user_dir.join("hookwright").join("agents.json")
}

/// Returns the last trial of each agent that had one, with the result for the guards of this project. A record that
/// can't be read counts as none.
pub(super) fn read(world: &ProcessEnv, project: &Path) -> Vec<(Host, TrialRecord)> {
    let text = read_settings_file(&record_path(world)).ok().flatten().unwrap_or_default();
    let record: Value = serde_json::from_str(&text).unwrap_or_default();
    let entries = record.as_object().into_iter().flatten();
    entries
        .filter_map(|(name, one)| {
            let version = one["version"].as_str().map(str::to_owned);
            let at = one["at"].as_str()?.to_owned();
            let (held, of) = (one["held"].as_u64()?, one["of"].as_u64()?);
            // Records of older versions do not say how many failed.
            let failed = one["failed"].as_u64().unwrap_or(of.saturating_sub(held));
            let guards = read_guards(&one["guards"]).filter(|guards| guards.project == project);
            Some((Host::from_name(name)?, TrialRecord { time: at, version, held, failed, total: of, guards }))
        })
        .collect()
}

/// Returns the last trial of one agent, if it had one.
pub(super) fn read_one(world: &ProcessEnv, project: &Path, host: Host) -> Option<TrialRecord> {
    read(world, project).into_iter().find(|(known, _)| *known == host).map(|(_, trial)| trial)
}

fn read_guards(value: &Value) -> Option<GuardTrialRecord> {
    Some(GuardTrialRecord {
        project: PathBuf::from(value["project"].as_str()?),
        digest: value["digest"].as_str()?.to_owned(),
        held: value["held"].as_u64()?,
        failed: value["failed"].as_u64()?,
        total: value["of"].as_u64()?,
        untried: value["untried"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|name| Some(name.as_str()?.to_owned()))
            .collect(),
    })
}

/// Stores the result of a trial.
pub(super) fn write(world: &ProcessEnv, host: Host, trial: &TrialRecord) -> anyhow::Result<()> {
    set_value(&record_path(world), &[host.name()], trial_json(trial))?;
    Ok(())
}

/// Returns a trial as it is stored and printed.
pub(super) fn trial_json(trial: &TrialRecord) -> Value {
    let TrialRecord { time, version, held, failed, total, guards } = trial;
    let guards = guards.as_ref().map(|one| {
        json!({"project": one.project, "digest": one.digest, "held": one.held, "failed": one.failed, "of": one.total, "untried": one.untried})
    });
    json!({"at": time, "version": version, "held": held, "failed": failed, "of": total, "guards": guards})
}
