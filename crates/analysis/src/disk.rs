//! What the analysis asks the disk, behind one trait: tests answer from memory, callers may bound or record the questions.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What is at a path; links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    Link,
    Other,
}

/// The questions.
pub trait Disk {
    /// What is at a path, links not followed; nothing if nothing is there or it can't be seen.
    fn kind(&self, path: &Path) -> Option<FileKind>;

    /// What a link says.
    fn read_link(&self, path: &Path) -> Option<PathBuf>;

    /// The names in a directory, unless there are more than so many.
    fn names(&self, directory: &Path, max: usize) -> Option<Vec<String>>;

    /// The text of a file, unless it has more than so many bytes.
    fn text(&self, path: &Path, max_bytes: u64) -> Option<String>;

    /// Whether a file has other names (hard links).
    fn has_other_names(&self, path: &Path) -> bool;

    /// Whether this process may execute a file.
    fn is_executable(&self, path: &Path) -> bool;

    /// Whether a file is marked as executable for any user, also where this process may not execute it.
    fn has_execute_bit(&self, path: &Path) -> bool;

    /// The first bytes of a regular file, so many at most.
    fn head(&self, path: &Path, max_bytes: usize) -> Option<Vec<u8>>;

    /// The entries of a directory, so many at most; nothing if it is none.
    fn listing(&self, directory: &Path, max: usize) -> Option<DirectoryListing>;

    /// What a path leads to, links followed.
    fn target_kind(&self, path: &Path) -> Option<FileKind> {
        self.kind(&crate::paths::physical(self, path))
    }

    fn exists(&self, path: &Path) -> bool {
        self.target_kind(path).is_some()
    }

    fn is_file(&self, path: &Path) -> bool {
        self.target_kind(path) == Some(FileKind::File)
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.target_kind(path) == Some(FileKind::Directory)
    }
}

/// The names in a directory, and which of them lead to directories.
#[derive(Clone, Debug, Default)]
pub struct DirectoryListing {
    pub names: BTreeMap<String, bool>,
    /// Whether these are all.
    pub whole: bool,
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn kind(&self, path: &Path) -> Option<FileKind> {
        Some(kind_of(path.symlink_metadata().ok()?.file_type()))
    }

    fn target_kind(&self, path: &Path) -> Option<FileKind> {
        Some(kind_of(path.metadata().ok()?.file_type()))
    }

    fn read_link(&self, path: &Path) -> Option<PathBuf> {
        std::fs::read_link(path).ok()
    }

    fn names(&self, directory: &Path, max: usize) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(directory).ok()? {
            names.push(entry.ok()?.file_name().into_string().ok()?);
            if names.len() > max {
                return None;
            }
        }
        names.sort();
        Some(names)
    }

    fn text(&self, path: &Path, max_bytes: u64) -> Option<String> {
        // A pipe would never end, so only files are opened.
        let found = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        if found.len() > max_bytes {
            return None;
        }
        let mut text = String::new();
        std::fs::File::open(path).ok()?.take(max_bytes).read_to_string(&mut text).ok()?;
        Some(text)
    }

    #[cfg(unix)]
    fn has_other_names(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        path.symlink_metadata().is_ok_and(|found| found.is_file() && found.nlink() > 1)
    }

    #[cfg(not(unix))]
    fn has_other_names(&self, _: &Path) -> bool {
        false
    }

    #[cfg(unix)]
    fn is_executable(&self, path: &Path) -> bool {
        // For root, `access` succeeds if any execute bit is set, which is also what the kernel requires.
        rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    }

    #[cfg(not(unix))]
    fn is_executable(&self, _: &Path) -> bool {
        true
    }

    #[cfg(unix)]
    fn has_execute_bit(&self, path: &Path) -> bool {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
    }

    #[cfg(not(unix))]
    fn has_execute_bit(&self, _: &Path) -> bool {
        false
    }

    fn head(&self, path: &Path, max_bytes: usize) -> Option<Vec<u8>> {
        // Opening a FIFO would wait for a writer.
        path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let mut bytes = Vec::new();
        std::fs::File::open(path).ok()?.take(max_bytes as u64).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn listing(&self, directory: &Path, max: usize) -> Option<DirectoryListing> {
        let mut listing = DirectoryListing { whole: true, ..DirectoryListing::default() };
        for entry in std::fs::read_dir(directory).ok()?.flatten() {
            // A name that has no place in a text cannot be followed by it either.
            let Ok(name) = entry.file_name().into_string() else {
                listing.whole = false;
                continue;
            };
            if listing.names.len() >= max {
                listing.whole = false;
                break;
            }
            let is_directory = match entry.file_type() {
                Ok(kind) if kind.is_symlink() => self.is_directory(&entry.path()),
                Ok(kind) => kind.is_dir(),
                Err(_) => false,
            };
            listing.names.insert(name, is_directory);
        }
        Some(listing)
    }
}

