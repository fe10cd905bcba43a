//! What a command does, step by step: an observer that keeps each command with its own effects.
//!
//! The interpreter tells commands in the order in which they run, so two things are inferred here. What a redirection
//! touches is told before its command, and is known by its name in the script. A command that runs inside of another one
//! is deeper, and its name stands among the words of the other.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::budget::Budget;
use crate::disk::Disk;
use crate::effects::{CallPlace, Command, Effects, EffectsBuilder, RepositoryEffect};
use crate::interpreter::{Environment, interpret};
use crate::observer::{Aspects, Cause, CommandRun, Fact, Observer};
use crate::programs::spec::{Access, Aspect};
use crate::state::State;
use crate::syntax::{self, CommandKind, Dialect, List, RedirectionOperator, Script};

/// What a script does as a whole, and step by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub effects: Effects,
    pub steps: Vec<TraceStep>,
}

/// One command with its own effects, and the commands that it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// Nothing for a redirection without a command.
    pub command: Option<Command>,
    /// The effects of this command alone; `commands` is empty.
    pub effects: Effects,
    pub steps: Vec<TraceStep>,
}

/// Traces a shell command that would be run in a directory.
pub fn trace_command(text: &str, place: &CallPlace<'_>, environment: Environment<'_>) -> Trace {
    let mut targets = Vec::new();
    collect_redirection_targets(&Script::parse(text, Dialect::Bash, &Budget::default()).list, &mut targets);
    let mut builder = TraceBuilder {
        project: place.project,
        disk: environment.disk,
        total: EffectsBuilder::new(place.project, environment.disk),
        upcoming: EffectsBuilder::new(place.project, environment.disk),
        steps: Vec::new(),
        targets,
    };
    let state = State::new(place.cwd, Dialect::Bash);
    interpret(text, state, environment, &Budget::default(), &mut builder);
    builder.finish()
}

impl Trace {
    /// The effects as hooks get them, with `reasons` and `steps`.
    pub fn to_json(&self) -> Value {
        let mut object = effects_json(&self.effects);
        object.insert("reasons".to_owned(), json!(self.effects.reasons()));
        object.insert("steps".to_owned(), self.steps.iter().map(TraceStep::to_json).collect());
        Value::Object(object)
    }
}

impl TraceStep {
    /// The lists that are not empty.
    fn to_json(&self) -> Value {
        let mut object = Map::new();
        if let Some(command) = &self.command {
            object.insert("command".to_owned(), json!(command));
        }
        let is_filled = |value: &Value| value.as_array().is_some_and(|list| !list.is_empty());
        object.extend(effects_json(&self.effects).into_iter().filter(|(_, value)| is_filled(value)));
        if !self.effects.is_certain() {
            object.insert("reasons".to_owned(), json!(self.effects.reasons()));
        }
        if !self.steps.is_empty() {
            object.insert("steps".to_owned(), self.steps.iter().map(TraceStep::to_json).collect());
        }
        Value::Object(object)
    }

    /// The lists that are not empty, as texts.
    pub fn lists(&self) -> Vec<(Aspect, Vec<String>)> {
        let Effects { reads, writes, deletes, network, services, processes, privileged, flows, .. } = &self.effects;
        let paths = |list: &[crate::effects::Touched]| list.iter().map(|one| one.shown.clone()).collect::<Vec<_>>();
        let flow = |flow: &crate::effects::Flow| format!("{} to {} (by {})", flow.from, flow.to, flow.via);
        let lists = [
            (Aspect::Reads, paths(reads)),
            (Aspect::Writes, paths(writes)),
            (Aspect::Deletes, paths(deletes)),
            (Aspect::Network, network.clone()),
            (Aspect::Repository, self.effects.repository.iter().map(RepositoryEffect::shown).collect()),
            (Aspect::Services, services.clone()),
            (Aspect::Processes, processes.clone()),
            (Aspect::Privileged, privileged.clone()),
            (Aspect::Flows, flows.iter().map(flow).collect()),
        ];
        lists.into_iter().filter(|(_, list)| !list.is_empty()).collect()
    }
}

fn effects_json(effects: &Effects) -> Map<String, Value> {
    match serde_json::to_value(effects) {
        Ok(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

struct OpenStep<'p> {
    command: Command,
    depth: usize,
    builder: EffectsBuilder<'p>,
}

struct TraceBuilder<'p> {
    project: &'p Path,
    disk: &'p dyn Disk,
    total: EffectsBuilder<'p>,
    /// The effects of the command that comes next.
    upcoming: EffectsBuilder<'p>,
    steps: Vec<OpenStep<'p>>,
    /// The files that redirections of the script name.
    targets: Vec<(Access, String)>,
}

impl<'p> TraceBuilder<'p> {
    /// The effects that a fact belongs to, unless it is one of a redirection.
    fn current(&mut self) -> &mut EffectsBuilder<'p> {
        match self.steps.last_mut() {
            Some(step) => &mut step.builder,
            None => &mut self.upcoming,
        }
    }

    fn is_redirection_of_next(&self, fact: &Fact<'_>) -> bool {
        let (Fact::Path { access, path, .. }, Some(step)) = (fact, self.steps.last()) else { return false };
        let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else { return false };
        let is_target = |(known, target): &(Access, String)| {
            known == access && Path::new(target).file_name().is_some_and(|target| *target == *name)
        };
        let is_named = |word: &String| word.rsplit(['/', '=', '@']).next() == Some(&*name);
        self.targets.iter().any(is_target) && !step.command.shown.iter().skip(1).any(is_named)
    }

    fn finish(self) -> Trace {
        let rest = self.upcoming.effects;
        let mut steps = nest(&mut self.steps.into_iter().peekable(), None);
        if !rest.is_empty() || !rest.is_certain() {
            steps.push(TraceStep { command: None, effects: rest, steps: Vec::new() });
        }
        Trace { effects: self.total.effects, steps }
    }
}

