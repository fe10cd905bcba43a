//! Loads the context files as one text: the user's, the extensions', and the project's
//! from its root down to the working directory.
//!
//! `import.rs` expands `@path` in them.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use hookwright_disk::{ReadError, SymlinkPolicy};
use hookwright_tools::FileFilter;

use super::import;
use super::import_policy::ImportPolicy;

/// The size above which a context file is not read.
const MAX_CONTEXT_FILE_BYTES: u64 = 1024 * 1024;
/// The maximum size of all context files together.
const MAX_CONTEXT_BYTES: usize = 4 * 1024 * 1024;

/// The places of context files.
#[derive(Clone, Debug)]
pub struct MemoryOptions<'a> {
    /// The user's home directory.
    pub home: &'a Path,
    /// The user's settings directory, `~/.gemini`.
    pub home_gemini_dir: &'a Path,
    /// The root of the project.
    pub project_root: &'a Path,
    /// The working directory.
    pub cwd: &'a Path,
    /// The names of context files, for example `GEMINI.md`.
    pub file_names: &'a [String],
    /// The names of context files outside of the project.
    pub outside_file_names: &'a [String],
    /// Whether the user trusts the project; if not, none of its files is read.
    pub trusted: bool,
    /// The context files of active extensions.
    pub extension_files: Vec<PathBuf>,
    /// The ignore files that apply to imports.
    pub filter: FileFilter,
}

/// The content of the context files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextMemory {
    /// All texts, each under a line that names its file; empty if there are none.
    pub text: String,
    /// The context files, in the order of the text.
    pub files: Vec<PathBuf>,
    /// The files that the context files import.
    pub imported: Vec<PathBuf>,
    /// The warnings about files that were not read.
    pub warnings: Vec<String>,
}

/// The owner of a context file, which decides what the file may import.
#[derive(Clone, Debug)]
pub(super) enum ContextFileOwner {
    User,
    Extension(PathBuf),
    Project,
}

/// Reads all context files. A problem with one is a warning, and the others still count.
pub fn load_memory(options: &MemoryOptions<'_>) -> ContextMemory {
    let mut reader = ContextReader::new(options);
    for name in options.outside_file_names {
        reader.read_context_file(&options.home_gemini_dir.join(name), &ContextFileOwner::User);
    }
    for file in &options.extension_files {
        let directory = file.parent().unwrap_or(file);
        reader.read_context_file(file, &ContextFileOwner::Extension(real_path(directory)));
    }
    if options.trusted {
        for directory in project_directories(options.project_root, options.cwd) {
            let is_inside = directory.starts_with(options.project_root);
            for name in if is_inside { options.file_names } else { options.outside_file_names } {
                reader.read_context_file(&directory.join(name), &ContextFileOwner::Project);
            }
        }
    }
    reader.memory
}

/// Returns the directories from the outermost of the project to the working directory.
fn project_directories(project_root: &Path, cwd: &Path) -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = cwd.ancestors().map(Path::to_owned).collect();
    let top = project_top(project_root, cwd);
    let count = directories.iter().position(|directory| *directory == top).map_or(1, |at| at + 1);
    directories.truncate(count);
    directories.reverse();
    directories
}

/// Returns the root of the git repository around the project, or the project itself.
pub(super) fn project_top(project_root: &Path, cwd: &Path) -> PathBuf {
    let project = if cwd.starts_with(project_root) { project_root } else { cwd };
    let repository = cwd.ancestors().find(|directory| directory.join(".git").exists());
    match repository {
        Some(root) if project.starts_with(root) && has_same_owner(root, project) => root.to_owned(),
        _ => project.to_owned(),
    }
}

/// Returns whether the repository belongs to the project's owner. Another user's
/// repository further up, as in `/tmp`, is ignored.
#[cfg(unix)]
fn has_same_owner(root: &Path, project: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| fs::metadata(path).ok().map(|found| found.uid());
    owner(&root.join(".git")) == owner(project) && owner(root) == owner(project)
}

#[cfg(not(unix))]
fn has_same_owner(_root: &Path, _project: &Path) -> bool {
    true
}

/// Returns the path with links resolved, or the path itself if it does not exist.
pub(super) fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Reads context files, each once, and collects their texts.
pub(super) struct ContextReader<'a> {
    pub(super) home: &'a Path,
    pub(super) import_policy: ImportPolicy,
    real_home: PathBuf,
    cwd: &'a Path,
    read_paths: HashSet<PathBuf>,
    total_bytes: usize,
    pub(super) memory: ContextMemory,
}

