//! What a tool call does, as far as its name and its arguments tell: the commands it runs, what it reads, writes, deletes
//! and talks to, and whether that is all.
//!
//! It runs nothing. A shell's command line is walked through as the shell would run it (`walk.rs`, on the one reader of
//! shell text), by a table of what programs do (`programs.rs`); whatever is in neither may do anything, and that is said.
//! Paths are looked up on the disk, so that a link is known for what it leads to (`paths.rs`).

mod archives;
mod builtins;
mod edits;
mod finds;
mod git;
mod options;
mod paths;
mod programs;
mod remote;
mod transfer;
mod walk;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

pub use paths::{PathResolver, Touched};

use crate::patch::{self, FileChange};
use crate::shell::{Budget, Field, TOO_MUCH_WORK};
use paths::Paths;

/// What it costs to look a path up on the disk.
const UNITS_PER_PATH: usize = 512;

/// Where a call would run.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Relative paths start here.
    pub cwd: &'a Path,
    /// The project: paths in it are told from here on.
    pub project: &'a Path,
    /// What `~` stands for, if that is known.
    pub home: Option<&'a Path>,
}

/// One kind of effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Aspect {
    /// What it runs.
    Commands,
    /// What it reads.
    Reads,
    /// What it writes.
    Writes,
    /// What it deletes.
    Deletes,
    /// What it talks to.
    Network,
}

impl Aspect {
    const ALL: [Aspect; 5] = [Aspect::Commands, Aspect::Reads, Aspect::Writes, Aspect::Deletes, Aspect::Network];
}

/// What a call does. Each list may hold more than really happens, and holds everything unless it is in doubt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// The commands that it runs, those that others run for it included.
    pub commands: Vec<Command>,
    /// What it reads because it is told to; not what programs load by themselves.
    pub reads: Vec<Touched>,
    /// What it makes or changes.
    pub writes: Vec<Touched>,
    /// What it removes.
    pub deletes: Vec<Touched>,
    /// Whom it talks to: hosts, or the name of a remote or a program where no host is told.
    pub network: Vec<String>,
    doubts: Doubts,
    reason: Option<&'static str>,
}

/// One command of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments; nothing where only the running shell knows the word.
    pub words: Vec<Option<String>>,
    /// The same as text, with expansions as they stand.
    pub shown: Vec<String>,
}

/// Which lists may not be complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Doubts(u8);

impl Effects {
    /// What a call of a tool does, by its canonical name.
    pub fn of(tool: &str, args: &Map<String, Value>, place: &Place<'_>) -> Effects {
        Self::resolved(tool, args, place, &PathResolver::default())
    }

    /// The same where the caller resolves the paths of its tools itself.
    pub fn resolved(tool: &str, args: &Map<String, Value>, place: &Place<'_>, resolver: &PathResolver) -> Effects {
        let budget = Budget::new();
        let paths = Paths::new(place, resolver);
        let mut found = Finder { effects: Effects::default(), paths, seen: HashSet::new(), budget };
        found.call(tool, args, place);
        if found.budget.is_spent() {
            found.effects.give_up(TOO_MUCH_WORK);
        }
        found.effects
    }

