//! Words: literal characters, quotes and escapes.

use super::{EXTENDED_GLOB, Parsed, Parser, is_metacharacter};
use crate::syntax::{Dialect, Piece, Word};

const UNCLOSED_QUOTE: &str = "a quote without an end";

/// What an expansion stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    Unquoted,
    DoubleQuotes,
    /// The body of a here-document: like double quotes, but `"` means itself.
    HereDocument,
    /// An arithmetic expression: like double quotes, but `"` is removed.
    Arithmetic,
}

impl Quoting {
    pub(super) fn is_quoted(self) -> bool {
        self != Quoting::Unquoted
    }
}

impl Word {
    pub(super) fn push_literal(&mut self, char: char) {
        match self.pieces.last_mut() {
            Some(Piece::Literal(text)) => text.push(char),
            _ => self.pieces.push(Piece::Literal(char.to_string())),
        }
    }

    pub(super) fn push_quoted(&mut self, char: char) {
        self.push_empty_quotes();
        if let Some(Piece::Quoted(text)) = self.pieces.last_mut() {
            text.push(char);
        }
    }

    /// Makes sure that the word ends with a quoted piece, if only an empty one.
    pub(super) fn push_empty_quotes(&mut self) {
        if !matches!(self.pieces.last(), Some(Piece::Quoted(_))) {
            self.pieces.push(Piece::Quoted(String::new()));
        }
    }

    pub(super) fn push_quoted_text(&mut self, text: &str) {
        self.push_empty_quotes();
        if let Some(Piece::Quoted(quoted)) = self.pieces.last_mut() {
            quoted.push_str(text);
        }
    }
}

impl Parser<'_> {
    /// A word, which must not be missing.
    pub(super) fn word(&mut self) -> Parsed<Word> {
        let mut word = Word::default();
        let start = self.at;
        self.word_pieces(&mut word)?;
        if word.pieces.is_empty() {
            return self.fail("a syntax error: a word is missing");
        }
        // Behind an operator bash reads these as the beginning of a redirection.
        if matches!(self.peek(), Some('<' | '>')) && may_be_descriptor(&word) {
            return self.fail("a word that may be the descriptor of a redirection");
        }
        if self.dialect == Dialect::Posix && may_expand_braces(&word) {
            self.require_bash();
        }
        self.check_pending_documents(start);
        Ok(word)
    }

    /// The pieces up to an unquoted metacharacter.
    pub(super) fn word_pieces(&mut self, word: &mut Word) -> Parsed<()> {
        while let Some(char) = self.peek() {
            if self.is_at_process_substitution() {
                self.process_substitution(word)?;
            } else if is_metacharacter(char) {
                break;
            } else if "?*+@!".contains(char) && self.peek_second() == Some('(') {
                return self.fail(EXTENDED_GLOB);
            } else {
                self.unquoted_piece(char, word)?;
            }
        }
        Ok(())
    }

    pub(super) fn is_at_process_substitution(&self) -> bool {
        self.starts_with("<(") || self.starts_with(">(")
    }

    /// The quotes, the expansion or the character that stands outside of quotes.
    pub(super) fn unquoted_piece(&mut self, char: char, word: &mut Word) -> Parsed<()> {
        match char {
            '\'' => self.single_quotes(word),
            '"' => self.double_quotes(word),
            '`' => self.backquotes(Quoting::Unquoted, word),
            '$' => self.dollar(Quoting::Unquoted, word),
            '\\' => {
                self.bump();
                let Some(escaped) = self.bump() else { return self.fail("a backslash at the end of the text") };
                word.push_quoted(escaped);
                Ok(())
            }
            char => {
                self.bump();
                word.push_literal(char);
                Ok(())
            }
        }
    }

    /// `'…'`.
    pub(super) fn single_quotes(&mut self, word: &mut Word) -> Parsed<()> {
        self.bump();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let Some(length) = rest.find('\'') else { return self.fail(UNCLOSED_QUOTE) };
        word.push_quoted_text(rest.get(..length).unwrap_or_default());
        self.at += length + 1;
        Ok(())
    }

    /// `"…"`.
    pub(super) fn double_quotes(&mut self, word: &mut Word) -> Parsed<()> {
        self.bump();
        let mut is_empty = true;
        loop {
            match self.peek() {
                None => return self.fail(UNCLOSED_QUOTE),
                Some('"') => break,
                Some('\\') => self.escape_in_quotes("$`\"\\", word)?,
                Some('$') => self.dollar(Quoting::DoubleQuotes, word)?,
                Some('`') => self.backquotes(Quoting::DoubleQuotes, word)?,
                Some(char) => {
                    self.bump();
                    word.push_quoted(char);
                }
            }
            is_empty = false;
        }
        self.bump();
        if is_empty {
            word.push_empty_quotes();
        }
        Ok(())
    }

    /// A backslash within quotes, where it only escapes some characters.
    pub(super) fn escape_in_quotes(&mut self, escapable: &str, word: &mut Word) -> Parsed<()> {
        self.bump();
        match self.char_at(self.at) {
            Some(char) if escapable.contains(char) => {
                self.bump();
                word.push_quoted(char);
            }
            _ => word.push_quoted('\\'),
        }
        Ok(())
    }
}

/// Whether the word is a number or looks like `{name}`.
fn may_be_descriptor(word: &Word) -> bool {
    let number = |text: &String| text.bytes().all(|byte| byte.is_ascii_digit());
    match word.pieces.as_slice() {
        [Piece::Literal(text)] if number(text) => true,
        [Piece::Literal(first), ..] if first.starts_with('{') => true,
        _ => false,
    }
}

/// Whether the unquoted characters contain `{`, then `,` or `..`, then `}`.
fn may_expand_braces(word: &Word) -> bool {
    let literals = word.pieces.iter().filter_map(|piece| match piece {
        Piece::Literal(text) => Some(text.as_str()),
        _ => None,
    });
    let text: String = literals.collect();
    let Some((_, inside)) = text.split_once('{') else { return false };
    let Some((inside, _)) = inside.rsplit_once('}') else { return false };
    inside.contains(',') || inside.contains("..")
}
