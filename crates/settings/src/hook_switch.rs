//! Switches hooks on and off in the settings, by name: off in the workspace's settings, else in the user's; on in both.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_hooks::{Hook, HookState, Registry, Source};

use crate::edit::{DisabledList, EditError, Switch, set_disabled};
use crate::load::LoadedConfig;
use crate::settings::HookReviewMode;
use crate::trust::trust_switch_offs;

/// What came of switching hooks in the settings.
#[derive(Debug, Default)]
pub struct HookSwitchOutcome {
    /// The files that are different now.
    pub changed_files: Vec<PathBuf>,
    /// The user's settings, where they hold the names too and can't be changed.
    pub user_settings_error: Option<(PathBuf, EditError)>,
}

/// Writes names into the list of disabled hooks, or takes them out of every list that may be written. What the user switches
/// off here in the project's settings needs no further trust. `change` makes each
/// change; a session tells its own from others there.
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

/// The hooks of these names that stay off although they were switched on, each with the layers that say so. The registry is
/// the one that was loaded afterwards.
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
