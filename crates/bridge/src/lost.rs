//! What a hook can do here and not at a host's events, in plain words: for `agents explain`, and for the pages about agents.

use hookwright_hooks::{EventKind, Power};

use crate::host::HostEvent;

/// Something that a hook can do here and not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// What it is.
    pub power: Power,
    /// What becomes of an answer that asks for it.
    pub words: &'static str,
    /// Whether a no is not heard at all: a guard is none there.
    pub grave: bool,
}

/// What hooks of an event can do here and at none of these events of a host.
pub fn lost(kind: EventKind, rows: &[&HostEvent]) -> Vec<Lost> {
    let can = |power: Power| rows.iter().any(|row| row.can(power));
    let missing = kind.info().powers.iter().copied().filter(|power| !can(*power));
    missing.map(|power| Lost { power, words: words(power, can(Power::Deny)), grave: power == Power::Deny }).collect()
}

fn words(power: Power, can_deny: bool) -> &'static str {
    match (power, can_deny) {
        (Power::Deny, _) => "a no is not heard",
        (Power::Ask, true) => "asking the user becomes a no",
        (Power::Ask, false) => "asking the user is not heard",
        (Power::Stop, true) => "stopping the agent becomes a no",
        (Power::Stop, false) => "stopping the agent is not heard",
        (Power::RewriteInput, true) => "changed arguments become a no",
        (Power::RewriteInput, false) => "changed arguments are not heard",
        (Power::RedactInput, _) => "the model's own arguments stay in its history",
        (Power::Context, _) => "what it tells the model is dropped",
        (Power::TailCall, _) => "the tool that it calls next does not run",
        (Power::RewriteRequest, _) => "a changed request is not heard",
        (Power::AnswerForModel, _) => "an answer in the model's place is not heard",
        (Power::ReplaceResponse, _) => "a replaced answer is not heard",
        (Power::SelectTools, _) => "a choice of tools is not heard",
        (Power::ClearContext, _) => "the model's memory is not emptied",
    }
}
