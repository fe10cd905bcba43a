//! What recorded events came to, and what the same events come to now.

use std::collections::BTreeMap;

use hookwright_journal::{EventEntry, HookEntry, Verdict};
use serde::Serialize;
use serde_json::{Value, json};

/// How much longer the median run must take, in milliseconds and as a factor, to be called slower.
const SLOWER_MS: f64 = 5.0;
const SLOWER_FACTOR: f64 = 2.0;

/// How a decision differs from the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DifferenceKind {
    /// Denied or stopped now, and not then.
    Stops,
    /// Denied or stopped then, and not now.
    NoLongerStops,
    /// The user is asked now, and was not then.
    Asks,
    /// The user was asked then, and is not now.
    NoLongerAsks,
    /// Another decision, by which the call runs in both cases or in none.
    DecidesOtherwise,
}

impl DifferenceKind {
    pub(super) const ALL: [DifferenceKind; 5] = [
        DifferenceKind::Stops,
        DifferenceKind::NoLongerStops,
        DifferenceKind::Asks,
        DifferenceKind::NoLongerAsks,
        DifferenceKind::DecidesOtherwise,
    ];

    /// Compares two verdicts; `None` if they are the same. An approval and no objection differ: with the one the user
    /// is not asked.
    pub(super) fn between(before: Verdict, after: Verdict) -> Option<DifferenceKind> {
        let stops = |verdict: Verdict| verdict >= Verdict::Deny;
        match (before, after) {
            (before, after) if before == after => None,
            (before, after) if stops(after) && !stops(before) => Some(DifferenceKind::Stops),
            (before, after) if stops(before) && !stops(after) => Some(DifferenceKind::NoLongerStops),
            (_, Verdict::Ask) => Some(DifferenceKind::Asks),
            (Verdict::Ask, _) => Some(DifferenceKind::NoLongerAsks),
            _ => Some(DifferenceKind::DecidesOtherwise),
        }
    }

    /// The key in JSON.
    pub(super) fn key(self) -> &'static str {
        match self {
            DifferenceKind::Stops => "stops",
            DifferenceKind::NoLongerStops => "no_longer_stops",
            DifferenceKind::Asks => "asks",
            DifferenceKind::NoLongerAsks => "no_longer_asks",
            DifferenceKind::DecidesOtherwise => "decides_otherwise",
        }
    }

    /// The sentence before the events of this kind.
    pub(super) fn sentence(self, count: usize, of: u64) -> String {
        match self {
            DifferenceKind::Stops => format!("would have stopped {count} of {of}"),
            DifferenceKind::NoLongerStops => format!("no longer stops {count}"),
            DifferenceKind::Asks => format!("would ask about {count} more"),
            DifferenceKind::NoLongerAsks => format!("no longer asks about {count}"),
            DifferenceKind::DecidesOtherwise => format!("decides otherwise about {count}"),
        }
    }
}

/// An event that hooks decide otherwise about now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Difference {
    pub(super) line: u64,
    pub(super) time: String,
    pub(super) agent: String,
    pub(super) project: String,
    pub(super) session: String,
    pub(super) event: String,
    /// What the event was about, in a few words.
    pub(super) about: String,
    pub(super) before: Verdict,
    pub(super) after: Verdict,
    /// The hooks or the policy that decide now, or the hooks that decided then.
    pub(super) by: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(skip)]
    pub(super) kind: DifferenceKind,
}

/// One run of a hook, then or now.
#[derive(Clone, Debug)]
pub(super) struct HookRunFacts {
    pub(super) hook: String,
    pub(super) decision: Verdict,
    pub(super) error: Option<String>,
    pub(super) failed: bool,
    pub(super) ms: f64,
}

impl HookRunFacts {
    pub(super) fn recorded(entry: &HookEntry) -> HookRunFacts {
        HookRunFacts {
            hook: entry.hook.clone(),
            decision: entry.decision.as_deref().and_then(Verdict::from_word).unwrap_or_default(),
            error: None,
            failed: entry.failure.is_some(),
            ms: entry.ms,
        }
    }
}

/// The runs of one hook, then and now.
#[derive(Clone, Debug, Default)]
pub(super) struct HookComparison {
    then: RunTotals,
    now: RunTotals,
    last_error: Option<String>,
}

#[derive(Clone, Debug, Default)]
struct RunTotals {
    runs: u64,
    stops: u64,
    asks: u64,
    failures: u64,
    ms: Vec<f64>,
}