    /// The arguments of a call that tell what it does: a copy of them costs little, whatever the call writes.
    pub(crate) fn telling_args(tool: &str, args: &Map<String, Value>) -> Map<String, Value> {
        const TELLING: [&str; 6] = ["command", "dir_path", "file_path", "include", "url", "prompt"];
        let tells = |name: &str| tool == "apply_patch" || TELLING.contains(&name);
        args.iter().filter(|(name, _)| tells(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The effects of a call that could not be looked at: everything is in doubt.
    pub(crate) fn unknown(reason: &'static str) -> Effects {
        let mut effects = Effects::default();
        effects.give_up(reason);
        effects
    }

    /// Why the call was not looked at to its end, if it was not.
    pub fn reason(&self) -> Option<&'static str> {
        self.reason
    }

    fn give_up(&mut self, reason: &'static str) {
        self.doubt_all();
        self.reason = Some(reason);
    }

    /// Whether every list is complete.
    pub fn is_certain(&self) -> bool {
        self.doubts == Doubts::default()
    }

    /// Whether there may be more of this kind.
    pub fn may_hold_more(&self, aspect: Aspect) -> bool {
        self.doubts.0 & bit(aspect) != 0
    }

    /// The lists that may not be complete.
    pub fn unsure(&self) -> impl Iterator<Item = Aspect> {
        Aspect::ALL.into_iter().filter(|aspect| self.may_hold_more(*aspect))
    }

    fn doubt(&mut self, aspect: Aspect) {
        self.doubts.0 |= bit(aspect);
    }

    fn doubt_all(&mut self) {
        Aspect::ALL.into_iter().for_each(|aspect| self.doubt(aspect));
    }

    fn list(&mut self, aspect: Aspect) -> Option<&mut Vec<Touched>> {
        match aspect {
            Aspect::Reads => Some(&mut self.reads),
            Aspect::Writes => Some(&mut self.writes),
            Aspect::Deletes => Some(&mut self.deletes),
            Aspect::Commands | Aspect::Network => None,
        }
    }
}

fn bit(aspect: Aspect) -> u8 {
    1 << aspect as u8
}

impl Serialize for Effects {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unsure: Vec<Aspect> = self.unsure().collect();
        let mut fields = serializer.serialize_struct("Effects", 6 + usize::from(!unsure.is_empty()))?;
        fields.serialize_field("commands", &self.commands)?;
        fields.serialize_field("reads", &self.reads)?;
        fields.serialize_field("writes", &self.writes)?;
        fields.serialize_field("deletes", &self.deletes)?;
        fields.serialize_field("network", &self.network)?;
        fields.serialize_field("certain", &unsure.is_empty())?;
        if !unsure.is_empty() {
            fields.serialize_field("unsure", &unsure)?;
        }
        fields.end()
    }
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.shown.serialize(serializer)
    }
}

/// The path that a glob pattern begins with, up to its first wildcard.
pub fn fixed_part(pattern: &str) -> &str {
    match pattern.find(['*', '?', '[', '{', '!']) {
        Some(at) => pattern[..at].rsplit_once('/').map_or(".", |(folder, _)| if at > 0 { folder } else { "." }),
        None => pattern,
    }
}

/// Gathers effects.
struct Finder<'p> {
    effects: Effects,
    paths: Paths<'p>,
    /// What is in the lists already.
    seen: HashSet<(Aspect, PathBuf, bool)>,
    budget: Budget,
}

