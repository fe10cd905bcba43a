//! The files of a git repository that make git run programs: in the directory that `.git` is or names, in repositories
//! inside of the project, and where `core.hooksPath` leads.

use std::collections::VecDeque;
use std::fs;
use std::path::{Component, Path, PathBuf};

use hookwright_process::confinement::{IgnoreFile, PathKind};

const MAX_POINTER_BYTES: u64 = 4096;
const MAX_CONFIG_BYTES: u64 = 1 << 20;
const MAX_SUBMODULES: usize = 1000;
/// How deep the directories of submodules are looked for: a submodule's name may contain slashes.
const MAX_SUBMODULE_DEPTH: usize = 8;
/// How deep repositories inside of a project are looked for, and among how many files: every confined command pays for
/// it.
const MAX_NESTED_DEPTH: usize = 3;
const MAX_NESTED_ENTRIES: usize = 4000;
/// Folders that package managers and compilers fill, and no user keeps a repository in.
const GENERATED_FOLDERS: [&str; 3] = [".git", "node_modules", "target"];
/// The folder in which husky has the hooks that git finds; they run those of the user in the folder above.
const HUSKY_FOLDER: &str = "_";

/// Returns the files and folders by which a command could make git run something, whether they exist or not.
pub(super) fn git_guard_paths(project: &Path, home: Option<&Path>) -> Vec<(PathBuf, PathKind)> {
    let mut paths = Vec::new();
    for git_dir in add_repository(project, &mut paths) {
        let configs = [git_dir.join("config"), git_dir.join("config.worktree")];
        add_hooks_paths(&configs, project, home, &mut paths);
    }
    if project.join(".git").exists()
        && let Some(home) = home
    {
        add_hooks_paths(&[home.join(".gitconfig"), home.join(".config/git/config")], project, Some(home), &mut paths);
    }
    paths
}

/// Returns the same for the repositories that lie in the folders of a project.
pub(super) fn nested_git_guard_paths(project: &Path) -> Vec<(PathBuf, PathKind)> {
    let mut paths = Vec::new();
    let mut folders = VecDeque::from([(project.to_owned(), 0)]);
    let mut left = MAX_NESTED_ENTRIES;
    while let Some((folder, depth)) = folders.pop_front() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(rest) = left.checked_sub(1) else { return paths };
            left = rest;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !is_folder || GENERATED_FOLDERS.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let inner = entry.path();
            // A link could be replaced, and the plan would be refused for it.
            if !inner.join(".git").is_symlink() {
                add_repository(&inner, &mut paths);
            }
            if depth + 1 < MAX_NESTED_DEPTH {
                folders.push_back((inner, depth + 1));
            }
        }
    }
    paths
}

/// Returns the file in which git finds what not to add in a folder, if the folder lies in a repository.
pub(super) fn ignore_file(project: &Path) -> Option<IgnoreFile> {
    let folder = project.ancestors().find(|folder| folder.join(".git").exists())?;
    let shared = add_repository(folder, &mut Vec::new()).pop()?;
    let info = shared.join("info");
    info.is_dir().then(|| IgnoreFile { path: info.join("exclude"), folder: folder.to_owned() })
}

/// Adds the guard paths of the repository in a folder, and returns the directories that git reads, the shared one last.
fn add_repository(project: &Path, paths: &mut Vec<(PathBuf, PathKind)>) -> Vec<PathBuf> {
    let git = project.join(".git");
    let mut git_dirs = Vec::new();
    if git.is_dir() {
        add_git_dir(&git, paths);
        git_dirs.push(git);
    } else if git.is_file() {
        // A worktree or a submodule: the file names the directory.
        let own = pointed_path(&git, "gitdir:", project);
        paths.push((git, PathKind::File));
        if let Some(own) = own {
            paths.push((own.join("gitdir"), PathKind::File));
            add_git_dir(&own, paths);
            let shared = pointed_path(&own.join("commondir"), "", &own);
            shared.iter().for_each(|shared| add_git_dir(shared, paths));
            git_dirs.push(own);
            git_dirs.extend(shared);
        }
    }
    git_dirs
}

/// Adds the folders that configurations name as `core.hooksPath`. A configuration that another one includes is not read.
fn add_hooks_paths(configs: &[PathBuf], project: &Path, home: Option<&Path>, paths: &mut Vec<(PathBuf, PathKind)>) {
    for config in configs {
        let Ok(text) = hookwright_disk::read_text(config, MAX_CONFIG_BYTES) else { continue };
        for value in hooks_path_values(&text) {
            let path = match (value.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => project.join(&value),
            };
            let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
            let Some(path) = (if is_plain { Some(path) } else { path.canonicalize().ok() }) else { continue };
            let path = match path.parent() {
                Some(above) if path.ends_with(HUSKY_FOLDER) => above.to_owned(),
                _ => path,
            };
            // `/dev/null` switches hooks off.
            if !path.starts_with("/dev") {
                paths.push((path, PathKind::Directory));
            }
        }
    }
}

