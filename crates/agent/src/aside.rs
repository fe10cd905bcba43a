//! Advice: PreCompress, Notification and SessionEnd hold nothing up. Their hooks run beside what they are about, their words
//! are shown whenever they come, and at the session's end those that are left have a short grace.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hookwright_hooks::{Advice, Event, EventKind, Observer, Outcome, RunStatus, Said};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::scope::Scope;
use crate::services::{HookEvents, Services};

/// The hooks that nobody waits for.
#[derive(Default)]
pub struct Aside {
    running: Mutex<JoinSet<()>>,
    /// The session is over.
    over: CancellationToken,
}

/// Told when the hooks of one event are done.
pub(crate) type Done = oneshot::Receiver<()>;

impl Services {
    /// Fires an event and goes on; its hooks end with the turn if that is cancelled. Nothing if no hook wants to know.
    pub(crate) fn fire_aside<E: Event<Verdict = Advice> + 'static>(&self, event: E, scope: &Scope) -> Option<Done> {
        let (turn, over) = (scope.cancel.clone(), self.aside.over.clone());
        let cancel = over.child_token();
        let run = self.hooks.fire_aside(event, &self.belongs(scope), &cancel)?;
        let (events, guards) = (HookEvents(self.events.clone()), self.guards.clone());
        let (done, when_done) = oneshot::channel();
        let task = async move {
            // What hooks run may be the agent's work, whether or not anybody waits for them.
            let window = guards.hooks().await;
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
            let warnings = if over.is_cancelled() { at_the_end(E::KIND, &outcome) } else { outcome.warnings };
            events.later(E::KIND, &outcome.messages, &warnings);
            // Mostly nobody waits.
            let _ = done.send(());
        };
        let mut running = self.aside.running.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        running.spawn(task);
        Some(when_done)
    }
}

impl Aside {
    /// Waits a short while for those that run, then ends them and says so.
    pub(crate) async fn end(&self, grace: Duration) {
        let mut running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while running.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all).await.is_err() {
            self.over.cancel();
            while running.join_next().await.is_some() {}
        }
    }
}

/// Which of an event's hooks were still running when their time was over.
fn at_the_end<V>(kind: EventKind, outcome: &Outcome<V>) -> Vec<Said> {
    let ended = outcome.runs.iter().filter(|run| run.status == RunStatus::Cancelled);
    let text = match kind {
        EventKind::SessionEnd => {
            "was still running at the end of the session when its time was over, and was ended \
             (`hooksConfig.sessionEndGrace` gives it more)"
        }
        _ => "was still running at the end of the session, and was ended",
    };
    ended.map(|run| Said { hook: run.hook.clone(), source: run.source.clone(), text: text.to_owned() }).collect()
}
