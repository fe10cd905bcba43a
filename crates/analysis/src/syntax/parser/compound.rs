//! Compound commands.

use super::simple::is_function_name;
use super::{Parsed, Parser, Stop, UNCLOSED, UNEXPECTED, is_metacharacter, is_name};
use crate::syntax::{Command, CommandKind, List, Piece, Word};

impl Parser<'_> {
    /// A compound command with its redirections, if one stands here.
    pub(super) fn compound(&mut self) -> Parsed<Option<Command>> {
        let Some(kind) = self.compound_kind()? else { return Ok(None) };
        let kind = match kind {
            Ok(kind) => kind,
            Err(function) => return Ok(Some(function)),
        };
        self.closed_at = Some(self.at);
        let redirections = self.redirections()?;
        Ok(Some(Command { kind, redirections }))
    }

    /// A compound command without its redirections, or (as `Err`) a whole function.
    fn compound_kind(&mut self) -> Parsed<Option<Result<CommandKind, Command>>> {
        if self.starts_with("((") {
            return self.double_parenthesis_command().map(|kind| Some(Ok(kind)));
        }
        if self.peek() == Some('(') {
            return self.subshell().map(|kind| Some(Ok(kind)));
        }
        let Some((word, end)) = self.short_word() else { return Ok(None) };
        let parse = match word.as_str() {
            "{" => Parser::group,
            "if" => Parser::conditional,
            "while" | "until" => Parser::while_loop,
            "for" | "select" => Parser::for_loop,
            "case" => Parser::case,
            "[[" => Parser::test,
            "function" => {
                self.at = end;
                return self.function().map(|function| Some(Err(function)));
            }
            "coproc" => return self.fail("coproc"),
            "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "}" | "in" | "]]" | "!" => {
                return self.fail(UNEXPECTED);
            }
            _ => return Ok(None),
        };
        parse(self).map(|kind| Some(Ok(kind)))
    }

    pub(super) fn subshell(&mut self) -> Parsed<CommandKind> {
        self.expect("(")?;
        let list = self.body()?;
        self.close_list(list, |parser| if parser.eat(")") { Ok(()) } else { parser.fail(UNCLOSED) })
            .map(CommandKind::Subshell)
    }

    fn group(&mut self) -> Parsed<CommandKind> {
        self.expect_word("{")?;
        let list = self.body()?;
        self.close_list(list, |parser| parser.expect_word("}")).map(CommandKind::Group)
    }

    fn conditional(&mut self) -> Parsed<CommandKind> {
        self.expect_word("if")?;
        let mut branches = Vec::new();
        match self.branches(&mut branches) {
            Ok(otherwise) => Ok(CommandKind::If { branches, otherwise }),
            Err(Stop) => {
                let lists = branches.into_iter().flat_map(|(condition, body)| [condition, body]);
                self.salvage_lists(lists.collect());
                Err(Stop)
            }
        }
    }

    /// Collects the branches of an `if`; returns what follows `else`.
    fn branches(&mut self, branches: &mut Vec<(List, List)>) -> Parsed<List> {
        loop {
            branches.push((self.body()?, Vec::new()));
            self.expect_word("then")?;
            let body = self.body()?;
            if let Some(branch) = branches.last_mut() {
                branch.1 = body;
            }
            if !self.eat_word("elif") {
                break;
            }
        }
        let otherwise = if self.eat_word("else") { self.body()? } else { Vec::new() };
        self.expect_word("fi")?;
        Ok(otherwise)
    }

    fn while_loop(&mut self) -> Parsed<CommandKind> {
        let until = self.eat_word("until");
        if !until {
            self.expect_word("while")?;
        }
        let condition = self.body()?;
        match self.loop_body() {
            Ok(body) => Ok(CommandKind::While { until, condition, body }),
            Err(Stop) => {
                self.salvage_lists(vec![condition]);
                Err(Stop)
            }
        }
    }

    /// `do … done`.
    fn loop_body(&mut self) -> Parsed<List> {
        self.expect_word("do")?;
        let body = self.body()?;
        self.close_list(body, |parser| parser.expect_word("done"))
    }

    fn for_loop(&mut self) -> Parsed<CommandKind> {
        let selects = self.eat_word("select");
        if selects {
            self.require_bash();
        } else {
            self.expect_word("for")?;
        }
        self.skip_blanks();
        if !selects && self.starts_with("((") {
            return self.arithmetic_for();
        }
        let variable = self.loop_variable()?;
        let words = self.loop_words()?;
        self.skip_lines()?;
        let body = self.loop_body()?;
        Ok(CommandKind::For { variable, words, body })
    }

    fn arithmetic_for(&mut self) -> Parsed<CommandKind> {
        self.require_bash();
        let expressions = self.loop_expressions()?;
        self.skip_blanks();
        self.eat(";");
        self.skip_lines()?;
        let body = self.loop_body()?;
        Ok(CommandKind::ArithmeticFor { expressions, body })
    }

    fn loop_variable(&mut self) -> Parsed<String> {
        let word = self.word()?;
        match word.pieces.as_slice() {
            [Piece::Literal(name)] if is_name(name) => Ok(name.clone()),
            _ => self.fail("a loop variable that is not a name"),
        }
    }

    /// `in words`, up to the separator before `do`.
    fn loop_words(&mut self) -> Parsed<Option<Vec<Word>>> {
        self.skip_blanks();
        if self.eat(";") {
            return Ok(None);
        }
        self.skip_lines()?;
        if !self.eat_word("in") {
            return Ok(None);
        }
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                Some('\n') => return Ok(Some(words)),
                Some(';') => {
                    self.bump();
                    return Ok(Some(words));
                }
                Some(char) if !is_metacharacter(char) || self.is_at_process_substitution() => words.push(self.word()?),
                _ => return self.fail(UNEXPECTED),
            }
        }
    }

    /// Behind `function`.
    fn function(&mut self) -> Parsed<Command> {
        self.require_bash();
        self.skip_blanks();
        let word = self.word()?;
        let name = match word.pieces.as_slice() {
            [Piece::Literal(name)] if is_function_name(name) => name.clone(),
            _ => return self.fail("a function name that is not understood"),
        };
        self.skip_blanks();
        if self.eat("(") {
            self.skip_blanks();
            self.expect(")")?;
        }
        self.function_body(name)
    }
}
