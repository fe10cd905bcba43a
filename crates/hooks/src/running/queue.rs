//! Where a command waits for its turn: behind those that came earlier, until this machine and the settings have a place
//! for it. Its clock has not started yet.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hookwright_process::{Limiter, Permit, ProcessBudget};
use tokio_util::sync::CancellationToken;

use crate::answers::HookExit;

/// Every run is over after its own timeout, so the queue always moves; longer than this, the machine is not fit for work.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(600);

/// The queue of one engine.
#[derive(Debug, Default)]
pub(super) struct RunQueue {
    /// The places that the settings allow; another number makes another room.
    configured_limiter: Mutex<Option<Limiter>>,
}

/// A run's right to be there. Free for the next when dropped.
pub(super) struct RunPermit {
    _configured: Option<Permit>,
    _machine: Permit,
}

impl RunQueue {
    /// Waits for a turn. Where there is room, nothing waits and nothing is allocated but the turn.
    pub(super) async fn acquire(
        &self,
        max_parallel: Option<NonZeroU32>,
        cancel: &CancellationToken,
    ) -> Result<RunPermit, HookExit> {
        let allowed = max_parallel.map(|most| self.limiter(most));
        let places = &ProcessBudget::global().guards;
        let early = allowed.as_ref().map(Limiter::try_acquire);
        if !matches!(early, Some(None))
            && let Some(place) = places.try_acquire()
        {
            return Ok(RunPermit { _configured: early.flatten(), _machine: place });
        }
        tracing::debug!("waits for its turn");
        let turn = async {
            let _allowed = match (early.flatten(), &allowed) {
                (None, Some(room)) => Some(room.acquire().await),
                (early, _) => early,
            };
            RunPermit { _configured: _allowed, _machine: places.acquire().await }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(HookExit::Cancelled),
            turn = turn => Ok(turn),
            () = tokio::time::sleep(QUEUE_TIMEOUT) => {
                Err(HookExit::OutOfResources(format!("its turn did not come within {} minutes", QUEUE_TIMEOUT.as_secs() / 60)))
            }
        }
    }

    fn limiter(&self, most: NonZeroU32) -> Limiter {
        let most = usize::try_from(most.get()).unwrap_or(usize::MAX);
        let mut allowed = self.configured_limiter.lock().unwrap_or_else(PoisonError::into_inner);
        match &*allowed {
            Some(room) if room.capacity() == most => room.clone(),
            _ => allowed.insert(Limiter::new(most)).clone(),
        }
    }
}
