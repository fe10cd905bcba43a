//! How much of a streamed answer AfterModel hooks are handed at a time (`chunks`), and where a text may be cut for that.
//!
//! Pure and by the character, so that the ends found in a text do not depend on the pieces in which it arrives. Holding
//! pieces back until there is an end is the work of whoever receives them.

use std::fmt;
use std::num::NonZeroU32;

mod sentence;

use sentence::Sentence;

/// What a hook wants to be handed at a time instead of every piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunks {
    /// Whole sentences.
    Sentence,
    /// Whole lines.
    Line,
    /// At least so many characters, and whole words.
    AtLeast(NonZeroU32),
}

impl Chunks {
    /// The longest unit that is waited for, in characters. What has no end by then ends with its next word, and where
    /// there is no word's end in as much again, where it is.
    pub const LONGEST: u32 = 65_536;
}

impl fmt::Display for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Chunks::Sentence => f.write_str("sentence"),
            Chunks::Line => f.write_str("line"),
            Chunks::AtLeast(characters) => characters.fmt(f),
        }
    }
}

/// Where a unit may end; each kind of end is also one of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Ends {
    Word,
    Sentence,
    Line,
}

/// What the hooks of a plan want together: units so large that none of them is handed less than it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grain {
    ends: Ends,
    at_least: usize,
}

impl Grain {
    /// The finest that is coarse enough for all; nothing if nobody asks.
    pub fn of(wishes: impl IntoIterator<Item = Chunks>) -> Option<Grain> {
        wishes
            .into_iter()
            .map(Grain::from)
            .reduce(|one, other| Grain { ends: one.ends.max(other.ends), at_least: one.at_least.max(other.at_least) })
    }
}

impl From<Chunks> for Grain {
    fn from(wish: Chunks) -> Self {
        let (ends, at_least) = match wish {
            Chunks::Sentence => (Ends::Sentence, 1),
            Chunks::Line => (Ends::Line, 1),
            Chunks::AtLeast(characters) => (Ends::Word, characters.get()),
        };
        Grain { ends, at_least: at_least as usize }
    }
}

/// Finds the ends of units in a text that arrives in pieces, looking at every character once.
#[derive(Clone, Debug, Default)]
pub struct Cutter {
    /// How many characters there are behind the last end.
    open: usize,
    sentence: Sentence,
}

/// An end: its place in the newest piece, and how many characters there were before it.
type End = (usize, usize);

impl Cutter {
    /// Whether a unit has begun and not ended.
    pub fn is_open(&self) -> bool {
        self.open > 0
    }

    /// Takes in the next piece. Gives the place in it where the last whole unit ends, if one does: everything before is
    /// whole. It may be the very beginning, where a piece shows that what came before it was at its end.
    pub fn feed(&mut self, text: &str, grain: Grain) -> Option<usize> {
        let (mut end, mut word) = (None, None);
        for (at, char) in text.char_indices() {
            if self.sentence.is_over_before(char) {
                word = Some((at, self.open));
                end = if grain.ends == Ends::Sentence { word } else { end };
            }
            self.sentence.push(char);
            self.open += 1;
            let behind = Some((at + char.len_utf8(), self.open));
            if char == '\n' {
                end = behind;
            }
            if ends_word(char) {
                word = behind;
            }
        }
        let end = if grain.ends == Ends::Word { word } else { end };
        // The last end has the most before it.
        let whole = end.filter(|(_, before)| *before >= grain.at_least);
        let (at, before) = whole.or_else(|| self.overdue(text, word))?;
        self.open -= before;
        Some(at)
    }

    /// Where a unit ends that is too long to be waited for.
    fn overdue(&self, text: &str, word: Option<End>) -> Option<End> {
        let longest = Chunks::LONGEST as usize;
        let anywhere = (self.open >= 2 * longest).then_some((text.len(), self.open));
        word.or(anywhere).filter(|_| self.open >= longest)
    }

    /// Ends what has begun.
    pub fn close(&mut self) {
        *self = Cutter::default();
    }
}

