//! What a tool call does, as far as its name and its arguments tell.
//!
//! A shell command is analysed by `hookwright-analysis`; the other tools say what they touch in their arguments.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_analysis::budget::Budget;
use hookwright_analysis::disk::RealDisk;
use hookwright_analysis::effects::EffectsBuilder;
use hookwright_analysis::interpreter::{Environment, interpret};
use hookwright_analysis::observer::Aspects;
use hookwright_analysis::programs::Programs;
use hookwright_analysis::programs::spec::{Access, Depth};
use hookwright_analysis::state::State;
use hookwright_analysis::syntax::Dialect;
use serde_json::{Map, Value};

pub use hookwright_analysis::effects::{CallPlace, Command, Effects, Flow, RepositoryEffect, Touched};
pub use hookwright_analysis::programs::spec::Aspect;

use crate::patch::{self, FileChange};

type ResolveFn = dyn Fn(&Path) -> Option<PathBuf> + Send + Sync;

/// The tool that runs commands.
pub(crate) const SHELL_TOOL: &str = "run_shell_command";

/// Resolves the paths of one tool call. A caller that opens files by the same answers gives it to the engine, so that a
/// link that changes between the judgement and the act changes neither.
#[derive(Clone, Default)]
pub struct PathResolver(Option<Arc<ResolveFn>>);

impl PathResolver {
    /// A resolver for absolute paths; `None` leaves a path to the engine.
    pub fn new(resolve: impl Fn(&Path) -> Option<PathBuf> + Send + Sync + 'static) -> Self {
        PathResolver(Some(Arc::new(resolve)))
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        self.0.as_ref()?(path)
    }
}

impl fmt::Debug for PathResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PathResolver").field(&self.0.is_some()).finish()
    }
}

