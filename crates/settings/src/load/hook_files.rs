//! Which files a hook of a configuration is made of: what trust, watching and review of it look at. Finding them in a command's
//! text is the engine's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use hookwright_hooks::{CommandFiles, Hook, Naming, Source, Whereabouts};

use super::LoadedConfig;
use crate::env_file;
use crate::process_env::ProcessEnv;
use crate::trust::{self, Fingerprinter};

impl LoadedConfig {
    /// The files that a hook's command itself names: what is the guard's own, rather than the project's code that it may
    /// run, such as its tests.
    pub fn files_named_by(&self, hook: &Hook) -> CommandFiles {
        let root = &self.project.root;
        let variable = |name: &str| trust::hook_variable(hook, self.env_of(hook), root, name);
        match hook.action.command() {
            Some(command) => command.files(&Whereabouts { cwd: root, variable: &variable }),
            None => CommandFiles { certain: true, ..CommandFiles::default() },
        }
    }

    /// The files of a hook that no agent changes unseen: of a guard, and of a locked hook, all that it runs, mentions, or may
    /// load; of others what they name themselves.
    pub fn protected_files_of(&self, hook: &Hook) -> CommandFiles {
        let named = self.files_named_by(hook);
        if !hook.is_protected() {
            return named;
        }
        let world = self.env_of(hook);
        let taker =
            Fingerprinter::for_guard(self.base_dir_of(hook), &self.project.root, world, self.script_folders(&named));
        let Some(mut found) = taker.followed_files(hook) else { return named };
        for file in named.files {
            if !found.files.iter().any(|known| known.path == file.path) {
                found.files.push(file);
            }
        }
        found.certain &= named.certain;
        found
    }

    /// The folders that a command's scripts stand in, without those that are full of other things.
    fn script_folders(&self, named: &CommandFiles) -> Vec<PathBuf> {
        let run = named.files.iter().filter(|file| matches!(file.how, Naming::Runs | Naming::Sources));
        let folders = run.filter_map(|file| file.path.parent()).filter(|folder| {
            let of_programs = folder.file_name().is_some_and(|name| name == "bin" || name == "sbin");
            !of_programs && !self.paths.home.starts_with(folder)
        });
        folders.map(Path::to_owned).collect()
    }

    /// The files that a hook runs, and that those run in turn, as far as that can be told: what trust in it extends to.
    pub fn files_run_by(&self, hook: &Hook) -> CommandFiles {
        self.files_run_by_all([hook]).pop().unwrap_or_default()
    }

    /// The same for many hooks, with everything that they share looked at once.
    pub fn files_run_by_all<'h>(&self, hooks: impl IntoIterator<Item = &'h Hook>) -> Vec<CommandFiles> {
        let mut takers: HashMap<(&Path, bool), Fingerprinter<'_>> = HashMap::new();
        let mut files_of = |hook: &Hook| {
            let (root, own) = (self.base_dir_of(hook), env_file::is_user_or_system(&hook.source));
            let world = self.env_of(hook);
            let taker =
                takers.entry((root, own)).or_insert_with(|| Fingerprinter::new(root, &self.project.root, world));
            let none = CommandFiles { certain: true, ..CommandFiles::default() };
            taker.files_run_by(hook).unwrap_or(none)
        };
        hooks.into_iter().map(&mut files_of).collect()
    }

    /// What a hook sees of the environment.
    pub(crate) fn env_of(&self, hook: &Hook) -> &ProcessEnv {
        if env_file::is_user_or_system(&hook.source) { &self.user_scope.process_env } else { &self.process_env }
    }

    /// The directory that a hook's own files are in.
    pub(super) fn base_dir_of(&self, hook: &Hook) -> &Path {
        let extension = |name: &str| self.extensions.iter().find(|extension| extension.name == name);
        match &hook.source {
            Source::Extension(name) => extension(name).map_or(&self.project.root, |extension| &extension.path),
            Source::User => &self.paths.user_dir,
            Source::Runtime | Source::Project | Source::System => &self.project.root,
        }
    }
}
