//! The one interpreter of shell scripts. It runs nothing: it goes through a script as a shell would, with what is known of
//! the directory, the variables and the functions at each point, and tells an [`Observer`] what the script does.
//!
//! It is an abstract interpreter. Every command yields the state after success and after failure; where ways join, only
//! what is the same on both is known. What it does not model makes the script unsure, with the reason.

mod arithmetic;
mod builtins;
mod compound;
mod expansion;
mod flows;
mod pattern;
mod redirection;
mod run;
mod touch;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::budget::{Budget, OVER_BUDGET};
use crate::disk::Disk;
use crate::observer::{Aspects, Cause, CommandRun, Observer};
use crate::programs::Programs;
use crate::programs::spec::Aspect;
use crate::state::State;
use crate::syntax::{Command, Connector, Dialect, Pipeline, Script, Statement};
use crate::value::{Argument, Taint, Text, Value};

pub(crate) use arithmetic::is_name;
pub(crate) use flows::FlowSource;
pub(crate) use run::{Lookup, steers_shell};

/// The commands that are looked at, and how deep they may run each other.
const MAX_COMMANDS: usize = 4096;
pub(crate) const MAX_DEPTH: usize = 32;
/// The units that a step of the interpreter costs.
const UNITS_PER_STEP: usize = 64;

/// Looks up a variable of the environment.
pub type VariableLookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Where a script runs.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    pub disk: &'a dyn Disk,
    pub programs: &'a Programs,
    /// What `~` stands for, if that is known.
    pub home: Option<&'a Path>,
    /// The variables of the environment; without it each of them may be anything.
    pub variable: Option<VariableLookup<'a>>,
}

/// Interprets a script in a state, and tells an observer what it does.
pub fn interpret(text: &str, state: State, environment: Environment<'_>, budget: &Budget, observer: &mut dyn Observer) {
    interpret_within(text, state, environment, budget, observer, 0);
}

/// Interprets a script that so many commands run.
pub(crate) fn interpret_within(
    text: &str,
    state: State,
    environment: Environment<'_>,
    budget: &Budget,
    observer: &mut dyn Observer,
    depth: usize,
) {
    let mut interpreter = Interpreter::new(environment, budget.clone(), observer);
    interpreter.depth = depth;
    interpreter.script_text(text, state, &Io::default());
    interpreter.finish();
}

/// The states after a command: none where the command never ends that way.
#[derive(Clone)]
pub(crate) struct Outcome {
    pub(crate) success: Option<State>,
    pub(crate) failure: Option<State>,
}

impl Outcome {
    /// A command that may succeed or fail and leaves the same state.
    pub(crate) fn both(state: State) -> Self {
        Outcome { success: Some(state.clone()), failure: Some(state) }
    }

    pub(crate) fn success(state: State) -> Self {
        Outcome { success: Some(state), failure: None }
    }

    pub(crate) fn failure(state: State) -> Self {
        Outcome { success: None, failure: Some(state) }
    }

    pub(crate) const NEVER: Outcome = Outcome { success: None, failure: None };

    /// The state however it ended.
    pub(crate) fn any(self) -> Option<State> {
        join(self.success, self.failure)
    }

    pub(crate) fn join(self, other: Outcome) -> Outcome {
        Outcome { success: join(self.success, other.success), failure: join(self.failure, other.failure) }
    }
}

pub(crate) fn join(one: Option<State>, other: Option<State>) -> Option<State> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.join(&other)),
        (one, other) => one.or(other),
    }
}

/// What a command reads from and writes to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Io {
    pub(crate) stdin: Stream,
    pub(crate) stdout: Sink,
    pub(crate) stderr: Sink,
}

/// What can be read from a descriptor.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) text: Text,
    pub(crate) taint: Taint,
    /// The file that it is, if it is one.
    pub(crate) file: Option<Rc<Path>>,
    /// How many commands had ended when it began: one that ends later may have read a part of it.
    began_at: usize,
    /// Whether it is a pipe or a redirection, and not what the shell itself reads.
    redirected: bool,
}

impl Default for Stream {
    fn default() -> Self {
        Stream { text: Text::Unknown, taint: Taint::NONE, file: None, began_at: 0, redirected: false }
    }
}

/// Where a command's output goes.
#[derive(Clone, Debug, Default)]
pub(crate) enum Sink {
    /// To the terminal.
    #[default]
    Terminal,
    /// Into the capture with this number; `whole` if all of it surely goes there.
    Capture {
        number: usize,
        whole: bool,
    },
    File(PathBuf),
}

