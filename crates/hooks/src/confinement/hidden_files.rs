//! Finds the files that a glob hides from a confined command.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
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
        let mut scan = Scan::default();
        scan.walk(self, &self.base)?;
        let mut found: Vec<PathBuf> = Vec::new();
        for path in &scan.matches {
            // A link's target is what would be read.
            let real = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
            match real {
                Ok(real) => found.push(real),
                // A link to nothing hides nothing.
                Err(_) if path.is_symlink() => {}
                Err(error) => return Err(error),
            }
        }
        let mut all = found.clone();
        for path in &found {
            all.extend(scan.other_names(path)?);
        }
        all.sort();
        all.dedup();
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

#[derive(Default)]
struct Scan {
    entries: usize,
    matches: Vec<PathBuf>,
    /// Files with more than one name: device, number, path.
    linked: HashSet<(u64, u64, PathBuf)>,
    /// Folders outside of the base that a link led to.
    linked_folders: HashSet<PathBuf>,
}

impl Scan {
    fn walk(&mut self, globs: &HiddenGlobs, folder: &Path) -> Result<(), String> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied && is_closed(folder) => return Ok(()),
            Err(error) => return Err(format!("{}: {error}", folder.display())),
        };
        for entry in entries {
            let entry = entry.map_err(|error| format!("{}: {error}", folder.display()))?;
            self.entries += 1;
            if self.entries > MAX_SCANNED_ENTRIES {
                return Err(format!("{} has more than {MAX_SCANNED_ENTRIES} files", globs.base.display()));
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            let is_hidden = globs.is_hidden(&path);
            if is_hidden {
                self.matches.push(path.clone());
            }
            if kind.is_dir() && !is_hidden || kind.is_symlink() && !is_hidden && self.leads_out(globs, &path) {
                self.walk(globs, &path)?;
            } else if kind.is_file()
                && let Ok(data) = entry.metadata()
                && data.nlink() > 1
            {
                self.linked.insert((data.dev(), data.ino(), path));
            }
        }
        Ok(())
    }

    /// Whether a link leads to a folder outside of the base that was not looked at yet. What lies inside of it is looked
    /// at under its own name.
    fn leads_out(&mut self, globs: &HiddenGlobs, link: &Path) -> bool {
        let target = link.canonicalize().ok().filter(|target| target.is_dir());
        let outside = target.filter(|target| !target.starts_with(&globs.base));
        outside.is_some_and(|target| self.linked_folders.insert(target))
    }

    fn other_names(&self, path: &Path) -> Result<Vec<PathBuf>, String> {
        let data = fs::symlink_metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
        if !data.is_file() || data.nlink() <= 1 {
            return Ok(Vec::new());
        }
        let names = self.linked.iter().filter(|(device, number, _)| (*device, *number) == (data.dev(), data.ino()));
        let names: Vec<PathBuf> = names.map(|(.., path)| path.clone()).collect();
        if (names.len() as u64) < data.nlink() {
            return require_single_name(path).map(|()| Vec::new());
        }
        Ok(names)
    }
}
