//! Prunes the store to its limits: the oldest checkpoints, empty ones first,
//! and contents that no checkpoint references.
//!
//! Files that cannot be removed stay.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::path_state::PathState;
use super::store::{Checkpoint, CheckpointStore};

/// The maximum number of checkpoints of a project.
pub(super) const MAX_CHECKPOINTS: usize = 200;
/// The number of newest checkpoints of which empty ones are not pruned first: the
/// user may want to restore their conversation.
const RECENT_CHECKPOINTS: usize = 50;
/// The number of checkpoints above the maximum at which a new one causes pruning, and the interval at which the
/// permissions of all records are checked.
pub(super) const PRUNE_INTERVAL_TURNS: usize = 16;
/// The maximum size of all contents of a project.
pub(super) const MAX_STORED_BYTES: u64 = 256 << 20;
/// The age from which unreferenced contents are removed; until then they save storing them again.
const STALE_CONTENT_AGE: Duration = Duration::from_secs(24 * 3600);
/// The age up to which unreferenced contents are kept in any case: another
/// session's turn may be about to reference them.
const PENDING_CONTENT_AGE: Duration = Duration::from_secs(3600);

/// A stored content.
struct StoredContent {
    file: PathBuf,
    sha256: String,
    size: u64,
    age: Duration,
}

impl CheckpointStore {
    /// Prunes the store to its limits. `done_with` are contents that no running turn will reference.
    pub(super) fn prune(&self, done_with: &HashSet<String>) {
        let numbers = self.numbers();
        let mut all: Vec<Checkpoint> = numbers.iter().filter_map(|number| self.read(*number).ok()).collect();
        // Unreadable checkpoints cannot be restored; they are removed at the age of any other.
        for number in numbers.iter().rev().skip(MAX_CHECKPOINTS) {
            if all.binary_search_by_key(number, |checkpoint| checkpoint.number).is_err() {
                let _ = std::fs::remove_file(self.record_path(*number));
            }
        }
        for _ in MAX_CHECKPOINTS..=all.len() {
            self.remove_checkpoint(&all.remove(next_to_prune(&all)));
        }
        let mut uses = content_references(&all);
        let mut bytes: u64 = uses.values().map(|(_, size)| size).sum();
        // The last checkpoint stays, as it is the one that the user is most likely to restore.
        while bytes > self.max_stored_bytes && all.len() > 1 {
            let oldest = all.remove(0);
            self.remove_checkpoint(&oldest);
            for (sha256, _) in referenced_contents(&oldest) {
                if let Some((count, size)) = uses.get_mut(sha256) {
                    *count -= 1;
                    bytes -= if *count == 0 { *size } else { 0 };
                }
            }
            uses.retain(|_, (count, _)| *count > 0);
        }
        self.remove_unreferenced_contents(|sha256| uses.contains_key(sha256), done_with);
    }

    fn remove_checkpoint(&self, checkpoint: &Checkpoint) {
        let _ = std::fs::remove_file(self.record_path(checkpoint.number));
    }

    /// Removes unreferenced contents: the stale ones, and above the size limit
    /// all that no turn may be about to reference.
    fn remove_unreferenced_contents(&self, is_named: impl Fn(&str) -> bool, done_with: &HashSet<String>) {
        let contents = self.stored_contents();
        let mut bytes: u64 = contents.iter().map(|kept| kept.size).sum();
        let mut unnamed: Vec<StoredContent> = contents.into_iter().filter(|kept| !is_named(&kept.sha256)).collect();
        unnamed.sort_by_key(|kept| std::cmp::Reverse(kept.age));
        for kept in unnamed {
            let is_free = kept.age > PENDING_CONTENT_AGE || done_with.contains(&kept.sha256);
            if (kept.age > STALE_CONTENT_AGE || (bytes > self.max_stored_bytes && is_free))
                && std::fs::remove_file(&kept.file).is_ok()
            {
                bytes -= kept.size;
            }
        }
    }

    fn stored_contents(&self) -> Vec<StoredContent> {
        let now = SystemTime::now();
        let kept = |entry: std::fs::DirEntry| {
            let found = entry.metadata().ok()?;
            let age = now.duration_since(found.modified().ok()?).unwrap_or_default();
            Some(StoredContent {
                file: entry.path(),
                sha256: entry.file_name().into_string().ok()?,
                size: found.len(),
                age,
            })
        };
        let folders = std::fs::read_dir(self.contents_dir()).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
        files.filter_map(kept).collect()
    }
}

/// Returns the index of the checkpoint to prune first: an old empty one, or the oldest.
///
/// So a session with many empty turns does not displace the files of another. A checkpoint with notes is not empty:
/// without it, earlier ones would look complete.
fn next_to_prune(all: &[Checkpoint]) -> usize {
    let older = &all[..all.len().saturating_sub(RECENT_CHECKPOINTS)];
    let holds_nothing = |checkpoint: &Checkpoint| checkpoint.files.is_empty() && checkpoint.notes.is_empty();
    older.iter().position(holds_nothing).unwrap_or(0)
}

/// Returns the contents that a checkpoint references, with duplicates, and their sizes.
fn referenced_contents(checkpoint: &Checkpoint) -> impl Iterator<Item = (&str, u64)> {
    checkpoint.files.iter().filter_map(|file| match &file.before {
        PathState::File { sha256, size, .. } => Some((sha256.as_str(), *size)),
        _ => None,
    })
}

/// Returns the number of references and the size of each content.
fn content_references(all: &[Checkpoint]) -> HashMap<String, (usize, u64)> {
    let mut uses: HashMap<String, (usize, u64)> = HashMap::new();
    for (sha256, size) in all.iter().flat_map(referenced_contents) {
        uses.entry(sha256.to_owned()).or_insert((0, size)).0 += 1;
    }
    uses
}
