//! The keyboard focus of a program on a terminal of its own, which then fills the screen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::App;
use super::console::{ScreenConsole, ScreenConsoles};
use super::overlay::{KeyOutcome, Overlay, OverlayLayer, OverlayPage};
use crate::presentation::styled_text::WARN;

/// The pause between two keys after which typing no longer belongs to a program that has ended.
const TYPING_PAUSE: Duration = Duration::from_millis(600);

/// The program that has the keyboard instead of the session.
pub(crate) struct ConsoleFocus {
    console: Arc<ScreenConsole>,
    consoles: Arc<ScreenConsoles>,
    /// When the last letter went to the program; until there is a pause, further letters belong to the same text.
    last_typed: Option<Instant>,
    /// Whether the user was told that these letters are dropped.
    is_announced: bool,
}

impl ConsoleFocus {
    fn is_running(&self) -> bool {
        self.consoles.find(self.console.call_id()).is_some()
    }

    /// Drops a letter that was meant for the program, which has just ended.
    ///
    /// A password that is typed to it must not reach the model.
    fn drop_late_key(&mut self, now: Instant, app: &mut App) -> KeyOutcome {
        let in_a_word = self.last_typed.is_some_and(|last| now.saturating_duration_since(last) < TYPING_PAUSE);
        if !in_a_word {
            return KeyOutcome::ClosedAndPassed;
        }
        if !std::mem::replace(&mut self.is_announced, true) {
            app.push_text(WARN, "the command has ended; keys are ignored until you pause typing");
        }
        self.last_typed = Some(now);
        KeyOutcome::TAKEN
    }
}

impl Overlay for ConsoleFocus {
    fn handle_key(&mut self, key: KeyEvent, now: Instant, app: &mut App) -> KeyOutcome {
        if !self.is_running() {
            return self.drop_late_key(now, app);
        }
        let is_letter = matches!(key.code, KeyCode::Char(_)) && !key.modifiers.contains(KeyModifiers::CONTROL);
        self.last_typed = is_letter.then_some(now);
        if self.console.send_key(key) {
            self.console.set_attended(false);
            return KeyOutcome::CLOSED;
        }
        KeyOutcome::TAKEN
    }

    fn handle_paste(&mut self, text: &str, now: Instant) -> bool {
        let is_running = self.is_running();
        if is_running {
            self.console.send_paste(text);
            self.last_typed = Some(now);
        }
        is_running
    }

    fn is_live(&self) -> bool {
        self.is_running()
    }

    fn page(&mut self, app: &App, columns: usize, _rows: usize) -> Option<OverlayPage> {
        let card = app.running.iter().find(|card| card.call_id == self.console.call_id());
        let title = card.map(|card| card.title()).unwrap_or_default();
        let notice = app.question().map(|_| "a question waits");
        let (lines, cursor) = self.consoles.page_lines(&self.console, &title, notice);
        Some(OverlayPage { lines: lines.iter().map(|line| line.clip(columns)).collect(), cursor })
    }
}

impl App {
    /// Gives the keyboard to the program that was started last, if the key asks for it, and returns whether it did.
    pub(crate) fn focus_newest_console(&mut self, key: KeyEvent) -> bool {
        let asks = match key.code {
            KeyCode::Char('f') => key.modifiers == KeyModifiers::CONTROL,
            KeyCode::Tab => key.modifiers.is_empty() && self.composer.is_empty(),
            _ => false,
        };
        let Some(console) = self.consoles.newest().filter(|_| asks) else { return false };
        console.set_attended(true);
        let focus = ConsoleFocus { console, consoles: self.consoles.clone(), last_typed: None, is_announced: false };
        self.overlays.open(OverlayLayer::Console, focus);
        true
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
            assert!(app.offer_key(key(last), now).is_some());
            drop(live);
            assert_eq!(app.offer_key(key(KeyCode::Char('u')), later(100)).is_some(), swallows);
            assert_eq!(app.offer_key(key(KeyCode::Char('n')), later(650)).is_some(), swallows, "still the same word");
            assert_eq!(app.take_finished().len(), usize::from(swallows), "said once");
            assert!(app.offer_key(key(KeyCode::Char('x')), later(1300)).is_none(), "after a pause");
        }
    }
}
