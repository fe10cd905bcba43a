//! The shell parser: from a text to its [`Script`].
//!
//! A recursive descent over characters, because where a shell word ends depends on the grammar around it. The parser
//! follows bash 5.2. It reports a [`Problem`] for every construct that bash may read in another way.

mod ansi_c;
mod arithmetic;
mod assignment;
mod braces;
mod case;
mod compound;
mod conditional;
mod expansion;
mod here_document;
mod list;
mod redirection;
mod simple;
#[cfg(test)]
mod tests;
mod word;

use super::{Dialect, List, Pipeline, Problem, Script, Statement, Word};
use crate::budget::{Budget, OVER_BUDGET};
use here_document::PendingDocument;

const MAX_TEXT_BYTES: usize = 64 * 1024;
/// The greatest number of constructs that may stand inside each other.
const MAX_DEPTH: usize = 48;
/// The length of `function`, the longest reserved word.
const MAX_RESERVED_WORD_CHARS: usize = 8;

const EXTENDED_GLOB: Problem = "an extended pattern, which depends on a shell option";
const DIALECT: Problem = "a construct that not every sh reads in the same way";
const UNEXPECTED: Problem = "a syntax error: an unexpected word or operator";
const MISSING_COMMAND: Problem = "a syntax error: a command is missing";
const UNCLOSED: Problem = "a construct without its closing word";
const TOO_DEEP: Problem = "too many constructs inside each other";

/// The parser cannot go on; the problem is already recorded.
struct Stop;

type Parsed<T> = Result<T, Stop>;

/// Parses a text as a script of its own.
pub(super) fn parse(text: &str, dialect: Dialect, budget: &Budget) -> Script {
    Parser::new(text, dialect, budget, 0).into_script()
}

struct Parser<'t> {
    text: &'t str,
    /// The byte offset of the next character.
    at: usize,
    depth: usize,
    dialect: Dialect,
    budget: &'t Budget,
    problems: Vec<Problem>,
    /// What was parsed of constructs that could not be finished, in source order.
    salvaged: List,
    /// Here-documents whose bodies begin after the next line end.
    pending: Vec<PendingDocument>,
    /// The bodies of all here-documents; `None` until the body is read.
    documents: Vec<Option<Word>>,
    /// Where the last compound command ended: a reserved word may follow it without a separator.
    closed_at: Option<usize>,
    /// How many `$(`, `<(` and `>(` are open.
    substitutions: usize,
}

/// The parser's state before an attempt that may be undone.
struct Checkpoint {
    at: usize,
    depth: usize,
    substitutions: usize,
    problems: usize,
    pending: Vec<PendingDocument>,
}

fn is_name_start(char: char) -> bool {
    char.is_ascii_alphabetic() || char == '_'
}

fn is_name_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

fn is_name(text: &str) -> bool {
    text.starts_with(is_name_start) && text.chars().all(is_name_char)
}

/// Whether an unquoted character ends a word.
fn is_metacharacter(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}

fn is_unusual_control(char: char) -> bool {
    char.is_control() && char != '\n' && char != '\t'
}

