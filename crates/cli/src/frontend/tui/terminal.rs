//! Terminal modes: a guard switches raw mode and its sequences on, and switches them off again when it is dropped or
//! the program panics.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crossterm::terminal;

use super::job_signals::JobSignal;

static IS_RAW: AtomicBool = AtomicBool::new(false);
static IS_ON_ALTERNATE_SCREEN: AtomicBool = AtomicBool::new(false);
/// Whether nothing is drawn any more, because the program ends abruptly.
static IS_SCREEN_CLOSED: AtomicBool = AtomicBool::new(false);
/// Locked during a write to the screen.
static DRAWING: Mutex<()> = Mutex::new(());
/// How long an abrupt end waits for a write that has begun.
const CLOSE_SCREEN_TIMEOUT: Duration = Duration::from_millis(50);

/// Saves the window title and turns bracketed paste on.
const ENTER_SEQUENCE: &str = "\x1b[22;2t\x1b[?2004h";
/// Resets bracketed paste, cursor, styles and the window title.
const LEAVE_SEQUENCE: &str = "\x1b[?2026l\x1b[?2004l\x1b[?25h\x1b[0m\x1b[23;2t";
/// Clears everything below the cursor, so that other output can be written there.
const CLEAR_BELOW_SEQUENCE: &str = "\r\n\x1b[J";
/// Enters the alternate screen, which is used for whole pages.
pub(crate) const ENTER_ALTERNATE_SCREEN: &str = "\x1b[?1049h";
pub(crate) const LEAVE_ALTERNATE_SCREEN: &str = "\x1b[?1049l";

/// Keeps the terminal in raw mode until it is dropped.
pub(crate) struct TerminalGuard(());

impl TerminalGuard {
    /// Sets the terminal up.
    pub(crate) fn new() -> io::Result<TerminalGuard> {
        static PANIC_HOOK: Once = Once::new();
        PANIC_HOOK.call_once(|| {
            let before = std::panic::take_hook();
            let ours = std::thread::current().id();
            std::panic::set_hook(Box::new(move |panic| {
                // A panic on another thread ends a task, not the session: the code that awaits the task reports it, and
                // the terminal stays in raw mode.
                if std::thread::current().id() == ours {
                    restore();
                    before(panic);
                } else {
                    crate::log::log_panic(panic);
                }
            }));
        });
        enter()?;
        Ok(TerminalGuard(()))
    }

    /// Restores the terminal while `user` runs, for example an editor.
    pub(crate) fn lend<T>(&self, user: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let result = user();
        enter()?;
        Ok(result)
    }
}

impl TerminalGuard {
    /// Suspends the program with the terminal restored, or sets the terminal up again after a stop.
    ///
    /// The screen must be redrawn then.
    pub(crate) fn handle_job_signal(&self, stop: JobSignal) {
        // If the terminal is gone, the key reader notices it. A terminal that hangs up resumes its jobs first.
        let _ = match stop {
            JobSignal::Suspend => self.lend(hookwright_process::suspend_self),
            // The terminal's modes may have been changed meanwhile.
            JobSignal::Resumed => self.lend(|| ()),
        };
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore();
    }
}

fn enter() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    IS_RAW.store(true, Ordering::SeqCst);
    write(ENTER_SEQUENCE)
}

fn restore() {
    if IS_RAW.load(Ordering::SeqCst) {
        // The terminal may be gone; then there is nothing to restore.
        let _ = write(leave_alternate_screen());
        let _ = write(LEAVE_SEQUENCE);
        let _ = terminal::disable_raw_mode();
        // Last: a signal that ends the program meanwhile finds the flags set and restores the terminal itself.
        IS_ON_ALTERNATE_SCREEN.store(false, Ordering::SeqCst);
        IS_RAW.store(false, Ordering::SeqCst);
    }
}

/// Returns the sequence that leaves the alternate screen, if it was entered.
///
/// Sent without that, it would move the cursor.
fn leave_alternate_screen() -> &'static str {
    if is_on_alternate_screen() { LEAVE_ALTERNATE_SCREEN } else { "" }
}

/// Restores the terminal's modes when the program ends abruptly, and returns the sequences that are still to be
/// written.
///
/// It does not write them itself, because a write could block.
pub(crate) fn restore_modes() -> [&'static str; 3] {
    close_screen();
    if !IS_RAW.load(Ordering::SeqCst) {
        return [""; 3];
    }
    let _ = terminal::disable_raw_mode();
    [leave_alternate_screen(), LEAVE_SEQUENCE, CLEAR_BELOW_SEQUENCE]
}

/// Returns stdout for drawing; text is sanitized when it becomes part of a line (`styled_text.rs`).
pub(crate) fn raw_stdout() -> ScreenWriter {
    ScreenWriter(stdout())
}

#[expect(clippy::disallowed_methods, reason = "a screen is made of sequences")]
fn stdout() -> io::Stdout {
    io::stdout()
}

