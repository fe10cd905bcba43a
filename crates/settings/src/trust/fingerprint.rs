//! Computes fingerprints of hooks: the declaration, the variables, and the content of every file under the root that
//! the hook runs, that those files run in turn, or that may be loaded from their folders. Where that cannot be
//! determined, everything under `.gemini/` is included.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use hookwright_disk::{ReadError, SymlinkPolicy};
use hookwright_hooks::{
    Action, Around, AroundKind, CommandFiles, Fingerprinted, Follower, Hook, Naming, Source, Whereabouts,
};
use sha2::{Digest, Sha256};

use crate::json::fill_variables;
use crate::paths::{CLAUDE_DIR, GEMINI_DIR, hex};
use crate::process_env::ProcessEnv;

/// Most lines of a script that are hashed one by one, to count changed lines later.
const MAX_HASHED_LINES: usize = 2000;
const MAX_HASHED_TEXT_BYTES: usize = 1024 * 1024;
/// Most files around a script that are listed by name in its fingerprint; more get one common digest.
const MAX_NAMED_FILES: usize = 64;
const MAX_FILES_WITH_LINES: usize = 16;

/// Version of the fingerprints. A hook that was trusted in an older version must be trusted again, because that
/// version checked less.
pub(crate) const FINGERPRINT_VERSION: u32 = 2;

/// Field with the name of a hook that a project disables. No hook declares it.
pub(super) const SWITCH_OFF_KEY: &str = "switches off";

/// Everything that a hook consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// Its declaration by key; keys that are not set are left out.
    pub(crate) declared: BTreeMap<String, String>,
    /// A hash of each of its variables.
    pub(crate) variables: BTreeMap<String, String>,
    /// Scripts by path relative to the root, with forward slashes.
    pub(crate) scripts: BTreeMap<String, ScriptDigest>,
    /// Whether these are all files that it runs.
    pub(crate) certain: bool,
}

/// Digest of a script's content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptDigest {
    pub(crate) sha256: String,
    /// A short hash of each line; empty if it is too long or not text.
    pub(crate) lines: Vec<u32>,
}

