//! Finds the files that a glob hides from a confined command.

use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// How many files and folders are looked at for the globs of a profile.
const MAX_SCANNED_ENTRIES: usize = 200_000;

pub(super) struct HiddenGlobs {
    pub(super) base: PathBuf,
    pub(super) hiding: Vec<GlobMatcher>,
    pub(super) excepted: Vec<GlobMatcher>,
}

pub(super) fn compile_glob(text: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| error.kind().to_string())
}

impl HiddenGlobs {
    /// Returns the real paths of all that matches, with the other names of the same files.
    ///
    /// # Errors
    /// If the folder has too many files, can't be read, or a file has a name that was not found.
    pub(super) fn find(&self) -> Result<Vec<PathBuf>, String> {
        let mut scan = Scan::new(&self.base);
        let mut matches = Vec::new();
        scan.walk(&self.base, &mut |path, _| {
            let is_hidden = self.is_hidden(path);
            if is_hidden {
                matches.push(path.to_owned());
            }
            !is_hidden
        })?;
        let mut found: Vec<PathBuf> = Vec::new();
        for path in &matches {
            // A link's target is what would be read.
            match path.canonicalize() {
                Ok(real) => found.push(real),
                // A link to nothing hides nothing.
                Err(_) if path.is_symlink() => {}
                Err(error) => return Err(format!("{}: {error}", path.display())),
            }
        }
        found.extend(self.other_names(&found)?);
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Returns the other names (hard links) of files, or the first name that was not found as an error.
    fn other_names(&self, files: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
        let mut linked: Vec<(&PathBuf, Metadata)> = Vec::new();
        for file in files {
            let data = fs::symlink_metadata(file).map_err(|error| format!("{}: {error}", file.display()))?;
            if data.is_file() && data.nlink() > 1 {
                linked.push((file, data));
            }
        }
        if linked.is_empty() {
            return Ok(Vec::new());
        }
        let numbers: HashSet<u64> = linked.iter().map(|(_, data)| data.ino()).collect();
        let mut names: HashMap<(u64, u64), Vec<PathBuf>> = HashMap::new();
        let mut scan = Scan::new(&self.base);
        scan.walk(&self.base, &mut |path, number| {
            if numbers.contains(&number)
                && let Ok(data) = fs::symlink_metadata(path)
                && data.is_file()
            {
                names.entry((data.dev(), data.ino())).or_default().push(path.to_owned());
            }
            true
        })?;
        let mut all = Vec::new();
        for (file, data) in linked {
            let found = names.remove(&(data.dev(), data.ino())).unwrap_or_default();
            if (found.len() as u64) < data.nlink() && !all.contains(file) {
                require_single_name(file)?;
            }
            all.extend(found);
        }
        Ok(all)
    }

    fn is_hidden(&self, path: &Path) -> bool {
        let Ok(path) = path.strip_prefix(&self.base) else { return false };
        self.hiding.iter().any(|glob| glob.is_match(path)) && !self.excepted.iter().any(|glob| glob.is_match(path))
    }
}

/// Returns the other names of a file that is hidden by its path, or why they are not known.
pub(super) fn require_single_name(path: &Path) -> Result<(), String> {
    let data = fs::symlink_metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    match data.nlink() {
        links if data.is_file() && links > 1 => Err(format!(
            "{} has {} further names (hard links), under which it could be read",
            path.display(),
            links - 1
        )),
        _ => Ok(()),
    }
}

/// Whether a folder that can't be listed can't be entered by the command either, which runs as the same user: the
/// folder belongs to another user, and nothing in it can be opened by its name.
fn is_closed(folder: &Path) -> bool {
    let is_own = fs::metadata(folder).is_ok_and(|data| data.uid() == rustix::process::geteuid().as_raw());
    !is_own && rustix::fs::access(folder, rustix::fs::Access::EXEC_OK).is_err()
}

/// A walk through all files and folders below one, and those that links lead to.
struct Scan<'a> {
    base: &'a Path,
    entries: usize,
    /// Folders outside of the base that a link led to.
    linked_folders: HashSet<PathBuf>,
}

impl<'a> Scan<'a> {
    fn new(base: &'a Path) -> Self {
        Scan { base, entries: 0, linked_folders: HashSet::new() }
    }

    /// Calls a function with each path and its file's number, and enters the folders for which it returns true.
    ///
    /// The files themselves are not asked for anything: a project may have many.
    fn walk(&mut self, folder: &Path, visit: &mut dyn FnMut(&Path, u64) -> bool) -> Result<(), String> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied && is_closed(folder) => return Ok(()),
            Err(error) => return Err(format!("{}: {error}", folder.display())),
        };
        for entry in entries {
            let entry = entry.map_err(|error| format!("{}: {error}", folder.display()))?;
            self.entries += 1;
            if self.entries > MAX_SCANNED_ENTRIES {
                return Err(format!("{} has more than {MAX_SCANNED_ENTRIES} files", self.base.display()));
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            let is_entered = visit(&path, entry.ino());
            if is_entered && (kind.is_dir() || kind.is_symlink() && self.leads_out(&path)) {
                self.walk(&path, visit)?;
            }
        }
        Ok(())
    }

    /// Whether a link leads to a folder outside of the base that was not looked at yet. What lies inside of it is looked
    /// at under its own name.
    fn leads_out(&mut self, link: &Path) -> bool {
        let target = link.canonicalize().ok().filter(|target| target.is_dir());
        let outside = target.filter(|target| !target.starts_with(self.base));
        outside.is_some_and(|target| self.linked_folders.insert(target))
    }
}
