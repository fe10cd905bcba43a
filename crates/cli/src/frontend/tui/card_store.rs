//! What the session showed in short, kept whole so that it can be opened: outputs, diffs, thoughts, pasted prompts. Bounded in
//! number and size; showing it is `pager.rs`'s business, or that of a session in lines.

use std::collections::VecDeque;

use hookwright_agent::ToolEnd;
use hookwright_tools::{FileDiff, ToolDisplay};

use super::diff;
use super::styled_text::{PLAIN, StyledLine};

/// So many are kept.
const MAX_CARDS: usize = 200;
/// The most that is kept of one text: its end.
const MAX_CARD_BYTES: usize = 4 << 20;
/// The most that all of them may weigh.
const MAX_TOTAL_CARD_BYTES: usize = 32 << 20;

/// Something that can be opened.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub(crate) title: String,
    pub(crate) content: CardContent,
    /// The call that it is of.
    pub(crate) call_id: Option<String>,
}

/// All of it.
#[derive(Clone, Debug)]
pub(crate) enum CardContent {
    Text(String),
    Diff(Box<FileDiff>),
}

impl CardContent {
    /// What came of a call, and what was seen of it while it ran.
    pub(crate) fn from_tool_end(end: &ToolEnd, live: &str) -> Self {
        match (&end.error, &end.display) {
            (None, ToolDisplay::Diff(file)) => CardContent::Diff(file.clone()),
            (Some(error), _) if error.is_cancelled() => CardContent::Text(join_texts(live, "[cancelled]")),
            (Some(error), _) if end.content.contains(&error.message) => CardContent::Text(end.content.clone()),
            (Some(error), _) => CardContent::Text(join_texts(&error.message, &end.content)),
            // A command's output stands in the one, and everything else that is long in the other.
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

    /// As lines, not wrapped yet.
    pub(crate) fn lines(&self) -> Vec<StyledLine> {
        match self {
            CardContent::Text(text) => text_lines(text),
            CardContent::Diff(file) => diff::diff_lines(file, usize::MAX),
        }
    }

    /// As text, for whoever wants to have it elsewhere.
    pub(crate) fn text(&self) -> &str {
        match self {
            CardContent::Text(text) => text,
            CardContent::Diff(file) => &file.unified,
        }
    }
}

/// A text as lines. What would be written over itself on a terminal stands below itself.
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

/// The end of a text, of so many bytes at most; and whether that is not all of it.
pub(crate) fn tail(text: &str, most: usize) -> (&str, bool) {
    let mut cut = text.len().saturating_sub(most);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    (&text[cut..], cut > 0)
}

/// All that can be opened, oldest first.
#[derive(Debug, Default)]
pub(crate) struct CardStore {
    cards: VecDeque<Card>,
    total_bytes: usize,
    /// How many are gone.
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

    /// The number of the newest one; numbers are for good.
    pub(crate) fn newest(&self) -> Option<usize> {
        (self.evicted + self.cards.len()).checked_sub(1).filter(|_| !self.cards.is_empty())
    }

    pub(crate) fn oldest(&self) -> usize {
        self.evicted
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Card> {
        self.cards.get(number.checked_sub(self.evicted)?)
    }

    /// The number of what is left of a call.
    pub(crate) fn find_call(&self, call_id: &str) -> Option<usize> {
        let at = self.cards.iter().rposition(|card| card.call_id.as_deref() == Some(call_id))?;
        Some(self.evicted + at)
    }

    /// The `back`-th from the end, from 1.
    pub(crate) fn nth_from_end(&self, back: usize) -> Option<&Card> {
        self.cards.get(self.cards.len().checked_sub(back.max(1))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_keeps_its_number() {
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
