//! Stores checkpoints on disk, outside of the project and readable for the user only.
//!
//! Contents are stored under their digest, and each checkpoint has one record file with the states of
//! its paths. `retention.rs` limits the size.

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use hookwright_disk::{Durability, SymlinkPolicy};
use hookwright_settings::LoadedConfig;
use hookwright_settings::administration::ActionError;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::path_state::{MAX_FILE_BYTES, PathState, content_digest};
use super::retention;

/// The size above which a record file is not read.
const MAX_RECORD_BYTES: u64 = 16 << 20;

/// The state of files before a turn, or before a restore.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The number that identifies the checkpoint.
    #[serde(skip_deserializing)]
    pub number: u64,
    /// The kind of the checkpoint.
    pub kind: CheckpointKind,
    /// The identifier of the session.
    pub session: String,
    /// The prompt of the turn, or a description of the restore.
    pub prompt: String,
    /// The time when the checkpoint was created.
    #[serde(with = "stamp")]
    pub time: Timestamp,
    /// The position in the conversation, if it is saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationMark>,
    /// The files that were changed.
    #[serde(default)]
    pub files: Vec<RecordedFile>,
    /// The notes on what is not recorded or not known.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The kind of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointKind {
    /// The checkpoint was created for a turn of the agent.
    Turn,
    /// The checkpoint was created for a restore, which it can undo.
    Restore,
}

/// A position in a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationMark {
    /// The path of the transcript.
    pub transcript: PathBuf,
    /// The length of the transcript in bytes.
    pub at: u64,
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedFile {
    /// The absolute path of the file.
    pub path: PathBuf,
    /// The state before the change.
    pub before: PathState,
    /// The state that the agent left, when it was last read.
    pub after: PathState,
}

/// An error of checkpoints.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// There is no checkpoint with that number.
    #[error("there is no checkpoint {0}")]
    NotFound(String),
    /// The record of the checkpoint cannot be read.
    #[error("checkpoint {number} can't be read: {why}")]
    Broken {
        /// The number of the checkpoint.
        number: u64,
        /// The reason why it cannot be read.
        why: String,
    },
    /// A stored content is missing or damaged.
    #[error("the saved content of {0} is missing or damaged")]
    ContentLost(String),
    /// The checkpoint has no position in a conversation.
    #[error("checkpoint {0} does not belong to a conversation")]
    NoConversation(u64),
    /// The checkpoint belongs to another session.
    #[error("checkpoint {number} belongs to the conversation of session {session}")]
    OtherSession {
        /// The number of the checkpoint.
        number: u64,
        /// The identifier of its session.
        session: String,
    },
    /// A file operation failed.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The path of the store.
        path: PathBuf,
        /// The error of the file system.
        cause: io::Error,
    },
    /// The transcript cannot be used.
    #[error(transparent)]
    Transcript(#[from] crate::transcript::TranscriptError),
}

impl CheckpointError {
    /// Returns the advice to the user, if there is any.
    pub fn hint(&self) -> Option<String> {
        match self {
            CheckpointError::NotFound(_) => {
                Some("`/restore` or `hookwright checkpoints list` shows them all".to_owned())
            }
            CheckpointError::OtherSession { session, .. } => Some(format!("go on with it first: `/resume {session}`")),
            _ => None,
        }
    }
}

impl From<CheckpointError> for ActionError {
    fn from(error: CheckpointError) -> Self {
        ActionError::new(&error, error.hint())
    }
}

/// The store of a project's checkpoints.
#[derive(Clone, Debug)]
pub struct CheckpointStore {
    folder: PathBuf,
    /// The maximum size of all contents.
    pub(super) max_stored_bytes: u64,
}

impl CheckpointStore {
    /// Returns the store of the configuration's project. No folder is created before the first checkpoint.
    pub fn for_project(loaded: &LoadedConfig) -> Self {
        CheckpointStore {
            folder: loaded.paths.checkpoints_dir(&loaded.project.root),
            max_stored_bytes: retention::MAX_STORED_BYTES,
        }
    }

    #[cfg(test)]
    pub(super) fn in_folder(folder: PathBuf) -> Self {
        CheckpointStore { folder, max_stored_bytes: retention::MAX_STORED_BYTES }
    }

    /// Returns the folder of the contents.
    pub(super) fn contents_dir(&self) -> PathBuf {
        self.folder.join("contents")
    }

