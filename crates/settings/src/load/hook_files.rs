//! Determines which files a hook consists of, for trust, tamper watching and review. The engine finds the files in a
//! command's text.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use hookwright_hooks::{CommandFiles, Hook, Naming, Source, Whereabouts};

use super::LoadedConfig;
use crate::env_file;
use crate::process_env::ProcessEnv;
use crate::trust::{self, Fingerprinter};

impl LoadedConfig {
    /// Returns the files that a hook's command itself names: its own files, as opposed to project code that it may
    /// run, such as tests.
    pub fn files_named_by(&self, hook: &Hook) -> CommandFiles {
        let root = &self.project.root;
        let variable = |name: &str| trust::hook_variable(hook, self.env_of(hook), root, name);
        match hook.action.command() {
            Some(command) => command.files(&Whereabouts { cwd: root, variable: &variable }),
            None => CommandFiles { certain: true, ..CommandFiles::default() },
        }
    }

    /// Returns the files of a hook that an agent must not change unnoticed: for a guard or a locked hook all files
    /// that it runs, mentions or may load, for other hooks the files that they name.
    pub fn protected_files_of(&self, hook: &Hook) -> CommandFiles {
        let named = self.files_named_by(hook);
        if !hook.is_protected() {
            return named;
        }
        let world = self.env_of(hook);
        let fingerprinter =
            Fingerprinter::for_guard(self.base_dir_of(hook), &self.project.root, world, self.script_folders(&named));
        let Some(mut found) = fingerprinter.followed_files(hook) else { return named };
        for file in named.files {
            if !found.files.iter().any(|known| known.path == file.path) {
                found.files.push(file);
            }
        }
        found.certain &= named.certain;
        found
    }

    /// Returns the folders of a command's scripts, without those that also hold many other files.
    fn script_folders(&self, named: &CommandFiles) -> Vec<PathBuf> {
        let run = named.files.iter().filter(|file| matches!(file.how, Naming::Runs | Naming::Sources));
        let folders = run.filter_map(|file| file.path.parent()).filter(|folder| {
            let of_programs = folder.file_name().is_some_and(|name| name == "bin" || name == "sbin");
            !of_programs && !self.paths.home.starts_with(folder)
        });
        folders.map(Path::to_owned).collect()
    }

    /// Returns the files that a hook runs, directly or through other files, as far as that can be determined; trust
    /// in the hook covers them.
    pub fn files_run_by(&self, hook: &Hook) -> CommandFiles {
        self.files_run_by_all([hook]).pop().unwrap_or_default()
    }

    /// Like [`Self::files_run_by`] for many hooks; shared files are read once.
    pub fn files_run_by_all<'h>(&self, hooks: impl IntoIterator<Item = &'h Hook>) -> Vec<CommandFiles> {
        let mut fingerprinters: HashMap<(&Path, bool), Fingerprinter<'_>> = HashMap::new();
        let mut files_of = |hook: &Hook| {
            let (root, own) = (self.base_dir_of(hook), env_file::is_user_or_system(&hook.source));
            let world = self.env_of(hook);
            let fingerprinter = fingerprinters
                .entry((root, own))
                .or_insert_with(|| Fingerprinter::new(root, &self.project.root, world));
            let none = CommandFiles { certain: true, ..CommandFiles::default() };
            fingerprinter.files_run_by(hook).unwrap_or(none)
        };
        hooks.into_iter().map(&mut files_of).collect()
    }

    /// Returns the environment that a hook runs with.
    pub(crate) fn env_of(&self, hook: &Hook) -> &ProcessEnv {
        if env_file::is_user_or_system(&hook.source) { &self.user_scope.process_env } else { &self.process_env }
    }

    /// Returns the directory of a hook's own files.
    pub(super) fn base_dir_of(&self, hook: &Hook) -> &Path {
        let extension = |name: &str| self.extensions.iter().find(|extension| extension.name == name);
        match &hook.source {
            Source::Extension(name) => extension(name).map_or(&self.project.root, |extension| &extension.path),
            Source::User => &self.paths.user_dir,
            Source::Runtime | Source::Project | Source::System => &self.project.root,
        }
    }
}
