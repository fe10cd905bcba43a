//! Decides which files tools see: `.gitignore`, `.geminiignore` and directories that are never searched. All tools use
//! this walker and this check.

use crate::workspace::Workspace;
use hookwright_disk::{ReadError, SymlinkPolicy};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{Match, WalkBuilder};
use serde::Deserialize;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) const GEMINI_IGNORE_FILE: &str = ".geminiignore";

/// The size limit of an ignore file.
const MAX_IGNORE_FILE_BYTES: u64 = 1 << 20;

/// Directories of version control and of dependencies.
const SKIPPED_DIRECTORIES: &[&str] = &["node_modules", ".git", "bower_components", ".svn", ".hg"];

/// The ignore files that apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFilter {
    /// Whether `.gitignore` and `.git/info/exclude` apply, inside git repositories.
    pub git_ignore: bool,
    /// Whether `.geminiignore` files apply.
    pub gemini_ignore: bool,
}

impl Default for FileFilter {
    fn default() -> Self {
        Self { git_ignore: true, gemini_ignore: true }
    }
}

/// The `file_filtering_options` argument of several tools.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct FilteringOptions {
    pub(crate) respect_git_ignore: Option<bool>,
    pub(crate) respect_gemini_ignore: Option<bool>,
}

impl FileFilter {
    /// Returns this filter with a call's options. An option can't disable `.geminiignore`, with which the user hides
    /// files from the agent.
    pub(crate) fn with_options(self, options: FilteringOptions) -> Self {
        Self {
            git_ignore: options.respect_git_ignore.unwrap_or(self.git_ignore),
            gemini_ignore: self.gemini_ignore || options.respect_gemini_ignore == Some(true),
        }
    }

    /// Returns all regular files below `start`, sorted by path, except ignored ones.
    ///
    /// A symbolic link is listed if it leads to a file that may be read; links to directories are not followed.
    pub(crate) fn walk<'a>(
        self,
        start: &Path,
        workspace: &'a Workspace,
        recursion: Recursion,
    ) -> impl Iterator<Item = PathBuf> + use<'a> {
        let depth = (recursion == Recursion::No).then_some(1);
        let files = self.entries(start, workspace, depth).filter(move |entry| is_file(entry, workspace));
        files.map(ignore::DirEntry::into_path)
    }

    /// Returns relative paths of files and directories of the workspace's main directory, for the user to choose from;
    /// directories end with a slash.
    ///
    /// `deepest` limits the depth, `most` the number of paths.
    pub fn list_names(self, workspace: &Workspace, deepest: usize, most: usize) -> Vec<String> {
        let root = workspace.directory();
        let name = |entry: ignore::DirEntry| {
            let name = entry.path().strip_prefix(root).ok()?.to_str().filter(|name| !name.is_empty())?;
            if is_dir(&entry) {
                return Some(format!("{name}/"));
            }
            is_file(&entry, workspace).then(|| name.to_owned())
        };
        let mut names: Vec<String> = self.entries(root, workspace, Some(deepest)).filter_map(name).take(most).collect();
        names.sort();
        names
    }

    /// Returns all entries below `start` that are not hidden, sorted by path.
    fn entries<'a>(
        self,
        start: &Path,
        workspace: &'a Workspace,
        deepest: Option<usize>,
    ) -> impl Iterator<Item = ignore::DirEntry> + use<'a> {
        let hidden = self.is_ignored(start, workspace);
        let known = Mutex::new(HashMap::from([(start.to_owned(), self.rules(start, workspace))]));
        WalkBuilder::new(start)
            .standard_filters(false)
            .follow_links(false)
            .max_depth(deepest)
            .sort_by_file_name(Ord::cmp)
            .filter_entry(move |entry| entry.depth() == 0 || is_visible(entry, &known))
            .build()
            .filter(move |_| !hidden)
            .filter_map(Result::ok)
    }

    /// Returns the workspace's ignore files that can't be read, with the reason. Such a file hides its whole directory.
    pub fn unreadable_files(self, workspace: &Workspace) -> Vec<(PathBuf, ReadError)> {
        let roots = workspace.roots();
        let files = roots.iter().map(|root| root.join(GEMINI_IGNORE_FILE)).filter(|_| self.gemini_ignore);
        files.filter_map(|file| Some((read_ignore_file(&file).err()?, file))).map(|(why, file)| (file, why)).collect()
    }

    /// Returns whether an ignore file of the workspace, or of the repository around it, hides this path or one of its
    /// directories.
    pub fn is_ignored(self, path: &Path, workspace: &Workspace) -> bool {
        let inside = workspace.root_of(path).is_some_and(|root| root != path);
        match path.parent() {
            Some(directory) if inside => self.rules(directory, workspace).is_hidden(path, path.is_dir()),
            _ => false,
        }
    }

    /// Returns the rules that apply in one directory of the workspace.
    pub(crate) fn rules(self, directory: &Path, workspace: &Workspace) -> Arc<IgnoreRules> {
        let Some(root) = workspace.root_of(directory) else { return IgnoreRules::none() };
        let root = root.as_path();
        let repository = root.ancestors().find(|dir| dir.join(".git").exists());
        let active = Self { git_ignore: self.git_ignore && repository.is_some(), ..self };
        // A repository may ignore the whole workspace, for example a repository of dotfiles that ignores the rest of
        // the home directory. Then only the ignore files inside the workspace apply.
        let top = repository
            .filter(|repository| active.git_ignore && !IgnoreRules::load_chain(active, repository, root).hides_all)
            .unwrap_or(root);
        IgnoreRules::load_chain(active, top, directory)
    }
}

