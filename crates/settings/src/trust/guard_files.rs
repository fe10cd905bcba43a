//! The files that guards consist of, and snapshots of them. Other modules find out who changed a file, and what
//! follows.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use hookwright_hooks::{Hook, NamedFile, Naming};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::fingerprint::{exact_name, manifest_digest};
use super::loadable_names;
use crate::commands;
use crate::extensions;
use crate::file::read_bytes;
use crate::load::LoadedConfig;
use crate::paths::{GEMINI_DIR, hex};
use crate::subagents;

/// Larger files are compared by modification time and size only.
const MAX_DIGESTED_BYTES: u64 = 64 * 1024 * 1024;
/// Longer texts are not kept for a diff.
const MAX_SHOWN_TEXT_BYTES: usize = 64 * 1024;
/// Most files that are included if it cannot be determined which of them a hook runs.
const MAX_GUARD_FILES: usize = 200;

/// Role of a file for the guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuardFileKind {
    /// It declares hooks, or decides whether they are loaded.
    Settings,
    /// A hook runs it.
    Script,
    /// A hook's command mentions it.
    Mentioned,
    /// It holds policy rules.
    Policy,
    /// It sets environment variables.
    Environment,
    /// It records what the user trusts.
    Trust,
    /// A package manifest, of which only the keys count that affect how it runs.
    Manifest,
    /// A folder in which a new file could be loaded instead of another; the names in it count.
    Names,
    /// Instructions for the model: agent definitions, custom commands, the system prompt.
    Instructions,
    /// OAuth tokens of MCP servers; refreshed tokens are no change.
    Tokens,
}

/// A file or folder that guards consist of. It need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardFile {
    pub path: PathBuf,
    pub kind: GuardFileKind,
}

/// The state of a file at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardFileSnapshot {
    /// Digest of the file; equal digests mean equal files.
    pub digest: String,
    /// Its text, if it can be shown.
    pub text: Option<String>,
}

