//! Where processes come into being: one at a time, each with its mark, and none after the program has begun to go. Linux
//! only; elsewhere only groups are known.

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

/// What is known of all processes of this program.
#[derive(Debug)]
pub(super) struct ChildRegistry {
    /// None where children may outlive this process, as in a program that embeds this one.
    watchdog_command: Option<WatchdogCommand>,
    watchdog: Option<Watchdog>,
    /// Whether there has been a child.
    has_spawned: bool,
    closed: bool,
    /// What a watchdog must be told beside the marks.
    watchdog_messages: Vec<WatchdogMessage>,
}

static CHILD_REGISTRY: Mutex<ChildRegistry> = Mutex::new(ChildRegistry {
    watchdog_command: None,
    watchdog: None,
    has_spawned: false,
    closed: false,
    watchdog_messages: Vec::new(),
});

/// The watchdog's number, or 0: read while the household is locked, too.
static WATCHDOG_PID: AtomicU32 = AtomicU32::new(0);

/// Whether orphans of those that this process starts become its own children, and have from the first one on.
static IS_SUBREAPER: AtomicBool = AtomicBool::new(false);

/// From now on nothing that this process starts outlives it: children that lose their parent become its own, and with the
/// first child a watchdog is started, which is `program` under this name. Where a program finds itself so called, it must
/// pass its one argument to [`stand_watch`](crate::stand_watch) and do nothing else.
pub fn enable_watchdog(program: PathBuf, name: &'static str) {
    lock_registry().watchdog_command = Some(WatchdogCommand { program, name });
    process_mark::set_marked_at_spawn();
}

/// Starts something that the user wants for themselves: it may stay when this program goes.
pub fn spawn_detached<T>(start: impl FnOnce() -> T) -> T {
    let _one_at_a_time = lock_registry();
    process_mark::spawn_with_mark(ProcessMark::Detached, start)
}