impl PartialEq for PathResolver {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for PathResolver {}

/// What a call of a tool does, by its canonical name. A caller that resolves the paths of its tools itself says how.
pub fn call_effects(tool: &str, args: &Map<String, Value>, place: &CallPlace<'_>, resolver: &PathResolver) -> Effects {
    let disk = RealDisk;
    let builder = EffectsBuilder::new(place.project, &disk);
    let mut call = ToolCall { builder, place: *place, resolver };
    call.analyse(tool, args);
    call.builder.effects
}

/// The arguments of a call that tell what it does: a copy of them costs little, whatever the call writes.
pub(crate) fn telling_args(tool: &str, args: &Map<String, Value>) -> Map<String, Value> {
    const TELLING: [&str; 6] = ["command", "dir_path", "file_path", "include", "url", "prompt"];
    let tells = |name: &str| tool == "apply_patch" || TELLING.contains(&name);
    args.iter().filter(|(name, _)| tells(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Whether the arguments of a call tell all that it does, so that it can be approved by its effects.
///
/// The lists name the folder that a search begins in; a pattern that leads out of it, and a second address, are not in
/// them. Tools that are not named here contact servers, start agents or change what the model is told.
pub(crate) fn are_told_by_arguments(tool: &str, args: &Map<String, Value>) -> bool {
    let texts = |name: &str| -> Option<Vec<&str>> {
        match args.get(name) {
            None | Some(Value::Null) => Some(Vec::new()),
            Some(Value::String(text)) => Some(vec![text]),
            Some(Value::Array(list)) => list.iter().map(Value::as_str).collect(),
            Some(_) => None,
        }
    };
    let all_stay_inside = |name: &str| texts(name).is_some_and(|texts| texts.into_iter().all(stays_inside));
    match tool {
        "run_shell_command" | "write_file" | "replace" | "read_file" | "list_directory" | "apply_patch" => true,
        "glob" => all_stay_inside("pattern"),
        // The pattern is a regular expression.
        "search_file_content" => all_stay_inside("include") && all_stay_inside("glob"),
        // The part before the first wildcard is listed, wherever it leads.
        "read_many_files" => texts("include").is_some_and(|texts| {
            texts
                .into_iter()
                .all(|text| stays_inside(text.strip_prefix(fixed_part(text)).unwrap_or(text).trim_start_matches('/')))
        }),
        "web_fetch" => !args.contains_key("url") || !args.contains_key("prompt"),
        _ => false,
    }
}

/// Whether a glob matches nothing outside of the folder where it begins.
fn stays_inside(pattern: &str) -> bool {
    let is_outside = |text: &str| text.starts_with(['/', '~', '\\']) || text.get(1..2) == Some(":");
    !pattern.contains("..")
        && !pattern.split(['{', ',', '}', '(', '|']).any(|part| is_outside(part.trim_start_matches('!')))
        || pattern.is_empty()
}

/// The path that a glob pattern begins with, up to its first wildcard.
pub fn fixed_part(pattern: &str) -> &str {
    match pattern.find(['*', '?', '[', '{', '!']) {
        Some(at) => pattern[..at].rsplit_once('/').map_or(".", |(folder, _)| if at > 0 { folder } else { "." }),
        None => pattern,
    }
}

struct ToolCall<'p> {
    builder: EffectsBuilder<'p>,
    place: CallPlace<'p>,
    resolver: &'p PathResolver,
}

impl ToolCall<'_> {
    fn analyse(&mut self, tool: &str, args: &Map<String, Value>) {
        let text = |name: &str| args.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        match tool {
            "run_shell_command" => match args.get("command").and_then(Value::as_str) {
                Some(command) => self.shell_command(command, text("dir_path")),
                None => self.doubt(Aspects::ALL, "the call has no command"),
            },
            "write_file" => self.argument(Access::Write, text("file_path")),
            "replace" => {
                self.argument(Access::Write, text("file_path"));
                // Other agents' deletions are told as the replacement of nothing by nothing.
                if text("old_string").is_none() && text("new_string").is_none() {
                    self.argument(Access::Delete, text("file_path"));
                }
            }
            "read_file" => self.argument(Access::Read, text("file_path")),
            "list_directory" => self.argument(Access::Read, text("dir_path")),
            "glob" | "search_file_content" => {
                let path = self.place.cwd.join(text("dir_path").unwrap_or("."));
                // A search may be for one file; `glob` compares names alone.
                let depth = match tool {
                    _ if path.is_file() => Depth::Itself,
                    "glob" => Depth::Names,
                    _ => Depth::Tree,
                };
                self.touch(Access::Read, &path, depth);
            }
            "read_many_files" => self.many_files(args),
            "web_fetch" => self.fetches(&text("url").or(text("prompt")).unwrap_or_default().replace('`', " ")),
            "google_web_search" => self.builder.contact(tool),
            "save_memory" => {
                self.doubt(Aspect::Writes, "the settings say which file holds the memory");
                if let Some(home) = self.place.home {
                    self.touch(Access::Write, &home.join(".gemini/GEMINI.md"), Depth::Itself);
                }
            }
            "apply_patch" => match args.values().filter_map(Value::as_str).find(|text| patch::is_patch(text)) {
                Some(text) => self.patch(text),
                None => self.doubt(Aspects::ALL, "the call has no patch"),
            },
            // What a sub-agent calls is judged when it does; the others only tell the model or the user something.
            "delegate_to_agent" | "write_todos" | "activate_skill" | "list_mcp_resources" => {}
            _ => self.doubt(Aspects::ALL, "what the tool does is not known"),
        }
    }

    fn doubt(&mut self, aspects: impl Into<Aspects>, reason: &str) {
        self.builder.effects.doubt(aspects, reason);
    }

    fn shell_command(&mut self, command: &str, directory: Option<&str>) {
        let directory = directory.map_or_else(|| self.place.cwd.to_owned(), |path| self.place.cwd.join(path));
        // A command resolves its own paths when it runs; only the directory that it starts in is known before.
        if let Some(real) = self.resolver.resolve(&directory) {
            self.builder.set_resolved(directory.clone(), real);
        }
        let environment =
            Environment { disk: &RealDisk, programs: &Programs::BUILT_IN, home: self.place.home, variable: None };
        let mut state = State::new(&directory, Dialect::Bash);
        state.parameters = None;
        interpret(command, state, environment, &Budget::default(), &mut self.builder);
    }

    /// A file that an argument names.
    fn argument(&mut self, access: Access, path: Option<&str>) {
        match path {
            Some(path) => self.touch(access, &self.place.cwd.join(path), Depth::Itself),
            None => self.doubt(access, "the call names no file"),
        }
    }

    fn touch(&mut self, access: Access, path: &Path, depth: Depth) {
        match self.resolver.resolve(path) {
            Some(real) => self.builder.touch_resolved(access, path, &real, depth),
            None => self.builder.touch(access, path, depth),
        }
    }

    fn many_files(&mut self, args: &Map<String, Value>) {
        let patterns = args.get("include").and_then(Value::as_array);
        let texts: Option<Vec<&str>> = patterns.and_then(|patterns| patterns.iter().map(Value::as_str).collect());
        let Some(texts) = texts else { return self.doubt(Aspect::Reads, "the call names no files") };
        for pattern in texts {
            self.touch(Access::Read, &self.place.cwd.join(fixed_part(pattern)), Depth::Tree);
        }
    }

    /// The hosts of the addresses in a text.
    fn fetches(&mut self, text: &str) {
        let hosts: Vec<String> =
            text.split_whitespace().filter_map(hookwright_analysis::effects::host_of_url).collect();
        if hosts.is_empty() {
            self.doubt(Aspect::Network, "the call names no address");
        }
        hosts.iter().for_each(|host| self.builder.contact(host));
    }

    fn patch(&mut self, text: &str) {
        let Ok(changes) = patch::parse(text) else {
            return self.doubt(Aspects::of(&[Aspect::Writes, Aspect::Deletes]), "the patch is not understood");
        };
        for change in changes {
            let path = self.place.cwd.join(change.path());
            match change {
                FileChange::Add { .. } => self.touch(Access::Write, &path, Depth::Itself),
                FileChange::Delete { .. } => self.touch(Access::Delete, &path, Depth::Itself),
                FileChange::Update { moved_to: None, .. } => self.touch(Access::Write, &path, Depth::Itself),
                FileChange::Update { moved_to: Some(to), .. } => {
                    self.touch(Access::Delete, &path, Depth::Itself);
                    self.touch(Access::Write, &self.place.cwd.join(to), Depth::Itself);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
