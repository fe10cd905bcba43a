//! One run of a program: its pipes, its end, and what it leaves behind.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::feed::Feed;
use super::groups::Groups;
use super::hold::{Hold, held};
use super::launch::{launch, launch_on};
use super::leader::Leader;
use super::stream::Stream;
use super::{Kin, limits, read_on};
use crate::terminal::{Keys, Terminal};
use crate::{Capture, Exit, Finished, Input, Keep, Live, Output, Program, Step, Until};

/// How long a killed process is waited for. Only one that is stuck in the system survives that; it is not worth more.
const FORCED: Duration = Duration::from_secs(2);
/// How often a group is looked at that should soon be empty.
const GLANCE: Duration = Duration::from_millis(10);

/// A process. Dropping it before it has ended ends it with all of its group.
pub struct Process {
    leader: Leader,
    stdin: Feed,
    stdout: Stream,
    stderr: Stream,
    groups: Arc<Groups>,
    exit: Option<Exit>,
    /// Where it has a terminal: who holds it, and what is typed there.
    on: Option<(Hold, Keys)>,
}

impl Process {
    /// Starts a program in a session and group of its own, and hands it as much input as fits.
    ///
    /// # Errors
    /// The system's own, if the program cannot be started or there is no room for its pipes.
    pub fn spawn(program: &mut Program<'_>, input: Input, output: Output, groups: &Arc<Groups>) -> io::Result<Process> {
        let (stdout_write, stdout) = pipe()?;
        let (stderr_write, stdout, stderr) = match output {
            Output::Terminal(keep, live, terminal) => return on_terminal(program, keep, live, &terminal, groups),
            Output::Apart(keep) => {
                let (write, stderr) = pipe()?;
                let stream = |pipe| Stream::new(pipe, Capture::new(keep), None);
                (Some(write), stream(stdout), stream(stderr))
            }
            Output::Together(keep, live) => {
                (None, Stream::new(stdout, Capture::new(keep), Some(live)), Stream::closed())
            }
        };
        let (stdin, feed) = match input {
            Input::Empty => (OwnedFd::from(File::open("/dev/null")?), None),
            Input::Pieces(pieces) => {
                let (read, write) = io::pipe()?;
                (read.into(), Some((OwnedFd::from(write), pieces)))
            }
        };
        let stderr_fd = stderr_write.as_ref().unwrap_or(&stdout_write).as_fd();
        let leader = launch(program, [stdin.as_fd(), stdout_write.as_fd(), stderr_fd], groups)?;
        // Our copies of its ends must go, or the end of its output would never come.
        drop((stdin, stdout_write, stderr_write));
        let mut process = Process::around(leader, stdout, stderr, groups);
        if let Some((pipe, pieces)) = feed {
            process.stdin = Feed::start(pipe, pieces)?;
        }
        Ok(process)
    }

    pub(super) fn around(leader: Leader, stdout: Stream, stderr: Stream, groups: &Arc<Groups>) -> Self {
        Process { leader, stdin: Feed::default(), stdout, stderr, groups: groups.clone(), exit: None, on: None }
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
    pub async fn step(&mut self) -> io::Result<Step> {
        if let Some(exit) = self.exit {
            return Ok(Step::Exited(exit));
        }
        loop {
            tokio::select! {
                biased;
                exit = self.leader.exited() => {
                    self.stdout.drain();
                    self.stderr.drain();
                    let exit = exit?;
                    self.exit = Some(exit);
                    return Ok(Step::Exited(exit));
                }
                some = self.stdout.fill(), if self.stdout.is_open() => if some { return Ok(Step::Output) },
                some = self.stderr.fill(), if self.stderr.is_open() => if some { return Ok(Step::Output) },
                () = self.stdin.push(), if self.stdin.is_open() => {}
                ended = attend(&mut self.on), if self.on.is_some() => if let Some(exit) = ended {
                    self.stdout.drain();
                    self.exit = Some(exit);
                    return Ok(Step::Exited(exit));
                },
            }
        }
    }

    /// Whether the program has ended and its place is held for those whom it left running, if any.
    fn is_held(&self) -> bool {
        self.on.as_ref().is_some_and(|(hold, _)| hold.is_over())
    }

    /// What has happened by now, if anything: asked of the system itself, which may know before anybody was woken, as after
    /// a stop of this whole program.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn by_now(&mut self) -> io::Result<Option<Step>> {
        if self.exit.is_none() {
            self.exit = self.leader.group().reap()?;
        }
        let read = self.stdout.drain() + self.stderr.drain();
        Ok(self.exit.map(Step::Exited).or((read > 0).then_some(Step::Output)))
    }

