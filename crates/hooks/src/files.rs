//! Which files a command names: the one answer for trust, for watching, for protection and for "could it run at all?".
//!
//! The command is walked through as a shell would run it, with directory and variables, and without running anything.
//! What the files load in turn is not followed.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::ready::{self, NotReady, Places};
use crate::registry::{Action, CommandAction};
use crate::run::command::DEFAULT_PATH;
use crate::run::words::SHELL_WORDS;
use crate::shell::{self, Field, Language, Node, RedirectionKind, SimpleCommand, State, Word, Wrapped, commands_in};

/// Where a command would run, and with which variables.
#[derive(Clone, Copy)]
pub struct Whereabouts<'a> {
    /// Its directory.
    pub cwd: &'a Path,
    /// Its environment, the hook's own variables included.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
}

/// The files that a command names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandFiles {
    /// Each once, in the order in which they are met; they need not be there.
    pub files: Vec<NamedFile>,
    /// Whether every file that it runs is among them.
    pub certain: bool,
}

/// A file that a command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What the command does with it.
    pub how: Naming,
}

/// What a command does with a file that it names, the weightiest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Naming {
    /// It runs it.
    Runs,
    /// Its shell reads it.
    Sources,
    /// It is among its arguments, or it is read from.
    Mentions,
}

impl CommandAction {
    /// The files that the command names.
    pub fn files(&self, place: &Whereabouts<'_>) -> CommandFiles {
        let walk = walk(self, place);
        CommandFiles { files: walk.files, certain: walk.certain }
    }
}

/// What a hook's action is made of, for those who ask whether it is still what the user trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fingerprinted<'a> {
    /// What is declared leads to files; the rest is [`declaration`](crate::Hook::declaration).
    Declared {
        /// Variables of its own.
        env: &'a [(String, String)],
        /// The files that it names.
        files: CommandFiles,
    },
    /// A part of the embedding program, and as trusted as that.
    InCode,
}

impl Action {
    /// What the action is made of. Every kind of action must say: there is no other way past the review of hooks.
    pub fn fingerprinted(&self, place: &Whereabouts<'_>) -> Fingerprinted<'_> {
        match self {
            Action::Command(command) => Fingerprinted::Declared { env: &command.env, files: command.files(place) },
            Action::Function(_) => Fingerprinted::InCode,
        }
    }
}

/// One thing that a command does, for those who ask whether it can.
#[derive(Debug)]
pub(crate) struct Step {
    /// The parts of one pipeline share a number.
    pub(crate) unit: usize,
    /// Whether it is done in any case.
    pub(crate) always: bool,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    /// The shell does something by itself.
    Acts,
    /// Nothing, with success: `true`.
    Nothing,
    /// Nobody can tell.
    Unsure,
    /// A program, and whether it could start.
    Runs(Result<(), NotReady>),
    /// A program that only starts the next one.
    Carries(Result<(), NotReady>),
}

pub(crate) struct Walk {
    pub(crate) steps: Vec<Step>,
    pub(crate) certain: bool,
    files: Vec<NamedFile>,
    functions: HashSet<String>,
    units: usize,
    /// How many more commands are looked at, and how many more may stand in each other.
    left: usize,
    deeper: usize,
}

pub(crate) fn walk(action: &CommandAction, place: &Whereabouts<'_>) -> Walk {
    let mut walk = Walk {
        steps: Vec::new(),
        certain: true,
        files: Vec::new(),
        functions: HashSet::new(),
        units: 0,
        left: 4096,
        deeper: 32,
    };
    let always = When { always: true, counts: true, unit: None };
    walk.text(action.invocation.shell_text(), &mut State::new(place.cwd, place.variable), always);
    walk
}

/// Under which circumstances something runs.
#[derive(Clone, Copy)]
struct When {
    always: bool,
    /// Whether it is a step of the command, rather than part of one of its words.
    counts: bool,
    unit: Option<usize>,
}

impl When {
    fn maybe(self) -> Self {
        When { always: false, ..self }
    }
}

impl Walk {
    fn text(&mut self, text: &str, state: &mut State<'_>, when: When) {
        let script = shell::parse(text);
        if !script.certain {
            self.unsure(when);
        }
        self.deeper(when, |walk| walk.nodes(&script.nodes, state, when));
    }

    /// Guards against commands that nest without end.
    fn deeper(&mut self, when: When, go: impl FnOnce(&mut Self)) {
        if self.deeper == 0 {
            self.unsure(when);
            return;
        }
        self.deeper -= 1;
        go(self);
        self.deeper += 1;
    }

    fn unsure(&mut self, when: When) {
        self.certain = false;
        self.step(when, What::Unsure);
    }

