//! Redirections.

use super::{Parsed, Parser, UNEXPECTED, is_metacharacter, is_name};
use crate::syntax::{Descriptor, Dialect, Piece, Redirection, RedirectionOperator, Word};

/// The operators, the longer ones before their beginnings. Here-documents are apart.
const OPERATORS: [(&str, RedirectionOperator); 10] = [
    ("<<<", RedirectionOperator::HereString),
    ("<&", RedirectionOperator::DuplicateInput),
    ("<>", RedirectionOperator::ReadWrite),
    ("<", RedirectionOperator::Read),
    ("&>>", RedirectionOperator::WriteBoth),
    ("&>", RedirectionOperator::WriteBoth),
    (">>", RedirectionOperator::Append),
    (">&", RedirectionOperator::DuplicateOutput),
    (">|", RedirectionOperator::Write),
    (">", RedirectionOperator::Write),
];

const MAX_DESCRIPTOR_DIGITS: usize = 5;

impl Parser<'_> {
    /// A redirection, if one stands here.
    pub(super) fn redirection(&mut self) -> Parsed<Option<Redirection>> {
        let Some((prefix, at)) = self.descriptor_ahead() else { return Ok(None) };
        self.at = at;
        let descriptor = self.descriptor(&prefix)?;
        if !self.starts_with("<<<") && self.eat("<<") {
            let strips_tabs = self.eat("-");
            let target = self.here_document(strips_tabs)?;
            let operator = RedirectionOperator::HereDocument;
            return Ok(Some(Redirection { descriptor, operator, target }));
        }
        for (token, operator) in OPERATORS {
            if self.eat(token) {
                let target = self.target(operator)?;
                return Ok(Some(Redirection { descriptor, operator, target }));
            }
        }
        self.fail(UNEXPECTED)
    }

    pub(super) fn redirections(&mut self) -> Parsed<Vec<Redirection>> {
        let mut redirections = Vec::new();
        loop {
            let end = self.at;
            self.skip_blanks();
            match self.redirection()? {
                Some(redirection) => redirections.push(redirection),
                None => {
                    self.at = end;
                    return Ok(redirections);
                }
            }
        }
    }

    /// What stands before the operator of a redirection, and the operator's offset; `None` if there is no redirection.
    fn descriptor_ahead(&mut self) -> Option<(String, usize)> {
        let mut prefix = String::new();
        let first = self.peek()?;
        if first == '&' {
            return self.starts_with("&>").then_some((prefix, self.at));
        }
        let mut at = self.at;
        while let Some(char) = self.char_at(at) {
            let belongs = if first == '{' { !is_metacharacter(char) } else { char.is_ascii_digit() };
            if !belongs || "'\"\\`$".contains(char) {
                break;
            }
            prefix.push(char);
            at = self.skip_continuations(at + char.len_utf8());
        }
        let operator = self.char_at(at).filter(|char| matches!(char, '<' | '>'))?;
        let substitutes = self.char_at(self.skip_continuations(at + operator.len_utf8())) == Some('(');
        let is_prefix = first != '{' || variable_name(&prefix).is_some();
        (is_prefix && !substitutes).then_some((prefix, at))
    }

    fn descriptor(&mut self, prefix: &str) -> Parsed<Descriptor> {
        if prefix.is_empty() {
            return Ok(Descriptor::Default);
        }
        if let Some(name) = variable_name(prefix) {
            self.require_bash();
            return Ok(Descriptor::Variable(name.to_owned()));
        }
        if prefix.len() > 1 {
            self.require_bash();
        }
        match prefix.parse() {
            Ok(number) if prefix.len() <= MAX_DESCRIPTOR_DIGITS => Ok(Descriptor::Number(number)),
            _ => self.fail("a descriptor number that is too large"),
        }
    }

    fn target(&mut self, operator: RedirectionOperator) -> Parsed<Word> {
        self.skip_blanks();
        let duplicates = matches!(operator, RedirectionOperator::DuplicateInput | RedirectionOperator::DuplicateOutput);
        let target = self.word()?;
        // bash reads `>&-` as a token of its own, whatever stands behind it.
        let first = target.pieces.first();
        if duplicates && matches!(first, Some(Piece::Literal(text)) if text.starts_with('-')) && !is_dash(&target) {
            return self.fail("a descriptor that is not understood");
        }
        let bash_only = match operator {
            RedirectionOperator::HereString | RedirectionOperator::WriteBoth => true,
            _ => duplicates && !is_dash(&target) && !is_one_digit(&target),
        };
        if bash_only && self.dialect == Dialect::Posix {
            self.require_bash();
        }
        Ok(target)
    }
}

/// The name in `{name}`.
fn variable_name(prefix: &str) -> Option<&str> {
    prefix.strip_prefix('{')?.strip_suffix('}').filter(|name| is_name(name))
}

fn is_dash(word: &Word) -> bool {
    matches!(word.pieces.as_slice(), [Piece::Literal(text)] if text == "-")
}

fn is_one_digit(word: &Word) -> bool {
    matches!(word.pieces.as_slice(), [Piece::Literal(text)] if text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_digit()))
}
