//! Detects the end of a sentence, with a lookahead of one character.
//!
//! In doubt the sentence continues: one sentence that is taken for two is split, while two that are taken for one are
//! only passed on together. Line ends, which end sentences too, are handled by `chunks.rs`.

/// Abbreviations whose full stop does not end a sentence. Single letters need no entry.
const ABBREVIATIONS: [&str; 48] = [
    "al", "approx", "apr", "art", "aug", "bzw", "ca", "capt", "cf", "ch", "co", "col", "corp", "dec", "dept", "dr",
    "ed", "eq", "esp", "est", "etc", "feb", "fig", "gen", "inc", "jan", "jr", "jul", "jun", "lt", "ltd", "mr", "mrs",
    "ms", "mt", "no", "nov", "nr", "oct", "pp", "prof", "sec", "sep", "sr", "st", "usw", "vol", "vs",
];

/// No abbreviation is longer.
const MAX_ABBREVIATION_BYTES: usize = 8;

/// The state of the current sentence.
#[derive(Clone, Debug, Default)]
pub(super) struct SentenceDetector {
    state: SentenceState,
    /// The start of the current word, up to the length of an abbreviation.
    word: String,
    in_word: bool,
    /// Whether the word is the first of its line.
    word_starts_line: bool,
    line_has_word: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum SentenceState {
    #[default]
    InSentence,
    /// After a stop and the closing marks that follow it. `wide` stops need no space after them.
    AfterStop { wide: bool },
    /// After a stop and white space.
    AfterSpace,
}

impl SentenceDetector {
    /// Whether the next character starts another sentence.
    pub(super) fn ends_before(&self, next: char) -> bool {
        match self.state {
            SentenceState::InSentence | SentenceState::AfterStop { wide: false } => false,
            SentenceState::AfterStop { wide: true } => {
                sentence_stop(next).is_none() && !is_closing_mark(next) && !next.is_whitespace()
            }
            SentenceState::AfterSpace => !next.is_whitespace() && !next.is_lowercase(),
        }
    }

    pub(super) fn push(&mut self, char: char) {
        self.state = match (self.state, sentence_stop(char)) {
            _ if char == '\n' => SentenceState::InSentence,
            (SentenceState::AfterStop { wide }, Some(another)) => SentenceState::AfterStop { wide: wide || another },
            (_, Some(_)) if char == '.' && self.is_abbreviation() => SentenceState::InSentence,
            (_, Some(wide)) => SentenceState::AfterStop { wide },
            (SentenceState::AfterStop { wide }, None) if is_closing_mark(char) || char == '\r' => {
                SentenceState::AfterStop { wide }
            }
            (SentenceState::AfterStop { .. } | SentenceState::AfterSpace, None) if char.is_whitespace() => {
                SentenceState::AfterSpace
            }
            _ => SentenceState::InSentence,
        };
        self.track_word(char);
    }

    fn track_word(&mut self, char: char) {
        let goes_on = self.in_word && matches!(char, '\'' | '’');
        if !self.in_word && char.is_alphanumeric() {
            self.word.clear();
            self.word_starts_line = !self.line_has_word;
            self.line_has_word = true;
        }
        self.in_word = goes_on || char.is_alphanumeric();
        if self.in_word && self.word.len() < MAX_ABBREVIATION_BYTES {
            self.word.push(char.to_ascii_lowercase());
        }
        if char == '\n' {
            self.line_has_word = false;
        }
    }

    /// Whether a full stop here belongs to the word before it: an abbreviation, an initial, or the number of a list
    /// item.
    fn is_abbreviation(&self) -> bool {
        let mut letters = self.word.chars();
        let initial = letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none();
        let number = self.word_starts_line && self.word.bytes().all(|byte| byte.is_ascii_digit());
        self.in_word && (initial || number || ABBREVIATIONS.binary_search(&self.word.as_str()).is_ok())
    }
}

/// Whether a character can end a sentence, and if so, whether it is a wide one that needs no space after it.
fn sentence_stop(char: char) -> Option<bool> {
    match char {
        '.' | '!' | '?' | '…' | '‼' | '⁇' | '⁈' | '⁉' | '؟' | '۔' | '।' | '॥' => Some(false),
        '。' | '｡' | '！' | '？' | '．' => Some(true),
        _ => None,
    }
}

/// Whether a character after the stop still belongs to the sentence: closing quotes and brackets, and emphasis marks.
fn is_closing_mark(char: char) -> bool {
    matches!(
        char,
        '"' | '\''
            | '”'
            | '’'
            | '»'
            | '›'
            | ')'
            | ']'
            | '}'
            | '*'
            | '_'
            | '`'
            | '~'
            | '」'
            | '』'
            | '）'
            | '】'
            | '》'
            | '〉'
            | '］'
            | '｝'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_are_sorted_and_short() {
        assert!(
            ABBREVIATIONS.is_sorted()
                && ABBREVIATIONS.iter().all(|word| word.len() > 1 && word.len() < MAX_ABBREVIATION_BYTES)
        );
    }
}
