//! The registry of child processes: starts them one at a time, each with its mark, and none once the program has begun
//! to exit. Linux only; on other systems only groups are tracked.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::descendants::{ChildFilter, DescendantQuery, EmptyScans, ProcStat};
use super::process_mark::{self, ProcessMark, ProcessMarkRange};
use super::sys;
use super::watchdog::{Watchdog, WatchdogCommand, WatchdogMessage};

/// The state shared by all starts of processes in this program.
#[derive(Debug)]
pub(super) struct ChildRegistry {
    /// None if children may outlive this process, as in a program that embeds this crate.
    watchdog_command: Option<WatchdogCommand>,
    watchdog: Option<Watchdog>,
    /// Whether a child has ever been started.
    has_spawned: bool,
    closed: bool,
    /// The messages to send to every new watchdog, in addition to the marks.
    watchdog_messages: Vec<WatchdogMessage>,
}

static CHILD_REGISTRY: Mutex<ChildRegistry> = Mutex::new(ChildRegistry {
    watchdog_command: None,
    watchdog: None,
    has_spawned: false,
    closed: false,
    watchdog_messages: Vec::new(),
});

/// The watchdog's process id, or 0. It can be read while the registry is locked.
static WATCHDOG_PID: AtomicU32 = AtomicU32::new(0);

/// Whether this process has adopted the orphans of its descendants since its first child.
static IS_SUBREAPER: AtomicBool = AtomicBool::new(false);

/// Makes sure that no process that this one starts outlives it.
///
/// From now on this process is a subreaper, which adopts orphans. With its first child it starts a watchdog, which is
/// `program` with `name` as `argv[0]`. A program that is started under that name must pass its one argument to
/// [`run_watchdog`](crate::run_watchdog) and do nothing else.
pub fn enable_watchdog(program: PathBuf, name: &'static str) {
    lock_registry().watchdog_command = Some(WatchdogCommand { program, name });
    process_mark::set_marked_at_spawn();
}

/// Starts a process for the user, which may outlive this program.
pub fn spawn_detached<T>(start: impl FnOnce() -> T) -> T {
    let _one_at_a_time = lock_registry();
    process_mark::spawn_with_mark(ProcessMark::Detached, start)
}

