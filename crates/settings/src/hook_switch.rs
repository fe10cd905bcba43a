//! Enables and disables hooks by name in the settings: disabling in the workspace's settings, else in the user's;
//! enabling in both.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_hooks::{Hook, HookState, Registry, Source};

use crate::edit::{DisabledList, EditError, Switch, set_disabled};
use crate::load::LoadedConfig;
use crate::settings::HookReviewMode;
use crate::trust::trust_switch_offs;

/// Result of enabling or disabling hooks.
#[derive(Debug, Default)]
pub struct HookSwitchOutcome {
    /// Files that were changed.
    pub changed_files: Vec<PathBuf>,
    /// The user's settings and the error, if they hold the names too and can't be changed.
    pub user_settings_error: Option<(PathBuf, EditError)>,
}

/// Adds names to the list of disabled hooks, or removes them from every list that may be written.
///
/// A hook that the user disables in the project's settings this way needs no review. `change` performs each change;
/// by it a session tells its own changes from those of other programs.
///
/// # Errors
/// If the workspace's settings (or the user's, where there are no others) cannot be changed.
pub fn switch_hooks(
    loaded: &LoadedConfig,
    names: &[&str],
    switch: Switch,
    change: impl Fn(&Path, &dyn Fn() -> Result<bool, EditError>) -> Result<bool, EditError>,
) -> Result<HookSwitchOutcome, EditError> {
    let set = |file: &Path| change(file, &|| set_disabled(file, DisabledList::Hooks, names, switch));
    let (own, user) = (loaded.settings_file(), loaded.paths.user_settings.as_path());
    let mut switched = HookSwitchOutcome::default();
    if switch == Switch::Disable && own != user && loaded.settings.security.hook_review != HookReviewMode::Announce {
        let of_others = |hook: &&Hook| hook.source != Source::Project && names.contains(&hook.id());
        let hooks: Vec<&Hook> = loaded.registry.hooks().iter().map(Arc::as_ref).filter(of_others).collect();
        let record = &loaded.paths.trusted_hooks;
        if !hooks.is_empty() {
            change(record, &|| trust_switch_offs(&loaded.paths, &loaded.project.root, &hooks).map(|()| true))?;
        }
    }
    if set(own)? {
        switched.changed_files.push(own.to_owned());
    }
    if switch == Switch::Enable && own != user {
        match set(user) {
            Ok(true) => switched.changed_files.push(user.to_owned()),
            Ok(false) => {}
            Err(error) => switched.user_settings_error = Some((user.to_owned(), error)),
        }
    }
    Ok(switched)
}

/// Returns the hooks of these names that are still off after they were enabled, each with the layers that disable it.
/// The registry must be loaded after the change.
pub fn hooks_still_off(registry: &Registry, names: &[&str]) -> Vec<(String, Vec<Source>)> {
    let named = registry.entries().filter(|(hook, _)| names.contains(&hook.id()));
    let off = named.filter_map(|(hook, state)| {
        let by = match state {
            HookState::Disabled { by } => by.clone(),
            HookState::SwitchedOff { by } => vec![by.clone()],
            HookState::Enabled | HookState::Untrusted { .. } => return None,
        };
        Some((hook.id().to_owned(), by))
    });
    let mut off: Vec<_> = off.collect();
    off.dedup();
    off
}
