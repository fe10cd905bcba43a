//! `hookwright agents …`: other agents that ask this program's hooks. One file per command; `found.rs` looks for the agents,
//! `record.rs` remembers what was verified.
//!
//! What is written where is `hookwright_bridge::install`; here it is shown, asked about, and explained.

mod doctor;
mod explain;
mod found;
mod install;
mod list;
mod record;
mod trace;

use std::path::PathBuf;

use anyhow::Context;
use hookwright_bridge::Host;
use hookwright_bridge::install::{Caller, Scope, Target, Trust, Wiring, trust, wiring};
use hookwright_settings::World;
use hookwright_settings::edit::EditError;

use crate::args::{AgentsArgs, AgentsCommand};
use crate::hooks::Toolbox;

/// Runs one of the commands.
pub(crate) fn run(args: &AgentsArgs, world: &World) -> anyhow::Result<u8> {
    let place = &args.place;
    match &args.command {
        None => list::run(&place.directory(world)?, world, args.json),
        Some(AgentsCommand::List { json }) => list::run(&place.directory(world)?, world, *json || args.json),
        Some(AgentsCommand::Install(install)) => install::install(place, world, install),
        Some(AgentsCommand::Uninstall(uninstall)) => install::uninstall(place, world, uninstall),
        Some(AgentsCommand::Explain { agent, hook, json }) => {
            explain::run(&Toolbox::open(place, world)?, *agent, hook.as_deref(), *json)
        }
        Some(AgentsCommand::Doctor { agent, live, json }) => {
            doctor::run(&Toolbox::open(place, world)?, world, *agent, *live, *json)
        }
        Some(AgentsCommand::Trace(wanted)) => trace::run(wanted, world),
    }
}

/// The agents that ask this program, here or anywhere, in a line; for those who look at hooks in general.
pub(crate) fn wired_in_words(world: &World, project: &std::path::Path) -> Vec<String> {
    let mut lines = Vec::new();
    for host in Host::all() {
        for scope in [Scope::User, Scope::Project] {
            let state = State::of(host, scope, world, project);
            if state.is_any() {
                let whose = if scope == Scope::User { "for you" } else { "for this project" };
                lines.push(format!("{} ({whose}): {}", host.title(), state.word()));
            }
        }
    }
    lines
}

/// How a host's file stands, and whether the host trusts it.
struct State {
    target: Target,
    wiring: Result<Wiring, EditError>,
    trust: Trust,
}

impl State {
    fn of(host: Host, scope: Scope, world: &World, project: &std::path::Path) -> State {
        let target = Target::locate(host, scope, world, project);
        let wiring = wiring(&target);
        let trust = wiring.as_ref().map_or(Trust::Unknown, |wiring| trust(&target, wiring, world));
        State { target, wiring, trust }
    }

    fn is_any(&self) -> bool {
        self.wiring.as_ref().is_ok_and(Wiring::is_any)
    }

    /// How it stands, in a word or two.
    fn word(&self) -> &'static str {
        match &self.wiring {
            Err(_) => "unreadable",
            Ok(wiring) if !wiring.is_any() => "no",
            Ok(wiring) if wiring.found.iter().all(|found| !found.call.installed) => "by hand",
            Ok(wiring) if !wiring.missing.is_empty() => "partly",
            Ok(wiring) if !wiring.outdated.is_empty() => "outdated",
            Ok(_) => "wired",
        }
    }
}

/// Whether the program that an entry calls is this one.
pub(crate) fn is_this_program(program: &str, world: &World, project: &std::path::Path) -> bool {
    let called = match Caller::of(program) {
        Caller::At(path) => Some(PathBuf::from(path)),
        Caller::OnPath => found::search(world, project, "hookwright"),
    };
    let own = std::env::current_exe().and_then(|own| own.canonicalize());
    match (called.map(|path| path.canonicalize()), own) {
        (Some(Ok(called)), Ok(own)) => called == own,
        _ => false,
    }
}

/// This program's own path, for settings that call it. Where the search path leads to the same program, as that says: it
/// stays the same when the program is updated.
fn own_path(world: &World, project: &std::path::Path) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("this program can't find itself")?;
    let real = own.canonicalize().unwrap_or_else(|_| own.clone());
    let same =
        found::search(world, project, "hookwright").filter(|found| found.canonicalize().ok().as_ref() == Some(&real));
    Ok(same.unwrap_or(own))
}
