//! A command's question on the screen: a list to choose from, narrowed by typing, or words to write, hidden where they are a
//! secret. What the answer is for is the session's business.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hookwright_agent::{Answer, Choosable, Inquiry, Seen, Wanted};
use tokio::sync::oneshot;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::composer::Composer;
use super::dialog::Reaction;
use super::keys::edit;
use super::text::{ACCENT, BOLD, DIM, Line, NOTE, PLAIN};

/// So many choices have numbers that choose them.
const NUMBERED: usize = 9;

/// The question.
pub(crate) struct InquiryDialog {
    inquiry: Box<Inquiry>,
    reply: Option<oneshot::Sender<Answer>>,
    /// What is written: the answer, or what narrows the list.
    text: Composer,
    /// The chosen one of those that are shown.
    selected: usize,
}

impl InquiryDialog {
    pub(crate) fn new(inquiry: Box<Inquiry>, reply: oneshot::Sender<Answer>) -> Self {
        let mut text = Composer::default();
        let selected = match &inquiry.wanted {
            Wanted::OneOf { selected, .. } => *selected,
            Wanted::Words { first, .. } => {
                text.insert(first);
                0
            }
        };
        InquiryDialog { inquiry, reply: Some(reply), text, selected }
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    /// Text was pasted; an answer is one line.
    pub(crate) fn paste(&mut self, text: &str) {
        let line: String = text.trim().lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).collect();
        self.text.insert(&line);
        self.selected = 0;
    }

    /// Whether a key chooses by its number.
    pub(crate) fn is_number(&self, key: KeyEvent) -> bool {
        let is_numbered = matches!(&self.inquiry.wanted, Wanted::OneOf { choices, .. } if choices.len() <= NUMBERED);
        is_numbered && self.text.is_empty() && matches!(key.code, KeyCode::Char('1'..='9'))
    }

