//! Commands that run in the background: a list for the user, who may keep a command beyond the session or end it. The
//! model has no access to it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hookwright_process::{DetachedProcesses, Process};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The time that a job has to end before it is killed.
const JOB_KILL_GRACE_PERIOD: Duration = Duration::from_secs(2);

/// The background commands of a session.
#[derive(Debug, Default)]
pub struct BackgroundJobs(Mutex<Vec<Arc<BackgroundJob>>>);

/// A command that runs in the background.
#[derive(Debug)]
pub struct BackgroundJob {
    /// The id of the command's first process, which may have ended.
    pub pid: u32,
    pub command: String,
    started_at: Instant,
    commands: UnboundedSender<JobCommand>,
    kept_process: OnceLock<DetachedProcesses>,
}

#[derive(Debug)]
enum JobCommand {
    Keep(oneshot::Sender<io::Result<()>>),
    Terminate(oneshot::Sender<()>),
}

impl BackgroundJob {
    /// Returns how long it has run.
    pub fn age(&self) -> Duration {
        self.started_at.elapsed()
    }

    /// Returns whether it stays when the session ends.
    pub fn is_kept(&self) -> bool {
        self.kept_process.get().is_some()
    }

    /// Lets it stay when the session ends.
    ///
    /// # Errors
    /// If it has ended, or its processes can't be detached.
    pub async fn keep(&self) -> io::Result<()> {
        let (done, answer) = oneshot::channel();
        let over = || io::Error::other("it has ended");
        self.commands.send(JobCommand::Keep(done)).map_err(|_| over())?;
        answer.await.unwrap_or_else(|_| Err(over()))
    }

    /// Ends it, by force after a grace period.
    pub async fn terminate(&self) {
        let (done, answer) = oneshot::channel();
        if self.commands.send(JobCommand::Terminate(done)).is_ok() {
            let _ = answer.await;
        }
    }

    fn is_alive(&self) -> bool {
        self.kept_process.get().is_none_or(DetachedProcesses::is_alive)
    }
}

impl BackgroundJobs {
    /// Returns the running jobs, the oldest first.
    pub fn list(&self) -> Vec<Arc<BackgroundJob>> {
        let mut jobs = self.lock();
        jobs.retain(|job| job.is_alive());
        jobs.clone()
    }

    /// Returns the job whose first process has this id.
    pub fn find(&self, pid: u32) -> Option<Arc<BackgroundJob>> {
        self.list().into_iter().find(|job| job.pid == pid)
    }

    /// Supervises a command until all its processes have ended or the user has ended it.
    pub(super) async fn supervise(&self, mut process: Box<Process>, command: String) {
        let (sender, mut receiver) = unbounded_channel();
        let job = BackgroundJob {
            pid: process.pid(),
            command,
            started_at: Instant::now(),
            commands: sender,
            kept_process: OnceLock::new(),
        };
        let job = Arc::new(job);
        self.lock().push(job.clone());
        let requester = loop {
            match next_state(&job, &mut process, &mut receiver).await {
                JobState::Exited => break None,
                JobState::Kept => break watch_kept_job(&job, &mut process, &mut receiver).await,
                JobState::Terminated(requester) => break Some(requester),
                JobState::Running => {}
            }
        };
        self.lock().retain(|known| !Arc::ptr_eq(known, &job));
        requester.map(|requester| requester.send(()));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<BackgroundJob>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Supervises a kept job until all its processes have ended or the user ends it; returns the sender to notify then.
async fn watch_kept_job(
    job: &BackgroundJob,
    process: &mut Process,
    receiver: &mut UnboundedReceiver<JobCommand>,
) -> Option<oneshot::Sender<()>> {
    const KEPT_JOB_POLL_INTERVAL: Duration = Duration::from_secs(1);
    while job.is_alive() {
        let request = tokio::select! {
            // Waiting for the process removes it from the process table.
            _ = process.wait() => tokio::time::timeout(KEPT_JOB_POLL_INTERVAL, receiver.recv()).await.ok().flatten(),
            request = receiver.recv() => request,
        };
        match request {
            Some(JobCommand::Keep(done)) => drop(done.send(Ok(()))),
            Some(JobCommand::Terminate(done)) => {
                if let Some(detached) = job.kept_process.get() {
                    detached.terminate(JOB_KILL_GRACE_PERIOD).await;
                }
                return Some(done);
            }
            None => {}
        }
    }
    None
}

/// The state of a job.
enum JobState {
    /// Processes of it run.
    Running,
    /// All its processes have ended.
    Exited,
    /// It stays when the session ends.
    Kept,
    /// It was ended; the sender notifies the caller that asked for it.
    Terminated(oneshot::Sender<()>),
}

async fn next_state(
    job: &BackgroundJob,
    process: &mut Process,
    receiver: &mut UnboundedReceiver<JobCommand>,
) -> JobState {
    let runs_out = async {
        process.discard_output().await;
        process.wait_for_group().await;
    };
    let request = tokio::select! {
        () = runs_out => return JobState::Exited,
        Some(request) = receiver.recv() => request,
    };
    match request {
        JobCommand::Keep(done) => {
            let kept = process.detach().map(|detached| drop(job.kept_process.set(detached)));
            let settled = if kept.is_ok() { JobState::Kept } else { JobState::Running };
            let _ = done.send(kept);
            settled
        }
        JobCommand::Terminate(done) => {
            process.terminate_group(JOB_KILL_GRACE_PERIOD).await;
            process.wait_for_group().await;
            JobState::Terminated(done)
        }
    }
}
