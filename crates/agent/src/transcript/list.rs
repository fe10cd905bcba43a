//! The sessions of a project: listing, finding by number or id, deleting.
//! Listing reads as little of each file as it can.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use super::load::MAX_LINE_BYTES;
use super::{TranscriptError, lock_for_writing, wire};

/// The maximum length of a header line.
const MAX_HEADER_BYTES: u64 = 64 * 1024;

/// A session that can be resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionInfo {
    /// The number of the session in the list, from 1.
    pub index: usize,
    /// The identifier of the session.
    pub id: String,
    /// The path of the transcript.
    pub path: PathBuf,
    /// The time when the session started.
    #[serde(serialize_with = "serialize_time")]
    pub started: Timestamp,
    /// The time of the last entry.
    #[serde(serialize_with = "serialize_time")]
    pub updated: Timestamp,
    /// The first prompt, where it was read.
    pub first_prompt: Option<String>,
    /// The number of messages.
    pub messages: usize,
    /// The size of the transcript.
    pub bytes: u64,
    /// The git branch that was checked out at the start.
    pub branch: Option<String>,
}

fn serialize_time<S: serde::Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

/// The reason why no session, or more than one, matches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionFindError {
    /// The project has no sessions.
    #[error("there are no sessions for this project")]
    NoSessions,
    /// No session has that number.
    #[error("there is no session {number}; there are {count}")]
    NoSuchNumber {
        /// The number that was given.
        number: usize,
        /// The number of sessions.
        count: usize,
    },
    /// No session's id begins with the given text.
    #[error("no session's id begins with {asked:?}")]
    NoSuchId {
        /// The text that was given.
        asked: String,
        /// The beginning of the id that was most likely meant.
        near: Option<String>,
    },
    /// Several sessions' ids begin with the given text.
    #[error("several sessions' ids begin with {asked:?}: {}", ids.join(", "))]
    Ambiguous {
        /// The text that was given.
        asked: String,
        /// The ids that match.
        ids: Vec<String>,
    },
}

impl SessionFindError {
    /// Returns the beginning of the id that was most likely meant.
    pub fn suggestion(&self) -> Option<&str> {
        match self {
            Self::NoSuchId { near, .. } => near.as_deref(),
            _ => None,
        }
    }

    /// Returns the advice to the user.
    pub fn hint(&self) -> String {
        match self {
            Self::NoSessions => "start one first".to_owned(),
            Self::NoSuchId { near: Some(near), .. } => format!("did you mean {near}? --list-sessions shows them all"),
            Self::NoSuchNumber { .. } | Self::NoSuchId { .. } => "--list-sessions shows them all".to_owned(),
            Self::Ambiguous { .. } => "give more of the id".to_owned(),
        }
    }
}

/// Lists the sessions in a directory, the most recently used last.
///
/// Other files are skipped, including the sessions of other programs and sessions without a message.
///
/// # Errors
/// If the directory exists and cannot be read.
pub fn list(chats_dir: &Path) -> Result<Vec<SessionInfo>, TranscriptError> {
    let mut sessions = list_outlines(chats_dir)?;
    for session in &mut sessions {
        session.first_prompt = read_first_prompt(&session.path).ok().flatten();
    }
    Ok(sessions)
}

