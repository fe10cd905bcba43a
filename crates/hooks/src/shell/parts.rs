//! Which simple commands a command line runs: those in chains, pipes, groups and substitutions, and those that others
//! run for it (`env x`, `sudo x`, `xargs x`, `sh -c 'x'`, `find -exec x`). The one answer for whoever allows or denies
//! commands; it judges nothing itself.

use super::hidden::{Made, expanded, sets, steers, subscript};
use super::inside::{GIT_VALUES, Inside, inside, is_option};
use super::wrap::{has_odd_option, unwrap};
use super::{Budget, Field, Language, Piece, RedirectionKind, SimpleCommand, Word, Wrapped, parse_within};

/// How deep commands may run each other.
const DEEPEST: usize = 16;
/// What it costs to look at a word, besides its text.
const UNITS_PER_WORD: usize = 64;

/// Everything that a command line runs, as far as its text tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The commands. One that runs another stands here, and so does the other.
    pub commands: Vec<Part>,
    /// Whether nothing else runs, as far as the shell is concerned.
    pub certain: bool,
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
    /// A word that nobody knows stands where it counts.
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

/// What stands around a command.
#[derive(Clone, Copy, Debug, Default)]
struct Around<'a> {
    /// Whether a file is written by `>` and the like.
    redirects: bool,
    /// The text that it reads, where that is known.
    input: Option<&'a str>,
}

/// Finds what a text runs.
pub fn parts(text: &str) -> Parts {
    let mut finder = Finder {
        parts: Parts::default(),
        unsure: false,
        made: Made::default(),
        scripts: Vec::new(),
        budget: Budget::new(),
    };
    finder.read(text, 0);
    let made =
        finder.made.is_run(&finder.parts.commands) || finder.scripts.iter().any(|script| finder.made.may_be(script));
    Parts { certain: !finder.unsure && !made && !finder.budget.is_spent(), ..finder.parts }
}

struct Finder {
    parts: Parts,
    unsure: bool,
    made: Made,
    /// Scripts that interpreters are given.
    scripts: Vec<String>,
    budget: Budget,
}

impl Finder {
    fn read(&mut self, text: &str, depth: usize) {
        let script = parse_within(text, &self.budget);
        // A carriage return or an escape is nothing that a person sees the same way as a shell does.
        let odd = text.contains(|char: char| char.is_control() && !matches!(char, '\n' | '\t'));
        self.unsure |= !script.certain || odd || depth > DEEPEST;
        if depth <= DEEPEST {
            script.commands().into_iter().for_each(|command| self.add(command, depth));
        }
    }

    fn add(&mut self, command: &SimpleCommand, depth: usize) {
        if self.budget.is_spent() {
            return;
        }
        command.all_words().filter_map(subscript).for_each(|text| self.read(&expanded(&text), depth + 1));
        let mut written = command.redirections.iter().filter(|one| one.kind == RedirectionKind::Write).peekable();
        let redirects = written.peek().is_some();
        written.for_each(|one| self.made.add(&shown(&one.target)));
        // A test that the reader made of `[[ … ]]` and `case`: it runs nothing.
        let tests = command.words.first().is_some_and(|word| word.pieces == [Piece::Quoted("[[".to_owned())]);
        // Variables such as PATH and LD_PRELOAD decide what the names behind them mean.
        self.unsure |= !command.assignments.is_empty() && !command.words.is_empty();
        self.unsure |= command.assignments.iter().any(|assignment| steers(&assignment.name));
        if tests || (command.words.is_empty() && !redirects) {
            return;
        }
        let words: Vec<Field> = command.words.iter().map(argument).collect();
        let text: Vec<String> = command.words.iter().map(shown).collect();
        let input = input(command);
        self.push(&words, &text, Around { redirects, input: input.as_deref() }, depth);
    }

