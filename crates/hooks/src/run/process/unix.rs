//! Processes on Unix: real pipes, `posix_spawn` into a new process group, signals to the whole group.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::BufMut;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::net::unix::pipe::{Receiver, Sender};

use super::{Program, Waited};
use crate::answer::Captured;
use crate::input::HookInput;

/// What a pipe holds by default.
const PIPE_DEFAULT: usize = 64 << 10;
/// What is quickest for large inputs: few wakings, and it still fits the processor's cache.
const PIPE_LARGE: usize = 256 << 10;
/// The most that an ordinary user may make a pipe hold.
const PIPE_LARGEST: usize = 1 << 20;

/// A running process.
pub(crate) struct Process {
    child: tokio::process::Child,
    stdin: Feed,
    stdout: Capture,
    stderr: Capture,
    group: Pid,
    groups: Arc<Groups>,
    reaped: bool,
}

impl Process {
    /// Starts a program in a process group of its own, and hands it as much input as fits.
    pub(crate) fn spawn(
        program: &mut Program<'_>,
        input: &HookInput,
        bound: usize,
        groups: &Arc<Groups>,
    ) -> io::Result<Process> {
        let (stdin_read, stdin_write) = io::pipe()?;
        let (stdout_read, stdout_write) = io::pipe()?;
        let (stderr_read, stderr_write) = io::pipe()?;
        let mut command = Command::new(program.path);
        // No `pre_exec` and an absolute program keep the standard library on `posix_spawn`, which does not copy the
        // parent's page tables: a fork of a large agent costs many times what the hook itself does.
        command
            .arg0(program.name)
            .args(program.args)
            .current_dir(program.cwd)
            .env_clear()
            .envs(&mut *program.env)
            .process_group(0)
            .stdin(Stdio::from(stdin_read))
            .stdout(Stdio::from(stdout_write))
            .stderr(Stdio::from(stderr_write));
        let mut command = tokio::process::Command::from(command);
        let child = command.spawn()?;
        // The parent's copies of the child's ends must go, or end of file would never come.
        drop(command);
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed())).ok_or(io::ErrorKind::NotFound)?;
        groups.add(group);
        Ok(Process {
            stdin: Feed::start(OwnedFd::from(stdin_write), input)?,
            stdout: Capture::new(OwnedFd::from(stdout_read), bound)?,
            stderr: Capture::new(OwnedFd::from(stderr_read), bound)?,
            child,
            group,
            groups: groups.clone(),
            reaped: false,
        })
    }

    /// Moves input and output along until the process itself has ended, whoever else still holds its pipes.
    ///
    /// Safe to drop and call again.
    pub(crate) async fn wait(&mut self) -> Waited {
        loop {
            tokio::select! {
                biased;
                status = self.child.wait() => {
                    self.reaped = true;
                    self.stdout.drain();
                    self.stderr.drain();
                    return status.map_or_else(Waited::Lost, Waited::Exited);
                }
                () = self.stdout.fill(), if self.stdout.is_open() => {}
                () = self.stderr.fill(), if self.stderr.is_open() => {}
                () = self.stdin.push(), if self.stdin.is_open() => {}
            }
        }
    }

    /// Asks the whole group to end, waits, and then forces it.
    pub(crate) async fn end(&mut self, grace: Duration) {
        // Once the leader has been reaped its number may belong to somebody else.
        if self.reaped {
            return;
        }
        let _ = kill_process_group(self.group, Signal::TERM);
        // A stopped process, as one that wanted to read the terminal, hears nothing until it goes on.
        let _ = kill_process_group(self.group, Signal::CONT);
        if tokio::time::timeout(grace, self.wait()).await.is_err() {
            let _ = kill_process_group(self.group, Signal::KILL);
            // Only a process stuck in the kernel survives this; it is not worth waiting for.
            let _ = tokio::time::timeout(Duration::from_secs(2), self.wait()).await;
        } else if self.groups.is_alive(self.group) {
            // The leader is gone but others are still cleaning up: they have the rest of the grace, without us.
            let (groups, group) = (self.groups.clone(), self.group);
            tokio::spawn(async move {
                tokio::time::sleep(grace).await;
                groups.kill(group);
            });
        }
    }

    /// What it printed, and whether it left others behind in its group.
    pub(crate) fn finish(mut self) -> (Captured, Captured, bool) {
        let (stdout, stderr) = (self.stdout.take(), self.stderr.take());
        let left_behind = self.reaped && self.groups.settle(self.group);
        (stdout, stderr, left_behind)
    }
}

impl Drop for Process {
    /// Nobody waits any more: nothing of it may stay.
    fn drop(&mut self) {
        if !self.reaped {
            self.groups.kill(self.group);
        }
    }
}

/// The process groups that may still have members, so that none outlives the program.
#[derive(Debug, Default)]
pub(crate) struct Groups(Mutex<HashSet<Pid>>);

impl Groups {
    fn add(&self, group: Pid) {
        self.lock().insert(group);
    }

    fn is_alive(&self, group: Pid) -> bool {
        test_kill_process_group(group).is_ok()
    }

    /// Forgets groups without members; whether this one has some.
    fn settle(&self, group: Pid) -> bool {
        let alive = self.is_alive(group);
        if !alive {
            self.lock().remove(&group);
        }
        alive
    }