impl<'a> ContextReader<'a> {
    fn new(options: &MemoryOptions<'a>) -> Self {
        ContextReader {
            home: options.home,
            import_policy: ImportPolicy::new(options),
            real_home: real_path(options.home),
            cwd: options.cwd,
            read_paths: HashSet::new(),
            total_bytes: 0,
            memory: ContextMemory::default(),
        }
    }

    fn read_context_file(&mut self, path: &Path, owner: &ContextFileOwner) {
        // Most candidates do not exist, which one `lstat` shows. A file is read once, whatever its names.
        if path.symlink_metadata().is_err() {
            return;
        }
        let Ok(real) = path.canonicalize() else { return };
        if real.is_dir() || self.is_already_read(&real) {
            return;
        }
        if let Some(why) = self.import_policy.link_refusal_reason(owner, path, &real) {
            return self.warn(format!("{} {why} and is not read", self.display_path(path)));
        }
        let Some(text) = self.read_text(&real) else { return };
        let mut stack = vec![real.clone()];
        let text = import::expand_imports(self, &text, owner, &mut stack);
        let text = text.trim();
        self.memory.files.push(path.to_owned());
        if !text.is_empty() {
            let name = self.display_path(path);
            let gap = if self.memory.text.is_empty() { "" } else { "\n\n" };
            self.memory.text.push_str(&format!("{gap}=== From {name} ===\n{text}\n=== End of {name} ==="));
        }
    }

    /// Reads a file by the path without links that was checked; a failure is a warning.
    pub(super) fn read_text(&mut self, real: &Path) -> Option<String> {
        self.read_paths.insert(real.to_owned());
        let name = self.display_path(real);
        let bytes = match hookwright_disk::read(real, MAX_CONTEXT_FILE_BYTES, SymlinkPolicy::Refuse) {
            Ok(bytes) => bytes,
            Err(ReadError::TooLarge(_)) => {
                self.warn(format!("{name} is larger than 1 MiB and is not read"));
                return None;
            }
            Err(error) => {
                self.warn(format!("cannot read {name}: {error}"));
                return None;
            }
        };
        if bytes.contains(&0) {
            self.warn(format!("{name} is not text and is not read"));
            return None;
        }
        if self.total_bytes + bytes.len() > MAX_CONTEXT_BYTES {
            self.warn(format!("{name} is not read: the context files before it are already 4 MiB"));
            return None;
        }
        self.total_bytes += bytes.len();
        let text = String::from_utf8_lossy(&bytes);
        Some(text.strip_prefix('\u{FEFF}').unwrap_or(&text).to_owned())
    }

    pub(super) fn is_already_read(&self, real: &Path) -> bool {
        self.read_paths.contains(real)
    }

    pub(super) fn warn(&mut self, warning: String) {
        if !self.memory.warnings.contains(&warning) {
            self.memory.warnings.push(warning);
        }
    }

