//! Ctrl-R: a search through earlier prompts, whose match is shown in the composer.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::App;
use super::overlay::{KeyOutcome, Overlay};
use crate::presentation::styled_text::{NOTE, PLAIN, StyledLine};

/// A search through earlier prompts.
pub(crate) struct HistorySearch {
    text: String,
    /// The number of newer matches that are passed over.
    skip: usize,
    /// The composer's text from before.
    draft: String,
}

impl HistorySearch {
    pub(crate) fn new(draft: String) -> Self {
        HistorySearch { text: String::new(), skip: 0, draft }
    }

    /// Returns the line above the match.
    pub(crate) fn line(&self) -> StyledLine {
        StyledLine::styled(NOTE, "search: ").with_text(PLAIN, &self.text)
    }
}

impl Overlay for HistorySearch {
    /// Letters narrow the search, Ctrl-R goes to the next match, and most other keys accept the match.
    fn handle_key(&mut self, key: KeyEvent, _now: Instant, app: &mut App) -> KeyOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('r') if control => self.skip += 1,
            KeyCode::Esc | KeyCode::Char('c' | 'g') if control || key.code == KeyCode::Esc => {
                app.composer.set_prompt(std::mem::take(&mut self.draft));
                return KeyOutcome::CLOSED;
            }
            KeyCode::Char(char) if !control => {
                self.text.push(char);
                self.skip = 0;
            }
            KeyCode::Backspace => {
                self.text.pop();
                self.skip = 0;
            }
            // Enter only accepts the match; a second Enter submits it.
            KeyCode::Enter => return KeyOutcome::CLOSED,
            _ => return KeyOutcome::ClosedAndPassed,
        }
        match app.history.find(&self.text, self.skip) {
            Some(found) if !self.text.is_empty() => app.composer.set_prompt(found.to_owned()),
            Some(_) => {}
            None => self.skip = self.skip.saturating_sub(1),
        }
        KeyOutcome::TAKEN
    }

    fn handle_paste(&mut self, text: &str, _now: Instant) -> bool {
        self.text.push_str(text.lines().next().unwrap_or_default());
        true
    }
}
