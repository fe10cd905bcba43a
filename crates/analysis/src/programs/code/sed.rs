//! `sed`: a language that edits its input, and also reads (`r`), writes (`w`) and runs (`e`).

use crate::programs::call::Call;
use crate::programs::spec::{Access, Aspect, Depth};
use crate::value::Argument;

pub(super) fn run(call: &mut Call<'_, '_>) {
    let mut operands = call.parsed.operands.clone();
    let mut scripts: Vec<Argument> = call.parsed.values("-e").cloned().collect();
    if scripts.is_empty() && !call.parsed.has("-f") && !operands.is_empty() {
        scripts.push(operands.remove(0));
    }
    let is_known = |script: &&Argument| !call.is_found_name(script);
    let texts: Option<Vec<&str>> =
        scripts.iter().map(|script| Some(script).filter(is_known).and_then(Argument::text)).collect();
    match texts {
        Some(texts) => script(call, &texts.join("\n")),
        None => call.interpreter.unsure_all("the sed script is only known when it runs"),
    }
    let in_place = call.parsed.has("-i");
    let suffix = call.parsed.values("-i").next_back().and_then(Argument::text).unwrap_or_default().to_owned();
    if in_place && suffix.contains(['*', '/']) {
        call.interpreter.unsure(Aspect::Writes, "sed keeps a copy of the file elsewhere");
    }
    for file in &operands {
        // Only in place is it a file of this name for sure.
        if !in_place && file.text() == Some("-") {
            call.read_dash(Depth::Itself);
            continue;
        }
        // BSD's sed has the ending of copies in a word of its own, which may be empty.
        if in_place && file.text() == Some("") {
            continue;
        }
        call.touch(Access::Read, file, Depth::Itself);
        if in_place {
            call.touch(Access::Write, file, Depth::Itself);
            if let Some(name) = file.text().filter(|_| !suffix.is_empty()) {
                call.touch(Access::Write, &Argument::known(format!("{name}{suffix}")), Depth::Itself);
            }
        }
    }
}

fn script(call: &mut Call<'_, '_>, text: &str) {
    let mut scanner = Scanner { rest: text, files: Vec::new() };
    let understood = scanner.script();
    for (access, file) in std::mem::take(&mut scanner.files) {
        if !matches!(file.as_str(), "/dev/stdout" | "/dev/stderr" | "/dev/stdin") {
            call.interpreter.exceeds();
            call.touch(access, &Argument::known(file), Depth::Itself);
        }
    }
    if understood.is_none() {
        call.interpreter.unsure_all("the sed script runs something, or is not understood");
    }
}

/// Goes through a script. Every step gives nothing where it is not understood or runs something.
struct Scanner<'s> {
    rest: &'s str,
    files: Vec<(Access, String)>,
}

impl Scanner<'_> {
    fn script(&mut self) -> Option<()> {
        loop {
            self.skip(|char| char.is_whitespace() || matches!(char, ';' | '{' | '}'));
            if self.rest.is_empty() {
                return Some(());
            }
            self.command()?;
        }
    }

    fn skip(&mut self, what: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(what);
    }

    fn next(&mut self) -> Option<char> {
        let char = self.rest.chars().next()?;
        self.rest = &self.rest[char.len_utf8()..];
        Some(char)
    }

    fn line(&mut self) -> String {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let line = self.rest[..end].to_owned();
        self.rest = &self.rest[end..];
        line
    }

    /// One command with its addresses.
    fn command(&mut self) -> Option<()> {
        self.addresses()?;
        match self.next()? {
            '{' | '}' => return Some(()),
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {}
            '#' => {
                self.line();
                return Some(());
            }
            'a' | 'i' | 'c' => {
                // The text goes on behind every backslash at the end of a line.
                while self.line().ends_with('\\') && self.next() == Some('\n') {}
                return Some(());
            }
            command @ ('r' | 'R' | 'w' | 'W') => {
                let file = self.line();
                return self.file(if matches!(command, 'r' | 'R') { Access::Read } else { Access::Write }, &file);
            }
            ':' | 'b' | 't' | 'T' => {
                let label = self.line();
                // Where a label ends differs between the implementations.
                return label.trim().chars().all(|char| char.is_ascii_alphanumeric() || char == '_').then_some(()).or_else(|| {
                    let (name, rest) = label.trim_start().split_once([';', '}'])?;
                    let plain = name.trim().chars().all(|char| char.is_ascii_alphanumeric());
                    if !plain || !matches!(label.trim_start().chars().next(), Some(char) if char.is_ascii_alphanumeric() || char == ';' || char == '}') {
                        return None;
                    }
                    // GNU's sed ends it there, BSD's takes the rest of the line for the label: nothing may happen in it.
                    Scanner { rest, files: Vec::new() }.harmless_rest()
                });
            }
            'q' | 'Q' | 'l' | 'L' => self.skip(|char| char.is_ascii_digit() || char == ' '),
            'y' => {
                let end = self.next()?;
                self.section(end)?;
                self.section(end)?;
            }
            's' => {
                let end = self.next()?;
                self.section(end)?;
                self.section(end)?;
                self.skip(|char| char.is_ascii_digit() || matches!(char, 'g' | 'p' | 'i' | 'I' | 'm' | 'M'));
                if self.rest.starts_with('w') {
                    self.next();
                    let file = self.line();
                    return self.file(Access::Write, &file);
                }
            }
            _ => return None,
        }
        // What stands behind a command and does not end it is a flag such as `e`, or not understood.
        (self.rest.is_empty() || self.rest.starts_with([';', '\n', '}', ' ', '\t', '#'])).then_some(())
    }

    fn harmless_rest(&mut self) -> Option<()> {
        self.script()?;
        self.files.is_empty().then_some(())
    }

    fn file(&mut self, access: Access, line: &str) -> Option<()> {
        let name = line.trim_start();
        if name.is_empty() || name.ends_with('\\') {
            return None;
        }
        self.files.push((access, name.to_owned()));
        Some(())
    }

    /// `1,5`, `$`, `/x/I,+3`, `\%x%` and `!`.
    fn addresses(&mut self) -> Option<()> {
        loop {
            match self.rest.chars().next()? {
                '/' => {
                    self.next();
                    self.section('/')?;
                    self.skip(|char| matches!(char, 'I' | 'M'));
                }
                '\\' => {
                    self.next();
                    let end = self.next()?;
                    self.section(end)?;
                    self.skip(|char| matches!(char, 'I' | 'M'));
                }
                char if char.is_ascii_digit() || matches!(char, ',' | '$' | '!' | '~' | '+' | ' ' | '\t') => {
                    self.next();
                }
                _ => return Some(()),
            }
        }
    }

    /// Text up to a delimiter.
    fn section(&mut self, end: char) -> Option<()> {
        // A delimiter that is special in patterns is read differently by different versions.
        if end == '\\' || end == '\n' || end.is_whitespace() || end.is_ascii_alphanumeric() {
            return None;
        }
        let mut bracket = false;
        loop {
            match self.next()? {
                char if char == end && !bracket => return Some(()),
                // Whether a delimiter in brackets ends the pattern differs, too.
                char if char == end => return None,
                '\\' => {
                    self.next()?;
                }
                '[' => bracket = true,
                ']' => bracket = false,
                _ => {}
            }
        }
    }
}
