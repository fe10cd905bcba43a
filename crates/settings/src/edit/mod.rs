//! Edits settings files: comments, order and formatting stay, and a lock keeps concurrent changes from being lost.
//!
//! [`edited_text`] computes a change without touching the file, so that a caller can show a diff before it calls
//! [`apply_change`]. A file that does not parse is never changed.

mod change;
mod insert;
pub mod json_splice;
mod remove;

use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, EventKind};
use serde::Serialize;
use serde_json::{Map, Value};

pub use change::edited_text;

use crate::file::{self, FileError, FilePrivacy, WriteError};

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file does not parse, or holds another type of value where the change belongs.
    #[error("{} was not changed: {}", .0.file.display(), .0)]
    Broken(Box<Diagnostic>),
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] FileError),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The folder's name is not UTF-8, so it cannot be stored without naming another folder.
    #[error("{} can't be remembered: its name is not UTF-8", .0.display())]
    NotUtf8(PathBuf),
    /// The value of this variable cannot be stored, because it would read back as another value.
    #[error("the value of {0} can't be stored: it has line breaks or control characters, or too many kinds of quotes")]
    Value(String),
}

impl EditError {
    /// Returns advice on how to resolve the error, if there is any.
    pub fn hint(&self) -> Option<String> {
        match self {
            EditError::Broken(_) => Some("correct the file by hand first".to_owned()),
            EditError::Read(error) => error.diagnostic().help,
            EditError::Write(error) => Some(error.hint()),
            EditError::NotUtf8(_) => Some("rename the folder, or trust it for one run with `--skip-trust`".to_owned()),
            EditError::Value(_) => None,
        }
    }

    /// Returns the problem with the file as a diagnostic with its position.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        match self {
            EditError::Broken(diagnostic) => Some((**diagnostic).clone()),
            EditError::Read(error) => Some(error.diagnostic()),
            EditError::Write(_) | EditError::NotUtf8(_) | EditError::Value(_) => None,
        }
    }
}

/// Whether names are enabled or disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    /// Takes the names off the list of disabled ones.
    Enable,
    /// Puts the names on the list of disabled ones.
    Disable,
}

/// A list of disabled names in the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisabledList {
    Hooks,
    Skills,
}

impl DisabledList {
    /// Returns the key paths of the list, the newer one first.
    fn key_paths(self) -> &'static [[&'static str; 2]] {
        match self {
            DisabledList::Hooks => &[["hooksConfig", "disabled"], ["hooks", "disabled"]],
            DisabledList::Skills => &[["skills", "disabled"]],
        }
    }
}

/// A hook definition for an event: `{matcher?, sequential?, hooks: […]}`.
#[derive(Clone, Debug, PartialEq)]
pub struct HookDefinitionEntry {
    pub event: EventKind,
    /// The definition as it is written to the file.
    pub definition: Map<String, Value>,
}

/// A change to a settings file.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingsChange {
    /// Removes names from a list of disabled ones, or adds them to it.
    Switch(DisabledList, Switch, Vec<String>),
    /// Adds hooks that are not present yet, after the present ones.
    AddHooks(Vec<HookDefinitionEntry>),
    /// Sets a value at a path of keys.
    Set(Vec<String>, Value),
    /// Removes the value at a path of keys.
    Remove(Vec<String>),
}

/// Reads a settings file without merging or filling in variables; empty if there is no file.
///
/// # Errors
/// If the file does not parse or cannot be read.
pub fn read_settings_map(file: &Path) -> Result<Map<String, Value>, EditError> {
    let text = file::read_text(file)?.unwrap_or_default();
    crate::json::parse_map(file, &text).map_err(EditError::Broken)
}

/// Applies a change to a file, which is created if it is missing, and returns whether the file changed.
///
/// # Errors
/// If the file does not parse, or cannot be read or written; it is unchanged then.
pub fn apply_change(file: &Path, change: &SettingsChange) -> Result<bool, EditError> {
    rewrite(file, |text| edited_text(file, text, change))
}

/// Changes a file by a function of its text, under the same lock, and returns whether the file changed.
///
/// # Errors
/// If the function fails, or the file cannot be read or written; it is unchanged then.
pub fn rewrite(file: &Path, change: impl FnOnce(&str) -> Result<String, EditError>) -> Result<bool, EditError> {
    file::update_locked(file, FilePrivacy::Shared, |old| rewritten_text(old, change))
}

/// Like [`rewrite`], for a file that only the user may read.
///
/// # Errors
/// Like [`rewrite`].
pub fn rewrite_private(file: &Path, change: impl FnOnce(&str) -> Result<String, EditError>) -> Result<bool, EditError> {
    file::update_locked(file, FilePrivacy::Private, |old| rewritten_text(old, change))
}

/// Returns the new text, or `None` if there was no file and the text is empty, so that none is created.
fn rewritten_text(
    old: Option<&str>,
    change: impl FnOnce(&str) -> Result<String, EditError>,
) -> Result<Option<String>, EditError> {
    change(old.unwrap_or_default()).map(|new| (old.is_some() || !new.is_empty()).then_some(new))
}

/// Enables or disables names in a list.
///
/// # Errors
/// Like [`apply_change`].
pub fn set_disabled(file: &Path, list: DisabledList, names: &[&str], switch: Switch) -> Result<bool, EditError> {
    apply_change(file, &SettingsChange::Switch(list, switch, names.iter().map(|name| (*name).to_owned()).collect()))
}

/// Adds hooks that are not present yet.
///
/// # Errors
/// Like [`apply_change`].
pub fn add_hooks(file: &Path, entries: Vec<HookDefinitionEntry>) -> Result<bool, EditError> {
    apply_change(file, &SettingsChange::AddHooks(entries))
}

/// Sets a value at a path of keys.
///
/// # Errors
/// Like [`apply_change`].
pub fn set_value(file: &Path, path: &[&str], value: Value) -> Result<bool, EditError> {
    apply_change(file, &SettingsChange::Set(path.iter().map(|name| (*name).to_owned()).collect(), value))
}

#[cfg(test)]
mod tests;
