//! Glob patterns over paths, as `glob` and `read_many_files` take them. The files themselves are walked elsewhere.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseSensitivity {
    Sensitive,
    Insensitive,
}

/// Compiles glob patterns relative to `start`.
///
/// A pattern that is the path of an existing file matches exactly that file, even if it contains brackets; the path of
/// an existing directory matches everything in it.
pub(super) fn compile_globs(patterns: &[String], start: &Path, case: CaseSensitivity) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = Path::new(pattern)
            .strip_prefix(start)
            .ok()
            .and_then(Path::to_str)
            .unwrap_or(pattern)
            .trim_start_matches("./");
        let existing = start.join(pattern);
        let pattern = if existing.is_dir() {
            let directory = globset::escape(pattern.trim_end_matches('/'));
            if directory.is_empty() || directory == "." { "**".to_owned() } else { format!("{directory}/**") }
        } else if existing.exists() {
            globset::escape(pattern)
        } else {
            pattern.to_owned()
        };
        let glob = GlobBuilder::new(&pattern)
            .literal_separator(true)
            .case_insensitive(case == CaseSensitivity::Insensitive)
            .build()
            .map_err(|error| format!("bad pattern: {error}"))?;
        set.add(glob);
    }
    set.build().map_err(|error| format!("bad patterns: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn existing_paths_mean_themselves() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("app")).unwrap();
        fs::write(dir.path().join("app/[slug].tsx"), "").unwrap();
        let fits = |pattern: &str, path: &str| {
            compile_globs(&[pattern.to_owned()], dir.path(), CaseSensitivity::Insensitive).unwrap().is_match(path)
        };
        assert!(fits("app/[slug].tsx", "app/[slug].tsx"));
        assert!(!fits("app/[slug].tsx", "app/s.tsx"));
        assert!(fits("app", "app/deep/x") && fits("app/", "app/x") && fits(".", "any/x"));
        assert!(fits("./*.rs", "A.RS") && !fits("*.rs", "src/a.rs"));
        assert!(fits("**/*.{ts,tsx}", "a/b.tsx") && fits("**/x", "x"));
        let absolute = dir.path().join("app/*.tsx");
        assert!(fits(absolute.to_str().unwrap(), "app/a.tsx"));
    }

    #[test]
    fn case_and_bad_patterns() {
        let dir = Path::new("/nowhere");
        assert!(!compile_globs(&["*.rs".to_owned()], dir, CaseSensitivity::Sensitive).unwrap().is_match("A.RS"));
        assert!(compile_globs(&["{a".to_owned()], dir, CaseSensitivity::Sensitive).is_err());
    }
}