/// Each problem once, in the order of its first occurrence.
fn distinct(problems: &[Problem]) -> Vec<Problem> {
    let mut distinct = Vec::new();
    for problem in problems {
        if !distinct.contains(problem) {
            distinct.push(*problem);
        }
    }
    distinct
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, dialect: Dialect, budget: &'t Budget, depth: usize) -> Self {
        Parser {
            text,
            at: 0,
            depth,
            dialect,
            budget,
            problems: Vec::new(),
            salvaged: Vec::new(),
            pending: Vec::new(),
            documents: Vec::new(),
            closed_at: None,
            substitutions: 0,
        }
    }

    /// Parses the whole text.
    fn into_script(mut self) -> Script {
        let list = if self.accept_text() { self.whole_list() } else { Vec::new() };
        Script { list, problems: distinct(&self.problems) }
    }

    /// Checks the limits and pays for the text; whether it may be parsed.
    fn accept_text(&mut self) -> bool {
        if self.text.len() > MAX_TEXT_BYTES {
            self.add_problem("the text is too long");
            return false;
        }
        if self.depth > MAX_DEPTH {
            self.add_problem(TOO_DEEP);
            return false;
        }
        if self.text.contains(is_unusual_control) {
            self.add_problem("a control character");
        }
        self.pay_for(self.text.len()).is_ok()
    }

    fn whole_list(&mut self) -> List {
        let parsed = self.list();
        let mut list = match parsed {
            Ok(list) => {
                if self.peek().is_some() {
                    self.add_problem(UNEXPECTED);
                }
                list
            }
            Err(Stop) => Vec::new(),
        };
        list.append(&mut self.salvaged);
        if !self.pending.is_empty() {
            self.add_problem(here_document::UNFINISHED);
        }
        self.fill_here_documents(&mut list);
        list
    }

    fn pay_for(&mut self, bytes: usize) -> Parsed<()> {
        if self.budget.spend(256 + 16 * bytes) { Ok(()) } else { self.fail(OVER_BUDGET) }
    }

    fn add_problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    fn fail<T>(&mut self, problem: Problem) -> Parsed<T> {
        self.add_problem(problem);
        Err(Stop)
    }

    /// Reports a construct that only bash has, where the dialect is another one.
    fn require_bash(&mut self) {
        if self.dialect == Dialect::Posix {
            self.add_problem(DIALECT);
        }
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return self.fail(TOO_DEEP);
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            at: self.at,
            depth: self.depth,
            substitutions: self.substitutions,
            problems: self.problems.len(),
            pending: self.pending.clone(),
        }
    }

    /// Goes back to a checkpoint. The text between is parsed twice and paid for again.
    fn restore(&mut self, checkpoint: Checkpoint) -> Parsed<()> {
        let parsed = self.at.saturating_sub(checkpoint.at);
        self.at = checkpoint.at;
        self.depth = checkpoint.depth;
        self.substitutions = checkpoint.substitutions;
        self.problems.truncate(checkpoint.problems);
        self.pending = checkpoint.pending;
        self.pay_for(parsed)
    }

    /// Keeps a pipeline that was parsed before a syntax error. Outer constructs are salvaged last and stand first.
    fn salvage(&mut self, pipeline: Pipeline) {
        self.salvaged.insert(0, Statement { first: pipeline, rest: Vec::new(), background: false });
    }

    fn char_at(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }

    /// The offset behind the line continuations that stand at an offset.
    fn skip_continuations(&self, mut at: usize) -> usize {
        while self.text.get(at..).is_some_and(|rest| rest.starts_with("\\\n")) {
            at += 2;
        }
        at
    }

    /// The next character behind line continuations. Not for single quotes, where there are none.
    fn peek(&mut self) -> Option<char> {
        self.at = self.skip_continuations(self.at);
        self.char_at(self.at)
    }

    /// The character behind the next one, behind line continuations.
    fn peek_second(&mut self) -> Option<char> {
        let first = self.peek()?;
        self.char_at(self.skip_continuations(self.at + first.len_utf8()))
    }

    /// Consumes the next character as it is, even if a line continuation begins there.
    fn bump(&mut self) -> Option<char> {
        let char = self.char_at(self.at)?;
        self.at += char.len_utf8();
        Some(char)
    }

    /// The offset behind a token, if it stands here.
    fn end_of(&self, token: &str) -> Option<usize> {
        let mut at = self.at;
        for expected in token.chars() {
            at = self.skip_continuations(at);
            if self.char_at(at)? != expected {
                return None;
            }
            at += expected.len_utf8();
        }
        Some(at)
    }

    fn starts_with(&self, token: &str) -> bool {
        self.end_of(token).is_some()
    }

    fn eat(&mut self, token: &str) -> bool {
        let end = self.end_of(token);
        self.at = end.unwrap_or(self.at);
        end.is_some()
    }

    fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { self.fail(UNEXPECTED) }
    }

    /// Skips spaces, tabs and a comment. Only for the beginning of a token: within a word `#` is no comment.
    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        if self.peek() == Some('#') {
            let rest = self.text.get(self.at..).unwrap_or_default();
            self.at += rest.find('\n').unwrap_or(rest.len());
        }
    }

    /// Skips blanks and line ends, and reads the here-documents that begin at a line end.
    fn skip_lines(&mut self) -> Parsed<()> {
        self.skip_blanks();
        while self.peek() == Some('\n') {
            self.at += 1;
            self.read_pending_documents()?;
            self.skip_blanks();
        }
        Ok(())
    }

    /// The unquoted word that stands here and its end, if it is short enough for a reserved word.
    fn short_word(&mut self) -> Option<(String, usize)> {
        let mut word = String::new();
        self.peek()?;
        let mut at = self.at;
        loop {
            at = self.skip_continuations(at);
            match self.char_at(at) {
                Some('\'' | '"' | '\\' | '`' | '$') => return None,
                Some(char) if !is_metacharacter(char) => {
                    if word.chars().count() == MAX_RESERVED_WORD_CHARS {
                        return None;
                    }
                    word.push(char);
                    at += char.len_utf8();
                }
                // A process substitution belongs to the word.
                Some('<' | '>') if self.char_at(self.skip_continuations(at + 1)) == Some('(') => return None,
                _ => return Some((word, at)),
            }
        }
    }

    fn is_at_word(&mut self, expected: &str) -> bool {
        self.short_word().is_some_and(|(word, _)| word == expected)
    }

    fn eat_word(&mut self, expected: &str) -> bool {
        match self.short_word() {
            Some((word, end)) if word == expected => {
                self.at = end;
                true
            }
            _ => false,
        }
    }

    fn expect_word(&mut self, expected: &str) -> Parsed<()> {
        self.skip_blanks();
        if self.eat_word(expected) {
            return Ok(());
        }
        let problem = if self.peek().is_none() { UNCLOSED } else { UNEXPECTED };
        self.fail(problem)
    }
}
