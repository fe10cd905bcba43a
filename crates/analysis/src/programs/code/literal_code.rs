//! Code of other languages that only prints literals: `python -c 'print("ok")'`.
//!
//! The subset is so small that it can neither fail nor load anything: a failing program of Python imports modules for its
//! message, which may lie in the directory. `python` and `perl -E` are left out, because other guards refuse them even then.

use crate::value::Argument;

/// How a language prints.
struct Printing {
    programs: &'static [&'static str],
    options: &'static [&'static str],
    functions: &'static [&'static str],
    /// Whether the arguments stand in parentheses.
    parentheses: bool,
}

const PRINTING: [Printing; 4] = [
    Printing { programs: &["python3"], options: &["-c"], functions: &["print"], parentheses: true },
    Printing { programs: &["node"], options: &["-e", "--eval"], functions: &["console.log"], parentheses: true },
    Printing { programs: &["perl"], options: &["-e"], functions: &["print"], parentheses: false },
    Printing { programs: &["ruby"], options: &["-e"], functions: &["puts", "print", "p"], parentheses: false },
];

/// Whether a call runs code that only prints literals; nothing else may be among its words.
pub(crate) fn only_prints(name: &str, words: &[Argument]) -> bool {
    let [_, option, code] = words else { return false };
    let (Some(option), Some(code)) = (option.text(), code.text()) else { return false };
    if name == "node" && matches!(option, "-p" | "--print" | "-pe") {
        return is_sum(code);
    }
    // Versions of Python have names of their own.
    let name = match name.strip_prefix("python3.") {
        Some(minor) if minor.bytes().all(|byte| byte.is_ascii_digit()) => "python3",
        _ => name,
    };
    PRINTING.iter().any(|printing| {
        printing.programs.contains(&name)
            && printing.options.contains(&option)
            && printing.functions.iter().any(|function| prints(code, function, printing.parentheses))
    })
}

/// One or more statements `function(literal, …)` or `function literal, …`.
fn prints(code: &str, function: &str, parentheses: bool) -> bool {
    // A semicolon in a literal only makes the statement unknown.
    let code = code.trim_matches(' ');
    let code = code.strip_suffix(';').unwrap_or(code);
    code.split(';').all(|statement| {
        let Some(rest) = statement.trim_matches(' ').strip_prefix(function) else { return false };
        let arguments = match parentheses {
            true => rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')),
            false => rest.strip_prefix(' '),
        };
        arguments.is_some_and(|arguments| arguments.split(',').all(is_literal))
    })
}

fn is_literal(text: &str) -> bool {
    is_text(text.trim_matches(' ')) || is_sum(text)
}

/// A quoted text without anything that a language puts values or escapes in for.
fn is_text(text: &str) -> bool {
    let quoted = |quote: char| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    quoted('\'').or_else(|| quoted('"')).is_some_and(|inner| {
        let inner = inner.replace("\\n", "");
        inner.chars().all(|char| {
            (char.is_ascii_graphic() || char == ' ') && !matches!(char, '\'' | '"' | '\\' | '$' | '@' | '#' | '`')
        })
    })
}

/// Numbers that are added.
fn is_sum(text: &str) -> bool {
    const MAX_DIGITS: usize = 9;
    text.split('+').all(|number| {
        let number = number.trim_matches(' ');
        (1..=MAX_DIGITS).contains(&number.len())
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && (number == "0" || !number.starts_with('0'))
    })
}
