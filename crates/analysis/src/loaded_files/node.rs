//! What Node code requires: files by their paths, packages of the project by their names.

use std::path::{Path, PathBuf};

use super::Naming;
use super::file_names::{identifiers, literals};
use super::follower::Kind;
use super::script_sources::extension;
use super::walk::{Walk, When};
use crate::paths;
use crate::state::State;

/// The same for Node.
const NODE_DECIDES: [&str; 12] = [
    "child_process",
    "eval",
    "Function",
    "vm",
    "createRequire",
    "worker_threads",
    "dlopen",
    "Worker",
    "Bun",
    "Deno",
    "register",
    "execSync",
];

pub(super) fn is_node(path: &Path) -> bool {
    matches!(extension(path), "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "tsx" | "jsx")
}

impl<'a> Walk<'a> {
    /// A Node module and what it requires.
    pub(super) fn node(&mut self, path: &Path, state: &State) {
        let Some(follower) = self.follower else { return };
        let Some(text) = follower.text(path) else { return };
        let key = format!("node {} {:?}", path.display(), state.cwd);
        let directory = paths::physical(follower.disk, path);
        let directory = directory.parent().unwrap_or(path).to_owned();
        let state = state.clone();
        self.behind(&key, move |walk| walk.node_text(&text, &directory, &state));
    }

    pub(super) fn node_text(&mut self, text: &str, directory: &Path, state: &State) {
        let decides = identifiers(text).any(|word| NODE_DECIDES.contains(&word)) || computes_imports(text);
        self.certain &= !decides;
        // Whether it is a module, and what `#names` mean, says the nearest manifest.
        let manifest =
            directory.ancestors().map(|above| above.join("package.json")).find(|path| self.disk().is_file(path));
        if let Some(manifest) = manifest.filter(|path| self.follower.is_some_and(|follower| follower.holds(path))) {
            self.files(Some(manifest), Naming::Configures);
        }
        for (before, inside) in literals(text) {
            let before = before.trim_end();
            let imported = ["require(", "from", "import", "import("].iter().any(|word| before.ends_with(word));
            match inside {
                _ if inside.starts_with("./")
                    || inside.starts_with("../")
                    || inside.starts_with('/')
                    || inside == "." =>
                {
                    self.required(&directory.join(inside), state);
                }
                _ if imported && inside.starts_with('#') => self.certain = false,
                _ if imported => self.package(inside, directory, state),
                _ => {}
            }
        }
        self.strings(text, directory, state);
    }

    /// What `require` takes for a path: all that are there.
    pub(super) fn required(&mut self, path: &Path, state: &State) {
        let with = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
        let ends = [".js", ".json", ".node", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".jsx"];
        let mut candidates = vec![path.to_owned()];
        candidates.extend(ends.iter().map(|end| with(end)));
        candidates.extend(["ts", "tsx", "mts", "cts"].iter().map(|end| path.with_extension(end)));
        if self.disk().is_directory(path) {
            let manifest = path.join("package.json");
            candidates
                .extend(["js", "json", "node", "mjs", "cjs", "ts"].iter().map(|end| path.join(format!("index.{end}"))));
            for main in self.mains(&manifest) {
                let main = path.join(main);
                if main != *path {
                    self.deeper(When::INSIDE, |walk| walk.required(&main, state));
                }
            }
            self.files(Some(manifest), Naming::Configures);
        }
        let Some(follower) = self.follower else { return };
        for found in candidates.into_iter().filter(|candidate| follower.kind(candidate) == Kind::File) {
            self.node(&found, state);
            self.files(Some(found), Naming::Runs);
        }
    }

    /// The files that a manifest begins with: every path it names, wherever it stands.
    pub(super) fn mains(&self, manifest: &Path) -> Vec<String> {
        let text = self.follower.and_then(|follower| follower.text(manifest)).unwrap_or_default();
        let Ok(serde_json::Value::Object(manifest)) = serde_json::from_str(&text) else { return Vec::new() };
        let mut found = Vec::new();
        let mut values: Vec<_> =
            ["main", "exports", "module", "bin"].iter().filter_map(|key| manifest.get(*key)).collect();
        while let Some(value) = values.pop() {
            match value {
                serde_json::Value::String(path) => found.push(path.clone()),
                serde_json::Value::Array(list) => values.extend(list),
                serde_json::Value::Object(map) => values.extend(map.values()),
                _ => {}
            }
        }
        found
    }

    /// A package by its name: in the nearest `node_modules` of the project, if there.
    pub(super) fn package(&mut self, name: &str, directory: &Path, state: &State) {
        let Some(follower) = self.follower else { return };
        let places = directory.ancestors().map(|above| above.join("node_modules").join(name));
        for path in places.take_while(|path| follower.holds(path)) {
            if follower.disk.exists(&path) || follower.disk.exists(&path.with_extension("js")) {
                self.deeper(When::INSIDE, |walk| walk.required(&path, state));
                // Which of its files a longer name means is up to the package.
                let whole = name.splitn(if name.starts_with('@') { 3 } else { 2 }, '/').count();
                self.certain &= whole == if name.starts_with('@') { 2 } else { 1 };
                return;
            }
        }
    }
}

/// Whether something is required by a name that is put together.
fn computes_imports(text: &str) -> bool {
    ["require(", "import("].iter().any(|call| {
        text.match_indices(call).any(|(at, _)| {
            let rest = text[at + call.len()..].trim_start();
            let Some(quote) = rest.chars().next().filter(|char| matches!(char, '\'' | '"' | '`')) else { return true };
            let Some((inside, after)) = rest[1..].split_once(quote) else { return true };
            inside.contains("${") || !after.trim_start().starts_with([')', ','])
        })
    })
}
