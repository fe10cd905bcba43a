//! `hookwright subagents …`: one file per command.

mod list;
mod validate;

use hookwright_settings::ProcessEnv;

use crate::args::{ProjectCommand, SubagentsCommand};
use crate::commands::hooks::LoadedProject;

/// Runs one of the `subagents` commands.
pub(crate) fn run(args: &ProjectCommand<SubagentsCommand>, world: &ProcessEnv) -> anyhow::Result<u8> {
    match &args.command {
        SubagentsCommand::List { json } => list::run(&LoadedProject::open(&args.place, world)?, *json),
        SubagentsCommand::Validate { path, json } => validate::run(world, path, *json),
    }
}
