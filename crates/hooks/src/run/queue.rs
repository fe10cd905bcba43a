//! Where a command waits for its turn: behind those that came earlier, until this machine and the settings have a place
//! for it. Its clock has not started yet.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hookwright_process::{Place, Room, Shares};
use tokio_util::sync::CancellationToken;

use crate::answer::End;

/// Every run is over after its own timeout, so the queue always moves; longer than this, the machine is not fit for work.
const LONGEST: Duration = Duration::from_secs(600);

/// The queue of one engine.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The places that the settings allow; another number makes another room.
    allowed: Mutex<Option<Room>>,
}

/// A run's right to be there. Free for the next when dropped.
pub(super) struct Turn {
    _allowed: Option<Place>,
    _place: Place,
}

impl Queue {
    /// Waits for a turn. Where there is room, nothing waits and nothing is allocated but the turn.
    pub(super) async fn turn(&self, max_parallel: Option<NonZeroU32>, cancel: &CancellationToken) -> Result<Turn, End> {
        let allowed = max_parallel.map(|most| self.allowed(most));
        let places = &Shares::of_process().guards;
        let early = allowed.as_ref().map(Room::try_enter);
        if !matches!(early, Some(None))
            && let Some(place) = places.try_enter()
        {
            return Ok(Turn { _allowed: early.flatten(), _place: place });
        }
        tracing::debug!("waits for its turn");
        let turn = async {
            let _allowed = match (early.flatten(), &allowed) {
                (None, Some(room)) => Some(room.enter().await),
                (early, _) => early,
            };
            Turn { _allowed, _place: places.enter().await }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(End::Cancelled),
            turn = turn => Ok(turn),
            () = tokio::time::sleep(LONGEST) => {
                Err(End::NoRoom(format!("its turn did not come within {} minutes", LONGEST.as_secs() / 60)))
            }
        }
    }

    fn allowed(&self, most: NonZeroU32) -> Room {
        let most = usize::try_from(most.get()).unwrap_or(usize::MAX);
        let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        match &*allowed {
            Some(room) if room.size() == most => room.clone(),
            _ => allowed.insert(Room::new(most)).clone(),
        }
    }
}
