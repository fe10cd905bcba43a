//! What earlier sessions' agents changed and nobody has trusted, for whoever has no session of their own: lists, and hooks
//! that a person fires. In a session that is `guards.rs`.

use std::sync::Arc;

use hookwright_hooks::{Hook, Sentry};
use hookwright_settings::Loaded;
use hookwright_settings::trust::{PendingChange, all_pending, any_ledger};

use super::guards::WAY_ON;

/// Knows what was left.
pub struct LeftChanges {
    loaded: Loaded,
    changes: Vec<PendingChange>,
}

impl LeftChanges {
    /// What agents left in this project, if anything.
    pub fn of(loaded: &Loaded) -> Option<Arc<dyn Sentry>> {
        if !any_ledger(&loaded.paths) {
            return None;
        }
        let changes = all_pending(&loaded.paths, &loaded.project.root, loaded.guard_files(&[]));
        (!changes.is_empty()).then(|| Arc::new(LeftChanges { loaded: loaded.clone(), changes }) as Arc<dyn Sentry>)
    }
}

impl Sentry for LeftChanges {
    fn challenge(&self, hook: &Arc<Hook>) -> Result<(), String> {
        let own = self.loaded.guard_files_of(hook);
        let settings = hook.place.as_ref().map(|place| &*place.file);
        let depends = |change: &&PendingChange| {
            let path = change.file.path.as_path();
            settings == Some(path) || own.iter().any(|(_, file)| file == path)
        };
        match self.changes.iter().find(depends) {
            None => Ok(()),
            Some(change) => {
                let path = change.file.path.strip_prefix(&self.loaded.project.root).unwrap_or(&change.file.path);
                Err(format!("{} was changed by an agent, so it is not trusted; {WAY_ON}", path.display()))
            }
        }
    }
}