    fn push(&mut self, words: &[Field], text: &[String], around: Around<'_>, depth: usize) {
        let redirects = around.redirects;
        let units: usize = text.iter().map(|word| UNITS_PER_WORD + 2 * word.len()).sum();
        if !self.budget.spend(UNITS_PER_WORD + units) {
            return;
        }
        self.parts.commands.push(Part { words: words.to_vec(), text: text.join(" "), redirects });
        let Some(first) = words.first() else { return };
        // What looks like an option is one of `time`, which some shells have no word of their own for.
        let is_program = |word: &&str| depth < DEEPEST && !word.starts_with('-');
        let Some(program) = first.as_deref().filter(is_program) else {
            self.unsure = true;
            return;
        };
        let inner = |at: usize| (&words[at..], &text[at..]);
        let name = program.rsplit('/').next().unwrap_or(program);
        self.made.by(name, text);
        self.unsure |= sets(name, words);
        match name {
            "eval" => return self.read_joined(&words[1..], depth),
            "trap" => return self.read_joined(words.get(1..2).unwrap_or_default(), depth),
            "." | "source" | "alias" => return self.unsure = true,
            "busybox" | "toybox" if words.len() > 1 => {
                let (words, text) = inner(1);
                return self.push(words, text, around, depth + 1);
            }
            _ => {}
        }
        for inside in inside(name, words, text) {
            match inside {
                Inside::Command(at) => {
                    let (words, text) = inner(at);
                    self.push(words, text, Around { redirects, input: None }, depth + 1);
                }
                Inside::Words(words) => {
                    let text: Vec<String> = words.iter().flatten().cloned().collect();
                    self.push(&words, &text, Around { redirects, input: None }, depth + 1);
                }
                Inside::Text(Some(text)) => self.read(&text, depth + 1),
                Inside::Code => self.parts.code = true,
                Inside::Text(None) | Inside::Unsure => self.unsure = true,
            }
        }
        match unwrap(program, words) {
            Wrapped::Command { at, assignments, .. } => {
                self.unsure |= !assignments.is_empty() || has_odd_option(program, &words[1..at]);
                // Others read the input themselves.
                let passes =
                    matches!(name, "env" | "command" | "exec" | "nice" | "nohup" | "timeout" | "time" | "sudo");
                let (words, text) = inner(at);
                self.push(words, text, Around { redirects, input: around.input.filter(|_| passes) }, depth + 1);
            }
            Wrapped::ShellCode { at } => self.read_joined(&words[at..=at], depth),
            Wrapped::Code(Language::Shell) => match around.input {
                Some(text) => self.read(text, depth + 1),
                None => self.unsure = true,
            },
            Wrapped::Unsure => self.unsure = true,
            Wrapped::Code(_) => self.parts.code = true,
            Wrapped::Script { at, .. } => self.scripts.extend(words[at].clone()),
            Wrapped::Program | Wrapped::Module(_) => {}
        }
    }

    /// Words that are shell text again.
    fn read_joined(&mut self, words: &[Field], depth: usize) {
        match words.iter().cloned().collect::<Option<Vec<String>>>() {
            Some(words) => self.read(&words.join(" "), depth + 1),
            None => self.unsure = true,
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
pub(crate) type Same<'s> = &'s dyn Fn(&str, &str) -> bool;

/// Whether a command begins with these words, wherever its program lies and whatever options stand between them.
pub(crate) fn begins(words: &[Field], expected: &[&str], same: Same<'_>) -> Fit {
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

/// Whether words follow each other, options between them aside. Whether an option takes the next word is known of few
/// programs; where it would decide, nobody can tell.
fn past_options(program: &str, words: &[Field], expected: &[&str], same: Same<'_>, depth: usize) -> Fit {
    const MOST_OPTIONS: usize = 10;
    let [next, later @ ..] = expected else { return Fit::Yes };
    let Some((word, rest)) = words.split_first() else { return Fit::No };
    let Some(word) = word.as_deref() else {
        return if past_options(program, rest, later, same, depth + 1) == Fit::No { Fit::No } else { Fit::Maybe };
    };
    if depth > MOST_OPTIONS {
        return Fit::Maybe;
    }
    if same(next, word) {
        return past_options(program, rest, later, same, depth + 1);
    }
    let skipped = is_option(word) || (program == "cargo" && word.starts_with('+'));
    if !skipped {
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

/// Whether an option takes the next word, if that is known.
fn takes_value(program: &str, option: &str) -> Option<bool> {
    let values: &[&str] = match program {
        "git" => return Some(GIT_VALUES.contains(&option)),
        _ if option.contains('=') => return Some(false),
        "npm" | "pnpm" | "yarn" => {
            &["--prefix", "-C", "--dir", "--cwd", "-w", "--workspace", "--filter", "-F", "--registry"]
        }
        "cargo" => &["-C", "--config", "-Z", "--color", "--manifest-path", "--target-dir"],
        "docker" | "podman" => &["-H", "--host", "-c", "--context", "--config", "-l", "--log-level"],
        "kubectl" | "helm" => {
            &["-n", "--namespace", "--context", "--kubeconfig", "-s", "--server", "--cluster", "--user"]
        }
        "gh" => &["-R", "--repo"],
        "go" | "make" | "gmake" => &["-C", "-f", "-I"],
        _ => &[],
    };
    values.contains(&option).then_some(true)
}

/// The name of a program, without its directory.
fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// A word as a program is given it. A pattern comes to names of files, which only the shell knows.
fn argument(word: &Word) -> Field {
    word.literal()
}

/// The text that a command reads by `<<<`, if nothing else is redirected: the last word on its input counts.
fn input(command: &SimpleCommand) -> Option<String> {
    match command.redirections.as_slice() {
        [only] if only.kind == RedirectionKind::Text => only.target.literal(),
        _ => None,
    }
}

/// A word as it stands there, with names for what is expanded.
pub(crate) fn shown(word: &Word) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Plain(text) | Piece::Quoted(text) => text.clone(),
        Piece::Variable { name, .. } | Piece::PathPart { name, .. } => format!("${name}"),
        Piece::Output { .. } => "$(…)".to_owned(),
        Piece::Other(_) => "…".to_owned(),
    };
    word.pieces.iter().map(piece).collect()
}

#[cfg(test)]
mod tests;
