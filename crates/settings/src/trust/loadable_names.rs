//! Folders from which a guard's language loads files: a new file there may be loaded instead of another, so the names
//! in them count. `guard_files.rs` compares the contents of files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hookwright_hooks::{AroundKind, CommandFiles, Naming};
use sha2::{Digest, Sha256};

use super::fingerprint::exact_name;
use super::guard_files::{GuardFileKind, GuardFileSnapshot};
use crate::paths::hex;

/// Extensions of files that a language loads without being told to.
const LOADABLE_EXTENSIONS: [&str; 24] = [
    "py", "pyc", "pyw", "so", "pyd", "pth", "zip", "egg", "js", "mjs", "cjs", "ts", "mts", "cts", "tsx", "jsx", "rb",
    "pl", "pm", "php", "lua", "sh", "bash", "zsh",
];
/// Entry files of packages: Python's, then Node's.
const PACKAGE_ENTRY_FILES: [&str; 4] = ["__init__.py", "__init__.pyc", "index.js", "package.json"];
/// Folders of compiled modules and installed packages, which are loaded before other sources.
const MODULE_CACHE_FOLDERS: [&str; 2] = ["__pycache__", "node_modules"];

/// Returns the files around those that a guard runs, and the folders whose names count for it.
pub(super) fn files_around(files: &CommandFiles) -> Vec<(GuardFileKind, PathBuf)> {
    let mut found = Vec::new();
    let mut folders: Vec<&Path> = Vec::new();
    for around in &files.around {
        // A folder that is included as a whole may hold notes of the hook.
        let kind = if around.kind == AroundKind::All { GuardFileKind::Mentioned } else { GuardFileKind::Script };
        found.extend(around.files.iter().map(|path| (kind, path.clone())));
        folders.extend(around.directories());
    }
    // Node tries several names for one module.
    let is_node =
        |path: &Path| matches!(file_extension(path), "js" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "tsx" | "jsx");
    let node = files.files.iter().filter(|file| file.how == Naming::Runs && is_node(&file.path));
    folders.extend(node.filter_map(|file| file.path.parent()));
    folders.sort();
    folders.dedup();
    for folder in folders {
        found.push((GuardFileKind::Names, folder.to_owned()));
        let inside = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for package in inside.map(|entry| entry.path()).filter(|path| path.is_dir() && is_package_name(path)) {
            match package.file_name().is_some_and(|name| name == "node_modules") {
                true => found.push((GuardFileKind::Names, package)),
                // With this file, a folder that is no package becomes one.
                false => found.push((GuardFileKind::Script, package.join(PACKAGE_ENTRY_FILES[0]))),
            }
        }
    }
    found
}

/// Returns the paths of programs that would be run instead of a guard's, because they are earlier on the search path.
pub(super) fn shadowing_programs(files: &CommandFiles, path: &OsStr, cwd: &Path) -> Vec<(GuardFileKind, PathBuf)> {
    let places: Vec<PathBuf> = std::env::split_paths(path).map(|place| cwd.join(place)).collect();
    let mut found = Vec::new();
    for file in files.files.iter().filter(|file| file.how == Naming::Runs) {
        let (Some(place), Some(name)) = (file.path.parent(), file.path.file_name()) else { continue };
        let earlier = places.iter().position(|one| one == place).unwrap_or_default();
        // A file there that is not executable is skipped, until it becomes executable.
        let places = places[..earlier].iter().map(|place| place.join(name));
        found.extend(places.map(|path| (GuardFileKind::Script, path)));
    }
    found
}

/// Takes a snapshot of the names in a folder that can be loaded.
pub(super) fn snapshot_names(folder: &Path) -> GuardFileSnapshot {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return GuardFileSnapshot { digest: "nothing".to_owned(), text: None };
    };
    let of_packages = folder.file_name().is_some_and(|name| name == "node_modules");
    let all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let stems: Vec<&OsStr> =
        all.iter().filter(|path| !file_extension(path).is_empty()).filter_map(|path| path.file_stem()).collect();
    let counts = |path: &&PathBuf| match path.is_dir() {
        true => of_packages || is_package_name(path),
        false => is_loadable(path) || path.file_name().is_some_and(|name| stems.contains(&name)),
    };
    let mut names: Vec<String> = all
        .iter()
        .filter(counts)
        .filter_map(|path| path.file_name())
        .map(|name| exact_name(name).into_owned())
        .collect();
    names.sort();
    let text: String = names.iter().map(|name| format!("{name}\n")).collect();
    GuardFileSnapshot { digest: format!("names {}", hex(&Sha256::digest(&text))), text: Some(text) }
}

/// Whether a new file at `rest` below such a folder may be loaded.
pub fn may_be_loaded(folder: &Path, rest: &Path) -> bool {
    let names: Vec<&OsStr> = rest.iter().collect();
    match names.as_slice() {
        [] => false,
        [name]
            if is_loadable(rest)
                || folder.ends_with("node_modules")
                || MODULE_CACHE_FOLDERS.iter().any(|kept| name == kept) =>
        {
            true
        }
        // `rules` is found before `rules.js`.
        [_] => {
            file_extension(rest).is_empty()
                && LOADABLE_EXTENSIONS.iter().any(|end| folder.join(rest).with_extension(end).exists())
        }
        [first, ..] if MODULE_CACHE_FOLDERS.iter().any(|kept| first == kept) || folder.ends_with("node_modules") => {
            true
        }
        [_, beginning] => PACKAGE_ENTRY_FILES.iter().any(|name| beginning == name),
        _ => false,
    }
}

fn file_extension(path: &Path) -> &str {
    path.extension().and_then(OsStr::to_str).unwrap_or_default()
}

fn is_loadable(path: &Path) -> bool {
    LOADABLE_EXTENSIONS.contains(&file_extension(path))
}

/// Whether a folder's name can be that of a package. Folders of compiled modules are left out, because they change by
/// themselves.
fn is_package_name(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    name != MODULE_CACHE_FOLDERS[0]
        && !name.is_empty()
        && name.chars().all(|char| char.is_alphanumeric() || char == '_')
}
