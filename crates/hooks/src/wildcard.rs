//! THE reader of wildcards in texts, names and paths, in bounded time. Which texts are compared is others' business.

/// A step of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// This character.
    One(char),
    /// Any text without `/`.
    Name,
    /// Any text.
    Any,
    /// The next step, or the one behind it.
    Maybe,
    /// Any text up to a `/`.
    Folders,
}

/// Whether a text, or a name, is like a pattern in which `*` stands for any text.
pub fn is_like(text: &str, pattern: &str) -> bool {
    if !pattern.contains('*') {
        return pattern == text;
    }
    let steps: Vec<Step> = pattern.chars().map(|char| if char == '*' { Step::Any } else { Step::One(char) }).collect();
    fits(&steps, text)
}

/// Whether a path fits a pattern in which `*` stands for any text without `/`, `**` for any text, and `**/` also for
/// nothing.
pub(crate) fn fits_path(pattern: &str, path: &str) -> bool {
    let mut steps = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(char) = rest.chars().next() {
        let begins = steps.last().is_none_or(|step| matches!(step, Step::One('/') | Step::Folders));
        let length = match char {
            '*' if rest.starts_with("**/") && begins => {
                steps.extend([Step::Maybe, Step::Folders]);
                3
            }
            '*' if rest.starts_with("**") => {
                steps.push(Step::Any);
                2
            }
            '*' => {
                steps.push(Step::Name);
                1
            }
            char => {
                steps.push(Step::One(char));
                char.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    fits(&steps, path)
}

/// Follows all ways at once: `reached` holds the steps that may come next.
fn fits(steps: &[Step], text: &str) -> bool {
    let mut reached = vec![false; steps.len() + 1];
    reached[0] = true;
    pass(steps, &mut reached);
    let mut next = vec![false; steps.len() + 1];
    for char in text.chars() {
        next.fill(false);
        for (at, step) in steps.iter().enumerate().filter(|(at, _)| reached[*at]) {
            match step {
                Step::One(one) => next[at + 1] |= *one == char,
                Step::Name => next[at] |= char != '/',
                Step::Any => next[at] = true,
                Step::Maybe => {}
                Step::Folders => {
                    next[at] = true;
                    next[at + 1] |= char == '/';
                }
            }
        }
        pass(steps, &mut next);
        std::mem::swap(&mut reached, &mut next);
    }
    reached[steps.len()]
}

/// Steps that may stand for nothing are passed at once.
fn pass(steps: &[Step], reached: &mut [bool]) {
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Name | Step::Any if reached[at] => reached[at + 1] = true,
            Step::Maybe if reached[at] => {
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
            assert_eq!(is_like(text, pattern), expected, "{pattern} {text}");
        }
        assert!(!is_like(&"a".repeat(39), &"*a".repeat(40)) && is_like(&"a".repeat(4000), &"*a".repeat(40)));
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
            assert_eq!(fits_path(pattern, path), expected, "{pattern} {path}");
        }
    }
}
