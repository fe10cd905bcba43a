//! `hooks migrate --from-claude`: adds Claude Code's hooks to the settings here.

mod claude_runner;
mod samples;
mod verify;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use hookwright_settings::claude_migration::{self, ClaudeMigration};
use hookwright_settings::{ConfigPaths, ProcessEnv, edit, read_settings_file};
use similar::TextDiff;

use crate::args::{HookMigrateArgs, ProjectArgs};
use crate::{exit, output, output::diagnostics};

pub(crate) fn run(place: &ProjectArgs, world: &ProcessEnv, migrate: &HookMigrateArgs) -> anyhow::Result<u8> {
    if migrate.verify {
        return verify::run(place, world, migrate);
    }
    let project = place.directory(world)?;
    let paths = ConfigPaths::new(world);
    let (of_project, of_user): (Vec<PathBuf>, Vec<PathBuf>) =
        claude_migration::settings_files(&paths, &project).into_iter().partition(|file| file.starts_with(&project));
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
        let (texts, mut diagnostics) = claude_migration::read_settings(&files);
        let migration = claude_migration::migrate(texts.iter().map(|(path, text)| (path.as_path(), text.as_str())));
        diagnostics.extend(migration.diagnostics.iter().cloned());
        diagnostics::print(&diagnostics)?;
        broken |= diagnostics.iter().any(|diagnostic| diagnostic.severity == hookwright_hooks::Severity::Error);
        found |= !texts.is_empty();
        write_migration(&migration, &target, migrate.dry_run)?;
    }
    if !found {
        output::note("there are no Claude Code settings to take over here")?;
    }
    Ok(if broken { exit::ERROR } else { exit::OK })
}

fn write_migration(migration: &ClaudeMigration, target: &Path, dry_run: bool) -> anyhow::Result<()> {
    for note in &migration.notes {
        output::warn(note)?;
    }
    if migration.entries.is_empty() {
        return Ok(());
    }
    let before =
        read_settings_file(target).with_context(|| format!("can't read {}", target.display()))?.unwrap_or_default();
    let after = claude_migration::merged_text(target, &before, migration)?;
    if before == after {
        output::note(format!("{} has these hooks already", target.display()))?;
        return Ok(());
    }
    if dry_run {
        let name = target.display().to_string();
        let diff = TextDiff::from_lines(&before, &after);
        write!(output::stdout(), "{}", diff.unified_diff().header(&name, &name))?;
        return Ok(());
    }
    let migration = migration.clone();
    edit::rewrite(target, move |text| claude_migration::merged_text(target, text, &migration))?;
    output::note(format!("added {} hook definitions to {}", count_added(&before, &after), target.display()))?;
    output::hint(
        "`hookwright hooks doctor` checks that they can run, `hooks migrate --from-claude --verify` that guards hold",
    )?;
    Ok(())
}

fn count_added(before: &str, after: &str) -> usize {
    let hooks = |text: &str| {
        let layer = hookwright_hooks::Layer::new(hookwright_hooks::Source::Project, Path::new(""), text);
        hookwright_hooks::parse_layer(&layer).hooks.len()
    };
    hooks(after).saturating_sub(hooks(before))
}
