//! All groups that may still have members, so that none outlives the program.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::group::Group;

/// The processes that run, and what ended ones left behind. A group is forgotten once it is empty.
#[derive(Debug, Default)]
pub struct Groups(Mutex<Vec<Arc<Group>>>);

impl Groups {
    /// The numbers of the groups that have members, which are those of the processes that lead or led them.
    pub fn pids(&self) -> Vec<u32> {
        self.living().iter().map(|group| group.id()).collect()
    }

    /// Ends every group: asks, waits at most the grace, then forces.
    pub async fn end_all(&self, grace: Duration) {
        const STEP: Duration = Duration::from_millis(10);
        let groups = std::mem::take(&mut *self.living());
        groups.iter().for_each(|group| group.ask());
        let deadline = Instant::now() + grace;
        while Instant::now() < deadline && groups.iter().any(|group| !group.members().is_empty()) {
            tokio::time::sleep(STEP).await;
        }
        groups.iter().for_each(|group| group.kill());
    }

    /// Ends every group at once, without asking.
    pub fn kill_now(&self) {
        self.living().iter().for_each(|group| group.kill());
    }

    pub(super) fn add(&self, group: &Arc<Group>) {
        self.living().push(group.clone());
    }

    /// Stops ending this group with the others.
    pub(super) fn forget(&self, group: &Arc<Group>) {
        self.living().retain(|known| !Arc::ptr_eq(known, group));
    }

    /// Forgets the groups that are empty.
    pub(super) fn prune(&self) {
        drop(self.living());
    }

    fn living(&self) -> MutexGuard<'_, Vec<Arc<Group>>> {
        let mut groups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A leader that was not reaped counts as a member, so there is no need to ask.
        groups.retain(|group| !group.is_reaped() || group.is_followed() || group.is_alive());
        groups
    }
}
