//! Simple commands, and the head of `name() …` which begins like one.

use super::{MISSING_COMMAND, Parsed, Parser, Stop, UNEXPECTED, is_metacharacter, is_name};
use crate::syntax::{Assignment, Command, CommandKind, Dialect, Piece, Pipeline, Redirection, Word};

#[derive(Default)]
struct SimpleParts {
    assignments: Vec<Assignment>,
    words: Vec<Word>,
    redirections: Vec<Redirection>,
}

impl SimpleParts {
    fn is_empty(&self) -> bool {
        self.assignments.is_empty() && self.words.is_empty() && self.redirections.is_empty()
    }

    /// The name, where the parts are one word that may name a function.
    fn function_name(&self) -> Option<&str> {
        let [word] = self.words.as_slice() else { return None };
        let [Piece::Literal(name)] = word.pieces.as_slice() else { return None };
        let alone = self.assignments.is_empty() && self.redirections.is_empty();
        (alone && is_function_name(name)).then_some(name)
    }

    fn into_command(self) -> Command {
        let kind = CommandKind::Simple { assignments: self.assignments, words: self.words };
        Command { kind, redirections: self.redirections }
    }
}

/// Whether every shell option lets bash define a function of this name.
pub(super) fn is_function_name(name: &str) -> bool {
    let allowed = |char: char| char.is_ascii_alphanumeric() || "_-.:/,%".contains(char);
    name.chars().all(allowed) && !name.chars().all(|char| char.is_ascii_digit())
}

impl Parser<'_> {
    pub(super) fn simple(&mut self) -> Parsed<Command> {
        let mut parts = SimpleParts::default();
        match self.simple_parts(&mut parts) {
            Ok(Some(function)) => Ok(function),
            Ok(None) if parts.is_empty() => self.fail(MISSING_COMMAND),
            Ok(None) => Ok(parts.into_command()),
            Err(Stop) => {
                if !parts.is_empty() {
                    self.salvage(Pipeline { negated: false, commands: vec![parts.into_command()] });
                }
                Err(Stop)
            }
        }
    }

    /// Collects the parts up to the command's end; a function, if they are the head of one.
    fn simple_parts(&mut self, parts: &mut SimpleParts) -> Parsed<Option<Command>> {
        loop {
            let end = self.at;
            self.skip_blanks();
            if let Some(redirection) = self.redirection()? {
                parts.redirections.push(redirection);
                continue;
            }
            match self.peek() {
                Some('(') if !parts.is_empty() => return self.function_with_parentheses(parts).map(Some),
                Some(char) if !is_metacharacter(char) || self.is_at_process_substitution() => {
                    self.word_or_assignment(parts)?;
                }
                _ => {
                    self.at = end;
                    return Ok(None);
                }
            }
        }
    }

    fn word_or_assignment(&mut self, parts: &mut SimpleParts) -> Parsed<()> {
        if parts.words.is_empty()
            && let Some(assignment) = self.assignment(parts.redirections.is_empty())?
        {
            parts.assignments.push(assignment);
            return Ok(());
        }
        let word = self.word()?;
        parts.words.push(word);
        Ok(())
    }

    /// At the parenthesis behind a word: `name() …`.
    fn function_with_parentheses(&mut self, parts: &SimpleParts) -> Parsed<Command> {
        let Some(name) = parts.function_name().map(str::to_owned) else { return self.fail(UNEXPECTED) };
        self.expect("(")?;
        self.skip_blanks();
        self.expect(")")?;
        self.function_body(name)
    }

    /// The compound command behind a function's head.
    pub(super) fn function_body(&mut self, name: String) -> Parsed<Command> {
        if self.dialect == Dialect::Posix && !is_name(&name) {
            self.require_bash();
        }
        self.skip_lines()?;
        let body = self.nested(Parser::compound)?;
        match body {
            Some(Command { kind: CommandKind::Function { .. }, .. }) | None => self.fail(UNEXPECTED),
            Some(body) => {
                let kind = CommandKind::Function { name, body: body.into() };
                Ok(Command { kind, redirections: Vec::new() })
            }
        }
    }
}
