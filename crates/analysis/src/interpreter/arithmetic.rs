//! Arithmetic: what it sets, and whether what it evaluates is a number. A variable that holds a text is evaluated in turn,
//! and a subscript in that text runs commands, so only numbers are taken.

use super::Interpreter;
use crate::state::State;
use crate::syntax::{Piece, Word};
use crate::value::{Text, Value, is_integer};

const NOT_A_NUMBER: &str = "arithmetic on a text that is only known when it runs may run commands";

impl Interpreter<'_> {
    /// Evaluates an expression, as far as it sets variables or could run something.
    pub(super) fn arithmetic(&mut self, expression: &Word, state: &mut State) {
        let mut text = String::new();
        for piece in &expression.pieces {
            match piece {
                Piece::Literal(plain) | Piece::Quoted(plain) => text.push_str(plain),
                other => {
                    let value = self.expression_value(other, state);
                    match value.text {
                        Text::Number => text.push('1'),
                        Text::Known(known) => text.push_str(&known),
                        Text::ShellSetup | Text::Unknown => return self.unsure_all(NOT_A_NUMBER),
                    }
                }
            }
        }
        self.evaluate(&text, state);
    }

    fn expression_value(&mut self, piece: &Piece, state: &mut State) -> Value {
        let word = Word { pieces: vec![piece.clone()] };
        self.joined(&word, state)
    }

    fn evaluate(&mut self, text: &str, state: &mut State) {
        if text.contains(['[', '$', '`', '\'', '"', '\\', '@']) {
            return self.unsure_all("arithmetic with a subscript may run commands");
        }
        if !self.pay(16 * text.len()) {
            return;
        }
        let before = state.clone();
        let mut rest = text;
        while let Some(start) = rest.find(|char: char| char.is_ascii_alphanumeric() || char == '_') {
            let before = &rest[..start];
            let tail = &rest[start..];
            let length = tail
                .find(|char: char| !(char.is_ascii_alphanumeric() || matches!(char, '_' | '#')))
                .unwrap_or(tail.len());
            let (token, after) = tail.split_at(length);
            if is_name(token) {
                self.evaluate_name(token, before, after, state);
            }
            rest = after;
        }
        // `0 && (x = 1)` and `1 / 0, x = 1` set nothing.
        if !is_definite(text) {
            *state = state.clone().join(&before);
        }
    }

    fn evaluate_name(&mut self, name: &str, before: &str, after: &str, state: &mut State) {
        let next = after.trim_start();
        let is_assignment = next.starts_with('=') && !next.starts_with("==");
        let changes = before.trim_end().ends_with("++")
            || before.trim_end().ends_with("--")
            || next.starts_with("++")
            || next.starts_with("--")
            || ["+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="].iter().any(|sign| next.starts_with(sign));
        if !is_assignment {
            let value = self.variable(name, state);
            let harmless = match &value.text {
                Text::Number => true,
                Text::Known(text) => text.trim().is_empty() || is_integer(text.trim().trim_start_matches(['-', '+'])),
                Text::ShellSetup | Text::Unknown => false,
            };
            if !harmless {
                self.unsure_all(NOT_A_NUMBER);
            }
        }
        if is_assignment || changes {
            self.assign(name, Value::NUMBER, state);
        }
    }
}

/// Whether all of an expression is surely evaluated: sums and products of names and numbers, and what is set to them.
pub(crate) fn is_definite(text: &str) -> bool {
    let is_operand = |operand: &str| {
        let operand = operand.trim();
        is_name(operand) || (is_integer(operand) && (operand == "0" || !operand.starts_with('0')))
    };
    let is_sum = |sum: &str| sum.split(['+', '-', '*']).all(is_operand);
    let is_part = |part: &str| {
        let part = part.trim();
        let counted = ["++", "--"].iter().find_map(|sign| part.strip_prefix(sign).or_else(|| part.strip_suffix(sign)));
        match (counted, part.split_once('=')) {
            (Some(name), _) => is_name(name.trim()),
            (None, Some((name, sum))) => is_name(name.trim_end_matches(['+', '-', '*']).trim()) && is_sum(sum),
            (None, None) => is_sum(part),
        }
    };
    text.split(',').all(is_part)
}

/// Whether a text is the name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|char: char| char.is_ascii_digit())
        && text.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}