impl Fingerprint {
    /// Returns one hash of everything.
    pub(crate) fn digest(&self) -> String {
        let Fingerprint { declared, variables, scripts, certain } = self;
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        add(&format!("form {FINGERPRINT_VERSION}, certain {certain}"));
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

    /// Returns the fingerprint of a project's setting that disables a hook of another layer.
    pub(crate) fn of_switch_off(hook: &Hook) -> Self {
        let declared = [(SWITCH_OFF_KEY, hook.id().to_owned()), ("source", hook.source.to_string())];
        Fingerprint {
            declared: declared.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
            variables: BTreeMap::new(),
            scripts: BTreeMap::new(),
            certain: true,
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.declared.get("name").map(String::as_str)
    }

    pub(crate) fn command(&self) -> &str {
        self.declared.get("command").map(String::as_str).unwrap_or_default()
    }
}

/// Returns a hook's declaration, without fields that are not set.
fn declared_fields(hook: &Hook) -> BTreeMap<String, String> {
    let set = hook.fingerprint_fields().into_iter().filter(|(_, value)| !value.is_empty());
    set.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns hashes of the variables of a program and the headers of a request. They are hashed because the values may
/// be secrets.
fn variable_hashes(hook: &Hook) -> BTreeMap<String, String> {
    let hashed = |value: &str| hex(&Sha256::digest(value))[..16].to_owned();
    let headers = match &hook.action {
        Action::Http(http) => {
            http.literal_headers().map(|(name, value)| (format!("header {name}"), hashed(value))).collect()
        }
        _ => Vec::new(),
    };
    hook.env().iter().map(|(name, value)| (name.clone(), hashed(value))).chain(headers).collect()
}

/// Returns the value of a variable for a hook that runs in a project.
pub(crate) fn hook_variable(hook: &Hook, world: &ProcessEnv, project: &Path, name: &str) -> Option<OsString> {
    let own = hook.env().iter().rev().find(|(key, _)| key == name);
    match (own, name) {
        (Some((_, value)), _) => Some(fill_variables(value, world).into_owned().into()),
        (None, "GEMINI_PROJECT_DIR" | "GEMINI_CWD" | "CLAUDE_PROJECT_DIR" | "PWD") => Some(project.into()),
        (None, name) => world.var_os(name).map(ToOwned::to_owned),
    }
}

/// Computes the fingerprints of the hooks of one root, a project or an extension.
pub(crate) struct Fingerprinter<'a> {
    root: &'a Path,
    /// Working directory of the hooks.
    project: &'a Path,
    process_env: &'a ProcessEnv,
    follower: Follower<'a>,
    /// Digests by path, because many hooks share few scripts.
    scripts: RefCell<HashMap<PathBuf, Option<ScriptDigest>>>,
    /// Digests of groups of files.
    groups: RefCell<HashMap<(PathBuf, usize), ScriptDigest>>,
    likely_files: OnceCell<Arc<Around>>,
}

impl<'a> Fingerprinter<'a> {
    pub(crate) fn new(root: &'a Path, project: &'a Path, world: &'a ProcessEnv) -> Self {
        let mut roots = vec![root.to_owned()];
        if root == project {
            roots.extend(repository_root(root, world).filter(|top| top != root));
        }
        Fingerprinter {
            root,
            project,
            process_env: world,
            follower: Follower::new(roots, &read_prefix),
            scripts: RefCell::default(),
            groups: RefCell::default(),
            likely_files: OnceCell::new(),
        }
    }

    /// Creates a fingerprinter for one guard, whose files count wherever they are.
    pub(crate) fn for_guard(home: &'a Path, project: &'a Path, world: &'a ProcessEnv, more: Vec<PathBuf>) -> Self {
        let mut roots = vec![project.to_owned(), home.to_owned()];
        roots.extend(repository_root(project, world));
        roots.extend(more);
        let mut seen = HashSet::new();
        roots.retain(|root| seen.insert(root.clone()));
        Fingerprinter { follower: Follower::new(roots, &read_prefix), ..Fingerprinter::new(project, project, world) }
    }

    /// Returns a hook's fingerprint; `None` for one that is built into the program.
    pub(crate) fn fingerprint(&self, hook: &Hook) -> Option<Fingerprint> {
        let files = self.files_run_by(hook)?;
        Some(Fingerprint {
            declared: declared_fields(hook),
            variables: variable_hashes(hook),
            scripts: self.script_digests(&files),
            certain: files.certain,
        })
    }

    /// Returns the files under the root that a hook runs or is likely to run; `None` for one that is built into the
    /// program.
    pub(crate) fn files_run_by(&self, hook: &Hook) -> Option<CommandFiles> {
        let mut files = self.followed_files(hook)?;
        if !files.certain && matches!(hook.source, Source::Project | Source::Extension(_)) {
            files
                .around
                .push(self.likely_files.get_or_init(|| Arc::new(find_likely_files(self.root, self.project))).clone());
        }
        Some(files)
    }

    /// Returns the files that a hook runs, without those that are only likely.
    pub(crate) fn followed_files(&self, hook: &Hook) -> Option<CommandFiles> {
        let variable = |name: &str| hook_variable(hook, self.process_env, self.project, name);
        let place = Whereabouts { cwd: self.project, variable: &variable };
        match hook.action.fingerprinted(&place, &self.follower) {
            Fingerprinted::Declared { env: _, files } => Some(files),
            Fingerprinted::InCode => None,
        }
    }

    /// Returns the digests of the files under the root.
    fn script_digests(&self, files: &CommandFiles) -> BTreeMap<String, ScriptDigest> {
        let mut contents = BTreeMap::new();
        for file in files.files.iter().filter(|file| self.follower.holds(&file.path)) {
            let script = match file.how {
                Naming::Configures => manifest_digest(&file.path),
                Naming::Runs | Naming::Sources | Naming::Mentions => self.script_digest(&file.path),
            };
            contents.extend(script.map(|script| (self.relative_name(&file.path), script)));
        }
        for around in &files.around {
            if around.files.len() > MAX_NAMED_FILES {
                contents.insert(format!("{}/", self.relative_name(&around.directory)), self.group_digest(around));
                continue;
            }
            for path in &around.files {
                let script = || {
                    let script = self.script_digest(path)?;
                    // The line hashes of many files would fill the record.
                    Some(if around.files.len() > MAX_FILES_WITH_LINES {
                        ScriptDigest { lines: Vec::new(), ..script }
                    } else {
                        script
                    })
                };
                if let Entry::Vacant(free) = contents.entry(self.relative_name(path))
                    && let Some(script) = script()
                {
                    free.insert(script);
                }
            }
        }
        contents
    }

    /// Returns the name of a path, relative to the root if it is inside.
    fn relative_name(&self, path: &Path) -> String {
        let path = path.strip_prefix(self.root).unwrap_or(path);
        let root = path.has_root().then_some("");
        let parts = path.components().filter(|part| *part != Component::RootDir);
        root.into_iter()
            .map(Cow::Borrowed)
            .chain(parts.map(|part| exact_name(part.as_os_str())))
            .collect::<Vec<_>>()
            .join("/")
    }

    fn script_digest(&self, path: &Path) -> Option<ScriptDigest> {
        if let Some(known) = self.scripts.borrow().get(path) {
            return known.clone();
        }
        let script = read_script(path);
        self.scripts.borrow_mut().insert(path.to_owned(), script.clone());
        script
    }

    /// Returns one digest of the names and contents of many files.
    fn group_digest(&self, around: &Around) -> ScriptDigest {
        let key = (around.directory.clone(), around.files.len());
        if let Some(known) = self.groups.borrow().get(&key) {
            return known.clone();
        }
        let mut hash = Sha256::new();
        for path in &around.files {
            let content = self.script_digest(path).map(|script| script.sha256).unwrap_or_default();
            hash.update(format!("{}\0{content}\0", self.relative_name(path)));
        }
        let script = ScriptDigest { sha256: hex(&hash.finalize()), lines: Vec::new() };
        self.groups.borrow_mut().insert(key, script.clone());
        script
    }
}

/// Returns the root of the repository that a project is part of, because its files come from the same authors. A
/// repository that contains the home directory is ignored, because it holds more than that.
fn repository_root(root: &Path, world: &ProcessEnv) -> Option<PathBuf> {
    let home = world.var_os("HOME").map(Path::new);
    let top = root.ancestors().find(|above| above.join(".git").exists())?;
    (!home.is_some_and(|home| home.starts_with(top))).then(|| top.to_owned())
}

/// Returns the files that may run if that cannot be determined: everything under `.gemini/` and Claude Code's hooks,
/// or all files of an extension.
fn find_likely_files(root: &Path, project: &Path) -> Around {
    let directory = if root == project { root.join(GEMINI_DIR) } else { root.to_owned() };
    let mut files = Vec::new();
    collect_files(&directory, LikelyFileFilter::TopLevel, &mut HashSet::new(), &mut files);
    if root == project {
        collect_files(
            &root.join(CLAUDE_DIR).join("hooks"),
            LikelyFileFilter::TopLevel,
            &mut HashSet::new(),
            &mut files,
        );
    }
    Around { directory, kind: AroundKind::All, files }
}

/// Returns a unique text for a file name; a name that is not UTF-8 is written in hexadecimal digits.
pub fn exact_name(name: &OsStr) -> Cow<'_, str> {
    let bytes = || Cow::Owned(format!("{BYTES_PREFIX}{}", hex(name.as_encoded_bytes())));
    name.to_str().filter(|name| !name.starts_with(BYTES_PREFIX)).map_or_else(bytes, Cow::Borrowed)
}

/// Returns the path for such a text; `None` if the text is invalid or the system has no such paths.
pub(super) fn exact_path(name: &str) -> Option<PathBuf> {
    let Some(digits) = name.strip_prefix(BYTES_PREFIX) else { return Some(PathBuf::from(name)) };
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Vec<u8> = digits.as_bytes().chunks(2).map(byte).collect::<Option<_>>()?;
    from_bytes(bytes)
}

#[cfg(unix)]
fn from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Version of [`declaration_digest`]; digests of different versions cannot be compared.
pub const DECLARATION_DIGEST_VERSION: u32 = FINGERPRINT_VERSION;

/// Returns a digest of a hook's declaration and variables, without the files that it runs.
pub fn declaration_digest(hook: &Hook) -> String {
    let scripts = BTreeMap::new();
    Fingerprint { declared: declared_fields(hook), variables: variable_hashes(hook), scripts, certain: true }.digest()
}

const BYTES_PREFIX: &str = "bytes:";

/// Reads the start of a file, as much as `Follower` looks at.
fn read_prefix(path: &Path) -> Option<Vec<u8>> {
    let (file, found) = hookwright_disk::open_regular(path, SymlinkPolicy::Follow).ok()?;
    let expected = usize::try_from(found.len()).unwrap_or(usize::MAX).min(Follower::LONGEST);
    let mut bytes = Vec::with_capacity(expected + 2);
    file.take(Follower::LONGEST as u64 + 1).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns the digest of a file of any length. A file that exists but cannot be read differs from a missing one.
fn read_script(path: &Path) -> Option<ScriptDigest> {
    let special = |what: &str| Some(ScriptDigest { sha256: what.to_owned(), lines: Vec::new() });
    let mut file = match hookwright_disk::open_regular(path, SymlinkPolicy::Follow) {
        Ok((file, _)) => file,
        Err(ReadError::Directory) => return None,
        Err(ReadError::Special) => return special("not a regular file"),
        Err(ReadError::Io(error)) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return None;
        }
        Err(_) => return special("unreadable"),
    };
    let mut hash = Sha256::new();
    let mut beginning = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => {
                hash.update(&chunk[..length]);
                if beginning.len() <= MAX_HASHED_TEXT_BYTES {
                    beginning.extend_from_slice(&chunk[..length]);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return special("unreadable"),
        }
    }
    let lines = if beginning.len() <= MAX_HASHED_TEXT_BYTES { line_hashes(&beginning) } else { Vec::new() };
    Some(ScriptDigest { sha256: hex(&hash.finalize()), lines })
}

/// Returns the digest of a package manifest, of the keys that affect how it runs only; versions and dependencies
/// change often.
pub(super) fn manifest_digest(path: &Path) -> Option<ScriptDigest> {
    const RUN_RELEVANT_KEYS: [&str; 9] =
        ["type", "main", "module", "exports", "imports", "bin", "scripts", "config", "packageManager"];
    let whole = read_script(path)?;
    let text = read_prefix(path)?;
    let Ok(serde_json::Value::Object(mut manifest)) = serde_json::from_slice(&text) else { return Some(whole) };
    manifest.retain(|key, _| RUN_RELEVANT_KEYS.contains(&key.as_str()));
    let sorted: BTreeMap<_, _> = manifest.into_iter().collect();
    let text = serde_json::to_string(&sorted).unwrap_or_default();
    Some(ScriptDigest { sha256: hex(&Sha256::digest(text)), lines: Vec::new() })
}

fn line_hashes(bytes: &[u8]) -> Vec<u32> {
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes).split(|byte| *byte == b'\n');
    if bytes.contains(&0) || bytes.is_empty() {
        return Vec::new();
    }
    let hashes: Vec<u32> = lines.take(MAX_HASHED_LINES + 1).map(fnv1a).collect();
    if hashes.len() > MAX_HASHED_LINES { Vec::new() } else { hashes }
}

