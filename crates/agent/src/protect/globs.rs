//! `security.protectedPaths`: globs that add to what is protected, or, spelt `!glob`, take away from what is by itself.
//! That a glob is one has been checked where it was read.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use hookwright_settings::Loaded;

/// The user's and the administrator's own word on paths.
#[derive(Debug, Default)]
pub(super) struct Globs {
    root: PathBuf,
    added: Vec<Glob>,
    removed: Vec<Glob>,
}

/// One of them.
#[derive(Debug)]
enum Glob {
    /// About paths in the project.
    Inside(GlobMatcher),
    /// About whole paths.
    Whole(GlobMatcher),
}

impl Globs {
    pub(super) fn new(loaded: &Loaded) -> Self {
        let mut globs = Globs { root: loaded.project.root.clone(), ..Globs::default() };
        for text in &loaded.settings.security.protected_paths {
            match text.strip_prefix('!') {
                Some(text) => globs.removed.extend(glob(text, &loaded.paths.home)),
                None => globs.added.extend(glob(text, &loaded.paths.home)),
            }
        }
        globs
    }

    /// Whether somebody protects this path. Nobody can take that back.
    pub(super) fn adds(&self, path: &Path) -> bool {
        self.any(&self.added, path)
    }

    /// Whether somebody gives this path free.
    pub(super) fn removes(&self, path: &Path) -> bool {
        self.any(&self.removed, path)
    }

    /// Whether one of them means the path, or a folder that it is in.
    fn any(&self, globs: &[Glob], path: &Path) -> bool {
        let inside = path.strip_prefix(&self.root).ok();
        globs.iter().any(|glob| match glob {
            Glob::Whole(glob) => path.ancestors().any(|path| glob.is_match(path)),
            Glob::Inside(glob) => inside.is_some_and(|path| path.ancestors().any(|path| glob.is_match(path))),
        })
    }
}

fn glob(text: &str, home: &Path) -> Option<Glob> {
    let build = |text: &str| {
        let folded = cfg!(any(target_os = "macos", windows));
        Some(GlobBuilder::new(text).literal_separator(true).case_insensitive(folded).build().ok()?.compile_matcher())
    };
    let text = text.strip_suffix('/').unwrap_or(text);
    match text.strip_prefix("~/") {
        Some(rest) => Some(Glob::Whole(build(&format!("{}/{rest}", globset::escape(&home.to_string_lossy())))?)),
        None if Path::new(text).is_absolute() => Some(Glob::Whole(build(text)?)),
        None => Some(Glob::Inside(build(text.strip_prefix("./").unwrap_or(text))?)),
    }
}
