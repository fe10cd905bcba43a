//! Commands that run on by themselves: a list for the user, who may keep one beyond the session or end it. The model has
//! no part in this.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use hookwright_process::{Process, Stayer};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long a command has to end that the user wants to end.
const GRACE: Duration = Duration::from_secs(2);

/// The commands of a session that run on.
#[derive(Debug, Default)]
pub struct Jobs(Mutex<Vec<Arc<Job>>>);

/// One of them.
#[derive(Debug)]
pub struct Job {
    /// The process that began it, which may have ended.
    pub pid: u32,
    /// What was run.
    pub command: String,
    since: Instant,
    wishes: UnboundedSender<Wish>,
    kept: OnceLock<Stayer>,
}

#[derive(Debug)]
enum Wish {
    Keep(oneshot::Sender<io::Result<()>>),
    End(oneshot::Sender<()>),
}

impl Job {
    /// How long it has run.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Whether the user wants it to stay when the session ends.
    pub fn is_kept(&self) -> bool {
        self.kept.get().is_some()
    }

    /// Lets it stay when the session ends.
    ///
    /// # Errors
    /// Why that is not possible.
    pub async fn keep(&self) -> io::Result<()> {
        let (done, answer) = oneshot::channel();
        let over = || io::Error::other("it has ended");
        self.wishes.send(Wish::Keep(done)).map_err(|_| over())?;
        answer.await.unwrap_or_else(|_| Err(over()))
    }

    /// Ends it, by force if it must be.
    pub async fn end(&self) {
        let (done, answer) = oneshot::channel();
        if self.wishes.send(Wish::End(done)).is_ok() {
            let _ = answer.await;
        }
    }

    fn lives(&self) -> bool {
        self.kept.get().is_none_or(Stayer::lives)
    }
}

impl Jobs {
    /// Those that run, the oldest first.
    pub fn list(&self) -> Vec<Arc<Job>> {
        let mut jobs = self.lock();
        jobs.retain(|job| job.lives());
        jobs.clone()
    }

    /// The one that this process began.
    pub fn find(&self, pid: u32) -> Option<Arc<Job>> {
        self.list().into_iter().find(|job| job.pid == pid)
    }

    /// Watches over a command until nobody is left of it, or until the user has decided about it.
    pub(super) async fn watch(&self, mut process: Box<Process>, command: String) {
        let (wishes, mut wished) = unbounded_channel();
        let job = Job { pid: process.pid(), command, since: Instant::now(), wishes, kept: OnceLock::new() };
        let job = Arc::new(job);
        self.lock().push(job.clone());
        let asked = loop {
            match settle(&job, &mut process, &mut wished).await {
                Settled::RunOut => break None,
                Settled::Stays => break stay(&job, &mut process, &mut wished).await,
                Settled::Ended(asked) => break Some(asked),
                Settled::Not => {}
            }
        };
        self.lock().retain(|known| !Arc::ptr_eq(known, &job));
        asked.map(|asked| asked.send(()));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Job>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A command that may stay: until the user wants it to end after all, or nobody is left; who asked for the end.
async fn stay(job: &Job, process: &mut Process, wished: &mut UnboundedReceiver<Wish>) -> Option<oneshot::Sender<()>> {
    const GLANCE: Duration = Duration::from_secs(1);
    while job.lives() {
        let wish = tokio::select! {
            // So that the system's record of its end does not stay.
            _ = process.wait() => tokio::time::timeout(GLANCE, wished.recv()).await.ok().flatten(),
            wish = wished.recv() => wish,
        };
        match wish {
            Some(Wish::Keep(done)) => drop(done.send(Ok(()))),
            Some(Wish::End(done)) => {
                if let Some(stayer) = job.kept.get() {
                    stayer.end(GRACE).await;
                }
                return Some(done);
            }
            None => {}
        }
    }
    None
}

/// What there is to watch of a command.
enum Settled {
    /// It runs on.
    Not,
    /// Nobody is left of it.
    RunOut,
    /// It is not the session's any more.
    Stays,
    /// It was ended; this is who asked for it.
    Ended(oneshot::Sender<()>),
}

async fn settle(job: &Job, process: &mut Process, wished: &mut UnboundedReceiver<Wish>) -> Settled {
    let runs_out = async {
        process.outlast().await;
        process.outlive().await;
    };
    let wish = tokio::select! {
        () = runs_out => return Settled::RunOut,
        Some(wish) = wished.recv() => wish,
    };
    match wish {
        Wish::Keep(done) => {
            let kept = process.let_stay().map(|stayer| drop(job.kept.set(stayer)));
            let settled = if kept.is_ok() { Settled::Stays } else { Settled::Not };
            let _ = done.send(kept);
            settled
        }
        Wish::End(done) => {
            process.end_rest(GRACE).await;
            process.outlive().await;
            Settled::Ended(done)
        }
    }
}