impl LoadedConfig {
    /// Returns the files that the guards of this configuration consist of, each once; `policies` are those named on
    /// the command line.
    pub fn guard_files(&self, policies: &[PathBuf]) -> Vec<GuardFile> {
        let (root, paths) = (&self.project.root, &self.paths);
        let mut found: Vec<(GuardFileKind, PathBuf)> = Vec::new();
        let mut add = |kind, path: PathBuf| found.push((kind, path));
        self.files.iter().for_each(|file| add(GuardFileKind::Settings, file.path.clone()));
        add(GuardFileKind::Settings, paths.system_settings.clone());
        add(GuardFileKind::Settings, paths.system_hooks_file());
        add(GuardFileKind::Settings, paths.extensions.clone());
        for extension in self.extensions.iter().filter(|one| one.active) {
            extension.hooks_files().into_iter().for_each(|file| add(GuardFileKind::Settings, file));
            add(GuardFileKind::Settings, extension.path.join(extensions::MANIFEST_FILE));
        }
        add(GuardFileKind::Settings, paths.extension_enablement_file());
        let installed = std::fs::read_dir(&paths.extensions).into_iter().flatten().flatten().map(|entry| entry.path());
        for folder in installed.filter(|path| path.is_dir()).take(MAX_GUARD_FILES) {
            // Inactive ones too, because an extension can take another's name.
            add(GuardFileKind::Settings, folder.join(extensions::ORIGIN_FILE));
            add(GuardFileKind::Settings, folder.join(extensions::MANIFEST_FILE));
            add(GuardFileKind::Environment, folder.join(extensions::VALUES_FILE));
        }
        let of_extensions = self.extensions.iter().filter(|one| one.active).map(|one| one.policies_dir());
        let own =
            [paths.system_policies(), paths.user_policies(), paths.remembered_policies(), paths.project_policies(root)];
        let named = policies.iter().map(|path| self.process_env.cwd.join(path));
        for path in own.into_iter().chain(of_extensions).chain(named) {
            let rules = std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path());
            rules.take(MAX_GUARD_FILES).for_each(|file| add(GuardFileKind::Policy, file));
            add(GuardFileKind::Policy, path);
        }
        for folder in [root.clone(), root.join(GEMINI_DIR), paths.home.clone(), paths.user_dir.clone()] {
            add(GuardFileKind::Environment, folder.join(".env"));
        }
        let of_extensions = self.extensions.iter().filter(|one| one.active).map(|one| one.agents_dir());
        for folder in [paths.user_agents(), paths.project_agents(root)].into_iter().chain(of_extensions) {
            subagents::definition_files(&folder).into_iter().for_each(|file| add(GuardFileKind::Instructions, file));
            add(GuardFileKind::Instructions, folder);
        }
        let commands = commands::watched_paths(paths, &self.project, &self.extensions);
        let of_extensions = self.extensions.iter().filter(|one| one.active).map(|one| one.commands_dir());
        let roots = [paths.user_commands.clone(), paths.project_commands(root)].into_iter().chain(of_extensions);
        let commands = commands.into_iter().chain(roots.flat_map(|root| subfolders(&root)));
        commands.for_each(|path| add(GuardFileKind::Instructions, path));
        add(GuardFileKind::Instructions, root.join(GEMINI_DIR).join("system.md"));
        self.system_prompt_file().into_iter().for_each(|file| add(GuardFileKind::Instructions, file));
        add(GuardFileKind::Tokens, paths.mcp_tokens.clone());
        add(GuardFileKind::Environment, paths.connections.clone());
        add(GuardFileKind::Trust, paths.trusted_folders.clone());
        add(GuardFileKind::Trust, paths.trusted_hooks.clone());
        found.extend(self.guard_files_by_hook().into_iter().flatten());
        found.sort_by(|one, other| one.1.cmp(&other.1).then(one.0.cmp(&other.0)));
        found.dedup_by(|later, first| later.1 == first.1);
        found.into_iter().map(|(kind, path)| GuardFile { path, kind }).collect()
    }

    /// Returns the file that replaces the system prompt, if `GEMINI_SYSTEM_MD` names one; `.gemini/system.md` if it
    /// is true.
    pub fn system_prompt_file(&self) -> Option<PathBuf> {
        let root = &self.project.root;
        match self.process_env.var("GEMINI_SYSTEM_MD").map(str::trim) {
            None | Some("" | "0" | "false") => None,
            Some("1" | "true") => Some(root.join(GEMINI_DIR).join("system.md")),
            Some(file) => Some(root.join(file)),
        }
    }

    /// Returns the files of each hook in the registry's order: for guards all files that they run, for others the
    /// files that they name. Where that cannot be determined, likely files are included.
    pub fn guard_files_by_hook(&self) -> Vec<Vec<(GuardFileKind, PathBuf)>> {
        let likely = OnceCell::new();
        let hooks = self.registry.hooks().iter();
        hooks.map(|hook| self.guard_files_with(hook, &likely)).collect()
    }

    /// Returns the files of one hook, which need not be in the registry.
    pub fn guard_files_of(&self, hook: &Hook) -> Vec<(GuardFileKind, PathBuf)> {
        self.guard_files_with(hook, &OnceCell::new())
    }

    fn guard_files_with(&self, hook: &Hook, likely: &OnceCell<Vec<PathBuf>>) -> Vec<(GuardFileKind, PathBuf)> {
        let files = self.protected_files_of(hook);
        let kind = |how| match how {
            Naming::Mentions => GuardFileKind::Mentioned,
            Naming::Configures => GuardFileKind::Manifest,
            Naming::Runs | Naming::Sources => GuardFileKind::Script,
        };
        let is_protected = hook.is_protected();
        let counts = |file: &NamedFile| is_protected || file.how != Naming::Mentions || is_likely_run(&file.path);
        let mut found = Vec::new();
        if is_protected {
            found = loadable_names::files_around(&files);
            let path = super::hook_variable(hook, self.env_of(hook), &self.project.root, "PATH").unwrap_or_default();
            found.extend(loadable_names::shadowing_programs(&files, &path, &self.project.root));
        }
        let named = files.files.into_iter().filter(|file| !file.path.is_dir() && counts(file));
        found.extend(named.map(|file| (kind(file.how), file.path)));
        if !files.certain {
            let likely = likely.get_or_init(|| {
                let mut likely = Vec::new();
                collect_files(&self.project.root.join(GEMINI_DIR), &mut likely);
                // Notes for the model are not run.
                let memory = &self.settings.context.note_names;
                likely
                    .retain(|path| !memory.iter().any(|name| path.file_name().is_some_and(|own| own == name.as_str())));
                likely
            });
            found.extend(likely.iter().map(|path| (GuardFileKind::Script, path.clone())));
        }
        found
    }
}

