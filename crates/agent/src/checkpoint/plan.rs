//! What a restore would do: each file that was changed since a checkpoint, what stood there, what stands there now, and who
//! changed it last. Looks only; doing it is `restore.rs`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::keep::is_straight;
use super::look::{State, look};
use super::store::{Checkpoint, CheckpointError, KeptFile, Store};
use crate::protect::Protected;

/// Longer texts are not compared line by line.
const LONGEST: usize = 1 << 20;

/// Where files may be brought back to.
#[derive(Clone, Copy, Debug)]
pub struct Roots<'a> {
    /// The project's folder and those beside it that tools may work in.
    pub folders: &'a [PathBuf],
    /// What guards are made of, which is never brought back.
    pub protected: &'a Protected,
}

/// What a restore would do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is brought back.
    pub checkpoint: Checkpoint,
    /// Every file that is not as it was, in the order of their names.
    pub changes: Vec<Change>,
    /// What was not kept, or could not be told, since then.
    pub notes: Vec<String>,
}

/// What a session has changed.
pub(super) struct Touched {
    /// What was there first and what the session left there last, in the order of their names.
    pub(super) files: Vec<KeptFile>,
    /// What was not kept, or could not be told.
    pub(super) notes: Vec<String>,
}

/// A file that is not as it was.
#[derive(Clone, Debug)]
pub struct Change {
    /// The whole path.
    pub path: PathBuf,
    /// How it is told: from the project on.
    pub shown: String,
    /// What would be done.
    pub deed: Deed,
    /// Whether somebody has changed it since the agent did.
    pub changed_since: bool,
    /// How many lines would be added, and how many removed.
    pub lines: (usize, usize),
    /// The difference in lines, where it is text.
    pub diff: Option<String>,
    pub(super) target: State,
    pub(super) now: State,
}

/// What is done with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It gets its former content.
    Rewrite,
    /// It was deleted, and is made again.
    Create,
    /// It is new, and is deleted.
    Delete,
    /// It is a link again.
    Link,
    /// It gets its former mode.
    Mode,
    /// Nothing, because of this.
    Refused(String),
}

impl Deed {
    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Deed::Rewrite => "rewrite",
            Deed::Create => "create",
            Deed::Delete => "delete",
            Deed::Link => "link",
            Deed::Mode => "mode",
            Deed::Refused(_) => "refused",
        }
    }

    /// Whether anything is done.
    pub fn is_done(&self) -> bool {
        !matches!(self, Deed::Refused(_))
    }
}

impl Store {
    /// What it would take to have the files as they were at a checkpoint: whatever its session has changed since goes back.
    ///
    /// # Errors
    /// If there is no such checkpoint.
    pub fn plan(&self, number: u64, roots: &Roots<'_>) -> Result<Plan, CheckpointError> {
        let checkpoint = self.read(number)?;
        let Touched { files, notes } = self.touched(number, &checkpoint.session);
        let changes = files.into_iter().filter_map(|file| self.change(file.path, file.before, &file.after, roots));
        Ok(Plan { changes: changes.collect(), checkpoint, notes })
    }

    /// What a session has changed from a checkpoint on.
    pub(super) fn touched(&self, from: u64, session: &str) -> Touched {
        let later = self.list().into_iter().filter(|one| one.number >= from && one.session == session);
        let mut files: BTreeMap<PathBuf, KeptFile> = BTreeMap::new();
        let mut notes: Vec<String> = Vec::new();
        for one in later {
            for file in one.files {
                match files.get_mut(&file.path) {
                    // The first says what was there, the last who was there.
                    Some(known) => known.after = file.after,
                    None => drop(files.insert(file.path.clone(), file)),
                }
            }
            notes.extend(one.notes.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
        }
        Touched { files: files.into_values().collect(), notes }
    }

    /// What would be done at a path, if it is not as it was.
    fn change(&self, path: PathBuf, target: State, after: &State, roots: &Roots<'_>) -> Option<Change> {
        let (now, bytes) = look(&path);
        if now == target && target.is_kept() {
            return None;
        }
        let shown = shorten(&path, roots.folders);
        let deed = deed(&path, &target, &now, roots);
        let changed_since = now != *after;
        let mut change = Change { path, shown, deed, changed_since, lines: (0, 0), diff: None, target, now };
        if change.deed.is_done() {
            match self.texts(&change.path, &change.target, (&change.now, bytes)) {
                Ok(Some((then, now))) => (change.lines, change.diff) = compare(&now, &then, ("now", "then")),
                Ok(None) => {}
                Err(error) => change.deed = Deed::Refused(error.to_string()),
            }
        }
        Some(change)
    }

    /// What stood at a path and what stands there, if both are text; links are told by what they say.
    pub(super) fn texts(
        &self,
        path: &Path,
        then: &State,
        (now, bytes): (&State, Option<Vec<u8>>),
    ) -> Result<Option<(String, String)>, CheckpointError> {
        let kept = match then {
            State::File { sha256, .. } => Some(self.content(path, sha256)?),
            _ => None,
        };
        let text = |state: &State, bytes: Option<Vec<u8>>| match state {
            State::Link { to } => Some(format!("link to {to}\n")),
            State::Missing { .. } => Some(String::new()),
            _ => String::from_utf8(bytes?).ok().filter(|text| text.len() <= LONGEST && !text.contains('\0')),
        };
        Ok(text(then, kept).zip(text(now, bytes)))
    }
}

/// What has to be done at a path, and whether it may be.
fn deed(path: &Path, target: &State, now: &State, roots: &Roots<'_>) -> Deed {
    let refused = |why: &str| Deed::Refused(why.to_owned());
    let is_inside = roots.folders.iter().any(|root| path.starts_with(root) && path != root);
    let is_plain = !path.components().any(|part| matches!(part, std::path::Component::ParentDir));
    if !is_inside || !is_plain {
        return refused("it is outside of the project");
    }
    if path.components().any(|part| part.as_os_str() == ".git") {
        return refused("it is git's own");
    }
    if roots.protected.covers(path) {
        return refused("it is protected: guards are made of it");
    }
    if !is_straight(path) {
        return refused("a link leads elsewhere on the way to it");
    }
    match (target, now) {
        (State::Unkept { why }, _) => Deed::Refused(format!("it was not kept: {why}")),
        (_, State::Unkept { why }) => Deed::Refused(format!("what is there now could not be brought back: {why}")),
        (State::Missing { .. }, _) => Deed::Delete,
        (State::Link { .. }, _) => Deed::Link,
        (State::File { .. }, State::Missing { .. }) => Deed::Create,
        (State::File { sha256, .. }, State::File { sha256: same, .. }) if sha256 == same => Deed::Mode,
        (State::File { .. }, _) => Deed::Rewrite,
    }
}

/// How many lines are added and removed between two texts, and the difference, if there is one.
pub(super) fn compare(old: &str, new: &str, (before, after): (&str, &str)) -> ((usize, usize), Option<String>) {
    let diff = TextDiff::configure().timeout(Duration::from_millis(500)).diff_lines(old, new);
    let mut lines = (0, 0);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => lines.0 += 1,
            ChangeTag::Delete => lines.1 += 1,
            ChangeTag::Equal => {}
        }
    }
    let text = diff.unified_diff().context_radius(3).header(before, after).to_string();
    (lines, Some(text).filter(|text| !text.is_empty()))
}

/// A path from the first of the folders that it is in.
pub(super) fn shorten(path: &Path, folders: &[PathBuf]) -> String {
    match folders.first().and_then(|root| path.strip_prefix(root).ok()) {
        Some(rest) => rest.display().to_string(),
        None => path.display().to_string(),
    }
}