impl Observer for TraceBuilder<'_> {
    fn command(&mut self, command: &CommandRun<'_>) {
        self.total.command(command);
        let words = command.words.iter().map(|word| word.text().map(str::to_owned)).collect();
        let shown = command.words.iter().map(|word| word.shown.to_string()).collect();
        let next = EffectsBuilder::new(self.project, self.disk);
        let builder = std::mem::replace(&mut self.upcoming, next);
        self.steps.push(OpenStep { command: Command { words, shown }, depth: command.depth, builder });
    }

    fn fact(&mut self, fact: &Fact<'_>) {
        self.total.fact(fact);
        match self.is_redirection_of_next(fact) {
            true => self.upcoming.fact(fact),
            false => self.current().fact(fact),
        }
    }

    fn unsure(&mut self, aspects: Aspects, cause: Cause, reason: &str) {
        self.total.unsure(aspects, cause, reason);
        self.current().unsure(aspects, cause, reason);
    }
}

type Steps<'p> = std::iter::Peekable<std::vec::IntoIter<OpenStep<'p>>>;

/// Puts steps below the commands that run them. A step that is equal to one before it, as in the second turn of a loop,
/// is left out.
fn nest(rest: &mut Steps<'_>, parent: Option<(&Command, usize)>) -> Vec<TraceStep> {
    let mut steps: Vec<TraceStep> = Vec::new();
    while let Some(OpenStep { command, depth, builder }) = rest.next_if(|next| is_run_by(parent, next)) {
        let inner = nest(rest, Some((&command, depth)));
        let step = TraceStep {
            command: Some(command).filter(|one| !one.words.is_empty()),
            effects: builder.effects,
            steps: inner,
        };
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    steps
}

/// Whether a command runs a step: it is deeper, and its name stands among the words of the command.
fn is_run_by(parent: Option<(&Command, usize)>, step: &OpenStep<'_>) -> bool {
    let Some((command, depth)) = parent else { return true };
    let name = step.command.shown.first().map(String::as_str).unwrap_or_default();
    step.depth > depth && command.shown.iter().skip(1).any(|word| word.contains(name))
}

/// Collects the files that redirections name, those in substitutions left out.
fn collect_redirection_targets(list: &List, targets: &mut Vec<(Access, String)>) {
    let pipelines =
        list.iter().flat_map(|one| std::iter::once(&one.first).chain(one.rest.iter().map(|(_, next)| next)));
    for command in pipelines.flat_map(|pipeline| &pipeline.commands) {
        collect_from_command(command, targets);
    }
}

fn collect_from_command(command: &syntax::Command, targets: &mut Vec<(Access, String)>) {
    for redirection in &command.redirections {
        let access: &[Access] = match redirection.operator {
            RedirectionOperator::Read => &[Access::Read],
            RedirectionOperator::ReadWrite => &[Access::Read, Access::Write],
            RedirectionOperator::HereDocument
            | RedirectionOperator::HereString
            | RedirectionOperator::DuplicateInput => &[],
            _ => &[Access::Write],
        };
        let target = redirection.target.literal();
        targets.extend(access.iter().filter_map(|access| Some((*access, target.clone()?))));
    }
    match &command.kind {
        CommandKind::Simple { .. } | CommandKind::Test(_) | CommandKind::Arithmetic(_) => {}
        CommandKind::Group(list)
        | CommandKind::Subshell(list)
        | CommandKind::For { body: list, .. }
        | CommandKind::ArithmeticFor { body: list, .. } => collect_redirection_targets(list, targets),
        CommandKind::If { branches, otherwise } => {
            let lists = branches.iter().flat_map(|(condition, then)| [condition, then]).chain([otherwise]);
            lists.for_each(|list| collect_redirection_targets(list, targets));
        }
        CommandKind::While { condition, body, .. } => {
            [condition, body].into_iter().for_each(|list| collect_redirection_targets(list, targets));
        }
        CommandKind::Case { arms, .. } => {
            arms.iter().for_each(|arm| collect_redirection_targets(&arm.body, targets));
        }
        CommandKind::Function { body, .. } => collect_from_command(body, targets),
    }
}
