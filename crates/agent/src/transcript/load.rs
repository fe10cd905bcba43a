//! Rebuilds the history that the model last read from the lines of a transcript.
//!
//! Unreadable lines are skipped: a damaged session is better than none.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use hookwright_disk::{ReadError, SymlinkPolicy};
use hookwright_model::{Content, FunctionCall, FunctionResponse, Part, Role};
use jiff::Timestamp;
use serde_json::Map;

use super::{TranscriptError, TranscriptHeader, wire};

/// The size above which a transcript is not read.
const MAX_TRANSCRIPT_BYTES: u64 = 1 << 30;
/// The length above which a line is skipped.
pub(super) const MAX_LINE_BYTES: u64 = 128 << 20;

/// The content of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedTranscript {
    /// The header of the transcript.
    pub header: TranscriptHeader,
    /// The history as the model last read it. Every tool call in it has a result.
    pub history: Vec<Arc<Content>>,
    /// The number of lines after the header.
    pub entries_count: usize,
    /// The number of unreadable lines, without a torn last line that a killed process left.
    pub damaged_entries: usize,
    /// The first prompt of the session.
    pub first_prompt: Option<String>,
    /// The last prompt of the session.
    pub last_prompt: Option<String>,
    /// The time of the last entry.
    pub updated: Timestamp,
}

/// Reads a transcript without changing it.
///
/// # Errors
/// If the file cannot be read or is not a transcript.
pub fn load(path: &Path) -> Result<LoadedTranscript, TranscriptError> {
    load_until(path, u64::MAX)
}

/// Reads a transcript as it was at this length in bytes, without changing it.
///
/// # Errors
/// If the file cannot be read or is not a transcript.
pub fn load_until(path: &Path, end: u64) -> Result<LoadedTranscript, TranscriptError> {
    let failed = |cause| TranscriptError::Open { path: path.to_owned(), cause };
    let mut reader = BufReader::with_capacity(256 * 1024, open(path).map_err(failed)?.take(end));
    let mut line = Vec::new();
    read_line(&mut reader, &mut line).map_err(failed)?;
    let header = wire::read_header(&line).ok_or_else(|| TranscriptError::NotATranscript { path: path.to_owned() })?;
    let mut loaded = LoadedTranscript {
        updated: header.started,
        header,
        history: Vec::new(),
        entries_count: 0,
        damaged_entries: 0,
        first_prompt: None,
        last_prompt: None,
    };
    let mut view = HistoryBuilder::default();
    loop {
        line.clear();
        if read_line(&mut reader, &mut line).map_err(failed)? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let whole = line.ends_with(b"\n");
        match wire::read_entry(&line) {
            Some(entry) => loaded.apply_entry(entry, &mut view),
            None if whole => loaded.damaged_entries += 1,
            None => break,
        }
        loaded.entries_count += 1;
    }
    loaded.history = view.finish();
    Ok(loaded)
}

/// Opens a transcript for reading: a regular file of at most [`MAX_TRANSCRIPT_BYTES`].
pub(super) fn open(path: &Path) -> io::Result<File> {
    let (file, found) = hookwright_disk::open_regular(path, SymlinkPolicy::Follow).map_err(io::Error::other)?;
    match found.len() {
        size if size > MAX_TRANSCRIPT_BYTES => Err(io::Error::other(ReadError::TooLarge(size))),
        _ => Ok(file),
    }
}

/// Reads a line as `read_until` does. Of a line longer than [`MAX_LINE_BYTES`], only the end is kept.
pub(super) fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let mut read = 0;
    loop {
        let piece = reader.by_ref().take(MAX_LINE_BYTES - line.len() as u64).read_until(b'\n', line)?;
        read += piece;
        if piece == 0 || line.ends_with(b"\n") || (line.len() as u64) < MAX_LINE_BYTES {
            return Ok(read);
        }
        line.clear();
    }
}

impl LoadedTranscript {
    fn apply_entry(&mut self, entry: wire::ParsedEntryLine<'_>, view: &mut HistoryBuilder) {
        if let Some(wire::WireTimestamp(time)) = entry.timestamp {
            self.updated = self.updated.max(time);
        }
        let role = match entry.r#type.as_ref() {
            wire::USER_TYPE => Role::User,
            wire::MODEL_TYPE => Role::Model,
            wire::CLEAR_TYPE => return view.replace(Vec::new()),
            wire::COMPRESSED_TYPE | wire::REWOUND_TYPE => return view.replace(entry.history.unwrap_or_default()),
            _ => return,
        };
        let parts = entry.content.unwrap_or_default();
        if role == Role::User
            && let Some(prompt) = wire::prompt_text(entry.display_content, &parts)
        {
            self.first_prompt.get_or_insert_with(|| prompt.clone());
            self.last_prompt = Some(prompt);
        }
        view.push(Content { role, parts });
    }
}

/// Builds a history with paired calls and results.
///
/// Providers reject a call without a result, which a crash or a cancelled turn leaves, and a result without a call. So
/// each missing result is added and each stray one dropped.
///
/// The result depends only on the lines, so that a session that is resumed twice gets the same history.
#[derive(Default)]
struct HistoryBuilder {
    messages: Vec<Content>,
    open_calls: VecDeque<FunctionCall>,
}

impl HistoryBuilder {
    fn replace(&mut self, messages: Vec<Content>) {
        (self.messages, self.open_calls) = (Vec::new(), VecDeque::new());
        messages.into_iter().for_each(|message| self.push(message));
    }

    fn push(&mut self, mut message: Content) {
        let had_parts = !message.parts.is_empty();
        let mut answers = false;
        if message.role == Role::User {
            message.parts.retain(|part| {
                let Some(response) = part.as_function_response() else { return true };
                let called = self.close_call(response);
                answers |= called;
                called
            });
        }
        if had_parts && message.parts.is_empty() {
            return;
        }
        if !answers {
            self.answer_open_calls();
        }
        self.open_calls.extend(message.parts.iter().filter_map(Part::as_function_call).cloned());
        self.messages.push(message);
    }

    /// Removes the call that this response answers from the open calls; returns false if there is none.
    fn close_call(&mut self, response: &FunctionResponse) -> bool {
        let answered = |call: &FunctionCall| match (&call.id, &response.id) {
            (Some(call), Some(response)) => call == response,
            _ => call.name == response.name,
        };
        let Some(at) = self.open_calls.iter().position(answered) else { return false };
        self.open_calls.remove(at);
        true
    }

    /// Adds a result for each call that is still open, to the message with the other results.
    fn answer_open_calls(&mut self) {
        let made_up: Vec<Part> = self.open_calls.drain(..).map(interrupted_response).collect();
        if made_up.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User => last.parts.extend(made_up),
            _ => self.messages.push(Content::user(made_up)),
        }
    }

    fn finish(mut self) -> Vec<Arc<Content>> {
        self.answer_open_calls();
        self.messages.into_iter().map(Arc::new).collect()
    }
}

fn interrupted_response(call: FunctionCall) -> Part {
    let text = "The session was interrupted before this call had a result. It may or may not have taken effect.";
    let response = Map::from_iter([("error".to_owned(), text.into())]);
    Part::function_response(call.id, call.name, response)
}
