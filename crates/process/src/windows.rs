//! Processes on Windows: threads read the pipes, and `taskkill /T` ends a process with its children. There are no groups
//! that outlive their first process, so nothing is ever left behind.

use std::collections::HashSet;
use std::io::{self, PipeReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::{
    Capture, CaptureLimit, DirectoryLocation, Exit, FinishedProcess, OutputCallback, OutputRouting, ProcessEvent,
    ProcessInput, ProgramSpec, TerminationWait,
};

/// How long an ended process's pipes may stay quiet before they count as read: the threads run beside us.
const OUTPUT_SETTLE_PERIOD: Duration = Duration::from_millis(10);

/// A process. Dropping it before it has ended ends it with its children.
pub struct Process {
    child: Child,
    id: u32,
    pieces: mpsc::Receiver<(OutputSource, Vec<u8>)>,
    open: bool,
    stdout: Capture,
    stderr: Capture,
    live: Option<OutputCallback>,
    groups: Arc<ProcessGroups>,
    exit: Option<Exit>,
}

#[derive(Clone, Copy)]
enum OutputSource {
    Stdout,
    Stderr,
}

impl Process {
    /// Starts a program; input and output move on threads of their own.
    ///
    /// # Errors
    /// The system's own, if the program cannot be started or there is no room for its pipes.
    pub fn spawn(
        program: &mut ProgramSpec<'_>,
        input: ProcessInput,
        output: OutputRouting,
        groups: &Arc<ProcessGroups>,
    ) -> io::Result<Process> {
        let mut command = command(program);
        let (sender, pieces) = mpsc::channel(16);
        let (out_read, out_write) = io::pipe()?;
        read_in_thread(out_read, OutputSource::Stdout, sender.clone())?;
        let (keep, live) = match output {
            OutputRouting::Terminal(..) => return Err(io::ErrorKind::Unsupported.into()),
            OutputRouting::Separate(keep) => {
                let (read, write) = io::pipe()?;
                read_in_thread(read, OutputSource::Stderr, sender)?;
                command.stderr(write);
                (keep, None)
            }
            OutputRouting::Merged(keep, live) => {
                command.stderr(out_write.try_clone()?);
                (keep, Some(live))
            }
        };
        command.stdout(out_write);
        let feed = match input {
            ProcessInput::Empty => None,
            ProcessInput::Chunks(bytes) => {
                let (read, write) = io::pipe()?;
                command.stdin(read);
                Some((write, bytes))
            }
        };
        let child = command.spawn()?;
        // Our copies of its ends must go, or the end of its output would never come.
        drop(command);
        let process = Process::from_child(child, pieces, keep, live, groups)?;
        if let Some((mut pipe, bytes)) = feed {
            std::thread::Builder::new()
                .name("process-input".into())
                .spawn(move || bytes.iter().try_for_each(|piece| pipe.write_all(piece)))?;
        }
        Ok(process)
    }

    fn from_child(
        child: Child,
        pieces: mpsc::Receiver<(OutputSource, Vec<u8>)>,
        keep: CaptureLimit,
        live: Option<OutputCallback>,
        groups: &Arc<ProcessGroups>,
    ) -> io::Result<Self> {
        let id = child.id().ok_or(io::ErrorKind::NotFound)?;
        groups.lock().insert(id);
        tracing::trace!(pid = id, "started");
        let (stdout, stderr) = (Capture::new(keep), Capture::new(keep));
        Ok(Process { child, id, pieces, open: true, stdout, stderr, live, groups: groups.clone(), exit: None })
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.id
    }

    /// What it has printed so far, of which only some is kept.
    pub fn stdout(&self) -> &Capture {
        &self.stdout
    }

    /// Waits until it has printed something or has itself ended. Safe to drop and call again.
    ///
    /// # Errors
    /// If its end could not be seen.
    pub async fn next_event(&mut self) -> io::Result<ProcessEvent> {
        if let Some(exit) = self.exit {
            return Ok(ProcessEvent::Exited(exit));
        }
        loop {
            tokio::select! {
                biased;
                status = self.child.wait() => {
                    self.groups.lock().remove(&self.id);
                    let exit = Exit::Code(status?.code().unwrap_or_default());
                    self.exit = Some(exit);
                    self.read_until_quiet(OUTPUT_SETTLE_PERIOD, Instant::now() + OUTPUT_SETTLE_PERIOD * 10).await;
                    return Ok(ProcessEvent::Exited(exit));
                }
                piece = self.pieces.recv(), if self.open => {
                    if self.push_piece(piece) {
                        return Ok(ProcessEvent::Output);
                    }
                }
            }
        }
    }

    /// What has happened by now, if anything.
    ///
    /// # Errors
    /// As [`next_event`](Self::next_event).
    pub fn try_next_event(&mut self) -> io::Result<Option<ProcessEvent>> {
        if self.exit.is_none()
            && let Some(status) = self.child.try_wait()?
        {
            self.groups.lock().remove(&self.id);
            self.exit = Some(Exit::Code(status.code().unwrap_or_default()));
        }
        let mut read = false;
        while let Ok(piece) = self.pieces.try_recv() {
            read |= self.push_piece(Some(piece));
        }
        Ok(self.exit.map(ProcessEvent::Exited).or(read.then_some(ProcessEvent::Output)))
    }

    /// Whether there was a piece to take.
    fn push_piece(&mut self, piece: Option<(OutputSource, Vec<u8>)>) -> bool {
        let Some((which, bytes)) = piece else {
            self.open = false;
            return false;
        };
        match which {
            OutputSource::Stdout => self.stdout.push(&bytes),
            OutputSource::Stderr => self.stderr.push(&bytes),
        }
        if let Some(live) = &mut self.live {
            live(&bytes);
        }
        true
    }

    /// Waits until it has itself ended.
    ///
    /// # Errors
    /// As [`next_event`](Self::next_event).
    pub async fn wait(&mut self) -> io::Result<Exit> {
        loop {
            if let ProcessEvent::Exited(exit) = self.next_event().await? {
                return Ok(exit);
            }
        }
    }

    /// Reads on after its end, for those who still hold its pipes: until they let go, are `quiet` for so long, or the
    /// deadline is there.
    pub async fn read_until_quiet(&mut self, quiet: Duration, deadline: Instant) {
        while self.open
            && Instant::now() < deadline
            && let Ok(piece) = timeout(quiet, self.pieces.recv()).await
        {
            self.push_piece(piece);
        }
    }

    /// Waits until everybody has let go of its pipes; what still comes is dropped.
    pub async fn discard_output(&mut self) {
        self.live = None;
        (self.stdout, self.stderr) = Default::default();
        while self.exit.is_none() && self.next_event().await.is_ok_and(|step| step == ProcessEvent::Output) {}
        while self.open {
            let piece = self.pieces.recv().await;
            self.push_piece(piece);
        }
    }

    /// Waits for something on stderr; for ever if nobody can say anything there.
    pub(crate) async fn wait_for_stderr(&mut self) {
        while self.open {
            let piece = self.pieces.recv().await;
            if self.push_piece(piece) {
                return;
            }
        }
        std::future::pending().await
    }

    /// Ends the process and its children.
    pub async fn terminate(&mut self, grace: Duration, _until: TerminationWait) {
        if self.exit.is_none() {
            self.groups.kill(self.id);
            let _ = timeout(grace, self.wait()).await;
        }
    }

    /// The processes that it started and did not wait for: none that we would know of.
    pub fn live_pids(&self) -> Vec<u32> {
        Vec::new()
    }

    /// The memory that it and all that come from it take, in bytes: nobody looks here.
    pub fn memory_bytes(&self) -> Option<u64> {
        None
    }

    /// Whether everybody has let go of its output.
    pub fn is_output_closed(&self) -> bool {
        !self.open
    }

    /// Nothing to do here.
    pub fn track_group(&self) {}

    /// What it left behind cannot be followed here.
    pub async fn wait_for_group(&mut self) {}

    /// Nothing can be kept here.
    ///
    /// # Errors
    /// Always.
    pub fn detach(&mut self) -> io::Result<DetachedProcesses> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Ends the process and its children.
    pub async fn terminate_group(&mut self, grace: Duration) {
        self.terminate(grace, TerminationWait::Group).await;
    }

    /// Whether somebody is left, which nobody can tell here.
    pub fn has_survivors(&self) -> bool {
        false
    }

    /// What it printed. One that has not ended is ended.
    pub fn finish(mut self) -> FinishedProcess {
        let (stdout, stderr) = (std::mem::take(&mut self.stdout), std::mem::take(&mut self.stderr));
        FinishedProcess { stdout, stderr, has_survivors: false }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.exit.is_none() {
            self.groups.kill(self.id);
        }
    }
}

fn command(program: &mut ProgramSpec<'_>) -> Command {
    let mut command = Command::new(program.path);
    command.args(program.args).current_dir(program.cwd).env_clear().envs(&mut *program.env).stdin(Stdio::null());
    command
}

fn read_in_thread(
    mut pipe: PipeReader,
    which: OutputSource,
    sender: mpsc::Sender<(OutputSource, Vec<u8>)>,
) -> io::Result<()> {
    std::thread::Builder::new().name("process-output".into()).spawn(move || {
        let mut buffer = vec![0; 16 << 10];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            // Nobody may listen any more; the rest is read all the same, so that the writer is not stopped.
            let _ = sender.blocking_send((which, buffer[..count].to_vec()));
        }
    })?;
    Ok(())
}

