//! Signals and output of this process itself: abort handler, suspension, hang-up, and the final output of a stuck
//! program.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, kill_current_process_group, kill_process};

use super::sys;

/// Sets the function to run when the program aborts, as it does where memory or stack run out.
///
/// The function runs on the aborting thread and must neither allocate nor block. The program ends after it in any case.
pub fn set_abort_handler(act: fn()) {
    if let Err(error) = sys::set_abort_handler(act) {
        tracing::debug!(%error, "an abort will come without a word");
    }
}

/// Returns whether SIGHUP is ignored, as under `nohup`. Must be called before a handler for it is installed.
pub fn is_hangup_ignored() -> bool {
    sys::is_signal_ignored(libc::SIGHUP)
}

/// Returns whether a write to stdout failed with this error because stdout is a terminal that is gone.
///
/// A file fails with the same error when its disk does.
pub fn is_terminal_hangup(error: &io::Error) -> bool {
    let is_device =
        || fstat(rustix::stdio::stdout()).map(|stat| FileType::from_raw_mode(stat.st_mode).is_char_device());
    error.raw_os_error() == Some(Errno::IO.raw_os_error()) && is_device() == Ok(true)
}

/// Returns whether the reader of stdout is gone (a closed pipe or a hung-up terminal), without writing.
pub fn is_stdout_closed() -> bool {
    let mut stdout = [PollFd::from_borrowed_fd(rustix::stdio::stdout(), PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut stdout, Some(&at_once)) == Ok(1) && stdout[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// The signal that stops a job from the terminal; it can be handled.
pub const STOP_SIGNAL: i32 = libc::SIGTSTP;
/// The signal that resumes a stopped process.
pub const CONTINUE_SIGNAL: i32 = libc::SIGCONT;

/// Sends [`STOP_SIGNAL`] to this program's whole job, this process included.
///
/// The terminal does the same for its stop key, but not in raw mode.
pub fn suspend_job() {
    let _ = kill_current_process_group(Signal::TSTP);
}

/// Stops this process until it is resumed, unless its parent is in another session.
///
/// Such a program is alone on its terminal, without a shell that could resume it.
pub fn suspend_self() {
    /// The time within which all threads have stopped.
    const SUSPEND_SETTLE_PERIOD: Duration = Duration::from_millis(50);
    if getppid().is_some_and(|parent| sys::session_id(Some(parent)) == sys::session_id(None)) {
        let _ = kill_process(getpid(), Signal::STOP);
        std::thread::sleep(SUSPEND_SETTLE_PERIOD);
    }
}

/// Writes the final output of a program that may be stuck, bypassing locks and buffers, to streams that do not block.
pub fn write_final_output(stdout: &[&str], stderr: &str) {
    stdout.iter().for_each(|words| write_if_ready(rustix::stdio::stdout(), words));
    write_if_ready(rustix::stdio::stderr(), stderr);
}

fn write_if_ready(to: BorrowedFd<'_>, words: &str) {
    let mut ready = [PollFd::from_borrowed_fd(to, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if !words.is_empty() && poll(&mut ready, Some(&at_once)) == Ok(1) && ready[0].revents() == PollFlags::OUT {
        // A failed write cannot be reported anywhere.
        let _ = rustix::io::write(to, words.as_bytes());
    }
}
