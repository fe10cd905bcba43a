//! A rule: a hook without a process. It was asked because its `when` matches; its answer is what is written.
//!
//! A rule that only matches because something can't be told (a guard's) asks instead of denying: nobody knows that the
//! call does what the rule forbids, and with nobody to ask it does not run either.

use std::time::Duration;

use super::RunOutput;
use crate::answers::{Answer, CapturedStream, Decision, HookExit};
use crate::event::{EventKind, HookCapability};
use crate::hook::RuleAction;
use crate::matching::effect_filter::MatchReason;

pub(crate) fn run_rule(rule: &RuleAction, event: EventKind, because: &MatchReason) -> RunOutput {
    let unsure = match because {
        MatchReason::Uncertain { reason } => Some(reason.unwrap_or("not everything that this call does can be told")),
        MatchReason::Effect { .. } | MatchReason::Always => None,
    };
    let unsure = unsure.filter(|_| !rule.matches_uncertain);
    let decision = match rule.decision {
        Decision::Deny if unsure.is_some() && event.can(HookCapability::Ask) => Decision::Ask,
        Decision::Ask if !event.can(HookCapability::Ask) => Decision::Deny,
        decision => decision,
    };
    let reason = match unsure {
        Some(why) => format!("{} ({why})", rule.reason),
        None => rule.reason.clone(),
    };
    // What the call does may be nobody's to read: it stands where a hook's own words would.
    let why = match because {
        MatchReason::Effect { aspect, what } => format!("{aspect:?}: {what}\n").to_lowercase(),
        MatchReason::Uncertain { reason } => format!("{}\n", reason.unwrap_or("not everything can be told")),
        MatchReason::Always => String::new(),
    };
    let stderr = CapturedStream { bytes: why.len() as u64, text: why, truncated: false };
    RunOutput {
        exit: HookExit::Exited(0),
        stdout: CapturedStream::default(),
        stderr,
        duration: Duration::ZERO,
        has_survivors: false,
        answer: Some(Answer { decision: Some(decision), reason: Some(reason), ..Answer::default() }),
    }
}
