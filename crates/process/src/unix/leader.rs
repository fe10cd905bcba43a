//! The process that leads a group, which can be waited for. Dropping it ends the process with its group.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::process::Pid;
use tokio::io::unix::AsyncFd;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};

use super::ProcessMarkRange;
use super::group::ProcessGroup;
#[cfg(target_os = "linux")]
use super::sys::watch_pidfd;
use crate::Exit;

/// A process of ours. Reaps the process, by [`ProcessGroup::reap`].
pub(super) struct GroupLeader(LeaderWatch);

/// The leader's group and the descriptor on which its end is awaited.
struct LeaderWatch {
    group: Arc<ProcessGroup>,
    /// Becomes readable when the process ends. Without it, every SIGCHLD is a reason to check.
    handle: Option<AsyncFd<Arc<OwnedFd>>>,
}

impl GroupLeader {
    /// Takes charge of a process that was just started.
    pub(super) fn new(id: Pid, run: ProcessMarkRange) -> io::Result<Self> {
        let handle = open_pidfd(id);
        let group = Arc::new(ProcessGroup::new(id, handle.as_ref().ok().cloned().flatten(), run));
        // From here on, dropping the leader ends the process.
        let mut leader = GroupLeader(LeaderWatch { group, handle: None });
        leader.0.handle = handle?.map(watch_pidfd).transpose()?;
        Ok(leader)
    }

    pub(super) fn group(&self) -> &Arc<ProcessGroup> {
        &self.0.group
    }

    /// Waits for the process's end. Safe to drop and call again, until it has returned.
    pub(super) async fn wait(&self) -> io::Result<Exit> {
        self.0.wait().await
    }
}

impl Drop for GroupLeader {
    /// Kills and reaps the process, since its caller does not wait for it any more.
    fn drop(&mut self) {
        let LeaderWatch { group, handle } = &mut self.0;
        if group.is_reaped() {
            return;
        }
        if !group.is_detached() {
            group.kill();
        }
        if let (Ok(None), Ok(runtime)) = (group.reap(), Handle::try_current()) {
            let watch = LeaderWatch { group: group.clone(), handle: handle.take() };
            runtime.spawn(async move { watch.wait().await });
        }
    }
}

impl LeaderWatch {
    async fn wait(&self) -> io::Result<Exit> {
        let Some(handle) = &self.handle else { return self.wait_by_sigchld().await };
        loop {
            let mut ready = handle.readable().await?;
            match self.group.reap()? {
                Some(exit) => return Ok(exit),
                None => ready.clear_ready(),
            }
        }
    }

    async fn wait_by_sigchld(&self) -> io::Result<Exit> {
        // Subscribe first: an exit between check and subscription would be missed.
        let mut deaths = signal(SignalKind::child())?;
        loop {
            if let Some(exit) = self.group.reap()? {
                return Ok(exit);
            }
            deaths.recv().await;
        }
    }
}

#[cfg(target_os = "linux")]
fn open_pidfd(id: Pid) -> io::Result<Option<Arc<OwnedFd>>> {
    use rustix::process::{PidfdFlags, pidfd_open};
    match pidfd_open(id, PidfdFlags::empty()) {
        Ok(handle) => Ok(Some(Arc::new(handle))),
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_pidfd(_: Pid) -> io::Result<Option<Arc<OwnedFd>>> {
    Ok(None)
}

#[cfg(not(target_os = "linux"))]
fn watch_pidfd(_: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::super::ProcessMarkAllocator;
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[expect(clippy::zombie_processes, reason = "the leader is what reaps it")]
    #[tokio::test]
    async fn leader_without_pidfd_is_reaped_on_sigchld() {
        #[cfg(target_os = "linux")]
        let one_at_a_time = crate::system::child_registry::lock_registry();
        let child = Command::new("sh").args(["-c", "sleep 0.2; exit 6"]).process_group(0).spawn().unwrap();
        #[cfg(target_os = "linux")]
        drop(one_at_a_time);
        let id = Pid::from_raw(child.id().cast_signed()).unwrap();
        let leader = GroupLeader(LeaderWatch {
            group: Arc::new(ProcessGroup::new(id, None, ProcessMarkAllocator::default().next_run())),
            handle: None,
        });
        let exited = tokio::time::timeout(std::time::Duration::from_secs(10), leader.wait()).await;
        assert_eq!(exited.unwrap().unwrap(), Exit::Code(6));
    }
}
