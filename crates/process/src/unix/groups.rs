//! All process groups that may still have members, and the processes that left them, so that none outlives the program.

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

/// The running processes, and the processes that ended ones left behind.
///
/// A group is forgotten once it is empty. Processes that left their group are found by their marks.
#[derive(Debug, Default)]
pub struct ProcessGroups {
    table: Mutex<GroupTable>,
    marks: ProcessMarkAllocator,
    /// The number of runs at the time when no process was left.
    empty_at_run_count: AtomicU64,
}

#[derive(Debug, Default)]
struct GroupTable {
    groups: Vec<Arc<ProcessGroup>>,
    /// The groups, known or forgotten, whose leaders may still have to be reaped by the task that waits for them.
    leaders: Vec<Weak<ProcessGroup>>,
    /// When orphans were last reaped.
    last_reaped_at: Option<Instant>,
    /// The processes that may outlive the program.
    detached: Vec<DetachedProcesses>,
}

impl ProcessGroups {
    /// Returns the numbers of the groups that have members, which are the process ids of their leaders.
    pub fn pids(&self) -> Vec<u32> {
        self.lock_table().groups.iter().map(|group| group.id()).collect()
    }

    /// Returns whether any process lives that a run here started, directly or not, wherever it went.
    pub fn has_live_processes(&self) -> bool {
        let runs = self.marks.run_count();
        if self.empty_at_run_count.load(Ordering::Relaxed) == runs {
            return false;
        }
        let runs_on = !self.pids().is_empty() || self.lock_table().detached.iter().any(DetachedProcesses::is_alive);
        // If the processes cannot be read, there may be one.
        let left =
            runs_on || self.descendant_query().with_unmarked_children().find().map_or(true, |found| !found.is_empty());
        if !left {
            self.empty_at_run_count.store(runs, Ordering::Relaxed);
        }
        left
    }

    /// Ends all processes: SIGTERM, a wait of at most the grace period, then SIGKILL.
    pub async fn terminate_all(&self, grace: Duration) {
        const TERMINATION_POLL_INTERVAL: Duration = Duration::from_millis(10);
        // A scan of all processes of the machine is the costliest part of many a short session.
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

    /// Kills all processes at once.
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

    /// Starts a process as the leader of a new group.
    pub(super) fn spawn_leader(&self, spawn: impl FnOnce() -> io::Result<Pid>) -> io::Result<GroupLeader> {
        // Locked meanwhile, so that the new process is not taken for an orphan.
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

    /// Removes a group from those that are ended with the program.
    pub(super) fn forget(&self, group: &Arc<ProcessGroup>) {
        self.lock_table().groups.retain(|known| !Arc::ptr_eq(known, group));
    }

    /// Reaps the processes that were just killed and have no other parent.
    pub(super) fn reap_orphans(&self) {
        self.lock_table().reap_orphans(self.marks.range());
    }

    /// Stops ending this group with the others, but keeps track of whether its processes live.
    pub(super) fn detach(&self, group: &Arc<ProcessGroup>) -> io::Result<DetachedProcesses> {
        let stayer = DetachedProcesses::new(group.detach()?);
        self.forget(group);
        self.lock_table().detached.push(stayer.clone());
        Ok(stayer)
    }

    /// Forgets the groups that are empty, which every lock of the table does.
    pub(super) fn prune_empty(&self) {
        drop(self.lock_table());
    }

    fn lock_table(&self) -> MutexGuard<'_, GroupTable> {
        let mut known = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        // A leader that was not reaped counts as a member, so there is no need to ask the system.
        known.groups.retain(|group| !group.is_reaped() || group.is_tracked() || group.is_alive());
        known
    }
}

impl GroupTable {
    /// Reaps dead orphans, at most once per interval: all that they hold is a process id.
    fn reap_orphans_periodically(&mut self, family: ProcessMarkRange) {
        const ORPHAN_REAP_INTERVAL: Duration = Duration::from_secs(1);
        // Before the first run there can be no orphan.
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