/// Ends whatever descends from this process or carries one of its marks, wherever it went, but for what may stay. Nothing
/// is started after it: the last thing before the program goes.
pub fn kill_descendants() {
    /// Whoever starts something at this moment has done so by then, unless it is stuck.
    const SPAWN_LOCK_TIMEOUT: Duration = Duration::from_millis(500);
    let deadline = Instant::now() + SPAWN_LOCK_TIMEOUT;
    let mut household = loop {
        match CHILD_REGISTRY.try_lock() {
            Ok(household) => break household,
            Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
            // The watchdog does it when the program is gone.
            Err(TryLockError::WouldBlock) if Instant::now() > deadline => return,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    household.closed = true;
    if !household.has_spawned || household.watchdog_command.is_none() {
        return;
    }
    // One that was told to go was not needed any more, and nobody has been started since.
    let is_second = household.watchdog.as_ref().is_some_and(Watchdog::is_dismissed);
    let sure = if is_second { EmptyScans::One } else { EmptyScans::Two };
    match (all_descendants().kill_all(sure), household.watchdog.take()) {
        (Ok(()), Some(dog)) => dog.kill_and_reap(),
        // Whoever could not be found, as where there are no descriptors left, is the watchdog's as soon as we are gone.
        (Err(_), Some(dog)) => household.watchdog = Some(dog),
        (_, None) => {}
    }
}

/// Tells the watchdog to go if there is nobody whom it could end, so that its end is not waited for at the program's own;
/// whether that is so. Whoever starts something after that has another one.
pub(super) fn dismiss_idle_watchdog() -> bool {
    let mut household = lock_registry();
    let is_nobody = all_descendants().is_certainly_empty().unwrap_or(false);
    if is_nobody {
        household.watchdog.iter_mut().for_each(Watchdog::kill);
    }
    is_nobody
}

/// All that descends from this process or carries one of its marks.
fn all_descendants() -> DescendantQuery {
    DescendantQuery { children: ChildFilter::All, ..DescendantQuery::new(ProcessMarkRange::of_program(), Vec::new()) }
}

/// Starts a process with the mark of its run.
pub(super) fn spawn_marked(run: ProcessMarkRange, start: impl FnOnce() -> io::Result<Pid>) -> io::Result<Pid> {
    let mut household = lock_registry();
    if household.closed {
        return Err(io::Error::new(io::ErrorKind::Interrupted, "the program is ending"));
    }
    household.ensure_watchdog();
    // Where others start processes too, in a program that embeds this one, theirs must not be born with our mark.
    let pid = match household.watchdog_command {
        Some(_) => process_mark::spawn_with_mark(ProcessMark::Run(run), start)?,
        None => start().inspect(|pid| process_mark::set_run_mark(pid.as_raw_pid().cast_unsigned(), run))?,
    };
    if household.watchdog_command.is_some() && !process_mark::are_marks_reliable() {
        household.report_unmarked(pid.as_raw_pid().cast_unsigned());
    }
    Ok(pid)
}

/// Has somebody read on from this pipe when this program is gone, so that whoever writes there is not ended by that.
pub(super) fn drain_after_exit(pipe: OwnedFd) -> io::Result<()> {
    match &lock_registry().watchdog_command {
        Some(kennel) => kennel.start_reader(pipe),
        None => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Whether nobody descends from this process but its watchdog, at little cost.
///
/// While anybody is there, one of them is in the system's lists of its children, one list for each thread. Whoever loses a
/// parent, be that another process or a thread of this one, is put at the end of the first thread's list; so that is read
/// after the others, where nobody can have moved on to meanwhile. Dead ones stay in a list until this process collects them,
/// and new ones are put behind the others; so a list that is read with the watchdog at its beginning and nothing behind it
/// was that short at its end.
///
/// Whoever went into another program's namespace is a child of that one's first process once it has lost its parent here. It
/// is known by its mark alone: [`DescendantQuery`] looks for both.
pub(super) fn has_no_children() -> bool {
    // In this order: a dead watchdog is collected once there is another one.
    IS_SUBREAPER.load(Ordering::Relaxed) && only_child().is_some_and(|child| child == watchdog_pid())
}

/// The one child of this process, or that there is none. None where there are more, or nobody can tell.
#[expect(clippy::disallowed_methods, reason = "a file of the kernel")]
fn only_child() -> Option<Option<u32>> {
    const TASK_DIRECTORY: &str = "/proc/self/task";
    // By the numbers that are used there, which need not be our own.
    let first = std::fs::read_link("/proc/self").ok()?.into_os_string().into_string().ok()?;
    let count = std::fs::metadata(TASK_DIRECTORY).ok()?.nlink().checked_sub(2)?;
    let threads = std::fs::read_dir(TASK_DIRECTORY).ok()?;
    let mut threads: Vec<String> =
        threads.map(|thread| thread.ok()?.file_name().into_string().ok()).collect::<Option<_>>()?;
    // Where one ends just then, those behind it are left out.
    if (threads.len() as u64) < count {
        return None;
    }
    threads.sort_by_key(|thread| *thread == first);
    threads.last().filter(|last| **last == first)?;
    let mut only = None;
    for thread in threads {
        let children = match std::fs::read_to_string(format!("{TASK_DIRECTORY}/{thread}/children")) {
            Ok(children) => children,
            // The thread is gone; its children are the first one's.
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

/// The number of the watchdog, if there is one.
pub(super) fn watchdog_pid() -> Option<u32> {
    Some(WATCHDOG_PID.load(Ordering::SeqCst)).filter(|pid| *pid != 0)
}

pub(super) fn lock_registry() -> MutexGuard<'static, ChildRegistry> {
    CHILD_REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ChildRegistry {
    /// Sees to it that orphans are adopted and a watchdog is awake, where that is wanted.
    fn ensure_watchdog(&mut self) {
        let first = !std::mem::replace(&mut self.has_spawned, true);
        let Some(kennel) = &self.watchdog_command else { return };
        if first {
            become_subreaper();
        }
        let before = self.watchdog.take();
        match &before {
            Some(dog) if dog.is_running() => {
                self.watchdog = before;
                return;
            }
            Some(dog) if dog.is_dismissed() => {}
            Some(_) => tracing::warn!("somebody has ended the watchdog; another one is started"),
            None => {}
        }
        let began = Instant::now();
        self.watchdog = kennel.start().inspect_err(|error| tracing::warn!(%error, "there is no watchdog")).ok();
        let pid = self.watchdog.as_ref().map_or(0, Watchdog::pid);
        WATCHDOG_PID.store(pid, Ordering::SeqCst);
        // Not before: while a list is read, nobody may go from it whom its reader takes for the watchdog.
        before.into_iter().for_each(Watchdog::reap);
        self.watchdog.iter().for_each(|dog| self.watchdog_messages.iter().for_each(|news| dog.send(*news)));
        tracing::debug!(pid, us = began.elapsed().as_micros(), "a watchdog was started");
    }
}

impl ChildRegistry {
    /// A process that could not be marked: the watchdog knows its group and its session by their number.
    fn report_unmarked(&mut self, pid: u32) {
        let Some(started) = ProcStat::start_time_of(pid) else { return };
        let news = [u64::from(pid), started];
        self.watchdog_messages.retain(|[pid, started]| {
            u32::try_from(*pid).ok().and_then(ProcStat::start_time_of).is_none_or(|now| now == *started)
        });
        self.watchdog_messages.push(news);
        self.watchdog.iter().for_each(|dog| dog.send(news));
    }
}

/// Children whose parent has ended become this process's own.
fn become_subreaper() {
    match rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        // Where the end of children is ignored, dead ones leave the list by themselves, and others while it is read.
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

    /// Other tests have children too, so it runs itself again, alone.
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
        // A thread that lives on, and one that does not.
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
        // A daemon of a thread's child.
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
