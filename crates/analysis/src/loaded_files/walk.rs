//! The observer that gathers the files that a command loads, and the steps that decide whether it could run.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::file_names::Passing;
use super::findings::{Behind, Once};
use super::follower::Content;
use super::program_search::StartError;
use super::{Around, CommandFiles, Field, Follower, NamedFile, Naming, Whereabouts};
use crate::budget::Budget;
use crate::disk::{Disk, RealDisk};
use crate::interpreter::{Environment, MAX_DEPTH, interpret_within};
use crate::observer::{Aspects, Cause, CommandRun, Fact, Observer, ProgramResult, SourcedFile};
use crate::paths;
use crate::programs::Programs;
use crate::programs::spec::Access;
use crate::state::State;
use crate::syntax::{Dialect, Word};
use crate::value::{Argument, Value};

/// The commands that are looked at, those of scripts included.
const MAX_COMMANDS: usize = 4096;
/// The units that a command and each of its words cost.
const UNITS_PER_COMMAND: usize = 64;
const UNITS_PER_WORD: usize = 256;

/// One thing that a command does.
#[derive(Debug)]
pub(super) struct Step {
    /// The parts of one pipeline share a number.
    pub(super) unit: usize,
    /// Whether it is done in any case.
    pub(super) always: bool,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// The shell does something by itself.
    Acts,
    /// Nothing, with success: `true`.
    Nothing,
    /// It is only known when it runs.
    Unsure,
    /// A program, and whether it could start.
    Runs(Result<(), StartError>),
    /// A program that only starts the next one.
    Carries(Result<(), StartError>),
}

/// Under which circumstances something runs.
#[derive(Clone, Copy)]
pub(super) struct When {
    always: bool,
    /// Whether it is a step of the command, rather than part of one of its words.
    pub(super) counts: bool,
    unit: Option<usize>,
}

impl When {
    const ALWAYS: When = When { always: true, counts: true, unit: None };
    /// Not a step of the command.
    pub(super) const INSIDE: When = When { always: false, counts: false, unit: None };

    fn maybe(self) -> Self {
        When { always: false, ..self }
    }
}

/// A text that is being interpreted.
struct Frame {
    /// The circumstances of the whole text.
    when: When,
    /// The units of its pipelines, by the interpreter's number.
    pipelines: HashMap<usize, usize>,
}

