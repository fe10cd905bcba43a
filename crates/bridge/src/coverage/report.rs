//! The result of a comparison: counts for each agent, and the calls that matter.

use std::collections::HashSet;

use jiff::Timestamp;

use super::UncoveredReason;
use crate::host::Host;
use crate::transcripts::{TranscriptCall, TranscriptProblem};

/// The number of calls that a report lists of each kind. All are counted.
pub const MAX_LISTED_FINDINGS: usize = 2_000;

/// What transcripts and journal say of each other.
#[derive(Debug, Default)]
pub struct CoverageReport {
    /// The counts of each agent with a call or a problem, in the order in which they were read.
    pub agents: Vec<AgentCoverage>,
    /// Calls that the journal refused and that ran: the guard was overruled.
    pub overruled: Vec<TranscriptCall>,
    /// Calls that the journal was not asked about.
    pub uncovered: Vec<CallFinding>,
    /// What could not be read, and may hold calls.
    pub problems: Vec<TranscriptProblem>,
    /// The time of the journal's first line.
    pub records_from: Option<Timestamp>,
    /// Whether the journal has no call at all, so that nothing can be compared.
    pub is_journal_empty: bool,
    sessions: HashSet<(Host, String)>,
}

/// The counts of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentCoverage {
    /// The agent.
    pub agent: Host,
    /// Sessions with a call.
    pub sessions: usize,
    /// Calls in the transcripts; the other counts but `harmless` are parts of it.
    pub seen: usize,
    /// Calls that the journal was asked about.
    pub covered: usize,
    /// Calls that the journal was not asked about.
    pub uncovered: usize,
    /// Covered calls that the journal refused and that ran.
    pub overruled: usize,
    /// Calls that the agent refused before it asked its hooks.
    pub refused: usize,
    /// Calls without a result that may still be under way.
    pub pending: usize,
    /// Calls from before the journal's first line.
    pub before_journal: usize,
    /// Calls of tools without an effect on files or commands, which are not compared.
    pub harmless: usize,
    /// Files and lines that could not be read.
    pub problems: usize,
}

/// A call that the journal was not asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFinding {
    /// The call.
    pub call: TranscriptCall,
    /// The likely reason.
    pub reason: UncoveredReason,
}

impl CoverageReport {
    pub(super) fn new(records_from: Option<Timestamp>, is_journal_empty: bool) -> CoverageReport {
        CoverageReport { records_from, is_journal_empty, ..CoverageReport::default() }
    }

    /// Returns whether every call that was seen was asked about, no refusal was overruled, and everything was read.
    pub fn is_clean(&self) -> bool {
        let is_clean = |agent: &AgentCoverage| agent.uncovered + agent.overruled + agent.problems == 0;
        let has_calls = self.agents.iter().any(|agent| agent.seen > 0);
        self.agents.iter().all(is_clean) && !(self.is_journal_empty && has_calls)
    }

    /// Returns the counts of an agent, which are zero at first.
    pub(super) fn agent(&mut self, agent: Host) -> &mut AgentCoverage {
        let at = self.agents.iter().position(|counts| counts.agent == agent).unwrap_or_else(|| {
            self.agents.push(AgentCoverage::new(agent));
            self.agents.len() - 1
        });
        &mut self.agents[at]
    }

    pub(super) fn add_session(&mut self, call: &TranscriptCall) {
        if self.sessions.insert((call.agent, call.session.clone())) {
            self.agent(call.agent).sessions += 1;
        }
    }

    pub(super) fn add_overruled(&mut self, call: TranscriptCall) {
        self.agent(call.agent).overruled += 1;
        if self.overruled.len() < MAX_LISTED_FINDINGS {
            self.overruled.push(call);
        }
    }

    pub(super) fn add_uncovered(&mut self, call: TranscriptCall, reason: UncoveredReason) {
        self.agent(call.agent).uncovered += 1;
        if self.uncovered.len() < MAX_LISTED_FINDINGS {
            self.uncovered.push(CallFinding { call, reason });
        }
    }

    pub(super) fn add_problem(&mut self, problem: TranscriptProblem) {
        self.agent(problem.agent).problems += 1;
        if self.problems.len() < MAX_LISTED_FINDINGS {
            self.problems.push(problem);
        }
    }
}

impl AgentCoverage {
    fn new(agent: Host) -> AgentCoverage {
        AgentCoverage {
            agent,
            sessions: 0,
            seen: 0,
            covered: 0,
            uncovered: 0,
            overruled: 0,
            refused: 0,
            pending: 0,
            before_journal: 0,
            harmless: 0,
            problems: 0,
        }
    }
}
