//! One run of a program: its pipes, its end, and the processes that it leaves behind.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::groups::ProcessGroups;
use super::launch::{launch, launch_on_terminal};
use super::leader::GroupLeader;
use super::stdin_writer::StdinWriter;
use super::stream::OutputStream;
use super::terminal_holder::{TerminalHolder, with_holder_shell};
use super::{ProcStat, drain_after_exit, limits};
use crate::terminal::{PseudoTerminal, TerminalInputWriter};
use crate::{
    Capture, CaptureLimit, Exit, FinishedProcess, OutputCallback, OutputRouting, ProcessEvent, ProcessInput,
    ProgramSpec, TerminationWait,
};

/// How long a killed process is waited for. Only one that hangs in a system call survives longer.
const KILL_WAIT_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a group is checked that should soon be empty.
const GROUP_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A running process. Dropping it before it has ended kills it with its whole group.
pub struct Process {
    leader: GroupLeader,
    stdin: StdinWriter,
    stdout: OutputStream,
    stderr: OutputStream,
    groups: Arc<ProcessGroups>,
    exit: Option<Exit>,
    /// The holder of its terminal and the writer of the terminal's input, if it runs on one.
    terminal: Option<(TerminalHolder, TerminalInputWriter)>,
}

impl Process {
    /// Starts a program in a session and group of its own, and writes as much of its input as fits the pipe.
    ///
    /// # Errors
    /// Returns the system's error if the program cannot be started or its pipes cannot be made.
    pub fn spawn(
        program: &mut ProgramSpec<'_>,
        input: ProcessInput,
        output: OutputRouting,
        groups: &Arc<ProcessGroups>,
    ) -> io::Result<Process> {
        let (stdout_write, stdout) = output_pipe()?;
        let (stderr_write, stdout, stderr) = match output {
            OutputRouting::Terminal(keep, live, terminal) => {
                return spawn_on_terminal(program, keep, live, &terminal, groups);
            }
            OutputRouting::Separate(keep) => {
                let (write, stderr) = output_pipe()?;
                let stream = |pipe| OutputStream::new(pipe, Capture::new(keep), None);
                (Some(write), stream(stdout), stream(stderr))
            }
            OutputRouting::Merged(keep, live) => {
                (None, OutputStream::new(stdout, Capture::new(keep), Some(live)), OutputStream::closed())
            }
        };
        let (stdin, feed) = match input {
            ProcessInput::Empty => (OwnedFd::from(File::open("/dev/null")?), None),
            ProcessInput::Chunks(pieces) => {
                let (read, write) = io::pipe()?;
                (read.into(), Some((OwnedFd::from(write), pieces)))
            }
        };
        let stderr_fd = stderr_write.as_ref().unwrap_or(&stdout_write).as_fd();
        let leader = launch(program, [stdin.as_fd(), stdout_write.as_fd(), stderr_fd], groups)?;
        // Our copies of the process's ends must be closed, or the end of its output would never come.
        drop((stdin, stdout_write, stderr_write));
        let mut process = Process::from_leader(leader, stdout, stderr, groups);
        if let Some((pipe, pieces)) = feed {
            process.stdin = StdinWriter::start(pipe, pieces)?;
        }
        Ok(process)
    }

    pub(super) fn from_leader(
        leader: GroupLeader,
        stdout: OutputStream,
        stderr: OutputStream,
        groups: &Arc<ProcessGroups>,
    ) -> Self {
        Process {
            leader,
            stdin: StdinWriter::default(),
            stdout,
            stderr,
            groups: groups.clone(),
            exit: None,
            terminal: None,
        }
    }

    /// Returns the process id, which is also that of its group and, on Linux and macOS, of its session.
    pub fn pid(&self) -> u32 {
        self.leader.group().id()
    }

    /// Returns the part of stdout that is kept so far.
    pub fn stdout(&self) -> &Capture {
        self.stdout.capture()
    }

    /// Forwards input and output until the process has printed something or has ended.
    ///
    /// It does not wait for other processes that hold the pipes. When the process has ended, all its output has been
    /// read. Safe to drop and call again.
    ///
    /// # Errors
    /// Returns an error if the end of the process could not be observed; the process counts as gone then.
    pub async fn next_event(&mut self) -> io::Result<ProcessEvent> {
        if let Some(exit) = self.exit {
            return Ok(ProcessEvent::Exited(exit));
        }
        loop {
            tokio::select! {
                biased;
                exit = self.leader.wait() => {
                    self.stdout.drain();
                    self.stderr.drain();
                    let exit = exit?;
                    self.exit = Some(exit);
                    return Ok(ProcessEvent::Exited(exit));
                }
                some = self.stdout.read_some(), if self.stdout.is_open() => if some { return Ok(ProcessEvent::Output) },
                some = self.stderr.read_some(), if self.stderr.is_open() => if some { return Ok(ProcessEvent::Output) },
                () = self.stdin.write_ready(), if self.stdin.is_open() => {}
                ended = drive_terminal(&mut self.terminal), if self.terminal.is_some() => if let Some(exit) = ended {
                    self.stdout.drain();
                    self.exit = Some(exit);
                    return Ok(ProcessEvent::Exited(exit));
                },
            }
        }
    }

