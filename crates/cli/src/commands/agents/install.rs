//! `agents install` and `agents uninstall`: say what will change, ask for consent, and make exactly that change. Several
//! agents are one question.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use hookwright_bridge::Host;
use hookwright_bridge::install::{
    EntryProgram, HostTrust, InstallPlan, InstallScope, InstallTarget, apply, confirmation_hint, load_wiring,
    plan_install, plan_uninstall, read_trust, targets_read_by,
};
use hookwright_settings::ProcessEnv;
use similar::TextDiff;

use super::guard_chain::{NO_GUARD_HINT, NO_GUARD_TEXT, armed_guards};
use super::{AgentInstallState, detection, own_program_path};
use crate::args::{AgentInstallArgs, ProjectArgs};
use crate::commands::hooks::LoadedProject;
use crate::commands::prompt;
use crate::exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, paint};

/// What is done with the entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InstallVerb {
    Install,
    Uninstall,
}

impl InstallVerb {
    fn as_str(self) -> &'static str {
        match self {
            InstallVerb::Install => "install",
            InstallVerb::Uninstall => "uninstall",
        }
    }
}

pub(super) fn install(place: &ProjectArgs, world: &ProcessEnv, args: &AgentInstallArgs) -> anyhow::Result<u8> {
    let (scope, project) = (install_scope(place, args), place.directory(world)?);
    anyhow::ensure!(scope != InstallScope::User || world.home.is_some(), "no home directory is known: HOME is not set");
    let caller = entry_program(scope, world, &project)?;
    let hosts = match args.hosts() {
        Some(hosts) => hosts,
        None => present_hosts(world, &project, scope)?,
    };
    let targets = targets(&hosts, scope, world, &project, InstallVerb::Install)?;
    let mut plans = Vec::new();
    for target in &targets {
        plans.push(plan_install(target, &caller)?);
    }
    if !confirm_plans(&plans, args, InstallVerb::Install, world)? {
        return Ok(if args.dry_run { exit::OK } else { exit::ERROR });
    }
    for plan in &plans {
        let (title, file) = (plan.target.host.title(), plan.target.file.display());
        match plan.is_noop() {
            true => output::note(format!("{file} has all entries already; nothing was changed"))?,
            false => {
                apply(plan)?;
                output::note(format!("{title} now runs your hooks: {file}"))?;
            }
        }
    }
    if scope == InstallScope::Project && plans.iter().any(|plan| !plan.is_noop()) {
        output::note(
            "on a machine without hookwright, every call in this project is refused with a message that says why",
        )?;
    }
    if scope == InstallScope::Machine {
        warn_of_private_program(&caller, world)?;
    }
    print_next_steps(&targets, &LoadedProject::open(place, world)?, world)
}

pub(super) fn uninstall(place: &ProjectArgs, world: &ProcessEnv, args: &AgentInstallArgs) -> anyhow::Result<u8> {
    let (scope, project) = (install_scope(place, args), place.directory(world)?);
    let hosts = match args.hosts() {
        Some(hosts) => hosts,
        None => {
            let has_entries = |host: &Host| {
                let states = AgentInstallState::inspect_all(*host, world, &project);
                states.iter().any(|state| state.target.scope == scope && state.has_entries())
            };
            Host::all().filter(has_entries).collect()
        }
    };
    if hosts.is_empty() {
        output::note(format!("{} settings of no agent have an entry of Hookwright's", scope.owner()))?;
        return Ok(exit::OK);
    }
    let targets = targets(&hosts, scope, world, &project, InstallVerb::Uninstall)?;
    let mut plans = Vec::new();
    for target in &targets {
        plans.push(plan_uninstall(target)?);
    }
    if !confirm_plans(&plans, args, InstallVerb::Uninstall, world)? {
        return Ok(if args.dry_run { exit::OK } else { exit::ERROR });
    }
    for plan in &plans {
        let file = plan.target.file.display();
        match &plan.new {
            _ if plan.is_noop() => {
                output::note(format!("{file} has no entry of Hookwright's; nothing was changed"))?;
            }
            Some(_) => {
                apply(plan)?;
                output::note(format!("{file}: Hookwright's entries are removed"))?;
            }
            None => {
                apply(plan)?;
                output::note(format!("{file} is deleted: nothing else was in it"))?;
            }
        }
        print_entries_elsewhere(&plan.target, world)?;
        print_manual_steps(&plan.target)?;
    }
    Ok(exit::OK)
}

fn install_scope(place: &ProjectArgs, args: &AgentInstallArgs) -> InstallScope {
    match place.project {
        _ if args.machine => InstallScope::Machine,
        Some(_) => InstallScope::Project,
        None => InstallScope::User,
    }
}

