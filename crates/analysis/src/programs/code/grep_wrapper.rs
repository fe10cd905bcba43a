//! `zgrep`, `bzgrep`, `xzgrep`, `zstdgrep`: shell scripts that take the words apart before `grep` does, each in its own way.
//!
//! Only calls that all of these scripts understand as `grep` does are sure. In any other one a word that `grep` takes for a
//! pattern or a value may be a file that is read.

use crate::programs::arguments::Parsed;
use crate::programs::call::Call;
use crate::programs::spec::Aspect;
use crate::value::Argument;

pub(super) fn run(call: &mut Call<'_, '_>) {
    if let Some(word) = ambiguous_word(&call.words[1..], &call.parsed) {
        let reason = format!("{} may take {word} in another way than grep", call.name);
        call.interpreter.unsure(Aspect::Reads, reason);
    }
    call.by_file();
}

/// The first word that a script may take in another way than `grep`.
fn ambiguous_word(words: &[Argument], parsed: &Parsed<'_>) -> Option<String> {
    let patterns = parsed.options.iter().filter(|given| given.is("-e") || given.is("-f")).count();
    let mut rest = words.iter();
    let mut has_pattern = false;
    while let Some(word) = rest.next() {
        // Words that are not known make the call unsure by themselves, where they may be options.
        let text = word.text().unwrap_or("?");
        match text {
            // It is an option to some.
            "-" => return Some(text.to_owned()),
            "--" => return has_pattern.then(|| text.to_owned()),
            // The pattern has to be the last option, and the only one.
            "-e" | "-f" => {
                let value = rest.next();
                let is_clear = |value: &Argument| text == "-e" || value.text().is_some_and(is_plain);
                if patterns > 1 || !value.is_some_and(is_clear) {
                    return Some(text.to_owned());
                }
                has_pattern = true;
            }
            _ if has_pattern && text.starts_with('-') => return Some(text.to_owned()),
            "-A" | "-B" | "-C" | "-m" => {
                if !rest.next().and_then(Argument::text).is_some_and(is_number) {
                    return Some(text.to_owned());
                }
            }
            _ if text.starts_with('-') => {
                if patterns > 1 || !is_clear_option(text) {
                    return Some(text.to_owned());
                }
            }
            // Behind the first operand, an option is a file to some, and `-` an option to others.
            _ => return rest.find(|word| word.beginning().starts_with('-')).map(shown),
        }
    }
    None
}

fn shown(word: &Argument) -> String {
    word.shown.to_string()
}

/// Whether an option holds its value, if it has any, and nothing that a shell would split or expand.
fn is_clear_option(text: &str) -> bool {
    if text.starts_with("--") {
        let takes_word = ["--regexp", "--file"].contains(&text);
        return is_plain(text) && !takes_word;
    }
    match text[1..].find(|char| "ABCmef".contains(char)).map(|at| text[1..].split_at(at)) {
        None => is_plain(text),
        Some((flags, value)) => {
            let is_pattern = value.starts_with(['e', 'f']);
            // A letter in a cluster whose value is the next word is a flag to some.
            is_plain(flags) && if is_pattern { value.len() > 1 && is_plain(value) } else { is_number(&value[1..]) }
        }
    }
}

fn is_plain(text: &str) -> bool {
    text.chars().all(|char| char.is_ascii_alphanumeric() || "-_=.,:/+%@".contains(char))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
