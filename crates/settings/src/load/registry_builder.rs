//! Builds the registry from the hooks of all files and active extensions, with the reviews of hooks that the user has
//! not seen in their present form. `trust/hook_review.rs` decides which hooks need a review.

use std::path::{Path, PathBuf};

use hookwright_hooks::{DeclaredLayer, Diagnostic, Hook, Registry, Source, UnarmedGuard, UnarmedReason};

use super::SettingsFile;
use super::layer::{LayerFile, LayerTree};
use crate::env_file::LayerEnvs;
use crate::extensions::Extension;
use crate::json::fill_variables;
use crate::paths::ConfigPaths;
use crate::settings::{HookReviewMode, Settings};
use crate::trust::{HookReviewer, HookTrustReview, TrustScope, placeholder_hooks};

/// Inputs of building the registry.
pub(super) struct RegistryBuilder<'a> {
    pub(super) paths: &'a ConfigPaths,
    pub(super) root: &'a Path,
    pub(super) envs: &'a LayerEnvs,
    pub(super) settings: &'a Settings,
    /// The trusted project's settings directory, unless it is the user's.
    pub(super) project_dir: Option<PathBuf>,
}

impl RegistryBuilder<'_> {
    /// Returns the hooks of all layers and active extensions, and the reviews of those that the user has not seen.
    pub(super) fn build(
        &self,
        trees: &[&LayerTree<'_>],
        setting_problems: Vec<Diagnostic>,
        extensions: &[Extension],
        problems: Vec<Diagnostic>,
    ) -> (Registry, Vec<HookTrustReview>) {
        let mut reviewer = HookReviewer::new(self.paths, self.root, &self.envs.session);
        let mut problems = problems;
        let review = self.settings.security.hook_review;
        let mut all = Vec::new();
        for tree in trees {
            let mut declared = tree.declared_hooks();
            declared
                .diagnostics
                .extend(setting_problems.iter().filter(|problem| problem.file == tree.file.path).cloned());
            all.push(declared);
        }
        let of_project = all.iter().filter(|declared| declared.source == Source::Project);
        let mut of_project: Vec<Hook> = of_project.flat_map(|declared| declared.hooks.iter().cloned()).collect();
        let real = std::fs::canonicalize(self.root).unwrap_or_else(|_| self.root.to_owned());
        let project_scope = TrustScope::from_project_path(&real);
        let is_held = review != HookReviewMode::Announce;
        if is_held {
            reviewer.read_record(&mut problems);
        }
        if let Some(folder) = self.project_dir.as_ref().filter(|_| is_held) {
            of_project.extend(placeholder_hooks(&Source::Project, self.root, folder));
        }
        if !of_project.is_empty() {
            reviewer.review_hooks(&project_scope, self.root, &of_project, review, &mut problems);
        }
        let in_a_file = |problem: &Diagnostic| trees.iter().any(|tree| tree.file.path == problem.file);
        problems.extend(setting_problems.into_iter().filter(|problem| !in_a_file(problem)));
        for extension in extensions.iter().filter(|extension| extension.active) {
            let declared = extension.declared_hooks();
            let scope = TrustScope::Extension(extension.name.clone());
            let mut hooks = declared.hooks.clone();
            if is_held {
                hooks.extend(placeholder_hooks(
                    &Source::Extension(extension.name.clone()),
                    &extension.path,
                    &extension.path,
                ));
            }
            reviewer.review_hooks(&scope, &extension.path, &hooks, review, &mut problems);
            all.push(declared);
        }
        all.push(DeclaredLayer::empty(Source::User, problems));
        all.iter_mut().for_each(|declared| fill_hook_variables(declared, self.envs, extensions));
        let registry = Registry::new(all);
        if review != HookReviewMode::Announce {
            reviewer.review_switch_offs(&project_scope, &registry);
        }
        (registry, reviewer.into_reviews())
    }
}

/// Returns the guards of an extension that the command line excludes.
pub(super) fn guards_of_excluded(extension: &Extension) -> Vec<UnarmedGuard> {
    let registry = Registry::new(vec![extension.declared_hooks()]);
    let why = || UnarmedReason::ExtensionExcluded(extension.name.clone());
    let unarmed = |file: PathBuf| {
        let guards = registry.guards_in_file(&file).into_iter();
        guards.map(move |(name, line)| UnarmedGuard { name, file: Some(file.clone()), line: Some(line), reason: why() })
    };
    extension.hooks_files().into_iter().flat_map(unarmed).collect()
}

/// Returns the hooks files of active extensions.
pub(super) fn extension_hook_files(extensions: &[Extension]) -> Vec<SettingsFile> {
    let active = extensions.iter().filter(|extension| extension.active);
    let files = active.flat_map(|extension| extension.hooks_files().into_iter().map(|file| (extension.source(), file)));
    files.map(|(source, file)| LayerFile::read(source, &file).parse().to_settings_file()).collect()
}

/// Fills in `$NAME` in the variables that hooks declare. In commands the shell does that; values of an extension's
/// settings and its path are left unchanged.
fn fill_hook_variables(declared: &mut DeclaredLayer, envs: &LayerEnvs, extensions: &[Extension]) {
    let world = envs.for_layer(&declared.source);
    let extension = extensions.iter().find(|one| one.source() == declared.source);
    let given = extension.map(Extension::hook_env).unwrap_or_default();
    for hook in &mut declared.hooks {
        if let Some(command) = hook.action.command_mut() {
            for (_, value) in command.env.iter_mut().filter(|variable| !given.contains(variable)) {
                *value = fill_variables(value, world).into_owned();
            }
        }
    }
}
