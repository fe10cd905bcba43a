//! What a command does, as lists: an observer of the interpreter.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::budget::{Budget, OVER_BUDGET};
use crate::disk::Disk;
use crate::interpreter::{Environment, interpret};
use crate::observer::{Aspects, Cause, CommandRun, Fact, Observer};
use crate::paths;
use crate::programs::spec::{Access, Aspect, Depth, RepositoryChange, Verb};
use crate::state::State;
use crate::syntax::Dialect;

/// The reasons that are kept for one call.
const MAX_REASONS: usize = 16;

/// A path that something happens to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// From the project on, or whole; with a slash behind it if it means everything in it too.
    pub shown: String,
    /// The whole path.
    pub path: PathBuf,
    /// Whether it means everything in it too.
    pub deep: bool,
    /// Whether of that it means only the names, as `find` reads them.
    pub names_only: bool,
}

impl Serialize for Touched {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.shown)
    }
}

/// One command of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Command {
    /// The program and its arguments; nothing where only the running shell knows the word.
    pub words: Vec<Option<String>>,
    /// The same as text, with expansions as they stand.
    pub shown: Vec<String>,
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.shown.serialize(serializer)
    }
}

/// What becomes of a git repository beside its files.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RepositoryEffect {
    pub change: RepositoryChange,
    /// What it is about, if that is told: `branch feature`.
    pub what: String,
}

/// Data that goes from a source to the network, or into a program that runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// A path, `env`, `env:NAME`, `clipboard` or `network:HOST`.
    pub from: String,
    /// The whole path, where it is one.
    pub path: Option<PathBuf>,
    /// `network:HOST` or `run:PROGRAM`.
    pub to: String,
    /// The program that sends or runs it.
    pub via: String,
}

impl Serialize for Flow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Flow", 3)?;
        fields.serialize_field("from", &self.from)?;
        fields.serialize_field("to", &self.to)?;
        fields.serialize_field("via", &self.via)?;
        fields.end()
    }
}

/// What a call does. Each list may hold more than really happens, and holds everything unless it is unsure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The commands that it runs, those that others run for it included; not the helpers that a program starts by itself.
    pub commands: Vec<Command>,
    /// What it reads because it is told to; not what programs load by themselves.
    pub reads: Vec<Touched>,
    /// What it makes or changes.
    pub writes: Vec<Touched>,
    /// What it removes.
    pub deletes: Vec<Touched>,
    /// What it contacts: hosts, or the name of a remote or a program where no host is told.
    pub network: Vec<String>,
    pub repository: Vec<RepositoryEffect>,
    /// `SERVICE:VERB`.
    pub services: Vec<String>,
    /// What is sent a signal.
    pub processes: Vec<String>,
    /// What runs as another user.
    pub privileged: Vec<String>,
    pub flows: Vec<Flow>,
    unsure: Aspects,
    reasons: Vec<String>,
}

impl Effects {
    /// The effects of a call that could not be analysed.
    pub fn unknown(reason: &str) -> Effects {
        let mut effects = Effects::default();
        effects.doubt(Aspects::ALL, reason);
        effects
    }

    /// Whether every list is complete.
    pub fn is_certain(&self) -> bool {
        self.unsure == Aspects::NONE
    }

    /// Whether there may be more of this kind.
    pub fn may_hold_more(&self, aspect: Aspect) -> bool {
        self.unsure.has(aspect)
    }

    /// The lists that may not be complete.
    pub fn unsure(&self) -> impl Iterator<Item = Aspect> {
        self.unsure.iter()
    }

    /// Why lists may not be complete, first things first.
    pub fn reasons(&self) -> &[String] {
        &self.reasons
    }

    /// Why the analysis was not finished, if it was not.
    pub fn reason(&self) -> Option<&str> {
        self.reasons.iter().find(|reason| *reason == OVER_BUDGET).map(String::as_str)
    }

    /// Says that lists may not be complete.
    pub fn doubt(&mut self, aspects: impl Into<Aspects>, reason: &str) {
        self.unsure = self.unsure.and(aspects.into());
        if self.reasons.len() < MAX_REASONS && !self.reasons.iter().any(|known| known == reason) {
            self.reasons.push(reason.to_owned());
        }
    }

