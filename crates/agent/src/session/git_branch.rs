//! Reads the checked-out branch from the repository's files, which is faster than starting git.

use std::path::{Path, PathBuf};

/// The most bytes that are read of `.git` and `HEAD`.
const MAX_GIT_FILE_BYTES: u64 = 64 << 10;

/// Returns the branch that is checked out in the repository around a folder, or the first 8 digits of the commit.
pub fn current_git_branch(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let git = match hookwright_disk::read_text(&git, MAX_GIT_FILE_BYTES) {
        // In a worktree, `.git` is a file with the path of the repository.
        Ok(text) => git.parent()?.join(PathBuf::from(text.strip_prefix("gitdir:")?.trim())),
        Err(_) => git,
    };
    let head = hookwright_disk::read_text(&git.join("HEAD"), MAX_GIT_FILE_BYTES).ok()?;
    let head = head.trim();
    Some(head.strip_prefix("ref: refs/heads/").map_or_else(|| head.chars().take(8).collect(), str::to_owned))
}
