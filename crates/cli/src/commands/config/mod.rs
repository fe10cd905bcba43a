//! `hookwright config get|set|unset|edit|path`: settings by name, and the files that they are in. The settings crate
//! decides which values may be written.

mod edit;
mod get;
mod set;

use std::io::Write;
use std::path::PathBuf;

use hookwright_hooks::Source;
use hookwright_settings::{LoadedConfig, ProcessEnv, SettingsFileState};

use crate::args::{ConfigCommand, ProjectCommand, ScopeArg};
use crate::commands::hooks::LoadedProject;
use crate::exit;
use crate::output::{self, BOLD, DIM, paint};

/// Runs one of the `config` commands.
pub(crate) fn run(args: &ProjectCommand<ConfigCommand>, world: &ProcessEnv) -> anyhow::Result<u8> {
    let loaded = LoadedProject::open(&args.place, world)?.config.loaded;
    match &args.command {
        ConfigCommand::Get { key, all, json } => get::run(&loaded, key.as_deref(), *all, *json),
        ConfigCommand::Set { key, value, scope } => set::set(&loaded, *scope, key, value),
        ConfigCommand::Unset { key, scope } => set::unset(&loaded, *scope, key),
        ConfigCommand::Edit { scope } => edit::run(&loaded, *scope, world),
        ConfigCommand::Path { scope } => print_paths(&loaded, *scope),
    }
}

/// Returns the settings file of a scope, and its source.
fn settings_target(loaded: &LoadedConfig, scope: ScopeArg) -> (PathBuf, Source) {
    match scope {
        ScopeArg::User => (loaded.paths.user_settings.clone(), Source::User),
        ScopeArg::Workspace => (loaded.paths.project_settings(&loaded.project.root), Source::Project),
    }
}

/// Warns when the changed file is not in effect because the folder is not trusted.
fn warn_if_untrusted(loaded: &LoadedConfig, source: &Source) -> anyhow::Result<()> {
    if *source == Source::Project && !loaded.project.trust.is_trusted() {
        output::warn("this folder is not trusted, so its settings have no effect")?;
        output::hint("trust it with `hookwright hooks trust --folder`")?;
    }
    Ok(())
}

/// Prints the path of one scope's settings file, or all of them with their state.
fn print_paths(loaded: &LoadedConfig, scope: Option<ScopeArg>) -> anyhow::Result<u8> {
    let mut stdout = output::stdout();
    if let Some(scope) = scope {
        writeln!(stdout, "{}", settings_target(loaded, scope).0.display())?;
        return Ok(exit::OK);
    }
    for file in &loaded.files {
        let state = match file.state {
            SettingsFileState::Loaded => "",
            SettingsFileState::Missing => "not there",
            SettingsFileState::Untrusted => "no effect: this folder is not trusted",
            SettingsFileState::Broken => "can't be read",
        };
        let state = if state.is_empty() { String::new() } else { format!("  ({state})") };
        let source = paint(BOLD, format!("{:<10}", file.source.to_string()));
        writeln!(stdout, "{source} {}{}", file.path.display(), paint(DIM, state))?;
    }
    Ok(exit::OK)
}
