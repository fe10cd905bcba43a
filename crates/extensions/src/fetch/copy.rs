//! Copies files, folders and links (as links) of a folder, without `.git` and the install record at its top. Links
//! are checked afterwards by `inspection.rs`.

use std::fs;
use std::path::Path;

use crate::error::ExtensionError;
use crate::inspection::{ExtensionLimits, limits_message};

/// Names that are not copied: git's folder and the record of where an extension came from.
const EXCLUDED_NAMES: [&str; 2] = [".git", ".gemini-extension-install.json"];

pub(super) fn copy_folder(from: &Path, into: &Path, bounds: ExtensionLimits) -> Result<(), ExtensionError> {
    let real = |path: &Path| path.canonicalize().map_err(ExtensionError::disk_error(path));
    if real(into)?.starts_with(real(from)?) {
        let why = "it contains the folder that it would be copied into".to_owned();
        return Err(ExtensionError::Source { source_text: from.display().to_string(), why });
    }
    let (mut size, mut entries) = (0, 0);
    let mut waiting = vec![(from.to_owned(), into.to_owned(), 0)];
    while let Some((from_folder, into_folder, depth)) = waiting.pop() {
        for entry in fs::read_dir(&from_folder).map_err(ExtensionError::disk_error(&from_folder))? {
            let path = entry.map_err(ExtensionError::disk_error(&from_folder))?.path();
            let Some(name) = path.file_name() else { continue };
            if depth == 0 && EXCLUDED_NAMES.iter().any(|left_out| name == *left_out) {
                continue;
            }
            let shown = path.strip_prefix(from).unwrap_or(&path).to_string_lossy().escape_debug().to_string();
            let found = path.symlink_metadata().map_err(ExtensionError::disk_error(&path))?;
            let target = into_folder.join(name);
            entries += 1;
            size += if found.is_file() { found.len() } else { 0 };
            if entries > bounds.entries || size > bounds.bytes || depth > bounds.depth {
                return Err(ExtensionError::rejected(shown, limits_message(bounds)));
            }
            if found.is_dir() {
                fs::create_dir(&target).map_err(ExtensionError::disk_error(&target))?;
                waiting.push((path, target, depth + 1));
            } else if found.is_file() {
                fs::copy(&path, &target).map_err(ExtensionError::disk_error(&path))?;
            } else if found.is_symlink() {
                copy_link(&path, &target).map_err(ExtensionError::disk_error(&path))?;
            } else {
                return Err(ExtensionError::rejected(shown, "it is neither a file nor a folder"));
            }
        }
    }
    Ok(())
}

#[cfg(unix)]
fn copy_link(from: &Path, into: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(fs::read_link(from)?, into)
}

#[cfg(not(unix))]
fn copy_link(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::Error::other("links are not copied on this system"))
}