/// Whether a walk enters subdirectories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recursion {
    Yes,
    No,
}

/// The ignore files that apply in one directory: its own, and those of the directories above.
pub(crate) struct IgnoreRules {
    parent: Option<Arc<IgnoreRules>>,
    gemini: Gitignore,
    git: Gitignore,
    filter: FileFilter,
    /// Whether a repository begins here; git reads no ignore files further up.
    begins_repository: bool,
    /// Whether the directory itself is hidden, and with it everything inside.
    hides_all: bool,
}

impl IgnoreRules {
    fn none() -> Arc<Self> {
        Arc::new(Self {
            parent: None,
            gemini: Gitignore::empty(),
            git: Gitignore::empty(),
            filter: FileFilter { git_ignore: false, gemini_ignore: false },
            begins_repository: false,
            hides_all: false,
        })
    }

    /// Loads the rules of all directories from `top` down to `directory`.
    fn load_chain(filter: FileFilter, top: &Path, directory: &Path) -> Arc<Self> {
        let mut rules = Self::load_directory(filter, top, None);
        let mut current = top.to_owned();
        for name in directory.strip_prefix(top).into_iter().flatten() {
            current.push(name);
            rules = Self::load_directory(filter, &current, Some(rules));
        }
        rules
    }

    fn load_directory(filter: FileFilter, directory: &Path, above: Option<Arc<Self>>) -> Arc<Self> {
        let load = |wanted: bool, names: &[&str]| {
            let mut unreadable = false;
            let mut builder = GitignoreBuilder::new(directory);
            for file in names.iter().map(|name| directory.join(name)) {
                let text = if wanted { read_ignore_file(&file) } else { Ok(String::new()) };
                unreadable |= text.is_err();
                let text = text.unwrap_or_default();
                for line in text.trim_start_matches('\u{feff}').lines() {
                    // An invalid line hides nothing.
                    let _ = builder.add_line(Some(file.clone()), line);
                }
            }
            (builder.build().unwrap_or_else(|_| Gitignore::empty()), unreadable)
        };
        let begins_repository = filter.git_ignore && directory.join(".git").exists();
        let git_files: &[&str] =
            // Later lines win, so the repository's private list comes first.
            if begins_repository { &[".git/info/exclude", ".gitignore"] } else { &[".gitignore"] };
        let hides_all = above.as_ref().is_some_and(|above| above.is_hidden(directory, true));
        let (gemini, unreadable) = load(filter.gemini_ignore, &[GEMINI_IGNORE_FILE]);
        let (git, _) = load(filter.git_ignore, git_files);
        // It is not known what an unreadable `.geminiignore` would hide, so it hides everything. `.gitignore` is no
        // protection.
        let hides_all = hides_all || unreadable;
        Arc::new(Self { gemini, git, parent: above, filter, begins_repository, hides_all })
    }