/// Lists the sessions in a directory without their first prompts, which is faster.
///
/// # Errors
/// If the directory exists and cannot be read.
pub fn list_outlines(chats_dir: &Path) -> Result<Vec<SessionInfo>, TranscriptError> {
    let failed = |cause| TranscriptError::Open { path: chats_dir.to_owned(), cause };
    let entries = match fs::read_dir(chats_dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut sessions: Vec<SessionInfo> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .filter_map(|path| read_outline(path).ok().flatten())
        .collect();
    sessions.sort_by(|a, b| (a.updated, a.started, &a.path).cmp(&(b.updated, b.started, &b.path)));
    for (at, session) in sessions.iter_mut().enumerate() {
        session.index = at + 1;
    }
    Ok(sessions)
}

fn read_outline(path: PathBuf) -> io::Result<Option<SessionInfo>> {
    let file = super::load::open(&path)?;
    let bytes = file.metadata()?.len();
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let mut line = Vec::new();
    io::Read::take(&mut reader, MAX_HEADER_BYTES).read_until(b'\n', &mut line)?;
    let Some(header) = wire::read_header(&line) else { return Ok(None) };
    let (id, started, branch) = (header.session_id, header.started, header.branch);
    let (first_prompt, messages) = (None, 0);
    let mut info = SessionInfo { index: 0, id, path, started, updated: started, first_prompt, messages, bytes, branch };
    let mut updated = None;
    loop {
        let from = reader.stream_position()?;
        let length = read_line_prefix(&mut reader, &mut line)?;
        if length == 0 {
            break;
        }
        let Some((kind, time)) = wire::peek_type_and_time(&line).filter(|_| length <= MAX_LINE_BYTES) else { continue };
        let (is_message, time) = (kind == wire::USER_TYPE || kind == wire::MODEL_TYPE, time.to_owned());
        if !line.ends_with(b"\n") && !is_last_line_complete(&mut reader, from)? {
            break;
        }
        updated = Some(time);
        info.messages += usize::from(is_message);
    }
    info.updated = updated.and_then(|time| time.parse().ok()).unwrap_or(started).max(started);
    Ok((info.messages > 0).then_some(info))
}

/// Reads a line and keeps enough of its beginning to tell its type, and its newline; returns the line's length.
fn read_line_prefix(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    line.clear();
    let mut length = 0;
    loop {
        let there = reader.fill_buf()?;
        let end = memchr::memchr(b'\n', there);
        let piece = &there[..end.unwrap_or(there.len())];
        line.extend_from_slice(&piece[..piece.len().min(wire::MAX_PEEK_BYTES.saturating_sub(line.len()))]);
        let taken = piece.len() + usize::from(end.is_some());
        let is_last = taken == 0 || end.is_some();
        reader.consume(taken);
        length += taken as u64;
        if is_last {
            line.extend(end.map(|_| b'\n'));
            return Ok(length);
        }
    }
}

/// Returns whether the last line of a transcript, which has no newline, is complete.
fn is_last_line_complete(reader: &mut (impl BufRead + Seek), from: u64) -> io::Result<bool> {
    reader.seek(SeekFrom::Start(from))?;
    let mut line = Vec::new();
    super::load::read_line(reader, &mut line)?;
    Ok(wire::is_complete_line(&line))
}

fn read_first_prompt(path: &Path) -> io::Result<Option<String>> {
    let mut reader = BufReader::with_capacity(64 * 1024, super::load::open(path)?);
    let mut line = Vec::new();
    while super::load::read_line(&mut reader, &mut line)? > 0 {
        if wire::peek_type_and_time(&line).is_some_and(|(kind, _)| kind == wire::USER_TYPE)
            && let Some(entry) = wire::read_entry(&line)
            && let Some(prompt) = wire::prompt_text(entry.display_content, &entry.content.unwrap_or_default())
        {
            return Ok(Some(prompt));
        }
        line.clear();
    }
    Ok(None)
}

/// Finds a session: `latest`, a number of the list, an id, or the beginning of one.
///
/// # Errors
/// If no session matches, or more than one.
pub fn find<'s>(sessions: &'s [SessionInfo], asked: &str) -> Result<&'s SessionInfo, SessionFindError> {
    let asked = asked.trim();
    let latest = sessions.last().ok_or(SessionFindError::NoSessions)?;
    if asked.is_empty() || asked == "latest" {
        return Ok(latest);
    }
    // If several sessions have the same id, the most recently used one is meant.
    if let Some(session) = sessions.iter().rev().find(|session| session.id == asked) {
        return Ok(session);
    }
    let number = asked.parse::<usize>().ok();
    if let Some(session) = number.and_then(|number| sessions.iter().find(|session| session.index == number)) {
        return Ok(session);
    }
    let fitting: Vec<&SessionInfo> = sessions.iter().filter(|session| session.id.starts_with(asked)).collect();
    match (fitting.last(), number) {
        (Some(last), _) if fitting.iter().all(|session| session.id == last.id) => Ok(last),
        (Some(_), _) => {
            let mut ids: Vec<String> = fitting.iter().map(|session| session.id.clone()).collect();
            ids.dedup();
            Err(SessionFindError::Ambiguous { asked: asked.to_owned(), ids })
        }
        (None, Some(number)) => Err(SessionFindError::NoSuchNumber { number, count: sessions.len() }),
        (None, None) => Err(SessionFindError::NoSuchId { asked: asked.to_owned(), near: suggest_id(sessions, asked) }),
    }
}

/// Returns the beginning of the id that was most likely meant; recently used sessions are preferred.
fn suggest_id(sessions: &[SessionInfo], asked: &str) -> Option<String> {
    // Shorter texts resemble too many ids.
    const MIN_PREFIX_CHARS: usize = 4;
    let length = asked.chars().count();
    if length < MIN_PREFIX_CHARS {
        return None;
    }
    let beginnings: Vec<String> =
        sessions.iter().rev().map(|session| session.id.chars().take(length).collect()).collect();
    hookwright_hooks::nearest_name(asked, beginnings.iter().map(String::as_str)).map(str::to_owned)
}

/// Returns the directory of the transcripts of a session's sub-agents.
pub(crate) fn subagents_dir(transcript: &Path) -> PathBuf {
    transcript.with_extension("agents")
}

/// Deletes a session's transcript, and those of its sub-agents.
///
/// # Errors
/// If the session is running, or a file cannot be deleted.
pub fn delete(session: &SessionInfo) -> Result<(), TranscriptError> {
    let failed = |cause| TranscriptError::Delete { path: session.path.clone(), cause };
    let file = File::options().read(true).append(true).open(&session.path).map_err(failed)?;
    lock_for_writing(&file, &session.path)?;
    // The sub-agents' transcripts are deleted first, so that a session that
    // could not be deleted wholly is still listed.
    match fs::remove_dir_all(subagents_dir(&session.path)) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(failed(cause)),
        _ => {}
    }
    fs::remove_file(&session.path).map_err(failed)
}
