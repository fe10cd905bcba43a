//! `hooks trust`: shows which of the project's hooks are new or changed, and records that the user trusts them.

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use hookwright_settings::trust::{
    FolderRule, PendingChange, all_pending_changes, set_folder_trust, trust_changes, trust_hooks,
};
use hookwright_settings::{HookFinding, HookTrustReview, SettingsFileState, record_project_contents};

use super::LoadedProject;
use crate::exit;
use crate::output::{self, BOLD, paint};

pub(crate) fn run(toolbox: &LoadedProject, name: Option<&str>, all: bool, folder: bool) -> anyhow::Result<u8> {
    let root = &toolbox.loaded.project.root;
    if folder {
        set_folder_trust(&toolbox.loaded.paths, root, FolderRule::TrustFolder)?;
        // The contents that are listed here need no announcement later.
        crate::presentation::opening_text::project_contents(&toolbox.loaded).iter().try_for_each(output::note)?;
        record_project_contents(&toolbox.loaded)?;
        output::note(format!("{} is trusted now; its settings and hooks are loaded", root.display()))?;
        return Ok(exit::OK);
    }
    let changes = all_pending_changes(&toolbox.loaded.paths, root, toolbox.loaded.guard_files(&[]));
    if all && !changes.is_empty() {
        trust_changes(root, &changes.iter().collect::<Vec<_>>())?;
        for change in &changes {
            output::note(format!("{} is trusted now, with the agent's changes", change_path(root, change)))?;
        }
    }
    if toolbox.loaded.files.iter().any(|file| file.state == SettingsFileState::Untrusted) {
        output::warn(format!("{} is not trusted, so its hooks are not loaded", root.display()))?;
        crate::presentation::opening_text::project_contents(&toolbox.loaded).iter().try_for_each(output::note)?;
        output::hint("look at `.gemini/settings.json`, then run `hookwright hooks trust --folder`")?;
        if name.is_none() && !all {
            return Ok(exit::ERROR);
        }
        bail!("trust the folder first");
    }
    let reviews = &toolbox.loaded.reviews;
    let chosen: Vec<&HookTrustReview> = match name {
        Some(name) => reviews.iter().filter(|review| review.hook.id() == name).collect(),
        None if all => reviews.iter().collect(),
        None => return print_pending(root, &changes, reviews),
    };
    let own = name.map_or(Ok(0), |name| trust_own_files(toolbox, name, &changes))?;
    if chosen.is_empty() && (own > 0 || all && !changes.is_empty()) {
        return Ok(exit::OK);
    }
    if chosen.is_empty() {
        return report_nothing_to_trust(toolbox, name);
    }
    trust_hooks(&toolbox.loaded.paths, chosen.iter().copied())?;
    if all {
        // The record that was just written is itself one of the watched files.
        trust_changes(root, &changes.iter().collect::<Vec<_>>())?;
    }
    for review in &chosen {
        let name = review.hook.id();
        output::note(match review.finding {
            HookFinding::SwitchOff => {
                format!("hook `{name}` is now off in this project, as the project's settings say")
            }
            HookFinding::New | HookFinding::Changed { .. } => {
                format!("hook `{name}` on {} is trusted now", review.hook.event)
            }
        })?;
    }
    Ok(exit::OK)
}

/// Trusts the changes that agents made to the files of a hook; returns how many.
///
/// A changed settings file is not trusted this way, because it holds more than one hook.
fn trust_own_files(toolbox: &LoadedProject, name: &str, changes: &[PendingChange]) -> anyhow::Result<usize> {
    let (root, hooks) = (&toolbox.loaded.project.root, toolbox.loaded.registry.hooks());
    let named: Vec<_> = hooks.iter().filter(|hook| hook.id() == name).collect();
    let files: Vec<_> = named.iter().flat_map(|hook| toolbox.loaded.guard_files_of(hook)).collect();
    let own: Vec<&PendingChange> =
        changes.iter().filter(|change| files.iter().any(|(_, path)| *path == change.file.path)).collect();
    trust_changes(root, &own)?;
    for change in &own {
        output::note(format!("{} is trusted now, with the agent's changes", change_path(root, change)))?;
    }
    let holds_it = |change: &&PendingChange| {
        named.iter().any(|hook| hook.location.as_ref().is_some_and(|place| *place.file == *change.file.path))
    };
    if let Some(settings) = changes.iter().find(holds_it) {
        let file = change_path(root, settings);
        bail!(
            "{file} was changed by an agent and declares more than this hook; `hookwright hooks trust` shows the change, `--all` trusts it"
        );
    }
    Ok(own.len())
}

fn report_nothing_to_trust(toolbox: &LoadedProject, name: Option<&str>) -> anyhow::Result<u8> {
    match name {
        Some(name) if !toolbox.loaded.registry.hooks().iter().any(|hook| hook.id() == name) => {
            return Err(toolbox.unknown_hook_error(name));
        }
        Some(name) => output::note(format!("hook `{name}` is trusted already"))?,
        None => output::note("every hook is trusted already")?,
    }
    Ok(exit::OK)
}

fn change_path(root: &Path, change: &PendingChange) -> String {
    let path = &change.file.path;
    output::one_line(&path.strip_prefix(root).unwrap_or(path).display().to_string())
}

/// Prints the changes that agents made to the files of guards.
fn print_changes(root: &Path, changes: &[PendingChange]) -> anyhow::Result<()> {
    let mut stdout = output::stdout();
    for change in changes {
        writeln!(stdout, "{} (changed by an agent, waits for trust)", paint(BOLD, change_path(root, change)))?;
        for line in change.diff.as_deref().unwrap_or_default().lines() {
            writeln!(stdout, "    {}", output::sanitize(line))?;
        }
    }
    Ok(())
}

fn print_pending(root: &Path, changes: &[PendingChange], reviews: &[HookTrustReview]) -> anyhow::Result<u8> {
    print_changes(root, changes)?;
    if reviews.is_empty() && !changes.is_empty() {
        output::hint("`hookwright hooks trust --all` trusts it as it is now")?;
        return Ok(exit::OK);
    }
    if reviews.is_empty() {
        output::note("every hook is trusted already")?;
        return Ok(exit::OK);
    }
    let mut stdout = output::stdout();
    for review in reviews {
        let what = &review.finding;
        let held = if review.held { ", waits for trust" } else { "" };
        writeln!(
            stdout,
            "{} on {} ({what}{held})",
            paint(BOLD, output::one_line(review.hook.id())),
            review.hook.event
        )?;
        if let Some(summary) = review.hook.summary() {
            writeln!(stdout, "    runs {}", output::one_line(&summary))?;
        }
    }
    output::hint("`hookwright hooks trust NAME` trusts one hook, `--all` trusts all")?;
    Ok(exit::OK)
}