    /// Whether nothing is listed but commands.
    pub fn is_empty(&self) -> bool {
        let paths = self.reads.is_empty() && self.writes.is_empty() && self.deletes.is_empty();
        let others = self.repository.is_empty() && self.services.is_empty() && self.processes.is_empty();
        paths && others && self.network.is_empty() && self.privileged.is_empty() && self.flows.is_empty()
    }

    fn paths(&mut self, access: Access) -> &mut Vec<Touched> {
        match access {
            Access::Read => &mut self.reads,
            Access::Write => &mut self.writes,
            Access::Delete => &mut self.deletes,
        }
    }
}

impl Verb {
    pub fn name(self) -> &'static str {
        match self {
            Verb::Read => "read",
            Verb::Write => "write",
            Verb::Delete => "delete",
            Verb::Run => "run",
        }
    }
}

impl RepositoryChange {
    pub fn name(self) -> &'static str {
        match self {
            RepositoryChange::Index => "index",
            RepositoryChange::Commit => "commit",
            RepositoryChange::Refs => "refs",
            RepositoryChange::Config => "config",
            RepositoryChange::Discard => "discard",
        }
    }
}

impl RepositoryEffect {
    /// `discard: branch feature`.
    pub fn shown(&self) -> String {
        match self.what.is_empty() {
            true => self.change.name().to_owned(),
            false => format!("{}: {}", self.change.name(), self.what),
        }
    }
}

impl Serialize for Effects {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unsure: Vec<Aspect> = self.unsure().collect();
        let repository: Vec<String> = self.repository.iter().map(RepositoryEffect::shown).collect();
        let mut fields = serializer.serialize_struct("Effects", 11 + usize::from(!unsure.is_empty()))?;
        fields.serialize_field("commands", &self.commands)?;
        fields.serialize_field("reads", &self.reads)?;
        fields.serialize_field("writes", &self.writes)?;
        fields.serialize_field("deletes", &self.deletes)?;
        fields.serialize_field("network", &self.network)?;
        fields.serialize_field("repository", &repository)?;
        fields.serialize_field("services", &self.services)?;
        fields.serialize_field("processes", &self.processes)?;
        fields.serialize_field("privileged", &self.privileged)?;
        fields.serialize_field("flows", &self.flows)?;
        fields.serialize_field("certain", &unsure.is_empty())?;
        if !unsure.is_empty() {
            fields.serialize_field("unsure", &unsure)?;
        }
        fields.end()
    }
}

/// Where a call would run.
#[derive(Clone, Copy, Debug)]
pub struct CallPlace<'a> {
    /// Relative paths start here.
    pub cwd: &'a Path,
    /// The project: paths in it are told from here on.
    pub project: &'a Path,
    /// What `~` stands for, if that is known.
    pub home: Option<&'a Path>,
}

/// Gathers effects, with paths as they are written and as what their links lead to.
pub struct EffectsBuilder<'p> {
    pub effects: Effects,
    project: &'p Path,
    real_project: PathBuf,
    /// A directory that is known to lead elsewhere: as it is written, and resolved.
    resolved: Option<(PathBuf, PathBuf)>,
    disk: &'p dyn Disk,
    seen: HashSet<(Access, PathBuf, bool)>,
    seen_commands: HashSet<Command>,
}

impl<'p> EffectsBuilder<'p> {
    pub fn new(project: &'p Path, disk: &'p dyn Disk) -> Self {
        EffectsBuilder {
            effects: Effects::default(),
            project,
            real_project: paths::physical(disk, project),
            resolved: None,
            disk,
            seen: HashSet::new(),
            seen_commands: HashSet::new(),
        }
    }

    /// Says where a directory leads, in the place of the disk.
    pub fn set_resolved(&mut self, written: PathBuf, real: PathBuf) {
        self.resolved = Some((written, real));
    }

    /// A path is touched: it is listed as it is written, and as what it leads to.
    pub fn touch(&mut self, access: Access, path: &Path, depth: Depth) {
        // A link that is deleted goes, not what it leads to.
        let leads_to = match (access, path.parent(), path.file_name()) {
            (Access::Delete, Some(parent), Some(name)) => self.real(parent).join(name),
            _ => self.real(path),
        };
        self.touch_resolved(access, path, &leads_to, depth);
    }

