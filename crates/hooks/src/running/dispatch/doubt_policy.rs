//! Applies `onDoubt` to the answer of a hook that runs only because the effects of a call are not all known, and lowers
//! confinements that are not possible.

use crate::answers::{Decision, ParsedAnswer, RunProblem};
use crate::confinement::ConfinementProfile;
use crate::doubt::{Enforcement, OnDoubt};
use crate::event::{EventKind, HookCapability};
use crate::hook::{Action, Hook};
use crate::matching::effect_filter::MatchReason;
use crate::registry::Registry;

/// What decides about a call in doubt.
pub(super) struct DoubtPolicy<'a> {
    pub(super) kind: EventKind,
    pub(super) registry: &'a Registry,
    pub(super) enforcement: Enforcement,
    /// Whether the call is a command, which can be confined.
    pub(super) is_command: bool,
}

impl DoubtPolicy<'_> {
    /// Whether a hook does not run on a call that may have an effect which it looks for.
    pub(super) fn overlooks(&self, hook: &Hook, reason: &MatchReason) -> bool {
        let lets_pass = [Some(OnDoubt::Allow), Some(OnDoubt::ConfineOrAllow)];
        is_in_doubt(hook, reason) && lets_pass.contains(&self.registry.on_doubt(hook))
    }

    /// Whether a call that a hook overlooks is still kept from the effect where the machine can do that.
    pub(super) fn enforces_doubt(&self, hook: &Hook) -> bool {
        self.enforcement != Enforcement::Off && self.registry.on_doubt(hook) == Some(OnDoubt::ConfineOrAllow)
    }

    /// Replaces the decision of a rule, and strengthens that of a program whose settings say `onDoubt`.
    ///
    /// A rule forbids what its `when` matches, and here that is not known. A program has seen the call and decides by
    /// itself.
    pub(super) fn apply(&self, hook: &Hook, reason: &MatchReason, reading: &mut ParsedAnswer) {
        let configured = self.registry.on_doubt(hook);
        let is_rule = matches!(hook.action, Action::Rule(_));
        if is_in_doubt(hook, reason) && (is_rule || configured.is_some()) {
            let default = if self.enforcement == Enforcement::Off { OnDoubt::Ask } else { OnDoubt::Confine };
            self.apply_doubt(hook, configured.unwrap_or(default), reason, reading);
        }
        if reading.answer.decision == Some(Decision::Confine) && !self.is_command {
            self.ask(reading, "only commands can be confined");
        }
    }

    fn apply_doubt(&self, hook: &Hook, on_doubt: OnDoubt, reason: &MatchReason, reading: &mut ParsedAnswer) {
        let is_rule = matches!(hook.action, Action::Rule(_));
        let own = reading.answer.decision.filter(|_| !is_rule);
        let (decision, profile) = match on_doubt {
            // Such a hook does not run.
            OnDoubt::Allow | OnDoubt::ConfineOrAllow => return,
            OnDoubt::Confine => (Decision::Confine, Some(confinement(hook))),
            OnDoubt::Ask => (Decision::Ask, None),
            OnDoubt::Deny => (Decision::Deny, None),
        };
        if own.is_some_and(|own| own > decision) {
            return;
        }
        let why = uncertainty(reason);
        let answer = &mut reading.answer;
        answer.reason = Some(match answer.reason.take() {
            Some(text) => format!("{text} ({why})"),
            None => why,
        });
        answer.decision = Some(decision);
        match profile {
            Some(Ok(profile)) => answer.confinement = Some(profile),
            Some(Err(line)) => self.ask(reading, &line),
            None => {}
        }
        if reading.answer.decision == Some(Decision::Ask) && !self.kind.can(HookCapability::Ask) {
            reading.answer.decision = Some(Decision::Deny);
        }
    }

    /// Makes a confinement that is not possible a question to the user.
    fn ask(&self, reading: &mut ParsedAnswer, why_not: &str) {
        let answer = &mut reading.answer;
        answer.decision = Some(if self.kind.can(HookCapability::Ask) { Decision::Ask } else { Decision::Deny });
        answer.confinement = None;
        let text = answer.reason.take().unwrap_or_else(|| "the call should run confined".to_owned());
        answer.reason = Some(format!("{text}; it can't be confined: {why_not}"));
        reading.problems.push(RunProblem { cause: None, text: format!("can't confine the call: {why_not}") });
    }
}

/// The profile that keeps a call from what a hook looks for, or why the kernel cannot do that.
fn confinement(hook: &Hook) -> Result<ConfinementProfile, String> {
    if let Action::Rule(rule) = &hook.action
        && let Some(profile) = &rule.confinement
    {
        return Ok(profile.clone());
    }
    hook.doubt_confinement().map_err(|line| line.to_string())
}

/// Whether a guard runs only because an effect that it looks for is possible. A rule with `"certain": false` asks for
/// such calls.
pub(super) fn is_in_doubt(hook: &Hook, reason: &MatchReason) -> bool {
    let wants_doubt = matches!(&hook.action, Action::Rule(rule) if rule.matches_uncertain);
    matches!(reason, MatchReason::Uncertain { .. }) && !wants_doubt
}

fn uncertainty(reason: &MatchReason) -> String {
    match reason {
        MatchReason::Uncertain { reason: Some(reason) } => {
            format!("not all effects of this call are known: {reason}")
        }
        _ => "not all effects of this call are known".to_owned(),
    }
}
