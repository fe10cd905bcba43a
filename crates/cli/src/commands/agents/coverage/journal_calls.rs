//! The calls that Hookwright was asked about, as they were recorded.

use std::io::{BufRead, BufReader};

use anyhow::Context;
use hookwright_bridge::Host;
use hookwright_bridge::coverage::{JournalCall, JournalIndex, JournalVerdict};
use hookwright_hooks::EventKind;
use hookwright_settings::{ConfigPaths, ProcessEnv};
use jiff::Timestamp;
use serde_json::Value;

use crate::log::file::rotated_files;

/// Returns the recorded calls from a time on, with the time of the first record.
///
/// They come from the bridge's trace, which has a line for every event and no arguments.
pub(super) fn journal_calls(world: &ProcessEnv, from: Timestamp) -> anyhow::Result<JournalIndex> {
    let (mut calls, mut records_from) = (Vec::new(), None);
    for file in rotated_files(&ConfigPaths::new(world).bridge_trace) {
        let reader = match hookwright_disk::open_regular(&file, hookwright_disk::SymlinkPolicy::Follow) {
            Ok((file, _)) => BufReader::new(file),
            Err(hookwright_disk::ReadError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error).with_context(|| format!("{} can't be read", file.display())),
        };
        for line in reader.split(b'\n') {
            let line = line.with_context(|| format!("{} can't be read", file.display()))?;
            // A full disk cuts lines off; the call of such a line counts as not asked about.
            let Ok(line) = serde_json::from_slice::<Value>(&line) else { continue };
            let Some(time) = line["time"].as_str().and_then(|time| time.parse::<Timestamp>().ok()) else { continue };
            records_from = Some(records_from.map_or(time, |earliest: Timestamp| earliest.min(time)));
            if time >= from {
                calls.extend(journal_call(&line, time));
            }
        }
    }
    Ok(JournalIndex::new(calls, records_from))
}

/// Returns the call of a line about an event before a tool, unless another entry decided about it.
fn journal_call(line: &Value, time: Timestamp) -> Option<JournalCall> {
    let text = |key: &str| line[key].as_str().map(str::to_owned);
    if line["as"] != EventKind::BeforeTool.name() || line.get("stood_down_for").is_some() {
        return None;
    }
    Some(JournalCall {
        agent: Host::from_name(line["host"].as_str()?)?,
        session: text("session_id")?,
        call_ids: ["tool_use_id", "tool_call_id"].iter().filter_map(|key| text(key)).collect(),
        tool: text("tool")?,
        arguments: None,
        time,
        verdict: JournalVerdict::from_name(line["verdict"].as_str()?)?,
    })
}
