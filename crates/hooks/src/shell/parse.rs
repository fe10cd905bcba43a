//! Shell grammar, as far as finding simple commands needs it. Bounded in length and depth; gives up aloud.

use super::{Assignment, Node, Piece, Redirection, RedirectionKind, Script, SimpleCommand, Word};

/// Longer texts are not read at all.
const LONGEST: usize = 64 * 1024;
/// How deep parts may stand in each other.
const DEEPEST: usize = 48;

/// The text is not understood from here on.
struct Unsure;

type Parsed<T> = Result<T, Unsure>;

/// Reads a text that stands so deep in others.
pub(super) fn script(text: &str, depth: usize) -> Script {
    if text.len() > LONGEST || depth > DEEPEST {
        return Script::default();
    }
    let mut parser = Parser::new(text, depth);
    let mut nodes = Vec::new();
    let read = parser.list(&[], &mut nodes).is_ok();
    let certain = read && parser.rest().is_empty() && parser.pending.is_empty() && parser.certain;
    Script { nodes, certain }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// Whether everything inside substitutions was understood.
    certain: bool,
    /// Here-documents whose text begins at the next line.
    pending: Vec<HereDocument>,
}

struct HereDocument {
    end: String,
    strip_tabs: bool,
    expands: bool,
}

/// What ends a run of pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// A space or an operator.
    WordEnd,
    /// `"`.
    Quote,
    /// `}`, inside `${…}`.
    Brace { quoted: bool },
    /// The end of the text; only expansions count, as in a here-document.
    TextEnd,
}