/// Lists the folders in a folder, at any depth, because a new file in an empty folder shows only in its names.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut at = 0;
    while at < found.len() && found.len() < MAX_GUARD_FILES {
        let inner = std::fs::read_dir(&found[at]).into_iter().flatten().flatten();
        found.extend(inner.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()));
        at += 1;
    }
    found
}

/// Whether a file that a command only mentions may be what it runs, as in `wrapper ./guard.sh`.
fn is_likely_run(path: &Path) -> bool {
    const SCRIPT_EXTENSIONS: [&str; 16] =
        ["sh", "bash", "zsh", "fish", "ps1", "py", "js", "cjs", "mjs", "ts", "rb", "pl", "php", "lua", "awk", "jq"];
    let extension = path.extension().and_then(std::ffi::OsStr::to_str);
    extension.is_some_and(|extension| SCRIPT_EXTENSIONS.contains(&extension))
        || path.components().any(|part| part.as_os_str() == GEMINI_DIR)
        || (path.is_file() && is_executable(path))
}

fn collect_files(folder: &Path, found: &mut Vec<PathBuf>) {
    /// Files that other programs leave behind, or that this program writes.
    const EXCLUDED_FOLDERS: [&str; 4] = ["tmp", "node_modules", ".git", "hookwright"];
    let mut entries: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries.iter().filter(|entry| !EXCLUDED_FOLDERS.iter().any(|name| entry.file_name() == *name)) {
        match entry.file_type() {
            _ if found.len() >= MAX_GUARD_FILES => return,
            Ok(kind) if kind.is_dir() => collect_files(&entry.path(), found),
            Ok(_) => found.push(entry.path()),
            Err(_) => {}
        }
    }
}

impl GuardFileKind {
    /// Whether the text of such a file holds no secrets, so that a diff can be shown.
    pub fn may_show_text(self) -> bool {
        !matches!(self, GuardFileKind::Environment | GuardFileKind::Trust | GuardFileKind::Tokens)
    }
}

impl GuardFileSnapshot {
    /// Returns the snapshot of a missing file.
    pub fn missing() -> Self {
        GuardFileSnapshot { digest: "nothing".to_owned(), text: None }
    }
}

impl GuardFile {
    /// Takes a snapshot of the file as it is now, for a project.
    pub fn snapshot(&self, project: &Path) -> GuardFileSnapshot {
        if self.kind == GuardFileKind::Names {
            return loadable_names::snapshot_names(&self.path);
        }
        let bytes = match read_bytes(&self.path, MAX_DIGESTED_BYTES) {
            Ok(None) => return GuardFileSnapshot::missing(),
            Ok(Some(bytes)) => bytes,
            Err(crate::FileError::Directory(_)) => {
                return GuardFileSnapshot { digest: folder_digest(&self.path), text: None };
            }
            Err(error) => return GuardFileSnapshot { digest: unreadable_digest(&self.path, &error), text: None },
        };
        let mode = if is_executable(&self.path) { " x" } else { "" };
        let digest = match self.kind {
            GuardFileKind::Trust => match trust_of_project(&bytes, project) {
                // As if the file were missing: another project's trust may be the first that is recorded.
                none if none.is_empty() => return GuardFileSnapshot::missing(),
                own => hex(&Sha256::digest(own)),
            },
            GuardFileKind::Tokens => hex(&Sha256::digest(without_renewed_tokens(&bytes))),
            GuardFileKind::Manifest => manifest_digest(&self.path).map_or_else(String::new, |manifest| manifest.sha256),
            _ => hex(&Sha256::digest(&bytes)),
        };
        // Secrets are not shown.
        let shown = self.kind.may_show_text() && bytes.len() <= MAX_SHOWN_TEXT_BYTES;
        let text = if shown { String::from_utf8(bytes).ok() } else { None };
        GuardFileSnapshot { digest: format!("file {digest}{mode}"), text }
    }
}

