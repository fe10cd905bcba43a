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
        (HookCapability::Deny, _) => "a no is not heard",
        (HookCapability::Ask, true) => "asking the user becomes a no",
        (HookCapability::Ask, false) => "asking the user is not heard",
        (HookCapability::Stop, true) => "stopping the agent becomes a no",
        (HookCapability::Stop, false) => "stopping the agent is not heard",
        (HookCapability::RewriteInput, true) => "changed arguments become a no",
        (HookCapability::RewriteInput, false) => "changed arguments are not heard",
        (HookCapability::RedactInput, _) => "the model's own arguments stay in its history",
        (HookCapability::Context, _) => "what it tells the model is dropped",
        (HookCapability::TailCall, _) => "the tool that it calls next does not run",
        (HookCapability::RewriteRequest, _) => "a changed request is not heard",
        (HookCapability::AnswerForModel, _) => "an answer in the model's place is not heard",
        (HookCapability::ReplaceResponse, _) => "a replaced answer is not heard",
        (HookCapability::SelectTools, _) => "a choice of tools is not heard",
        (HookCapability::ClearContext, _) => "the model's memory is not emptied",
    }
}
