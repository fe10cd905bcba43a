//! `hookwright skills …`: one file per command.

mod install;
mod link;
mod list;
mod switch;
mod uninstall;
mod validate;

use std::path::PathBuf;

use hookwright_settings::{LoadedConfig, ProcessEnv};

use crate::args::{ProjectCommand, ScopeArg, SkillsCommand};
use crate::commands::hooks::LoadedProject;

/// Runs one of the `skills` commands.
pub(crate) fn run(args: ProjectCommand<SkillsCommand>, world: &ProcessEnv) -> anyhow::Result<u8> {
    let ProjectCommand { command, place } = args;
    let open = || LoadedProject::open(&place, world);
    match command {
        SkillsCommand::List { all: _, json } => list::run(&open()?, json),
        SkillsCommand::Validate { path, json } => validate::run(world, &path, json),
        SkillsCommand::Install(install) => install::run(&open()?, world, &install),
        SkillsCommand::Link { path, consent } => link::run(&open()?, world, &path, consent),
        SkillsCommand::Uninstall { name, scope } => uninstall::run(&open()?, &name, scope),
        SkillsCommand::Enable { name } => switch::enable(&open()?, &name),
        SkillsCommand::Disable { name, scope } => switch::disable(&open()?, &name, scope),
    }
}

/// Returns the folder that skills are installed in.
fn install_folder(loaded: &LoadedConfig, scope: ScopeArg) -> PathBuf {
    let base = if scope == ScopeArg::User { &loaded.paths.home } else { &loaded.project.root };
    let [own, _shared] = loaded.paths.skills_dirs(base);
    own
}