/// Returns whether stdout is a terminal.
pub(crate) fn is_stdout_terminal() -> bool {
    io::IsTerminal::is_terminal(&stdout())
}

/// Stdout of the screen. When the program ends abruptly, it drops what is still drawn: that would follow the sequences
/// that restore the terminal.
#[derive(Debug)]
pub(crate) struct ScreenWriter(io::Stdout);

impl Write for ScreenWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _drawing = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
        if IS_SCREEN_CLOSED.load(Ordering::SeqCst) { Ok(bytes.len()) } else { self.0.write(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let _drawing = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
        if IS_SCREEN_CLOSED.load(Ordering::SeqCst) { Ok(()) } else { self.0.flush() }
    }
}

/// Closes the screen and waits for a write that has begun, but not for one that blocks.
fn close_screen() {
    IS_SCREEN_CLOSED.store(true, Ordering::SeqCst);
    let deadline = Instant::now() + CLOSE_SCREEN_TIMEOUT;
    while matches!(DRAWING.try_lock(), Err(TryLockError::WouldBlock)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = raw_stdout();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Records whether the alternate screen is in use, for restoring the terminal.
pub(crate) fn set_on_alternate_screen(entered: bool) {
    IS_ON_ALTERNATE_SCREEN.store(entered, Ordering::SeqCst);
}

/// Returns whether the alternate screen is in use.
pub(crate) fn is_on_alternate_screen() -> bool {
    IS_ON_ALTERNATE_SCREEN.load(Ordering::SeqCst)
}

/// Returns columns and rows, or 80 and 24 if the terminal does not report them.
pub(crate) fn size() -> (usize, usize) {
    match terminal::size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => (usize::from(columns), usize::from(rows)),
        _ => (80, 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_testkit::deadline::*;
    use portable_pty::{CommandBuilder, PtySize, native_pty_system};

    /// This is a helper: `a_panic_gives_the_terminal_back` runs it in a terminal.
    #[test]
    #[ignore = "panics on purpose"]
    fn panics_in_raw_mode() {
        let _guard = TerminalGuard::new().unwrap();
        panic!("on purpose");
    }

    /// This is a helper too: it panics on a thread whose panic is caught.
    #[test]
    #[ignore = "panics on purpose"]
    fn panics_on_another_thread() {
        assert!(crate::log::start(None, &hookwright_settings::ProcessEnv::from_process()).is_empty());
        let _guard = TerminalGuard::new().unwrap();
        assert!(std::thread::spawn(|| panic!("on purpose")).join_in_time().is_err());
        assert!(terminal::is_raw_mode_enabled().unwrap(), "the session goes on");
        write("still raw").unwrap();
    }

    #[test]
    fn a_panic_elsewhere_leaves_the_terminal_alone() {
        let home = tempfile::tempdir().unwrap();
        let printed = run_in_a_terminal("panics_on_another_thread", home.path());
        assert!(printed.contains("still raw") && !printed.contains("on purpose"), "{printed}");
        assert!(printed.find("still raw").unwrap() < printed.find(LEAVE_SEQUENCE).unwrap());
        let log =
            hookwright_testkit::fs::read_to_string(home.path().join(".gemini/hookwright/logs/hookwright.log")).unwrap();
        assert_eq!(log.matches("panic: on purpose place=").count(), 1, "{log}");
    }

    #[test]
    fn a_panic_gives_the_terminal_back() {
        let printed = run_in_a_terminal("panics_in_raw_mode", &std::env::temp_dir());
        assert!(printed.find(LEAVE_SEQUENCE).unwrap() < printed.find("on purpose").unwrap(), "{printed}");
        assert!(printed.contains(ENTER_SEQUENCE));
    }

    /// Returns the output of one of the helpers above in a terminal, and asserts that the terminal's modes are
    /// restored.
    fn run_in_a_terminal(test: &str, home: &std::path::Path) -> String {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let before = pair.master.get_termios().unwrap();
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        let name = format!("frontend::tui::terminal::tests::{test}");
        command.args(["--ignored", "--exact", "--nocapture", "--test-threads=1", &name]);
        command.env("GEMINI_CLI_HOME", home);
        command.env("HOOKWRIGHT_LOG", "error");
        let mut reader = pair.master.try_clone_reader().unwrap();
        let mut child = pair.slave.spawn_command(command).unwrap();
        let printed = std::thread::spawn(move || {
            let mut printed = Vec::new();
            // The end of a terminal is an error on some systems.
            let _ = io::Read::read_to_end(&mut reader, &mut printed);
            String::from_utf8_lossy(&printed).into_owned()
        });
        wait_for("the test's end", || child.try_wait().unwrap());
        assert_eq!(pair.master.get_termios().unwrap(), before);
        drop(pair);
        printed.join_in_time().unwrap()
    }
}
