//! `setup --undo`: restores every file that setup changed, and removes the folders that it made. A file that was changed
//! since is left as it is, and named.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use hookwright_bridge::Host;
use hookwright_bridge::install::{InstallScope, InstallTarget, load_wiring};
use hookwright_settings::edit::rewrite;
use hookwright_settings::{ProcessEnv, read_settings_file};
use serde_json::json;

use super::super::install::display_path;
use super::undo_journal::{FileRole, FileState, JournalContents, UndoEntry, UndoJournal, remove_empty_folders};
use crate::args::SetupArgs;
use crate::commands::prompt;
use crate::exit;
use crate::output;

/// What undoing does to one file.
enum FileUndo {
    /// The text before is written again, or the file is removed.
    Restore,
    /// The file is as it was before.
    Done,
    /// The file was changed since.
    Changed,
    /// The file was changed since, and Hookwright's entries are no longer in it.
    Removed,
}

pub(super) fn run(args: &SetupArgs, journal: &UndoJournal, world: &ProcessEnv, project: &Path) -> anyhow::Result<u8> {
    let Some(contents) = journal.read()? else {
        return report_nothing(args, world, project);
    };
    let has_entries = |name: &str| {
        let target = Host::from_name(name).and_then(|host| InstallTarget::locate(host, args.scope(), world, project));
        target.is_none_or(|target| !load_wiring(&target).is_ok_and(|wiring| !wiring.has_entries()))
    };
    let undos = plan_undo(&contents, has_entries)?;
    if !args.json {
        print_plan(&contents, &undos, world)?;
    }
    if args.dry_run {
        if args.json {
            print_json(&contents, &undos, true)?;
        }
        return Ok(exit::OK);
    }
    if !args.yes && !prompt::confirm("undo this?")? {
        output::error("not confirmed; nothing was changed")?;
        output::hint("for scripts: --yes")?;
        return Ok(exit::ERROR);
    }
    let kept = restore(&contents, &undos)?;
    let is_complete = kept.is_empty();
    let left_folders = finish(journal, &contents, kept)?;
    if args.json {
        print_json(&contents, &undos, false)?;
    } else if is_complete {
        for folder in left_folders {
            output::note(format!("{} stays: it is not empty", display_path(&folder, world)))?;
        }
        output::note("everything is as it was before setup")?;
    } else {
        output::error("what was changed since stays as it is; the rest is as it was before setup")?;
    }
    Ok(if is_complete { exit::OK } else { exit::ERROR })
}

/// Decides what undoing does to each file, the newest change first.
fn plan_undo(contents: &JournalContents, has_entries: impl Fn(&str) -> bool) -> anyhow::Result<Vec<(usize, FileUndo)>> {
    let mut undos: Vec<(usize, FileUndo)> = Vec::new();
    // What the files will be once the newer changes are undone.
    let mut states: Vec<(&Path, FileState)> = Vec::new();
    for (at, entry) in contents.entries.iter().enumerate().rev() {
        let planned = states.iter().position(|(path, _)| *path == entry.path);
        let now = match planned {
            Some(known) => states[known].1.clone(),
            None => FileState::from_text(read_settings_file(&entry.path)?.as_deref()),
        };
        let before = FileState::from_text(entry.before.as_deref());
        let undo = match () {
            () if now == before => FileUndo::Done,
            () if now == entry.after || entry.after == FileState::Unfinished => FileUndo::Restore,
            () => match &entry.role {
                _ if now == FileState::Missing => FileUndo::Removed,
                FileRole::Agent(name) if !has_entries(name) => FileUndo::Removed,
                _ => FileUndo::Changed,
            },
        };
        let then = if matches!(undo, FileUndo::Restore) { before } else { now };
        match planned {
            Some(known) => states[known].1 = then,
            None => states.push((&entry.path, then)),
        }
        undos.push((at, undo));
    }
    Ok(undos)
}

/// Restores the files, and returns the entries of those that were changed since.
fn restore(contents: &JournalContents, undos: &[(usize, FileUndo)]) -> anyhow::Result<Vec<UndoEntry>> {
    let mut kept = Vec::new();
    for (at, undo) in undos {
        let entry = &contents.entries[*at];
        match undo {
            FileUndo::Restore => {
                restore_file(entry).with_context(|| format!("can't restore {}", entry.path.display()))?;
            }
            FileUndo::Done | FileUndo::Removed => {}
            // The results of later trials are no settings of the user's.
            FileUndo::Changed if entry.role == FileRole::Results => {}
            FileUndo::Changed => kept.push(entry.clone()),
        }
    }
    kept.reverse();
    Ok(kept)
}

