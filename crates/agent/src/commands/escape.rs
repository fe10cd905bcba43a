//! The user's arguments inside a shell command: one piece of data to the shell, whatever they say and wherever in the
//! command they stand. Where that cannot be, an error. The tools run `bash`, or `sh`, on every platform: so one rule.

use super::template::ARGS;

/// A place in a shell command where arguments cannot be made safe.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unsafe {
    /// Where `{{args}}` is in the command.
    pub(super) at: usize,
    /// Which sort of place it is.
    pub(super) why: &'static str,
}

/// `arg` as one word of a POSIX shell. Nothing stays nothing, so that a command without arguments has no empty one.
pub fn shell_escape(arg: &str) -> String {
    if arg.chars().all(is_plain) { arg.to_owned() } else { quoted(arg) }
}

fn is_plain(char: char) -> bool {
    char.is_ascii_alphanumeric() || "_-./:,@%+".contains(char)
}

fn quoted(arg: &str) -> String {
    format!("'{}'", arg.replace('\'', r"'\''"))
}

/// The command with `args` in the place of every `{{args}}`. Between quotes, those are closed and opened again around
/// it: quotes inside quotes would protect from nothing.
pub(super) fn fill(command: &str, args: &str) -> Result<String, Unsafe> {
    let mut filled = String::with_capacity(command.len());
    let mut reader = ShellCursor::new(command);
    let mut done = 0;
    for (at, _) in command.match_indices(ARGS) {
        let quote = reader.quote_at(at).map_err(|why| Unsafe { at, why })?;
        filled.push_str(&command[done..at]);
        done = at + ARGS.len();
        reader.at = done;
        match quote {
            _ if args.is_empty() => {}
            Some(quote) => filled.extend([quote, &quoted(args), quote]),
            None if stands_alone(command, at) && !RESERVED.contains(&args) => filled.push_str(&shell_escape(args)),
            None => filled.push_str(&quoted(args)),
        }
    }
    filled.push_str(&command[done..]);
    Ok(filled)
}

/// Whether the arguments are a whole word; otherwise they need quotes, or `$a{{args}}` would be another variable.
fn stands_alone(command: &str, at: usize) -> bool {
    let before = command[..at].chars().next_back();
    let after = command[at + ARGS.len()..].chars().next();
    before.is_none_or(|before| " \t\n".contains(before)) && after.is_none_or(|after| " \t\n".contains(after))
}

/// Words that are syntax to a shell unless they are quoted.
const RESERVED: [&str; 16] = [
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select", "then",
    "until", "while",
];

/// What parts words, to the shell.
const SEPARATORS: &str = " \t\n;|&()<>";

/// What the shell would make of the next character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// A command, at the top or in parentheses.
    Command,
    Single,
    Double,
}

/// Reads a shell command as far as needed to know between which quotes a place is. It gives up rather than guess.
struct ShellCursor<'a> {
    command: &'a str,
    at: usize,
    frames: Vec<Frame>,
    lost: Option<&'static str>,
}

impl<'a> ShellCursor<'a> {
    fn new(command: &'a str) -> Self {
        // The patterns of `case` have parentheses that only close.
        let lost = command.contains("esac").then_some("in a command with case");
        ShellCursor { command, at: 0, frames: vec![Frame::Command], lost }
    }

    /// The quote that `place` is between, if any; or why that is unknown.
    fn quote_at(&mut self, place: usize) -> Result<Option<&'static str>, &'static str> {
        while self.at < place && self.lost.is_none() {
            self.step(place);
        }
        match (self.lost, self.frames.last()) {
            (Some(why), _) => Err(why),
            (None, Some(Frame::Single)) => Ok(Some("'")),
            (None, Some(Frame::Double)) => Ok(Some("\"")),
            (None, _) => Ok(None),
        }
    }