impl Until {
    fn quotes(self) -> bool {
        matches!(self, Until::Quote | Until::TextEnd | Until::Brace { quoted: true })
    }
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
    fn new(text: &'t str, depth: usize) -> Self {
        Parser { text, at: 0, depth, certain: true, pending: Vec::new() }
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
                if document.expands {
                    let target = self.inner_word(&text)?;
                    let redirections = vec![Redirection { kind: RedirectionKind::Text, target }];
                    nodes.push(Node::Simple(SimpleCommand { redirections, ..SimpleCommand::default() }));
                }
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
        let mut rest = Vec::new();
        loop {
            self.blanks();
            if !self.eat("&&") && !self.eat("||") {
                break;
            }
            self.lines(&mut rest)?;
            rest.push(self.pipeline()?);
        }
        if !rest.is_empty() {
            nodes.push(Node::Maybe(rest));
        }
        Ok(())
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

    fn compound(&mut self) -> Parsed<Option<Node>> {
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
    fn function(&mut self, name: String) -> Parsed<Node> {
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
                self.pending.push(HereDocument { end, strip_tabs: *found == "<<-", expands });
                let target = Word { pieces: vec![Piece::Other(Word::default())] };
                command.redirections.push(Redirection { kind: RedirectionKind::Text, target });
                return Ok(true);
            }
            _ => {}
        }
        let target = self.word()?;
        let copies = |word: &Word| {
            plain_text(word).is_some_and(|text| text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit()))
        };
        let kind = match *found {
            "<<<" => RedirectionKind::Text,
            "<&" | ">&" if copies(&target) => return Ok(true),
            "<" | "<&" => RedirectionKind::Read,
            _ => RedirectionKind::Write,
        };
        command.redirections.push(Redirection { kind, target });
        Ok(true)
    }

    fn word(&mut self) -> Parsed<Word> {
        let word = self.pieces(Until::WordEnd)?;
        if word.pieces.is_empty() { Err(Unsure) } else { Ok(word) }
    }

    fn pieces(&mut self, until: Until) -> Parsed<Word> {
        let mut word = Word::default();
        let quoted = until.quotes();
        loop {
            let Some(char) = self.peek() else {
                return if matches!(until, Until::WordEnd | Until::TextEnd) { Ok(word) } else { Err(Unsure) };
            };
            match char {
                '"' if until == Until::Quote => break,
                '}' if matches!(until, Until::Brace { .. }) => break,
                '<' | '>' if until == Until::WordEnd && self.rest()[1..].starts_with('(') => {
                    self.at += 2;
                    let script = self.substitution()?;
                    word.pieces.push(Piece::Other(Word { pieces: vec![Piece::Output { script, quoted: true }] }));
                }
                char if until == Until::WordEnd && ends_word(char) => break,
                '\\' => self.escape(quoted, &mut word)?,
                '$' => self.dollar(quoted, &mut word)?,
                '`' => self.backquotes(quoted, &mut word)?,
                '\'' if !quoted => {
                    let (inside, _) = self.rest()[1..].split_once('\'').ok_or(Unsure)?;
                    word.pieces.push(Piece::Quoted(inside.to_owned()));
                    self.at += inside.len() + 2;
                }
                '"' if !matches!(until, Until::TextEnd) => {
                    self.next()?;
                    word.pieces.push(Piece::Quoted(String::new()));
                    let inside = self.nested(|parser| parser.pieces(Until::Quote))?;
                    self.expect("\"")?;
                    word.pieces.extend(inside.pieces);
                }
                char => {
                    self.next()?;
                    push(&mut word, char, quoted);
                }
            }
        }
        Ok(word)
    }

    fn escape(&mut self, quoted: bool, word: &mut Word) -> Parsed<()> {
        self.next()?;
        let Some(char) = self.peek() else {
            push(word, '\\', true);
            return Ok(());
        };
        match char {
            '\n' => {}
            '$' | '`' | '"' | '\\' => push(word, char, true),
            // In double quotes it is a backslash like any other.
            _ if quoted => {
                push(word, '\\', true);
                return Ok(());
            }
            char => push(word, char, true),
        }
        self.next().map(drop)
    }

    fn dollar(&mut self, quoted: bool, word: &mut Word) -> Parsed<()> {
        if self.rest().starts_with("$((")
            && let Ok(inside) = self.arithmetic(1)
        {
            word.pieces.push(Piece::Other(inside));
            return Ok(());
        }
        self.next()?;
        match self.peek() {
            Some('(') => {
                self.next()?;
                let script = self.substitution()?;
                word.pieces.push(Piece::Output { script, quoted });
            }
            Some('{') => {
                self.next()?;
                let piece = self.nested(|parser| parser.braced(quoted))?;
                word.pieces.push(piece);
            }
            Some('\'') if !quoted => {
                self.next()?;
                let text = self.escaped_string()?;
                word.pieces.push(Piece::Quoted(text));
            }
            // `$"…"` is `"…"` in the user's language.
            Some('"') if !quoted => {}
            Some(char) if is_name_start(char) => {
                let name: String = self.rest().chars().take_while(|char| is_name(*char)).collect();
                self.at += name.len();
                word.pieces.push(Piece::Variable { name, default: None, quoted });
            }
            Some(char) if char.is_ascii_digit() || "@*#?-$!".contains(char) => {
                self.next()?;
                word.pieces.push(Piece::Other(Word::default()));
            }
            _ => push(word, '$', true),
        }
        Ok(())
    }

    /// After `$(`: the commands up to its end.
    fn substitution(&mut self) -> Parsed<Script> {
        // Here-documents of the line outside begin after its end, not in here.
        let outside = std::mem::take(&mut self.pending);
        let nodes = self.nested(|parser| parser.body(&[]))?;
        self.expect(")")?;
        let inside = std::mem::replace(&mut self.pending, outside);
        if inside.is_empty() { Ok(Script { nodes, certain: true }) } else { Err(Unsure) }
    }

    fn backquotes(&mut self, quoted: bool, word: &mut Word) -> Parsed<()> {
        self.next()?;
        let mut text = String::new();
        loop {
            match self.next()? {
                '`' => break,
                '\\' => match self.next()? {
                    char @ ('`' | '\\' | '$') => text.push(char),
                    char => text.extend(['\\', char]),
                },
                char => text.push(char),
            }
        }
        let script = script(&text, self.depth + 1);
        self.certain &= script.certain;
        word.pieces.push(Piece::Output { script, quoted });
        Ok(())
    }

    /// After `${`.
    fn braced(&mut self, quoted: bool) -> Parsed<Piece> {
        let name: String = self.rest().chars().take_while(|char| is_name(*char)).collect();
        self.at += name.len();
        let known = name.starts_with(is_name_start);
        let simple = self.rest().starts_with('}');
        let default = !simple && [":-", "-", ":=", "="].iter().any(|token| self.eat(token));
        // `${NAME:?message}` is the variable, or no command runs at all.
        let demanded = !simple && !default && [":?", "?"].iter().any(|token| self.eat(token));
        let inside = self.pieces(Until::Brace { quoted })?;
        self.expect("}")?;
        Ok(match known {
            true if simple || (demanded && inside.scripts().is_empty()) => {
                Piece::Variable { name, default: None, quoted }
            }
            true if default => Piece::Variable { name, default: Some(inside), quoted },
            _ => Piece::Other(inside),
        })
    }

    /// After `$'`.
    fn escaped_string(&mut self) -> Parsed<String> {
        let mut text = String::new();
        loop {
            match self.next()? {
                '\'' => return Ok(text),
                '\\' => match self.next()? {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'a' => text.push('\u{7}'),
                    'b' => text.push('\u{8}'),
                    'e' | 'E' => text.push('\u{1b}'),
                    'f' => text.push('\u{c}'),
                    'v' => text.push('\u{b}'),
                    'x' => text.push(self.code(16, 2)?),
                    'u' => text.push(self.code(16, 4)?),
                    'U' => text.push(self.code(16, 8)?),
                    digit @ '0'..='7' => {
                        self.at -= digit.len_utf8();
                        text.push(self.code(8, 3)?);
                    }
                    'c' => return Err(Unsure),
                    char => text.push(char),
                },
                char => text.push(char),
            }
        }
    }

    /// A character by its number. Bytes beyond ASCII would make characters together, and are not followed.
    fn code(&mut self, radix: u32, longest: usize) -> Parsed<char> {
        let digits: String = self.rest().chars().take(longest).take_while(|char| char.is_digit(radix)).collect();
        self.at += digits.len();
        let number = u32::from_str_radix(&digits, radix).map_err(|_| Unsure)?;
        let one_byte = longest < 4;
        char::from_u32(number).filter(|char| !one_byte || char.is_ascii()).ok_or(Unsure)
    }

    /// `((…))` behind so many characters, as a word of the expansions in it.
    fn arithmetic(&mut self, before: usize) -> Parsed<Word> {
        let inside = self.rest().get(before + 2..).ok_or(Unsure)?;
        let mut open = 0_usize;
        for (at, char) in inside.char_indices() {
            match char {
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                ')' if inside[at + 1..].starts_with(')') => {
                    let word = self.inner_word(&inside[..at])?;
                    self.at += before + 2 + at + 2;
                    return Ok(word);
                }
                ')' => return Err(Unsure),
                _ => {}
            }
        }
        Err(Unsure)
    }

    /// A text of its own in which only expansions count.
    fn inner_word(&mut self, text: &str) -> Parsed<Word> {
        if self.depth >= DEEPEST {
            return Err(Unsure);
        }
        let mut inner = Parser::new(text, self.depth + 1);
        let word = inner.pieces(Until::TextEnd)?;
        self.certain &= inner.certain;
        Ok(word)
    }
}

/// Words that are only looked at.
fn test_of(words: Vec<Word>) -> SimpleCommand {
    let test = Word { pieces: vec![Piece::Quoted("[[".to_owned())] };
    SimpleCommand { words: std::iter::once(test).chain(words).collect(), ..SimpleCommand::default() }
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

fn push(word: &mut Word, char: char, quoted: bool) {
    match (word.pieces.last_mut(), quoted) {
        (Some(Piece::Plain(text)), false) | (Some(Piece::Quoted(text)), true) => text.push(char),
        (_, false) => word.pieces.push(Piece::Plain(char.to_string())),
        (_, true) => word.pieces.push(Piece::Quoted(char.to_string())),
    }
}