/// Where lines are said.
pub type ProcessStdin = ChildStdin;

/// Nobody can tell here what is there without waiting for it.
pub fn read_nonblocking(_: &ProcessStdout, _: &mut [u8]) -> io::Result<usize> {
    Err(io::ErrorKind::WouldBlock.into())
}

/// Whether a process that is gone had not read all that was said to it: the system does not tell.
pub fn has_unread_input(_: &ProcessStdin) -> bool {
    false
}

/// Where lines are heard.
pub type ProcessStdout = ChildStdout;

/// Starts a program whose stdin and stdout are somebody else's to handle.
pub(crate) fn spawn_interactive(
    program: &mut ProgramSpec<'_>,
    complaints: CaptureLimit,
    live: Option<OutputCallback>,
    groups: &Arc<ProcessGroups>,
) -> io::Result<(Process, ProcessStdin, ProcessStdout)> {
    let mut command = command(program);
    let (sender, pieces) = mpsc::channel(16);
    let (read, write) = io::pipe()?;
    read_in_thread(read, OutputSource::Stderr, sender)?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(write).spawn()?;
    drop(command);
    let pipes = child.stdin.take().zip(child.stdout.take());
    let process = Process::from_child(child, pieces, complaints, live, groups)?;
    let (to, from) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
    Ok((process, to, from))
}