/// Returns the parts of a token list that stay when tokens are refreshed, which happens while the agent works. A list
/// that does not parse is returned as a whole.
fn without_renewed_tokens(bytes: &[u8]) -> Vec<u8> {
    const STABLE_TOKEN_KEYS: [&str; 5] = ["serverName", "clientId", "clientSecret", "tokenUrl", "mcpServerUrl"];
    let Ok(Value::Array(entries)) = serde_json::from_slice::<Value>(bytes) else { return bytes.to_vec() };
    let lasting =
        |entry: &Value| STABLE_TOKEN_KEYS.map(|key| entry.get(key).map(Value::to_string).unwrap_or_default()).join(",");
    let mut kept: Vec<String> = entries.iter().map(lasting).collect();
    kept.sort();
    kept.join("\n").into_bytes()
}

/// Returns the part of a trust record about one project, because other sessions change the rest. A record that does
/// not parse is returned as a whole.
fn trust_of_project(bytes: &[u8], project: &Path) -> Vec<u8> {
    let Ok(Value::Object(record)) = serde_json::from_slice::<Value>(bytes) else { return bytes.to_vec() };
    let Some(own) = record.get("hookwright") else { return folder_rules_about(&record, project).into_bytes() };
    let real = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let name = exact_name(real.as_os_str());
    let parts = [own.get("projects").and_then(|all| all.get(&*name)), own.get("extensions"), record.get(&*name)];
    if parts.iter().all(Option::is_none) {
        return Vec::new();
    }
    parts.iter().map(|part| part.map_or_else(String::new, Value::to_string)).collect::<Vec<_>>().join("\n").into_bytes()
}

/// Returns the folder rules about a project: for its own folder and its parents.
fn folder_rules_about(record: &serde_json::Map<String, Value>, project: &Path) -> String {
    let real = project.canonicalize().unwrap_or_else(|_| project.to_owned());
    let concerns = |name: &str, rule: &Value| {
        let folder = Path::new(name);
        let parent = if rule.as_str() == Some("TRUST_PARENT") { folder.parent() } else { None };
        let folder = parent.unwrap_or(folder);
        let leads_here = || folder.canonicalize().is_ok_and(|folder| real.starts_with(folder));
        folder.is_absolute() && (real.starts_with(folder) || project.starts_with(folder) || leads_here())
    };
    let mut rules: Vec<String> = record
        .iter()
        .filter(|(name, rule)| concerns(name, rule))
        .map(|(name, rule)| format!("{name:?} {rule}\n"))
        .collect();
    rules.sort();
    rules.concat()
}

/// Returns a unified diff of two texts with three lines of context, shortened if it is very long.
pub fn text_diff(before: &str, after: &str) -> String {
    const MAX_DIFF_CHARS: usize = 16 * 1024;
    let diff = similar::TextDiff::from_lines(before, after);
    let mut text = diff.unified_diff().context_radius(3).to_string();
    if let Some((at, _)) = text.char_indices().nth(MAX_DIFF_CHARS) {
        text.truncate(at);
        text.push_str("\n…\n");
    }
    text
}