    /// Ends a group that has not been seen to be empty; the number of one that has may belong to somebody else.
    fn kill(&self, group: Pid) {
        if self.lock().remove(&group) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// Ends every group: asks, waits at most the grace, then forces.
    pub(crate) async fn end_all(&self, grace: Duration) {
        const STEP: Duration = Duration::from_millis(5);
        self.signal_all(Signal::TERM);
        let deadline = tokio::time::Instant::now() + grace;
        while tokio::time::Instant::now() < deadline && self.prune() {
            tokio::time::sleep(STEP).await;
        }
        self.kill_all();
    }

    /// Ends every group at once.
    pub(crate) fn kill_all(&self) {
        self.signal_all(Signal::KILL);
        self.lock().clear();
    }

    fn signal_all(&self, signal: Signal) {
        for group in self.lock().iter() {
            let _ = kill_process_group(*group, signal);
        }
    }

    fn prune(&self) -> bool {
        let mut groups = self.lock();
        groups.retain(|group| test_kill_process_group(*group).is_ok());
        !groups.is_empty()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<Pid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Input on its way to a process that may never read it.
struct Feed {
    pipe: Option<Sender>,
    input: HookInput,
    piece: usize,
    offset: usize,
}

impl Feed {
    /// Writes what fits at once: for all but large inputs that is everything, and no reactor is troubled.
    fn start(pipe: OwnedFd, input: &HookInput) -> io::Result<Feed> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        #[cfg(target_os = "linux")]
        if input.len() > PIPE_DEFAULT {
            let _ = rustix::pipe::fcntl_setpipe_size(&pipe, PIPE_LARGE);
        }
        let mut feed = Feed { pipe: None, input: input.clone(), piece: 0, offset: 0 };
        let unfinished = feed.write_with(|bytes| Ok(rustix::io::write(&pipe, bytes)?));
        if unfinished {
            feed.pipe = Some(Sender::from_owned_fd_unchecked(pipe)?);
        }
        Ok(feed)
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Writes until the pipe is full; closes it at the end, or when nobody reads any more.
    async fn push(&mut self) {
        let Some(pipe) = self.pipe.take() else { return };
        // Put back before waiting, so that dropping this future loses nothing.
        self.pipe = Some(pipe);
        if let Some(pipe) = &self.pipe
            && pipe.writable().await.is_err()
        {
            self.pipe = None;
        }
        if let Some(pipe) = self.pipe.take()
            && self.write_with(|bytes| pipe.try_write(bytes))
        {
            self.pipe = Some(pipe);
        }
    }

    /// Whether there is more to write, later.
    fn write_with(&mut self, mut write: impl FnMut(&[u8]) -> io::Result<usize>) -> bool {
        while let Some(piece) = self.input.pieces().get(self.piece) {
            if self.offset == piece.len() {
                self.piece += 1;
                self.offset = 0;
                continue;
            }
            match write(&piece[self.offset..]) {
                Ok(written) => self.offset += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A hook need not read its input.
                Err(_) => return false,
            }
        }
        false
    }
}

/// A bounded part of what a process prints; the rest is read and dropped, so that the writer never blocks.
struct Capture {
    pipe: Option<Receiver>,
    kept: Vec<u8>,
    bytes: u64,
    bound: usize,
    scratch: Vec<u8>,
}

impl Capture {
    fn new(pipe: OwnedFd, bound: usize) -> io::Result<Capture> {
        let pipe = Receiver::from_owned_fd_unchecked(nonblocking(pipe)?)?;
        Ok(Capture { pipe: Some(pipe), kept: Vec::new(), bytes: 0, bound, scratch: Vec::new() })
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Reads what is there once something is.
    async fn fill(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        if pipe.readable().await.is_err() {
            self.pipe = None;
            return;
        }
        let room = self.bound - self.kept.len();
        let read = if room > 0 {
            self.kept.reserve(room.min(4096));
            pipe.try_read_buf(&mut (&mut self.kept).limit(room))
        } else {
            self.scratch.resize(PIPE_DEFAULT, 0);
            pipe.try_read(&mut self.scratch)
        };
        match read {
            Ok(0) => self.pipe = None,
            Ok(read) => self.bytes += read as u64,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.pipe = None,
        }
    }

    /// Reads what the ended process left in the pipe, without waiting for anybody who still holds it.
    fn drain(&mut self) {
        let Some(pipe) = self.pipe.take() else { return };
        self.scratch.resize(PIPE_DEFAULT, 0);
        let mut left = PIPE_LARGEST;
        while left > 0 {
            // Straight from the system: the reactor may not have heard yet that there is something.
            match rustix::io::read(pipe.as_fd(), &mut self.scratch) {
                Ok(0) | Err(Errno::AGAIN) => return,
                Ok(read) => {
                    let room = (self.bound - self.kept.len()).min(read);
                    self.kept.extend_from_slice(&self.scratch[..room]);
                    self.bytes += read as u64;
                    left = left.saturating_sub(read);
                }
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    fn take(&mut self) -> Captured {
        Captured::decode(&std::mem::take(&mut self.kept), self.bytes)
    }
}

fn nonblocking(pipe: OwnedFd) -> io::Result<OwnedFd> {
    rustix::io::ioctl_fionbio(&pipe, true)?;
    Ok(pipe)
}