    fn step(&mut self, when: When, what: What) {
        let unit = when.unit.unwrap_or_else(|| {
            self.units += 1;
            self.units
        });
        if when.counts {
            self.steps.push(Step { unit, always: when.always, what });
        }
    }

    fn nodes(&mut self, nodes: &[Node], state: &mut State<'_>, when: When) {
        for node in nodes {
            match node {
                Node::Simple(command) => self.simple(command, state, when),
                Node::Group(body) => self.nodes(body, state, when),
                Node::Apart(body) => self.nodes(body, &mut state.clone(), when),
                Node::Pipeline(parts) => {
                    self.units += 1;
                    let when = When { unit: when.unit.or(Some(self.units)), ..when };
                    parts.iter().for_each(|part| self.nodes(std::slice::from_ref(part), &mut state.clone(), when));
                }
                Node::Maybe(body) => {
                    let before = state.clone();
                    self.nodes(body, state, when.maybe());
                    state.or(&before);
                }
                Node::Loop { variable, body } => self.repeat(variable.as_ref(), body, state, when),
                Node::Function { name, body } => {
                    self.functions.insert(name.clone());
                    // Where it is called, it may find and leave anything.
                    self.certain &= !changes_anything(body);
                    self.nodes(body, &mut state.clone(), when.maybe());
                }
            }
        }
    }

    fn repeat(&mut self, variable: Option<&(String, Vec<Word>)>, body: &[Node], state: &mut State<'_>, when: When) {
        let before = state.clone();
        let changes = changes(body);
        changes.names.iter().for_each(|name| drop(state.set(name, None)));
        if changes.moves {
            state.cwd = None;
        }
        match variable {
            None => self.nodes(body, state, when.maybe()),
            Some((name, words)) => {
                for value in words.iter().flat_map(|word| shell::fields(word, state)).collect::<Vec<_>>() {
                    state.set(name, value);
                    self.nodes(body, state, when.maybe());
                }
            }
        }
        state.or(&before);
    }

    fn simple(&mut self, command: &SimpleCommand, state: &mut State<'_>, when: When) {
        if self.left == 0 {
            return self.unsure(when);
        }
        self.left -= 1;
        for script in command.all_words().flat_map(Word::scripts) {
            self.certain &= script.certain;
            let inside = When { counts: false, ..when };
            self.deeper(when, |walk| walk.nodes(&script.nodes, &mut state.clone(), inside));
        }
        let mut input = None;
        for redirection in command.redirections.iter().filter(|one| one.kind == RedirectionKind::Read) {
            input = shell::join(&redirection.target, state).and_then(|file| state.path(&file));
            self.files(input.clone(), Naming::Mentions);
        }
        let words: Vec<Field> = command.words.iter().flat_map(|word| shell::fields(word, state)).collect();
        words.iter().flatten().for_each(|word| self.mention(word, state));
        let values: Vec<_> =
            command.assignments.iter().map(|one| (&one.name, shell::join(&one.value, state))).collect();
        let before: Vec<_> = values.into_iter().map(|(name, value)| state.set(name, value)).collect();
        if words.is_empty() {
            // Other separators would split words elsewhere.
            self.certain &= !command.assignments.iter().any(|one| one.name == "IFS");
            return;
        }
        self.run(&words, input, state, when);
        before.into_iter().rev().for_each(|before| state.restore(before));
    }

    fn run(&mut self, words: &[Field], input: Option<PathBuf>, state: &mut State<'_>, when: When) {
        let Some((Some(program), args)) = words.split_first() else { return self.unsure(when) };
        if program.contains('/') || !self.built_in(program, args, state, when) {
            self.deeper(when, |walk| walk.program(program, words, input, state, when));
        }
    }

    /// What a shell does by itself; whether this is such a thing.
    fn built_in(&mut self, program: &str, args: &[Field], state: &mut State<'_>, when: When) -> bool {
        match program {
            name if self.functions.contains(name) => {}
            "cd" | "pushd" => state.go(args),
            "popd" => state.cwd = None,
            "." | "source" => self.source(args, state, when),
            "eval" | "trap" => {
                let count = if program == "trap" { args.len().min(1) } else { args.len() };
                let texts: Option<Vec<&str>> = args[..count].iter().map(Option::as_deref).collect();
                match texts {
                    Some(texts) => self.text(&texts.join(" "), state, when.maybe()),
                    None => {
                        state.forget();
                        self.unsure(when);
                    }
                }
            }
            "export" | "readonly" | "local" | "declare" | "typeset" => {
                for arg in args {
                    match arg.as_deref().map(|arg| arg.split_once('=')) {
                        Some(Some((name, value))) => drop(state.set(name, Some(value.to_owned()))),
                        Some(None) => {}
                        None => state.forget(),
                    }
                }
            }
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "let" => {
                for arg in args.iter().flatten() {
                    state.set(arg.split(['=', '+', '-']).next().unwrap_or_default(), None);
                }
                self.step(when, What::Acts);
            }
            "alias" => self.unsure(when),
            "[" | "[[" | "test" | "set" | "shift" | "umask" | "ulimit" | "shopt" | "hash" | "type" | "wait" => {}
            "true" | ":" => self.step(when, What::Nothing),
            "exit" | "return" if args.iter().all(|arg| arg.as_deref() == Some("0")) => self.step(when, What::Nothing),
            "exec" | "command" | "builtin" | "time" => return false,
            name if SHELL_WORDS.contains(&name) => self.step(when, What::Acts),
            _ => return false,
        }
        true
    }