    /// Returns a path for display, relative to the working directory or to home.
    pub(super) fn display_path(&self, path: &Path) -> String {
        if let Ok(relative) = path.strip_prefix(self.cwd) {
            return relative.display().to_string();
        }
        match path.strip_prefix(self.home).or_else(|_| path.strip_prefix(&self.real_home)) {
            Ok(relative) => format!("~/{}", relative.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A home directory with a project in it.
    struct MemoryFixture {
        dir: tempfile::TempDir,
        names: Vec<String>,
    }

    impl MemoryFixture {
        fn new(files: &[(&str, &str)]) -> Self {
            let dir = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = dir.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            MemoryFixture { dir, names: vec!["GEMINI.md".to_owned()] }
        }

        fn path(&self, path: &str) -> PathBuf {
            self.dir.path().join(path)
        }

        fn load(&self, cwd: &str, trusted: bool) -> ContextMemory {
            load_memory(&MemoryOptions {
                home: &self.path("home"),
                home_gemini_dir: &self.path("home/.gemini"),
                project_root: &self.path("home/p"),
                cwd: &self.path(cwd),
                file_names: &self.names,
                outside_file_names: &self.names,
                trusted,
                extension_files: vec![self.path("ext/GEMINI.md")],
                filter: FileFilter::default(),
            })
        }
    }

    #[test]
    fn context_files_are_ordered_from_general_to_specific() {
        let place = MemoryFixture::new(&[
            ("home/.gemini/GEMINI.md", "global"),
            ("home/GEMINI.md", "above the repository"),
            ("home/p/.git/HEAD", ""),
            ("home/p/GEMINI.md", "project\n"),
            ("home/p/a/b/GEMINI.md", "inner"),
            ("home/p/other/GEMINI.md", "elsewhere"),
            ("ext/GEMINI.md", "extension"),
        ]);
        let memory = place.load("home/p/a/b", true);
        let headers: Vec<&str> = memory.text.lines().filter(|line| !line.starts_with("=== End")).collect();
        let ext = format!("=== From {} ===", place.path("ext/GEMINI.md").display());
        let expected = [
            "=== From ~/.gemini/GEMINI.md ===",
            "global",
            "",
            &ext,
            "extension",
            "",
            "=== From ~/p/GEMINI.md ===",
            "project",
            "",
            "=== From GEMINI.md ===",
            "inner",
        ];
        assert_eq!(headers, expected);
        assert_eq!(memory.files.len(), 4);
        assert_eq!(memory.warnings, Vec::<String>::new());
    }

    #[test]
    fn untrusted_project_adds_no_context() {
        let place = MemoryFixture::new(&[("home/.gemini/GEMINI.md", "global"), ("home/p/GEMINI.md", "project")]);
        let memory = place.load("home/p", false);
        assert!(memory.text.contains("global") && !memory.text.contains("project"));
    }

    #[test]
    fn context_includes_the_enclosing_repository() {
        let place =
            MemoryFixture::new(&[("home/.git/HEAD", ""), ("home/GEMINI.md", "outer"), ("home/p/GEMINI.md", "p")]);
        assert_eq!(place.load("home/p", true).files, [place.path("home/GEMINI.md"), place.path("home/p/GEMINI.md")]);
        fs::remove_dir_all(place.path("home/.git")).unwrap();
        assert_eq!(place.load("home/p", true).files, [place.path("home/p/GEMINI.md")]);
    }

    #[test]
    fn all_file_names_are_read_and_missing_files_skipped() {
        let mut place =
            MemoryFixture::new(&[("home/p/GEMINI.md", "one"), ("home/p/AGENTS.md", "two"), ("home/p/a/x", "")]);
        place.names.push("AGENTS.md".to_owned());
        assert_eq!(place.load("home/p/a", true).files.len(), 2);
        let empty = MemoryFixture::new(&[("home/p/GEMINI.md", " \n")]);
        let memory = empty.load("home/p", true);
        assert_eq!((memory.text.as_str(), memory.files.len()), ("", 1));
    }

    #[test]
    fn unreadable_file_is_a_warning() {
        let big = "x".repeat(MAX_CONTEXT_FILE_BYTES as usize + 1);
        let place = MemoryFixture::new(&[("home/.gemini/GEMINI.md", &big), ("home/p/GEMINI.md", "\0")]);
        let memory = place.load("home/p", true);
        assert_eq!(memory.text, "");
        assert_eq!(
            memory.warnings,
            ["~/.gemini/GEMINI.md is larger than 1 MiB and is not read", "GEMINI.md is not text and is not read"]
        );
    }

    #[test]
    fn directory_is_not_a_context_file() {
        let place = MemoryFixture::new(&[("home/p/GEMINI.md/x", "")]);
        assert_eq!(place.load("home/p", true), ContextMemory::default());
    }

    #[cfg(unix)]
    #[test]
    fn symlinked_context_file_is_read_once_and_within_the_project() {
        let mut place =
            MemoryFixture::new(&[("home/p/AGENTS.md", "shared"), ("home/key", "secret"), ("home/p/a/x", "")]);
        place.names.push("AGENTS.md".to_owned());
        std::os::unix::fs::symlink("AGENTS.md", place.path("home/p/GEMINI.md")).unwrap();
        std::os::unix::fs::symlink("../../key", place.path("home/p/a/GEMINI.md")).unwrap();
        let memory = place.load("home/p/a", true);
        assert_eq!(memory.text.matches("shared").count(), 1);
        assert_eq!(memory.warnings, ["GEMINI.md leads out of the project and is not read"]);
    }

    #[cfg(unix)]
    #[test]
    fn symlink_to_env_file_is_not_a_context_file() {
        let place = MemoryFixture::new(&[("home/p/.env", "secret"), ("home/p/a/x", "")]);
        std::os::unix::fs::symlink("../.env", place.path("home/p/a/GEMINI.md")).unwrap();
        let memory = place.load("home/p/a", true);
        assert_eq!(memory.text, "");
        assert_eq!(memory.warnings, ["GEMINI.md leads to a file that context files may not import and is not read"]);
    }
}
