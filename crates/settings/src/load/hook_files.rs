//! Which files a hook of a configuration is made of: what trust, watching and review of it look at. Finding them in a command's
//! text is the engine's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use hookwright_hooks::{CommandFiles, Hook, Naming, Source, Whereabouts};

use super::Loaded;
use crate::env_file;
use crate::trust::{self, Taker};
use crate::world::World;

impl Loaded {
    /// The files that a hook's command itself names: what is the guard's own, rather than the project's code that it may
    /// run, such as its tests.
    pub fn named_by(&self, hook: &Hook) -> CommandFiles {
        let root = &self.project.root;
        let variable = |name: &str| trust::variable(hook, self.world_of(hook), root, name);
        match hook.action.command() {
            Some(command) => command.files(&Whereabouts { cwd: root, variable: &variable }),
            None => CommandFiles { certain: true, ..CommandFiles::default() },
        }
    }

    /// The files of a hook that no agent changes unseen: of a guard, and of a locked hook, all that it runs, mentions, or may
    /// load; of others what they name themselves.
    pub fn guarded_by(&self, hook: &Hook) -> CommandFiles {
        let named = self.named_by(hook);
        if !hook.is_protected() {
            return named;
        }
        let world = self.world_of(hook);
        let taker = Taker::of_guard(self.home_of(hook), &self.project.root, world, self.folders_of(&named));
        let Some(mut found) = taker.followed(hook) else { return named };
        for file in named.files {
            if !found.files.iter().any(|known| known.path == file.path) {
                found.files.push(file);
            }
        }
        found.certain &= named.certain;
        found
    }

    /// The folders that a command's scripts stand in, without those that are full of other things.
    fn folders_of(&self, named: &CommandFiles) -> Vec<PathBuf> {
        let run = named.files.iter().filter(|file| matches!(file.how, Naming::Runs | Naming::Sources));
        let folders = run.filter_map(|file| file.path.parent()).filter(|folder| {
            let of_programs = folder.file_name().is_some_and(|name| name == "bin" || name == "sbin");
            !of_programs && !self.paths.home.starts_with(folder)
        });
        folders.map(Path::to_owned).collect()
    }

    /// The files that a hook runs, and that those run in turn, as far as that can be told: what trust in it extends to.
    pub fn files_of(&self, hook: &Hook) -> CommandFiles {
        self.files_of_all([hook]).pop().unwrap_or_default()
    }

    /// The same for many hooks, with everything that they share looked at once.
    pub fn files_of_all<'h>(&self, hooks: impl IntoIterator<Item = &'h Hook>) -> Vec<CommandFiles> {
        let mut takers: HashMap<(&Path, bool), Taker<'_>> = HashMap::new();
        let mut files_of = |hook: &Hook| {
            let (root, own) = (self.home_of(hook), env_file::is_own(&hook.source));
            let world = self.world_of(hook);
            let taker = takers.entry((root, own)).or_insert_with(|| Taker::new(root, &self.project.root, world));
            let none = CommandFiles { certain: true, ..CommandFiles::default() };
            taker.files(hook).unwrap_or(none)
        };
        hooks.into_iter().map(&mut files_of).collect()
    }

    /// What a hook sees of the environment.
    pub(crate) fn world_of(&self, hook: &Hook) -> &World {
        if env_file::is_own(&hook.source) { &self.own.world } else { &self.world }
    }

    /// The directory that a hook's own files are in.
    pub(super) fn home_of(&self, hook: &Hook) -> &Path {
        let extension = |name: &str| self.extensions.iter().find(|extension| extension.name == name);
        match &hook.source {
            Source::Extension(name) => extension(name).map_or(&self.project.root, |extension| &extension.path),
            Source::User => &self.paths.user_dir,
            Source::Runtime | Source::Project | Source::System => &self.project.root,
        }
    }
}
