//! The configuration on disk, as actions use it outside of a session.

use std::ops::Deref;
use std::path::Path;

use super::{ConfigAccess, TrustAccess, UntrustedFile};
use crate::edit::EditError;
use crate::load::{LoadOptions, LoadedConfig, load};
use crate::process_env::ProcessEnv;
use crate::trust::{PendingChange, all_pending_changes, trust_changes};

/// A loaded configuration that can be loaded again.
#[derive(Clone)]
pub struct StoredConfig {
    /// The configuration.
    pub loaded: LoadedConfig,
    /// The environment that it was loaded in.
    pub world: ProcessEnv,
    options: LoadOptions,
}

impl StoredConfig {
    /// Loads the configuration.
    pub fn load(world: &ProcessEnv, options: LoadOptions) -> Self {
        StoredConfig { loaded: load(world, &options), world: world.clone(), options }
    }

    /// Loads the configuration again.
    #[must_use]
    pub fn reloaded(&self) -> Self {
        StoredConfig::load(&self.world, self.options.clone())
    }
}

impl ConfigAccess for StoredConfig {
    fn loaded(&self) -> impl Deref<Target = LoadedConfig> {
        &self.loaded
    }

    fn change_file<T>(&self, _: &Path, change: impl FnOnce() -> T) -> T {
        change()
    }

    fn reload(&self) -> Option<LoadedConfig> {
        Some(self.reloaded().loaded)
    }
}

/// The changes of agents that are on record.
impl TrustAccess for StoredConfig {
    type Change = PendingChange;

    fn untrusted_changes(&self) -> Vec<PendingChange> {
        let loaded = &self.loaded;
        all_pending_changes(&loaded.paths, &loaded.project.root, loaded.guard_files(&[]))
    }

    fn untrusted_changes_of_hook(&self, name: &str) -> (Vec<PendingChange>, Option<PendingChange>) {
        let hooks = self.loaded.registry.hooks();
        let named: Vec<_> = hooks.iter().filter(|hook| hook.id() == name).collect();
        let files: Vec<_> = named.iter().flat_map(|hook| self.loaded.guard_files_of(hook)).collect();
        let declares = |change: &PendingChange| {
            named.iter().any(|hook| hook.location.as_ref().is_some_and(|place| *place.file == *change.file.path))
        };
        let is_own = |change: &PendingChange| files.iter().any(|(_, path)| *path == change.file.path);
        let (settings, others): (Vec<_>, Vec<_>) = self.untrusted_changes().into_iter().partition(declares);
        (others.into_iter().filter(is_own).collect(), settings.into_iter().next())
    }

    fn trust_changes(&self, changes: &[PendingChange]) -> Result<(), EditError> {
        trust_changes(&self.loaded.project.root, &changes.iter().collect::<Vec<_>>())
    }

    fn trust_changed_record(&self, changes: &[PendingChange]) -> Result<(), EditError> {
        self.trust_changes(changes)
    }

    fn describe_change(&self, change: &PendingChange) -> UntrustedFile {
        let path = change.file.path.strip_prefix(&self.loaded.project.root).unwrap_or(&change.file.path);
        let (path, diff) = (path.display().to_string(), change.diff.clone());
        UntrustedFile { path, change: "changed by an agent".to_owned(), diff }
    }
}
