//! Compares the calls in agents' transcripts with the calls that the journal was asked about.
//!
//! Everything here is pure: the caller reads transcripts and journal, and passes the time. A call counts as covered only
//! if a line of the journal is about it; in doubt it does not.

mod journal;
mod reason;
mod report;

use jiff::{SignedDuration, Timestamp};

pub use journal::{JournalCall, JournalIndex, JournalVerdict};
pub use reason::UncoveredReason;
pub use report::{AgentCoverage, CallFinding, CoverageReport, MAX_LISTED_FINDINGS};

use crate::dialect::ToolRecognition;
use crate::tools::translate_call;
use crate::transcripts::{TranscriptCall, TranscriptItem, TranscriptResult};

/// How long a call without a result may still be under way.
const PENDING_TIME: SignedDuration = SignedDuration::from_mins(10);

/// Compares calls with the journal at a time.
pub fn coverage(
    items: impl IntoIterator<Item = TranscriptItem>,
    journal: &mut JournalIndex,
    now: Timestamp,
) -> CoverageReport {
    let mut report = CoverageReport::new(journal.records_from(), journal.is_empty());
    for item in items {
        match item {
            TranscriptItem::Call(call) => add_call(&mut report, journal, *call, now),
            TranscriptItem::Problem(problem) => report.add_problem(problem),
        }
    }
    report
}

fn add_call(report: &mut CoverageReport, journal: &mut JournalIndex, call: TranscriptCall, now: Timestamp) {
    let is_harmless =
        translate_call(call.agent, &call.tool, &serde_json::Map::new()).recognition == ToolRecognition::Harmless;
    if is_harmless {
        return report.agent(call.agent).harmless += 1;
    }
    report.add_session(&call);
    let matching = journal.claim(&call);
    let counts = report.agent(call.agent);
    counts.seen += 1;
    if let Some(line) = matching {
        counts.covered += 1;
        if line.verdict.is_refusal() && call.result == TranscriptResult::Ran {
            report.add_overruled(call);
        }
        return;
    }
    let is_recent = |time: Timestamp| now.duration_since(time).abs() < PENDING_TIME;
    match call.result {
        // The agent refused it before it asked its hooks, so that nothing happened unseen.
        TranscriptResult::Refused => counts.refused += 1,
        TranscriptResult::Unknown if call.finished.is_none() && call.time.is_some_and(is_recent) => counts.pending += 1,
        TranscriptResult::Ran | TranscriptResult::Unknown => match reason::uncovered_reason(journal, &call) {
            UncoveredReason::BeforeJournal => counts.before_journal += 1,
            reason => report.add_uncovered(call, reason),
        },
    }
}

#[cfg(test)]
mod tests;
