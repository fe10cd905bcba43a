//! A rule: a hook without a process. It was asked because its `when` matches; its answer is what is written.
//!
//! A rule that only matches because something can't be told (a guard's) asks instead of denying: nobody knows that the
//! call does what the rule forbids, and with nobody to ask it does not run either.

use std::time::Duration;

use super::RunEnd;
use crate::answer::{Answer, Captured, Decision, End};
use crate::event::{EventKind, Power};
use crate::hook::RuleAction;
use crate::when::Because;

pub(crate) fn run(rule: &RuleAction, event: EventKind, because: &Because) -> RunEnd {
    let unsure = match because {
        Because::Unsure { reason } => Some(reason.unwrap_or("not everything that this call does can be told")),
        Because::Does { .. } | Because::Always => None,
    };
    let unsure = unsure.filter(|_| !rule.wants_unsure);
    let decision = match rule.decision {
        Decision::Deny if unsure.is_some() && event.can(Power::Ask) => Decision::Ask,
        Decision::Ask if !event.can(Power::Ask) => Decision::Deny,
        decision => decision,
    };
    let reason = match unsure {
        Some(why) => format!("{} ({why})", rule.reason),
        None => rule.reason.clone(),
    };
    // What the call does may be nobody's to read: it stands where a hook's own words would.
    let why = match because {
        Because::Does { aspect, what } => format!("{aspect:?}: {what}\n").to_lowercase(),
        Because::Unsure { reason } => format!("{}\n", reason.unwrap_or("not everything can be told")),
        Because::Always => String::new(),
    };
    let stderr = Captured { bytes: why.len() as u64, text: why, truncated: false };
    RunEnd {
        end: End::Exited(0),
        stdout: Captured::default(),
        stderr,
        duration: Duration::ZERO,
        left_behind: false,
        answer: Some(Answer { decision: Some(decision), reason: Some(reason), ..Answer::default() }),
    }
}