/// Computes an FNV-1a hash, to count changed lines; it is not used for security.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Which files are skipped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LikelyFileFilter {
    /// Skips the settings, whose hooks have their own fingerprints, and `.git`.
    TopLevel,
    /// Skips no file.
    All,
    /// Skips all but files that look like programs, in `tmp`, where programs leave other files.
    Programs,
}

/// Collects the files of a directory and of those in it.
fn collect_files(directory: &Path, kept: LikelyFileFilter, seen: &mut HashSet<PathBuf>, found: &mut Vec<PathBuf>) {
    // Links may form a cycle.
    if !seen.insert(directory.canonicalize().unwrap_or_else(|_| directory.to_owned())) {
        return;
    }
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let inside = match kept {
            // git changes its own files in a cloned extension.
            LikelyFileFilter::TopLevel if name == "settings.json" || name == ".git" => continue,
            LikelyFileFilter::TopLevel if name == "tmp" => LikelyFileFilter::Programs,
            LikelyFileFilter::TopLevel => LikelyFileFilter::All,
            inside => inside,
        };
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir() || (kind.is_symlink() && path.is_dir()));
        if is_directory {
            collect_files(&path, inside, seen, found);
        } else if inside != LikelyFileFilter::Programs || looks_like_program(&path) {
            found.push(path);
        }
    }
}

