//! A pseudo-terminal with the program in it. Tests wait for text to appear and never sleep. A wait that the keys' echo
//! or the previous screen would satisfy panics.

#![expect(clippy::expect_used, reason = "a test without a terminal has failed")]

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hookwright_testkit::Sandbox;
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Generous, since the machine may be busy.
const SCREEN_TIMEOUT: Duration = Duration::from_secs(40);

pub(crate) struct TestTerminal {
    /// `None` after a hangup.
    pty: Option<PtyMaster>,
    child: Box<dyn Child + Send + Sync>,
    output: Arc<Mutex<TerminalOutput>>,
    reader: std::thread::JoinHandle<()>,
    input_wait: InputWait,
}

/// The last input, for the check of waits.
#[derive(Default)]
struct InputWait {
    /// All keys that were typed without a wait between.
    keys: String,
    /// The screen before.
    before: String,
    /// Whether a test has waited since.
    awaited: bool,
}

impl InputWait {
    /// Panics if the text was typed or on the screen before, so that waiting for it proves nothing.
    #[track_caller]
    fn assert_new(&self, text: &str) {
        // The composer shows typed text after its sign.
        let is_echo = self.keys.contains(text.strip_prefix("> ").unwrap_or(text));
        let how = if is_echo { "typed" } else { "on the screen" };
        assert!(
            !is_echo && !self.before.contains(text),
            "{text:?} was {how} already: seeing it says nothing of what comes of {:?}; wait for something else, or `shows` it",
            self.keys
        );
    }
}

/// The test's end of the terminal.
struct PtyMaster {
    master: Box<dyn MasterPty + Send>,
    writer: TimedWriter<Box<dyn Write + Send>>,
}

struct TerminalOutput {
    /// Set when the terminal is closed.
    closed: bool,
    screen: vt100::Parser,
    raw: Vec<u8>,
}

impl TestTerminal {
    /// Starts the program in a terminal of eighty by thirty.
    pub(crate) fn start(sandbox: &Sandbox, args: &[&str]) -> TestTerminal {
        TestTerminal::sized(sandbox, args, 80, 30)
    }

    pub(crate) fn sized(sandbox: &Sandbox, args: &[&str], columns: u16, rows: u16) -> TestTerminal {
        TestTerminal::with(&sandbox.command(args), columns, rows)
    }