fn folder_digest(path: &Path) -> String {
    let mut names: Vec<_> =
        std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    let mut hash = Sha256::new();
    for name in names {
        hash.update(name.as_encoded_bytes());
        hash.update([0]);
    }
    format!("folder {}", hex(&hash.finalize()))
}

fn unreadable_digest(path: &Path, error: &crate::FileError) -> String {
    let times = std::fs::metadata(path).ok().map(|found| (found.len(), found.modified().ok()));
    format!("unreadable {}", hex(&Sha256::digest(format!("{error}{times:?}"))))
}

fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        true
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn every_relevant_change_changes_the_digest() {
        let folder = tempfile::tempdir().unwrap();
        let file = GuardFile { path: folder.path().join("guard.sh"), kind: GuardFileKind::Script };
        let look = || file.snapshot(folder.path()).digest;
        let mut seen = vec![look()];
        std::fs::write(&file.path, "exit 2").unwrap();
        seen.push(look());
        std::fs::set_permissions(&file.path, std::fs::Permissions::from_mode(0o755)).unwrap();
        seen.push(look());
        std::fs::write(&file.path, "exit 0").unwrap();
        seen.push(look());
        std::fs::write(&file.path, "").unwrap();
        seen.push(look());
        std::fs::remove_file(&file.path).unwrap();
        std::fs::create_dir(&file.path).unwrap();
        seen.push(look());
        std::fs::write(file.path.join("x"), "").unwrap();
        seen.push(look());
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count, "{seen:?}");
    }

    #[test]
    fn a_renewed_token_is_no_change_and_another_address_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = GuardFile { path: folder.path().join("tokens.json"), kind: GuardFileKind::Tokens };
        let write = |token: &str, url: &str| {
            let entry = serde_json::json!({"serverName": "s", "token": {"accessToken": token}, "tokenUrl": url});
            std::fs::write(&file.path, serde_json::json!([entry]).to_string()).unwrap();
            let GuardFileSnapshot { digest, text } = file.snapshot(folder.path());
            assert_eq!(text, None, "tokens are not for showing");
            digest
        };
        assert_eq!(write("a", "https://one"), write("b", "https://one"));
        assert_ne!(write("a", "https://one"), write("a", "https://two"));
    }

    #[test]
    fn trust_of_other_projects_does_not_change_the_digest() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let file = GuardFile { path: root.join("trusted_hooks.json"), kind: GuardFileKind::Trust };
        let write = |own: &str, other: &str| {
            let record =
                serde_json::json!({"hookwright": {"projects": {root.to_str().unwrap(): own, "/other": other}}});
            std::fs::write(&file.path, record.to_string()).unwrap();
            file.snapshot(&root).digest
        };
        assert_eq!(write("a", "b"), write("a", "c"));
        assert_ne!(write("a", "b"), write("x", "b"));
    }

    #[test]
    fn only_rules_for_the_project_and_its_parents_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let project = root.join("project");
        std::fs::create_dir_all(&project).unwrap();
        std::os::unix::fs::symlink(&root, root.join("link")).unwrap();
        let file = GuardFile { path: root.join("trustedFolders.json"), kind: GuardFileKind::Trust };
        let own = |name: &str| root.join(name).to_str().unwrap().to_owned();
        let look = |rules: Value| {
            std::fs::write(&file.path, rules.to_string()).unwrap();
            file.snapshot(&project).digest
        };
        for name in ["other", "project2", "project/inner"] {
            assert_eq!(look(serde_json::json!({own(name): "TRUST_FOLDER"})), "nothing", "{name}");
        }
        for (name, rule) in
            [("project", "TRUST_FOLDER"), ("", "DO_NOT_TRUST"), ("other", "TRUST_PARENT"), ("link", "x")]
        {
            assert_ne!(look(serde_json::json!({own(name): rule})), "nothing", "{name}");
        }
        assert_ne!(look(serde_json::json!({"/": "TRUST_FOLDER"})), "nothing");
        assert_ne!(look(Value::Null), "nothing");
    }
}
