//! Runs one shell command under limits: its own process group, output kept to a bound and passed on as it comes, ended
//! with everything it started when it is cancelled or takes too long. Knows nothing of tools and their results.

mod capture;
mod group;

pub(crate) use capture::Capture;
use capture::Utf8Stream;

use crate::context::ToolContext;
use std::ffi::OsString;
use std::io::{self, PipeReader, Read};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

/// Once the command itself has ended: how long silence must last, and how long output is waited for at most, if
/// something it left behind holds the pipe open.
const QUIET: Duration = Duration::from_millis(100);
const DRAIN: Duration = Duration::from_millis(500);

/// Commands left running on purpose. The agent ends them with the session.
#[derive(Debug, Default)]
pub struct BackgroundJobs(Mutex<Vec<Job>>);

#[derive(Debug)]
struct Job {
    pid: u32,
    over: Over,
}

/// How it is known that a job is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// Its process has ended.
    WithProcess,
    /// Nobody holds its output any more: the process that led it ended long ago.
    WithOutput,
}

impl BackgroundJobs {
    /// The process groups that run.
    pub fn pids(&self) -> Vec<u32> {
        self.lock().iter().map(|job| job.pid).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Job>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, pid: u32, over: Over) {
        self.lock().push(Job { pid, over });
    }

    fn remove(&self, pid: u32, over: Over) {
        self.lock().retain(|job| job.pid != pid || job.over != over);
    }

    /// Ends all of them at once and by force.
    pub fn kill_now(&self) {
        self.pids().into_iter().for_each(group::force_to_end);
    }

    /// Asks all of them to end, and forces those that have not after `grace`.
    pub async fn end_all(&self, grace: Duration) {
        let pids = self.pids();
        for pid in &pids {
            group::ask_to_end(*pid);
        }
        let deadline = Instant::now() + grace;
        while Instant::now() < deadline && pids.iter().any(|pid| !group::members(*pid).is_empty()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for pid in &pids {
            group::force_to_end(*pid);
        }
        self.lock().retain(|job| !pids.contains(&job.pid));
    }
}

/// A command that has been started. Dropping it ends the command and all of its group.
pub(crate) struct Started {
    child: Child,
    chunks: mpsc::Receiver<Vec<u8>>,
    group: OwnedGroup,
    decoder: Utf8Stream,
    pub(crate) output: Capture,
}

/// Why a command is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Exited(ExitStatus),
    /// It was silent for too long.
    Inactive(Duration),
    /// It ran for too long.
    TimedOut(Duration),
    /// The call was cancelled.
    Cancelled,
}

/// A command that is over, and what it left running.
pub(crate) struct Finished {
    pub(crate) end: End,
    pub(crate) output: Capture,
    pub(crate) left_behind: Vec<u32>,
}

/// Ends its process group when dropped, unless let go.
struct OwnedGroup {
    pid: u32,
    held: bool,
}

impl Drop for OwnedGroup {
    fn drop(&mut self) {
        if self.held {
            group::force_to_end(self.pid);
        }
    }
}

/// Starts `bash -c`, or `sh -c` where there is no bash.
pub(crate) fn start(command: &str, directory: &Path, ctx: &ToolContext) -> io::Result<Started> {
    match start_with("bash", command, directory, ctx) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && directory.is_dir() => {
            start_with("sh", command, directory, ctx)
        }
        outcome => outcome,
    }
}

fn start_with(shell: &str, command: &str, directory: &Path, ctx: &ToolContext) -> io::Result<Started> {
    // One pipe for both streams keeps their order.
    let (reader, writer) = io::pipe()?;
    let mut process = Command::new(shell);
    process
        .arg("-c")
        .arg(command)
        .current_dir(directory)
        .env_clear()
        .envs(ctx.environment.iter().map(|(name, value)| (name, value)))
        .envs(OVERRIDES.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))))
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    #[cfg(unix)]
    process.process_group(0);
    let child = process.spawn()?;
    // The command's own copies of the pipe's end, or it would never close.
    drop(process);
    let pid = child.id().ok_or_else(|| io::Error::other("the command ended before it had begun"))?;
    let group = OwnedGroup { pid, held: true };
    let chunks = read_in_thread(reader, pid, Arc::clone(&ctx.background))?;
    Ok(Started {
        child,
        chunks,
        group,
        decoder: Utf8Stream::default(),
        output: Capture::new(ctx.shell.max_output_bytes),
    })
}

/// Scripts can tell that an agent runs them; pagers would wait for a key that nobody presses.
const OVERRIDES: &[(&str, &str)] = &[("GEMINI_CLI", "1"), ("PAGER", "cat"), ("GIT_PAGER", "cat")];

