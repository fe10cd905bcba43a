//! Assignments before a command: scalars, array elements and arrays.

use super::{Parsed, Parser, UNEXPECTED, is_metacharacter, is_name_char, is_name_start};
use crate::syntax::{AssignedValue, Assignment, Piece, Word};

const SUBSCRIPT: &str = "an array subscript that is not understood";

impl Parser<'_> {
    /// An assignment, if one stands here. Arrays are only certain where no redirection stands before them.
    pub(super) fn assignment(&mut self, arrays_are_certain: bool) -> Parsed<Option<Assignment>> {
        let Some((name, end)) = self.name_ahead() else { return Ok(None) };
        let after = self.char_at(end);
        let appends = after == Some('+') && self.char_at(self.skip_continuations(end + 1)) == Some('=');
        if !appends && !matches!(after, Some('=' | '[')) {
            return Ok(None);
        }
        let start = self.at;
        self.at = end;
        let subscript = if self.eat("[") { Some(self.assigned_subscript()?) } else { None };
        let append = self.eat("+");
        self.expect("=")?;
        let is_array = self.peek() == Some('(');
        if append || subscript.is_some() || is_array {
            self.require_bash();
        }
        if (is_array || subscript.is_some()) && !arrays_are_certain || is_array && subscript.is_some() {
            return self.fail(UNEXPECTED);
        }
        let value = if is_array { self.array()? } else { AssignedValue::Scalar(self.assigned_word()?) };
        self.check_pending_documents(start);
        Ok(Some(Assignment { name, subscript, append, value }))
    }

    /// The name that stands here and the offset behind it and behind line continuations.
    fn name_ahead(&mut self) -> Option<(String, usize)> {
        let mut name = String::new();
        self.peek().filter(|char| is_name_start(*char))?;
        let mut at = self.at;
        while let Some(char) = self.char_at(at).filter(|char| is_name_char(*char)) {
            name.push(char);
            at = self.skip_continuations(at + 1);
        }
        Some((name, at))
    }

    /// The rest of `name[subscript]`; what bash may read as several words is a problem.
    fn assigned_subscript(&mut self) -> Parsed<Word> {
        let mut subscript = Word::default();
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(']') if open == 0 => break,
                None | Some('\\') => return self.fail(SUBSCRIPT),
                Some(char) if is_metacharacter(char) => return self.fail(SUBSCRIPT),
                Some(char) => {
                    open = if char == '[' { open + 1 } else { open - usize::from(char == ']') };
                    self.unquoted_piece(char, &mut subscript)?;
                }
            }
        }
        self.bump();
        if subscript.pieces.is_empty() || !matches!(self.peek(), Some('=' | '+')) {
            return self.fail(SUBSCRIPT);
        }
        Ok(subscript)
    }

    /// The value behind `=`, which may be empty.
    fn assigned_word(&mut self) -> Parsed<Word> {
        let mut value = Word::default();
        self.word_pieces(&mut value)?;
        Ok(value)
    }

    /// `( word … )`.
    fn array(&mut self) -> Parsed<AssignedValue> {
        self.bump();
        let mut elements = Vec::new();
        loop {
            self.skip_lines()?;
            match self.peek() {
                Some(')') => break,
                Some(char) if is_metacharacter(char) && !self.is_at_process_substitution() => {
                    return self.fail(UNEXPECTED);
                }
                _ => elements.push(self.array_element()?),
            }
        }
        self.bump();
        match self.peek() {
            Some(char) if !is_metacharacter(char) || self.is_at_process_substitution() => self.fail(UNEXPECTED),
            Some('(') => self.fail(UNEXPECTED),
            _ => Ok(AssignedValue::Array(elements)),
        }
    }

    fn array_element(&mut self) -> Parsed<Word> {
        let element = self.word()?;
        let mut brackets = 0_isize;
        let has_key = matches!(element.pieces.first(), Some(Piece::Literal(text)) if text.starts_with('['));
        for piece in &element.pieces {
            if let Piece::Literal(text) = piece {
                brackets += text.matches('[').count() as isize - text.matches(']').count() as isize;
            }
        }
        // In an array, a key may contain blanks: `[a b]=c` is one element.
        if has_key && brackets > 0 { self.fail(SUBSCRIPT) } else { Ok(element) }
    }
}
