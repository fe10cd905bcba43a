//! The queue in which a command waits for a permit, until the machine and the settings allow another process. The
//! command's timeout has not started yet.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hookwright_process::{Limiter, Permit, ProcessBudget};
use tokio_util::sync::CancellationToken;

use crate::answers::HookExit;

/// The maximum waiting time.
///
/// Every run ends after its own timeout, so the queue always moves; if it takes longer than this, the machine is
/// overloaded.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(600);

/// The queue of one engine.
#[derive(Debug, Default)]
pub(super) struct RunQueue {
    /// The limiter of `maxParallel`; another number replaces it.
    configured_limiter: Mutex<Option<Limiter>>,
}

/// The permit of a run, which is released when dropped.
pub(super) struct RunPermit {
    _configured: Option<Permit>,
    _machine: Permit,
}

impl RunQueue {
    /// Waits for a permit. If one is free, it is returned at once.
    pub(super) async fn acquire(
        &self,
        max_parallel: Option<NonZeroU32>,
        cancel: &CancellationToken,
    ) -> Result<RunPermit, HookExit> {
        let allowed = max_parallel.map(|most| self.limiter(most));
        let places = &ProcessBudget::global().hooks;
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
                Err(HookExit::OutOfResources(format!("it waited for other hooks longer than {} minutes", QUEUE_TIMEOUT.as_secs() / 60)))
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
