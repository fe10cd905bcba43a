//! Checkpoints on disk, outside of the project and for its owner's eyes only: contents by their hash, and one small file for
//! each checkpoint that says what was where. Which make way for others is said in `retention.rs`.

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use hookwright_disk::{Durability, SymlinkPolicy};
use hookwright_settings::LoadedConfig;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::path_state::{MAX_FILE_BYTES, PathState, content_digest};
use super::retention;

/// A checkpoint's own file is never larger.
const MAX_RECORD_BYTES: u64 = 16 << 20;

/// What was where before a turn, or before something was brought back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its number, by which it is called.
    #[serde(skip)]
    pub number: u64,
    /// What it was taken for.
    pub kind: CheckpointKind,
    /// The session.
    pub session: String,
    /// The prompt of the turn; of a restore, what it brought back.
    pub prompt: String,
    /// When.
    #[serde(with = "stamp")]
    pub time: Timestamp,
    /// Where the conversation stood, if it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationMark>,
    /// The files that were changed.
    #[serde(default)]
    pub files: Vec<RecordedFile>,
    /// What is not kept, and what nobody can tell.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What a checkpoint was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointKind {
    /// A turn of the agent.
    Turn,
    /// A restore, which can so be undone.
    Restore,
}

/// A place in a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationMark {
    /// The transcript.
    pub transcript: PathBuf,
    /// So many bytes of it were there.
    pub at: u64,
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedFile {
    /// The whole path.
    pub path: PathBuf,
    /// What was there.
    pub before: PathState,
    /// What the agent left there, when that was last looked at.
    pub after: PathState,
}

/// Why checkpoints can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// There is none of that number.
    #[error("there is no checkpoint {0}")]
    NotFound(String),
    /// It can't be read.
    #[error("checkpoint {number} can't be read: {why}")]
    Broken {
        /// Which.
        number: u64,
        /// Why.
        why: String,
    },
    /// A content is not there any more, or is not what it was.
    #[error("what was kept of {0} is gone or damaged")]
    ContentLost(String),
    /// It says nothing of a conversation.
    #[error("checkpoint {0} holds no place in a conversation")]
    NoConversation(u64),
    /// It belongs to another session.
    #[error("the conversation of checkpoint {number} is that of session {session}")]
    OtherSession {
        /// Which checkpoint.
        number: u64,
        /// Whose it is.
        session: String,
    },
    /// The disk refuses.
    #[error("{}: {cause}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The transcript can't be used.
    #[error(transparent)]
    Transcript(#[from] crate::transcript::TranscriptError),
}

impl CheckpointError {
    /// What to do about it.
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

/// The checkpoints of a project.
#[derive(Clone, Debug)]
pub struct CheckpointStore {
    folder: PathBuf,
    /// More bytes of contents are not kept.
    pub(super) max_stored_bytes: u64,
}

impl CheckpointStore {
    /// Those of this configuration's project. Nothing is made before something is kept.
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

    /// Where contents are.
    pub(super) fn contents_dir(&self) -> PathBuf {
        self.folder.join("contents")
    }

    pub(super) fn record_path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:06}.json"))
    }

    fn content_path(&self, sha256: &str) -> PathBuf {
        self.contents_dir().join(sha256.get(..2).unwrap_or("__")).join(sha256)
    }

    /// The numbers that there are, in their order.
    pub(super) fn numbers(&self) -> Vec<u64> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.strip_suffix(".json")?.parse().ok();
        let mut numbers: Vec<u64> = entries.filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }

    /// All that can be read, the oldest first.
    pub fn list(&self) -> Vec<Checkpoint> {
        self.numbers().into_iter().filter_map(|number| self.read(number).ok()).collect()
    }

    /// One of them.
    ///
    /// # Errors
    /// If it is not there or can't be read.
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

    /// The one that is meant: `latest` or a number.
    ///
    /// # Errors
    /// If there is none, or it can't be read.
    pub fn find(&self, asked: &str) -> Result<Checkpoint, CheckpointError> {
        let none = || CheckpointError::NotFound(asked.to_owned());
        match asked.trim() {
            "latest" => self.read(self.numbers().last().copied().ok_or_else(none)?),
            number => self.read(number.trim_start_matches('#').parse().map_err(|_| none())?),
        }
    }

    /// Begins a checkpoint, under the next number. What is too old makes way.
    pub(super) fn create(&self, mut checkpoint: Checkpoint) -> Result<Checkpoint, CheckpointError> {
        hookwright_disk::create_private_directory(&self.folder).map_err(|cause| self.io_error(cause))?;
        let numbers = self.numbers();
        let mut number = numbers.last().map_or(1, |last| last + 1);
        self.restrict_permissions(&numbers);
        // Turns that change nothing are kept too. Who has had so many pays for all of them now and then, not in every turn.
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

    /// Writes it anew, with what it holds by now.
    pub(super) fn write(&self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        let file = self.record_path(checkpoint.number);
        hookwright_disk::write_atomic_private(&file, &encode_record(checkpoint), Durability::Unsynced)
            .map_err(|cause| self.io_error(cause))
    }

    /// Keeps a content.
    pub(super) fn store_content(&self, sha256: &str, bytes: &[u8]) -> Result<(), CheckpointError> {
        let file = self.content_path(sha256);
        if file.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() == bytes.len() as u64) {
            return Ok(());
        }
        let made = file.parent().map_or(Ok(()), hookwright_disk::create_private_directory);
        made.and_then(|()| hookwright_disk::write_atomic_private(&file, bytes, Durability::Unsynced))
            .map_err(|cause| self.io_error(cause))
    }

    /// Whether a content is still there.
    pub(super) fn has_content(&self, sha256: &str) -> bool {
        self.content_path(sha256).is_file()
    }

    /// A content, if it is still what it was.
    pub(super) fn read_content(&self, path: &Path, sha256: &str) -> Result<Vec<u8>, CheckpointError> {
        let gone = || CheckpointError::ContentLost(path.display().to_string());
        let bytes = hookwright_disk::read(&self.content_path(sha256), MAX_FILE_BYTES, SymlinkPolicy::Refuse)
            .map_err(|_| gone())?;
        if content_digest(&bytes) == sha256 { Ok(bytes) } else { Err(gone()) }
    }

    /// An older version, or another program, may have let others in. Whoever did, did so with all of them: the folder and the
    /// newest are looked at in every turn, the others now and then. Where the disk knows no modes, nothing is lost.
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

/// A time, as text.
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
    // Text and numbers; a path that is no text is never kept.
    serde_json::to_vec(checkpoint).unwrap_or_default()
}