/// Output that another command or a word takes up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Capture {
    /// All of it, as long as that is known.
    known: Option<String>,
    /// What all of it is, where one command printed it.
    whole: Option<Text>,
    taint: Taint,
    /// How many conditions its commands were in when it began.
    conditions: usize,
    /// How many jobs that run beside others they were in.
    jobs: usize,
}

/// A loop that is being interpreted: the states in which `break` and `continue` were met.
#[derive(Default)]
struct LoopFrame {
    jumps: Option<State>,
}

pub(crate) struct Interpreter<'a> {
    pub(crate) environment: Environment<'a>,
    pub(crate) budget: Budget,
    observer: &'a mut dyn Observer,
    /// What has been said to be incomplete.
    unsure: Aspects,
    /// What of it the current program has left open.
    call_unsure: Aspects,
    sources: Vec<FlowSource>,
    /// Where the data in files that the script writes comes from.
    file_taint: HashMap<PathBuf, Taint>,
    /// Whether data was put into files whose names are not known.
    unnamed_data: bool,
    pub(crate) repository_taint: Taint,
    /// Paths that may have become links: touching what is below them touches something else.
    links: Vec<PathBuf>,
    /// Whether the disk is no longer what it was when the script began.
    pub(crate) changed: bool,
    /// Whether programs may have been replaced.
    programs_changed: bool,
    /// The names of the files that it makes, and of the programs that it runs.
    made: HashSet<String>,
    made_directories: HashSet<String>,
    /// Trees into which files of any name were put.
    pub(crate) filled: Vec<PathBuf>,
    /// Whether the current program puts files of any name into the trees that it writes.
    pub(crate) fills_trees: bool,
    /// Whether the name of a file that it makes is not known.
    made_unknown: bool,
    /// Whether it runs a program or a script by a path.
    runs_path: bool,
    ran: HashSet<String>,
    loops: Vec<LoopFrame>,
    /// The states in which each function that is being interpreted returned.
    returns: Vec<Option<State>>,
    captures: Vec<Capture>,
    /// The taint of what the current command reads.
    pub(crate) read_taint: Taint,
    /// Whether the current program prints code that sets up a shell.
    pub(crate) prints_setup: bool,
    ended_commands: usize,
    /// Whether the shell reads its commands from its input, which they may read from, too.
    pub(crate) script_is_input: bool,
    /// The files that the current command writes.
    written: Vec<PathBuf>,
    /// The hosts that the current command contacts.
    contacted: Vec<String>,
    /// Whether the shell's own input or output was redirected for good.
    redirected: bool,
    commands_left: usize,
    depth: usize,
    calls: Vec<std::rc::Rc<str>>,
    /// The variables that the current function has declared as its own.
    locals: Vec<String>,
    /// Whether a repository was cloned, whose settings are not known.
    pub(crate) clones: bool,
    /// Whether what is touched stands for everything in a tree.
    pub(crate) tree_depth: bool,
    /// Whether what is found in those trees may be a link.
    pub(crate) tree_links: bool,
    /// How many redirections into files the current command is in.
    redirects: usize,
    /// How many pipelines and background jobs the current command is in.
    apart: usize,
    /// How many jobs the current command is in that run beside others, so that the order of their output is not known.
    jobs: usize,
    /// Whether a job was started in the background, which may still run.
    background: bool,
    /// Whether a link was made, or settings were changed, beside a job that may meet them.
    raced: bool,
    /// Whether settings in the home directory were changed.
    home_changed: bool,
    /// The variables that may be read-only: setting one may fail.
    readonly: HashSet<String>,
    /// What the observer says of itself.
    exhaustive: bool,
    /// How many conditions decide whether the current command runs.
    conditions: usize,
    /// How many substitutions the current command is in.
    substitutions: usize,
    /// The pipeline that the current command is in, and the number of the last one.
    pipeline: Option<usize>,
    pipelines: usize,
    /// Whether the variables that are set now are set for one command.
    temporary: bool,
    /// The functions that were defined, with the state in which, and those that were called.
    defined: Vec<(Rc<Command>, State)>,
    called: Vec<Rc<Command>>,
}

