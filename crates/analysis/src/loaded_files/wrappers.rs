//! Programs that run other programs: `env A=b x`, `timeout 5 x`, `sudo x`, and the interpreters that run a script, a
//! module or code.

use super::Field;
use crate::programs::spec::{Aspect, Effect, Language, Operand, OptionSpec, Program, Role};
use crate::programs::{Programs, arguments};
use crate::value::Argument;

/// What a command line runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrapped {
    /// The program at this place of the words, as it stands.
    Program,
    /// Another command line, which begins at this place of the words.
    Command {
        at: usize,
        /// Variables set for it.
        assignments: Vec<(String, String)>,
        /// The directory it runs in, if another.
        directory: Option<String>,
    },
    /// An interpreter and a script, at this place of the words.
    Script { at: usize, language: Language },
    /// An interpreter and a module.
    Module(String),
    /// A shell and a text, at this place of the words.
    ShellCode { at: usize },
    /// An interpreter and code that it is given, or that it reads from its input.
    Code(Language),
    /// Nobody can tell.
    Unsure,
}

/// A program's name without its directory and version: `/usr/bin/python3.12` is `python`.
fn base_name(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.')
}

/// An interpreter's file, with the language of its scripts. One of an unknown version is like the others.
fn interpreter(program: &str) -> Option<(&'static Program, Language)> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let file = Programs::BUILT_IN.find(name).or_else(|| Programs::BUILT_IN.find(base_name(program)))?;
    Some((file, file.language?))
}

/// Looks at a command line whose first word is known.
pub(super) fn unwrap(program: &str, words: &[Field]) -> Wrapped {
    if let Some((file, language)) = interpreter(program) {
        return interpreted(file, language, words);
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    // The loader of programs, under its many names: `ld-linux-x86-64.so.2`, `ld-musl-x86_64.so.1`.
    if name.starts_with("ld-") && name.contains(".so") {
        return Wrapped::Unsure;
    }
    match name {
        "exec" | "command" | "builtin" | "noglob" => builtin_command(name, words),
        _ => Programs::BUILT_IN.find(name).map_or(Wrapped::Program, |file| inner_command(file, name, words)),
    }
}

/// What a builtin runs that runs its words.
fn builtin_command(name: &str, words: &[Field]) -> Wrapped {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match word.as_deref() {
            None => return Wrapped::Unsure,
            // It only says where the program is.
            Some("-v" | "-V") if name == "command" => return Wrapped::Program,
            Some("-a") if name == "exec" => at += 2,
            Some(option) if option.len() > 1 && option.starts_with('-') => at += 1,
            Some(_) => return Wrapped::Command { at, assignments: Vec::new(), directory: None },
        }
    }
    Wrapped::Program
}

/// What a program runs that runs its words, as its file says.
fn inner_command(file: &Program, name: &str, words: &[Field]) -> Wrapped {
    // Words behind the command's name are the command's, whatever they are.
    let known = words.iter().take_while(|word| word.is_some()).count();
    if known < words.len()
        && let command @ Wrapped::Command { .. } = inner_command(file, name, &words[..known])
    {
        return command;
    }
    let arguments: Vec<Argument> = words[1..].iter().map(argument).collect();
    let parsed = arguments::parse(file, &[&file.body], name, &arguments);
    let is_env = file.body.code.as_deref() == Some("env");
    let operands = parsed.operands_of(&file.body).unwrap_or_default();
    let runs =
        |operand: &Operand| operand.roles.iter().any(|role| matches!(role, Role::Command | Role::CommandWithInput));
    let Some(before) = operands.iter().position(runs).or(is_env.then_some(0)) else {
        let hides =
            |effect: &Effect| matches!(effect, Effect::Unsure(aspects, _) if aspects.contains(&Aspect::Commands));
        return if file.body.does.iter().any(hides) { Wrapped::Unsure } else { Wrapped::Program };
    };
    let is_unsure = |given: &arguments::Given<'_>| given.spec.does.iter().any(|one| matches!(one, Effect::Unsure(..)));
    if parsed.ends {
        return Wrapped::Program;
    }
    // `xargs` says of its signs that they may stand anywhere: `given_more` knows where.
    if parsed.unclear.is_some()
        || !parsed.problems.is_empty()
        || (parsed.options.iter().any(is_unsure) && name != "xargs")
    {
        return Wrapped::Unsure;
    }
    let directory = parsed.values("--chdir").next_back();
    if directory.is_some_and(|directory| directory.text().is_none()) {
        return Wrapped::Unsure;
    }
    let takes_assignments = is_env || name == "sudo";
    let is_assignment = |word: &&Argument| takes_assignments && word.beginning().contains('=');
    let mut assignments = Vec::new();
    for word in parsed.operands.iter().take_while(is_assignment) {
        let Some((name, value)) = word.text().and_then(|text| text.split_once('=')) else { return Wrapped::Unsure };
        assignments.push((name.to_owned(), value.to_owned()));
    }
    // All options stand before the operands, which are the last words.
    let left = parsed.operands.len().saturating_sub(assignments.len() + before);
    match left {
        0 => Wrapped::Program,
        _ if words[words.len() - left].is_none() => Wrapped::Unsure,
        _ => Wrapped::Command {
            at: words.len() - left,
            assignments,
            directory: directory.and_then(Argument::text).map(str::to_owned),
        },
    }
}

