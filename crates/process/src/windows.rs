//! Processes on Windows: threads read the pipes, and `taskkill /T` ends a process with its children. Processes that a
//! process leaves behind are not tracked.

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

/// How long the pipes of an ended process may stay quiet before they count as read: other threads read them.
const OUTPUT_SETTLE_PERIOD: Duration = Duration::from_millis(10);

/// A running process. Dropping it before it has ended ends it with its children.
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
    /// Starts a program; its input and output are forwarded on threads of their own.
    ///
    /// # Errors
    /// Returns the system's error if the program cannot be started or its pipes cannot be made.
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
        // Our copies of the process's ends must be closed, or the end of its output would never come.
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

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.id
    }

    /// Returns the part of stdout that is kept so far.
    pub fn stdout(&self) -> &Capture {
        &self.stdout
    }

    /// Waits until the process has printed something or has ended. Safe to drop and call again.
    ///
    /// # Errors
    /// Returns an error if the end of the process could not be observed.
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

    /// Returns the event that has happened by now, if any.
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

    /// Captures a piece of output, and returns whether there was one; without one, all pipes are closed.
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

    /// Waits until the process has ended.
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

    /// Reads on after the process's end from other processes that hold its pipes.
    ///
    /// It ends when they close the pipes, when they print nothing for `quiet`, or at the deadline.
    pub async fn read_until_quiet(&mut self, quiet: Duration, deadline: Instant) {
        while self.open
            && Instant::now() < deadline
            && let Ok(piece) = timeout(quiet, self.pieces.recv()).await
        {
            self.push_piece(piece);
        }
    }

    /// Waits until all processes have closed the pipes, and drops what they print.
    pub async fn discard_output(&mut self) {
        self.live = None;
        (self.stdout, self.stderr) = Default::default();
        while self.exit.is_none() && self.next_event().await.is_ok_and(|step| step == ProcessEvent::Output) {}
        while self.open {
            let piece = self.pieces.recv().await;
            self.push_piece(piece);
        }
    }

    /// Waits for output on stderr; for ever if the pipes are closed.
    pub(crate) async fn wait_for_stderr(&mut self) {
        while self.open {
            let piece = self.pieces.recv().await;
            if self.push_piece(piece) {
                return;
            }
        }
        std::future::pending().await
    }

    /// Kills the process and its children, and waits at most the grace period for its end.
    pub async fn terminate(&mut self, grace: Duration, _until: TerminationWait) {
        if self.exit.is_none() {
            self.groups.kill(self.id);
            let _ = timeout(grace, self.wait()).await;
        }
    }

    /// Returns no process: those that a process leaves behind are not tracked here.
    pub fn live_pids(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Returns `None`: the memory of processes is not read here.
    pub fn memory_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns whether all processes have closed the output pipes.
    pub fn is_output_closed(&self) -> bool {
        !self.open
    }

    /// Does nothing: there are no groups here.
    pub fn track_group(&self) {}

    /// Returns at once: processes that a process leaves behind are not tracked here.
    pub async fn wait_for_group(&mut self) {}

    /// Fails: a process cannot be detached here.
    ///
    /// # Errors
    /// Always returns [`io::ErrorKind::Unsupported`].
    pub fn detach(&mut self) -> io::Result<DetachedProcesses> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Kills the process and its children.
    pub async fn terminate_group(&mut self, grace: Duration) {
        self.terminate(grace, TerminationWait::Group).await;
    }

    /// Returns false: processes that a process leaves behind are not tracked here.
    pub fn has_survivors(&self) -> bool {
        false
    }

    /// Returns the captured output. A process that has not ended is killed.
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
            // The receiver may be gone; the rest is read all the same, so that the writer is not stopped.
            let _ = sender.blocking_send((which, buffer[..count].to_vec()));
        }
    })?;
    Ok(())
}

/// The pipe to which the process's stdin is written.
pub type ProcessStdin = ChildStdin;

/// Fails: this system cannot read what is available without waiting.
pub fn read_nonblocking(_: &ProcessStdout, _: &mut [u8]) -> io::Result<usize> {
    Err(io::ErrorKind::WouldBlock.into())
}

