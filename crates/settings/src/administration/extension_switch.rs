//! Enables and disables an extension, in every project or in one. Its guards go only with the user's consent.

use std::path::{Path, PathBuf};

use hookwright_hooks::{EventKind, UnarmedReason};
use serde::Serialize;

use super::{ConfigAccess, GuardLossConsent, SwitchScope, UnknownName};
use crate::edit::{EditError, Switch};
use crate::extensions::{Extension, set_extension_rule};
use crate::guard_record::dismiss_guards;
use crate::load::LoadedConfig;

/// A request to enable or disable an extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionSwitchRequest {
    /// The extension's name, in any letter case.
    pub name: String,
    /// Where it is enabled or disabled.
    pub scope: SwitchScope,
    /// Whether it is enabled or disabled.
    pub switch: Switch,
    /// Whether its guards may go.
    pub consent: GuardLossConsent,
}

/// The result of enabling or disabling an extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionSwitchOutcome {
    /// The extension is enabled or disabled.
    Switched {
        /// Its name.
        name: String,
        /// Whether it is enabled or disabled.
        switch: Switch,
        /// The folder that this is for; none if it is for every project.
        folder: Option<PathBuf>,
        /// Whether it was not so before.
        is_changed: bool,
        /// Whether settings disable it all the same.
        is_still_off: bool,
    },
    /// The user has not agreed to lose its guards; nothing was changed.
    NeedsConsent {
        /// Its name.
        name: String,
        /// The guards that would go.
        guards: Vec<GuardLoss>,
    },
    /// The user has not agreed to go on without the guards of an extension that is gone; nothing was changed.
    ExpectedGuards {
        /// Its name.
        name: String,
        /// The guards that sessions wait for, in words.
        guards: Vec<String>,
    },
    /// The guards of an extension that is gone are no longer expected.
    Forgotten {
        /// Its name.
        name: String,
    },
    /// No extension has that name.
    Unknown(UnknownName),
}

impl ExtensionSwitchOutcome {
    /// Whether anything was changed.
    pub fn is_changed(&self) -> bool {
        matches!(
            self,
            ExtensionSwitchOutcome::Switched { is_changed: true, .. } | ExtensionSwitchOutcome::Forgotten { .. }
        )
    }
}

/// A guard that goes with its extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GuardLoss {
    /// The guard's name.
    pub hook: String,
    /// The event that it judges.
    pub event: EventKind,
    /// Where settings require it, so that sessions do not start without it.
    pub required_by: Option<String>,
}

/// Returns the guards that go with an extension.
pub fn guard_losses(loaded: &LoadedConfig, extension: &Extension) -> Vec<GuardLoss> {
    let declared = extension.declared_hooks();
    let losses = declared.hooks.iter().filter_map(|hook| {
        let required = loaded.registry.required().find(|one| one.name == hook.id());
        (hook.is_guard() || required.is_some()).then(|| GuardLoss {
            hook: hook.id().to_owned(),
            event: hook.event,
            required_by: required.map(|required| required.location.to_string()),
        })
    });
    losses.collect()
}

/// Enables or disables an extension.
///
/// Disabling one that is no longer installed means to go on without its guards.
///
/// # Errors
/// If the rules or the record of guards can't be read or written.
pub fn switch_extension(
    access: &impl ConfigAccess,
    request: &ExtensionSwitchRequest,
) -> Result<ExtensionSwitchOutcome, EditError> {
    let current = access.loaded();
    let loaded = &*current;
    let Some(extension) = loaded.extension(&request.name) else { return forget_guards(access, request) };
    let name = extension.name.clone();
    if request.switch == Switch::Disable && request.consent == GuardLossConsent::Missing {
        let guards = guard_losses(loaded, extension);
        if !guards.is_empty() {
            return Ok(ExtensionSwitchOutcome::NeedsConsent { name, guards });
        }
    }
    let folder = (request.scope == SwitchScope::Workspace).then(|| loaded.project.root.clone());
    let base = folder.as_deref().unwrap_or(Path::new("/"));
    let paths = &loaded.paths;
    let set = || set_extension_rule(paths, &name, base, request.switch);
    let is_changed = access.change_file(&paths.extension_enablement_file(), set)?;
    if request.switch == Switch::Disable {
        access.change_file(&paths.known_guards, || dismiss_guards(paths, &extension.hooks_files(), base))?;
    }
    let is_listed = || loaded.disabled_extensions().iter().any(|disabled| disabled.eq_ignore_ascii_case(&name));
    let is_still_off = request.switch == Switch::Enable && is_listed();
    Ok(ExtensionSwitchOutcome::Switched { switch: request.switch, folder, is_changed, is_still_off, name })
}

/// Goes on without the guards of an extension that is no longer installed.
fn forget_guards(
    access: &impl ConfigAccess,
    request: &ExtensionSwitchRequest,
) -> Result<ExtensionSwitchOutcome, EditError> {
    let current = access.loaded();
    let loaded = &*current;
    let name = request.name.clone();
    let expected = loaded.unarmed_guards.iter().filter(|guard| {
        request.switch == Switch::Disable
            && matches!(&guard.reason, UnarmedReason::ExtensionInactive(one) if *one == name)
    });
    let expected: Vec<_> = expected.collect();
    if expected.is_empty() {
        return Ok(ExtensionSwitchOutcome::Unknown(UnknownName::extension(&name, loaded)));
    }
    if request.consent == GuardLossConsent::Missing {
        let guards = expected.iter().map(ToString::to_string).collect();
        return Ok(ExtensionSwitchOutcome::ExpectedGuards { name, guards });
    }
    let files: Vec<PathBuf> = expected.iter().filter_map(|guard| guard.file.clone()).collect();
    access.change_file(&loaded.paths.known_guards, || dismiss_guards(&loaded.paths, &files, Path::new("/")))?;
    Ok(ExtensionSwitchOutcome::Forgotten { name })
}