/// Returns how entries of that scope call this program.
pub(super) fn entry_program(scope: InstallScope, world: &ProcessEnv, project: &Path) -> anyhow::Result<EntryProgram> {
    match scope {
        InstallScope::Project => Ok(EntryProgram::OnPath),
        InstallScope::User | InstallScope::Machine => {
            let own = own_program_path(world, project)?;
            let text = own.to_str().context("the path of this program is not UTF-8, so settings can't contain it")?;
            Ok(EntryProgram::Absolute(text.to_owned()))
        }
    }
}

/// Returns the agents on this machine that have settings of that scope.
fn present_hosts(world: &ProcessEnv, project: &Path, scope: InstallScope) -> anyhow::Result<Vec<Host>> {
    let hosts: Vec<Host> = Host::all().collect();
    let found = detection::find_agents(&hosts, world, project).into_iter().filter(|agent| agent.is_present());
    let has_place = |host: &Host| InstallTarget::locate(*host, scope, world, project).is_some();
    let (with_place, without): (Vec<Host>, Vec<Host>) = found.map(|agent| agent.host).partition(has_place);
    for host in without {
        output::note(format!("{}: left out: {}", host.title(), no_machine_place(host)))?;
    }
    anyhow::ensure!(!with_place.is_empty(), "no agent was found on this machine");
    Ok(with_place)
}

pub(super) fn no_machine_place(host: Host) -> String {
    format!("{} documents no settings of the machine that its users can't switch off", host.title())
}

/// Returns the settings files of these agents.
fn targets(
    hosts: &[Host],
    scope: InstallScope,
    world: &ProcessEnv,
    project: &Path,
    verb: InstallVerb,
) -> anyhow::Result<Vec<InstallTarget>> {
    let mut targets = Vec::new();
    for host in hosts {
        match InstallTarget::locate(*host, scope, world, project) {
            Some(target) => targets.push(target),
            None => bail!("{} {host} --machine: {}", verb.as_str(), no_machine_place(*host)),
        }
    }
    Ok(targets)
}

/// Says what will change, shows it on request, and asks; returns whether the change is to be made.
fn confirm_plans(
    plans: &[InstallPlan],
    args: &AgentInstallArgs,
    verb: InstallVerb,
    world: &ProcessEnv,
) -> anyhow::Result<bool> {
    let changes: Vec<&InstallPlan> = plans.iter().filter(|plan| !plan.is_noop()).collect();
    if changes.is_empty() {
        return Ok(true);
    }
    let mut stdout = output::stdout();
    for plan in &changes {
        writeln!(stdout, "{}", summary_line(plan, verb, world))?;
    }
    if args.diff || args.dry_run {
        changes.iter().try_for_each(|plan| print_diff(plan))?;
    }
    if args.dry_run || args.yes {
        return Ok(args.yes && !args.dry_run);
    }
    let question = match verb {
        InstallVerb::Install => "write this? [y/N, d shows the diff] ",
        InstallVerb::Uninstall => "remove this? [y/N, d shows the diff] ",
    };
    loop {
        let answer = prompt::ask(question)?.unwrap_or_default();
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(true),
            "d" | "diff" => changes.iter().try_for_each(|plan| print_diff(plan))?,
            _ => {
                let titles: Vec<&str> = changes.iter().map(|plan| plan.target.host.title()).collect();
                let (verb, titles) = (verb.as_str(), titles.join(", "));
                output::error(format!("{verb} for {titles}: not confirmed; nothing was changed"))?;
                output::hint("look at the change with --dry-run, then add --yes")?;
                return Ok(false);
            }
        }
    }
}

/// Describes a change in a line: `Claude Code: 11 entries in ~/.claude/settings.json`.
pub(super) fn summary_line(plan: &InstallPlan, verb: InstallVerb, world: &ProcessEnv) -> String {
    let count = |text: Option<&str>| {
        let wiring = hookwright_bridge::install::read_wiring(&plan.target, text.unwrap_or_default());
        wiring.map_or(0, |wiring| wiring.entries.iter().filter(|entry| entry.call.installed).count())
    };
    let file = display_path(&plan.target.file, world);
    let title = plan.target.host.title();
    match (verb, plan.new.as_deref()) {
        (InstallVerb::Install, new) => {
            let (old, new) = (count(plan.old.as_deref()), count(new));
            let instead = if old > 0 { format!(", instead of {old}") } else { String::new() };
            format!("{title}: {new} entries in {file}{instead}")
        }
        (InstallVerb::Uninstall, Some(_)) => {
            format!("{title}: {} entries are removed from {file}", count(plan.old.as_deref()))
        }
        (InstallVerb::Uninstall, None) => format!("{title}: {file} is deleted, which has nothing else in it"),
    }
}

/// Formats a path, relative to the user's home if it is inside.
pub(super) fn display_path(path: &Path, world: &ProcessEnv) -> String {
    let in_home = world.home.as_deref().and_then(|home| path.strip_prefix(home).ok());
    in_home.map_or_else(|| path.display().to_string(), |rest| format!("~/{}", rest.display()))
}

