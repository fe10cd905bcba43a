//! The calls that Hookwright was asked about, as the journal has them.

use hookwright_bridge::Host;
use hookwright_bridge::coverage::{JournalCall, JournalIndex, JournalVerdict};
use hookwright_hooks::EventKind;
use hookwright_journal::{EventEntry, JournalLine, Query, Reader};
use hookwright_settings::{ConfigPaths, ProcessEnv};
use jiff::Timestamp;

/// Returns the recorded calls from a time on, with the time of the first record.
pub(super) fn journal_calls(world: &ProcessEnv, from: Timestamp) -> anyhow::Result<JournalIndex> {
    let reader = Reader::new(&ConfigPaths::new(world).journal);
    let records_from = reader.first_line()?.and_then(|line| line.time.parse().ok());
    let mut query = Query::parse(["kind=event", "event=BeforeTool"], Timestamp::now())?;
    query.add(&format!("since={from}"), Timestamp::now())?;
    let mut calls = Vec::new();
    reader.for_each(&query, |_, line| {
        calls.extend(line.event().and_then(|event| journal_call(&line, event)));
        true
    })?;
    Ok(JournalIndex::new(calls, records_from))
}

/// Returns the call of a line about an event before a tool, unless another entry decided about it. A call that hooks see
/// in several parts counts once.
fn journal_call(line: &JournalLine, event: &EventEntry) -> Option<JournalCall> {
    if event.event != EventKind::BeforeTool.name() || event.stood_down_for.is_some() || event.part > 0 {
        return None;
    }
    let ids = ["tool_use_id", "tool_call_id"].into_iter().filter_map(|key| event.ids.get(key));
    let mut call_ids: Vec<String> = ids.chain(&event.call).cloned().collect();
    call_ids.dedup();
    Some(JournalCall {
        agent: Host::from_name(&event.agent)?,
        session: event.session.clone(),
        call_ids,
        tool: event.host_tool.clone()?,
        // The journal has arguments without their secrets, whose digest would be another one.
        arguments: None,
        time: line.time.parse().ok()?,
        verdict: JournalVerdict::from_name(&event.told.as_ref()?.verdict)?,
    })
}
