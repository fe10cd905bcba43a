//! A command's prompt, read once from left to right: text, `{{args}}`, `@{path}` and `!{shell}`.
//! Only the template itself passes through here, never what is put into it.

/// What the user's arguments take the place of.
pub(super) const ARGS: &str = "{{args}}";
const FILE: &str = "@{";
const SHELL: &str = "!{";

/// A piece of a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Segment<'a> {
    /// Text that stays.
    Text(&'a str),
    /// `{{args}}`.
    Args,
    /// `@{path}`.
    File {
        /// All of it.
        written: &'a str,
        /// What is between the braces.
        path: &'a str,
    },
    /// `!{command}`; one without a command is left out.
    Shell {
        /// What is between the braces.
        command: &'a str,
        /// Where that begins in the prompt.
        at: usize,
    },
}

/// A brace that is never closed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unclosed {
    /// Where it is in the prompt.
    pub(super) at: usize,
    /// `@{` or `!{`.
    pub(super) opener: &'static str,
}

/// Reads a prompt. What is inside a block belongs to it: `@{u}` in `!{git log @{u}..}` is git's.
pub(super) fn parse(prompt: &str) -> Result<Vec<Segment<'_>>, Unclosed> {
    let mut segments = Vec::new();
    let mut done = 0;
    while let Some((at, opener)) = next(prompt, done) {
        if at > done {
            segments.push(Segment::Text(&prompt[done..at]));
        }
        if opener == ARGS {
            segments.push(Segment::Args);
            done = at + ARGS.len();
            continue;
        }
        let start = at + opener.len();
        let end = start + closing(&prompt[start..]).ok_or(Unclosed { at, opener })?;
        done = end + 1;
        let inside = prompt[start..end].trim();
        if opener == FILE {
            segments.push(Segment::File { written: &prompt[at..done], path: inside });
        } else if !inside.is_empty() {
            let blank = prompt[start..end].len() - prompt[start..end].trim_start().len();
            segments.push(Segment::Shell { command: inside, at: start + blank });
        }
    }
    if done < prompt.len() {
        segments.push(Segment::Text(&prompt[done..]));
    }
    Ok(segments)
}

/// The first opener at or after `from`.
fn next(prompt: &str, from: usize) -> Option<(usize, &'static str)> {
    prompt[from..].match_indices(['@', '!', '{']).find_map(|(at, _)| {
        let at = from + at;
        let opener = [FILE, SHELL, ARGS].into_iter().find(|opener| prompt[at..].starts_with(opener))?;
        Some((at, opener))
    })
}

/// Where the brace is that closes one already open. Quotes hide no brace: Gemini's rule, which files rely on.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1_usize;
    text.match_indices(['{', '}']).find_map(|(at, brace)| {
        depth = if brace == "{" { depth + 1 } else { depth - 1 };
        (depth == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shells(prompt: &str) -> Vec<&str> {
        let shell = |segment| match segment {
            Segment::Shell { command, .. } => Some(command),
            _ => None,
        };
        parse(prompt).unwrap().into_iter().filter_map(shell).collect()
    }

    #[test]
    fn pieces_in_their_order() {
        let expected = [
            Segment::Text("a "),
            Segment::Args,
            Segment::Text(" b "),
            Segment::File { written: "@{ x.md }", path: "x.md" },
            Segment::Shell { command: "ls {{args}}", at: 25 },
            Segment::Text("."),
        ];
        assert_eq!(parse("a {{args}} b @{ x.md }!{ ls {{args}} }.").unwrap(), expected);
        assert_eq!(parse("").unwrap(), []);
        assert_eq!(parse("{args} {{ args }} a@b {x} !x é").unwrap(), [Segment::Text("{args} {{ args }} a@b {x} !x é")]);
    }

    #[test]
    fn braces_are_counted_wherever_they_stand() {
        assert_eq!(shells("!{awk '{ print $1 }' f}"), ["awk '{ print $1 }' f"]);
        assert_eq!(shells(r#"!{curl -d '{"a":{"b":1}}' x} !{ls}"#), [r#"curl -d '{"a":{"b":1}}' x"#, "ls"]);
        assert_eq!(shells("!{{{args}}}"), ["{{args}}"]);
        assert_eq!(shells(r#"!{echo "}"} tail"}"#), [r#"echo ""#]);
        assert_eq!(shells("!{ } !{} x"), Vec::<&str>::new());
        assert_eq!(parse("@{a{b}c}").unwrap(), [Segment::File { written: "@{a{b}c}", path: "a{b}c" }]);
    }

    #[test]
    fn a_block_keeps_what_is_in_it() {
        assert_eq!(shells("!{git log @{u}..HEAD}"), ["git log @{u}..HEAD"]);
        assert_eq!(parse("@{a!{b}}").unwrap(), [Segment::File { written: "@{a!{b}}", path: "a!{b}" }]);
    }

    #[test]
    fn what_is_never_closed_is_found_where_it_opens() {
        assert_eq!(parse("ab !{x {y} z"), Err(Unclosed { at: 3, opener: SHELL }));
        assert_eq!(parse("@{a} é @{b"), Err(Unclosed { at: 8, opener: FILE }));
        assert_eq!(parse("!{"), Err(Unclosed { at: 0, opener: SHELL }));
        assert_eq!(parse("{{args").unwrap(), [Segment::Text("{{args")]);
    }

    #[test]
    fn large_prompts_take_no_time() {
        assert!(parse(&"{{args}} @ ! { }} @{x} !{y {z}}".repeat(50_000)).is_ok());
        assert!(parse(&format!("{}{}", "!{".repeat(500_000), "}".repeat(500_000))).is_ok());
        assert!(parse(&"!{".repeat(500_000)).is_err());
    }
}
