//! Keeps texts at full length that the screen shows in short, so that the user can open them: outputs, diffs, thoughts,
//! pasted prompts.
//!
//! The number of cards and their total size are bounded. They are shown by `frontend/tui/pager.rs` and by plain sessions.

use std::collections::VecDeque;

use hookwright_agent::ToolEnd;
use hookwright_tools::{FileDiff, ToolDisplay};

use super::diff;
use super::styled_text::{PLAIN, StyledLine};

/// The number of cards that are kept.
const MAX_CARDS: usize = 200;
/// The most that is kept of one text, which is its end.
const MAX_CARD_BYTES: usize = 4 << 20;
/// The size of all cards together; a single larger diff is still kept.
const MAX_TOTAL_CARD_BYTES: usize = 32 << 20;

/// A text or diff that can be opened.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub(crate) title: String,
    pub(crate) content: CardContent,
    /// The call that it belongs to.
    pub(crate) call_id: Option<String>,
}

/// The whole content of a card.
#[derive(Clone, Debug)]
pub(crate) enum CardContent {
    Text(String),
    Diff(Box<FileDiff>),
}

impl CardContent {
    /// Returns the content for a finished call: its result, or its live output if it was cancelled.
    pub(crate) fn from_tool_end(end: &ToolEnd, live: &str) -> Self {
        match (&end.error, &end.display) {
            (None, ToolDisplay::Diff(file)) => CardContent::Diff(file.clone()),
            (Some(error), _) if error.is_cancelled() => CardContent::Text(join_texts(live, "[cancelled]")),
            (Some(error), _) if end.content.contains(&error.message) => CardContent::Text(end.content.clone()),
            (Some(error), _) => CardContent::Text(join_texts(&error.message, &end.content)),
            // A command's output is in the display text; other long results are in the content for the model.
            (None, ToolDisplay::Text(text)) if end.command.is_some() || text.len() >= end.content.len() => {
                CardContent::Text(text.clone())
            }
            (None, _) => CardContent::Text(end.content.clone()),
        }
    }

    fn size_bytes(&self) -> usize {
        match self {
            CardContent::Text(text) => text.len(),
            CardContent::Diff(file) => {
                file.unified.len() + file.new.len() + file.original.as_ref().map_or(0, String::len)
            }
        }
    }

    /// Returns the content as lines that are not wrapped yet.
    pub(crate) fn lines(&self) -> Vec<StyledLine> {
        match self {
            CardContent::Text(text) => text_lines(text),
            CardContent::Diff(file) => diff::diff_lines(file, usize::MAX),
        }
    }

    /// Returns the content as text, for copying or saving it.
    pub(crate) fn text(&self) -> &str {
        match self {
            CardContent::Text(text) => text,
            CardContent::Diff(file) => &file.unified,
        }
    }
}

/// Returns a text as lines.
///
/// Text after a carriage return, which would overwrite its line on a terminal, gets a line of its own.
pub(crate) fn text_lines(text: &str) -> Vec<StyledLine> {
    crate::output::sanitize(text).lines().map(|line| StyledLine::styled(PLAIN, line)).collect()
}

fn join_texts(one: &str, other: &str) -> String {
    match (one.trim_end(), other) {
        ("", other) => other.to_owned(),
        (one, "") => one.to_owned(),
        (one, other) => format!("{one}\n{other}"),
    }
}

/// Returns the last `most` bytes of a text at most, and whether anything was cut.
pub(crate) fn tail(text: &str, most: usize) -> (&str, bool) {
    let mut cut = text.len().saturating_sub(most);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    (&text[cut..], cut > 0)
}

/// All cards, oldest first.
#[derive(Debug, Default)]
pub(crate) struct CardStore {
    cards: VecDeque<Card>,
    total_bytes: usize,
    /// The number of cards that have been evicted.
    evicted: usize,
}

impl CardStore {
    pub(crate) fn push(&mut self, title: impl Into<String>, whole: CardContent, call_id: Option<&str>) {
        let whole = match whole {
            CardContent::Text(text) if text.len() > MAX_CARD_BYTES => {
                CardContent::Text(format!("[the beginning is left out]\n{}", tail(&text, MAX_CARD_BYTES).0))
            }
            whole => whole,
        };
        if matches!(&whole, CardContent::Text(text) if text.trim().is_empty()) {
            return;
        }
        self.total_bytes += whole.size_bytes();
        self.cards.push_back(Card { title: title.into(), content: whole, call_id: call_id.map(str::to_owned) });
        while self.cards.len() > MAX_CARDS || self.total_bytes > MAX_TOTAL_CARD_BYTES && self.cards.len() > 1 {
            let Some(oldest) = self.cards.pop_front() else { return };
            self.total_bytes -= oldest.content.size_bytes();
            self.evicted += 1;
        }
    }

    /// Returns the number of the newest card; numbers stay the same when old cards are evicted.
    pub(crate) fn newest(&self) -> Option<usize> {
        (self.evicted + self.cards.len()).checked_sub(1).filter(|_| !self.cards.is_empty())
    }

    pub(crate) fn oldest(&self) -> usize {
        self.evicted
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Card> {
        self.cards.get(number.checked_sub(self.evicted)?)
    }

    /// Returns the number of a call's card, if it is still kept.
    pub(crate) fn find_call(&self, call_id: &str) -> Option<usize> {
        let at = self.cards.iter().rposition(|card| card.call_id.as_deref() == Some(call_id))?;
        Some(self.evicted + at)
    }

    /// Returns the `back`-th card from the end, counted from 1.
    pub(crate) fn nth_from_end(&self, back: usize) -> Option<&Card> {
        self.cards.get(self.cards.len().checked_sub(back.max(1))?)
    }
}

/// Returns the message for a card that does not exist.
pub(crate) fn no_card_text(back: usize) -> String {
    match back {
        1 => "nothing to open yet: outputs, thoughts and diffs can be opened".to_owned(),
        back => format!("there is no {back}th card from the end to open"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_bounded_and_keep_their_numbers() {
        let mut cards = CardStore::default();
        cards.push("nothing", CardContent::Text(" \n".to_owned()), None);
        assert_eq!(cards.newest(), None);
        for number in 0..MAX_CARDS + 5 {
            cards.push(format!("card {number}"), CardContent::Text(number.to_string()), Some("id"));
        }
        assert_eq!((cards.oldest(), cards.newest()), (5, Some(MAX_CARDS + 4)));
        assert!(cards.get(4).is_none() && cards.get(5).is_some_and(|card| card.title == "card 5"));
        assert_eq!(cards.nth_from_end(1).map(|card| card.title.as_str()), Some("card 204"));
        for _ in 0..20 {
            cards.push("large", CardContent::Text("é".repeat(MAX_CARD_BYTES)), None);
        }
        assert!(cards.total_bytes <= MAX_TOTAL_CARD_BYTES && cards.get(MAX_CARDS + 4).is_none());
        assert!(
            cards.nth_from_end(1).is_some_and(|card| card.content.text().starts_with("[the beginning is left out]\né"))
        );
        assert_eq!(cards.find_call("id"), None);
    }

    #[test]
    fn the_end_of_a_text_never_splits_a_letter() {
        assert_eq!(tail("aéé", 3), ("é", true));
        assert_eq!(tail("ab", 3), ("ab", false));
    }
}
