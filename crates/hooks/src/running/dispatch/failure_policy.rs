//! Applies the failure policy to the answer of a run that failed, and reports the problems. `on_error.rs` has the
//! policy that settings declare.

use crate::answers::outcome::about_hook;
use crate::answers::{Decision, ParsedAnswer, RunProblem};
use crate::event::{EventKind, HookCapability};
use crate::hook::Hook;
use crate::on_error::FailureAction;
use crate::registry::Registry;
use crate::running::RunOutput;

/// Applies the failure policy to a failed hook, where the event can be denied at all.
pub(super) fn apply_failure_policy(kind: EventKind, hook: &Hook, registry: &Registry, reading: &mut ParsedAnswer) {
    let Some((cause, text)) = reading.problems.iter().find_map(|problem| Some((problem.cause?, problem.text.clone())))
    else {
        return;
    };
    if !kind.can(HookCapability::Deny) || reading.answer.ends_plan() {
        return;
    }
    let decision = match registry.failure_action(hook, cause) {
        FailureAction::Allow => return,
        FailureAction::Ask if kind.can(HookCapability::Ask) => Decision::Ask,
        FailureAction::Ask | FailureAction::Block => Decision::Deny,
    };
    reading.answer.decision = Some(decision);
    reading.answer.reason = Some(about_hook(hook.id(), text));
}

/// Denies an event, where it can be denied, for a hook that is not trusted and did not run.
pub(super) fn deny_untrusted(kind: EventKind, hook: &Hook, why: String, reading: &mut ParsedAnswer) {
    let text = format!("did not run: {why}");
    if kind.can(HookCapability::Deny) && !hook.is_background() {
        reading.answer.decision = Some(Decision::Deny);
        reading.answer.reason = Some(about_hook(hook.id(), &text));
    }
    reading.problems = vec![RunProblem { cause: None, text }];
}

/// Reports output beyond the limit, which was dropped.
pub(super) fn report_dropped_output(finished: &RunOutput, reading: &mut ParsedAnswer) {
    for (name, stream) in [("stdout", &finished.stdout), ("stderr", &finished.stderr)] {
        if stream.truncated {
            let kept = stream.text.len();
            let text = format!("wrote {} bytes to {name}; all but the first {kept} were dropped", stream.bytes);
            reading.problems.push(RunProblem { cause: None, text });
        }
    }
}
