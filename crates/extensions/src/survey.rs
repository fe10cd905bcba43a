//! Looks through a fetched extension before anything of it counts: what leads out of it, what is no file, and what could not be
//! shown on a line is refused.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use crate::error::ExtensionError;

/// The most that an extension may have; dependencies and all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// In bytes, unpacked.
    pub(crate) size: u64,
    /// Files and folders.
    pub(crate) entries: usize,
    /// Folders in folders.
    pub(crate) depth: usize,
}

pub(crate) const BOUNDS: Bounds = Bounds { size: 512 << 20, entries: 50_000, depth: 64 };

/// What becomes of rights that nothing in an extension should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rights {
    /// They are taken away.
    Trimmed,
    /// They stay: it is somebody's own folder.
    Left,
}

/// Whether a folder is fit to be an extension.
///
/// # Errors
/// If something in it is not.
pub fn check_folder(root: &Path) -> Result<(), ExtensionError> {
    survey(root, BOUNDS, Rights::Left)
}

/// Looks at everything below a folder.
pub(crate) fn survey(root: &Path, bounds: Bounds, rights: Rights) -> Result<(), ExtensionError> {
    let real = root.canonicalize().map_err(ExtensionError::disk(root))?;
    let (mut size, mut entries) = (0, 0);
    let mut waiting = vec![(real.clone(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        for entry in fs::read_dir(&folder).map_err(ExtensionError::disk(&folder))? {
            let path = entry.map_err(ExtensionError::disk(&folder))?.path();
            let found = path.symlink_metadata().map_err(ExtensionError::disk(&path))?;
            let shown = path.strip_prefix(&real).unwrap_or(&path).to_string_lossy().escape_debug().to_string();
            entries += 1;
            size += if found.is_file() { found.len() } else { 0 };
            check_name(&path, &shown)?;
            check_kind(&path, &found, &real, &shown)?;
            if rights == Rights::Trimmed && !found.is_symlink() {
                no_more_rights(&path, &found)?;
            }
            if entries > bounds.entries || size > bounds.size || depth > bounds.depth {
                return Err(ExtensionError::unfit(shown, too_much(bounds)));
            }
            if found.is_dir() {
                waiting.push((path, depth + 1));
            }
        }
    }
    Ok(())
}

pub(crate) fn too_much(bounds: Bounds) -> String {
    format!(
        "with it, it is more than {} MiB, {} files or {} folders deep",
        bounds.size >> 20,
        bounds.entries,
        bounds.depth
    )
}

fn check_name(path: &Path, shown: &str) -> Result<(), ExtensionError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.chars().any(char::is_control) {
        true => Err(ExtensionError::unfit(shown, "its name has control characters")),
        false => Ok(()),
    }
}

fn check_kind(path: &Path, found: &Metadata, root: &Path, shown: &str) -> Result<(), ExtensionError> {
    if found.is_symlink() {
        let target = fs::read_link(path).map_err(ExtensionError::disk(path))?;
        // A link that leads to nothing may lead anywhere tomorrow.
        let inside = !target.is_absolute() && path.canonicalize().is_ok_and(|real| real.starts_with(root));
        return match inside {
            true => Ok(()),
            false => Err(ExtensionError::unfit(shown, format!("it links to {}, outside of it", target.display()))),
        };
    }
    if !found.is_file() && !found.is_dir() {
        return Err(ExtensionError::unfit(shown, "it is neither a file nor a folder"));
    }
    Ok(())
}

/// Nothing in an extension runs as somebody else, and its owner can always replace it.
#[cfg(unix)]
fn no_more_rights(path: &Path, found: &Metadata) -> Result<(), ExtensionError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = found.permissions().mode() & 0o7777;
    let own = if found.is_dir() { 0o700 } else { 0o600 };
    let wanted = (mode & 0o755) | own;
    match mode == wanted {
        true => Ok(()),
        false => fs::set_permissions(path, fs::Permissions::from_mode(wanted)).map_err(ExtensionError::disk(path)),
    }
}

#[cfg(not(unix))]
fn no_more_rights(_: &Path, _: &Metadata) -> Result<(), ExtensionError> {
    Ok(())
}

/// The files below a folder, from it, without git's own; for whoever compares or shows them.
pub(crate) fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for path in fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let Ok(found) = path.symlink_metadata() else { continue };
            let is_git = folder == root && path.file_name().is_some_and(|name| name == ".git");
            if found.is_dir() && !is_git {
                waiting.push(path);
            } else if !found.is_dir() {
                files.extend(path.strip_prefix(root).map(Path::to_owned));
            }
        }
    }
    files.sort();
    files
}
