//! The branch that is checked out, read off the repository's own files: starting git would take longer than the rest.

use std::path::{Path, PathBuf};

/// No file of git's that names a branch or a folder is larger.
const MAX_GIT_FILE_BYTES: u64 = 64 << 10;

/// The branch that is checked out in the repository around a folder, or the commit.
pub fn current_git_branch(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let git = match hookwright_disk::read_text(&git, MAX_GIT_FILE_BYTES) {
        // In a worktree, a file says where the repository is.
        Ok(text) => git.parent()?.join(PathBuf::from(text.strip_prefix("gitdir:")?.trim())),
        Err(_) => git,
    };
    let head = hookwright_disk::read_text(&git.join("HEAD"), MAX_GIT_FILE_BYTES).ok()?;
    let head = head.trim();
    Some(head.strip_prefix("ref: refs/heads/").map_or_else(|| head.chars().take(8).collect(), str::to_owned))
}
