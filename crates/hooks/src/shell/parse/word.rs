//! The inside of words: quotes, escapes, variables and substitutions.

use super::{DEEPEST, Parsed, Parser, Unsure, ends_word, is_name, is_name_start, script, units_to_read};
use crate::shell::{PathPart, Piece, Script, Word};

/// What ends a run of pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
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

impl Parser<'_> {
    pub(super) fn word(&mut self) -> Parsed<Word> {
        let word = self.pieces(Until::WordEnd)?;
        if word.pieces.is_empty() { Err(Unsure) } else { Ok(word) }
    }

    pub(super) fn pieces(&mut self, until: Until) -> Parsed<Word> {
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
        if self.rest().starts_with("$((") {
            if let Ok(inside) = self.arithmetic(1) {
                word.pieces.push(Piece::Other(inside));
                return Ok(());
            }
            // It is read again, as a substitution. Nested ones double the work at each level.
            self.pay_for(self.rest())?;
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
            Some(char) if is_parameter(char) => {
                self.next()?;
                word.pieces.push(Piece::Variable { name: char.to_string(), default: None, quoted });
            }
            Some(char) if "#?-$!".contains(char) => {
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
        let script = script(&text, self.depth + 1, self.budget);
        self.certain &= script.certain;
        word.pieces.push(Piece::Output { script, quoted });
        Ok(())
    }

    /// After `${`.
    fn braced(&mut self, quoted: bool) -> Parsed<Piece> {
        let mut name: String = self.rest().chars().take_while(|char| is_name(*char)).collect();
        if name.is_empty() {
            name = self.rest().chars().take(1).filter(|char| matches!(char, '@' | '*')).collect();
        }
        self.at += name.len();
        let known = name.starts_with(|char| is_name_start(char) || is_parameter(char));
        // Without an index, an array is its first element.
        if name == "BASH_SOURCE" {
            self.eat("[0]");
        }
        for (token, part) in [("%/*}", PathPart::Directory), ("##*/}", PathPart::Name)] {
            if known && self.eat(token) {
                self.at -= 1;
                self.expect("}")?;
                return Ok(Piece::PathPart { name, part, quoted });
            }
        }
        let simple = self.rest().starts_with('}');
        let default = !simple && [":-", "-", ":=", "="].iter().any(|token| self.eat(token));
        // `${NAME:?message}` is the variable, or no command runs at all.
        let demanded = !simple && !default && [":?", "?"].iter().any(|token| self.eat(token));
        let inside = self.pieces(Until::Brace { quoted })?;
        self.expect("}")?;
        // `${NAME@P}` expands what the variable holds, and so may run anything.
        self.certain &= !self.text[..self.at].ends_with("@P}");
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
    pub(super) fn arithmetic(&mut self, before: usize) -> Parsed<Word> {
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

    /// Pays for reading a text.
    fn pay_for(&self, text: &str) -> Parsed<()> {
        if self.budget.spend(units_to_read(text)) { Ok(()) } else { Err(Unsure) }
    }

    /// A text of its own in which only expansions count.
    pub(super) fn inner_word(&mut self, text: &str) -> Parsed<Word> {
        if self.depth >= DEEPEST {
            return Err(Unsure);
        }
        self.pay_for(text)?;
        let mut inner = Parser::new(text, self.depth + 1, self.budget);
        let word = inner.pieces(Until::TextEnd)?;
        self.certain &= inner.certain;
        Ok(word)
    }
}

/// The name of what a script was given.
fn is_parameter(char: char) -> bool {
    char.is_ascii_digit() || matches!(char, '@' | '*')
}

fn push(word: &mut Word, char: char, quoted: bool) {
    match (word.pieces.last_mut(), quoted) {
        (Some(Piece::Plain(text)), false) | (Some(Piece::Quoted(text)), true) => text.push(char),
        (_, false) => word.pieces.push(Piece::Plain(char.to_string())),
        (_, true) => word.pieces.push(Piece::Quoted(char.to_string())),
    }
}