fn looks_like_program(path: &Path) -> bool {
    let by_name = path.extension().and_then(OsStr::to_str).is_some_and(|end| {
        matches!(end, "sh" | "bash" | "py" | "js" | "mjs" | "cjs" | "ts" | "rb" | "pl" | "php" | "lua" | "so")
    });
    by_name
        || hookwright_disk::open_regular(path, SymlinkPolicy::Follow).is_ok_and(|(mut file, _)| {
            let mut start = [0; 2];
            file.read_exact(&mut start).is_ok() && (start == *b"#!" || start == *b"\x7fE")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_kept_inside_the_root() {
        let world = ProcessEnv::default();
        let fingerprinter = Fingerprinter::new(Path::new("/p"), Path::new("/p"), &world);
        let inside = |path: &str| {
            fingerprinter.follower.holds(Path::new(path)).then(|| fingerprinter.relative_name(Path::new(path)))
        };
        assert_eq!(inside("/p/c/d").as_deref(), Some("c/d"));
        assert_eq!(inside("/p/a/../b.sh").as_deref(), Some("a/../b.sh"));
        // The path goes through the project, and a link in it may lead anywhere.
        assert_eq!(inside("/p/../x").as_deref(), Some("../x"));
        assert_eq!(inside("/q/../p/x").as_deref(), Some("/q/../p/x"));
        assert_eq!(inside("/etc/passwd"), None);
        assert_eq!(inside("/p"), None);
    }
}
