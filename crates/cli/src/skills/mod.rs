//! `hookwright skills …`: one file per command.

mod install;
mod link;
mod list;
mod switch;
mod uninstall;
mod validate;

use std::path::PathBuf;

use hookwright_settings::{Loaded, World};

use crate::args::{InProject, Scope, SkillsCommand};
use crate::hooks::Toolbox;

/// Runs one of the commands.
pub(crate) fn run(args: InProject<SkillsCommand>, world: &World) -> anyhow::Result<u8> {
    let InProject { command, place } = args;
    let open = || Toolbox::open(&place, world);
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

/// The folder that skills are installed in.
fn folder(loaded: &Loaded, scope: Scope) -> PathBuf {
    let base = if scope == Scope::User { &loaded.paths.home } else { &loaded.project.root };
    let [own, _shared] = loaded.paths.skills(base);
    own
}
