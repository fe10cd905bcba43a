//! Collects the results of background hooks (`async`). A session does not wait for them and reports them later;
//! `hooks fire` waits, so that the user sees them.

use std::sync::{Arc, Mutex, PoisonError};

use hookwright_hooks::{EventKind, HookInput, HookMessage, Observer, Outcome, RunReport};

/// An observer that collects the runs and warnings of background hooks.
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

    /// Adds the background runs to the outcome, in the order of the plan. The decision does not change.
    pub(super) fn merge_into(&self, outcome: &mut Outcome<()>) {
        let collected = std::mem::take(&mut *self.output.lock().unwrap_or_else(PoisonError::into_inner));
        outcome.runs.extend(collected.runs);
        outcome.runs.sort_by_key(|run| run.id);
        outcome.warnings.extend(collected.warnings);
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
