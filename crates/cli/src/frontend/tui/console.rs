//! The terminals of running commands.
//!
//! The output of programs is interpreted by a terminal emulator and never passed on, so that it cannot control the
//! user's own terminal. Keys go to the program (`console/key_encoding.rs`); `console/render.rs` draws its screen.

mod key_encoding;
mod render;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hookwright_tools::{OutputCallback, PseudoTerminal, TerminalInputMode, TerminalSize};
pub(crate) use render::recolour_matching_lines;

/// The largest side of a terminal, so that a wrong size report cannot make the emulator use much memory.
const MAX_TERMINAL_SIDE_CELLS: u16 = 500;
/// The smallest terminal; if the user's is smaller, the rest is cut off.
///
/// The emulator panics on wide characters in a single column.
const MIN_TERMINAL_SIZE: TerminalSize = TerminalSize { columns: 10, rows: 2 };
/// How many terminals of ended commands are kept for cards that are not drawn yet.
const MAX_CLOSED_CONSOLES: usize = 32;
/// A program that has drawn nothing for so long may be waiting.
const IDLE_NOTICE_DELAY: Duration = Duration::from_secs(3);

/// The terminals of a session's running commands.
#[derive(Debug)]
pub(crate) struct ScreenConsoles {
    size: Mutex<TerminalSize>,
    open: Mutex<Vec<Arc<ScreenConsole>>>,
    /// Terminals of commands that have ended: a short command ends before the screen handles its first output.
    closed: Mutex<VecDeque<Arc<ScreenConsole>>>,
    in_colour: AtomicBool,
    weak_self: Weak<ScreenConsoles>,
}

/// The terminal of one command.
#[derive(Debug)]
pub(crate) struct ScreenConsole {
    call_id: String,
    terminal: PseudoTerminal,
    screen: Mutex<ConsoleScreen>,
}

struct ConsoleScreen {
    parser: vt100::Parser<TerminalReplies>,
    last_draw: Instant,
}

impl ConsoleScreen {
    fn new(size: TerminalSize) -> Self {
        let parser = vt100::Parser::new_with_callbacks(size.rows, size.columns, 0, TerminalReplies::default());
        ConsoleScreen { parser, last_draw: Instant::now() }
    }

    /// Draws output, and returns the terminal's replies to queries in it.
    fn draw(&mut self, piece: &[u8]) -> Vec<u8> {
        // If the emulator panics, as on half of a wide character that a narrower window left, only its screen is lost
        // and the command goes on.
        if catch_unwind(AssertUnwindSafe(|| self.parser.process(piece))).is_err() {
            let (rows, columns) = self.parser.screen().size();
            *self = ConsoleScreen::new(TerminalSize { columns, rows });
        }
        self.last_draw = Instant::now();
        std::mem::take(&mut self.parser.callbacks_mut().0)
    }

    fn resize(&mut self, size: TerminalSize) {
        self.parser.screen_mut().set_size(size.rows, size.columns);
    }
}

impl std::fmt::Debug for ConsoleScreen {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Drawn")
    }
}

impl ScreenConsoles {
    pub(crate) fn new() -> Arc<ScreenConsoles> {
        let size = Mutex::new(TerminalSize { columns: 80, rows: 23 });
        Arc::new_cyclic(|own| ScreenConsoles {
            size,
            open: Mutex::default(),
            closed: Mutex::default(),
            in_colour: AtomicBool::new(true),
            weak_self: own.clone(),
        })
    }

    /// Sets whether the output of programs is shown in colour.
    pub(crate) fn set_colour(&self, in_colour: bool) {
        self.in_colour.store(in_colour, Ordering::Relaxed);
    }

    /// Sets the size from the user's terminal, of which one row is used for a status line.
    pub(crate) fn resize(&self, columns: usize, rows: usize) {
        let fits = |number: usize, least: u16| {
            u16::try_from(number).unwrap_or(MAX_TERMINAL_SIDE_CELLS).clamp(least, MAX_TERMINAL_SIDE_CELLS)
        };
        let size = TerminalSize {
            columns: fits(columns, MIN_TERMINAL_SIZE.columns),
            rows: fits(rows.saturating_sub(1), MIN_TERMINAL_SIZE.rows),
        };
        if std::mem::replace(&mut *lock(&self.size), size) != size {
            lock(&self.open).iter().for_each(|console| console.resize(size));
        }
    }

    /// Returns the terminal of a call's command.
    pub(crate) fn find(&self, call_id: &str) -> Option<Arc<ScreenConsole>> {
        lock(&self.open).iter().find(|console| console.call_id == call_id).cloned()
    }

