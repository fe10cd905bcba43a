//! The undo journal: each file that setup changes, with its text before and a digest of its text after, and each folder
//! that it makes.
//!
//! An entry is written before the change that it describes, so that a setup that was interrupted can be undone too.

use std::path::{Path, PathBuf};

use anyhow::Context;
use hookwright_bridge::install::InstallScope;
use hookwright_settings::edit::rewrite_private;
use hookwright_settings::{ConfigPaths, ProcessEnv, read_settings_file};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What a changed file is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FileRole {
    /// The settings of the agent with this name.
    Agent(String),
    Guards,
    /// The user's trust in folders and hooks.
    Trust,
    /// Results of trials, which later trials change as well.
    Results,
}

/// The state of a file after a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FileState {
    Missing,
    /// The change was not completed, as far as the journal knows.
    Unfinished,
    Sha256(String),
}

impl FileState {
    pub(super) fn from_text(text: Option<&str>) -> FileState {
        match text {
            None => FileState::Missing,
            Some(text) => FileState::Sha256(digest(text.as_bytes())),
        }
    }
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UndoEntry {
    pub(super) path: PathBuf,
    pub(super) role: FileRole,
    /// The text before the change; `None` if there was no file.
    pub(super) before: Option<String>,
    pub(super) after: FileState,
}

/// The contents of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JournalContents {
    /// The folders that setup made, each after the one that holds it.
    pub(super) folders: Vec<PathBuf>,
    /// The changes, the oldest first.
    pub(super) entries: Vec<UndoEntry>,
}

/// The journal of one scope: of the user, of the machine, or of a project.
pub(super) struct UndoJournal {
    pub(super) path: PathBuf,
    /// The folders that were missing when setup started and that loading the settings makes.
    early_folders: Vec<PathBuf>,
}

impl UndoJournal {
    /// Names the journal of a scope. Nothing is read or written.
    pub(super) fn locate(world: &ProcessEnv, scope: InstallScope, project: &Path) -> UndoJournal {
        let paths = ConfigPaths::new(world);
        let name = match scope {
            InstallScope::User | InstallScope::Machine => format!("setup-{}.json", scope.as_str()),
            InstallScope::Project => {
                format!("setup-project-{}.json", &digest(project.as_os_str().as_encoded_bytes())[..16])
            }
        };
        let path = paths.user_dir.join("hookwright").join(name);
        let mut early_folders = missing_folders(&paths.neutral_dir.join("file"));
        early_folders.extend(missing_folders(&paths.drafts.join("file")));
        early_folders.dedup();
        UndoJournal { path, early_folders }
    }

    /// Reads the journal; `None` if there is none.
    pub(super) fn read(&self) -> anyhow::Result<Option<JournalContents>> {
        let text = read_settings_file(&self.path)?;
        let parse = |text: &String| {
            serde_json::from_str(text).with_context(|| format!("{} is not a journal of setup", self.path.display()))
        };
        text.as_ref().map(parse).transpose()
    }

    /// Records changes that are about to be made.
    pub(super) fn record(&self, entries: Vec<UndoEntry>) -> anyhow::Result<()> {
        let mut folders = self.early_folders.clone();
        let files = std::iter::once(&self.path).chain(entries.iter().map(|entry| &entry.path));
        folders.extend(files.flat_map(|file| missing_folders(file)));
        self.update(|contents| {
            for folder in folders {
                if !contents.folders.contains(&folder) {
                    contents.folders.push(folder);
                }
            }
            contents.entries.extend(entries);
        })
        .context("setup can't record what it changes, so it changes nothing")
    }

    /// Runs a step that may change these files, and records what it changed.
    pub(super) fn record_step<T>(
        &self,
        role: &FileRole,
        files: &[&Path],
        step: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let known = self.read()?.unwrap_or_default();
        let mut entries = Vec::new();
        let mut continued = Vec::new();
        for file in files {
            let before = read_settings_file(file)?;
            let last = known.entries.iter().rposition(|entry| entry.path == **file);
            match last {
                // A file that is as setup left it gets no second entry.
                Some(at) if known.entries[at].after == FileState::from_text(before.as_deref()) => continued.push(at),
                _ => {
                    let (path, role) = ((*file).to_owned(), role.clone());
                    entries.push(UndoEntry { path, role, before, after: FileState::Unfinished });
                }
            }
        }
        self.record(entries)?;
        self.update(|contents| continued.iter().for_each(|at| contents.entries[*at].after = FileState::Unfinished))?;
        let result = step();
        let now: Vec<(PathBuf, Option<String>)> = files
            .iter()
            .map(|file| Ok(((*file).to_owned(), read_settings_file(file)?)))
            .collect::<anyhow::Result<_>>()?;
        self.update(|contents| {
            contents.entries.retain_mut(|entry| {
                let Some((_, text)) = now.iter().find(|(file, _)| *file == entry.path) else { return true };
                if entry.after == FileState::Unfinished {
                    entry.after = FileState::from_text(text.as_deref());
                }
                entry.after != FileState::from_text(entry.before.as_deref())
            });
        })?;
        result
    }

    fn update(&self, change: impl FnOnce(&mut JournalContents)) -> anyhow::Result<()> {
        let mut contents = self.read()?.unwrap_or_default();
        change(&mut contents);
        self.write(&contents)
    }

    /// Replaces the journal.
    pub(super) fn write(&self, contents: &JournalContents) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(contents).context("a path is not UTF-8")?;
        text.push('\n');
        rewrite_private(&self.path, |_| Ok(text))?;
        Ok(())
    }

    /// Removes the empty folders that loading the settings has made, unless a journal says that setup made them.
    pub(super) fn remove_early_folders(&self) {
        if !self.path.exists() {
            remove_empty_folders(&self.early_folders);
        }
    }
}

/// Removes those of these folders that are empty, the innermost first; returns those that are left.
pub(super) fn remove_empty_folders(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut by_depth: Vec<&PathBuf> = folders.iter().collect();
    by_depth.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
    by_depth.into_iter().filter(|folder| std::fs::remove_dir(folder).is_err() && folder.is_dir()).cloned().collect()
}

/// Returns the missing folders above a file, the outermost first.
fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let above = file.ancestors().skip(1).take_while(|folder| !folder.exists());
    let mut missing: Vec<PathBuf> = above.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