impl<'a> Interpreter<'a> {
    fn new(environment: Environment<'a>, budget: Budget, observer: &'a mut dyn Observer) -> Self {
        let exhaustive = observer.is_exhaustive();
        Interpreter {
            environment,
            budget,
            observer,
            unsure: Aspects::NONE,
            call_unsure: Aspects::NONE,
            sources: Vec::new(),
            file_taint: HashMap::new(),
            unnamed_data: false,
            repository_taint: Taint::NONE,
            links: Vec::new(),
            changed: false,
            programs_changed: false,
            made: HashSet::new(),
            made_directories: HashSet::new(),
            filled: Vec::new(),
            fills_trees: false,
            made_unknown: false,
            runs_path: false,
            ran: HashSet::new(),
            loops: Vec::new(),
            returns: Vec::new(),
            captures: Vec::new(),
            read_taint: Taint::NONE,
            prints_setup: false,
            ended_commands: 0,
            script_is_input: false,
            written: Vec::new(),
            contacted: Vec::new(),
            redirected: false,
            commands_left: MAX_COMMANDS,
            depth: 0,
            calls: Vec::new(),
            locals: Vec::new(),
            apart: 0,
            jobs: 0,
            background: false,
            raced: false,
            home_changed: false,
            readonly: HashSet::new(),
            redirects: 0,
            tree_depth: false,
            tree_links: true,
            clones: false,
            exhaustive,
            conditions: 0,
            substitutions: 0,
            pipeline: None,
            pipelines: 0,
            temporary: false,
            defined: Vec::new(),
            called: Vec::new(),
        }
    }

    /// There may be more effects of these kinds.
    pub(crate) fn unsure(&mut self, aspects: impl Into<Aspects>, reason: impl Into<Cow<'static, str>>) {
        self.unsure_because(aspects.into(), Cause::Script, &reason.into());
    }

    fn unsure_because(&mut self, aspects: Aspects, cause: Cause, reason: &str) {
        self.unsure = self.unsure.and(aspects);
        self.call_unsure = self.call_unsure.and(aspects);
        if aspects.has(Aspect::Writes) || aspects.has(Aspect::Deletes) {
            self.changed = true;
        }
        self.observer.unsure(aspects, cause, reason);
    }

    /// The commands are known, and what a program does is not.
    pub(crate) fn unsure_program(&mut self, aspects: impl Into<Aspects>, reason: impl Into<Cow<'static, str>>) {
        self.unsure_because(aspects.into(), Cause::Program, &reason.into());
    }

    /// A program is given code of another language.
    pub(crate) fn unsure_code(&mut self, reason: impl Into<Cow<'static, str>>) {
        self.unsure_because(Aspects::ALL, Cause::Code, &reason.into());
    }

    /// Anything may happen.
    pub(crate) fn unsure_all(&mut self, reason: impl Into<Cow<'static, str>>) {
        self.unsure(Aspects::ALL, reason);
    }

    /// Pays for work; without the means to, anything may happen.
    pub(crate) fn pay(&mut self, units: usize) -> bool {
        let paid = self.budget.spend(units);
        if !paid && self.unsure != Aspects::ALL {
            self.unsure_all(OVER_BUDGET);
        }
        paid
    }

    /// Interprets something that runs only under a condition.
    fn conditionally<T>(&mut self, is_condition: bool, interpret: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.conditions;
        self.conditions += usize::from(is_condition);
        let result = interpret(self);
        self.conditions = outer;
        result
    }

    /// After code that is not known.
    fn forget(&self, state: &mut State) {
        match self.exhaustive {
            true => state.forget_variables(),
            false => state.forget(),
        }
    }

