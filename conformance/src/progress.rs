//! A progress bar: one line on a terminal, nothing in a pipe.

use std::io::{IsTerminal as _, Write as _};
use std::time::Instant;

/// A line on stderr that is drawn again with each step.
pub(crate) struct ProgressBar {
    total: usize,
    done: usize,
    started_at: Instant,
    is_visible: bool,
}

#[expect(clippy::disallowed_methods, reason = "its words are its own, and go to a terminal or nowhere")]
impl ProgressBar {
    pub(crate) fn new(all: usize) -> Self {
        ProgressBar { total: all, done: 0, started_at: Instant::now(), is_visible: std::io::stderr().is_terminal() }
    }

    /// Counts a finished step and shows its name.
    pub(crate) fn advance(&mut self, name: &str) {
        self.done += 1;
        if !self.is_visible {
            return;
        }
        const BAR_COLUMNS: usize = 30;
        let full = self.done * BAR_COLUMNS / self.total.max(1);
        let left = self.started_at.elapsed().as_secs_f64() / self.done as f64
            * (self.total - self.done.min(self.total)) as f64;
        let bar = format!("{}{}", "#".repeat(full), "-".repeat(BAR_COLUMNS - full));
        let line = format!("[{bar}] {}/{} {:.0} s left  {name}", self.done, self.total, left);
        // A failed write to the terminal is ignored.
        let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
    }

    /// Erases the line.
    pub(crate) fn clear(&self) {
        if self.is_visible {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
