//! `case … esac`.

use super::{Parsed, Parser, Stop, UNCLOSED, UNEXPECTED};
use crate::syntax::{CaseArm, CommandKind, Piece, Word};

impl Parser<'_> {
    pub(super) fn case(&mut self) -> Parsed<CommandKind> {
        self.expect_word("case")?;
        self.skip_blanks();
        let subject = self.word()?;
        self.skip_lines()?;
        self.expect_word("in")?;
        let mut arms = Vec::new();
        match self.arms(&mut arms) {
            Ok(()) => Ok(CommandKind::Case { subject, arms }),
            Err(Stop) => {
                self.salvage_lists(arms.into_iter().map(|arm| arm.body).collect());
                Err(Stop)
            }
        }
    }

    /// Collects the arms up to and with `esac`.
    fn arms(&mut self, arms: &mut Vec<CaseArm>) -> Parsed<()> {
        loop {
            self.skip_lines()?;
            if self.eat_word("esac") {
                return Ok(());
            }
            let patterns = self.patterns()?;
            let body = self.list()?;
            let (ended, goes_on) = self.arm_end();
            arms.push(CaseArm { patterns, body, goes_on });
            if !ended {
                return self.expect_word("esac");
            }
        }
    }

    /// `(pattern | pattern)`, the opening parenthesis being optional.
    fn patterns(&mut self) -> Parsed<Vec<Word>> {
        self.eat("(");
        let mut patterns = Vec::new();
        loop {
            self.skip_blanks();
            let pattern = self.word()?;
            if matches!(pattern.pieces.as_slice(), [Piece::Literal(text)] if text == "esac") {
                return self.fail(UNEXPECTED);
            }
            patterns.push(pattern);
            self.skip_blanks();
            if self.eat(")") {
                return Ok(patterns);
            }
            if self.starts_with("||") || self.starts_with("|&") || !self.eat("|") {
                let problem = if self.peek().is_none() { UNCLOSED } else { UNEXPECTED };
                return self.fail(problem);
            }
        }
    }

    /// `;;`, `;&` or `;;&`: whether there was one, and whether the next arm may run as well.
    fn arm_end(&mut self) -> (bool, bool) {
        self.skip_blanks();
        if self.eat(";;&") || self.eat(";&") {
            self.require_bash();
            return (true, true);
        }
        (self.eat(";;"), false)
    }
}
