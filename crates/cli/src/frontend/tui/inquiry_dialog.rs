//! The dialog for a command's question: a list that typing narrows, or a text field, which is masked for a secret.

use std::borrow::Cow;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hookwright_agent::{Answer, InputVisibility, QuestionChoice, QuestionKind, UserQuestion};
use unicode_segmentation::UnicodeSegmentation;

use super::composer::Composer;
use super::keys::edit_text;
use super::menu::{Menu, MenuItem, MenuKeys, MenuReaction};
use super::question_queue::{DialogReaction, DialogView, QuestionDialog};
use super::view::{PROMPT_SIGN, layout_composer};
use crate::presentation::styled_text::{ACCENT, BOLD, DIM, StyledLine};

/// The most choices that are shown at once.
const MAX_SHOWN_CHOICES: usize = 14;

impl MenuItem for QuestionChoice {
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.name)
    }

    fn description(&self) -> &str {
        &self.description
    }
}

/// A command's question, which waits for an answer.
pub(crate) struct InquiryDialog {
    inquiry: Box<UserQuestion>,
    /// The typed text: the answer, or the filter of the list.
    text: Composer,
    menu: Menu<QuestionChoice>,
}

impl InquiryDialog {
    pub(crate) fn new(mut inquiry: Box<UserQuestion>) -> Self {
        let mut text = Composer::default();
        let menu = match &mut inquiry.kind {
            QuestionKind::Choice { choices, selected } => {
                Menu::new(MenuKeys::Digits, std::mem::take(choices)).with_selected(*selected)
            }
            QuestionKind::Text { first, .. } => {
                text.insert(first);
                Menu::new(MenuKeys::Digits, Vec::new())
            }
        };
        InquiryDialog { inquiry, text, menu }
    }

    /// Returns dots in place of a secret, at most 64 of them.
    fn masked_text(&self) -> Composer {
        let mut dots = Composer::default();
        dots.set("•".repeat(self.text.text().graphemes(true).count().min(64)));
        dots
    }

    fn push_choice_lines(&self, columns: usize, rows: usize, lines: &mut Vec<StyledLine>) {
        // In a low window the hints are left out before any choice is.
        let hints = rows >= 6;
        let room = rows.saturating_sub(lines.len() + usize::from(hints)).clamp(1, MAX_SHOWN_CHOICES);
        lines.extend(self.menu.rows(columns, room));
        let all = self.menu.items().len();
        let hint = match (self.text.is_empty(), self.menu.is_numbered()) {
            (false, _) => format!("  {} of {all} with `{}`", self.menu.matching().len(), self.text.text()),
            (true, false) => format!("  {all} in all; type to narrow the list, Esc to leave it"),
            (true, true) => "  Enter to choose, Esc to leave it".to_owned(),
        };
        if hints || !self.text.is_empty() {
            lines.push(StyledLine::styled(DIM, hint).clip(columns));
        }
    }
}

impl QuestionDialog for InquiryDialog {
    fn handle_key(&mut self, key: KeyEvent) -> DialogReaction {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let reaction = match (key.code, &self.inquiry.kind) {
            (KeyCode::Esc, _) => return DialogReaction::Answered(Answer::Dismissed),
            (KeyCode::Char('c' | 'd'), _) if control => return DialogReaction::Answered(Answer::Dismissed),
            (_, QuestionKind::Choice { .. }) => self.menu.handle_key(key),
            (KeyCode::Enter, _) => return DialogReaction::Answered(Answer::Text(self.text.take())),
            (KeyCode::Up | KeyCode::Down | KeyCode::Tab, _) => MenuReaction::Open,
            _ => MenuReaction::Passed,
        };
        match reaction {
            MenuReaction::Chosen(number) => return DialogReaction::Answered(Answer::Choice(number)),
            MenuReaction::Open => {}
            MenuReaction::Passed => {
                edit_text(&mut self.text, key);
                self.menu.set_filter(self.text.text());
            }
        }
        DialogReaction::Open
    }

    fn accepts_character(&self, _character: char) -> bool {
        true
    }

    fn is_writing(&self) -> bool {
        true
    }

    fn is_hotkey(&self, key: KeyEvent) -> bool {
        matches!(key.code, KeyCode::Char(character) if self.menu.accepts_character(character))
    }

    /// Inserts pasted text; only its first line is used.
    fn paste(&mut self, text: &str) {
        let line: String = text.trim().lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
        self.text.insert(&line);
        self.menu.set_filter(self.text.text());
    }

    fn view(&self, columns: usize, rows: usize) -> DialogView {
        let mut lines = StyledLine::styled(ACCENT.bold(), "? ")
            .with_text(BOLD, &self.inquiry.title)
            .with_hanging_indent(2)
            .wrap(columns);
        for about in &self.inquiry.details {
            lines.extend(StyledLine::styled(DIM, format!("  {about}")).with_hanging_indent(2).wrap(columns));
        }
        // The choices matter more than the details, so these are cut first.
        lines.truncate(rows.saturating_sub(4).max(1));
        let QuestionKind::Text { placeholder, seen, .. } = &self.inquiry.kind else {
            self.push_choice_lines(columns, rows, &mut lines);
            return (lines, None);
        };
        let masked = self.masked_text();
        let shown = if *seen == InputVisibility::Hidden { &masked } else { &self.text };
        let (text, (row, column)) = layout_composer(shown, PROMPT_SIGN, placeholder, columns, 5);
        let cursor = (lines.len() + row, column);
        lines.extend(text);
        lines.push(StyledLine::styled(DIM, "  Enter to go on, Esc to leave it").clip(columns));
        (lines, Some(cursor))
    }
}
