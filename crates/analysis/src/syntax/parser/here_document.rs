//! Here-documents: their delimiters, their bodies, and how the bodies come into the tree.
//!
//! A body begins after the line of its operator, where the command may already be parsed. The tree holds the number of
//! the document until the list is complete.

use std::rc::Rc;

use super::word::Quoting;
use super::{Parsed, Parser, Stop, UNEXPECTED, is_metacharacter};
use crate::syntax::{Command, CommandKind, List, Piece, Problem, Redirection, RedirectionOperator, Word};

pub(super) const UNFINISHED: Problem = "a here-document without an end";
const DELIMITER: Problem = "a here-document's delimiter that is not understood";

#[derive(Clone)]
pub(super) struct PendingDocument {
    number: usize,
    delimiter: String,
    strips_tabs: bool,
    /// Whether its delimiter is quoted: the body means itself.
    quoted: bool,
}

impl Parser<'_> {
    /// The delimiter behind the operator; returns a placeholder for the body.
    pub(super) fn here_document(&mut self, strips_tabs: bool) -> Parsed<Word> {
        self.skip_blanks();
        let (delimiter, quoted) = self.delimiter()?;
        let number = self.documents.len();
        self.documents.push(None);
        self.pending.push(PendingDocument { number, delimiter, strips_tabs, quoted });
        Ok(Word { pieces: vec![Piece::Literal(number.to_string())] })
    }

    /// The delimiter without its quotes, and whether it had any.
    fn delimiter(&mut self) -> Parsed<(String, bool)> {
        let mut delimiter = String::new();
        let mut quoted = false;
        while let Some(char) = self.peek().filter(|char| !is_metacharacter(*char)) {
            let second = self.peek_second();
            self.bump();
            match char {
                '\'' | '"' => {
                    quoted = true;
                    self.quoted_delimiter(char, &mut delimiter)?;
                }
                '\\' => {
                    quoted = true;
                    let Some(escaped) = self.bump() else { return self.fail(DELIMITER) };
                    delimiter.push(escaped);
                }
                '`' => return self.fail(DELIMITER),
                '$' if matches!(second, Some('(' | '{' | '[' | '\'' | '"')) => return self.fail(DELIMITER),
                char => delimiter.push(char),
            }
        }
        let is_number = !quoted && delimiter.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && (delimiter.is_empty() || matches!(self.peek(), Some('<' | '>'))) {
            return self.fail(UNEXPECTED);
        }
        let is_braced = !quoted && delimiter.starts_with('{') && matches!(self.peek(), Some('<' | '>'));
        if is_braced || self.is_at_process_substitution() {
            return self.fail(DELIMITER);
        }
        Ok((delimiter, quoted))
    }

    /// The rest of a quoted part of the delimiter.
    fn quoted_delimiter(&mut self, quote: char, delimiter: &mut String) -> Parsed<()> {
        loop {
            match self.bump() {
                Some(char) if char == quote => return Ok(()),
                None | Some('\n') => return self.fail(DELIMITER),
                Some('\\' | '$' | '`') if quote == '"' => return self.fail(DELIMITER),
                Some(char) => delimiter.push(char),
            }
        }
    }

    /// Reads the bodies of the pending here-documents, which begin here.
    pub(super) fn read_pending_documents(&mut self) -> Parsed<()> {
        for document in std::mem::take(&mut self.pending) {
            let text = self.document_text(&document);
            let body = if document.quoted {
                Word { pieces: vec![Piece::Quoted(text)] }
            } else {
                self.expanded_document(&text)?
            };
            if let Some(slot) = self.documents.get_mut(document.number) {
                *slot = Some(body);
            }
        }
        Ok(())
    }

    /// The lines up to the delimiter.
    fn document_text(&mut self, document: &PendingDocument) -> String {
        let mut text = String::new();
        loop {
            if self.at >= self.text.len() {
                self.add_problem(UNFINISHED);
                return text;
            }
            let line = if document.quoted { self.line() } else { self.joined_line() };
            let line = if document.strips_tabs { line.trim_start_matches('\t') } else { &line };
            let content = line.strip_suffix('\n').unwrap_or(line);
            if content == document.delimiter {
                return text;
            }
            // Inside a substitution, bash also ends a document at a delimiter with a parenthesis behind it.
            if self.substitutions > 0 && content.starts_with(&document.delimiter) && content.contains(')') {
                self.add_problem(UNFINISHED);
            }
            text.push_str(line);
        }
    }

    fn line(&mut self) -> String {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let line = rest.split_inclusive('\n').next().unwrap_or_default();
        self.at += line.len();
        line.to_owned()
    }

    /// A line with the lines that are joined to it by a backslash.
    fn joined_line(&mut self) -> String {
        let mut line = String::new();
        while let Some(char) = self.peek() {
            self.bump();
            line.push(char);
            match char {
                '\n' => break,
                '\\' => line.extend(self.bump()),
                _ => {}
            }
        }
        line
    }

    /// The word of a body in which expansions count.
    fn expanded_document(&mut self, text: &str) -> Parsed<Word> {
        let mut parser = Parser::new(text, self.dialect, self.budget, self.depth + 1);
        let mut body = Word::default();
        let result = if parser.accept_text() { parser.document_pieces(&mut body) } else { Err(Stop) };
        self.problems.append(&mut parser.problems);
        self.salvaged.append(&mut parser.salvaged);
        result.map(|()| body)
    }

    fn document_pieces(&mut self, body: &mut Word) -> Parsed<()> {
        while let Some(char) = self.peek() {
            match char {
                '\\' => self.escape_in_quotes("$`\\", body)?,
                '$' => self.dollar(Quoting::HereDocument, body)?,
                '`' => self.backquotes(Quoting::HereDocument, body)?,
                char => {
                    self.bump();
                    body.push_quoted(char);
                }
            }
        }
        if body.pieces.is_empty() {
            body.push_empty_quotes();
        }
        Ok(())
    }

    /// Reports a word with line ends behind a here-document's operator: shells disagree on where the body begins.
    pub(super) fn check_pending_documents(&mut self, start: usize) {
        let has_line_end = self.text.get(start..self.at).is_some_and(|source| source.contains('\n'));
        if has_line_end && !self.pending.is_empty() {
            self.add_problem("a line end within a word between a here-document's operator and its body");
        }
    }

    /// Puts the bodies into the redirections of a list. Substitutions in words have theirs already.
    pub(super) fn fill_here_documents(&mut self, list: &mut List) {
        if self.documents.is_empty() {
            return;
        }
        for statement in list {
            let connected = statement.rest.iter_mut().map(|(_, pipeline)| pipeline);
            for pipeline in std::iter::once(&mut statement.first).chain(connected) {
                for command in &mut pipeline.commands {
                    self.fill_command(command);
                }
            }
        }
    }

    fn fill_command(&mut self, command: &mut Command) {
        for redirection in &mut command.redirections {
            self.fill_redirection(redirection);
        }
        match &mut command.kind {
            CommandKind::Simple { .. } | CommandKind::Test(_) | CommandKind::Arithmetic(_) => {}
            CommandKind::Group(list) | CommandKind::Subshell(list) => self.fill_here_documents(list),
            CommandKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.fill_here_documents(condition);
                    self.fill_here_documents(body);
                }
                self.fill_here_documents(otherwise);
            }
            CommandKind::While { condition, body, .. } => {
                self.fill_here_documents(condition);
                self.fill_here_documents(body);
            }
            CommandKind::For { body, .. } | CommandKind::ArithmeticFor { body, .. } => self.fill_here_documents(body),
            CommandKind::Case { arms, .. } => arms.iter_mut().for_each(|arm| self.fill_here_documents(&mut arm.body)),
            CommandKind::Function { body, .. } => match Rc::get_mut(body) {
                Some(body) => self.fill_command(body),
                None => self.add_problem(UNFINISHED),
            },
        }
    }

    fn fill_redirection(&mut self, redirection: &mut Redirection) {
        if redirection.operator != RedirectionOperator::HereDocument {
            return;
        }
        let number = match redirection.target.pieces.as_slice() {
            [Piece::Literal(number)] => number.parse::<usize>().ok(),
            _ => None,
        };
        let body = number.and_then(|number| self.documents.get_mut(number)).and_then(Option::take);
        redirection.target = body.unwrap_or_default();
    }
}
