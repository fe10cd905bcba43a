//! The walk through a command as a shell would run it: which programs, which scripts, in which directory. It runs nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::follow::Content;
use super::found::{Behind, Once};
use super::names::Passing;
use super::{Around, Follower, NamedFile, Naming, Whereabouts};
use crate::hook::CommandAction;
use crate::running::invocation::SHELL_WORDS;
use crate::running::readiness::ReadinessError;
use crate::shell::{self, Budget, Field, Node, RedirectionKind, SimpleCommand, State, Word, commands_in};

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
    Runs(Result<(), ReadinessError>),
    /// A program that only starts the next one.
    Carries(Result<(), ReadinessError>),
}

pub(crate) struct Walk<'a> {
    pub(crate) steps: Vec<Step>,
    pub(crate) certain: bool,
    pub(super) follower: Option<&'a Follower<'a>>,
    pub(super) files: Vec<NamedFile>,
    pub(super) known: HashMap<PathBuf, usize>,
    pub(super) around: Vec<Arc<Around>>,
    /// What is named in passing, and counts if not everything can be told.
    pub(super) likely: Once,
    /// Texts that may be run, if not everything can be told.
    pub(super) texts: Vec<(String, State<'a>)>,
    /// What it leads to and nobody has looked at yet, each once.
    pub(super) behind: Vec<Behind<'a>>,
    pub(super) asked: HashSet<String>,
    /// The directories that it went to.
    pub(super) went: Vec<PathBuf>,
    /// The shell as it was before anything ran.
    pub(super) base: State<'a>,
    /// The hook's own variables, which everything found depends on.
    pub(super) variables: Rc<str>,
    /// Whether this is a script that another one runs.
    pub(super) nested: bool,
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
    let mut state = State::new(place.cwd, place.variable, Budget::new());
    let mut walk = Walk::new(follower, state.clone(), variables.into());
    let always = When { always: true, counts: true, unit: None };
    for (name, value) in action.env.iter().filter(|_| follower.is_some()) {
        walk.variable(name, Some(value), &state);
    }
    walk.text(action.invocation.shell_text(), &mut state, always);
    walk.settle();
    walk
}

/// What it costs to look at a node.
const UNITS_PER_NODE: usize = 64;
/// What it costs to look for the files that a word may name.
const UNITS_PER_WORD: usize = 256;

/// Under which circumstances something runs.
#[derive(Clone, Copy)]
pub(super) struct When {
    always: bool,
    /// Whether it is a step of the command, rather than part of one of its words.
    pub(super) counts: bool,
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
    pub(super) fn new(follower: Option<&'a Follower<'a>>, base: State<'a>, variables: Rc<str>) -> Self {
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
            base,
            variables,
            nested: false,
            functions: HashSet::new(),
            units: 0,
            left: 4096,
            deeper: 32,
        }
    }

    pub(super) fn text(&mut self, text: &str, state: &mut State<'a>, when: When) {
        let script = shell::parse_within(text, &state.budget);
        if !script.certain {
            self.unsure(when);
            self.loose(text, Passing::InAText, state);
        }
        self.deeper(when, |walk| walk.nodes(&script.nodes, state, when));
    }

    /// Guards against commands that nest without end.
    pub(super) fn deeper(&mut self, when: When, go: impl FnOnce(&mut Self)) {
        if self.deeper == 0 || self.base.budget.is_spent() {
            self.unsure(when);
            return;
        }
        self.deeper -= 1;
        go(self);
        self.deeper += 1;
    }

    /// Pays for work; without the means to, not everything can be told.
    pub(super) fn pay(&mut self, units: usize) -> bool {
        let paid = self.base.budget.spend(units);
        self.certain &= paid;
        paid
    }

    pub(super) fn unsure(&mut self, when: When) {
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

    fn nodes(&mut self, nodes: &[Node], state: &mut State<'a>, when: When) {
        for node in nodes {
            if !self.pay(UNITS_PER_NODE) {
                return;
            }
            match node {
                Node::Simple(command) => self.simple(command, state, when),
                Node::Group(body) => self.nodes(body, state, when),
                Node::Apart(body) => self.nodes(body, &mut state.clone(), when),
                Node::Pipeline(parts) => {
                    self.units += 1;
                    let when = When { unit: when.unit.or(Some(self.units)), ..when };
                    parts.iter().for_each(|part| self.nodes(std::slice::from_ref(part), &mut state.clone(), when));
                }
                Node::Maybe(body) | Node::And(body) | Node::Or(body) => {
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
        if !self.pay(UNITS_PER_NODE * commands_in(body).len()) {
            return;
        }
        let before = state.clone();
        let changes = shell::changes(body);
        changes.names.iter().for_each(|name| drop(state.set(name, None)));
        if changes.moves {
            state.cwd = None;
        }
        match variable {
            None => self.nodes(body, state, when.maybe()),
            Some((name, words)) => {
                for value in words.iter().flat_map(|word| shell::fields(word, state)).collect::<Vec<_>>() {
                    if !self.pay(UNITS_PER_NODE) {
                        return;
                    }
                    state.set(name, value);
                    self.nodes(body, state, when.maybe());
                }
            }
        }
        state.or(&before);
    }

    fn simple(&mut self, command: &SimpleCommand, state: &mut State<'a>, when: When) {
        if self.left == 0 || self.base.budget.is_spent() {
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
        let units: usize = words.iter().flatten().map(|word| UNITS_PER_WORD + word.len()).sum();
        if !self.pay(UNITS_PER_NODE + units) {
            return;
        }
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
                self.went.extend(state.cwd.clone().filter(|place| !self.went.contains(place)));
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
                    Some(path) if !path.exists() => Err(ReadinessError::NoSuchFile(file.clone())),
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
}

/// Programs whose arguments are what they write; a log is no part of the hook that writes it.
fn only_writes(program: &str) -> bool {
    matches!(program.rsplit('/').next(), Some("tee" | "touch" | "mkdir" | "rm" | "rmdir" | "truncate" | "mktemp"))
}

fn changes_anything(nodes: &[Node]) -> bool {
    let changes = shell::changes(nodes);
    changes.moves || !changes.names.is_empty()
}
