//! Rules: hooks with a fixed answer and no process. A rule runs because its `when` matches.
//!
//! A rule that matches only because the effects of a call are uncertain asks instead of denying, if the event supports
//! that: it is not known that the call does what the rule forbids. If there is no user to ask, the call does not run
//! either.

use std::time::Duration;

use super::RunOutput;
use crate::answers::{Answer, CapturedStream, Decision, HookExit};
use crate::event::{EventKind, HookCapability};
use crate::hook::RuleAction;
use crate::matching::effect_filter::MatchReason;

pub(crate) fn run_rule(rule: &RuleAction, event: EventKind, match_reason: &MatchReason) -> RunOutput {
    let unsure = match match_reason {
        MatchReason::Uncertain { reason } => Some(uncertainty(reason.as_deref())),
        MatchReason::Effect { .. } | MatchReason::Always => None,
    };
    let unsure = unsure.filter(|_| !rule.matches_uncertain);
    let decision = match rule.decision {
        Decision::Deny if unsure.is_some() && event.can(HookCapability::Ask) => Decision::Ask,
        Decision::Ask if !event.can(HookCapability::Ask) => Decision::Deny,
        decision => decision,
    };
    if rule.decision == Decision::Allow {
        return approval();
    }
    let reason = match unsure {
        Some(why) => format!("{} ({why})", rule.reason),
        None => rule.reason.clone(),
    };
    // The reason may quote the call, which may be secret: it goes where a hook's own output goes.
    let why = match match_reason {
        MatchReason::Effect { aspect, what } => format!("{aspect:?}: {what}\n").to_lowercase(),
        MatchReason::Uncertain { reason } => format!("{}\n", uncertainty(reason.as_deref())),
        MatchReason::Always => String::new(),
    };
    rule_output(why, Answer { decision: Some(decision), reason: Some(reason), ..Answer::default() })
}

/// The answer of a rule that allows. It has no reason, because reasons are joined and explain a deny or an ask.
fn approval() -> RunOutput {
    rule_output("every effect is known and within `only`\n".to_owned(), Answer::allow())
}

fn rule_output(why: String, answer: Answer) -> RunOutput {
    let stderr = CapturedStream { bytes: why.len() as u64, text: why, truncated: false };
    RunOutput {
        exit: HookExit::Exited(0),
        stdout: CapturedStream::default(),
        stderr,
        duration: Duration::ZERO,
        has_survivors: false,
        answer: Some(answer),
    }
}

fn uncertainty(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("not all effects of this call are known: {reason}"),
        None => "not all effects of this call are known".to_owned(),
    }
}