    pub(crate) fn key(&mut self, key: KeyEvent) -> Reaction {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, &self.inquiry.wanted) {
            (KeyCode::Esc, _) => self.leave(),
            (KeyCode::Char('c' | 'd'), _) if control => self.leave(),
            (KeyCode::Enter, Wanted::Words { .. }) => {
                let words = self.text.take();
                self.answer(Answer::Words(words))
            }
            (KeyCode::Enter, Wanted::OneOf { .. }) => self.choose(self.selected),
            (KeyCode::Up, Wanted::OneOf { .. }) => self.step(-1),
            (KeyCode::Down | KeyCode::Tab, Wanted::OneOf { .. }) => self.step(1),
            (KeyCode::PageUp, Wanted::OneOf { .. }) => self.step(-10),
            (KeyCode::PageDown, Wanted::OneOf { .. }) => self.step(10),
            (KeyCode::Char(digit @ '1'..='9'), _) if self.is_number(key) => self.choose(digit as usize - '1' as usize),
            (KeyCode::Up | KeyCode::Down | KeyCode::Tab, _) => Reaction::Open,
            _ => {
                let before = self.text.text().len();
                edit(&mut self.text, key);
                if self.text.text().len() != before {
                    self.selected = 0;
                }
                Reaction::Open
            }
        }
    }

    fn leave(&mut self) -> Reaction {
        self.reply = None;
        Reaction::Given
    }

    fn answer(&mut self, answer: Answer) -> Reaction {
        if let Some(sender) = self.reply.take() {
            // Nobody waits where the session ends.
            let _ = sender.send(answer);
        }
        Reaction::Given
    }

    /// The choices that fit what is written, with their numbers.
    fn shown(&self) -> Vec<(usize, &Choosable)> {
        let Wanted::OneOf { choices, .. } = &self.inquiry.wanted else { return Vec::new() };
        let words: Vec<String> = self.text.text().split_whitespace().map(str::to_lowercase).collect();
        let fits = |choice: &Choosable| {
            let text = format!("{} {}", choice.name, choice.about).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        choices.iter().enumerate().filter(|(_, choice)| fits(choice)).collect()
    }

    fn step(&mut self, by: isize) -> Reaction {
        let count = self.shown().len();
        self.selected = match (by, self.selected) {
            (-1, 0) => count.saturating_sub(1),
            (1, last) if last + 1 >= count => 0,
            (by, at) => at.saturating_add_signed(by).min(count.saturating_sub(1)),
        };
        Reaction::Open
    }

    fn choose(&mut self, at: usize) -> Reaction {
        match self.shown().get(at).map(|(number, _)| *number) {
            Some(number) => self.answer(Answer::Chosen(number)),
            None => Reaction::Open,
        }
    }

    /// The question, in so many columns and rows, and where the cursor is.
    pub(crate) fn view(&self, columns: usize, rows: usize) -> (Vec<Line>, Option<(usize, usize)>) {
        let mut lines = Line::of(ACCENT.bold(), "? ").with(BOLD, &self.inquiry.title).hanging(2).wrap(columns);
        for about in &self.inquiry.about {
            lines.extend(Line::of(DIM, format!("  {about}")).hanging(2).wrap(columns));
        }
        // What is asked matters more than what is said about it.
        lines.truncate(rows.saturating_sub(4).max(1));
        match &self.inquiry.wanted {
            Wanted::OneOf { choices, .. } => {
                self.list(choices.len(), columns, rows, &mut lines);
                (lines, None)
            }
            Wanted::Words { placeholder, seen, .. } => {
                let (text, (row, column)) = match seen {
                    Seen::Shown => super::view::layout(&self.text, super::view::SIGN, placeholder, columns, 5),
                    Seen::Hidden => super::view::layout(&self.dots(), super::view::SIGN, placeholder, columns, 5),
                };
                let cursor = (lines.len() + row, column);
                lines.extend(text);
                lines.push(Line::of(DIM, "  Enter to go on, Esc to leave it").clip(columns));
                (lines, Some(cursor))
            }
        }
    }

    /// A secret as it may be seen: how long it is up to a point, and where the cursor is.
    fn dots(&self) -> Composer {
        let mut dots = Composer::default();
        dots.set("•".repeat(self.text.text().graphemes(true).count().min(64)));
        dots
    }

    fn list(&self, all: usize, columns: usize, rows: usize, lines: &mut Vec<Line>) {
        let shown = self.shown();
        let numbered = all <= NUMBERED && self.text.is_empty();
        let name = |number: usize, choice: &Choosable| match numbered {
            true => format!("{}. {}", number + 1, choice.name),
            false => choice.name.clone(),
        };
        // How to answer is left out before what can be answered is.
        let hints = rows >= 6;
        let room = rows.saturating_sub(lines.len() + usize::from(hints)).clamp(1, 14);
        let selected = self.selected.min(shown.len().saturating_sub(1));
        let from = (selected + 1).saturating_sub(room);
        let width = shown.iter().map(|(number, choice)| name(*number, choice).width()).max().unwrap_or(0);
        let width = width.min(columns * 3 / 5);
        for (at, (number, choice)) in shown.iter().enumerate().skip(from).take(room) {
            let (mark, style) = if at == selected { ("› ", NOTE.bold()) } else { ("  ", PLAIN) };
            let name = crate::out::shorten(&name(*number, choice), width.max(8));
            let gap = " ".repeat(width.saturating_sub(name.width()) + 2);
            let line = Line::of(style, format!("{mark}{name}"));
            lines.push(
                if choice.about.is_empty() { line } else { line.with(DIM, format!("{gap}{}", choice.about)) }
                    .clip(columns),
            );
        }
        if shown.is_empty() {
            lines.push(Line::of(DIM, "  nothing fits").clip(columns));
        }
        let filter = match (self.text.is_empty(), all > NUMBERED) {
            (false, _) => format!("  {} of {all} with `{}`", shown.len(), self.text.text()),
            (true, true) => format!("  {all} in all; type to narrow the list, Esc to leave it"),
            (true, false) => "  Enter to choose, Esc to leave it".to_owned(),
        };
        if hints || !self.text.is_empty() {
            lines.push(Line::of(DIM, filter).clip(columns));
        }
    }
}
