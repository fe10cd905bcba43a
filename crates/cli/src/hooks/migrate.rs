//! `hooks migrate --from-claude`: Claude Code's hooks, added to what is here.

mod as_claude;
mod samples;
mod verify;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use hookwright_settings::claude::{self, Migration};
use hookwright_settings::{Paths, World, edit, read_settings_file};
use similar::TextDiff;

use crate::args::{Migrate, Place};
use crate::{exit, out, report};

pub(crate) fn run(place: &Place, world: &World, migrate: &Migrate) -> anyhow::Result<u8> {
    if migrate.verify {
        return verify::run(place, world, migrate);
    }
    let project = place.directory(world)?;
    let paths = Paths::new(world);
    let (of_project, of_user): (Vec<PathBuf>, Vec<PathBuf>) =
        claude::settings_files(&paths, &project).into_iter().partition(|file| file.starts_with(&project));
    let mut targets = Vec::new();
    if !migrate.user {
        targets.push((of_project, paths.project_settings(&project)));
    }
    if migrate.user || place.project.is_none() {
        targets.push((of_user, paths.user_settings.clone()));
    }
    let mut found = false;
    let mut broken = false;
    for (files, target) in targets {
        let (texts, mut diagnostics) = claude::read_settings(&files);
        let migration = claude::migrate(texts.iter().map(|(path, text)| (path.as_path(), text.as_str())));
        diagnostics.extend(migration.diagnostics.iter().cloned());
        report::print(&diagnostics)?;
        broken |= diagnostics.iter().any(|diagnostic| diagnostic.severity == hookwright_hooks::Severity::Error);
        found |= !texts.is_empty();
        apply(&migration, &target, migrate.dry_run)?;
    }
    if !found {
        out::note("there are no Claude Code settings to take over here")?;
    }
    Ok(if broken { exit::ERROR } else { exit::OK })
}

fn apply(migration: &Migration, target: &Path, dry_run: bool) -> anyhow::Result<()> {
    for note in &migration.notes {
        out::warn(note)?;
    }
    if migration.entries.is_empty() {
        return Ok(());
    }
    let before =
        read_settings_file(target).with_context(|| format!("can't read {}", target.display()))?.unwrap_or_default();
    let after = claude::merged_text(target, &before, migration)?;
    if before == after {
        out::note(format!("{} has these hooks already", target.display()))?;
        return Ok(());
    }
    if dry_run {
        let name = target.display().to_string();
        let diff = TextDiff::from_lines(&before, &after);
        write!(out::stdout(), "{}", diff.unified_diff().header(&name, &name))?;
        return Ok(());
    }
    let migration = migration.clone();
    edit::rewrite(target, move |text| claude::merged_text(target, text, &migration))?;
    out::note(format!("added {} hook definitions to {}", count_added(&before, &after), target.display()))?;
    out::hint(
        "`hookwright hooks doctor` checks that they can run, `hooks migrate --from-claude --verify` that guards hold",
    )?;
    Ok(())
}

fn count_added(before: &str, after: &str) -> usize {
    let hooks = |text: &str| {
        let layer = hookwright_hooks::Layer::new(hookwright_hooks::Source::Project, Path::new(""), text);
        hookwright_hooks::declare(&layer).hooks.len()
    };
    hooks(after).saturating_sub(hooks(before))
}
