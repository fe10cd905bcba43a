//! All groups that may still have members, so that none outlives the program, and those who have left their group.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::time::Instant;

use super::group::{Group, ask_strays, kill};
use super::leader::Leader;
use super::process::Stayer;
use super::{Family, House, Search, carriers, limits, rest, start};

/// The processes that run, and what ended ones left behind. A group is forgotten once it is empty; whoever left it is
/// found again by what it carries.
#[derive(Debug, Default)]
pub struct Groups {
    known: Mutex<Known>,
    house: House,
    /// How many runs there had been when nobody was left of them.
    settled: AtomicU64,
}

#[derive(Debug, Default)]
struct Known {
    groups: Vec<Arc<Group>>,
    /// Of those and of forgotten ones, whose leader may not be collected yet by whoever waits for it.
    leaders: Vec<Weak<Group>>,
    /// When the dead were last collected.
    collected: Option<Instant>,
    /// Those who may stay when the program goes.
    stayers: Vec<Stayer>,
}

impl Groups {
    /// The numbers of the groups that have members, which are those of the processes that lead or led them.
    pub fn pids(&self) -> Vec<u32> {
        self.known().groups.iter().map(|group| group.id()).collect()
    }

    /// Whether anybody lives who was started here, by whomever and wherever it went.
    pub fn is_anybody_left(&self) -> bool {
        let runs = self.house.runs();
        if self.settled.load(Ordering::Relaxed) == runs {
            return false;
        }
        let runs_on = !self.pids().is_empty() || self.known().stayers.iter().any(Stayer::lives);
        // Where nobody can be looked for, somebody may be there.
        let left = runs_on || self.search().and_unmarked().find().map_or(true, |found| !found.is_empty());
        if !left {
            self.settled.store(runs, Ordering::Relaxed);
        }
        left
    }

    /// Ends everybody: asks, waits at most the grace, then forces.
    pub async fn end_all(&self, grace: Duration) {
        const STEP: Duration = Duration::from_millis(10);
        // A look at all processes of the machine is the dearest part of many a short session.
        if self.house.runs() == 0 {
            return;
        }
        let search = self.search();
        let groups = std::mem::take(&mut self.known().groups);
        let is_over = || search.glance().is_ok_and(|found| found.is_empty());
        if groups.is_empty() && (rest() || is_over()) {
            return;
        }
        groups.iter().for_each(|group| group.ask_members());
        ask_strays(&search);
        let deadline = Instant::now() + grace;
        while Instant::now() < deadline && !is_over() {
            tokio::time::sleep(STEP).await;
        }
        groups.iter().for_each(|group| group.kill_members());
        kill(&search);
    }

    /// Ends everybody at once, without asking.
    pub fn kill_now(&self) {
        if self.house.runs() > 0 {
            let search = self.search();
            self.known().groups.iter().for_each(|group| group.kill_members());
            kill(&search);
        }
    }

    fn search(&self) -> Search {
        let numbers = self.known().groups.iter().filter_map(|group| group.number()).collect();
        Search::of(self.house.family(), numbers)
    }

    /// Starts a process as the leader of one more group.
    pub(super) fn admit(&self, spawn: impl FnOnce() -> io::Result<Pid>) -> io::Result<Leader> {
        // Held meanwhile: whoever is started is not taken for an orphan.
        let mut known = self.known();
        known.collect_orphans_now_and_then(self.house.family());
        let run = self.house.next();
        let id = start(run, spawn)?;
        limits::hand_on(id);
        let leader = Leader::new(id, run)?;
        known.groups.push(leader.group().clone());
        known.leaders.push(Arc::downgrade(leader.group()));
        Ok(leader)
    }

    /// Stops ending this group with the others.
    pub(super) fn forget(&self, group: &Arc<Group>) {
        self.known().groups.retain(|known| !Arc::ptr_eq(known, group));
    }

    /// Takes note of the end of those who were just killed and have no other parent.
    pub(super) fn collect_orphans(&self) {
        self.known().collect_orphans(self.house.family());
    }

    /// Ends this group no more; whether anybody of it lives is still of interest.
    pub(super) fn let_stay(&self, group: &Arc<Group>) -> io::Result<Stayer> {
        let stayer = Stayer::new(group.let_stay()?);
        self.forget(group);
        self.known().stayers.push(stayer.clone());
        Ok(stayer)
    }

    /// Forgets the groups that are empty.
    pub(super) fn prune(&self) {
        drop(self.known());
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // A leader that was not reaped counts as a member, so there is no need to ask.
        known.groups.retain(|group| !group.is_reaped() || group.is_followed() || group.is_alive());
        known
    }
}

impl Known {
    /// Those who became this process's children when they lost their parent hold no more than a number once they are
    /// dead, so now and then is enough.
    fn collect_orphans_now_and_then(&mut self, family: Family) {
        const NOW_AND_THEN: Duration = Duration::from_secs(1);
        // Before the first run of this house there is nobody of it.
        if self.collected.get_or_insert_with(Instant::now).elapsed() >= NOW_AND_THEN {
            self.collect_orphans(family);
        }
    }

    fn collect_orphans(&mut self, family: Family) {
        self.collected = Some(Instant::now());
        self.leaders.retain(|group| group.upgrade().is_some_and(|group| !group.is_reaped()));
        let leaders: Vec<u32> = self.leaders.iter().filter_map(|group| Some(group.upgrade()?.id())).collect();
        for pid in carriers(family).into_iter().flatten() {
            let leads = leaders.contains(&pid);
            if let Some(pid) = Pid::from_raw(pid.cast_signed()).filter(|_| !leads) {
                let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            }
        }
    }
}
