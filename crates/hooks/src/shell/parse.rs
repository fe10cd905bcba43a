//! Shell grammar, as far as finding simple commands needs it. Bounded in length and depth; gives up aloud.
//! What stands inside a word is `word.rs`, loops and the like are `compound.rs`.

mod compound;
mod word;

use std::sync::{Arc, OnceLock};

use word::Until;

use super::{Assignment, Budget, Node, Piece, Redirection, RedirectionKind, Script, SimpleCommand, Word};

/// Longer texts are not read at all.
const LONGEST: usize = 64 * 1024;
/// How deep parts may stand in each other.
const DEEPEST: usize = 48;

/// The text is not understood from here on.
struct Unsure;

type Parsed<T> = Result<T, Unsure>;

/// What it costs to read a text: the nodes made of it take many times its size.
fn units_to_read(text: &str) -> usize {
    256 + 16 * text.len()
}

/// Reads a text that stands so deep in others.
pub(super) fn script(text: &str, depth: usize, budget: &Budget) -> Script {
    if text.len() > LONGEST || depth > DEEPEST || !budget.spend(units_to_read(text)) {
        return Script::default();
    }
    let mut parser = Parser::new(text, depth, budget);
    let mut nodes = Vec::new();
    let read = parser.list(&[], &mut nodes).is_ok();
    let certain = read && parser.rest().is_empty() && parser.pending.is_empty() && parser.certain;
    Script { nodes, certain }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// Pays for the text before it is read, and again before any of it is read again.
    budget: &'t Budget,
    /// Whether everything inside substitutions was understood.
    certain: bool,
    /// Here-documents whose text begins at the next line.
    pending: Vec<HereDocument>,
}

struct HereDocument {
    end: String,
    strip_tabs: bool,
    expands: bool,
    /// Where its text goes.
    text: Arc<OnceLock<Word>>,
}

fn is_name_start(char: char) -> bool {
    char.is_ascii_alphabetic() || char == '_'
}

fn is_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

fn ends_word(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}

