//! One run of a program: its pipes, its end, and what it leaves behind.

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

/// How long a killed process is waited for. Only one that is stuck in the system survives that; it is not worth more.
const KILL_WAIT_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a group is looked at that should soon be empty.
const GROUP_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A process. Dropping it before it has ended ends it with all of its group.
pub struct Process {
    leader: GroupLeader,
    stdin: StdinWriter,
    stdout: OutputStream,
    stderr: OutputStream,
    groups: Arc<ProcessGroups>,
    exit: Option<Exit>,
    /// Where it has a terminal: who holds it, and what is typed there.
    terminal: Option<(TerminalHolder, TerminalInputWriter)>,
}

impl Process {
    /// Starts a program in a session and group of its own, and hands it as much input as fits.
    ///
    /// # Errors
    /// The system's own, if the program cannot be started or there is no room for its pipes.
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
        // Our copies of its ends must go, or the end of its output would never come.
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

    /// Its number, which is its group's and its session's too.
    pub fn pid(&self) -> u32 {
        self.leader.group().id()
    }

    /// What it has printed so far, of which only some is kept.
    pub fn stdout(&self) -> &Capture {
        self.stdout.capture()
    }

    /// Moves input and output along until it has printed something or has itself ended, whoever else still holds its
    /// pipes. At its end all that it printed has been read. Safe to drop and call again.
    ///
    /// # Errors
    /// If its end could not be seen; it is gone as far as anybody can tell.
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

    /// Whether the program has ended and its place is held for those whom it left running, if any.
    fn is_terminal_held(&self) -> bool {
        self.terminal.as_ref().is_some_and(|(hold, _)| hold.has_exited())
    }

    /// What has happened by now, if anything: asked of the system itself, which may know before anybody was woken, as after
    /// a stop of this whole program.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn try_next_event(&mut self) -> io::Result<Option<ProcessEvent>> {
        if self.exit.is_none() {
            self.exit = self.leader.group().reap()?;
        }
        let read = self.stdout.drain() + self.stderr.drain();
        Ok(self.exit.map(ProcessEvent::Exited).or((read > 0).then_some(ProcessEvent::Output)))
    }

    /// Moves input and output along until it has itself ended.
    ///
    /// # Errors
    /// As [`step`](Self::step).
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
        while Instant::now() < deadline
            && (self.stdout.is_open() || self.stderr.is_open())
            && timeout(quiet, self.read_any_output()).await.is_ok()
        {}
        self.release_terminal().await;
    }

    /// Nobody needs a terminal on which nothing is left.
    async fn release_terminal(&mut self) {
        if self.is_terminal_held() && self.live_pids().is_empty() {
            self.terminal = None;
            let _ = timeout(KILL_WAIT_TIMEOUT, self.leader.wait()).await;
        }
    }

    /// Waits until everybody has let go of its pipes. What still comes is read and dropped, so that whoever runs on is
    /// not stopped by a full or closed pipe.
    pub async fn discard_output(&mut self) {
        self.stdout.discard();
        self.stderr.discard();
        while self.exit.is_none() && self.next_event().await.is_ok_and(|step| step == ProcessEvent::Output) {}
        while self.stdout.is_open() || self.stderr.is_open() {
            self.read_any_output().await;
        }
    }

    /// Waits for something on stderr; for ever if nobody can say anything there.
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

    /// Asks the whole group to end, waits at most the grace, and then forces it. Does nothing once the process has
    /// ended by itself.
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
        // The leader is gone but others are still cleaning up: they have the rest of the grace.
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

    /// Lets it, and all that comes from it, run on when this program goes: nothing here ends it any more. Somebody else
    /// reads its output from now on.
    ///
    /// # Errors
    /// The system's own; then nothing has changed, or only for some of its processes.
    pub fn detach(&mut self) -> io::Result<DetachedProcesses> {
        if self.terminal.is_some() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "its terminal goes with this program"));
        }
        for stream in [&mut self.stdout, &mut self.stderr] {
            stream.take_pipe().transpose()?.map(drain_after_exit).transpose()?;
        }
        self.groups.detach(self.leader.group())
    }

    /// Asks everybody to end who comes from it, whether or not it has ended itself; forces them after the grace.
    pub async fn terminate_group(&mut self, grace: Duration) {
        let group = self.leader.group().clone();
        group.terminate();
        let deadline = Instant::now() + grace;
        while Instant::now() < deadline && !self.live_pids().is_empty() {
            sleep_until(Instant::now() + GROUP_POLL_INTERVAL).await;
        }
        group.kill();
    }

    /// The living processes of its group, and on Linux all that come from it, wherever they went. Who only holds a terminal
    /// for them is none of them.
    pub fn live_pids(&self) -> Vec<u32> {
        let holder = self.is_terminal_held().then(|| self.pid());
        let mut members = self.leader.group().live_pids();
        members.retain(|pid| Some(*pid) != holder);
        members
    }

    /// The memory that it and all that come from it take, in bytes; nothing where the system does not tell.
    pub fn memory_bytes(&self) -> Option<u64> {
        self.live_pids().into_iter().filter_map(limits::resident_bytes).reduce(|one, other| one + other)
    }

    /// Whether everybody has let go of its output.
    pub fn is_output_closed(&self) -> bool {
        !self.stdout.is_open() && !self.stderr.is_open()
    }

    /// What it left behind is ended with the rest until nobody is left of its group and its session, whoever holds its
    /// pipes; this takes as long.
    pub async fn wait_for_group(&mut self) {
        /// Somebody who hands on to a child at every look is missed by one, hardly by three.
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

    /// The same from now on; [`outlive`](Self::outlive) must come after it.
    pub fn track_group(&self) {
        self.leader.group().track();
    }

    /// Whether somebody of its group or session is left, or only not yet collected.
    pub fn has_survivors(&self) -> bool {
        !self.is_terminal_held() && self.leader.group().is_alive() || !self.live_pids().is_empty()
    }

    /// What it printed, and whether it left others behind in its group. One that has not ended is ended.
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

/// Carries over what is typed, and waits to be told how the program ended.
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

/// Those of a process who may stay when this program goes.
#[derive(Clone, Debug)]
pub struct DetachedProcesses(Arc<[ProcStat]>);

impl DetachedProcesses {
    pub(super) fn new(kin: Vec<ProcStat>) -> Self {
        DetachedProcesses(kin.into())
    }

    /// Whether one of them lives.
    pub fn is_alive(&self) -> bool {
        self.0.iter().any(ProcStat::is_alive)
    }

    /// Asks them to end, and forces them after the grace; not those whom they have started since.
    pub async fn terminate(&self, grace: Duration) {
        let signal = |signals: &[Signal]| self.0.iter().for_each(|kin| drop(kin.signal(signals)));
        signal(&[Signal::TERM, Signal::CONT]);
        let deadline = Instant::now() + grace;
        while Instant::now() < deadline && self.is_alive() {
            sleep_until(Instant::now() + GROUP_POLL_INTERVAL).await;
        }
        signal(&[Signal::KILL]);
    }
}

/// A pipe for output: the process's end, and ours.
pub(super) fn output_pipe() -> io::Result<(OwnedFd, Receiver)> {
    let (read, write) = io::pipe()?;
    let read = OwnedFd::from(read);
    rustix::io::ioctl_fionbio(&read, true)?;
    Ok((write.into(), Receiver::from_owned_fd_unchecked(read)?))
}
