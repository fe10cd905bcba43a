//! Detects a model that repeats itself: the same tool call, or the same text.
//!
//! It only reports the repetition; `turn.rs` ends the turn. Each prompt has its own detector.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value};

/// The number of identical calls in a row that counts as a loop.
const MAX_REPEATED_CALLS: u32 = 5;
/// The number of repeats of the same text that counts as a loop.
const MAX_TEXT_REPEATS: usize = 10;
/// The number of repeats that counts as a loop within a code block, where tables of similar lines are legitimate.
const MAX_CODE_REPEATS: usize = 40;
/// The length of the blocks in which text is compared.
const BLOCK_CHARS: usize = 50;
/// The longest period of a repetition that is detected.
const MAX_PERIOD_CHARS: usize = 2_000;

/// Watches the calls and texts of one prompt's turn.
#[derive(Debug, Default)]
pub(crate) struct LoopDetector {
    last_call: Option<(String, Map<String, Value>)>,
    repeated_calls: u32,
    text: RepetitionDetector,
}

impl LoopDetector {
    /// Records a tool call and returns the reason to stop if it was repeated too often.
    pub(crate) fn record_call(&mut self, name: &str, args: &Map<String, Value>) -> Option<String> {
        let same = self.last_call.as_ref().is_some_and(|(last, last_args)| last == name && last_args == args);
        if same {
            self.repeated_calls += 1;
        } else {
            self.last_call = Some((name.to_owned(), args.clone()));
            self.repeated_calls = 1;
        }
        // Texts on either side of a call are no repetition of one another.
        self.text = RepetitionDetector::default();
        (self.repeated_calls >= MAX_REPEATED_CALLS)
            .then(|| format!("the model called {name} with the same arguments {} times in a row", self.repeated_calls))
    }

    /// Records a piece of the answer and returns the reason to stop if the answer repeats itself.
    pub(crate) fn record_text(&mut self, text: &str) -> Option<String> {
        // All characters must be pushed, also after the first match.
        let found: Vec<usize> = text.chars().filter_map(|char| self.text.push(char)).collect();
        found.first().map(|copies| format!("the model wrote the same text {copies} times in a row"))
    }
}

/// Finds text that repeats with a fixed period, in constant time for each character.
///
/// Every block is looked up by its hash: if it was last seen `p` characters ago, and so were all blocks since, then the
/// text has been repeating with period `p`.
#[derive(Debug, Default)]
struct RepetitionDetector {
    /// The most recent characters, at most [`BLOCK_CHARS`].
    block: VecDeque<char>,
    hash: u64,
    position: usize,
    /// The position where each block was last seen, within the longest period.
    block_positions: HashMap<u64, usize>,
    /// The hashes in `block_positions`, oldest first.
    block_order: VecDeque<u64>,
    period: usize,
    /// The number of characters for which the period has held.
    repeated_chars: usize,
    /// The position of the last letter or digit: rules and table borders are not counted as repeated text.
    last_word_position: usize,
    fence: CodeFenceState,
}

impl RepetitionDetector {
    const HASH_BASE: u64 = 0x0001_0000_01B3;

    /// Adds a character and returns the number of repeats if that is too many.
    fn push(&mut self, char: char) -> Option<usize> {
        self.fence.push(char);
        self.position += 1;
        if char.is_alphanumeric() {
            self.last_word_position = self.position;
        }
        self.roll_hash(char);
        if self.block.len() < BLOCK_CHARS {
            return None;
        }
        let before = self.block_positions.insert(self.hash, self.position);
        self.reset();
        let period = before.map_or(0, |before| self.position - before);
        self.repeated_chars = if period > 0 && period == self.period { self.repeated_chars + 1 } else { 0 };
        self.period = period;
        let copies = self.repeated_chars / period.max(BLOCK_CHARS) + 1;
        let bound = if self.fence.is_open { MAX_CODE_REPEATS } else { MAX_TEXT_REPEATS };
        (period > 0 && copies >= bound && self.position - self.last_word_position < period).then_some(copies)
    }

    fn roll_hash(&mut self, char: char) {
        let value = |char: char| u64::from(u32::from(char)) + 1;
        self.block.push_back(char);
        self.hash = self.hash.wrapping_mul(Self::HASH_BASE).wrapping_add(value(char));
        if self.block.len() > BLOCK_CHARS
            && let Some(oldest) = self.block.pop_front()
        {
            let weight = Self::HASH_BASE.wrapping_pow(BLOCK_CHARS as u32);
            self.hash = self.hash.wrapping_sub(value(oldest).wrapping_mul(weight));
        }
    }

    fn reset(&mut self) {
        self.block_order.push_back(self.hash);
        if self.block_order.len() > MAX_PERIOD_CHARS
            && let Some(oldest) = self.block_order.pop_front()
        {
            let gone = self.position - MAX_PERIOD_CHARS;
            if self.block_positions.get(&oldest).is_some_and(|at| *at <= gone) {
                self.block_positions.remove(&oldest);
            }
        }
    }
}