    /// Moves input and output along until it has itself ended.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub async fn wait(&mut self) -> io::Result<Exit> {
        loop {
            if let Step::Exited(exit) = self.step().await? {
                return Ok(exit);
            }
        }
    }

    /// Reads on after its end, for those who still hold its pipes: until they let go, are `quiet` for so long, or the
    /// deadline is there.
    pub async fn listen(&mut self, quiet: Duration, deadline: Instant) {
        while Instant::now() < deadline
            && (self.stdout.is_open() || self.stderr.is_open())
            && timeout(quiet, self.hear()).await.is_ok()
        {}
        self.let_go().await;
    }

    /// Nobody needs a terminal on which nothing is left.
    async fn let_go(&mut self) {
        if self.is_held() && self.members().is_empty() {
            self.on = None;
            let _ = timeout(FORCED, self.leader.exited()).await;
        }
    }

    /// Waits until everybody has let go of its pipes. What still comes is read and dropped, so that whoever runs on is
    /// not stopped by a full or closed pipe.
    pub async fn outlast(&mut self) {
        self.stdout.mute();
        self.stderr.mute();
        while self.exit.is_none() && self.step().await.is_ok_and(|step| step == Step::Output) {}
        while self.stdout.is_open() || self.stderr.is_open() {
            self.hear().await;
        }
    }

    /// Waits for something on stderr; for ever if nobody can say anything there.
    pub(crate) async fn complaint(&mut self) {
        while self.stderr.is_open() {
            if self.stderr.fill().await {
                return;
            }
        }
        std::future::pending().await
    }

    async fn hear(&mut self) {
        tokio::select! {
            _ = self.stdout.fill(), if self.stdout.is_open() => {}
            _ = self.stderr.fill(), if self.stderr.is_open() => {}
            else => {}
        }
    }

    /// Asks the whole group to end, waits at most the grace, and then forces it. Does nothing once the process has
    /// ended by itself.
    pub async fn end(&mut self, grace: Duration, until: Until) {
        if self.exit.is_some() {
            return;
        }
        let group = self.leader.group().clone();
        let deadline = Instant::now() + grace;
        group.ask();
        if timeout_at(deadline, self.wait()).await.is_err() {
            group.kill();
            let _ = timeout(FORCED, self.wait()).await;
        }
        self.let_go().await;
        if !group.is_alive() && group.members().is_empty() {
            return;
        }
        // The leader is gone but others are still cleaning up: they have the rest of the grace.
        match until {
            Until::LeaderGone => {
                let groups = self.groups.clone();
                tokio::spawn(async move {
                    sleep_until(deadline).await;
                    group.kill();
                    sleep_until(Instant::now() + GLANCE).await;
                    groups.collect_orphans();
                });
            }
            Until::GroupGone => {
                while Instant::now() < deadline && !self.members().is_empty() {
                    let glance = Instant::now() + GLANCE;
                    self.listen(GLANCE, glance).await;
                    sleep_until(glance).await;
                }
                group.kill();
                sleep_until(Instant::now() + GLANCE).await;
                self.groups.collect_orphans();
            }
        }
    }

    /// Lets it, and all that comes from it, run on when this program goes: nothing here ends it any more. Somebody else
    /// reads its output from now on.
    ///
    /// # Errors
    /// The system's own; then nothing has changed, or only for some of its processes.
    pub fn let_stay(&mut self) -> io::Result<Stayer> {
        if self.on.is_some() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "its terminal goes with this program"));
        }
        for stream in [&mut self.stdout, &mut self.stderr] {
            stream.take_pipe().transpose()?.map(read_on).transpose()?;
        }
        self.groups.let_stay(self.leader.group())
    }

    /// Asks everybody to end who comes from it, whether or not it has ended itself; forces them after the grace.
    pub async fn end_rest(&mut self, grace: Duration) {
        let group = self.leader.group().clone();
        group.ask();
        let deadline = Instant::now() + grace;
        while Instant::now() < deadline && !self.members().is_empty() {
            sleep_until(Instant::now() + GLANCE).await;
        }
        group.kill();
    }

    /// The living processes of its group, and on Linux all that come from it, wherever they went. Who only holds a terminal
    /// for them is none of them.
    pub fn members(&self) -> Vec<u32> {
        let holder = self.is_held().then(|| self.pid());
        let mut members = self.leader.group().members();
        members.retain(|pid| Some(*pid) != holder);
        members
    }

    /// The memory that it and all that come from it take, in bytes; nothing where the system does not tell.
    pub fn memory(&self) -> Option<u64> {
        self.members().into_iter().filter_map(limits::memory_of).reduce(|one, other| one + other)
    }

    /// Whether everybody has let go of its output.
    pub fn is_silent(&self) -> bool {
        !self.stdout.is_open() && !self.stderr.is_open()
    }

    /// What it left behind is ended with the rest until nobody is left of its group and its session, whoever holds its
    /// pipes; this takes as long.
    pub async fn outlive(&mut self) {
        /// Somebody who hands on to a child at every look is missed by one, hardly by three.
        const SURE: usize = 3;
        self.follow();
        let mut empty = 0;
        while empty < SURE {
            sleep_until(Instant::now() + GLANCE * 5).await;
            empty = if self.members().is_empty() { empty + 1 } else { 0 };
        }
        self.let_go().await;
        self.groups.forget(self.leader.group());
    }

    /// The same from now on; [`outlive`](Self::outlive) must come after it.
    pub fn follow(&self) {
        self.leader.group().follow();
    }

    /// Whether somebody of its group or session is left, or only not yet collected.
    pub fn has_left_others(&self) -> bool {
        !self.is_held() && self.leader.group().is_alive() || !self.members().is_empty()
    }

    /// What it printed, and whether it left others behind in its group. One that has not ended is ended.
    pub fn finish(self) -> Finished {
        let group = self.leader.group();
        let left_behind = self.exit.is_some() && !self.is_held() && group.is_alive();
        self.groups.prune();
        Finished { stdout: self.stdout.into_capture(), stderr: self.stderr.into_capture(), left_behind }
    }
}

