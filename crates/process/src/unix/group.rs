//! A process group that can be signalled without ever reaching another program's processes.
//!
//! A group's number is the process id of its leader. The system keeps the number in use until the leader has been
//! reaped, and after that while any member lives; then the number may be reused. Therefore:
//!
//! - Before the leader is reaped, which [`ProcessGroup::reap`] does, the number is ours.
//! - After that, on Linux, the leader's pidfd still stands for the group: it refers to the kernel's record of the
//!   number, to which exactly our members are tied. A signal through it reaches our members or no process.
//! - Without such a pidfd (Linux before 6.9, other systems) the number counts as ours only if no process has it: while
//!   our group lives no new process can get the number, so a process that has it came later. One case remains: another
//!   program's process took the number, made a group, and left it behind, all since our group was last checked. Groups
//!   are checked whenever a process starts or ends, and forgotten once empty.
//! - Processes that have left the group, even for a session and parent of their own, are found on Linux by their mark,
//!   session or parentage (`descendants.rs`), and signalled one by one, each through a pidfd.

use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process, test_kill_process_group, waitid,
};

use super::{DescendantQuery, EmptyScans, ProcStat, ProcessMarkRange};
use crate::Exit;

/// A group that one of our processes leads or led.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    id: Pid,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are none"))]
    handle: Option<Arc<OwnedFd>>,
    /// The marks that the processes of this run carry.
    run_marks: ProcessMarkRange,
    /// Locked while the number is used, so that it cannot become free in between.
    reaped: Mutex<bool>,
    /// Whether the group stays known while empty, until the caller of [`track`](Self::track) has it forgotten.
    tracked: AtomicBool,
    /// Whether this program does not end the group any more.
    detached: AtomicBool,
}

impl ProcessGroup {
    /// Creates the group of a process that was just started, with a pidfd of that process if the system has them.
    pub(super) fn new(id: Pid, handle: Option<Arc<OwnedFd>>, run: ProcessMarkRange) -> Self {
        ProcessGroup {
            id,
            handle,
            run_marks: run,
            reaped: Mutex::new(false),
            tracked: AtomicBool::new(false),
            detached: AtomicBool::new(false),
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.id.as_raw_nonzero().get().cast_unsigned()
    }

    fn lock_reaped(&self) -> MutexGuard<'_, bool> {
        self.reaped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the leader has been reaped.
    pub(super) fn is_reaped(&self) -> bool {
        *self.lock_reaped()
    }

    /// Reaps the leader if it has ended, and returns how it ended.
    pub(super) fn reap(&self) -> io::Result<Option<Exit>> {
        let mut reaped = self.lock_reaped();
        let ended = loop {
            match waitid(self.leader_wait_id(), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
                Err(Errno::INTR) => {}
                other => break other,
            }
        };
        // After an error the leader cannot be waited for any more.
        *reaped = !matches!(ended, Ok(None));
        Ok(ended?.map(|status| match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        }))
    }

    fn leader_wait_id(&self) -> WaitId<'_> {
        #[cfg(target_os = "linux")]
        if let Some(handle) = &self.handle {
            return WaitId::PidFd(handle.as_fd());
        }
        WaitId::Pid(self.id)
    }

    /// Returns whether the group has members, zombies included.
    pub(super) fn is_alive(&self) -> bool {
        // A refused signal shows a member too.
        self.signal(None) != Err(Errno::SRCH)
    }

    /// Returns whether the group stays known until the caller of [`track`](Self::track) has it forgotten.
    pub(super) fn is_tracked(&self) -> bool {
        self.tracked.load(Ordering::Relaxed)
    }

    /// Lets the processes of the run outlive this program, and returns them.
    pub(super) fn detach(&self) -> io::Result<Vec<ProcStat>> {
        let detached = self.descendant_query().detach_all()?;
        self.detached.store(true, Ordering::Relaxed);
        Ok(detached)
    }

    /// Returns whether this program does not end the group any more.
    pub(super) fn is_detached(&self) -> bool {
        self.detached.load(Ordering::Relaxed)
    }

    /// Keeps the group known even if only other processes of its session are left.
    pub(super) fn track(&self) {
        self.tracked.store(true, Ordering::Relaxed);
    }

    /// Returns the living members of the group and, on Linux, all other living processes of this run.
    pub(super) fn live_pids(&self) -> Vec<u32> {
        self.descendant_query().find_pids().unwrap_or_default()
    }

    fn descendant_query(&self) -> DescendantQuery {
        DescendantQuery::new(self.run_marks, self.owned_id().into_iter().collect())
    }

    /// Returns the group's number, unless another program's process has it by now.
    pub(super) fn owned_id(&self) -> Option<u32> {
        let is_taken_again = *self.lock_reaped() && test_kill_process(self.id) != Err(Errno::SRCH);
        (!is_taken_again).then(|| self.id())
    }

    /// Sends SIGTERM to all processes of the run.
    pub(super) fn terminate(&self) {
        self.terminate_members();
        terminate_strays(&self.descendant_query());
    }

    /// Sends SIGTERM to the members of the group.
    pub(super) fn terminate_members(&self) {
        if self.signal(Some(Signal::TERM)).is_ok() {
            tracing::debug!(pid = self.id(), "asked to end");
        }
        // A stopped process handles SIGTERM only once it is resumed.
        let _ = self.signal(Some(Signal::CONT));
    }

    /// Kills all processes of the run.
    pub(super) fn kill(&self) {
        self.kill_members();
        kill_matching(&self.descendant_query());
    }

    /// Kills the members of the group.
    pub(super) fn kill_members(&self) {
        if self.signal(Some(Signal::KILL)).is_ok() {
            tracing::debug!(pid = self.id(), "killed");
        }
    }

    fn signal(&self, signal: Option<Signal>) -> rustix::io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(handle) = &self.handle {
            let number = signal.map_or(0, Signal::as_raw);
            let done = super::sys::signal_group(handle.as_fd(), number);
            // Any other error comes from an older kernel, or from one that forbids this call.
            if matches!(done, Ok(()) | Err(Errno::SRCH)) {
                return done;
            }
        }
        self.signal_by_id(signal)
    }

    fn signal_by_id(&self, signal: Option<Signal>) -> rustix::io::Result<()> {
        let reaped = self.lock_reaped();
        if *reaped && test_kill_process(self.id) != Err(Errno::SRCH) {
            return Err(Errno::SRCH);
        }
        match signal {
            Some(signal) => kill_process_group(self.id, signal),
            None => test_kill_process_group(self.id),
        }
    }
}

