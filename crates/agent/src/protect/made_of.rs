//! What the guards of a configuration are made of, found once for all who ask. Who changes it is noticed in `guards.rs`.

use std::path::PathBuf;
use std::sync::Arc;

use hookwright_settings::Loaded;
use hookwright_settings::trust::GuardFile;

use super::paths::Protected;

/// What guards are made of.
pub(crate) struct MadeOf {
    /// The paths that no tool changes unasked.
    pub(crate) protected: Arc<Protected>,
    /// The files that are watched: without those that the user gives free.
    pub(crate) files: Vec<GuardFile>,
}

impl MadeOf {
    /// Of this configuration's guards; `policies` are the rules that the command line names.
    pub(crate) fn new(loaded: &Loaded, policies: &[PathBuf]) -> Self {
        let protected = Arc::new(Protected::new(loaded, policies));
        let files = loaded.guard_files(policies).into_iter();
        let files = files.filter(|file| !protected.is_given_free(&file.path)).collect();
        MadeOf { protected, files }
    }
}
