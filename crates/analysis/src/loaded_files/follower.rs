//! What whoever follows scripts remembers: whose files count, what stands in them, and what was found behind them. Many
//! hooks share few scripts, so everything is looked at once.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use super::StartError;
use super::{Around, AroundKind, NamedFile};
use crate::budget::Budget;
use crate::disk::{DirectoryListing, Disk, FileKind, RealDisk};
use crate::paths::{normalized, physical};

/// No directory that counts is larger; of a larger one not everything is known.
const MOST_NAMES: usize = 10_000;
/// What it costs to look at a name in a directory.
const UNITS_PER_NAME: usize = 64;
/// How deep directories are looked into.
const DEEPEST: usize = 24;

/// A program's name, the search path, and the directory that both start from.
type ProgramKey = (String, String, PathBuf);
/// Files around a directory, and whether these are all.
pub(super) type Surroundings = (Arc<Around>, bool);

/// Follows commands into the scripts of one project or extension.
pub struct Follower<'a> {
    /// The directories whose files count.
    roots: Vec<PathBuf>,
    pub(super) disk: &'a dyn Disk,
    read: &'a dyn Fn(&Path) -> Option<Vec<u8>>,
    texts: RefCell<HashMap<PathBuf, Content>>,
    listings: RefCell<HashMap<PathBuf, Rc<DirectoryListing>>>,
    programs: RefCell<HashMap<ProgramKey, Result<PathBuf, StartError>>>,
    around: RefCell<HashMap<(PathBuf, AroundKind), Surroundings>>,
    /// What was found behind scripts, by what was looked at; what that leads to is in it too.
    pub(super) found: RefCell<HashMap<String, Rc<Found>>>,
}

/// What a file holds, as far as somebody who follows scripts needs it.
#[derive(Clone)]
pub(super) enum Content {
    /// Nothing that could be read.
    None,
    /// No text.
    Binary,
    /// More than anybody reads.
    Long,
    Text(Rc<str>),
}

/// What stands at a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    File,
    Directory,
}

/// What a script itself says. What it leads to is found under its own name, since scripts may lead to each other.
pub(super) struct Found {
    pub(super) files: Vec<NamedFile>,
    pub(super) around: Vec<Arc<Around>>,
    pub(super) likely: Vec<PathBuf>,
    pub(super) certain: bool,
    /// What it leads to.
    pub(super) behind: Vec<String>,
    /// What it leads to if not everything can be told.
    pub(super) perhaps: Vec<String>,
}

impl<'a> Follower<'a> {
    /// The longest text that is read: no script is longer.
    pub const LONGEST: usize = 256 * 1024;

    /// A follower into files below these directories. It reads through the function, which gives the beginning of a
    /// regular file, one byte more than [`LONGEST`](Self::LONGEST) at most, and never hangs.
    pub fn new(roots: Vec<PathBuf>, read: &'a dyn Fn(&Path) -> Option<Vec<u8>>) -> Self {
        let mut all = roots.clone();
        all.extend(roots.iter().map(|root| physical(&RealDisk, root)).filter(|real| !roots.contains(real)));
        Follower {
            roots: all,
            disk: &RealDisk,
            read,
            texts: RefCell::default(),
            listings: RefCell::default(),
            programs: RefCell::default(),
            around: RefCell::default(),
            found: RefCell::default(),
        }
    }

    /// Whether a file is one of those that count: it lies in one of the directories, or the way to it goes through one.
    pub fn holds(&self, path: &Path) -> bool {
        let inside = |path: &Path| self.roots.iter().any(|root| path.starts_with(root) && path != root);
        let climbs = path.components().any(|part| part == Component::ParentDir);
        inside(path) || (climbs && inside(&normalized(path)))
    }

    /// The directory that commands speak of, first of all.
    pub(super) fn root(&self) -> &Path {
        self.roots.first().map_or(Path::new("/"), PathBuf::as_path)
    }

    pub(super) fn content(&self, path: &Path) -> Content {
        if let Some(known) = self.texts.borrow().get(path) {
            return known.clone();
        }
        let content = match (self.read)(path) {
            None => Content::None,
            Some(bytes) if bytes.contains(&0) => Content::Binary,
            Some(bytes) if bytes.len() > Self::LONGEST => Content::Long,
            Some(bytes) => Content::Text(String::from_utf8_lossy(&bytes).into()),
        };
        self.texts.borrow_mut().insert(path.to_owned(), content.clone());
        content
    }

