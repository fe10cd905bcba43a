//! The commands that a command line runs, for those who allow or deny them: an observer of the interpreter.
//!
//! It needs no directory and no disk: what depends on them is a word that only the running shell knows.

use crate::budget::Budget;
use crate::disk::MemoryDisk;
use crate::interpreter::{Environment, interpret};
use crate::observer::{Aspects, Cause, CommandRun, Fact, Observer};
use crate::programs::Programs;
use crate::programs::spec::{Aspect, Verb};
use crate::state::State;
use crate::syntax::{CommandKind, Dialect, Script, Word};

/// Everything that a command line runs, as far as its text tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The commands. One that runs another stands here, and so does the other.
    pub commands: Vec<Part>,
    /// Whether nothing else runs, as far as the shell is concerned.
    pub certain: bool,
    /// Commands that may run where not everything can be told: the ends of commands, and texts in their words.
    pub possible: Vec<Part>,
    /// Whether one of them is given code in a language of its own, which may run anything: `perl -e`, `awk`'s `system`.
    pub code: bool,
}

impl Parts {
    /// Whether there is nothing that a list of what may not run could have missed.
    pub fn is_clear(&self) -> bool {
        self.certain && !self.code
    }
}

/// One command of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The program and its arguments; nothing where only the running shell knows the word.
    pub words: Vec<Option<String>>,
    /// The same as text, with expansions as they stand.
    pub text: String,
    /// Whether a file is written by `>` and the like.
    pub redirects: bool,
}

/// Whether a command begins with some words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It does.
    Yes,
    /// A word that is not known stands where it counts.
    Maybe,
    /// It does not.
    No,
}

/// How a program's name is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// As it is written.
    Exact,
    /// Wherever it lies: `/bin/rm` is `rm`.
    AnyDirectory,
}

/// Finds what a text runs.
pub fn parts(text: &str) -> Parts {
    let disk = MemoryDisk::default();
    let environment = Environment { disk: &disk, programs: &Programs::BUILT_IN, home: None, variable: None };
    let mut state = State::new(std::path::Path::new("/"), Dialect::Bash);
    state.cwd = None;
    state.parameters = None;
    let mut observer = PartsObserver { parts: Parts { certain: true, ..Parts::default() } };
    interpret(text, state, environment, &Budget::default(), &mut observer);
    let mut parts = observer.parts;
    if !parts.is_clear() {
        parts.possible = possible_commands(&parts.commands, environment);
    }
    parts
}

/// What commands could run if a word of theirs is a program or a text for a shell.
fn possible_commands(commands: &[Part], environment: Environment<'_>) -> Vec<Part> {
    const MAX_WORDS: usize = 256;
    let mut observer = PartsObserver { parts: Parts::default() };
    let budget = Budget::default();
    for part in commands {
        for at in 1..part.words.len().min(MAX_WORDS) {
            let Some(word) = part.words[at].as_deref() else { continue };
            if !word.starts_with('-') {
                let words = part.words[at..].to_vec();
                observer.parts.commands.push(Part { words, text: word.to_owned(), redirects: part.redirects });
            }
            let value = word.split_once('=').map_or(word, |(_, value)| value);
            for text in [word, value] {
                if text.contains([' ', '$', '`', ';', '|', '&', '\n']) {
                    // As a command, and as a text in which only substitutions count.
                    let command = text.trim_start_matches(['!', '\'', '"']);
                    for script in [command.to_owned(), format!(": <<END_OF_TEXT\n{text}\nEND_OF_TEXT\n")] {
                        let mut state = State::new(std::path::Path::new("/"), Dialect::Bash);
                        state.cwd = None;
                        state.parameters = None;
                        interpret(&script, state, environment, &budget, &mut observer);
                    }
                }
            }
        }
    }
    observer.parts.commands
}

struct PartsObserver {
    parts: Parts,
}

impl Observer for PartsObserver {
    fn command(&mut self, command: &CommandRun<'_>) {
        let text: Vec<&str> = command.words.iter().map(|word| &*word.shown).collect();
        let part = Part {
            words: command.words.iter().map(|word| word.text().map(str::to_owned)).collect(),
            text: text.join(" "),
            redirects: command.redirects,
        };
        if !self.parts.commands.contains(&part) {
            self.parts.commands.push(part);
        }
    }

    fn fact(&mut self, fact: &Fact<'_>) {
        // `docker exec` and its kin run the command in their words somewhere else.
        if matches!(fact, Fact::Service { verb: Verb::Run, .. }) {
            let runs =
                |word: &Option<String>| matches!(word.as_deref(), Some("exec" | "run" | "rsh" | "attach" | "debug"));
            self.parts.code |= self.parts.commands.last().is_some_and(|part| part.words.iter().any(runs));
        }
    }

    fn exceeds(&mut self) {
        self.parts.certain = false;
    }

    fn unsure(&mut self, aspects: Aspects, cause: Cause, _: &str) {
        if aspects.has(Aspect::Commands) {
            self.parts.certain &= cause != Cause::Script;
            self.parts.code |= cause == Cause::Code;
        }
    }
}

