//! The environment of hooks that are not the project's in an untrusted folder: an empty working directory, and a git
//! that starts no programs of the repository. The repository's configuration is read; nothing is run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hookwright_hooks::ExecEnv;

use crate::paths::ConfigPaths;

/// Settings of git that name programs or control them, with values that start none. Values from the environment
/// override every file.
const SAFE_GIT_CONFIG: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("sequence.editor", "false"),
    ("core.askPass", ""),
    ("core.sshCommand", "ssh"),
    ("core.gitProxy", ""),
    ("core.alternateRefsCommand", "true"),
    ("credential.helper", ""),
    ("gpg.program", "gpg"),
    ("gpg.openpgp.program", "gpg"),
    ("gpg.x509.program", "gpgsm"),
    ("gpg.ssh.program", "ssh-keygen"),
    ("log.showSignature", "false"),
    ("interactive.diffFilter", "cat"),
    ("protocol.ext.allow", "never"),
    ("uploadpack.packObjectsHook", ""),
    ("submodule.recurse", "false"),
    ("safe.bareRepository", "explicit"),
    // Attributes assign programs to files; an empty tree has none.
    ("attr.tree", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
];

/// Words in a repository's configuration that may name programs which nothing above disables.
const SUSPICIOUS_CONFIG_WORDS: &[&str] =
    &["[include", "[filter", "[alias", "[merge", "[diff", "external", "textconv", "[trailer"];

/// Returns the environment of hooks in an untrusted folder.
pub(crate) fn untrusted_exec_env(mut env: Vec<(OsString, OsString)>, root: &Path, paths: &ConfigPaths) -> ExecEnv {
    disable_git_programs(&mut env, root);
    // Without this directory no hook starts, which counts as a failure of the machine.
    let nowhere = || std::sync::Arc::new(PathBuf::from("/nonexistent"));
    let directory = hookwright_disk::create_empty_directory(&paths.neutral_dir).unwrap_or_else(|_| nowhere());
    ExecEnv { env, directory: Some(directory) }
}

/// Returns an environment for git commands of the program.
pub(crate) fn safe_git_env(mut env: Vec<(OsString, OsString)>, root: &Path) -> Vec<(OsString, OsString)> {
    // Variables that redirect git or make it start programs come from the user's shell and are not meant for this.
    let is_gits = |name: &OsString| name.to_string_lossy().starts_with("GIT_");
    env.retain(|(name, _)| !is_gits(name));
    disable_git_programs(&mut env, root);
    env
}

fn disable_git_programs(env: &mut Vec<(OsString, OsString)>, root: &Path) {
    let before = env.iter().find(|(name, _)| name == "GIT_CONFIG_COUNT").and_then(|(_, count)| count.to_str());
    let before: usize = before.and_then(|count| count.parse().ok()).unwrap_or(0);
    let mut set = |name: String, value: &str| {
        env.retain(|(known, _)| *known != *name);
        env.push((name.into(), value.into()));
    };
    for (at, (key, value)) in SAFE_GIT_CONFIG.iter().enumerate() {
        set(format!("GIT_CONFIG_KEY_{}", before + at), key);
        set(format!("GIT_CONFIG_VALUE_{}", before + at), value);
    }
    set("GIT_CONFIG_COUNT".to_owned(), &(before + SAFE_GIT_CONFIG.len()).to_string());
    set("GIT_OPTIONAL_LOCKS".to_owned(), "0");
    set("GIT_PAGER".to_owned(), "cat");
    if !has_no_program_config(root) {
        // git could start programs that no setting disables, so it must find no repository.
        set("GIT_DIR".to_owned(), "/nonexistent/git-is-off-in-this-untrusted-folder");
    }
}

/// Whether the repository's configuration names no programs that the settings above leave enabled.
fn has_no_program_config(root: &Path) -> bool {
    root.ancestors().map(|folder| folder.join(".git")).filter(|git| git.symlink_metadata().is_ok()).all(|git| {
        let places = git_config_dirs(&git);
        places
            .iter()
            .flat_map(|place| [place.join("config"), place.join("config.worktree")])
            .all(|file| is_config_harmless(&file))
            && places.iter().all(|place| !place.join("info/attributes").exists())
    })
}

/// Returns the directories that may hold a repository's configuration: `.git` or its target, and the common
/// directory.
fn git_config_dirs(git: &Path) -> Vec<PathBuf> {
    let pointed = |file: &Path, word: &str| {
        let text = hookwright_disk::read_text(file, 4096).ok()?;
        let target = text.trim().strip_prefix(word)?.trim().to_owned();
        Some(file.parent()?.join(target))
    };
    let own = if git.is_dir() { Some(git.to_owned()) } else { pointed(git, "gitdir:") };
    let Some(own) = own else { return vec![git.to_owned()] };
    let shared = pointed(&own.join("commondir"), "");
    [Some(own), shared].into_iter().flatten().collect()
}

fn is_config_harmless(file: &Path) -> bool {
    const MAX_GIT_CONFIG_BYTES: u64 = 1024 * 1024;
    match hookwright_disk::read(file, MAX_GIT_CONFIG_BYTES, hookwright_disk::SymlinkPolicy::Follow) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
            !SUSPICIOUS_CONFIG_WORDS.iter().any(|word| text.contains(word))
        }
        // A missing file is harmless; one that can't be read may hold anything.
        Err(_) => file.symlink_metadata().is_err(),
    }
}
