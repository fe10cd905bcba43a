//! The terminal as we found it, whatever happens: raw mode and what goes with it are switched on by a guard that switches
//! them off again, also when the program panics.

use std::io::{self, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::terminal;

use super::job_signals::JobSignal;

static IS_RAW: AtomicBool = AtomicBool::new(false);
static IS_ON_ALTERNATE_SCREEN: AtomicBool = AtomicBool::new(false);

/// The window's title is put aside, and given back.
const ENTER_SEQUENCE: &str = "\x1b[22;2t\x1b[?2004h";
/// Paste and cursor as usual, styles off.
const LEAVE_SEQUENCE: &str = "\x1b[?2026l\x1b[?2004l\x1b[?25h\x1b[0m\x1b[23;2t";
/// What was drawn below the cursor goes, so that others can write there.
const CLEAR_BELOW_SEQUENCE: &str = "\r\n\x1b[J";
/// The other screen, for whole pages.
pub(crate) const ENTER_ALTERNATE_SCREEN: &str = "\x1b[?1049h";
pub(crate) const LEAVE_ALTERNATE_SCREEN: &str = "\x1b[?1049l";

/// The terminal, in our hands until this is dropped.
pub(crate) struct TerminalGuard(());

impl TerminalGuard {
    /// Takes the terminal.
    pub(crate) fn new() -> io::Result<TerminalGuard> {
        static PANIC_HOOK: Once = Once::new();
        PANIC_HOOK.call_once(|| {
            let before = std::panic::take_hook();
            let ours = std::thread::current().id();
            std::panic::set_hook(Box::new(move |panic| {
                // A panic elsewhere ends a task, not the session: whoever waits for the task says what became of it, and
                // the terminal stays as the session needs it.
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

    /// Gives the terminal away for a while, as to an editor.
    pub(crate) fn lend<T>(&self, user: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let result = user();
        enter()?;
        Ok(result)
    }
}

impl TerminalGuard {
    /// Stops the program with the terminal as its shell expects it, and takes it again after a stop; it has to be drawn on
    /// again then.
    pub(crate) fn handle_job_signal(&self, stop: JobSignal) {
        // That it is gone is noticed by whoever reads its keys; a terminal that goes lets its jobs go on first.
        let _ = match stop {
            JobSignal::Suspend => self.lend(hookwright_process::suspend_self),
            // Nobody knows what modes it has by now.
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
    if IS_RAW.swap(false, Ordering::SeqCst) {
        // The terminal may be gone; then there is nothing to restore.
        let _ = write(leave_alternate_screen());
        let _ = write(LEAVE_SEQUENCE);
        let _ = terminal::disable_raw_mode();
    }
}

/// Left without being entered, the other screen would put the cursor somewhere.
fn leave_alternate_screen() -> &'static str {
    if IS_ON_ALTERNATE_SCREEN.swap(false, Ordering::SeqCst) { LEAVE_ALTERNATE_SCREEN } else { "" }
}

/// The modes as we found them, for a program that ends in the middle of something; what is left to be written, if the
/// terminal takes it. Neither waits nor allocates.
pub(crate) fn restore_modes() -> [&'static str; 3] {
    if !IS_RAW.swap(false, Ordering::SeqCst) {
        return [""; 3];
    }
    let _ = terminal::disable_raw_mode();
    [leave_alternate_screen(), LEAVE_SEQUENCE, CLEAR_BELOW_SEQUENCE]
}

/// The terminal for whoever draws on it; words are made safe when they become part of a line (`styled_text.rs`).
#[expect(clippy::disallowed_methods, reason = "a screen is made of sequences")]
pub(crate) fn raw_stdout() -> io::Stdout {
    io::stdout()
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = raw_stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Remembers which screen is drawn on, for whoever has to restore it.
pub(crate) fn set_on_alternate_screen(entered: bool) {
    IS_ON_ALTERNATE_SCREEN.store(entered, Ordering::SeqCst);
}

/// Whether the other screen is drawn on.
pub(crate) fn is_on_alternate_screen() -> bool {
    IS_ON_ALTERNATE_SCREEN.load(Ordering::SeqCst)
}

/// Columns and rows; something usable where the terminal does not say.
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

    /// Not a test of its own: the other one runs it in a terminal.
    #[test]
    #[ignore = "panics on purpose"]
    fn panics_in_raw_mode() {
        let _guard = TerminalGuard::new().unwrap();
        panic!("on purpose");
    }

    /// Not a test of its own either: a panic that somebody else catches.
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
        let said = run_in_a_terminal("panics_on_another_thread", home.path());
        assert!(said.contains("still raw") && !said.contains("on purpose"), "{said}");
        assert!(said.find("still raw").unwrap() < said.find(LEAVE_SEQUENCE).unwrap());
        let log =
            hookwright_testkit::fs::read_to_string(home.path().join(".gemini/hookwright/logs/hookwright.log")).unwrap();
        assert_eq!(log.matches("panic: on purpose place=").count(), 1, "{log}");
    }

    #[test]
    fn a_panic_gives_the_terminal_back() {
        let said = run_in_a_terminal("panics_in_raw_mode", &std::env::temp_dir());
        assert!(said.find(LEAVE_SEQUENCE).unwrap() < said.find("on purpose").unwrap(), "{said}");
        assert!(said.contains(ENTER_SEQUENCE));
    }

    /// What one of the tests above says in a terminal, which is as it was before.
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
        let said = std::thread::spawn(move || {
            let mut said = Vec::new();
            // The end of a terminal is an error on some systems.
            let _ = io::Read::read_to_end(&mut reader, &mut said);
            String::from_utf8_lossy(&said).into_owned()
        });
        wait_for("the test's end", || child.try_wait().unwrap());
        assert_eq!(pair.master.get_termios().unwrap(), before);
        drop(pair);
        said.join_in_time().unwrap()
    }
}
