//! The dialog about the agent's changes to guards: shows the differences and asks whether to trust them.
//!
//! The safe choice comes first, so that a user who answers out of habit trusts nothing.

use crossterm::event::{KeyCode, KeyEvent};
use hookwright_agent::{Answer, GuardChange, GuardTrustReply};

use super::dialog::DialogReaction;
use super::question_layout::QuestionLayout;
use crate::presentation::diff::guard_diff_line;
use crate::presentation::styled_text::{ACCENT, BOLD, NOTE, PLAIN, StyledLine, WARN};

const GUARD_CHOICES: [(GuardTrustReply, &str); 2] = [
    (GuardTrustReply::KeepUntrusted, "Leave it untrusted (esc): hooks that depend on it deny all they can"),
    (GuardTrustReply::Trust, "Trust the change: it is active from now on"),
];

fn answer(choice: usize) -> DialogReaction {
    DialogReaction::Answered(Answer::GuardTrust(GUARD_CHOICES[choice].0))
}

/// A question whether changes to guards are trusted.
pub(crate) struct GuardDialog {
    changes: Vec<GuardChange>,
    selected: usize,
    scroll: usize,
}

impl GuardDialog {
    /// The characters that answer the dialog.
    pub(crate) const ANSWER_KEYS: &str = "12n";

    pub(crate) fn new(changes: Vec<GuardChange>) -> Self {
        GuardDialog { changes, selected: 0, scroll: 0 }
    }

    pub(crate) fn handle_key(&mut self, key: KeyEvent) -> DialogReaction {
        match key.code {
            KeyCode::Enter => answer(self.selected),
            KeyCode::Char('1' | 'n') | KeyCode::Esc => answer(0),
            KeyCode::Char('2') => answer(1),
            KeyCode::Up | KeyCode::Down | KeyCode::Tab => {
                self.selected = 1 - self.selected;
                DialogReaction::Open
            }
            KeyCode::PageDown => self.scroll_by(10),
            KeyCode::PageUp => self.scroll_by(-10),
            _ => DialogReaction::Open,
        }
    }

    fn scroll_by(&mut self, lines: isize) -> DialogReaction {
        let most = change_lines(&self.changes).len().saturating_sub(1);
        self.scroll = self.scroll.saturating_add_signed(lines).min(most);
        DialogReaction::Open
    }

    /// Returns the changes with their diffs.
    pub(crate) fn details(&self) -> Vec<StyledLine> {
        change_lines(&self.changes)
    }

    /// Returns the dialog's lines in so many columns and rows.
    pub(crate) fn view(&self, columns: usize, rows: usize) -> Vec<StyledLine> {
        let title =
            StyledLine::styled(ACCENT.bold(), "? ").with_text(BOLD, "The agent changed what your guards are made of");
        let choice = |(at, (_, text)): (usize, &(GuardTrustReply, &str))| {
            let (mark, style) = if at == self.selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) };
            StyledLine::styled(style, format!("{mark}{}. {text}", at + 1)).clip(columns)
        };
        let question = QuestionLayout {
            head: title.wrap(columns),
            subject: change_lines(&self.changes).iter().flat_map(|line| line.wrap(columns)).collect(),
            scroll: self.scroll,
            footer: GUARD_CHOICES.iter().enumerate().map(choice).collect(),
            focused_row: self.selected,
        };
        question.fit_rows(columns, rows).0
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
