//! Changes to settings files that keep comments, order and formatting, and lose no other writer's change.
//!
//! What a change does to a text is pure ([`edited_text`]), so that a caller can show a difference before it asks for
//! [`apply`]. A file that does not parse is never touched.

mod change;
mod insert;
pub mod json_splice;
mod remove;

use std::path::{Path, PathBuf};

use hookwright_hooks::{Diagnostic, EventKind};
use serde_json::{Map, Value};

pub use change::edited_text;

use crate::file::{self, FileError, FilePrivacy, WriteError};

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It does not parse, or holds something else where the change belongs.
    #[error("{} was not changed: {}", .0.file.display(), .0)]
    Broken(Box<Diagnostic>),
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] FileError),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A folder's name has no place in it: another text would be another folder.
    #[error("{} can't be remembered: its name is not UTF-8", .0.display())]
    NotUtf8(PathBuf),
    /// A value has no place in it: it would read back as another.
    #[error(
        "the value of {0} can't be written down: it has line breaks or control characters, or too many kinds of quotes"
    )]
    Value(String),
}

impl EditError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            EditError::Broken(_) => Some("correct the file by hand first".to_owned()),
            EditError::Read(error) => error.diagnostic().help,
            EditError::Write(error) => Some(error.hint()),
            EditError::NotUtf8(_) => Some("rename the folder, or trust it for one run with `--skip-trust`".to_owned()),
            EditError::Value(_) => None,
        }
    }

    /// What is wrong with the file, to be drawn with its place.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        match self {
            EditError::Broken(diagnostic) => Some((**diagnostic).clone()),
            EditError::Read(error) => Some(error.diagnostic()),
            EditError::Write(_) | EditError::NotUtf8(_) | EditError::Value(_) => None,
        }
    }
}

/// Which way something is switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// It counts again.
    Enable,
    /// It counts no more.
    Disable,
}

/// A list of names that settings disable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisabledList {
    /// Hooks.
    Hooks,
    /// Skills.
    Skills,
}

impl DisabledList {
    /// The places of the list, the newer one first.
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
    /// The event.
    pub event: EventKind,
    /// The definition, as it is written into the file.
    pub definition: Map<String, Value>,
}

/// A change to a settings file.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingsChange {
    /// Takes names off a list of disabled ones, or puts them on it.
    Switch(DisabledList, Switch, Vec<String>),
    /// Adds hooks that are not there yet, after those that are.
    AddHooks(Vec<HookDefinitionEntry>),
    /// Sets a value, by the names on the way to it.
    Set(Vec<String>, Value),
    /// Removes a value, by the names on the way to it.
    Remove(Vec<String>),
}

/// What a settings file says, as it is written there; nothing where there is none.
///
/// # Errors
/// If the file does not parse or cannot be read.
pub fn read_settings_map(file: &Path) -> Result<Map<String, Value>, EditError> {
    let text = file::read_text(file)?.unwrap_or_default();
    crate::json::parse_map(file, &text).map_err(EditError::Broken)
}

/// Changes a file, which is created if it is missing. Says whether anything had to be changed.
///
/// # Errors
/// If the file does not parse, or cannot be read or written; it is as it was then.
pub fn apply_change(file: &Path, change: &SettingsChange) -> Result<bool, EditError> {
    rewrite(file, |text| edited_text(file, text, change))
}

/// Changes a file by any function of its text, under the same lock and with the same care.
///
/// # Errors
/// If the function refuses, or the file cannot be read or written; it is as it was then.
pub fn rewrite(file: &Path, change: impl FnOnce(&str) -> Result<String, EditError>) -> Result<bool, EditError> {
    file::update_locked(file, FilePrivacy::Shared, |old| rewritten_text(old, change))
}

/// Like [`rewrite`], for a file that is nobody else's to read.
///
/// # Errors
/// Like [`rewrite`].
pub fn rewrite_private(file: &Path, change: impl FnOnce(&str) -> Result<String, EditError>) -> Result<bool, EditError> {
    file::update_locked(file, FilePrivacy::Private, |old| rewritten_text(old, change))
}

/// The new text. Where nothing was and nothing is to be, no file is made.
fn rewritten_text(
    old: Option<&str>,
    change: impl FnOnce(&str) -> Result<String, EditError>,
) -> Result<Option<String>, EditError> {
    change(old.unwrap_or_default()).map(|new| (old.is_some() || !new.is_empty()).then_some(new))
}

/// Enables or disables something by name.
///
/// # Errors
/// Like [`apply`].
pub fn set_disabled(file: &Path, list: DisabledList, names: &[&str], switch: Switch) -> Result<bool, EditError> {
    apply_change(file, &SettingsChange::Switch(list, switch, names.iter().map(|name| (*name).to_owned()).collect()))
}

/// Adds hooks that are not there yet.
///
/// # Errors
/// Like [`apply`].
pub fn add_hooks(file: &Path, entries: Vec<HookDefinitionEntry>) -> Result<bool, EditError> {
    apply_change(file, &SettingsChange::AddHooks(entries))
}

/// Sets a value, by the names on the way to it.
///
/// # Errors
/// Like [`apply`].
pub fn set_value(file: &Path, path: &[&str], value: Value) -> Result<bool, EditError> {
    apply_change(file, &SettingsChange::Set(path.iter().map(|name| (*name).to_owned()).collect(), value))
}

#[cfg(test)]
mod tests;
