//! What a hook is made of: its name, its command, its variables, and the content of every file in its root that the
//! command names; where that cannot be told, of every file that it is likely to run. What those load in turn is not
//! followed.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use hookwright_hooks::shell::normalized;
use hookwright_hooks::{CommandFiles, Fingerprinted, Hook, Whereabouts};
use sha2::{Digest, Sha256};

use crate::file::read_bytes;
use crate::json::fill_variables;
use crate::paths::{GEMINI_DIR, hex};
use crate::world::World;

/// Scripts beyond this are taken by their size alone; nobody reads changes in them anyway.
const LARGEST_SCRIPT: u64 = 16 * 1024 * 1024;
/// How many lines of a script are remembered, to tell later how many changed.
const MOST_LINES: usize = 2000;
/// How many files are looked at where nobody can tell which of them run.
const MOST_FILES: usize = 1000;

/// Which fingerprints these are. What an older form did not look at, nobody has trusted.
pub(crate) const FORM: u32 = 2;

/// What a hook is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// Its declaration, by key; what is not set is not there.
    pub(crate) declared: BTreeMap<String, String>,
    /// A hash of each of its own variables.
    pub(crate) variables: BTreeMap<String, String>,
    /// By path inside the root, with forward slashes.
    pub(crate) scripts: BTreeMap<String, Script>,
    /// Whether these are all that it runs.
    pub(crate) certain: bool,
}

/// A script's content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) sha256: String,
    /// A short hash of each line; empty if it is too long or not text.
    pub(crate) lines: Vec<u32>,
}

impl Fingerprint {
    /// One hash over everything.
    pub(crate) fn digest(&self) -> String {
        let Fingerprint { declared, variables, scripts, certain } = self;
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        add(&format!("form {FORM}, certain {certain}"));
        let contents: BTreeMap<_, _> = scripts.iter().map(|(path, script)| (path, &script.sha256)).collect();
        for (label, map) in
            [("declared", declared.iter().collect()), ("variables", variables.iter().collect()), ("files", contents)]
        {
            add(label);
            add(&map.len().to_string());
            map.into_iter().for_each(|(key, value)| {
                add(key);
                add(value);
            });
        }
        hex(&hash.finalize())
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.declared.get("name").map(String::as_str)
    }

    pub(crate) fn command(&self) -> &str {
        self.declared.get("command").map(String::as_str).unwrap_or_default()
    }
}

/// A hook's declaration, without what is not set.
fn declared(hook: &Hook) -> BTreeMap<String, String> {
    let set = hook.declaration().into_iter().filter(|(_, value)| !value.is_empty());
    set.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Hashes, because the values may be secrets.
fn variables(env: &[(String, String)]) -> BTreeMap<String, String> {
    env.iter().map(|(name, value)| (name.clone(), hex(&Sha256::digest(value))[..16].to_owned())).collect()
}

/// The variables of a hook that runs in a project.
pub(crate) fn variable(hook: &Hook, world: &World, project: &Path, name: &str) -> Option<OsString> {
    let own = hook.env().iter().rev().find(|(key, _)| key == name);
    match (own, name) {
        (Some((_, value)), _) => Some(fill_variables(value, world).into_owned().into()),
        (None, "GEMINI_PROJECT_DIR" | "GEMINI_CWD" | "CLAUDE_PROJECT_DIR" | "PWD") => Some(project.into()),
        (None, name) => world.var_os(name).map(ToOwned::to_owned),
    }
}

/// Takes the fingerprints of the hooks of one root: a project or an extension.
pub(crate) struct Taker<'a> {
    root: &'a Path,
    /// Where hooks run.
    project: &'a Path,
    world: &'a World,
    /// Contents by name: many hooks share few scripts.
    scripts: RefCell<HashMap<String, Option<Script>>>,
}

impl<'a> Taker<'a> {
    pub(crate) fn new(root: &'a Path, project: &'a Path, world: &'a World) -> Self {
        Taker { root, project, world, scripts: RefCell::default() }
    }

