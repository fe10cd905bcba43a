//! The sessions of a project: listed, found by number or id, deleted. Reads as little of each file as will do.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::load::MAX_LINE_BYTES;
use super::{TranscriptError, lock_for_writing, wire};

/// A header that is longer than this is none.
const MAX_HEADER_BYTES: u64 = 64 * 1024;

/// A session that can be resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its place in the list, from 1.
    pub index: usize,
    /// Its id.
    pub id: String,
    /// Its transcript.
    pub path: PathBuf,
    /// When it started.
    pub started: Timestamp,
    /// When something was last added.
    pub updated: Timestamp,
    /// The first prompt.
    pub first_prompt: Option<String>,
    /// How many messages it has.
    pub messages: usize,
    /// How large its transcript is.
    pub bytes: u64,
    /// The branch that was checked out when it began.
    pub branch: Option<String>,
}

/// Why no session is the one that is meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionFindError {
    /// There are no sessions.
    #[error("there are no sessions for this project")]
    NoSessions,
    /// No session has that number.
    #[error("there is no session {number}; there are {count}")]
    NoSuchNumber {
        /// What was asked for.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// No id begins like that.
    #[error("no session's id begins with {asked:?}")]
    NoSuchId {
        /// What was asked for.
        asked: String,
        /// What begins the id that was most likely meant.
        near: Option<String>,
    },
    /// More than one id does.
    #[error("several sessions' ids begin with {asked:?}: {}", ids.join(", "))]
    Ambiguous {
        /// What was asked for.
        asked: String,
        /// All that fit.
        ids: Vec<String>,
    },
}

impl SessionFindError {
    /// What begins the id that was most likely meant.
    pub fn suggestion(&self) -> Option<&str> {
        match self {
            Self::NoSuchId { near, .. } => near.as_deref(),
            _ => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoSessions => "start one first".to_owned(),
            Self::NoSuchId { near: Some(near), .. } => format!("did you mean {near}? --list-sessions shows them all"),
            Self::NoSuchNumber { .. } | Self::NoSuchId { .. } => "--list-sessions shows them all".to_owned(),
            Self::Ambiguous { .. } => "give more of the id".to_owned(),
        }
    }
}

/// The sessions in a directory, the most recently used last. Anything else in it is passed over, also the sessions of
/// other programs and those without a message.
///
/// # Errors
/// If the directory is there and cannot be read.
pub fn list(chats_dir: &Path) -> Result<Vec<SessionInfo>, TranscriptError> {
    let mut sessions = list_outlines(chats_dir)?;
    for session in &mut sessions {
        session.first_prompt = read_first_prompt(&session.path).ok().flatten();
    }
    Ok(sessions)
}

/// The same without their prompts, which nobody needs who knows what to look for.
///
/// # Errors
/// If the directory is there and cannot be read.
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

/// Reads a line and keeps as much of its beginning as tells what it is, and its end if that is one; how long it is.
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

/// Whether a transcript's last line, which nothing follows, was written to its end.
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

/// The session that is meant: `latest`, a number from the list, an id or the beginning of one.
///
/// # Errors
/// If there is none, or more than one.
pub fn find<'s>(sessions: &'s [SessionInfo], asked: &str) -> Result<&'s SessionInfo, SessionFindError> {
    let asked = asked.trim();
    let latest = sessions.last().ok_or(SessionFindError::NoSessions)?;
    if asked.is_empty() || asked == "latest" {
        return Ok(latest);
    }
    // An id that was given twice means the session last used.
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

/// What begins the id that was most likely meant by the beginning of one; the last used goes first.
fn suggest_id(sessions: &[SessionInfo], asked: &str) -> Option<String> {
    // Fewer letters are like anything.
    const MIN_PREFIX_CHARS: usize = 4;
    let length = asked.chars().count();
    if length < MIN_PREFIX_CHARS {
        return None;
    }
    let beginnings: Vec<String> =
        sessions.iter().rev().map(|session| session.id.chars().take(length).collect()).collect();
    hookwright_hooks::nearest_name(asked, beginnings.iter().map(String::as_str)).map(str::to_owned)
}

/// Where the conversations of a session's sub-agents are kept.
pub(crate) fn subagents_dir(transcript: &Path) -> PathBuf {
    transcript.with_extension("agents")
}

/// Deletes a session's transcript, and those of its sub-agents.
///
/// # Errors
/// If it is still being written, or cannot be deleted.
pub fn delete(session: &SessionInfo) -> Result<(), TranscriptError> {
    let failed = |cause| TranscriptError::Delete { path: session.path.clone(), cause };
    let file = File::options().read(true).append(true).open(&session.path).map_err(failed)?;
    lock_for_writing(&file, &session.path)?;
    // First, so that what could not be deleted is still listed.
    match fs::remove_dir_all(subagents_dir(&session.path)) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(failed(cause)),
        _ => {}
    }
    fs::remove_file(&session.path).map_err(failed)
}
