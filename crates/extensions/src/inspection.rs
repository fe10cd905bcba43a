//! Checks every file of a fetched extension before it is used.
//!
//! Links that lead out of it, special files and names that cannot be shown on one line are rejected. Dangling links
//! that the extension does not need are left out.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::error::ExtensionError;

/// Limits for one extension, with its dependencies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExtensionLimits {
    /// Most bytes of all files, unpacked.
    pub(crate) bytes: u64,
    /// Most files and folders.
    pub(crate) entries: usize,
    /// Deepest nesting of folders.
    pub(crate) depth: usize,
}

pub(crate) const EXTENSION_LIMITS: ExtensionLimits = ExtensionLimits { bytes: 512 << 20, entries: 50_000, depth: 64 };

/// What to do with permissions that no file of an extension should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilePermissionPolicy {
    /// Such permissions are removed.
    Restrict,
    /// Permissions stay as they are, because the folder belongs to the user.
    Preserve,
}

/// Checks whether a folder may be used as an extension and returns its dangling links, relative to it.
///
/// # Errors
/// If the folder contains something that is not allowed in an extension.
pub fn check_folder(root: &Path) -> Result<Vec<PathBuf>, ExtensionError> {
    inspect_folder(root, EXTENSION_LIMITS, FilePermissionPolicy::Preserve)
}

/// Checks everything below a folder and returns the dangling links, relative to it.
///
/// With `FilePermissionPolicy::Restrict`, as for drafts, the dangling links are removed.
pub(crate) fn inspect_folder(
    root: &Path,
    bounds: ExtensionLimits,
    rights: FilePermissionPolicy,
) -> Result<Vec<PathBuf>, ExtensionError> {
    let real = root.canonicalize().map_err(ExtensionError::disk_error(root))?;
    let (mut size, mut entries) = (0, 0);
    let mut to_nothing = Vec::new();
    let mut waiting = vec![(real.clone(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        for entry in fs::read_dir(&folder).map_err(ExtensionError::disk_error(&folder))? {
            let path = entry.map_err(ExtensionError::disk_error(&folder))?.path();
            let found = path.symlink_metadata().map_err(ExtensionError::disk_error(&path))?;
            let shown = path.strip_prefix(&real).unwrap_or(&path).to_string_lossy().escape_debug().to_string();
            entries += 1;
            size += if found.is_file() { found.len() } else { 0 };
            check_name(&path, &shown)?;
            if found.is_symlink() {
                if check_link(&path, &real, &shown, rights)? == LinkTarget::Missing {
                    to_nothing.extend(path.strip_prefix(&real).map(Path::to_owned));
                }
            } else if !found.is_file() && !found.is_dir() {
                return Err(ExtensionError::rejected(shown, "it is neither a file nor a folder"));
            }
            if rights == FilePermissionPolicy::Restrict && !found.is_symlink() {
                restrict_permissions(&path, &found)?;
            }
            if entries > bounds.entries || size > bounds.bytes || depth > bounds.depth {
                return Err(ExtensionError::rejected(shown, limits_message(bounds)));
            }
            if found.is_dir() {
                waiting.push((path, depth + 1));
            }
        }
    }
    for link in to_nothing.iter().filter(|_| rights == FilePermissionPolicy::Restrict) {
        let path = real.join(link);
        fs::remove_file(&path).map_err(ExtensionError::disk_error(&path))?;
    }
    to_nothing.sort();
    Ok(to_nothing)
}

pub(crate) fn limits_message(bounds: ExtensionLimits) -> String {
    format!(
        "it exceeds the limit of {} MiB, {} files or {} nested folders",
        bounds.bytes >> 20,
        bounds.entries,
        bounds.depth
    )
}

fn check_name(path: &Path, shown: &str) -> Result<(), ExtensionError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match name.chars().any(char::is_control) {
        true => Err(ExtensionError::rejected(shown, "its name has control characters")),
        false => Ok(()),
    }
}

/// Where a link inside of the extension leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkTarget {
    /// An existing file or folder of the extension.
    Inside,
    /// A path that does not exist: inside of the extension, or an absolute path of another machine.
    Missing,
}

