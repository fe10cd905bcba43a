//! What `agents doctor --live` found last, per agent: a small file beside the log, so that `agents list` can say it.

use std::path::PathBuf;

use hookwright_bridge::Host;
use hookwright_settings::edit::set_value;
use hookwright_settings::{Paths, World, read_settings_file};
use serde_json::{Value, json};

/// One trial.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verified {
    /// When, as `2026-11-16T20:00:00Z`.
    pub(super) at: String,
    /// The agent's version.
    pub(super) version: Option<String>,
    /// How many behaviours held.
    pub(super) held: u64,
    /// Of how many.
    pub(super) of: u64,
}

fn file(world: &World) -> PathBuf {
    Paths::new(world).user_dir.join("hookwright").join("agents.json")
}

/// The last trial of each agent that had one. A record that can't be read is none.
pub(super) fn read(world: &World) -> Vec<(Host, Verified)> {
    let text = read_settings_file(&file(world)).ok().flatten().unwrap_or_default();
    let record: Value = serde_json::from_str(&text).unwrap_or_default();
    let entries = record.as_object().into_iter().flatten();
    entries
        .filter_map(|(name, one)| {
            let version = one["version"].as_str().map(str::to_owned);
            let at = one["at"].as_str()?.to_owned();
            let (held, of) = (one["held"].as_u64()?, one["of"].as_u64()?);
            Some((Host::from_name(name)?, Verified { at, version, held, of }))
        })
        .collect()
}

/// Remembers a trial.
pub(super) fn write(world: &World, host: Host, verified: &Verified) -> anyhow::Result<()> {
    let Verified { at, version, held, of } = verified;
    set_value(&file(world), &[host.name()], json!({"at": at, "version": version, "held": held, "of": of}))?;
    Ok(())
}