/// Reads until the last holder of the pipe is gone, which may be long after the command; when nobody listens any more
/// the rest is dropped, so that what runs on is not stopped by a full or closed pipe. A thread of its own, since it
/// must not hold up the runtime's end.
fn read_in_thread(
    mut reader: PipeReader,
    pid: u32,
    background: Arc<BackgroundJobs>,
) -> io::Result<mpsc::Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel::<Vec<u8>>(16);
    std::thread::Builder::new().name("command-output".into()).spawn(move || {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    let _ = sender.blocking_send(buffer[..count].to_vec());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        // In this order, see `leave`.
        drop(sender);
        background.remove(pid, Over::WithOutput);
    })?;
    Ok(receiver)
}

impl Started {
    /// The process, which leads its group.
    pub(crate) fn pid(&self) -> u32 {
        self.group.pid
    }

    fn take(&mut self, chunk: &[u8], ctx: &ToolContext) {
        self.output.push(chunk);
        ctx.output.send(&self.decoder.push(chunk));
    }

    /// Waits for the end, at most as long as the settings allow.
    pub(crate) async fn finish(mut self, ctx: &ToolContext) -> io::Result<Finished> {
        let started = Instant::now();
        let far = started + Duration::from_secs(86_400 * 365);
        let deadline = ctx.shell.timeout.map_or(far, |limit| started + limit);
        let mut last_output = started;
        let mut open = true;
        let end = loop {
            let silent_until = ctx.shell.inactivity_timeout.map_or(far, |limit| last_output + limit);
            tokio::select! {
                chunk = self.chunks.recv(), if open => match chunk {
                    Some(chunk) => {
                        last_output = Instant::now();
                        self.take(&chunk, ctx);
                    }
                    None => open = false,
                },
                status = self.child.wait() => break End::Exited(status?),
                () = ctx.cancel.cancelled() => break End::Cancelled,
                () = sleep_until(silent_until) => {
                    break End::Inactive(ctx.shell.inactivity_timeout.unwrap_or_default());
                }
                () = sleep_until(deadline) => break End::TimedOut(ctx.shell.timeout.unwrap_or_default()),
            }
        };
        if !matches!(end, End::Exited(_)) {
            self.stop(ctx).await;
        }
        self.drain(ctx).await;
        let left_behind = if matches!(end, End::Exited(_)) { self.leave(ctx) } else { Vec::new() };
        Ok(Finished { end, output: std::mem::take(&mut self.output), left_behind })
    }

    /// Watches the command for a while; `None` if it runs on after that.
    pub(crate) async fn watch(&mut self, ctx: &ToolContext, delay: Duration) -> io::Result<Option<ExitStatus>> {
        let until = Instant::now() + delay;
        let mut open = true;
        loop {
            tokio::select! {
                chunk = self.chunks.recv(), if open => match chunk {
                    Some(chunk) => self.take(&chunk, ctx),
                    None => open = false,
                },
                status = self.child.wait() => {
                    self.drain(ctx).await;
                    return status.map(Some);
                }
                () = sleep_until(until) => return Ok(None),
                () = ctx.cancel.cancelled() => return Ok(None),
            }
        }
    }

    /// Lets the command run on by itself; the session's end is the end of it.
    pub(crate) fn detach(mut self, ctx: &ToolContext) {
        self.group.held = false;
        let (pid, background) = (self.pid(), Arc::clone(&ctx.background));
        background.add(pid, Over::WithProcess);
        let mut child = self.child;
        tokio::spawn(async move {
            let _ = child.wait().await;
            if group::members(pid).is_empty() {
                background.remove(pid, Over::WithProcess);
            }
        });
    }

    /// What is still in the pipe.
    async fn drain(&mut self, ctx: &ToolContext) {
        let until = Instant::now() + DRAIN;
        while Instant::now() < until
            && let Ok(Some(chunk)) = timeout(QUIET, self.chunks.recv()).await
        {
            self.take(&chunk, ctx);
        }
    }

    /// Asks the whole group to end, waits, then forces it.
    async fn stop(&mut self, ctx: &ToolContext) {
        let pid = self.pid();
        group::ask_to_end(pid);
        let deadline = Instant::now() + ctx.shell.grace;
        let mut reaped = false;
        let mut open = true;
        while Instant::now() < deadline && (!reaped || !group::members(pid).is_empty()) {
            tokio::select! {
                chunk = self.chunks.recv(), if open => match chunk {
                    Some(chunk) => self.take(&chunk, ctx),
                    None => open = false,
                },
                _ = self.child.wait(), if !reaped => reaped = true,
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
        }
        group::force_to_end(pid);
        let _ = self.child.start_kill();
        let _ = timeout(Duration::from_secs(1), self.child.wait()).await;
        self.group.held = false;
    }

    /// The processes that the command started and did not wait for. They run on, as in any shell.
    fn leave(&mut self, ctx: &ToolContext) -> Vec<u32> {
        self.group.held = false;
        let left = group::members(self.pid());
        if !left.is_empty() {
            ctx.background.add(self.pid(), Over::WithOutput);
            // What has let go of the output (a daemon) is on its own. The reader closes the channel before it removes
            // the job, so either it or this does.
            if self.chunks.is_closed() {
                ctx.background.remove(self.pid(), Over::WithOutput);
            }
        }
        left
    }
}