/// Those of a process who may stay when this program goes; there are none here.
#[derive(Clone, Debug)]
pub struct DetachedProcesses(());

impl DetachedProcesses {
    /// Whether one of them lives.
    pub fn is_alive(&self) -> bool {
        false
    }

    /// There is nobody to end.
    pub async fn terminate(&self, _: Duration) {}
}

/// The processes that run.
#[derive(Debug, Default)]
pub struct ProcessGroups(Mutex<HashSet<u32>>);

impl ProcessGroups {
    /// Their numbers.
    pub fn pids(&self) -> Vec<u32> {
        self.lock().iter().copied().collect()
    }

    /// Whether one of them runs.
    pub fn has_live_processes(&self) -> bool {
        !self.lock().is_empty()
    }

    /// Ends every process with its children.
    pub async fn terminate_all(&self, _grace: Duration) {
        self.kill_all();
    }

    /// Ends every process with its children.
    pub fn kill_all(&self) {
        self.pids().into_iter().for_each(|id| self.kill(id));
    }

    fn kill(&self, id: u32) {
        // Only of a process that has not been seen to end is the number still its own.
        if self.lock().remove(&id) {
            tracing::debug!(pid = id, "killed");
            let _ = std::process::Command::new("taskkill")
                .args(["/pid", &id.to_string(), "/t", "/f"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A directory by its path: one that a program works in cannot be moved here.
#[derive(Clone, Debug)]
pub struct DirectoryHandle(PathBuf);

impl DirectoryHandle {
    /// A directory to come back to.
    pub fn open(path: impl Into<PathBuf>) -> Self {
        DirectoryHandle(path.into())
    }

    /// A directory by a path without links.
    ///
    /// # Errors
    /// If there is none.
    pub fn open_nofollow(path: impl Into<PathBuf>) -> std::io::Result<Self> {
        let path = path.into();
        if path.is_dir() { Ok(DirectoryHandle(path)) } else { Err(std::io::ErrorKind::NotADirectory.into()) }
    }

    /// Where it was.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where it is now.
    pub fn locate(&self) -> DirectoryLocation {
        if self.0.is_dir() { DirectoryLocation::Unmoved } else { DirectoryLocation::Gone }
    }

    /// Whether programs may start there.
    pub fn is_searchable(&self) -> bool {
        true
    }
}

/// What the program asks of the system for itself; nothing here.
pub(crate) mod self_protection {
    /// There is no such signal.
    pub fn ignore_file_size_signal() {}

    /// Other programs of the same user may look into this one.
    pub fn forbid_memory_inspection() {}
}

/// Limits, of which this system sets none that matter here.
pub(crate) mod current_process {
    /// Nobody hears of an abort here.
    pub fn set_abort_handler(_: fn()) {}

    /// A console takes no words that might wait.
    pub fn write_final_output(_: &[&str], _: &str) {}

    /// Nobody says so here.
    pub fn is_terminal_hangup(_: &std::io::Error) -> bool {
        false
    }

    /// A write tells; nothing else does here.
    pub fn is_stdout_closed() -> bool {
        false
    }

    /// Nobody stops a process here.
    pub fn suspend_self() {}

    /// There are no jobs.
    pub fn suspend_job() {}

    /// There is no such signal.
    pub fn is_hangup_ignored() -> bool {
        false
    }
}

pub(crate) mod limits {
    use crate::limiter::ResourceUsage;

    /// There is no such limit.
    pub fn raise_descriptor_limit() {}

    /// It is set when a program is made, and small.
    pub fn reserve_stack(_: usize) -> bool {
        false
    }

    /// All threads share their memory here as it is.
    pub fn use_single_malloc_arena() {}

    pub(crate) fn are_threads_unlimited() -> bool {
        true
    }

    pub(crate) fn oom_kill_count() -> u64 {
        0
    }

    pub(crate) fn descriptor_usage() -> ResourceUsage {
        ResourceUsage { limit: usize::MAX, used: 0 }
    }

    pub(crate) fn process_usage() -> ResourceUsage {
        ResourceUsage { limit: usize::MAX, used: 0 }
    }
}
