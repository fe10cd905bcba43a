//! Rules: hooks with a fixed answer and no process. A rule runs because its `when` matches. If it matches only because
//! the effects of a call are uncertain, `dispatch/doubt_policy.rs` replaces its decision.

use std::time::Duration;

use super::RunOutput;
use crate::answers::{Answer, CapturedStream, Decision, HookExit};
use crate::event::{EventKind, HookCapability};
use crate::hook::RuleAction;
use crate::matching::effect_filter::MatchReason;

pub(crate) fn run_rule(rule: &RuleAction, event: EventKind, match_reason: &MatchReason) -> RunOutput {
    let decision = match rule.decision {
        Decision::Ask if !event.can(HookCapability::Ask) => Decision::Deny,
        decision => decision,
    };
    if rule.decision == Decision::Allow {
        return approval();
    }
    // The reason may quote the call, which may be secret: it goes where a hook's own output goes.
    let why = match match_reason {
        MatchReason::Effect { aspect, what } => format!("{aspect:?}: {what}\n").to_lowercase(),
        MatchReason::Uncertain { reason } => {
            let reason = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("not all effects of this call are known{reason}\n")
        }
        MatchReason::Always => String::new(),
    };
    let confinement = rule.confinement.clone().filter(|_| decision == Decision::Confine);
    let reason = Some(rule.reason.clone());
    rule_output(why, Answer { decision: Some(decision), reason, confinement, ..Answer::default() })
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
