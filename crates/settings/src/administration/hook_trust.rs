//! Trusts hooks that are new or changed, and the changes that agents made to files of guards.

use hookwright_hooks::{EventKind, Hook};
use serde::Serialize;

use super::{ConfigAccess, HookSelection, NamedItem, UnknownName};
use crate::edit::EditError;
use crate::load::{LoadedConfig, SettingsFileState};
use crate::trust::{HookFinding, HookTrustReview, trust_hooks};

/// How an action sees the changes that agents made to files of guards: those of a running session, or those on record.
pub trait TrustAccess: ConfigAccess {
    /// A change.
    type Change;

    /// Returns the changes that wait for trust.
    fn untrusted_changes(&self) -> Vec<Self::Change>;

    /// Returns the changes to the files of a hook, and the change to the settings that declare it.
    fn untrusted_changes_of_hook(&self, name: &str) -> (Vec<Self::Change>, Option<Self::Change>);

    /// Records that the user trusts changes.
    ///
    /// # Errors
    /// If the record can't be written.
    fn trust_changes(&self, changes: &[Self::Change]) -> Result<(), EditError>;

    /// Describes a change.
    fn describe_change(&self, change: &Self::Change) -> UntrustedFile;

    /// Records that the user trusts changes, once the record of trusted hooks was written, which may be among them.
    ///
    /// # Errors
    /// If the record can't be written.
    fn trust_changed_record(&self, _: &[Self::Change]) -> Result<(), EditError> {
        Ok(())
    }
}

/// A file of a guard that an agent changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UntrustedFile {
    /// Its path for display.
    pub path: String,
    /// How and when it was changed, in words that follow "was".
    pub change: String,
    /// The unified diff, where it can be shown.
    pub diff: Option<String>,
}

/// A hook that the user has not seen in its present form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UntrustedHook {
    /// Its name.
    pub hook: String,
    /// The event that it runs on.
    pub event: EventKind,
    /// What is new about it.
    pub finding: HookFinding,
    /// Whether it waits for trust.
    pub held: bool,
    /// What it runs.
    pub summary: Option<String>,
}

/// Everything that can be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PendingTrust {
    /// Whether the folder is not trusted, so that its hooks are not known.
    pub is_folder_untrusted: bool,
    /// The files that agents changed.
    pub files: Vec<UntrustedFile>,
    /// The hooks.
    pub hooks: Vec<UntrustedHook>,
}

/// The result of trusting hooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HookTrustOutcome {
    /// The files whose changes are trusted now.
    pub files: Vec<UntrustedFile>,
    /// The hooks that are trusted now.
    pub hooks: Vec<UntrustedHook>,
    /// Why nothing more was trusted.
    pub refusal: Option<HookTrustRefusal>,
}

/// Why hooks were not trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookTrustRefusal {
    /// No hook has that name.
    Unknown(UnknownName),
    /// The folder has to be trusted first.
    FolderNotTrusted,
    /// An agent changed the settings that declare the hook, which hold more; they can only be trusted as a whole.
    SharedFile(UntrustedFile),
    /// The hook of this name, or every hook, is trusted already.
    TrustedAlready(Option<String>),
}

impl HookTrustOutcome {
    /// Whether anything was trusted.
    pub fn is_changed(&self) -> bool {
        !self.files.is_empty() || !self.hooks.is_empty()
    }

    /// Whether nothing is left to do about what was named.
    pub fn is_complete(&self) -> bool {
        matches!(self.refusal, None | Some(HookTrustRefusal::TrustedAlready(_)))
    }
}

impl UntrustedHook {
    fn new(review: &HookTrustReview) -> Self {
        let HookTrustReview { hook, finding, held, .. } = review;
        let (name, summary) = (hook.id().to_owned(), hook.summary().map(Into::into));
        UntrustedHook { hook: name, event: hook.event, finding: finding.clone(), held: *held, summary }
    }
}

fn is_folder_untrusted(loaded: &LoadedConfig) -> bool {
    loaded.files.iter().any(|file| file.state == SettingsFileState::Untrusted)
}

/// Returns everything that can be trusted.
pub fn pending_trust(access: &impl TrustAccess) -> PendingTrust {
    let current = access.loaded();
    let loaded = &*current;
    PendingTrust {
        is_folder_untrusted: is_folder_untrusted(loaded),
        files: access.untrusted_changes().iter().map(|change| access.describe_change(change)).collect(),
        hooks: loaded.reviews.iter().map(UntrustedHook::new).collect(),
    }
}

/// Trusts what a hook, or every hook, waits for.
///
/// Of a hook, the files are trusted that belong to it alone; if agents changed the settings that declare it, nothing is.
///
/// # Errors
/// If a record can't be read or written.
pub fn trust_pending(access: &impl TrustAccess, hooks: &HookSelection) -> Result<HookTrustOutcome, EditError> {
    let mut outcome = HookTrustOutcome { files: Vec::new(), hooks: Vec::new(), refusal: None };
    let changes = match hooks {
        HookSelection::All => access.untrusted_changes(),
        HookSelection::Named(name) => match access.untrusted_changes_of_hook(name) {
            (_, Some(settings)) => {
                outcome.refusal = Some(HookTrustRefusal::SharedFile(access.describe_change(&settings)));
                return Ok(outcome);
            }
            (own, None) => own,
        },
    };
    let mut reloaded = None;
    if !changes.is_empty() {
        outcome.files = changes.iter().map(|change| access.describe_change(change)).collect();
        access.trust_changes(&changes)?;
        reloaded = access.reload();
    }
    let current = access.loaded();
    let loaded = reloaded.as_ref().unwrap_or(&*current);
    if is_folder_untrusted(loaded) {
        outcome.refusal = Some(HookTrustRefusal::FolderNotTrusted);
        return Ok(outcome);
    }
    let chosen: Vec<&HookTrustReview> = loaded.reviews.iter().filter(|review| hooks.includes(&review.hook)).collect();
    if chosen.is_empty() {
        outcome.refusal = outcome.files.is_empty().then(|| nothing_to_trust(loaded, hooks));
        return Ok(outcome);
    }
    access.change_file(&loaded.paths.trusted_hooks, || trust_hooks(&loaded.paths, chosen.iter().copied()))?;
    if *hooks == HookSelection::All {
        access.trust_changed_record(&changes)?;
    }
    outcome.hooks = chosen.into_iter().map(UntrustedHook::new).collect();
    Ok(outcome)
}

fn nothing_to_trust(loaded: &LoadedConfig, hooks: &HookSelection) -> HookTrustRefusal {
    let known = || loaded.registry.hooks().iter().map(|hook| Hook::id(hook));
    match hooks {
        HookSelection::Named(name) if !known().any(|known| known == name) => {
            HookTrustRefusal::Unknown(UnknownName::new(NamedItem::Hook, name, known()))
        }
        HookSelection::Named(name) => HookTrustRefusal::TrustedAlready(Some(name.to_owned())),
        HookSelection::All => HookTrustRefusal::TrustedAlready(None),
    }
}
