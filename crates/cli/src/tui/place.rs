//! Where the session is: folder and branch, for the line at the foot.

use std::path::PathBuf;

use hookwright_settings::Loaded;

use super::app::Status;

/// Where the session is.
pub(crate) fn place(loaded: &Loaded) -> Status {
    let root = &loaded.project.root;
    let folder = match root.strip_prefix(&loaded.paths.home) {
        Ok(inner) if inner.as_os_str().is_empty() => "~".to_owned(),
        Ok(inner) => format!("~/{}", inner.display()),
        Err(_) => root.display().to_string(),
    };
    Status { folder, branch: branch(loaded), ..Status::default() }
}

/// No file of git's that names a branch or a folder is larger.
const LARGEST: u64 = 64 << 10;

/// The branch that is checked out, read off the repository's own files: starting git would take longer than the rest.
pub(crate) fn branch(loaded: &Loaded) -> Option<String> {
    let git = loaded.project.root.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let git = match hookwright_disk::read_text(&git, LARGEST) {
        // In a worktree, a file says where the repository is.
        Ok(text) => git.parent()?.join(PathBuf::from(text.strip_prefix("gitdir:")?.trim())),
        Err(_) => git,
    };
    let head = hookwright_disk::read_text(&git.join("HEAD"), LARGEST).ok()?;
    let head = head.trim();
    Some(head.strip_prefix("ref: refs/heads/").map_or_else(|| head.chars().take(8).collect(), str::to_owned))
}