    /// Returns whether the program has ended and only the holder of its terminal, with processes left on it, may
    /// remain.
    fn is_terminal_held(&self) -> bool {
        self.terminal.as_ref().is_some_and(|(hold, _)| hold.has_exited())
    }

    /// Returns the event that has happened by now, if any.
    ///
    /// It asks the system itself, which may know before this task was woken, as after a suspension of the whole
    /// program.
    ///
    /// # Errors
    /// As [`next_event`](Self::next_event).
    pub fn try_next_event(&mut self) -> io::Result<Option<ProcessEvent>> {
        if self.exit.is_none() {
            self.exit = self.leader.group().reap()?;
        }
        let read = self.stdout.drain() + self.stderr.drain();
        Ok(self.exit.map(ProcessEvent::Exited).or((read > 0).then_some(ProcessEvent::Output)))
    }

    /// Forwards input and output until the process has ended.
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
        while Instant::now() < deadline
            && (self.stdout.is_open() || self.stderr.is_open())
            && timeout(quiet, self.read_any_output()).await.is_ok()
        {}
        self.release_terminal().await;
    }

    /// Releases the terminal if no process is left on it.
    async fn release_terminal(&mut self) {
        if self.is_terminal_held() && self.live_pids().is_empty() {
            self.terminal = None;
            let _ = timeout(KILL_WAIT_TIMEOUT, self.leader.wait()).await;
        }
    }

    /// Waits until all processes have closed the pipes, and drops what they print.
    ///
    /// The output is read so that a process that runs on is not stopped by a full or closed pipe.
    pub async fn discard_output(&mut self) {
        self.stdout.discard();
        self.stderr.discard();
        while self.exit.is_none() && self.next_event().await.is_ok_and(|step| step == ProcessEvent::Output) {}
        while self.stdout.is_open() || self.stderr.is_open() {
            self.read_any_output().await;
        }
    }

    /// Waits for output on stderr; for ever if stderr is closed.
    pub(crate) async fn wait_for_stderr(&mut self) {
        while self.stderr.is_open() {
            if self.stderr.read_some().await {
                return;
            }
        }
        std::future::pending().await
    }

    async fn read_any_output(&mut self) {
        tokio::select! {
            _ = self.stdout.read_some(), if self.stdout.is_open() => {}
            _ = self.stderr.read_some(), if self.stderr.is_open() => {}
            else => {}
        }
    }

    /// Sends SIGTERM to the whole group, waits at most the grace period, and then kills it.
    ///
    /// It does nothing once the process has ended by itself.
    pub async fn terminate(&mut self, grace: Duration, until: TerminationWait) {
        if self.exit.is_some() {
            return;
        }
        let group = self.leader.group().clone();
        let deadline = Instant::now() + grace;
        group.terminate();
        if timeout_at(deadline, self.wait()).await.is_err() {
            group.kill();
            let _ = timeout(KILL_WAIT_TIMEOUT, self.wait()).await;
        }
        self.release_terminal().await;
        if !group.is_alive() && group.live_pids().is_empty() {
            return;
        }
        // The leader is gone but others of the group are still cleaning up: they have the rest of the grace period.
        match until {
            TerminationWait::Leader => {
                let groups = self.groups.clone();
                tokio::spawn(async move {
                    sleep_until(deadline).await;
                    group.kill();
                    sleep_until(Instant::now() + GROUP_POLL_INTERVAL).await;
                    groups.reap_orphans();
                });
            }
            TerminationWait::Group => {
                while Instant::now() < deadline && !self.live_pids().is_empty() {
                    let glance = Instant::now() + GROUP_POLL_INTERVAL;
                    self.read_until_quiet(GROUP_POLL_INTERVAL, glance).await;
                    sleep_until(glance).await;
                }
                group.kill();
                sleep_until(Instant::now() + GROUP_POLL_INTERVAL).await;
                self.groups.reap_orphans();
            }
        }
    }

    /// Lets the process and its descendants outlive this program: nothing here ends them any more.
    ///
    /// A separate reader process drains their output from now on.
    ///
    /// # Errors
    /// Returns the system's error; then nothing has changed, or only some of the processes are detached.
    pub fn detach(&mut self) -> io::Result<DetachedProcesses> {
        if self.terminal.is_some() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "its terminal goes with this program"));
        }
        for stream in [&mut self.stdout, &mut self.stderr] {
            stream.take_pipe().transpose()?.map(drain_after_exit).transpose()?;
        }
        self.groups.detach(self.leader.group())
    }

    /// Sends SIGTERM to the process and all its descendants, even if it has ended itself; kills them after the grace
    /// period.
    pub async fn terminate_group(&mut self, grace: Duration) {
        let group = self.leader.group().clone();
        group.terminate();
        let deadline = Instant::now() + grace;
        while Instant::now() < deadline && !self.live_pids().is_empty() {
            sleep_until(Instant::now() + GROUP_POLL_INTERVAL).await;
        }
        group.kill();
    }

    /// Returns the living processes of the group and, on Linux, all descendants wherever they went.
    ///
    /// A shell that only holds a terminal for them is left out.
    pub fn live_pids(&self) -> Vec<u32> {
        let holder = self.is_terminal_held().then(|| self.pid());
        let mut members = self.leader.group().live_pids();
        members.retain(|pid| Some(*pid) != holder);
        members
    }

    /// Returns the resident memory of the process and its descendants in bytes; `None` if the system does not tell.
    pub fn memory_bytes(&self) -> Option<u64> {
        self.live_pids().into_iter().filter_map(limits::resident_bytes).reduce(|one, other| one + other)
    }

    /// Returns whether all processes have closed the output pipes.
    pub fn is_output_closed(&self) -> bool {
        !self.stdout.is_open() && !self.stderr.is_open()
    }

    /// Waits until no process of the group and its session is left, whichever process holds the pipes.
    ///
    /// Until then the group is ended together with the program.
    pub async fn wait_for_group(&mut self) {
        /// Empty scans in a row before the group counts as gone: one scan may miss a process that keeps re-forking.
        const REQUIRED_EMPTY_SCANS: usize = 3;
        self.track_group();
        let mut empty = 0;
        while empty < REQUIRED_EMPTY_SCANS {
            sleep_until(Instant::now() + GROUP_POLL_INTERVAL * 5).await;
            empty = if self.live_pids().is_empty() { empty + 1 } else { 0 };
        }
        self.release_terminal().await;
        self.groups.forget(self.leader.group());
    }

    /// Tracks the group from now on; [`wait_for_group`](Self::wait_for_group) has to be called after it.
    pub fn track_group(&self) {
        self.leader.group().track();
    }

    /// Returns whether a process of the group or session is left, zombies included.
    pub fn has_survivors(&self) -> bool {
        !self.is_terminal_held() && self.leader.group().is_alive() || !self.live_pids().is_empty()
    }

    /// Returns the captured output and whether the group still has members. A process that has not ended is killed.
    pub fn finish(self) -> FinishedProcess {
        let group = self.leader.group();
        let left_behind = self.exit.is_some() && !self.is_terminal_held() && group.is_alive();
        self.groups.prune_empty();
        FinishedProcess {
            stdout: self.stdout.into_capture(),
            stderr: self.stderr.into_capture(),
            has_survivors: left_behind,
        }
    }
}

