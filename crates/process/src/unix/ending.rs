//! How this process itself may be ended: what it hears of that, its last act and its last words.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::sys;

/// What is done when the program aborts, as it does where memory or stack run out in the middle of something. It runs on the
/// thread that aborts, and must neither allocate nor wait for anybody; the program ends after it in any case.
pub fn at_abort(act: fn()) {
    if let Err(error) = sys::at_abort(act) {
        tracing::debug!(%error, "an abort will come without a word");
    }
}

/// Whether whoever started this program wants it to outlive its terminal, as `nohup` does. To be asked before anybody
/// listens to that signal.
pub fn is_hangup_ignored() -> bool {
    sys::ignores(libc::SIGHUP)
}

/// The last words of a program that may be stuck: past all locks and buffers, and only where nobody has to wait for a reader.
pub fn last_words(stdout: &[&str], stderr: &str) {
    stdout.iter().for_each(|words| write_at_once(rustix::stdio::stdout(), words));
    write_at_once(rustix::stdio::stderr(), stderr);
}

fn write_at_once(to: BorrowedFd<'_>, words: &str) {
    let mut ready = [PollFd::from_borrowed_fd(to, PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if !words.is_empty() && poll(&mut ready, Some(&at_once)) == Ok(1) && ready[0].revents() == PollFlags::OUT {
        // Whoever can't be told is not told.
        let _ = rustix::io::write(to, words.as_bytes());
    }
}
