//! Hooks that run beside their event (`async`): nobody waits for them in a session, which tells of them later. Whoever fires
//! one wants to see it, so what they said is gathered here.

use std::sync::{Arc, Mutex, PoisonError};

use hookwright_hooks::{EventKind, HookInput, Observer, Outcome, RunReport, Said};

/// What hooks that ran beside the event said, as they came to their ends.
#[derive(Default)]
pub(super) struct Beside {
    heard: Mutex<Heard>,
}

#[derive(Default)]
struct Heard {
    runs: Vec<RunReport>,
    warnings: Vec<Said>,
}

impl Beside {
    pub(super) fn listen() -> Arc<Beside> {
        Arc::default()
    }

    /// Adds them to what came of the event, in the order of the plan. What was decided without them stays.
    pub(super) fn join(&self, outcome: &mut Outcome<()>) {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner));
        outcome.runs.extend(heard.runs);
        outcome.runs.sort_by_key(|run| run.id);
        outcome.warnings.extend(heard.warnings);
    }
}

impl Observer for Beside {
    fn finished(&self, run: &RunReport, _input: &HookInput) {
        if run.beside {
            self.heard.lock().unwrap_or_else(PoisonError::into_inner).runs.push(run.clone());
        }
    }

    fn later(&self, _event: EventKind, _messages: &[Said], warnings: &[Said]) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).warnings.extend_from_slice(warnings);
    }
}
