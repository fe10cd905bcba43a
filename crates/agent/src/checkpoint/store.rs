//! Checkpoints on disk, outside of the project and for its owner's eyes only: contents by their hash, and one small file for
//! each checkpoint that says what was where. Which make way for others is said in `room.rs`.

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use hookwright_disk::{Lasting, Links};
use hookwright_settings::Loaded;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::look::{LARGEST, State, hash};
use super::room;

/// A checkpoint's own file is never larger.
const LARGEST_RECORD: u64 = 16 << 20;

/// What was where before a turn, or before something was brought back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its number, by which it is called.
    #[serde(skip)]
    pub number: u64,
    /// What it was taken for.
    pub kind: Kind,
    /// The session.
    pub session: String,
    /// The prompt of the turn; of a restore, what it brought back.
    pub prompt: String,
    /// When.
    #[serde(with = "stamp")]
    pub time: Timestamp,
    /// Where the conversation stood, if it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Mark>,
    /// The files that were changed.
    #[serde(default)]
    pub files: Vec<KeptFile>,
    /// What is not kept, and what nobody can tell.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What a checkpoint was taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A turn of the agent.
    Turn,
    /// A restore, which can so be undone.
    Restore,
}

/// A place in a transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The transcript.
    pub transcript: PathBuf,
    /// So many bytes of it were there.
    pub at: u64,
}

/// A file that was changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptFile {
    /// The whole path.
    pub path: PathBuf,
    /// What was there.
    pub before: State,
    /// What the agent left there, when that was last looked at.
    pub after: State,
}

/// Why checkpoints can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// There is none of that number.
    #[error("there is no checkpoint {0}")]
    None(String),
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
    Content(String),
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
    Disk {
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
            CheckpointError::None(_) => Some("`/restore` or `hookwright checkpoints list` shows them all".to_owned()),
            CheckpointError::OtherSession { session, .. } => Some(format!("go on with it first: `/resume {session}`")),
            _ => None,
        }
    }
}

/// The checkpoints of a project.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    /// More bytes of contents are not kept.
    pub(super) most_bytes: u64,
}

impl Store {
    /// Those of this configuration's project. Nothing is made before something is kept.
    pub fn of(loaded: &Loaded) -> Self {
        Store { folder: loaded.paths.checkpoints_dir(&loaded.project.root), most_bytes: room::MOST_BYTES }
    }

    #[cfg(test)]
    pub(super) fn at(folder: PathBuf) -> Self {
        Store { folder, most_bytes: room::MOST_BYTES }
    }

    /// Where contents are.
    pub(super) fn contents(&self) -> PathBuf {
        self.folder.join("contents")
    }

    pub(super) fn record(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:06}.json"))
    }

    fn object(&self, sha256: &str) -> PathBuf {
        self.contents().join(sha256.get(..2).unwrap_or("__")).join(sha256)
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
        let file = self.record(number);
        if file.symlink_metadata().is_err() {
            return Err(CheckpointError::None(number.to_string()));
        }
        let bytes =
            hookwright_disk::read(&file, LARGEST_RECORD, Links::Refuse).map_err(|why| broken(why.to_string()))?;
        let read: Checkpoint = serde_json::from_slice(&bytes).map_err(|why| broken(why.to_string()))?;
        Ok(Checkpoint { number, ..read })
    }

    /// The one that is meant: `latest` or a number.
    ///
    /// # Errors
    /// If there is none, or it can't be read.
    pub fn find(&self, asked: &str) -> Result<Checkpoint, CheckpointError> {
        let none = || CheckpointError::None(asked.to_owned());
        match asked.trim() {
            "latest" => self.read(self.numbers().last().copied().ok_or_else(none)?),
            number => self.read(number.trim_start_matches('#').parse().map_err(|_| none())?),
        }
    }

    /// Begins a checkpoint, under the next number. What is too old makes way.
    pub(super) fn begin(&self, mut checkpoint: Checkpoint) -> Result<Checkpoint, CheckpointError> {
        hookwright_disk::own_directory(&self.folder).map_err(|cause| self.failed(cause))?;
        let numbers = self.numbers();
        let mut number = numbers.last().map_or(1, |last| last + 1);
        self.tighten(&numbers);
        // Turns that change nothing are kept too. Who has had so many pays for all of them now and then, not in every turn.
        if numbers.len() >= room::MOST + room::NOW_AND_THEN {
            self.make_room(&HashSet::new());
        }
        // Another session may take the same number at the same time.
        for _ in 0..100 {
            checkpoint.number = number;
            match hookwright_disk::create_held(&self.record(number), &written(&checkpoint)) {
                Ok(_) => return Ok(checkpoint),
                Err(cause) if cause.kind() == ErrorKind::AlreadyExists => number += 1,
                Err(cause) => return Err(self.failed(cause)),
            }
        }
        Err(self.failed(ErrorKind::AlreadyExists.into()))
    }

    /// Writes it anew, with what it holds by now.
    pub(super) fn write(&self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        let file = self.record(checkpoint.number);
        hookwright_disk::overwrite(&file, &written(checkpoint), Lasting::No).map_err(|cause| self.failed(cause))
    }

    /// Keeps a content.
    pub(super) fn keep(&self, sha256: &str, bytes: &[u8]) -> Result<(), CheckpointError> {
        let file = self.object(sha256);
        if file.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() == bytes.len() as u64) {
            return Ok(());
        }
        let made = file.parent().map_or(Ok(()), hookwright_disk::own_directory);
        made.and_then(|()| hookwright_disk::overwrite(&file, bytes, Lasting::No)).map_err(|cause| self.failed(cause))
    }

    /// Whether a content is still there.
    pub(super) fn holds(&self, sha256: &str) -> bool {
        self.object(sha256).is_file()
    }

    /// A content, if it is still what it was.
    pub(super) fn content(&self, path: &Path, sha256: &str) -> Result<Vec<u8>, CheckpointError> {
        let gone = || CheckpointError::Content(path.display().to_string());
        let bytes = hookwright_disk::read(&self.object(sha256), LARGEST, Links::Refuse).map_err(|_| gone())?;
        if hash(&bytes) == sha256 { Ok(bytes) } else { Err(gone()) }
    }

    /// An older version, or another program, may have let others in. Whoever did, did so with all of them: the folder and the
    /// newest are looked at in every turn, the others now and then. Where the disk knows no modes, nothing is lost.
    fn tighten(&self, numbers: &[u64]) {
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, PermissionsExt};
            let is_open = |path: &PathBuf| {
                let found = path.symlink_metadata().ok()?;
                (found.mode() & 0o077 != 0 && !found.is_symlink()).then_some(found.is_dir())
            };
            let newest = numbers.last().map(|last| self.record(*last));
            let is_due = numbers.last().is_some_and(|last| last % room::NOW_AND_THEN as u64 == 0);
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

    fn failed(&self, cause: io::Error) -> CheckpointError {
        CheckpointError::Disk { path: self.folder.clone(), cause }
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

fn written(checkpoint: &Checkpoint) -> Vec<u8> {
    // Text and numbers; a path that is no text is never kept.
    serde_json::to_vec(checkpoint).unwrap_or_default()
}
