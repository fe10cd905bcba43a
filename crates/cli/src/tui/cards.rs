//! What the session showed in short, kept whole so that it can be opened: outputs, diffs, thoughts, pasted prompts. Bounded in
//! number and size; showing it is `pager.rs`'s business, or that of a session in lines.

use std::collections::VecDeque;

use hookwright_agent::ToolEnd;
use hookwright_tools::{Display, FileDiff};

use super::diff;
use super::text::{Line, PLAIN};

/// So many are kept.
const MOST: usize = 200;
/// The most that is kept of one text: its end.
const LARGEST: usize = 4 << 20;
/// The most that all of them may weigh.
const HEAVIEST: usize = 32 << 20;

/// Something that can be opened.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    pub(crate) title: String,
    pub(crate) whole: Whole,
    /// The call that it is of.
    pub(crate) call_id: Option<String>,
}

/// All of it.
#[derive(Clone, Debug)]
pub(crate) enum Whole {
    Text(String),
    Diff(Box<FileDiff>),
}

impl Whole {
    /// What came of a call, and what was seen of it while it ran.
    pub(crate) fn of(end: &ToolEnd, live: &str) -> Self {
        match (&end.error, &end.display) {
            (None, Display::Diff(file)) => Whole::Diff(file.clone()),
            (Some(error), _) if error.is_cancelled() => Whole::Text(join(live, "[cancelled]")),
            (Some(error), _) if end.content.contains(&error.message) => Whole::Text(end.content.clone()),
            (Some(error), _) => Whole::Text(join(&error.message, &end.content)),
            // A command's output stands in the one, and everything else that is long in the other.
            (None, Display::Text(text)) if end.command.is_some() || text.len() >= end.content.len() => {
                Whole::Text(text.clone())
            }
            (None, _) => Whole::Text(end.content.clone()),
        }
    }

    fn weight(&self) -> usize {
        match self {
            Whole::Text(text) => text.len(),
            Whole::Diff(file) => file.unified.len() + file.new.len() + file.original.as_ref().map_or(0, String::len),
        }
    }

    /// As lines, not wrapped yet.
    pub(crate) fn lines(&self) -> Vec<Line> {
        match self {
            Whole::Text(text) => text_lines(text),
            Whole::Diff(file) => diff::lines(file, usize::MAX),
        }
    }

    /// As text, for whoever wants to have it elsewhere.
    pub(crate) fn text(&self) -> &str {
        match self {
            Whole::Text(text) => text,
            Whole::Diff(file) => &file.unified,
        }
    }
}

/// A text as lines. What would be written over itself on a terminal stands below itself.
pub(crate) fn text_lines(text: &str) -> Vec<Line> {
    crate::out::safe(text).lines().map(|line| Line::of(PLAIN, line)).collect()
}

fn join(one: &str, other: &str) -> String {
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
pub(crate) struct Cards {
    cards: VecDeque<Card>,
    weight: usize,
    /// How many are gone.
    gone: usize,
}

impl Cards {
    pub(crate) fn keep(&mut self, title: impl Into<String>, whole: Whole, call_id: Option<&str>) {
        let whole = match whole {
            Whole::Text(text) if text.len() > LARGEST => {
                Whole::Text(format!("[the beginning is left out]\n{}", tail(&text, LARGEST).0))
            }
            whole => whole,
        };
        if matches!(&whole, Whole::Text(text) if text.trim().is_empty()) {
            return;
        }
        self.weight += whole.weight();
        self.cards.push_back(Card { title: title.into(), whole, call_id: call_id.map(str::to_owned) });
        while self.cards.len() > MOST || self.weight > HEAVIEST && self.cards.len() > 1 {
            let Some(oldest) = self.cards.pop_front() else { return };
            self.weight -= oldest.whole.weight();
            self.gone += 1;
        }
    }

    /// The number of the newest one; numbers are for good.
    pub(crate) fn newest(&self) -> Option<usize> {
        (self.gone + self.cards.len()).checked_sub(1).filter(|_| !self.cards.is_empty())
    }

    pub(crate) fn oldest(&self) -> usize {
        self.gone
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Card> {
        self.cards.get(number.checked_sub(self.gone)?)
    }

    /// The number of what is left of a call.
    pub(crate) fn of_call(&self, call_id: &str) -> Option<usize> {
        let at = self.cards.iter().rposition(|card| card.call_id.as_deref() == Some(call_id))?;
        Some(self.gone + at)
    }

    /// The `back`-th from the end, from 1.
    pub(crate) fn back(&self, back: usize) -> Option<&Card> {
        self.cards.get(self.cards.len().checked_sub(back.max(1))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_keeps_its_number() {
        let mut cards = Cards::default();
        cards.keep("nothing", Whole::Text(" \n".to_owned()), None);
        assert_eq!(cards.newest(), None);
        for number in 0..MOST + 5 {
            cards.keep(format!("card {number}"), Whole::Text(number.to_string()), Some("id"));
        }
        assert_eq!((cards.oldest(), cards.newest()), (5, Some(MOST + 4)));
        assert!(cards.get(4).is_none() && cards.get(5).is_some_and(|card| card.title == "card 5"));
        assert_eq!(cards.back(1).map(|card| card.title.as_str()), Some("card 204"));
        for _ in 0..20 {
            cards.keep("large", Whole::Text("é".repeat(LARGEST)), None);
        }
        assert!(cards.weight <= HEAVIEST && cards.get(MOST + 4).is_none());
        assert!(cards.back(1).is_some_and(|card| card.whole.text().starts_with("[the beginning is left out]\né")));
        assert_eq!(cards.of_call("id"), None);
    }

    #[test]
    fn the_end_of_a_text_never_splits_a_letter() {
        assert_eq!(tail("aéé", 3), ("é", true));
        assert_eq!(tail("ab", 3), ("ab", false));
    }
}
