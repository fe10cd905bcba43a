//! `${…}`: the parameter and its operation.

use super::word::Quoting;
use super::{Parsed, Parser, is_name_start};
use crate::syntax::{Operation, Parameter, Problem, Word};

const BAD_SUBSTITUTION: Problem = "a parameter expansion that is not understood";
const QUOTES: Problem = "quotes within a parameter expansion that is itself quoted";

/// The role of a word inside the braces, which decides how quotes count in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// Behind `-`, `=`, `+`, `?`.
    Value,
    /// Behind `#`, `%`, `/`, `^`, `,`: quotes count even if the whole expansion is in double quotes.
    Pattern,
    Replacement,
    /// The arithmetic expressions of `:offset:length`.
    Offset,
}

impl Parser<'_> {
    /// Behind `${`, up to and with the closing brace.
    pub(super) fn braced_parameter(&mut self, quoting: Quoting) -> Parsed<Parameter> {
        let second = self.peek_second();
        let parameter = match self.peek() {
            Some('#') if second != Some('}') => self.length_of_parameter(quoting)?,
            Some('!') if second != Some('}') => self.indirect_parameter(quoting)?,
            _ => {
                let name = self.parameter_name()?;
                let subscript = self.subscript(quoting)?;
                let operation = self.operation(&name, quoting)?;
                Parameter { name, subscript, operation }
            }
        };
        if self.eat("}") { Ok(parameter) } else { self.fail(BAD_SUBSTITUTION) }
    }

    /// `#NAME`.
    fn length_of_parameter(&mut self, quoting: Quoting) -> Parsed<Parameter> {
        self.bump();
        let name = self.parameter_name()?;
        let subscript = self.subscript(quoting)?;
        Ok(Parameter { name, subscript, operation: Operation::Length })
    }

    /// `!NAME`, `!prefix*`, with any operation.
    fn indirect_parameter(&mut self, quoting: Quoting) -> Parsed<Parameter> {
        self.require_bash();
        self.bump();
        let name = self.name();
        if name.is_empty() {
            return self.fail(BAD_SUBSTITUTION);
        }
        let subscript = self.subscript(quoting)?;
        let lists_names = (self.starts_with("*}") && self.eat("*")) || (self.starts_with("@}") && self.eat("@"));
        if !lists_names {
            self.operation(&name, quoting)?;
        }
        Ok(Parameter { name, subscript, operation: Operation::Indirect })
    }

    fn parameter_name(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(char) if is_name_start(char) => Ok(self.name()),
            Some(char) if char.is_ascii_digit() => {
                let name = self.name();
                let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
                if is_number { Ok(name) } else { self.fail(BAD_SUBSTITUTION) }
            }
            Some(char) if "@*#?-$!".contains(char) => {
                self.bump();
                Ok(char.to_string())
            }
            _ => self.fail(BAD_SUBSTITUTION),
        }
    }

    /// `[subscript]`, if there is one.
    fn subscript(&mut self, quoting: Quoting) -> Parsed<Option<Word>> {
        if !self.eat("[") {
            return Ok(None);
        }
        self.require_bash();
        let mut subscript = Word::default();
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(']') if open == 0 => break,
                None | Some('\\' | '}' | '{') => return self.fail(BAD_SUBSTITUTION),
                Some('\'' | '"') if quoting.is_quoted() => return self.fail(QUOTES),
                Some('$') => self.dollar(quoting, &mut subscript)?,
                Some('`') => self.backquotes(quoting, &mut subscript)?,
                Some(char) => {
                    open = if char == '[' { open + 1 } else { open - usize::from(char == ']') };
                    self.unquoted_piece(char, &mut subscript)?;
                }
            }
        }
        self.bump();
        if subscript.pieces.is_empty() { self.fail(BAD_SUBSTITUTION) } else { Ok(Some(subscript)) }
    }

    /// What stands behind the name, up to the closing brace.
    fn operation(&mut self, name: &str, quoting: Quoting) -> Parsed<Operation> {
        if self.peek() == Some('}') {
            return Ok(Operation::Plain);
        }
        if "#?-$!".contains(name) {
            return self.fail(BAD_SUBSTITUTION);
        }
        let or_empty = [":-", ":=", ":+", ":?"].iter().any(|token| self.starts_with(token)) && self.eat(":");
        match self.peek() {
            Some(operator @ ('-' | '=' | '+' | '?')) => {
                self.bump();
                let word = self.operand(Operand::Value, quoting)?;
                Ok(match operator {
                    '-' => Operation::Default { word, or_empty },
                    '=' => Operation::AssignDefault { word, or_empty },
                    '+' => Operation::Alternative { word, or_empty },
                    _ => Operation::Error { word, or_empty },
                })
            }
            Some('#') => {
                let longest = self.eat("##") || !self.eat("#");
                Ok(Operation::RemovePrefix { pattern: self.operand(Operand::Pattern, quoting)?, longest })
            }
            Some('%') => {
                let longest = self.eat("%%") || !self.eat("%");
                Ok(Operation::RemoveSuffix { pattern: self.operand(Operand::Pattern, quoting)?, longest })
            }
            _ => self.bash_operation(quoting),
        }
    }

    /// The operations that other shells do not have.
    fn bash_operation(&mut self, quoting: Quoting) -> Parsed<Operation> {
        self.require_bash();
        let operator = self.peek();
        self.bump();
        match operator {
            Some('/') => self.replacement(quoting),
            Some(char @ ('^' | ',')) => {
                self.eat(char.encode_utf8(&mut [0; 4]));
                Ok(Operation::Other { words: vec![self.operand(Operand::Pattern, quoting)?] })
            }
            Some(':') => Ok(Operation::Substring(self.operand(Operand::Offset, quoting)?)),
            Some('@') => match self.bump() {
                Some('P') => Ok(Operation::Indirect),
                Some('Q' | 'E' | 'A' | 'a' | 'K' | 'k' | 'U' | 'u' | 'L') => Ok(Operation::Other { words: Vec::new() }),
                _ => self.fail(BAD_SUBSTITUTION),
            },
            _ => self.fail(BAD_SUBSTITUTION),
        }
    }

    /// Behind the first slash of `/pattern/replacement`.
    fn replacement(&mut self, quoting: Quoting) -> Parsed<Operation> {
        let mut pattern = Word::default();
        // The first character belongs to the pattern or to the operator, even if it is a slash.
        while self.peek() == Some('/') && pattern.pieces.is_empty() {
            self.bump();
            pattern.push_literal('/');
        }
        self.operand_pieces(Operand::Pattern, quoting, Some('/'), &mut pattern)?;
        let mut words = vec![pattern];
        if self.eat("/") {
            words.push(self.operand(Operand::Replacement, quoting)?);
        }
        Ok(Operation::Other { words })
    }

    fn operand(&mut self, operand: Operand, quoting: Quoting) -> Parsed<Word> {
        let mut word = Word::default();
        self.operand_pieces(operand, quoting, None, &mut word)?;
        Ok(word)
    }

    /// The pieces up to the closing brace or another end, which stay.
    fn operand_pieces(&mut self, operand: Operand, quoting: Quoting, end: Option<char>, word: &mut Word) -> Parsed<()> {
        loop {
            let Some(char) = self.peek() else { return self.fail("a parameter expansion without an end") };
            if char == '}' || Some(char) == end {
                return Ok(());
            }
            // Looking for the closing brace, bash takes the dollar sign of `\$'` for the beginning of `$'…'`.
            let escapes_expansion =
                ["\\$'", "\\$\"", "\\$(", "\\${", "\\$["].iter().any(|token| self.starts_with(token));
            if escapes_expansion || self.is_at_process_substitution() {
                return self.fail(BAD_SUBSTITUTION);
            }
            let pattern_in_quotes = operand == Operand::Pattern && quoting == Quoting::DoubleQuotes;
            if pattern_in_quotes && char == '`' {
                return self.fail(QUOTES);
            }
            if pattern_in_quotes && char == '"' {
                self.inner_double_quotes(word)?;
            } else if pattern_in_quotes || (quoting == Quoting::Unquoted && operand != Operand::Offset) {
                self.unquoted_piece(char, word)?;
            } else {
                self.quoted_operand_piece(char, operand, quoting, word)?;
            }
        }
    }

    /// A piece of an operand whose expansion is quoted.
    fn quoted_operand_piece(&mut self, char: char, operand: Operand, quoting: Quoting, word: &mut Word) -> Parsed<()> {
        let is_value_in_quotes = operand == Operand::Value && quoting == Quoting::DoubleQuotes;
        let inner = match operand {
            Operand::Pattern => Quoting::Unquoted,
            Operand::Offset => Quoting::Arithmetic,
            Operand::Value | Operand::Replacement => quoting,
        };
        match char {
            '\'' | '"' | '\\' if is_value_in_quotes => self.quotes_in_quoted_value(char, word),
            '\'' | '"' | '\\' => self.fail(QUOTES),
            '$' if matches!(self.peek_second(), Some('\'' | '"')) => self.fail(QUOTES),
            '$' => self.dollar(inner, word),
            '`' if operand != Operand::Value => self.fail(QUOTES),
            '`' => self.backquotes(quoting, word),
            char => {
                self.bump();
                match operand {
                    Operand::Pattern | Operand::Offset => word.push_literal(char),
                    Operand::Value | Operand::Replacement => word.push_quoted(char),
                }
                Ok(())
            }
        }
    }

    /// Quotes in `"${NAME-value}"`. bash looks for the end of single ones, and then reads them as text.
    fn quotes_in_quoted_value(&mut self, char: char, word: &mut Word) -> Parsed<()> {
        self.require_bash();
        match char {
            // bash drops these quotes and joins what stands around them: `"${a-"$b"c}"` is `"${a-$bc}"`.
            '"' => {
                let is_first = word.pieces.is_empty();
                self.inner_double_quotes(word)?;
                if is_first && self.peek() == Some('}') { Ok(()) } else { self.fail(QUOTES) }
            }
            '\\' => self.escape_in_quotes("$`\"\\}", word),
            _ => self.fail(QUOTES),
        }
    }

    /// Double quotes inside `"${…}"`, where bash reads backslashes in another way.
    fn inner_double_quotes(&mut self, word: &mut Word) -> Parsed<()> {
        let start = self.at;
        self.double_quotes(word)?;
        let has_backslash = self.text.get(start..self.at).is_some_and(|source| source.contains('\\'));
        if has_backslash { self.fail(QUOTES) } else { Ok(()) }
    }
}
