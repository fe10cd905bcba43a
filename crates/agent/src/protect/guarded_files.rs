//! What the guards of a configuration are made of, found once for all who ask. Who changes it is noticed in `guards.rs`.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_settings::LoadedConfig;
use hookwright_settings::trust::{GuardFile, GuardFileKind};

use super::protected_paths::ProtectedPaths;

/// What guards are made of.
pub(crate) struct GuardedFiles {
    /// The paths that no tool changes unasked.
    pub(crate) protected: Arc<ProtectedPaths>,
    /// The files that are watched: without those that the user gives free.
    pub(crate) files: Vec<GuardFile>,
}

impl GuardedFiles {
    /// Of this configuration's guards; `policies` are the rules that the command line names.
    pub(crate) fn new(loaded: &LoadedConfig, policies: &[PathBuf]) -> Self {
        let protected = Arc::new(ProtectedPaths::new(loaded, policies));
        let files = loaded.guard_files(policies).into_iter();
        // A folder of definitions is given free with what is in it.
        let is_free = |file: &GuardFile| {
            let inside = file.path.join("new");
            protected.is_unprotected(&file.path)
                || (file.kind == GuardFileKind::Instructions && protected.is_unprotected(&inside))
        };
        let files = files.filter(|file| !is_free(file)).collect();
        GuardedFiles { protected, files }
    }
}