    fn source(&mut self, args: &[Field], state: &mut State<'_>, when: When) {
        match args.first() {
            Some(Some(file)) => {
                let here = state.path(file);
                let on_path = || self.search(file, state).and_then(Result::ok);
                let found = here.clone().filter(|path| file.contains('/') || path.is_file()).or_else(on_path).or(here);
                let fit = match &found {
                    Some(path) if !path.exists() => Err(NotReady::Missing(file.clone())),
                    _ => Ok(()),
                };
                self.files(found, Naming::Sources);
                // Without it a shell says so and goes on.
                self.step(when.maybe(), What::Runs(fit));
            }
            Some(None) => self.unsure(when),
            None => {}
        }
        state.forget();
    }

    fn program(&mut self, program: &str, words: &[Field], input: Option<PathBuf>, state: &mut State<'_>, when: When) {
        let shells_own = matches!(program, "exec" | "command" | "builtin");
        match shell::unwrap(program, words) {
            Wrapped::Program if shells_own => {}
            Wrapped::Program => self.start(program, Ok(()), What::Runs, state, when),
            Wrapped::Command { at, assignments, directory } => {
                if shells_own {
                    return self.run(&words[at..], input, state, when);
                }
                self.start(program, Ok(()), What::Carries, state, when);
                let mut inner = state.clone();
                assignments.into_iter().for_each(|(name, value)| drop(inner.set(&name, Some(value))));
                if let Some(directory) = directory {
                    inner.go(&[Some(directory)]);
                }
                let command = &words[at..];
                match command.first() {
                    // A program of that name, not what the shell has under it.
                    Some(Some(name)) if !name.contains('/') && !is_wrapping(name, command) => {
                        self.start(name, Ok(()), What::Runs, &inner, when);
                    }
                    _ => self.run(command, input, &mut inner, when),
                }
            }
            Wrapped::Script { at, language } => {
                let script = words[at].as_deref().unwrap_or_default();
                let fit = self.script(script, language, state);
                self.start(program, fit, What::Runs, state, when);
            }
            Wrapped::Module(module) => {
                let base = module.replace('.', "/");
                let candidates = [format!("{base}.py"), format!("{base}/__main__.py")];
                for path in candidates.iter().filter_map(|candidate| state.path(candidate)) {
                    self.files(Some(path), Naming::Runs);
                }
                self.certain &= state.cwd.is_some();
                self.start(program, Ok(()), What::Runs, state, when);
            }
            Wrapped::ShellCode { at } => {
                self.start(program, Ok(()), What::Carries, state, when);
                let code = words[at].as_deref().unwrap_or_default();
                self.text(code, &mut state.of_child(), when);
            }
            Wrapped::Code(language) => {
                self.certain &= language == Language::Shell && input.is_some();
                self.files(input, Naming::Runs);
                self.start(program, Ok(()), What::Runs, state, when);
            }
            Wrapped::Unsure => {
                self.start(program, Ok(()), What::Carries, state, when);
                self.unsure(when);
            }
        }
    }

    /// A program that starts, with what is already known to be wrong.
    fn start(
        &mut self,
        program: &str,
        known: Result<(), NotReady>,
        what: fn(Result<(), NotReady>) -> What,
        state: &State<'_>,
        when: When,
    ) {
        let Some(found) = self.search(program, state) else { return self.unsure(when) };
        let fit = match found {
            Ok(path) => {
                let places = search_path(state);
                let cwd = state.cwd.as_deref().unwrap_or(Path::new("/"));
                let places = Places { path: &places.unwrap_or_default(), cwd };
                let fit = ready::check_script(&path, OsStr::new(program), &places);
                self.files(Some(path), Naming::Runs);
                fit.and(known)
            }
            Err(NotReady::NotFound(_)) if state.foreign => return self.unsure(when),
            Err(reason) => {
                self.files(state.path(program).filter(|_| program.contains('/')), Naming::Runs);
                Err(reason)
            }
        };
        self.step(when, what(fit));
    }

