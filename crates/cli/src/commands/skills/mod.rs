//! `hookwright skills …`: one file per command.

mod install;
mod link;
mod list;
mod uninstall;
mod validate;

use std::path::PathBuf;

use hookwright_settings::administration::{SkillSwitchOutcome, SkillSwitchRequest, switch_skill};
use hookwright_settings::edit::Switch;
use hookwright_settings::{LoadedConfig, ProcessEnv};

use crate::args::{ProjectCommand, ScopeArg, SkillsCommand};
use crate::commands::hooks::LoadedProject;
use crate::exit;
use crate::presentation::administration::skill_switch_messages;
use crate::presentation::{CommandStyle, print_messages};

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
        SkillsCommand::Enable { name } => {
            switch(&open()?, &SkillSwitchRequest { name, switch: Switch::Enable, scope: None })
        }
        SkillsCommand::Disable { name, scope } => {
            let scope = scope.map(Into::into);
            switch(&open()?, &SkillSwitchRequest { name, switch: Switch::Disable, scope })
        }
    }
}

fn switch(toolbox: &LoadedProject, request: &SkillSwitchRequest) -> anyhow::Result<u8> {
    let outcome = switch_skill(&toolbox.config, request)?;
    print_messages(&skill_switch_messages(&outcome, CommandStyle::Shell))?;
    Ok(if matches!(outcome, SkillSwitchOutcome::Switched { .. }) { exit::OK } else { exit::ERROR })
}

/// Returns the folder that skills are installed in.
fn install_folder(loaded: &LoadedConfig, scope: ScopeArg) -> PathBuf {
    let base = if scope == ScopeArg::User { &loaded.paths.home } else { &loaded.project.root };
    let [own, _shared] = loaded.paths.skills_dirs(base);
    own
}
