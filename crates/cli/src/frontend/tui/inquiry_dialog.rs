//! The dialog for a command's question: a list that typing narrows, or a text field, which is masked for a secret.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hookwright_agent::{Answer, InputVisibility, QuestionChoice, QuestionKind, UserQuestion};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::composer::Composer;
use super::dialog::DialogReaction;
use super::keys::edit_text;
use crate::presentation::styled_text::{ACCENT, BOLD, DIM, NOTE, PLAIN, StyledLine};

/// The number of choices up to which numbers choose them.
const MAX_NUMBERED_CHOICES: usize = 9;

/// A command's question, which waits for an answer.
pub(crate) struct InquiryDialog {
    inquiry: Box<UserQuestion>,
    /// The typed text: the answer, or the filter of the list.
    text: Composer,
    /// The index of the selected choice among those that are shown.
    selected: usize,
}

impl InquiryDialog {
    pub(crate) fn new(inquiry: Box<UserQuestion>) -> Self {
        let mut text = Composer::default();
        let selected = match &inquiry.kind {
            QuestionKind::Choice { selected, .. } => *selected,
            QuestionKind::Text { first, .. } => {
                text.insert(first);
                0
            }
        };
        InquiryDialog { inquiry, text, selected }
    }

    /// Inserts pasted text; only its first line is used.
    pub(crate) fn paste(&mut self, text: &str) {
        let line: String = text.trim().lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
        self.text.insert(&line);
        self.selected = 0;
    }

    /// Returns whether a key chooses by its number.
    pub(crate) fn is_choice_number(&self, key: KeyEvent) -> bool {
        let is_numbered =
            matches!(&self.inquiry.kind, QuestionKind::Choice { choices, .. } if choices.len() <= MAX_NUMBERED_CHOICES);
        is_numbered && self.text.is_empty() && matches!(key.code, KeyCode::Char('1'..='9'))
    }