/// Kills all processes that descend from this one or carry one of its marks, but for detached ones.
///
/// No process can be started after it: it is the last step before the program exits.
pub fn kill_descendants() {
    /// How long a start that is under way may hold the lock before it counts as stuck.
    const SPAWN_LOCK_TIMEOUT: Duration = Duration::from_millis(500);
    let deadline = Instant::now() + SPAWN_LOCK_TIMEOUT;
    let mut registry = loop {
        match CHILD_REGISTRY.try_lock() {
            Ok(registry) => break registry,
            Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
            // The watchdog kills the processes when this program is gone.
            Err(TryLockError::WouldBlock) if Instant::now() > deadline => return,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    registry.closed = true;
    if !registry.has_spawned || registry.watchdog_command.is_none() {
        return;
    }
    // A dismissed watchdog had nothing to kill, and no process has been started since.
    let is_second = registry.watchdog.as_ref().is_some_and(Watchdog::is_dismissed);
    let sure = if is_second { EmptyScans::One } else { EmptyScans::Two };
    match (all_descendants().kill_all(sure), registry.watchdog.take()) {
        (Ok(()), Some(watchdog)) => watchdog.kill_and_reap(),
        // Processes that could not be found, as where no descriptor is left, are killed by the watchdog after our exit.
        (Err(_), Some(watchdog)) => registry.watchdog = Some(watchdog),
        (_, None) => {}
    }
}

/// Dismisses the watchdog if there is no process that it could have to kill, and returns whether that is so.
///
/// The exit of the program then does not wait for the watchdog's. A later start of a process starts a new watchdog.
pub(super) fn dismiss_idle_watchdog() -> bool {
    let mut registry = lock_registry();
    let is_empty = all_descendants().is_certainly_empty().unwrap_or(false);
    if is_empty {
        registry.watchdog.iter_mut().for_each(Watchdog::kill);
    }
    is_empty
}

/// Returns the query for all processes that descend from this one or carry one of its marks.
fn all_descendants() -> DescendantQuery {
    DescendantQuery { children: ChildFilter::All, ..DescendantQuery::new(ProcessMarkRange::of_program(), Vec::new()) }
}

/// Starts a process with the mark of its run.
pub(super) fn spawn_marked(run: ProcessMarkRange, start: impl FnOnce() -> io::Result<Pid>) -> io::Result<Pid> {
    let mut registry = lock_registry();
    if registry.closed {
        return Err(io::Error::new(io::ErrorKind::Interrupted, "the program is ending"));
    }
    registry.ensure_watchdog();
    // In a program that embeds this crate, processes started by other code at the same time must not inherit the mark.
    let pid = match registry.watchdog_command {
        Some(_) => process_mark::spawn_with_mark(ProcessMark::Run(run), start)?,
        None => start().inspect(|pid| process_mark::set_run_mark(pid.as_raw_pid().cast_unsigned(), run))?,
    };
    if registry.watchdog_command.is_some() && !process_mark::are_marks_reliable() {
        registry.report_unmarked(pid.as_raw_pid().cast_unsigned());
    }
    Ok(pid)
}

/// Starts a reader that drains this pipe after the exit of this program, so that its writers do not get SIGPIPE.
pub(super) fn drain_after_exit(pipe: OwnedFd) -> io::Result<()> {
    match &lock_registry().watchdog_command {
        Some(command) => command.start_reader(pipe),
        None => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Returns whether no process but the watchdog descends from this one, at little cost.
///
/// While there is a descendant, at least one of them is in the kernel's lists of this process's children, of which
/// there is one per thread. A process that loses its parent (another process, or a thread of this one) is appended to
/// the list of the first thread. That list is therefore read last. Dead children stay in a list until this process
/// reaps them, and new ones are appended; so a list that holds the watchdog at its beginning and nothing behind it was
/// that short when the read ended.
///
/// A process that entered the pid namespace of another program becomes a child of that namespace's init once it has
/// lost its parent here. Only its mark shows it: [`DescendantQuery`] checks both.
pub(super) fn has_no_children() -> bool {
    // In this order: a dead watchdog is reaped only once its successor runs.
    IS_SUBREAPER.load(Ordering::Relaxed) && only_child().is_some_and(|child| child == watchdog_pid())
}

/// Returns the only child of this process, or `Some(None)` if it has none. `None` if it has several or if `/proc`
/// fails.
#[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
fn only_child() -> Option<Option<u32>> {
    const TASK_DIRECTORY: &str = "/proc/self/task";
    // The thread id as `/proc` shows it, which may be of another pid namespace than our own.
    let first = std::fs::read_link("/proc/self").ok()?.into_os_string().into_string().ok()?;
    let count = std::fs::metadata(TASK_DIRECTORY).ok()?.nlink().checked_sub(2)?;
    let threads = std::fs::read_dir(TASK_DIRECTORY).ok()?;
    let mut threads: Vec<String> =
        threads.map(|thread| thread.ok()?.file_name().into_string().ok()).collect::<Option<_>>()?;
    // If a thread ends while the directory is read, later entries may be missing.
    if (threads.len() as u64) < count {
        return None;
    }
    threads.sort_by_key(|thread| *thread == first);
    threads.last().filter(|last| **last == first)?;
    let mut only = None;
    for thread in threads {
        let children = match std::fs::read_to_string(format!("{TASK_DIRECTORY}/{thread}/children")) {
            Ok(children) => children,
            // The thread is gone; the first thread has inherited its children.
            Err(error) if thread != first && is_gone(&error) => continue,
            Err(_) => return None,
        };
        for child in children.split_ascii_whitespace() {
            if only.replace(child.parse().ok()?).is_some() {
                return None;
            }
        }
    }
    Some(only)
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// Returns the watchdog's process id, if there is a watchdog.
pub(super) fn watchdog_pid() -> Option<u32> {
    Some(WATCHDOG_PID.load(Ordering::SeqCst)).filter(|pid| *pid != 0)
}

pub(super) fn lock_registry() -> MutexGuard<'static, ChildRegistry> {
    CHILD_REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ChildRegistry {
    /// Makes this process a subreaper and starts a watchdog, if the program asked for one and none runs.
    fn ensure_watchdog(&mut self) {
        let first = !std::mem::replace(&mut self.has_spawned, true);
        let Some(command) = &self.watchdog_command else { return };
        if first {
            become_subreaper();
        }
        let before = self.watchdog.take();
        match &before {
            Some(watchdog) if watchdog.is_running() => {
                self.watchdog = before;
                return;
            }
            Some(watchdog) if watchdog.is_dismissed() => {}
            Some(_) => tracing::warn!("the watchdog was killed; starting another"),
            None => {}
        }
        let began = Instant::now();
        self.watchdog = command.start().inspect_err(|error| tracing::warn!(%error, "cannot start the watchdog")).ok();
        let pid = self.watchdog.as_ref().map_or(0, Watchdog::pid);
        WATCHDOG_PID.store(pid, Ordering::SeqCst);
        // Not earlier: while a list is read, no process may leave it that the reader takes for the watchdog.
        before.into_iter().for_each(Watchdog::reap);
        self.watchdog
            .iter()
            .for_each(|watchdog| self.watchdog_messages.iter().for_each(|message| watchdog.send(*message)));
        tracing::debug!(pid, us = began.elapsed().as_micros(), "a watchdog was started");
    }
}

impl ChildRegistry {
    /// Tells the watchdog of a process that could not be marked, so that it knows its group and session by their
    /// number.
    fn report_unmarked(&mut self, pid: u32) {
        let Some(started) = ProcStat::start_time_of(pid) else { return };
        let message = [u64::from(pid), started];
        self.watchdog_messages.retain(|[pid, started]| {
            u32::try_from(*pid).ok().and_then(ProcStat::start_time_of).is_none_or(|now| now == *started)
        });
        self.watchdog_messages.push(message);
        self.watchdog.iter().for_each(|watchdog| watchdog.send(message));
    }
}

/// Makes this process adopt the descendants that lose their parent.
fn become_subreaper() {
    match rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        // If SIGCHLD is ignored, dead children leave the list by themselves, while it may be being read.
        Ok(()) => IS_SUBREAPER.store(!sys::is_signal_ignored(libc::SIGCHLD), Ordering::Relaxed),
        Err(error) => tracing::warn!(%error, "processes that lose their parent are known by their marks only"),
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use hookwright_testkit::deadline::*;

    use super::*;

    fn spawn_sleep() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    fn kill_and_reap(mut child: Child) {
        child.kill().unwrap();
        child.wait_in_time().unwrap();
    }

    /// Other tests have children too, so this one runs itself again in a process of its own.
    #[test]
    fn only_child_sees_children_of_all_threads_and_orphans() {
        const ISOLATED_RUN_VARIABLE: &str = "HOOKWRIGHT_TEST_ALONE";
        if std::env::var_os(ISOLATED_RUN_VARIABLE).is_none() {
            let test = std::thread::current().name().unwrap().to_owned();
            let mut alone = Command::new(std::env::current_exe().unwrap());
            let output = alone.args(["--exact", &test]).env(ISOLATED_RUN_VARIABLE, "1").output_in_time().unwrap();
            let told = String::from_utf8_lossy(&output.stdout);
            return assert!(output.status.success() && told.contains("1 passed"), "{told}");
        }
        become_subreaper();
        assert_eq!(only_child(), Some(None));
        // The first child's thread lives on at first, and then ends.
        let (give, given) = std::sync::mpsc::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            tell.send(spawn_sleep()).unwrap();
            given.recv_in_time().unwrap();
        });
        let child = told.recv_in_time().unwrap();
        assert_eq!(only_child(), Some(Some(child.id())));
        let second = spawn_sleep();
        assert_eq!(only_child(), None);
        kill_and_reap(second);
        give.send(()).unwrap();
        thread.join_in_time().unwrap();
        assert_eq!(only_child(), Some(Some(child.id())), "its thread is gone");
        kill_and_reap(child);
        assert_eq!(only_child(), Some(None));
        // The child of a thread leaves a daemon.
        let daemon = std::thread::spawn(|| {
            let mut shell = Command::new("sh");
            let script = "sleep 60 >/dev/null 2>&1 & echo $!";
            let output = shell.args(["-c", script]).output_in_time().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().parse::<u32>().unwrap()
        });
        let daemon = daemon.join_in_time().unwrap();
        assert_eq!(only_child(), Some(Some(daemon)));
        let pid = Pid::from_raw(daemon.cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()).unwrap();
        assert_eq!(only_child(), Some(None));
    }
}