pub(super) struct Walk<'a> {
    pub(super) steps: Vec<Step>,
    pub(super) certain: bool,
    pub(super) follower: Option<&'a Follower<'a>>,
    pub(super) files: Vec<NamedFile>,
    pub(super) known: HashMap<PathBuf, usize>,
    pub(super) around: Vec<Arc<Around>>,
    /// What is named in passing, and counts if not everything can be told.
    pub(super) likely: Once,
    /// Texts that may be run, if not everything can be told.
    pub(super) texts: Vec<(String, State)>,
    /// What it leads to and has not been looked at yet, each once.
    pub(super) behind: Vec<Behind<'a>>,
    pub(super) asked: HashSet<String>,
    /// The directories that it went to.
    pub(super) went: Vec<PathBuf>,
    /// The shell as it was before anything ran.
    pub(super) base: State,
    pub(super) environment: Environment<'a>,
    pub(super) budget: Budget,
    /// The command's own variables, which everything found depends on.
    pub(super) variables: Rc<str>,
    /// Whether this is a script that another one runs.
    pub(super) nested: bool,
    units: usize,
    /// How many more commands are looked at.
    pub(super) left: usize,
    /// How many commands run the current one.
    depth: usize,
    frame: Frame,
    /// The circumstances and the state of the current command.
    when: When,
    state: State,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        follower: Option<&'a Follower<'a>>,
        base: State,
        environment: Environment<'a>,
        budget: Budget,
        variables: Rc<str>,
    ) -> Self {
        Walk {
            steps: Vec::new(),
            certain: true,
            follower,
            files: Vec::new(),
            known: HashMap::new(),
            around: Vec::new(),
            likely: Once::default(),
            texts: Vec::new(),
            behind: Vec::new(),
            asked: HashSet::new(),
            went: Vec::new(),
            state: base.clone(),
            base,
            environment,
            budget,
            variables,
            nested: false,
            units: 0,
            left: MAX_COMMANDS,
            depth: 0,
            frame: Frame { when: When::ALWAYS, pipelines: HashMap::new() },
            when: When::ALWAYS,
        }
    }

    /// Goes through a command, and with a follower through everything that it leads to.
    pub(super) fn of_command(
        text: &str,
        own_variables: &[(String, String)],
        place: &Whereabouts<'a>,
        follower: Option<&'a Follower<'a>>,
    ) -> Self {
        let variables = if own_variables.is_empty() { String::new() } else { format!("{own_variables:?}") };
        let mut state = State::new(place.cwd, Dialect::Bash);
        state.parameters = None;
        let environment =
            Environment { disk: &RealDisk, programs: &Programs::BUILT_IN, home: None, variable: Some(place.variable) };
        let mut walk = Walk::new(follower, state.clone(), environment, Budget::default(), variables.into());
        for (name, value) in own_variables.iter().filter(|_| follower.is_some()) {
            walk.variable(name, Some(value), &state);
        }
        walk.text(text, state, When::ALWAYS);
        walk.settle();
        walk
    }

    pub(super) fn into_files(self) -> CommandFiles {
        CommandFiles { files: self.files, around: self.around, certain: self.certain }
    }

    /// Interprets a text in a shell of its own.
    pub(super) fn text(&mut self, text: &str, state: State, when: When) {
        self.deeper(when, |walk| {
            let frame = Frame { when, pipelines: HashMap::new() };
            let outer_frame = std::mem::replace(&mut walk.frame, frame);
            let outer_state = std::mem::replace(&mut walk.state, state.clone());
            let outer = (std::mem::replace(&mut walk.when, when), walk.depth);
            let (environment, budget) = (walk.environment, walk.budget.clone());
            interpret_within(text, state, environment, &budget, walk, outer.1);
            (walk.when, walk.depth) = outer;
            walk.frame = outer_frame;
            walk.state = outer_state;
        });
    }

    /// Guards against commands that nest without end.
    pub(super) fn deeper(&mut self, when: When, go: impl FnOnce(&mut Self)) {
        if self.depth >= MAX_DEPTH || self.budget.is_spent() {
            return self.doubt(when);
        }
        self.depth += 1;
        go(self);
        self.depth -= 1;
    }

    /// Pays for work; without the means to, not everything can be told.
    pub(super) fn pay(&mut self, units: usize) -> bool {
        let paid = self.budget.spend(units);
        self.certain &= paid;
        paid
    }

    pub(super) fn doubt(&mut self, when: When) {
        self.certain = false;
        self.step(when, What::Unsure);
    }

    pub(super) fn step(&mut self, when: When, what: What) {
        let unit = when.unit.unwrap_or_else(|| {
            self.units += 1;
            self.units
        });
        if when.counts {
            self.steps.push(Step { unit, always: when.always, what });
        }
    }

    /// A command that other programs run: never one of the shell's own.
    pub(super) fn run(&mut self, words: &[Field], input: Option<&Path>, state: &State, when: When) {
        let units: usize = words.iter().flatten().map(|word| UNITS_PER_WORD + word.len()).sum();
        if !self.pay(UNITS_PER_COMMAND + units) {
            return;
        }
        let Some((Some(program), _)) = words.split_first() else { return self.doubt(when) };
        self.deeper(when, |walk| walk.program_words(program, words, input, state, when));
    }

    pub(super) fn disk(&self) -> &'a dyn Disk {
        self.environment.disk
    }

    /// The state of a program that is started in this one.
    pub(super) fn child(&self, state: &State) -> State {
        let mut child = state.child(Dialect::Bash, &|name| self.lookup(name).is_some());
        child.parameters = None;
        child.foreign = false;
        child
    }

    fn lookup(&self, name: &str) -> Option<std::ffi::OsString> {
        self.environment.variable.and_then(|lookup| lookup(name))
    }

    /// A variable's value: empty if it is not set, as in a shell.
    pub(super) fn value(&self, name: &str, state: &State) -> Field {
        if let Some(variable) = state.variable(name) {
            return match &variable.value {
                Some(value) => value.text.known().map(str::to_owned),
                None => Some(String::new()),
            };
        }
        match self.lookup(name) {
            Some(value) => value.into_string().ok(),
            None if state.foreign => None,
            None => Some(String::new()),
        }
    }

    /// Goes to a directory that a program is told to run in.
    pub(super) fn go(&self, directory: &Field, state: &mut State) {
        let path = directory.as_deref().and_then(|directory| state.path(directory));
        state.cwd = path.map(|path| paths::normalized(&path).into());
    }

    /// Takes up the circumstances of a command.
    fn at_command(&mut self, run: &CommandRun<'_>) -> When {
        let outer = self.frame.when;
        let unit = outer.unit.or_else(|| {
            let number = run.pipeline?;
            let next = self.units + 1;
            let unit = *self.frame.pipelines.entry(number).or_insert(next);
            self.units = self.units.max(unit);
            Some(unit)
        });
        let when = When { always: outer.always && run.surely, counts: outer.counts && !run.substituted, unit };
        self.when = when;
        self.depth = run.depth;
        self.state = run.state.clone();
        when
    }

    /// Keeps the directory that a shell may go to, even if it may as well stay.
    fn go_to(&mut self, args: &[Field], state: &State) {
        let operand = args.iter().flatten().find(|arg| !arg.starts_with('-'));
        let place = operand.and_then(|target| state.path(target)).map(|path| paths::normalized(&path));
        self.went.extend(place.filter(|place| !self.went.contains(place)));
    }

    /// What a shell does by itself, as far as it counts as a step.
    fn builtin_step(&mut self, words: &[Field], when: When) {
        let Some((Some(program), args)) = words.split_first() else { return };
        match program.as_str() {
            "cd" | "pushd" | "popd" | "." | "source" | "eval" | "trap" | "set" | "shift" => {}
            "export" | "readonly" | "local" | "declare" | "typeset" => {}
            "[" | "[[" | "test" | "umask" | "ulimit" | "shopt" | "hash" | "type" | "wait" => {}
            "exec" | "command" | "builtin" | "time" | "alias" => {}
            "true" | ":" => self.step(when, What::Nothing),
            "exit" | "return" if args.iter().all(|arg| arg.as_deref() == Some("0")) => self.step(when, What::Nothing),
            name if SHELL_WORDS.contains(&name) => self.step(when, What::Acts),
            _ => {}
        }
    }

    /// The file that `.` reads: in this directory, or on the search path.
    fn sourced_path(&self, file: &str, state: &State) -> Option<PathBuf> {
        let here = state.path(file);
        let on_path = || self.search(file, state).and_then(Result::ok);
        here.clone().filter(|path| file.contains('/') || self.disk().is_file(path)).or_else(on_path).or(here)
    }

    /// The text of a file that a shell sources, if that can be followed.
    fn sourced_text(&mut self, path: &Path) -> Option<Rc<str>> {
        let follower = self.follower.filter(|follower| follower.holds(path))?;
        match follower.content(path) {
            Content::None => None,
            Content::Binary | Content::Long => {
                self.certain = false;
                None
            }
            Content::Text(text) => Some(text),
        }
    }
}

