//! `security.protectedPaths`: globs that add to what is protected, or, spelt `!glob`, take away from what is by itself.
//! That a glob is one has been checked where it was read.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use hookwright_settings::LoadedConfig;

/// The user's and the administrator's own word on paths.
#[derive(Debug, Default)]
pub(super) struct ProtectedGlobs {
    root: PathBuf,
    protecting: Vec<ProtectedGlob>,
    unprotecting: Vec<ProtectedGlob>,
}

/// One of them.
#[derive(Debug)]
enum ProtectedGlob {
    /// About paths in the project.
    InProject(GlobMatcher),
    /// About whole paths.
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

    /// Whether somebody protects this path. Nobody can take that back.
    pub(super) fn protects(&self, path: &Path) -> bool {
        self.any_matches(&self.protecting, path)
    }

    /// Whether somebody gives this path free.
    pub(super) fn unprotects(&self, path: &Path) -> bool {
        self.any_matches(&self.unprotecting, path)
    }

    /// Whether one of them means the path, or a folder that it is in.
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