fn restore_file(entry: &UndoEntry) -> anyhow::Result<()> {
    match &entry.before {
        Some(before) => drop(rewrite(&entry.path, |_| Ok(before.clone()))?),
        None => std::fs::remove_file(&entry.path)?,
    }
    Ok(())
}

/// Removes the journal and the folders, or keeps what could not be undone in the journal; returns the folders that are
/// left because something else is in them.
fn finish(journal: &UndoJournal, contents: &JournalContents, kept: Vec<UndoEntry>) -> anyhow::Result<Vec<PathBuf>> {
    if kept.is_empty() {
        std::fs::remove_file(&journal.path).with_context(|| format!("can't remove {}", journal.path.display()))?;
        return Ok(remove_empty_folders(&contents.folders));
    }
    let folders = remove_empty_folders(&contents.folders);
    // Other commands may make one of the folders again.
    journal.write(&JournalContents { folders: contents.folders.clone(), entries: kept })?;
    Ok(folders)
}

fn print_plan(contents: &JournalContents, undos: &[(usize, FileUndo)], world: &ProcessEnv) -> anyhow::Result<()> {
    let mut stdout = output::stdout();
    for (at, undo) in undos {
        let entry = &contents.entries[*at];
        let file = display_path(&entry.path, world);
        match undo {
            FileUndo::Restore if entry.before.is_some() => writeln!(stdout, "{file}: restored as it was")?,
            FileUndo::Restore => writeln!(stdout, "{file}: deleted, because setup made it")?,
            FileUndo::Done => {}
            FileUndo::Removed => {
                output::note(format!("{file} stays as it is: what setup wrote is no longer in it"))?;
            }
            FileUndo::Changed if entry.role == FileRole::Results => {
                output::note(format!("{file} has the results of later trials and stays"))?;
            }
            FileUndo::Changed => {
                output::warn(format!("{file} was changed since setup, so it stays as it is"))?;
                output::hint(remedy(entry))?;
            }
        }
    }
    Ok(())
}

/// Says how the user removes what setup wrote into a file that was changed since.
fn remedy(entry: &UndoEntry) -> String {
    match &entry.role {
        FileRole::Agent(name) => {
            format!("`hookwright agents uninstall {name}`, with the same scope, removes Hookwright's entries alone")
        }
        FileRole::Guards => {
            "`hookwright hooks list` shows the guards, `hookwright hooks remove NAME` removes one".into()
        }
        FileRole::Trust | FileRole::Results => "edit the file by hand".into(),
    }
}

fn print_json(contents: &JournalContents, undos: &[(usize, FileUndo)], is_dry_run: bool) -> anyhow::Result<()> {
    let listed = |wanted: fn(&FileUndo) -> bool| -> Vec<&PathBuf> {
        let paths = undos.iter().filter(|(_, undo)| wanted(undo)).map(|(at, _)| &contents.entries[*at]);
        paths.filter(|entry| entry.role != FileRole::Results).map(|entry| &entry.path).collect()
    };
    let changed = listed(|undo| matches!(undo, FileUndo::Changed));
    output::print_json(&json!({
        "ok": changed.is_empty(), "dry_run": is_dry_run, "changed_since": changed,
        "restored": listed(|undo| matches!(undo, FileUndo::Restore)), "folders": contents.folders,
    }))?;
    Ok(())
}

/// Says that there is nothing to undo in this scope, and where there is.
fn report_nothing(args: &SetupArgs, world: &ProcessEnv, project: &Path) -> anyhow::Result<u8> {
    if args.json {
        output::print_json(&json!({"ok": true, "restored": [], "changed_since": [], "folders": []}))?;
        return Ok(exit::OK);
    }
    output::note(format!("there is nothing to undo in {} settings", args.scope().owner()))?;
    for scope in [InstallScope::User, InstallScope::Project, InstallScope::Machine] {
        if scope != args.scope() && UndoJournal::locate(world, scope, project).path.exists() {
            output::hint(format!("`hookwright setup --undo --{}` undoes the setup there", scope.as_str()))?;
        }
    }
    Ok(exit::OK)
}
