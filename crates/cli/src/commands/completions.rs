//! `hookwright completions SHELL`: a script that asks this program for candidates, so that it completes the names of
//! present hooks, sessions, commands and settings. The candidates are here; clap has the protocol of each shell.
//!
//! A candidate ends up on a command line as it is, and a project names its own hooks: only names without a special
//! character of any shell are offered.

use std::io::Write;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use hookwright_agent::session::discover_custom_commands;
use hookwright_agent::transcript;
use hookwright_settings::{ConfigPaths, LoadOptions, LoadedConfig, ProcessEnv, config, load};

use crate::args::Cli;
use crate::{commands::hooks, exit, output};

/// The variable by which the script names its shell.
const COMPLETION_VARIABLE: &str = "HOOKWRIGHT_COMPLETE";

/// Prints the completion script of a shell.
pub(crate) fn print(shell: Shell) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let completer = shells.completer(&shell.to_string()).context("there are no completions for this shell")?;
    completer.write_registration(COMPLETION_VARIABLE, "hookwright", "hookwright", "hookwright", &mut script)?;
    output::stdout().write_all(&script)?;
    Ok(exit::OK)
}

/// Answers a completion script, if the environment says that one asks.
pub(crate) fn complete_if_requested(world: &ProcessEnv) -> Option<anyhow::Result<u8>> {
    let shell = world.var(COMPLETION_VARIABLE).filter(|shell| !shell.is_empty())?;
    Some(print_candidates(shell, world))
}

fn print_candidates(shell: &str, world: &ProcessEnv) -> anyhow::Result<u8> {
    let shells = Shells::builtins();
    let completer =
        shells.completer(shell).with_context(|| format!("{COMPLETION_VARIABLE} names no shell that is known"))?;
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
    let mut command = Cli::command();
    command.build();
    let mut found = Vec::new();
    completer.write_complete(&mut command, words, Some(&world.cwd), &mut found)?;
    output::stdout().write_all(&found)?;
    Ok(exit::OK)
}

fn value_candidates<I: IntoIterator<Item = String> + 'static>(find: fn() -> I) -> ArgValueCandidates {
    ArgValueCandidates::new(move || {
        let names = find().into_iter().filter(|name| is_shell_safe(name));
        names.map(CompletionCandidate::new).collect::<Vec<_>>()
    })
}

/// Whether a name is a plain word in every shell.
fn is_shell_safe(name: &str) -> bool {
    let fine = |char: char| char.is_ascii_alphanumeric() || "_-.:/@+".contains(char);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(fine)
}

fn load_configuration() -> LoadedConfig {
    let world = ProcessEnv::from_process();
    let project = world.cwd.canonicalize().unwrap_or_else(|_| world.cwd.clone());
    load(&world, &LoadOptions { project, ..LoadOptions::default() })
}

/// Candidates: the names of the configured hooks.
pub(crate) fn hook_names() -> ArgValueCandidates {
    value_candidates(|| {
        let mut names: Vec<String> =
            load_configuration().registry.hooks().iter().map(|hook| hook.id().to_owned()).collect();
        names.sort();
        names.dedup();
        names
    })
}

/// Candidates: earlier sessions of this project.
pub(crate) fn session_ids() -> ArgValueCandidates {
    value_candidates(|| {
        let world = ProcessEnv::from_process();
        let project = world.cwd.canonicalize().unwrap_or_else(|_| world.cwd.clone());
        let sessions = transcript::list_outlines(&ConfigPaths::new(&world).chats_dir(&project)).unwrap_or_default();
        std::iter::once("latest".to_owned()).chain(sessions.into_iter().map(|session| session.id)).collect::<Vec<_>>()
    })
}

/// Candidates: custom commands, with their slash.
pub(crate) fn command_names() -> ArgValueCandidates {
    value_candidates(|| {
        let loaded = load_configuration();
        let commands = discover_custom_commands(&loaded);
        commands.list.into_iter().map(|command| format!("/{}", command.name)).collect::<Vec<_>>()
    })
}

/// Candidates: the names of settings.
pub(crate) fn setting_names() -> ArgValueCandidates {
    value_candidates(config::setting_names)
}

/// Candidates: the examples that `hooks add` installs.
pub(crate) fn example_candidates() -> ArgValueCandidates {
    value_candidates(|| hooks::example_names().map(str::to_owned))
}

/// Candidates: the shipped packs.
pub(crate) fn pack_candidates() -> ArgValueCandidates {
    value_candidates(|| hooks::packs::shipped().iter().map(|pack| pack.name.to_string()))
}

#[cfg(test)]
mod tests {
    use super::is_shell_safe;

    #[test]
    fn only_shell_safe_names_are_offered() {
        for name in ["secret-scanner", "/git:commit", "latest", "model.name", "a_b@1.2"] {
            assert!(is_shell_safe(name), "{name}");
        }
        for name in
            ["", "-x", "a b", "$(x)", "`x`", "a;b", "a\nb", "a'b", "a\"b", "a\\b", "a|b", "*", "~x", "é", "a\u{b}b"]
        {
            assert!(!is_shell_safe(name), "{name:?}");
        }
    }
}
