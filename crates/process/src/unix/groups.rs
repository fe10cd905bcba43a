//! All groups that may still have members, so that none outlives the program, and those who have left their group.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::time::Instant;

use super::group::{ProcessGroup, kill_matching, terminate_strays};
use super::leader::GroupLeader;
use super::process::DetachedProcesses;
use super::{
    DescendantQuery, ProcessMarkAllocator, ProcessMarkRange, dismiss_idle_watchdog, limits, marked_pids, spawn_marked,
};

/// The processes that run, and what ended ones left behind. A group is forgotten once it is empty; whoever left it is
/// found again by what it carries.
#[derive(Debug, Default)]
pub struct ProcessGroups {
    table: Mutex<GroupTable>,
    marks: ProcessMarkAllocator,
    /// How many runs there had been when nobody was left of them.
    empty_at_run_count: AtomicU64,
}

#[derive(Debug, Default)]
struct GroupTable {
    groups: Vec<Arc<ProcessGroup>>,
    /// Of those and of forgotten ones, whose leader may not be collected yet by whoever waits for it.
    leaders: Vec<Weak<ProcessGroup>>,
    /// When the dead were last collected.
    last_reaped_at: Option<Instant>,
    /// Those who may stay when the program goes.
    detached: Vec<DetachedProcesses>,
}

impl ProcessGroups {
    /// The numbers of the groups that have members, which are those of the processes that lead or led them.
    pub fn pids(&self) -> Vec<u32> {
        self.lock_table().groups.iter().map(|group| group.id()).collect()
    }

    /// Whether anybody lives who was started here, by whomever and wherever it went.
    pub fn has_live_processes(&self) -> bool {
        let runs = self.marks.run_count();
        if self.empty_at_run_count.load(Ordering::Relaxed) == runs {
            return false;
        }
        let runs_on = !self.pids().is_empty() || self.lock_table().detached.iter().any(DetachedProcesses::is_alive);
        // Where nobody can be looked for, somebody may be there.
        let left =
            runs_on || self.descendant_query().with_unmarked_children().find().map_or(true, |found| !found.is_empty());
        if !left {
            self.empty_at_run_count.store(runs, Ordering::Relaxed);
        }
        left
    }

    /// Ends everybody: asks, waits at most the grace, then forces.
    pub async fn terminate_all(&self, grace: Duration) {
        const TERMINATION_POLL_INTERVAL: Duration = Duration::from_millis(10);
        // A look at all processes of the machine is the dearest part of many a short session.
        if self.marks.run_count() == 0 {
            return;
        }
        let search = self.descendant_query();
        let groups = std::mem::take(&mut self.lock_table().groups);
        let is_over = || search.find_pids().is_ok_and(|found| found.is_empty());
        if groups.is_empty() && (dismiss_idle_watchdog() || is_over()) {
            return;
        }
        groups.iter().for_each(|group| group.terminate_members());
        terminate_strays(&search);
        let deadline = Instant::now() + grace;
        while Instant::now() < deadline && !is_over() {
            tokio::time::sleep(TERMINATION_POLL_INTERVAL).await;
        }
        groups.iter().for_each(|group| group.kill_members());
        kill_matching(&search);
    }

    /// Ends everybody at once, without asking.
    pub fn kill_all(&self) {
        if self.marks.run_count() > 0 {
            let search = self.descendant_query();
            self.lock_table().groups.iter().for_each(|group| group.kill_members());
            kill_matching(&search);
        }
    }

    fn descendant_query(&self) -> DescendantQuery {
        let numbers = self.lock_table().groups.iter().filter_map(|group| group.owned_id()).collect();
        DescendantQuery::new(self.marks.range(), numbers)
    }

    /// Starts a process as the leader of one more group.
    pub(super) fn spawn_leader(&self, spawn: impl FnOnce() -> io::Result<Pid>) -> io::Result<GroupLeader> {
        // Held meanwhile: whoever is started is not taken for an orphan.
        let mut known = self.lock_table();
        known.reap_orphans_periodically(self.marks.range());
        let run = self.marks.next_run();
        let id = spawn_marked(run, spawn)?;
        limits::restore_descriptor_limit(id);
        let leader = GroupLeader::new(id, run)?;
        known.groups.push(leader.group().clone());
        known.leaders.push(Arc::downgrade(leader.group()));
        Ok(leader)
    }

    /// Stops ending this group with the others.
    pub(super) fn forget(&self, group: &Arc<ProcessGroup>) {
        self.lock_table().groups.retain(|known| !Arc::ptr_eq(known, group));
    }

    /// Takes note of the end of those who were just killed and have no other parent.
    pub(super) fn reap_orphans(&self) {
        self.lock_table().reap_orphans(self.marks.range());
    }

    /// Ends this group no more; whether anybody of it lives is still of interest.
    pub(super) fn detach(&self, group: &Arc<ProcessGroup>) -> io::Result<DetachedProcesses> {
        let stayer = DetachedProcesses::new(group.detach()?);
        self.forget(group);
        self.lock_table().detached.push(stayer.clone());
        Ok(stayer)
    }

    /// Forgets the groups that are empty.
    pub(super) fn prune_empty(&self) {
        drop(self.lock_table());
    }

    fn lock_table(&self) -> MutexGuard<'_, GroupTable> {
        let mut known = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        // A leader that was not reaped counts as a member, so there is no need to ask.
        known.groups.retain(|group| !group.is_reaped() || group.is_tracked() || group.is_alive());
        known
    }
}

impl GroupTable {
    /// Those who became this process's children when they lost their parent hold no more than a number once they are
    /// dead, so now and then is enough.
    fn reap_orphans_periodically(&mut self, family: ProcessMarkRange) {
        const ORPHAN_REAP_INTERVAL: Duration = Duration::from_secs(1);
        // Before the first run of this house there is nobody of it.
        if self.last_reaped_at.get_or_insert_with(Instant::now).elapsed() >= ORPHAN_REAP_INTERVAL {
            self.reap_orphans(family);
        }
    }

    fn reap_orphans(&mut self, family: ProcessMarkRange) {
        self.last_reaped_at = Some(Instant::now());
        self.leaders.retain(|group| group.upgrade().is_some_and(|group| !group.is_reaped()));
        let leaders: Vec<u32> = self.leaders.iter().filter_map(|group| Some(group.upgrade()?.id())).collect();
        for pid in marked_pids(family).into_iter().flatten() {
            let leads = leaders.contains(&pid);
            if let Some(pid) = Pid::from_raw(pid.cast_signed()).filter(|_| !leads) {
                let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            }
        }
    }
}
