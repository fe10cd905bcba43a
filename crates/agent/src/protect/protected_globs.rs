//! The globs of `security.protectedPaths`: they protect further paths or, written as `!glob`, unprotect default ones.
//!
//! Their syntax was checked when the settings were read.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use hookwright_settings::LoadedConfig;

/// The globs of the user and the administrator.
#[derive(Debug, Default)]
pub(super) struct ProtectedGlobs {
    root: PathBuf,
    protecting: Vec<ProtectedGlob>,
    unprotecting: Vec<ProtectedGlob>,
}

/// A compiled glob.
#[derive(Debug)]
enum ProtectedGlob {
    /// Matches paths relative to the project.
    InProject(GlobMatcher),
    /// Matches absolute paths.
    Absolute(GlobMatcher),
}

impl ProtectedGlobs {
    pub(super) fn new(loaded: &LoadedConfig) -> Self {
        let mut globs = ProtectedGlobs { root: loaded.project.root.clone(), ..ProtectedGlobs::default() };
        for text in &loaded.settings.security.protected_paths {
            match text.strip_prefix('!') {
                Some(text) => globs.unprotecting.extend(compile_glob(text, &loaded.paths.home)),
                None => globs.protecting.extend(compile_glob(text, &loaded.paths.home)),
            }
        }
        globs
    }

    /// Returns whether a glob protects this path. No `!glob` overrides that.
    pub(super) fn protects(&self, path: &Path) -> bool {
        self.any_matches(&self.protecting, path)
    }

    /// Returns whether a `!glob` unprotects this path.
    pub(super) fn unprotects(&self, path: &Path) -> bool {
        self.any_matches(&self.unprotecting, path)
    }

    /// Returns whether a glob matches the path or one of its parent folders.
    fn any_matches(&self, globs: &[ProtectedGlob], path: &Path) -> bool {
        let inside = path.strip_prefix(&self.root).ok();
        globs.iter().any(|glob| match glob {
            ProtectedGlob::Absolute(glob) => path.ancestors().any(|path| glob.is_match(path)),
            ProtectedGlob::InProject(glob) => {
                inside.is_some_and(|path| path.ancestors().any(|path| glob.is_match(path)))
            }
        })
    }
}

fn compile_glob(text: &str, home: &Path) -> Option<ProtectedGlob> {
    let build = |text: &str| {
        let folded = cfg!(any(target_os = "macos", windows));
        Some(GlobBuilder::new(text).literal_separator(true).case_insensitive(folded).build().ok()?.compile_matcher())
    };
    let text = text.strip_suffix('/').unwrap_or(text);
    match text.strip_prefix("~/") {
        Some(rest) => {
            Some(ProtectedGlob::Absolute(build(&format!("{}/{rest}", globset::escape(&home.to_string_lossy())))?))
        }
        None if Path::new(text).is_absolute() => Some(ProtectedGlob::Absolute(build(text)?)),
        None => Some(ProtectedGlob::InProject(build(text.strip_prefix("./").unwrap_or(text))?)),
    }
}
