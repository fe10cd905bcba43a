//! The walk through a command as a shell would run it: which programs, which scripts, in which directory. It runs nothing.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::follow::Content;
use super::names::Passing;
use super::{Around, Follower, NamedFile, Naming, Whereabouts};
use crate::hook::CommandAction;
use crate::ready::{self, NotReady, Places};
use crate::run::command::DEFAULT_PATH;
use crate::run::words::SHELL_WORDS;
use crate::shell::{self, Field, Language, Node, RedirectionKind, SimpleCommand, State, Word, Wrapped, commands_in};

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

pub(crate) struct Walk<'a> {
    pub(crate) steps: Vec<Step>,
    pub(crate) certain: bool,
    pub(super) follower: Option<&'a Follower<'a>>,
    pub(super) files: Vec<NamedFile>,
    pub(super) known: HashMap<PathBuf, usize>,
    pub(super) around: Vec<Arc<Around>>,
    /// What is named in passing, and counts if not everything can be told.
    pub(super) likely: Vec<PathBuf>,
    /// Texts that may be run, if not everything can be told.
    pub(super) texts: Vec<(String, State<'a>)>,
    /// The directories that it went to.
    pub(super) went: Vec<PathBuf>,
    /// The shell as it was before anything ran.
    pub(super) base: State<'a>,
    /// The hook's own variables, which everything found depends on.
    pub(super) variables: Rc<str>,
    /// Whether this is a script that another one runs.
    pub(super) nested: bool,
    /// Whether a script was left out because it is being followed already.
    pub(super) cut: bool,
    pub(super) functions: HashSet<String>,
    pub(super) units: usize,
    /// How many more commands are looked at, and how many more may stand in each other.
    pub(super) left: usize,
    pub(super) deeper: usize,
}

pub(crate) fn walk<'a>(
    action: &CommandAction,
    place: &Whereabouts<'a>,
    follower: Option<&'a Follower<'a>>,
) -> Walk<'a> {
    let variables = if action.env.is_empty() { String::new() } else { format!("{:?}", action.env) };
    let mut state = State::new(place.cwd, place.variable);
    let mut walk = Walk {
        steps: Vec::new(),
        certain: true,
        follower,
        files: Vec::new(),
        known: HashMap::new(),
        around: Vec::new(),
        likely: Vec::new(),
        texts: Vec::new(),
        went: Vec::new(),
        base: state.clone(),
        variables: variables.into(),
        nested: false,
        cut: false,
        functions: HashSet::new(),
        units: 0,
        left: 4096,
        deeper: 32,
    };
    let always = When { always: true, counts: true, unit: None };
    for (name, value) in action.env.iter().filter(|_| follower.is_some()) {
        walk.variable(name, Some(value), &state);
    }
    walk.text(action.invocation.shell_text(), &mut state, always);
    walk.settle();
    walk
}

/// Under which circumstances something runs.
#[derive(Clone, Copy)]
pub(super) struct When {
    always: bool,
    /// Whether it is a step of the command, rather than part of one of its words.
    counts: bool,
    unit: Option<usize>,
}

impl When {
    /// Not a step of the command.
    pub(super) const INSIDE: When = When { always: false, counts: false, unit: None };

