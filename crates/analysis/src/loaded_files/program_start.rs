//! A program that a command starts: where it is, what it reads, what it starts in its turn.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::program_search::{self, DEFAULT_PATH, ProgramSearchPath, StartError};
use super::walk::{Walk, What, When};
use super::wrappers::{self, Wrapped};
use super::{Field, Naming};
use crate::observer::ProgramResult;
use crate::paths;
use crate::programs::spec::Language;
use crate::state::State;
use crate::value::{Argument, Value};

impl<'a> Walk<'a> {
    pub(super) fn program_words(
        &mut self,
        program: &str,
        words: &[Field],
        input: Option<&Path>,
        state: &State,
        when: When,
    ) {
        let shells_own = matches!(program, "exec" | "command" | "builtin");
        match wrappers::unwrap(program, words) {
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
                    inner.set(&name, Some(Value::known(value)));
                    inner.export(&name);
                }
                if let Some(directory) = directory {
                    self.go(&Some(directory), &mut inner);
                }
                let command =
                    if base_name(program) == "xargs" { wrappers::given_more(words, at) } else { words[at..].to_vec() };
                match command.first() {
                    // A program of that name, not what the shell has under it.
                    Some(Some(name)) if !name.contains('/') && !is_wrapping(name, &command) => {
                        self.start(name, &command[1..], Ok(()), What::Runs, &inner, when);
                        self.runner(name, &command, &inner);
                    }
                    _ => self.run(&command, input, &inner, when),
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
                let mut inner = self.child(state);
                let name = words.get(at + 1).map_or(Some(program), Option::as_deref);
                inner.script = name.map(Into::into);
                let parameters = words.get(at + 2..).unwrap_or_default();
                let known: Option<Vec<Argument>> =
                    parameters.iter().map(|word| word.as_deref().map(Argument::known)).collect();
                inner.parameters = known.map(Into::into);
                self.text(code, inner, when);
            }
            Wrapped::Code(language) => {
                self.options(language, &words[1..], state);
                self.code(language, words, input, state);
                self.files(input.map(Path::to_owned), Naming::Runs);
                self.start(program, &[], Ok(()), What::Runs, state, when);
            }
            Wrapped::Unsure => {
                self.start(program, &words[1..], Ok(()), What::Carries, state, when);
                self.runner(program, words, state);
                self.doubt(when);
            }
        }
    }

    /// A program that starts, with what is already known to be wrong.
    fn start(
        &mut self,
        program: &str,
        args: &[Field],
        known: Result<(), StartError>,
        what: fn(Result<(), StartError>) -> What,
        state: &State,
        when: When,
    ) {
        let Some(found) = self.search(program, state) else {
            if program.contains('/') {
                self.run_somewhere(program, state);
            }
            return self.doubt(when);
        };
        let fit = match found {
            Ok(path) => {
                let fit =
                    if when.counts && self.follower.is_none() { self.check(&path, program, state) } else { Ok(()) };
                let shown = if program.contains('/') { Some(program) } else { path.to_str() };
                self.enter(&path, shown, args, state);
                self.files(Some(path), Naming::Runs);
                fit.and(known)
            }
            Err(StartError::NotFound(_)) if state.foreign => return self.doubt(when),
            Err(reason) => {
                self.files(state.path(program).filter(|_| program.contains('/')), Naming::Runs);
                Err(reason)
            }
        };
        self.step(when, what(fit));
    }

    /// A file that runs in a directory that is not known: it counts in each that the command may be in.
    fn run_somewhere(&mut self, file: &str, state: &State) {
        let here = self.base.cwd.as_deref().map(|cwd| cwd.join(file));
        for path in self.places(file, state).into_iter().chain(here) {
            self.files(Some(path), Naming::Runs);
        }
    }

    fn check(&self, path: &Path, program: &str, state: &State) -> Result<(), StartError> {
        let places = self.search_path(state).unwrap_or_default();
        let cwd = state.cwd.as_deref().unwrap_or(Path::new("/"));
        program_search::check_script(self.disk(), path, OsStr::new(program), &ProgramSearchPath { path: &places, cwd })
    }

    /// Where a program is; nothing if that cannot be told.
    pub(super) fn search(&self, program: &str, state: &State) -> Option<Result<PathBuf, StartError>> {
        let path = self.search_path(state)?;
        let relative = !Path::new(program).is_absolute() && program.contains('/');
        let cwd = match &state.cwd {
            Some(cwd) => cwd.as_ref(),
            None if relative => return None,
            None => Path::new("/"),
        };
        let look =
            || program_search::find_program(self.disk(), OsStr::new(program), &ProgramSearchPath { path: &path, cwd });
        Some(match self.follower {
            None => look(),
            Some(follower) => {
                follower.program((program.to_owned(), path.to_string_lossy().into_owned(), cwd.to_owned()), look)
            }
        })
    }

    fn search_path(&self, state: &State) -> Option<OsString> {
        let path = self.value("PATH", state)?;
        Some(if path.is_empty() { DEFAULT_PATH.into() } else { path.into() })
    }

    /// What programs print that only say where something is.
    pub(super) fn known_result(&self, words: &[Field], state: &State) -> Option<ProgramResult> {
        let words: Vec<&str> = words.iter().map(Option::as_deref).collect::<Option<_>>()?;
        let line = match words.as_slice() {
            ["dirname", path] | ["dirname", "--", path] => directory_of(path),
            ["basename", path] | ["basename", "--", path] => Path::new(path).file_name()?.to_str()?.to_owned(),
            ["realpath", path] | ["readlink", "-f", path] => {
                let path = state.path(path).filter(|path| self.disk().exists(path))?;
                paths::physical(self.disk(), &path).to_str()?.to_owned()
            }
            ["git", "rev-parse", "--show-toplevel"] => {
                let top = state.cwd.as_ref()?.ancestors().find(|directory| self.disk().exists(&directory.join(".git")));
                let Some(top) = top else {
                    return Some(ProgramResult { prints: Value::known(""), success: Some(false) });
                };
                top.to_str()?.to_owned()
            }
            _ => return None,
        };
        Some(ProgramResult { prints: Value::known(format!("{line}\n")), success: Some(true) })
    }

    /// The file that an interpreter reads.
    fn script(&mut self, script: &str, args: &[Field], language: Language, state: &State) -> Result<(), StartError> {
        let Some(path) = state.path(script) else {
            self.run_somewhere(script, state);
            self.certain = false;
            return Ok(());
        };
        let missing = || Err(StartError::NoSuchFile(script.to_owned()));
        let candidates: Vec<PathBuf> = match language {
            Language::Node => {
                let with = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
                vec![path.clone(), with(".js"), with(".json"), with(".node"), path.join("index.js")]
            }
            Language::Python => vec![path.clone(), path.join("__main__.py")],
            Language::Shell | Language::Other => vec![path.clone()],
        };
        let found = candidates
            .into_iter()
            .find(|candidate| self.disk().exists(candidate) && !self.disk().is_directory(candidate));
        if let Some(found) = found {
            self.interpret_file(&found, script, args, language, state);
            self.files(Some(found), Naming::Runs);
            return Ok(());
        }
        self.files(Some(path.clone()), Naming::Runs);
        match (language, self.disk().is_directory(&path)) {
            (Language::Shell, true) => Err(StartError::IsDirectory(script.to_owned())),
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

pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn is_wrapping(name: &str, command: &[Field]) -> bool {
    wrappers::unwrap(name, command) != Wrapped::Program
}

fn directory_of(path: &str) -> String {
    match path.trim_end_matches('/').rsplit_once('/') {
        Some(("", _)) => "/".to_owned(),
        Some((directory, _)) => directory.to_owned(),
        None => ".".to_owned(),
    }
}
