//! The watchdog: a small process that ends the processes of this program if this program is killed.
//!
//! It reads a pipe whose other end only this program holds. However the program ends, the pipe closes. The watchdog
//! finds the processes by their marks.

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

/// How long processes may take to end after SIGTERM, once the program is gone.
const TERMINATION_GRACE_PERIOD: Duration = Duration::from_millis(500);
const TERMINATION_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The argument of a process that drains a pipe, in place of a range of marks.
const READER_NAME: &str = "reads-on";

/// Runs the helper process: a watchdog that waits until stdin ends and then kills all processes of a range of marks, or a
/// reader that drains a pipe. The watched program never calls it.
///
/// # Errors
/// Returns an error if the name is neither a range of marks nor that of a reader.
pub fn run_watchdog(name: &str) -> io::Result<()> {
    let family = ProcessMarkRange::parse(name);
    if family.is_none() && name != READER_NAME {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // A stopped watchdog would sleep through the end of the program; this signal resumes it then.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::CONT));
    let Some(family) = family else { return io::copy(&mut io::stdin().lock(), &mut io::sink()).map(drop) };
    let search = read_messages(family);
    for process in search.find()? {
        process.signal(&[Signal::TERM, Signal::CONT])?;
    }
    let deadline = Instant::now() + TERMINATION_GRACE_PERIOD;
    while Instant::now() < deadline && !search.find()?.is_empty() {
        std::thread::sleep(TERMINATION_POLL_INTERVAL);
    }
    search.kill_all(EmptyScans::Many)
}

/// A message to the watchdog, as a pair of numbers: 0 and the mark of detached processes, or the number of a process
/// that could not be marked and its start time.
pub(super) type WatchdogMessage = [u64; 2];

/// Reads messages until the pipe is closed, and returns the query for the processes to end.
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
    // A number that was reused is left out.
    unmarked.retain(|(pid, started)| ProcStat::start_time_of(*pid).is_none_or(|now| now == *started));
    DescendantQuery::new(family, unmarked.into_iter().map(|(pid, _)| pid).collect())
}

/// The command that starts a watchdog.
#[derive(Debug)]
pub(super) struct WatchdogCommand {
    pub(super) program: PathBuf,
    /// The watchdog's `argv[0]`.
    pub(super) name: &'static str,
}

impl WatchdogCommand {
    /// Starts a watchdog. It blocks all signals, and carries no mark, so that no other watchdog ends it.
    pub(super) fn start(&self) -> io::Result<Watchdog> {
        let (read, control_pipe) = io::pipe()?;
        let family = ProcessMarkRange::of_program().to_hex();
        let pid = process_mark::spawn_with_mark(ProcessMark::Unmarked, || {
            self.spawn(read.as_fd(), &family, SignalMask::Full)
        })?;
        // The watchdog reads all the time; if it is stopped, writes to it must not block this program.
        rustix::io::ioctl_fionbio(&control_pipe, true)?;
        let watchdog = Watchdog { pid, control_pipe, dismissed: false };
        watchdog.send([0, process_mark::detached_mark()]);
        Ok(watchdog)
    }

    /// Starts a process that drains a pipe to its end, and may outlive this program.
    pub(super) fn start_reader(&self, pipe: OwnedFd) -> io::Result<()> {
        process_mark::spawn_with_mark(ProcessMark::Detached, || {
            self.spawn(pipe.as_fd(), READER_NAME, SignalMask::Empty)
        })
        .map(drop)
    }

    /// Starts the program with an empty environment.
    fn spawn(&self, stdin: BorrowedFd<'_>, what: &str, signal_mask: SignalMask) -> io::Result<Pid> {
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
            signal_mask,
        )
    }
}

/// A running watchdog. Its number is not reused before this reaps it.
#[derive(Debug)]
pub(super) struct Watchdog {
    pid: Pid,
    /// The pipe that the system closes when this program ends, however it ends.
    control_pipe: PipeWriter,
    /// Whether it was killed because there was nothing left to watch.
    dismissed: bool,
}

impl Watchdog {
    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_pid().cast_unsigned()
    }

    pub(super) fn send(&self, message: WatchdogMessage) {
        let pair: Vec<u8> = message.into_iter().flat_map(u64::to_ne_bytes).collect();
        if let Err(error) = (&self.control_pipe).write_all(&pair) {
            tracing::warn!(%error, "cannot write to the watchdog's control pipe");
        }
    }

    /// Returns whether the watchdog runs and was not dismissed; resumes one that was stopped. It does not reap.
    pub(super) fn is_running(&self) -> bool {
        if self.dismissed {
            return false;
        }
        let _ = kill_process(self.pid, Signal::CONT);
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::Pid(self.pid), look), Ok(None))
    }

    /// Returns whether the watchdog was killed because there was nothing left to watch.
    pub(super) fn is_dismissed(&self) -> bool {
        self.dismissed
    }

    /// Kills the watchdog, because no process is left to watch. [`reap`](Self::reap) waits for its end.
    pub(super) fn kill(&mut self) {
        self.dismissed = self.dismissed || kill_process(self.pid, Signal::KILL).is_ok();
    }

    /// Kills the watchdog and waits for its end.
    pub(super) fn kill_and_reap(mut self) {
        self.kill();
        if self.dismissed {
            self.reap();
        }
    }

    /// Waits for the end of a watchdog that was killed.
    pub(super) fn reap(self) {
        let _ = waitid(WaitId::Pid(self.pid), WaitIdOptions::EXITED);
    }
}