impl Finder<'_> {
    fn call(&mut self, tool: &str, args: &Map<String, Value>, place: &Place<'_>) {
        let text = |name: &str| args.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        match tool {
            "run_shell_command" => {
                let directory = text("dir_path").map(|path| place.cwd.join(path));
                self.paths.start_in(directory.as_deref().unwrap_or(place.cwd));
                match args.get("command").and_then(Value::as_str) {
                    Some(command) => walk::walk(self, command, directory.as_deref().unwrap_or(place.cwd), place.home),
                    None => self.effects.doubt_all(),
                }
            }
            "write_file" | "replace" => self.argument(Aspect::Writes, text("file_path"), place),
            "read_file" => self.argument(Aspect::Reads, text("file_path"), place),
            "list_directory" => self.argument(Aspect::Reads, text("dir_path"), place),
            "glob" | "search_file_content" => {
                let path = place.cwd.join(text("dir_path").unwrap_or("."));
                self.touch(Aspect::Reads, &path, Depth::All);
            }
            "read_many_files" => self.many_files(args, place),
            "web_fetch" => self.fetches(&text("url").or(text("prompt")).unwrap_or_default().replace('`', " ")),
            "google_web_search" => self.effects.network.push(tool.to_owned()),
            "save_memory" => {
                // Which file that is, the settings say.
                self.effects.doubt(Aspect::Writes);
                if let Some(home) = place.home {
                    self.touch(Aspect::Writes, &home.join(".gemini/GEMINI.md"), Depth::Itself);
                }
            }
            "apply_patch" => match args.values().filter_map(Value::as_str).find(|text| patch::is_patch(text)) {
                Some(text) => self.patch(text, Some(place.cwd)),
                None => self.effects.doubt_all(),
            },
            // What a sub-agent calls is judged when it does; the others only tell the model or the user something.
            "delegate_to_agent" | "write_todos" | "activate_skill" | "list_mcp_resources" => {}
            _ => self.effects.doubt_all(),
        }
    }

    /// A file that an argument names.
    fn argument(&mut self, aspect: Aspect, path: Option<&str>, place: &Place<'_>) {
        match path {
            Some(path) => self.touch(aspect, &place.cwd.join(path), Depth::Itself),
            None => self.effects.doubt(aspect),
        }
    }

    fn many_files(&mut self, args: &Map<String, Value>, place: &Place<'_>) {
        let Some(patterns) = args.get("include").and_then(Value::as_array) else {
            return self.effects.doubt(Aspect::Reads);
        };
        for pattern in patterns {
            let Some(pattern) = pattern.as_str() else { return self.effects.doubt(Aspect::Reads) };
            self.touch(Aspect::Reads, &place.cwd.join(fixed_part(pattern)), Depth::All);
        }
    }

    /// The hosts of the addresses in a text.
    fn fetches(&mut self, text: &str) {
        let hosts: Vec<String> = text.split_whitespace().filter_map(remote::host_of_url).collect();
        if hosts.is_empty() {
            self.effects.doubt(Aspect::Network);
        }
        hosts.into_iter().for_each(|host| self.talk(host));
    }

    /// What a patch does to files, from a directory on.
    fn patch(&mut self, text: &str, cwd: Option<&Path>) {
        let (Ok(changes), Some(cwd)) = (patch::parse(text), cwd) else {
            self.effects.doubt(Aspect::Writes);
            return self.effects.doubt(Aspect::Deletes);
        };
        for change in changes {
            let path = cwd.join(change.path());
            match change {
                FileChange::Add { .. } => self.touch(Aspect::Writes, &path, Depth::Itself),
                FileChange::Delete { .. } => self.touch(Aspect::Deletes, &path, Depth::Itself),
                FileChange::Update { moved_to: None, .. } => self.touch(Aspect::Writes, &path, Depth::Itself),
                FileChange::Update { moved_to: Some(to), .. } => {
                    self.touch(Aspect::Deletes, &path, Depth::Itself);
                    self.touch(Aspect::Writes, &cwd.join(to), Depth::Itself);
                }
            }
        }
    }

    /// Something happens to a path: it is listed as it is written, and as what it leads to.
    fn touch(&mut self, aspect: Aspect, path: &Path, depth: Depth) {
        if let Some(peer) = paths::network_device(path) {
            return self.talk(peer);
        }
        if paths::is_device(path) {
            return;
        }
        if paths::is_of_a_process(path) {
            return self.effects.doubt(aspect);
        }
        if !self.budget.spend(UNITS_PER_PATH + path.as_os_str().len()) {
            return;
        }
        let touched = self.paths.touched(path, depth, aspect);
        if let Some(list) = self.effects.list(aspect) {
            for one in touched {
                if self.seen.insert((aspect, one.path.clone(), one.deep)) {
                    list.push(one);
                }
            }
        }
    }

    fn talk(&mut self, peer: String) {
        if self.budget.spend(UNITS_PER_PATH + self.effects.network.len()) && !self.effects.network.contains(&peer) {
            self.effects.network.push(peer);
        }
    }
}

/// How much of a path something happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    /// The file or the directory itself.
    Itself,
    /// Everything in it as well.
    All,
}

/// The words of a command from one place on that are known, or nothing.
fn known(words: &[Field]) -> Option<Vec<&str>> {
    words.iter().map(Option::as_deref).collect()
}

#[cfg(test)]
mod tests;
