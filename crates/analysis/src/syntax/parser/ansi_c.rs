//! `$'…'`: quotes with the escapes of C.

use super::{Parsed, Parser};
use crate::syntax::{Problem, Word};

const UNDECODED: Problem = "an escape sequence that is not text";
const LOCALE: Problem = "an escape sequence for a character that not every locale has";

impl Parser<'_> {
    /// At the quote of `$'…'`.
    pub(super) fn ansi_c_quotes(&mut self, word: &mut Word) -> Parsed<()> {
        self.require_bash();
        self.bump();
        let mut bytes = Vec::new();
        loop {
            match self.bump() {
                None => return self.fail("a quote without an end"),
                Some('\'') => break,
                Some('\\') => self.ansi_c_escape(&mut bytes)?,
                Some(char) => push_char(&mut bytes, char),
            }
        }
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => {
                word.push_quoted_text(&text);
                Ok(())
            }
            _ => self.fail(UNDECODED),
        }
    }

    /// Behind a backslash.
    fn ansi_c_escape(&mut self, bytes: &mut Vec<u8>) -> Parsed<()> {
        let Some(char) = self.bump() else { return self.fail("a quote without an end") };
        match char {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(0x1b),
            'f' => bytes.push(0xc),
            'v' => bytes.push(0xb),
            '\\' | '\'' | '"' | '?' => push_char(bytes, char),
            '0'..='7' => {
                self.at -= 1;
                let number = self.digits(8, 3).unwrap_or_default();
                bytes.push((number & 0xff) as u8);
            }
            'x' => match self.digits(16, 2) {
                Some(number) => bytes.push((number & 0xff) as u8),
                None if self.char_at(self.at) == Some('{') => return self.fail(UNDECODED),
                None => bytes.extend(b"\\x"),
            },
            'u' | 'U' => match self.digits(16, if char == 'u' { 4 } else { 8 }).map(char::from_u32) {
                Some(Some(decoded)) => {
                    if !decoded.is_ascii() {
                        self.add_problem(LOCALE);
                    }
                    push_char(bytes, decoded);
                }
                Some(None) => return self.fail(UNDECODED),
                None => bytes.extend([b'\\', char as u8]),
            },
            'c' => match self.bump() {
                Some(control) if control.is_ascii_alphabetic() => bytes.push(control as u8 & 0x1f),
                _ => return self.fail(UNDECODED),
            },
            char => {
                bytes.push(b'\\');
                push_char(bytes, char);
            }
        }
        Ok(())
    }

    /// The number of at most so many digits; `None` if there is no digit.
    fn digits(&mut self, radix: u32, max: usize) -> Option<u32> {
        let mut number = None;
        for _ in 0..max {
            let Some(digit) = self.char_at(self.at).and_then(|char| char.to_digit(radix)) else { break };
            self.at += 1;
            number = Some(number.unwrap_or(0_u32).wrapping_mul(radix) | digit);
        }
        number
    }
}

fn push_char(bytes: &mut Vec<u8>, char: char) {
    bytes.extend(char.encode_utf8(&mut [0; 4]).as_bytes());
}
