//! A tool call of a transcript, and what could not be read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::host::Host;

/// A tool call that an agent recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptCall {
    /// The agent that made the call.
    pub agent: Host,
    /// The agent's version, if the transcript has it.
    pub version: Option<String>,
    /// The session that hooks are told, as far as the transcript shows it.
    pub session: String,
    /// Another session id that hooks may have been told: of the parent of a sub-agent, or of the session that this one
    /// was forked from.
    pub other_session: Option<String>,
    /// The call's id, if the transcript has one.
    pub call_id: Option<String>,
    /// The tool's name at the agent.
    pub tool: String,
    /// The arguments in one short line.
    pub summary: String,
    /// The digest of the arguments.
    pub arguments: ArgumentsDigest,
    /// The time when the model asked for the call.
    pub time: Option<Timestamp>,
    /// The time when the result was recorded.
    pub finished: Option<Timestamp>,
    /// What became of the call.
    pub result: TranscriptResult,
    /// The transcript.
    pub file: Arc<Path>,
    /// The line of the transcript, from 1; for a database the row's number.
    pub line: u64,
}

/// What became of a call, by its transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptResult {
    /// The call ran, whether it succeeded or not.
    Ran,
    /// The agent, the user or a hook refused the call.
    Refused,
    /// The transcript does not say: it has no result of the call, or one that can mean both.
    Unknown,
}

impl TranscriptResult {
    /// Returns the name that reports use.
    pub fn as_str(self) -> &'static str {
        match self {
            TranscriptResult::Ran => "ran",
            TranscriptResult::Refused => "refused",
            TranscriptResult::Unknown => "unknown",
        }
    }
}

/// What a scan of transcripts yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TranscriptItem {
    /// A call.
    Call(Box<TranscriptCall>),
    /// Something that could not be read, and that may hold calls.
    Problem(TranscriptProblem),
}

/// A transcript, or a part of it, that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptProblem {
    /// The agent whose transcript it is.
    pub agent: Host,
    /// The file or directory.
    pub file: PathBuf,
    /// The line, if the problem is in one.
    pub line: Option<u64>,
    /// What is wrong, as a sentence without its subject: `is cut off`.
    pub problem: String,
}

impl std::fmt::Display for TranscriptProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// A digest of a call's arguments that does not depend on the order of keys.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArgumentsDigest([u8; 16]);

impl ArgumentsDigest {
    /// Returns the digest of arguments as the agent has them, under its own keys.
    pub fn new(arguments: &Value) -> ArgumentsDigest {
        let mut hasher = Sha256::new();
        hash_value(&mut hasher, arguments);
        let mut digest = [0; 16];
        digest.copy_from_slice(&hasher.finalize()[..16]);
        ArgumentsDigest(digest)
    }
}

impl std::fmt::Debug for ArgumentsDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Hashes a value with a tag and a length before each part, so that no two values have the same input.
fn hash_value(hasher: &mut Sha256, value: &Value) {
    let mut hash_part = |tag: u8, bytes: &[u8]| {
        hasher.update([tag]);
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    match value {
        Value::Null => hash_part(b'n', b""),
        Value::Bool(flag) => hash_part(b'b', &[u8::from(*flag)]),
        // An agent may write 30 as 30.0.
        Value::Number(number) => match number.as_f64() {
            Some(float) => hash_part(b'#', &float.to_le_bytes()),
            None => hash_part(b'#', number.to_string().as_bytes()),
        },
        Value::String(text) => hash_part(b's', text.as_bytes()),
        Value::Array(values) => {
            hash_part(b'[', &(values.len() as u64).to_le_bytes());
            values.iter().for_each(|value| hash_value(hasher, value));
        }
        Value::Object(object) => {
            hash_part(b'{', &(object.len() as u64).to_le_bytes());
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort_unstable();
            for key in keys {
                hash_value(hasher, &Value::String(key.clone()));
                hash_value(hasher, &object[key]);
            }
        }
    }
}

/// The length of a summary of arguments.
const MAX_SUMMARY_CHARS: usize = 160;

/// The arguments that say most about a call, in the agents' spellings.
const TELLING_ARGUMENTS: [&str; 14] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "absolute_path",
    "url",
    "pattern",
    "query",
    "chars",
    "prompt",
    "input",
    "patchText",
];

/// Returns a call's arguments in one short line: the command or path if there is one, else the JSON.
pub(super) fn summarize_arguments(arguments: &Value) -> String {
    let telling = TELLING_ARGUMENTS.iter().find_map(|key| match arguments.get(key)? {
        Value::String(text) => Some(text.clone()),
        // Some agents pass a command as a list of words.
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.filter(|words| !words.is_empty()).map(|words| words.join(" "))
        }
        _ => None,
    });
    let text = match (telling, arguments) {
        (Some(text), _) => text,
        (None, Value::String(text)) => text.clone(),
        (None, Value::Null) => String::new(),
        (None, other) => other.to_string(),
    };
    let line: String =
        text.chars().map(|char| if char.is_control() { ' ' } else { char }).take(MAX_SUMMARY_CHARS + 1).collect();
    match line.char_indices().nth(MAX_SUMMARY_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Returns a time that is written as RFC 3339.
pub(super) fn parse_time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// Returns a time that is written as milliseconds since 1970.
pub(super) fn parse_millis(value: &Value) -> Option<Timestamp> {
    Timestamp::from_millisecond(value.as_i64()?).ok()
}
