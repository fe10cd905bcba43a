//! What a sed script does besides editing its input: `e` runs commands, `w` writes files. Reads just enough of the language
//! to tell; what it does not understand counts as doing so.

use super::Field;

/// Whether the script among a sed's words runs commands or writes files, or may.
pub(crate) fn acts(words: &[Field]) -> bool {
    let Some(words) = words.iter().skip(1).cloned().collect::<Option<Vec<String>>>() else { return true };
    script(&words).is_none_or(|script| Scanner { rest: &script }.acts())
}

/// The script of these arguments; nothing if it lies elsewhere.
fn script(words: &[String]) -> Option<String> {
    let mut given: Vec<&str> = Vec::new();
    let mut operand = None;
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if word == "--" {
            operand = operand.or_else(|| words.next());
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            match name {
                _ if name.starts_with('e') => given.push(value.or_else(|| words.next())?),
                _ if name.starts_with("fi") || name == "f" => return None,
                _ if name.starts_with('l') && value.is_none() => drop(words.next()),
                _ => {}
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let Some(at) = letters.find(['e', 'f', 'i', 'I', 'l']) else { continue };
            let (letter, value) = (&letters[at..=at], &letters[at + 1..]);
            match letter {
                "e" if value.is_empty() => given.push(words.next()?),
                "e" => given.push(value),
                "l" if value.is_empty() => drop(words.next()),
                "f" => return None,
                _ => {}
            }
        } else if operand.is_none() {
            operand = Some(word);
        }
    }
    Some(if given.is_empty() { operand.unwrap_or_default().to_owned() } else { given.join("\n") })
}

struct Scanner<'s> {
    rest: &'s str,
}

impl Scanner<'_> {
    fn acts(mut self) -> bool {
        loop {
            self.skip(|char| char.is_whitespace() || matches!(char, ';' | '{' | '}'));
            if self.rest.is_empty() {
                return false;
            }
            match self.command() {
                Some(false) => {}
                Some(true) | None => return true,
            }
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

    /// One command with its addresses: whether it acts; nothing where it is not understood.
    fn command(&mut self) -> Option<bool> {
        self.addresses()?;
        match self.next()? {
            'e' | 'w' | 'W' => return Some(true),
            '{' | '}' => return Some(false),
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {}
            '#' | 'a' | 'i' | 'c' | 'r' | 'R' => {
                self.line();
                return Some(false);
            }
            ':' | 'b' | 't' | 'T' | 'v' => self.skip(|char| !matches!(char, ';' | '\n' | '}')),
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
            }
            _ => return None,
        }
        // What stands behind a command and does not end it is a flag such as `e` or `w`, or not understood.
        let ended = self.rest.is_empty() || self.rest.starts_with([';', '\n', '}', ' ', '\t', '#']);
        ended.then_some(false)
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
                char if char.is_ascii_digit() || matches!(char, '$' | ',' | '~' | '+' | '!' | ' ' | '\t') => {
                    self.next();
                }
                _ => return Some(()),
            }
        }
    }

    /// Up to the delimiter that no backslash protects.
    fn section(&mut self, end: char) -> Option<()> {
        loop {
            match self.next()? {
                '\\' => drop(self.next()?),
                char if char == end => return Some(()),
                _ => {}
            }
        }
    }

    /// The rest of the line, and those that a backslash joins to it.
    fn line(&mut self) {
        let mut escaped = false;
        while let Some(char) = self.next() {
            if char == '\n' && !escaped {
                return;
            }
            escaped = char == '\\' && !escaped;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn does(words: &[&str]) -> bool {
        acts(&[&["sed"], words].concat().iter().map(|word| Some((*word).to_owned())).collect::<Vec<_>>())
    }

    #[test]
    fn scripts_that_edit_are_told_from_those_that_act() {
        for words in [
            &["-i", "s/one/two/g", "file"][..],
            &["-n", "1,5p", "here"],
            &["-i.bak", "s|e|w|", "e"],
            &["s/else/e w/", "x"],
            &["-e", "/web/d", "-e", "s/x/y/2g;p"],
            &["-E", "/a/,/e/{s/w/x/;p}", "x"],
            &["$!N;s/\\n/ /", "x"],
            &["\\%e%d", "x"],
            &["1a e text\np", "x"],
            &["y/ew/we/", "x"],
            &["/x/{p;d}", "x"],
            &["{p}", "x"],
        ] {
            assert!(!does(words), "{words:?}");
        }
        for words in [
            &["1e rm x", "y"][..],
            &["1erm x", "y"],
            &["-n", "e"],
            &["s/a/b/e", "y"],
            &["s/a/b/ge", "y"],
            &["s/a/b/w out", "y"],
            &["w out", "y"],
            &["-n", "/x/w out"],
            &["p;$!{e rm x\n}", "y"],
            &["{e rm x\n}", "y"],
            &["-e", "p", "-e", "1e rm"],
            &["-ne1e rm", "y"],
            &["--expression=1e rm", "y"],
            &["--expr", "1e rm", "y"],
            &["-f", "-", "y"],
            &["--file=x", "y"],
            &["y", "-e", "e"],
            &["1~2e rm", "y"],
            &["\\%x%e rm", "y"],
            &["s%a%b%e", "y"],
            &["#n\ne rm", "y"],
            &["s\\a\\b\\e", "y"],
        ] {
            assert!(does(words), "{words:?}");
        }
    }
}
