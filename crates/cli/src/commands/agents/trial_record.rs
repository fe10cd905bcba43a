//! The last result of `agents doctor --live` for each agent, in a small file in the `hookwright` folder of the user's
//! settings, for `agents list`.

use std::path::PathBuf;

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
    /// How many behaviours were tried.
    pub(super) total: u64,
}

fn record_path(world: &ProcessEnv) -> PathBuf {
    ConfigPaths::new(world).user_dir.join("hookwright").join("agents.json")
}

/// Returns the last trial of each agent that had one. A record that can't be read counts as none.
pub(super) fn read(world: &ProcessEnv) -> Vec<(Host, TrialRecord)> {
    let text = read_settings_file(&record_path(world)).ok().flatten().unwrap_or_default();
    let record: Value = serde_json::from_str(&text).unwrap_or_default();
    let entries = record.as_object().into_iter().flatten();
    entries
        .filter_map(|(name, one)| {
            let version = one["version"].as_str().map(str::to_owned);
            let at = one["at"].as_str()?.to_owned();
            let (held, of) = (one["held"].as_u64()?, one["of"].as_u64()?);
            Some((Host::from_name(name)?, TrialRecord { time: at, version, held, total: of }))
        })
        .collect()
}

/// Stores the result of a trial.
pub(super) fn write(world: &ProcessEnv, host: Host, verified: &TrialRecord) -> anyhow::Result<()> {
    let TrialRecord { time: at, version, held, total: of } = verified;
    set_value(&record_path(world), &[host.name()], json!({"at": at, "version": version, "held": held, "of": of}))?;
    Ok(())
}
