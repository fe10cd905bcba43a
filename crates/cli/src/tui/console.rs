//! The terminals of commands that run: what programs draw there is understood here and never passed on, so that nothing of
//! it steers the user's own terminal; what the user types goes to the program (`console/keys.rs`). How it is shown is
//! `console/show.rs`.

mod keys;
mod show;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hookwright_tools::{Live, Manner, Size, Terminal};
pub(crate) use show::same_words_in_colour;

/// No terminal is larger; whoever says so would only make us take room for it.
const LARGEST: u16 = 500;
/// Nor smaller: what does not fit the user's is cut off there. The emulator does not survive wide letters in one column.
const SMALLEST: Size = Size { columns: 10, rows: 2 };
/// A program that has drawn nothing for so long may be waiting.
const QUIET: Duration = Duration::from_secs(3);

/// The terminals of a session's commands, those that run now.
#[derive(Debug)]
pub(crate) struct Consoles {
    size: Mutex<Size>,
    open: Mutex<Vec<Arc<Console>>>,
    in_colour: AtomicBool,
    own: Weak<Consoles>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Console {
    call_id: String,
    terminal: Terminal,
    drawn: Mutex<Drawn>,
}

struct Drawn {
    parser: vt100::Parser<Answers>,
    last: Instant,
}

impl Drawn {
    fn new(size: Size) -> Self {
        let parser = vt100::Parser::new_with_callbacks(size.rows, size.columns, 0, Answers::default());
        Drawn { parser, last: Instant::now() }
    }

    /// Draws something; what the terminal answers.
    fn draw(&mut self, piece: &[u8]) -> Vec<u8> {
        // What the emulator can't bear, such as half of a wide letter that a narrower window left, costs what was drawn, not
        // the command.
        if catch_unwind(AssertUnwindSafe(|| self.parser.process(piece))).is_err() {
            let (rows, columns) = self.parser.screen().size();
            *self = Drawn::new(Size { columns, rows });
        }
        self.last = Instant::now();
        std::mem::take(&mut self.parser.callbacks_mut().0)
    }

    fn resize(&mut self, size: Size) {
        self.parser.screen_mut().set_size(size.rows, size.columns);
    }
}

impl std::fmt::Debug for Drawn {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Drawn")
    }
}

impl Consoles {
    pub(crate) fn new() -> Arc<Consoles> {
        let size = Mutex::new(Size { columns: 80, rows: 23 });
        Arc::new_cyclic(|own| Consoles {
            size,
            open: Mutex::default(),
            in_colour: AtomicBool::new(true),
            own: own.clone(),
        })
    }

    /// Whether what programs draw is shown in colour.
    pub(crate) fn paint(&self, in_colour: bool) {
        self.in_colour.store(in_colour, Ordering::Relaxed);
    }

    /// The user's terminal has so many columns and rows; one row of it is ours.
    pub(crate) fn resize(&self, columns: usize, rows: usize) {
        let fits = |number: usize, least: u16| u16::try_from(number).unwrap_or(LARGEST).clamp(least, LARGEST);
        let size = Size { columns: fits(columns, SMALLEST.columns), rows: fits(rows.saturating_sub(1), SMALLEST.rows) };
        if std::mem::replace(&mut *lock(&self.size), size) != size {
            lock(&self.open).iter().for_each(|console| console.resize(size));
        }
    }

    /// The terminal of a call's command.
    pub(crate) fn of(&self, call_id: &str) -> Option<Arc<Console>> {
        lock(&self.open).iter().find(|console| console.call_id == call_id).cloned()
    }

    /// The one that was opened last.
    pub(crate) fn last(&self) -> Option<Arc<Console>> {
        lock(&self.open).last().cloned()
    }
}

impl hookwright_tools::Consoles for Consoles {
    fn size(&self) -> Size {
        *lock(&self.size)
    }

    fn open(&self, call_id: &str, terminal: &Terminal) -> Live {
        let size = *lock(&self.size);
        let drawn = Mutex::new(Drawn::new(size));
        let console = Arc::new(Console { call_id: call_id.to_owned(), terminal: terminal.clone(), drawn });
        // It may have another size by now.
        terminal.resize(size);
        lock(&self.open).push(console.clone());
        let closing = Closing { console, of: self.own.clone() };
        Box::new(move |piece: &[u8]| closing.console.draw(piece))
    }
}

/// Takes a terminal off the list when its command draws no more.
struct Closing {
    console: Arc<Console>,
    of: Weak<Consoles>,
}

impl Drop for Closing {
    fn drop(&mut self) {
        if let Some(consoles) = self.of.upgrade() {
            lock(&consoles.open).retain(|console| !Arc::ptr_eq(console, &self.console));
        }
    }
}

impl Console {
    pub(crate) fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Says whether the user has given it the keyboard.
    pub(crate) fn attend(&self, attended: bool) {
        self.terminal.attend(attended);
    }

    /// A key for the program; whether the user wants the keyboard back instead. Ctrl-F always asks for that. Esc does where
    /// the program takes lines: one that takes keys may need it, as editors do.
    pub(crate) fn key(&self, key: KeyEvent) -> bool {
        let asks = key.modifiers == KeyModifiers::CONTROL && key.code == KeyCode::Char('f');
        if asks || key.code == KeyCode::Esc && self.gives_back_on_escape() {
            return true;
        }
        let cursor_keys = lock(&self.drawn).parser.screen().application_cursor();
        if let Some(bytes) = keys::bytes(key, cursor_keys) {
            self.type_in(&bytes);
        }
        false
    }

    /// Text for the program, marked as pasted where it wants to know.
    pub(crate) fn paste(&self, text: &str) {
        let marked = lock(&self.drawn).parser.screen().bracketed_paste();
        self.type_in(&keys::pasted(text, marked));
    }

    fn gives_back_on_escape(&self) -> bool {
        !lock(&self.drawn).parser.screen().alternate_screen() && self.terminal.manner() != Manner::Keys
    }

    fn type_in(&self, bytes: &[u8]) {
        // What a program does not read is lost, as on any terminal.
        let _ = self.terminal.type_in(bytes);
    }

    fn draw(&self, piece: &[u8]) {
        let answers = lock(&self.drawn).draw(piece);
        if !answers.is_empty() {
            self.type_in(&answers);
        }
    }

    fn resize(&self, size: Size) {
        lock(&self.drawn).resize(size);
        self.terminal.resize(size);
    }
}

/// What a terminal answers by itself: that it is there, and where the cursor is. Everything else that a program asks of its
/// terminal, or wants done to it, is heard by nobody.
#[derive(Default)]
struct Answers(Vec<u8>);

/// So much is answered at once.
const MOST_ANSWERS: usize = 1024;

impl vt100::Callbacks for Answers {
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
            // A VT220 with colours.
            (None, 'c', 0) => "\x1b[?62;22c".to_owned(),
            _ => return,
        };
        if self.0.len() < MOST_ANSWERS {
            self.0.extend_from_slice(answer.as_bytes());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
