//! `hookwright mcp …`: one file per command. The settings crate reads the declarations of servers, the tools
//! crate connects to them.

mod add;
mod auth;
mod list;
mod probe;
mod redaction;
mod remove;
mod switch;
mod test;

use std::path::PathBuf;

use anyhow::Context;
use hookwright_settings::edit::Switch;
use hookwright_settings::{LoadOptions, LoadedConfig, ProcessEnv};

use crate::args::{McpArgs, McpCommand, McpScopeArg};
use crate::commands::hooks::LoadedProject;

/// The hint for a folder that is not trusted.
const TRUST_FOLDER_HINT: &str = "trust the folder with `hookwright hooks trust --folder`";

/// Runs one of the `mcp` commands.
pub(crate) fn run(args: &McpArgs, world: &ProcessEnv) -> anyhow::Result<u8> {
    match &args.command {
        McpCommand::Add(server) => add::run(&load_project(world)?.loaded, server, world),
        McpCommand::Remove { name, scope } => remove::run(&load_project(world)?.loaded, name, *scope),
        McpCommand::List { no_connect, json, place } => {
            let asking = if *no_connect { list::ProbeMode::Skip } else { list::ProbeMode::All };
            list::run(&LoadedProject::open(place, world)?.loaded, asking, *json)
        }
        McpCommand::Test { name, json, place } => test::run(&LoadedProject::open(place, world)?.loaded, name, *json),
        McpCommand::Auth { name } => auth::run_sign_in(&load_project(world)?, name),
        McpCommand::Logout { name } => auth::run_sign_out(&load_project(world)?, name),
        McpCommand::Enable { name } => switch::run(&load_project(world)?.loaded, name, Switch::Enable),
        McpCommand::Disable { name } => switch::run(&load_project(world)?.loaded, name, Switch::Disable),
    }
}

/// Loads the configuration of the project in the working directory.
fn load_project(world: &ProcessEnv) -> anyhow::Result<LoadedProject> {
    let project = world.cwd.canonicalize().context("the working directory is gone")?;
    Ok(LoadedProject::load(LoadOptions { project, ..LoadOptions::default() }, world))
}

/// Returns the settings file of a scope. In the home directory the project's file would be the user's,
/// which is an error.
fn settings_file(loaded: &LoadedConfig, scope: McpScopeArg) -> anyhow::Result<PathBuf> {
    let own = loaded.paths.project_settings(&loaded.project.root);
    match scope {
        McpScopeArg::User => Ok(loaded.paths.user_settings.clone()),
        McpScopeArg::Project if own == loaded.paths.user_settings => {
            anyhow::bail!("in the home directory only user settings exist; add `--scope user`")
        }
        McpScopeArg::Project => Ok(own),
    }
}