/// Prints the change as a unified diff.
fn print_diff(plan: &InstallPlan) -> anyhow::Result<()> {
    print_text_diff(&plan.target.file, plan.old.as_deref(), plan.new.as_deref())
}

/// Prints the change of a file as a unified diff; a file that is missing has no text.
pub(super) fn print_text_diff(file: &Path, old: Option<&str>, new: Option<&str>) -> anyhow::Result<()> {
    let name = file.display().to_string();
    let diff = TextDiff::from_lines(old.unwrap_or_default(), new.unwrap_or_default());
    let mut stdout = output::stdout();
    let text = diff.unified_diff().header(&name, if new.is_some() { &name } else { "/dev/null" }).to_string();
    for line in text.lines() {
        let style = match line.as_bytes().first() {
            _ if line.starts_with("---") || line.starts_with("+++") => BOLD,
            Some(b'+') => GOOD,
            Some(b'-') => BAD,
            Some(b'@') => DIM,
            _ => output::PLAIN,
        };
        writeln!(stdout, "{}", paint(style, line))?;
    }
    Ok(())
}

/// Warns if the machine's entries call a program that other users may not reach.
pub(super) fn warn_of_private_program(caller: &EntryProgram, world: &ProcessEnv) -> anyhow::Result<()> {
    let program = Path::new(caller.as_command());
    if world.home.as_deref().is_some_and(|home| home != Path::new("/") && program.starts_with(home)) {
        output::warn(format!("the entries call {}, which is in your home", program.display()))?;
        output::hint("other users may not be able to run it: then every call of theirs is refused")?;
    }
    Ok(())
}

/// Prints the steps that are left to the user, and warnings, once the entries are written.
fn print_next_steps(targets: &[InstallTarget], toolbox: &LoadedProject, world: &ProcessEnv) -> anyhow::Result<u8> {
    for target in targets {
        print_steps_of_agent(target, world)?;
    }
    if armed_guards(toolbox).is_empty() {
        output::note(NO_GUARD_TEXT)?;
        output::hint(NO_GUARD_HINT)?;
    }
    let names: Vec<&str> = targets.iter().map(|target| target.host.name()).collect();
    output::hint(format!("`hookwright agents doctor {}` checks that it works; `--live` tries it", names.join(" ")))?;
    Ok(exit::OK)
}

fn print_steps_of_agent(target: &InstallTarget, world: &ProcessEnv) -> anyhow::Result<()> {
    let Ok(found) = load_wiring(target) else { bail!("{} can't be read again", target.file.display()) };
    let (host, project) = (target.host, &target.project);
    print_manual_steps(target)?;
    let agent = detection::detect_agents(&[host], world, project)?.remove(0);
    if let Some((version, why)) =
        agent.version.and_then(|version| Some((version.clone(), host.unguarded_version(&version)?)))
    {
        output::warn(format!("{} {version} is not guarded: {why}", host.title()))?;
    }
    let trusted = read_trust(target, &found, world);
    if let Some(todo) = confirmation_hint(host, target.scope).filter(|_| trusted != HostTrust::Yes) {
        output::hint(format!("{todo}; Hookwright can't do that for you"))?;
    }
    for twin in targets_of_other_scopes(target, world) {
        output::warn(format!("{} has entries as well: every hook runs twice here", twin.file.display()))?;
    }
    for borrowed in targets_read_by(host, world, project) {
        if load_wiring(&borrowed).is_ok_and(|wiring| wiring.has_entries()) {
            let file = borrowed.file.display();
            output::note(format!(
                "{} may read {file} too; the bridge ignores the entries there, so no hook runs twice",
                host.title()
            ))?;
        }
    }
    Ok(())
}

fn print_manual_steps(target: &InstallTarget) -> anyhow::Result<()> {
    let Ok(found) = load_wiring(target) else { return Ok(()) };
    let events: Vec<&str> = found.handwritten().map(|found| found.event.as_str()).collect();
    if !events.is_empty() {
        let events = events.join(", ");
        output::warn(format!("{}: entries written by hand are kept as they are: {events}", target.file.display()))?;
    }
    Ok(())
}

/// Returns the files of the agent's other scopes that have entries.
fn targets_of_other_scopes(target: &InstallTarget, world: &ProcessEnv) -> Vec<InstallTarget> {
    let states = AgentInstallState::inspect_all(target.host, world, &target.project).into_iter();
    states.filter(|state| state.target.scope != target.scope && state.has_entries()).map(|state| state.target).collect()
}

/// Prints whether other scopes have entries as well.
fn print_entries_elsewhere(target: &InstallTarget, world: &ProcessEnv) -> anyhow::Result<()> {
    for other in targets_of_other_scopes(target, world) {
        let flag = other.scope.as_str();
        output::hint(format!("{} has entries too: add --{flag} to remove those", other.file.display()))?;
    }
    Ok(())
}