/// Carries over what is typed, and waits to be told how the program ended.
async fn attend(on: &mut Option<(Hold, Keys)>) -> Option<Exit> {
    let (hold, keys) = on.as_mut()?;
    if hold.is_over() {
        return std::future::pending().await;
    }
    tokio::select! {
        exit = hold.told() => Some(exit),
        () = keys.carry(), if keys.is_open() => None,
    }
}

/// Starts a program on a terminal.
fn on_terminal(
    program: &mut Program<'_>,
    keep: Keep,
    live: Live,
    terminal: &Terminal,
    groups: &Arc<Groups>,
) -> io::Result<Process> {
    let (hold, theirs) = Hold::new()?;
    let (drawn, keys) = (terminal.drawn()?, terminal.keys()?);
    let leader = held(program, |shell| launch_on(shell, terminal.path(), theirs.as_fd(), groups))?;
    drop(theirs);
    let stdout = Stream::new(drawn, Capture::new(keep), Some(live));
    let mut process = Process::around(leader, stdout, Stream::closed(), groups);
    process.on = Some((hold, keys));
    Ok(process)
}

/// Those of a process who may stay when this program goes.
#[derive(Clone, Debug)]
pub struct Stayer(Arc<[Kin]>);

impl Stayer {
    pub(super) fn new(kin: Vec<Kin>) -> Self {
        Stayer(kin.into())
    }

    /// Whether one of them lives.
    pub fn lives(&self) -> bool {
        self.0.iter().any(Kin::lives)
    }

    /// Asks them to end, and forces them after the grace; not those whom they have started since.
    pub async fn end(&self, grace: Duration) {
        let signal = |signals: &[Signal]| self.0.iter().for_each(|kin| drop(kin.signal(signals)));
        signal(&[Signal::TERM, Signal::CONT]);
        let deadline = Instant::now() + grace;
        while Instant::now() < deadline && self.lives() {
            sleep_until(Instant::now() + GLANCE).await;
        }
        signal(&[Signal::KILL]);
    }
}

/// A pipe for output: the process's end, and ours.
pub(super) fn pipe() -> io::Result<(OwnedFd, Receiver)> {
    let (read, write) = io::pipe()?;
    let read = OwnedFd::from(read);
    rustix::io::ioctl_fionbio(&read, true)?;
    Ok((write.into(), Receiver::from_owned_fd_unchecked(read)?))
}
