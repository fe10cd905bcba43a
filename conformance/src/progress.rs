//! How far it is: one line on a terminal, nothing in a pipe.

use std::io::{IsTerminal as _, Write as _};
use std::time::Instant;

/// A line that is drawn anew.
pub(crate) struct Progress {
    all: usize,
    done: usize,
    start: Instant,
    shown: bool,
}

#[expect(clippy::disallowed_methods, reason = "its words are its own, and go to a terminal or nowhere")]
impl Progress {
    pub(crate) fn new(all: usize) -> Self {
        Progress { all, done: 0, start: Instant::now(), shown: std::io::stderr().is_terminal() }
    }

    /// Another one is done; its name.
    pub(crate) fn step(&mut self, name: &str) {
        self.done += 1;
        if !self.shown {
            return;
        }
        const WIDTH: usize = 30;
        let full = self.done * WIDTH / self.all.max(1);
        let left = self.start.elapsed().as_secs_f64() / self.done as f64 * (self.all - self.done.min(self.all)) as f64;
        let bar = format!("{}{}", "#".repeat(full), "-".repeat(WIDTH - full));
        let line = format!("[{bar}] {}/{} {:.0} s left  {name}", self.done, self.all, left);
        // A terminal that is gone needs no bar.
        let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
