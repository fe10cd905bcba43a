//! The terminal as we found it, whatever happens: raw mode and what goes with it are switched on by a guard that switches
//! them off again, also when the program panics.

use std::io::{self, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::terminal;

static RAW: AtomicBool = AtomicBool::new(false);

const ENTER: &str = "\x1b[?2004h";
/// Paste and cursor as usual, no other screen, styles off.
const LEAVE: &str = "\x1b[?2026l\x1b[?1049l\x1b[?2004l\x1b[?25h\x1b[0m";

/// The terminal, in our hands until this is dropped.
pub(crate) struct Guard(());

impl Guard {
    /// Takes the terminal.
    pub(crate) fn new() -> io::Result<Guard> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                before(panic);
            }));
        });
        enter()?;
        Ok(Guard(()))
    }

    /// Gives the terminal away for a while, as to an editor.
    pub(crate) fn lend<T>(&self, user: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let result = user();
        enter()?;
        Ok(result)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

fn enter() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    RAW.store(true, Ordering::SeqCst);
    write(ENTER)
}

fn restore() {
    if RAW.swap(false, Ordering::SeqCst) {
        // The terminal may be gone; then there is nothing to restore.
        let _ = write(LEAVE);
        let _ = terminal::disable_raw_mode();
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Columns and rows; something usable where the terminal does not say.
pub(crate) fn size() -> (usize, usize) {
    match terminal::size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => (usize::from(columns), usize::from(rows)),
        _ => (80, 24),
    }
}
