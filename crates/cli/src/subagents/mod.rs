//! `hookwright subagents …`: one file per command.

mod list;
mod validate;

use hookwright_settings::World;

use crate::args::{InProject, SubagentsCommand};
use crate::hooks::Toolbox;

/// Runs one of the commands.
pub(crate) fn run(args: &InProject<SubagentsCommand>, world: &World) -> anyhow::Result<u8> {
    match &args.command {
        SubagentsCommand::List { json } => list::run(&Toolbox::open(&args.place, world)?, *json),
        SubagentsCommand::Validate { path, json } => validate::run(world, path, *json),
    }
}
