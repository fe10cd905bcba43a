//! The lines of a transcript as JSON, both ways. Knows neither files nor what the lines add up to.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use hookwright_model::{Content, Part, Role, read_own_json};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{Entry, Header};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeaderLine<'a> {
    session_id: Cow<'a, str>,
    /// For Gemini CLI, which takes no session without it.
    project_hash: Cow<'a, str>,
    start_time: String,
    last_updated: String,
    kind: Cow<'a, str>,
    /// What tells our transcripts from Gemini CLI's.
    hookwright: Ours<'a>,
}

#[derive(Serialize, Deserialize)]
struct Ours<'a> {
    version: Cow<'a, str>,
    project: Cow<'a, Path>,
    model: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<Cow<'a, str>>,
}

/// Every other line, as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryLine<'a> {
    r#type: &'static str,
    timestamp: String,
    /// Only messages have one: it makes a line a message to Gemini CLI.
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

/// Every other line, as it is read. What is not known is left out, so that later versions can add to it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadLine<'a> {
    #[serde(borrow)]
    pub(super) r#type: Cow<'a, str>,
    pub(super) timestamp: Option<Time>,
    pub(super) display_content: Option<String>,
    pub(super) content: Option<Vec<Part>>,
    pub(super) history: Option<Vec<Content>>,
}

/// A time, as text on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time(pub(super) Timestamp);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        text.parse().map(Time).map_err(serde::de::Error::custom)
    }
}

pub(super) const USER: &str = "user";
pub(super) const MODEL: &str = "gemini";
pub(super) const CLEAR: &str = "clear_context";
pub(super) const COMPRESSED: &str = "compressed";
pub(super) const REWOUND: &str = "rewound";
const NOTE: &str = "note";

/// RFC 3339, UTC, milliseconds.
pub(super) fn stamp(time: Timestamp) -> String {
    format!("{time:.3}")
}

pub(super) fn header_line(header: &Header) -> Vec<u8> {
    let started = stamp(header.started);
    let hash = Sha256::digest(header.project.as_os_str().as_encoded_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    // A name that is no Unicode must not keep the session from being written.
    let project = PathBuf::from(header.project.to_string_lossy().into_owned());
    line(&HeaderLine {
        session_id: Cow::Borrowed(&header.session_id),
        project_hash: Cow::Owned(hash),
        start_time: started.clone(),
        last_updated: started,
        kind: Cow::Borrowed("main"),
        hookwright: Ours {
            version: Cow::Borrowed(&header.version),
            project: Cow::Owned(project),
            model: Cow::Borrowed(&header.model),
            branch: header.branch.as_deref().map(Cow::Borrowed),
        },
    })
}

/// An entry's line. `position` is where it will stand; that makes its id.
pub(super) fn entry_line(entry: &Entry, position: u64, now: Timestamp) -> Vec<u8> {
    let mut blank = EntryLine {
        r#type: CLEAR,
        timestamp: stamp(now),
        id: None,
        display_content: None,
        content: None,
        history: None,
        kind: None,
        data: None,
    };
    match entry {
        Entry::Message { content, display } => {
            blank.r#type = if content.role == Role::Model { MODEL } else { USER };
            blank.id = Some(format!("at-{position}"));
            blank.display_content = display.as_deref();
            blank.content = Some(&content.parts);
        }
        Entry::ClearContext => {}
        Entry::Compressed { history } => {
            blank.r#type = COMPRESSED;
            blank.history = Some(history.iter().map(AsRef::as_ref).collect());
        }
        Entry::Rewound { history } => {
            blank.r#type = REWOUND;
            blank.history = Some(history.iter().map(AsRef::as_ref).collect());
        }
        Entry::Note { kind, data } => {
            blank.r#type = NOTE;
            blank.kind = Some(kind);
            blank.data = Some(data);
        }
    }
    line(&blank)
}

fn line(value: &impl Serialize) -> Vec<u8> {
    // Text, numbers and maps with text for keys: none of it can fail to be JSON.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

/// The header in a line, if it is one of ours.
pub(super) fn read_header(line: &[u8]) -> Option<Header> {
    let read: HeaderLine<'_> = serde_json::from_slice(line).ok()?;
    Some(Header {
        session_id: read.session_id.into_owned(),
        project: read.hookwright.project.into_owned(),
        model: read.hookwright.model.into_owned(),
        branch: read.hookwright.branch.map(Cow::into_owned),
        version: read.hookwright.version.into_owned(),
        started: read.start_time.parse().ok()?,
    })
}

pub(super) fn read_entry(line: &[u8]) -> Option<ReadLine<'_>> {
    read_own_json(line).ok()
}

/// So much of a line is enough to tell its type and time.
pub(super) const LONGEST_PEEK: usize = 256;

/// Type and time of a line without reading the rest of it, which may be a picture.
pub(super) fn peek(line: &[u8]) -> Option<(&str, &str)> {
    let rest = line.strip_prefix(br#"{"type":""#)?;
    let (kind, rest) = until_quote(rest)?;
    let rest = rest.strip_prefix(br#","timestamp":""#)?;
    let (time, _) = until_quote(rest)?;
    Some((kind, time))
}

fn until_quote(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().take(64).position(|byte| *byte == b'"')?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

/// True if the line was written to its end.
pub(super) fn is_whole(line: &[u8]) -> bool {
    line.last() == Some(&b'}') && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

/// What the user typed, if the message is theirs: not a tool's result, not a hook's context, not an attached file.
pub(super) fn prompt_of(display: Option<String>, parts: &[Part]) -> Option<String> {
    if display.is_some() {
        return display;
    }
    if parts.iter().any(|part| part.as_function_response().is_some()) {
        return None;
    }
    let typed = |text: &&str| !text.trim_start().starts_with("<hook_context>");
    parts.iter().filter_map(Part::as_text).find(typed).map(str::to_owned)
}
