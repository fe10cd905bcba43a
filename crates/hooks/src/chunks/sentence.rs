//! Where a sentence ends, by the character and without looking ahead further than that. In doubt it goes on: a sentence that
//! is taken for two is cut, two that are taken for one are only seen together. Lines end sentences too; that is the
//! cutter's.

/// Words that a full stop makes shorter, and that does not end a sentence. Those of one letter need not be here.
const SHORT: [&str; 48] = [
    "al", "approx", "apr", "art", "aug", "bzw", "ca", "capt", "cf", "ch", "co", "col", "corp", "dec", "dept", "dr",
    "ed", "eq", "esp", "est", "etc", "feb", "fig", "gen", "inc", "jan", "jr", "jul", "jun", "lt", "ltd", "mr", "mrs",
    "ms", "mt", "no", "nov", "nr", "oct", "pp", "prof", "sec", "sep", "sr", "st", "usw", "vol", "vs",
];

/// Longer than any of them.
const LONG: usize = 8;

/// How far a sentence has come.
#[derive(Clone, Debug, Default)]
pub(super) struct Sentence {
    state: State,
    /// The word that was last begun, as far as it is of interest.
    word: String,
    in_word: bool,
    /// Whether that word is the first of its line.
    opens_line: bool,
    line_has_word: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Running,
    /// Behind a stop and what closes with it.
    Stopped { wide: bool },
    /// Behind that and white space.
    Spaced,
}

impl Sentence {
    /// Whether the next character is another sentence's.
    pub(super) fn is_over_before(&self, next: char) -> bool {
        match self.state {
            State::Running | State::Stopped { wide: false } => false,
            State::Stopped { wide: true } => stop(next).is_none() && !closes(next) && !next.is_whitespace(),
            State::Spaced => !next.is_whitespace() && !next.is_lowercase(),
        }
    }

    pub(super) fn push(&mut self, char: char) {
        self.state = match (self.state, stop(char)) {
            _ if char == '\n' => State::Running,
            (State::Stopped { wide }, Some(another)) => State::Stopped { wide: wide || another },
            (_, Some(_)) if char == '.' && self.is_short() => State::Running,
            (_, Some(wide)) => State::Stopped { wide },
            (State::Stopped { wide }, None) if closes(char) || char == '\r' => State::Stopped { wide },
            (State::Stopped { .. } | State::Spaced, None) if char.is_whitespace() => State::Spaced,
            _ => State::Running,
        };
        self.note_word(char);
    }

    fn note_word(&mut self, char: char) {
        let goes_on = self.in_word && matches!(char, '\'' | '’');
        if !self.in_word && char.is_alphanumeric() {
            self.word.clear();
            self.opens_line = !self.line_has_word;
            self.line_has_word = true;
        }
        self.in_word = goes_on || char.is_alphanumeric();
        if self.in_word && self.word.len() < LONG {
            self.word.push(char.to_ascii_lowercase());
        }
        if char == '\n' {
            self.line_has_word = false;
        }
    }

    /// Whether a full stop here belongs to the word before it: an abbreviation, an initial, the number of a list's entry.
    fn is_short(&self) -> bool {
        let mut letters = self.word.chars();
        let initial = letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none();
        let number = self.opens_line && self.word.bytes().all(|byte| byte.is_ascii_digit());
        self.in_word && (initial || number || SHORT.binary_search(&self.word.as_str()).is_ok())
    }
}

/// Whether a character can end a sentence, and then whether it is wide: nothing need stand between it and the next.
fn stop(char: char) -> Option<bool> {
    match char {
        '.' | '!' | '?' | '…' | '‼' | '⁇' | '⁈' | '⁉' | '؟' | '۔' | '।' | '॥' => Some(false),
        '。' | '｡' | '！' | '？' | '．' => Some(true),
        _ => None,
    }
}

/// What still belongs to a sentence behind its stop: quotes and brackets that close, and marks of emphasis.
fn closes(char: char) -> bool {
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
    fn short_words_are_in_order_and_short() {
        assert!(SHORT.is_sorted() && SHORT.iter().all(|word| word.len() > 1 && word.len() < LONG));
    }
}
