//! The project's files for `@` completion, as ignore files leave them. Looked for on a thread of its own.

use std::path::Path;
use std::sync::Arc;

use hookwright_tools::FileFilter;
use ignore::WalkBuilder;

/// More than this nobody steps through.
const MOST: usize = 20_000;
const DEEPEST: usize = 12;

/// Files and folders below a root, relative to it; folders end with a slash.
pub(crate) fn list(root: &Path, filter: FileFilter) -> Arc<Vec<String>> {
    let mut walk = WalkBuilder::new(root);
    walk.max_depth(Some(DEEPEST)).git_ignore(filter.git_ignore).git_exclude(filter.git_ignore).require_git(false);
    if filter.gemini_ignore {
        walk.add_custom_ignore_filename(".geminiignore");
    }
    let relative = |entry: ignore::DirEntry| {
        let path = entry.path().strip_prefix(root).ok()?.to_str()?.to_owned();
        let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        (!path.is_empty()).then(|| if folder { format!("{path}/") } else { path })
    };
    let mut files: Vec<String> = walk.build().filter_map(Result::ok).filter_map(relative).take(MOST).collect();
    files.sort();
    Arc::new(files)
}