    /// Takes the terminal of a call whose card is drawn for good.
    pub(crate) fn take_finished(&self, call_id: &str) -> Option<Arc<ScreenConsole>> {
        let mut closed = lock(&self.closed);
        let at = closed.iter().position(|console| console.call_id == call_id);
        at.and_then(|at| closed.remove(at)).or_else(|| self.find(call_id))
    }

    /// The one that was opened last.
    pub(crate) fn newest(&self) -> Option<Arc<ScreenConsole>> {
        lock(&self.open).last().cloned()
    }
}

impl hookwright_tools::ConsoleHost for ScreenConsoles {
    fn size(&self) -> TerminalSize {
        *lock(&self.size)
    }

    fn open(&self, call_id: &str, terminal: &PseudoTerminal) -> OutputCallback {
        let size = *lock(&self.size);
        let drawn = Mutex::new(ConsoleScreen::new(size));
        let console =
            Arc::new(ScreenConsole { call_id: call_id.to_owned(), terminal: terminal.clone(), screen: drawn });
        // The size may have changed since the terminal was opened.
        terminal.resize(size);
        lock(&self.open).push(console.clone());
        let closing = ConsoleCloser { console, owner: self.weak_self.clone() };
        Box::new(move |piece: &[u8]| closing.console.draw(piece))
    }
}

/// Removes a terminal from the list when its command stops drawing.
struct ConsoleCloser {
    console: Arc<ScreenConsole>,
    owner: Weak<ScreenConsoles>,
}

impl Drop for ConsoleCloser {
    fn drop(&mut self) {
        if let Some(consoles) = self.owner.upgrade() {
            lock(&consoles.open).retain(|console| !Arc::ptr_eq(console, &self.console));
            let mut closed = lock(&consoles.closed);
            closed.push_back(self.console.clone());
            if closed.len() > MAX_CLOSED_CONSOLES {
                closed.pop_front();
            }
        }
    }
}

impl ScreenConsole {
    pub(crate) fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Sets whether the user has given this terminal the keyboard.
    pub(crate) fn set_attended(&self, attended: bool) {
        self.terminal.set_attended(attended);
    }

    /// Sends a key to the program, and returns whether the user wants the keyboard back instead.
    ///
    /// Ctrl-F always takes the keyboard back. Esc does so only if the program reads lines: a program that reads keys,
    /// such as an editor, may need it.
    pub(crate) fn send_key(&self, key: KeyEvent) -> bool {
        let asks = key.modifiers == KeyModifiers::CONTROL && key.code == KeyCode::Char('f');
        if asks || key.code == KeyCode::Esc && self.releases_on_escape() {
            return true;
        }
        let cursor_keys = lock(&self.screen).parser.screen().application_cursor();
        if let Some(bytes) = key_encoding::encode_key(key, cursor_keys) {
            self.send_bytes(&bytes);
        }
        false
    }

    /// Sends pasted text to the program, in bracketed-paste marks if the program has enabled them.
    pub(crate) fn send_paste(&self, text: &str) {
        let marked = lock(&self.screen).parser.screen().bracketed_paste();
        self.send_bytes(&key_encoding::encode_paste(text, marked));
    }

    fn releases_on_escape(&self) -> bool {
        !lock(&self.screen).parser.screen().alternate_screen() && self.terminal.input_mode() != TerminalInputMode::Keys
    }

    fn send_bytes(&self, bytes: &[u8]) {
        // Input that a program does not read is lost, as on any terminal.
        let _ = self.terminal.write_input(bytes);
    }

    fn draw(&self, piece: &[u8]) {
        let answers = lock(&self.screen).draw(piece);
        if !answers.is_empty() {
            self.send_bytes(&answers);
        }
    }

    fn resize(&self, size: TerminalSize) {
        lock(&self.screen).resize(size);
        self.terminal.resize(size);
    }
}

/// The emulator's replies to queries: its status, its type and the cursor position.
///
/// All other queries and requests of a program are ignored.
#[derive(Default)]
struct TerminalReplies(Vec<u8>);

/// The length of queued replies above which further ones are dropped.
const MAX_REPLY_BYTES: usize = 1024;

impl vt100::Callbacks for TerminalReplies {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        _: Option<u8>,
        parameters: &[&[u16]],
        last: char,
    ) {
        let number = parameters.first().and_then(|parameter| parameter.first()).copied().unwrap_or(0);
        let answer = match (first, last, number) {
            (None, 'n', 5) => "\x1b[0n".to_owned(),
            (None, 'n', 6) => {
                let (row, column) = screen.cursor_position();
                format!("\x1b[{};{}R", row + 1, column + 1)
            }
            // The reply describes a VT220 with colours.
            (None, 'c', 0) => "\x1b[?62;22c".to_owned(),
            _ => return,
        };
        if self.0.len() < MAX_REPLY_BYTES {
            self.0.extend_from_slice(answer.as_bytes());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
