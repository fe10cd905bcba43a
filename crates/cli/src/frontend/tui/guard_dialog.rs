//! The dialog about the agent's changes to guards: shows the differences and asks whether to trust them.
//!
//! The safe choice comes first, so that a user who answers out of habit trusts nothing.

use crossterm::event::{KeyCode, KeyEvent};
use hookwright_agent::{Answer, GuardChange, GuardTrustReply};

use super::menu::{Menu, MenuChoice, MenuKeys, MenuReaction};
use super::question_layout::QuestionLayout;
use super::question_queue::{DialogReaction, DialogView, QuestionDialog};
use crate::presentation::diff::guard_diff_line;
use crate::presentation::styled_text::{ACCENT, BOLD, StyledLine, WARN};

const GUARD_CHOICES: [(GuardTrustReply, &str); 2] = [
    (GuardTrustReply::KeepUntrusted, "Leave it untrusted (esc): hooks that depend on it deny all they can"),
    (GuardTrustReply::Trust, "Trust the change: it is active from now on"),
];

/// A question whether changes to guards are trusted.
pub(crate) struct GuardDialog {
    changes: Vec<GuardChange>,
    choices: Menu<MenuChoice<GuardTrustReply>>,
    scroll: usize,
}

impl GuardDialog {
    pub(crate) fn new(changes: Vec<GuardChange>) -> Self {
        let choices = GUARD_CHOICES.map(|(value, text)| MenuChoice { value, label: text.to_owned() });
        GuardDialog { changes, choices: Menu::new(MenuKeys::Digits, choices.into()), scroll: 0 }
    }

    fn scroll_by(&mut self, lines: isize) -> DialogReaction {
        let most = self.details().len().saturating_sub(1);
        self.scroll = self.scroll.saturating_add_signed(lines).min(most);
        DialogReaction::Open
    }
}

impl QuestionDialog for GuardDialog {
    fn handle_key(&mut self, key: KeyEvent) -> DialogReaction {
        let answered = |reply| DialogReaction::Answered(Answer::GuardTrust(reply));
        match key.code {
            KeyCode::Char('n') | KeyCode::Esc => answered(GuardTrustReply::KeepUntrusted),
            KeyCode::PageDown => self.scroll_by(10),
            KeyCode::PageUp => self.scroll_by(-10),
            _ => match (self.choices.handle_key(key), self.choices.current()) {
                (MenuReaction::Chosen(_), Some(choice)) => answered(choice.value),
                _ => DialogReaction::Open,
            },
        }
    }

    fn accepts_character(&self, character: char) -> bool {
        character == 'n' || self.choices.accepts_character(character)
    }

    fn details(&self) -> Vec<StyledLine> {
        change_lines(&self.changes)
    }

    fn view(&self, columns: usize, rows: usize) -> DialogView {
        let title =
            StyledLine::styled(ACCENT.bold(), "? ").with_text(BOLD, "The agent changed what your guards are made of");
        let question = QuestionLayout {
            head: title.wrap(columns),
            subject: self.details().iter().flat_map(|line| line.wrap(columns)).collect(),
            scroll: self.scroll,
            footer: self.choices.rows(columns, usize::MAX),
            focused_row: self.choices.selection().0,
        };
        (question.fit_rows(columns, rows).0, None)
    }
}

/// Returns the lines of the changes with their diffs.
fn change_lines(changes: &[GuardChange]) -> Vec<StyledLine> {
    let of_one = |change: &GuardChange| {
        let mut lines = vec![StyledLine::styled(WARN, format!("  {change}")).with_hanging_indent(4)];
        lines.extend(change.diff.as_deref().unwrap_or_default().lines().map(guard_diff_line));
        lines
    };
    changes.iter().flat_map(of_one).collect()
}