    /// How a file begins.
    pub(super) fn head(&self, path: &Path) -> Option<Vec<u8>> {
        (self.read)(path).map(|mut bytes| {
            bytes.truncate(16);
            bytes
        })
    }

    pub(super) fn text(&self, path: &Path) -> Option<Rc<str>> {
        if let Content::Text(text) = self.content(path) { Some(text) } else { None }
    }

    pub(super) fn listing(&self, directory: &Path) -> Rc<DirectoryListing> {
        if let Some(known) = self.listings.borrow().get(directory) {
            return known.clone();
        }
        let none = || DirectoryListing { whole: true, ..DirectoryListing::default() };
        let listing = Rc::new(self.disk.listing(directory, MOST_NAMES).unwrap_or_else(none));
        self.listings.borrow_mut().insert(directory.to_owned(), listing.clone());
        listing
    }

    /// What stands at a path, by what is known of its directory: asking the disk for every word would take much longer.
    pub(super) fn kind(&self, path: &Path) -> Kind {
        let known = match (path.parent(), path.file_name().and_then(|name| name.to_str())) {
            (Some(directory), Some(name)) if self.holds(path) => Some((self.listing(directory), name)),
            _ => None,
        };
        match known {
            Some((listing, name)) if listing.whole => match listing.names.get(name) {
                None => Kind::Nothing,
                Some(true) => Kind::Directory,
                Some(false) => Kind::File,
            },
            _ => match self.disk.target_kind(path) {
                None => Kind::Nothing,
                Some(FileKind::Directory) => Kind::Directory,
                Some(_) => Kind::File,
            },
        }
    }

    /// Where a program is, looked for once.
    pub(super) fn program(
        &self,
        key: ProgramKey,
        look: impl FnOnce() -> Result<PathBuf, StartError>,
    ) -> Result<PathBuf, StartError> {
        if let Some(known) = self.programs.borrow().get(&key) {
            return known.clone();
        }
        let found = look();
        self.programs.borrow_mut().insert(key, found.clone());
        found
    }

    /// The files around a directory, looked for once for each kind; and whether these are all.
    pub(super) fn around(
        &self,
        directory: &Path,
        kind: AroundKind,
        look: impl FnOnce() -> (Vec<PathBuf>, bool),
    ) -> Surroundings {
        let key = (directory.to_owned(), kind.clone());
        if let Some(known) = self.around.borrow().get(&key) {
            return known.clone();
        }
        let (files, whole) = look();
        let around = (Arc::new(Around { directory: directory.to_owned(), kind, files }), whole);
        self.around.borrow_mut().insert(key, around.clone());
        around
    }

    /// The files below a directory that fit, and whether these are all.
    pub(super) fn tree(&self, directory: &Path, fits: &dyn Fn(&Path) -> bool, budget: &Budget) -> (Vec<PathBuf>, bool) {
        let mut tree = Tree { files: Vec::new(), seen: HashSet::new(), whole: true, budget };
        self.collect(directory, DEEPEST, fits, &mut tree);
        (tree.files, tree.whole)
    }

    fn collect(&self, directory: &Path, depth: usize, fits: &dyn Fn(&Path) -> bool, tree: &mut Tree<'_>) {
        // Links may lead in a circle.
        let real = physical(self.disk, directory);
        if !tree.seen.insert(real) {
            return;
        }
        let listing = self.listing(directory);
        tree.whole &= listing.whole;
        for (name, is_directory) in &listing.names {
            if tree.files.len() >= MOST_NAMES || !tree.budget.spend(UNITS_PER_NAME) {
                tree.whole = false;
                return;
            }
            let path = directory.join(name);
            match is_directory {
                true if depth > 0 && name != ".git" => self.collect(&path, depth - 1, fits, tree),
                true => {}
                false if fits(&path) => tree.files.push(path),
                false => {}
            }
        }
    }
}

struct Tree<'b> {
    files: Vec<PathBuf>,
    seen: HashSet<PathBuf>,
    whole: bool,
    budget: &'b Budget,
}
