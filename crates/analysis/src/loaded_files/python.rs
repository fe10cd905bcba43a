//! What Python code imports: its own modules, and whatever stands where it looks for modules first.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_names::{identifiers, literals};
use super::follower::Kind;
use super::script_sources::extension;
use super::walk::Walk;
use super::{Around, AroundKind, Follower, Naming};
use crate::state::State;

/// Words of Python with which a program decides by itself what else runs.
const PYTHON_DECIDES: [&str; 24] = [
    "__import__",
    "importlib",
    "exec",
    "eval",
    "compile",
    "execfile",
    "runpy",
    "imp",
    "subprocess",
    "system",
    "popen",
    "Popen",
    "execv",
    "execve",
    "execvp",
    "execl",
    "execlp",
    "spawnv",
    "spawnl",
    "posix_spawn",
    "ctypes",
    "pickle",
    "marshal",
    "multiprocessing",
];

pub(super) fn is_python(path: &Path) -> bool {
    matches!(extension(path), "py" | "pyc" | "pyw" | "so" | "pyd" | "pth" | "zip" | "egg")
}

/// The words of import statements, those that go on for several lines included.
fn imported(text: &str) -> impl Iterator<Item = &str> {
    let mut goes_on = false;
    let mut open = 0_i32;
    let lines = text.lines().filter(move |line| {
        let counts = goes_on || open > 0 || identifiers(line).any(|word| matches!(word, "import" | "from"));
        if counts {
            open += line.chars().map(|char| i32::from(char == '(') - i32::from(char == ')')).sum::<i32>();
        }
        goes_on = counts && line.trim_end().ends_with('\\');
        counts
    });
    lines.flat_map(identifiers)
}

impl<'a> Walk<'a> {
    /// Python code that finds its modules in a directory first.
    pub(super) fn python(&mut self, key: &str, text: &str, directory: &Path, state: &State) {
        let Some(follower) = self.follower else { return };
        let key = format!("python {key} {} {:?}", directory.display(), state.cwd);
        let (text, directory, state) = (text.to_owned(), directory.to_owned(), state.clone());
        self.behind(&key, move |walk| {
            // Any module beside it may take the place of one that it, or what it imports, asks for.
            walk.around(follower.around(&directory, AroundKind::Modules, || beside(follower, &directory)));
            walk.certain &= !identifiers(&text).any(|word| PYTHON_DECIDES.contains(&word));
            walk.strings(&text, &directory, &state);
            if ["sys.path", "path.insert", "path.append", "addsitedir"].iter().any(|word| text.contains(word)) {
                walk.certain = false;
                walk.import_places(follower, &text, &directory, &state);
            }
            let mut seen = HashSet::new();
            for word in imported(&text).filter(|word| seen.insert(*word)) {
                walk.import(follower, word, &directory, &state);
            }
        });
    }

    /// A directory that is named may be one to import from.
    fn import_places(&mut self, follower: &'a Follower<'a>, text: &str, directory: &Path, state: &State) {
        for (_, name) in literals(text) {
            let places = [Some(directory), state.cwd.as_deref(), Some(follower.root())].into_iter().flatten();
            for package in places.map(|from| from.join(name.trim_start_matches(['.', '/']))) {
                if name.len() > 1 && follower.holds(&package) && follower.kind(&package) == Kind::Directory {
                    self.package_of(follower, &package);
                }
            }
        }
    }

    /// A word that is imported, if there is a module or a package of that name.
    fn import(&mut self, follower: &'a Follower<'a>, word: &str, directory: &Path, state: &State) {
        let listing = follower.listing(directory);
        let module = format!("{word}.py");
        let mut modules = Vec::new();
        if listing.names.get(&module) == Some(&false) {
            let path = directory.join(module);
            self.files(Some(path.clone()), Naming::Runs);
            modules.push(path);
        }
        if listing.names.get(word) == Some(&true) {
            modules.extend(self.package_of(follower, &directory.join(word)).files.iter().cloned());
        }
        for path in modules {
            if let Some(text) = follower.text(&path) {
                self.python(&path.display().to_string(), &text, directory, state);
            }
        }
    }

    fn package_of(&mut self, follower: &'a Follower<'a>, directory: &Path) -> Arc<Around> {
        let around =
            follower.around(directory, AroundKind::Package, || follower.tree(directory, &is_python, &self.budget));
        self.around(around.clone());
        around.0
    }

    /// `python -m`: a module of the directory it runs in, or an installed one.
    pub(super) fn module(&mut self, module: &str, state: &State) {
        let Some(follower) = self.follower else { return };
        let Some(cwd) = state.cwd.clone() else { return self.certain = false };
        let first = module.split('.').next().unwrap_or_default();
        let listing = follower.listing(&cwd);
        let own = listing.names.contains_key(first) || listing.names.contains_key(&format!("{first}.py"));
        // Most installed ones run what they are pointed to: tests, tasks, other scripts.
        const HARMLESS: [&str; 5] = ["json", "base64", "gzip", "http", "calendar"];
        self.certain &= own || HARMLESS.contains(&first);
        self.python(module, &format!("import {module}"), &cwd, state);
    }
}

/// What Python could import from a directory: its modules, and the beginnings of its packages.
fn beside(follower: &Follower<'_>, directory: &Path) -> (Vec<PathBuf>, bool) {
    let listing = follower.listing(directory);
    let mut files = Vec::new();
    for (name, is_directory) in &listing.names {
        let path = directory.join(name);
        match is_directory {
            true if name == "__pycache__" => files.extend(unchecked(follower, &path)),
            true => files.extend(
                ["__init__.py", "__init__.pyc"]
                    .map(|init| path.join(init))
                    .into_iter()
                    .filter(|init| follower.disk.is_file(init)),
            ),
            false if is_python(&path) => files.push(path),
            false => {}
        }
    }
    (files, listing.whole)
}

/// Compiled modules that Python runs without looking at their source. Others come and go by themselves.
fn unchecked(follower: &Follower<'_>, cache: &Path) -> Vec<PathBuf> {
    let listing = follower.listing(cache);
    let by_hash =
        |path: &PathBuf| follower.head(path).is_some_and(|head| head.get(4..8).is_some_and(|flags| flags != [0; 4]));
    listing.names.keys().map(|name| cache.join(name)).filter(by_hash).collect()
}
