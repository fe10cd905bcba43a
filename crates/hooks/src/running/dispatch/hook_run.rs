//! The result of a hook's run: its messages, its changes to the event, and its report to observers. `dispatch.rs` runs
//! it.

use std::sync::Arc;

use crate::answers::outcome::HookMessage;
use crate::answers::{Decision, RunProblem};
use crate::event::EventKind;
use crate::event::input::{Event, HookInput};
use crate::running::observer::{Observer, RunReport, RunStatus};

/// One hook's run: its report, and its problems for the user.
pub(crate) struct HookRun {
    pub(crate) report: RunReport,
    /// The input, if the observers have not been notified of the run's end yet.
    pub(super) unreported_input: Option<HookInput>,
    pub(crate) problems: Vec<RunProblem>,
    /// Whether the hook is a rule that approves the call; cleared if the call that runs is not within its bounds.
    pub(crate) approves: bool,
    /// The index of the hook in the plan.
    pub(super) hook_index: usize,
    /// The number of earlier answers that the hook's input included.
    pub(super) answers_seen: usize,
}

impl HookRun {
    /// Whether a guard denies without giving a response of its own; then no other hook's response is used either.
    pub(crate) fn is_guard_denial(&self) -> bool {
        let answer = &self.report.answer;
        self.report.is_guard() && answer.decision == Some(Decision::Deny) && answer.llm_response.is_none()
    }

    /// Whether the answer is the hook's own, and not the result of the failure policy.
    fn has_own_answer(&self) -> bool {
        matches!(self.report.status, RunStatus::Ok | RunStatus::Blocked)
            && self.problems.iter().all(|problem| problem.cause.is_none())
    }

    /// The hook's messages, and the warnings about it.
    pub(crate) fn messages_and_warnings(&self) -> (Vec<HookMessage>, Vec<HookMessage>) {
        let message = |text: &str| HookMessage {
            hook: self.report.hook.clone(),
            source: self.report.source.clone(),
            text: text.to_owned(),
        };
        let messages = self.report.answer.system_message.iter().map(|text| message(text)).collect();
        (messages, self.problems.iter().map(|problem| message(&problem.text)).collect())
    }
}

/// The event with the changes of these answers.
pub(super) fn apply_answers<'r, E: Event>(event: &E, ran: impl Iterator<Item = &'r HookRun>) -> E {
    let mut event = event.clone();
    ran.for_each(|one| event.apply_answer(&one.report.answer));
    event
}

/// Removes messages that the guard has already given in an earlier run.
pub(super) fn drop_repeated_messages(again: &mut HookRun, ran: &[HookRun]) {
    for before in ran.iter().filter(|one| one.hook_index == again.hook_index) {
        let answer = &mut again.report.answer;
        answer.system_message.take_if(|text| Some(&*text) == before.report.answer.system_message.as_ref());
        answer.additional_context.take_if(|text| Some(&*text) == before.report.answer.additional_context.as_ref());
        again.problems.retain(|problem| !before.problems.contains(problem));
    }
}

/// Notifies the observers of the runs that have not been reported, and returns whether a hook withholds the content.
/// Content that one hook withholds is left out of all reports.
pub(super) fn report_pending_runs(kind: EventKind, observers: &[Arc<dyn Observer>], ran: &mut [HookRun]) -> bool {
    let withheld = ran.iter().any(|one| withholds_content(kind, one));
    for one in ran {
        let Some(input) = one.unreported_input.take() else { continue };
        let input = if withheld { HookInput::default() } else { input };
        // A hook's output may quote its input, unless it is the answer that replaces the content.
        let is_answer = match kind {
            EventKind::BeforeTool => false,
            EventKind::AfterModel | EventKind::AfterTool => withholds_content(kind, one) && one.has_own_answer(),
            _ => true,
        };
        one.report.answer.suppress_output |= withheld && !is_answer;
        observers.iter().for_each(|observer| observer.run_finished(&one.report, &input));
    }
    withheld
}

/// Whether a run withholds the content of its event from all records: a prompt that is denied or not judged, arguments
/// that are redacted, a piece of a response that is replaced or denied, a result that is hidden.
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