impl RunTotals {
    fn add(&mut self, run: &HookRunFacts) {
        self.runs += 1;
        self.stops += u64::from(run.decision >= Verdict::Deny);
        self.asks += u64::from(run.decision == Verdict::Ask);
        self.failures += u64::from(run.failed);
        self.ms.push(run.ms);
    }

    fn merge(&mut self, other: RunTotals) {
        self.runs += other.runs;
        self.stops += other.stops;
        self.asks += other.asks;
        self.failures += other.failures;
        self.ms.extend(other.ms);
    }

    fn median(&self) -> f64 {
        let mut times = self.ms.clone();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or_default()
    }

    fn to_json(&self) -> Value {
        json!({"runs": self.runs, "stops": self.stops, "asks": self.asks, "failures": self.failures, "median_ms": self.median()})
    }
}

impl HookComparison {
    /// Whether the hook fails more often than it did.
    pub(super) fn fails_more(&self) -> bool {
        self.now.failures > self.then.failures
    }

    /// The medians then and now, in milliseconds, if the hook takes much longer now.
    pub(super) fn slower(&self) -> Option<(f64, f64)> {
        let (then, now) = (self.then.median(), self.now.median());
        (self.then.runs > 0 && now > then * SLOWER_FACTOR && now - then > SLOWER_MS).then_some((then, now))
    }

    pub(super) fn failure_text(&self) -> String {
        let error = self.last_error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        format!(
            "fails in {} of {} runs, then in {} of {}{error}",
            self.now.failures, self.now.runs, self.then.failures, self.then.runs
        )
    }

    pub(super) fn to_json(&self, name: &str) -> Value {
        json!({"hook": name, "then": self.then.to_json(), "now": self.now.to_json(),
            "fails_more": self.fails_more(), "slower": self.slower().is_some(), "error": self.last_error})
    }
}

/// The result of a replay.
#[derive(Clone, Debug, Default)]
pub(super) struct ReplayReport {
    /// The events that were selected.
    pub(super) events: u64,
    /// The events that hooks were asked about again.
    pub(super) replayed: u64,
    pub(super) differences: Vec<Difference>,
    pub(super) hooks: BTreeMap<String, HookComparison>,
    /// How many events were not replayed, by the reason.
    pub(super) not_replayed: BTreeMap<String, u64>,
    /// The hooks that were not asked, each with the reason.
    pub(super) skipped_hooks: BTreeMap<String, String>,
    /// The replayed events with a secret that was removed.
    pub(super) redacted: u64,
    /// The hooks that were asked at all.
    pub(super) asked_hooks: u64,
    /// The most policy rules that a project has.
    pub(super) policy_rules: u64,
}

impl ReplayReport {
    pub(super) fn count_not_replayed(&mut self, why: impl Into<String>) {
        *self.not_replayed.entry(why.into()).or_default() += 1;
    }

    /// Adds the runs of one event.
    pub(super) fn add_runs(&mut self, then: &[HookRunFacts], now: &[HookRunFacts]) {
        for run in then {
            self.hooks.entry(run.hook.clone()).or_default().then.add(run);
        }
        for run in now {
            let hook = self.hooks.entry(run.hook.clone()).or_default();
            hook.now.add(run);
            if run.failed {
                hook.last_error.clone_from(&run.error);
            }
        }
    }

    pub(super) fn merge(&mut self, other: ReplayReport) {
        self.replayed += other.replayed;
        self.redacted += other.redacted;
        self.differences.extend(other.differences);
        for (name, hook) in other.hooks {
            let own = self.hooks.entry(name).or_default();
            own.then.merge(hook.then);
            own.now.merge(hook.now);
            own.last_error = hook.last_error.or(own.last_error.take());
        }
        for (why, count) in other.not_replayed {
            *self.not_replayed.entry(why).or_default() += count;
        }
        self.skipped_hooks.extend(other.skipped_hooks);
    }

    /// Whether hooks decide otherwise, or fail where they did not.
    pub(super) fn is_different(&self) -> bool {
        !self.differences.is_empty() || self.hooks.values().any(HookComparison::fails_more)
    }

    pub(super) fn differences_of(&self, kind: DifferenceKind) -> Vec<&Difference> {
        self.differences.iter().filter(|one| one.kind == kind).collect()
    }

