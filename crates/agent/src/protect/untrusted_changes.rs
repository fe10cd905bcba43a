//! The changes of earlier sessions' agents that the user has not trusted, for commands without a session.
//!
//! Within a session `tamper_watch.rs` checks them.

use std::sync::Arc;

use hookwright_hooks::{Hook, TrustGate};
use hookwright_settings::LoadedConfig;
use hookwright_settings::trust::{PendingChange, all_pending_changes, has_ledger};

use super::tamper_watch::TRUST_HINT;

/// A gate that denies trust to hooks with untrusted files.
pub struct UntrustedChanges {
    loaded: LoadedConfig,
    changes: Vec<PendingChange>,
}

impl UntrustedChanges {
    /// Returns the gate for this project, if there are untrusted changes.
    pub fn gate_for(loaded: &LoadedConfig) -> Option<Arc<dyn TrustGate>> {
        if !has_ledger(&loaded.paths) {
            return None;
        }
        let changes = all_pending_changes(&loaded.paths, &loaded.project.root, loaded.guard_files(&[]));
        (!changes.is_empty())
            .then(|| Arc::new(UntrustedChanges { loaded: loaded.clone(), changes }) as Arc<dyn TrustGate>)
    }
}

impl TrustGate for UntrustedChanges {
    fn check(&self, hook: &Arc<Hook>) -> Result<(), String> {
        let own = self.loaded.guard_files_of(hook);
        let settings = hook.location.as_ref().map(|place| &*place.file);
        let depends = |change: &&PendingChange| {
            let path = change.file.path.as_path();
            settings == Some(path) || own.iter().any(|(_, file)| file == path)
        };
        match self.changes.iter().find(depends) {
            None => Ok(()),
            Some(change) => {
                let path = change.file.path.strip_prefix(&self.loaded.project.root).unwrap_or(&change.file.path);
                Err(format!("{} was changed by an agent, so it is not trusted; {TRUST_HINT}", path.display()))
            }
        }
    }
}
