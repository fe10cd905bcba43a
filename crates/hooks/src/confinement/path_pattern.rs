//! The patterns of a profile, as far as the kernel can enforce them.

use std::path::{Path, PathBuf};

use super::ConfinementPlace;

/// A pattern on paths, or an exception if written as `!pattern`.
pub(super) struct PathPattern<'a> {
    pub(super) text: &'a str,
    pub(super) is_exception: bool,
    /// The folder that it is relative to.
    pub(super) base: PathBuf,
    pub(super) shape: PatternShape,
}

/// What a pattern names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PatternShape {
    /// A folder with everything in it; empty for the base itself.
    Tree(PathBuf),
    /// One path, and everything in it if it is a folder.
    Path(PathBuf),
    /// All paths that match a glob relative to the base.
    Glob(String),
}

impl<'a> PathPattern<'a> {
    /// # Errors
    /// If the pattern is not valid, with the reason.
    pub(super) fn parse(text: &'a str, place: ConfinementPlace<'_>) -> Result<PathPattern<'a>, String> {
        let (is_exception, rest) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
        let (base, rest) = match rest.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                (place.home.ok_or("the home directory is not known")?, rest.trim_start_matches('/'))
            }
            _ if rest.starts_with('/') => (Path::new("/"), rest.trim_start_matches('/')),
            _ => (place.project, rest),
        };
        let rest = rest.strip_prefix("./").unwrap_or(rest).trim_end_matches('/');
        if rest.is_empty() && !text.ends_with(['/', '~']) {
            return Err("it is empty".to_owned());
        }
        if rest.split('/').any(|part| part == "..") {
            return Err("`..` leads out of the folder where it begins".to_owned());
        }
        let base = base.canonicalize().map_err(|error| format!("{}: {error}", base.display()))?;
        Ok(PathPattern { text, is_exception, base, shape: PatternShape::parse(rest) })
    }

    /// Returns the path that it names, unless it is a glob.
    pub(super) fn path(&self) -> Option<PathBuf> {
        match &self.shape {
            PatternShape::Tree(path) | PatternShape::Path(path) => Some(self.base.join(path)),
            PatternShape::Glob(_) => None,
        }
    }
}

impl PatternShape {
    fn parse(text: &str) -> PatternShape {
        let has_wildcard = |text: &str| text.contains(['*', '?', '[', '{', '\\']);
        let tree = match text {
            "" | "." | "**" => Some(""),
            _ => text.strip_suffix("/**"),
        };
        match tree {
            Some(folder) if !has_wildcard(folder) => PatternShape::Tree(PathBuf::from(folder)),
            None if !has_wildcard(text) => PatternShape::Path(PathBuf::from(text)),
            _ => PatternShape::Glob(text.to_owned()),
        }
    }
}
