//! The watchdog: a small process that ends what this program started if this program is killed and cannot do so itself.
//! It waits at a pipe whose other end only this program holds; whichever way the program goes, the pipe closes. Who is
//! meant is told by their marks.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::descendants::{DescendantQuery, EmptyScans, ProcStat};
use super::launch::dup_above_stdio;
use super::process_mark::{self, ProcessMark, ProcessMarkRange};
use super::sys::{self, CStringList, SignalMask, SpawnCwd, SpawnStdio};

/// How long those that are asked to end have, when the program is gone.
const TERMINATION_GRACE_PERIOD: Duration = Duration::from_millis(500);
const TERMINATION_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// What a process is called that reads for somebody who is gone, instead of a family.
const READER_NAME: &str = "reads-on";

/// What the watchdog does: waits until stdin ends, then ends everybody. Not for the program that is watched over.
///
/// # Errors
/// If the name is none that this crate gave.
pub fn run_watchdog(name: &str) -> io::Result<()> {
    let family = ProcessMarkRange::parse(name);
    if family.is_none() && name != READER_NAME {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // Whoever stops it wants it to sleep through the end of the program, which wakes it.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::CONT));
    let Some(family) = family else { return io::copy(&mut io::stdin().lock(), &mut io::sink()).map(drop) };
    let search = read_messages(family);
    for kin in search.find()? {
        kin.signal(&[Signal::TERM, Signal::CONT])?;
    }
    let deadline = Instant::now() + TERMINATION_GRACE_PERIOD;
    while Instant::now() < deadline && !search.find()?.is_empty() {
        std::thread::sleep(TERMINATION_POLL_INTERVAL);
    }
    search.kill_all(EmptyScans::Many)
}

/// What a watchdog is told, in pairs of numbers: with 0 the mark of those that may stay, else a process that could not be
/// marked, and when it started.
pub(super) type WatchdogMessage = [u64; 2];

/// Hears the news until there will be none: whom to look for then.
fn read_messages(mut family: ProcessMarkRange) -> DescendantQuery {
    let mut unmarked = Vec::new();
    let (mut stdin, mut pair) = (io::stdin().lock(), [0; 16]);
    while stdin.read_exact(&mut pair).is_ok() {
        let (first, second) = pair.split_at(8);
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
        match (number(first), number(second)) {
            (0, mark) => family = family.with_detached_mark(mark),
            (pid, started) => unmarked.extend(u32::try_from(pid).ok().map(|pid| (pid, started))),
        }
    }
    // A number that somebody else bears by now is not meant.
    unmarked.retain(|(pid, started)| ProcStat::start_time_of(*pid).is_none_or(|now| now == *started));
    DescendantQuery::new(family, unmarked.into_iter().map(|(pid, _)| pid).collect())
}

/// How a watchdog is started.
#[derive(Debug)]
pub(super) struct WatchdogCommand {
    pub(super) program: PathBuf,
    /// What it sees as its own name.
    pub(super) name: &'static str,
}

impl WatchdogCommand {
    /// Starts a watchdog. It hears no signals, and carries no mark, so that no other watchdog takes it for somebody to end.
    pub(super) fn start(&self) -> io::Result<Watchdog> {
        let (read, leash) = io::pipe()?;
        let family = ProcessMarkRange::of_program().to_hex();
        let pid = process_mark::spawn_with_mark(ProcessMark::Unmarked, || {
            self.spawn(read.as_fd(), &family, SignalMask::Full)
        })?;
        // It listens all the time; whoever stops it does not stop us.
        rustix::io::ioctl_fionbio(&leash, true)?;
        let dog = Watchdog { pid, control_pipe: leash, dismissed: false };
        dog.send([0, process_mark::detached_mark()]);
        Ok(dog)
    }

    /// Starts somebody who reads a pipe to its end, and may stay when this program goes.
    pub(super) fn start_reader(&self, pipe: OwnedFd) -> io::Result<()> {
        process_mark::spawn_with_mark(ProcessMark::Detached, || {
            self.spawn(pipe.as_fd(), READER_NAME, SignalMask::Empty)
        })
        .map(drop)
    }

    /// Starts the program, without an environment to be steered by.
    fn spawn(&self, stdin: BorrowedFd<'_>, what: &str, hears: SignalMask) -> io::Result<Pid> {
        let nowhere = File::options().read(true).write(true).open("/dev/null")?;
        let stdio = [stdin, nowhere.as_fd(), nowhere.as_fd()];
        let moved = dup_above_stdio(stdio)?;
        let stdio = [0, 1, 2].map(|at| moved[at].as_ref().map_or(stdio[at], AsFd::as_fd));
        let (mut args, env) = (CStringList::default(), CStringList::default());
        args.push(&[OsStr::new(self.name)])?;
        args.push(&[OsStr::new(what)])?;
        sys::spawn(
            self.program.as_os_str(),
            &args,
            &env,
            SpawnCwd::Path(OsStr::new("/")),
            SpawnStdio::Descriptors(stdio),
            hears,
        )
    }
}

/// A watchdog. Only this reaps it, so its number stays its own.
#[derive(Debug)]
pub(super) struct Watchdog {
    pid: Pid,
    /// Closed by the system when this program is gone, however that came.
    control_pipe: PipeWriter,
    /// Whether it was told to go.
    dismissed: bool,
}

impl Watchdog {
    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_pid().cast_unsigned()
    }

    pub(super) fn send(&self, news: WatchdogMessage) {
        let pair: Vec<u8> = news.into_iter().flat_map(u64::to_ne_bytes).collect();
        if let Err(error) = (&self.control_pipe).write_all(&pair) {
            tracing::warn!(%error, "the watchdog does not listen");
        }
    }

    /// Whether it is there, to stay; one that was stopped goes on. One that has ended is not collected.
    pub(super) fn is_running(&self) -> bool {
        if self.dismissed {
            return false;
        }
        let _ = kill_process(self.pid, Signal::CONT);
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::Pid(self.pid), look), Ok(None))
    }

    /// Whether it was told to go.
    pub(super) fn is_dismissed(&self) -> bool {
        self.dismissed
    }

    /// There is nobody left whom it could end. It is not waited for: that is for [`dismiss`](Self::dismiss).
    pub(super) fn kill(&mut self) {
        self.dismissed = self.dismissed || kill_process(self.pid, Signal::KILL).is_ok();
    }

    /// The same, and it is gone after this.
    pub(super) fn kill_and_reap(mut self) {
        self.kill();
        if self.dismissed {
            self.reap();
        }
    }

    /// Waits for the end of one that was told to go, or that somebody has ended.
    pub(super) fn reap(self) {
        let _ = waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED);
    }
}
