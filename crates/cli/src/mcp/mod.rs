//! `hookwright mcp …`: one file per command. What servers are is the settings' business, speaking with them the tools'.

mod add;
mod ask;
mod auth;
mod list;
mod remove;
mod shown;
mod switch;
mod test;

use std::path::PathBuf;

use anyhow::Context;
use hookwright_settings::edit::Switch;
use hookwright_settings::{LoadOptions, Loaded, TrustOverride, World, load};

use crate::args::{McpArgs, McpCommand, McpScope};
use crate::hooks::Toolbox;

/// The way on where a folder is not trusted.
const TRUST: &str = "trust the folder with `hookwright hooks trust --folder`";

/// Runs one of the commands.
pub(crate) fn run(args: &McpArgs, world: &World) -> anyhow::Result<u8> {
    match &args.command {
        McpCommand::Add(server) => add::run(&here(world)?, server, world),
        McpCommand::Remove { name, scope } => remove::run(&here(world)?, name, *scope),
        McpCommand::List { no_connect, json, place } => {
            let asking = if *no_connect { list::Asking::Nobody } else { list::Asking::Everybody };
            list::run(&Toolbox::open(place, world)?.loaded, asking, *json)
        }
        McpCommand::Test { name, json, place } => test::run(&Toolbox::open(place, world)?.loaded, name, *json),
        McpCommand::Auth { name } => auth::sign(&here(world)?, name),
        McpCommand::Logout { name } => auth::forget(&here(world)?, name),
        McpCommand::Enable { name } => switch::run(&here(world)?, name, Switch::Enable),
        McpCommand::Disable { name } => switch::run(&here(world)?, name, Switch::Disable),
    }
}

/// The configuration of the project in the working directory.
fn here(world: &World) -> anyhow::Result<Loaded> {
    let project = world.cwd.canonicalize().context("the working directory is gone")?;
    let loaded = load(world, &LoadOptions { project, trust: TrustOverride::None, ..LoadOptions::default() });
    crate::log::learn_secrets(&loaded);
    Ok(loaded)
}

/// The settings file of a scope. In the home directory, the project's would be the user's.
fn file_of(loaded: &Loaded, scope: McpScope) -> anyhow::Result<PathBuf> {
    let own = loaded.paths.project_settings(&loaded.project.root);
    match scope {
        McpScope::User => Ok(loaded.paths.user_settings.clone()),
        McpScope::Project if own == loaded.paths.user_settings => {
            anyhow::bail!("in the home directory the settings are yours; say `--scope user`")
        }
        McpScope::Project => Ok(own),
    }
}