fn argument(word: &Field) -> Argument {
    match word {
        Some(text) => Argument::known(text.as_str()),
        None => Argument { many: true, ..Argument::unknown("…") },
    }
}

/// What `xargs` runs: it adds words of its own, or puts them where its sign stands.
pub(super) fn given_more(words: &[Field], at: usize) -> Vec<Field> {
    let signs: Vec<&str> = words[..at]
        .iter()
        .flatten()
        .zip(words[1..].iter().flatten())
        .filter_map(|(option, next)| match option.as_str() {
            "-I" | "-J" | "--replace" => Some(next.as_str()),
            option => option.strip_prefix("-I").filter(|sign| !sign.is_empty()),
        })
        .chain(["{}"])
        .collect();
    let has_sign = |word: &Field| word.as_ref().is_some_and(|word| signs.iter().any(|sign| word.contains(sign)));
    let inner = words[at..].iter().map(|word| if has_sign(word) { None } else { word.clone() });
    inner.chain([None]).collect()
}

fn interpreted(file: &Program, language: Language, words: &[Field]) -> Wrapped {
    let mut at = 1;
    while at < words.len() {
        let Some(word) = words[at].as_deref() else { return Wrapped::Unsure };
        at += 1;
        if word == "--" {
            break;
        }
        let sign = word.starts_with('-') || (language == Language::Shell && word.starts_with('+'));
        if !sign || word == "-" {
            at -= 1;
            break;
        }
        let long = word.starts_with("--");
        let option = last_option(file, word);
        if option == LastOption::Code {
            return match language {
                Language::Shell => shell_code(file, words, at),
                _ => Wrapped::Code(language),
            };
        }
        if language == Language::Python && !long && word.ends_with('m') {
            return match words.get(at) {
                Some(Some(module)) => Wrapped::Module(module.clone()),
                _ => Wrapped::Unsure,
            };
        }
        if matches!(word, "--version" | "--help") {
            return Wrapped::Program;
        }
        if language == Language::Shell && !long && word.contains('s') {
            return Wrapped::Code(language);
        }
        at += usize::from(option == LastOption::Value);
    }
    match words.get(at) {
        Some(Some(script)) if !is_input(script) => Wrapped::Script { at, language },
        Some(None) => Wrapped::Unsure,
        _ => Wrapped::Code(language),
    }
}

/// Whether a file is what somebody else writes while it is read: `-`, `/dev/stdin`, `/proc/self/fd/0`.
fn is_input(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let numbered = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    file == "-" || name == "stdin" || numbered || file.starts_with("/dev/") || file.starts_with("/proc/")
}

/// What the last option in a word takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastOption {
    /// Nothing, or its value stands in the same word, or it is not known.
    Flag,
    /// The next word is its value.
    Value,
    /// Code, in the same word or the next.
    Code,
}

fn last_option(file: &Program, word: &str) -> LastOption {
    let find = |name: &str| file.body.options.iter().find(|spec| spec.names.iter().any(|known| known == name));
    // `bash -c` says that the first operand is code.
    let is_code = |spec: &OptionSpec| {
        spec.values.iter().flatten().any(|role| *role == Role::Code)
            || (spec.values.is_empty() && spec.sets.as_deref() == Some("code"))
    };
    let takes = |spec: &OptionSpec, attached: bool| match spec {
        spec if is_code(spec) => LastOption::Code,
        spec if spec.values.is_empty() || spec.attached || attached => LastOption::Flag,
        _ => LastOption::Value,
    };
    if word.starts_with("--") {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        return find(name).map_or(LastOption::Flag, |spec| takes(spec, value.is_some()));
    }
    if let Some(spec) = find(word) {
        return takes(spec, false);
    }
    let sign = &word[..1];
    for (at, letter) in word.char_indices().skip(1) {
        let Some(spec) = find(&format!("{sign}{letter}")) else { continue };
        let is_last = at + letter.len_utf8() == word.len();
        match takes(spec, !is_last) {
            // Letters behind `-c` are further options of a shell.
            LastOption::Flag if spec.values.is_empty() => {}
            taken => return taken,
        }
    }
    LastOption::Flag
}

/// The text behind `-c`: other options may stand in between (`bash -c -e 'text'`, `bash -c -o pipefail 'text'`).
fn shell_code(file: &Program, words: &[Field], mut at: usize) -> Wrapped {
    while let Some(Some(word)) = words.get(at) {
        if !(word.starts_with(['-', '+']) && word.len() > 1) {
            return Wrapped::ShellCode { at };
        }
        at += 1 + usize::from(last_option(file, word) == LastOption::Value);
    }
    Wrapped::Unsure
}
