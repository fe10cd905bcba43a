//! The hooks of all files and active extensions put together, with those that the user has not seen as they are now. What
//! counts as seen is `trust/hooks.rs`.

use std::path::{Path, PathBuf};

use hookwright_hooks::{Declared, Diagnostic, Hook, Registry, Source, Unarmed, WhyUnarmed};

use super::SettingsFile;
use super::layer::{LayerFile, Tree};
use crate::env_file::Worlds;
use crate::extensions::Extension;
use crate::json::fill_variables;
use crate::paths::Paths;
use crate::settings::{HookReview, Settings};
use crate::trust::{Review, Reviewer, Scope, stand_ins};

/// What is needed to gather hooks.
pub(super) struct Hooks<'a> {
    pub(super) paths: &'a Paths,
    pub(super) root: &'a Path,
    pub(super) worlds: &'a Worlds,
    pub(super) settings: &'a Settings,
    /// The trusted project's directory of settings, if it is not the user's own.
    pub(super) own_dir: Option<PathBuf>,
}

impl Hooks<'_> {
    /// The hooks of all layers and active extensions, and which of them the user has not seen.
    pub(super) fn gather(
        &self,
        trees: &[&Tree<'_>],
        setting_problems: Vec<Diagnostic>,
        extensions: &[Extension],
        problems: Vec<Diagnostic>,
    ) -> (Registry, Vec<Review>) {
        let mut reviewer = Reviewer::new(self.paths, self.root, &self.worlds.session);
        let mut problems = problems;
        let review = self.settings.security.hook_review;
        let mut all = Vec::new();
        for tree in trees {
            let mut declared = tree.declared();
            declared
                .diagnostics
                .extend(setting_problems.iter().filter(|problem| problem.file == tree.file.path).cloned());
            all.push(declared);
        }
        let of_project = all.iter().filter(|declared| declared.source == Source::Project);
        let mut of_project: Vec<Hook> = of_project.flat_map(|declared| declared.hooks.iter().cloned()).collect();
        let real = std::fs::canonicalize(self.root).unwrap_or_else(|_| self.root.to_owned());
        let project_scope = Scope::of_project(&real);
        let is_held = review != HookReview::Announce;
        if is_held {
            reviewer.read_record(&mut problems);
        }
        if let Some(folder) = self.own_dir.as_ref().filter(|_| is_held) {
            of_project.extend(stand_ins(&Source::Project, self.root, folder));
        }
        if !of_project.is_empty() {
            reviewer.look_at(&project_scope, self.root, &of_project, review, &mut problems);
        }
        let in_a_file = |problem: &Diagnostic| trees.iter().any(|tree| tree.file.path == problem.file);
        problems.extend(setting_problems.into_iter().filter(|problem| !in_a_file(problem)));
        for extension in extensions.iter().filter(|extension| extension.active) {
            let declared = extension.declared();
            let scope = Scope::Extension(extension.name.clone());
            let mut hooks = declared.hooks.clone();
            if is_held {
                hooks.extend(stand_ins(&Source::Extension(extension.name.clone()), &extension.path, &extension.path));
            }
            reviewer.look_at(&scope, &extension.path, &hooks, review, &mut problems);
            all.push(declared);
        }
        all.push(Declared::empty(Source::User, problems));
        all.iter_mut().for_each(|declared| fill_hook_variables(declared, self.worlds, extensions));
        let registry = Registry::new(all);
        if review != HookReview::Announce {
            reviewer.look_at_switch_offs(&project_scope, &registry);
        }
        (registry, reviewer.finish())
    }
}

/// The guards of an extension that the command line leaves out.
pub(super) fn guards_left_out(extension: &Extension) -> Vec<Unarmed> {
    let registry = Registry::new(vec![extension.declared()]);
    let why = || WhyUnarmed::LeftOut(extension.name.clone());
    let unarmed = |file: PathBuf| {
        let guards = registry.guards_of(&file).into_iter();
        guards.map(move |(name, line)| Unarmed { name, file: Some(file.clone()), line: Some(line), why: why() })
    };
    extension.hooks_files().into_iter().flat_map(unarmed).collect()
}

/// The hooks files of active extensions.
pub(super) fn files_of_extensions(extensions: &[Extension]) -> Vec<SettingsFile> {
    let active = extensions.iter().filter(|extension| extension.active);
    let files = active.flat_map(|extension| extension.hooks_files().into_iter().map(|file| (extension.source(), file)));
    files.map(|(source, file)| LayerFile::read(source, &file).tree().state()).collect()
}

/// `$NAME` in a hook's own variables. In its command the shell does that; the values of an extension's settings, and its path,
/// are what they are.
fn fill_hook_variables(declared: &mut Declared, worlds: &Worlds, extensions: &[Extension]) {
    let world = worlds.of(&declared.source);
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
