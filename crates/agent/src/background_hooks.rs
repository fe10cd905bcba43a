//! Runs hooks of PreCompress, Notification and SessionEnd in the background.
//!
//! They hold up nothing, and their messages are shown when they arrive. At the end of the session the
//! remaining ones get a short grace period.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hookwright_hooks::{AdvisoryVerdict, Event, EventKind, HookMessage, Observer, Outcome, RunStatus};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::scope::TurnScope;
use crate::services::{HookEventForwarder, Services};

/// The tasks of hooks that run in the background.
#[derive(Default)]
pub struct BackgroundHookTasks {
    tasks: Mutex<JoinSet<()>>,
    /// Cancelled when the session is over.
    session_over: CancellationToken,
}

/// Resolves when the hooks of one event have finished.
pub(crate) type HooksFinished = oneshot::Receiver<()>;

impl Services {
    /// Fires an event without waiting for its hooks, which are cancelled with the
    /// turn. Returns `None` if no hook matches.
    pub(crate) fn fire_detached<E: Event<Verdict = AdvisoryVerdict> + 'static>(
        &self,
        event: E,
        scope: &TurnScope,
    ) -> Option<HooksFinished> {
        let (turn, over) = (scope.cancel.clone(), self.background_hooks.session_over.clone());
        let cancel = over.child_token();
        let run = self.hooks.fire_detached(event, &self.run_context(scope), &cancel)?;
        let (events, guards) = (HookEventForwarder(self.events.clone()), self.tamper_watch.clone());
        let (done, when_done) = oneshot::channel();
        let task = async move {
            // Programs that background hooks run may have been written by the agent, so their changes are watched.
            let window = guards.open_hook_window().await;
            let mut run = std::pin::pin!(run);
            let outcome = tokio::select! {
                outcome = &mut run => outcome,
                () = turn.cancelled() => {
                    cancel.cancel();
                    run.await
                }
            };
            if let Some(window) = window {
                window.close().await;
            }
            let warnings = if over.is_cancelled() { shutdown_warnings(E::KIND, &outcome) } else { outcome.warnings };
            events.background_output(E::KIND, &outcome.messages, &warnings);
            // Most callers have dropped the receiver.
            let _ = done.send(());
        };
        let mut running = self.background_hooks.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        running.spawn(task);
        Some(when_done)
    }
}

impl BackgroundHookTasks {
    /// Waits for the running tasks for a grace period, and then cancels them.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        let mut running = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while running.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all).await.is_err() {
            self.session_over.cancel();
            while running.join_next().await.is_some() {}
        }
    }
}

/// Returns a warning for each hook of the event that was still running at the end.
fn shutdown_warnings<V>(kind: EventKind, outcome: &Outcome<V>) -> Vec<HookMessage> {
    let ended = outcome.runs.iter().filter(|run| run.status == RunStatus::Cancelled);
    let text = match kind {
        EventKind::SessionEnd => {
            "was still running at the end of the session when its time was over, and was ended \
             (`hooksConfig.sessionEndGrace` gives it more)"
        }
        _ => "was still running at the end of the session, and was ended",
    };
    ended.map(|run| HookMessage { hook: run.hook.clone(), source: run.source.clone(), text: text.to_owned() }).collect()
}
