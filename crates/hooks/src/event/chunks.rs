//! How much of a streamed response AfterModel hooks receive at a time (`chunks`), and where the text may be split.
//!
//! The splitter examines one character at a time, so the boundaries do not depend on the pieces in which the text
//! arrives. The caller holds text back until there is a boundary.

use std::fmt;
use std::num::NonZeroU32;

mod sentence;

use sentence::SentenceDetector;

/// The unit in which a hook receives a streamed response instead of receiving every piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkUnit {
    /// One or more whole sentences.
    Sentence,
    /// One or more whole lines.
    Line,
    /// Whole words of at least this many characters together.
    MinChars(NonZeroU32),
}

impl ChunkUnit {
    /// The maximum length of a unit in characters.
    ///
    /// A longer unit ends at the next end of a word, and a unit of twice this length ends in any case.
    pub const MAX_CHUNK_CHARS: u32 = 65_536;
}

impl fmt::Display for ChunkUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChunkUnit::Sentence => f.write_str("sentence"),
            ChunkUnit::Line => f.write_str("line"),
            ChunkUnit::MinChars(characters) => characters.fmt(f),
        }
    }
}

/// The places at which a unit may end; each kind is also a boundary of the kinds before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ChunkBoundary {
    Word,
    Sentence,
    Line,
}

/// The granularity for all hooks of a plan: no hook receives less than its unit at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkGranularity {
    boundary: ChunkBoundary,
    min_chars: usize,
}

impl ChunkGranularity {
    /// The finest granularity that is coarse enough for all units; `None` without any unit.
    pub fn coarsest(wishes: impl IntoIterator<Item = ChunkUnit>) -> Option<ChunkGranularity> {
        wishes.into_iter().map(ChunkGranularity::from).reduce(|one, other| ChunkGranularity {
            boundary: one.boundary.max(other.boundary),
            min_chars: one.min_chars.max(other.min_chars),
        })
    }
}

impl From<ChunkUnit> for ChunkGranularity {
    fn from(wish: ChunkUnit) -> Self {
        let (ends, at_least) = match wish {
            ChunkUnit::Sentence => (ChunkBoundary::Sentence, 1),
            ChunkUnit::Line => (ChunkBoundary::Line, 1),
            ChunkUnit::MinChars(characters) => (ChunkBoundary::Word, characters.get()),
        };
        ChunkGranularity { boundary: ends, min_chars: at_least as usize }
    }
}

/// Finds the boundaries of units in a text that arrives in pieces; every character is examined once.
///
/// ```
/// use hookwright_hooks::{ChunkGranularity, ChunkSplitter, ChunkUnit};
///
/// let lines = ChunkGranularity::from(ChunkUnit::Line);
/// let mut splitter = ChunkSplitter::default();
/// assert_eq!(splitter.feed("half a line", lines), None);
/// assert_eq!(splitter.feed(" and\nthe next", lines), Some(5));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChunkSplitter {
    /// The number of characters after the last boundary.
    open_chars: usize,
    sentence_detector: SentenceDetector,
}

/// A boundary: its byte offset in the newest piece, and the number of characters before it.
type BoundaryOffset = (usize, usize);

impl ChunkSplitter {
    /// Whether a unit has begun and not ended.
    pub fn is_open(&self) -> bool {
        self.open_chars > 0
    }

    /// Adds the next piece, and returns the byte offset in it at which the last whole unit ends, if one does.
    ///
    /// The offset is 0 if the piece shows that the text before it was complete.
    pub fn feed(&mut self, text: &str, grain: ChunkGranularity) -> Option<usize> {
        let (mut end, mut word) = (None, None);
        for (at, char) in text.char_indices() {
            if self.sentence_detector.ends_before(char) {
                word = Some((at, self.open_chars));
                end = if grain.boundary == ChunkBoundary::Sentence { word } else { end };
            }
            self.sentence_detector.push(char);
            self.open_chars += 1;
            let behind = Some((at + char.len_utf8(), self.open_chars));
            if char == '\n' {
                end = behind;
            }
            if ends_word(char) {
                word = behind;
            }
        }
        let end = if grain.boundary == ChunkBoundary::Word { word } else { end };
        // The last boundary has the most characters before it.
        let whole = end.filter(|(_, before)| *before >= grain.min_chars);
        let (at, before) = whole.or_else(|| self.forced_boundary(text, word))?;
        self.open_chars -= before;
        Some(at)
    }

