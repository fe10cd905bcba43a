//! The one place that touches other agents' files: which of them there are, what is to change, and the change itself, which
//! is made only to the text that was shown.

use std::path::{Path, PathBuf};

use hookwright_settings::edit::{self, EditError, json_splice};
use hookwright_settings::{ProcessEnv, WriteError, read_settings_file, resolves_inside};

use super::entry::EntryProgram;
use super::settings_text::{self, HookFileLayout, HostWiring};
use super::target::{InstallScope, InstallTarget};
use crate::host::Host;

/// A change to a file that nobody has agreed to yet.
#[derive(Clone, Debug, PartialEq)]
pub struct InstallPlan {
    /// The file.
    pub target: InstallTarget,
    /// What it holds; nothing if there is none.
    pub old: Option<String>,
    /// What it is to hold; nothing if it is to go.
    pub new: Option<String>,
}

impl InstallPlan {
    /// Whether nothing is to be done.
    pub fn is_noop(&self) -> bool {
        self.old == self.new
    }

    /// Both texts, for a difference.
    pub fn texts(&self) -> (&str, &str) {
        (self.old.as_deref().unwrap_or_default(), self.new.as_deref().unwrap_or_default())
    }
}

impl InstallTarget {
    /// The file that a host's entries are in, or belong in.
    pub fn locate(host: Host, scope: InstallScope, world: &ProcessEnv, project: &Path) -> InstallTarget {
        let mut candidates = InstallTarget::candidates(host, scope, world, project);
        let counts = |target: &InstallTarget| match read_target(target) {
            Ok(None) => false,
            // Other settings stand in the same file: it counts only if it has hooks.
            Ok(Some(text)) if target.file.file_name().is_some_and(|name| name == "settings.json") => {
                json_splice::parse_tree(&target.file, text.trim_start_matches('\u{feff}'))
                    .map_or(true, |tree| tree.get("hooks").is_some())
            }
            Ok(Some(_)) | Err(_) => true,
        };
        let at = if candidates.len() == 1 { 0 } else { candidates.iter().position(counts).unwrap_or(0) };
        candidates.swap_remove(at)
    }
}

/// A file's text, if it is there.
///
/// # Errors
/// If it can't be read.
pub fn read_target(target: &InstallTarget) -> Result<Option<String>, EditError> {
    Ok(read_settings_file(&target.file)?)
}

/// How a file stands.
///
/// # Errors
/// If it can't be read, or does not parse.
pub fn load_wiring(target: &InstallTarget) -> Result<HostWiring, EditError> {
    settings_text::read_wiring(target, &read_target(target)?.unwrap_or_default())
}

/// What installing would change.
///
/// # Errors
/// If the file can't be read or edited, or leads out of the project.
pub fn plan_install(target: &InstallTarget, caller: &EntryProgram) -> Result<InstallPlan, EditError> {
    check_inside_project(target)?;
    let old = read_target(target)?;
    let new = settings_text::with_entries(target, old.as_deref().unwrap_or_default(), caller)?;
    Ok(InstallPlan { target: target.clone(), old, new: Some(new) })
}

/// What uninstalling would change.
///
/// # Errors
/// Like [`plan_install`].
pub fn plan_uninstall(target: &InstallTarget) -> Result<InstallPlan, EditError> {
    check_inside_project(target)?;
    let old = read_target(target)?;
    let new = match &old {
        Some(old) => settings_text::without_entries(target, old)?,
        None => None,
    };
    // A link's file is somebody's arrangement: it stays, with nothing of ours in it.
    let is_link = target.file.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let new = match new {
        None if old.is_some() && is_link && target.layout != HookFileLayout::Plugin => Some("{}\n".to_owned()),
        new => new,
    };
    Ok(InstallPlan { target: target.clone(), old, new })
}

/// Makes a change, if the file is still as it was shown. Says whether anything had to be done.
///
/// # Errors
/// If the file has changed since, or can't be written; it is as it was then.
pub fn apply(plan: &InstallPlan) -> Result<bool, EditError> {
    let file = &plan.target.file;
    let changed =
        || json_splice::refusal(file, "this file has changed since it was read", "look at what would change once more");
    match &plan.new {
        Some(new) => edit::rewrite(file, |text| {
            if text == new {
                // Somebody else did the same.
                return Ok(new.clone());
            }
            (text == plan.old.as_deref().unwrap_or_default()).then(|| new.clone()).ok_or_else(changed)
        }),
        None => {
            let Some(text) = read_target(&plan.target)? else { return Ok(false) };
            if Some(&text) != plan.old.as_ref() {
                return Err(changed());
            }
            std::fs::remove_file(file).map_err(|cause| WriteError::Write { path: file.clone(), cause })?;
            Ok(true)
        }
    }
}

/// A project's settings that lead elsewhere are not this project's.
fn check_inside_project(target: &InstallTarget) -> Result<(), EditError> {
    if target.scope == InstallScope::User || resolves_inside(&target.project, &target.file) {
        return Ok(());
    }
    let real: PathBuf = target.file.canonicalize().unwrap_or_else(|_| target.file.clone());
    let what = format!("this leads out of the project, to {}", real.display());
    Err(json_splice::refusal(&target.file, what, "edit that file where it is, or put a file of the project's own here"))
}
