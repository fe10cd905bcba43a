//! A hook's run once it is over: what it says, what it makes of the event, and telling observers of it. Running it is
//! `dispatch.rs`.

use std::sync::Arc;

use crate::answers::outcome::HookMessage;
use crate::answers::{Decision, RunProblem};
use crate::event::EventKind;
use crate::event::input::{Event, HookInput};
use crate::running::observer::{Observer, RunReport, RunStatus};

/// One hook's run: the report for everybody, and its troubles for the user.
pub(crate) struct HookRun {
    pub(crate) report: RunReport,
    /// What it was given, where observers have yet to be told of its end.
    pub(super) unreported_input: Option<HookInput>,
    pub(crate) problems: Vec<RunProblem>,
    /// Whether it is a guard's.
    pub(super) is_guard: bool,
    /// Its hook's place in the plan.
    pub(super) hook_index: usize,
    /// How many of the answers before it its input took in.
    pub(super) answers_seen: usize,
}

impl HookRun {
    /// Whether a guard says no and leaves it at that: then nobody else answers in its stead.
    pub(crate) fn is_guard_denial(&self) -> bool {
        let answer = &self.report.answer;
        self.is_guard && answer.decision == Some(Decision::Deny) && answer.llm_response.is_none()
    }

    /// Whether its answer is its own, and not what a failure counts as.
    fn has_own_answer(&self) -> bool {
        matches!(self.report.status, RunStatus::Ok | RunStatus::Blocked)
            && self.problems.iter().all(|trouble| trouble.cause.is_none())
    }

    /// What it says, and what is said about it.
    pub(crate) fn messages_and_warnings(&self) -> (Vec<HookMessage>, Vec<HookMessage>) {
        let said = |text: &str| HookMessage {
            hook: self.report.hook.clone(),
            source: self.report.source.clone(),
            text: text.to_owned(),
        };
        let messages = self.report.answer.system_message.iter().map(|text| said(text)).collect();
        (messages, self.problems.iter().map(|trouble| said(&trouble.text)).collect())
    }
}

/// The event as these answers change it.
pub(super) fn apply_answers<'r, E: Event>(event: &E, ran: impl Iterator<Item = &'r HookRun>) -> E {
    let mut event = event.clone();
    ran.for_each(|one| event.apply_answer(&one.report.answer));
    event
}

/// What a guard has said already it does not say again.
pub(super) fn drop_repeated_messages(again: &mut HookRun, ran: &[HookRun]) {
    for before in ran.iter().filter(|one| one.hook_index == again.hook_index) {
        let answer = &mut again.report.answer;
        answer.system_message.take_if(|text| Some(&*text) == before.report.answer.system_message.as_ref());
        answer.additional_context.take_if(|text| Some(&*text) == before.report.answer.additional_context.as_ref());
        again.problems.retain(|trouble| !before.problems.contains(trouble));
    }
}

/// Tells observers of the runs that they have not been told of. What one hook withholds is in no other's record either.
pub(super) fn report_pending_runs(kind: EventKind, observers: &[Arc<dyn Observer>], ran: &mut [HookRun]) {
    let withheld = ran.iter().any(|one| withholds_content(kind, one));
    for one in ran {
        let Some(input) = one.unreported_input.take() else { continue };
        let input = if withheld { HookInput::default() } else { input };
        // What a hook prints may quote what it was given, unless it is the answer that counts.
        let is_answer = match kind {
            EventKind::BeforeTool => false,
            EventKind::AfterModel | EventKind::AfterTool => withholds_content(kind, one) && one.has_own_answer(),
            _ => true,
        };
        one.report.answer.suppress_output |= withheld && !is_answer;
        observers.iter().for_each(|observer| observer.run_finished(&one.report, &input));
    }
}

/// Whether a run keeps the content of its event from every record: a prompt that is denied or not judged, arguments that are
/// redacted, a piece of an answer that is replaced or denied, a result that is hidden.
fn withholds_content(kind: EventKind, one: &HookRun) -> bool {
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
