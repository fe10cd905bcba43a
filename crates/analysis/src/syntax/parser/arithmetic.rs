//! Arithmetic, and how it is told from a subshell within parentheses.
//!
//! bash decides by the parentheses alone: if the two that open are closed by two that stand together, it is arithmetic.

use super::word::Quoting;
use super::{Parsed, Parser, UNCLOSED, UNEXPECTED};
use crate::syntax::{CommandKind, Dialect, Piece, Problem, Word};

const UNCERTAIN: Problem = "an arithmetic expression that is not understood";
const AMBIGUOUS: Problem = "two parentheses that may be arithmetic or a subshell";

/// What stands between `((` and `))`.
struct Expressions {
    /// The parts between semicolons.
    parts: Vec<Word>,
    /// Whether quotes or substitutions in it may be read in another way.
    uncertain: bool,
}

impl Parser<'_> {
    /// At `((`, where a command may begin.
    pub(super) fn double_parenthesis_command(&mut self) -> Parsed<CommandKind> {
        let checkpoint = self.checkpoint();
        let start = self.at;
        self.eat("((");
        if let Some(expressions) = self.nested(|parser| parser.expressions(Quoting::Unquoted, false))? {
            self.require_bash();
            let expression = self.single_expression(expressions);
            return Ok(CommandKind::Arithmetic(expression));
        }
        self.restore(checkpoint)?;
        self.require_bash();
        let subshell = self.subshell()?;
        if self.text.get(start..self.at).is_some_and(|source| source.contains("<<")) {
            self.add_problem(AMBIGUOUS);
        }
        Ok(subshell)
    }

    /// At the parentheses of `$((`.
    pub(super) fn double_parenthesis_expansion(&mut self, quoting: Quoting, word: &mut Word) -> Parsed<()> {
        let checkpoint = self.checkpoint();
        let start = self.at;
        self.eat("((");
        if let Some(expressions) = self.nested(|parser| parser.expressions(quoting, false))? {
            let expression = Box::new(self.single_expression(expressions));
            word.pieces.push(Piece::Arithmetic { expression, quoted: quoting.is_quoted() });
            return Ok(());
        }
        self.restore(checkpoint)?;
        self.require_bash();
        self.command_substitution(quoting, word)?;
        // Here bash looks for the closing parenthesis without parsing the commands.
        if self.is_hard_to_delimit(start) {
            self.add_problem(AMBIGUOUS);
        }
        Ok(())
    }

    /// `((a; b; c))` behind `for`.
    pub(super) fn loop_expressions(&mut self) -> Parsed<[Word; 3]> {
        self.eat("((");
        let Some(expressions) = self.nested(|parser| parser.expressions(Quoting::Unquoted, true))? else {
            return self.fail(UNEXPECTED);
        };
        if expressions.uncertain {
            self.add_problem(UNCERTAIN);
        }
        match <[Word; 3]>::try_from(expressions.parts) {
            Ok(parts) => Ok(parts),
            Err(_) => self.fail(UNEXPECTED),
        }
    }

    fn single_expression(&mut self, expressions: Expressions) -> Word {
        if expressions.uncertain {
            self.add_problem(UNCERTAIN);
        }
        expressions.parts.into_iter().next().unwrap_or_default()
    }

    /// Whether the source since an offset has what a search for the closing parenthesis may mistake.
    fn is_hard_to_delimit(&self, start: usize) -> bool {
        let source = self.text.get(start..self.at).unwrap_or_default();
        source.contains('#') || source.contains("<<") || source.contains("esac") || source.contains("\\\n")
    }

    /// Behind `((`, up to and with `))`; `None` if the parentheses do not close together.
    fn expressions(&mut self, outer: Quoting, split: bool) -> Parsed<Option<Expressions>> {
        let mut parts = Vec::new();
        let mut part = Word::default();
        let mut uncertain = false;
        let mut open = 0_usize;
        loop {
            let Some(char) = self.peek() else { return self.fail(UNCLOSED) };
            match char {
                ')' if open == 0 => break,
                ';' if split => {
                    self.bump();
                    parts.push(std::mem::take(&mut part));
                    continue;
                }
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            uncertain |= self.is_at_process_substitution();
            uncertain |= self.expression_piece(char, outer, &mut part)?;
        }
        self.bump();
        if self.char_at(self.at) != Some(')') {
            return Ok(None);
        }
        self.bump();
        parts.push(part);
        Ok(Some(Expressions { parts, uncertain }))
    }

    /// One piece; whether it may be read in another way.
    fn expression_piece(&mut self, char: char, outer: Quoting, part: &mut Word) -> Parsed<bool> {
        match char {
            '\'' | '\\' => self.unquoted_piece(char, part).map(|()| true),
            '"' => self.double_quotes(part).map(|()| outer.is_quoted() || self.dialect == Dialect::Posix),
            '$' if matches!(self.peek_second(), Some('\'' | '"')) => self.unquoted_piece(char, part).map(|()| true),
            '$' | '`' => {
                let start = self.at;
                let substitutes = char == '`' || self.peek_second() == Some('(');
                if char == '$' {
                    self.dollar(Quoting::Arithmetic, part)?;
                } else {
                    self.backquotes(Quoting::Arithmetic, part)?;
                }
                Ok(substitutes && self.is_hard_to_delimit(start))
            }
            char => {
                self.bump();
                part.push_literal(char);
                Ok(false)
            }
        }
    }
}
