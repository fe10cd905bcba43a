//! Encodes and decodes the lines of a transcript as JSON.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use hookwright_model::{Content, Part, Role, read_own_json};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{TranscriptEntry, TranscriptHeader};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeaderLine<'a> {
    session_id: Cow<'a, str>,
    /// Required by Gemini CLI in every session.
    project_hash: Cow<'a, str>,
    start_time: String,
    last_updated: String,
    kind: Cow<'a, str>,
    /// Marks the transcripts of Hookwright.
    hookwright: HookwrightHeader<'a>,
}

#[derive(Serialize, Deserialize)]
struct HookwrightHeader<'a> {
    version: Cow<'a, str>,
    project: Cow<'a, Path>,
    model: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<Cow<'a, str>>,
}

/// An entry line as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryLine<'a> {
    r#type: &'static str,
    timestamp: String,
    /// Present for messages only: Gemini CLI takes a line with an id for a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a [Part]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<&'a Content>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Map<String, Value>>,
}

/// An entry line as it is read. Unknown fields are ignored, so that later versions can add some.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ParsedEntryLine<'a> {
    #[serde(borrow)]
    pub(super) r#type: Cow<'a, str>,
    pub(super) timestamp: Option<WireTimestamp>,
    pub(super) display_content: Option<String>,
    pub(super) content: Option<Vec<Part>>,
    pub(super) history: Option<Vec<Content>>,
}

/// A timestamp that is a string in JSON.
#[derive(Clone, Copy, Debug)]
pub(super) struct WireTimestamp(pub(super) Timestamp);

impl<'de> Deserialize<'de> for WireTimestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map(WireTimestamp).map_err(serde::de::Error::custom)
    }
}

pub(super) const USER_TYPE: &str = "user";
pub(super) const MODEL_TYPE: &str = "gemini";
pub(super) const CLEAR_TYPE: &str = "clear_context";
pub(super) const COMPRESSED_TYPE: &str = "compressed";
pub(super) const REWOUND_TYPE: &str = "rewound";
const NOTE_TYPE: &str = "note";

/// Formats a time as RFC 3339 in UTC with milliseconds.
pub(super) fn format_timestamp(time: Timestamp) -> String {
    format!("{time:.3}")
}

pub(super) fn header_line(header: &TranscriptHeader) -> Vec<u8> {
    let started = format_timestamp(header.started);
    let hash = Sha256::digest(header.project.as_os_str().as_encoded_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    // A project path that is not Unicode must not prevent the session from being written.
    let project = PathBuf::from(header.project.to_string_lossy().into_owned());
    encode_line(&HeaderLine {
        session_id: Cow::Borrowed(&header.session_id),
        project_hash: Cow::Owned(hash),
        start_time: started.clone(),
        last_updated: started,
        kind: Cow::Borrowed("main"),
        hookwright: HookwrightHeader {
            version: Cow::Borrowed(&header.version),
            project: Cow::Owned(project),
            model: Cow::Borrowed(&header.model),
            branch: header.branch.as_deref().map(Cow::Borrowed),
        },
    })
}

/// Returns the line of an entry. `position` is its offset in the file, which makes its id.
pub(super) fn entry_line(entry: &TranscriptEntry, position: u64, now: Timestamp) -> Vec<u8> {
    let mut blank = EntryLine {
        r#type: CLEAR_TYPE,
        timestamp: format_timestamp(now),
        id: None,
        display_content: None,
        content: None,
        history: None,
        kind: None,
        data: None,
    };
    match entry {
        TranscriptEntry::Message { content, display } => {
            blank.r#type = if content.role == Role::Model { MODEL_TYPE } else { USER_TYPE };
            blank.id = Some(format!("at-{position}"));
            blank.display_content = display.as_deref();
            blank.content = Some(&content.parts);
        }
        TranscriptEntry::ClearContext => {}
        TranscriptEntry::Compressed { history } => {
            blank.r#type = COMPRESSED_TYPE;
            blank.history = Some(history.iter().map(AsRef::as_ref).collect());
        }
        TranscriptEntry::Rewound { history } => {
            blank.r#type = REWOUND_TYPE;
            blank.history = Some(history.iter().map(AsRef::as_ref).collect());
        }
        TranscriptEntry::Note { kind, data } => {
            blank.r#type = NOTE_TYPE;
            blank.kind = Some(kind);
            blank.data = Some(data);
        }
    }
    encode_line(&blank)
}

fn encode_line(value: &impl Serialize) -> Vec<u8> {
    // Strings, numbers and maps with string keys always serialise.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Parses a header line; `None` if it was not written by Hookwright.
pub(super) fn read_header(line: &[u8]) -> Option<TranscriptHeader> {
    let read: HeaderLine<'_> = serde_json::from_slice(line).ok()?;
    Some(TranscriptHeader {
        session_id: read.session_id.into_owned(),
        project: read.hookwright.project.into_owned(),
        model: read.hookwright.model.into_owned(),
        branch: read.hookwright.branch.map(Cow::into_owned),
        version: read.hookwright.version.into_owned(),
        started: read.start_time.parse().ok()?,
    })
}

pub(super) fn read_entry(line: &[u8]) -> Option<ParsedEntryLine<'_>> {
    read_own_json(line).ok()
}

/// The length of a line's prefix that is enough to tell its type and time.
pub(super) const MAX_PEEK_BYTES: usize = 256;

/// Returns the type and time of a line without parsing the rest, which may be an image.
pub(super) fn peek_type_and_time(line: &[u8]) -> Option<(&str, &str)> {
    let rest = line.strip_prefix(br#"{"type":""#)?;
    let (kind, rest) = split_at_quote(rest)?;
    let rest = rest.strip_prefix(br#","timestamp":""#)?;
    let (time, _) = split_at_quote(rest)?;
    Some((kind, time))
}

fn split_at_quote(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().take(64).position(|byte| *byte == b'"')?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

/// Returns whether the line was written completely, but for its newline.
pub(super) fn is_complete_line(line: &[u8]) -> bool {
    line.last() == Some(&b'}') && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

/// Returns what the user typed in a message: not a tool result, a hook's context or an attached file.
pub(super) fn prompt_text(display: Option<String>, parts: &[Part]) -> Option<String> {
    if display.is_some() {
        return display;
    }
    if parts.iter().any(|part| part.as_function_response().is_some()) {
        return None;
    }
    let typed = |text: &&str| !text.trim_start().starts_with("<hook_context>");
    parts.iter().filter_map(Part::as_text).find(typed).map(str::to_owned)
}