    /// Returns whether `path`, an entry of this directory, is hidden.
    ///
    /// The innermost matching line decides, and `.geminiignore` takes precedence over `.gitignore`.
    pub(crate) fn is_hidden(&self, path: &Path, is_dir: bool) -> bool {
        let is_git = self.begins_repository && path.file_name().is_some_and(|name| name == ".git");
        self.hides_all
            || is_git
            || self
                .lookup(|rules| &rules.gemini, |_| false, path, is_dir)
                .or_else(|| self.lookup(|rules| &rules.git, |rules| rules.begins_repository, path, is_dir))
                .unwrap_or(false)
    }

    fn lookup(
        &self,
        pick: fn(&Self) -> &Gitignore,
        is_last: fn(&Self) -> bool,
        path: &Path,
        is_dir: bool,
    ) -> Option<bool> {
        let mut rules = self;
        loop {
            match pick(rules).matched(path, is_dir) {
                Match::Ignore(_) => return Some(true),
                Match::Whitelist(_) => return Some(false),
                Match::None if is_last(rules) => return None,
                Match::None => rules = rules.parent.as_deref()?,
            }
        }
    }
}

/// Reads an ignore file; a missing one is empty.
fn read_ignore_file(file: &Path) -> Result<String, ReadError> {
    match hookwright_disk::read(file, MAX_IGNORE_FILE_BYTES, SymlinkPolicy::Follow) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(ReadError::Io(error)) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(String::new())
        }
        Err(error) => Err(error),
    }
}