impl Part {
    /// Whether it begins with these words. Where only the program's name counts and not its place, options between the
    /// words do not count either: `git -C x push` is `git push`.
    pub fn begins_with(&self, prefix: &str, naming: Naming) -> Fit {
        let expected: Vec<&str> = prefix.split_whitespace().collect();
        let same = |expected: &str, word: &str| expected == word;
        match naming {
            Naming::Exact => begins_exactly(&self.words, &expected, Naming::Exact, &same),
            Naming::AnyDirectory => begins(&self.words, &expected, &same),
        }
    }
}

/// Whether an expected word is met by another.
pub type Same<'s> = &'s dyn Fn(&str, &str) -> bool;

type Field = Option<String>;

/// Whether a command begins with these words, wherever its program lies and whatever options stand between them.
pub fn begins(words: &[Field], expected: &[&str], same: Same<'_>) -> Fit {
    let as_written = begins_exactly(words, expected, Naming::AnyDirectory, same);
    let [program, rest @ ..] = expected else { return as_written };
    if as_written == Fit::Yes || rest.is_empty() {
        return as_written;
    }
    match words.split_first() {
        Some((Some(word), words)) if same(program, word) || same(program, name_of(word)) => {
            either(as_written, past_options(name_of(word), words, rest, same, 0))
        }
        _ => as_written,
    }
}

fn begins_exactly(words: &[Field], expected: &[&str], naming: Naming, same: Same<'_>) -> Fit {
    let mut fit = Fit::Yes;
    for (at, expected) in expected.iter().enumerate() {
        match words.get(at) {
            None => return Fit::No,
            Some(None) => fit = Fit::Maybe,
            Some(Some(word)) if same(expected, word) => {}
            Some(Some(word)) if at == 0 && naming == Naming::AnyDirectory && same(expected, name_of(word)) => {}
            Some(Some(_)) => return Fit::No,
        }
    }
    fit
}

fn either(one: Fit, other: Fit) -> Fit {
    match (one, other) {
        (Fit::Yes, _) | (_, Fit::Yes) => Fit::Yes,
        (Fit::No, Fit::No) => Fit::No,
        _ => Fit::Maybe,
    }
}

/// Whether words follow each other, options between them aside. Where it is not known whether an option takes the next
/// word and that would decide, it may be so.
fn past_options(program: &str, words: &[Field], expected: &[&str], same: Same<'_>, depth: usize) -> Fit {
    const MAX_OPTIONS: usize = 10;
    let [next, later @ ..] = expected else { return Fit::Yes };
    let Some((word, rest)) = words.split_first() else { return Fit::No };
    let Some(word) = word.as_deref() else {
        return if past_options(program, rest, later, same, depth + 1) == Fit::No { Fit::No } else { Fit::Maybe };
    };
    if depth > MAX_OPTIONS {
        return Fit::Maybe;
    }
    if same(next, word) {
        return past_options(program, rest, later, same, depth + 1);
    }
    let is_option = word.len() > 1 && word.starts_with('-');
    let is_toolchain = program == "cargo" && word.starts_with('+');
    if !is_option && !is_toolchain {
        return Fit::No;
    }
    let flag = past_options(program, rest, expected, same, depth + 1);
    let with_value = || past_options(program, rest.get(1..).unwrap_or_default(), expected, same, depth + 1);
    match takes_value(program, word) {
        Some(true) => with_value(),
        Some(false) => flag,
        None => match with_value() {
            _ if flag == Fit::Yes => Fit::Yes,
            Fit::No => flag,
            Fit::Yes | Fit::Maybe => Fit::Maybe,
        },
    }
}

/// Whether an option of a program takes the next word, if that is known.
fn takes_value(program: &str, option: &str) -> Option<bool> {
    if option.contains('=') {
        return Some(false);
    }
    let program = Programs::BUILT_IN.find(program)?;
    let spec = program.body.options.iter().find(|spec| spec.names.iter().any(|name| name == option))?;
    Some(!spec.values.is_empty() && !spec.attached)
}

/// The name of a program, without its directory.
fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The words of a text that is one simple command and nothing else: no chain, no expansion, no redirection, no
/// variables set.
pub fn sole_command(text: &str) -> Option<Vec<Word>> {
    let script = Script::parse(text, Dialect::Bash, &Budget::default());
    let [statement] = script.list.as_slice() else { return None };
    let [command] = statement.first.commands.as_slice() else { return None };
    let CommandKind::Simple { assignments, words } = &command.kind else { return None };
    let plain = script.problems.is_empty()
        && !text.contains(char::is_control)
        && statement.rest.is_empty()
        && !statement.background
        && !statement.first.negated
        && command.redirections.is_empty()
        && assignments.is_empty()
        && !words.is_empty()
        && words.iter().flat_map(|word| &word.pieces).all(crate::syntax::Piece::is_text);
    plain.then(|| words.clone())
}

/// The program of a [`sole_command`], unless it runs what its arguments say: `sh -c`, `env`, `sudo`.
pub fn sole_program(text: &str) -> Option<String> {
    const BUILTINS: [&str; 7] = ["eval", ".", "source", "trap", "exec", "command", "builtin"];
    let program = sole_command(text)?.first()?.literal()?;
    let runs_others = Programs::BUILT_IN.find(name_of(&program)).is_some_and(|known| known.runs_others());
    (!program.is_empty() && !runs_others && !BUILTINS.contains(&program.as_str())).then_some(program)
}

#[cfg(test)]
mod tests;