/// Tracks whether the text is inside a fenced code block.
#[derive(Debug, Default)]
struct CodeFenceState {
    is_open: bool,
    /// The number of backticks at the start of this line; `None` after any other character.
    ticks: Option<u32>,
    has_started: bool,
}

impl CodeFenceState {
    fn push(&mut self, char: char) {
        if !self.has_started {
            (self.has_started, self.ticks) = (true, Some(0));
        }
        match (char, self.ticks) {
            ('\n', _) => self.ticks = Some(0),
            ('`', Some(ticks)) => {
                self.ticks = Some(ticks + 1);
                if ticks == 2 {
                    self.is_open = !self.is_open;
                }
            }
            (' ', Some(0)) => {}
            _ => self.ticks = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn args(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    /// Feeds the text in pieces of seven characters, as a stream would.
    fn stream(guard: &mut LoopDetector, text: &str) -> Option<String> {
        let chars: Vec<char> = text.chars().collect();
        chars.chunks(7).find_map(|piece| guard.record_text(&piece.iter().collect::<String>()))
    }

    #[test]
    fn fifth_identical_call_is_a_loop() {
        let mut guard = LoopDetector::default();
        let same = args(json!({ "a": 1, "b": 2 }));
        for _ in 0..4 {
            assert_eq!(guard.record_call("read_file", &same), None);
        }
        let reordered = args(json!({ "b": 2, "a": 1 }));
        let reason = guard.record_call("read_file", &reordered).unwrap();
        assert_eq!(reason, "the model called read_file with the same arguments 5 times in a row");
    }

    #[test]
    fn different_call_resets_the_count() {
        let mut guard = LoopDetector::default();
        let same = args(json!({}));
        for _ in 0..10 {
            for _ in 0..4 {
                assert_eq!(guard.record_call("a", &same), None);
            }
            assert_eq!(guard.record_call("b", &same), None);
            assert_eq!(guard.record_call("a", &args(json!({ "x": 1 }))), None);
        }
    }

    #[test]
    fn repeated_sentence_is_a_loop() {
        for sentence in [
            "I will now look at the file again to be sure of it. ",
            "Let me think. ",
            "Ich prüfe die Datei noch einmal; dann weiß ich, was zu tun ist, und sage es — wirklich.\n\n",
        ] {
            let mut guard = LoopDetector::default();
            assert!(stream(&mut guard, "Some words before it. ").is_none());
            assert!(stream(&mut guard, &sentence.repeat(60)).unwrap().contains("10 times"), "{sentence}");
        }
        let long = (0..150).map(|n| format!("step {n}; ")).collect::<String>();
        assert!(stream(&mut LoopDetector::default(), &long.repeat(9)).is_none());
        assert!(stream(&mut LoopDetector::default(), &long.repeat(11)).is_some());
    }

    #[test]
    fn ordinary_text_is_not_a_loop() {
        let list: String =
            (0..500).map(|n| format!("- item {n}: read the file, change it and run the tests\n")).collect();
        assert_eq!(stream(&mut LoopDetector::default(), &list), None);
        let rules = format!("{}\n{}\n", "-".repeat(2_000), "+----".repeat(400));
        assert_eq!(stream(&mut LoopDetector::default(), &rules), None);
        let nine = "I will now look at the file again to be sure of it. ".repeat(9);
        assert_eq!(stream(&mut LoopDetector::default(), &nine), None);
    }

    #[test]
    fn code_may_repeat_up_to_its_own_limit() {
        let row = "    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,\n";
        let mut guard = LoopDetector::default();
        assert!(stream(&mut guard, &format!("```c\n{}", row.repeat(30))).is_none());
        assert!(stream(&mut guard, &row.repeat(20)).is_some());
        let mut guard = LoopDetector::default();
        assert!(stream(&mut guard, &format!("```c\n{}```\nDone.\n", row.repeat(30))).is_none());
    }

    #[test]
    fn call_between_texts_resets_the_text() {
        let mut guard = LoopDetector::default();
        for n in 0..30 {
            assert_eq!(stream(&mut guard, "Now I read the next one of the many files, as planned."), None);
            assert_eq!(guard.record_call("read_file", &args(json!({ "n": n }))), None);
        }
    }

    #[test]
    fn memory_is_bounded_and_time_is_linear() {
        let mut guard = LoopDetector::default();
        let text: String =
            (0..200_000_u32).map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 27) as u8 % 26)).collect();
        stream(&mut guard, &text);
        assert!(
            guard.text.block_positions.len() <= MAX_PERIOD_CHARS && guard.text.block_order.len() <= MAX_PERIOD_CHARS
        );
    }
}
