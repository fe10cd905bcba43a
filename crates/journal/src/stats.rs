//! Statistics on hooks: how often each ran, what it decided, how long it took.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use crate::index::{Index, RUN_HAS_FAILED, RUN_IS_GUARD, RUN_IS_SHADOW, Row};

/// Statistics on the events of a journal.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct JournalStats {
    /// The number of events.
    pub events: u64,
    /// The number of turns with an event; a session of an agent that names no turns counts as one.
    pub turns: u64,
    /// The events by verdict.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// The events by agent.
    pub agents: BTreeMap<String, u64>,
    /// The hooks, those that took the most time first.
    pub hooks: Vec<HookStats>,
}

/// Statistics on one hook.
#[derive(Clone, Debug, Default, Serialize, PartialEq)]
pub struct HookStats {
    /// The hook's name.
    pub hook: String,
    /// The number of runs.
    pub runs: u64,
    /// The runs that denied or stopped.
    pub denials: u64,
    /// The runs that asked the user.
    pub asks: u64,
    /// The runs that confined the call.
    pub confinements: u64,
    /// The runs that failed.
    pub failures: u64,
    /// The median duration in milliseconds.
    pub p50_ms: f32,
    /// The duration in milliseconds that one run in a hundred exceeds.
    pub p99_ms: f32,
    /// The time in milliseconds that it took in a turn, on average.
    pub ms_per_turn: f32,
    /// Whether its last run was that of a guard.
    pub guard: bool,
    /// Whether its last run was in shadow.
    pub shadow: bool,
    /// The one answer that it always gave, if it ran more than once.
    pub always: Option<String>,
}

#[derive(Default)]
struct HookRuns {
    durations: Vec<f32>,
    decisions: BTreeMap<String, u64>,
    failures: u64,
    flags: u32,
}

/// Collects statistics row by row.
#[derive(Default)]
pub(crate) struct StatsBuilder {
    stats: JournalStats,
    turns: HashSet<(String, String)>,
    hooks: BTreeMap<String, HookRuns>,
}

impl StatsBuilder {
    pub(crate) fn add(&mut self, index: &Index, row: &Row) {
        if index.word(row.kind) != "event" {
            return;
        }
        self.stats.events += 1;
        let verdict = crate::entry::Verdict::ALL.get(usize::from(row.verdict)).copied().unwrap_or_default();
        *self.stats.verdicts.entry(verdict.as_str()).or_default() += 1;
        *self.stats.agents.entry(index.word(row.agent).to_owned()).or_default() += 1;
        // Some agents do not name their turns: then the session counts as one.
        self.turns.insert((index.word(row.session).to_owned(), index.word(row.turn).to_owned()));
        for run in index.runs_of(row) {
            let name = index.word(run.hook);
            if !self.hooks.contains_key(name) {
                self.hooks.insert(name.to_owned(), HookRuns::default());
            }
            let Some(hook) = self.hooks.get_mut(name) else { continue };
            hook.durations.push(run.ms);
            *hook.decisions.entry(index.word(run.decision).to_owned()).or_default() += 1;
            hook.failures += u64::from(run.flags & RUN_HAS_FAILED != 0);
            hook.flags = run.flags;
        }
    }

    pub(crate) fn finish(mut self) -> JournalStats {
        let turns = self.turns.len();
        let hooks = self.hooks.into_iter().map(|(name, runs)| runs.finish(name, turns));
        self.stats.hooks = hooks.collect();
        self.stats.hooks.sort_by(|one, other| other.total_ms().total_cmp(&one.total_ms()));
        self.stats.turns = turns as u64;
        self.stats
    }
}

impl HookRuns {
    fn finish(mut self, hook: String, turns: usize) -> HookStats {
        self.durations.sort_by(f32::total_cmp);
        let count = |word: &str| self.decisions.get(word).copied().unwrap_or_default();
        let always = match self.decisions.keys().next() {
            Some(only) if self.decisions.len() == 1 && self.durations.len() > 1 => {
                Some(if only.is_empty() { "no objection".to_owned() } else { only.clone() })
            }
            _ => None,
        };
        let total: f32 = self.durations.iter().sum();
        HookStats {
            runs: self.durations.len() as u64,
            denials: count("deny") + count("stop"),
            asks: count("ask"),
            confinements: count("confine"),
            failures: self.failures,
            p50_ms: percentile(&self.durations, 50),
            p99_ms: percentile(&self.durations, 99),
            ms_per_turn: total / turns.max(1) as f32,
            guard: self.flags & RUN_IS_GUARD != 0,
            shadow: self.flags & RUN_IS_SHADOW != 0,
            always,
            hook,
        }
    }
}

impl HookStats {
    fn total_ms(&self) -> f32 {
        self.ms_per_turn
    }
}

/// Returns the value that this percentage of sorted values does not exceed.
fn percentile(sorted: &[f32], percent: usize) -> f32 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}