/// Whether a word ends with a character. Scripts that leave no room between words end one with every character.
fn ends_word(char: char) -> bool {
    // Of a line's two ends the second is the one.
    (char.is_whitespace() && char != '\r')
        || matches!(char, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff01}'..='\u{ff0f}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at_least(characters: u32) -> Chunks {
        Chunks::AtLeast(NonZeroU32::new(characters).unwrap())
    }

    /// The units of a text that arrives in these pieces; the last is what is left at the end, and may be empty.
    fn units<'p>(pieces: impl IntoIterator<Item = &'p str>, wishes: &[Chunks]) -> Vec<String> {
        let grain = Grain::of(wishes.iter().copied()).unwrap();
        let (mut cutter, mut held, mut units) = (Cutter::default(), String::new(), Vec::new());
        for piece in pieces {
            match cutter.feed(piece, grain) {
                Some(at) => {
                    units.push(std::mem::take(&mut held) + &piece[..at]);
                    held.push_str(&piece[at..]);
                }
                None => held.push_str(piece),
            }
            assert_eq!(cutter.is_open(), !held.is_empty(), "{held:?}");
        }
        units.push(held);
        units
    }

    /// The units of a text that arrives by the character.
    fn slowly(text: &str, wish: Chunks) -> Vec<String> {
        let characters: Vec<String> = text.chars().map(String::from).collect();
        units(characters.iter().map(String::as_str), &[wish])
    }

    #[test]
    fn sentences_end_where_people_end_them() {
        for (text, expected) in [
            ("One. Two! Three? Four", vec!["One. ", "Two! ", "Three? ", "Four"]),
            ("It is 3.14 or v1.2.3, see a.rs. Then", vec!["It is 3.14 or v1.2.3, see a.rs. ", "Then"]),
            ("Say e.g. This or i.e. That. End", vec!["Say e.g. This or i.e. That. ", "End"]),
            (
                "Dr. Who met J. R. Smith of the U.S. Army. Yes",
                vec!["Dr. Who met J. R. Smith of the U.S. Army. ", "Yes"],
            ),
            ("Wait... what? No... Never. x", vec!["Wait... what? ", "No... ", "Never. x"]),
            (
                "He said \"Stop.\" Then (he left.) **Gone.** Yes",
                vec!["He said \"Stop.\" ", "Then (he left.) ", "**Gone.** ", "Yes"],
            ),
            ("\"Why?\" he asked. \"So.\"", vec!["\"Why?\" he asked. ", "\"So.\""]),
            ("1. First thing\n2. Second. Thing\n", vec!["1. First thing\n", "2. Second. ", "Thing\n", ""]),
            ("We had 3. They had 4.", vec!["We had 3. ", "They had 4."]),
            ("你好。世界！「真的？」是。", vec!["你好。", "世界！", "「真的？」", "是。"]),
            ("One.\r\nTwo\r\n\r\nThree", vec!["One.\r\n", "Two\r\n", "\r\n", "Three"]),
            ("It's. That’s James's. So", vec!["It's. ", "That’s James's. ", "So"]),
            ("See example.com/a?b=C. Then", vec!["See example.com/a?b=C. Then"]),
            ("Really?! Yes…  And", vec!["Really?! ", "Yes…  ", "And"]),
            ("ok.", vec!["ok."]),
        ] {
            assert_eq!(slowly(text, Chunks::Sentence), expected, "{text}");
        }
    }

    #[test]
    fn lines_and_numbers_of_characters() {
        assert_eq!(slowly("a. B\r\nc\n\nd", Chunks::Line), ["a. B\r\n", "c\n", "\n", "d"]);
        assert_eq!(slowly("one two three four", at_least(5)), ["one two ", "three ", "four"]);
        assert_eq!(slowly("sk-0123456789abcdef and more", at_least(1)), ["sk-0123456789abcdef ", "and ", "more"]);
        assert_eq!(slowly("日本語の文章", at_least(4)), ["日本語の", "文章"]);
    }

    /// What is whole already is handed over at once, so that no hook runs more often than there are pieces.
    #[test]
    fn what_arrives_together_is_handed_over_together() {
        assert_eq!(units(["One. Two. Thr", "ee. Four"], &[Chunks::Sentence]), ["One. Two. ", "Three. ", "Four"]);
        assert_eq!(units(["a\nb\nc", "\n"], &[Chunks::Line]), ["a\nb\n", "c\n", ""]);
        assert_eq!(units(["", "One", "", ". Two", ""], &[Chunks::Sentence]), ["One. ", "Two"]);
    }

    #[test]
    fn several_wishes_are_met_together() {
        let text = "One. Two. Three.\nFour. Five.\n";
        let together = |wishes: &[Chunks]| units(text.split_inclusive(""), wishes);
        assert_eq!(together(&[Chunks::Sentence, Chunks::Line]), ["One. Two. Three.\n", "Four. Five.\n", ""]);
        assert_eq!(together(&[Chunks::Sentence, at_least(8)]), ["One. Two. ", "Three.\nFour. ", "Five.\n"]);
        assert_eq!(together(&[at_least(20), Chunks::Line, at_least(3)]), [text, ""]);
        assert_eq!(Grain::of([]), None);
    }

    #[test]
    fn what_never_ends_is_handed_over_with_a_word() {
        let longest = Chunks::LONGEST as usize;
        let text = "la ".repeat(longest);
        for wish in [Chunks::Sentence, Chunks::Line] {
            let units = slowly(&text, wish);
            assert!(units.len() > 1 && units.concat() == text);
            for unit in &units[..units.len() - 1] {
                assert!((longest..longest + 3).contains(&unit.len()) && unit.ends_with(' '), "{}", unit.len());
            }
        }
        let text = "\u{1f511}".repeat(5 * longest);
        let lengths: Vec<usize> = slowly(&text, Chunks::Line).iter().map(|unit| unit.chars().count()).collect();
        assert_eq!(lengths, [2 * longest, 2 * longest, longest]);
        let units = units([text.as_str(), "x"], &[Chunks::Sentence]);
        assert_eq!(units, [text.as_str(), "x"]);
    }

    #[test]
    fn a_long_text_by_the_character_is_looked_at_once() {
        for filler in [".", "a", " ", "\"", "。"] {
            let text = filler.repeat((1 << 20) / filler.len());
            let mut cutter = Cutter::default();
            let mut left = 0;
            for (at, char) in text.char_indices() {
                let ends = cutter.feed(&text[at..at + char.len_utf8()], Grain::from(Chunks::Sentence)).is_some();
                left = if ends { 0 } else { left + 1 };
                assert!(left <= 2 * Chunks::LONGEST as usize);
            }
        }
    }

    fn wish() -> impl Strategy<Value = Chunks> {
        prop_oneof![Just(Chunks::Sentence), Just(Chunks::Line), (1u32..40).prop_map(at_least)]
    }

    const TEXTS: &str = "([a-zA-Z0-9]{1,4}|\\. |\\.|\\? |\\n|\\r\\n| |\"|。|é|🔑|Mr\\.|[ -~]){0,3}";

    proptest! {
        #[test]
        fn units_are_the_text_and_end_where_the_whole_text_has_an_end(
            pieces in prop::collection::vec(TEXTS, 0..30),
            wishes in prop::collection::vec(wish(), 1..4),
        ) {
            let units = units(pieces.iter().map(String::as_str), &wishes);
            let text = pieces.concat();
            prop_assert_eq!(units.concat(), text.clone());
            prop_assert!(units.len() <= pieces.len() + 1, "a hook runs no more often than there are pieces");
            // Each unit but the last is whole for every hook: it is one or more of those that the hook would have alone.
            let finest = |wish: Chunks| match wish {
                Chunks::AtLeast(_) => at_least(1),
                wish => wish,
            };
            for wish in wishes {
                let mut ends = vec![0];
                for unit in slowly(&text, finest(wish)) {
                    ends.push(ends[ends.len() - 1] + unit.len());
                }
                let mut at = 0;
                for unit in &units[..units.len() - 1] {
                    at += unit.len();
                    prop_assert!(ends.contains(&at), "{wish}: {unit:?} of {text:?}");
                    prop_assert!(!unit.is_empty());
                    if let Chunks::AtLeast(characters) = wish {
                        prop_assert!(unit.chars().count() >= characters.get() as usize);
                    }
                }
            }
        }

        /// Nothing is held that is whole: what is left has no end in it.
        #[test]
        fn what_is_held_is_one_unit(pieces in prop::collection::vec(TEXTS, 0..30), wish in wish()) {
            let units = units(pieces.iter().map(String::as_str), &[wish]);
            let (text, left) = (pieces.concat(), units[units.len() - 1].len());
            let finest = slowly(&text, wish);
            if !matches!(wish, Chunks::AtLeast(_)) {
                prop_assert_eq!(left, finest[finest.len() - 1].len());
            }
        }
    }
}
