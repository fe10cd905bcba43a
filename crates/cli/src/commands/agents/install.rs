//! `agents install` and `agents uninstall`: show the change, ask for consent, and make exactly that change.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use hookwright_bridge::Host;
use hookwright_bridge::install::HostTrust;
use hookwright_bridge::install::{
    EntryProgram, InstallPlan, InstallScope, InstallTarget, apply, confirmation_hint, load_wiring, plan_install,
    plan_uninstall, read_trust, targets_read_by,
};
use hookwright_settings::ProcessEnv;
use similar::TextDiff;

use super::own_program_path;
use crate::args::{AgentInstallArgs, ProjectArgs};
use crate::commands::extensions::install::obtain_consent;
use crate::exit;
use crate::output::{self, BAD, BOLD, DIM, GOOD, paint};

pub(super) fn install(place: &ProjectArgs, world: &ProcessEnv, args: &AgentInstallArgs) -> anyhow::Result<u8> {
    let (host, scope, project) = (args.agent, install_scope(place), place.directory(world)?);
    anyhow::ensure!(
        scope == InstallScope::Project || world.home.is_some(),
        "no home directory is known: HOME is not set"
    );
    let target = InstallTarget::locate(host, scope, world, &project);
    let caller = match scope {
        InstallScope::Project => EntryProgram::OnPath,
        InstallScope::User => {
            let own = own_program_path(world, &project)?;
            let text = own.to_str().context("the path of this program is not UTF-8, so settings can't contain it")?;
            EntryProgram::Absolute(text.to_owned())
        }
    };
    let plan = plan_install(&target, &caller)?;
    if plan.is_noop() {
        output::note(format!("{} has all entries already; nothing was changed", target.file.display()))?;
        return print_next_steps(&target, world);
    }
    print_plan(&plan)?;
    if args.dry_run {
        return Ok(exit::OK);
    }
    if !obtain_consent(args.yes.into(), &format!("write this into {}?", target.file.display()))? {
        return report_refusal("install", host);
    }
    apply(&plan)?;
    output::note(format!("{} now runs your hooks: {}", host.title(), target.file.display()))?;
    if scope == InstallScope::Project {
        output::note(
            "on a machine without hookwright, every call in this project is refused with a message that says why",
        )?;
    }
    print_next_steps(&target, world)
}

pub(super) fn uninstall(place: &ProjectArgs, world: &ProcessEnv, args: &AgentInstallArgs) -> anyhow::Result<u8> {
    let (host, scope, project) = (args.agent, install_scope(place), place.directory(world)?);
    let target = InstallTarget::locate(host, scope, world, &project);
    let plan = plan_uninstall(&target)?;
    if plan.is_noop() {
        output::note(format!("{} has no entry of Hookwright's; nothing was changed", target.file.display()))?;
        print_entries_elsewhere(host, scope, world, &project)?;
        return print_manual_steps(&target).map(|()| exit::OK);
    }
    print_plan(&plan)?;
    if args.dry_run {
        return Ok(exit::OK);
    }
    let what = if plan.new.is_some() { "remove this from" } else { "remove" };
    if !obtain_consent(args.yes.into(), &format!("{what} {}?", target.file.display()))? {
        return report_refusal("uninstall", host);
    }
    apply(&plan)?;
    match plan.new {
        Some(_) => output::note(format!("{}: Hookwright's entries are removed", target.file.display()))?,
        None => output::note(format!("{} is deleted: nothing else was in it", target.file.display()))?,
    }
    print_entries_elsewhere(host, scope, world, &project)?;
    print_manual_steps(&target)?;
    Ok(exit::OK)
}

fn install_scope(place: &ProjectArgs) -> InstallScope {
    if place.project.is_some() { InstallScope::Project } else { InstallScope::User }
}

/// Prints the change as a unified diff.
fn print_plan(plan: &InstallPlan) -> anyhow::Result<()> {
    let name = plan.target.file.display().to_string();
    let (old, new) = plan.texts();
    let diff = TextDiff::from_lines(old, new);
    let mut stdout = output::stdout();
    let text = diff.unified_diff().header(&name, if plan.new.is_some() { &name } else { "/dev/null" }).to_string();
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

fn report_refusal(verb: &str, host: Host) -> anyhow::Result<u8> {
    output::error(format!("{verb} for {}: not confirmed; nothing was changed", host.title()))?;
    output::hint("look at the change, then add --yes")?;
    Ok(exit::ERROR)
}

/// Prints the steps that are left to the user, and warnings, once the entries are written.
fn print_next_steps(target: &InstallTarget, world: &ProcessEnv) -> anyhow::Result<u8> {
    let Ok(found) = load_wiring(target) else { bail!("{} can't be read again", target.file.display()) };
    print_manual_steps(target)?;
    let trusted = read_trust(target, &found, world);
    if let Some(todo) = confirmation_hint(target.host, target.scope).filter(|_| trusted != HostTrust::Yes) {
        output::hint(format!("{todo}; Hookwright can't do that for you"))?;
    }
    let other = if target.scope == InstallScope::User { InstallScope::Project } else { InstallScope::User };
    let twin = InstallTarget::locate(target.host, other, world, &target.project);
    if load_wiring(&twin).is_ok_and(|wiring| wiring.has_entries()) {
        output::warn(format!("{} has entries as well: every hook runs twice here", twin.file.display()))?;
    }
    for borrowed in targets_read_by(target.host, world, &target.project) {
        if load_wiring(&borrowed).is_ok_and(|wiring| wiring.has_entries()) {
            let file = borrowed.file.display();
            output::note(format!(
                "{} may read {file} too; the bridge ignores the entries there, so no hook runs twice",
                target.host.title()
            ))?;
        }
    }
    output::hint(format!("`hookwright agents doctor {}` checks that it works", target.host))?;
    Ok(exit::OK)
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

/// Prints whether the other scope has entries as well.
fn print_entries_elsewhere(host: Host, scope: InstallScope, world: &ProcessEnv, project: &Path) -> anyhow::Result<()> {
    let (other, flag) = match scope {
        InstallScope::User => (InstallScope::Project, "--project"),
        InstallScope::Project => (InstallScope::User, "--user"),
    };
    let target = InstallTarget::locate(host, other, world, project);
    if load_wiring(&target).is_ok_and(|wiring| wiring.has_entries()) {
        output::hint(format!("{} has entries too: add {flag} to remove those", target.file.display()))?;
    }
    Ok(())
}
