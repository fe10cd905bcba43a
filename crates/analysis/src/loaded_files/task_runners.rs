//! Programs that run what a project's own files say: package scripts, make targets, task runners, and programs that start
//! others which only they know.

use std::path::{Path, PathBuf};

use super::file_names::Passing;
use super::program_start::base_name;
use super::walk::{Walk, When};
use super::{Field, Naming};
use crate::programs::{self, Programs};
use crate::state::State;
use crate::value::Value;

/// What it costs to compare a name with a pattern.
const UNITS_PER_PATTERN: usize = 16;

impl<'a> Walk<'a> {
    /// What a program runs because it is that program.
    pub(super) fn runner(&mut self, program: &str, words: &[Field], state: &State) {
        if self.follower.is_none() {
            return;
        }
        let name = base_name(program);
        match name {
            "npm" | "npx" | "pnpm" | "yarn" | "bun" | "bunx" | "pnpx" => self.package_script(name, words, state),
            "make" | "gmake" | "bmake" => self.make(words, state),
            "run-parts" => self.all_in(words, state),
            "find" | "fd" | "fdfind" => self.found_files(words, state),
            _ => {}
        }
        // Awk reads its program from its first argument, and is at home in every script.
        if Programs::BUILT_IN.find(name).is_some_and(|program| program.body.code.as_deref() == Some("awk")) {
            self.certain &= !words
                .iter()
                .flatten()
                .any(|word| word.contains("system(") || word.contains("| \"") || word.starts_with("-f"));
            return;
        }
        let Some(files) = programs::project_files(name) else { return };
        self.certain = false;
        let disk = self.disk();
        for file in files {
            let Some(path) = state.path(file).filter(|path| disk.is_file(path)) else { continue };
            self.told_by(&path, state);
        }
    }

    /// A file that tells a runner what to do: it counts, and so does every file that it names.
    fn told_by(&mut self, path: &Path, state: &State) {
        if let Some(text) = self.follower.and_then(|follower| follower.text(path)) {
            self.loose(&text, Passing::InAText, state);
        }
        self.by_name(path);
        self.files(Some(path.to_owned()), Naming::Runs);
    }

    /// `npm run x` and its kin: the scripts of the nearest manifest.
    fn package_script(&mut self, name: &str, words: &[Field], state: &State) {
        let Some(follower) = self.follower else { return };
        let mut inner = self.child(state);
        let mut operands = Vec::new();
        let mut at = 1;
        while let Some(word) = words.get(at) {
            at += 1;
            match word.as_deref() {
                None => self.certain = false,
                Some("--prefix" | "-C" | "--cwd" | "--dir") => {
                    self.go(words.get(at).unwrap_or(&None), &mut inner);
                    at += 1;
                }
                Some(option) if option.starts_with("--prefix=") => {
                    self.go(&Some(option["--prefix=".len()..].to_owned()), &mut inner);
                }
                Some(
                    "-w" | "--workspace" | "--workspaces" | "-r" | "--filter" | "--script-shell" | "--node-options",
                ) => {
                    self.certain = false;
                }
                Some(option) if option.starts_with("--script-shell") || option.starts_with("--node-options") => {
                    self.certain = false
                }
                Some(option) if option.starts_with('-') => {}
                Some(operand) => operands.push(operand.to_owned()),
            }
        }
        let Some(cwd) = inner.cwd.clone() else { return self.certain = false };
        let manifest = cwd.ancestors().map(|above| above.join("package.json")).find(|path| follower.disk.is_file(path));
        let Some(manifest) = manifest.filter(|path| follower.holds(path)) else { return self.certain = false };
        let home = manifest.parent().unwrap_or(&cwd).to_owned();
        self.files(Some(manifest.clone()), Naming::Configures);
        self.files(Some(home.join(".npmrc")).filter(|path| follower.disk.is_file(path)), Naming::Runs);
        let text = follower.text(&manifest).unwrap_or_default();
        let manifest: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        inner.cwd = Some(home.as_path().into());
        let path = self.value("PATH", &inner).unwrap_or_default();
        let path = format!("{}:{path}", home.join("node_modules/.bin").display());
        inner.set("PATH", Some(Value::known(path)));
        inner.export("PATH");
        let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
        match operands.as_slice() {
            [run @ ("run" | "run-script" | "rum" | "urn"), script, ..] if name != "npx" => {
                let _ = run;
                self.scripts(&manifest, script, &inner);
            }
            [script, ..] if name != "npx" && manifest["scripts"][*script].is_string() => {
                self.scripts(&manifest, script, &inner)
            }
            ["t" | "tst", ..] if name == "npm" => self.scripts(&manifest, "test", &inner),
            ["start", ..] if name == "npm" => self.required(&home.join("server.js"), &inner),
            ["exec" | "x" | "dlx", tool, ..] => self.tool(tool, &inner),
            [tool, ..] if name == "npx" => self.tool(tool, &inner),
            _ => self.certain = false,
        }
    }

    fn scripts(&mut self, manifest: &serde_json::Value, name: &str, state: &State) {
        let mut known = false;
        for name in [format!("pre{name}"), name.to_owned(), format!("post{name}")] {
            if let Some(text) = manifest["scripts"][&name].as_str() {
                known = true;
                self.deeper(When::INSIDE, |walk| walk.text(text, state.clone(), When::INSIDE));
            }
        }
        self.certain &= known;
    }

    fn tool(&mut self, name: &str, state: &State) {
        let words = [Some(name.to_owned())];
        // What is not here is fetched from elsewhere.
        self.certain = false;
        self.deeper(When::INSIDE, |walk| walk.run(&words, None, state, When::INSIDE));
    }

