//! The directories that tools may access, and the resolution of the model's paths to real paths inside them. It opens
//! no files.

use hookwright_process::{DirectoryHandle, DirectoryLocation};
use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The directories that tools may access. All paths are real ones: without symbolic links and `..`.
#[derive(Debug, Clone)]
pub struct Workspace {
    directory: PathBuf,
    /// The directory as it was given, if that path contains symbolic links.
    given_directory: Option<PathBuf>,
    /// An open handle of the directory.
    directory_handle: DirectoryHandle,
    roots: Vec<PathBuf>,
    /// Roots that were added later, shared by all clones.
    added_roots: Arc<RwLock<Vec<PathBuf>>>,
    /// Directories that may only be read, shared by all clones.
    readable_dirs: Arc<RwLock<Vec<PathBuf>>>,
    /// Files that no tool may access, wherever they are.
    forbidden_files: Arc<[PathBuf]>,
    /// The paths that were resolved for one call; see [`Workspace::for_call`].
    resolved_paths: Option<Arc<ResolvedPaths>>,
}

/// Absolute paths as they are written, and the real paths; `None` for circular links.
type ResolvedPaths = Mutex<HashMap<PathBuf, Option<PathBuf>>>;

/// The kind of access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathAccess {
    Read,
    ReadWrite,
}

/// The error of creating a workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// A directory cannot be used.
    #[error("cannot use {path} as a workspace directory")]
    Unusable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
}

/// Why a path is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It leads out of the workspace.
    #[error(
        "Path not in workspace: \"{asked}\" leads to {real}, which is outside the workspace directories: {}",
        list(roots)
    )]
    Outside {
        /// The path as it was written.
        asked: String,
        /// The real path.
        real: PathBuf,
        /// The directories that it may be in.
        roots: Vec<PathBuf>,
    },
    /// The path is empty.
    #[error("the path must not be empty")]
    Empty,
    /// The path contains a NUL character, which no file name can have.
    #[error("the path {asked:?} has a NUL character in it")]
    NulByte {
        /// The path as it was written.
        asked: String,
    },
    /// The path contains too many symbolic links, as circular ones.
    #[error("the path {asked:?} goes through too many symbolic links")]
    TooManyLinks {
        /// The path as it was written.
        asked: String,
    },
}

