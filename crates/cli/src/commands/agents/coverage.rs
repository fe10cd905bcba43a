//! `agents coverage`: compares the calls in agents' transcripts with the calls that Hookwright was asked about, and lists
//! those that no hook saw, and those that ran although a hook had refused them.

mod journal_calls;
mod output;

use hookwright_bridge::Host;
use hookwright_bridge::coverage::{CoverageReport, coverage};
use hookwright_bridge::transcripts::{TRANSCRIPT_HOSTS, TranscriptLocation, TranscriptScan, transcript_location};
use hookwright_settings::ProcessEnv;
use jiff::{SignedDuration, Timestamp};

use crate::args::AgentCoverageArgs;
use crate::exit;

/// How long before a call the journal's line about it may have been written.
const JOURNAL_MARGIN: SignedDuration = SignedDuration::from_hours(1);

/// A comparison, and where the transcripts were looked for.
pub(super) struct CoverageRun {
    pub(super) report: CoverageReport,
    pub(super) since: Timestamp,
    locations: Vec<TranscriptLocation>,
    /// The agents that were asked for and whose transcripts can't be read.
    unsupported: Vec<Host>,
}

impl CoverageRun {
    /// Compares the transcripts of these agents, or of all, with the journal.
    ///
    /// `agents doctor` calls it for the last day: `report.is_clean()` says whether all is well.
    pub(super) fn compare(
        hosts: &[Host],
        world: &ProcessEnv,
        since: Timestamp,
        now: Timestamp,
    ) -> anyhow::Result<CoverageRun> {
        let hosts = if hosts.is_empty() { &TRANSCRIPT_HOSTS[..] } else { hosts };
        let (supported, unsupported): (Vec<Host>, Vec<Host>) =
            hosts.iter().partition(|host| TRANSCRIPT_HOSTS.contains(host));
        let locations: Vec<_> = supported.iter().filter_map(|host| transcript_location(*host, world)).collect();
        let from = since.checked_sub(JOURNAL_MARGIN).unwrap_or(since);
        let mut journal = journal_calls::journal_calls(world, from)?;
        let items = locations.iter().flat_map(|location| TranscriptScan::new(location, Some(since)));
        let report = coverage(items, &mut journal, now);
        Ok(CoverageRun { report, since, locations, unsupported })
    }

    /// Returns whether every call was asked about, and everything could be read.
    fn is_clean(&self) -> bool {
        self.report.is_clean() && self.unsupported.is_empty()
    }
}

pub(super) fn run(wanted: &AgentCoverageArgs, world: &ProcessEnv) -> anyhow::Result<u8> {
    let now = Timestamp::now();
    let run = CoverageRun::compare(&wanted.hosts(), world, wanted.since, now)?;
    match wanted.json {
        true => crate::output::print_json(&output::report_json(&run))?,
        false => output::print_report(&run)?,
    }
    Ok(if run.is_clean() { exit::OK } else { exit::ERROR })
}
