//! A session's transcript: JSON Lines, only ever added to, one `write` per line. A process that is killed loses at most
//! the line it was writing; the next one to open the file mends its end.
//!
//! The lines that hold messages are shaped as Gemini CLI shapes its own: hook scripts read them, and Gemini CLI, which
//! clears its directory of sessions of files that it cannot read, leaves them alone.

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

/// How many sessions of one minute may share the first eight characters of their ids.
const MAX_NAME_COLLISIONS: u32 = 100;

/// What a transcript begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptHeader {
    /// The session's id.
    pub session_id: String,
    /// The project's directory.
    pub project: PathBuf,
    /// The model at the start.
    pub model: String,
    /// The branch that was checked out.
    pub branch: Option<String>,
    /// The program's version.
    pub version: String,
    /// When the session started.
    pub started: Timestamp,
}

/// One line of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub enum TranscriptEntry {
    /// A message that is now part of the history.
    Message {
        /// The message as the model reads it.
        content: Arc<Content>,
        /// What to show for it, where that differs: the prompt as it was typed.
        display: Option<String>,
    },
    /// The model's memory was emptied.
    ClearContext,
    /// The history was compressed.
    Compressed {
        /// All of it, as the model reads it from now on. What it replaces stays in the file, above.
        history: Vec<Arc<Content>>,
    },
    /// The user went back to an earlier place in the conversation.
    Rewound {
        /// All of it as it was then. What it replaces stays in the file, above.
        history: Vec<Arc<Content>>,
    },
    /// Something worth keeping that the model does not read, as a hook's decision.
    Note {
        /// What sort of thing.
        kind: String,
        /// The thing.
        data: Map<String, Value>,
    },
}

impl TranscriptEntry {
    /// A message.
    pub fn message(content: impl Into<Arc<Content>>) -> Self {
        TranscriptEntry::Message { content: content.into(), display: None }
    }

    /// A compressed history.
    pub fn compressed(history: &[Arc<Content>]) -> Self {
        TranscriptEntry::Compressed { history: history.to_vec() }
    }
}

/// A transcript that is being written. It is this session's alone for as long as it is open.
#[derive(Debug)]
pub struct Transcript {
    path: PathBuf,
    /// Nothing if the conversation is not kept.
    file: Option<File>,
    /// Where the last line begins.
    last_offset: u64,
    /// Where the next line begins.
    end_offset: u64,
    /// Half a line may stand behind `end`: the disk was full.
    has_torn_line: bool,
    /// Whether a message was ever added.
    has_message: bool,
}

impl Transcript {
    /// Begins a transcript in a directory of sessions, under a name of its own.
    ///
    /// # Errors
    /// If the directory or the file cannot be made.
    pub fn create_in(chats_dir: &Path, header: &TranscriptHeader) -> Result<Self, TranscriptError> {
        for namesake in 1..MAX_NAME_COLLISIONS {
            match Self::create(&chats_dir.join(file_name(header, namesake)), header) {
                Err(TranscriptError::Exists { .. }) => {}
                result => return result,
            }
        }
        Err(TranscriptError::Exists { path: chats_dir.join(file_name(header, MAX_NAME_COLLISIONS)) })
    }

    /// Begins a transcript. The file appears with its header in it, so that none without one is ever found.
    ///
    /// # Errors
    /// If there is such a file, or it cannot be made.
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

    /// A transcript that is not kept, for a conversation on a machine that keeps nothing. Its file is not there.
    pub fn unsaved_in(chats_dir: &Path, header: &TranscriptHeader) -> Self {
        let path = chats_dir.join(file_name(header, 1));
        Transcript { path, file: None, last_offset: 0, end_offset: 0, has_torn_line: false, has_message: false }
    }

    /// Opens a transcript to go on with it, and takes off what a killed process left of its last line.
    ///
    /// # Errors
    /// If it cannot be opened, is no transcript, or another process is writing it.
    pub fn open(path: &Path) -> Result<Self, TranscriptError> {
        let failed = |cause| TranscriptError::Open { path: path.to_owned(), cause };
        let mut file = File::options().read(true).append(true).open(path).map_err(failed)?;
        lock_for_writing(&file, path)?;
        // An older version, or another program, may have let others in. Where the disk knows no modes, nothing is lost.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the next line begins; nothing if the conversation is not kept.
    pub fn end_offset(&self) -> Option<u64> {
        self.file.as_ref().map(|_| self.end_offset)
    }

    /// Adds a line, stamped with the time.
    ///
    /// # Errors
    /// If it cannot be written whole. What was written of it does not harm the lines to come.
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

    /// Puts another line in the place of the last one that was added: what a hook redacts afterwards stays in no file.
    ///
    /// # Errors
    /// As for [`Transcript::append_text`].
    pub fn replace_last(&mut self, entry: &TranscriptEntry) -> Result<(), TranscriptError> {
        (self.end_offset, self.has_torn_line) = (self.last_offset, true);
        self.append(entry)
    }
}

/// Gemini CLI deletes sessions without a message, whoever's they are and whether or not they run; so at the first
/// message the file may be gone. One that somebody deletes later stays deleted.
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
    /// Closing the file would do, but for a process that is just being started: it has our files until it runs.
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = file.unlock();
        }
    }
}

/// Copies a transcript into a directory of sessions, under an id of its own; the id.
///
/// # Errors
/// If it is no transcript, or the copy cannot be made.
pub fn copy(path: &Path, chats_dir: &Path) -> Result<String, TranscriptError> {
    let id = uuid::Uuid::new_v4().to_string();
    let header = TranscriptHeader { session_id: id.clone(), started: Timestamp::now(), ..load(path)?.header };
    let opened = |cause| TranscriptError::Open { path: path.to_owned(), cause };
    let mut lines = BufReader::new(load::open(path).map_err(opened)?);
    load::read_line(&mut lines, &mut Vec::new()).map_err(opened)?;
    let mut copy = Transcript::create_in(chats_dir, &header)?;
    let written = copy.file.as_mut().map_or(Ok(()), |file| io::copy(&mut lines, file).map(drop));
    if let Err(cause) = written {
        // Half a conversation is nobody's.
        let _ = fs::remove_file(&copy.path);
        return Err(TranscriptError::Append { path: copy.path.clone(), cause });
    }
    Ok(id)
}

/// `session-2026-01-31T23-59-1a2b3c4d.jsonl`, in UTC.
fn file_name(header: &TranscriptHeader, namesake: u32) -> String {
    let minute: String =
        wire::format_timestamp(header.started).chars().take(16).map(|c| if c == ':' { '-' } else { c }).collect();
    // The id may be the user's own words; it must not lead anywhere.
    let plain = |char: char| if char.is_ascii_alphanumeric() || char == '-' { char } else { '_' };
    let id: String = header.session_id.chars().take(8).map(plain).collect();
    let number = if namesake > 1 { format!("-{namesake}") } else { String::new() };
    format!("session-{minute}-{id}{number}.jsonl")
}

/// Two sessions that add to one history would make it nobody's.
fn lock_for_writing(file: &File, path: &Path) -> Result<(), TranscriptError> {
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(TranscriptError::InUse { path: path.to_owned() }),
        // Some network disks know no locks.
        Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(()),
    }
}

/// Makes the file end with a whole line, and says where that is.
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
        // Only the end of the line is missing.
        file.write_all(b"\n")?;
        return Ok(length + 1);
    }
    file.set_len(tail)?;
    Ok(tail)
}

/// Behind the last line end; reads from the end, for transcripts are long.
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