    pub(super) fn record_path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:06}.json"))
    }

    fn content_path(&self, sha256: &str) -> PathBuf {
        self.contents_dir().join(sha256.get(..2).unwrap_or("__")).join(sha256)
    }

    /// Returns the numbers of all records, sorted.
    pub(super) fn numbers(&self) -> Vec<u64> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.strip_suffix(".json")?.parse().ok();
        let mut numbers: Vec<u64> = entries.filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Returns all readable checkpoints, the oldest first.
    pub fn list(&self) -> Vec<Checkpoint> {
        self.numbers().into_iter().filter_map(|number| self.read(number).ok()).collect()
    }

    /// Reads a checkpoint.
    ///
    /// # Errors
    /// If there is none with that number, or it cannot be read.
    pub fn read(&self, number: u64) -> Result<Checkpoint, CheckpointError> {
        let broken = |why: String| CheckpointError::Broken { number, why };
        let file = self.record_path(number);
        if file.symlink_metadata().is_err() {
            return Err(CheckpointError::NotFound(number.to_string()));
        }
        let bytes = hookwright_disk::read(&file, MAX_RECORD_BYTES, SymlinkPolicy::Refuse)
            .map_err(|why| broken(why.to_string()))?;
        let read: Checkpoint = serde_json::from_slice(&bytes).map_err(|why| broken(why.to_string()))?;
        Ok(Checkpoint { number, ..read })
    }

    /// Finds a checkpoint by `latest` or by its number.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn find(&self, asked: &str) -> Result<Checkpoint, CheckpointError> {
        let none = || CheckpointError::NotFound(asked.to_owned());
        match asked.trim() {
            "latest" => self.read(self.numbers().last().copied().ok_or_else(none)?),
            number => self.read(number.trim_start_matches('#').parse().map_err(|_| none())?),
        }
    }

    /// Creates a checkpoint with the next number, and prunes the store when it has too many.
    pub(super) fn create(&self, mut checkpoint: Checkpoint) -> Result<Checkpoint, CheckpointError> {
        hookwright_disk::create_private_directory(&self.folder).map_err(|cause| self.io_error(cause))?;
        let numbers = self.numbers();
        let mut number = numbers.last().map_or(1, |last| last + 1);
        self.restrict_permissions(&numbers);
        // Turns without changes get a checkpoint too. Pruning reads all records, so it
        // runs at intervals and not in every turn.
        if numbers.len() >= retention::MAX_CHECKPOINTS + retention::PRUNE_INTERVAL_TURNS {
            self.prune(&HashSet::new());
        }
        // Another session may take the same number at the same time.
        for _ in 0..100 {
            checkpoint.number = number;
            match hookwright_disk::create_locked(&self.record_path(number), &encode_record(&checkpoint)) {
                Ok(_) => return Ok(checkpoint),
                Err(cause) if cause.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(cause) => return Err(self.io_error(cause)),
            }
        }
        Err(self.io_error(ErrorKind::AlreadyExists.into()))
    }

    /// Writes the record of a checkpoint again, with its present content.
    pub(super) fn write(&self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        let file = self.record_path(checkpoint.number);
        hookwright_disk::write_atomic_private(&file, &encode_record(checkpoint), Durability::Unsynced)
            .map_err(|cause| self.io_error(cause))
    }

    /// Stores a content.
    pub(super) fn store_content(&self, sha256: &str, bytes: &[u8]) -> Result<(), CheckpointError> {
        let file = self.content_path(sha256);
        if file.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() == bytes.len() as u64) {
            return Ok(());
        }
        let made = file.parent().map_or(Ok(()), hookwright_disk::create_private_directory);
        made.and_then(|()| hookwright_disk::write_atomic_private(&file, bytes, Durability::Unsynced))
            .map_err(|cause| self.io_error(cause))
    }

    /// Returns whether a content is stored.
    pub(super) fn has_content(&self, sha256: &str) -> bool {
        self.content_path(sha256).is_file()
    }

    /// Reads a content and checks its digest.
    pub(super) fn read_content(&self, path: &Path, sha256: &str) -> Result<Vec<u8>, CheckpointError> {
        let gone = || CheckpointError::ContentLost(path.display().to_string());
        let bytes = hookwright_disk::read(&self.content_path(sha256), MAX_FILE_BYTES, SymlinkPolicy::Refuse)
            .map_err(|_| gone())?;
        if content_digest(&bytes) == sha256 { Ok(bytes) } else { Err(gone()) }
    }

    /// Makes the store private again, where an older version or another program let other users read it.
    ///
    /// Such a program would have changed all files. So the folder and the newest record are checked in every turn, and
    /// all records at intervals. File systems without modes are ignored.
    fn restrict_permissions(&self, numbers: &[u64]) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, PermissionsExt};
            let is_open = |path: &PathBuf| {
                let found = path.symlink_metadata().ok()?;
                (found.mode() & 0o077 != 0 && !found.is_symlink()).then_some(found.is_dir())
            };
            let newest = numbers.last().map(|last| self.record_path(*last));
            let is_due = numbers.last().is_some_and(|last| last % retention::PRUNE_INTERVAL_TURNS as u64 == 0);
            if !is_due && [Some(self.folder.clone()), newest].iter().flatten().all(|path| is_open(path).is_none()) {
                return;
            }
            let records = std::fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
            for path in records.chain([self.folder.clone()]) {
                if let Some(is_folder) = is_open(&path) {
                    let mode = if is_folder { 0o700 } else { 0o600 };
                    let _ = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
                }
            }
        }
        #[cfg(not(unix))]
        let _ = numbers;
    }

    fn io_error(&self, cause: io::Error) -> CheckpointError {
        CheckpointError::Io { path: self.folder.clone(), cause }
    }
}

/// Serialises a time as a string.
mod stamp {
    use jiff::Timestamp;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{time:.3}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

fn encode_record(checkpoint: &Checkpoint) -> Vec<u8> {
    // Strings and numbers always serialise, and a path that is not Unicode is never recorded.
    serde_json::to_vec(checkpoint).unwrap_or_default()
}