    /// Where a program is; nothing if that cannot be told.
    fn search(&self, program: &str, state: &State<'_>) -> Option<Result<PathBuf, NotReady>> {
        let path = search_path(state)?;
        let relative = !Path::new(program).is_absolute() && program.contains('/');
        let cwd = match &state.cwd {
            Some(cwd) => cwd.as_path(),
            None if relative => return None,
            None => Path::new("/"),
        };
        Some(ready::find_program(OsStr::new(program), &Places { path: &path, cwd }))
    }

    /// The file that an interpreter reads.
    fn script(&mut self, script: &str, language: Language, state: &State<'_>) -> Result<(), NotReady> {
        let Some(path) = state.path(script) else {
            self.certain = false;
            return Ok(());
        };
        let missing = || Err(NotReady::Missing(script.to_owned()));
        let candidates: Vec<PathBuf> = match language {
            Language::Node => {
                let with = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
                vec![path.clone(), with(".js"), with(".json"), with(".node"), path.join("index.js")]
            }
            Language::Python => vec![path.clone(), path.join("__main__.py")],
            Language::Shell | Language::Other => vec![path.clone()],
        };
        let found = candidates.into_iter().find(|candidate| candidate.exists() && !candidate.is_dir());
        if let Some(found) = found {
            self.files(Some(found), Naming::Runs);
            return Ok(());
        }
        self.files(Some(path.clone()), Naming::Runs);
        match (language, path.is_dir()) {
            (Language::Shell, true) => Err(NotReady::Directory(script.to_owned())),
            // A package says for itself which of its files it begins with.
            (Language::Node, true) => {
                self.files(Some(path.join("package.json")), Naming::Runs);
                self.certain = false;
                Ok(())
            }
            (_, true) => Ok(()),
            (Language::Shell, false) if !script.contains('/') => match self.search(script, state) {
                Some(Err(_)) => missing(),
                _ => Ok(()),
            },
            _ => missing(),
        }
    }

    fn files(&mut self, path: Option<PathBuf>, how: Naming) {
        // Without the `.` in it, which is how one file gets two names.
        let Some(path) = path.map(|path| path.components().collect::<PathBuf>()) else { return };
        match self.files.iter_mut().find(|file| file.path == path) {
            Some(known) => known.how = known.how.min(how),
            None => self.files.push(NamedFile { path, how }),
        }
    }

    /// A word that may be a file's name, or hold one: too much does no harm.
    fn mention(&mut self, word: &str, state: &State<'_>) {
        let value = word.split_once('=').map(|(_, value)| value);
        let inside = word.split(|char: char| char.is_whitespace() || ";|&()<>`'\"".contains(char));
        let parts = inside.filter(|part| !part.is_empty() && *part != word);
        for name in std::iter::once(word).filter(|word| !word.starts_with('-')).chain(value) {
            let looks_like_one = name.contains('/') && !name.contains("://") && !name.contains(char::is_whitespace);
            let path = state.path(name).filter(|path| looks_like_one || path.is_file());
            self.files(path.filter(|_| !name.is_empty()), Naming::Mentions);
        }
        for part in parts {
            self.files(state.path(part).filter(|path| path.is_file()), Naming::Mentions);
        }
    }
}

fn is_wrapping(name: &str, command: &[Field]) -> bool {
    shell::unwrap(name, command) != Wrapped::Program
}

fn search_path(state: &State<'_>) -> Option<OsString> {
    let path = state.value("PATH")?;
    Some(if path.is_empty() { DEFAULT_PATH.into() } else { path.into() })
}

/// What a part of a script does to the shell that runs it.
struct Changes {
    names: Vec<String>,
    moves: bool,
}

fn changes(nodes: &[Node]) -> Changes {
    let mut changes = Changes { names: Vec::new(), moves: false };
    for command in commands_in(nodes) {
        let mut words = command.words.iter().map(|word| word.literal().unwrap_or_default());
        match words.next().as_deref() {
            None => changes.names.extend(command.assignments.iter().map(|one| one.name.clone())),
            Some("cd" | "pushd" | "popd") => changes.moves = true,
            Some("export" | "readonly" | "local" | "declare" | "typeset" | "read" | "mapfile" | "readarray") => {
                let name = |word: String| word.split('=').next().unwrap_or_default().to_owned();
                changes.names.extend(words.map(name));
            }
            _ => {}
        }
    }
    changes
}

fn changes_anything(nodes: &[Node]) -> bool {
    let changes = changes(nodes);
    changes.moves || !changes.names.is_empty()
}