fn is_dir(entry: &ignore::DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

fn is_file(entry: &ignore::DirEntry, workspace: &Workspace) -> bool {
    match entry.file_type() {
        Some(kind) if kind.is_file() => !workspace.is_forbidden(entry.path()),
        Some(kind) if kind.is_symlink() => entry.path().is_file() && workspace.may_read(entry.path()),
        _ => false,
    }
}

/// Decides on an entry of a walk, and stores the rules of a directory that the walk enters.
fn is_visible(entry: &ignore::DirEntry, known: &Mutex<HashMap<PathBuf, Arc<IgnoreRules>>>) -> bool {
    let is_dir = is_dir(entry);
    if is_dir && SKIPPED_DIRECTORIES.iter().any(|name| entry.file_name() == *name) {
        return false;
    }
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(rules) = entry.path().parent().and_then(|directory| known.get(directory)).cloned() else { return true };
    if rules.is_hidden(entry.path(), is_dir) {
        return false;
    }
    if is_dir {
        known.insert(entry.path().to_owned(), IgnoreRules::load_directory(rules.filter, entry.path(), Some(rules)));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let workspace = Workspace::new(dir.path(), []).unwrap();
        (dir, workspace)
    }

    fn walked(filter: FileFilter, start: &str, workspace: &Workspace) -> Vec<String> {
        let start = workspace.directory().join(start);
        filter.walk(&start, workspace, Recursion::Yes).map(|path| workspace.shorten(&path)).collect()
    }

    #[test]
    fn ignore_files_apply_to_walks_and_single_checks() {
        let (_dir, workspace) = tree(&[
            (".git/HEAD", ""),
            (".git/info/exclude", "private.txt\n"),
            (".gitignore", "*.log\nbuild/\n"),
            (".geminiignore", "secret*\n!kept.log\n"),
            ("a.rs", ""),
            ("x.log", ""),
            ("kept.log", ""),
            ("private.txt", ""),
            ("build/out.js", ""),
            ("sub/.gitignore", "!y.log\ninner\n"),
            ("sub/y.log", ""),
            ("sub/inner", ""),
            ("sub/secret.key", ""),
            ("node_modules/p/i.js", ""),
        ]);
        let seen = [".geminiignore", ".gitignore", "a.rs", "kept.log", "sub/.gitignore", "sub/y.log"];
        assert_eq!(walked(FileFilter::default(), "", &workspace), seen);
        let ignored = |path: &str| FileFilter::default().is_ignored(&workspace.directory().join(path), &workspace);
        for path in seen {
            assert!(!ignored(path), "{path}");
        }
        for path in ["x.log", "private.txt", "build", "build/out.js", "sub/inner", "sub/secret.key", ".git/HEAD"] {
            assert!(ignored(path), "{path}");
        }
    }

    #[test]
    fn without_git_only_geminiignore_applies() {
        let (_dir, workspace) = tree(&[(".gitignore", "a\n"), (".geminiignore", "b\n"), ("a", ""), ("b", "")]);
        assert_eq!(walked(FileFilter::default(), "", &workspace), [".geminiignore", ".gitignore", "a"]);
        assert!(!FileFilter::default().is_ignored(&workspace.directory().join("a"), &workspace));
        assert!(FileFilter::default().is_ignored(&workspace.directory().join("b"), &workspace));
    }

    #[test]
    fn each_kind_of_ignore_file_can_be_switched_off() {
        let files = [(".git/HEAD", ""), (".gitignore", "a\n"), (".geminiignore", "b\n"), ("a", ""), ("b", "")];
        let (_dir, workspace) = tree(&files);
        let no_git = FileFilter { git_ignore: false, gemini_ignore: true };
        assert_eq!(walked(no_git, "", &workspace), [".geminiignore", ".gitignore", "a"]);
        let none = FileFilter { git_ignore: false, gemini_ignore: false };
        assert_eq!(walked(none, "", &workspace), [".geminiignore", ".gitignore", "a", "b"]);
    }

    #[test]
    fn a_walk_from_an_ignored_directory_finds_nothing() {
        let (_dir, workspace) = tree(&[(".geminiignore", "vault/\n"), ("vault/deep/key", "")]);
        assert!(walked(FileFilter::default(), "vault", &workspace).is_empty());
        assert!(walked(FileFilter::default(), "vault/deep", &workspace).is_empty());
    }

    #[test]
    fn the_outer_repository_applies_unless_it_ignores_the_workspace() {
        let (dir, _) = tree(&[(".git/HEAD", ""), (".gitignore", "*.log\n"), ("sub/a", ""), ("sub/b.log", "")]);
        let sub = Workspace::new(dir.path().join("sub"), []).unwrap();
        assert_eq!(walked(FileFilter::default(), "", &sub), ["a"]);
        fs::write(dir.path().join(".gitignore"), "*\n").unwrap();
        fs::write(dir.path().join("sub/.gitignore"), "a\n").unwrap();
        assert_eq!(walked(FileFilter::default(), "", &sub), [".gitignore", "b.log"]);
    }

    #[test]
    fn a_repository_inside_another_has_its_own_rules() {
        let (_dir, workspace) = tree(&[
            (".git/HEAD", ""),
            (".gitignore", "*.log\n"),
            ("inner/.git/HEAD", ""),
            ("inner/.gitignore", "*.tmp\n"),
            ("inner/a.log", ""),
            ("inner/a.tmp", ""),
        ]);
        assert_eq!(walked(FileFilter::default(), "inner", &workspace), ["inner/.gitignore", "inner/a.log"]);
    }

    #[test]
    fn listed_names_are_visible_files_and_their_directories() {
        let files =
            [("a/b/c/d", ""), ("a/x.log", ""), (".dot/e", ""), ("node_modules/p", ""), (".geminiignore", "*.log")];
        let (_dir, workspace) = tree(&files);
        let names = |deepest, most| FileFilter::default().list_names(&workspace, deepest, most);
        assert_eq!(names(9, 9), [".dot/", ".dot/e", ".geminiignore", "a/", "a/b/", "a/b/c/", "a/b/c/d"]);
        assert_eq!(names(2, 9), [".dot/", ".dot/e", ".geminiignore", "a/", "a/b/"]);
        assert_eq!(names(9, 2), [".dot/", ".dot/e"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_workspace_are_not_listed() {
        let (_dir, workspace) = tree(&[("a", ""), ("d/b", "")]);
        let at = |name: &str| workspace.directory().join(name);
        std::os::unix::fs::symlink("/etc/passwd", at("out")).unwrap();
        std::os::unix::fs::symlink("a", at("in")).unwrap();
        std::os::unix::fs::symlink("..", at("d/up")).unwrap();
        assert_eq!(walked(FileFilter::default(), "", &workspace), ["a", "d/b", "in"]);
    }
}