/// Sends SIGTERM to the processes that are in none of the query's groups.
pub(super) fn terminate_strays(search: &DescendantQuery) {
    let found = search.find().unwrap_or_default();
    let strays = found.iter().filter(|process| !search.group_ids.contains(&process.group));
    strays.for_each(|process| drop(process.signal(&[Signal::TERM, Signal::CONT])));
}

/// Kills all processes that can be found; `kill_descendants` at the program's exit, or the watchdog, kills the rest.
pub(super) fn kill_matching(search: &DescendantQuery) {
    if let Err(error) = search.kill_all(EmptyScans::One) {
        tracing::warn!(%error, "not everybody could be looked for");
    }
}

#[cfg(test)]
mod tests {
    use super::super::ProcessMarkAllocator;
    use super::*;
    use hookwright_testkit::deadline::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};
    use std::time::Duration;

    /// Starts a process that leads a group, without the help of this crate.
    ///
    /// It waits while another test lends this program a mark that the process would inherit.
    fn spawn_group(script: &str) -> (Child, Pid) {
        #[cfg(target_os = "linux")]
        let _one_at_a_time = crate::system::child_registry::lock_registry();
        let child = Command::new("sh").args(["-c", script]).process_group(0).spawn().unwrap();
        let id = Pid::from_raw(child.id().cast_signed()).unwrap();
        (child, id)
    }

    fn wait_for_leader(group: &ProcessGroup) -> Exit {
        wait_for("the leader ends", || group.reap().unwrap())
    }

    /// Waits until no process of the group lives.
    ///
    /// Zombies may stay for ever where the init process of a namespace does not reap them.
    fn wait_until_empty(group: &ProcessGroup) {
        wait_for("the group is empty", || group.descendant_query().find().unwrap().is_empty().then_some(()));
    }

    #[test]
    fn group_without_pidfd_is_signalled_by_number() {
        let (_child, id) = spawn_group("sleep 60 & exit 4");
        let group = ProcessGroup::new(id, None, ProcessMarkAllocator::default().next_run());
        assert!(group.is_alive());
        assert_eq!(wait_for_leader(&group), Exit::Code(4));
        assert!(group.is_alive() && group.descendant_query().find().unwrap().len() == 1);
        group.kill();
        wait_until_empty(&group);
        assert!(group.descendant_query().find().unwrap().is_empty());
    }

    #[test]
    fn reused_group_number_is_never_signalled() {
        let (mut stranger, id) = spawn_group("exec sleep 60");
        let group = ProcessGroup {
            reaped: Mutex::new(true),
            ..ProcessGroup::new(id, None, ProcessMarkAllocator::default().next_run())
        };
        assert!(!group.is_alive() && group.live_pids().is_empty());
        group.terminate();
        group.kill();
        std::thread::sleep(Duration::from_millis(50));
        assert!(stranger.try_wait().unwrap().is_none(), "it was signalled");
        stranger.kill().unwrap();
        stranger.wait_in_time().unwrap();
    }

    /// The number of an empty group is really given to another process, which leads a group too.
    #[cfg(target_os = "linux")]
    #[test]
    fn pidfd_outlives_its_number() {
        use rustix::process::{PidfdFlags, pidfd_open};
        let (_child, id) = spawn_group("sleep 60 & exit 0");
        let handle = pidfd_open(id, PidfdFlags::empty()).unwrap();
        let group = ProcessGroup::new(id, Some(Arc::new(handle)), ProcessMarkAllocator::default().next_run());
        wait_for_leader(&group);
        assert!(group.is_alive(), "others live, and the handle reaches them");
        group.kill();
        wait_until_empty(&group);
        let Some(mut stranger) = (0..200).find_map(|_| {
            std::fs::write("/proc/sys/kernel/ns_last_pid", (group.id() - 1).to_string()).ok()?;
            let (mut child, its_id) = spawn_group("exec sleep 60");
            if its_id == id {
                return Some(child);
            }
            child.kill().unwrap();
            child.wait_in_time().unwrap();
            None
        }) else {
            eprintln!("skipped: numbers of processes cannot be chosen here");
            return;
        };
        assert!(!group.is_alive());
        group.kill();
        std::thread::sleep(Duration::from_millis(50));
        assert!(stranger.try_wait().unwrap().is_none(), "it was signalled");
        stranger.kill().unwrap();
        stranger.wait_in_time().unwrap();
    }
}
