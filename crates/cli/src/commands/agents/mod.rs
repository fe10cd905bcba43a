//! `hookwright agents …`: other agents that call this program's hooks. One file per command; `detection.rs` finds the
//! agents, `trial_record.rs` stores the last live trial of each. `setup/` is `hookwright setup`, which does all of it.
//!
//! `hookwright_bridge::install` plans and writes the entries; the commands show the change, ask and explain.

mod coverage;
mod detection;
mod doctor;
mod explain;
mod guard_chain;
mod install;
mod list;
pub(crate) mod setup;
mod trace;
mod trial_record;

use std::path::PathBuf;

use anyhow::Context;
use hookwright_bridge::Host;
use hookwright_bridge::install::{
    EntryProgram, HostTrust, HostWiring, InstallScope, InstallTarget, load_wiring, read_trust,
};
use hookwright_settings::ProcessEnv;
use hookwright_settings::edit::EditError;

use crate::args::{AgentsArgs, AgentsCommand};
use crate::commands::hooks::LoadedProject;

/// Runs one of the `agents` commands.
pub(crate) fn run(args: &AgentsArgs, world: &ProcessEnv) -> anyhow::Result<u8> {
    let place = &args.place;
    match &args.command {
        None => list::run(&LoadedProject::open(place, world)?, world, args.json),
        Some(AgentsCommand::List { json }) => list::run(&LoadedProject::open(place, world)?, world, *json || args.json),
        Some(AgentsCommand::Install(install)) => install::install(place, world, install),
        Some(AgentsCommand::Uninstall(uninstall)) => install::uninstall(place, world, uninstall),
        Some(AgentsCommand::Explain { agent, hook, json }) => {
            explain::run(&LoadedProject::open(place, world)?, *agent, hook.as_deref(), *json)
        }
        Some(AgentsCommand::Doctor { agents, live, json }) => {
            doctor::run(&LoadedProject::open(place, world)?, world, &agents.hosts(), *live, *json)
        }
        Some(AgentsCommand::Trace(wanted)) => trace::run(wanted, world),
        Some(AgentsCommand::Coverage(wanted)) => coverage::run(wanted, world),
    }
}

/// Returns one line for each agent and scope with entries, for commands about hooks in general.
pub(crate) fn wired_agents_summary(world: &ProcessEnv, project: &std::path::Path) -> Vec<String> {
    let mut lines = Vec::new();
    for host in Host::all() {
        for state in AgentInstallState::inspect_all(host, world, project) {
            if state.has_entries() {
                let scope_text = match state.target.scope {
                    InstallScope::User => "for you",
                    InstallScope::Project => "for this project",
                    InstallScope::Machine => "for this machine",
                };
                lines.push(format!("{} ({scope_text}): {}", host.title(), state.label()));
            }
        }
    }
    lines
}

/// The entries in an agent's settings file, and whether the agent trusts them.
struct AgentInstallState {
    target: InstallTarget,
    wiring: Result<HostWiring, EditError>,
    trust: HostTrust,
}

impl AgentInstallState {
    fn inspect(target: InstallTarget, world: &ProcessEnv) -> AgentInstallState {
        let wiring = load_wiring(&target);
        let trust = wiring.as_ref().map_or(HostTrust::Unknown, |wiring| read_trust(&target, wiring, world));
        AgentInstallState { target, wiring, trust }
    }

    /// Inspects the entries of every scope.
    fn inspect_all(host: Host, world: &ProcessEnv, project: &std::path::Path) -> Vec<AgentInstallState> {
        let scopes = [InstallScope::User, InstallScope::Project, InstallScope::Machine].into_iter();
        let targets = scopes.filter_map(|scope| InstallTarget::locate(host, scope, world, project));
        targets.map(|target| AgentInstallState::inspect(target, world)).collect()
    }

    fn has_entries(&self) -> bool {
        self.wiring.as_ref().is_ok_and(HostWiring::has_entries)
    }

    /// Returns the state of the entries in a word or two.
    fn label(&self) -> &'static str {
        match &self.wiring {
            Err(_) => "unreadable",
            Ok(wiring) if !wiring.has_entries() => "no",
            Ok(wiring) if wiring.entries.iter().all(|found| !found.call.installed) => "by hand",
            Ok(wiring) if !wiring.missing.is_empty() => "partly",
            Ok(wiring) if !wiring.outdated.is_empty() => "outdated",
            Ok(_) => "wired",
        }
    }
}

/// Whether the program that an entry calls is this one.
pub(crate) fn is_this_program(program: &str, world: &ProcessEnv, project: &std::path::Path) -> bool {
    let called = match EntryProgram::from_command(program) {
        EntryProgram::Absolute(path) => Some(PathBuf::from(path)),
        EntryProgram::OnPath => detection::find_on_search_path(world, project, "hookwright"),
    };
    let own = std::env::current_exe().and_then(|own| own.canonicalize());
    match (called.map(|path| path.canonicalize()), own) {
        (Some(Ok(called)), Ok(own)) => called == own,
        _ => false,
    }
}

/// Returns the path of this program for settings that call it.
///
/// Where the search path leads to the same program, that path is returned: it stays the same when
/// the program is updated.
fn own_program_path(world: &ProcessEnv, project: &std::path::Path) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("this program can't find itself")?;
    let real = own.canonicalize().unwrap_or_else(|_| own.clone());
    let same = detection::find_on_search_path(world, project, "hookwright")
        .filter(|found| found.canonicalize().ok().as_ref() == Some(&real));
    Ok(same.unwrap_or(own))
}
