//! The files with hooks that stand beside the settings of a project and of the user: `.hookwright/hooks.json`, and Claude
//! Code's own settings where somebody wants those read. Of them only hooks count.

use std::path::{Path, PathBuf};

use hookwright_hooks::jsonc::last;
use hookwright_hooks::{Declared, Source};

use super::layer::{LayerFile, Tree};
use crate::paths::Paths;
use crate::trust::FolderTrust;

/// Whether one of these settings says `hooksConfig.readClaude`.
pub(super) fn reads_claude(trees: &[Tree<'_>]) -> bool {
    trees.iter().any(says_so)
}

fn says_so(tree: &Tree<'_>) -> bool {
    let Ok(Some(root)) = &tree.document.root else { return false };
    let config = last(root, "hooksConfig").and_then(|config| config.value.as_object());
    let said = config.and_then(|config| last(config, "readClaude")).and_then(|said| said.value.as_boolean_lit());
    said.is_some_and(|said| said.value)
}

/// The files beside the settings, each layer's in the order in which their hooks run. `project` is nothing in the home
/// directory, whose files are the user's.
///
/// What the user says counts for all; what a project says, for its own files.
pub(super) fn files(trees: &[Tree<'_>], paths: &Paths, project: Option<&Path>, trust: &FolderTrust) -> Vec<LayerFile> {
    let of_user = |tree: &&Tree<'_>| tree.file.source != Source::Project;
    let user_wants = trees.iter().filter(of_user).any(says_so);
    let mut files = vec![LayerFile::read(Source::User, &paths.neutral_hooks(&paths.home))];
    if user_wants {
        files.push(LayerFile::read(Source::User, &paths.user_claude()));
    }
    if let Some(root) = project {
        let claude = user_wants || reads_claude(trees);
        files.extend(of_project(paths, root, claude).iter().map(|path| LayerFile::of_project(path, trust)));
    }
    files
}

fn of_project(paths: &Paths, root: &Path, claude: bool) -> Vec<PathBuf> {
    let claude = claude.then(|| paths.project_claude(root));
    std::iter::once(paths.neutral_hooks(root)).chain(claude.into_iter().flatten()).collect()
}

/// What the files beside a project's settings would bring, trusted or not.
pub(super) fn offered(settings: &Tree<'_>, paths: &Paths, root: &Path, user_wants: bool) -> Vec<Declared> {
    let files = of_project(paths, root, user_wants || says_so(settings));
    files.iter().map(|path| LayerFile::read(Source::Project, path).tree().declared()).collect()
}

/// All files, highest precedence first: of each layer the settings, then what stands beside them.
pub(super) fn in_order<'a, 't>(settings: &'a [Tree<'t>], beside: &'a [Tree<'t>]) -> Vec<&'a Tree<'t>> {
    let mut all = Vec::with_capacity(settings.len() + beside.len());
    for own in settings.iter().rev() {
        all.push(own);
        all.extend(beside.iter().filter(|tree| tree.file.source == own.file.source));
    }
    all
}
