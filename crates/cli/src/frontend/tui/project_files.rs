//! Lists the project's files for `@` completion, by the same rules as the tools.
//!
//! The caller runs it on a blocking thread.

use std::path::Path;
use std::sync::Arc;

use hookwright_tools::{FileFilter, Workspace};

/// The limits of the list: the number of files and the depth of folders.
const MAX_LISTED_FILES: usize = 100_000;
const MAX_FILE_DEPTH: usize = 12;

/// Returns files and folders below a root, relative to it; folders end with a slash.
pub(crate) fn list_files(root: &Path, filter: FileFilter) -> Arc<Vec<String>> {
    let names =
        Workspace::new(root, []).map(|workspace| filter.list_names(&workspace, MAX_FILE_DEPTH, MAX_LISTED_FILES));
    Arc::new(names.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_tools_see_can_be_mentioned() {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            (".gitignore", "*.log\n"),
            (".geminiignore", "vault\n"),
            (".github/ci.yml", ""),
            ("node_modules/p/i.js", ""),
            ("vault/key", ""),
            ("no-repository.log", ""),
            ("src/a.rs", ""),
        ] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let listed = list_files(dir.path(), FileFilter::default());
        let expected =
            [".geminiignore", ".github/", ".github/ci.yml", ".gitignore", "no-repository.log", "src/", "src/a.rs"];
        assert_eq!(*listed, expected);
    }
}