/// Forwards input to the terminal, and waits until the holder reports how the program ended.
async fn drive_terminal(on: &mut Option<(TerminalHolder, TerminalInputWriter)>) -> Option<Exit> {
    let (hold, keys) = on.as_mut()?;
    if hold.has_exited() {
        return std::future::pending().await;
    }
    tokio::select! {
        exit = hold.wait_for_exit() => Some(exit),
        () = keys.forward_input(), if keys.is_open() => None,
    }
}

/// Starts a program on a terminal.
fn spawn_on_terminal(
    program: &mut ProgramSpec<'_>,
    keep: CaptureLimit,
    live: OutputCallback,
    terminal: &PseudoTerminal,
    groups: &Arc<ProcessGroups>,
) -> io::Result<Process> {
    let (hold, theirs) = TerminalHolder::new()?;
    let (drawn, keys) = (terminal.output_reader()?, terminal.input_writer()?);
    let leader =
        with_holder_shell(program, |shell| launch_on_terminal(shell, terminal.path(), theirs.as_fd(), groups))?;
    drop(theirs);
    let stdout = OutputStream::new(drawn, Capture::new(keep), Some(live));
    let mut process = Process::from_leader(leader, stdout, OutputStream::closed(), groups);
    process.terminal = Some((hold, keys));
    Ok(process)
}

/// The processes of a run that may outlive this program.
#[derive(Clone, Debug)]
pub struct DetachedProcesses(Arc<[ProcStat]>);

impl DetachedProcesses {
    pub(super) fn new(processes: Vec<ProcStat>) -> Self {
        DetachedProcesses(processes.into())
    }

    /// Returns whether one of the processes lives.
    pub fn is_alive(&self) -> bool {
        self.0.iter().any(ProcStat::is_alive)
    }

    /// Sends SIGTERM to the processes and kills them after the grace period, but not those that they have started
    /// since.
    pub async fn terminate(&self, grace: Duration) {
        let signal = |signals: &[Signal]| self.0.iter().for_each(|process| drop(process.signal(signals)));
        signal(&[Signal::TERM, Signal::CONT]);
        let deadline = Instant::now() + grace;
        while Instant::now() < deadline && self.is_alive() {
            sleep_until(Instant::now() + GROUP_POLL_INTERVAL).await;
        }
        signal(&[Signal::KILL]);
    }
}

/// Creates a pipe for output: the process's end, and ours, which is non-blocking.
pub(super) fn output_pipe() -> io::Result<(OwnedFd, Receiver)> {
    let (read, write) = io::pipe()?;
    let read = OwnedFd::from(read);
    rustix::io::ioctl_fionbio(&read, true)?;
    Ok((write.into(), Receiver::from_owned_fd_unchecked(read)?))
}