fn check_link(
    path: &Path,
    root: &Path,
    shown: &str,
    rights: FilePermissionPolicy,
) -> Result<LinkTarget, ExtensionError> {
    let target = fs::read_link(path).map_err(ExtensionError::disk_error(path))?;
    let refused = || {
        Err(ExtensionError::rejected(shown, format!("it links to {}, outside the installed folder", target.display())))
    };
    let leads = path.canonicalize();
    // Links in a draft are removed, so such a link cannot lead anywhere later.
    let is_of_another_machine = || {
        rights == FilePermissionPolicy::Restrict
            && leads.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    if target.is_absolute() && !is_of_another_machine() {
        return refused();
    }
    let can_be_left_out = || target.is_absolute() || would_resolve_inside(path, &target, root);
    match &leads {
        Ok(real) if real.starts_with(root) => Ok(LinkTarget::Inside),
        Err(_) if can_be_left_out() && !is_required_file(shown, root) => Ok(LinkTarget::Missing),
        Err(_) if can_be_left_out() => {
            let why = format!("it links to {}, which does not exist, and the extension needs it", target.display());
            Err(ExtensionError::rejected(shown, why))
        }
        _ => refused(),
    }
}

/// Whether the target of a dangling link is inside of the root.
///
/// The path is resolved component by component, as the system does it, other links included. After the first missing
/// component no `..` is allowed, because its start is unknown.
fn would_resolve_inside(link: &Path, target: &Path, root: &Path) -> bool {
    let Some(mut here) = link.parent().and_then(|folder| folder.canonicalize().ok()) else { return false };
    let mut parts = target.components();
    for part in parts.by_ref() {
        let next = match part {
            Component::CurDir => continue,
            Component::ParentDir => here.parent().map(Path::to_owned),
            Component::Normal(name) => Some(here.join(name)),
            Component::RootDir | Component::Prefix(_) => None,
        };
        let Some(next) = next else { return false };
        let is_link = next.symlink_metadata().is_ok_and(|found| found.is_symlink());
        match next.canonicalize() {
            Ok(real) if real.starts_with(root) => here = real,
            // Another dangling link is checked by itself.
            Err(_) if next.starts_with(root) && (!is_link || next != link) => break,
            _ => return false,
        }
    }
    parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Whether the extension may need a file: it is in the hooks or policies folder, or the manifest or a hooks file
/// names it. Skills, agents and commands are not required.
fn is_required_file(shown: &str, root: &Path) -> bool {
    const REQUIRED_FOLDERS: [&str; 2] = ["hooks", "policies"];
    const DECLARING_FILES: [&str; 3] = ["gemini-extension.json", "hooks/hooks.json", "hooks.json"];
    let shown = shown.replace(std::path::MAIN_SEPARATOR, "/");
    // An archive may hold everything in one folder.
    let (first, rest) = shown.split_once('/').unwrap_or((&shown, ""));
    let second = rest.split('/').next().unwrap_or_default();
    let name = shown.rsplit('/').next().unwrap_or(&shown);
    let stands_there = |part: &str| REQUIRED_FOLDERS.contains(&part) || DECLARING_FILES.contains(&part);
    let speaks_of_it = |folder: &Path| {
        let texts = DECLARING_FILES.iter().filter_map(|file| {
            hookwright_disk::read(&folder.join(file), 1 << 20, hookwright_disk::SymlinkPolicy::Follow).ok()
        });
        texts.into_iter().any(|text| String::from_utf8_lossy(&text).contains(name))
    };
    let is_one_folder = !root.join("gemini-extension.json").is_file();
    stands_there(first)
        || speaks_of_it(root)
        || is_one_folder && (stands_there(second) || speaks_of_it(&root.join(first)))
}

/// Removes setuid, setgid, sticky and group and other write permissions, and gives the owner access.
#[cfg(unix)]
fn restrict_permissions(path: &Path, found: &Metadata) -> Result<(), ExtensionError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = found.permissions().mode() & 0o7777;
    let own = if found.is_dir() { 0o700 } else { 0o600 };
    let wanted = (mode & 0o755) | own;
    match mode == wanted {
        true => Ok(()),
        false => {
            fs::set_permissions(path, fs::Permissions::from_mode(wanted)).map_err(ExtensionError::disk_error(path))
        }
    }
}

#[cfg(not(unix))]
fn restrict_permissions(_: &Path, _: &Metadata) -> Result<(), ExtensionError> {
    Ok(())
}

/// Lists the files below a folder, relative to it, without the `.git` folder.
pub(crate) fn list_files(root: &Path) -> Vec<PathBuf> {
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
