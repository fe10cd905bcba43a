//! `agents install` and `agents uninstall`: the change is shown, somebody agrees, and that change is made.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use hookwright_bridge::Host;
use hookwright_bridge::install::Trust;
use hookwright_bridge::install::{
    Caller, Plan, Scope, Target, apply, plan_install, plan_uninstall, targets_read_by, to_confirm, trust, wiring,
};
use hookwright_settings::World;
use similar::TextDiff;

use super::own_path;
use crate::args::{InstallAgent, Place};
use crate::exit;
use crate::extensions::install::is_agreed;
use crate::out::{self, BAD, BOLD, DIM, GOOD, paint};

pub(super) fn install(place: &Place, world: &World, args: &InstallAgent) -> anyhow::Result<u8> {
    let (host, scope, project) = (args.agent, scope(place), place.directory(world)?);
    anyhow::ensure!(scope == Scope::Project || world.home.is_some(), "there is no home directory: HOME is not set");
    let target = Target::locate(host, scope, world, &project);
    let caller = match scope {
        Scope::Project => Caller::OnPath,
        Scope::User => {
            let own = own_path(world, &project)?;
            let text = own.to_str().context("this program's path is not UTF-8, so no settings can name it")?;
            Caller::At(text.to_owned())
        }
    };
    let plan = plan_install(&target, &caller)?;
    if plan.is_nothing() {
        out::note(format!("{} has every entry already; nothing was changed", target.file.display()))?;
        return said(&target, world);
    }
    show(&plan)?;
    if args.dry_run {
        return Ok(exit::OK);
    }
    if !is_agreed(args.yes.into(), &format!("write this into {}?", target.file.display()))? {
        return refused("install", host);
    }
    apply(&plan)?;
    out::note(format!("{} asks Hookwright now: {}", host.title(), target.file.display()))?;
    if scope == Scope::Project {
        out::note("whoever works on this project without hookwright is refused every call, with words that say so")?;
    }
    said(&target, world)
}

pub(super) fn uninstall(place: &Place, world: &World, args: &InstallAgent) -> anyhow::Result<u8> {
    let (host, scope, project) = (args.agent, scope(place), place.directory(world)?);
    let target = Target::locate(host, scope, world, &project);
    let plan = plan_uninstall(&target)?;
    if plan.is_nothing() {
        out::note(format!("{} has no entry of ours; nothing was changed", target.file.display()))?;
        elsewhere(host, scope, world, &project)?;
        return by_hand(&target).map(|()| exit::OK);
    }
    show(&plan)?;
    if args.dry_run {
        return Ok(exit::OK);
    }
    let what = if plan.new.is_some() { "take this out of" } else { "remove" };
    if !is_agreed(args.yes.into(), &format!("{what} {}?", target.file.display()))? {
        return refused("uninstall", host);
    }
    apply(&plan)?;
    match plan.new {
        Some(_) => out::note(format!("{} has no entry of ours any more", target.file.display()))?,
        None => out::note(format!("{} is removed: nothing else was in it", target.file.display()))?,
    }
    elsewhere(host, scope, world, &project)?;
    by_hand(&target)?;
    Ok(exit::OK)
}

fn scope(place: &Place) -> Scope {
    if place.project.is_some() { Scope::Project } else { Scope::User }
}

/// The change, line by line.
fn show(plan: &Plan) -> anyhow::Result<()> {
    let name = plan.target.file.display().to_string();
    let (old, new) = plan.texts();
    let diff = TextDiff::from_lines(old, new);
    let mut stdout = out::stdout();
    let text = diff.unified_diff().header(&name, if plan.new.is_some() { &name } else { "/dev/null" }).to_string();
    for line in text.lines() {
        let style = match line.as_bytes().first() {
            _ if line.starts_with("---") || line.starts_with("+++") => BOLD,
            Some(b'+') => GOOD,
            Some(b'-') => BAD,
            Some(b'@') => DIM,
            _ => out::PLAIN,
        };
        writeln!(stdout, "{}", paint(style, line))?;
    }
    Ok(())
}

fn refused(verb: &str, host: Host) -> anyhow::Result<u8> {
    out::error(format!("nobody has agreed to {verb} this for {}; nothing was changed", host.title()))?;
    out::hint("look at the change, then say --yes")?;
    Ok(exit::ERROR)
}

/// What is left to do, and what should be known, once the entries are there.
fn said(target: &Target, world: &World) -> anyhow::Result<u8> {
    let Ok(found) = wiring(target) else { bail!("{} can't be read again", target.file.display()) };
    by_hand(target)?;
    let trusted = trust(target, &found, world);
    if let Some(todo) = to_confirm(target.host, target.scope).filter(|_| trusted != Trust::Yes) {
        out::hint(format!("{todo}; Hookwright never does that for you"))?;
    }
    let other = if target.scope == Scope::User { Scope::Project } else { Scope::User };
    let twin = Target::locate(target.host, other, world, &target.project);
    if wiring(&twin).is_ok_and(|wiring| wiring.is_any()) {
        out::warn(format!("{} has entries as well: every hook runs twice here", twin.file.display()))?;
    }
    for borrowed in targets_read_by(target.host, world, &target.project) {
        if wiring(&borrowed).is_ok_and(|wiring| wiring.is_any()) {
            let file = borrowed.file.display();
            out::note(format!("{} may read {file} too; the bridge stands down there", target.host.title()))?;
        }
    }
    out::hint(format!("`hookwright agents doctor {}` checks that it works", target.host))?;
    Ok(exit::OK)
}

fn by_hand(target: &Target) -> anyhow::Result<()> {
    let Ok(found) = wiring(target) else { return Ok(()) };
    let events: Vec<&str> = found.by_hand().map(|found| found.event.as_str()).collect();
    if !events.is_empty() {
        let events = events.join(", ");
        out::warn(format!(
            "{}: somebody wrote entries by hand, which stay as they are: {events}",
            target.file.display()
        ))?;
    }
    Ok(())
}

/// Says where else entries are.
fn elsewhere(host: Host, scope: Scope, world: &World, project: &Path) -> anyhow::Result<()> {
    let (other, flag) = match scope {
        Scope::User => (Scope::Project, "--project"),
        Scope::Project => (Scope::User, "--user"),
    };
    let target = Target::locate(host, other, world, project);
    if wiring(&target).is_ok_and(|wiring| wiring.is_any()) {
        out::hint(format!("{} has entries too: say {flag} for those", target.file.display()))?;
    }
    Ok(())
}
