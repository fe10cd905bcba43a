//! Confinement of a command: what hooks want it to be kept to, and what guards want enforced for every command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use hookwright_hooks::confinement::{ConfinementProfile, ConfinementRequest};
use hookwright_hooks::{DISK_TIMEOUT_MESSAGE, HookConfinement, run_with_disk_timeout};

use super::ToolInvocation;
use crate::confiner::protect_files;

/// The profiles that a command runs under.
#[derive(Clone, Debug, Default)]
pub(super) struct CallConfinement {
    /// Profiles without which the command does not run.
    required: Vec<HookConfinement>,
    /// Profiles that are enforced where the machine can do so.
    enforced: Vec<HookConfinement>,
}

impl CallConfinement {
    /// Adds the profiles of one round of hooks.
    pub(super) fn add(&mut self, required: Vec<HookConfinement>, enforced: Vec<HookConfinement>) {
        for (all, new) in [(&mut self.required, required), (&mut self.enforced, enforced)] {
            for one in new {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
    }

    fn all(&self) -> Vec<HookConfinement> {
        self.required.iter().chain(&self.enforced).cloned().collect()
    }
}

impl ToolInvocation<'_> {
    /// What the model is told about the confinement that hooks required; none if the command was not confined.
    pub(super) fn confinement_note(&self) -> Option<String> {
        let required = &self.confinement.required;
        if required.is_empty() || self.confinement_words.is_empty() {
            return None;
        }
        let mut limits: Vec<String> = required.iter().flat_map(|one| one.profile.limits()).collect();
        limits.dedup();
        Some(format!("\n\n[the command ran confined: {}]", limits.join("; ")))
    }

    /// Checks that the command can be kept to what hooks require.
    ///
    /// # Errors
    /// Why it cannot.
    pub(super) async fn check_confinement(&self) -> Result<(), String> {
        match self.confinement.required.is_empty() {
            true => Ok(()),
            false => self.launch_words(&self.confinement.required).await.map(drop),
        }
    }

    /// Checks that the command can be kept to what hooks require and guards want enforced.
    ///
    /// # Errors
    /// Why it cannot.
    pub(super) async fn check_enforcement(&self) -> Result<(), String> {
        self.launch_words(&self.confinement.all()).await.map(drop)
    }

    /// Prepares the confinement that the command runs in.
    ///
    /// What guards want enforced for every command is left out where the machine cannot do it, and where the user has
    /// just allowed a change to a file that guards are made of. Where settings say `enforce: always`, the user was asked
    /// before.
    ///
    /// # Errors
    /// Why what hooks require is not possible.
    pub(super) async fn prepare_confinement(&mut self) -> Result<(), String> {
        let CallConfinement { required, enforced } = &self.confinement;
        let is_enforced = !enforced.is_empty() && self.allowed_path.is_none();
        if is_enforced {
            match self.launch_words(&self.confinement.all()).await {
                Ok(words) => {
                    self.confinement_words = words;
                    return Ok(());
                }
                Err(why) => tracing::debug!(%why, "guards are not enforced by the kernel"),
            }
        }
        if !required.is_empty() {
            self.confinement_words = self.launch_words(required).await?;
        }
        Ok(())
    }

    async fn launch_words(&self, confinements: &[HookConfinement]) -> Result<Arc<[OsString]>, String> {
        let Some(confiner) = self.services.confiner.clone() else {
            return Err("this program has no way to confine commands".to_owned());
        };
        let session = self.services.hooks.session();
        let (project, home) = (session.project_dir.clone(), self.services.hooks.home_dir());
        let protected = self.services.approvals.protected();
        let profiles: Vec<ConfinementProfile> = confinements.iter().map(|one| one.profile.clone()).collect();
        let is_predicted = confinements.iter().all(|one| one.is_predicted);
        let prepared = run_with_disk_timeout(move || {
            let paths: Vec<PathBuf> = protected.confined_paths(&project, home.as_deref());
            let profiles = profiles.into_iter().chain([protect_files(paths)]).collect();
            confiner.launch_words(&ConfinementRequest { project, home, profiles, is_quiet: false, is_predicted })
        });
        let words = prepared.await.unwrap_or_else(|| Err(DISK_TIMEOUT_MESSAGE.to_owned()))?;
        Ok(words.into())
    }
}