/// Returns false: the system does not tell whether a process that is gone had read all its input.
pub fn has_unread_input(_: &ProcessStdin) -> bool {
    false
}

/// The pipe from which the process's stdout is read.
pub type ProcessStdout = ChildStdout;

/// Starts a program whose stdin and stdout the caller reads and writes.
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

/// The processes of a run that may outlive this program, of which there are none here.
#[derive(Clone, Debug)]
pub struct DetachedProcesses(());

impl DetachedProcesses {
    /// Returns false: there are none.
    pub fn is_alive(&self) -> bool {
        false
    }

    /// Does nothing: there are none.
    pub async fn terminate(&self, _: Duration) {}
}

/// The running processes.
#[derive(Debug, Default)]
pub struct ProcessGroups(Mutex<HashSet<u32>>);

impl ProcessGroups {
    /// Returns the numbers of the running processes.
    pub fn pids(&self) -> Vec<u32> {
        self.lock().iter().copied().collect()
    }

    /// Returns whether a process runs.
    pub fn has_live_processes(&self) -> bool {
        !self.lock().is_empty()
    }

    /// Kills every process with its children.
    pub async fn terminate_all(&self, _grace: Duration) {
        self.kill_all();
    }

    /// Kills every process with its children.
    pub fn kill_all(&self) {
        self.pids().into_iter().for_each(|id| self.kill(id));
    }

    fn kill(&self, id: u32) {
        // Once a process has been seen to end, its number may have been reused.
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

/// A directory by its path: the working directory of a process cannot be moved on this system.
#[derive(Clone, Debug)]
pub struct DirectoryHandle(PathBuf);

impl DirectoryHandle {
    /// Remembers the path of a directory.
    pub fn open(path: impl Into<PathBuf>) -> Self {
        DirectoryHandle(path.into())
    }

    /// Remembers the path of a directory. Symbolic links are not refused here.
    ///
    /// # Errors
    /// Returns an error if there is no such directory.
    pub fn open_nofollow(path: impl Into<PathBuf>) -> std::io::Result<Self> {
        let path = path.into();
        if path.is_dir() { Ok(DirectoryHandle(path)) } else { Err(std::io::ErrorKind::NotADirectory.into()) }
    }

    /// Returns the directory's path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns whether the directory is there.
    pub fn locate(&self) -> DirectoryLocation {
        if self.0.is_dir() { DirectoryLocation::Unmoved } else { DirectoryLocation::Gone }
    }

    /// Returns true: there is no such permission here.
    pub fn is_searchable(&self) -> bool {
        true
    }
}

/// Settings of this process itself, none of which this system has.
pub(crate) mod self_protection {
    /// Does nothing: there is no SIGXFSZ here.
    pub fn ignore_file_size_signal() {}

    /// Does nothing: other programs of the same user can inspect this one.
    pub fn forbid_memory_inspection() {}
}

/// Signals and output of this process itself, of which this system has none.
pub(crate) mod current_process {
    /// Does nothing: there is no abort handler here.
    pub fn set_abort_handler(_: fn()) {}

    /// Writes nothing: a write to the console might block.
    pub fn write_final_output(_: &[&str], _: &str) {}

    /// Returns false: there are no terminal hang-ups here.
    pub fn is_terminal_hangup(_: &std::io::Error) -> bool {
        false
    }

    /// Returns false: only a failed write shows a closed stdout here.
    pub fn is_stdout_closed() -> bool {
        false
    }

    /// Does nothing: processes cannot be suspended here.
    pub fn suspend_self() {}

    /// Does nothing: there are no jobs here.
    pub fn suspend_job() {}

    /// Returns false: there is no SIGHUP here.
    pub fn is_hangup_ignored() -> bool {
        false
    }
}

pub(crate) mod limits {
    use crate::limiter::ResourceUsage;

    /// Does nothing: there is no limit on descriptors here.
    pub fn raise_descriptor_limit() {}

    /// Returns false: the size of the main stack is fixed when the program is linked.
    pub fn reserve_stack(_: usize) -> bool {
        false
    }

    /// Does nothing: all threads share one heap.
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