    /// A hook's fingerprint; nothing for one that the program brings with it.
    pub(crate) fn take(&self, hook: &Hook) -> Option<Fingerprint> {
        let variable = |name: &str| variable(hook, self.world, self.project, name);
        let place = Whereabouts { cwd: self.project, variable: &variable };
        match hook.action.fingerprinted(&place) {
            Fingerprinted::InCode => None,
            Fingerprinted::Declared { env, files } => Some(Fingerprint {
                declared: declared(hook),
                variables: variables(env),
                scripts: self.contents(&files),
                certain: files.certain,
            }),
        }
    }

    /// The content of the files in the root that are named, or likely to run.
    fn contents(&self, files: &CommandFiles) -> BTreeMap<String, Script> {
        let mut paths: Vec<PathBuf> = files.files.iter().map(|file| file.path.clone()).collect();
        if !files.certain {
            let likely = self.root.join(GEMINI_DIR);
            all_files(if self.root == self.project { &likely } else { self.root }, &mut paths);
        }
        let inside = paths.iter().filter_map(|path| self.inside(path));
        inside.filter_map(|(name, path)| Some((name.clone(), self.script(&name, &path)?))).collect()
    }

    /// The name inside the root of a path, if it leads there.
    fn inside(&self, path: &Path) -> Option<(String, PathBuf)> {
        let path = normalized(path);
        let inner = path.strip_prefix(self.root).ok()?;
        let parts: Vec<_> = inner.components().map(|part| exact_name(part.as_os_str())).collect();
        let name = parts.join("/");
        (!name.is_empty()).then_some((name, path))
    }

    fn script(&self, name: &str, path: &Path) -> Option<Script> {
        if let Some(known) = self.scripts.borrow().get(name) {
            return known.clone();
        }
        let script = read_script(path);
        self.scripts.borrow_mut().insert(name.to_owned(), script.clone());
        script
    }
}

/// A name of which no two files share one: what is not UTF-8 is spelt out.
pub(crate) fn exact_name(name: &OsStr) -> Cow<'_, str> {
    let bytes = || Cow::Owned(format!("{BYTES}{}", hex(name.as_encoded_bytes())));
    name.to_str().filter(|name| !name.starts_with(BYTES)).map_or_else(bytes, Cow::Borrowed)
}

const BYTES: &str = "bytes:";

fn read_script(path: &Path) -> Option<Script> {
    match read_bytes(path, LARGEST_SCRIPT) {
        Ok(bytes) => bytes.map(|bytes| Script { sha256: hex(&Sha256::digest(&bytes)), lines: line_hashes(&bytes) }),
        Err(crate::FileError::TooLarge { size, .. }) => {
            Some(Script { sha256: format!("size {size}"), lines: Vec::new() })
        }
        // One that cannot be read cannot run either.
        Err(_) => None,
    }
}

fn line_hashes(bytes: &[u8]) -> Vec<u32> {
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes).split(|byte| *byte == b'\n');
    if bytes.contains(&0) || bytes.is_empty() {
        return Vec::new();
    }
    let hashes: Vec<u32> = lines.take(MOST_LINES + 1).map(fnv).collect();
    if hashes.len() > MOST_LINES { Vec::new() } else { hashes }
}

/// FNV-1a: to count changed lines, not to guard anything.
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// The files of a directory, however deep; without the settings, whose hooks have fingerprints of their own, and
/// without what programs leave behind.
fn all_files(directory: &Path, found: &mut Vec<PathBuf>) {
    const LEFT_OUT: [&str; 4] = ["tmp", ".git", "node_modules", "settings.json"];
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries.iter().filter(|entry| !LEFT_OUT.iter().any(|name| entry.file_name() == *name)) {
        if found.len() >= MOST_FILES {
            return;
        }
        match entry.file_type() {
            // Not through links: they may lead in a circle.
            Ok(kind) if kind.is_dir() => all_files(&entry.path(), found),
            Ok(kind) if !kind.is_symlink() => found.push(entry.path()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_kept_inside_the_root() {
        let world = World::default();
        let taker = Taker::new(Path::new("/p"), Path::new("/p"), &world);
        let inside = |path: &str| taker.inside(Path::new(path)).map(|(name, _)| name);
        assert_eq!(inside("/p/a/../b.sh").as_deref(), Some("b.sh"));
        assert_eq!(inside("/p/c/d").as_deref(), Some("c/d"));
        assert_eq!(inside("/p/../x"), None);
        assert_eq!(inside("/etc/passwd"), None);
        assert_eq!(inside("/p"), None);
    }
}
