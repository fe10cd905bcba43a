//! The keyboard focus: the session, or a program on a terminal of its own, which then fills the screen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::App;
use super::console::ScreenConsole;
use super::driver::ScreenDriver;
use crate::presentation::styled_text::{StyledLine, WARN};

/// The pause between two keys after which typing no longer belongs to a program that has ended.
const TYPING_PAUSE: Duration = Duration::from_millis(600);

/// The program that has the keyboard instead of the session, if any.
#[derive(Debug, Default)]
pub(crate) struct KeyboardFocus {
    console: Option<Arc<ScreenConsole>>,
    /// When the last letter went to a program; until there is a pause, further letters belong to the same text.
    last_typed: Option<Instant>,
    /// Whether the user was told that these letters are dropped.
    is_announced: bool,
}

impl KeyboardFocus {
    /// Returns whether a program has the keyboard, or had it until just now.
    pub(crate) fn is_held(&self) -> bool {
        self.console.is_some()
    }
}

impl App {
    /// Returns the program that has the keyboard, if it still runs.
    pub(crate) fn focused_console(&mut self) -> Option<Arc<ScreenConsole>> {
        let gone = |console: &Arc<ScreenConsole>| self.consoles.find(console.call_id()).is_none();
        if self.focus.console.as_ref().is_some_and(gone) {
            self.focus.console = None;
        }
        self.focus.console.clone()
    }

    /// Gives the keyboard to the program that was started last, if the key asks for it, and returns whether it did.
    pub(crate) fn focus_newest_console(&mut self, key: KeyEvent) -> bool {
        let asks = match key.code {
            KeyCode::Char('f') => key.modifiers == KeyModifiers::CONTROL,
            KeyCode::Tab => key.modifiers.is_empty() && self.composer.is_empty(),
            _ => false,
        };
        let Some(console) = self.consoles.newest().filter(|_| asks) else { return false };
        console.set_attended(true);
        self.focus = KeyboardFocus { console: Some(console), ..KeyboardFocus::default() };
        true
    }

    /// Handles a key while a program has the keyboard, or right after that, and returns whether it was handled.
    pub(crate) fn handle_console_key(&mut self, key: KeyEvent, now: Instant) -> bool {
        let Some(console) = self.focused_console() else {
            // A password typed to a program that has just ended must not reach the model.
            let in_a_word =
                self.focus.last_typed.is_some_and(|last| now.saturating_duration_since(last) < TYPING_PAUSE);
            if in_a_word && !std::mem::replace(&mut self.focus.is_announced, true) {
                self.push_text(WARN, "the command has ended; keys are ignored until you pause typing");
            }
            self.focus.last_typed = in_a_word.then_some(now);
            return in_a_word;
        };
        let is_letter = matches!(key.code, KeyCode::Char(_)) && !key.modifiers.contains(KeyModifiers::CONTROL);
        self.focus.last_typed = is_letter.then_some(now);
        if console.send_key(key) {
            console.set_attended(false);
            self.focus = KeyboardFocus::default();
        }
        true
    }

    /// Sends pasted text to the program that has the keyboard, and returns whether there is one.
    pub(crate) fn handle_console_paste(&mut self, text: &str, now: Instant) -> bool {
        let console = self.focused_console();
        if let Some(console) = &console {
            console.send_paste(text);
            self.focus.last_typed = Some(now);
        }
        console.is_some()
    }
}

impl ScreenDriver<'_> {
    /// Draws the screen of the program that has the keyboard, and returns whether there is one.
    pub(crate) fn draw_console(&mut self, columns: usize, rows: usize) -> anyhow::Result<bool> {
        let Some(console) = self.app.focused_console() else { return Ok(false) };
        let card = self.app.running.iter().find(|card| card.call_id == console.call_id());
        let title = card.map(|card| card.title()).unwrap_or_default();
        let notice = (!self.app.dialogs.is_empty()).then_some("a question waits");
        let (lines, cursor) = self.app.consoles.page_lines(&console, &title, notice);
        let lines: Vec<StyledLine> = lines.iter().map(|line| line.clip(columns)).collect();
        self.screen.draw_page(&lines, rows)?;
        if let Some((row, column)) = cursor.filter(|(row, column)| *row < rows && *column < columns) {
            self.screen.write(&format!("\x1b[{};{}H\x1b[?25h", row + 1, column + 1))?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use hookwright_tools::{ConsoleHost as _, PseudoTerminal};

    use super::*;
    use crate::frontend::tui::app::StatusLine;
    use crate::frontend::tui::history::PromptHistory;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    /// A password is typed to a program that has just ended.
    #[tokio::test]
    async fn keys_typed_on_after_a_program_ends_are_dropped() {
        let now = Instant::now();
        let later = |ms: u64| now + Duration::from_millis(ms);
        for (last, swallows) in [(KeyCode::Char('h'), true), (KeyCode::Enter, false)] {
            let folder = tempfile::tempdir().unwrap();
            let mut app = App::new(PromptHistory::open(folder.path().join("history")), StatusLine::default());
            assert!(!app.focus_newest_console(key(KeyCode::Tab)), "nobody is there");
            let live = app.consoles.open("call", &PseudoTerminal::open(app.consoles.size()).unwrap());
            assert!(app.focus_newest_console(key(KeyCode::Tab)));
            assert!(app.handle_console_key(key(last), now));
            drop(live);
            assert_eq!(app.handle_console_key(key(KeyCode::Char('u')), later(100)), swallows);
            assert_eq!(app.handle_console_key(key(KeyCode::Char('n')), later(650)), swallows, "still the same word");
            assert_eq!(app.take_finished().len(), usize::from(swallows), "said once");
            assert!(!app.handle_console_key(key(KeyCode::Char('x')), later(1300)), "after a pause");
        }
    }
}