    fn step(&mut self, place: usize) {
        let rest = &self.command[self.at..];
        let Some(char) = rest.chars().next() else { return };
        let after = &rest[char.len_utf8()..];
        let frame = self.frames.last().copied().unwrap_or(Frame::Command);
        let mut width = char.len_utf8();
        match (frame, char) {
            (Frame::Single, '\'') | (Frame::Double, '"') => drop(self.frames.pop()),
            (Frame::Single, _) => {}
            (_, '\\') => {
                width += after.chars().next().map_or(0, char::len_utf8);
                if self.at + 1 == place {
                    self.lost = Some("after a backslash");
                }
            }
            (_, '`') => self.lost = Some("in or after backquotes"),
            (_, '$') => width = self.dollar(after, frame),
            (Frame::Double, _) => {}
            (Frame::Command, '\'') => self.frames.push(Frame::Single),
            (Frame::Command, '"') => self.frames.push(Frame::Double),
            (Frame::Command, '(') if after.starts_with('(') => self.lost = Some("in or after arithmetic"),
            (Frame::Command, '(') => self.frames.push(Frame::Command),
            (Frame::Command, ')') if self.frames.len() > 1 => drop(self.frames.pop()),
            (Frame::Command, '<') if after.starts_with("<<") => width = 3,
            (Frame::Command, '<') if after.starts_with('<') => self.lost = Some("after the start of a here-document"),
            (Frame::Command, '#') => width = self.hash(rest, place),
            (Frame::Command, _) => {}
        }
        self.at += width;
    }

    /// A `$` and what it begins; how wide it is.
    fn dollar(&mut self, after: &str, frame: Frame) -> usize {
        if after.starts_with("((") || after.starts_with('[') {
            return self.lose("in or after arithmetic");
        }
        if after.starts_with('\'') && frame == Frame::Command {
            return self.lose("in or after $'…'");
        }
        if after.starts_with('(') {
            self.frames.push(Frame::Command);
            return 2;
        }
        match after.strip_prefix('{').map(|inside| inside.split_once('}')) {
            None => 1,
            Some(Some((name, _))) if !name.contains(['\'', '"', '`', '$', '\\', '{', '(']) => 1 + name.len() + 2,
            Some(_) => self.lose("in or after ${…}"),
        }
    }

    /// A `#`, and the comment that it begins at the start of a word; how wide that is.
    fn hash(&mut self, rest: &str, place: usize) -> usize {
        let mut before = self.command[..self.at].chars().rev();
        let (last, escape) = (before.next(), before.next() == Some('\\'));
        match last {
            Some(last) if !SEPARATORS.contains(last) => 1,
            // Whether a word goes on behind an escaped blank or a parenthesis is more than this reader knows.
            Some(')') => self.lose("after )#"),
            Some(_) if escape => self.lose("after \\ and #"),
            _ => match rest.find('\n') {
                Some(end) if self.at + end < place => end,
                _ => self.lose("in a comment"),
            },
        }
    }

