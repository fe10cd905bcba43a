//! Lists, statements and pipelines.

use super::{EXTENDED_GLOB, MISSING_COMMAND, Parsed, Parser, Stop, UNEXPECTED};
use crate::syntax::{
    Command, Connector, Descriptor, Dialect, List, Piece, Pipeline, Redirection, RedirectionOperator, Statement, Word,
};

/// The reserved words that end a list.
const CLOSING_WORDS: [&str; 8] = ["then", "elif", "else", "fi", "do", "done", "esac", "}"];

impl Parser<'_> {
    /// Statements up to a closing word, `)`, `;;` or the end of the text. The caller checks what ended them.
    pub(super) fn list(&mut self) -> Parsed<List> {
        let mut list = Vec::new();
        match self.statements(&mut list) {
            Ok(()) => Ok(list),
            Err(Stop) => {
                self.salvage_lists(vec![list]);
                Err(Stop)
            }
        }
    }

    /// Keeps lists that stand before a syntax error, in front of what is already kept.
    pub(super) fn salvage_lists(&mut self, lists: Vec<List>) {
        let mut kept: List = lists.into_iter().flatten().collect();
        kept.append(&mut self.salvaged);
        self.salvaged = kept;
    }

    /// Consumes what closes a list, or keeps the list if that is missing.
    pub(super) fn close_list(&mut self, list: List, close: impl FnOnce(&mut Self) -> Parsed<()>) -> Parsed<List> {
        match close(self) {
            Ok(()) => Ok(list),
            Err(Stop) => {
                self.salvage_lists(vec![list]);
                Err(Stop)
            }
        }
    }

    /// A list with at least one statement.
    pub(super) fn body(&mut self) -> Parsed<List> {
        let list = self.list()?;
        if list.is_empty() { self.fail(MISSING_COMMAND) } else { Ok(list) }
    }

    fn statements(&mut self, list: &mut List) -> Parsed<()> {
        loop {
            self.skip_lines()?;
            if matches!(self.peek(), None | Some(')' | ';')) || self.is_at_closing_word() {
                return Ok(());
            }
            let mut statement = self.statement()?;
            let end = self.at;
            self.skip_blanks();
            statement.background = self.eat("&");
            let separated = statement.background || self.eat_semicolon() || self.peek() == Some('\n');
            list.push(statement);
            if separated {
                continue;
            }
            let closes = matches!(self.peek(), None | Some(')' | ';'));
            // A reserved word may follow a compound command without a separator, as in `{ (a) }`.
            if closes || (self.closed_at == Some(end) && self.is_at_closing_word()) {
                return Ok(());
            }
            return self.fail(UNEXPECTED);
        }
    }

    fn is_at_closing_word(&mut self) -> bool {
        self.short_word().is_some_and(|(word, _)| CLOSING_WORDS.contains(&word.as_str()))
    }

    /// Consumes `;`, but not the `;;`, `;&` or `;;&` of a case.
    fn eat_semicolon(&mut self) -> bool {
        !self.starts_with(";;") && !self.starts_with(";&") && self.eat(";")
    }

    /// `a && b || c`.
    fn statement(&mut self) -> Parsed<Statement> {
        let first = self.pipeline()?;
        let mut statement = Statement { first, rest: Vec::new(), background: false };
        match self.connected_pipelines(&mut statement.rest) {
            Ok(()) => Ok(statement),
            Err(Stop) => {
                self.salvaged.insert(0, statement);
                Err(Stop)
            }
        }
    }

    fn connected_pipelines(&mut self, rest: &mut Vec<(Connector, Pipeline)>) -> Parsed<()> {
        loop {
            let end = self.at;
            self.skip_blanks();
            let connector = if self.eat("&&") {
                Connector::And
            } else if self.eat("||") {
                Connector::Or
            } else {
                self.at = end;
                return Ok(());
            };
            self.skip_lines()?;
            rest.push((connector, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Parsed<Pipeline> {
        let negated = self.pipeline_prefix()?;
        let mut pipeline = Pipeline { negated, commands: vec![self.command()?] };
        match self.piped_commands(&mut pipeline.commands) {
            Ok(()) => Ok(pipeline),
            Err(Stop) => {
                self.salvage(pipeline);
                Err(Stop)
            }
        }
    }

    /// `!` and `time`; whether the pipeline is negated.
    fn pipeline_prefix(&mut self) -> Parsed<bool> {
        let mut negations = 0_usize;
        loop {
            self.skip_blanks();
            if self.eat_word("!") {
                negations += 1;
                if self.peek() == Some('(') {
                    return self.fail(EXTENDED_GLOB);
                }
                if negations > 1 {
                    self.require_bash();
                }
            } else if self.eat_word("time") {
                self.time_options()?;
            } else {
                return Ok(negations % 2 == 1);
            }
        }
    }

    fn time_options(&mut self) -> Parsed<()> {
        self.require_bash();
        self.skip_blanks();
        if self.eat_word("-p") {
            self.skip_blanks();
        }
        if self.peek() == Some('-') { self.fail("an option of time that is not -p") } else { Ok(()) }
    }

    fn piped_commands(&mut self, commands: &mut Vec<Command>) -> Parsed<()> {
        loop {
            let end = self.at;
            self.skip_blanks();
            let both = !self.starts_with("||") && self.eat("|&");
            if !both && (self.starts_with("||") || !self.eat("|")) {
                self.at = end;
                return Ok(());
            }
            if let Some(before) = commands.last_mut().filter(|_| both) {
                before.redirections.push(errors_to_output());
                self.require_bash();
            }
            self.skip_lines()?;
            if self.is_at_word("!") || (both && self.is_at_word("time")) {
                return self.fail(UNEXPECTED);
            }
            // Here `time` is the program, not the reserved word.
            if self.is_at_word("time") && self.dialect == Dialect::Posix {
                self.require_bash();
            }
            commands.push(self.command()?);
        }
    }

    fn command(&mut self) -> Parsed<Command> {
        self.skip_blanks();
        match self.nested(Parser::compound)? {
            Some(command) => Ok(command),
            None => self.simple(),
        }
    }
}

/// The `2>&1` that `|&` stands for.
fn errors_to_output() -> Redirection {
    Redirection {
        descriptor: Descriptor::Number(2),
        operator: RedirectionOperator::DuplicateOutput,
        target: Word { pieces: vec![Piece::Literal("1".to_owned())] },
    }
}