impl<'t> Parser<'t> {
    fn new(text: &'t str, depth: usize, budget: &'t Budget) -> Self {
        Parser { text, at: 0, depth, budget, certain: true, pending: Vec::new() }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Parsed<char> {
        let char = self.peek().ok_or(Unsure)?;
        self.at += char.len_utf8();
        Ok(char)
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { Err(Unsure) }
    }

    /// Spaces, line continuations and a comment.
    fn blanks(&mut self) {
        while self.eat(" ") || self.eat("\t") || self.eat("\\\n") {}
        if self.rest().starts_with('#') {
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Blanks and line ends, with the here-documents that begin there.
    fn lines(&mut self, nodes: &mut Vec<Node>) -> Parsed<()> {
        self.blanks();
        while self.eat("\n") {
            for document in std::mem::take(&mut self.pending) {
                let text = self.here_document(&document)?;
                let target = match document.expands {
                    true => self.inner_word(&text)?,
                    false => Word { pieces: vec![Piece::Quoted(text)] },
                };
                let _ = document.text.set(target.clone());
                let redirections = vec![Redirection { kind: RedirectionKind::Text, target }];
                nodes.push(Node::Simple(SimpleCommand { redirections, ..SimpleCommand::default() }));
            }
            self.blanks();
        }
        Ok(())
    }

    fn here_document(&mut self, document: &HereDocument) -> Parsed<String> {
        let mut text = String::new();
        while !self.rest().is_empty() {
            let line = self.rest().split_inclusive('\n').next().unwrap_or_default();
            self.at += line.len();
            let stripped = if document.strip_tabs { line.trim_start_matches('\t') } else { line };
            if stripped.trim_end_matches('\n') == document.end {
                return Ok(text);
            }
            text.push_str(stripped);
        }
        Err(Unsure)
    }

    /// The reserved or plain word that stands here; nothing is consumed.
    fn bare_word(&self) -> &'t str {
        let rest = self.rest();
        &rest[..rest.find(ends_word).unwrap_or(rest.len())]
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.bare_word() == word;
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { Err(Unsure) }
    }

    /// One level deeper.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= DEEPEST {
            return Err(Unsure);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Commands up to one of these words, a closing parenthesis, `;;` or the end; what was read before a mistake stays.
    fn list(&mut self, ends: &[&str], nodes: &mut Vec<Node>) -> Parsed<()> {
        loop {
            self.lines(nodes)?;
            let word = self.bare_word();
            if self.rest().is_empty() || self.rest().starts_with([')', ';']) || ends.contains(&word) {
                return Ok(());
            }
            let mut chain = Vec::new();
            let read = self.nested(|parser| parser.chain(&mut chain));
            self.blanks();
            let background = read.is_ok() && !self.rest().starts_with("&&") && self.eat("&");
            if background {
                nodes.push(Node::Apart(chain));
            } else {
                nodes.append(&mut chain);
            }
            read?;
            let separated =
                background || (!self.rest().starts_with(";;") && !self.rest().starts_with(";&") && self.eat(";"));
            let goes_on = separated || self.rest().starts_with('\n');
            if !goes_on && !self.rest().is_empty() && !self.rest().starts_with([')', ';']) {
                // A reserved word may follow a compound command without a separator, as in `( a ) fi`.
                if !ends.contains(&self.bare_word()) {
                    return Err(Unsure);
                }
            }
        }
    }

    fn body(&mut self, ends: &[&str]) -> Parsed<Vec<Node>> {
        let mut nodes = Vec::new();
        self.list(ends, &mut nodes)?;
        Ok(nodes)
    }

    /// `a && b || c`.
    fn chain(&mut self, nodes: &mut Vec<Node>) -> Parsed<()> {
        nodes.push(self.pipeline()?);
        loop {
            self.blanks();
            let follows: fn(Vec<Node>) -> Node = match (self.eat("&&"), self.eat("||")) {
                (true, _) => Node::And,
                (false, true) => Node::Or,
                (false, false) => return Ok(()),
            };
            let mut link = Vec::new();
            self.lines(&mut link)?;
            link.push(self.pipeline()?);
            match nodes.last_mut() {
                Some(Node::And(before) | Node::Or(before)) if follows(Vec::new()) == Node::And(Vec::new()) => {
                    before.append(&mut link);
                }
                _ => nodes.push(follows(link)),
            }
        }
    }

    fn pipeline(&mut self) -> Parsed<Node> {
        self.blanks();
        let mut prefixed = false;
        while self.eat_word("!") || self.eat_word("time") || (prefixed && self.eat_word("-p")) {
            prefixed = true;
            self.blanks();
        }
        let mut parts = vec![self.command()?];
        loop {
            self.blanks();
            if self.rest().starts_with("||") || !(self.eat("|&") || self.eat("|")) {
                break;
            }
            self.lines(&mut parts)?;
            parts.push(self.command()?);
        }
        match parts.pop() {
            Some(only) if parts.is_empty() && !prefixed => Ok(only),
            Some(only) if parts.is_empty() => Ok(Node::Group(vec![only])),
            Some(last) => {
                parts.push(last);
                Ok(Node::Pipeline(parts))
            }
            None => Err(Unsure),
        }
    }

    fn command(&mut self) -> Parsed<Node> {
        let node = self.nested(Parser::compound)?;
        let Some(node) = node else { return self.simple() };
        // What a compound command reads and writes is a command of redirections alone.
        let mut around = SimpleCommand::default();
        loop {
            self.blanks();
            if !self.redirection(&mut around)? {
                break;
            }
        }
        if around == SimpleCommand::default() {
            return Ok(node);
        }
        Ok(Node::Group(vec![node, Node::Simple(around)]))
    }

    fn simple(&mut self) -> Parsed<Node> {
        let mut command = SimpleCommand::default();
        let start = self.at;
        loop {
            self.blanks();
            if self.redirection(&mut command)? {
                continue;
            }
            let substitutes = self.rest().starts_with("<(") || self.rest().starts_with(">(");
            match self.peek() {
                None => break,
                Some('(') => return self.function_head(&command),
                Some(char) if ends_word(char) && !substitutes => break,
                Some(_) if command.words.is_empty() && self.assignment(&mut command)? => {}
                Some(_) => command.words.push(self.word()?),
            }
        }
        if self.at == start { Err(Unsure) } else { Ok(Node::Simple(command)) }
    }

    /// At the parenthesis of `name()`.
    fn function_head(&mut self, command: &SimpleCommand) -> Parsed<Node> {
        let [name] = command.words.as_slice() else { return Err(Unsure) };
        let name = name.literal().filter(|_| command.redirections.is_empty()).ok_or(Unsure)?;
        self.expect("(")?;
        self.blanks();
        self.expect(")")?;
        self.function(name)
    }

    fn assignment(&mut self, command: &mut SimpleCommand) -> Parsed<bool> {
        let rest = self.rest();
        let length = rest.find(|char| !is_name(char)).unwrap_or(rest.len());
        let appends = rest[length..].starts_with("+=");
        if rest.starts_with(is_name_start) && rest[length..].starts_with('[') && self.bare_word().contains("]=") {
            return Err(Unsure);
        }
        if !rest.starts_with(is_name_start) || !(appends || rest[length..].starts_with('=')) {
            return Ok(false);
        }
        let name = rest[..length].to_owned();
        self.at += length + if appends { 2 } else { 1 };
        let mut value = if self.eat("(") { self.array()? } else { self.pieces(Until::WordEnd)? };
        if appends {
            value.pieces.insert(0, Piece::Variable { name: name.clone(), default: None, quoted: true });
        }
        command.assignments.push(Assignment { name, value });
        Ok(true)
    }

    /// The rest of `( word … )`.
    fn array(&mut self) -> Parsed<Word> {
        let mut pieces = Vec::new();
        loop {
            self.lines(&mut Vec::new())?;
            if self.eat(")") {
                return Ok(Word { pieces });
            }
            pieces.push(Piece::Other(self.word()?));
        }
    }

    /// A redirection, if one stands here.
    fn redirection(&mut self, command: &mut SimpleCommand) -> Parsed<bool> {
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|char: char| char.is_ascii_digit()).len();
        let operator = &rest[digits..];
        const OPERATORS: [&str; 13] = ["<<<", "<<-", "<<", "<&", "<>", "<", "&>>", "&>", ">>", ">&", ">|", ">(", ">"];
        let Some(found) = OPERATORS.iter().find(|token| operator.starts_with(**token)) else { return Ok(false) };
        let substitutes = *found == ">(" || (*found == "<" && operator.starts_with("<("));
        if substitutes || (digits > 0 && found.starts_with('&')) {
            return Ok(false);
        }
        self.at += digits + found.len();
        self.blanks();
        match *found {
            "<<" | "<<-" => {
                let raw = self.at;
                let end = self.word()?;
                let expands = !self.text[raw..self.at].contains(['\'', '"', '\\']);
                let end = plain_text(&end).ok_or(Unsure)?;
                let text = Arc::default();
                command.document = Some(Arc::clone(&text)).filter(|_| matches!(&rest[..digits], "" | "0"));
                self.pending.push(HereDocument { end, strip_tabs: *found == "<<-", expands, text });
                let target = Word { pieces: vec![Piece::Other(Word::default())] };
                command.redirections.push(Redirection { kind: RedirectionKind::Text, target });
                return Ok(true);
            }
            _ => {}
        }
        let mut target = self.word()?;
        let copies = |word: &Word| {
            plain_text(word).is_some_and(|text| text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit()))
        };
        let kind = match *found {
            // Text for another descriptor is not what a program reads.
            "<<<" if digits > 0 => {
                target = Word { pieces: vec![Piece::Other(target)] };
                RedirectionKind::Text
            }
            "<<<" => RedirectionKind::Text,
            "<&" | ">&" if copies(&target) && (*found == "<&" || rest.starts_with('0')) => {
                target = Word { pieces: vec![Piece::Other(Word::default())] };
                RedirectionKind::Text
            }
            "<&" | ">&" if copies(&target) => return Ok(true),
            "<" | "<&" => RedirectionKind::Read,
            _ => RedirectionKind::Write,
        };
        command.redirections.push(Redirection { kind, target });
        Ok(true)
    }
}

fn plain_text(word: &Word) -> Option<String> {
    word.pieces
        .iter()
        .map(|piece| match piece {
            Piece::Plain(text) | Piece::Quoted(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}
