//! `perl -pe 's/a/b/' FILE`: one-liners that only filter lines.
//!
//! The subset holds substitutions, transliterations, matches and prints without any code in a pattern or a text.

use crate::observer::Aspects;
use crate::programs::call::Call;
use crate::programs::spec::{Access, Depth};
use crate::value::Argument;

/// `perl`: a one-liner reads its files, and writes them with `-i`; all other code is not known.
pub(super) fn run(call: &mut Call<'_, '_>) {
    if !is_filter(call) {
        return call.by_file();
    }
    let backup = call.parsed.values("-i").next().cloned();
    for file in call.parsed.operands.clone() {
        // The name of a file may also be a command: `rm x|`.
        let is_name =
            |text: &str| !text.contains('|') && !text.starts_with(['<', '>', '+', '&']) && text.trim() == text;
        let Some(text) = file.text().filter(|text| is_name(text)).map(str::to_owned) else {
            let reason = format!("{} may be a command for perl", file.shown);
            return call.interpreter.unsure_program(Aspects::ALL, reason);
        };
        call.touch(Access::Read, &file, Depth::Itself);
        if call.parsed.is_set("in-place") {
            call.touch(Access::Write, &file, Depth::Itself);
            if let Some(ending) = backup.as_ref().and_then(Argument::text) {
                call.touch(Access::Write, &Argument::known(format!("{text}{ending}")), Depth::Itself);
            }
        }
    }
}

/// Whether a call only filters lines.
pub(crate) fn is_filter(call: &Call<'_, '_>) -> bool {
    let code: Option<Vec<&str>> =
        call.parsed.options.iter().filter(|given| given.is("-e")).map(|given| given.values.first()?.text()).collect();
    let is_ending = |value: &Argument| value.text().is_some_and(|text| !text.contains(['*', '/']));
    call.parsed.is_set("lines")
        && call.parsed.values("-i").all(is_ending)
        && code.is_some_and(|code| !code.is_empty() && code.iter().all(|code| filters(code)))
}

/// Whether code consists of statements that filter lines.
fn filters(code: &str) -> bool {
    let mut rest = code.trim_start();
    while !rest.is_empty() {
        let Some(after) = statement(rest) else { return false };
        rest = match after.trim_start().strip_prefix(';') {
            Some(next) => next.trim_start(),
            None if after.trim().is_empty() => "",
            None => return false,
        };
    }
    true
}

/// What stands behind a statement, if that is one of the subset.
fn statement(code: &str) -> Option<&str> {
    let rest = if let Some(rest) = code.strip_prefix("print").filter(|rest| !rest.starts_with(is_word)) {
        printed(rest.trim_start())
    } else if let Some(rest) = ["chomp", "next", "last"].iter().find_map(|word| code.strip_prefix(word)) {
        (!rest.starts_with(is_word)).then_some(rest)
    } else {
        substitution(code)
    }?;
    let condition = rest.trim_start();
    match ["if ", "unless "].iter().find_map(|word| condition.strip_prefix(word)) {
        Some(condition) => {
            let condition = condition.trim_start();
            matching(condition.strip_prefix('!').unwrap_or(condition))
        }
        None => Some(rest),
    }
}

/// What is printed: the line, its fields, and texts that are no code.
fn printed(mut rest: &str) -> Option<&str> {
    if rest.is_empty() || rest.starts_with([';', '}']) || rest.starts_with("if ") || rest.starts_with("unless ") {
        return Some(rest);
    }
    loop {
        rest = item(rest.trim_start())?.trim_start();
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Some(rest),
        }
    }
}

fn item(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("$_").or_else(|| text.strip_prefix("$.")) {
        return (!rest.starts_with(is_word) && !rest.starts_with(['[', '{', '-'])).then_some(rest);
    }
    if let Some(field) = text.strip_prefix("$F[") {
        let (number, rest) = field.split_once(']')?;
        let digits = number.strip_prefix('-').unwrap_or(number);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        return (is_number && !rest.starts_with(['[', '{', '-'])).then_some(rest);
    }
    let (inner, rest) = text.strip_prefix('"')?.split_once('"')?;
    let plain = inner.replace("\\n", "").replace("\\t", "");
    (!plain.contains(['\\', '$', '@'])).then_some(rest)
}

/// `/pattern/flags`.
fn matching(text: &str) -> Option<&str> {
    let text = text.strip_prefix('m').filter(|rest| rest.starts_with('/')).unwrap_or(text);
    let (pattern, rest) = delimited(text.strip_prefix('/')?, '/')?;
    is_plain_pattern(pattern).then(|| flags(rest, "gimsx"))?
}

/// `s/pattern/text/flags`, `tr/a/b/` and `y/a/b/`.
fn substitution(text: &str) -> Option<&str> {
    let (rest, is_pattern) = match ["tr", "y"].iter().find_map(|word| text.strip_prefix(word)) {
        Some(rest) => (rest, false),
        None => (text.strip_prefix('s')?, true),
    };
    let open = rest.chars().next().filter(|open| "/|,#{!:".contains(*open))?;
    let close = if open == '{' { '}' } else { open };
    let (pattern, rest) = delimited(&rest[1..], close)?;
    let (replacement, rest) = match open {
        '{' => delimited(rest.strip_prefix('{')?, close)?,
        _ => delimited(rest, close)?,
    };
    match is_pattern {
        true => (is_plain_pattern(pattern) && is_plain_replacement(replacement)).then(|| flags(rest, "gimsxr"))?,
        false => flags(rest, "cdsr"),
    }
}

/// A text up to its delimiter, and what stands behind that.
fn delimited(text: &str, close: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    for (at, char) in text.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' if close == '}' => return None,
            _ if char == close => return Some((&text[..at], &text[at + 1..])),
            _ => {}
        }
    }
    None
}

/// What stands behind flags, if there are no others.
fn flags<'t>(text: &'t str, known: &str) -> Option<&'t str> {
    let rest = text.trim_start_matches(|char| known.contains(char));
    (!rest.starts_with(is_word)).then_some(rest)
}

/// A pattern in which no variable and no code stands.
fn is_plain_pattern(pattern: &str) -> bool {
    let plain = plain_escapes(pattern, "dDwWsSbBnrtAzZhHvVKR0123456789");
    let chars: Vec<char> = pattern.chars().collect();
    let is_end = |at: usize| matches!(chars.get(at + 1), None | Some(')' | '|'));
    let variables = (0..chars.len()).any(|at| chars[at] == '@' || (chars[at] == '$' && !is_end(at)));
    plain && !variables && !["(?{", "(??", "(*", "(?[", "(?P", "(?&"].iter().any(|code| pattern.contains(code))
}

/// A text that holds at most the groups of the pattern.
fn is_plain_replacement(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    let is_group = |at: usize| {
        chars.get(at + 1).is_some_and(|char| char.is_ascii_digit() || *char == '&')
            && !matches!(chars.get(at + 2), Some('[' | '{' | '-'))
    };
    let variables = (0..chars.len()).any(|at| chars[at] == '@' || (chars[at] == '$' && !is_group(at)));
    plain_escapes(text, "nrtuUlLEQ0123456789") && !variables
}

/// Whether every backslash stands before a sign, or before one of these letters.
fn plain_escapes(text: &str, letters: &str) -> bool {
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char == '\\' && !chars.next().is_some_and(|next| !is_word(next) || letters.contains(next)) {
            return false;
        }
    }
    true
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}