    /// The boundary of a unit that exceeds the maximum length.
    fn forced_boundary(&self, text: &str, word: Option<BoundaryOffset>) -> Option<BoundaryOffset> {
        let longest = ChunkUnit::MAX_CHUNK_CHARS as usize;
        let anywhere = (self.open_chars >= 2 * longest).then_some((text.len(), self.open_chars));
        word.or(anywhere).filter(|_| self.open_chars >= longest)
    }

    /// Ends the current unit and starts anew.
    pub fn reset(&mut self) {
        *self = ChunkSplitter::default();
    }
}

/// Whether a word ends with a character. In scripts without spaces between words, every character ends one.
fn ends_word(char: char) -> bool {
    // Of `\r\n` the second character ends the word.
    (char.is_whitespace() && char != '\r')
        || matches!(char, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff01}'..='\u{ff0f}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn min_chars(characters: u32) -> ChunkUnit {
        ChunkUnit::MinChars(NonZeroU32::new(characters).unwrap())
    }

    /// The units of a text that arrives in these pieces; the last one is the rest, which may be empty.
    fn split_into_units<'p>(pieces: impl IntoIterator<Item = &'p str>, wishes: &[ChunkUnit]) -> Vec<String> {
        let grain = ChunkGranularity::coarsest(wishes.iter().copied()).unwrap();
        let (mut cutter, mut held, mut units) = (ChunkSplitter::default(), String::new(), Vec::new());
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

    /// The units of a text that arrives one character at a time.
    fn split_by_character(text: &str, wish: ChunkUnit) -> Vec<String> {
        let characters: Vec<String> = text.chars().map(String::from).collect();
        split_into_units(characters.iter().map(String::as_str), &[wish])
    }

    #[test]
    fn sentences_end_at_punctuation_and_not_at_abbreviations() {
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
            assert_eq!(split_by_character(text, ChunkUnit::Sentence), expected, "{text}");
        }
    }

    #[test]
    fn units_of_lines_and_minimum_lengths() {
        assert_eq!(split_by_character("a. B\r\nc\n\nd", ChunkUnit::Line), ["a. B\r\n", "c\n", "\n", "d"]);
        assert_eq!(split_by_character("one two three four", min_chars(5)), ["one two ", "three ", "four"]);
        assert_eq!(
            split_by_character("sk-0123456789abcdef and more", min_chars(1)),
            ["sk-0123456789abcdef ", "and ", "more"]
        );
        assert_eq!(split_by_character("日本語の文章", min_chars(4)), ["日本語の", "文章"]);
    }

    /// Whole units are returned together, so that no hook runs more often than there are pieces.
    #[test]
    fn whole_units_of_one_piece_are_returned_together() {
        assert_eq!(
            split_into_units(["One. Two. Thr", "ee. Four"], &[ChunkUnit::Sentence]),
            ["One. Two. ", "Three. ", "Four"]
        );
        assert_eq!(split_into_units(["a\nb\nc", "\n"], &[ChunkUnit::Line]), ["a\nb\n", "c\n", ""]);
        assert_eq!(split_into_units(["", "One", "", ". Two", ""], &[ChunkUnit::Sentence]), ["One. ", "Two"]);
    }

    #[test]
    fn the_coarsest_of_several_units_applies() {
        let text = "One. Two. Three.\nFour. Five.\n";
        let together = |wishes: &[ChunkUnit]| split_into_units(text.split_inclusive(""), wishes);
        assert_eq!(together(&[ChunkUnit::Sentence, ChunkUnit::Line]), ["One. Two. Three.\n", "Four. Five.\n", ""]);
        assert_eq!(together(&[ChunkUnit::Sentence, min_chars(8)]), ["One. Two. ", "Three.\nFour. ", "Five.\n"]);
        assert_eq!(together(&[min_chars(20), ChunkUnit::Line, min_chars(3)]), [text, ""]);
        assert_eq!(ChunkGranularity::coarsest([]), None);
    }

    #[test]
    fn overlong_units_end_with_a_word() {
        let longest = ChunkUnit::MAX_CHUNK_CHARS as usize;
        let text = "la ".repeat(longest);
        for wish in [ChunkUnit::Sentence, ChunkUnit::Line] {
            let units = split_by_character(&text, wish);
            assert!(units.len() > 1 && units.concat() == text);
            for unit in &units[..units.len() - 1] {
                assert!((longest..longest + 3).contains(&unit.len()) && unit.ends_with(' '), "{}", unit.len());
            }
        }
        let text = "\u{1f511}".repeat(5 * longest);
        let lengths: Vec<usize> =
            split_by_character(&text, ChunkUnit::Line).iter().map(|unit| unit.chars().count()).collect();
        assert_eq!(lengths, [2 * longest, 2 * longest, longest]);
        let units = split_into_units([text.as_str(), "x"], &[ChunkUnit::Sentence]);
        assert_eq!(units, [text.as_str(), "x"]);
    }

    #[test]
    fn a_long_text_by_the_character_takes_linear_time() {
        for filler in [".", "a", " ", "\"", "。"] {
            let text = filler.repeat((1 << 20) / filler.len());
            let mut cutter = ChunkSplitter::default();
            let mut left = 0;
            for (at, char) in text.char_indices() {
                let ends =
                    cutter.feed(&text[at..at + char.len_utf8()], ChunkGranularity::from(ChunkUnit::Sentence)).is_some();
                left = if ends { 0 } else { left + 1 };
                assert!(left <= 2 * ChunkUnit::MAX_CHUNK_CHARS as usize);
            }
        }
    }

    fn any_chunk_unit() -> impl Strategy<Value = ChunkUnit> {
        prop_oneof![Just(ChunkUnit::Sentence), Just(ChunkUnit::Line), (1u32..40).prop_map(min_chars)]
    }

    const PIECE_PATTERN: &str = "([a-zA-Z0-9]{1,4}|\\. |\\.|\\? |\\n|\\r\\n| |\"|。|é|🔑|Mr\\.|[ -~]){0,3}";

    proptest! {
        #[test]
        fn units_concatenate_to_the_text_and_end_at_its_boundaries(
            pieces in prop::collection::vec(PIECE_PATTERN, 0..30),
            wishes in prop::collection::vec(any_chunk_unit(), 1..4),
        ) {
            let units = split_into_units(pieces.iter().map(String::as_str), &wishes);
            let text = pieces.concat();
            prop_assert_eq!(units.concat(), text.clone());
            prop_assert!(units.len() <= pieces.len() + 1, "a hook runs no more often than there are pieces");
            // Each unit but the last consists of one or more of the units that each hook would have alone.
            let finest = |wish: ChunkUnit| match wish {
                ChunkUnit::MinChars(_) => min_chars(1),
                wish => wish,
            };
            for wish in wishes {
                let mut ends = vec![0];
                for unit in split_by_character(&text, finest(wish)) {
                    ends.push(ends[ends.len() - 1] + unit.len());
                }
                let mut at = 0;
                for unit in &units[..units.len() - 1] {
                    at += unit.len();
                    prop_assert!(ends.contains(&at), "{wish}: {unit:?} of {text:?}");
                    prop_assert!(!unit.is_empty());
                    if let ChunkUnit::MinChars(characters) = wish {
                        prop_assert!(unit.chars().count() >= characters.get() as usize);
                    }
                }
            }
        }

        /// No whole unit is held back: the rest contains no boundary.
        #[test]
        fn at_most_one_unit_is_held_back(pieces in prop::collection::vec(PIECE_PATTERN, 0..30), wish in any_chunk_unit()) {
            let units = split_into_units(pieces.iter().map(String::as_str), &[wish]);
            let (text, left) = (pieces.concat(), units[units.len() - 1].len());
            let finest = split_by_character(&text, wish);
            if !matches!(wish, ChunkUnit::MinChars(_)) {
                prop_assert_eq!(left, finest[finest.len() - 1].len());
            }
        }
    }
}
