//! Plans and applies changes to other agents' settings files. A change is applied only to the text that was shown to
//! the user.

use std::path::{Path, PathBuf};

use hookwright_settings::edit::{self, EditError, json_splice};
use hookwright_settings::{ProcessEnv, WriteError, read_settings_file, resolves_inside};

use super::entry::EntryProgram;
use super::settings_text::{self, HostWiring};
use super::target::{InstallScope, InstallTarget};
use crate::host::Host;

/// A planned change to a settings file that has not been applied.
#[derive(Clone, Debug, PartialEq)]
pub struct InstallPlan {
    /// The settings file.
    pub target: InstallTarget,
    /// The file's text; `None` if there is no file.
    pub old: Option<String>,
    /// The file's new text; `None` if the file is to be removed.
    pub new: Option<String>,
}

impl InstallPlan {
    /// Returns whether the plan changes nothing.
    pub fn is_noop(&self) -> bool {
        self.old == self.new
    }

    /// Returns the old and the new text, for a diff.
    pub fn texts(&self) -> (&str, &str) {
        (self.old.as_deref().unwrap_or_default(), self.new.as_deref().unwrap_or_default())
    }
}

impl InstallTarget {
    /// Returns the file that holds a host's entries, or that they would be installed in; `None` if the host has no such
    /// file for that scope.
    pub fn locate(host: Host, scope: InstallScope, world: &ProcessEnv, project: &Path) -> Option<InstallTarget> {
        let mut candidates = InstallTarget::candidates(host, scope, world, project);
        let counts = |target: &InstallTarget| match read_target(target) {
            Ok(None) => false,
            // `settings.json` holds other settings too, so it counts only if it has hooks.
            Ok(Some(text)) if target.file.file_name().is_some_and(|name| name == "settings.json") => {
                json_splice::parse_tree(&target.file, text.trim_start_matches('\u{feff}'))
                    .map_or(true, |tree| tree.get("hooks").is_some())
            }
            Ok(Some(_)) | Err(_) => true,
        };
        let at = if candidates.len() == 1 { 0 } else { candidates.iter().position(counts).unwrap_or(0) };
        (at < candidates.len()).then(|| candidates.swap_remove(at))
    }
}

/// Returns a file's text, or `None` if there is no file.
///
/// # Errors
/// If the file can't be read.
pub fn read_target(target: &InstallTarget) -> Result<Option<String>, EditError> {
    Ok(read_settings_file(&target.file)?)
}

/// Returns the state of a file's entries.
///
/// # Errors
/// If the file can't be read or does not parse.
pub fn load_wiring(target: &InstallTarget) -> Result<HostWiring, EditError> {
    settings_text::read_wiring(target, &read_target(target)?.unwrap_or_default())
}

/// Plans the installation of entries.
///
/// # Errors
/// If the file can't be read or edited, or leads out of the project.
pub fn plan_install(target: &InstallTarget, caller: &EntryProgram) -> Result<InstallPlan, EditError> {
    check_inside_project(target)?;
    let old = read_target(target)?;
    let new = settings_text::with_entries(target, old.as_deref().unwrap_or_default(), caller)?;
    Ok(InstallPlan { target: target.clone(), old, new: Some(new) })
}

/// Plans the removal of entries.
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
    // A symbolic link is the user's arrangement, so its file stays, without Hookwright's entries.
    let is_link = target.file.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let new = match new {
        None if old.is_some() && is_link && target.layout.is_json() => Some("{}\n".to_owned()),
        new => new,
    };
    Ok(InstallPlan { target: target.clone(), old, new })
}

/// Applies a plan if the file is still as it was planned, and returns whether the file changed.
///
/// # Errors
/// If the file has changed since, or can't be written. The file is unchanged then.
pub fn apply(plan: &InstallPlan) -> Result<bool, EditError> {
    let file = &plan.target.file;
    let changed = || {
        json_splice::refusal(
            file,
            "this file has changed since it was read",
            "run the command again to see what would change",
        )
    };
    match &plan.new {
        Some(new) => edit::rewrite(file, |text| {
            if text == new {
                // Another process has made the same change.
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

/// Refuses a project's settings file that resolves to a path outside the project.
fn check_inside_project(target: &InstallTarget) -> Result<(), EditError> {
    if target.scope != InstallScope::Project || resolves_inside(&target.project, &target.file) {
        return Ok(());
    }
    let real: PathBuf = target.file.canonicalize().unwrap_or_else(|_| target.file.clone());
    let what = format!("this path leads out of the project, to {}", real.display());
    Err(json_splice::refusal(&target.file, what, "edit that file where it is, or put a file of the project's own here"))
}
