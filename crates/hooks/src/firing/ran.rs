//! A hook's run once it is over: what it says, what it makes of the event, and telling observers of it. Running it is
//! `firing.rs`.

use std::sync::Arc;

use crate::answer::{Decision, Trouble};
use crate::event::EventKind;
use crate::input::{Event, HookInput};
use crate::observe::{Observer, RunReport, RunStatus};
use crate::outcome::Said;

/// One hook's run: the report for everybody, and its troubles for the user.
pub(crate) struct Ran {
    pub(crate) report: RunReport,
    /// What it was given, where observers have yet to be told of its end.
    pub(super) untold: Option<HookInput>,
    pub(crate) troubles: Vec<Trouble>,
    /// Whether it is a guard's.
    pub(super) guard: bool,
    /// Its hook's place in the plan.
    pub(super) at: usize,
    /// How many of the answers before it its input took in.
    pub(super) saw: usize,
}

impl Ran {
    /// Whether a guard says no and leaves it at that: then nobody else answers in its stead.
    pub(crate) fn is_guards_no(&self) -> bool {
        let answer = &self.report.answer;
        self.guard && answer.decision == Some(Decision::Deny) && answer.llm_response.is_none()
    }

    /// Whether its answer is its own, and not what a failure counts as.
    fn is_judged(&self) -> bool {
        matches!(self.report.status, RunStatus::Ok | RunStatus::Blocked)
            && self.troubles.iter().all(|trouble| trouble.cause.is_none())
    }

    /// What it says, and what is said about it.
    pub(crate) fn words(&self) -> (Vec<Said>, Vec<Said>) {
        let said = |text: &str| Said {
            hook: self.report.hook.clone(),
            source: self.report.source.clone(),
            text: text.to_owned(),
        };
        let messages = self.report.answer.system_message.iter().map(|text| said(text)).collect();
        (messages, self.troubles.iter().map(|trouble| said(&trouble.text)).collect())
    }
}

/// The event as these answers change it.
pub(super) fn advanced<'r, E: Event>(event: &E, ran: impl Iterator<Item = &'r Ran>) -> E {
    let mut event = event.clone();
    ran.for_each(|one| event.advance(&one.report.answer));
    event
}

/// What a guard has said already it does not say again.
pub(super) fn forget_what_was_said(again: &mut Ran, ran: &[Ran]) {
    for before in ran.iter().filter(|one| one.at == again.at) {
        let answer = &mut again.report.answer;
        answer.system_message.take_if(|text| Some(&*text) == before.report.answer.system_message.as_ref());
        answer.additional_context.take_if(|text| Some(&*text) == before.report.answer.additional_context.as_ref());
        again.troubles.retain(|trouble| !before.troubles.contains(trouble));
    }
}

/// Tells observers of the runs that they have not been told of. What one hook withholds is in no other's record either.
pub(super) fn tell_the_rest(kind: EventKind, observers: &[Arc<dyn Observer>], ran: &mut [Ran]) {
    let withheld = ran.iter().any(|one| withholds_content(kind, one));
    for one in ran {
        let Some(input) = one.untold.take() else { continue };
        let input = if withheld { HookInput::default() } else { input };
        // What a hook prints may quote what it was given, unless it is the answer that counts.
        let is_answer = match kind {
            EventKind::BeforeTool => false,
            EventKind::AfterModel | EventKind::AfterTool => withholds_content(kind, one) && one.is_judged(),
            _ => true,
        };
        one.report.answer.suppress_output |= withheld && !is_answer;
        observers.iter().for_each(|observer| observer.finished(&one.report, &input));
    }
}

/// Whether a run keeps the content of its event from every record: a prompt that is denied or not judged, arguments that are
/// redacted, a piece of an answer that is replaced or denied, a result that is hidden.
fn withholds_content(kind: EventKind, one: &Ran) -> bool {
    let answer = &one.report.answer;
    let refuses = answer.decision == Some(Decision::Deny) || one.report.status == RunStatus::Cancelled;
    match kind {
        EventKind::BeforeAgent => refuses,
        EventKind::BeforeTool => answer.redact_input,
        EventKind::AfterModel => refuses || answer.llm_response.is_some(),
        EventKind::AfterTool => refuses,
        _ => false,
    }
}
