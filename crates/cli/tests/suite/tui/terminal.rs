//! A pseudo-terminal with the program in it. Waits for what should appear; never sleeps and hopes. A wait that would be over
//! before anything came of the keys, by their echo or by what was there already, is no wait and panics.

#![expect(clippy::expect_used, reason = "a test without a terminal has failed")]

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hookwright_testkit::Sandbox;
use hookwright_testkit::deadline::*;
use hookwright_testkit::fs;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Generous: the machine may be busy with other things.
const SCREEN_TIMEOUT: Duration = Duration::from_secs(40);

pub(crate) struct TestTerminal {
    /// Gone once it was hung up.
    pty: Option<PtyMaster>,
    child: Box<dyn Child + Send + Sync>,
    output: Arc<Mutex<TerminalOutput>>,
    reader: std::thread::JoinHandle<()>,
    input_wait: InputWait,
}

/// What the program was asked for last.
#[derive(Default)]
struct InputWait {
    /// All that was typed without a wait between.
    keys: String,
    /// What was on the screen before.
    before: String,
    /// Something was waited for since.
    awaited: bool,
}

impl InputWait {
    /// Something new can only come of what was asked for.
    #[track_caller]
    fn assert_new(&self, text: &str) {
        // The composer shows what is typed behind its sign.
        let is_echo = self.keys.contains(text.strip_prefix("> ").unwrap_or(text));
        let how = if is_echo { "typed" } else { "on the screen" };
        assert!(
            !is_echo && !self.before.contains(text),
            "{text:?} was {how} already: seeing it says nothing of what comes of {:?}; wait for something else, or `shows` it",
            self.keys
        );
    }
}

/// Our end of the terminal.
struct PtyMaster {
    master: Box<dyn MasterPty + Send>,
    writer: TimedWriter<Box<dyn Write + Send>>,
}

struct TerminalOutput {
    /// Nobody looks any more.
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
            // Like xterm's, this terminal's lines are cut off where it becomes narrower, and not wrapped.
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

    /// The terminal vanishes. The keys are some that change the screen: its reader ends with what comes of them.
    pub(crate) fn hang_up(&mut self, keys: &str) {
        self.output.lock().expect("nobody panicked").closed = true;
        self.keys(keys);
        let deadline = Instant::now() + SCREEN_TIMEOUT;
        while !self.reader.is_finished() {
            assert!(Instant::now() < deadline, "nothing comes of {keys:?}; the screen:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        }
        // What types for us ends by typing the end of the input, which must not be read: the hangup lets it go on again.
        let id = self.child.process_id().expect("it runs").to_string();
        self.signal("-STOP");
        while !hookwright_testkit::is_stopped(&id) {
            assert!(Instant::now() < deadline, "it does not stop");
            std::thread::sleep(Duration::from_millis(5));
        }
        self.pty = None;
    }

    /// Forgets what was on the screen: what is seen from now on is drawn from now on.
    pub(crate) fn blank(&mut self) {
        self.input_wait.before.clear();
        let mut seen = self.output.lock().expect("nobody panicked");
        let (rows, columns) = seen.screen.screen().size();
        seen.screen = vt100::Parser::new(rows, columns, 1000);
    }

    /// Types something; `\r` is Enter, `\x1b` is Esc.
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

    /// What is on the screen.
    pub(crate) fn screen(&self) -> String {
        self.output.lock().expect("nobody panicked").screen.screen().contents()
    }

    /// Whether a shell's next prompt would have a line of its own.
    pub(crate) fn cursor_is_below_everything(&self) -> bool {
        let seen = self.output.lock().expect("nobody panicked");
        let (row, column) = seen.screen.screen().cursor_position();
        let lines = seen.screen.screen().contents().trim_end().lines().count();
        column == 0 && usize::from(row) >= lines
    }

    /// Everything that was ever written, without escape sequences.
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

    /// Waits until the screen is as it was not when the keys were typed, unless something else was waited for since.
    #[track_caller]
    fn wait_until_changed(&mut self, what: &str, reached: impl Fn(&str) -> bool) -> String {
        let keys = &self.input_wait.keys;
        let is_vain = !keys.is_empty() && !self.input_wait.awaited && reached(&self.input_wait.before);
        assert!(!is_vain, "waits {what}, and it was so before {keys:?}: wait for what comes of that first");
        self.wait_until(what, reached)
    }

    /// Waits until the screen shows this, which is neither typed nor there before.
    #[track_caller]
    pub(crate) fn wait_for_new_text(&mut self, text: &str) -> String {
        self.input_wait.assert_new(text);
        self.wait_for_text(text)
    }

    /// Waits until the screen shows this, be it what was typed or what was there before: nothing needs to come of the keys.
    #[track_caller]
    pub(crate) fn wait_for_text(&mut self, text: &str) -> String {
        self.wait_until(&format!("for {text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the screen shows one of these, which are neither typed nor there before.
    #[track_caller]
    pub(crate) fn wait_for_either_text(&mut self, one: &str, other: &str) -> String {
        self.input_wait.assert_new(one);
        self.input_wait.assert_new(other);
        self.wait_until(&format!("for {one:?} or {other:?}"), |screen| screen.contains(one) || screen.contains(other))
    }

    /// Waits until the screen does not show this any more.
    #[track_caller]
    pub(crate) fn wait_until_gone(&mut self, text: &str) -> String {
        self.wait_until_changed(&format!("for {text:?} to go"), |screen| !screen.contains(text))
    }

    /// Waits until the session takes prompts and nothing is under way.
    #[track_caller]
    pub(crate) fn wait_until_ready(&mut self) -> &mut Self {
        let is_ready = |screen: &str| screen.contains(super::COMPOSER) && !screen.contains("esc to cancel");
        self.wait_until_changed("for the composer", is_ready);
        self
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        // A terminal of another size starts from what the program draws into it.
        self.output.lock().expect("nobody panicked").screen.screen_mut().set_size(rows, columns);
        self.resize_only(columns, rows);
    }

    /// Tells the program of a size that the screen does not have.
    pub(crate) fn resize_only(&mut self, columns: u16, rows: u16) {
        self.ours().master.resize(size(columns, rows)).expect("the terminal changes its size");
    }

    /// The largest part of the memory that the program has had, in megabytes.
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

    /// Waits until the program has ended; its exit code.
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
        // The reader is done when nobody has the terminal open any more, and then everything has been read.
        while !self.reader.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        code
    }

    /// Whether the terminal echoes what is typed.
    pub(crate) fn echo_is_on(&self) -> bool {
        const ECHO: u32 = 8;
        let modes = self.ours().master.get_termios().expect("the terminal's modes");
        modes.local_flags.bits() & ECHO != 0
    }

    /// Whether the terminal echoes and takes lines, as a shell expects it.
    #[track_caller]
    pub(crate) fn assert_restored(&self) {
        assert!(self.echo_is_on(), "the terminal does not echo");
        // What the program wrote last may still be on its way.
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

/// What was switched on and not off again.
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
