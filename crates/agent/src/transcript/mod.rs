//! A session's transcript: JSON Lines, one `write` per line.
//!
//! Lines are appended; only the last one is ever replaced, for redaction. A process that is killed loses at most the
//! line that it was writing; the next process that opens the file repairs its end.
//!
//! Lines with messages have Gemini CLI's format: hook scripts read them, and Gemini CLI, which deletes unreadable files
//! from its session directory, leaves them alone.

mod error;
mod list;
mod load;
mod wire;

use std::fs::{self, File};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_disk::create_locked;
use hookwright_model::Content;
use jiff::Timestamp;
use serde_json::{Map, Value};

pub use error::TranscriptError;
pub(crate) use list::subagents_dir;
pub use list::{SessionFindError, SessionInfo, delete, find, list, list_outlines};
pub use load::{LoadedTranscript, load, load_until};

/// The maximum number of sessions of one minute that share the first eight characters of their ids.
const MAX_NAME_COLLISIONS: u32 = 100;

/// The header of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptHeader {
    /// The identifier of the session.
    pub session_id: String,
    /// The directory of the project.
    pub project: PathBuf,
    /// The model at the start of the session.
    pub model: String,
    /// The git branch that was checked out at the start.
    pub branch: Option<String>,
    /// The version of the program.
    pub version: String,
    /// The time when the session started.
    pub started: Timestamp,
}

/// An entry, which is one line of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub enum TranscriptEntry {
    /// A message that was added to the history.
    Message {
        /// The message as the model reads it.
        content: Arc<Content>,
        /// The prompt as it was typed, where that differs from the message.
        display: Option<String>,
    },
    /// The model's history was emptied.
    ClearContext,
    /// The history was compressed.
    Compressed {
        /// The whole history that the model reads from now on. The lines that it replaces stay in the file.
        history: Vec<Arc<Content>>,
    },
    /// The user returned to an earlier point of the conversation.
    Rewound {
        /// The whole history as it was then. The lines that it replaces stay in the file.
        history: Vec<Arc<Content>>,
    },
    /// A record that the model does not read, such as a hook's decision.
    Note {
        /// The kind of the record.
        kind: String,
        /// The content of the record.
        data: Map<String, Value>,
    },
}

impl TranscriptEntry {
    /// Creates an entry for a message.
    pub fn message(content: impl Into<Arc<Content>>) -> Self {
        TranscriptEntry::Message { content: content.into(), display: None }
    }

    /// Creates an entry for a compressed history.
    pub fn compressed(history: &[Arc<Content>]) -> Self {
        TranscriptEntry::Compressed { history: history.to_vec() }
    }
}

/// A transcript that is open for writing, locked for this session.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    /// The open file; `None` if the conversation is not saved.
    file: Option<File>,
    /// The offset of the last line.
    last_offset: u64,
    /// The offset of the next line.
    end_offset: u64,
    /// Whether a partial line may follow `end_offset`, after a failed write.
    has_torn_line: bool,
    /// Whether a message was ever appended.
    has_message: bool,
}

impl Transcript {
    /// Creates a transcript in a directory of sessions, under a free file name.
    ///
    /// # Errors
    /// If the directory or the file cannot be created.
    pub fn create_in(chats_dir: &Path, header: &TranscriptHeader) -> Result<Self, TranscriptError> {
        for namesake in 1..MAX_NAME_COLLISIONS {
            match Self::create(&chats_dir.join(file_name(header, namesake)), header) {
                Err(TranscriptError::Exists { .. }) => {}
                result => return result,
            }
        }
        Err(TranscriptError::Exists { path: chats_dir.join(file_name(header, MAX_NAME_COLLISIONS)) })
    }

    /// Creates a transcript. The file appears together with its header.
    ///
    /// # Errors
    /// If the file exists already or cannot be created.
    pub fn create(path: &Path, header: &TranscriptHeader) -> Result<Self, TranscriptError> {
        let failed = |cause: io::Error| match cause.kind() {
            ErrorKind::AlreadyExists => TranscriptError::Exists { path: path.to_owned() },
            _ => TranscriptError::Create { path: path.to_owned(), cause },
        };
        let line = wire::header_line(header);
        let file = create_locked(path, &line).map_err(failed)?;
        let end = line.len() as u64;
        Ok(Transcript {
            path: path.to_owned(),
            file: Some(file),
            last_offset: end,
            end_offset: end,
            has_torn_line: false,
            has_message: false,
        })
    }

    /// Creates a transcript that is not saved; its file does not exist.
    pub fn unsaved_in(chats_dir: &Path, header: &TranscriptHeader) -> Self {
        let path = chats_dir.join(file_name(header, 1));
        Transcript { path, file: None, last_offset: 0, end_offset: 0, has_torn_line: false, has_message: false }
    }

    /// Opens a transcript for appending, and removes a torn last line that a killed process left.
    ///
    /// # Errors
    /// If the file cannot be opened, is not a transcript, or another process is writing it.
    pub fn open(path: &Path) -> Result<Self, TranscriptError> {
        let failed = |cause| TranscriptError::Open { path: path.to_owned(), cause };
        let mut file = File::options().read(true).append(true).open(path).map_err(failed)?;
        lock_for_writing(&file, path)?;
        // An older version or another program may have created the file readable for
        // others. File systems without modes are ignored.
        let _ = hookwright_disk::make_private(&file);
        let end = truncate_torn_line(&mut file).map_err(failed)?;
        if end == 0 {
            return Err(TranscriptError::NotATranscript { path: path.to_owned() });
        }
        Ok(Transcript {
            path: path.to_owned(),
            file: Some(file),
            last_offset: end,
            end_offset: end,
            has_torn_line: false,
            has_message: true,
        })
    }

