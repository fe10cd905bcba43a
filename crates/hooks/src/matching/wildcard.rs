//! Matches wildcards in texts, names and paths, in time proportional to the product of the lengths of pattern and text.

/// A step of a compiled pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WildcardStep {
    /// Matches this character.
    Char(char),
    /// Matches any text without `/`.
    Segment,
    /// Matches any text.
    Any,
    /// The next step may be skipped.
    Optional,
    /// Matches any text up to and including a `/`.
    Directories,
}

/// Whether a text matches a pattern in which `*` stands for any text.
///
/// ```
/// use hookwright_hooks::matches_wildcard;
///
/// assert!(matches_wildcard("git push origin", "git push *"));
/// assert!(!matches_wildcard("git pull", "git push *"));
/// ```
pub fn matches_wildcard(text: &str, pattern: &str) -> bool {
    if !pattern.contains('*') {
        return pattern == text;
    }
    let steps: Vec<WildcardStep> =
        pattern.chars().map(|char| if char == '*' { WildcardStep::Any } else { WildcardStep::Char(char) }).collect();
    match_steps(&steps, text)
}

/// Whether a path matches a pattern in which `*` stands for any text without `/`, `**` for any text, and `**/` also for
/// the empty text.
pub(crate) fn path_matches_wildcard(pattern: &str, path: &str) -> bool {
    let mut steps = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(char) = rest.chars().next() {
        let begins =
            steps.last().is_none_or(|step| matches!(step, WildcardStep::Char('/') | WildcardStep::Directories));
        let length = match char {
            '*' if rest.starts_with("**/") && begins => {
                steps.extend([WildcardStep::Optional, WildcardStep::Directories]);
                3
            }
            '*' if rest.starts_with("**") => {
                steps.push(WildcardStep::Any);
                2
            }
            '*' => {
                steps.push(WildcardStep::Segment);
                1
            }
            char => {
                steps.push(WildcardStep::Char(char));
                char.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    match_steps(&steps, path)
}

/// Tracks all possible positions in the pattern at once: `reached` marks the steps that may come next.
fn match_steps(steps: &[WildcardStep], text: &str) -> bool {
    let mut reached = vec![false; steps.len() + 1];
    reached[0] = true;
    skip_empty_steps(steps, &mut reached);
    let mut next = vec![false; steps.len() + 1];
    for char in text.chars() {
        next.fill(false);
        for (at, step) in steps.iter().enumerate().filter(|(at, _)| reached[*at]) {
            match step {
                WildcardStep::Char(one) => next[at + 1] |= *one == char,
                WildcardStep::Segment => next[at] |= char != '/',
                WildcardStep::Any => next[at] = true,
                WildcardStep::Optional => {}
                WildcardStep::Directories => {
                    next[at] = true;
                    next[at + 1] |= char == '/';
                }
            }
        }
        skip_empty_steps(steps, &mut next);
        std::mem::swap(&mut reached, &mut next);
    }
    reached[steps.len()]
}

/// Marks the steps after those that may match the empty text.
fn skip_empty_steps(steps: &[WildcardStep], reached: &mut [bool]) {
    for (at, step) in steps.iter().enumerate() {
        match step {
            WildcardStep::Segment | WildcardStep::Any if reached[at] => reached[at + 1] = true,
            WildcardStep::Optional if reached[at] => {
                reached[at + 1] = true;
                reached[at + 2] = true;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_in_a_text_is_any_text() {
        for (pattern, text, expected) in [
            ("git *", "git push a/b", true),
            ("git *", "git", false),
            ("*rm*-rf*", "sudo rm -rf /", true),
            ("npm run test", "npm run test", true),
            ("*", "", true),
            ("é*", "éa", true),
            ("a*a", "a", false),
            ("mcp__*__log", "mcp__git__log", true),
            ("mcp__*__log", "mcp__log", false),
            ("a**b", "ab", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches_wildcard(text, pattern), expected, "{pattern} {text}");
        }
        assert!(
            !matches_wildcard(&"a".repeat(39), &"*a".repeat(40))
                && matches_wildcard(&"a".repeat(4000), &"*a".repeat(40))
        );
    }

    #[test]
    fn a_star_in_a_path_ends_at_a_slash_and_two_do_not() {
        for (pattern, path, expected) in [
            ("*.ts", "a.ts", true),
            ("*.ts", "src/a.ts", false),
            ("**/*.ts", "src/deep/a.ts", true),
            ("**/*.ts", "a.ts", true),
            ("src/**", "src/a/b", true),
            ("src/**/b", "src/b", true),
            ("src/**/b", "src/ab", false),
            ("src/**/b", "src/x/y/b", true),
            ("**/.env", "/p/.env", true),
            ("**/.env", "/p/x.env", false),
        ] {
            assert_eq!(path_matches_wildcard(pattern, path), expected, "{pattern} {path}");
        }
    }
}