impl Observer for Walk<'_> {
    fn is_exhaustive(&self) -> bool {
        true
    }

    fn command(&mut self, run: &CommandRun<'_>) {
        if run.words.is_empty() {
            return;
        }
        let when = self.at_command(run);
        if self.left == 0 {
            return self.doubt(when);
        }
        self.left -= 1;
        let words = fields(run.words);
        let units: usize = words.iter().flatten().map(|word| UNITS_PER_WORD + word.len()).sum();
        if !self.pay(UNITS_PER_COMMAND + units) {
            return;
        }
        let program = words.first().and_then(Option::as_deref).unwrap_or_default();
        if matches!(program, "cd" | "pushd") {
            self.go_to(&words[1..], run.state);
        }
        if !only_writes(program) {
            words.iter().flatten().for_each(|word| self.mention(word, run.state));
        }
        if run.state.function(program).is_none() {
            self.builtin_step(&words, when);
        }
    }

    fn program(&mut self, run: &CommandRun<'_>) -> Option<ProgramResult> {
        let when = self.at_command(run);
        let words = fields(run.words);
        let unknown = ProgramResult { prints: Value::UNKNOWN, success: None };
        let Some((Some(program), _)) = words.split_first().filter(|_| self.left > 0) else {
            self.doubt(when);
            return Some(unknown);
        };
        // A reserved word or a builtin that the interpreter does not model.
        if !program.contains('/') && !matches!(program.as_str(), "time") && SHELL_WORDS.contains(&program.as_str()) {
            return Some(unknown);
        }
        self.deeper(when, |walk| walk.program_words(program, &words, run.input, run.state, when));
        Some(self.known_result(&words, run.state).unwrap_or(unknown))
    }

    fn source(&mut self, run: &CommandRun<'_>) -> Option<SourcedFile> {
        let when = self.at_command(run);
        let file = match run.words.get(1).map(known_text) {
            Some(Some(file)) => file,
            Some(None) => {
                self.doubt(when);
                return Some(SourcedFile::Opaque);
            }
            None => return Some(SourcedFile::Opaque),
        };
        let found = self.sourced_path(file, run.state);
        let fit = match &found {
            Some(path) if !self.disk().exists(path) => Err(StartError::NoSuchFile(file.to_owned())),
            _ => Ok(()),
        };
        self.files(found.clone(), Naming::Sources);
        // Without it a shell says so and goes on.
        self.step(when.maybe(), What::Runs(fit));
        let text = found.as_deref().and_then(|path| self.sourced_text(path));
        let name = found.as_deref().and_then(Path::to_str).map(Rc::from);
        Some(text.map_or(SourcedFile::Opaque, |text| SourcedFile::Text { text, name }))
    }

    fn assignment(&mut self, name: &str, value: &Value, temporary: bool, state: &State) -> bool {
        self.variable(name, value.text.known(), state);
        match name {
            "IFS" => temporary,
            "CDPATH" => value.text.known() == Some(""),
            "PATH" | "ENV" | "SHELL" | "TMPDIR" | "HISTFILE" | "TIMEFORMAT" | "OPTIND" | "BASH_ENV" => true,
            _ => name.starts_with("LD_") || name.starts_with("DYLD_"),
        }
    }

    fn here_document(&mut self, text: &str, state: &State) {
        if self.follower.is_some() {
            self.texts.push((text.to_owned(), state.clone()));
        }
    }

    fn unknown_word(&mut self, word: &Word, state: &State) {
        if self.follower.is_some() {
            self.pieces(word, state);
        }
    }

    fn compared_word(&mut self, text: &str, state: &State) {
        self.mention(text, state);
    }

    fn unparsed(&mut self, text: &str, state: &State) {
        self.loose(text, Passing::InAText, state);
    }

    fn fact(&mut self, fact: &Fact<'_>) {
        // Only redirections are told as facts: programs are judged here.
        if let Fact::Path { access: Access::Read, path, .. } = fact {
            let state = self.state.clone();
            self.named(path.to_path_buf(), Passing::AsInput, &state);
        }
    }

    fn unsure(&mut self, aspects: Aspects, _cause: Cause, _reason: &str) {
        if aspects == Aspects::ALL {
            self.doubt(self.when);
        }
    }
}

fn fields(words: &[Argument]) -> Vec<Field> {
    words.iter().map(|word| known_text(word).map(str::to_owned)).collect()
}

/// A word, unless it names what another command prints: `<(…)`.
fn known_text(word: &Argument) -> Option<&str> {
    word.text().filter(|text| !text.contains("/dev/fd/"))
}

/// Programs whose arguments are what they write; a log is no part of the command that writes it.
fn only_writes(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("tee" | "touch" | "mkdir" | "rm" | "rmdir" | "truncate" | "mktemp"))
}

/// Built-ins and reserved words of bash and sh.
pub const SHELL_WORDS: [&str; 84] = [
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "echo",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "newgrp",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "then",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
    "{",
    "}",
    "!",
    "[[",
    "]]",
];