    pub(super) fn to_json(&self) -> Value {
        let mut value = json!({
            "events": self.events,
            "replayed": self.replayed,
            "different": self.is_different(),
            "hooks": self.hooks.iter().map(|(name, hook)| hook.to_json(name)).collect::<Vec<_>>(),
            "not_replayed": self.not_replayed,
            "skipped_hooks": self.skipped_hooks,
            "redacted": self.redacted,
        });
        for kind in DifferenceKind::ALL {
            value[kind.key()] = json!(self.differences_of(kind));
        }
        value
    }
}

/// What one hook, or the hooks together, decided about a recorded event. A hook in shadow counts if it alone is meant.
pub(super) fn recorded_verdict(event: &EventEntry, only_hook: Option<&str>) -> Verdict {
    let Some(name) = only_hook else { return event.verdict };
    let decisions = event.hooks.iter().filter(|hook| hook.hook == name);
    decisions.map(|hook| HookRunFacts::recorded(hook).decision).max().map_or(Verdict::Pass, without_approval)
}

/// An allow of a single hook means no objection.
pub(super) fn without_approval(verdict: Verdict) -> Verdict {
    if verdict == Verdict::Allow { Verdict::Pass } else { verdict }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_verdicts_is_compared() {
        for before in Verdict::ALL {
            for after in Verdict::ALL {
                let kind = DifferenceKind::between(before, after);
                assert_eq!(kind.is_none(), before == after, "{before:?} {after:?}");
                assert_eq!(kind == Some(DifferenceKind::Stops), before < Verdict::Deny && after >= Verdict::Deny);
                assert_eq!(
                    kind == Some(DifferenceKind::NoLongerStops),
                    before >= Verdict::Deny && after < Verdict::Deny
                );
            }
        }
        assert_eq!(DifferenceKind::between(Verdict::Pass, Verdict::Ask), Some(DifferenceKind::Asks));
        assert_eq!(DifferenceKind::between(Verdict::Ask, Verdict::Confine), Some(DifferenceKind::NoLongerAsks));
        assert_eq!(DifferenceKind::between(Verdict::Deny, Verdict::Stop), Some(DifferenceKind::DecidesOtherwise));
        assert_eq!(DifferenceKind::between(Verdict::Pass, Verdict::Allow), Some(DifferenceKind::DecidesOtherwise));
    }

    fn run(failed: bool, ms: f64) -> HookRunFacts {
        HookRunFacts { hook: "h".to_owned(), decision: Verdict::Pass, error: Some("e".to_owned()), failed, ms }
    }

    #[test]
    fn failures_are_a_difference_and_time_is_not() {
        let mut report = ReplayReport::default();
        report.add_runs(&[run(false, 1.0)], &[run(false, 50.0)]);
        assert!(!report.is_different());
        assert_eq!(report.hooks["h"].slower(), Some((1.0, 50.0)));
        let mut worse = ReplayReport::default();
        worse.add_runs(&[run(false, 1.0)], &[run(true, 1.0)]);
        report.merge(worse);
        assert!(report.is_different());
        assert_eq!(report.hooks["h"].failure_text(), "fails in 1 of 2 runs, then in 0 of 2: e");
        let mut same = ReplayReport::default();
        same.add_runs(&[run(true, 1.0)], &[run(true, 1.0)]);
        assert!(!same.is_different(), "it failed then, too");
    }

    #[test]
    fn one_hook_is_compared_with_its_own_record() {
        let hook = |name: &str, decision: &str, mode: Option<&str>| HookEntry {
            hook: name.to_owned(),
            decision: Some(decision.to_owned()),
            mode: mode.map(str::to_owned),
            ..HookEntry::default()
        };
        let event = EventEntry {
            verdict: Verdict::Deny,
            hooks: vec![hook("a", "deny", None), hook("b", "allow", None), hook("c", "ask", Some("shadow"))],
            ..EventEntry::default()
        };
        assert_eq!(recorded_verdict(&event, None), Verdict::Deny);
        assert_eq!(recorded_verdict(&event, Some("a")), Verdict::Deny);
        assert_eq!(recorded_verdict(&event, Some("b")), Verdict::Pass);
        assert_eq!(recorded_verdict(&event, Some("c")), Verdict::Ask);
        assert_eq!(recorded_verdict(&event, Some("new")), Verdict::Pass);
    }
}
