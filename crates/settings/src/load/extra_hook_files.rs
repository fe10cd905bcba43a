//! Finds files with hooks other than the settings of the layers: `.hookwright/hooks.json`, the machine's hooks for any
//! agent, and Claude Code's settings if `hooksConfig.readClaude` is set. Only hooks are read from them.

use std::path::{Path, PathBuf};

use hookwright_hooks::jsonc::last_property;
use hookwright_hooks::{DeclaredLayer, Source};

use super::layer::{LayerFile, LayerTree};
use crate::paths::ConfigPaths;
use crate::trust::FolderTrust;

/// Whether one of these layers sets `hooksConfig.readClaude`.
pub(super) fn reads_claude(trees: &[LayerTree<'_>]) -> bool {
    trees.iter().any(enables_read_claude)
}

fn enables_read_claude(tree: &LayerTree<'_>) -> bool {
    let Ok(Some(root)) = &tree.document.root else { return false };
    let config = last_property(root, "hooksConfig").and_then(|config| config.value.as_object());
    let said =
        config.and_then(|config| last_property(config, "readClaude")).and_then(|said| said.value.as_boolean_lit());
    said.is_some_and(|said| said.value)
}

/// Returns the additional files, those of each layer in the order in which their hooks run. `project` is `None` in
/// the home directory, whose files are the user's.
///
/// The user's `readClaude` applies to all files, a project's only to its own.
pub(super) fn extra_files(
    trees: &[LayerTree<'_>],
    paths: &ConfigPaths,
    project: Option<&Path>,
    trust: &FolderTrust,
) -> Vec<LayerFile> {
    let of_user = |tree: &&LayerTree<'_>| tree.file.source != Source::Project;
    let user_wants = trees.iter().filter(of_user).any(enables_read_claude);
    let mut files = vec![
        LayerFile::read(Source::System, &paths.system_hooks_file()),
        LayerFile::read(Source::User, &paths.hookwright_hooks_file(&paths.home)),
    ];
    if user_wants {
        files.push(LayerFile::read(Source::User, &paths.user_claude_settings()));
    }
    if let Some(root) = project {
        let claude = user_wants || reads_claude(trees);
        files.extend(project_paths(paths, root, claude).iter().map(|path| LayerFile::read_project(path, trust)));
    }
    files
}

fn project_paths(paths: &ConfigPaths, root: &Path, claude: bool) -> Vec<PathBuf> {
    let claude = claude.then(|| paths.project_claude_settings(root));
    std::iter::once(paths.hookwright_hooks_file(root)).chain(claude.into_iter().flatten()).collect()
}

/// Returns the hooks that the project's additional files declare, trusted or not.
pub(super) fn declared_by_project(
    settings: &LayerTree<'_>,
    paths: &ConfigPaths,
    root: &Path,
    user_wants: bool,
) -> Vec<DeclaredLayer> {
    let files = project_paths(paths, root, user_wants || enables_read_claude(settings));
    files.iter().map(|path| LayerFile::read(Source::Project, path).parse().declared_hooks()).collect()
}

/// Returns all files, highest precedence first: of each layer the settings, then its additional files.
pub(super) fn by_precedence<'a, 't>(
    settings: &'a [LayerTree<'t>],
    extra: &'a [LayerTree<'t>],
) -> Vec<&'a LayerTree<'t>> {
    let mut all = Vec::with_capacity(settings.len() + extra.len());
    for own in settings.iter().rev() {
        all.push(own);
        all.extend(extra.iter().filter(|tree| tree.file.source == own.file.source));
    }
    all
}