    /// `make`: the makefile, what it includes, and the commands of its recipes.
    fn make(&mut self, words: &[Field], state: &State) {
        self.certain = false;
        let mut inner = self.child(state);
        let mut files = Vec::new();
        for pair in words.windows(2) {
            match (pair[0].as_deref(), &pair[1]) {
                (Some("-C" | "--directory"), target) => self.go(target, &mut inner),
                (Some("-f" | "--file" | "--makefile"), Some(file)) => files.push(file.clone()),
                _ => {}
            }
        }
        for word in words.iter().flatten() {
            match word {
                word if word.starts_with("--directory=") => {
                    self.go(&Some(word["--directory=".len()..].to_owned()), &mut inner)
                }
                word if word.starts_with("-C") && word.len() > 2 => self.go(&Some(word[2..].to_owned()), &mut inner),
                word if word.starts_with("-f") && word.len() > 2 => files.push(word[2..].to_owned()),
                word if word.starts_with("--file=") => files.push(word["--file=".len()..].to_owned()),
                _ => {}
            }
        }
        if files.is_empty() {
            files = ["GNUmakefile", "makefile", "Makefile", "BSDmakefile"].map(str::to_owned).to_vec();
        }
        let disk = self.disk();
        for path in files.iter().filter_map(|file| inner.path(file)).filter(|path| disk.is_file(path)) {
            self.makefile(&path, &inner);
        }
    }

    fn makefile(&mut self, path: &Path, state: &State) {
        let Some(text) = self.follower.and_then(|follower| follower.text(path)) else { return };
        self.files(Some(path.to_owned()), Naming::Runs);
        let (state, disk) = (state.clone(), self.disk());
        self.behind(&format!("make {} {:?}", path.display(), state.cwd), move |walk| {
            walk.certain = false;
            walk.loose(&text, Passing::InAText, &state);
            for line in text.replace("\\\n", " ").lines() {
                if let Some(names) =
                    ["include ", "-include ", "sinclude "].iter().find_map(|word| line.trim().strip_prefix(word))
                {
                    for path in
                        names.split_whitespace().filter_map(|name| state.path(name)).filter(|path| disk.is_file(path))
                    {
                        walk.deeper(When::INSIDE, |walk| walk.makefile(&path, &state));
                    }
                }
                let recipe = line.strip_prefix('\t').or_else(|| line.split_once(';').map(|(_, recipe)| recipe));
                if let Some(recipe) = recipe {
                    let recipe = recipe.trim_start_matches(['@', '-', '+', ' ']).replace("$$", "$");
                    walk.deeper(When::INSIDE, |walk| walk.text(&recipe, state.clone(), When::INSIDE));
                }
            }
        });
    }

    /// Every file of the directories that are named.
    fn all_in(&mut self, words: &[Field], state: &State) {
        self.certain &= !words.contains(&None);
        for word in words[1..].iter().flatten().filter(|word| !word.starts_with('-')) {
            for path in self.places(word, state) {
                self.whole_directory(&path, state);
            }
        }
    }

    fn whole_directory(&mut self, path: &Path, state: &State) {
        let Some(follower) = self.follower.filter(|follower| follower.disk.is_directory(path)) else { return };
        let (files, whole) = follower.tree(path, &|_| true, &self.budget);
        self.certain &= whole;
        for file in files {
            self.enter(&file, file.to_str(), &[], state);
            self.files(Some(file), Naming::Runs);
        }
    }

    /// `find … -exec`: the command that it runs, and what it could find.
    fn found_files(&mut self, words: &[Field], state: &State) {
        let runs = |word: &Field| {
            matches!(word.as_deref(), Some("-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec"))
        };
        for at in (1..words.len()).filter(|at| runs(&words[*at])) {
            let inner: Vec<Field> = words[at + 1..]
                .iter()
                .take_while(|word| !matches!(word.as_deref(), Some(";" | "+")))
                .map(|word| word.clone().filter(|word| !word.contains("{}")))
                .collect();
            self.deeper(When::INSIDE, |walk| walk.run(&inner, None, state, When::INSIDE));
        }
        let patterns: Vec<&str> = words
            .windows(2)
            .filter(|pair| matches!(pair[0].as_deref(), Some("-name" | "-iname" | "-path" | "-wholename")))
            .filter_map(|pair| pair[1].as_deref())
            .collect();
        let Some(follower) = self.follower else { return };
        let starts =
            words[1..].iter().map_while(|word| word.as_deref()).take_while(|word| !word.starts_with(['-', '(', '!']));
        let mut places: Vec<PathBuf> = starts.flat_map(|word| self.places(word, state)).collect();
        if places.is_empty() {
            places = self.places(".", state);
        }
        for place in places.into_iter().filter(|place| follower.disk.is_directory(place)) {
            let place: PathBuf = place.components().collect();
            if patterns.is_empty() {
                self.likely(place);
                continue;
            }
            // The ends of the patterns are enough: too much does no harm.
            let fits = |path: &Path| {
                self.budget.spend(UNITS_PER_PATTERN * patterns.len());
                patterns.iter().any(|pattern| {
                    let end = pattern.rsplit(['*', '?', ']', '/']).next().unwrap_or_default();
                    path.to_string_lossy().ends_with(end)
                })
            };
            let (files, _) = follower.tree(&place, &fits, &self.budget);
            files.into_iter().take(500).for_each(|file| self.likely(file));
        }
    }
}