    fn maybe(self) -> Self {
        When { always: false, ..self }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn text(&mut self, text: &str, state: &mut State<'a>, when: When) {
        let script = shell::parse(text);
        if !script.certain {
            self.unsure(when);
            self.loose(text, Passing::InAText, state);
        }
        self.deeper(when, |walk| walk.nodes(&script.nodes, state, when));
    }

    /// Guards against commands that nest without end.
    pub(super) fn deeper(&mut self, when: When, go: impl FnOnce(&mut Self)) {
        if self.deeper == 0 {
            self.unsure(when);
            return;
        }
        self.deeper -= 1;
        go(self);
        self.deeper += 1;
    }

    pub(super) fn unsure(&mut self, when: When) {
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

    fn nodes(&mut self, nodes: &[Node], state: &mut State<'a>, when: When) {
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
                    let mut inside = state.clone();
                    inside.parameters = None;
                    self.nodes(body, &mut inside, when.maybe());
                }
            }
        }
    }

    fn repeat(&mut self, variable: Option<&(String, Vec<Word>)>, body: &[Node], state: &mut State<'a>, when: When) {
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

    fn simple(&mut self, command: &SimpleCommand, state: &mut State<'a>, when: When) {
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
            input.iter().for_each(|path| self.named(path.clone(), Passing::AsInput, state));
        }
        for redirection in command.redirections.iter().filter(|one| one.kind == RedirectionKind::Text) {
            if let Some(text) = shell::join(&redirection.target, state).filter(|_| self.follower.is_some()) {
                self.texts.push((text, state.clone()));
            }
        }
        let expanded: Vec<Vec<Field>> = command.words.iter().map(|word| shell::fields(word, state)).collect();
        let words: Vec<Field> = expanded.iter().flatten().cloned().collect();
        if !words.first().and_then(Option::as_deref).is_some_and(only_writes) {
            words.iter().flatten().for_each(|word| self.mention(word, state));
        }
        if self.follower.is_some() {
            let unknown = command.words.iter().zip(&expanded).filter(|(_, fields)| fields.contains(&None));
            unknown.for_each(|(word, _)| self.pieces(word, state));
            let values = command.assignments.iter().map(|one| &one.value);
            values.filter(|value| shell::join(value, state).is_none()).for_each(|value| self.pieces(value, state));
        }
        let values: Vec<_> =
            command.assignments.iter().map(|one| (&one.name, shell::join(&one.value, state))).collect();
        values.iter().for_each(|(name, value)| self.variable(name, value.as_deref(), state));
        let before: Vec<_> = values.into_iter().map(|(name, value)| state.set(name, value)).collect();
        if !words.is_empty() {
            command.assignments.iter().for_each(|one| state.export(&one.name));
        }
        if words.is_empty() {
            // Other separators would split words elsewhere.
            self.certain &= !command.assignments.iter().any(|one| one.name == "IFS");
            return;
        }
        self.run(&words, input, state, when);
        before.into_iter().rev().for_each(|before| state.restore(before));
    }

    pub(super) fn run(&mut self, words: &[Field], input: Option<PathBuf>, state: &mut State<'a>, when: When) {
        let Some((Some(program), args)) = words.split_first() else { return self.unsure(when) };
        if program.contains('/') || !self.built_in(program, args, state, when) {
            self.deeper(when, |walk| walk.program(program, words, input, state, when));
        }
    }

    /// What a shell does by itself; whether this is such a thing.
    fn built_in(&mut self, program: &str, args: &[Field], state: &mut State<'a>, when: When) -> bool {
        match program {
            name if self.functions.contains(name) => {}
            "cd" | "pushd" => {
                state.go(args);
                self.went.extend(state.cwd.clone());
            }
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
                // A name for another variable, a number, an array: not what it is set to.
                let odd = |arg: &String| arg.starts_with('-') && arg.contains(['n', 'i', 'a', 'A', 'u', 'l', 'c']);
                let odd = program != "export" && args.iter().flatten().any(odd);
                for arg in args {
                    match arg.as_deref().map(|arg| arg.split_once('=').map_or((arg, None), |(a, b)| (a, Some(b)))) {
                        Some((name, value)) => {
                            if let Some(value) = value {
                                self.variable(name, Some(value), state);
                                state.set(name, Some(value.to_owned()).filter(|_| !odd));
                            }
                            state.export(name);
                        }
                        None => state.forget(),
                    }
                }
            }
            "set" | "shift" => state.parameters = None,
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "let" => {
                for arg in args.iter().flatten() {
                    state.set(arg.split(['=', '+', '-']).next().unwrap_or_default(), None);
                }
                self.step(when, What::Acts);
            }
            "alias" => self.unsure(when),
            "[" | "[[" | "test" | "umask" | "ulimit" | "shopt" | "hash" | "type" | "wait" => {}
            "true" | ":" => self.step(when, What::Nothing),
            "exit" | "return" if args.iter().all(|arg| arg.as_deref() == Some("0")) => self.step(when, What::Nothing),
            "exec" | "command" | "builtin" | "time" => return false,
            name if SHELL_WORDS.contains(&name) => self.step(when, What::Acts),
            _ => return false,
        }
        true
    }

    fn source(&mut self, args: &[Field], state: &mut State<'a>, when: When) {
        match args.first() {
            Some(Some(file)) => {
                let here = state.path(file);
                let on_path = || self.search(file, state).and_then(Result::ok);
                let found = here.clone().filter(|path| file.contains('/') || path.is_file()).or_else(on_path).or(here);
                let fit = match &found {
                    Some(path) if !path.exists() => Err(NotReady::Missing(file.clone())),
                    _ => Ok(()),
                };
                self.files(found.clone(), Naming::Sources);
                // Without it a shell says so and goes on.
                self.step(when.maybe(), What::Runs(fit));
                if let Some(path) = found
                    && self.read_along(&path, state)
                {
                    return;
                }
            }
            Some(None) => self.unsure(when),
            None => {}
        }
        state.forget();
    }

    /// Reads what a shell reads in its own name; whether that could be followed.
    fn read_along(&mut self, path: &Path, state: &mut State<'a>) -> bool {
        let Some(follower) = self.follower.filter(|follower| follower.holds(path)) else { return false };
        match follower.content(path) {
            Content::None => return false,
            Content::Binary | Content::Long => {
                self.certain = false;
                return false;
            }
            Content::Text(text) => {
                let before = std::mem::replace(&mut state.reading, path.to_str().map(str::to_owned));
                let parameters = state.parameters.take();
                self.text(&text, state, When::INSIDE);
                state.reading = before;
                state.parameters = parameters;
            }
        }
        true
    }

    pub(super) fn program(
        &mut self,
        program: &str,
        words: &[Field],
        input: Option<PathBuf>,
        state: &mut State<'a>,
        when: When,
    ) {
        let shells_own = matches!(program, "exec" | "command" | "builtin");
        match shell::unwrap(program, words) {
            Wrapped::Program if shells_own => {}
            Wrapped::Program => {
                self.start(program, &words[1..], Ok(()), What::Runs, state, when);
                self.runner(program, words, state);
            }
            Wrapped::Command { at, assignments, directory } => {
                if shells_own {
                    return self.run(&words[at..], input, state, when);
                }
                self.start(program, &[], Ok(()), What::Carries, state, when);
                let mut inner = state.clone();
                for (name, value) in assignments {
                    self.variable(&name, Some(&value), state);
                    inner.set(&name, Some(value));
                    inner.export(&name);
                }
                if let Some(directory) = directory {
                    inner.go(&[Some(directory)]);
                }
                let command = if base_name(program) == "xargs" { given_more(words, at) } else { words[at..].to_vec() };
                match command.first() {
                    // A program of that name, not what the shell has under it.
                    Some(Some(name)) if !name.contains('/') && !is_wrapping(name, &command) => {
                        self.start(name, &command[1..], Ok(()), What::Runs, &inner, when);
                        self.runner(name, &command, &mut inner);
                    }
                    _ => self.run(&command, input, &mut inner, when),
                }
            }
            Wrapped::Script { at, language } => {
                let script = words[at].as_deref().unwrap_or_default();
                self.options(language, &words[1..at], state);
                let fit = self.script(script, &words[at + 1..], language, state);
                self.start(program, &[], fit, What::Runs, state, when);
            }
            Wrapped::Module(module) => {
                let base = module.replace('.', "/");
                let candidates = [format!("{base}.py"), format!("{base}/__main__.py")];
                for path in candidates.iter().filter_map(|candidate| state.path(candidate)) {
                    self.files(Some(path), Naming::Runs);
                }
                self.certain &= state.cwd.is_some();
                self.module(&module, state);
                self.start(program, &[], Ok(()), What::Runs, state, when);
            }
            Wrapped::ShellCode { at } => {
                self.start(program, &[], Ok(()), What::Carries, state, when);
                self.options(Language::Shell, &words[1..at], state);
                let code = words[at].as_deref().unwrap_or_default();
                let mut inner = state.of_child();
                inner.script = words.get(at + 1).cloned().unwrap_or(Some(program.to_owned()));
                inner.parameters = words.get(at + 2..).map(<[Field]>::to_vec);
                self.text(code, &mut inner, when);
            }
            Wrapped::Code(language) => {
                self.options(language, &words[1..], state);
                self.code(language, words, input.as_deref(), state);
                self.files(input, Naming::Runs);
                self.start(program, &[], Ok(()), What::Runs, state, when);
            }
            Wrapped::Unsure => {
                self.start(program, &[], Ok(()), What::Carries, state, when);
                self.unsure(when);
            }
        }
    }

    /// A program that starts, with what is already known to be wrong.
    fn start(
        &mut self,
        program: &str,
        args: &[Field],
        known: Result<(), NotReady>,
        what: fn(Result<(), NotReady>) -> What,
        state: &State<'a>,
        when: When,
    ) {
        let Some(found) = self.search(program, state) else { return self.unsure(when) };
        let fit = match found {
            Ok(path) => {
                let fit =
                    if when.counts && self.follower.is_none() { self.check(&path, program, state) } else { Ok(()) };
                let shown = if program.contains('/') { Some(program) } else { path.to_str() };
                self.enter(&path, shown, args, state);
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

    fn check(&self, path: &Path, program: &str, state: &State<'a>) -> Result<(), NotReady> {
        let places = search_path(state).unwrap_or_default();
        let cwd = state.cwd.as_deref().unwrap_or(Path::new("/"));
        ready::check_script(path, OsStr::new(program), &Places { path: &places, cwd })
    }

    /// Where a program is; nothing if that cannot be told.
    fn search(&self, program: &str, state: &State<'a>) -> Option<Result<PathBuf, NotReady>> {
        let path = search_path(state)?;
        let relative = !Path::new(program).is_absolute() && program.contains('/');
        let cwd = match &state.cwd {
            Some(cwd) => cwd.as_path(),
            None if relative => return None,
            None => Path::new("/"),
        };
        let look = || ready::find_program(OsStr::new(program), &Places { path: &path, cwd });
        Some(match self.follower {
            None => look(),
            Some(follower) => {
                follower.program((program.to_owned(), path.to_string_lossy().into_owned(), cwd.to_owned()), look)
            }
        })
    }

    /// The file that an interpreter reads.
    fn script(&mut self, script: &str, args: &[Field], language: Language, state: &State<'a>) -> Result<(), NotReady> {
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
            self.interpret(&found, script, args, language, state);
            self.files(Some(found), Naming::Runs);
            return Ok(());
        }
        self.files(Some(path.clone()), Naming::Runs);
        match (language, path.is_dir()) {
            (Language::Shell, true) => Err(NotReady::Directory(script.to_owned())),
            // A package says for itself which of its files it begins with.
            (Language::Node, true) if self.follower.is_some() => {
                self.required(&path, state);
                Ok(())
            }
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
}

/// Programs whose arguments are what they write; a log is no part of the hook that writes it.
fn only_writes(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("tee" | "touch" | "mkdir" | "rm" | "rmdir" | "truncate" | "mktemp"))
}

pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// What `xargs` runs: it adds words of its own, or puts them where its sign stands.
fn given_more(words: &[Field], at: usize) -> Vec<Field> {
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