/// Returns all values of `core.hooksPath` in a configuration of git.
fn hooks_path_values(text: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut is_core = false;
    for line in text.lines() {
        let mut line = line.trim();
        if let Some((section, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            is_core = section.trim().eq_ignore_ascii_case("core");
            line = rest.trim();
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        if is_core && key.trim().eq_ignore_ascii_case("hookspath") {
            let value = value.split([';', '#']).next().unwrap_or_default();
            values.push(value.trim().replace('"', ""));
        }
    }
    values.retain(|value| !value.is_empty());
    values
}

fn add_git_dir(git: &Path, paths: &mut Vec<(PathBuf, PathKind)>) {
    // In a worktree's own directory git reads no configuration but `config.worktree`.
    let is_worktree = git.join("commondir").is_file();
    if !is_worktree {
        paths.extend([(git.join("config"), PathKind::File), (git.join("hooks"), PathKind::Directory)]);
    }
    // It names the directory from which git takes configuration and hooks instead.
    paths.push((git.join("commondir"), PathKind::File));
    let own_config = git.join("config.worktree");
    if own_config.symlink_metadata().is_ok() || is_worktree || reads_worktree_config(git) {
        paths.push((own_config, PathKind::File));
    }
    let mut left = MAX_SUBMODULES;
    add_submodules(&git.join("modules"), MAX_SUBMODULE_DEPTH, &mut left, paths);
}

fn add_submodules(folder: &Path, depth: usize, left: &mut usize, paths: &mut Vec<(PathBuf, PathKind)>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let path = entry.path();
        if *left == 0 || depth == 0 {
            // What was not looked at is protected as a whole.
            paths.push((path, PathKind::Directory));
        } else if path.join("HEAD").is_file() {
            *left -= 1;
            add_git_dir(&path, paths);
        } else {
            add_submodules(&path, depth - 1, left, paths);
        }
    }
}

fn reads_worktree_config(git: &Path) -> bool {
    hookwright_disk::read_text(&git.join("config"), MAX_CONFIG_BYTES)
        .is_ok_and(|text| text.to_ascii_lowercase().contains("worktreeconfig"))
}

/// Returns the real path that the first line of a file names behind a prefix.
fn pointed_path(file: &Path, prefix: &str, base: &Path) -> Option<PathBuf> {
    let text = hookwright_disk::read_text(file, MAX_POINTER_BYTES).ok()?;
    let path = text.lines().next()?.trim().strip_prefix(prefix)?.trim();
    base.join(path).canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_values_of_hooks_path_are_read() {
        let text = "[user]\n hookspath = no\n[core]\n\tbare = false\n\tHooksPath = \"a b\" ; why\n[Core] hookspath=.husky/_\n\
            [core \"x\"]\n hookspath = no\n[core]\nhookspath =\n";
        assert_eq!(hooks_path_values(text), ["a b", ".husky/_"]);
    }

    #[test]
    fn hooks_in_the_project_and_in_the_users_home_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let (home, project) = (dir.path().join("h"), dir.path().join("h/p"));
        std::fs::create_dir_all(project.join(".git")).unwrap();
        std::fs::write(home.join(".gitconfig"), "[core]\n hooksPath = ~/hooks\n").unwrap();
        let found = |own: &str| {
            std::fs::write(project.join(".git/config"), format!("[core]\n hooksPath = {own}\n")).unwrap();
            git_guard_paths(&project, Some(&home)).into_iter().map(|(path, _)| path).collect::<Vec<_>>()
        };
        for (own, expected) in [
            ("tools/hooks", project.join("tools/hooks")),
            (".husky/_", project.join(".husky")),
            ("/opt/hooks", "/opt/hooks".into()),
        ] {
            let found = found(own);
            assert!(found.contains(&expected) && found.contains(&home.join("hooks")), "{own}: {found:?}");
        }
        assert!(!found("/dev/null").iter().any(|path| path.starts_with("/dev")));
    }

    #[test]
    fn nested_repositories_are_found_to_a_depth() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["a", "a/b", "a/b/c", "a/b/c/d", "node_modules/x"] {
            std::fs::create_dir_all(dir.path().join(folder).join(".git")).unwrap();
        }
        std::os::unix::fs::symlink("../a/.git", dir.path().join("node_modules/.git")).unwrap();
        let mut found: Vec<_> = nested_git_guard_paths(dir.path()).into_iter().map(|(path, _)| path).collect();
        found.retain(|path| path.ends_with("hooks"));
        assert_eq!(found, ["a", "a/b", "a/b/c"].map(|folder| dir.path().join(folder).join(".git/hooks")));
    }
}