    /// Starts any program, with its folder and its variables.
    pub(crate) fn with(wanted: &std::process::Command, columns: u16, rows: u16) -> TestTerminal {
        hookwright_testkit::watchdog::watch();
        let pair = native_pty_system().openpty(size(columns, rows)).expect("a pseudo-terminal");
        let mut command = CommandBuilder::new(wanted.get_program());
        command.args(wanted.get_args());
        command.cwd(wanted.get_current_dir().expect("a folder"));
        command.env_clear();
        for (name, value) in wanted.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        if command.get_env("TERM").is_none() {
            command.env("TERM", "xterm-256color");
            // Like xterm, this terminal cuts lines off when it becomes narrower, and does not rewrap them.
            command.env("XTERM_VERSION", "none");
        }
        let child = pair.slave.spawn_command(command).expect("the program starts");
        let seen = Arc::new(Mutex::new(TerminalOutput {
            closed: false,
            screen: vt100::Parser::new(rows, columns, 1000),
            raw: Vec::new(),
        }));
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let sink = seen.clone();
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let mut seen = sink.lock().expect("nobody panicked");
                seen.screen.process(&bytes[..count]);
                seen.raw.extend_from_slice(&bytes[..count]);
                if seen.closed {
                    return;
                }
            }
        });
        let writer = TimedWriter::new(pair.master.take_writer().expect("a writer"));
        TestTerminal {
            pty: Some(PtyMaster { master: pair.master, writer }),
            child,
            output: seen,
            reader,
            input_wait: InputWait::default(),
        }
    }

    fn ours(&self) -> &PtyMaster {
        self.pty.as_ref().expect("it was not hung up")
    }

    /// Hangs up the terminal. The keys must change the screen: the reader ends with the output that follows.
    pub(crate) fn hang_up(&mut self, keys: &str) {
        self.output.lock().expect("nobody panicked").closed = true;
        self.keys(keys);
        let deadline = Instant::now() + SCREEN_TIMEOUT;
        while !self.reader.is_finished() {
            assert!(Instant::now() < deadline, "nothing comes of {keys:?}; the screen:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        }
        // Dropping the writer types the end of input, which must not be read: the program is stopped until the hangup
        // continues it.
        let id = self.child.process_id().expect("it runs").to_string();
        self.signal("-STOP");
        while !hookwright_testkit::is_stopped(&id) {
            assert!(Instant::now() < deadline, "it does not stop");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.pty = None;
    }

    /// Clears the screen, so that later text has been drawn since.
    pub(crate) fn blank(&mut self) {
        self.input_wait.before.clear();
        let mut seen = self.output.lock().expect("nobody panicked");
        let (rows, columns) = seen.screen.screen().size();
        seen.screen = vt100::Parser::new(rows, columns, 1000);
    }

    /// Types keys; `\r` is Enter, `\x1b` is Esc.
    pub(crate) fn keys(&mut self, keys: &str) -> &mut Self {
        if self.input_wait.awaited {
            self.input_wait = InputWait { before: self.screen(), ..InputWait::default() };
        }
        self.input_wait.keys.push_str(keys);
        let ours = self.pty.as_mut().expect("it was not hung up");
        ours.writer.write_all(keys.as_bytes()).expect("the terminal takes keys");
        ours.writer.flush().expect("the terminal takes keys");
        self
    }

    /// Returns the text on the screen.
    pub(crate) fn screen(&self) -> String {
        self.output.lock().expect("nobody panicked").screen.screen().contents()
    }

    /// Returns whether a shell's next prompt would have a line of its own.
    pub(crate) fn cursor_is_below_everything(&self) -> bool {
        let seen = self.output.lock().expect("nobody panicked");
        let (row, column) = seen.screen.screen().cursor_position();
        let lines = seen.screen.screen().contents().trim_end().lines().count();
        column == 0 && usize::from(row) >= lines
    }

    /// Returns all output so far, without escape sequences.
    pub(crate) fn everything(&self) -> String {
        let raw = String::from_utf8_lossy(&self.output.lock().expect("nobody panicked").raw).into_owned();
        anstream::adapter::strip_str(&raw).to_string()
    }

    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().expect("nobody panicked").raw).into_owned()
    }

    #[track_caller]
    fn wait_until(&mut self, what: &str, reached: impl Fn(&str) -> bool) -> String {
        self.input_wait.awaited = true;
        let deadline = Instant::now() + SCREEN_TIMEOUT;
        loop {
            let screen = self.screen();
            if reached(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "waited in vain {what}; the screen:\n{screen}\n");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the screen differs from the one before the keys, unless the test has waited since.
    #[track_caller]
    fn wait_until_changed(&mut self, what: &str, reached: impl Fn(&str) -> bool) -> String {
        let keys = &self.input_wait.keys;
        let is_vain = !keys.is_empty() && !self.input_wait.awaited && reached(&self.input_wait.before);
        assert!(!is_vain, "waits {what}, and it was so before {keys:?}: wait for what comes of that first");
        self.wait_until(what, reached)
    }

    /// Waits until the screen shows this text, which was neither typed nor there before.
    #[track_caller]
    pub(crate) fn wait_for_new_text(&mut self, text: &str) -> String {
        self.input_wait.assert_new(text);
        self.wait_for_text(text)
    }

    /// Waits until the screen shows this text, which may have been typed or there before: the keys need no effect.
    #[track_caller]
    pub(crate) fn wait_for_text(&mut self, text: &str) -> String {
        self.wait_until(&format!("for {text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the screen shows one of these texts, which were neither typed nor there before.
    #[track_caller]
    pub(crate) fn wait_for_either_text(&mut self, one: &str, other: &str) -> String {
        self.input_wait.assert_new(one);
        self.input_wait.assert_new(other);
        self.wait_until(&format!("for {one:?} or {other:?}"), |screen| screen.contains(one) || screen.contains(other))
    }

    /// Waits until the screen does not show this text any more.
    #[track_caller]
    pub(crate) fn wait_until_gone(&mut self, text: &str) -> String {
        self.wait_until_changed(&format!("for {text:?} to go"), |screen| !screen.contains(text))
    }

    /// Waits until the session is idle and takes prompts.
    #[track_caller]
    pub(crate) fn wait_until_ready(&mut self) -> &mut Self {
        let is_ready = |screen: &str| screen.contains(super::COMPOSER) && !screen.contains("esc to cancel");
        self.wait_until_changed("for the composer", is_ready);
        self
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        // A terminal of another size starts with what the program draws into it.
        self.output.lock().expect("nobody panicked").screen.screen_mut().set_size(rows, columns);
        self.resize_only(columns, rows);
    }

    /// Tells the program a size that the screen does not have.
    pub(crate) fn resize_only(&mut self, columns: u16, rows: u16) {
        self.ours().master.resize(size(columns, rows)).expect("the terminal changes its size");
    }

    /// Returns the program's peak memory, in megabytes.
    #[cfg(target_os = "linux")]
    pub(crate) fn peak_memory_mib(&self) -> u64 {
        let id = self.child.process_id().expect("it runs");
        let status = fs::read_to_string(format!("/proc/{id}/status")).expect("it can be looked at");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it is told");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.process_id().expect("it runs").to_string();
        let sent = std::process::Command::new("kill").args([signal, &id]).status_in_time().expect("kill");
        assert!(sent.success());
    }

    /// Waits until the program has ended, and returns its exit code.
    #[track_caller]
    pub(crate) fn wait_for_exit(&mut self) -> u32 {
        let deadline = Instant::now() + SCREEN_TIMEOUT;
        let code = loop {
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                break status.exit_code();
            }
            assert!(Instant::now() < deadline, "it does not end; the screen:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(10));
        };
        // The reader is done when no process has the terminal open, and then everything has been read.
        while !self.reader.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        code
    }

    /// Returns whether the terminal echoes input.
    pub(crate) fn echo_is_on(&self) -> bool {
        const ECHO: u32 = 8;
        let modes = self.ours().master.get_termios().expect("the terminal's modes");
        modes.local_flags.bits() & ECHO != 0
    }

    /// Asserts that the terminal echoes and is in line mode, as a shell expects it.
    #[track_caller]
    pub(crate) fn assert_restored(&self) {
        assert!(self.echo_is_on(), "the terminal does not echo");
        // The program's last output may still be on its way.
        let deadline = Instant::now() + SCREEN_TIMEOUT;
        loop {
            let wrong = still_on(&self.raw());
            if wrong.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "still on: {wrong:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Returns the modes that were switched on and not off again.
fn still_on(raw: &str) -> Vec<&'static str> {
    let modes = [
        ("bracketed paste", "\x1b[?2004h", "\x1b[?2004l"),
        ("a hidden cursor", "\x1b[?25l", "\x1b[?25h"),
        ("the other screen", "\x1b[?1049h", "\x1b[?1049l"),
    ];
    modes.into_iter().filter(|(_, on, off)| raw.rfind(on) > raw.rfind(off)).map(|(name, ..)| name).collect()
}

impl Drop for TestTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

#[test]
fn a_wait_that_the_echo_or_the_old_screen_would_end_is_none() {
    let mut program = std::process::Command::new("/bin/sh");
    program.args(["-c", "echo there; read line; echo \"so: $line\"; exec cat"]).current_dir("/");
    let mut terminal = TestTerminal::with(&program, 80, 30);
    terminal.wait_for_new_text("there");
    terminal.keys("typed\r");
    let is_vain = |wait: &mut dyn FnMut()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(wait)).is_err();
    for text in ["typed", "> typed", "there"] {
        assert!(is_vain(&mut || drop(terminal.wait_for_new_text(text))), "{text}");
        assert!(is_vain(&mut || drop(terminal.wait_for_either_text("so", text))), "{text}");
    }
    assert!(is_vain(&mut || drop(terminal.wait_until_gone("absent"))), "it was never there");
    terminal.wait_for_text("typed");
    terminal.wait_for_new_text("so: typed");
    assert!(is_vain(&mut || drop(terminal.keys("more\r").wait_for_new_text("so: typed"))), "it came of other keys");
}