    /// A path is touched that leads to another.
    pub fn touch_resolved(&mut self, access: Access, path: &Path, leads_to: &Path, depth: Depth) {
        let written = self.told(&paths::normalized(path), depth);
        let real = self.told(leads_to, depth);
        let same = written.shown == real.shown;
        for one in std::iter::once(written).chain((!same).then_some(real)) {
            if self.seen.insert((access, one.path.clone(), one.deep)) {
                self.effects.paths(access).push(one);
            } else if one.deep && !one.names_only {
                let same = self.effects.paths(access).iter_mut().filter(|known| known.deep && known.path == one.path);
                same.for_each(|known| known.names_only = false);
            }
        }
    }

    fn real(&self, path: &Path) -> PathBuf {
        if let Some((written, real)) = &self.resolved
            && let Ok(rest) = path.strip_prefix(written)
        {
            return paths::physical_from(self.disk, real.clone(), rest);
        }
        match path.strip_prefix(self.project) {
            Ok(rest) => paths::physical_from(self.disk, self.real_project.clone(), rest),
            Err(_) => paths::physical(self.disk, path),
        }
    }

    fn told(&self, path: &Path, depth: Depth) -> Touched {
        let inside = path.strip_prefix(self.project).or_else(|_| path.strip_prefix(&self.real_project));
        let whole = inside.as_ref().map_or_else(|_| path.to_owned(), |rest| self.project.join(rest));
        let mut shown = match inside {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => rest.to_string_lossy().into_owned(),
            Err(_) => path.to_string_lossy().into_owned(),
        };
        let deep = depth != Depth::Itself;
        if deep && !shown.ends_with('/') {
            shown.push('/');
        }
        Touched { shown, path: paths::normalized(&whole), deep, names_only: depth == Depth::Names }
    }

    fn flow(&mut self, from: String, path: Option<PathBuf>, to: &str, via: &str) {
        let flow = Flow { from, path, to: to.to_owned(), via: via.to_owned() };
        if !self.effects.flows.contains(&flow) {
            self.effects.flows.push(flow);
        }
    }

    /// A host is contacted.
    pub fn contact(&mut self, host: &str) {
        add(&mut self.effects.network, host);
    }
}

fn add(list: &mut Vec<String>, text: &str) {
    if !list.iter().any(|known| known == text) {
        list.push(text.to_owned());
    }
}

impl Observer for EffectsBuilder<'_> {
    fn command(&mut self, command: &CommandRun<'_>) {
        if command.words.is_empty() {
            return;
        }
        let words = command.words.iter().map(|word| word.text().map(str::to_owned)).collect();
        let shown = command.words.iter().map(|word| word.shown.to_string()).collect();
        let command = Command { words, shown };
        if self.seen_commands.insert(command.clone()) {
            self.effects.commands.push(command);
        }
    }

    fn fact(&mut self, fact: &Fact<'_>) {
        match fact {
            Fact::Path { access, path, depth } => self.touch(*access, path, *depth),
            Fact::Network(host) => self.contact(host),
            Fact::Service { name, verb } => add(&mut self.effects.services, &format!("{name}:{}", verb.name())),
            Fact::Repository { change, what } => {
                let effect = RepositoryEffect { change: *change, what: (*what).to_owned() };
                if !self.effects.repository.contains(&effect) {
                    self.effects.repository.push(effect);
                }
            }
            Fact::Process(what) => add(&mut self.effects.processes, what),
            Fact::Privileged(what) => add(&mut self.effects.privileged, what),
            Fact::Flow { from, path: None, to, via } => self.flow((*from).to_owned(), None, to, via),
            // A link is a source under its own name and under that of what it leads to.
            Fact::Flow { path: Some(path), to, via, .. } => {
                for path in [paths::normalized(path), self.real(path)] {
                    let Touched { shown, path, .. } = self.told(&path, Depth::Itself);
                    self.flow(shown, Some(path), to, via);
                }
            }
        }
    }

    fn unsure(&mut self, aspects: Aspects, _: Cause, reason: &str) {
        self.effects.doubt(aspects, reason);
    }
}

/// The host of an address.
pub fn host_of_url(text: &str) -> Option<String> {
    crate::programs::host_of_url(text)
}

/// What a shell command does when it is run in a directory.
pub fn effects_of_command(text: &str, place: &CallPlace<'_>, environment: Environment<'_>) -> Effects {
    let mut builder = EffectsBuilder::new(place.project, environment.disk);
    let mut state = State::new(place.cwd, Dialect::Bash);
    state.parameters = None;
    interpret(text, state, environment, &Budget::default(), &mut builder);
    builder.effects
}
