//! Commands that are made of others: groups, conditions, loops, cases, functions; and tests, which run nothing. Lists,
//! pipelines and simple commands are `parse.rs`.

use super::{Parsed, Parser, Unsure};
use crate::shell::{Node, Piece, SimpleCommand, Word};

impl Parser<'_> {
    pub(super) fn compound(&mut self) -> Parsed<Option<Node>> {
        if self.rest().starts_with("((") {
            return self.arithmetic(0).map(|word| Some(Node::Simple(test_of(vec![word]))));
        }
        if self.eat("(") {
            let body = self.body(&[])?;
            self.expect(")")?;
            return Ok(Some(Node::Apart(body)));
        }
        let word = self.bare_word();
        if matches!(word, "{" | "if" | "while" | "until" | "for" | "select" | "case" | "function" | "[[") {
            self.at += word.len();
        }
        Ok(Some(match word {
            "{" => {
                let body = self.body(&["}"])?;
                self.expect_word("}")?;
                Node::Group(body)
            }
            "if" => self.conditional()?,
            "while" | "until" => {
                let mut body = self.body(&["do"])?;
                body.extend(self.do_group()?);
                Node::Loop { variable: None, body }
            }
            "for" | "select" => self.for_loop()?,
            "case" => self.case()?,
            "function" => {
                self.blanks();
                let name = self.bare_word().to_owned();
                self.at += name.len();
                self.blanks();
                if self.eat("(") {
                    self.blanks();
                    self.expect(")")?;
                }
                self.function(name)?
            }
            "[[" => self.double_bracket()?,
            "coproc" | "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "in" | "}" => return Err(Unsure),
            _ => return Ok(None),
        }))
    }

    /// After `if`.
    fn conditional(&mut self) -> Parsed<Node> {
        let mut nodes = self.body(&["then"])?;
        self.expect_word("then")?;
        nodes.push(Node::Maybe(self.body(&["elif", "else", "fi"])?));
        loop {
            if self.eat_word("fi") {
                return Ok(Node::Group(nodes));
            }
            if self.eat_word("else") {
                nodes.push(Node::Maybe(self.body(&["fi"])?));
                continue;
            }
            self.expect_word("elif")?;
            let mut branch = self.body(&["then"])?;
            self.expect_word("then")?;
            branch.extend(self.body(&["elif", "else", "fi"])?);
            nodes.push(Node::Maybe(branch));
        }
    }

    fn do_group(&mut self) -> Parsed<Vec<Node>> {
        self.expect_word("do")?;
        let body = self.body(&["done"])?;
        self.expect_word("done")?;
        Ok(body)
    }

    /// After `for` or `select`.
    fn for_loop(&mut self) -> Parsed<Node> {
        let mut around = Vec::new();
        self.blanks();
        let variable = if self.rest().starts_with("((") {
            self.arithmetic(0)?;
            None
        } else {
            let name = self.bare_word().to_owned();
            self.at += name.len();
            self.lines(&mut around)?;
            let mut words = Vec::new();
            if self.eat_word("in") {
                self.blanks();
                while !self.rest().starts_with([';', '\n']) {
                    words.push(self.word()?);
                    self.blanks();
                }
            } else {
                // The positional parameters, which nobody knows here.
                words.push(Word { pieces: vec![Piece::Other(Word::default())] });
            }
            Some((name, words))
        };
        self.blanks();
        self.eat(";");
        self.lines(&mut around)?;
        let body = if self.bare_word() == "do" { self.do_group()? } else { return Err(Unsure) };
        around.push(Node::Loop { variable, body });
        Ok(Node::Group(around))
    }

    /// After `case`.
    fn case(&mut self) -> Parsed<Node> {
        self.blanks();
        let subject = self.word()?;
        let mut nodes = vec![Node::Simple(test_of(vec![subject]))];
        self.lines(&mut nodes)?;
        self.expect_word("in")?;
        loop {
            self.lines(&mut nodes)?;
            if self.eat_word("esac") {
                return Ok(Node::Group(nodes));
            }
            self.eat("(");
            loop {
                self.blanks();
                let pattern = self.word()?;
                nodes.push(Node::Simple(test_of(vec![pattern])));
                self.blanks();
                if self.eat(")") {
                    break;
                }
                self.expect("|")?;
            }
            nodes.push(Node::Maybe(self.body(&["esac"])?));
            if !(self.eat(";;&") || self.eat(";;") || self.eat(";&") || self.bare_word() == "esac") {
                return Err(Unsure);
            }
        }
    }

    /// After `name ()`.
    pub(super) fn function(&mut self, name: String) -> Parsed<Node> {
        let mut body = Vec::new();
        self.lines(&mut body)?;
        body.push(self.nested(Parser::command)?);
        Ok(Node::Function { name, body })
    }

    /// After `[[`: the words in it, without the operators.
    fn double_bracket(&mut self) -> Parsed<Node> {
        let mut command = test_of(Vec::new());
        loop {
            self.blanks();
            match self.peek().ok_or(Unsure)? {
                '\n' | '&' | '|' | '(' | ')' | '<' | '>' => {
                    self.next()?;
                }
                ';' => return Err(Unsure),
                _ if self.eat_word("]]") => return Ok(Node::Simple(command)),
                _ => command.words.push(self.word()?),
            }
        }
    }
}

/// Words that are only looked at.
fn test_of(words: Vec<Word>) -> SimpleCommand {
    let test = Word { pieces: vec![Piece::Quoted("[[".to_owned())] };
    SimpleCommand { words: std::iter::once(test).chain(words).collect(), ..SimpleCommand::default() }
}
