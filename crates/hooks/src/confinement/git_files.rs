//! The files of a git repository that make git run programs, in the directory that `.git` is or names.

use std::fs;
use std::path::{Path, PathBuf};

use hookwright_process::confinement::PathKind;

const MAX_POINTER_BYTES: u64 = 4096;
const MAX_CONFIG_BYTES: u64 = 1 << 20;
const MAX_SUBMODULES: usize = 1000;
/// How deep the directories of submodules are looked for: a submodule's name may contain slashes.
const MAX_SUBMODULE_DEPTH: usize = 8;

/// Returns the files and folders by which a command could make git run something, whether they exist or not.
pub(super) fn git_guard_paths(project: &Path) -> Vec<(PathBuf, PathKind)> {
    let git = project.join(".git");
    let mut paths = Vec::new();
    if git.is_dir() {
        add_git_dir(&git, &mut paths);
    } else if git.is_file() {
        // A worktree or a submodule: the file names the directory.
        let own = pointed_path(&git, "gitdir:", project);
        paths.push((git, PathKind::File));
        if let Some(own) = own {
            paths.push((own.join("gitdir"), PathKind::File));
            add_git_dir(&own, &mut paths);
            let shared = pointed_path(&own.join("commondir"), "", &own);
            shared.iter().for_each(|shared| add_git_dir(shared, &mut paths));
        }
    }
    paths
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
