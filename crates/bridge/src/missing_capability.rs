//! Lists the capabilities that hooks have in Hookwright and lack at a host's events, in plain words: for `agents
//! explain` and for the pages about agents.

use hookwright_hooks::{EventKind, HookCapability};

use crate::host::HostEventInfo;

/// A capability that hooks have in Hookwright and lack at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingCapability {
    /// The capability that is missing.
    pub power: HookCapability,
    /// The effect on an answer that uses the capability.
    pub consequence: &'static str,
    /// Whether a denial has no effect, so that guards do not protect there.
    pub disables_guards: bool,
}

/// Returns the capabilities of an event that none of these events of a host has.
pub fn missing_capabilities(kind: EventKind, rows: &[&HostEventInfo]) -> Vec<MissingCapability> {
    let can = |power: HookCapability| rows.iter().any(|row| row.can(power));
    let missing = kind.info().capabilities.iter().copied().filter(|power| !can(*power));
    missing
        .map(|power| MissingCapability {
            power,
            consequence: describe_consequence(power, can(HookCapability::Deny)),
            disables_guards: power == HookCapability::Deny,
        })
        .collect()
}

fn describe_consequence(power: HookCapability, can_deny: bool) -> &'static str {
    match (power, can_deny) {
        (HookCapability::Deny, _) => "a deny has no effect",
        (HookCapability::Ask, true) => "asking the user becomes a deny",
        (HookCapability::Ask, false) => "asking the user has no effect",
        (HookCapability::Confine, true) => "confining a call becomes a question or a deny",
        (HookCapability::Confine, false) => "confining a call has no effect",
        (HookCapability::Stop, true) => "stopping the agent becomes a deny",
        (HookCapability::Stop, false) => "stopping the agent has no effect",
        (HookCapability::RewriteInput, true) => "changed arguments become a deny",
        (HookCapability::RewriteInput, false) => "changed arguments have no effect",
        (HookCapability::RedactInput, _) => "the model's own arguments stay in its history",
        (HookCapability::Context, _) => "its context for the model is dropped",
        (HookCapability::TailCall, _) => "the tool that it calls next does not run",
        (HookCapability::RewriteRequest, _) => "a changed request has no effect",
        (HookCapability::AnswerForModel, _) => "an answer in the model's place has no effect",
        (HookCapability::ReplaceResponse, _) => "a replaced answer has no effect",
        (HookCapability::SelectTools, _) => "a selection of tools has no effect",
        (HookCapability::Approve, _) => "a rule with `only` approves nothing, and the agent asks as usual",
        (HookCapability::ClearContext, _) => "the model's context is not cleared",
    }
}
