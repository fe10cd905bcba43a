//! Parses a command's prompt in one pass: text, `{{args}}`, `@{path}` and `!{shell}`.
//!
//! Only the template itself is parsed, never the content that is inserted.

/// The placeholder for the user's arguments.
pub(super) const ARGS_PLACEHOLDER: &str = "{{args}}";
const FILE_OPENER: &str = "@{";
const SHELL_OPENER: &str = "!{";

/// A segment of a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TemplateSegment<'a> {
    /// Literal text of the prompt.
    Text(&'a str),
    /// The placeholder `{{args}}`.
    Args,
    /// A file block, `@{path}`.
    File {
        /// The whole block as it is written.
        written: &'a str,
        /// The text between the braces.
        path: &'a str,
    },
    /// A shell block, `!{command}`; an empty one is left out.
    Shell {
        /// The text between the braces.
        command: &'a str,
        /// The offset of the command in the prompt.
        at: usize,
    },
}

/// A block whose brace is never closed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnclosedBrace {
    /// The offset of the opener in the prompt.
    pub(super) at: usize,
    /// The opener, `@{` or `!{`.
    pub(super) opener: &'static str,
}

/// Parses a prompt. The inside of a block belongs to it: `@{u}` in `!{git log @{u}..}` is git's.
pub(super) fn parse(prompt: &str) -> Result<Vec<TemplateSegment<'_>>, UnclosedBrace> {
    let mut segments = Vec::new();
    let mut done = 0;
    while let Some((at, opener)) = next_opener(prompt, done) {
        if at > done {
            segments.push(TemplateSegment::Text(&prompt[done..at]));
        }
        if opener == ARGS_PLACEHOLDER {
            segments.push(TemplateSegment::Args);
            done = at + ARGS_PLACEHOLDER.len();
            continue;
        }
        let start = at + opener.len();
        let end = start + closing_brace(&prompt[start..]).ok_or(UnclosedBrace { at, opener })?;
        done = end + 1;
        let inside = prompt[start..end].trim();
        if opener == FILE_OPENER {
            segments.push(TemplateSegment::File { written: &prompt[at..done], path: inside });
        } else if !inside.is_empty() {
            let blank = prompt[start..end].len() - prompt[start..end].trim_start().len();
            segments.push(TemplateSegment::Shell { command: inside, at: start + blank });
        }
    }
    if done < prompt.len() {
        segments.push(TemplateSegment::Text(&prompt[done..]));
    }
    Ok(segments)
}

/// Returns the first opener at or after `from`.
fn next_opener(prompt: &str, from: usize) -> Option<(usize, &'static str)> {
    prompt[from..].match_indices(['@', '!', '{']).find_map(|(at, _)| {
        let at = from + at;
        let opener = [FILE_OPENER, SHELL_OPENER, ARGS_PLACEHOLDER]
            .into_iter()
            .find(|opener| prompt[at..].starts_with(opener))?;
        Some((at, opener))
    })
}

/// Returns the offset of the brace that closes one already open. Quotes hide no brace, as in Gemini CLI.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 1_usize;
    text.match_indices(['{', '}']).find_map(|(at, brace)| {
        depth = if brace == "{" { depth + 1 } else { depth - 1 };
        (depth == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell_commands(prompt: &str) -> Vec<&str> {
        let shell = |segment| match segment {
            TemplateSegment::Shell { command, .. } => Some(command),
            _ => None,
        };
        parse(prompt).unwrap().into_iter().filter_map(shell).collect()
    }

    #[test]
    fn segments_are_parsed_in_order() {
        let expected = [
            TemplateSegment::Text("a "),
            TemplateSegment::Args,
            TemplateSegment::Text(" b "),
            TemplateSegment::File { written: "@{ x.md }", path: "x.md" },
            TemplateSegment::Shell { command: "ls {{args}}", at: 25 },
            TemplateSegment::Text("."),
        ];
        assert_eq!(parse("a {{args}} b @{ x.md }!{ ls {{args}} }.").unwrap(), expected);
        assert_eq!(parse("").unwrap(), []);
        assert_eq!(
            parse("{args} {{ args }} a@b {x} !x é").unwrap(),
            [TemplateSegment::Text("{args} {{ args }} a@b {x} !x é")]
        );
    }

    #[test]
    fn braces_are_counted_inside_quotes() {
        assert_eq!(shell_commands("!{awk '{ print $1 }' f}"), ["awk '{ print $1 }' f"]);
        assert_eq!(shell_commands(r#"!{curl -d '{"a":{"b":1}}' x} !{ls}"#), [r#"curl -d '{"a":{"b":1}}' x"#, "ls"]);
        assert_eq!(shell_commands("!{{{args}}}"), ["{{args}}"]);
        assert_eq!(shell_commands(r#"!{echo "}"} tail"}"#), [r#"echo ""#]);
        assert_eq!(shell_commands("!{ } !{} x"), Vec::<&str>::new());
        assert_eq!(parse("@{a{b}c}").unwrap(), [TemplateSegment::File { written: "@{a{b}c}", path: "a{b}c" }]);
    }

    #[test]
    fn block_content_is_kept_verbatim() {
        assert_eq!(shell_commands("!{git log @{u}..HEAD}"), ["git log @{u}..HEAD"]);
        assert_eq!(parse("@{a!{b}}").unwrap(), [TemplateSegment::File { written: "@{a!{b}}", path: "a!{b}" }]);
    }

    #[test]
    fn unclosed_brace_is_reported_at_its_opener() {
        assert_eq!(parse("ab !{x {y} z"), Err(UnclosedBrace { at: 3, opener: SHELL_OPENER }));
        assert_eq!(parse("@{a} é @{b"), Err(UnclosedBrace { at: 8, opener: FILE_OPENER }));
        assert_eq!(parse("!{"), Err(UnclosedBrace { at: 0, opener: SHELL_OPENER }));
        assert_eq!(parse("{{args").unwrap(), [TemplateSegment::Text("{{args")]);
    }

    #[test]
    fn large_prompts_parse_in_linear_time() {
        assert!(parse(&"{{args}} @ ! { }} @{x} !{y {z}}".repeat(50_000)).is_ok());
        assert!(parse(&format!("{}{}", "!{".repeat(500_000), "}".repeat(500_000))).is_ok());
        assert!(parse(&"!{".repeat(500_000)).is_err());
    }
}