    fn lose(&mut self, why: &'static str) -> usize {
        self.lost = Some(why);
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookwright_testkit::deadline::*;

    const HOSTILE: &[&str] = &[
        "plain",
        "a b",
        "it's",
        r#""; touch pwned; ""#,
        "'; touch pwned; '",
        "$(touch pwned)",
        "`touch pwned`",
        "\\",
        "\\'; touch pwned #",
        "a\ntouch pwned",
        "x\n)\ntouch pwned\n(",
        "}} > pwned",
        "$HOME ~ * ? [a] {1,2} !! # & | < >",
        "A=b",
        "é€😀\u{a0}\t.",
        "{{args}}",
    ];

    #[test]
    fn words() {
        assert_eq!(shell_escape(""), "");
        assert_eq!(shell_escape("src/a-b_1.rs"), "src/a-b_1.rs");
        assert_eq!(shell_escape("a b"), "'a b'");
        assert_eq!(shell_escape("it's"), r"'it'\''s'");
        for special in ["$x", "~", "a=b", "#", "*", "\n"] {
            assert_eq!(shell_escape(special), format!("'{special}'"));
        }
    }

    #[test]
    fn every_place_has_its_form() {
        let filled = |command: &str| fill(command, "a b").unwrap();
        assert_eq!(filled("grep -r {{args}} ."), "grep -r 'a b' .");
        assert_eq!(filled(r#"grep "x {{args}} y""#), r#"grep "x "'a b'" y""#);
        assert_eq!(filled("grep 'x {{args}}'"), "grep 'x ''a b'''");
        let nested = r#"echo "$(grep {{args}} "f {{args}}")" {{args}}"#;
        assert_eq!(filled(nested), r#"echo "$(grep 'a b' "f "'a b'"")" 'a b'"#);
        assert_eq!(fill("echo {{args}} $v{{args}}", "x").unwrap(), "echo x $v'x'");
        assert_eq!(fill("git log {{args}}", "").unwrap(), "git log ");
        assert_eq!(fill("{{args}} x; then", "if").unwrap(), "'if' x; then");
        assert_eq!(fill("ls", "x").unwrap(), "ls");
    }

    #[test]
    fn places_that_cannot_be_made_safe() {
        for (command, why) in [
            ("cat <<EOF\n{{args}}\nEOF", "after the start of a here-document"),
            ("echo `echo {{args}}`", "in or after backquotes"),
            ("echo $'{{args}}'", "in or after $'…'"),
            ("echo ${{args}}", "in or after ${…}"),
            (r#"echo "${x:-{{args}}}""#, "in or after ${…}"),
            ("echo ${x:-'}'} {{args}}", "in or after ${…}"),
            ("echo $(({{args}}))", "in or after arithmetic"),
            ("(( {{args}} ))", "in or after arithmetic"),
            ("echo $[{{args}}]", "in or after arithmetic"),
            ("ls # {{args}}", "in a comment"),
            (r"echo \{{args}}", "after a backslash"),
            (r#"echo "\{{args}}""#, "after a backslash"),
            ("echo a\\\n#' {{args}}", "after \\ and #"),
            ("(ls)#' {{args}}", "after )#"),
            (r#"echo "$(case x in x) echo {{args}};; esac)""#, "in a command with case"),
        ] {
            assert_eq!(fill(command, "x").map_err(|problem| problem.why), Err(why), "{command}");
        }
    }

    /// The shell itself is the judge: each command prints the arguments between brackets and does nothing else.
    #[cfg(unix)]
    #[test]
    fn no_argument_is_more_than_data() {
        let dir = tempfile::tempdir().unwrap();
        let commands = [
            "printf '[%s]' {{args}}",
            r#"printf '[%s]' "{{args}}""#,
            "printf '[%s]' '{{args}}'",
            r#"printf '[%s]' "$(printf %s {{args}})""#,
            r#"printf '[%s]' "$(printf %s "{{args}}")""#,
            r#"printf '[%s]' "$(printf %s '{{args}}')" # it's over"#,
            "# it's a start\nprintf '[%s]' {{args}}",
            r#"(printf '[%s]' "$(cat <<<{{args}})")"#,
            r#"x='a"b'; : "it's ${x#a} $# \" "; printf '[%s]' {{args}}"#,
            r#"printf '[%s]' {{args}}; : "{{args}}" '{{args}}' a#'{{args}}' <(: '{{args}}')"#,
        ];
        for (command, args) in commands.iter().flat_map(|command| HOSTILE.iter().map(move |args| (command, args))) {
            let filled = fill(command, args).unwrap();
            let output =
                std::process::Command::new("bash").args(["-c", &filled]).current_dir(&dir).output_in_time().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), format!("[{args}]"), "{filled}");
            assert!(std::fs::read_dir(&dir).unwrap().next().is_none(), "{filled}");
        }
    }
}
