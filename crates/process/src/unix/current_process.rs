//! How this process itself may be ended or stopped: what it hears of that, its last act and its last words.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, kill_current_process_group, kill_process};

use super::sys;

/// What is done when the program aborts, as it does where memory or stack run out in the middle of something. It runs on the
/// thread that aborts, and must neither allocate nor wait for anybody; the program ends after it in any case.
pub fn set_abort_handler(act: fn()) {
    if let Err(error) = sys::set_abort_handler(act) {
        tracing::debug!(%error, "an abort will come without a word");
    }
}

/// Whether whoever started this program wants it to outlive its terminal, as `nohup` does. To be asked before anybody
/// listens to that signal.
pub fn is_hangup_ignored() -> bool {
    sys::is_signal_ignored(libc::SIGHUP)
}

/// Whether this is what came of writing to stdout because it is a terminal that is gone. A file says the same when its disk
/// fails.
pub fn is_terminal_hangup(error: &io::Error) -> bool {
    let is_device =
        || fstat(rustix::stdio::stdout()).map(|stat| FileType::from_raw_mode(stat.st_mode).is_char_device());
    error.raw_os_error() == Some(Errno::IO.raw_os_error()) && is_device() == Ok(true)
}

/// Whether the reader of stdout is gone: the other end of a pipe is closed, or a terminal was hung up. Asks without writing.
pub fn is_stdout_closed() -> bool {
    let mut stdout = [PollFd::from_borrowed_fd(rustix::stdio::stdout(), PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut stdout, Some(&at_once)) == Ok(1) && stdout[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Whoever stops a job from the terminal sends this; it can be heard before it counts.
pub const STOP_SIGNAL: i32 = libc::SIGTSTP;
/// A process that was stopped goes on.
pub const CONTINUE_SIGNAL: i32 = libc::SIGCONT;

/// Asks everybody in this program's job to stop, as the terminal does where its keys are not read one by one; we too hear
/// [`STOP_SIGNAL`] then.
pub fn suspend_job() {
    let _ = kill_current_process_group(Signal::TSTP);
}

/// Stops this process until somebody lets it go on, unless nobody is there who would: a program that is all there is in its
/// terminal has no shell to do so.
pub fn suspend_self() {
    /// All threads have stopped by then.
    const SUSPEND_SETTLE_PERIOD: Duration = Duration::from_millis(50);
    if getppid().is_some_and(|parent| sys::session_id(Some(parent)) == sys::session_id(None)) {
        let _ = kill_process(getpid(), Signal::STOP);
        std::thread::sleep(SUSPEND_SETTLE_PERIOD);
    }
}

/// The last words of a program that may be stuck: past all locks and buffers, and only where nobody has to wait for a reader.
pub fn write_final_output(stdout: &[&str], stderr: &str) {
    stdout.iter().for_each(|words| write_if_ready(rustix::stdio::stdout(), words));
    write_if_ready(rustix::stdio::stderr(), stderr);
}

fn write_if_ready(to: BorrowedFd<'_>, words: &str) {
    let mut ready = [PollFd::from_borrowed_fd(to, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if !words.is_empty() && poll(&mut ready, Some(&at_once)) == Ok(1) && ready[0].revents() == PollFlags::OUT {
        // Whoever can't be told is not told.
        let _ = rustix::io::write(to, words.as_bytes());
    }
}