    pub(crate) fn handle_key(&mut self, key: KeyEvent) -> DialogReaction {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, &self.inquiry.kind) {
            (KeyCode::Esc, _) => DialogReaction::Answered(Answer::Dismissed),
            (KeyCode::Char('c' | 'd'), _) if control => DialogReaction::Answered(Answer::Dismissed),
            (KeyCode::Enter, QuestionKind::Text { .. }) => DialogReaction::Answered(Answer::Text(self.text.take())),
            (KeyCode::Enter, QuestionKind::Choice { .. }) => self.choose(self.selected),
            (KeyCode::Up, QuestionKind::Choice { .. }) => self.step(-1),
            (KeyCode::Down | KeyCode::Tab, QuestionKind::Choice { .. }) => self.step(1),
            (KeyCode::PageUp, QuestionKind::Choice { .. }) => self.step(-10),
            (KeyCode::PageDown, QuestionKind::Choice { .. }) => self.step(10),
            (KeyCode::Char(digit @ '1'..='9'), _) if self.is_choice_number(key) => {
                self.choose(digit as usize - '1' as usize)
            }
            (KeyCode::Up | KeyCode::Down | KeyCode::Tab, _) => DialogReaction::Open,
            _ => {
                let before = self.text.text().len();
                edit_text(&mut self.text, key);
                if self.text.text().len() != before {
                    self.selected = 0;
                }
                DialogReaction::Open
            }
        }
    }

    /// Returns the choices that match the typed text, with their numbers.
    fn matching_choices(&self) -> Vec<(usize, &QuestionChoice)> {
        let QuestionKind::Choice { choices, .. } = &self.inquiry.kind else { return Vec::new() };
        let words: Vec<String> = self.text.text().split_whitespace().map(str::to_lowercase).collect();
        let fits = |choice: &QuestionChoice| {
            let text = format!("{} {}", choice.name, choice.description).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        choices.iter().enumerate().filter(|(_, choice)| fits(choice)).collect()
    }

    fn step(&mut self, by: isize) -> DialogReaction {
        let count = self.matching_choices().len();
        self.selected = match (by, self.selected) {
            (-1, 0) => count.saturating_sub(1),
            (1, last) if last + 1 >= count => 0,
            (by, at) => at.saturating_add_signed(by).min(count.saturating_sub(1)),
        };
        DialogReaction::Open
    }

    fn choose(&mut self, at: usize) -> DialogReaction {
        match self.matching_choices().get(at).map(|(number, _)| *number) {
            Some(number) => DialogReaction::Answered(Answer::Choice(number)),
            None => DialogReaction::Open,
        }
    }

    /// Returns the dialog's lines in so many columns and rows, and the position of the cursor.
    pub(crate) fn view(&self, columns: usize, rows: usize) -> (Vec<StyledLine>, Option<(usize, usize)>) {
        let mut lines = StyledLine::styled(ACCENT.bold(), "? ")
            .with_text(BOLD, &self.inquiry.title)
            .with_hanging_indent(2)
            .wrap(columns);
        for about in &self.inquiry.details {
            lines.extend(StyledLine::styled(DIM, format!("  {about}")).with_hanging_indent(2).wrap(columns));
        }
        // The choices matter more than the details, so these are cut first.
        lines.truncate(rows.saturating_sub(4).max(1));
        match &self.inquiry.kind {
            QuestionKind::Choice { choices, .. } => {
                self.push_choice_lines(choices.len(), columns, rows, &mut lines);
                (lines, None)
            }
            QuestionKind::Text { placeholder, seen, .. } => {
                let (text, (row, column)) = match seen {
                    InputVisibility::Visible => {
                        super::view::layout_composer(&self.text, super::view::PROMPT_SIGN, placeholder, columns, 5)
                    }
                    InputVisibility::Hidden => super::view::layout_composer(
                        &self.masked_text(),
                        super::view::PROMPT_SIGN,
                        placeholder,
                        columns,
                        5,
                    ),
                };
                let cursor = (lines.len() + row, column);
                lines.extend(text);
                lines.push(StyledLine::styled(DIM, "  Enter to go on, Esc to leave it").clip(columns));
                (lines, Some(cursor))
            }
        }
    }

    /// Returns dots in place of a secret, at most 64 of them.
    fn masked_text(&self) -> Composer {
        let mut dots = Composer::default();
        dots.set("•".repeat(self.text.text().graphemes(true).count().min(64)));
        dots
    }

    fn push_choice_lines(&self, all: usize, columns: usize, rows: usize, lines: &mut Vec<StyledLine>) {
        let shown = self.matching_choices();
        let numbered = all <= MAX_NUMBERED_CHOICES && self.text.is_empty();
        let name = |number: usize, choice: &QuestionChoice| match numbered {
            true => format!("{}. {}", number + 1, choice.name),
            false => choice.name.clone(),
        };
        // In a low window the hints are left out before any choice is.
        let hints = rows >= 6;
        let room = rows.saturating_sub(lines.len() + usize::from(hints)).clamp(1, 14);
        let selected = self.selected.min(shown.len().saturating_sub(1));
        let from = (selected + 1).saturating_sub(room);
        let width = shown.iter().map(|(number, choice)| name(*number, choice).width()).max().unwrap_or(0);
        let width = width.min(columns * 3 / 5);
        for (at, (number, choice)) in shown.iter().enumerate().skip(from).take(room) {
            let (mark, style) = if at == selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) };
            let name = crate::output::truncate_columns(&name(*number, choice), width.max(8));
            let gap = " ".repeat(width.saturating_sub(name.width()) + 2);
            let line = StyledLine::styled(style, format!("{mark}{name}"));
            lines.push(
                if choice.description.is_empty() {
                    line
                } else {
                    line.with_text(DIM, format!("{gap}{}", choice.description))
                }
                .clip(columns),
            );
        }
        if shown.is_empty() {
            lines.push(StyledLine::styled(DIM, "  nothing fits").clip(columns));
        }
        let filter = match (self.text.is_empty(), all > MAX_NUMBERED_CHOICES) {
            (false, _) => format!("  {} of {all} with `{}`", shown.len(), self.text.text()),
            (true, true) => format!("  {all} in all; type to narrow the list, Esc to leave it"),
            (true, false) => "  Enter to choose, Esc to leave it".to_owned(),
        };
        if hints || !self.text.is_empty() {
            lines.push(StyledLine::styled(DIM, filter).clip(columns));
        }
    }
}