    /// Returns the path of the transcript.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the offset of the next line, `None` if the conversation is not saved.
    pub fn end_offset(&self) -> Option<u64> {
        self.file.as_ref().map(|_| self.end_offset)
    }

    /// Appends an entry with the present time.
    ///
    /// # Errors
    /// If the line cannot be written completely. A partial line does not damage later ones.
    pub fn append(&mut self, entry: &TranscriptEntry) -> Result<(), TranscriptError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let line = wire::entry_line(entry, self.end_offset, Timestamp::now());
        let torn = std::mem::take(&mut self.has_torn_line);
        let whole = if torn { file.set_len(self.end_offset) } else { Ok(()) };
        let written = whole
            .and_then(|()| recreate_if_deleted(file, &self.path, &mut self.has_message, entry))
            .and_then(|()| file.write_all(&line));
        match written {
            Ok(()) => (self.last_offset, self.end_offset) = (self.end_offset, self.end_offset + line.len() as u64),
            Err(cause) => {
                self.has_torn_line = true;
                return Err(TranscriptError::Append { path: self.path.clone(), cause });
            }
        }
        Ok(())
    }

    /// Replaces the last entry, so that text which a hook redacts afterwards stays in no file.
    ///
    /// # Errors
    /// As for [`Transcript::append`].
    pub fn replace_last(&mut self, entry: &TranscriptEntry) -> Result<(), TranscriptError> {
        (self.end_offset, self.has_torn_line) = (self.last_offset, true);
        self.append(entry)
    }
}

/// Recreates the file at the first message if it is gone.
///
/// Gemini CLI deletes sessions without a message, also those of other programs and running ones. A
/// file that is deleted later stays deleted.
fn recreate_if_deleted(
    file: &mut File,
    path: &Path,
    has_message: &mut bool,
    entry: &TranscriptEntry,
) -> io::Result<()> {
    if *has_message || !matches!(entry, TranscriptEntry::Message { .. }) {
        return Ok(());
    }
    if !path.exists() {
        let mut lines = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut lines)?;
        *file = create_locked(path, &lines)?;
    }
    *has_message = true;
    Ok(())
}

impl Drop for Transcript {
    /// Unlocks explicitly: a child process that is just being started still
    /// holds the file descriptor until it executes.
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = file.unlock();
        }
    }
}

/// Copies a transcript into a directory of sessions under a new id, and returns the id.
///
/// # Errors
/// If the file is not a transcript, or the copy cannot be created.
pub fn copy(path: &Path, chats_dir: &Path) -> Result<String, TranscriptError> {
    let id = uuid::Uuid::new_v4().to_string();
    let header = TranscriptHeader { session_id: id.clone(), started: Timestamp::now(), ..load(path)?.header };
    let opened = |cause| TranscriptError::Open { path: path.to_owned(), cause };
    let mut lines = BufReader::new(load::open(path).map_err(opened)?);
    load::read_line(&mut lines, &mut Vec::new()).map_err(opened)?;
    let mut copy = Transcript::create_in(chats_dir, &header)?;
    let written = copy.file.as_mut().map_or(Ok(()), |file| io::copy(&mut lines, file).map(drop));
    if let Err(cause) = written {
        // A partial copy is useless.
        let _ = fs::remove_file(&copy.path);
        return Err(TranscriptError::Append { path: copy.path.clone(), cause });
    }
    Ok(id)
}

/// Returns the file name, such as `session-2026-01-31T23-59-1a2b3c4d.jsonl`, in UTC.
fn file_name(header: &TranscriptHeader, namesake: u32) -> String {
    let minute: String =
        wire::format_timestamp(header.started).chars().take(16).map(|c| if c == ':' { '-' } else { c }).collect();
    // The user may have chosen the id; it must not contain path separators.
    let plain = |char: char| if char.is_ascii_alphanumeric() || char == '-' { char } else { '_' };
    let id: String = header.session_id.chars().take(8).map(plain).collect();
    let number = if namesake > 1 { format!("-{namesake}") } else { String::new() };
    format!("session-{minute}-{id}{number}.jsonl")
}

/// Locks the file, so that no two sessions append to one history.
fn lock_for_writing(file: &File, path: &Path) -> Result<(), TranscriptError> {
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(TranscriptError::InUse { path: path.to_owned() }),
        // Some network file systems have no locks.
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(()),
    }
}

/// Makes the file end with a complete line and returns its length.
fn truncate_torn_line(file: &mut File) -> io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    let tail = last_line_start(file, length)?;
    if tail == length {
        return Ok(length);
    }
    let mut line = Vec::new();
    file.seek(SeekFrom::Start(tail))?;
    file.read_to_end(&mut line)?;
    if wire::is_complete_line(&line) {
        // Only the newline is missing.
        file.write_all(b"\n")?;
        return Ok(length + 1);
    }
    file.set_len(tail)?;
    Ok(tail)
}

/// Returns the offset after the last newline. It reads from the end, as transcripts are long.
fn last_line_start(file: &mut File, length: u64) -> io::Result<u64> {
    const READ_CHUNK_BYTES: u64 = 64 * 1024;
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(READ_CHUNK_BYTES);
        let mut piece = vec![0; usize::try_from(end - start).unwrap_or(0)];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut piece)?;
        if let Some(at) = piece.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests;