fn kind_of(found: std::fs::FileType) -> FileKind {
    if found.is_symlink() {
        FileKind::Link
    } else if found.is_dir() {
        FileKind::Directory
    } else if found.is_file() {
        FileKind::File
    } else {
        FileKind::Other
    }
}

/// A disk in memory, for tests and for analyses that must not look at this machine.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk {
    entries: BTreeMap<PathBuf, MemoryEntry>,
}

#[derive(Clone, Debug)]
enum MemoryEntry {
    File(String),
    Directory,
    Link(PathBuf),
}

impl MemoryDisk {
    /// The disk with one more file, and the directories that it is in.
    pub fn with_file(mut self, path: &str, text: &str) -> Self {
        self.add(path, MemoryEntry::File(text.to_owned()));
        self
    }

    /// The disk with one more directory.
    pub fn with_directory(mut self, path: &str) -> Self {
        self.add(path, MemoryEntry::Directory);
        self
    }

    /// The disk with one more link.
    pub fn with_link(mut self, path: &str, target: &str) -> Self {
        self.add(path, MemoryEntry::Link(target.into()));
        self
    }

    fn add(&mut self, path: &str, entry: MemoryEntry) {
        let path = PathBuf::from(path);
        for directory in path.ancestors().skip(1) {
            self.entries.entry(directory.to_owned()).or_insert(MemoryEntry::Directory);
        }
        self.entries.insert(path, entry);
    }

    fn followed(&self, path: &Path) -> PathBuf {
        crate::paths::physical(self, path)
    }
}

impl Disk for MemoryDisk {
    fn kind(&self, path: &Path) -> Option<FileKind> {
        let parent = path.parent().map(|parent| self.followed(parent)).unwrap_or_default();
        let path = path.file_name().map_or_else(|| path.to_owned(), |name| parent.join(name));
        Some(match self.entries.get(&path)? {
            MemoryEntry::File(_) => FileKind::File,
            MemoryEntry::Directory => FileKind::Directory,
            MemoryEntry::Link(_) => FileKind::Link,
        })
    }

    fn read_link(&self, path: &Path) -> Option<PathBuf> {
        match self.entries.get(path)? {
            MemoryEntry::Link(target) => Some(target.clone()),
            _ => None,
        }
    }

    fn names(&self, directory: &Path, max: usize) -> Option<Vec<String>> {
        let directory = self.followed(directory);
        self.entries.get(&directory)?;
        let names: Vec<String> = self
            .entries
            .keys()
            .filter(|path| path.parent() == Some(&directory))
            .filter_map(|path| path.file_name()?.to_str().map(str::to_owned))
            .collect();
        (names.len() <= max).then_some(names)
    }

    fn text(&self, path: &Path, max_bytes: u64) -> Option<String> {
        match self.entries.get(&self.followed(path))? {
            MemoryEntry::File(text) if text.len() as u64 <= max_bytes => Some(text.clone()),
            _ => None,
        }
    }

    fn has_other_names(&self, _: &Path) -> bool {
        false
    }

    fn is_executable(&self, path: &Path) -> bool {
        self.is_file(path)
    }

    fn has_execute_bit(&self, path: &Path) -> bool {
        self.is_file(path)
    }

    fn head(&self, path: &Path, max_bytes: usize) -> Option<Vec<u8>> {
        match self.entries.get(&self.followed(path))? {
            MemoryEntry::File(text) => Some(text.bytes().take(max_bytes).collect()),
            _ => None,
        }
    }

    fn listing(&self, directory: &Path, max: usize) -> Option<DirectoryListing> {
        let names = self.names(directory, usize::MAX)?;
        let whole = names.len() <= max;
        let is_directory = |name: &String| self.is_directory(&directory.join(name));
        let names = names.into_iter().take(max).map(|name| (is_directory(&name), name));
        Some(DirectoryListing { names: names.map(|(is_directory, name)| (name, is_directory)).collect(), whole })
    }
}