fn list(roots: &[PathBuf]) -> String {
    roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl Workspace {
    /// Creates a workspace of the working directory, which is its first root, and of further roots.
    pub fn new(directory: impl AsRef<Path>, more: impl IntoIterator<Item = PathBuf>) -> Result<Self, WorkspaceError> {
        let given = directory.as_ref();
        let directory = real_directory(given)?;
        let given = Some(given.to_owned()).filter(|given| given.is_absolute() && *given != directory);
        let mut roots = vec![directory.clone()];
        for root in more {
            let root = real_directory(&root)?;
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        let home = DirectoryHandle::open(&directory);
        let (added, reading, closed) = (Arc::default(), Arc::default(), Arc::default());
        Ok(Self {
            directory,
            given_directory: given,
            directory_handle: home,
            roots,
            added_roots: added,
            readable_dirs: reading,
            forbidden_files: closed,
            resolved_paths: None,
        })
    }

    /// Returns the workspace for one call.
    ///
    /// Every path is resolved only once, so that it leads to the same file for hooks, rules and the tool. Files are
    /// then opened by that real path, and a symbolic link that was put into it meanwhile is refused.
    #[must_use]
    pub fn for_call(&self) -> Self {
        Self { resolved_paths: Some(Arc::default()), ..self.clone() }
    }

    /// Returns the workspace with the resolved paths of another one, so that both judge the same call alike.
    #[must_use]
    pub fn sharing_resolution(&self, other: &Self) -> Self {
        Self { resolved_paths: other.resolved_paths.clone(), ..self.clone() }
    }

    /// Returns the workspace without these files, which no tool may read or write because they hold keys.
    #[must_use]
    pub fn with_forbidden_files(self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        let both = |file: PathBuf| [follow_links(&file), Some(file)];
        Self { forbidden_files: files.into_iter().flat_map(both).flatten().collect(), ..self }
    }

    /// Returns the workspace at its new path, if its directory has been moved.
    pub fn relocated(&self) -> Option<Self> {
        let DirectoryLocation::Moved(directory) = self.directory_handle.locate() else { return None };
        let others = self.roots.iter().skip(1).cloned();
        let roots = std::iter::once(directory.clone()).chain(others).collect();
        Some(Self { directory, roots, ..self.clone() })
    }

    /// Adds a root.
    ///
    /// # Errors
    /// If there is no such directory.
    pub fn add_root(&self, directory: &Path) -> Result<(), WorkspaceError> {
        let directory = real_directory(directory)?;
        let mut added = self.added_roots.write().unwrap_or_else(PoisonError::into_inner);
        if !self.roots.contains(&directory) && !added.contains(&directory) {
            added.push(directory);
        }
        Ok(())
    }

    /// Lets tools read below this directory.
    ///
    /// # Errors
    /// If there is no such directory.
    pub fn allow_reading(&self, directory: &Path) -> Result<(), WorkspaceError> {
        let directory = real_directory(directory)?;
        let mut reading = self.readable_dirs.write().unwrap_or_else(PoisonError::into_inner);
        if !reading.contains(&directory) {
            reading.push(directory);
        }
        Ok(())
    }

    /// Removes all directories that may only be read.
    pub fn clear_readable_dirs(&self) {
        self.readable_dirs.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns the directories that may only be read.
    pub fn readable_dirs(&self) -> Vec<PathBuf> {
        self.readable_dirs.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the working directory, which relative paths start from.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns all roots, the working directory first.
    pub fn roots(&self) -> Vec<PathBuf> {
        let added = self.added_roots.read().unwrap_or_else(PoisonError::into_inner);
        self.roots.iter().chain(added.iter()).cloned().collect()
    }

    /// Returns the real path of `asked`, which need not exist. A path outside the workspace is refused.
    pub fn resolve(&self, asked: &str) -> Result<PathBuf, PathError> {
        self.check_path(asked, PathAccess::ReadWrite)
    }

    /// Like [`resolve`](Self::resolve), but also accepts directories that may only be read.
    pub fn resolve_to_read(&self, asked: &str) -> Result<PathBuf, PathError> {
        self.check_path(asked, PathAccess::Read)
    }

    fn check_path(&self, asked: &str, aim: PathAccess) -> Result<PathBuf, PathError> {
        if asked.trim().is_empty() {
            return Err(PathError::Empty);
        }
        if asked.contains('\0') {
            return Err(PathError::NulByte { asked: asked.to_owned() });
        }
        self.resolve_within(Path::new(asked), aim)
    }

    /// Like [`resolve_to_read`](Self::resolve_to_read), for a path that need not be UTF-8.
    pub(crate) fn resolve_os_path(&self, path: &Path) -> Result<PathBuf, PathError> {
        self.resolve_within(path, PathAccess::Read)
    }

    fn resolve_within(&self, path: &Path, aim: PathAccess) -> Result<PathBuf, PathError> {
        let asked = || path.display().to_string();
        let real = self.real_path(path).ok_or_else(|| PathError::TooManyLinks { asked: asked() })?;
        if self.contains(&real, aim) {
            Ok(real)
        } else {
            Err(PathError::Outside { asked: asked(), real, roots: self.roots() })
        }
    }

    /// Returns the real path of a path inside or outside the workspace; `None` for circular links.
    pub fn real_path(&self, path: &Path) -> Option<PathBuf> {
        // A path under the directory's given name leads to the same file.
        let below = self.given_directory.as_ref().and_then(|given| path.strip_prefix(given).ok());
        let written = self.directory.join(below.unwrap_or(path));
        let Some(resolved) = &self.resolved_paths else { return follow_links(&written) };
        let mut resolved = resolved.lock().unwrap_or_else(PoisonError::into_inner);
        resolved.entry(written).or_insert_with_key(|written| follow_links(written)).clone()
    }

    /// Returns whether `path`, with its symbolic links followed, may be read.
    pub fn may_read(&self, path: &Path) -> bool {
        self.real_path(path).is_some_and(|real| self.contains(&real, PathAccess::Read))
    }

    /// Returns the root that contains a real path, or the directory that may only be read; the innermost one if they
    /// are nested.
    pub fn root_of(&self, real: &Path) -> Option<PathBuf> {
        let roots = self.roots().into_iter().chain(self.readable_dirs());
        roots.filter(|root| real.starts_with(root)).max_by_key(|root| root.as_os_str().len())
    }

    /// Returns a real path for display: relative to the working directory where it is inside.
    pub fn shorten(&self, real: &Path) -> String {
        match real.strip_prefix(&self.directory) {
            Ok(relative) if relative.as_os_str().is_empty() => ".".to_owned(),
            Ok(relative) => relative.display().to_string(),
            Err(_) => real.display().to_string(),
        }
    }

    /// Returns whether a real path is one that no tool may access.
    pub(crate) fn is_forbidden(&self, real: &Path) -> bool {
        self.forbidden_files.iter().any(|file| file == real)
    }

    fn contains(&self, real: &Path, aim: PathAccess) -> bool {
        if self.is_forbidden(real) {
            return false;
        }
        let inside = |root: &PathBuf| real.starts_with(root);
        self.roots().iter().any(inside) || (aim == PathAccess::Read && self.readable_dirs().iter().any(inside))
    }
}

fn real_directory(path: &Path) -> Result<PathBuf, WorkspaceError> {
    let unusable = |cause| WorkspaceError::Unusable { path: path.to_owned(), cause };
    let real = path.canonicalize().map_err(unusable)?;
    if real.is_dir() { Ok(real) } else { Err(unusable(io::Error::from(io::ErrorKind::NotADirectory))) }
}

/// Follows an absolute path component by component, as the operating system does, so that `link/..` is the parent of
/// the link's target.
///
/// Missing components are kept as they are written, for a file to be created, also behind a dangling link. Returns
/// `None` for too many links.
fn follow_links(path: &Path) -> Option<PathBuf> {
    const MAX_SYMLINKS: usize = 40;
    let mut links = 0;
    let mut real = PathBuf::new();
    let mut ahead: VecDeque<PathStep> = path.components().map(PathStep::from).collect();
    while let Some(step) = ahead.pop_front() {
        match step {
            PathStep::Root(root) => real = root,
            PathStep::Parent => {
                real.pop();
            }
            PathStep::Child(name) => {
                real.push(name);
                let is_link = real.symlink_metadata().is_ok_and(|found| found.is_symlink());
                if is_link && let Ok(target) = real.read_link() {
                    links += 1;
                    if links > MAX_SYMLINKS {
                        return None;
                    }
                    real.pop();
                    for component in target.components().rev() {
                        ahead.push_front(PathStep::from(component));
                    }
                }
            }
            PathStep::Current => {}
        }
    }
    Some(real)
}

enum PathStep {
    Root(PathBuf),
    Parent,
    Current,
    Child(OsString),
}

impl From<Component<'_>> for PathStep {
    fn from(component: Component<'_>) -> Self {
        match component {
            Component::Prefix(_) | Component::RootDir => Self::Root(PathBuf::from(component.as_os_str())),
            Component::ParentDir => Self::Parent,
            Component::CurDir => Self::Current,
            Component::Normal(name) => Self::Child(name.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("in");
        fs::create_dir_all(inside.join("src")).unwrap();
        fs::create_dir_all(dir.path().join("out")).unwrap();
        fs::write(inside.join("src/a.rs"), "a").unwrap();
        fs::write(dir.path().join("out/secret"), "s").unwrap();
        let workspace = Workspace::new(&inside, []).unwrap();
        (dir, workspace)
    }

    #[test]
    fn forbidden_files_are_refused_by_every_path() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        std::fs::write(dir.join("keys.json"), "k").unwrap();
        let workspace = Workspace::new(&dir, []).unwrap().with_forbidden_files([dir.join("keys.json")]);
        #[cfg(unix)]
        std::os::unix::fs::symlink("keys.json", dir.join("link")).unwrap();
        for name in ["keys.json", "./x/../keys.json", "link", dir.join("keys.json").to_str().unwrap()] {
            assert!(workspace.resolve(name).is_err() && workspace.resolve_to_read(name).is_err(), "{name}");
        }
        assert!(workspace.resolve("other.json").is_ok());
        let walked = crate::FileFilter::default().list_names(&workspace, 3, 10);
        assert_eq!(walked, Vec::<String>::new());
    }

    #[test]
    fn relative_and_absolute_paths_inside_are_taken() {
        let (_dir, workspace) = workspace();
        let real = workspace.directory().join("src/a.rs");
        assert_eq!(workspace.resolve("src/a.rs").unwrap(), real);
        assert_eq!(workspace.resolve("./src/../src/./a.rs").unwrap(), real);
        assert_eq!(workspace.resolve(real.to_str().unwrap()).unwrap(), real);
        assert_eq!(workspace.resolve("new/deep/file").unwrap(), workspace.directory().join("new/deep/file"));
        assert_eq!(workspace.resolve(".").unwrap(), workspace.directory());
    }

    #[test]
    fn paths_out_of_the_workspace_are_refused() {
        let (_dir, workspace) = workspace();
        for path in ["..", "../out/secret", "src/../../out/secret", "/etc/passwd", "new/../../out/x", "/"] {
            assert!(matches!(workspace.resolve(path), Err(PathError::Outside { .. })), "{path}");
        }
        assert_eq!(workspace.resolve(" "), Err(PathError::Empty));
        assert!(matches!(workspace.resolve("a\0b"), Err(PathError::NulByte { .. })));
    }

    #[test]
    fn a_sibling_directory_with_the_same_prefix_is_outside() {
        let (dir, workspace) = workspace();
        fs::create_dir(dir.path().join("in-other")).unwrap();
        assert!(workspace.resolve("../in-other/x").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn symlinks_are_followed_before_the_check() {
        use std::os::unix::fs::symlink;
        let (dir, workspace) = workspace();
        let inside = workspace.directory().to_owned();
        symlink(dir.path().join("out"), inside.join("escape")).unwrap();
        symlink("../out/not-yet", inside.join("dangling")).unwrap();
        symlink("src/new.rs", inside.join("dangling-inside")).unwrap();
        symlink("src", inside.join("alias")).unwrap();
        symlink("loop-b", inside.join("loop-a")).unwrap();
        symlink("loop-a", inside.join("loop-b")).unwrap();

        for path in ["escape", "escape/secret", "escape/new", "dangling", "escape/../x"] {
            assert!(matches!(workspace.resolve(path), Err(PathError::Outside { .. })), "{path}");
        }
        assert_eq!(workspace.resolve("dangling-inside").unwrap(), inside.join("src/new.rs"));
        assert_eq!(workspace.resolve("alias/a.rs").unwrap(), inside.join("src/a.rs"));
        assert!(matches!(workspace.resolve("loop-a"), Err(PathError::TooManyLinks { .. })));
        assert!(!workspace.may_read(&inside.join("escape/secret")));
    }

    #[cfg(unix)]
    #[test]
    fn for_one_call_every_spelling_of_a_path_resolves_the_same() {
        use std::os::unix::fs::symlink;
        let (dir, one) = workspace();
        let inside = one.directory().to_owned();
        let alias = dir.path().join("alias");
        symlink(&inside, &alias).unwrap();
        symlink("src", inside.join("door")).unwrap();
        let call = Workspace::new(&alias, []).unwrap().for_call();
        let protecting = Workspace::new(&inside, []).unwrap().sharing_resolution(&call);
        let led_to = inside.join("src/a.rs");
        assert_eq!(call.resolve("door/a.rs").unwrap(), led_to);
        fs::remove_file(inside.join("door")).unwrap();
        symlink(dir.path().join("out"), inside.join("door")).unwrap();
        for written in ["door/a.rs", "./door/a.rs", "door//a.rs"]
            .map(PathBuf::from)
            .into_iter()
            .chain([alias.join("door/a.rs"), inside.join("door/a.rs")])
        {
            assert_eq!(call.real_path(&written), Some(led_to.clone()), "{}", written.display());
        }
        assert_eq!(protecting.resolve("door/a.rs").unwrap(), led_to);
        assert!(call.for_call().resolve("door/a.rs").is_err(), "another call looks for itself");
    }

    #[test]
    fn several_roots() {
        let (dir, one) = workspace();
        let both = Workspace::new(one.directory(), [dir.path().join("out"), one.directory().to_owned()]).unwrap();
        assert_eq!(both.roots().len(), 2);
        let secret = both.resolve("../out/secret").unwrap();
        assert_eq!(both.root_of(&secret).as_deref(), Some(both.roots()[1].as_path()));
        assert_eq!(both.shorten(&secret), secret.display().to_string());
        assert_eq!(both.shorten(&both.directory().join("src/a.rs")), "src/a.rs");
        assert_eq!(both.shorten(both.directory()), ".");
    }

    #[test]
    fn readable_directories_are_not_writable() {
        let (dir, workspace) = workspace();
        let out = dir.path().canonicalize().unwrap().join("out");
        let secret = out.join("secret");
        let asked = secret.to_str().unwrap();
        assert!(workspace.resolve_to_read(asked).is_err() && !workspace.may_read(&secret));
        // All clones share the directories that may be read.
        let other = workspace.clone();
        workspace.allow_reading(&out).unwrap();
        assert_eq!(other.resolve_to_read(asked), Ok(secret.clone()));
        assert!(other.may_read(&secret) && other.resolve(asked).is_err());
        assert_eq!(other.root_of(&secret), Some(out.clone()));
        assert!(other.resolve_to_read(&format!("{}/../in-other", out.display())).is_err());
        assert!(workspace.allow_reading(&secret).is_err(), "a file is no directory");
        workspace.clear_readable_dirs();
        assert!(other.resolve_to_read(asked).is_err());
    }

    #[test]
    fn a_file_cannot_be_a_workspace() {
        let (_dir, workspace) = workspace();
        assert!(Workspace::new(workspace.directory().join("src/a.rs"), []).is_err());
        assert!(Workspace::new(workspace.directory().join("nowhere"), []).is_err());
    }

    proptest::proptest! {
        #[test]
        fn every_resolved_path_is_inside(parts in proptest::collection::vec("[a-c.]{1,3}|\\.\\.|src", 0..12)) {
            let (_dir, workspace) = workspace();
            if let Ok(real) = workspace.resolve(&parts.join("/")) {
                proptest::prop_assert!(real.starts_with(workspace.directory()));
                proptest::prop_assert!(!real.components().any(|part| part == Component::ParentDir));
            }
        }
    }
}