    fn command_run<'r>(&self, words: &'r [Argument], state: &'r State, io: &'r Io) -> CommandRun<'r> {
        CommandRun {
            words,
            depth: self.depth,
            state,
            surely: self.conditions == 0,
            substituted: self.substitutions > 0,
            pipeline: self.pipeline,
            input: io.stdin.file.as_deref(),
            redirects: self.redirects > 0,
        }
    }

    /// Interprets the functions that were not called, for an observer that wants to hear of them.
    fn uncalled_functions(&mut self) {
        while self.exhaustive
            && let Some((body, mut state)) = self.defined.pop()
        {
            if self.called.iter().any(|called| Rc::ptr_eq(called, &body)) {
                continue;
            }
            self.called.push(Rc::clone(&body));
            state.parameters = None;
            self.returns.push(None);
            self.conditionally(true, |interpreter| interpreter.command(&body, state, &Io::default()));
            self.returns.pop();
        }
    }

    /// What the script made and then ran under a known name was not what is known.
    fn finish(&mut self) {
        self.uncalled_functions();
        if self.ran.iter().any(|name| self.made.contains(name)) || (self.made_unknown && self.runs_path) {
            self.unsure_all("a file of the same name as a program that it runs is made");
        }
        if self.raced {
            self.unsure_all("a link or settings change while another command runs");
        }
        if self.budget.is_spent() && self.unsure != Aspects::ALL {
            self.unsure_all(OVER_BUDGET);
        }
    }

    /// A text that a shell reads.
    pub(crate) fn script_text(&mut self, text: &str, state: State, io: &Io) -> Outcome {
        if self.depth >= MAX_DEPTH || !self.pay(UNITS_PER_STEP) {
            self.unsure_all("commands run each other too deep");
            return Outcome::both(state);
        }
        let script = Script::parse(text, state.dialect, &self.budget);
        if !script.problems.is_empty() {
            self.observer.unparsed(text, &state);
        }
        self.script(&script, state, io)
    }

    pub(crate) fn script(&mut self, script: &Script, state: State, io: &Io) -> Outcome {
        for problem in &script.problems {
            self.unsure_all(*problem);
        }
        self.depth += 1;
        let outcome = self.list(&script.list, state, io);
        self.depth -= 1;
        outcome
    }

    fn list(&mut self, list: &[Statement], state: State, io: &Io) -> Outcome {
        let mut outcome = Outcome::success(state);
        let mut last = None;
        for (at, statement) in list.iter().enumerate() {
            let Some(state) = outcome.any() else {
                if let Some(state) = last {
                    self.conditionally(true, |interpreter| interpreter.list(&list[at..], state, io));
                }
                return Outcome::NEVER;
            };
            last = self.exhaustive.then(|| state.clone());
            outcome = self.statement(statement, state, io);
        }
        outcome
    }

    fn statement(&mut self, statement: &Statement, state: State, io: &Io) -> Outcome {
        if statement.background {
            self.background = true;
            self.apart += 1;
            self.jobs += 1;
            self.chain(statement, state.clone(), io);
            self.jobs -= 1;
            self.apart -= 1;
            let mut state = state;
            state.has_job = true;
            return Outcome::success(state);
        }
        self.chain(statement, state, io)
    }

    /// `a && b || c`: what follows `&&` runs in the state of a success, what follows `||` in that of a failure.
    fn chain(&mut self, statement: &Statement, state: State, io: &Io) -> Outcome {
        let mut outcome = self.pipeline(&statement.first, state, io);
        for (connector, pipeline) in &statement.rest {
            let Outcome { success, failure } = outcome;
            let (goes_on, stays) = match connector {
                Connector::And => (success, Outcome { success: None, failure }),
                Connector::Or => (failure, Outcome { success, failure: None }),
            };
            outcome = match goes_on {
                Some(state) => {
                    let is_condition = stays.success.is_some() || stays.failure.is_some();
                    stays
                        .join(self.conditionally(is_condition, |interpreter| interpreter.pipeline(pipeline, state, io)))
                }
                None => {
                    if let Some(state) = stays.clone().any().filter(|_| self.exhaustive) {
                        self.conditionally(true, |interpreter| interpreter.pipeline(pipeline, state, io));
                    }
                    stays
                }
            };
        }
        outcome
    }

    fn pipeline(&mut self, pipeline: &Pipeline, state: State, io: &Io) -> Outcome {
        let Outcome { success, failure } = match pipeline.commands.as_slice() {
            [only] => self.command(only, state, io),
            commands => {
                let mut stdin = io.stdin.clone();
                self.apart += 1;
                let outer = self.pipeline;
                self.pipelines += 1;
                self.pipeline = outer.or(Some(self.pipelines));
                for (at, command) in commands.iter().enumerate() {
                    let last = at + 1 == commands.len();
                    self.jobs += usize::from(!last);
                    let number = self.begin_capture();
                    let stdout = if last { io.stdout.clone() } else { Sink::Capture { number, whole: true } };
                    // Each runs in a shell of its own.
                    self.command(
                        command,
                        state.clone(),
                        &Io { stdin: stdin.clone(), stdout, stderr: io.stderr.clone() },
                    );
                    self.jobs -= usize::from(!last);
                    stdin = self.end_capture();
                }
                self.apart -= 1;
                self.pipeline = outer;
                Outcome::both(state)
            }
        };
        match pipeline.negated {
            true => Outcome { success: failure, failure: success },
            false => Outcome { success, failure },
        }
    }

    fn begin_capture(&mut self) -> usize {
        self.captures.push(Capture {
            known: Some(String::new()),
            conditions: self.conditions,
            jobs: self.jobs,
            ..Capture::default()
        });
        self.captures.len() - 1
    }

    fn end_capture(&mut self) -> Stream {
        let capture = self.captures.pop().unwrap_or_default();
        let text = match capture.known {
            Some(known) if !self.redirected => Text::Known(known.into()),
            _ => capture.whole.unwrap_or(Text::Unknown),
        };
        Stream { text, taint: capture.taint, file: None, began_at: self.ended_commands, redirected: true }
    }

    /// All that a command can read from its input, where that is known.
    pub(crate) fn input<'i>(&self, io: &'i Io) -> Option<&'i str> {
        io.stdin.text.known().filter(|_| io.stdin.began_at == self.ended_commands)
    }

    /// A command prints something.
    pub(crate) fn print(&mut self, value: &Value, io: &Io) {
        match &io.stdout {
            Sink::Terminal => {}
            Sink::Capture { number, whole } => {
                let units = value.text.known().map_or(0, str::len);
                let paid = self.pay(units);
                let (conditions, jobs) = (self.conditions, self.jobs);
                let Some(capture) = self.captures.get_mut(*number) else { return };
                capture.taint = capture.taint.and(value.taint);
                let is_empty = capture.known.as_ref().is_some_and(String::is_empty);
                let surely = *whole && conditions == capture.conditions && jobs == capture.jobs;
                match (&value.text, &mut capture.known) {
                    (Text::Known(text), Some(known)) if surely && paid => known.push_str(text),
                    (text, known) => {
                        let is_kind = matches!(text, Text::Number | Text::ShellSetup);
                        capture.whole = (is_empty && is_kind && surely).then(|| text.clone());
                        *known = None;
                    }
                }
            }
            Sink::File(path) => {
                let path = path.clone();
                self.data_to_file(&path, value.taint);
            }
        }
    }

    /// What a substitution comes to: what its commands print, without the line ends behind it.
    fn substitution(&mut self, script: &Script, state: &State, stdin: &Stream) -> Value {
        if self.depth >= MAX_DEPTH || !self.pay(UNITS_PER_STEP) {
            self.unsure_all("commands run each other too deep");
            return Value::UNKNOWN;
        }
        let number = self.begin_capture();
        let io = Io { stdin: stdin.clone(), stdout: Sink::Capture { number, whole: true }, stderr: Sink::Terminal };
        let outer = (std::mem::replace(&mut self.read_taint, Taint::NONE), std::mem::take(&mut self.written));
        self.substitutions += 1;
        self.script(script, state.clone(), &io);
        self.substitutions -= 1;
        (self.read_taint, self.written) = outer;
        let Stream { text, taint, .. } = self.end_capture();
        let text = match text {
            Text::Known(text) => Text::from(text.trim_end_matches('\n')),
            other => other,
        };
        Value { text, taint }
    }

    /// A process that runs beside the command writes where the command writes: what is captured is not known.
    fn print_beside(&mut self) {
        for capture in &mut self.captures {
            capture.known = None;
            capture.whole = None;
        }
    }

    /// Interprets something that may run at any time from now on, such as a trap; whether it leaves the shell as it is.
    pub(crate) fn anytime(&mut self, text: &str, state: &State) -> bool {
        let mut state = state.clone();
        if !self.exhaustive {
            state.forget_names();
        }
        let before = state.clone();
        let outcome = self.conditionally(true, |interpreter| interpreter.script_text(text, state, &Io::default()));
        outcome.any().is_none_or(|after| after.is_same(&before))
    }

    /// Tells the commands of a text that runs elsewhere, and nothing of what they do.
    pub(crate) fn tell_commands(&mut self, text: &str) {
        if self.depth >= MAX_DEPTH || !self.pay(UNITS_PER_STEP) {
            return self.unsure_all("commands run each other too deep");
        }
        let mut state = State::new(Path::new("/"), Dialect::Posix);
        state.cwd = None;
        let (environment, budget) = (self.environment, self.budget.clone());
        interpret(text, state, environment, &budget, &mut CommandsOnly(self.observer));
    }

    /// A shell's script in a process of its own.
    pub(crate) fn child_state(&self, state: &State, dialect: Dialect) -> State {
        state.child(dialect, &|name| self.environment.variable.is_some_and(|lookup| lookup(name).is_some()))
    }
}

/// Passes on which commands run, and that alone.
struct CommandsOnly<'o>(&'o mut dyn Observer);

impl Observer for CommandsOnly<'_> {
    fn command(&mut self, command: &CommandRun<'_>) {
        self.0.command(command);
    }

    fn unsure(&mut self, aspects: Aspects, cause: Cause, reason: &str) {
        if aspects.has(Aspect::Commands) && cause != Cause::Program {
            self.0.unsure(Aspect::Commands.into(), cause, reason);
        }
    }
}
