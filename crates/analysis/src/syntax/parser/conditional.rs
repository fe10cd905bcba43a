//! `[[ … ]]`.

use super::{Parsed, Parser, UNCLOSED, is_metacharacter};
use crate::syntax::{CommandKind, Piece, Problem, Word};

const CONDITION: Problem = "a condition in [[ ]] that is not understood";
const UNARY_OPERATORS: &str = "abcdefghknoprstuvwxzGLNORS";
const BINARY_OPERATORS: [&str; 13] =
    ["=", "==", "!=", "=~", "-nt", "-ot", "-ef", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// How the right side of an operator is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RightSide {
    Word,
    /// Parentheses of extended patterns belong to the word.
    Pattern,
    /// Parentheses and bars belong to the word.
    Regex,
}

impl Parser<'_> {
    pub(super) fn test(&mut self) -> Parsed<CommandKind> {
        self.require_bash();
        self.expect_word("[[")?;
        let mut words = Vec::new();
        self.condition(&mut words)?;
        if !self.eat_word("]]") {
            let problem = if self.peek().is_none() { UNCLOSED } else { CONDITION };
            return self.fail(problem);
        }
        Ok(CommandKind::Test(words))
    }

    /// Terms that are joined by `&&` and `||`.
    fn condition(&mut self, words: &mut Vec<Word>) -> Parsed<()> {
        loop {
            self.term(words)?;
            self.skip_lines_in_condition()?;
            let Some(operator) = ["&&", "||"].into_iter().find(|token| self.eat(token)) else { return Ok(()) };
            words.push(literal(operator));
        }
    }

    /// Blanks and line ends. bash's rules for comments and here-documents in conditions are not followed.
    fn skip_lines_in_condition(&mut self) -> Parsed<()> {
        while let Some(char @ (' ' | '\t' | '\n' | '#')) = self.peek() {
            if char == '#' || (char == '\n' && !self.pending.is_empty()) {
                return self.fail(CONDITION);
            }
            self.bump();
        }
        Ok(())
    }

    fn skip_blanks_in_condition(&mut self) -> Parsed<()> {
        self.skip_blanks();
        if self.peek() == Some('\n') { self.fail(CONDITION) } else { Ok(()) }
    }

    fn term(&mut self, words: &mut Vec<Word>) -> Parsed<()> {
        loop {
            self.skip_lines_in_condition()?;
            if !self.is_at_word("!") || self.peek_second() == Some('(') {
                break;
            }
            self.expect_word("!")?;
            words.push(literal("!"));
        }
        if self.eat("(") {
            words.push(literal("("));
            self.nested(|parser| parser.condition(words))?;
            self.expect(")")?;
            words.push(literal(")"));
            return Ok(());
        }
        let first = self.condition_word()?;
        let is_unary = literal_text(&first).is_some_and(is_unary_operator);
        words.push(first);
        if is_unary {
            self.skip_blanks_in_condition()?;
            let operand = self.condition_word()?;
            words.push(operand);
            return Ok(());
        }
        self.binary_operator(words)
    }

    /// The operator and the right side, if the term goes on behind its first word.
    fn binary_operator(&mut self, words: &mut Vec<Word>) -> Parsed<()> {
        self.skip_blanks();
        let ends = self.starts_with("&&") || self.starts_with("||") || matches!(self.peek(), Some(')' | '\n'));
        if ends || self.is_at_word("]]") {
            return Ok(());
        }
        let compares = matches!(self.peek(), Some('<' | '>'));
        let operator = if compares { self.comparison()? } else { self.condition_word()? };
        let side = match literal_text(&operator) {
            Some("<" | ">") if compares => RightSide::Word,
            Some("=" | "==" | "!=") => RightSide::Pattern,
            Some("=~") => RightSide::Regex,
            Some(text) if BINARY_OPERATORS.contains(&text) => RightSide::Word,
            _ => return self.fail(CONDITION),
        };
        words.push(operator);
        self.skip_blanks_in_condition()?;
        let right = match side {
            RightSide::Word => self.condition_word()?,
            RightSide::Pattern | RightSide::Regex => self.right_side(side)?,
        };
        words.push(right);
        Ok(())
    }

    /// `<` or `>`.
    fn comparison(&mut self) -> Parsed<Word> {
        if matches!(self.peek_second(), Some('<' | '>' | '&' | '|' | '(')) {
            return self.fail(CONDITION);
        }
        let operator = if self.eat("<") { "<" } else { ">" };
        Ok(literal(operator))
    }

    /// A word that is neither `]]` nor an operator.
    fn condition_word(&mut self) -> Parsed<Word> {
        let is_word = self.peek().is_some_and(|char| !is_metacharacter(char)) || self.is_at_process_substitution();
        if !is_word || self.is_at_word("]]") {
            return self.fail(CONDITION);
        }
        self.word()
    }

    /// A pattern or a regular expression.
    fn right_side(&mut self, side: RightSide) -> Parsed<Word> {
        let mut word = Word::default();
        if self.is_at_word("]]") || self.peek() == Some('#') {
            return self.fail(CONDITION);
        }
        while let Some(char) = self.peek() {
            let opens = match side {
                RightSide::Regex => char == '(',
                _ => "?*+@!".contains(char) && self.peek_second() == Some('('),
            };
            if opens {
                self.parenthesised(&mut word)?;
            } else if char == '|' && side == RightSide::Regex && !self.starts_with("||") {
                self.bump();
                word.push_literal('|');
            } else if self.is_at_process_substitution() {
                return self.fail(CONDITION);
            } else if is_metacharacter(char) {
                break;
            } else {
                self.unquoted_piece(char, &mut word)?;
            }
        }
        let separated = matches!(self.peek(), Some(' ' | '\t' | '\n' | ')'));
        if word.pieces.is_empty() || !separated { self.fail(CONDITION) } else { Ok(word) }
    }

    /// The characters up to the parenthesis that closes the next one, blanks included.
    fn parenthesised(&mut self, word: &mut Word) -> Parsed<()> {
        let mut open = 0_usize;
        loop {
            match self.peek() {
                None | Some('\n') => return self.fail(CONDITION),
                Some(char) => {
                    open = if char == '(' { open + 1 } else { open };
                    let closes = char == ')';
                    // `<(` stays text here, and `$` begins an expansion.
                    self.unquoted_piece(char, word)?;
                    if closes {
                        open = open.saturating_sub(1);
                        if open == 0 {
                            return Ok(());
                        }
                    }
                }
            }
        }
    }
}

fn literal(text: &str) -> Word {
    Word { pieces: vec![Piece::Literal(text.to_owned())] }
}

fn literal_text(word: &Word) -> Option<&str> {
    match word.pieces.as_slice() {
        [Piece::Literal(text)] => Some(text),
        _ => None,
    }
}

fn is_unary_operator(text: &str) -> bool {
    let mut chars = text.chars();
    let (dash, letter) = (chars.next(), chars.next());
    dash == Some('-') && letter.is_some_and(|letter| UNARY_OPERATORS.contains(letter)) && chars.next().is_none()
}
