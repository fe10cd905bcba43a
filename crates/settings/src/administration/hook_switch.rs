//! Enables and disables hooks by name in the settings: disabling in the workspace's settings, else in the user's;
//! enabling in both.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_hooks::{Hook, HookState, Registry, Source};
use serde::Serialize;

use super::{ActionError, ConfigAccess, GuardLossConsent, NamedItem, UnknownName};
use crate::edit::{DisabledList, EditError, Switch, set_disabled};
use crate::load::LoadedConfig;
use crate::settings::HookReviewMode;
use crate::trust::trust_switch_offs;

/// A request to enable or disable hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSwitchRequest {
    /// The hooks that are meant.
    pub hooks: HookSelection,
    /// Whether they are enabled or disabled.
    pub switch: Switch,
    /// Whether guards may be disabled.
    pub consent: GuardLossConsent,
}

impl HookSwitchRequest {
    /// Creates the request to enable hooks.
    pub fn enable(hooks: HookSelection) -> Self {
        HookSwitchRequest { hooks, switch: Switch::Enable, consent: GuardLossConsent::Missing }
    }

    /// Creates the request to disable hooks.
    pub fn disable(hooks: HookSelection, consent: GuardLossConsent) -> Self {
        HookSwitchRequest { hooks, switch: Switch::Disable, consent }
    }
}

/// The hooks that an action is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookSelection {
    /// The hooks of this name.
    Named(String),
    /// Every hook.
    All,
}

impl HookSelection {
    /// Whether a hook is meant.
    pub(super) fn includes(&self, hook: &Hook) -> bool {
        match self {
            HookSelection::Named(name) => hook.id() == name,
            HookSelection::All => true,
        }
    }
}

/// The result of enabling or disabling hooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HookSwitchOutcome {
    /// Whether hooks were enabled or disabled.
    pub switch: Switch,
    /// Whether every hook was meant.
    pub is_for_all: bool,
    /// The names of the hooks that are switched now.
    pub hooks: Vec<String>,
    /// The hooks that were not switched.
    pub refusals: Vec<HookSwitchRefusal>,
    /// The guards among the hooks that were disabled.
    pub disabled_guards: Vec<String>,
    /// The settings files that were changed.
    pub changed_files: Vec<PathBuf>,
    /// Why the settings were not changed.
    pub write_error: Option<ActionError>,
    /// The user's settings and the error, if they can't be changed beside the workspace's.
    pub user_settings_error: Option<(PathBuf, ActionError)>,
    /// The hooks that are still off after they were enabled, each with the layers that disable it.
    pub still_off: Vec<(String, Vec<Source>)>,
}

/// Why a hook was not enabled or disabled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookSwitchRefusal {
    /// No hook has that name.
    Unknown(UnknownName),
    /// The hook is not loaded, because its folder is not trusted.
    ///
    /// Its name in the user's settings would act in every other folder.
    FolderNotTrusted {
        /// The hook's name.
        name: String,
    },
    /// The system settings lock the hook.
    Locked {
        /// The hook's name.
        name: String,
    },
    /// The hook is a guard of settings that this action does not change.
    ForeignGuard {
        /// The hook's name.
        name: String,
        /// The layer that declares it.
        layer: Source,
    },
    /// The hook is a guard, and the user has not agreed to lose it.
    NeedsConsent {
        /// The hook's name.
        name: String,
    },
}

impl HookSwitchOutcome {
    /// Whether everything that was asked for is done. Guards that stay when every hook is disabled are no failure.
    pub fn is_complete(&self) -> bool {
        (self.is_for_all || self.refusals.is_empty()) && self.write_error.is_none() && self.still_off.is_empty()
    }

    /// Returns the guard whose loss the user has to agree to first, if a single hook was meant.
    pub fn guard_without_consent(&self) -> Option<&str> {
        match self.refusals.as_slice() {
            [HookSwitchRefusal::NeedsConsent { name }] if !self.is_for_all => Some(name),
            _ => None,
        }
    }
}

