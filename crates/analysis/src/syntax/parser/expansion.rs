//! Expansions that begin with `$`, `` ` ``, `<(` or `>(`.

use std::rc::Rc;

use super::word::Quoting;
use super::{Parsed, Parser, UNCLOSED, distinct, is_name_char, is_name_start};
use crate::syntax::{Operation, Parameter, Piece, Script, Word};

impl Parser<'_> {
    /// At `$`: an expansion, `$'…'`, or a dollar sign that means itself.
    pub(super) fn dollar(&mut self, quoting: Quoting, word: &mut Word) -> Parsed<()> {
        self.bump();
        let unquoted = quoting == Quoting::Unquoted;
        match self.peek() {
            Some('(') if self.peek_second() == Some('(') => self.double_parenthesis_expansion(quoting, word),
            Some('(') => self.command_substitution(quoting, word),
            Some('{') => {
                self.bump();
                let parameter = Box::new(self.nested(|parser| parser.braced_parameter(quoting))?);
                word.pieces.push(Piece::Parameter { parameter, quoted: quoting.is_quoted() });
                Ok(())
            }
            Some('[') => self.fail("the outdated arithmetic expansion $[…]"),
            Some('\'') if unquoted => self.ansi_c_quotes(word),
            // In the untranslated program, `$"…"` is `"…"`.
            Some('"') if unquoted => {
                self.require_bash();
                self.double_quotes(word)
            }
            Some(char) if is_name_start(char) => {
                let name = self.name();
                word.pieces.push(plain_parameter(name, quoting));
                Ok(())
            }
            Some(char) if char.is_ascii_digit() || "@*#?-$!".contains(char) => {
                self.bump();
                word.pieces.push(plain_parameter(char.to_string(), quoting));
                Ok(())
            }
            _ if unquoted || quoting == Quoting::Arithmetic => {
                word.push_literal('$');
                Ok(())
            }
            _ => {
                word.push_quoted('$');
                Ok(())
            }
        }
    }

    /// Consumes the characters of a name; there may be none.
    pub(super) fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(char) = self.peek().filter(|char| is_name_char(*char)) {
            self.bump();
            name.push(char);
        }
        name
    }

    /// At the parenthesis of `$(…)`.
    pub(super) fn command_substitution(&mut self, quoting: Quoting, word: &mut Word) -> Parsed<()> {
        let script = self.substitution()?;
        word.pieces.push(Piece::CommandSubstitution { script, quoted: quoting.is_quoted() });
        Ok(())
    }

    /// `<(…)`, `>(…)`.
    pub(super) fn process_substitution(&mut self, word: &mut Word) -> Parsed<()> {
        self.require_bash();
        let writes = self.peek() == Some('>');
        self.bump();
        self.peek();
        let script = self.substitution()?;
        word.pieces.push(Piece::ProcessSubstitution { script, writes });
        Ok(())
    }

    /// `(…)`: the script up to the closing parenthesis.
    fn substitution(&mut self) -> Parsed<Rc<Script>> {
        self.bump();
        let outer_documents = std::mem::take(&mut self.pending);
        let first_problem = self.problems.len();
        let start = self.at;
        self.substitutions += 1;
        let mut list = self.nested(Parser::list)?;
        self.substitutions -= 1;
        list = self.close_list(list, |parser| if parser.eat(")") { Ok(()) } else { parser.fail(UNCLOSED) })?;
        if !self.pending.is_empty() {
            return self.fail(super::here_document::UNFINISHED);
        }
        self.pending = outer_documents;
        self.check_pending_documents(start);
        self.fill_here_documents(&mut list);
        let problems = distinct(self.problems.get(first_problem..).unwrap_or_default());
        Ok(Rc::new(Script { list, problems }))
    }

    /// `` `…` ``: its text is unescaped, then parsed.
    pub(super) fn backquotes(&mut self, quoting: Quoting, word: &mut Word) -> Parsed<()> {
        self.bump();
        let text = self.backquoted_text(quoting)?;
        let script = Parser::new(&text, self.dialect, self.budget, self.depth + 1).into_script();
        self.problems.extend(&script.problems);
        word.pieces.push(Piece::CommandSubstitution { script: Rc::new(script), quoted: quoting.is_quoted() });
        Ok(())
    }

    fn backquoted_text(&mut self, quoting: Quoting) -> Parsed<String> {
        let mut text = String::new();
        loop {
            let next = self.peek();
            self.bump();
            match next {
                None => return self.fail("backquotes without an end"),
                Some('`') => return Ok(text),
                Some('\\') => match self.bump() {
                    Some(char @ ('`' | '\\' | '$')) => text.push(char),
                    Some('"') if quoting == Quoting::DoubleQuotes => text.push('"'),
                    Some('"') if quoting.is_quoted() => return self.fail("an escaped quote within backquotes"),
                    Some(char) => text.extend(['\\', char]),
                    None => return self.fail("backquotes without an end"),
                },
                Some(char) => text.push(char),
            }
        }
    }
}

fn plain_parameter(name: String, quoting: Quoting) -> Piece {
    let parameter = Parameter { name, subscript: None, operation: Operation::Plain };
    Piece::Parameter { parameter: Box::new(parameter), quoted: quoting.is_quoted() }
}
