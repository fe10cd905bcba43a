//! `hooks trust`: what is new or changed among the project's hooks, and the user's word that it is fine.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use hookwright_settings::trust::{
    FolderRule, PendingChange, all_pending, set_folder_trust, trust_changes, trust_hooks,
};
use hookwright_settings::{FileState, Finding, Review, remember_offers};

use super::Toolbox;
use crate::exit;
use crate::out::{self, BOLD, paint};

pub(crate) fn run(toolbox: &Toolbox, name: Option<&str>, all: bool, folder: bool) -> anyhow::Result<u8> {
    let root = &toolbox.loaded.project.root;
    if folder {
        set_folder_trust(&toolbox.loaded.paths, root, FolderRule::TrustFolder)?;
        // What is listed here needs no announcement later.
        crate::tui::trust::offers(&toolbox.loaded).iter().try_for_each(out::note)?;
        remember_offers(&toolbox.loaded)?;
        out::note(format!("{} is trusted now; its settings and hooks are loaded", root.display()))?;
        return Ok(exit::OK);
    }
    let changes = all_pending(&toolbox.loaded.paths, root, toolbox.loaded.guard_files(&[]));
    if all && !changes.is_empty() {
        trust_changes(root, &changes.iter().collect::<Vec<_>>())?;
        for change in &changes {
            out::note(format!("{}, as an agent left it, is trusted now", short(root, change)))?;
        }
    }
    if toolbox.loaded.files.iter().any(|file| file.state == FileState::Untrusted) {
        out::warn(format!("{} is not trusted, so its hooks are not loaded", root.display()))?;
        crate::tui::trust::offers(&toolbox.loaded).iter().try_for_each(out::note)?;
        out::hint("look at `.gemini/settings.json`, then run `hookwright hooks trust --folder`")?;
        if name.is_none() && !all {
            return Ok(exit::ERROR);
        }
        bail!("trust the folder first");
    }
    let reviews = &toolbox.loaded.reviews;
    let chosen: Vec<&Review> = match name {
        Some(name) => reviews.iter().filter(|review| review.hook.id() == name).collect(),
        None if all => reviews.iter().collect(),
        None => return show(root, &changes, reviews),
    };
    let own = name.map_or(Ok(0), |name| trust_own_files(toolbox, name, &changes))?;
    if chosen.is_empty() && (own > 0 || all && !changes.is_empty()) {
        return Ok(exit::OK);
    }
    if chosen.is_empty() {
        return nothing_to_trust(toolbox, name);
    }
    trust_hooks(&toolbox.loaded.paths, chosen.iter().copied())?;
    if all {
        // The record that was just written is one of the files that count.
        trust_changes(root, &changes.iter().collect::<Vec<_>>())?;
    }
    for review in &chosen {
        let name = review.hook.id();
        out::note(match review.finding {
            Finding::SwitchOff => format!("hook `{name}` is off in this project now, as its settings say"),
            Finding::New | Finding::Changed { .. } => {
                format!("hook `{name}` on {} is trusted now", review.hook.event)
            }
        })?;
    }
    Ok(exit::OK)
}

/// Trusts what agents changed of the files that a hook runs; how many. Settings hold more than one hook.
fn trust_own_files(toolbox: &Toolbox, name: &str, changes: &[PendingChange]) -> anyhow::Result<usize> {
    let (root, hooks) = (&toolbox.loaded.project.root, toolbox.loaded.registry.hooks());
    let named: Vec<_> = hooks.iter().filter(|hook| hook.id() == name).collect();
    let files: Vec<_> = named.iter().flat_map(|hook| toolbox.loaded.guard_files_of(hook)).collect();
    let own: Vec<&PendingChange> =
        changes.iter().filter(|change| files.iter().any(|(_, path)| *path == change.file.path)).collect();
    trust_changes(root, &own)?;
    for change in &own {
        out::note(format!("{}, as an agent left it, is trusted now", short(root, change)))?;
    }
    let holds_it = |change: &&PendingChange| {
        named.iter().any(|hook| hook.place.as_ref().is_some_and(|place| *place.file == *change.file.path))
    };
    if let Some(settings) = changes.iter().find(holds_it) {
        let file = short(root, settings);
        bail!(
            "{file} was changed by an agent and holds more than this hook; `hookwright hooks trust` shows it, `--all` trusts it"
        );
    }
    Ok(own.len())
}

fn nothing_to_trust(toolbox: &Toolbox, name: Option<&str>) -> anyhow::Result<u8> {
    match name {
        Some(name) if !toolbox.loaded.registry.hooks().iter().any(|hook| hook.id() == name) => {
            return Err(toolbox.no_hook(name));
        }
        Some(name) => out::note(format!("hook `{name}` is trusted already"))?,
        None => out::note("every hook is trusted already")?,
    }
    Ok(exit::OK)
}

fn short(root: &Path, change: &PendingChange) -> String {
    let path = &change.file.path;
    out::one_line(&path.strip_prefix(root).unwrap_or(path).display().to_string())
}

/// What agents changed of the guards.
fn show_changes(root: &Path, changes: &[PendingChange]) -> anyhow::Result<()> {
    let mut stdout = out::stdout();
    for change in changes {
        writeln!(stdout, "{} (changed by an agent, waits for trust)", paint(BOLD, short(root, change)))?;
        for line in change.diff.as_deref().unwrap_or_default().lines() {
            writeln!(stdout, "    {}", out::safe(line))?;
        }
    }
    Ok(())
}

fn show(root: &Path, changes: &[PendingChange], reviews: &[Review]) -> anyhow::Result<u8> {
    show_changes(root, changes)?;
    if reviews.is_empty() && !changes.is_empty() {
        out::hint("`hookwright hooks trust --all` trusts it as it is now")?;
        return Ok(exit::OK);
    }
    if reviews.is_empty() {
        out::note("every hook is trusted already")?;
        return Ok(exit::OK);
    }
    let mut stdout = out::stdout();
    for review in reviews {
        let what = &review.finding;
        let held = if review.held { ", waits for trust" } else { "" };
        writeln!(stdout, "{} on {} ({what}{held})", paint(BOLD, out::one_line(review.hook.id())), review.hook.event)?;
        if let Some(deed) = review.hook.deed() {
            writeln!(stdout, "    runs {}", out::one_line(&deed))?;
        }
    }
    out::hint("`hookwright hooks trust NAME` trusts one of them, `--all` all")?;
    Ok(exit::OK)
}