/// Adds hooks to the list of disabled ones, or removes them from every list that may be written.
///
/// A locked hook stays, and so does a guard of another layer; a guard of the settings that are changed stays unless the
/// user agreed to lose it. A hook that the user disables in the project's settings this way needs no review.
pub fn switch_hooks(access: &impl ConfigAccess, request: &HookSwitchRequest) -> HookSwitchOutcome {
    let current = access.loaded();
    let loaded = &*current;
    let (hooks, refusals) = select_hooks(loaded, request);
    let names: Vec<&str> = hooks.iter().copied().collect();
    let mut outcome = HookSwitchOutcome {
        switch: request.switch,
        is_for_all: request.hooks == HookSelection::All,
        hooks: names.iter().map(|name| (*name).to_owned()).collect(),
        refusals,
        disabled_guards: Vec::new(),
        changed_files: Vec::new(),
        write_error: None,
        user_settings_error: None,
        still_off: Vec::new(),
    };
    let guards: BTreeSet<&str> = loaded.registry.guards().map(Hook::id).filter(|name| hooks.contains(name)).collect();
    let written = if names.is_empty() { Ok(()) } else { write_switch(access, &names, &mut outcome) };
    match written {
        Ok(()) if request.switch == Switch::Disable => {
            outcome.disabled_guards = guards.into_iter().map(str::to_owned).collect();
        }
        Ok(()) => {}
        Err(error) => {
            // Only its settings decide about a guard.
            outcome.hooks.retain(|name| !guards.contains(name.as_str()));
            outcome.write_error = Some(error.into());
        }
    }
    if request.switch == Switch::Enable && !names.is_empty() && outcome.write_error.is_none() {
        // A layer that can't be written here, or the hook's own declaration, may still disable it.
        outcome.still_off = access.reload().map_or_else(Vec::new, |loaded| hooks_still_off(&loaded.registry, &hooks));
    }
    outcome
}

/// Returns the names of the hooks that can be switched, and why the others can't.
fn select_hooks<'l>(
    loaded: &'l LoadedConfig,
    request: &HookSwitchRequest,
) -> (BTreeSet<&'l str>, Vec<HookSwitchRefusal>) {
    let hooks = loaded.registry.hooks();
    let meant: Vec<&'l Arc<Hook>> = hooks.iter().filter(|hook| request.hooks.includes(hook)).collect();
    if let (HookSelection::Named(name), []) = (&request.hooks, meant.as_slice()) {
        return (BTreeSet::new(), vec![unknown_hook(loaded, name)]);
    }
    let mut names: BTreeSet<&str> = meant.iter().map(|hook| hook.id()).collect();
    let own = if loaded.settings_file() == loaded.paths.user_settings { Source::User } else { Source::Project };
    let refusal = |hook: &Hook| {
        let name = hook.id().to_owned();
        match hook {
            _ if request.switch == Switch::Enable => None,
            hook if hook.locked => Some(HookSwitchRefusal::Locked { name }),
            hook if hook.is_guard() && hook.source != own => {
                Some(HookSwitchRefusal::ForeignGuard { name, layer: hook.source.clone() })
            }
            hook if hook.is_guard() && request.consent == GuardLossConsent::Missing => {
                Some(HookSwitchRefusal::NeedsConsent { name })
            }
            _ => None,
        }
    };
    let mut refusals = BTreeMap::new();
    for hook in meant {
        if let Some(refusal) = refusal(hook) {
            names.remove(hook.id());
            refusals.entry(hook.id()).or_insert(refusal);
        }
    }
    (names, refusals.into_values().collect())
}

fn unknown_hook(loaded: &LoadedConfig, name: &str) -> HookSwitchRefusal {
    let untrusted = loaded.hooks_of_untrusted_folder();
    let name = name.to_owned();
    if untrusted.iter().any(|hook| hook.id() == name) {
        return HookSwitchRefusal::FolderNotTrusted { name };
    }
    let known = loaded.registry.hooks().iter().map(|hook| hook.id()).chain(untrusted.iter().map(Hook::id));
    HookSwitchRefusal::Unknown(UnknownName::new(NamedItem::Hook, &name, known))
}

fn write_switch(access: &impl ConfigAccess, names: &[&str], outcome: &mut HookSwitchOutcome) -> Result<(), EditError> {
    let current = access.loaded();
    let (loaded, switch) = (&*current, outcome.switch);
    let set = |file: &Path| access.change_file(file, || set_disabled(file, DisabledList::Hooks, names, switch));
    let (own, user) = (loaded.settings_file(), loaded.paths.user_settings.as_path());
    if switch == Switch::Disable && own != user && loaded.settings.security.hook_review != HookReviewMode::Announce {
        let of_others = |hook: &&Hook| hook.source != Source::Project && names.contains(&hook.id());
        let hooks: Vec<&Hook> = loaded.registry.hooks().iter().map(Arc::as_ref).filter(of_others).collect();
        if !hooks.is_empty() {
            let trust = || trust_switch_offs(&loaded.paths, &loaded.project.root, &hooks);
            access.change_file(&loaded.paths.trusted_hooks, trust)?;
        }
    }
    if set(own)? {
        outcome.changed_files.push(own.to_owned());
    }
    if switch == Switch::Enable && own != user {
        match set(user) {
            Ok(true) => outcome.changed_files.push(user.to_owned()),
            Ok(false) => {}
            Err(error) => outcome.user_settings_error = Some((user.to_owned(), error.into())),
        }
    }
    Ok(())
}

/// Returns the hooks of these names that are still off after they were enabled, each with the layers that disable it.
fn hooks_still_off(registry: &Registry, names: &BTreeSet<&str>) -> Vec<(String, Vec<Source>)> {
    let named = registry.entries().filter(|(hook, _)| names.contains(hook.id()));
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
