//! Matches a path against a glob. Most globs of rules are plain paths, with `**` at an end: they need no regular
//! expression, which would take longer to compile than a call takes to judge.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

pub(super) enum PathMatcher {
    /// `a/b`
    Path(PathBuf),
    /// `a/b/**`
    Below(PathBuf),
    /// `**/a/b`
    Ending(PathBuf),
    Glob(GlobMatcher),
}

/// Whether the file system ignores letter case.
const IGNORES_CASE: bool = cfg!(any(target_os = "macos", windows));

impl PathMatcher {
    /// Compiles a glob whose `*` stops at slashes.
    ///
    /// # Errors
    /// If the glob is invalid, with the reason.
    pub(super) fn compile(text: &str) -> Result<PathMatcher, String> {
        let (ending, below) = (text.strip_prefix("**/"), text.strip_suffix("/**"));
        Ok(match (ending.and_then(plain_path), below.and_then(plain_path), plain_path(text)) {
            (.., Some(path)) => PathMatcher::Path(path),
            (_, Some(folder), _) => PathMatcher::Below(folder),
            (Some(end), ..) => PathMatcher::Ending(end),
            _ => PathMatcher::Glob(compile_glob(text)?),
        })
    }

    pub(super) fn is_match(&self, path: &Path) -> bool {
        match self {
            PathMatcher::Path(plain) => path == plain,
            PathMatcher::Below(folder) => path != folder && path.starts_with(folder),
            PathMatcher::Ending(end) => path.ends_with(end),
            PathMatcher::Glob(glob) => glob.is_match(path),
        }
    }
}

/// The path that a text is, unless it is a glob or is spelt in an unusual way.
fn plain_path(text: &str) -> Option<PathBuf> {
    let is_plain =
        |part: &str| !part.is_empty() && part != "." && !part.contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
    (!IGNORES_CASE && text.split('/').all(is_plain)).then(|| PathBuf::from(text))
}

fn compile_glob(text: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(text).literal_separator(true).case_insensitive(IGNORES_CASE).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_globs_match_like_regular_expressions() {
        let globs = [
            "a", "a/b", "a/**", "a/b/**", "**/a", "**/a/b", "**", "**/*", ".env", "**/.env", "a b", "**/a/**", "*",
            "a/*",
        ];
        let paths = [
            "", "a", "b", "ab", "a/b", "a/b/c", "b/a", "b/a/b", "b/a/b/c", ".env", "x/.env", "x/.envy", "a b", "b/ab",
            "a/a",
        ];
        for glob in globs {
            let (matcher, expected) = (PathMatcher::compile(glob).unwrap(), compile_glob(glob).unwrap());
            for path in paths.map(Path::new) {
                assert_eq!(matcher.is_match(path), expected.is_match(path), "{glob} {}", path.display());
            }
        }
        assert!(PathMatcher::compile("a[").is_err());
    }
}
