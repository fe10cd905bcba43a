//! The files that the guards of a configuration depend on. Changes to them are detected in `tamper_watch.rs`.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_settings::LoadedConfig;
use hookwright_settings::trust::{GuardFile, GuardFileKind};

use super::protected_paths::ProtectedPaths;

/// The files that guards depend on.
pub(crate) struct GuardedFiles {
    /// The paths that no tool changes without approval.
    pub(crate) protected: Arc<ProtectedPaths>,
    /// The files that are watched, without those that the user unprotects.
    pub(crate) files: Vec<GuardFile>,
}

impl GuardedFiles {
    /// Collects the files of a configuration's guards; `policies` are the policy files from the command line.
    pub(crate) fn new(loaded: &LoadedConfig, policies: &[PathBuf]) -> Self {
        let protected = Arc::new(ProtectedPaths::new(loaded, policies));
        let files = loaded.guard_files(policies).into_iter();
        // A glob for the files in a folder of definitions unprotects the folder too.
        let is_free = |file: &GuardFile| {
            let inside = file.path.join("new");
            protected.is_unprotected(&file.path)
                || (file.kind == GuardFileKind::Instructions && protected.is_unprotected(&inside))
        };
        let files = files.filter(|file| !is_free(file)).collect();
        GuardedFiles { protected, files }
    }
}
