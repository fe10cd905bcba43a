//! Administrative actions, each as one function with a typed outcome. Sub-commands and the commands of a session call
//! the same functions.
//!
//! An action prints nothing and asks nothing: where it needs the user's consent, its outcome says so, and the caller asks
//! and calls again. Outcomes hold values; what people read is made of them by the front ends.

mod extension_switch;
mod hook_switch;
mod hook_trust;
mod mcp_account;
mod skill_switch;
mod stored_config;

use std::error::Error;
use std::ops::Deref;
use std::path::Path;

use hookwright_hooks::{Diagnostic, nearest_name};
use serde::Serialize;

use crate::edit::EditError;
use crate::load::LoadedConfig;

pub use extension_switch::{ExtensionSwitchOutcome, ExtensionSwitchRequest, GuardLoss, guard_losses, switch_extension};
pub use hook_switch::{HookSelection, HookSwitchOutcome, HookSwitchRefusal, HookSwitchRequest, switch_hooks};
pub use hook_trust::{
    HookTrustOutcome, HookTrustRefusal, PendingTrust, TrustAccess, UntrustedFile, UntrustedHook, pending_trust,
    trust_pending,
};
pub use mcp_account::{McpAccountReport, McpServerRefusal, sign_out, unknown_server, usable_server};
pub use skill_switch::{SkillSwitchOutcome, SkillSwitchRequest, switch_skill};
pub use stored_config::StoredConfig;

/// How an action reads and changes the configuration.
///
/// A session attributes the changes to its user, and knows the options that it was started with.
pub trait ConfigAccess {
    /// Returns the configuration that the action works on.
    fn loaded(&self) -> impl Deref<Target = LoadedConfig>;

    /// Performs a change of a file on behalf of the user. Changes cannot be nested.
    fn change_file<T>(&self, file: &Path, change: impl FnOnce() -> T) -> T;

    /// Loads the configuration again after a change; `None` if that is not possible.
    fn reload(&self) -> Option<LoadedConfig>;
}

/// Whether the user has agreed to lose the guards that an action would disable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardLossConsent {
    /// The user has agreed.
    Given,
    /// The user has not been asked yet.
    Missing,
}

/// Where something is enabled or disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SwitchScope {
    /// In every project of the user.
    User,
    /// In this project only.
    Workspace,
}

/// An error of an action as a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct ActionError {
    /// What happened, with its causes.
    pub message: String,
    /// What the user can do about it.
    pub hint: Option<String>,
    /// The problem in the file that was not changed, with its position.
    pub diagnostic: Option<Diagnostic>,
}

impl ActionError {
    /// Creates the value for an error with what the user can do about it.
    pub fn new(error: &dyn Error, hint: Option<String>) -> Self {
        ActionError { message: causes_text(error), hint, diagnostic: None }
    }
}

impl From<EditError> for ActionError {
    fn from(error: EditError) -> Self {
        ActionError { diagnostic: error.diagnostic(), ..ActionError::new(&error, error.hint()) }
    }
}

/// Returns the error's text and its causes' texts, without repetitions.
fn causes_text(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// A name that the user gave, and that nothing has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnknownName {
    /// What was looked for.
    pub kind: NamedItem,
    /// The name.
    pub name: String,
    /// The known name that is nearest.
    pub near: Option<String>,
}

/// The kinds of things that actions name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NamedItem {
    Hook,
    Extension,
    Skill,
    SubAgent,
    McpServer,
    Setting,
    SavedChat,
    /// A permission, by its number.
    Permission,
    /// A command that runs in the background, by the id of its first process.
    BackgroundCommand,
}

impl UnknownName {
    /// Describes an unknown name, given the known ones.
    pub fn new<'a>(kind: NamedItem, name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        UnknownName { kind, name: name.to_owned(), near: nearest_name(name, known).map(str::to_owned) }
    }

    /// Describes the name of an extension that is not installed.
    pub fn extension(name: &str, loaded: &LoadedConfig) -> Self {
        UnknownName::new(NamedItem::Extension, name, loaded.extensions.iter().map(|one| one.name.as_str()))
    }
}
