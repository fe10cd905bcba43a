//! What a hook is made of: its name, its command, its variables, and the content of every script in its root that the
//! command names. What those scripts load in turn is not followed.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};

use hookwright_hooks::{Action, Hook};
use sha2::{Digest, Sha256};

use crate::file::read_bytes;
use crate::paths::hex;

/// Scripts beyond this are taken by their size alone; nobody reads changes in them anyway.
const LARGEST_SCRIPT: u64 = 16 * 1024 * 1024;
/// How many lines of a script are remembered, to tell later how many changed.
const MOST_LINES: usize = 2000;

/// What a hook is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) name: Option<String>,
    pub(crate) command: String,
    /// A hash of its own variables; empty if it has none.
    pub(crate) env: String,
    /// By path inside the root, with forward slashes.
    pub(crate) scripts: BTreeMap<String, Script>,
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
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        add(if self.name.is_some() { "named" } else { "unnamed" });
        add(self.name.as_deref().unwrap_or_default());
        add(&self.command);
        add(&self.env);
        for (path, script) in &self.scripts {
            add(path);
            add(&script.sha256);
        }
        hex(&hash.finalize())
    }
}

/// Takes the fingerprints of the hooks of one root: a project or an extension.
pub(crate) struct Taker<'a> {
    root: &'a Path,
    /// `${name}` in commands.
    placeholders: &'a [(String, String)],
    /// Contents by name: many hooks share few scripts.
    scripts: RefCell<HashMap<String, Option<Script>>>,
}

impl<'a> Taker<'a> {
    pub(crate) fn new(root: &'a Path, placeholders: &'a [(String, String)]) -> Self {
        Taker { root, placeholders, scripts: RefCell::default() }
    }

    /// A command hook's fingerprint.
    pub(crate) fn take(&self, hook: &Hook) -> Option<Fingerprint> {
        let Action::Command(action) = &hook.action else { return None };
        let mut scripts = BTreeMap::new();
        for word in words(&action.command) {
            if let Some((name, path)) = self.inside(&self.expanded(&word))
                && let Some(script) = self.script(&name, &path)
            {
                scripts.insert(name, script);
            }
        }
        let env = if action.env.is_empty() {
            String::new()
        } else {
            hex(&Sha256::digest(format!("{:?}", action.env)))[..16].to_owned()
        };
        Some(Fingerprint { name: hook.name.clone(), command: action.command.clone(), env, scripts })
    }

    /// A word with the variables that lead into the root filled in; done word by word, since paths have spaces.
    fn expanded<'w>(&self, word: &'w str) -> Cow<'w, str> {
        if !word.contains('$') {
            return Cow::Borrowed(word);
        }
        let root = self.root.to_string_lossy();
        let mut text = word.to_owned();
        for (name, value) in self.placeholders {
            text = text.replace(&format!("${{{name}}}"), value);
        }
        for name in ["GEMINI_PROJECT_DIR", "GEMINI_CWD", "CLAUDE_PROJECT_DIR", "PWD"] {
            text = text.replace(&format!("${{{name}}}"), &root).replace(&format!("${name}"), &root);
        }
        Cow::Owned(text)
    }

    /// The path inside the root that a word stands for, if it can be one.
    fn inside(&self, word: &str) -> Option<(String, PathBuf)> {
        let path = normalized(&self.root.join(word));
        let inner = path.strip_prefix(self.root).ok()?;
        let parts: Vec<_> = inner.components().map(|part| part.as_os_str().to_string_lossy()).collect();
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

/// The path without `.` and `..`, without looking at the disk.
pub(crate) fn normalized(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut out, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
        out
    })
}

/// Everything in a command that may name a file. Too much does no harm: what is no file is dropped.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in shell_words(command) {
        // A quoted command line (`bash -c "./x.sh"`) has words of its own, and an option (`--config=x`) a value.
        if word.contains(|char: char| char.is_whitespace() || OPERATORS.contains(char)) {
            words.extend(shell_words(&word));
        }
        if let Some((_, value)) = word.split_once('=') {
            words.push(value.to_owned());
        }
        if !word.starts_with('-') {
            words.push(word);
        }
    }
    words
}

const OPERATORS: &str = ";|&()<>`";

/// Words split at spaces and operators, with quotes and backslashes taken off.
fn shell_words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (None, '\'' | '"') => quote = Some(char),
            (None | Some('"'), '\\') => word.extend(chars.next()),
            (None, _) if char.is_whitespace() || OPERATORS.contains(char) => words.push(std::mem::take(&mut word)),
            _ => word.push(char),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_that_may_be_a_file_is_found() {
        let cases = [
            ("./x.sh", vec!["./x.sh"]),
            ("bash x.sh 'a b.sh'", vec!["bash", "x.sh", "a", "b.sh", "a b.sh"]),
            ("python3 \"/p/my dir/x.py\" --c=conf.json", vec!["/p/my dir/x.py", "conf.json"]),
            ("cat a|./b&&(./c);d>e", vec!["a", "./b", "./c", "d", "e"]),
            (r"my\ script.sh", vec!["my script.sh"]),
            ("bash -c './x.sh --flag; ./y.sh'", vec!["./x.sh", "./y.sh"]),
        ];
        for (command, expected) in cases {
            let words = words(command);
            assert!(expected.iter().all(|word| words.iter().any(|found| found == word)), "{command}: {words:?}");
        }
    }

    #[test]
    fn paths_are_kept_inside_the_root() {
        let taker = Taker::new(Path::new("/p"), &[]);
        let inside = |word: &str| taker.inside(word).map(|(name, _)| name);
        assert_eq!(inside("./a/../b.sh").as_deref(), Some("b.sh"));
        assert_eq!(inside("/p/c/d").as_deref(), Some("c/d"));
        assert_eq!(inside("../x"), None);
        assert_eq!(inside("/etc/passwd"), None);
        assert_eq!(inside("."), None);
    }
}
