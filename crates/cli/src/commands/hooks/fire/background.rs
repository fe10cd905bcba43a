//! Hooks that run beside their event (`async`): nobody waits for them in a session, which tells of them later. Whoever fires
//! one wants to see it, so what they said is gathered here.

use std::sync::{Arc, Mutex, PoisonError};

use hookwright_hooks::{EventKind, HookInput, HookMessage, Observer, Outcome, RunReport};

/// What hooks that ran beside the event said, as they came to their ends.
#[derive(Default)]
pub(super) struct BackgroundObserver {
    output: Mutex<BackgroundOutput>,
}

#[derive(Default)]
struct BackgroundOutput {
    runs: Vec<RunReport>,
    warnings: Vec<HookMessage>,
}

impl BackgroundObserver {
    pub(super) fn new_shared() -> Arc<BackgroundObserver> {
        Arc::default()
    }

    /// Adds them to what came of the event, in the order of the plan. What was decided without them stays.
    pub(super) fn merge_into(&self, outcome: &mut Outcome<()>) {
        let heard = std::mem::take(&mut *self.output.lock().unwrap_or_else(PoisonError::into_inner));
        outcome.runs.extend(heard.runs);
        outcome.runs.sort_by_key(|run| run.id);
        outcome.warnings.extend(heard.warnings);
    }
}

impl Observer for BackgroundObserver {
    fn run_finished(&self, run: &RunReport, _input: &HookInput) {
        if run.in_background {
            self.output.lock().unwrap_or_else(PoisonError::into_inner).runs.push(run.clone());
        }
    }

    fn background_output(&self, _event: EventKind, _messages: &[HookMessage], warnings: &[HookMessage]) {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).warnings.extend_from_slice(warnings);
    }
}
