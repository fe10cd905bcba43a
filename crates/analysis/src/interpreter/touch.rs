//! Paths that a script touches.

use std::path::{Path, PathBuf};

use super::{Interpreter, UNITS_PER_STEP};
use crate::disk::FileKind;
use crate::observer::{Aspects, Fact};
use crate::paths;
use crate::programs::spec::{Access, Depth};
use crate::state::State;
use crate::value::Argument;

/// The units that a lookup on the disk costs.
const UNITS_PER_PATH: usize = 512;

/// The directories in which programs lie.
pub(super) const PROGRAM_DIRECTORIES: [&str; 10] = [
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/sbin",
    "/usr/sbin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/opt/homebrew/sbin",
    "/opt/local/bin",
    "/snap/bin",
];

impl Interpreter<'_> {
    /// Something happens to what a word names.
    pub(crate) fn touch(&mut self, access: Access, word: &Argument, depth: Depth, state: &State) {
        let Some(text) = word.text().filter(|text| !text.is_empty()) else {
            self.made_unknown |= access == Access::Write;
            return self.unsure(access, format!("{} is only known when it runs", named(word)));
        };
        let text = text.to_owned();
        self.touch_text(access, &text, depth, state);
    }

    /// Something happens to a path, as it is written.
    pub(crate) fn touch_text(&mut self, access: Access, text: &str, depth: Depth, state: &State) {
        let Some(path) = state.path(text) else {
            if access == Access::Write {
                let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or(text);
                self.made.insert(name.to_owned());
            }
            return self.unsure(access, "the directory is not known");
        };
        self.touch_path(access, &path, depth);
        // A slash behind a link means what the link leads to, and so does a directory that was reached by it.
        if text.ends_with('/') || matches!(text.rsplit('/').next(), Some("." | "..")) {
            let target = paths::physical(self.environment.disk, &path);
            if target != paths::normalized(&path) {
                self.touch_path(access, &target, depth);
            }
        }
    }

    /// Something happens in the home directory.
    pub(crate) fn touch_home(&mut self, access: Access, rest: &str, depth: Depth) {
        match self.environment.home {
            Some(home) => {
                let path = home.join(rest);
                self.touch_path(access, &path, depth);
            }
            None => self.unsure(access, "the home directory is not known"),
        }
    }

    pub(crate) fn touch_path(&mut self, access: Access, path: &Path, depth: Depth) {
        if let Some(host) = paths::network_device(path) {
            return self.contact(&host);
        }
        if paths::is_device(path) {
            return;
        }
        if paths::is_per_process(path) {
            return self.unsure(access, "a path of one process");
        }
        if !self.pay(UNITS_PER_PATH + path.as_os_str().len() + UNITS_PER_STEP * self.links.len()) {
            return;
        }
        let written = paths::normalized(path);
        if access == Access::Write && depth == Depth::Tree && self.fills_trees && self.may_lead_out(&written) {
            self.unsure(access, "links in the directory lead out of it");
        }
        let depth = if self.tree_depth { Depth::Tree } else { depth };
        // What is found in a tree may be a link that is read or written through.
        if self.tree_depth && self.tree_links && access != Access::Delete && self.may_hold_links(&written) {
            self.unsure(access, "links in a tree are followed");
        }
        if self.links.iter().any(|link| written.starts_with(link)) {
            self.unsure(access, "a path below a link that the same command makes");
        }
        match access {
            Access::Read => {
                let taint = self.file_source(path);
                self.read_taint = self.read_taint.and(taint);
            }
            Access::Write | Access::Delete => self.change(access, &written, depth),
        }
        self.observer.fact(&Fact::Path { access, path, depth });
    }

    fn change(&mut self, access: Access, path: &Path, depth: Depth) {
        self.changed = true;
        if access == Access::Delete {
            return;
        }
        self.written.push(path.to_owned());
        let is_setting = self.environment.home.is_some_and(|home| match path.strip_prefix(home) {
            Ok(rest) if rest.as_os_str().is_empty() => depth == Depth::Tree,
            Ok(rest) => rest.to_string_lossy().starts_with('.'),
            Err(_) => depth == Depth::Tree && home.starts_with(path),
        });
        self.home_changed |= is_setting;
        let is_repository = path.components().any(|part| part.as_os_str() == ".git");
        self.raced |= self.background && (is_setting || is_repository);
        if depth == Depth::Tree && (self.fills_trees || self.tree_depth) {
            self.filled.push(path.to_owned());
        }
        if let Some(name) = path.file_name() {
            self.made.insert(name.to_string_lossy().into_owned());
        }
        let directories = path.ancestors().skip(1).filter_map(Path::file_name);
        self.made_directories.extend(directories.map(|name| name.to_string_lossy().into_owned()));
        let holds_programs = |directory: &&str| {
            path.starts_with(directory) || (depth == Depth::Tree && Path::new(directory).starts_with(path))
        };
        self.programs_changed |= PROGRAM_DIRECTORIES.iter().any(holds_programs);
        // Another name of the same file changes with it.
        if self.environment.disk.has_other_names(path) {
            self.unsure(Access::Write, "a file that has other names (hard links)");
        }
    }

    /// A link may stand at a path from now on.
    pub(crate) fn link(&mut self, path: &Path) {
        self.raced |= self.apart > 0 || self.background;
        self.links.push(paths::normalized(path));
    }

    /// Whether a link stands at a path, or may by now.
    pub(crate) fn may_be_link(&self, path: &Path) -> bool {
        !self.links.is_empty() || !self.filled.is_empty() || self.environment.disk.kind(path) == Some(FileKind::Link)
    }

    /// Whether a tree holds links, or more than can be looked at.
    pub(crate) fn may_hold_links(&mut self, directory: &Path) -> bool {
        self.may_hold_link(directory, |_| true)
    }

    /// Whether a tree holds links that lead out of it, or more than can be looked at.
    fn may_lead_out(&mut self, directory: &Path) -> bool {
        let disk = self.environment.disk;
        let real = paths::physical(disk, directory);
        self.may_hold_link(directory, |link| !paths::physical(disk, link).starts_with(&real))
    }

    fn may_hold_link(&mut self, directory: &Path, counts: impl Fn(&Path) -> bool) -> bool {
        const MAX_ENTRIES: usize = 256;
        let disk = self.environment.disk;
        let mut waiting: Vec<PathBuf> = vec![paths::physical(disk, directory)];
        let mut left = MAX_ENTRIES;
        while let Some(directory) = waiting.pop() {
            if disk.kind(&directory) != Some(FileKind::Directory) {
                continue;
            }
            let Some(names) = disk.names(&directory, left) else { return true };
            left -= names.len();
            if !self.pay(UNITS_PER_PATH * (1 + names.len())) {
                return true;
            }
            for name in names {
                let path = directory.join(name);
                match disk.kind(&path) {
                    Some(FileKind::Link) if counts(&path) => return true,
                    Some(FileKind::Directory) => waiting.push(path),
                    _ => {}
                }
            }
        }
        false
    }

    /// Whether the script changes settings in the home directory.
    pub(crate) fn home_settings_changed(&self) -> bool {
        self.home_changed
    }

    /// Whether the script makes a file of this name.
    pub(crate) fn made(&self, name: &str) -> bool {
        self.made.contains(name)
    }

    /// Whether the script makes a file of this name, or one whose name is not known.
    pub(crate) fn may_have_made(&self, name: &str) -> bool {
        self.made_unknown || self.made.contains(name) || !self.filled.is_empty()
    }

    /// Whether the script makes anything in a directory of this name.
    pub(crate) fn made_below(&self, name: &str) -> bool {
        self.made.contains(name) || self.made_directories.contains(name)
    }

    /// A host is contacted.
    pub(crate) fn contact(&mut self, host: &str) {
        if self.pay(UNITS_PER_PATH) {
            self.observer.fact(&Fact::Network(host));
            self.contacted.push(host.to_owned());
        }
    }

    /// A program that only reads is told to write.
    pub(crate) fn exceeds(&mut self) {
        self.observer.exceeds();
    }

    pub(crate) fn tell(&mut self, fact: &Fact<'_>) {
        self.observer.fact(fact);
    }

    /// Files may change and go, but which ones can't be told.
    pub(crate) fn unsure_files(&mut self, reason: &'static str) {
        self.unsure(Aspects::from(Access::Write).and(Access::Delete.into()), reason);
    }
}

/// A word in a message.
pub(crate) fn named(word: &Argument) -> &str {
    if word.shown.is_empty() { "an empty word" } else { &word.shown }
}
